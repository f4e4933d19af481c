//! Settings, keys and sockets that are not usable: one line that says what to do.

use std::fs;
use std::os::unix::fs::PermissionsExt as _;
use std::os::unix::net::UnixListener;

use tollgate_signer::{Config, Signer, UnitKind};

use crate::rig::{Folder, Rig, SIGN, digest, key_file, own_client, own_uid, read, settings};

#[track_caller]
fn refused(folder: &Folder, text: &str, why: &str) {
    let error = match read(folder, text) {
        Err(error) => error,
        Ok(config) => Signer::check(&config).expect_err("it is not usable"),
    };
    let text = error.to_string();
    assert!(text.contains(why) && !text.contains('\n'), "{why:?} in {text}");
}

#[test]
fn settings_that_are_not_usable_are_refused() {
    let folder = Folder::new();
    let client = own_client(r#"["site"]"#, r#"["sign"]"#);
    let good = settings(&folder, &client);
    Signer::check(&read(&folder, &good).unwrap()).unwrap();
    let uid = own_uid();
    for (text, why) in [
        (good.replace("unix = ", "unux = "), "line 1"),
        (good.replace("unix = ", "# "), "no listener"),
        (good.replace("workers = 2", "workers = 0"), "`workers`: 0 workers"),
        (good.replace("workers = 2", "unix_mode = \"0888\""), "octal"),
        (good.replace("name = \"curve\"", "name = \"site\""), "two keys are called \"site\""),
        (good.replace("ec-p256.pem", "rsa-2048.pem"), "is the same key"),
        (
            good.replace("workers = 2", "unit = \"cpu\""),
            "line 3: unknown variant `cpu`, expected `gpu` or `lanes`: correct this line",
        ),
        (
            good.replace("workers = 2", "unit = \"gpu\""),
            "`unit`: the filter refuses the system calls of the GPU's driver: set `seccomp \
             = false` too",
        ),
        (good.replace("ec-p256.pem", "missing.pem"), "check the path"),
        (good.replace("ec-p256.pem", "rsa-1024.pem"), "less than 2048 bits"),
        (good.replace("rsa-4096.pem", "../../README.md"), "no usable key"),
        (good.replace(&client, ""), "add a table [[client]]"),
        (good.replace(&format!("uid = {uid}"), ""), "give `uid` or `certificate`"),
        (good.replace("keys = [\"site\"]", "keys = [\"sight\"]"), "there is no [[key]] \"sight\""),
        (good.replace("keys = [\"site\"]", "keys = []"), "it may do nothing"),
        (good.replace("[\"sign\"]", "[\"raw\"]"), "raw = true"),
        (good.replace("[\"sign\"]", "[\"all\"]"), "expected one of `decrypt`, `raw`, `sign`"),
        (good.clone() + &client, "another client has the same"),
        (
            good.clone() + &client.replace("own", "two").replace("uid", "certificate = \"x\"\n#"),
            "[tls]",
        ),
        (good.clone() + "[limits]\nidle = 0\n", "limits.idle"),
        (good.clone() + "[limits]\nconnections_max = 0\n", "1 to 65536"),
    ] {
        refused(&folder, &text, why);
    }
}

#[test]
fn an_encrypted_key_is_refused_without_a_question() {
    let folder = Folder::new();
    let key = crate::rig::key("rsa-2048.pem");
    let cipher = openssl::symm::Cipher::aes_128_cbc();
    let pem = key.private_key_to_pem_pkcs8_passphrase(cipher, b"secret").unwrap();
    let file = folder.write("encrypted.pem", pem);
    let good = settings(&folder, &own_client(r#"["site"]"#, r#"["sign"]"#));
    let text = good.replace(&key_file("rsa-2048.pem"), &file.display().to_string());
    refused(&folder, &text, "unencrypted");
}

/// tollgate-rsa compares all such files with openssl.
#[test]
fn text_and_other_blocks_around_a_key_are_skipped() {
    let folder = Folder::new();
    let good = settings(&folder, &own_client(r#"["site"]"#, r#"["sign"]"#));
    let before = "\u{feff}# -----BEGIN PRIVATE KEY----- is a line below\n\
                  # -----BEGIN TOLLGATE REMOTE KEY----- is none\nBag Attributes: <none>\n\
                  -----BEGIN EC PARAMETERS-----\nBggqhkjOPQMBBw==\n-----END EC PARAMETERS-----\n";
    for name in ["rsa-2048.pem", "ec-p256.pem"] {
        let key = before.to_owned() + &fs::read_to_string(key_file(name)).unwrap();
        let file = folder.write("comment.pem", key.replace('\n', "\r\n"));
        let text = good.replace(&key_file(name), &file.display().to_string());
        Signer::check(&read(&folder, &text).unwrap()).unwrap();
    }
}

#[test]
fn the_socket_of_an_ended_signer_is_replaced_and_no_other_file() {
    let folder = Folder::new();
    let text = settings(&folder, &own_client(r#"["site"]"#, r#"["sign"]"#));
    let config = read(&folder, &text).unwrap();
    let socket = folder.path("socket");
    let start = || Signer::start(config.clone(), |_| ());

    fs::write(&socket, "precious").unwrap();
    assert!(start().err().unwrap().to_string().contains("not a socket"));
    assert_eq!(fs::read(&socket).unwrap(), b"precious");
    fs::remove_file(&socket).unwrap();

    let other = UnixListener::bind(&socket).unwrap();
    assert!(start().err().unwrap().to_string().contains("another program"));
    drop(other); // its file stays

    let running = start().unwrap();
    let mode = fs::metadata(&socket).unwrap().permissions().mode();
    assert_eq!(mode & 0o777, 0o660);
    drop(running);
    assert!(!socket.exists());
}

#[test]
fn a_reload_changes_no_thread_and_no_unit() {
    let rig = Rig::start(r#"["site"]"#, r#"["sign"]"#);
    let tables = own_client(r#"["site"]"#, r#"["sign"]"#);
    let same = read(&rig.folder, &settings(&rig.folder, &tables)).unwrap();
    let gpu = Config { unit: UnitKind::Gpu, seccomp: false, ..same.clone() };
    for (setting, config) in [("`workers`", Config { workers: 3, ..same }), ("`unit`", gpu)] {
        let why = rig.running.reload(&config).err().unwrap().to_string();
        assert!(why.contains(setting) && why.contains("start the signer again"), "{why}");
    }
    assert!(rig.connect().run("rsa-2048.pem", SIGN, &digest()).is_ok());
    assert!(rig.said.lock().unwrap().is_empty());
}
