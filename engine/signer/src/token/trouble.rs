//! The reasons why a token does not do something, and what to do.

use core::fmt;

use cryptoki::error::{Error, RvError};

/// The reason why a token does not do something.
#[derive(Debug)]
pub(crate) enum Trouble {
    /// The last attempt to open a session has failed a moment ago.
    Away,
    /// A call of the module failed.
    Call(Error),
    /// The token or the settings are not as they should be: the cause and the remedy.
    Found(String),
    /// No answer came in time.
    Late,
    /// The token refused the PIN.
    Pin,
    /// A result was wrong.
    Wrong,
}

impl Trouble {
    /// Says which uses of the key clients must not have, if the token refuses one.
    pub(super) fn of_use(self, lacks: &str, uses: &str) -> Self {
        use RvError::{
            FunctionNotSupported, KeyFunctionNotPermitted, KeyTypeInconsistent, MechanismInvalid,
            MechanismParamInvalid,
        };
        match self {
            Self::Call(Error::Pkcs11(
                why @ (FunctionNotSupported
                | KeyFunctionNotPermitted
                | KeyTypeInconsistent
                | MechanismInvalid
                | MechanismParamInvalid),
                _,
            )) => Self::Found(format!(
                "{lacks} with this key ({why:?}): allow that in the token, or take {uses} out of \
                 `client.allow`"
            )),
            why => why,
        }
    }
}

impl From<Error> for Trouble {
    fn from(why: Error) -> Self {
        Self::Call(why)
    }
}

impl fmt::Display for Trouble {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Away => f.write_str("cannot be opened: look at its state"),
            Self::Call(Error::Pkcs11(why, call)) => write!(
                f,
                "does not work (C_{call:?}: {why:?}): look at its state and at the messages of its module"
            ),
            Self::Call(Error::LibraryLoading(why)) => {
                write!(f, "has a module that cannot be loaded ({why}): correct `pkcs11.module`")
            }
            Self::Call(why) => {
                write!(f, "has a module that is not usable ({why}): correct `pkcs11.module`")
            }
            Self::Found(why) => f.write_str(why),
            Self::Late => f.write_str("did not answer in time: look at its state and its load"),
            Self::Pin => f.write_str(
                "refused the PIN: correct the file of `pkcs11.pin_file`; until the next start or reload \
                 the PIN is not tried again, because tokens lock themselves",
            ),
            Self::Wrong => f.write_str(
                "gave a wrong result, which was not used: test the token, and look if its public and \
                 private key belong together",
            ),
        }
    }
}
