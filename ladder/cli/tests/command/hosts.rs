//! `tollgate bench URL`: common forms of a host.

use crate::bench::{agreed, bench};
use crate::program::{Serve, line, refused, text};

#[test]
fn absolute_names_are_hosts_and_zones_are_not() {
    let server = Serve::start("absolute.log", &["--engine", "tollgate"]);
    let url = server.url("/bytes/100").replace("127.0.0.1", "LocalHost.");
    let log = ["--log", server.log.name(), "--rounds", "1"];
    agreed(&text(&bench(&[&[&*url], &log[..]].concat())), "tollgate");
    refused(&line("bench https://[fe80::1%lo]/", &[]), "no IPv6 address");
}
