//! HAProxy: a master and a worker with a thread for each core; it answers out of its memory.

use rustix::process::Signal;

use super::{CIPHERS, Log, Place, Recipe};
use crate::settings::Settings;

/// What a response has beside its body, and room to rewrite it.
const HEAD_BYTES: u64 = 2048;

/// The size of a buffer that the program comes with.
const BUFFER_BYTES: u64 = 16 * 1024;

pub(super) fn recipe(place: &Place<'_>) -> Recipe {
    let (folder, address) = (place.folder.display(), place.address);
    let Settings { bodies, asynchronous, .. } = place.settings;
    let threads = place.settings.workers();
    let longest = bodies.iter().copied().max().unwrap_or(0);
    let buffer = BUFFER_BYTES.max(longest + HEAD_BYTES);
    // As Debian's package has it: who is not root may start no threads then.
    let user = if place.is_root { "user nobody\n  group nogroup" } else { "" };
    let mode = if *asynchronous { "ssl-mode-async" } else { "" };
    let responses: String = bodies
        .iter()
        .map(|bytes| {
            let file = format!("{folder}/www/bytes/{bytes}");
            // An empty body has no type.
            let body = match bytes {
                0 => format!("file {file}"),
                _ => format!("content-type application/octet-stream file {file}"),
            };
            format!("  http-request return status 200 {body} if {{ path /bytes/{bytes} }}\n")
        })
        .collect();
    let outcome = r#"{\"event\":\"handshake\",\"outcome\":"#;
    let handshake = format!(r#"{outcome}\"%[ssl_fc_is_resumed,iif(resumed,full)]\"}}"#);
    let request = r#"{\"event\":\"request\",\"complete\":\"%ts\",\"status\":%ST}"#;
    let text = format!(
        r#"global
  log stdout format raw local0
  nbthread {threads}
  maxconn 4096
  {user}
  tune.bufsize {buffer}
  ssl-default-bind-ciphers {CIPHERS}
  ssl-default-bind-options ssl-min-ver TLSv1.2
  {mode}
defaults
  mode http
  log global
  option http-server-close
  timeout client 60s
  timeout http-request 60s
  error-log-format "{outcome}\"failed\"}}"
  log-format "{handshake}\n{request}"
frontend tls
  bind {address} ssl crt {folder}/both.pem
{responses}  http-request return status 404
"#
    );
    let arguments = ["-W", "-db", "-f", "haproxy.cfg"];
    Recipe {
        file: Some(("haproxy.cfg", text)),
        arguments: arguments.map(str::to_owned).to_vec(),
        stands_in: "",
        reload: Some(Signal::USR2),
        log: Log::Stdout,
    }
}
