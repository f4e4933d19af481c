//! lighttpd: one process, one thread.

use rustix::process::Signal;

use super::{CIPHERS, Log, Place, Recipe};

pub(super) fn recipe(place: &Place<'_>) -> Recipe {
    let folder = place.folder.display();
    let (ip, port) = (place.address.ip(), place.address.port());
    let text = format!(
        r#"server.modules = ( "mod_openssl" )
server.document-root = "{folder}/www"
server.bind = "{ip}"
server.port = {port}
server.errorlog = "/dev/stderr"
server.max-keep-alive-requests = 0
mimetype.assign = ( "" => "application/octet-stream" )
ssl.engine = "enable"
ssl.pemfile = "{folder}/chain.pem"
ssl.privkey = "{folder}/key.pem"
ssl.openssl.ssl-conf-cmd = ( "MinProtocol" => "TLSv1.2", "CipherString" => "{CIPHERS}" )
"#
    );
    Recipe {
        file: Some(("lighttpd.conf", text)),
        arguments: ["-D", "-f", "lighttpd.conf"].map(str::to_owned).to_vec(),
        stands_in: "",
        reload: Some(Signal::USR1),
        log: Log::None,
    }
}
