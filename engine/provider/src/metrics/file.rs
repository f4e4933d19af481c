//! The file of counters: its text, in Prometheus's format, and its atomic replacement.

use core::fmt::Display;
use std::fs::{self, OpenOptions, Permissions};
use std::io::{self, Write as _};
use std::os::unix::fs::{OpenOptionsExt as _, PermissionsExt as _};
use std::path::Path;

use rustix::time::{ClockId, clock_gettime};
use tollgate_keyless::metrics::{Kind, Metric, write};

use super::Metrics;
use crate::counters::Event;

impl Metrics {
    /// Returns the text for this provider in this process.
    pub(super) fn text(&self, process: u32) -> String {
        let (pid, context) = (process.to_string(), self.context.to_string());
        let labels = [("pid", &*pid), ("context", &*context), ("program", &*self.program)];
        let mut text = String::new();
        let mut metric = |name: &str, kind, help: &str, value: &dyn Display| {
            write(&mut text, &Metric { name, kind, help }, &[(&labels[..], value)]);
        };
        for (event, key, help) in Event::ALL {
            let name = key.to_string_lossy().replace('-', "_");
            metric(&name, Kind::Counter, help, &self.counters.read(event));
        }
        let help = "Keys and contexts that libcrypto has not freed.";
        metric("tollgate_objects", Kind::Gauge, help, &self.objects());
        let now = clock_gettime(ClockId::Boottime);
        let help = "When this was written, after boot: a process with this id that started later \
                    is another.";
        let seconds = format_args!("{}.{:09}", now.tv_sec, now.tv_nsec);
        metric("tollgate_written_seconds", Kind::Gauge, help, &seconds);
        text
    }
}

/// Writes a temporary file and renames it: readers see the old text or the new one.
///
/// The folder may be writable for all and sticky, so nothing is written through a link or into a
/// file of another user. All users may read the file, whatever the umask: it holds only counts.
pub(super) fn replace(folder: &Path, name: &str, text: &str) -> io::Result<()> {
    let (file, new) = (folder.join(format!("{name}.prom")), folder.join(format!(".{name}.new")));
    let create = || OpenOptions::new().write(true).create_new(true).mode(0o600).open(&new);
    let written = create()
        .or_else(|_| {
            // An earlier process with the same id left this file.
            fs::remove_file(&new)?;
            create()
        })
        .and_then(|mut open| {
            open.write_all(text.as_bytes())?;
            open.set_permissions(Permissions::from_mode(0o644))
        })
        .and_then(|()| fs::rename(&new, &file));
    if written.is_err() {
        // On a full disk, the temporary file is incomplete. The removal fails if the file belongs
        // to another user.
        let _ = fs::remove_file(&new);
    }
    written
}
