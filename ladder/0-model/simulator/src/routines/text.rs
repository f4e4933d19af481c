//! The source of a routine, line by line.

use core::fmt;
use core::fmt::Write;

use super::Arithmetic;

/// The registers of a routine. `%i0` to `%i5`, `%l0` and `%l1` have the same content in every
/// routine: z, a, b, p, m (n words after p), s (n words after m), n in bytes, n0'.
pub(super) mod register {
    pub(in super::super) const A: &str = "%i1";
    pub(in super::super) const B: &str = "%i2";
    pub(in super::super) const P: &str = "%i3";
    pub(in super::super) const M: &str = "%i4";
    pub(in super::super) const SIZE: &str = "%l0";
    pub(in super::super) const N0: &str = "%l1";
    /// The offset of the column or row in bytes.
    pub(in super::super) const I: &str = "%l2";
    /// n - 1 in bytes.
    pub(in super::super) const LAST: &str = "%l7";
    /// The word above the highest: 0 or 1.
    pub(in super::super) const REST: &str = "%o5";
}

/// The source of a routine.
#[derive(Debug)]
pub(super) struct Text {
    name: String,
    source: String,
    pub(super) arithmetic: Arithmetic,
}

impl Text {
    pub(super) fn new(name: &str, arithmetic: Arithmetic) -> Self {
        Self { name: name.to_owned(), source: String::new(), arithmetic }
    }

    /// Adds a line.
    pub(super) fn add(&mut self, line: impl fmt::Display) {
        writeln!(self.source, "        {line}").expect("writing to a String succeeds");
    }

    /// Adds lines.
    pub(super) fn all(&mut self, lines: &[&str]) {
        lines.iter().for_each(|line| self.add(line));
    }

    /// The full name of a label of the routine.
    pub(super) fn label(&self, label: &str) -> String {
        let separator = if label.is_empty() { "" } else { "_" };
        format!("{}{separator}{label}", self.name)
    }

    /// Adds a label.
    pub(super) fn name(&mut self, label: &str) {
        let label = self.label(label);
        writeln!(self.source, "{label}:").expect("writing to a String succeeds");
    }

    pub(super) fn into_source(self) -> String {
        self.source
    }
}
