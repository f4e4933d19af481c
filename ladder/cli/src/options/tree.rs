//! Tests of all commands and options of both programs: their number, and that an option means the
//! same wherever it has the same name.

use clap::{Arg, Command};

use super::all_verbs;

/// The maximum numbers of commands that run and of their options.
const COMMANDS_MAX: usize = 30;
const OPTIONS_MAX: usize = 259;

/// Returns the commands that run, with their full names.
fn runnable(command: &Command, name: &str, all: &mut Vec<(String, Command)>) {
    if !command.is_subcommand_required_set() && !name.is_empty() {
        all.push((name.to_owned(), command.clone()));
    }
    for verb in command.get_subcommands() {
        runnable(verb, format!("{name} {}", verb.get_name()).trim(), all);
    }
}

fn commands() -> Vec<(String, Command)> {
    let mut all = Vec::new();
    runnable(&all_verbs(), "", &mut all);
    all
}

fn options(command: &Command) -> impl Iterator<Item = &Arg> {
    command.get_arguments().filter(|arg| arg.get_long().is_some())
}

#[test]
fn commands_and_options_are_few() {
    let commands = commands();
    let count: usize = commands.iter().map(|(_, command)| options(command).count()).sum();
    assert!(commands.len() <= COMMANDS_MAX, "{} commands", commands.len());
    assert!(count <= OPTIONS_MAX, "{count} options");
}

/// Options whose values have one form in all commands.
const FORMS: [(&str, &str); 7] = [
    ("client-cores", "LIST"),
    ("cores", "LIST"),
    ("json", "FILE"),
    ("key", "FILE"),
    ("out", "FOLDER"),
    ("seconds", "S"),
    ("server-cores", "LIST"),
];

#[test]
fn an_option_has_one_meaning() {
    for (name, command) in commands() {
        for option in options(&command) {
            let long = option.get_long().unwrap_or_default();
            let Some((_, form)) = FORMS.iter().find(|(option, _)| *option == long) else {
                continue;
            };
            let value = option.get_value_names().unwrap_or_default().join(" ");
            assert_eq!(value, *form, "{name} --{long}");
            if long == "seconds" {
                assert_eq!(option.get_short(), Some('z'), "{name} --{long}");
            }
        }
    }
}
