//! OpenSSL's own recipes for RSA (`test/recipes/30-test_evp_data`) through this provider.
//!
//! `TOLLGATE_EVP_TEST` names the folder with the recipes; `./x test` extracts them from Debian's
//! source package and sets the variable. The property query prefers this provider, as a
//! configuration does. OpenSSL's own provider handles the keys that this one refuses.

use std::collections::BTreeMap;
use std::ffi::CString;
use std::path::Path;

use crate::host::libcrypto::{self, EVP_PKEY_CTX};
use crate::host::operation::{Init, Step};
use crate::host::stanza::{Stanza, parse};
use crate::host::{Host, Key, MdContext, PREFER, errors};

/// The result of a test, in the words of `evp_test`; empty for success.
type Outcome = &'static str;

#[derive(Default)]
struct Tally {
    ran: usize,
    served_here: usize,
    skipped: BTreeMap<String, usize>,
    failed: Vec<String>,
}

struct Runner {
    host: Host,
    keys: BTreeMap<String, Key>,
}

impl Runner {
    /// Returns the reason if a test does not run here.
    fn skip(&self, stanza: &Stanza) -> Option<String> {
        match stanza.value("Availablein") {
            None | Some("default" | "legacy") => {}
            Some(other) => return Some(format!("for the provider {other}")),
        }
        let (kind, value) = stanza.kind()?;
        let key = stanza.value("Key").unwrap_or(value);
        match kind {
            "PrivPubKeyPair" => Some("compares keys, of OpenSSL's own provider".into()),
            "KeyGen" => Some("makes a key, with OpenSSL's own provider".into()),
            "Sign" | "Verify" | "VerifyRecover" | "Decrypt" | "DigestSign" | "DigestVerify"
            | "OneShotDigestSign" => {
                (!self.keys.contains_key(key)).then(|| format!("a key that was not read: {key}"))
            }
            other => Some(format!("another kind of test: {other}")),
        }
    }

    fn run(&self, stanza: &Stanza) -> Outcome {
        let (kind, value) = stanza.kind().unwrap();
        match kind {
            "DigestSign" | "OneShotDigestSign" | "DigestVerify" => self.digest(stanza, kind, value),
            "Verify" => self.verify(stanza, &self.keys[value]),
            _ => {
                let (init, step): (Init, Step) = match kind {
                    "Sign" => (libcrypto::EVP_PKEY_sign_init_ex, libcrypto::EVP_PKEY_sign),
                    "VerifyRecover" => (
                        libcrypto::EVP_PKEY_verify_recover_init_ex,
                        libcrypto::EVP_PKEY_verify_recover,
                    ),
                    _ => (libcrypto::EVP_PKEY_decrypt_init_ex, libcrypto::EVP_PKEY_decrypt),
                };
                self.operate(stanza, &self.keys[value], init, step)
            }
        }
    }

    /// Signs, recovers or decrypts, with the context and with a copy.
    fn operate(&self, stanza: &Stanza, key: &Key, init: Init, step: Step) -> Outcome {
        let operation = self.host.operation(key, PREFER);
        if operation.init(init, &[]).is_err() {
            return "KEYOP_INIT_ERROR";
        }
        if let Some(error) = controls(stanza, operation.0) {
            return error;
        }
        // SAFETY: a context.
        let copy = crate::host::Operation(unsafe { libcrypto::EVP_PKEY_CTX_dup(operation.0) });
        assert!(!copy.0.is_null(), "line {}: {}", stanza.line, errors());
        let (input, expected) = (stanza.bytes("Input"), stanza.bytes("Output"));
        for operation in [operation, copy] {
            match operation.run(step, &input) {
                Err(_) => return "KEYOP_ERROR",
                Ok(output) if output != expected => return "KEYOP_MISMATCH",
                Ok(_) => {}
            }
        }
        ""
    }

    fn verify(&self, stanza: &Stanza, key: &Key) -> Outcome {
        let operation = self.host.operation(key, PREFER);
        if operation.init(libcrypto::EVP_PKEY_verify_init_ex, &[]).is_err() {
            return "KEYOP_INIT_ERROR";
        }
        if let Some(error) = controls(stanza, operation.0) {
            return error;
        }
        let (digest, signature) = (stanza.bytes("Input"), stanza.bytes("Output"));
        if operation.verify(&signature, &digest) == 1 { "" } else { "VERIFY_ERROR" }
    }

