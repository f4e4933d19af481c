//! Products without a configuration file of their own here, or whose logs are not read: a command
//! of the user, `gnutls-serv`, Python, `openssl s_server` and stunnel.

use super::{ACCESS_LOG, CIPHERS, Place, Recipe};

/// A shell runs the command of the user.
pub(super) fn command(place: &Place<'_>) -> Recipe {
    let folder = place.folder.display().to_string();
    let log = format!("{folder}/{ACCESS_LOG}");
    let command = place.settings.command.as_deref().unwrap_or_default();
    let command = command
        .replace("{port}", &place.address.port().to_string())
        .replace("{log}", &log)
        .replace("{folder}", &folder);
    Recipe { file: None, arguments: vec!["-c".to_owned(), command] }
}

/// `gnutls-serv` serves all connections in one process, and prints a description of each session.
/// It resumes no session and requests no certificate.
pub(super) fn gnutls(place: &Place<'_>) -> Recipe {
    let port = format!("--port={}", place.address.port());
    let files = ["--x509certfile=chain.pem", "--x509keyfile=key.pem"];
    let mode = ["--http", "--disable-client-cert", "--nodb", "--noticket"];
    let priority = "--priority=NORMAL:+RSA:+ARCFOUR-128:+3DES-CBC";
    let arguments = mode.into_iter().chain(files).chain([priority, port.as_str()]);
    Recipe { file: None, arguments: arguments.map(str::to_owned).collect() }
}

/// Python's module ssl, with a thread for each connection.
pub(super) fn python(place: &Place<'_>) -> Recipe {
    let (ip, port) = (place.address.ip().to_string(), place.address.port().to_string());
    let script = include_str!("python.py").to_owned();
    Recipe::new("server.py", script, &["server.py", &ip, &port, CIPHERS])
}

/// `openssl s_server` serves one connection after the other.
pub(super) fn s_server(place: &Place<'_>) -> Recipe {
    let accept = place.address.to_string();
    let files = ["-WWW", "-cert", "../chain.pem", "-key", "../key.pem", "-cipher", CIPHERS];
    let mode = place.settings.asynchronous.then_some("-async");
    let arguments = ["s_server", "-accept", &accept].into_iter().chain(files).chain(mode);
    Recipe { file: None, arguments: arguments.map(str::to_owned).collect() }
}

/// stunnel terminates TLS in a thread for each connection, in front of nginx without TLS.
pub(super) fn stunnel(place: &Place<'_>) -> Recipe {
    let (folder, address) = (place.folder.display(), place.address);
    let backend = place.backend.unwrap_or(address);
    let service = place.directives("service", &[], "\n");
    let text = format!(
        "foreground = yes\npid =\nsyslog = no\ndebug = err\n\
         [tls]\naccept = {address}\nconnect = {backend}\ncert = {folder}/chain.pem\n\
         key = {folder}/key.pem\nciphers = {CIPHERS}\nsslVersionMin = TLSv1.2\n{service}"
    );
    Recipe::new("stunnel.conf", text, &["stunnel.conf"])
}
