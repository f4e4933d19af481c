//! Reads `/proc`: the libcrypto and the configuration of processes, and the state of the module
//! in them.

use core::time::Duration;
use std::fs;
use std::io;
use std::path::Path;
use std::time::SystemTime;

#[derive(Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Process {
    pub(super) pid: u32,
    pub(super) program: String,
    /// The file of the process's libcrypto, such as `/usr/lib/x86_64-linux-gnu/libcrypto.so.3`, if
    /// any.
    pub(super) libcrypto: Option<String>,
    pub(super) module: Module,
    /// `OPENSSL_CONF` at the start of the process; some programs overwrite it.
    pub(super) configuration: Option<String>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Module {
    Loaded,
    /// Loaded, but the file has since been replaced or removed.
    Outdated,
    Missing,
}

pub(super) fn look(pid: u32) -> io::Result<Process> {
    let folder = Path::new("/proc").join(pid.to_string());
    let program = fs::read_to_string(folder.join("comm"))?.trim().to_owned();
    let maps = fs::read(folder.join("maps"))?;
    let maps = String::from_utf8_lossy(&maps);
    // ADDRESS PERMISSIONS OFFSET DEVICE INODE PATH; the path may contain spaces.
    let files = maps.lines().filter_map(|line| line.find('/').map(|at| &line[at..]));
    let (mut libcrypto, mut module) = (None, Module::Missing);
    for file in files {
        let (path, deleted) = match file.strip_suffix(" (deleted)") {
            Some(path) => (path, true),
            None => (file, false),
        };
        let name = path.rsplit('/').next().unwrap_or_default();
        if name.starts_with("libcrypto.so") {
            libcrypto = Some(path.to_owned());
        } else if name == "tollgate.so" || name == "libtollgate_provider.so" {
            module = if deleted { Module::Outdated } else { Module::Loaded };
        }
    }
    let environment = fs::read(folder.join("environ")).unwrap_or_default();
    let mut variables = environment.split(|&byte| byte == 0);
    let configuration = variables.find_map(|variable| variable.strip_prefix(b"OPENSSL_CONF="));
    let configuration = configuration.map(|value| String::from_utf8_lossy(value).into_owned());
    Ok(Process { pid, program, libcrypto, module, configuration })
}

/// Returns all processes with a libcrypto, and the number of processes that may not be inspected.
pub(super) fn all() -> (Vec<Process>, usize) {
    let mut closed = 0;
    let entries = fs::read_dir("/proc").into_iter().flatten().flatten();
    let pids = entries.filter_map(|entry| entry.file_name().to_str()?.parse().ok());
    let looked = pids.filter_map(|pid| match look(pid) {
        Ok(process) => Some(process),
        Err(error) => {
            closed += usize::from(error.kind() == io::ErrorKind::PermissionDenied);
            None
        }
    });
    let mut found: Vec<Process> = looked.filter(|process| process.libcrypto.is_some()).collect();
    found.sort_by(|a, b| (&a.program, a.pid).cmp(&(&b.program, b.pid)));
    (found, closed)
}

/// Returns the start time of a process, in seconds after boot.
pub(super) fn started(pid: u32) -> Option<f64> {
    let stat = fs::read_to_string(format!("/proc/{pid}/stat")).ok()?;
    // PID (NAME) STATE ...: the name may contain any characters; the start is the 22nd field.
    let ticks: f64 = stat.rsplit_once(')')?.1.split_whitespace().nth(19)?.parse().ok()?;
    // The unit is a hundredth of a second, whatever the resolution of the kernel's clock.
    Some(ticks / 100.0)
}

pub(super) fn booted() -> Option<SystemTime> {
    let stat = fs::read_to_string("/proc/stat").ok()?;
    let line = stat.lines().find_map(|line| line.strip_prefix("btime "))?;
    SystemTime::UNIX_EPOCH.checked_add(Duration::from_secs(line.trim().parse().ok()?))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn this_process_is_seen() {
        let pid = std::process::id();
        let seen = look(pid).unwrap();
        assert_eq!((seen.pid, seen.module), (pid, Module::Missing));
        assert!(openssl::version::number() > 0 && seen.libcrypto.is_some(), "one is linked");
        assert!(all().0.iter().any(|process| process.pid == pid));
        assert!(started(pid).unwrap() > 0.0 && booted().unwrap() < SystemTime::now());
        assert!(look(u32::MAX).is_err() && started(u32::MAX).is_none());
    }
}
