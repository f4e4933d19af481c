//! A Debian system in a folder, with a shell in it.

use std::fs;
use std::io::{BufRead as _, BufReader, Write as _};
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};

/// The folder of the packages, seen from inside.
const PACKAGES: &str = "/srv/packages";

/// The commands that a page needs and a system without an init does not have. `systemctl` starts
/// nginx with the variables of its drop-ins, as systemd does.
const SUDO: &str = "#!/bin/sh\nexec \"$@\"\n";
const SYSTEMCTL: &str = r#"#!/bin/sh
[ "$1 $2" = "restart nginx" ] || exit 0
if [ -s /run/nginx.pid ]; then
  kill -QUIT "$(cat /run/nginx.pid)"
  while pgrep -x nginx >/dev/null; do sleep 0.1; done
fi
exec env $(sed -n 's/^Environment=//p' /etc/systemd/system/nginx.service.d/*.conf 2>/dev/null) nginx
"#;

/// A copy of the unpacked system, removed when dropped. Its shell has its own processes, mounts and
/// network, which end with it.
pub(crate) struct System {
    folder: PathBuf,
    shell: Child,
    input: ChildStdin,
    output: BufReader<ChildStdout>,
}

impl System {
    /// Copies the system and the packages. The name is that of the test.
    pub(crate) fn new(template: &Path, packages: &Path, name: &str) -> Self {
        let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join(format!("system-{name}"));
        let _ = fs::remove_dir_all(&folder);
        let is_copied = is_done(Command::new("cp").arg("-a").args([template, &folder]));
        assert!(is_copied, "{} cannot be copied", template.display());
        let put = |path: &str, text: &str| {
            let path = folder.join(path.trim_start_matches('/'));
            fs::write(&path, text).unwrap_or_else(|error| panic!("{}: {error}", path.display()));
            assert!(is_done(Command::new("chmod").arg("755").arg(&path)));
        };
        put("/usr/local/bin/sudo", SUDO);
        put("/usr/local/bin/systemctl", SYSTEMCTL);
        put("/etc/apt/apt.conf.d/90tests", "APT::Get::Assume-Yes \"true\";\n");
        let inside = folder.join(PACKAGES.trim_start_matches('/'));
        fs::create_dir_all(&inside).expect("the copy belongs to this test");
        for package in packages_of(packages) {
            let name = package.file_name().expect("a package has a name");
            fs::copy(&package, inside.join(name)).expect("the copy belongs to this test");
        }
        let mut shell = Command::new("unshare")
            .args(["--mount", "--net", "--pid", "--fork", "--kill-child", "sh", "-ec"])
            .arg(
                "ip link set lo up; mount -t proc proc \"$0/proc\"; mount --bind /dev \"$0/dev\"; \
                 exec chroot \"$0\" sh",
            )
            .arg(&folder)
            .env_clear()
            .envs([("PATH", "/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"), ("LANG", "C.UTF-8")])
            .env("DEBIAN_FRONTEND", "noninteractive")
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .expect("util-linux has unshare");
        let input = shell.stdin.take().expect("it is piped");
        let output = BufReader::new(shell.stdout.take().expect("it is piped"));
        Self { folder, shell, input, output }
    }

    pub(crate) fn folder(&self) -> &Path {
        &self.folder
    }

    /// Runs a command in the folder of the packages. Returns its exit code and what it printed.
    pub(crate) fn try_run(&mut self, command: &str) -> (i32, String) {
        let quoted = command.replace('\'', r"'\''");
        writeln!(
            self.input,
            "cd {PACKAGES}; timeout 120 sh -c '{quoted}' </dev/null 2>&1; code=$?; \
             echo; echo \"code $code\""
        )
        .expect("the shell runs");
        let mut said = String::new();
        loop {
            let mut line = String::new();
            let read = self.output.read_line(&mut line).expect("text");
            assert!(read > 0, "the shell ended at: {command}\n{said}");
            if let Some(code) = line.strip_prefix("code ") {
                let code = code.trim().parse().expect("a number");
                return (code, said.trim_end().to_owned());
            }
            said += &line;
        }
    }

    /// Runs a command that must succeed.
    #[track_caller]
    pub(crate) fn run(&mut self, command: &str) -> String {
        let (code, said) = self.try_run(command);
        assert_eq!(code, 0, "{command}\n{said}");
        said
    }
}

impl Drop for System {
    fn drop(&mut self) {
        let _ = self.shell.kill();
        let _ = self.shell.wait();
        let _ = fs::remove_dir_all(&self.folder);
    }
}

fn is_done(command: &mut Command) -> bool {
    command.status().is_ok_and(|status| status.success())
}

/// Returns the packages of a folder, by name.
pub(crate) fn packages_of(folder: &Path) -> Vec<PathBuf> {
    let entries =
        fs::read_dir(folder).unwrap_or_else(|error| panic!("{}: {error}", folder.display()));
    let mut packages: Vec<_> = entries
        .filter_map(|entry| Some(entry.ok()?.path()))
        .filter(|path| path.extension().is_some_and(|end| end == "deb"))
        .collect();
    packages.sort();
    assert!(!packages.is_empty(), "{} has no packages: run ./x deb", folder.display());
    packages
}

/// The folder of files that are the test's own, for a name.
pub(crate) fn scratch(name: &str) -> PathBuf {
    let folder =
        Path::new(env!("CARGO_TARGET_TMPDIR")).join(format!("{name}-{}", std::process::id()));
    fs::create_dir_all(&folder).expect("cargo's folder for tests");
    folder
}
