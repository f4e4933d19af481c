//! The parameters that can be set and read: at least those of OpenSSL's own provider, with the same
//! types.

use core::ffi::{CStr, c_int, c_uint};
use std::collections::BTreeSet;

use crate::host::libcrypto::{self, OSSL_PARAM};
use crate::host::numbers::{KEYPAIR, numbers};
use crate::host::operation::Init;
use crate::host::{DEFAULT, DEMAND, Host, Operation, pem};

/// Returns the names and types of a parameter table. Signed and unsigned integers are converted.
fn rows(table: Vec<(&CStr, OSSL_PARAM)>) -> BTreeSet<(String, c_uint)> {
    let row = |(name, param): (&CStr, OSSL_PARAM)| {
        (name.to_str().unwrap().to_owned(), if param.data_type == 2 { 1 } else { param.data_type })
    };
    table.into_iter().map(row).collect()
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
    for (name, init) in inits {
        let tables = |query| {
            let operation: Operation = host.operation(&key, query);
            operation.init(init, &[]).unwrap();
            let gettable = operation.table(libcrypto::EVP_PKEY_CTX_gettable_params);
            (rows(gettable), rows(operation.table(libcrypto::EVP_PKEY_CTX_settable_params)))
        };
        let (ours, theirs) = (tables(DEMAND), tables(DEFAULT));
        // A padding can be given by name or number, regardless of the type in the table.
        let missing = |theirs: &BTreeSet<(String, c_uint)>, ours: &BTreeSet<(String, c_uint)>| {
            let either = |name: &str| matches!(name, "pad-mode" | "saltlen");
            let is_there = |(name, kind): &(String, c_uint)| {
                ours.iter().any(|(n, k)| n == name && (k == kind || either(name)))
            };
            theirs.iter().filter(|row| !is_there(row)).cloned().collect::<Vec<_>>()
        };
        assert_eq!(missing(&theirs.0, &ours.0), [], "{name}: asked");
        assert_eq!(missing(&theirs.1, &ours.1), [], "{name}: set");
    }
}

/// Two kinds of parameters are exempt: the numbers of further primes, which a key of two primes
/// does not have, and OpenSSL 4.0's security category against quantum computers, which RSA does not
/// have.
#[test]
fn keys_describe_themselves_like_openssl_s() {
    let host = Host::module();
    let theirs = host.key(&pem("rsa-2048.pem"));
    let ours = host.key_from_numbers(DEMAND, KEYPAIR, &numbers(&theirs)).unwrap();
    let [ours, theirs] = [&ours, &theirs].map(|key| rows(key.table()));
    let further = |name: &str| {
        let number = name.trim_start_matches(|c: char| !c.is_ascii_digit());
        name.starts_with("rsa-") && number.parse::<c_int>().unwrap() > 2
            || matches!(name, "rsa-coefficient2" | "security-category")
    };
    let missing: Vec<_> = theirs.difference(&ours).filter(|(name, _)| !further(name)).collect();
    assert_eq!(missing, Vec::<&(String, c_uint)>::new());
}
