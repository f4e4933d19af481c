//! The outcome of a run.

use core::fmt;
use core::net::SocketAddr;
use core::time::Duration;

use tollgate_record::Timestamp;

use crate::arrival_counts::ArrivalCounts;
use crate::counts::Counts;
use crate::cpu::ClientCpu;
use crate::finding::Finding;
use crate::host_conditions::HostConditions;
use crate::latency::Latency;
use crate::plan::Plan;
use crate::referee::Seen;
use crate::series::Point;
use crate::server_counts::ServerCounts;
use crate::times::ByResumption;
use crate::verdict::Verdict;

/// The outcome of a run: verdict, counts, and, unless it is invalid, figures.
#[derive(Clone, Debug)]
pub struct Outcome {
    /// The plan.
    pub plan: Plan,
    /// The server's name.
    pub server: String,
    /// The server's address.
    pub target: SocketAddr,
    /// The start of the first connection under load. The single first transaction came before it.
    pub began_at: Timestamp,
    /// The verdict.
    pub verdict: Verdict,
    /// The findings that make the run invalid; empty if the run is not invalid.
    pub reasons: Vec<Finding>,
    /// Doubts, which do not change the verdict.
    pub doubts: Vec<Finding>,
    /// The client's counts from the first connection to the last.
    pub whole: Counts,
    /// The client's counts in the sustained part.
    pub sustain: Counts,
    /// The part of `whole` without TLS.
    pub plain: Counts,
    /// Length of the sustained part. It is shorter than planned if a number of transactions ended
    /// it.
    pub sustained: Duration,
    /// Arrivals of an open loop in the sustained part; zeros for a closed loop.
    pub arrivals: ArrivalCounts,
    /// Counts by second, from the first connection to the end of the sustained part.
    pub series: Vec<Point>,
    /// CPU time of the client's threads; `None` if the run was stopped.
    pub client_cpu: Option<ClientCpu>,
    /// CPU time of the server, in CPU seconds per second.
    pub server_cores: Option<f64>,
    /// The server's own counts in the sustained part.
    pub server_counts: Option<ServerCounts>,
    /// The server's log of the whole run. `None` if there is no referee, if the run was broken off,
    /// or if the log could not be read.
    pub seen: Option<Seen>,
    /// Connections in flight when the run was stopped.
    pub abandoned: u64,
    /// Conditions of this machine during the run.
    pub host: HostConditions,
    pub(crate) bins: Vec<u64>,
    pub(crate) bin_width: Duration,
    pub(crate) connect: Latency,
    pub(crate) handshake: Latency,
    pub(crate) by_resumption: Option<ByResumption>,
    pub(crate) response: Latency,
}

impl Outcome {
    fn is_believed(&self) -> bool {
        self.verdict != Verdict::Invalid
    }

    /// Returns the transactions per second in the sustained part, also of an invalid run: an
    /// overloaded server has a rate too.
    #[allow(clippy::cast_precision_loss, reason = "counts of a run are far below 2^52")]
    pub(crate) fn rate(&self) -> f64 {
        self.sustain.transactions as f64 / self.sustained.as_secs_f64()
    }

    /// Returns the transactions per second in the sustained part; `None` if the run is invalid.
    #[must_use]
    pub fn sessions_per_s(&self) -> Option<f64> {
        self.is_believed().then(|| self.rate())
    }

    /// Returns the transactions per second by bin; `None` if the run is invalid.
    #[must_use]
    pub fn sessions_per_s_by_bin(&self) -> Option<Vec<f64>> {
        let width = self.bin_width.as_secs_f64();
        #[allow(clippy::cast_precision_loss, reason = "as above")]
        let rates = self.bins.iter().map(|&count| count as f64 / width).collect();
        self.is_believed().then_some(rates)
    }

    /// Returns the CPU time of the server per transaction, in nanoseconds; `None` if it was not
    /// measured, or the run is invalid.
    #[must_use]
    pub fn server_cpu_ns_per_session(&self) -> Option<f64> {
        Some(1e9 * self.server_cores? / self.sessions_per_s()?)
    }

    /// Returns the mean number of operations in a batch of the server's engine; `None` if it was
    /// not measured, or the run is invalid.
    #[must_use]
    pub fn operations_per_batch(&self) -> Option<f64> {
        self.server_counts?.operations_per_run().filter(|_| self.is_believed())
    }

    /// Returns the CPU time of the client per transaction, in nanoseconds; `None` if the run is
    /// invalid.
    #[must_use]
    pub fn client_cpu_ns_per_session(&self) -> Option<f64> {
        Some(1e9 * self.client_cpu?.cores / self.sessions_per_s()?)
    }

    /// Returns the TCP connect times, from opening the socket until the connection is up; `None` if
    /// the run is invalid.
    #[must_use]
    pub fn connect(&self) -> Option<&Latency> {
        self.is_believed().then_some(&self.connect)
    }

    /// Returns the times from the `ClientHello` until the server confirmed the handshake; `None` if
    /// the run is invalid. In a full handshake of TLS 1.2 the server's Finished confirms it. In TLS
    /// 1.3, and in a resumed handshake of TLS 1.2, the client's Finished is the last message; the
    /// first response byte confirms it, or the server's `close_notify` in a plan without requests.
    #[must_use]
    pub fn handshake(&self) -> Option<&Latency> {
        self.is_believed().then_some(&self.handshake)
    }

    /// Returns the times of whole transactions, to the last byte of the last response; `None` if
    /// the run is invalid.
    ///
    /// In an open loop times begin at the intended start and include waiting in the queue; dropped
    /// and timed-out arrivals count as infinite. In a closed loop they are service times, from
    /// opening the socket.
    #[must_use]
    pub fn transaction(&self) -> Option<&Latency> {
        self.is_believed().then_some(&self.response)
    }

    /// Returns the full sessions and the resumed sessions of the sustained part; `None` if the plan
    /// resumes none, or the run is invalid.
    #[must_use]
    pub fn by_resumption(&self) -> Option<&ByResumption> {
        self.by_resumption.as_ref().filter(|_| self.is_believed())
    }

    /// Returns the share of the confirmed handshakes of the sustained part that resumed a session
    /// as planned; `None` if the plan resumes none.
    #[must_use]
    pub fn resumed_share(&self) -> Option<f64> {
        self.plan.resume.and_then(|resume| resume.achieved(&self.sustain))
    }
}

impl fmt::Display for Outcome {
    /// Writes a few lines: the verdict with its reasons, then the counts of both sides.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(f, "{}: {}", self.server, self.verdict)?;
        for reason in &self.reasons {
            writeln!(f, "  {reason}")?;
        }
        for doubt in &self.doubts {
            writeln!(f, "  doubtful: {doubt}")?;
        }
        let Counts { attempts, confirmed, transactions, .. } = self.whole;
        writeln!(
            f,
            "  client: {attempts} attempts, {confirmed} handshakes confirmed, {transactions} \
             transactions, {} failed; {:?}; {:?}",
            self.whole.failed(),
            self.whole.resumptions,
            self.arrivals
        )?;
        for (failure, count) in &self.whole.failures {
            writeln!(f, "    {count} x {failure}")?;
        }
        for (phase, count) in &self.whole.timed_out {
            writeln!(f, "    {count} x client timeout (phase {phase})")?;
        }
        if let Some(seen) = self.seen {
            writeln!(f, "  server's log: {seen:?}")?;
        }
        Ok(())
    }
}
