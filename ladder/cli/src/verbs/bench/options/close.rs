//! The flag of `tollgate bench` that says how connections end.

use clap::{Args, ValueEnum};
use tollgate_load::{Close, Mechanism, Resume};

#[derive(Args, Clone, Debug)]
pub(crate) struct Closing {
    /// How a connection ends when its bodies are there and the server has confirmed the handshake:
    /// rst, a reset at once, after which no port waits; or fin, a goodbye in TLS and TCP, and the
    /// server's is awaited [default: rst, with early data fin]
    #[arg(long, value_name = "HOW")]
    close: Option<How>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum How {
    /// `close_notify`, and the server's is awaited.
    Fin,
    /// A reset.
    Rst,
}

impl Closing {
    /// As plans say it; by default as the way to resume has it.
    pub(crate) fn close(&self, resume: Option<Resume>) -> Close {
        let is_early = resume.is_some_and(|resume| resume.by == Mechanism::EarlyData);
        match self.close {
            Some(How::Fin) => Close::Fin,
            None if is_early => Close::Fin,
            Some(How::Rst) | None => Close::RstAfterConfirm,
        }
    }

    /// The same in words, for the line of the plan.
    pub(crate) fn words(&self, resume: Option<Resume>) -> &'static str {
        match self.close(resume) {
            Close::Fin => "says goodbye and awaits the server's",
            Close::RstAfterConfirm => "resets after the server has confirmed",
        }
    }
}
