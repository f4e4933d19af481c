//! `openssl s_server`: one connection after the other.

use super::{CIPHERS, Log, Place, Recipe};

pub(super) fn recipe(place: &Place<'_>) -> Recipe {
    let accept = place.address.to_string();
    let files = ["-WWW", "-cert", "../chain.pem", "-key", "../key.pem", "-cipher", CIPHERS];
    let mut arguments = ["s_server", "-accept", &accept].map(str::to_owned).to_vec();
    arguments.extend(files.map(str::to_owned));
    if place.settings.asynchronous {
        arguments.push("-async".to_owned());
    }
    // It serves the files of its working directory.
    Recipe { file: None, arguments, stands_in: "www", reload: None, log: Log::None }
}
