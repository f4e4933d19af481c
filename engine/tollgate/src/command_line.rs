//! Reads command lines, and prints errors of them in one line.

use core::error::Error as _;
use core::iter;
use core::num::ParseIntError;
use std::env;
use std::ffi::OsString;
use std::io::ErrorKind as IoError;
use std::os::unix::process::CommandExt as _;
use std::process;

use clap::error::ErrorKind;
use clap::{ArgMatches, Command, Parser};

use crate::error::CliError;

/// The program that measures.
const LADDER: &str = "tollgate-ladder";

/// Reads the command line. Help and version end the program with code 0.
///
/// # Errors
///
/// clap's message in one line, with the command that prints the help.
pub fn read<O: Parser>(command: Command) -> Result<(O, ArgMatches), CliError> {
    let arguments: Vec<OsString> = env::args_os().skip(1).collect();
    parse(command, &arguments)
}

/// Parses these arguments, without the program's name.
///
/// # Errors
///
/// As [`read`].
pub fn parse<O: Parser>(
    command: Command,
    arguments: &[OsString],
) -> Result<(O, ArgMatches), CliError> {
    let wrong = |error: clap::Error| match error.kind() {
        ErrorKind::DisplayHelp
        | ErrorKind::DisplayHelpOnMissingArgumentOrSubcommand
        | ErrorKind::DisplayVersion => error.exit(),
        _ => one_line(&error, &command, arguments),
    };
    let name = OsString::from("tollgate");
    let words = iter::once(&name).chain(arguments);
    let matches = negatives(command.clone()).try_get_matches_from(words).map_err(wrong)?;
    let options = O::from_arg_matches(&matches).map_err(wrong)?;
    Ok((options, matches))
}

/// Seconds as a number (`2.5`) or with a unit (`500ms`, `10s`, `2m`); 0.01 to 3600.
///
/// # Errors
///
/// What to give instead.
pub fn seconds(text: &str) -> Result<f64, String> {
    let units = [("ms", 1e-3), ("s", 1.0), ("m", 60.0)];
    let with_unit = |(unit, seconds): (&str, f64)| Some((text.strip_suffix(unit)?, seconds));
    let (number, unit) = units.into_iter().find_map(with_unit).unwrap_or((text, 1.0));
    let number: f64 =
        number.parse().map_err(|_| "give seconds: 2.5, 500ms, 10s or 2m".to_owned())?;
    let seconds = number * unit;
    if (0.01..=3600.0).contains(&seconds) {
        Ok(seconds)
    } else {
        Err("give 0.01 to 3600 seconds".to_owned())
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
fn one_line(error: &clap::Error, command: &Command, arguments: &[OsString]) -> CliError {
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
    let (mut command, mut name) = (command, "tollgate".to_owned());
    for argument in arguments {
        let Some(verb) = command.find_subcommand(argument) else { break };
        name += " ";
        name += verb.get_name();
        command = verb;
    }
    error!("{what}; try '{name} --help'")
}

/// Replaces this process by `tollgate-ladder`, from this program's folder or else from `PATH`.
/// Returns only if that fails.
pub(crate) fn run_ladder(arguments: &[OsString]) -> CliError {
    let beside = env::current_exe().ok().map(|program| program.with_file_name(LADDER));
    let program = beside.filter(|program| program.exists()).unwrap_or_else(|| LADDER.into());
    let error = process::Command::new(&program).args(arguments).exec();
    let verb = arguments.first().map(|verb| verb.display().to_string()).unwrap_or_default();
    match error.kind() {
        IoError::NotFound => error!(
            "'{verb}' is no verb of this program, and {LADDER}, which measures, is not installed: \
             install the package {LADDER}, or check the verb with 'tollgate --help'"
        ),
        _ => error!("{}: {error}", program.display()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn seconds_have_units() {
        for (text, expected) in [("2.5", 2.5), ("500ms", 0.5), ("10s", 10.0), ("2m", 120.0)] {
            assert_eq!(seconds(text), Ok(expected));
        }
        assert!(seconds("1h").is_err() && seconds("ms").is_err() && seconds("2000m").is_err());
    }
}
