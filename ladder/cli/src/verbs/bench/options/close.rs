//! The option of `tollgate bench` for the end of connections.

use clap::{Args, ValueEnum};
use tollgate_load::{Close, Mechanism, Resume};

#[derive(Args, Clone, Debug)]
pub(crate) struct Closing {
    /// End of a connection after its last response: rst, a TCP reset, which leaves no port waiting;
    /// or fin, a TLS close alert and FIN, awaiting the server's [default: rst; with early data fin]
    #[arg(long, value_name = "HOW", help_heading = super::SESSION)]
    close: Option<How>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum How {
    /// `close_notify`, and the client awaits the server's.
    Fin,
    /// A reset.
    Rst,
}

impl Closing {
    /// The plan's value; the default depends on the resumption.
    pub(crate) fn close(&self, resume: Option<Resume>) -> Close {
        let is_early = resume.is_some_and(|resume| resume.by == Mechanism::EarlyData);
        match self.close {
            Some(How::Fin) => Close::Fin,
            None if is_early => Close::Fin,
            Some(How::Rst) | None => Close::RstAfterConfirm,
        }
    }

    /// Describes it, for the line of the plan.
    pub(crate) fn words(&self, resume: Option<Resume>) -> &'static str {
        match self.close(resume) {
            Close::Fin => "says goodbye and awaits the server's",
            Close::RstAfterConfirm => "resets after the server has confirmed",
        }
    }
}
