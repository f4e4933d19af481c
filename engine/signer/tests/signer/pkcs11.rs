//! Keys in a token of `SoftHSM`.

use core::time::Duration;
use std::fs;
use std::path::PathBuf;
use std::thread;
use std::time::Instant;

use cryptoki::context::{CInitializeArgs, CInitializeFlags, Pkcs11};
use cryptoki::session::UserType;
use cryptoki::types::AuthPin;
use tollgate_keyless::{ErrorCode, Operation, PING, RESPONSE};
use tollgate_signer::Signer;

use crate::operations::{decrypt_all, send_unsuitable, sign_together, sign_with_all};
use crate::relay_rig::{Site, eventually};
use crate::rig::{Folder, Rig, SIGN, digest, is_valid, key, key_file, read, request, ski};
use crate::tls::CLIENT;
use crate::token_rig::{CURVE, Hsm, MODULE, PIN, WEB};

fn said(rig: &Rig, part: &str) -> usize {
    rig.said.lock().unwrap().iter().filter(|line| line.contains(part)).count()
}

#[test]
fn operations_run_in_the_token() {
    let test = "operations_run_in_the_token";
    let Some(hsm) = Hsm::alone(test, &[WEB, CURVE]) else { return };
    let rig = hsm.signer(|text| text);
    sign_with_all(&rig);
    send_unsuitable(&rig);
    let raw = [&[0][..], &[7; 255]].concat();
    let root = rig.connect().run("rsa-2048.pem", Operation::Raw, &raw).unwrap();
    let mut number = vec![0; 256];
    let rsa = key("rsa-2048.pem").rsa().unwrap();
    rsa.public_encrypt(&root, &mut number, openssl::rsa::Padding::NONE).unwrap();
    assert_eq!(number, raw);
    rig.logged("\"operation\":\"raw\"");
    assert!(!rig.audit().contains("\"signer\""), "this signer decided: {}", rig.audit());
    let counts = rig.running.counts();
    assert!(counts.fill.iter().all(|calls| *calls == 0), "no lanes ran: {:?}", counts.fill);
    assert_eq!(*rig.said.lock().unwrap(), [""; 0]);
}

#[test]
fn operations_of_many_connections_get_their_own_answers() {
    let test = "operations_of_many_connections_get_their_own_answers";
    let Some(hsm) = Hsm::alone(test, &[WEB, CURVE]) else { return };
    sign_together(&hsm.signer(|text| text.replace("workers = 1", "workers = 2")));
}

/// A ciphertext with invalid padding has one message, whatever signer decrypts it.
#[test]
fn signers_with_the_same_token_reject_alike() {
    let test = "signers_with_the_same_token_reject_alike";
    let Some(hsm) = Hsm::alone(test, &[WEB, CURVE]) else { return };
    let first = decrypt_all(&hsm.signer(|text| text));
    let second = hsm.signer(|text| text);
    assert_eq!(first, decrypt_all(&second));
    assert_eq!(*second.said.lock().unwrap(), [""; 0]);
}

