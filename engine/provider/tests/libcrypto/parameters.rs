//! The parameters that can be set and read: at least those of OpenSSL's own provider, with the same
//! types.

use core::ffi::{CStr, c_uint};
use std::collections::BTreeSet;

use crate::host::libcrypto::{self, OSSL_PARAM};
use crate::host::numbers::{KEYPAIR, numbers};
use crate::host::operation::Init;
use crate::host::x25519::{ANY, OURS};
use crate::host::{DEFAULT, DEMAND, Host, Key, pem};

/// Returns the names and types of a parameter table. Signed and unsigned integers are converted. A
/// padding can be given by name or number, regardless of the type in the table. Without test values
/// (`kat`), checks of FIPS, a category of security against quantum computers, and further primes.
fn rows(table: Vec<(&CStr, OSSL_PARAM)>) -> BTreeSet<(String, c_uint)> {
    let row = |(name, param): (&CStr, OSSL_PARAM)| {
        let name = name.to_str().unwrap().to_owned();
        let is_either = param.data_type == 2 || matches!(&*name, "pad-mode" | "saltlen");
        (name, if is_either { 1 } else { param.data_type })
    };
    let is_here = |name: &str| {
        let number = name.trim_start_matches(|c: char| !c.is_ascii_digit());
        let is_further = name.starts_with("rsa-") && number.parse::<u32>().is_ok_and(|n| n > 2);
        !is_further
            && !name.contains("fips")
            && !matches!(name, "kat" | "security-category" | "rsa-coefficient2")
    };
    table.into_iter().map(row).filter(|(name, _)| is_here(name)).collect()
}

#[track_caller]
fn assert_covers(ours: Vec<(&CStr, OSSL_PARAM)>, theirs: Vec<(&CStr, OSSL_PARAM)>, what: &str) {
    let (ours, theirs) = (rows(ours), rows(theirs));
    assert!(ours.is_superset(&theirs), "{what}: {:?}", theirs.difference(&ours));
}

/// Compares the tables of operations on a key.
fn compare(host: &Host, key: &Key, ours: &CStr, inits: &[(&str, Init)]) {
    for (name, init) in inits {
        let [ours, theirs] = [ours, DEFAULT].map(|query| {
            let operation = host.operation(key, query);
            operation.init(*init, &[]).unwrap();
            operation
        });
        for table in
            [libcrypto::EVP_PKEY_CTX_gettable_params, libcrypto::EVP_PKEY_CTX_settable_params]
        {
            assert_covers(ours.table(table), theirs.table(table), name);
        }
    }
}

#[test]
fn operations_have_openssl_s_parameters() {
    let (host, key) = Host::module().with_key("rsa-2048.pem");
    let inits: [(&str, Init); 5] = [
        ("sign", libcrypto::EVP_PKEY_sign_init_ex),
        ("verify", libcrypto::EVP_PKEY_verify_init_ex),
        ("recover", libcrypto::EVP_PKEY_verify_recover_init_ex),
        ("encrypt", libcrypto::EVP_PKEY_encrypt_init_ex),
        ("decrypt", libcrypto::EVP_PKEY_decrypt_init_ex),
    ];
    compare(&host, &key, DEMAND, &inits);
    let Some(host) = Host::with_curves("ecdsa = on\nx25519 = on") else { return };
    compare(&host, &host.key(&pem("ec-p256.pem")), ANY, &inits[..1]);
    let [ours, theirs] = [OURS, DEFAULT].map(|query| host.operation_of(c"X25519", query).unwrap());
    assert_eq!((ours.begin_key(), theirs.begin_key()), (Ok(()), Ok(())));
    let table = libcrypto::EVP_PKEY_CTX_settable_params;
    assert_covers(ours.table(table), theirs.table(table), "new X25519 key");
}

#[test]
fn keys_describe_themselves_like_openssl_s() {
    let host = Host::module();
    let theirs = host.key(&pem("rsa-2048.pem"));
    let ours = host.key_from_numbers(DEMAND, KEYPAIR, &numbers(&theirs)).unwrap();
    assert_covers(ours.table(), theirs.table(), "RSA");
    let Some(host) = Host::with_curves("x25519 = on") else { return };
    let [ours, theirs] = [OURS, DEFAULT].map(|query| host.x25519_private(query, &[7; 32]).unwrap());
    assert_covers(ours.table(), theirs.table(), "X25519");
    assert_eq!(ours.sizes(), theirs.sizes());
}
