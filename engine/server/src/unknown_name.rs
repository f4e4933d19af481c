//! The error of parsing names.

use core::fmt;

/// An unknown name.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct UnknownName {
    pub(crate) what: &'static str,
    pub(crate) name: String,
    pub(crate) known: Vec<&'static str>,
}

impl UnknownName {
    /// Finds the value with this name. Each value has N names. If no value has the name, the error
    /// lists the last name of each value.
    pub(crate) fn find<T: Copy, const N: usize>(
        what: &'static str,
        name: &str,
        all: &[T],
        names: impl Fn(T) -> [&'static str; N],
    ) -> Result<T, Self> {
        all.iter().copied().find(|value| names(*value).contains(&name)).ok_or_else(|| Self {
            what,
            name: name.to_owned(),
            known: all.iter().filter_map(|value| names(*value).last().copied()).collect(),
        })
    }
}

impl fmt::Display for UnknownName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { what, name, known } = self;
        write!(f, "no {what} {name:?} here: choose from {}", known.join(", "))
    }
}

impl core::error::Error for UnknownName {}
