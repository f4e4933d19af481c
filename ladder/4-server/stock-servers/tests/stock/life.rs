//! A server ends when the process that started it ends, however that happens.

use core::time::Duration;
use std::io::{BufRead as _, BufReader};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::{env, fs, thread};

use tollgate_stock_servers::{Error, Product, Settings};

use crate::rig::{certificate, eventually, programs, start};

fn settings() -> Settings {
    Settings::new(certificate("rsa-2048.pem"))
}

/// Returns whether the process runs; zombies do not count.
fn runs(process: u32) -> bool {
    let stat = fs::read_to_string(format!("/proc/{process}/stat")).unwrap_or_default();
    stat.rsplit_once(") ").is_some_and(|(_, state)| !state.starts_with('Z'))
}

fn assert_gone(processes: &[u32], folder: &Path) {
    for &process in processes {
        assert!(!runs(process), "process {process} still runs");
    }
    assert!(!folder.exists(), "{} still exists", folder.display());
}

#[test]
fn dropped_servers_end() {
    for product in programs() {
        let Some(running) = start(product, &settings()) else { continue };
        let mut processes = running.workers().unwrap();
        processes.push(running.master());
        assert!(processes.iter().all(|&process| runs(process)), "{running:?}");
        let folder = running.folder().to_owned();
        drop(running);
        assert_gone(&processes, &folder);
    }
}

/// A helper of the next test: prints its server's worker and folder, and waits to be killed.
#[test]
#[ignore = "another test runs and kills it"]
fn holds_a_server() {
    if let Some(running) = start(Product::Nginx, &settings()) {
        eprintln!("\nholds {} {}", running.workers().unwrap()[0], running.folder().display());
        thread::sleep(Duration::from_secs(60));
    }
}

#[test]
fn a_killed_owner_leaves_nothing() {
    let mut owner = Command::new(env::current_exe().unwrap())
        .args(["--ignored", "--exact", "--nocapture", "life::holds_a_server"])
        .stdout(Stdio::null())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    let lines = BufReader::new(owner.stderr.take().unwrap()).lines().map_while(Result::ok);
    let held = lines.into_iter().find_map(|line| {
        let (process, folder) = line.strip_prefix("holds ")?.split_once(' ')?;
        Some((process.parse::<u32>().unwrap(), PathBuf::from(folder)))
    });
    owner.kill().unwrap();
    owner.wait().unwrap();
    if let Some((process, folder)) = held {
        eventually("the server ends", || !runs(process) && !folder.exists());
    }
}

#[test]
fn failed_starts_have_one_line_messages() {
    let refused = |product: Product, settings: &Settings| {
        let text = match product.start(settings) {
            Ok(running) => panic!("{running:?}"),
            Err(error) => error.to_string(),
        };
        assert!(!text.contains('\n'), "{text}");
        text
    };
    let paused = Settings { asynchronous: true, ..settings() };
    assert!(refused(Product::Nginx, &paused).contains("cannot pause handshakes"));
    let long = Settings { bodies: vec![1 << 30], ..settings() };
    assert!(refused(Product::Nginx, &long).contains("1073741824 bytes"));
    let module = Some("/no/such/module.so".into());
    let text = refused(Product::Nginx, &Settings { module, ..settings() });
    assert!(text.contains("/no/such/module.so is not there"), "{text}");
    let missing = Error::Missing(Product::Lighttpd).to_string();
    assert!(missing.ends_with("apt-get install lighttpd lighttpd-mod-openssl"), "{missing}");
    if start(Product::SServer, &settings()).is_some() {
        let core = Settings { cores: vec![1000], ..settings() };
        assert!(refused(Product::SServer, &core).contains("1000"));
    }
}

/// libcrypto ignores a module that it cannot load, without a message.
#[test]
fn a_bad_module_is_an_error() {
    let Some(running) = start(Product::Haproxy, &settings()) else { return };
    let module = running.folder().join("chain.pem");
    let settings = Settings { module: Some(module.clone()), ..settings() };
    let text = Product::Haproxy.start(&settings).unwrap_err().to_string();
    assert!(text.contains(&format!("haproxy has not loaded {}", module.display())), "{text}");
}

#[test]
fn a_variable_of_the_environment_reaches_the_server() {
    let environment = [("OPENSSL_ia32cap".to_owned(), "~0x0".to_owned())].into();
    let settings = Settings { environment, ..settings() };
    let Some(running) = start(Product::SServer, &settings) else { return };
    let all = fs::read(format!("/proc/{}/environ", running.master())).unwrap();
    let is_given = |variable: &[u8]| variable == b"OPENSSL_ia32cap=~0x0";
    assert!(all.split(|&byte| byte == 0).any(is_given), "{running:?}");
}