#[test]
fn what_is_not_usable_is_refused_with_a_remedy() {
    let test = "what_is_not_usable_is_refused_with_a_remedy";
    let keys = [WEB, CURVE, ("rsa-3072.pem", "twin", "03"), ("rsa-4096.pem", "twin", "04")];
    let small = ("rsa-1024.pem", "small", "05");
    let twice = [("rsa-3072.pem", "pair", "06"), ("rsa-4096.pem", "pair2", "06")];
    let all: Vec<_> = keys.into_iter().chain([small]).chain(twice).collect();
    let Some(hsm) = Hsm::alone(test, &all) else { return };
    hsm.import_torn();
    let folder = Folder::new();
    let good = hsm.settings(&folder);
    let wrong = folder.write("wrong", "73518");
    let empty = folder.write("empty", "\n");
    let library = folder.write("library.so", "no library");
    let pin = good.lines().find(|line| line.starts_with("pin_file")).unwrap();
    let table = &good[good.find("[pkcs11]").unwrap()..good.find("[[key]]").unwrap()];
    let torn = "look if its public and private key belong together";
    let object = |name: &str| good.replace("object=web", name);
    let module = |path: &str| good.replace(MODULE, path);
    for (text, why) in [
        (good.replace("seccomp = false", ""), "line 6: `pkcs11.module`: the filter refuses"),
        (good.replace("limit = 20", "limit = 0"), "`pkcs11.limit`: give a time"),
        (good.replace("sessions = 3", "sessions = 65"), "`pkcs11.sessions`: give a number from 1"),
        (good.replacen("raw = true", "fallback = \"x\"", 1), "`pkcs11` without `fallback`"),
        (
            good.replacen("raw = true", "file = \"x\"", 1),
            "\"web\": give each key `file`, or `pkcs11`",
        ),
        (good.replace("pkcs11:token=site;o", "pkcs11:slot-id=1;o"), "line 13: `slot-id` is not"),
        (good.replace(table, ""), "`key.pkcs11`: there is no [pkcs11]: add it"),
        (module("/missing.so"), "the token \"site\" has a module that cannot be loaded"),
        (module(&library.display().to_string()), "correct `pkcs11.module`"),
        (
            module(&format!("/lib/{}-linux-gnu/libm.so.6", std::env::consts::ARCH)),
            "C_GetFunctionList): correct `pkcs11.module`",
        ),
        (good.replace("token=site;o", "token=sight;o"), "\"sight\" is not there, but \"site\""),
        (object("object=none"), "no such private key: import it, or correct"),
        (object("object=web;id=%02"), "no such private key"),
        (object("object=twin"), "has 2 private keys that match: add `id`"),
        (object("object=pair"), "has 2 public keys with the ID"),
        (object("object=torn").replace(", \"decrypt\", \"raw\"]", "]"), torn),
        (object("object=torn").replace("\"sign\", ", ""), torn),
        (object("object=small"), "not usable (it has less than 2048 bits): use RSA of 2048"),
        (object("id=%02"), "\"web\" is the same key as \"curve\""),
        (good.replace(pin, ""), "asks for a PIN: give `pin_file`"),
        (good.replace(pin, "pin_file = \"none\""), "none: No such file"),
        (good.replace(pin, &format!("pin_file = {empty:?}")), "empty: it is empty: write the PIN"),
        (good.replace(pin, &format!("pin_file = {wrong:?}")), "refused the PIN: correct the file"),
    ] {
        let error = read(&folder, &text).and_then(|config| Signer::check(&config)).unwrap_err();
        let error = error.to_string();
        assert!(error.contains(why) && !error.contains('\n'), "{why:?} in {error}");
        assert!(!error.contains("7351") && !error.contains(PIN), "{error}");
    }
    Signer::check(&read(&folder, &good).unwrap()).unwrap();
    assert!(!format!("{:?}", read(&folder, &good).unwrap()).contains(PIN));
}

/// A reload finds keys anew; if one is not usable, the old ones stay. Threads stay if nothing has changed.
#[test]
fn a_reload_finds_keys_anew() {
    let test = "a_reload_finds_keys_anew";
    let Some(hsm) = Hsm::alone(test, &[WEB, CURVE]) else { return };
    let rig = hsm.signer(|text| text);
    let good = hsm.settings(&rig.folder);
    let mut client = rig.connect();
    let mut sign = |key: &str| client.run(key, SIGN, &digest());
    assert!(is_valid("rsa-2048.pem", SIGN, &sign("rsa-2048.pem").unwrap()));
    let threads = || {
        let tasks = fs::read_dir("/proc/self/task").unwrap().map(|task| task.unwrap().path());
        // One that has ended has no name.
        let name = |task: &PathBuf| fs::read_to_string(task.join("comm")).unwrap_or_default();
        let mut tasks: Vec<_> = tasks.filter(|it| name(it).starts_with("token ")).collect();
        tasks.sort();
        tasks
    };
    let before = threads();
    assert_eq!(before.len(), 3);
    let reload = |text: &str| rig.running.reload(&read(&rig.folder, text).unwrap());

    let why = reload(&good.replace("object=web", "object=later")).unwrap_err().to_string();
    assert!(why.contains("no such private key"), "{why}");
    assert!(is_valid("rsa-2048.pem", SIGN, &sign("rsa-2048.pem").unwrap()), "the old key stays");
    reload(&good).unwrap();
    assert_eq!(threads(), before, "the sessions stay");

    hsm.import(("rsa-3072.pem", "later", "07"));
    reload(&good.replace("object=web", "object=later")).unwrap();
    assert_eq!(sign("rsa-2048.pem"), Err(ErrorCode::KeyNotFound));
    assert!(is_valid("rsa-3072.pem", SIGN, &sign("rsa-3072.pem").unwrap()));
    assert_eq!(threads(), before);
    reload(&good.replace("sessions = 3", "sessions = 2")).unwrap();
    assert!(is_valid("rsa-2048.pem", SIGN, &sign("rsa-2048.pem").unwrap()));
    eventually("the old threads end", || threads().len() == 2);
}

