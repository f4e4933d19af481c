//! Citations of published figures: the key of the paper, and the year.

use core::fmt;
use core::ops::RangeInclusive;
use std::collections::BTreeSet;

use tollgate_record::{Kind, Record};

use crate::text::{cut, wrapped};

/// The years in which a cited paper may have been printed. The range excludes the key sizes 1024
/// and 2048, which are not years.
const YEARS: RangeInclusive<u16> = 1976..=2047;

/// Maximum number of characters of a key in brackets.
const KEY_MAX: usize = 8;

/// Papers: words of the title, by which a source is recognised, and the key.
const PAPERS: [(&str, &str); 5] = [
    ("Encrypting the Internet", "ETI10"),
    ("IA-64 and SSL Performance", "HP01"),
    ("Itanium Processor", "ITA00"),
    ("Understanding Public-Key Performance", "FSL05"),
    ("Long Integer Modular Arithmetic on a SPARC V8", "GTS07"),
];

/// A citation, such as `[ETI10] 2010`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Citation {
    key: String,
    year: Option<u16>,
}

impl Citation {
    /// Returns the citation of a published record; `None` for other records.
    ///
    /// The key is a key in brackets in the source, else the key of a known title, else the first
    /// word of the source. The year is the last year in the source,
    /// else the last year in the machine's name.
    pub(crate) fn new(record: &Record) -> Option<Self> {
        let Kind::Published { source } = &record.kind else {
            return None;
        };
        let titled = PAPERS.iter().find(|(title, _)| source.contains(title));
        let key = in_brackets(source)
            .or_else(|| titled.map(|(_, key)| (*key).to_owned()))
            .unwrap_or_else(|| first_word(source));
        let year = last_year(source).or_else(|| last_year(&record.machine.cpu));
        Some(Self { key: cut(&key, KEY_MAX), year })
    }
}

impl fmt::Display for Citation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "[{}]", self.key)?;
        self.year.map_or(Ok(()), |year| write!(f, " {year}"))
    }
}

/// Returns the sources of published records: a paragraph for each source, without repetition.
pub(crate) fn sources<'a>(records: impl Iterator<Item = &'a Record>) -> String {
    let sources: BTreeSet<String> = records.filter_map(source).collect();
    sources.iter().map(|source| wrapped(source)).collect()
}

/// Returns the citation of a figure and its place in the paper: `[ITA00] 2000: table 5`.
pub(crate) fn source(record: &Record) -> Option<String> {
    let Kind::Published { source } = &record.kind else {
        return None;
    };
    Some(format!("{}: {source}", Citation::new(record)?))
}

fn in_brackets(source: &str) -> Option<String> {
    let (_, rest) = source.split_once('[')?;
    let (key, _) = rest.split_once(']')?;
    let is_short = !key.is_empty() && key.chars().count() <= KEY_MAX;
    is_short.then(|| key.to_owned())
}

fn first_word(source: &str) -> String {
    let word = source.split(|c: char| !c.is_alphanumeric()).find(|word| !word.is_empty());
    word.unwrap_or("?").to_owned()
}

fn last_year(text: &str) -> Option<u16> {
    let numbers = text.split(|c: char| !c.is_ascii_digit()).filter(|digits| digits.len() == 4);
    numbers.filter_map(|digits| digits.parse().ok()).rfind(|year| YEARS.contains(year))
}

#[cfg(test)]
mod tests {

    use tollgate_record::vocabulary::CYCLES_PER_SESSION;
    use tollgate_record::{Estimate, Machine, Unit};

    use super::*;

    fn cited(subject: &str, cpu: &str, source: &str) -> String {
        let figure = (CYCLES_PER_SESSION, Unit::Cycles, Estimate::exact(1.0).unwrap());
        let kind = Kind::Published { source: source.into() };
        let record = Record::new(subject.parse().unwrap(), figure, kind, Machine::unknown(cpu));
        Citation::new(&record).unwrap().to_string()
    }

    #[test]
    fn keys_and_years_are_found_where_papers_have_them() {
        let source = "Kounavis, Encrypting the Internet, ACM SIGCOMM 2010: RSA-1024, 140 KB";
        assert_eq!(cited("fleet/x?by=eti10-before", "a processor", source), "[ETI10] 2010");
        assert_eq!(cited("fleet/x?by=appliance", "a processor", source), "[ETI10] 2010");
        assert_eq!(cited("fleet/x?by=appliance", "a processor", "Someone, 1999"), "[Someone] 1999");
        assert_eq!(cited("x", "", "[FSL05], table 1"), "[FSL05]");
        assert_eq!(cited("x", "Itanium, 1999-2000", "[ITA00] RSA-2048"), "[ITA00] 2000");
        assert_eq!(cited("x", "", ""), "[?]");
        assert_eq!(cited("x", "", "[]"), "[?]");
    }
}
