//! A process without free file descriptors reports the shortage in one line. This test has its own
//! process, because it changes the limit of all threads.
#![allow(clippy::unwrap_used, reason = "tests")]

use std::fs::File;
use std::net::TcpListener;

use rustix::process::{Resource, Rlimit, setrlimit};
use tollgate_load::{Error, Plan, Protocol, Server, Target, run};

#[test]
fn no_descriptors_give_one_line() {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let target = Target::new(listener.local_addr().unwrap()).unwrap();
    setrlimit(Resource::Nofile, Rlimit { current: Some(100), maximum: Some(100) }).unwrap();
    let attempt = |connections: u32| {
        let plan = Plan { connections, ..Plan::new(Protocol::Tls13) };
        let mut side = Server::new("nobody", target.clone());
        run(&plan, &mut side, &|| false, &mut |_, _| {}).unwrap_err()
    };
    let told = |error: &Error| {
        let text = error.to_string();
        assert!(matches!(error, Error::FileDescriptors { allowed: 100, .. }), "{text}");
        assert!(text.contains("ulimit -n") && !text.contains('\n'), "{text}");
    };
    // detected before anything is opened
    told(&attempt(200));
    // detected later, after other threads have taken the descriptors
    let taken: Vec<File> = core::iter::from_fn(|| File::open("/dev/null").ok()).collect();
    assert!(!taken.is_empty());
    told(&attempt(8));
}
