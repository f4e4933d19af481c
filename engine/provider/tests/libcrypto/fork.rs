//! A server that signs, and then forks workers.

use tollgate_rerun::alone;

use crate::host::child::in_child;
use crate::host::{DEMAND, Host, pem};

#[test]
fn a_forked_child_signs() {
    alone("fork::a_forked_child_signs", fork_alone);
}

fn fork_alone() {
    let host = Host::module();
    let key = host.key(&pem("rsa-2048.pem"));
    let sign = || host.sign(&key, DEMAND, c"SHA256", &[], b"a message");
    let threads = || std::fs::read_dir("/proc/self/task").unwrap().count();
    let before = threads();
    let expected = sign().unwrap();
    assert_eq!(threads(), before, "a thread that has a core needs no other");
    assert!(in_child(|| sign().is_ok_and(|signature| signature == expected)));
    assert_eq!(sign().unwrap(), expected);
}
