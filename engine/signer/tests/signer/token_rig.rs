//! A token of `SoftHSM`, and signers whose keys it has.

use std::fs::{self, File, OpenOptions};
use std::io::Write as _;
use std::os::unix::fs::OpenOptionsExt as _;
use std::path::{Path, PathBuf};
use std::process::Command;

use cryptoki::context::{CInitializeArgs, CInitializeFlags, Pkcs11};
use cryptoki::error::{Error, RvError};
use cryptoki::object::{Attribute, ObjectClass};
use cryptoki::session::{Session, UserType};
use cryptoki::types::AuthPin;
use tollgate_signer::Signer;

use crate::rig::{Folder, Rig, key, key_file, own_client};

pub(crate) const MODULE: &str = "/usr/lib/softhsm/libsofthsm2.so";
pub(crate) const PIN: &str = "73519";

/// A key of the tests, its label, and its ID in hexadecimal digits.
pub(crate) type Import = (&'static str, &'static str, &'static str);

pub(crate) const WEB: Import = ("rsa-2048.pem", "web", "01");
pub(crate) const CURVE: Import = ("ec-p256.pem", "curve", "02");

/// A token "site".
pub(crate) struct Hsm {
    folder: PathBuf,
}

/// The folder of the token, for the process of a test.
const FOLDER: &str = "TOLLGATE_TEST_TOKEN";

impl Hsm {
    /// Makes a token with these keys and runs the test again in a process of its own: a module reads its
    /// settings once in a process. Returns the token in that process, and nothing in this one.
    #[track_caller]
    pub(crate) fn alone(test: &str, imports: &[Import]) -> Option<Self> {
        if let Some(folder) = std::env::var_os(FOLDER) {
            return Some(Self { folder: folder.into() });
        }
        if !Path::new(MODULE).exists() {
            assert!(std::env::var_os("CI").is_none(), "SoftHSM is missing");
            println!("skipped: SoftHSM is not installed (apt-get install softhsm2)");
            return None;
        }
        let folder = Folder::new();
        let hsm = Self { folder: folder.path("") };
        fs::create_dir(folder.path("tokens")).unwrap();
        let conf = format!("directories.tokendir = {}\n", folder.path("tokens").display());
        folder.write("softhsm2.conf", conf);
        folder.write("pin", format!("{PIN}\n"));
        hsm.tool(&["--init-token", "--free", "--label", "site", "--so-pin", "9876543"]);
        imports.iter().for_each(|import| hsm.import(*import));
        let status = Command::new(std::env::current_exe().unwrap())
            .args(["--exact", &format!("pkcs11::{test}"), "--nocapture"])
            .env(FOLDER, &hsm.folder)
            .env("SOFTHSM2_CONF", hsm.folder.join("softhsm2.conf"))
            .status();
        assert!(status.unwrap().success(), "{test}");
        None
    }

    pub(crate) fn import(&self, (file, label, id): Import) {
        let pem = self.folder.join(file);
        fs::write(&pem, key(file).private_key_to_pem_pkcs8().unwrap()).unwrap();
        let pem = pem.to_str().unwrap();
        self.tool(&["--import", pem, "--token", "site", "--label", label, "--id", id, "--force"]);
    }

    fn tool(&self, arguments: &[&str]) {
        let output = Command::new("softhsm2-util")
            .args(arguments)
            .args(["--pin", PIN])
            .env("SOFTHSM2_CONF", self.folder.join("softhsm2.conf"))
            .output()
            .unwrap();
        assert!(output.status.success(), "{output:?}");
    }

    /// The settings of a signer with one worker, whose keys "web" and "curve" are in the token, and "own"
    /// is not.
    pub(crate) fn settings(&self, folder: &Folder) -> String {
        let path = |name| folder.path(name);
        format!(
            "unix = {:?}\naudit_log = {:?}\nworkers = 1\nseccomp = false\n\
             [pkcs11]\nmodule = {MODULE:?}\npin_file = {:?}\nsessions = 3\nlimit = 20\n\
             [[key]]\nraw = true\nname = \"web\"\npkcs11 = \"pkcs11:token=site;object=web\"\n\
             [[key]]\nraw = true\nname = \"curve\"\npkcs11 = \"pkcs11:token=site;id=%02;type=private\"\n\
             [[key]]\nraw = true\nname = \"own\"\nfile = {:?}\n",
            path("socket"),
            path("audit.log"),
            self.folder.join("pin"),
            key_file("rsa-4096.pem"),
        ) + &own_client(r#"["web", "curve", "own"]"#, r#"["sign", "decrypt", "raw"]"#)
    }

    /// Starts a signer with these settings, changed.
    pub(crate) fn signer(&self, change: impl FnOnce(String) -> String) -> Rig {
        let folder = Folder::new();
        let text = change(self.settings(&folder));
        Rig::of(folder, &text, |config, say| Signer::start(config, say))
    }

    /// The folder of the token's files.
    fn files(&self) -> PathBuf {
        fs::read_dir(self.folder.join("tokens")).unwrap().next().unwrap().unwrap().path()
    }

    /// Removes the token.
    pub(crate) fn remove(&self) {
        fs::rename(self.files(), self.folder.join("removed")).unwrap();
    }

    fn objects(&self) -> Vec<PathBuf> {
        let files = fs::read_dir(self.files()).unwrap().map(|it| it.unwrap().path());
        files.filter(|it| it.extension().is_some_and(|it| it == "object")).collect()
    }

    /// Imports a private key "torn" with the public key of another one.
    pub(crate) fn import_torn(&self) {
        let before = self.objects();
        self.import(("rsa-2048.pem", "torn", "0a"));
        let mut new = self.objects();
        new.retain(|it| !before.contains(it));
        let public = new.iter().min_by_key(|it| fs::metadata(it).unwrap().len()).unwrap();
        fs::remove_file(public).unwrap();
        self.import(("rsa-2048-e3.pem", "other", "0a"));
    }

    /// Sets a flag of the token.
    pub(crate) fn flag(&self, flag: u64) {
        let file = self.files().join("token.object");
        let mut bytes = fs::read(&file).unwrap();
        bytes[7] += 1; // counts changes
        let name = 0x8000_534b_u64.to_be_bytes(); // of the flags; then there are 8 bytes for their type
        let at = bytes.windows(8).position(|it| *it == name).unwrap() + 16;
        let flags = bytes[at..][..8].first_chunk_mut().unwrap();
        *flags = (u64::from_be_bytes(*flags) | flag).to_be_bytes();
        fs::write(file, bytes).unwrap();
    }

    /// Opens a session in this process, with the right PIN.
    pub(crate) fn session(&self) -> Session {
        let module = Pkcs11::new(MODULE).unwrap();
        let flags = CInitializeArgs::new(CInitializeFlags::OS_LOCKING_OK);
        let _ = module.initialize(flags); // The signer may have done it.
        let is_site = |slot: &_| module.get_token_info(*slot).unwrap().label() == "site";
        let slot = module.get_slots_with_token().unwrap().into_iter().find(is_site).unwrap();
        let session = module.open_rw_session(slot).unwrap();
        match session.login(UserType::User, Some(&AuthPin::new(PIN.into()))) {
            Ok(()) | Err(Error::Pkcs11(RvError::UserAlreadyLoggedIn, _)) => session,
            Err(why) => panic!("{why}"),
        }
    }

    /// Gives private keys other labels.
    pub(crate) fn relabel(&self, labels: [(&str, &str); 2]) {
        let session = self.session();
        let label = |label: &str| Attribute::Label(label.into());
        for (old, new) in labels {
            let private = Attribute::Class(ObjectClass::PRIVATE_KEY);
            let found = session.find_objects(&[label(old), private]).unwrap();
            session.update_attributes(found[0], &[label(new)]).unwrap();
        }
    }

    /// Compiles a module that is `SHORT` or `POOR`, and returns its path.
    pub(crate) fn module(&self, how: &str) -> String {
        let (code, module) = (self.folder.join("module.c"), self.folder.join("module.so"));
        fs::write(&code, OTHER_MODULE).unwrap();
        let mut gcc = Command::new("gcc");
        let gcc = gcc.args([&format!("-D{how}"), "-shared", "-fPIC", "-o"]).args([&module, &code]);
        let output = gcc.arg("-ldl").output().unwrap();
        assert!(output.status.success(), "{output:?}");
        module.display().to_string()
    }

    /// Gives each of two private keys of one size the file of the other one.
    pub(crate) fn swap(&self) {
        let mut private = self.objects();
        private.retain(|it| fs::metadata(it).unwrap().len() > 2000);
        let [one, two] = &private[..] else { panic!("{private:?}") };
        let (mut of_one, mut of_two) = (fs::read(one).unwrap(), fs::read(two).unwrap());
        // The first eight bytes count changes.
        let count = of_one[7].max(of_two[7]) + 1;
        (of_one[7], of_two[7]) = (count, count);
        fs::write(one, of_two).unwrap();
        fs::write(two, of_one).unwrap();
    }

    /// Makes each call of the module that reads an object hang, until this is dropped.
    pub(crate) fn hang(&self) -> Hang {
        let (file, kept) = (self.files().join("generation"), self.folder.join("generation"));
        fs::rename(&file, &kept).unwrap();
        assert!(Command::new("mkfifo").arg(&file).status().unwrap().success());
        Hang { file, kept }
    }
}

/// [`MODULE`] with faults: `SHORT` drops zeros at the beginning of decrypted numbers, `POOR` neither
/// decrypts nor signs with PSS or ECDSA. It has the functions of PKCS#11 2.40 in their order, after the
/// version.
const OTHER_MODULE: &str = r#"
#include <dlfcn.h>
#include <string.h>
typedef unsigned long Long;
static void *functions[69];
static Long (*decrypt)(Long, void *, Long, unsigned char *, Long *);
static Long (*sign_init)(Long, Long *, Long);
static Long shorter(Long session, void *in, Long in_len, unsigned char *out, Long *len) {
    Long rv = decrypt(session, in, in_len, out, len);
    while (rv == 0 && out && *len && !*out) memmove(out, out + 1, --*len);
    return rv;
}
static Long no_decrypt(Long session, Long *mechanism, Long key) { return 0x70; }
static Long no_pss(Long session, Long *mechanism, Long key) {
    return *mechanism == 0xd || *mechanism == 0x1041 ? 0x70 : sign_init(session, mechanism, key);
}
Long C_GetFunctionList(void ***list) {
    void *module = dlopen("/usr/lib/softhsm/libsofthsm2.so", RTLD_NOW);
    Long (*real)(void ***) = dlsym(module, "C_GetFunctionList");
    Long rv = real(list);
    memcpy(functions, *list, sizeof functions);
    decrypt = functions[35];
    sign_init = functions[43];
#ifdef SHORT
    functions[35] = shorter;
#else
    functions[34] = no_decrypt;
    functions[43] = no_pss;
#endif
    *list = functions;
    return rv;
}
"#;

/// A file that no program can open.
pub(crate) struct Hang {
    file: PathBuf,
    kept: PathBuf,
}

impl Drop for Hang {
    fn drop(&mut self) {
        let (pipe, content) = (self.kept.with_extension("pipe"), fs::read(&self.kept).unwrap());
        fs::rename(&self.file, &pipe).unwrap();
        fs::rename(&self.kept, &self.file).unwrap();
        // Readers that wait get the content; without one, this fails.
        while let Ok(mut writer) = OpenOptions::new().write(true).custom_flags(NONBLOCK).open(&pipe)
        {
            let _ = File::write_all(&mut writer, &content.repeat(4));
        }
    }
}

/// `O_NONBLOCK` of Linux.
const NONBLOCK: i32 = 0o4000;
