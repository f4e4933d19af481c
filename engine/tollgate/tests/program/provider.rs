//! `tollgate provider` with the installed OpenSSL, and separate folders instead of the system's.
//!
//! Cargo builds the module for these tests, because this package depends on the provider's crate.

use std::fs::{self, Permissions};
use std::os::unix::fs::{MetadataExt as _, PermissionsExt as _};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Output, Stdio};

use crate::program::{keys, refused, said, tollgate};

/// A minimal OpenSSL installation: a configuration and a folder of modules, separate from the real
/// ones.
struct System(PathBuf);

const BASE: &str = "openssl_conf = start\n[start]\nssl_conf = tls\nproviders = list\n\
    [list]\ndefault = own\nlegacy = old\n[own]\nactivate = 1\n[old]\nactivate = 1\n[tls]\n\
    system_default = tls_default\n\
    [tls_default]\nMinProtocol = TLSv1.2\n[req]\ndistinguished_name = dn\n[dn]\n";

impl System {
    fn new(name: &str, base: &str) -> Self {
        // Use the temporary folder, because `install` checks the permissions of all parent folders.
        let folder = std::env::temp_dir().join(format!("tollgate-{}-{name}", std::process::id()));
        fs::create_dir_all(folder.join("modules")).unwrap();
        let legacy = fs::read_dir("/usr/lib").unwrap().flatten().map(|entry| entry.path());
        let legacy = legacy.map(|path| path.join("ossl-modules/legacy.so"));
        if let Some(legacy) = legacy.into_iter().find(|path| path.exists()) {
            fs::copy(legacy, folder.join("modules/legacy.so")).unwrap();
        }
        fs::write(folder.join("base.cnf"), base).unwrap();
        Self(folder)
    }

    fn path(&self, name: &str) -> String {
        self.0.join(name).to_str().unwrap().to_owned()
    }

    fn command(&self, mut command: Command, conf: &str, words: &[&str]) -> Command {
        command
            .args(words)
            .env("OPENSSL_CONF", self.0.join(conf))
            .env("OPENSSL_MODULES", self.0.join("modules"));
        command
    }

    /// Runs `tollgate provider` in this installation.
    fn provider(&self, words: &[&str]) -> Output {
        let words = [&["provider"], words].concat();
        self.command(tollgate(), "base.cnf", &words).output().unwrap()
    }

    fn install(&self, more: &[&str]) -> Output {
        let conf = self.path("tollgate.cnf");
        self.provider(&[&["install", "--openssl-conf", &conf], more].concat())
    }

    fn openssl(&self, words: &[&str]) -> Output {
        self.command(Command::new("openssl"), "tollgate.cnf", words).output().unwrap()
    }

    /// Returns the names of the installed files, including leftover ones.
    fn files(&self) -> Vec<String> {
        let names = [&self.0, &self.0.join("modules")].map(|folder| fs::read_dir(folder).unwrap());
        let names = names.into_iter().flatten();
        let mut names: Vec<String> =
            names.map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect();
        names.retain(|name| name.contains("tollgate"));
        names.sort();
        names
    }
}

impl Drop for System {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.0);
    }
}

/// Returns the module that cargo built with this program; the program's server links the same
/// library.
fn module() -> PathBuf {
    let program = Path::new(env!("CARGO_BIN_EXE_tollgate"));
    let module = program.with_file_name("deps").join("libtollgate_provider.so");
    assert!(module.is_file(), "{} is missing", module.display());
    module
}

