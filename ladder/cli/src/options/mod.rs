//! The command line: every option with help, default and unit.

pub(crate) mod files;
pub(crate) mod nats;
#[cfg(test)]
mod pages;
#[cfg(test)]
mod refusals;
#[cfg(test)]
mod tree;
pub(crate) mod values;

#[cfg(test)]
use std::ffi::OsString;

use clap::{Command, CommandFactory as _, Parser, Subcommand};
use tollgate::command_line;

pub(crate) use crate::verbs::agent::Agent;
pub(crate) use crate::verbs::bench::options::sub_verbs::ResponseCurve;
pub(crate) use crate::verbs::bench::options::{Bench, BenchCommand, Mode, ServerKind};
pub(crate) use crate::verbs::compare::Compare;
pub(crate) use crate::verbs::explain::Explain;
pub(crate) use crate::verbs::fleet::{Fleet, FleetCommand};
pub(crate) use crate::verbs::kernel::Kernel;
pub(crate) use crate::verbs::ladder::Ladder;
pub(crate) use crate::verbs::man::Man;
pub(crate) use crate::verbs::papers::Papers;
pub(crate) use crate::verbs::serve::Serve;
pub(crate) use crate::verbs::speed::Speed;
pub(crate) use crate::verbs::trial::Trial;
pub(crate) use crate::verbs::tune::options::Tune;
pub(crate) use crate::verbs::workload::Workload;

use crate::error::CliError;

/// The verbs of `tollgate` that measure.
#[derive(Debug, Parser)]
#[command(name = "tollgate", version, about = tollgate::ABOUT)]
pub(crate) struct Options {
    #[command(subcommand)]
    pub(crate) verb: Verb,
}

#[derive(Debug, Subcommand)]
pub(crate) enum Verb {
    /// Load a server for 'tollgate bench URL --agents', which meets it on NATS
    Agent(Agent),
    /// Load a TLS server, or two embedded servers in turn, and check the counts against server logs
    Bench(Box<BenchCommand>),
    /// Put two runs or two machines side by side: faster, slower, or no change proven
    Compare(Compare),
    /// Predict what a TLS session costs a server, part by part, and sample a live server with perf
    Explain(Explain),
    /// Compute cores, costs and response times of many servers from the records of one
    Fleet(Box<FleetCommand>),
    /// Measure Montgomery products and squares with every kernel that this machine can run
    Kernel(Kernel),
    /// Measure all six rungs, and write a table, an HTML page and records; or show those of files
    Ladder(Ladder),
    /// Write man pages and completion scripts for shells
    Man(Man),
    /// Re-enact five publications: their figures beside ours, their models, a simulated processor
    Papers(Papers),
    /// Run the embedded TLS server, with Tollgate's engine or OpenSSL's
    Serve(Serve),
    /// Measure operations of Tollgate, OpenSSL and AWS-LC in one run: RSA, X25519, ECDH and ECDSA
    Speed(Speed),
    /// Pack measurements for publication, signed, or verify what others published
    Trial(Trial),
    /// Tune a server step by step: profile, expect, change one thing, measure, keep what is faster
    Tune(Box<Tune>),
    /// Show named workloads, or make one from access logs
    Workload(Workload),
}

impl Options {
    /// Reads the command line, and checks the files that it names before anything is measured or
    /// written; help and version end the program with code 0.
    pub(crate) fn read() -> Result<Self, CliError> {
        let (options, matches): (Self, _) = command_line::read(Self::command())?;
        files::check(&matches)?;
        options.checked()
    }

    /// Parses these arguments, without the program's name.
    #[cfg(test)]
    pub(crate) fn new(arguments: &[&str]) -> Result<Self, CliError> {
        let arguments: Vec<OsString> = arguments.iter().map(OsString::from).collect();
        let (options, _): (Self, _) = command_line::parse(Self::command(), &arguments)?;
        options.checked()
    }

    /// Makes the checks that the declaration cannot express.
    fn checked(self) -> Result<Self, CliError> {
        if let Verb::Bench(options) = &self.verb {
            options.request()?;
        }
        Ok(self)
    }
}

/// Returns the declaration of all verbs, those of the program `tollgate` included.
pub(crate) fn all_verbs() -> Command {
    Options::command().subcommands(tollgate::command().get_subcommands().cloned())
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;

    /// Parses a command line.
    #[track_caller]
    pub(crate) fn verb(line: &str) -> Verb {
        Options::new(&line.split_whitespace().collect::<Vec<_>>()).unwrap().verb
    }

    /// Parses `tollgate bench` with these options.
    #[track_caller]
    pub(crate) fn bench(flags: &str) -> Bench {
        let Verb::Bench(options) = verb(&format!("bench {flags}")) else { unreachable!("{flags}") };
        options.request().unwrap()
    }

    #[test]
    fn the_declaration_is_sound() {
        Options::command().debug_assert();
    }
}
