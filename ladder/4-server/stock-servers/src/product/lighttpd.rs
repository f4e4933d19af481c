//! lighttpd with `mod_openssl`: one process with one thread.

use super::{CIPHERS, Place, Recipe};

/// The log format for `tollgate_load`: "combined" with further fields, as in docs/bench-url.md.
/// lighttpd has no variable for the TLS version or for resumption. The port takes TLS only, and no
/// load resumes a session.
pub(crate) const LOG_FORMAT: &str = concat!(
    r#"accesslog.format = "%h %l %u %t \"%r\" %>s %b \"%{Referer}i\" \"%{User-Agent}i\" "#,
    r#"keepalive=%k done=%X reused=. proto=TLS""#,
);

pub(super) fn recipe(place: &Place<'_>) -> Recipe {
    let folder = place.folder.display();
    let (ip, port) = (place.address.ip(), place.address.port());
    // lighttpd writes a log file every four seconds, but each line at once into a pipe.
    let server = place.directives("server", &[], "\n");
    let text = format!(
        r#"server.modules = ( "mod_openssl", "mod_accesslog" )
server.document-root = "{folder}/www"
server.bind = "{ip}"
server.port = {port}
server.errorlog = "/dev/stderr"
server.max-keep-alive-requests = 0
accesslog.filename = "|exec cat >> {folder}/access.log"
{LOG_FORMAT}
mimetype.assign = ( "" => "application/octet-stream" )
ssl.engine = "enable"
ssl.pemfile = "{folder}/chain.pem"
ssl.privkey = "{folder}/key.pem"
ssl.openssl.ssl-conf-cmd = ( "MinProtocol" => "TLSv1.2", "CipherString" => "{CIPHERS}" )
{server}"#
    );
    Recipe::new("lighttpd.conf", text, &["-D", "-f", "lighttpd.conf"])
}
