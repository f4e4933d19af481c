//! Reads any text as the settings of a site. An error has one line, and a number of a line that
//! exists. Comments before and after the settings change only that number.
#![no_main]

use std::fs;

use libfuzzer_sys::fuzz_target;
use tollgate_server::{Config, Error, Rejected};

const COMMENTS: &str = "# a comment\n\n#\t[limits]\n";
const COMMENT_LINES: usize = 3;

fuzz_target!(|text: &str| {
    if text.starts_with('\u{feff}') {
        return;
    }
    let alone = seen(text);
    if let Err((Some(line), why)) = &alone {
        assert!((1..=1 + text.matches('\n').count()).contains(line), "{line}: {why}");
    }
    let shifted = alone.map_err(|(line, why)| (line.map(|line| line + COMMENT_LINES), why));
    assert_eq!(seen(&format!("{COMMENTS}{text}")), shifted);
    if shifted.is_ok() {
        assert_eq!(seen(&format!("{COMMENTS}{text}\n# end")), shifted);
    }
});

/// Returns the settings, or the number of a line and an error.
fn seen(text: &str) -> Result<String, (Option<usize>, String)> {
    let name = format!("tollgate-fuzz-{}.toml", std::process::id());
    let path = std::env::temp_dir().join(name);
    fs::write(&path, text).expect("room for a file");
    let config = Config::from_file(&path);
    let _ = fs::remove_file(&path);
    config.map(|config| format!("{config:?}")).map_err(|error| {
        let text = error.to_string();
        assert!(!text.is_empty() && !text.chars().any(char::is_control), "{text:?}");
        match error {
            Error::Rejected(Rejected::Settings { line, why, .. }) => (line, why),
            _ => (None, text),
        }
    })
}
