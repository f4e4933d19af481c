//! A server with many certificates; the client's server name selects one.

use std::fs;
use std::path::Path;
use std::process::Command;

use tollgate_stock_servers::Product;

use crate::command::connect;
use crate::rig::{becomes, counted, is_long, renew, settle, start, with_provider};

/// Returns the number of certificates, which is larger with `TOLLGATE_TEST_LONG`.
fn keys() -> u64 {
    if is_long() { 1000 } else { 20 }
}

/// Writes a new key and its certificate into one file, as HAProxy reads them.
fn make(folder: &Path, name: &str) {
    // Not in the folder, because the server reads every file in it.
    let [key, chain] = ["key", "crt"].map(|end| folder.with_extension(end));
    let made = Command::new("openssl")
        .args(["req", "-x509", "-newkey", "rsa:1024", "-nodes", "-days", "2"])
        .args(["-subj", &format!("/CN={name}"), "-keyout"])
        .arg(&key)
        .arg("-out")
        .arg(&chain)
        .output()
        .unwrap();
    assert!(made.status.success(), "{}", String::from_utf8_lossy(&made.stderr));
    let pem = [fs::read(chain).unwrap(), fs::read(key).unwrap()].concat();
    fs::write(folder.join(format!("{name}.pem")), pem).unwrap();
}

#[test]
fn every_key_signs() {
    let Some(running) = start(Product::Haproxy, &with_provider()) else { return };
    let folder = running.folder();
    let names: Vec<String> = (0..keys()).map(|i| format!("n{i}.test")).collect();
    fs::create_dir(folder.join("many")).unwrap();
    for name in &names {
        make(&folder.join("many"), name);
    }
    let file = folder.join("haproxy.cfg");
    let text = fs::read_to_string(&file).unwrap();
    let [one, many] = ["both.pem", "many"].map(|name| format!("crt {}/{name}", folder.display()));
    assert!(text.contains(&one), "{text}");
    fs::write(&file, text.replace(&one, &many)).unwrap();
    renew(&running);
    for name in &names {
        let words = format!("-tls1_3 -cipher DEFAULT:@SECLEVEL=0 -servername {name}");
        let said = connect(&running, &words);
        assert!(said.contains(&format!("Peer certificate: CN = {name}\n")), "{said}");
    }
    settle(&running);
    becomes(&[keys(), keys(), 0], || {
        ["keys", "signatures", "refused_keys"].map(|counter| counted(&running, counter))
    });
}
