//! `tollgate bench URL`: common forms of a host.

use std::fs;

use crate::bench::{agreed, bench};
use crate::program::{Serve, line, refused, text};

/// Returns an address of an interface with its zone: the first one of `fe80::/10`.
fn link_local() -> Option<String> {
    let interfaces = fs::read_to_string("/proc/net/if_inet6").ok()?;
    let line = interfaces.lines().find(|line| line.starts_with("fe80"))?;
    let (address, name) = (line.get(..32)?, line.split_whitespace().last()?);
    let parts: Vec<&str> = (0..8).map(|part| &address[4 * part..4 * part + 4]).collect();
    Some(format!("{}%{name}", parts.join(":")))
}

#[test]
fn absolute_names_and_zones_are_hosts() {
    let load = |url: &str, server: Serve| {
        let log = ["--log", server.log.name(), "--rounds", "1"];
        agreed(&text(&bench(&[&[url], &log[..]].concat())), "tollgate");
    };
    let server = Serve::start("absolute.log", &["--engine", "tollgate"]);
    load(&server.url("/bytes/100").replace("127.0.0.1", "LocalHost."), server);
    let Some(address) = link_local() else { return println!("not tested: no link-local address") };
    for encoded in ["%", "%25"] {
        let server = Serve::at(&format!("[{address}]"), "zone.log", &["--engine", "tollgate"]);
        let port = server.address.rsplit(':').next().unwrap();
        load(&format!("https://[{}]:{port}/bytes/100", address.replace('%', encoded)), server);
    }
    let no_zone = line("bench https://[fe80::1%nowhere]/", &[]);
    refused(&no_zone, "check the zone, an interface of this machine");
}
