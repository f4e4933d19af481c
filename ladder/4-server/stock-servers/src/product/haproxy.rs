//! HAProxy: a master, and a worker with a thread for each core. It answers from memory.

use tollgate_load::Mechanism;

use super::{CIPHERS, Place, Recipe};
use crate::settings::Settings;

/// The log format for `tollgate_load`: the HTTP log with further fields, as in docs/bench-url.md.
pub(crate) const LOG_FORMAT: &str = concat!(
    r#"log-format "%ci:%cp [%tr] %ft %b/%s %TR/%Tw/%Tc/%Tr/%Ta %ST %B %CC %CS %tsc "#,
    "%ac/%fc/%bc/%sc/%rc %sq/%bq %hr %hs %{+Q}r ",
    r#"request=%[var(sess.requests)] done=%ts reused=%[ssl_fc_is_resumed] proto=%sslv""#,
);

/// The number of a request in its connection, for which HAProxy has no variable before 2.9.
pub(crate) const COUNT_REQUESTS: &str =
    "  http-request set-var(sess.requests) int(0) unless { var(sess.requests) -m found }
  http-request set-var(sess.requests) var(sess.requests),add(1)";

/// The length in bytes of a response without its body, with reserve.
const HEAD_BYTES: u64 = 2048;

/// The default size of a buffer.
const BUFFER_BYTES: u64 = 16 * 1024;

pub(super) fn recipe(place: &Place<'_>) -> Recipe {
    let (folder, address) = (place.folder.display(), place.address);
    let Settings { bodies, asynchronous, resumption, .. } = place.settings;
    let longest = bodies.iter().copied().max().unwrap_or(0);
    let buffer = BUFFER_BYTES.max(longest + HEAD_BYTES);
    // As in Debian's package. With these lines, a user other than root can start no threads.
    let user = if place.is_root { "user nobody\n  group nogroup" } else { "" };
    // the default: tickets, and a cache of 20,000 sessions
    let early = if *resumption == Some(Mechanism::EarlyData) { "allow-0rtt" } else { "" };
    let mode = if *asynchronous { "ssl-mode-async" } else { "" };
    let responses: String = bodies
        .iter()
        .map(|bytes| {
            let file = format!("{folder}/www/bytes/{bytes}");
            // An empty body has no content type.
            let body = match bytes {
                0 => format!("file {file}"),
                _ => format!("content-type application/octet-stream file {file}"),
            };
            format!("  http-request return status 200 {body} if {{ path /bytes/{bytes} }}\n")
        })
        .collect();
    let server = place.directives("server", &[], " ");
    let (reuse, answers) = match place.backend {
        None => {
            ("option http-server-close", format!("{responses}  http-request return status 404\n"))
        }
        Some(address) => (
            "option forwardfor",
            format!(
                "  default_backend backend\nbackend backend\n  http-reuse always\n  server one \
                 {address} {server}\n  timeout connect 5s\n  timeout server 60s\n"
            ),
        ),
    };
    let options = ("ssl-default-bind-options", "ssl-min-ver TLSv1.2");
    let global = [("nbthread", "{cores}"), ("maxconn", "4096"), options];
    let global = place.directives("global", &global, "\n  ");
    let defaults = place.directives("defaults", &[], "\n  ");
    let bind = place.directives("bind", &[], " ");
    let text = format!(
        r#"global
  log stdout format raw local0
  {user}
  tune.bufsize {buffer}
  ssl-default-bind-ciphers {CIPHERS}
  {global}{mode}
defaults
  mode http
  log global
  {reuse}
  timeout client 60s
  timeout http-request 60s
  {defaults}
  {LOG_FORMAT}
frontend tls
  bind {address} ssl crt {folder}/both.pem {bind}{early}
{COUNT_REQUESTS}
{answers}"#
    );
    Recipe::new("haproxy.cfg", text, &["-W", "-db", "-f", "haproxy.cfg"])
}
