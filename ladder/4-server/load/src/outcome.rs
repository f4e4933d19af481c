//! What a run gave.

use core::fmt;
use core::net::SocketAddr;
use core::time::Duration;

use tollgate_record::Timestamp;

use crate::counts::Counts;
use crate::finding::Finding;
use crate::kinds::Kinds;
use crate::latency::Latency;
use crate::offered::Offered;
use crate::plan::Plan;
use crate::referee::Seen;
use crate::series::Point;
use crate::steady::Steady;
use crate::surroundings::Surroundings;
use crate::times::Times;
use crate::usage::Usage;
use crate::verdict::Verdict;

/// A run: its verdict first, then its counts, and its figures if it is not invalid.
#[derive(Clone, Debug)]
pub struct Outcome {
    pub(crate) plan: Plan,
    pub(crate) server: String,
    pub(crate) target: SocketAddr,
    pub(crate) began_at: Timestamp,
    pub(crate) verdict: Verdict,
    pub(crate) reasons: Vec<Finding>,
    pub(crate) doubts: Vec<Finding>,
    pub(crate) whole: Counts,
    pub(crate) sustain: Counts,
    pub(crate) bins: Vec<u64>,
    pub(crate) bin_width: Duration,
    pub(crate) plain: Counts,
    pub(crate) offered: Offered,
    pub(crate) series: Vec<Point>,
    pub(crate) secure_times: Times,
    pub(crate) plain_times: Times,
    pub(crate) kinds: Option<Kinds>,
    pub(crate) response: Latency,
    pub(crate) client_cpu: Option<ClientCpu>,
    /// CPU seconds per second.
    pub(crate) server_cores: Option<f64>,
    pub(crate) seen: Option<Seen>,
    pub(crate) abandoned: u64,
    pub(crate) around: Surroundings,
}

/// What the client's threads used in the sustained part.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct ClientCpu {
    /// CPU seconds per second, over all threads.
    pub cores: f64,
    /// CPU time over time of the busiest thread.
    pub busiest_share: f64,
    /// The share of time in which the thread that waited longest wanted a core and had none; `None`
    /// where the kernel does not count it.
    pub longest_wait_share: Option<f64>,
}

impl ClientCpu {
    /// Of all threads; `None` if one of them did not see the whole sustained part.
    pub(crate) fn of(threads: &[Option<Usage>]) -> Option<Self> {
        let usages: Vec<Usage> = threads.iter().copied().collect::<Option<_>>()?;
        let share = |part: Duration, usage: &Usage| part.div_duration_f64(usage.wall);
        let shares = || usages.iter().map(|usage| share(usage.cpu, usage));
        let waits = || usages.iter().filter_map(|usage| Some(share(usage.wait?, usage)));
        Some(Self {
            cores: shares().sum(),
            busiest_share: shares().fold(0.0, f64::max),
            longest_wait_share: waits().reduce(f64::max),
        })
        .filter(|cpu| cpu.cores.is_finite())
    }
}

impl Outcome {
    /// What the run is worth.
    #[must_use]
    pub const fn verdict(&self) -> Verdict {
        self.verdict
    }

    /// Why it is invalid; empty if it is not.
    #[must_use]
    pub fn reasons(&self) -> &[Finding] {
        &self.reasons
    }

    /// What makes it doubtful.
    #[must_use]
    pub fn doubts(&self) -> &[Finding] {
        &self.doubts
    }

    /// The plan that was run.
    #[must_use]
    pub const fn plan(&self) -> &Plan {
        &self.plan
    }

    /// The server's name, as the caller gave it.
    #[must_use]
    pub fn server(&self) -> &str {
        &self.server
    }

    /// Where the load went.
    #[must_use]
    pub const fn target(&self) -> SocketAddr {
        self.target
    }

    /// When its first connection was begun, the one done alone apart.
    #[must_use]
    pub const fn began_at(&self) -> Timestamp {
        self.began_at
    }

    /// What the client counted from its first connection to its last.
    #[must_use]
    pub const fn whole(&self) -> &Counts {
        &self.whole
    }

    /// What the client counted in the sustained part.
    #[must_use]
    pub const fn sustain(&self) -> &Counts {
        &self.sustain
    }

    /// The plain part of the whole: transactions without TLS. The rest of it is secure.
    #[must_use]
    pub const fn plain(&self) -> &Counts {
        &self.plain
    }

    /// What became of the arrivals of an open loop whose time lies in the sustained part; of a
    /// closed loop nothing.
    #[must_use]
    pub const fn offered(&self) -> Offered {
        self.offered
    }

    /// The run second by second, from its first connection to the end of the sustained part.
    #[must_use]
    pub fn series(&self) -> &[Point] {
        &self.series
    }

    /// What the server's log says of the whole run; `None` without referee, or if it was lost.
    #[must_use]
    pub const fn seen(&self) -> Option<Seen> {
        self.seen
    }

    /// Connections that were dropped in flight when the run was broken off.
    #[must_use]
    pub const fn abandoned(&self) -> u64 {
        self.abandoned
    }

    /// What happened around the run, on this machine.
    #[must_use]
    pub const fn surroundings(&self) -> Surroundings {
        self.around
    }

    /// What the client's threads used; `None` if the run was broken off.
    #[must_use]
    pub const fn client_cpu(&self) -> Option<ClientCpu> {
        self.client_cpu
    }

    /// Cores that the server kept busy, in CPU seconds per second.
    #[must_use]
    pub const fn server_cores(&self) -> Option<f64> {
        self.server_cores
    }

    /// The shape of the rate over the sustained part.
    #[must_use]
    pub fn steady(&self) -> Option<Steady> {
        Steady::of(&self.bins)
    }

