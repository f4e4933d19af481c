//! Python's module ssl: a thread for each connection.

use super::{CIPHERS, Log, Place, Recipe};

/// The server.
const SCRIPT: &str = include_str!("python.py");

pub(super) fn recipe(place: &Place<'_>) -> Recipe {
    let (ip, port) = (place.address.ip().to_string(), place.address.port().to_string());
    let arguments = ["server.py", &ip, &port, CIPHERS].map(str::to_owned).to_vec();
    let file = Some(("server.py", SCRIPT.to_owned()));
    Recipe { file, arguments, stands_in: "", reload: None, log: Log::None }
}
