//! A machine without free ports reports the shortage in one line. The test makes its own network
//! namespace, so other processes keep their ports.
#![allow(clippy::unwrap_used, reason = "tests")]
#![allow(clippy::print_stderr, reason = "a test that cannot run says so")]

#[path = "load/tls_server.rs"]
#[allow(dead_code, reason = "this test takes what it needs")]
mod tls_server;

use std::net::TcpStream;
use std::process::Command;

use tls_server::{Behavior, TlsServer};
use tollgate_load::{Error, Limits, Plan, Protocol, Server, run};

/// Creates a namespace with twenty ports, and runs the test below in it.
const IN_A_NAMESPACE: &str = "ip link set lo up \
    && echo 40000 40019 > /proc/sys/net/ipv4/ip_local_port_range \
    && exec \"$0\" --exact --ignored --nocapture with_twenty_ports";

#[test]
fn no_ports_give_one_line() {
    let made = Command::new("unshare").args(["-rn", "true"]).status();
    if !made.is_ok_and(|status| status.success()) {
        assert!(std::env::var_os("CI").is_none(), "CI has network namespaces");
        return eprintln!("not tested: no network namespaces here (unshare -rn)");
    }
    let this = std::env::current_exe().unwrap();
    let output = Command::new("unshare")
        .args(["-rn", "sh", "-c", IN_A_NAMESPACE])
        .arg(this)
        .output()
        .unwrap();
    let said = String::from_utf8_lossy(&output.stdout);
    let why = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success() && said.contains("1 passed"), "{said}\n{why}");
}

#[test]
#[ignore = "runs in the namespace that the other test makes"]
fn with_twenty_ports() {
    let server = TlsServer::start(|_| Behavior::Good);
    let attempt = |plan: &Plan| {
        let mut side = Server::new("rustls", server.target());
        match run(plan, &mut side, &|| false, &mut |_, _| {}) {
            Err(error) => error,
            Ok(outcome) => panic!("{outcome}"),
        }
    };
    let plan = Plan {
        connections: 30,
        warm_up_ms: 0,
        sustain_ms: 300,
        limits: Limits::of_counts(),
        ..Plan::new(Protocol::Tls13)
    };
    // detected before anything is sent
    let error = attempt(&plan);
    assert!(matches!(error, Error::PortsShort { needed: 30, ports: 20 }), "{error}");
    // detected later, after other sockets have taken the ports
    let connect = || TcpStream::connect(server.address).ok();
    let taken: Vec<TcpStream> = core::iter::from_fn(connect).collect();
    assert!((1..=20).contains(&taken.len()));
    let error = attempt(&Plan { connections: 4, ..plan });
    assert!(matches!(error, Error::Ports(_)), "{error}");
    let text = error.to_string();
    assert!(text.contains("of 20 for each address") && !text.contains('\n'), "{text}");
}
