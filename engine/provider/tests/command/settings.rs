//! Settings from the provider's section, as libcrypto passes them.

use crate::host::openssl_conf::Folder;
use crate::host::pem_path;

/// Returns whether the provider is in the list of the configuration that activates it.
fn is_activated(folder: &Folder) -> bool {
    let said = folder.openssl(true, "list -providers");
    String::from_utf8(said).unwrap().contains("Tollgate provider")
}

/// Loads the provider by name. Returns whether the provider loads, and OpenSSL's message. OpenSSL
/// gives no message if a provider that the configuration activates does not load.
fn load(folder: &Folder) -> (bool, String) {
    let on = String::from_utf8(folder.read("on.cnf")).unwrap();
    folder.write("off.cnf", on.replace("activate = 1", "").as_bytes());
    let output = folder.output(false, "list -providers -provider default -provider tollgate");
    let said = [output.stdout, output.stderr].map(|said| String::from_utf8(said).unwrap());
    (output.status.success(), said.concat())
}

#[test]
fn bad_values_prevent_loading_with_a_message() {
    let folder = Folder::new();
    for (line, allowed) in [
        ("linger_us_max = 10001", "set a number from 0 to 10000"),
        ("linger_us_max = 100%", "set a number from 0 to 10000"),
        ("async = maybe", "set on or off"),
        ("implicit_rejection = 0", "set on or off"),
        ("x25519 = yes", "set auto, on or off"),
        ("metrics = run/tollgate", "set a folder, from / on"),
    ] {
        folder.configure(line);
        assert!(!is_activated(&folder), "{line}");
        let (loaded, said) = load(&folder);
        assert!(!loaded, "{line}: {said}");
        let why = format!("{line} in the provider's section is not allowed: {allowed}");
        assert!(said.contains(&why), "{line}: {said}");
    }
}

#[test]
fn valid_values_load() {
    let folder = Folder::new();
    folder.write("message", b"a message");
    let key = pem_path("rsa-2048.pem");
    for lines in [
        "linger_us_max = 0\nasync = off",
        "linger_us_max = 10000\nasync = on",
        "x25519 = on",
        "x25519 = off",
        // The last line with the same key applies.
        "async = maybe\nasync = on",
        // libcrypto passes only the keys that a provider asks for.
        "lingerusmax = 5",
    ] {
        folder.configure(lines);
        assert!(is_activated(&folder), "{lines}");
        let (loaded, said) = load(&folder);
        assert!(loaded, "{lines}: {said}");
        folder.openssl(true, &format!("dgst -sha256 -sign {key} message"));
    }
}

#[test]
fn a_long_value_is_truncated_and_not_formatted() {
    let folder = Folder::new();
    folder.configure(&format!("async = {}%s%n", "x".repeat(5000)));
    let (loaded, said) = load(&folder);
    assert!(!loaded && said.contains("async = xxxx"), "{said}");
}