#[test]
fn the_module_is_installed_checked_counted_and_removed() {
    let system = System::new("provider", BASE);
    let module = module();
    let named = ["--module", module.to_str().unwrap()];

    let done = said(&system.install(&named));
    assert!(done.contains("Environment=OPENSSL_CONF=") && done.contains("signs"), "{done}");
    let next = format!("{} provider check", tollgate().get_program().display());
    assert!(done.contains(&next), "{next}: {done}");
    assert_eq!(system.files(), ["tollgate.cnf", "tollgate.so"]);
    let installed = system.0.join("modules/tollgate.so");
    assert_eq!(fs::read(&installed).unwrap(), fs::read(&module).unwrap());
    assert_eq!(fs::metadata(&installed).unwrap().permissions().mode() & 0o777, 0o644);
    let list = said(&system.openssl(&["list", "-providers"]));
    for name in ["OpenSSL Default Provider", "OpenSSL Legacy Provider", "Tollgate provider"] {
        assert!(list.contains(name), "{list}");
    }

    // A second installation changes nothing, not even the module, which a running server may have
    // loaded.
    let node = fs::metadata(&installed).unwrap().ino();
    assert!(said(&system.install(&named)).contains("there already"));
    assert_eq!(fs::metadata(&installed).unwrap().ino(), node);

    // A new installation keeps the user's settings, and saves the previous file as `.bak`.
    let conf = system.0.join("tollgate.cnf");
    let metrics = system.path("metrics");
    fs::create_dir(&metrics).unwrap();
    let text = fs::read_to_string(&conf).unwrap();
    let changed = text.replace(
        "activate = 1\n\n[tollgate_alg",
        &format!(
            "activate = 1\nasync = off\nx25519 = off\necdsa = on\nml_kem = on\n\
             metrics = {metrics}\n\n[tollgate_alg"
        ),
    );
    assert_ne!(text, changed);
    fs::write(&conf, format!("{changed}# a note\n")).unwrap();
    said(&system.install(&named));
    assert_eq!(fs::read_to_string(&conf).unwrap(), changed);
    assert!(fs::read_to_string(system.path("tollgate.cnf.bak")).unwrap().ends_with("# a note\n"));

    let check = ["provider", "check"];
    let mut command = system.command(tollgate(), "tollgate.cnf", &check);
    let child = command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    let itself = format!("(pid {}", child.id());
    let checked = said(&child.wait_with_output().unwrap());
    assert!(!checked.contains(&itself), "{itself}: {checked}");
    for line in [
        "good  signs",
        "good  decrypts",
        "good  ECDSA P-256",
        "none  X25519 ",
        "good  X25519MLKEM768 with the module",
        "async = off",
        "none  FIPS",
        "running pro",
    ] {
        assert!(checked.contains(line), "{line}: {checked}");
    }
    assert!(!checked.contains("weak"), "{checked}");
    fs::write(&conf, changed.replace("ml_kem = on", "ml_kem = off")).unwrap();
    let checked = said(&system.command(tollgate(), "tollgate.cnf", &check).output().unwrap());
    assert!(checked.contains("none  X25519MLKEM768 left to OpenSSL"), "{checked}");

    let key = keys().join("rsa-2048.pem");
    let sign = ["dgst", "-sha256", "-sign", key.to_str().unwrap(), conf.to_str().unwrap()];
    assert!(system.openssl(&sign).status.success());
    let curve = system.path("p-256.pem");
    said(&system.openssl(&["ecparam", "-name", "P-256", "-genkey", "-noout", "-out", &curve]));
    let sign = ["dgst", "-sha256", "-sign", &curve, conf.to_str().unwrap()];
    assert!(system.openssl(&sign).status.success());
    fs::remove_file(curve).unwrap();
    assert_eq!(fs::read_dir(&metrics).unwrap().count(), 2, "a file of counters for each");

    let removed = said(&system.install(&["--remove"]));
    assert!(removed.contains("settings are kept"), "{removed}");
    assert_eq!(system.files(), ["tollgate.cnf.bak"]);
    assert!(said(&system.install(&["--remove"])).contains("nothing is installed"));
}

#[test]
fn failed_installations_change_nothing() {
    let system = System::new("provider-refused", BASE);
    let module = module();
    let named = ["--module", module.to_str().unwrap()];

    fs::write(system.path("broken.so"), "\x7fELF and no more").unwrap();
    let broken = system.install(&["--module", &system.path("broken.so")]);
    refused(&broken, "OpenSSL did not load it");
    fs::write(system.path("text.so"), "text").unwrap();
    refused(&system.install(&["--module", &system.path("text.so")]), "not a shared library");
    refused(&system.install(&["--module", "/nowhere/x.so"]), "/nowhere/x.so: ");
    let base = system.0.join("base.cnf");
    fs::set_permissions(&base, Permissions::from_mode(0o666)).unwrap();
    refused(&system.install(&named), "base.cnf: other users can change ");
    fs::set_permissions(&base, Permissions::from_mode(0o644)).unwrap();
    assert_eq!(system.files(), [""; 0]);

    let conf = system.0.join("tollgate.cnf");
    fs::write(&conf, "# mine\n").unwrap();
    refused(&system.install(&named), "tollgate did not write this file");
    refused(&system.install(&["--remove"]), "tollgate did not write this file");
    assert_eq!(fs::read_to_string(&conf).unwrap(), "# mine\n");
    fs::remove_file(&conf).unwrap();

    // A successful installation, then one with a setting that is refused: the second changes
    // nothing.
    said(&system.install(&named));
    let text = fs::read_to_string(&conf).unwrap();
    let bad =
        text.replace("activate = 1\n\n[tollgate_alg", "activate = 1\nasync = 5\n\n[tollgate_alg");
    fs::write(&conf, &bad).unwrap();
    let why = "async = 5 in the provider's section is not allowed: set on or off";
    refused(&system.install(&named), why);
    assert_eq!(fs::read_to_string(&conf).unwrap(), bad);
    assert_eq!(system.files(), ["tollgate.cnf", "tollgate.so"]);

    let check = |text: &str| {
        fs::write(&conf, text).unwrap();
        system.command(tollgate(), "tollgate.cnf", &["provider", "check"]).output().unwrap()
    };
    let last_word = |output: Output, why: &str| {
        assert_eq!(output.status.code(), Some(2));
        let stderr = String::from_utf8(output.stderr).unwrap();
        assert!(stderr.lines().count() == 1 && stderr.contains(why), "{stderr}");
        String::from_utf8(output.stdout).unwrap()
    };
    last_word(check(&bad), why);
    let unused = text.replace("default_properties = ?tollgate.operations=yes", "");
    assert!(last_word(check(&unused), "signs without it").contains("weak  query"));
    let idle = text.replace("activate = 1\n\n[tollgate_alg", "\n[tollgate_alg");
    last_word(check(&idle), "lacks activate = 1");
    let typo =
        text.replace("activate = 1\n\n[tollgate_alg", "activate = 1\nlinger = 5\n[tollgate_alg");
    let typo = said(&check(&typo));
    assert!(typo.contains("weak  setting        linger: unknown, and ignored"), "{typo}");
    last_word(check(BASE), "lists no provider tollgate");
}