    fn is_believed(&self) -> bool {
        self.verdict != Verdict::Invalid
    }

    /// Transactions per second in the sustained part; `None` if the run is invalid.
    #[must_use]
    pub fn sessions_per_s(&self) -> Option<f64> {
        #[allow(clippy::cast_precision_loss, reason = "counts of a run are far below 2^52")]
        let rate = self.sustain.transactions as f64 * 1000.0 / self.plan.sustain_ms as f64;
        self.is_believed().then_some(rate)
    }

    /// Transactions per second by bin; `None` if the run is invalid.
    #[must_use]
    pub fn sessions_per_s_by_bin(&self) -> Option<Vec<f64>> {
        let width = self.bin_width.as_secs_f64();
        #[allow(clippy::cast_precision_loss, reason = "as above")]
        let rates = self.bins.iter().map(|&count| count as f64 / width).collect();
        self.is_believed().then_some(rates)
    }

    /// CPU time of the server per transaction, in nanoseconds; `None` if nobody read it, or if the
    /// run is invalid.
    #[must_use]
    pub fn server_cpu_ns_per_session(&self) -> Option<f64> {
        Some(1e9 * self.server_cores? / self.sessions_per_s()?)
    }

    /// CPU time of the client per transaction, in nanoseconds; `None` if the run is invalid.
    #[must_use]
    pub fn client_cpu_ns_per_session(&self) -> Option<f64> {
        Some(1e9 * self.client_cpu?.cores / self.sessions_per_s()?)
    }

    /// TCP connect times, of secure and plain transactions; `None` if the run is invalid.
    #[must_use]
    pub fn connect(&self) -> Option<Latency> {
        let all = Latency::sum([&self.secure_times.connect, &self.plain_times.connect]);
        all.filter(|_| self.is_believed())
    }

    /// Times from the `ClientHello` until the server confirmed the handshake
    /// ([`Times::handshake`]); `None` if the run is invalid.
    #[must_use]
    pub fn handshake(&self) -> Option<&Latency> {
        self.is_believed().then_some(&self.secure_times.handshake)
    }

    /// Times to the last byte of the last body; `None` if the run is invalid.
    ///
    /// In an open loop they are response times, from the intended start on: waiting in line is part
    /// of them, and who was dropped or gave up counts as longer than any. In a closed loop they are
    /// service times under this concurrency, from the begin of the connection on: an arrival never
    /// waits for its turn.
    #[must_use]
    pub fn transaction(&self) -> Option<&Latency> {
        self.is_believed().then_some(&self.response)
    }

    /// Times of secure transactions by phase; `None` if the run is invalid.
    #[must_use]
    pub fn secure_times(&self) -> Option<&Times> {
        self.is_believed().then_some(&self.secure_times)
    }

    /// Full and resumed sessions of the sustained part apart; `None` if none is to be resumed, or
    /// if the run is invalid.
    #[must_use]
    pub fn kinds(&self) -> Option<&Kinds> {
        self.kinds.as_ref().filter(|_| self.is_believed())
    }

    /// Of the confirmed handshakes of the sustained part, the share that was resumed as planned;
    /// `None` if none is to be.
    #[must_use]
    pub fn resumed_share(&self) -> Option<f64> {
        self.plan.resume.and_then(|resume| resume.achieved(&self.sustain))
    }

    /// Times of plain transactions by phase; `None` if the run is invalid.
    #[must_use]
    pub fn plain_times(&self) -> Option<&Times> {
        self.is_believed().then_some(&self.plain_times)
    }
}

impl fmt::Display for Outcome {
    /// A few lines: the verdict with its reasons, then what was counted on both sides.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(f, "{}: {}", self.server, self.verdict)?;
        for reason in &self.reasons {
            writeln!(f, "  {reason}")?;
        }
        for doubt in &self.doubts {
            writeln!(f, "  doubtful: {doubt}")?;
        }
        let counts = &self.whole;
        writeln!(
            f,
            "  client: {} attempts, {} handshakes confirmed, {} signatures verified, \
             {} transactions, {} failed",
            counts.attempts,
            counts.confirmed,
            counts.signatures_verified,
            counts.transactions,
            counts.failed()
        )?;
        if self.plan.resume.is_some() {
            writeln!(f, "  client: {}", counts.resumptions)?;
        }
        for (failure, count) in &counts.failures {
            writeln!(f, "    {count} x {failure}")?;
        }
        for (phase, count) in &counts.gave_up {
            writeln!(f, "    {count} x the client lost patience (phase {phase})")?;
        }
        if self.plan.arrivals.is_open() {
            let Offered { arrivals, late, queued, dropped, .. } = self.offered;
            writeln!(
                f,
                "  open loop: {arrivals} arrivals in the measured part, {queued} of them waited in \
                 line, {late} began late, {dropped} never began"
            )?;
        }
        if let Some(seen) = self.seen {
            writeln!(
                f,
                "  server's log: {} handshakes, {} of them resumed, {} failed; {} requests",
                seen.handshakes, seen.resumed, seen.failed, seen.requests
            )?;
        }
        if let Some(rate) = self.sessions_per_s() {
            writeln!(f, "  {rate:.1} sessions per second")?;
        }
        let cpu = [
            ("server", self.server_cpu_ns_per_session()),
            ("client", self.client_cpu_ns_per_session()),
        ];
        for (side, nanos) in cpu {
            if let Some(nanos) = nanos {
                writeln!(f, "  {:.1} µs of {side} CPU per session", nanos / 1000.0)?;
            }
        }
        Ok(())
    }
}
