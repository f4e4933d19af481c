//! A full disk for metrics.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use tollgate_load::Protocol;
use tollgate_stock_servers::Product;

use crate::rig::{becomes, confirmed, counted, load, plan, settle, start, with_provider};

/// A file system of four pages, enough to replace one file of two; unmounted when dropped.
struct Small(PathBuf);

impl Small {
    fn mount(at: &Path) -> Option<Self> {
        let options = ["-t", "tmpfs", "-o", "size=16k,mode=1777", "tmpfs"];
        let mounted = Command::new("mount").args(options).arg(at).output().ok()?;
        if mounted.status.success() {
            return Some(Self(at.to_owned()));
        }
        let why = String::from_utf8_lossy(&mounted.stderr).into_owned();
        eprintln!("not tested: a full disk, which needs root and the right to mount: {why}");
        None
    }
}

impl Drop for Small {
    fn drop(&mut self) {
        // If this fails, the file system remains until the machine restarts.
        let _ = Command::new("umount").arg("-l").arg(&self.0).status();
    }
}

#[test]
fn a_full_disk_does_not_disturb_handshakes() {
    for product in [Product::Haproxy, Product::Nginx] {
        let Some(running) = start(product, &with_provider()) else { continue };
        let metrics = running.metrics();
        let Some(_small) = Small::mount(&metrics) else { return };
        let filler = metrics.join("filler");
        fs::write(&filler, [0; 16384]).unwrap();
        let mut handshakes = confirmed(&load(&running, &plan(Protocol::Tls13, 1500)));
        let files = fs::read_dir(&metrics).unwrap().map(|entry| entry.unwrap().path());
        assert!(files.eq([filler.clone()]), "{running:?}");
        fs::remove_file(filler).unwrap();
        handshakes += confirmed(&load(&running, &plan(Protocol::Tls13, 200)));
        settle(&running);
        becomes(&handshakes, || counted(&running, "signatures"));
        assert!(counted(&running, "unwritten_metrics") > 0, "{running:?}");
    }
}
