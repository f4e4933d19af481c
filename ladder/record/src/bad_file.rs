//! Errors in files that people write.

use core::fmt;
use core::ops::Range;

/// The error of an invalid TOML file, which describes a machine, a timing or a workload. The author
/// of the file must correct it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct BadFile {
    what: &'static str,
    line: Option<usize>,
    field: String,
    why: String,
}

impl BadFile {
    /// Creates a parser's error. `text` is the content of the file, `what` the kind of file, and
    /// `span` the byte range of the error.
    #[must_use]
    pub fn at(what: &'static str, text: &str, span: Option<Range<usize>>, message: &str) -> Self {
        let before = span.and_then(|span| text.get(..span.start));
        let line = before.map(|before| before.matches('\n').count() + 1);
        let field = line.map_or_else(String::new, |line| field(text, line));
        // Some messages have several lines; join them.
        Self { what, line, field, why: message.lines().collect::<Vec<_>>().join("; ") }
    }

    /// Creates a field with an impossible value.
    #[must_use]
    pub fn field(what: &'static str, field: &str, why: String) -> Self {
        Self { what, line: None, field: field.to_owned(), why }
    }
}

/// Returns the field of a line, `rates.mulx`: its key under the heading above it.
fn field(text: &str, line: usize) -> String {
    let is_heading = |line: &&str| line.starts_with('[');
    let lines = || text.lines().take(line).map(str::trim);
    let heading = lines().filter(is_heading).last().unwrap_or_default();
    let heading = heading.trim_matches(['[', ']']);
    let key = lines().last().filter(|line| !is_heading(line)).and_then(|line| line.split_once('='));
    let parts = [heading, key.map_or("", |(key, _)| key.trim())];
    parts.into_iter().filter(|part| !part.is_empty()).collect::<Vec<_>>().join(".")
}

impl fmt::Display for BadFile {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let place = self.line.map_or_else(String::new, |line| format!("line {line}: "));
        let colon = if self.field.is_empty() { "" } else { ": " };
        let whole = format!("{} file: {place}{}{colon}{}", self.what, self.field, self.why);
        // A field's name comes from the file. Escape its control characters, which a terminal would
        // obey.
        whole.chars().try_for_each(|c| {
            if c.is_control() { write!(f, "{}", c.escape_default()) } else { write!(f, "{c}") }
        })
    }
}

impl core::error::Error for BadFile {}

#[cfg(test)]
mod tests {
    use super::*;

    const FILE: &str = "name = \"x\"\n\n[rates]\nmulx = 0\n";

    #[test]
    fn messages_name_the_line_and_the_field() {
        let at = FILE.find('0').expect("the file has it");
        let error = BadFile::at("machine", FILE, Some(at..at + 1), "no\nnumber");
        assert_eq!(error.to_string(), "machine file: line 4: rates.mulx: no; number");
        let error = BadFile::at("machine", FILE, Some(0..1), "bad");
        assert_eq!(error.to_string(), "machine file: line 1: name: bad");
        let heading = FILE.find('[').expect("the file has it");
        let error = BadFile::at("machine", FILE, Some(heading..heading + 1), "bad");
        assert_eq!(error.to_string(), "machine file: line 3: rates: bad");
    }

    #[test]
    fn messages_without_a_place_are_one_plain_line() {
        assert_eq!(BadFile::at("timing", FILE, None, "bad").to_string(), "timing file: bad");
        let nowhere = BadFile::at("timing", FILE, Some(1000..1001), "bad");
        assert_eq!(nowhere.to_string(), "timing file: bad");
        let error = BadFile::field("timing", "a\u{1b}[31m", "is 0".to_owned());
        assert_eq!(error.to_string(), "timing file: a\\u{1b}[31m: is 0");
    }
}