    fn digest(&self, stanza: &Stanza, kind: &str, digest: &str) -> Outcome {
        let (input, output) = (stanza.bytes("Input"), stanza.bytes("Output"));
        let key = &self.keys[stanza.value("Key").unwrap()];
        let digest = CString::new(digest).unwrap();
        let context = MdContext::new();
        let (init, init_error, is_verify): (libcrypto::DigestInit, _, _) = match kind {
            "DigestVerify" => (libcrypto::EVP_DigestVerifyInit_ex, "DIGESTVERIFYINIT_ERROR", true),
            _ => (libcrypto::EVP_DigestSignInit_ex, "DIGESTSIGNINIT_ERROR", false),
        };
        if self.host.digest_init(init, &context, key, PREFER, &digest, &[]).is_err() {
            return init_error;
        }
        // SAFETY: a context that was initialized.
        let settings = unsafe { libcrypto::EVP_MD_CTX_get_pkey_ctx(context.0) };
        if let Some(error) = controls(stanza, settings) {
            return error;
        }
        if is_verify {
            return if context.verify(&output, &input) == 1 { "" } else { "VERIFY_ERROR" };
        }
        let signed = if kind == "OneShotDigestSign" {
            context.sign(&input)
        } else {
            let pieces = stanza.pieces("Input");
            pieces.iter().try_for_each(|piece| context.update(piece)).unwrap();
            context.finish()
        };
        match signed {
            Err(_) => "DIGESTSIGN_ERROR",
            Ok(signature) if signature != output => "SIGNATURE_MISMATCH",
            Ok(_) => "",
        }
    }
}

/// Sets the parameters of the lines.
fn controls(stanza: &Stanza, context: *mut EVP_PKEY_CTX) -> Option<Outcome> {
    for (name, value) in &stanza.rows {
        if name != "Ctrl" && name != "CtrlInit" {
            continue;
        }
        let (name, value) = value.split_once(':').unwrap();
        if name == "rsa_pkcs1_implicit_rejection" {
            // OpenSSL 3.0 and 3.1 do not know this name, so the parameter is set by its key.
            let mut number = value.parse().unwrap();
            let params = [libcrypto::uint(c"implicit-rejection", &mut number), libcrypto::END];
            // SAFETY: a context, and parameters that outlive the call.
            let done = unsafe { libcrypto::EVP_PKEY_CTX_set_params(context, params.as_ptr()) };
            assert_eq!(done, 1, "line {}: {}", stanza.line, errors());
            continue;
        }
        let [name, value] = [name, value].map(|text| CString::new(text).unwrap());
        // SAFETY: a context and strings.
        let done =
            unsafe { libcrypto::EVP_PKEY_CTX_ctrl_str(context, name.as_ptr(), value.as_ptr()) };
        match done {
            -2 => return Some("PKEY_CTRL_INVALID"),
            1.. => {}
            _ => return Some("PKEY_CTRL_ERROR"),
        }
    }
    None
}

fn run(folder: &Path, name: &str) -> Tally {
    let text = std::fs::read_to_string(folder.join(name)).unwrap();
    let mut runner = Runner { host: Host::module(), keys: BTreeMap::new() };
    let mut tally = Tally::default();
    let used = |host: &Host| -> u64 {
        ["signatures", "verifications", "decryptions"].map(|name| host.counter(name)).iter().sum()
    };
    for stanza in parse(&text) {
        let Some((kind, value)) = stanza.kind() else {
            continue; // a title
        };
        if let "PrivateKey" | "PublicKey" = kind {
            let read = if kind == "PrivateKey" { Host::key } else { Host::public_key };
            let key = read(&runner.host, &stanza.pem);
            runner.keys.insert(value.into(), key);
            continue;
        }
        if let Some(why) = runner.skip(&stanza) {
            *tally.skipped.entry(why).or_default() += 1;
            continue;
        }
        let before = used(&runner.host);
        let outcome = runner.run(&stanza);
        let said = errors();
        tally.ran += 1;
        tally.served_here += usize::from(used(&runner.host) != before);
        let expected = stanza.value("Result").unwrap_or_default();
        if outcome != expected {
            tally.failed.push(format!(
                "{name}:{}: {kind} = {value}: {outcome:?}, not {expected:?}; {:?}; {said}",
                stanza.line,
                stanza.rows.iter().filter(|(n, _)| n.starts_with("Ctrl")).collect::<Vec<_>>()
            ));
        }
    }
    tally
}

#[test]
fn recipes_of_openssl_pass() {
    let Some(folder) = std::env::var_os("TOLLGATE_EVP_TEST") else {
        eprintln!("recipes NOT RUN: TOLLGATE_EVP_TEST names no folder; ./x test downloads them");
        return;
    };
    for name in ["evppkey_rsa.txt", "evppkey_rsa_common.txt"] {
        let tally = run(Path::new(&folder), name);
        eprintln!("{name}: {} ran, {} of them served here", tally.ran, tally.served_here);
        for (why, count) in &tally.skipped {
            eprintln!("{name}: {count} skipped: {why}");
        }
        assert!(
            tally.failed.is_empty(),
            "{} failed:\n{}",
            tally.failed.len(),
            tally.failed.join("\n")
        );
        assert!(2 * tally.served_here > tally.ran, "the recipes are for this provider");
    }
}
