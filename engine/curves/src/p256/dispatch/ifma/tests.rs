//! Tests of the calls in lanes.

use super::*;
use crate::p256::P256;
use crate::p256::exceptional::beyond_the_contract;
use crate::p256::nonce::Nonce;

/// Returns the proof, or says that a test does not run.
#[allow(clippy::print_stdout, reason = "announces what did not run")]
fn ifma() -> Option<HaveIfma> {
    let proof = HaveIfma::check();
    if proof.is_none() {
        println!("not run: no IFMA");
    }
    proof
}

/// Otherwise the requests would be signed alone, with the same result.
#[test]
fn batches_pass_their_check() {
    let Some(proof) = ifma() else { return };
    let key = SecretKey::from_bytes(&[1; 32]).expect("below n");
    for count in 1..=LANES {
        let digests = core::array::from_fn::<_, LANES, _>(|l| [l, count]);
        let digests = digests.map(|bytes| bytes.map(|byte| u8::try_from(byte).expect("small")));
        let requests = digests.each_ref().map(|digest| Request {
            key: &key,
            digest,
            nonce: Nonce::Deterministic,
        });
        let mut signatures = Vec::new();
        sign_all(&requests[..count], &mut signatures, proof);
        assert!(signatures.len() == count && signatures.iter().all(Option::is_some));
        let mut signatures = Vec::new();
        sign_all(&[requests[0]; 8][..count], &mut signatures, proof);
        assert_eq!(signatures.iter().all(Option::is_none), count > 1, "one nonce for two");
    }
}

/// A wrong point in one lane, a wrong sum, and one nonce for two requests.
#[test]
fn a_batch_with_a_fault_gives_no_signature() {
    let Some(proof) = ifma() else { return };
    let key = SecretKey::from_bytes(&[1; 32]).expect("below n");
    let digests: [[u8; 32]; LANES] = [1, 2, 3, 4, 5, 6, 7, 8].map(|byte| [byte; 32]);
    let drafts = || {
        let mut drafts = digests.each_ref().map(|digest| {
            let nonce = Nonce::Deterministic;
            Some(Draft::without_nonce(&Request { key: &key, digest, nonce }))
        });
        take_nonces(&mut drafts, proof);
        drafts
    };
    let signed = |drafts: &[Option<Draft<'_>>; LANES], wrong: fn(&mut [Lanes; 2]), more: Scalar| {
        let k = drafts.each_ref().map(|draft| draft.as_ref().expect("eight").k.clone());
        let odd = k.each_ref().map(Odd::new);
        let (mut points, inverses) = affine_beside(&proof.base_multiples(&odd), &k, proof);
        wrong(&mut points);
        checked(drafts, &points, &sum(&k, &odd).add(&more), &inverses, proof)
    };
    assert!(signed(&drafts(), |_| {}, Scalar::ZERO).iter().all(Option::is_some));
    let none = [None; LANES];
    assert_eq!(signed(&drafts(), |points| points[0][0][5] ^= 1, Scalar::ZERO), none);
    assert_eq!(signed(&drafts(), |_| {}, Scalar::ONE), none);
    let mut drafts = drafts();
    drafts[6].as_mut().expect("eight").k = drafts[2].as_ref().expect("eight").k.clone();
    assert_eq!(signed(&drafts, |_| {}, Scalar::ZERO), none);
}

/// A point in place of another one, and a wrong coordinate.
#[test]
fn a_wrong_point_fails_the_check() {
    let Some(proof) = ifma() else { return };
    let mut rng = fastrand::Rng::with_seed(8);
    for round in 0..50 {
        let k: [Scalar; LANES] =
            core::array::from_fn(|_| Scalar::new(&core::array::from_fn(|_| rng.u64(..))));
        let odd = k.each_ref().map(Odd::new);
        let (right, _) = affine_beside(&proof.base_multiples(&odd), &k, proof);
        let sum = sum(&k, &odd);
        assert!(have_sum(&right, &sum, proof));
        assert!(!have_sum(&right, &sum.negated(), proof));
        assert!(!have_sum(&right, &sum.add(&Scalar::ONE), proof));
        let lane = round % LANES;
        let mut wrong = right;
        for coordinate in &mut wrong {
            (0..4).for_each(|i| coordinate[i][lane] = coordinate[i][(lane + 1) % LANES]);
        }
        assert!(!have_sum(&wrong, &sum, proof), "another point in lane {lane}");
        let mut wrong = right;
        wrong[round / LANES % 2][rng.usize(0..4)][lane] ^= 1 << rng.u32(0..64);
        assert!(!have_sum(&wrong, &sum, proof), "a wrong bit in lane {lane}");
    }
}

