//! The source of a routine, statement by statement.

use core::fmt::Write;

use super::Arithmetic;

/// The registers of a routine. `%i0` to `%i5`, `%l0` and `%l1` have the same content in every
/// routine: z, a, b, p, m (n words after p), s (n words after m), n in bytes, n0'. `%l2` is the
/// offset of the column or row in bytes, and `%l7` is n - 1 in bytes.
pub(super) mod register {
    pub(in super::super) const A: &str = "%i1";
    pub(in super::super) const B: &str = "%i2";
    pub(in super::super) const P: &str = "%i3";
    pub(in super::super) const M: &str = "%i4";
    pub(in super::super) const N0: &str = "%l1";
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
    /// Begins a routine with its name.
    pub(super) fn new(name: &str, arithmetic: Arithmetic) -> Self {
        Self { name: name.to_owned(), source: format!("{name}:\n"), arithmetic }
    }

    /// Adds statements, separated by semicolons or new lines. `@label` is a label of the routine,
    /// and `@label:` before a statement defines it.
    pub(super) fn add(&mut self, statements: impl AsRef<str>) {
        let prefix = format!("{}_", self.name);
        for mut statement in statements.as_ref().split([';', '\n']).map(str::trim) {
            let defined = statement.strip_prefix('@').and_then(|text| text.split_once(':'));
            if let Some((label, after)) = defined {
                writeln!(self.source, "{prefix}{label}:").expect("writing to a String succeeds");
                statement = after.trim();
            }
            if !statement.is_empty() {
                let statement = statement.replace('@', &prefix);
                writeln!(self.source, "        {statement}").expect("writing to a String succeeds");
            }
        }
    }

    pub(super) fn into_source(self) -> String {
        self.source
    }
}
