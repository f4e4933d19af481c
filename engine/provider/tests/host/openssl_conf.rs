//! Runs the command `openssl` with the module, in a separate folder.
//!
//! `TOLLGATE_OPENSSL` names the command of another release.

use core::sync::atomic::{AtomicU32, Ordering};
use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

use super::module;

/// A folder with a configuration that loads the module; removed at the end.
pub(crate) struct Folder(PathBuf);

impl Folder {
    pub(crate) fn new() -> Self {
        static COUNT: AtomicU32 = AtomicU32::new(0);
        let count = COUNT.fetch_add(1, Ordering::Relaxed);
        let name = format!("tollgate-provider-{}-{count}", std::process::id());
        let folder = std::env::temp_dir().join(name);
        std::fs::create_dir_all(&folder).unwrap();
        let this = Self(folder);
        this.configure("");
        this.write("off.cnf", b"[req]\ndistinguished_name = name\n[name]\n");
        this
    }

    /// Replaces the settings in the provider's section with these lines.
    pub(crate) fn configure(&self, lines: &str) {
        let configuration = format!(
            "openssl_conf = boot\n\
             [boot]\nproviders = list\nalg_section = algorithms\n\
             [list]\ndefault = default_section\ntollgate = tollgate_section\n\
             [default_section]\nactivate = 1\n\
             [tollgate_section]\nmodule = {}\nactivate = 1\n{lines}\n\
             [algorithms]\ndefault_properties = ?tollgate.operations=yes\n\
             [req]\ndistinguished_name = name\n[name]\n",
            module().display()
        );
        self.write("on.cnf", configuration.as_bytes());
    }

    /// Replaces the settings with these lines, and lets processes write their counters.
    pub(crate) fn configure_counted(&self, lines: &str) {
        let _ = std::fs::create_dir(self.path("metrics"));
        self.configure(&format!("{lines}\nmetrics = {}", self.path("metrics")));
    }

    /// Returns the sum of a counter over all processes that have ended, and their number.
    pub(crate) fn counted(&self, counter: &str) -> (u64, usize) {
        let start = format!("tollgate_{counter}_total{{");
        let names = std::fs::read_dir(self.path("metrics")).unwrap();
        let of_file = |name: PathBuf| -> u64 {
            assert_eq!(name.extension().unwrap(), "prom", "other files are removed: {name:?}");
            let text = std::fs::read_to_string(&name).unwrap();
            let line = text.lines().find(|line| line.starts_with(&start)).unwrap();
            line.rsplit(' ').next().unwrap().parse().unwrap()
        };
        let values: Vec<u64> = names.map(|entry| of_file(entry.unwrap().path())).collect();
        (values.iter().sum(), values.len())
    }

    pub(crate) fn path(&self, name: &str) -> String {
        self.0.join(name).to_str().unwrap().into()
    }

    pub(crate) fn write(&self, name: &str, bytes: &[u8]) {
        std::fs::write(self.0.join(name), bytes).unwrap();
    }

    pub(crate) fn read(&self, name: &str) -> Vec<u8> {
        std::fs::read(self.0.join(name)).unwrap()
    }

    /// Returns the command `openssl` in this folder, with or without the module; spaces separate
    /// the arguments.
    pub(crate) fn command(&self, with_module: bool, words: &str) -> Command {
        self.command_under("", with_module, words)
    }

    /// Returns the command `openssl` under another program, such as a debugger.
    pub(crate) fn command_under(&self, outer: &str, with_module: bool, words: &str) -> Command {
        let configuration = if with_module { "on.cnf" } else { "off.cnf" };
        let program = std::env::var_os("TOLLGATE_OPENSSL").unwrap_or("openssl".into());
        let outer = outer.split_whitespace().map(OsString::from);
        let words = words.split_whitespace().map(OsString::from);
        let mut all = outer.chain([program]).chain(words);
        let mut command = Command::new(all.next().expect("the program"));
        command.args(all).current_dir(&self.0).env("OPENSSL_CONF", self.path(configuration));
        command
    }

    /// Runs the command until it ends. The command must succeed. Returns its standard output.
    pub(crate) fn openssl(&self, with_module: bool, words: &str) -> Vec<u8> {
        let output = self.output(with_module, words);
        let said = String::from_utf8_lossy(&output.stderr);
        assert!(output.status.success(), "openssl {words}: {said}");
        output.stdout
    }

    /// Runs the command without and with the module. Both runs must succeed and have the same
    /// standard output.
    pub(crate) fn same(&self, words: &str) -> Vec<u8> {
        let theirs = self.openssl(false, words);
        let ours = self.openssl(true, words);
        assert!(ours == theirs, "openssl {words}: another output with the module");
        ours
    }

    pub(crate) fn output(&self, with_module: bool, words: &str) -> Output {
        let output = self.command(with_module, words).output();
        output.expect("the command openssl is installed")
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        // Remaining files are in the folder for temporary files.
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

impl AsRef<Path> for Folder {
    fn as_ref(&self) -> &Path {
        &self.0
    }
}
