//! The calls that need AVX-512 IFMA.

use std::sync::OnceLock;

use tollgate_cpu::{HaveIfma, memcheck, proven};
use zeroize::Zeroizing;

use crate::batches::{LANES, by_number, by_word};
use crate::keys::SharedSecret;
use crate::p256::digits::Odd;
use crate::p256::ecdsa::{Draft, Request, Signature, VerifyRequest};
use crate::p256::kernels::p256_affine_mb8_ifma::{denominator, p256_affine_mb8_ifma};
use crate::p256::kernels::p256_comb_mb8_ifma::{self, p256_comb_mb8_ifma};
use crate::p256::kernels::p256_comb_sum8_ifma::{self, difference, p256_comb_sum8_ifma};
use crate::p256::kernels::p256_field52_ifma::Lanes;
use crate::p256::kernels::p256_points52_ifma::Jacobian;
use crate::p256::kernels::p256_verify_mb8_ifma::p256_verify_mb8_ifma;
use crate::p256::kernels::p256_window_mb8_ifma::p256_window_mb8_ifma;
use crate::p256::kernels::sha512_mb8_avx512::sha512_mb8_avx512;
use crate::p256::keys::{PublicKey, SecretKey};
use crate::p256::point::{Affine, Point, has_second_x};
use crate::p256::residue::{Element, Scalar};
use crate::p256::tables_ifma;

/// The fewest keys for which eight lanes cost less than one key after the other.
pub(super) const FEWEST_KEYS: usize = 3;
/// The same for agreements.
pub(super) const FEWEST_AGREEMENTS: usize = 2;
/// The same for signatures.
pub(super) const FEWEST_SIGNATURES: usize = 3;
/// The same for verifications.
pub(super) const FEWEST_VERIFICATIONS: usize = 3;

/// Returns k G. k is not zero.
pub(super) fn base_multiple(k: &Scalar, proof: HaveIfma) -> Point {
    let k = Odd::new(k);
    let multiple = proven!(proof, p256_comb_sum8_ifma(&k, windows(proof)));
    let [x, y, z] = multiple.map(|x| Element::new(&x));
    let mut point = Point::from_jacobian(x, y, z);
    point.y.negate(k.negative);
    point
}

/// Returns whether the sum of eight points in affine coordinates is k G. k is not zero.
fn have_sum(points: &[Lanes; 2], k: &Scalar, proof: HaveIfma) -> bool {
    let numbers = proven!(proof, difference(&Odd::new(k), windows(proof), points));
    let [h, r, z] = numbers.map(|x| Element::new(&x).is_zero());
    memcheck::declassified(h & r & !z) != 0
}

fn windows(proof: HaveIfma) -> &'static p256_comb_sum8_ifma::Table {
    static TABLE: OnceLock<p256_comb_sum8_ifma::Table> = OnceLock::new();
    TABLE.get_or_init(|| proven!(proof, tables_ifma::sum8()))
}

/// Appends the public keys of at most eight secret keys.
pub(super) fn public_keys(secrets: &[SecretKey], keys: &mut Vec<PublicKey>, proof: HaveIfma) {
    let k: [Odd; LANES] =
        core::array::from_fn(|l| Odd::new(&secrets.get(l).unwrap_or(&secrets[0]).0));
    let [x, y] = affine(&base_multiples(&k, proof), proof).each_ref().map(by_number);
    keys.extend((0..secrets.len()).map(|l| {
        let mut point = Affine { x: Element::new(&x[l]), y: Element::new(&y[l]) };
        point.y.negate(k[l].negative);
        PublicKey(point)
    }));
}

/// Returns the limbs of all lanes. Each kernel loads them as vectors.
fn limbs(k: &[Odd; LANES]) -> Zeroizing<Lanes> {
    Zeroizing::new(by_word(&k.each_ref().map(|k| k.t)))
}

/// Returns odd multiples of the base point.
fn base_multiples(k: &[Odd; LANES], proof: HaveIfma) -> Jacobian {
    static TABLE: OnceLock<p256_comb_mb8_ifma::Table> = OnceLock::new();
    let table = TABLE.get_or_init(|| proven!(proof, tables_ifma::mb8()));
    proven!(proof, p256_comb_mb8_ifma(&limbs(k), table))
}

fn affine(points: &Jacobian, proof: HaveIfma) -> [Lanes; 2] {
    let (z, neighbours) = proven!(proof, denominator(points));
    let inverse = Element::new(&z).inverted().number();
    proven!(proof, p256_affine_mb8_ifma(points, &inverse, &neighbours))
}

