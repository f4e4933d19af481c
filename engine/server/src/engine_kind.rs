//! The engines of a server.

use core::fmt;
use core::str::FromStr;

use crate::unknown_name::UnknownName;

/// The implementation of a server's private-key operations.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Engine {
    /// OpenSSL's default provider.
    OpenSsl,
    /// The provider of crate `tollgate-provider`, linked in; RSA keys only.
    Tollgate,
}

impl Engine {
    /// Returns the name in flags, logs and metrics.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::OpenSsl => "openssl",
            Self::Tollgate => "tollgate",
        }
    }
}

impl fmt::Display for Engine {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

impl FromStr for Engine {
    type Err = UnknownName;

    fn from_str(name: &str) -> Result<Self, UnknownName> {
        UnknownName::find("engine", name, &[Self::OpenSsl, Self::Tollgate], |it| [it.name()])
    }
}
