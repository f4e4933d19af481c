//! Apache: `mod_ssl`, and the event MPM with one child of many threads.

use super::{CIPHERS, Place, Recipe};

/// The folder of the modules in the package.
const MODULES: &str = "/usr/lib/apache2/modules";

/// The log format for `tollgate_load`: "combined" with further fields, as in docs/bench-url.md.
pub(crate) const LOG_FORMAT: &str = concat!(
    r#"LogFormat "%h %l %u %t \"%r\" %>s %b \"%{Referer}i\" \"%{User-agent}i\" "#,
    r#"conn=%{c}L keepalive=%k done=%X reused=%{SSL_SESSION_RESUMED}x "#,
    r#"proto=%{SSL_PROTOCOL}x" tollgate"#,
);

/// The number of threads of the child; each handshake blocks one.
const THREADS: u32 = 64;

pub(super) fn recipe(place: &Place<'_>) -> Recipe {
    let (folder, address) = (place.folder.display(), place.address);
    // Required: as root, children do not start without it.
    let user = if place.is_root { "User www-data\nGroup www-data\n" } else { "" };
    let modules: String = ["mpm_event", "authz_core", "socache_dbm", "socache_shmcb", "ssl"]
        .iter()
        .map(|name| format!("LoadModule {name}_module {MODULES}/mod_{name}.so\n"))
        .collect();
    let cache = match place.settings.resumption {
        None => "none".to_owned(),
        Some(_) => format!("shmcb:{folder}/sessions(512000)"),
    };
    let threads = THREADS.to_string();
    let server = [
        ("KeepAlive", "Off"),
        ("ThreadsPerChild", &*threads),
        ("ThreadLimit", &threads),
        ("MaxRequestWorkers", &threads),
        ("MaxSpareThreads", &threads),
        ("StartServers", "1"),
        ("ServerLimit", "1"),
        ("SSLSessionCache", &cache),
    ];
    let server = place.directives("server", &server, "\n");
    let folders = place.directives("folder", &[("Require", "all granted")], "\n");
    let text = format!(
        "ServerRoot {folder}\nDefaultRuntimeDir {folder}\nServerName localhost\n\
         PidFile apache.pid\n{modules}{user}{LOG_FORMAT}\n\
         CustomLog {folder}/access.log tollgate\n\
         Listen {address}\nErrorLog /dev/stderr\nLogLevel error\n\
         MinSpareThreads 1\n{server}\
         DocumentRoot {folder}/www\n<Directory />\n{folders}</Directory>\n\
         SSLEngine on\nSSLProtocol TLSv1.2 +TLSv1.3\n\
         SSLCertificateFile chain.pem\nSSLCertificateKeyFile key.pem\nSSLCipherSuite {CIPHERS}\n"
    );
    Recipe::new(
        "apache.conf",
        text,
        &["-DFOREGROUND", "-d", &folder.to_string(), "-f", "apache.conf"],
    )
}
