//! The default group of TLS 1.3: the hybrid that browsers prefer, if OpenSSL has it.

use tollgate_server::Engine;
use tollgate_session::has_group;
use tollgate_tls_client::Group;

use crate::run::Notes;

/// Returns X25519MLKEM768 if OpenSSL has it without and with Tollgate's engine; otherwise `None`:
/// both sides then use the group of the protocol.
pub(crate) fn default_group() -> Option<Group> {
    let hybrid = Group::X25519MlKem768;
    let is_everywhere =
        [Engine::OpenSsl, Engine::Tollgate].into_iter().all(|engine| has_group(engine, hybrid));
    is_everywhere.then_some(hybrid)
}

/// Returns the default group, and notes if it is not the hybrid.
pub(crate) fn noted_group(notes: &mut Notes) -> Option<Group> {
    let group = default_group();
    if group.is_none() {
        let version = openssl::version::version().split(' ').nth(1).unwrap_or_default();
        notes.add(format!(
            "OpenSSL {version} has no X25519MLKEM768, so handshakes use x25519, without Tollgate \
             and with it: for the handshakes of today's browsers, measure with OpenSSL 3.5 or \
             later, as in Debian 13"
        ));
    }
    group
}
