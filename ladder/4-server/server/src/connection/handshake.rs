//! The first phase: the handshake and its result.

use core::net::IpAddr;
use core::time::Duration;
use std::borrow::Cow;
use std::time::Instant;

use openssl::ssl::{SslRef, SslVersion};

use super::{Connection, Context, Phase, Step};
use crate::engine::group_name;
use crate::failure::{Broken, Failure};
use crate::ffi;
use crate::log::{HandshakeLine, Line, Outcome, micros, now_us};

/// The negotiated parameters.
#[derive(Clone, Copy, Debug)]
pub(super) struct Session {
    pub(super) protocol: &'static str,
    pub(super) suite: &'static str,
    pub(super) group: Option<&'static str>,
    pub(super) resumed: bool,
}

impl Session {
    fn negotiated(ssl: &SslRef) -> Self {
        let tls13 = ssl.version2() == Some(SslVersion::TLS1_3);
        let resumed = ssl.session_reused();
        let suite = ssl.current_cipher().and_then(|suite| suite.standard_name());
        // A resumed session of TLS 1.2 stores the group of an earlier handshake.
        let group = if resumed && !tls13 { None } else { group_name(ssl) };
        Self {
            protocol: if tls13 { "TLSv1.3" } else { "TLSv1.2" },
            suite: suite.unwrap_or("unknown"),
            group,
            resumed,
        }
    }
}

impl Connection {
    pub(super) fn handshake(&mut self, cx: &mut Context) -> Step {
        let begins = !core::mem::replace(&mut self.has_begun, true);
        if begins && self.has_client_closed {
            // Under overload clients give up while they wait: a signature for them would only make
            // the others wait longer.
            self.failed(Broken::by(Failure::Closed), cx);
            return Step::Done;
        }
        let Err(error) = self.stream.accept() else {
            self.is_paused = false;
            ffi::end_pauses(self.stream.ssl());
            self.completed(cx);
            return Step::On;
        };
        if self.blocked(&error) {
            return Step::Blocked;
        }
        let broken = Broken::new(&error);
        self.failed(broken, cx);
        if broken.failure == Failure::Closed {
            return Step::Done;
        }
        cx.setup.sessions.forget(self.stream.ssl());
        // OpenSSL has sent an alert. If the connection closed at once, the alert could be lost.
        self.begin_lingering(cx)
    }

    fn completed(&mut self, cx: &mut Context) {
        let session = Session::negotiated(self.stream.ssl());
        self.session = Some(session);
        cx.count_operations();
        let count = if session.resumed {
            &cx.tally().handshakes_resumed
        } else {
            &cx.tally().handshakes_full
        };
        count.add(1);
        let outcome = if session.resumed { Outcome::Resumed } else { Outcome::Full };
        cx.journal.push(cx.now, || {
            Line::Handshake(HandshakeLine {
                protocol: Some(session.protocol.into()),
                suite: Some(session.suite.into()),
                group: session.group.map(Cow::Borrowed),
                ..self.handshake_line(outcome)
            })
        });
        self.phase = Phase::Reading;
        self.deadline = cx.now + cx.setup.config.time_limit;
    }

    /// Counts and logs a handshake that did not complete.
    pub(super) fn failed(&self, broken: Broken, cx: &mut Context) {
        cx.count_operations();
        cx.tally().handshakes_failed[broken.failure as usize].add(1);
        cx.journal.push(cx.now, || {
            Line::Handshake(HandshakeLine {
                reason: Some(broken.failure.word().into()),
                alert: broken.alert,
                ..self.handshake_line(Outcome::Failed)
            })
        });
    }

    fn handshake_line(&self, outcome: Outcome) -> HandshakeLine {
        // `cx.now` is not used here, because it was read before the private-key operation.
        line(self.number, self.client, outcome, Instant::now().duration_since(self.opened))
    }
}

/// Counts and logs a connection that was closed at once.
pub(crate) fn failed_to_open(number: u64, client: IpAddr, failure: Failure, cx: &mut Context) {
    cx.tally().handshakes_failed[failure as usize].add(1);
    cx.journal.push(cx.now, || {
        Line::Handshake(HandshakeLine {
            reason: Some(failure.word().into()),
            ..line(number, client, Outcome::Failed, Duration::ZERO)
        })
    });
}

fn line(connection: u64, client: IpAddr, outcome: Outcome, took: Duration) -> HandshakeLine {
    HandshakeLine {
        time_us: now_us(),
        connection,
        client,
        outcome,
        protocol: None,
        suite: None,
        group: None,
        reason: None,
        alert: None,
        took_us: micros(took),
    }
}
