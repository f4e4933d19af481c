//! The command line: every flag with help, default and unit.

mod files;
#[cfg(test)]
mod pages;

use core::error::Error as _;
use core::iter;
use core::num::ParseIntError;
use std::env;
use std::ffi::OsString;
use std::path::PathBuf;

use clap::error::ErrorKind;
use clap::{Args, Command, CommandFactory as _, FromArgMatches as _, Parser, Subcommand};

pub(crate) use crate::verbs::bench::options::{Bench, CoreSpan, EngineKind, KeyShare, ServerKind};
pub(crate) use crate::verbs::compare::options::{Compare, Failing};
pub(crate) use crate::verbs::fleet::options::Fleet;
pub(crate) use crate::verbs::kernel::options::Kernel;
pub(crate) use crate::verbs::key::options::Key;
pub(crate) use crate::verbs::ladder::options::Ladder;
pub(crate) use crate::verbs::model::options::{Change, Model};
pub(crate) use crate::verbs::provider::options::Provider;
pub(crate) use crate::verbs::report::options::Report;
pub(crate) use crate::verbs::serve::options::Serve;
pub(crate) use crate::verbs::session::options::Session;
pub(crate) use crate::verbs::simulate::options::Simulate;
pub(crate) use crate::verbs::speed::options::{Against, Exponent, Speed, Table};
pub(crate) use crate::verbs::workload::options::Workload;

use crate::error::CliError;

/// What a TLS connection costs, rung by rung.
#[derive(Debug, Parser)]
#[command(name = "tollgate", version, about, after_help = AFTER)]
pub(crate) struct Options {
    #[command(subcommand)]
    pub(crate) verb: Verb,
}

const AFTER: &str = "\
TOLLGATE_CPU_DISABLE=ifma,adx switches features of our kernels off; OpenSSL has OPENSSL_ia32cap.
Exit codes: 0 done, 1 measured and not valid, 2 refused (one line on standard error says why),
130 stopped by Ctrl-C, 141 nobody reads what is printed.";

/// The rungs that can be measured.
#[derive(Debug, Subcommand)]
pub(crate) enum Verb {
    /// TLS sessions of a server under load: OpenSSL and ours in turn, each count confirmed
    Bench(Box<Bench>),
    /// Records of two or more runs: faster, slower, or no change proven; and of machines
    Compare(Compare),
    /// Cores, costs and response times of many servers, from records of one
    Fleet(Fleet),
    /// Montgomery products and squares of every kernel that this machine can run
    Kernel(Kernel),
    /// RSA keys: make one, show one, check one
    Key(Key),
    /// All six rungs, one after the other: a table, a page, and records
    Ladder(Ladder),
    /// Montgomery products on processors that are only described, and at best on this one
    Model(Model),
    /// The OpenSSL provider: install it, check it, see what servers do with it
    Provider(Provider),
    /// The six rungs from records: a table and a page
    Report(Report),
    /// The embedded TLS server, with our engine or OpenSSL's
    Serve(Serve),
    /// What a TLS session costs a server, by part, beside what a real server takes for it
    Session(Session),
    /// Programs on a processor that nobody has built, instruction by instruction
    Simulate(Simulate),
    /// RSA operations: ours beside OpenSSL's and AWS-LC's, in one run
    Speed(Speed),
    /// Workloads: named ones with their reasons, and new ones from access logs
    Workload(Workload),
}

/// Where records go.
#[derive(Args, Clone, Debug)]
pub(crate) struct Written {
    /// Write the records as JSON Lines to this file, made anew; - is standard output
    #[arg(long, value_name = "FILE")]
    pub(crate) json: Option<PathBuf>,
}

impl Options {
    /// Reads the command line; help and version end the program with code 0.
    ///
    /// # Errors
    ///
    /// The command line is not right; clap's message in one line.
    pub(crate) fn read() -> Result<Self, CliError> {
        let arguments: Vec<OsString> = env::args_os().skip(1).collect();
        let options = Self::parsed(&arguments).map_err(|error| match error.kind() {
            ErrorKind::DisplayHelp
            | ErrorKind::DisplayHelpOnMissingArgumentOrSubcommand
            | ErrorKind::DisplayVersion => error.exit(),
            _ => one_line(&error, &arguments),
        })?;
        files::check(&options.verb)?;
        Ok(options)
    }

