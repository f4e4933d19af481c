//! Tests that `docs/VERB*.md` has a row for each option of a verb, with the same default.

use clap::{Arg, Command};

use super::all_verbs;

#[test]
fn each_flag_has_a_row_with_its_default() {
    let mut lacking = Vec::new();
    for verb in all_verbs().get_subcommands() {
        let name = verb.get_name();
        let pages = pages_of(name);
        for flag in flags_of(verb) {
            let name = flag.get_long().unwrap_or_default();
            let mut rows = pages.lines().filter(|row| flags_in(row).any(|flag| flag == name));
            let defaults = flag.get_default_values().iter().filter_map(|value| value.to_str());
            let default = defaults.collect::<Vec<_>>().join(",");
            let takes_a_value = flag.get_action().takes_values();
            if !rows.any(|row| !takes_a_value || row.contains(&default)) {
                lacking.push(format!("{} --{name} {default}", verb.get_name()));
            }
        }
    }
    assert_eq!(lacking, [""; 0]);
}

#[test]
fn each_row_is_of_a_flag() {
    let mut unknown = Vec::new();
    for verb in all_verbs().get_subcommands() {
        let pages = pages_of(verb.get_name());
        let known: Vec<_> = flags_of(verb).filter_map(Arg::get_long).collect();
        let named = pages.lines().flat_map(flags_in);
        let wrong = named.filter(|flag| !known.contains(flag));
        unknown.extend(wrong.map(|flag| format!("{} --{flag}", verb.get_name())));
    }
    assert_eq!(unknown, [""; 0]);
}

/// Returns the long options of a verb and of its sub-verbs.
fn flags_of(verb: &Command) -> impl Iterator<Item = &Arg> {
    let all = core::iter::once(verb).chain(verb.get_subcommands());
    all.flat_map(Command::get_arguments).filter(|flag| flag.get_long().is_some())
}

/// Returns the options in the first cell of a table's row.
fn flags_in(line: &str) -> impl Iterator<Item = &str> {
    let cell = line.strip_prefix('|').and_then(|rest| rest.split('|').next()).unwrap_or_default();
    cell.split("`--").skip(1).filter_map(|rest| rest.split([' ', '`']).next())
}

/// Returns the text of the pages `VERB.md` and `VERB-*.md`.
fn pages_of(verb: &str) -> String {
    let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs");
    let mut pages = String::new();
    for entry in std::fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        let name = path.file_name().unwrap_or_default().to_string_lossy();
        let of_verb = name.strip_suffix(".md").and_then(|name| name.strip_prefix(verb));
        if of_verb.is_some_and(|rest| rest.is_empty() || rest.starts_with('-')) {
            pages += &std::fs::read_to_string(&path).unwrap();
        }
    }
    pages
}
