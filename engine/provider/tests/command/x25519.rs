//! The command `openssl` with X25519 keys: it reads, writes and uses all keys as without the
//! module.

use crate::host::openssl_conf::Folder;

/// Returns a folder whose configuration offers X25519 and counts, with two keys of OpenSSL's own.
fn folder() -> Folder {
    let folder = Folder::new();
    folder.configure_counted("x25519 = on");
    for name in ["one", "two"] {
        folder.openssl(false, &format!("genpkey -algorithm X25519 -out {name}.pem"));
        folder.openssl(false, &format!("pkey -in {name}.pem -pubout -out {name}-public.pem"));
    }
    folder
}

/// Returns the sum of a counter over all processes that have ended.
fn counted(folder: &Folder, counter: &str) -> u64 {
    folder.counted(&format!("x25519_{counter}")).0
}

/// New keys belong to the module, and OpenSSL's own provider writes them.
#[test]
fn new_keys_are_written() {
    let folder = folder();
    for (n, form) in ["PEM", "DER"].into_iter().enumerate() {
        let name = format!("new.{form}");
        folder.openssl(true, &format!("genpkey -algorithm X25519 -outform {form} -out {name}"));
        folder.same(&format!("pkey -inform {form} -in {name} -text -check"));
        assert_eq!(counted(&folder, "generations"), n as u64 + 1);
    }
    let said = folder.openssl(true, "genpkey -algorithm X25519 -text");
    assert!(String::from_utf8(said).unwrap().contains("X25519 Private-Key:"));
    folder.openssl(true, "genpkey -algorithm X25519 -aes256 -pass pass:word -out locked.pem");
    folder.same("pkey -in locked.pem -passin pass:word -text");
    // The parameters of a key with parameters, and keys of other types, are not affected.
    folder.openssl(true, "genpkey -algorithm EC -pkeyopt ec_paramgen_curve:P-256 -out ec.pem");
    folder.openssl(true, "genpkey -algorithm ED25519 -out ed.pem");
    folder.openssl(true, "genpkey -algorithm X448 -out x448.pem");
    folder.same("pkey -in x448.pem -text");
    assert_eq!(counted(&folder, "generations"), 4);
}

#[test]
fn secrets_are_derived() {
    let folder = folder();
    let one = folder.same("pkeyutl -derive -inkey one.pem -peerkey two-public.pem");
    let two = folder.same("pkeyutl -derive -inkey two.pem -peerkey one-public.pem");
    assert_eq!((one.len(), &one), (32, &two));
    assert_eq!(counted(&folder, "derivations"), 2);
    let speed = folder.output(true, "speed -seconds 1 ecdhx25519");
    assert!(speed.status.success(), "{}", String::from_utf8_lossy(&speed.stderr));
    assert!(counted(&folder, "derivations") > 100);
}