    /// Of these arguments, without the program's name.
    ///
    /// # Errors
    ///
    /// They are not right; clap's message in one line.
    pub(crate) fn of(arguments: &[&str]) -> Result<Self, CliError> {
        let arguments: Vec<OsString> = arguments.iter().map(OsString::from).collect();
        Self::parsed(&arguments).map_err(|error| one_line(&error, &arguments))
    }

    fn parsed(arguments: &[OsString]) -> Result<Self, clap::Error> {
        let name = OsString::from("tollgate");
        let matches =
            negatives(Self::command()).try_get_matches_from(iter::once(&name).chain(arguments))?;
        Self::from_arg_matches(&matches)
    }
}

/// A number below zero is the value of its flag, to be refused as such, and no flag of its own.
fn negatives(command: Command) -> Command {
    let command = command.mut_args(|arg| {
        let takes = arg.get_action().takes_values();
        if takes { arg.allow_negative_numbers(true) } else { arg }
    });
    command.mut_subcommands(negatives)
}

/// The first paragraph of clap's message, and which help says more.
fn one_line(error: &clap::Error, arguments: &[OsString]) -> CliError {
    let text = error.to_string();
    let what = text.strip_prefix("error: ").unwrap_or(&text);
    let what = what.split("\n\n").next().unwrap_or(what).trim();
    let what = match error.source().filter(|source| source.is::<ParseIntError>()) {
        Some(source) => what.replace(&source.to_string(), "give a whole number"),
        None => what.to_owned(),
    };
    let (mut command, mut name) = (&Options::command(), "tollgate".to_owned());
    for argument in arguments {
        let Some(verb) = command.find_subcommand(argument) else { break };
        name += " ";
        name += verb.get_name();
        command = verb;
    }
    CliError::new(format!("{what}; try '{name} --help'"))
}

pub(crate) fn seconds(text: &str) -> Result<f64, String> {
    let seconds: f64 = text.parse().map_err(|_| "a number of seconds is needed".to_owned())?;
    if (0.01..=3600.0).contains(&seconds) {
        Ok(seconds)
    } else {
        Err("give 0.01 to 3600 seconds".to_owned())
    }
}

#[cfg(test)]
pub(crate) mod tests {
    #![allow(clippy::unwrap_used, reason = "tests")]

    use super::*;

    /// The options of `tollgate bench` with these flags.
    #[track_caller]
    pub(crate) fn bench(flags: &[&str]) -> Bench {
        match Options::of(&[&["bench"], flags].concat()).unwrap().verb {
            Verb::Bench(options) => *options,
            other => unreachable!("bench was asked for: {other:?}"),
        }
    }

    /// Each of these command lines is refused, in one line that holds these words.
    #[track_caller]
    pub(crate) fn assert_refused(verb: &str, bad: &[(&[&str], &str)]) {
        for (flags, why) in bad {
            let message = Options::of(&[&[verb], *flags].concat()).unwrap_err().to_string();
            assert!(message.contains(why), "{flags:?}: {message}");
            assert_eq!(message.lines().count(), 1, "{message}");
        }
    }

    #[test]
    fn the_declaration_is_sound() {
        Options::command().debug_assert();
    }

    #[test]
    fn a_number_that_is_none_is_refused_as_a_value_and_the_help_is_that_of_the_verb() {
        for (verb, flags, why) in [
            ("bench", &["--seconds", "-1"][..], "'-1' for '--seconds <S>'"),
            ("compare", &["a", "--drift", "-1"], "from 0 to 1"),
            ("session", &["--bytes", "x"], "give a whole number; try 'tollgate session --help'"),
            ("serve", &["--address", "here"], "give IP:PORT"),
            ("key", &["gen", "--nope"], "'--nope' found; try 'tollgate key gen --help'"),
            ("drive", &[], "'drive'; try 'tollgate --help'"),
        ] {
            assert_refused(verb, &[(flags, why)]);
        }
    }
}