#[test]
fn a_system_for_fips_is_left_alone() {
    let base = "openssl_conf = a\n[a]\nalg_section = b\n[b]\ndefault_properties = fips=yes\n";
    let system = System::new("provider-fips", base);
    let module = module();
    refused(&system.install(&["--module", module.to_str().unwrap()]), "not a FIPS module");
    assert_eq!(system.files(), [""; 0]);
}

/// A process that waits for input, with a loaded libcrypto; killed at the end.
struct Waiting(Child);

impl Waiting {
    fn start(system: &System, conf: &str) -> Self {
        let program = "import ssl, sys; ssl.create_default_context(); print(1, flush=True); \
                       sys.stdin.read()";
        let mut child = system
            .command(Command::new("python3"), conf, &["-c", program])
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        let mut ready = [0; 2];
        let stdout = child.stdout.as_mut().unwrap();
        std::io::Read::read_exact(stdout, &mut ready).unwrap();
        Self(child)
    }
}

impl Drop for Waiting {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

#[test]
fn processes_are_listed_with_the_reason_if_they_do_not_use_it() {
    let system = System::new("provider-pid", BASE);
    let module = module();
    said(&system.install(&["--module", module.to_str().unwrap()]));
    let stats = |process: &Waiting| {
        let pid = process.0.id().to_string();
        let words = ["provider", "stats", "--pid", &pid];
        let output = system.command(tollgate(), "tollgate.cnf", &words).output().unwrap();
        (output.status.code(), String::from_utf8(output.stdout).unwrap())
    };
    let without = Waiting::start(&system, "base.cnf");
    let (code, words) = stats(&without);
    assert!(code == Some(1) && words.contains("no: its OPENSSL_CONF is "), "{words}");
    let with = Waiting::start(&system, "tollgate.cnf");
    let (code, words) = stats(&with);
    assert!(code == Some(0) && words.contains("yes: it has loaded the module"), "{words}");
    assert!(words.contains("no counts"), "{words}");

    fs::remove_file(system.path("modules/tollgate.so")).unwrap();
    let (code, words) = stats(&with);
    assert!(code == Some(0) && words.contains("since replaced or removed"), "{words}");
    let nobody = system.provider(&["stats", "--pid", "4194305"]);
    refused(&nobody, "process 4194305: ");
}

#[test]
fn counters_of_running_processes_are_added_up() {
    let system = System::new("provider-stats", BASE);
    let file = |pid: u32, context: u32, written: f64| {
        let labels = format!("{{pid=\"{pid}\",context=\"{context}\",program=\"x\"}}");
        let text =
            format!("tollgate_keys_total{labels} 4\ntollgate_written_seconds{labels} {written}\n");
        fs::write(system.path(&format!("tollgate-{pid}-{context}.prom")), text).unwrap();
    };
    let id = std::process::id();
    file(id, 0, 1e9);
    file(id, 1, 1e9);
    file(id, 2, 0.0); // of an earlier process with this ID
    file(4_194_305, 0, 1e9); // above the largest ID
    let folder = system.path("");
    let text = said(&system.provider(&["stats", "--metrics", &folder]));
    assert!(text.starts_with("1 running processes in "), "{text}");
    assert_eq!(text.split_whitespace().last(), Some("8"), "{text}");
}
