//! Settings from the provider's section, as libcrypto passes them.

use crate::host::openssl_conf::Folder;

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
fn a_bad_value_prevents_loading_with_a_message() {
    let folder = Folder::new();
    for (line, allowed) in [
        ("async = maybe", "set on or off"),
        ("metrics = run/tollgate", "set a folder, from / on"),
        // It is not formatted.
        ("async = 100%s%n", "set on or off"),
    ] {
        folder.configure(line);
        assert!(!is_activated(&folder), "{line}");
        let (loaded, said) = load(&folder);
        assert!(!loaded, "{line}: {said}");
        let why = format!("{line} in the provider's section is not allowed: {allowed}");
        assert!(said.contains(&why), "{line}: {said}");
    }
    folder.configure(&format!("async = {}", "x".repeat(5000)));
    let (loaded, said) = load(&folder);
    assert!(!loaded && said.contains("async = xxxx"), "it is truncated: {said}");
}

#[test]
fn valid_values_load() {
    let folder = Folder::new();
    for lines in [
        "x25519 = on",
        // The last line with the same key applies.
        "async = maybe\nasync = on",
        // libcrypto passes only the keys that a provider asks for.
        "asink = 5",
    ] {
        folder.configure(lines);
        assert!(is_activated(&folder), "{lines}");
        let (loaded, said) = load(&folder);
        assert!(loaded, "{lines}: {said}");
    }
}
