//! stunnel: terminates TLS in a thread for each connection, in front of an HTTP backend.

use rustix::process::Signal;

use super::{CIPHERS, Log, Place, Recipe};

pub(super) fn recipe(place: &Place<'_>) -> Recipe {
    let (folder, address) = (place.folder.display(), place.address);
    let backend = place.backend.unwrap_or(address);
    let text = format!(
        "foreground = yes\npid =\nsyslog = no\ndebug = err\n\
         [tls]\naccept = {address}\nconnect = {backend}\ncert = {folder}/chain.pem\n\
         key = {folder}/key.pem\nciphers = {CIPHERS}\nsslVersionMin = TLSv1.2\n"
    );
    Recipe {
        file: Some(("stunnel.conf", text)),
        arguments: vec!["stunnel.conf".to_owned()],
        stands_in: "",
        reload: Some(Signal::HUP),
        log: Log::None,
    }
}