#[test]
fn a_token_that_is_removed_fails_and_other_keys_work() {
    let test = "a_token_that_is_removed_fails_and_other_keys_work";
    let Some(hsm) = Hsm::alone(test, &[WEB, CURVE]) else { return };
    let rig = hsm.signer(|text| text);
    let mut client = rig.connect();
    assert!(client.run("rsa-2048.pem", SIGN, &digest()).is_ok());
    thread::sleep(Duration::from_millis(1500)); // no session is opened in one second
    hsm.remove();
    for _ in 0..5 {
        assert_eq!(client.run("rsa-2048.pem", SIGN, &digest()), Err(ErrorCode::Internal));
        assert!(client.run("rsa-4096.pem", SIGN, &digest()).is_ok());
    }
    let lines = rig.said.lock().unwrap().clone();
    assert_eq!(lines.len(), 1, "{lines:?}");
    assert!(lines[0].starts_with("the token \"site\" is not there"), "{lines:?}");
    let reload = rig.running.reload(&read(&rig.folder, &hsm.settings(&rig.folder)).unwrap());
    assert!(reload.is_err());
}

/// Sessions and logins end with those of the process; a PIN that was refused is not tried again.
#[test]
fn sessions_are_opened_anew_but_not_with_a_refused_pin() {
    let test = "sessions_are_opened_anew_but_not_with_a_refused_pin";
    let Some(hsm) = Hsm::alone(test, &[WEB, CURVE]) else { return };
    let rig = hsm.signer(|text| text.replace("sessions = 3", "sessions = 1"));
    let mut client = rig.connect();
    let mut sign = || client.run("rsa-2048.pem", SIGN, &digest());
    assert!(sign().is_ok());
    let second = || thread::sleep(Duration::from_millis(1500)); // no session is opened in one
    second();
    let module = Pkcs11::new(MODULE).unwrap();
    module.clone().finalize().unwrap();
    module.initialize(CInitializeArgs::new(CInitializeFlags::OS_LOCKING_OK)).unwrap();
    assert!(sign().is_ok());
    assert_eq!(*rig.said.lock().unwrap(), [""; 0]);

    let is_site = |slot: &_| module.get_token_info(*slot).unwrap().label() == "site";
    let slot = module.get_slots_with_token().unwrap().into_iter().find(is_site).unwrap();
    let session = module.open_rw_session(slot).unwrap();
    let [old, new] = [PIN, "1234567"].map(|pin| AuthPin::new(pin.into()));
    session.set_pin(&old, &new).unwrap();
    session.logout().unwrap();
    second();
    assert_eq!(sign(), Err(ErrorCode::Internal));
    assert_eq!(said(&rig, "the token \"site\" refused the PIN"), 1);
    session.login(UserType::User, Some(&new)).unwrap();
    session.set_pin(&new, &old).unwrap();
    session.logout().unwrap();
    second();
    assert_eq!(sign(), Err(ErrorCode::Internal), "it is not tried again");
    let same = hsm.settings(&rig.folder).replace("sessions = 3", "sessions = 1");
    rig.running.reload(&read(&rig.folder, &same).unwrap()).unwrap();
    assert!(sign().is_ok());
}

/// Operations with other keys of the same connection have their answers while the token hangs.
#[test]
fn a_token_that_hangs_is_given_up_and_comes_back() {
    let test = "a_token_that_hangs_is_given_up_and_comes_back";
    let Some(hsm) = Hsm::alone(test, &[WEB, CURVE]) else { return };
    let rig = hsm.signer(|text| text.replace("limit = 20", "limit = 2"));
    let mut client = rig.connect();
    let (web, own) = (Some(ski("rsa-2048.pem")), Some(ski("rsa-4096.pem")));
    assert!(client.run("rsa-2048.pem", SIGN, &digest()).is_ok());

    let hang = hsm.hang();
    for id in 0..4 {
        client.send(&request(id, web, SIGN.code(), &digest()));
        client.send(&request(10 + id, own, SIGN.code(), &digest()));
    }
    let ids: Vec<u32> = (0..8).map(|_| client.receive().unwrap().0).collect();
    assert_eq!(ids[..4].iter().filter(|id| **id >= 10).count(), 4, "they do not wait: {ids:?}");
    // All sessions are late now: operations fail at once, even if this machine is busy.
    let began = Instant::now();
    for _ in 0..100 {
        assert_eq!(client.run("rsa-2048.pem", SIGN, &digest()), Err(ErrorCode::Internal));
    }
    assert!(began.elapsed() < Duration::from_secs(50), "{:?}", began.elapsed());
    assert_eq!(said(&rig, "did not answer in time"), 1);

    drop(hang);
    let end = Instant::now() + Duration::from_secs(20);
    while client.run("rsa-2048.pem", SIGN, &digest()).is_err() {
        assert!(Instant::now() < end, "{:?}", rig.said.lock().unwrap());
        thread::sleep(Duration::from_millis(5));
    }
    assert_eq!(said(&rig, "works again"), 1);

    core::mem::forget(hsm.hang());
    assert_eq!(client.run("rsa-2048.pem", SIGN, &digest()), Err(ErrorCode::Internal));
    let report = rig.running.stop(Duration::from_secs(1));
    assert_eq!((report.connections_cut, report.workers_lost), (0, 0), "a stop does not wait");
}

