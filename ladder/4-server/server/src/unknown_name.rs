//! The error of parsing names.

use core::fmt;

/// An unknown name.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct UnknownName {
    what: &'static str,
    name: String,
    known: Vec<String>,
}

impl UnknownName {
    /// Finds the value with this name. Each value has N names. If no value has the name, the error
    /// lists the last name of each value.
    ///
    /// # Errors
    ///
    /// No value has the name.
    pub fn find<T: Copy, S: Into<String>, const N: usize>(
        what: &'static str,
        name: &str,
        all: &[T],
        names: impl Fn(T) -> [S; N],
    ) -> Result<T, Self> {
        let names = |value: &T| names(*value).map(Into::into);
        let found = all.iter().find(|value| names(value).iter().any(|known| known == name));
        found.copied().ok_or_else(|| Self {
            what,
            name: name.to_owned(),
            known: all.iter().filter_map(|value| names(value).into_iter().last()).collect(),
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
