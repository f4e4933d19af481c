//! hitch: terminates TLS in workers, in front of an HTTP backend.

use rustix::process::Signal;

use super::{CIPHERS, Log, Place, Recipe};

pub(super) fn recipe(place: &Place<'_>) -> Recipe {
    let folder = place.folder.display();
    let (ip, port) = (place.address.ip(), place.address.port());
    let backend = place.backend.unwrap_or(place.address);
    let workers = place.settings.workers();
    // hitch refuses to run as root.
    let user = if place.is_root { "user = \"nobody\"\n" } else { "" };
    let text = format!(
        "frontend = \"[{ip}]:{port}\"\nbackend = \"[{}]:{}\"\npem-file = \"{folder}/both.pem\"\n\
         {user}workers = {workers}\ndaemon = off\nsyslog = off\nciphers = \"{CIPHERS}\"\n\
         tls-protos = TLSv1.2 TLSv1.3\n",
        backend.ip(),
        backend.port()
    );
    Recipe {
        file: Some(("hitch.conf", text)),
        arguments: vec!["--config=hitch.conf".to_owned()],
        stands_in: "",
        reload: Some(Signal::HUP),
        log: Log::None,
    }
}
