//! The identity of a connection's peer.

/// The identity of a connection's peer, as the system or its certificate proves it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Identity {
    /// The names in a certificate.
    Certificate(Vec<String>),
    /// A user of this machine.
    User(u32),
}