/// Returns x and y of points, and all 1/k.
fn affine_beside(
    points: &Jacobian,
    k: &[Scalar; LANES],
    proof: HaveIfma,
) -> ([Lanes; 2], Zeroizing<[Scalar; LANES]>) {
    let (mut k, mut before) = (Zeroizing::new(*k), Zeroizing::new([Scalar::ZERO; LANES]));
    let (z, neighbours) = proven!(proof, denominator(points));
    let (inverse_of_z, inverse_of_k) =
        Element::new(&z).inverted_beside(&Scalar::products(&*k, &mut *before));
    Scalar::divide_all(inverse_of_k, &mut *k, &*before);
    (proven!(proof, p256_affine_mb8_ifma(points, &inverse_of_z.number(), &neighbours)), k)
}

/// Appends the shared secrets of at most eight pairs.
pub(super) fn agree_all(
    pairs: &[(&SecretKey, &PublicKey)],
    shared: &mut Vec<SharedSecret>,
    proof: HaveIfma,
) {
    let pair = |l: usize| pairs.get(l).unwrap_or(&pairs[0]);
    let k = limbs(&core::array::from_fn(|l| Odd::new(&pair(l).0.0)));
    let points = [
        by_word(&core::array::from_fn(|l| pair(l).1.0.x.number())),
        by_word(&core::array::from_fn(|l| pair(l).1.0.y.number())),
    ];
    let points = Zeroizing::new(affine(&proven!(proof, p256_window_mb8_ifma(&k, &points)), proof));
    let x = Zeroizing::new(by_number(&points[0]));
    shared.extend(x[..pairs.len()].iter().map(|x| SharedSecret(Element::new(x).to_bytes())));
}