/// An operation in a token goes on, whatever a reload does with its key and with upstream signers.
#[test]
fn a_reload_leaves_operations_in_a_token() {
    let test = "a_reload_leaves_operations_in_a_token";
    let Some(hsm) = Hsm::alone(test, &[WEB, CURVE]) else { return };
    let rig = hsm.signer(|text| text);
    let site = Site::new();
    site.files(&rig.folder, &site.pair(CLIENT));
    let file = |text: &str, uri: &str, name| {
        text.replace(&format!("pkcs11 = \"{uri}\""), &format!("file = {:?}", key_file(name)))
    };
    let text = hsm.settings(&rig.folder);
    let text = file(&text, "pkcs11:token=site;object=web", "rsa-2048.pem");
    let text = file(&text, "pkcs11:token=site;id=%02;type=private", "ec-p256.pem")
        + "[relay]\nchain = \"chain.pem\"\nkey = \"key.pem\"\nroots = \"roots.pem\"\n\
           [[upstream]]\nname = \"gone\"\naddress = \"127.0.0.1:1\"\ncertificate = \"x\"\n";
    let mut client = rig.connect();
    let hang = hsm.hang();
    client.send(&request(1, Some(ski("rsa-2048.pem")), SIGN.code(), &digest()));
    let mut ping = |id| {
        client.send(&request(id, None, PING, &[]));
        client.receive().unwrap().0
    };
    assert_eq!(ping(2), 2);
    rig.running.reload(&read(&rig.folder, &text).unwrap()).unwrap();
    eventually("the upstream signer is not there", || said(&rig, "cannot be reached") == 1);
    assert_eq!(ping(3), 3);
    drop(hang);
    let (id, opcode, signature) = client.receive().unwrap();
    assert_eq!((id, opcode), (1, RESPONSE), "{:?}", rig.said.lock().unwrap());
    assert!(is_valid("rsa-2048.pem", SIGN, &signature));
}

#[test]
fn a_wrong_result_does_not_leave() {
    let test = "a_wrong_result_does_not_leave";
    let Some(hsm) = Hsm::alone(test, &[WEB, ("rsa-2048-e3.pem", "e3", "08"), CURVE]) else {
        return;
    };
    let rig = hsm.signer(|text| text.replace("sessions = 3", "sessions = 1"));
    let mut client = rig.connect();
    assert!(client.run("rsa-2048.pem", SIGN, &digest()).is_ok());
    // The session keeps its handle of the key, and a search finds the same one.
    hsm.relabel([("web", "other"), ("e3", "web")]);
    hsm.swap();
    for operation in [SIGN, Operation::SignPss(tollgate_rsa::Hash::Sha256)] {
        let answer = client.run("rsa-2048.pem", operation, &digest());
        assert_eq!(answer, Err(ErrorCode::Internal));
    }
    for operation in [Operation::Decrypt, Operation::Raw] {
        let answer = client.run("rsa-2048.pem", operation, &[7; 256]);
        assert_eq!(answer, Err(ErrorCode::Internal));
    }
    assert_eq!(said(&rig, "gave a wrong result, which was not used"), 1);
    hsm.relabel([("web", "e3"), ("other", "web")]);
    assert!(client.run("rsa-2048.pem", SIGN, &digest()).is_ok());
    assert_eq!(said(&rig, "works again"), 1);
}

/// A token that locks itself does so after few wrong PINs, and each start would try one.
#[test]
fn the_last_attempt_at_a_pin_is_not_used() {
    let test = "the_last_attempt_at_a_pin_is_not_used";
    let Some(hsm) = Hsm::alone(test, &[WEB, CURVE]) else { return };
    let folder = Folder::new();
    let check = || Signer::check(&read(&folder, &hsm.settings(&folder)).unwrap());
    for (flag, why) in [
        (1 << 17, "has one attempt at the PIN left, which is not used here: correct"),
        (1 << 18, "has locked the PIN after wrong ones: let the token's security officer"),
    ] {
        hsm.flag(flag);
        let error = check().unwrap_err().to_string();
        assert!(error.contains(why), "{error}");
    }
    // Sessions need no attempt while this process is logged in.
    let _session = hsm.session();
    check().unwrap();
}

