//! The flag of `tollgate bench` that says how connections end.

use clap::{Args, ValueEnum};
use tollgate_load::Close;

#[derive(Args, Clone, Debug)]
pub(crate) struct Closing {
    /// How a connection ends when its bodies are there and the server has confirmed the handshake:
    /// rst, a reset at once, after which no port waits; or fin, a goodbye in TLS and TCP, and the
    /// server's is awaited
    #[arg(long, value_name = "HOW", default_value = "rst")]
    close: How,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum How {
    /// `close_notify`, and the server's is awaited.
    Fin,
    /// A reset.
    Rst,
}

impl Closing {
    /// As plans say it.
    pub(crate) const fn close(&self) -> Close {
        match self.close {
            How::Fin => Close::Fin,
            How::Rst => Close::RstAfterConfirm,
        }
    }

    /// The same in words, for the line of the plan.
    pub(crate) const fn words(&self) -> &'static str {
        match self.close {
            How::Fin => "says goodbye and awaits the server's",
            How::Rst => "resets after the server has confirmed",
        }
    }
}
