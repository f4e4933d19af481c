//! The reasons why a signer gave no result, and what to do.

use core::fmt;

use rustix::io::Errno;
use tollgate_keyless::ErrorCode;

/// The reason why there is no result.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Failure {
    /// The signer refused it.
    Refused(ErrorCode),
    /// The signer cannot be reached.
    Gone(Errno),
    /// It closed the connection before any of an answer.
    Closed,
    /// It closed the connection within the answer.
    Cut,
    /// It did not answer in time.
    Late,
    /// It did not answer an earlier operation in time.
    Silent,
    /// The answer is not one of this protocol.
    Nonsense,
    /// The result is not that of this operation.
    Wrong,
}

impl Failure {
    /// Returns whether the signer has not decided: another one may do the operation.
    pub(crate) const fn is_absence(self) -> bool {
        match self {
            Self::Gone(_) | Self::Closed | Self::Cut | Self::Late | Self::Silent => true,
            // It failed itself. A Tollgate signer does not say so of a payload.
            Self::Refused(ErrorCode::Internal) => true,
            Self::Refused(_) | Self::Nonsense | Self::Wrong => false,
        }
    }

    /// Returns whether the signer refused the payload.
    pub(crate) const fn is_of_payload(self) -> bool {
        matches!(self, Self::Refused(ErrorCode::Crypto))
    }
}

impl fmt::Display for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Refused(code) => write!(f, "refused: {code}"),
            Self::Gone(why) => write!(f, "cannot be reached ({why}): {}", remedy(*why)),
            Self::Closed => f.write_str(
                "closed the connection: give the user of this process a table [[client]] there, \
                 or look at limits.connections_max and its messages",
            ),
            Self::Cut => f.write_str("ended within its answer: look at its messages"),
            Self::Late => f.write_str("did not answer in time: look at its load and messages"),
            Self::Silent => f.write_str("has not answered lately: look at its load and messages"),
            Self::Nonsense => f.write_str("gave no valid answer: check that it is tollgate signer"),
            Self::Wrong => f.write_str("gave a wrong result, which was not used: test its machine"),
        }
    }
}

/// Returns what to do if a process cannot connect.
fn remedy(why: Errno) -> &'static str {
    match why {
        Errno::ACCESS | Errno::PERM => {
            "give the user of this process permission for the socket and its folders"
        }
        Errno::AFNOSUPPORT => "allow this service the address family AF_UNIX",
        Errno::MFILE | Errno::NFILE => "raise the limit of open files",
        Errno::NOENT => {
            "start it, or check `remote`: a program with chroot looks below its new root folder"
        }
        _ => "start it, or check `remote`",
    }
}