#[test]
fn a_token_without_decryption_says_what_to_disallow() {
    let test = "a_token_without_decryption_says_what_to_disallow";
    let Some(hsm) = Hsm::alone(test, &[WEB, CURVE]) else { return };
    let folder = Folder::new();
    let good = hsm.settings(&folder).replace(MODULE, &hsm.module("POOR"));
    let check = |text: &str| Signer::check(&read(&folder, text).unwrap());
    for (allow, why) in [
        (r#"["decrypt"]"#, "does not decrypt by CKM_RSA_X_509 with this key (MechanismInvalid)"),
        (r#"["decrypt"]"#, "take \"decrypt\" and \"raw\" out of `client.allow`"),
        (r#"["sign"]"#, "does not sign with this key (MechanismInvalid): allow that in the token"),
    ] {
        let text = good.replace(r#"["sign", "decrypt", "raw"]"#, allow);
        let error = check(&text).unwrap_err().to_string();
        assert!(error.contains(why), "{why:?} in {error}");
    }
}

/// Errors for short results would tell clients that a decrypted number begins with zero.
#[test]
fn a_module_that_drops_zeros_may_not_decrypt() {
    let test = "a_module_that_drops_zeros_may_not_decrypt";
    let Some(hsm) = Hsm::alone(test, &[WEB, CURVE]) else { return };
    let folder = Folder::new();
    let text = hsm.settings(&folder).replace(MODULE, &hsm.module("SHORT"));
    let check = |text: &str| Signer::check(&read(&folder, text).unwrap());
    let error = check(&text).unwrap_err().to_string();
    let why = "\"site\" drops zeros at the beginning of decrypted numbers: use another module";
    assert!(error.contains(why), "{error}");
    check(&text.replace(r#", "decrypt", "raw"]"#, "]")).unwrap();
}

/// Each session has a handle of the old key.
#[test]
fn keys_that_exchange_labels_are_found_by_all_sessions() {
    let test = "keys_that_exchange_labels_are_found_by_all_sessions";
    let Some(hsm) = Hsm::alone(test, &[WEB, CURVE, ("rsa-3072.pem", "later", "07")]) else {
        return;
    };
    let rig = hsm.signer(|text| text);
    let mut client = rig.connect();
    let mut sign_with = |key| {
        let request = |id| request(id, Some(ski(key)), SIGN.code(), &digest());
        client.send(&(0..64).flat_map(request).collect::<Vec<u8>>());
        for _ in 0..64 {
            let (_, opcode, signature) = client.receive().unwrap();
            assert_eq!(opcode, RESPONSE, "{:?}", rig.said.lock().unwrap());
            assert!(is_valid(key, SIGN, &signature));
        }
    };
    sign_with("rsa-2048.pem");
    hsm.relabel([("web", "old"), ("later", "web")]);
    rig.running.reload(&read(&rig.folder, &hsm.settings(&rig.folder)).unwrap()).unwrap();
    sign_with("rsa-3072.pem");
}

/// Clients choose the operations, so one that fails in every session must not open sessions at will.
#[test]
fn sessions_are_opened_at_most_once_a_second() {
    let test = "sessions_are_opened_at_most_once_a_second";
    let Some(hsm) = Hsm::alone(test, &[WEB, CURVE]) else { return };
    let poor = hsm.module("POOR");
    let rig = hsm.signer(|text| {
        let allow = r#"keys = ["web"]
allow = ["sign"]"#;
        let text = text.replace("sessions = 3", "sessions = 1").replace(MODULE, &poor);
        format!("{}{allow}\n", &text[..text.find("keys = ").unwrap()])
    });
    let mut client = rig.connect();
    // Handles of the module are numbers in turn; a search may take one for each object.
    let handle = || hsm.session().to_string().parse::<u64>().unwrap();
    let (before, began) = (handle(), Instant::now());
    let pss = Operation::SignPss(tollgate_rsa::Hash::Sha256);
    for _ in 0..100 {
        assert_eq!(client.run("rsa-2048.pem", pss, &digest()), Err(ErrorCode::Internal));
        assert!(client.run("rsa-2048.pem", SIGN, &digest()).is_ok());
    }
    let (handles, seconds) = (handle() - before, began.elapsed().as_secs());
    assert!(handles <= 1 + 5 * (seconds + 2), "{handles} in {seconds} s");
}
