//! The reasons why the connection to an upstream signer has ended, and what to do.

use core::fmt;
use std::io;

use tollgate_keyless::ErrorCode;

/// The reason why a connection has ended.
#[derive(Debug)]
pub(crate) enum Failure {
    /// The signer closed it.
    Closed,
    /// The signer closed it after answers, as it does when it starts again.
    Ended,
    /// The validity of the signer's certificate has ended.
    Expired,
    /// The signer cannot be reached.
    Gone(io::Error),
    /// TLS refused the certificate.
    Handshake(&'static str),
    /// No answer came in time.
    Late,
    /// The certificate has another name.
    Name,
    /// An answer is not one of this protocol.
    Nonsense,
    /// The signer refused the ping.
    Refused(ErrorCode),
    /// A result was wrong.
    Wrong,
}

impl Failure {
    /// Returns whether the connection can have ended although the signer is well.
    pub(crate) const fn is_usual(&self) -> bool {
        matches!(self, Self::Closed | Self::Expired)
    }

    /// Returns whether the same request may be sent to the signer again, over a new connection.
    pub(crate) const fn may_ask_again(&self) -> bool {
        matches!(self, Self::Ended)
    }
}

impl fmt::Display for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Closed | Self::Ended => f.write_str(
                "closed the connection: give this machine's certificate a table [[client]] there, or \
                 look at its messages",
            ),
            Self::Expired => f.write_str("has a certificate that has expired: renew it"),
            Self::Gone(why) => write!(f, "cannot be reached ({why}): start it, or check `address`"),
            Self::Handshake(why) => write!(
                f,
                "has a certificate that was refused ({why}): renew it, or check `relay.roots`"
            ),
            Self::Late => f.write_str("did not answer in time: look at its load and messages"),
            Self::Name => f.write_str(
                "has a certificate with another name than `certificate` of its [[upstream]]: correct \
                 one of them",
            ),
            Self::Nonsense => {
                f.write_str("gave an answer that is none: check that it is tollgate signer")
            }
            Self::Refused(why) => write!(f, "refused a ping: {why}"),
            Self::Wrong => f.write_str("gave a wrong result, which was not used: test its machine"),
        }
    }
}
