//! nginx: a master and single-threaded workers.

use core::net::{IpAddr, Ipv4Addr, SocketAddr};

use tollgate_load::Mechanism;

use super::{CIPHERS, Place, Recipe};

/// The log format for `tollgate_load`: "combined" with further fields, as in docs/bench-url.md.
pub(crate) const LOG_FORMAT: &str = concat!(
    r#"log_format tollgate '$remote_addr - $remote_user [$time_local] "#,
    r#""$request" $status $body_bytes_sent '"#,
    "\n    ",
    r#"'"$http_referer" "$http_user_agent" conn=$connection request=$connection_requests '"#,
    "\n    ",
    "'done=$request_completion reused=$ssl_session_reused proto=$ssl_protocol';",
);

/// Returns the address for HTTP without TLS, for this TLS address: another loopback address, the
/// same port.
pub(crate) const fn plain_address(secure: SocketAddr) -> SocketAddr {
    SocketAddr::new(IpAddr::V4(Ipv4Addr::new(127, 0, 0, 2)), secure.port())
}

pub(super) fn recipe(place: &Place<'_>) -> Recipe {
    let (folder, address) = (place.folder.display(), place.address);
    let plain = plain_address(place.address);
    let log_format = LOG_FORMAT;
    let main = place.directives("main", &[("worker_processes", "{cores}")], "; ");
    let events = place.directives("events", &[("worker_connections", "4096")], "; ");
    let listen = place.directives("listen", &[], " ");
    let http = [
        ("access_log", "{folder}/access.log tollgate buffer=64k flush=50ms"),
        ("default_type", "application/octet-stream"),
        ("keepalive_timeout", "10s"),
        ("keepalive_requests", "1000000"),
        ("ssl_protocols", "TLSv1.2 TLSv1.3"),
        ("ssl_ciphers", CIPHERS),
    ];
    let http = place.directives("http", &http, ";\n  ");
    // Otherwise workers of root switch to a user who may not enter this folder.
    let user = if place.is_root { "user root;" } else { "" };
    let resumption = match place.settings.resumption {
        None => "ssl_session_cache off;",
        Some(Mechanism::SessionId | Mechanism::Ticket | Mechanism::Psk) => {
            "ssl_session_cache shared:sessions:16m;"
        }
        Some(Mechanism::EarlyData) => "ssl_session_cache shared:sessions:16m; ssl_early_data on;",
    };
    let (backend, serves) = match place.backend {
        None => (String::new(), format!("root {folder}/www;")),
        Some(address) => (
            format!("upstream backend {{ server {address}; keepalive 64; }}"),
            "location / { proxy_pass http://backend; proxy_http_version 1.1; \
             proxy_set_header Connection \"\"; proxy_set_header X-Forwarded-For $remote_addr; }"
                .to_owned(),
        ),
    };
    let text = format!(
        r#"{user} daemon off; pid nginx.pid; {main}
error_log stderr warn;
events {{ {events}}}
http {{
  {log_format}
  client_body_temp_path body; proxy_temp_path proxy; fastcgi_temp_path fastcgi;
  uwsgi_temp_path uwsgi; scgi_temp_path scgi;
  ssl_certificate {folder}/chain.pem; ssl_certificate_key {folder}/key.pem;
  {http}{resumption}
  {backend}
  server {{ listen {address} ssl {listen}; listen {plain}; {serves} }}
}}
"#
    );
    Recipe::new(
        "nginx.conf",
        text,
        &["-p", &folder.to_string(), "-c", "nginx.conf", "-e", "stderr"],
    )
}
