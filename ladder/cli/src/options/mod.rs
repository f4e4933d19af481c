//! The command line: every option with help, default and unit.

mod files;
pub(crate) mod nats;
#[cfg(test)]
mod pages;
#[cfg(test)]
mod refusals;
pub(crate) mod values;

use core::error::Error as _;
use core::iter;
use core::num::ParseIntError;
use std::env;
use std::ffi::OsString;

use clap::error::ErrorKind;
use clap::{ArgMatches, Command, CommandFactory as _, FromArgMatches as _, Parser, Subcommand};

pub(crate) use crate::verbs::agent::Agent;
pub(crate) use crate::verbs::bench::options::sub_verbs::{ResponseCurve, Sampling};
pub(crate) use crate::verbs::bench::options::{
    Bench, BenchCommand, CoreSpan, EngineKind, Mode, ServerKind,
};
pub(crate) use crate::verbs::compare::Compare;
pub(crate) use crate::verbs::completions::Completions;
pub(crate) use crate::verbs::fleet::{Fleet, FleetCommand};
pub(crate) use crate::verbs::kernel::Kernel;
pub(crate) use crate::verbs::key::Key;
pub(crate) use crate::verbs::ladder::Ladder;
pub(crate) use crate::verbs::man::Man;
pub(crate) use crate::verbs::papers::Papers;
pub(crate) use crate::verbs::provider::Provider;
pub(crate) use crate::verbs::report::Report;
pub(crate) use crate::verbs::serve::Serve;
pub(crate) use crate::verbs::session::Session;
pub(crate) use crate::verbs::signer::Signer;
pub(crate) use crate::verbs::speed::Speed;
pub(crate) use crate::verbs::trial::Trial;
pub(crate) use crate::verbs::tune::options::Tune;
pub(crate) use crate::verbs::workload::Workload;

use crate::error::CliError;

/// Measure and explain what a TLS connection costs, from the multiplier to the fleet
#[derive(Debug, Parser)]
#[command(name = "tollgate", version, after_help = AFTER)]
pub(crate) struct Options {
    #[command(subcommand)]
    pub(crate) verb: Verb,
}

const AFTER: &str = "\
Start with 'tollgate ladder', or 'tollgate bench https://HOST/' for a server of your own.

Exit codes: 0 done; 1 measured, but the figures are not valid; 2 error, one line on standard error;
3 a --fail-if condition holds; 130 stopped by Ctrl-C; 141 standard output was closed.

TOLLGATE_CPU_DISABLE=ifma,adx disables CPU features for Tollgate's kernels; for OpenSSL's, set
OPENSSL_ia32cap.";

#[derive(Debug, Subcommand)]
pub(crate) enum Verb {
    /// Load a server for 'tollgate bench URL --agents', which starts this by ssh, or meets it on NATS
    Agent(Agent),
    /// Load a TLS server, or two embedded servers in turn, and check the counts against server logs
    Bench(Box<BenchCommand>),
    /// Compare the records of several runs or machines: faster, slower, or no change proven
    Compare(Compare),
    /// Print a completion script for a shell
    Completions(Completions),
    /// Compute cores, costs and response times of many servers from the records of one
    Fleet(Box<FleetCommand>),
    /// Measure Montgomery products and squares with every kernel that this machine can run
    Kernel(Kernel),
    /// Make, show or check an RSA key, or make the stub of a key on a signer
    Key(Key),
    /// Measure all six rungs, and write a table, an HTML page and records
    Ladder(Ladder),
    /// Write the man pages
    Man(Man),
    /// Re-enact five publications: their figures beside ours, their models, a simulated processor
    Papers(Papers),
    /// Install and check the OpenSSL provider, and show what servers do with it
    Provider(Provider),
    /// Make the table and the HTML page from records
    Report(Report),
    /// Run the embedded TLS server, with Tollgate's engine or OpenSSL's
    Serve(Serve),
    /// Predict what a TLS session costs a server, part by part, and compare with a real server
    Session(Session),
    /// Sign and decrypt for the front ends of a site, which do not have its keys
    Signer(Signer),
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
    /// Reads the command line; help and version end the program with code 0. An error is clap's
    /// message in one line.
    pub(crate) fn read() -> Result<Self, CliError> {
        let arguments: Vec<OsString> = env::args_os().skip(1).collect();
        let (options, matches) = Self::parsed(&arguments)?;
        files::check(&matches)?;
        Ok(options)
    }

    /// Parses these arguments, without the program's name.
    #[cfg(test)]
    pub(crate) fn of(arguments: &[&str]) -> Result<Self, CliError> {
        let arguments: Vec<OsString> = arguments.iter().map(OsString::from).collect();
        Self::parsed(&arguments).map(|(options, _)| options)
    }

    fn parsed(arguments: &[OsString]) -> Result<(Self, ArgMatches), CliError> {
        let wrong = |error: clap::Error| match error.kind() {
            ErrorKind::DisplayHelp
            | ErrorKind::DisplayHelpOnMissingArgumentOrSubcommand
            | ErrorKind::DisplayVersion => error.exit(),
            _ => one_line(&error, arguments),
        };
        let name = OsString::from("tollgate");
        let words = iter::once(&name).chain(arguments);
        let matches = negatives(Self::command()).try_get_matches_from(words).map_err(wrong)?;
        let options = Self::from_arg_matches(&matches).map_err(wrong)?;
        // checks that the declaration cannot express
        if let Verb::Bench(options) = &options.verb {
            options.request()?;
        }
        Ok((options, matches))
    }
}

/// Lets options take negative numbers as values, so that the error for a negative number names the
/// value.
fn negatives(command: Command) -> Command {
    let command = command.mut_args(|arg| {
        let takes = arg.get_action().takes_values();
        if takes { arg.allow_negative_numbers(true) } else { arg }
    });
    command.mut_subcommands(negatives)
}

/// Returns the first paragraph of clap's message and the command that prints the help.
fn one_line(error: &clap::Error, arguments: &[OsString]) -> CliError {
    let text = error.to_string();
    let what = text.strip_prefix("error: ").unwrap_or(&text);
    let what = what.split("\n\n").next().unwrap_or(what).trim();
    let what = match error.source().filter(|source| source.is::<ParseIntError>()) {
        Some(source) => {
            let advice = match what.contains("LIST>") {
                true => "give whole numbers, as in 1,2",
                false => "give a whole number",
            };
            what.replace(&source.to_string(), advice)
        }
        None => what.to_owned(),
    };
    let (mut command, mut name) = (&Options::command(), "tollgate".to_owned());
    for argument in arguments {
        let Some(verb) = command.find_subcommand(argument) else { break };
        name += " ";
        name += verb.get_name();
        command = verb;
    }
    error!("{what}; try '{name} --help'")
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;

    /// Parses a command line.
    #[track_caller]
    pub(crate) fn verb(line: &str) -> Verb {
        Options::of(&line.split_whitespace().collect::<Vec<_>>()).unwrap().verb
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