/// Appends the signatures of at most eight requests, and `None` for those to sign alone: if r or s
/// is zero, or if a check fails.
pub(super) fn sign_all(
    requests: &[Request<'_>],
    signatures: &mut Vec<Option<Signature>>,
    proof: HaveIfma,
) {
    let mut drafts: [Option<Draft<'_>>; LANES] =
        core::array::from_fn(|l| requests.get(l).map(Draft::without_nonce));
    take_nonces(&mut drafts, proof);
    let mut k = Zeroizing::new([Scalar::ONE; LANES]);
    for (k, draft) in k.iter_mut().zip(&drafts) {
        *k = draft.as_ref().map_or(Scalar::ONE, |draft| *draft.k);
    }
    let odd = k.each_ref().map(Odd::new);
    let (points, inverses) = affine_beside(&base_multiples(&odd, proof), &k, proof);
    let sum = Zeroizing::new(k.iter().zip(&odd).fold(Scalar::ZERO, |sum, (k, odd)| {
        let mut k = *k;
        k.negate(odd.negative);
        sum.add(k)
    }));
    signatures.extend(&checked(&drafts, &points, &sum, &inverses, proof)[..requests.len()]);
}

/// Returns the signatures from k G, the sum of all k, and 1/k: none if the points have another sum, or
/// if two of them have the same r. A fault that gives two requests one nonce passes all other checks,
/// and two valid signatures with one nonce give the key away.
fn checked(
    drafts: &[Option<Draft<'_>>; LANES],
    points: &[Lanes; 2],
    sum: &Scalar,
    inverses: &[Scalar; LANES],
    proof: HaveIfma,
) -> [Option<Signature>; LANES] {
    let right = have_sum(points, sum, proof);
    let x = by_number(&points[0]);
    let signatures: [Option<Signature>; LANES] = core::array::from_fn(|l| {
        let draft = drafts[l].as_ref().filter(|_| right)?;
        draft.sign(&Element::least(&x[l]), &inverses[l]).ok().flatten()
    });
    let are_same = |(a, b): (Signature, Signature)| {
        memcheck::declassified(a.r.equals(b.r)) != 0 // r is public
    };
    let is_again =
        |l: usize| (0..l).any(|m| signatures[m].zip(signatures[l]).is_some_and(are_same));
    if (1..LANES).any(is_again) { [None; LANES] } else { signatures }
}

/// Takes the first nonces, of which those with random bytes are hashed in lanes.
fn take_nonces(drafts: &mut [Option<Draft<'_>>; LANES], proof: HaveIfma) {
    let mut blocks = Zeroizing::new([[0; LANES]; 16]);
    for (l, draft) in drafts.iter().enumerate() {
        let block = draft.as_ref().map(|draft| draft.nonces.block()).unwrap_or_default();
        (0..16).for_each(|i| blocks[i][l] = block[i]);
    }
    let hashes = Zeroizing::new(proven!(proof, sha512_mb8_avx512(&blocks)));
    for (l, draft) in drafts.iter_mut().enumerate() {
        if let Some(draft) = draft {
            let mut hash = Zeroizing::new([0; 8]);
            hash.iter_mut().zip(&*hashes).for_each(|(to, word)| *to = word[l]);
            draft.take_nonce(&hash);
        }
    }
}

/// Appends whether at most eight signatures are valid, and `None` for those to verify alone: if a
/// factor is zero, if the multiples are equal or opposite points, or if r + n is below p. All of these
/// are rare, or made by intent. Variable time.
pub(super) fn verify_all(
    requests: &[VerifyRequest<'_>],
    valid: &mut Vec<Option<bool>>,
    proof: HaveIfma,
) {
    let request = |l: usize| requests.get(l).unwrap_or(&requests[0]);
    let mut inverses: [_; LANES] = core::array::from_fn(|l| request(l).signature.s);
    Scalar::invert_all(&mut inverses, &mut [Scalar::ZERO; LANES]);
    let factors: [_; LANES] = core::array::from_fn(|l| {
        let VerifyRequest { digest, signature, .. } = request(l);
        signature.factors_from(digest, inverses[l])
    });
    // zero has no form in odd digits
    let of_base = factors.map(|(u, _)| Odd::new(if u == Scalar::ZERO { &Scalar::ONE } else { &u }));
    let of_keys = factors.map(|(_, v)| Odd::new(&v));
    let negative = core::array::from_fn(|l| of_base[l].negative ^ of_keys[l].negative);
    let points = [
        by_word(&core::array::from_fn(|l| request(l).key.0.x.number())),
        by_word(&core::array::from_fn(|l| request(l).key.0.y.number())),
    ];
    let of_keys = proven!(proof, p256_window_mb8_ifma(&limbs(&of_keys), &points));
    let r = by_word(&core::array::from_fn(|l| request(l).signature.r.number()));
    let of_base = base_multiples(&of_base, proof);
    let [difference, z] = proven!(proof, p256_verify_mb8_ifma(of_keys, &of_base, negative, &r))
        .each_ref()
        .map(|x| by_number(x).map(|x| Element::new(&x)));
    valid.extend((0..requests.len()).map(|l| {
        let VerifyRequest { digest, signature, .. } = &requests[l];
        let alone = factors[l].0 == Scalar::ZERO || digest.is_empty() || z[l] == Element::ZERO;
        match difference[l] == Element::ZERO {
            _ if alone => None,
            false if has_second_x(&signature.r) => None,
            is_valid => Some(is_valid),
        }
    }));
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::p256::P256;
    use crate::p256::exceptional::beyond_the_contract;
    use crate::p256::nonce::Nonce;
    use crate::p256::residue::limbs as limbs_of;

    /// Otherwise the requests would be signed alone, with the same result.
    #[test]
    #[allow(clippy::print_stdout, reason = "announces what did not run")]
    fn batches_pass_their_check() {
        let Some(proof) = HaveIfma::check() else {
            println!("not run: no IFMA");
            return;
        };
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
    #[allow(clippy::print_stdout, reason = "announces what did not run")]
    fn a_batch_with_a_fault_gives_no_signature() {
        let Some(proof) = HaveIfma::check() else {
            println!("not run: no IFMA");
            return;
        };
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
        let signed = |drafts: &[Option<Draft<'_>>; LANES], wrong: fn(&mut [Lanes; 2]), more| {
            let k = drafts.each_ref().map(|draft| *draft.as_ref().expect("eight").k);
            let odd = k.each_ref().map(Odd::new);
            let (mut points, inverses) = affine_beside(&base_multiples(&odd, proof), &k, proof);
            let sum = k.into_iter().zip(&odd).fold(more, |sum: Scalar, (mut k, odd)| {
                k.negate(odd.negative);
                sum.add(k)
            });
            wrong(&mut points);
            checked(drafts, &points, &sum, &inverses, proof)
        };
        assert!(signed(&drafts(), |_| {}, Scalar::ZERO).iter().all(Option::is_some));
        let none = [None; LANES];
        assert_eq!(signed(&drafts(), |points| points[0][0][5] ^= 1, Scalar::ZERO), none);
        assert_eq!(signed(&drafts(), |_| {}, Scalar::ONE), none);
        let mut drafts = drafts();
        let k = *drafts[2].as_ref().expect("eight").k;
        *drafts[6].as_mut().expect("eight").k = k;
        assert_eq!(signed(&drafts, |_| {}, Scalar::ZERO), none);
    }

    /// A point in place of another one, and a wrong coordinate.
    #[test]
    #[allow(clippy::print_stdout, reason = "announces what did not run")]
    fn a_wrong_point_fails_the_check() {
        let Some(proof) = HaveIfma::check() else {
            println!("not run: no IFMA");
            return;
        };
        let mut rng = fastrand::Rng::with_seed(8);
        for round in 0..50 {
            let k: [Scalar; LANES] =
                core::array::from_fn(|_| Scalar::new(&core::array::from_fn(|_| rng.u64(..))));
            let odd = k.each_ref().map(Odd::new);
            let (right, _) = affine_beside(&base_multiples(&odd, proof), &k, proof);
            let mut sum = Scalar::ZERO;
            for (mut k, odd) in k.into_iter().zip(odd) {
                k.negate(odd.negative);
                sum = sum.add(k);
            }
            assert!(have_sum(&right, &sum, proof));
            assert!(!have_sum(&right, &sum.negated(), proof));
            assert!(!have_sum(&right, &sum.add(Scalar::ONE), proof));
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
    #[allow(clippy::print_stdout, reason = "announces what did not run")]
    fn signatures_are_verified_in_lanes() {
        let Some(proof) = HaveIfma::check() else {
            println!("not run: no IFMA");
            return;
        };
        let curve = P256::Ifma(proof);
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
    #[allow(clippy::print_stdout, reason = "announces what did not run")]
    fn opposite_points_give_zero_in_their_lane() {
        let Some(proof) = HaveIfma::check() else {
            println!("not run: no IFMA");
            return;
        };
        let ordinary: [Scalar; LANES] =
            core::array::from_fn(|l| Scalar::new(&[l as u64 + 2, 3, 4, 5]));
        let [comb, window] = beyond_the_contract();
        let g = Affine::base();
        let points = [by_word(&[g.x.number(); LANES]), by_word(&[g.y.number(); LANES])];
        let third = base_multiples(&ordinary.map(|k| Odd::new(&k.add(k))), proof);
        for lane in 0..LANES {
            let with = |special: &Odd| {
                core::array::from_fn(|l| match l == lane {
                    true => special.clone(),
                    false => Odd::new(&ordinary[l]),
                })
            };
            let from_comb = base_multiples(&with(&comb), proof);
            let from_window = proven!(proof, p256_window_mb8_ifma(&limbs(&with(&window)), &points));
            for multiples in [from_comb, from_window] {
                let [_, z] = proven!(
                    proof,
                    p256_verify_mb8_ifma(multiples, &third, [0; LANES], &[[1; LANES]; 4])
                );
                for (l, z) in by_number(&z).iter().enumerate() {
                    assert_eq!(Element::new(z) == Element::ZERO, l == lane, "lane {l}");
                }
            }
        }
    }

    /// The hash in lanes is the one of the crate `sha2`, and the nonce is the one of a signature alone.
    #[test]
    #[allow(clippy::print_stdout, reason = "announces what did not run")]
    fn nonces_are_hashed_in_lanes() {
        let Some(proof) = HaveIfma::check() else {
            println!("not run: no IFMA");
            return;
        };
        let mut rng = fastrand::Rng::with_seed(7);
        for count in (1..=LANES).cycle().take(100) {
            let bytes: [[[u8; 32]; 3]; LANES] = core::array::from_fn(|_| {
                core::array::from_fn(|_| core::array::from_fn(|_| rng.u8(..)))
            });
            let keys = bytes.map(|[key, ..]| SecretKey(Scalar::new(&limbs_of(&key))));
            let requests: [_; LANES] = core::array::from_fn(|l| Request {
                key: &keys[l],
                digest: &bytes[l][1],
                nonce: match l % 5 {
                    4 => Nonce::Deterministic,
                    _ => Nonce::Hedged(&bytes[l][2]),
                },
            });
            let mut drafts =
                core::array::from_fn(|l| requests[..count].get(l).map(Draft::without_nonce));
            take_nonces(&mut drafts, proof);
            for (request, draft) in requests.iter().zip(drafts.iter_mut().flatten()) {
                let mut alone = Draft::new(request);
                assert_eq!(*draft.k, *alone.k);
                // and so is the next one
                draft.retry();
                alone.retry();
                assert_eq!(*draft.k, *alone.k);
            }
        }
    }
}