/// Otherwise the signatures would be verified alone, with the same result.
#[test]
fn signatures_are_verified_in_lanes() {
    let Some(proof) = ifma() else { return };
    let Some(curve) = P256::ifma() else { return };
    let cases: [_; LANES] = core::array::from_fn(|l| {
        let byte = u8::try_from(l + 1).expect("small");
        let key = SecretKey::from_bytes(&[byte; 32]).expect("below n");
        let signature = curve.sign(&key, &[byte; 20], Nonce::Deterministic).expect("no fault");
        (curve.public_key(&key), [byte; 20], signature)
    });
    for bad in 0..=LANES {
        let requests: [_; LANES] = core::array::from_fn(|l| VerifyRequest {
            key: &cases[l].0,
            digest: &cases[if l == bad { (l + 1) % LANES } else { l }].1,
            signature: cases[l].2,
        });
        let (mut valid, expected) = (Vec::new(), |l| Some(l != bad));
        verify_all(&requests, &mut valid, proof);
        assert_eq!(valid, core::array::from_fn::<_, LANES, _>(expected));
    }
}

/// The proofs of the kernels end where they say, and other lanes are not affected.
#[test]
fn opposite_points_give_zero_in_their_lane() {
    let Some(proof) = ifma() else { return };
    let ordinary: [Scalar; LANES] = core::array::from_fn(|l| Scalar::new(&[l as u64 + 2, 3, 4, 5]));
    let [comb, window] = beyond_the_contract();
    let g = Affine::base();
    let points = [by_word(&[g.x.number(); LANES]), by_word(&[g.y.number(); LANES])];
    let third = proof.base_multiples(&ordinary.each_ref().map(|k| Odd::new(&k.add(k))));
    for lane in 0..LANES {
        let with = |special: &Odd| {
            core::array::from_fn(|l| match l == lane {
                true => special.clone(),
                false => Odd::new(&ordinary[l]),
            })
        };
        let from_comb = proof.base_multiples(&with(&comb));
        let from_window = proof.multiples(&with(&window), &points);
        for multiples in [from_comb, from_window] {
            let [_, z] = proven!(
                proof,
                p256_verify_mb8_ifma(multiples, &third, [0; LANES], &[[1; LANES]; 4])
            );
            for (l, z) in by_number(&z).iter().enumerate() {
                assert_eq!(Element::new(z).is_vartime(&Element::ZERO), l == lane, "lane {l}");
            }
        }
    }
}

/// The code between kernels, and signatures with nonces that are hashed alone. One lane is not in
/// use.
#[test]
#[cfg_attr(debug_assertions, ignore = "overflow checks branch on secrets")]
fn code_between_kernels_is_constant_time() {
    let name = "p256::dispatch::ifma::tests::code_between_kernels_is_constant_time";
    tollgate_rerun::constant_time(name, || {
        let digests = [1, 2, 3, 4, 5, 6, 7].map(|byte| [byte; 32]);
        let keys = digests.map(|bytes| SecretKey::from_bytes(&bytes).expect("below n"));
        let (keys, noise) = (Box::new(keys), Box::new([8; 32]));
        keys.iter().for_each(|key| memcheck::mark_secret(&key.0.0));
        memcheck::mark_secret(&noise[..]);
        let requests: [_; 7] = core::array::from_fn(|l| Request {
            key: &keys[l],
            digest: &digests[l],
            nonce: Nonce::Hedged(&noise),
        });
        let mut signatures = Vec::new();
        sign_all(&requests, &mut signatures, Fake);
        assert!(signatures.len() == 7 && signatures.iter().all(Option::is_some));
        public_keys(&*keys, &mut Vec::new(), Fake);
        let peer = PublicKey(Affine::base());
        agree_all(&keys.each_ref().map(|key| (key, &peer)), &mut Vec::new(), Fake);
    });
}

/// In place of kernels, which valgrind cannot run: results that depend on secrets, and a check that
/// passes.
#[derive(Clone, Copy)]
struct Fake;

impl Kernels for Fake {
    type Points = Lanes;
    type Neighbours = ();

    fn base_multiples(self, k: &[Odd; LANES]) -> Lanes {
        limbs(k)
    }

    fn multiples(self, k: &[Odd; LANES], _: &[Lanes; 2]) -> Lanes {
        limbs(k)
    }

    fn denominator(self, points: &Lanes) -> (Limbs, ()) {
        (by_number(points)[0], ())
    }

    fn affine(self, points: &Lanes, _: &Limbs, (): &()) -> [Lanes; 2] {
        [*points; 2]
    }

    fn difference(self, k: &Odd, _: &[Lanes; 2]) -> [Limbs; 3] {
        [[0; 4], [0; 4], k.t]
    }

    fn sha512(self, blocks: &[[u64; LANES]; 16]) -> [[u64; LANES]; 8] {
        core::array::from_fn(|i| blocks[i])
    }
}
