//! The calls that need AVX-512 IFMA.

use std::sync::OnceLock;

use tollgate_cpu::HaveIfma;
use zeroize::Zeroizing;

use crate::batches::{LANES, by_number, by_word};
use crate::keys::SharedSecret;
use crate::p256::digits::Odd;
use crate::p256::ecdsa::{Draft, Request, Signature};
use crate::p256::kernels::p256_affine_mb8_ifma::{
    denominators, p256_affine_mb8_ifma, sum_of_lanes,
};
use crate::p256::kernels::p256_comb_mb8_ifma::{self, p256_comb_mb8_ifma};
use crate::p256::kernels::p256_comb_sum8_ifma::{self, p256_comb_sum8_ifma};
use crate::p256::kernels::p256_field52_ifma::Lanes;
use crate::p256::kernels::p256_points52_ifma::Jacobian;
use crate::p256::kernels::p256_window_mb8_ifma::p256_window_mb8_ifma;
use crate::p256::keys::{PublicKey, SecretKey};
use crate::p256::point::{Affine, Point};
use crate::p256::residue::{Element, Limbs, Scalar};
use crate::p256::tables_ifma;

/// The fewest keys for which eight lanes cost less than one key after the other.
pub(super) const FEWEST_KEYS: usize = 4;
/// The same for agreements.
pub(super) const FEWEST_AGREEMENTS: usize = 2;
/// The same for signatures.
pub(super) const FEWEST_SIGNATURES: usize = 3;

/// A call that needs IFMA. The calling function takes a proof of it.
macro_rules! proven {
    ($call:expr) => {
        // SAFETY: the caller's `_proof` shows that avx512f, avx512dq and avx512ifma are present.
        unsafe { $call }
    };
}

/// Returns k G. k is not zero.
pub(super) fn base_multiple(k: &Scalar, _proof: HaveIfma) -> Point {
    static TABLE: OnceLock<p256_comb_sum8_ifma::Table> = OnceLock::new();
    let table = TABLE.get_or_init(|| proven!(tables_ifma::sum8()));
    let k = Odd::new(k);
    let mut point = homogeneous(proven!(p256_comb_sum8_ifma(&k, table)));
    point.y.negate(k.negative);
    point
}

fn homogeneous(jacobian: [Limbs; 3]) -> Point {
    let [x, y, z] = jacobian.map(|x| Element::new(&x));
    Point::from_jacobian(x, y, z)
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
fn base_multiples(k: &[Odd; LANES], _proof: HaveIfma) -> Jacobian {
    static TABLE: OnceLock<p256_comb_mb8_ifma::Table> = OnceLock::new();
    let table = TABLE.get_or_init(|| proven!(tables_ifma::mb8()));
    proven!(p256_comb_mb8_ifma(&limbs(k), table))
}

fn affine(points: &Jacobian, proof: HaveIfma) -> [Lanes; 2] {
    let mut z = all_z(points, proof);
    Element::invert_all(&mut z, &mut [Element::ZERO; LANES]);
    scaled(points, &z, proof)
}

fn all_z(points: &Jacobian, _proof: HaveIfma) -> [Element; LANES] {
    by_number(&proven!(denominators(points))).map(|z| Element::new(&z))
}

fn scaled(points: &Jacobian, inverses: &[Element; LANES], _proof: HaveIfma) -> [Lanes; 2] {
    proven!(p256_affine_mb8_ifma(points, &by_word(&inverses.map(Element::number))))
}

/// Returns x and y of points, and all 1/k.
fn affine_beside(
    points: &Jacobian,
    k: &[Scalar; LANES],
    proof: HaveIfma,
) -> ([Lanes; 2], Zeroizing<[Scalar; LANES]>) {
    let (mut z, mut k) = (all_z(points, proof), Zeroizing::new(*k));
    let mut before = ([Element::ZERO; LANES], Zeroizing::new([Scalar::ZERO; LANES]));
    let (product_of_z, product_of_k) =
        (Element::products(&z, &mut before.0), Scalar::products(&*k, &mut *before.1));
    let (inverse_of_z, inverse_of_k) = product_of_z.inverted_beside(product_of_k);
    Element::divide_all(inverse_of_z, &mut z, &before.0);
    Scalar::divide_all(inverse_of_k, &mut *k, &*before.1);
    (scaled(points, &z, proof), k)
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
    let points = Zeroizing::new(affine(&proven!(p256_window_mb8_ifma(&k, &points)), proof));
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
    let drafts: [Option<Draft<'_>>; LANES] =
        core::array::from_fn(|l| requests.get(l).map(Draft::new));
    // lanes without a request get different powers of three, so that no sums of lanes are equal
    let mut filler = Scalar::ONE;
    let k = Zeroizing::new(drafts.each_ref().map(|draft| {
        filler = filler.add(filler).add(filler);
        draft.as_ref().map_or(filler, |draft| *draft.k)
    }));
    let odd = k.each_ref().map(Odd::new);
    let (points, inverses) = affine_beside(&base_multiples(&odd, proof), &k, proof);
    let sum = Zeroizing::new(k.iter().zip(&odd).fold(Scalar::ZERO, |sum, (k, odd)| {
        let mut k = *k;
        k.negate(odd.negative);
        sum.add(k)
    }));
    let right = homogeneous(proven!(sum_of_lanes(&points))).is(&base_multiple(&sum, proof));
    let x = by_number(&points[0]);
    signatures.extend((0..requests.len()).map(|l| {
        let draft = drafts[l].as_ref().filter(|_| right)?;
        draft.sign(Element::new(&x[l]), &inverses[l]).ok().flatten()
    }));
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::p256::nonce::Nonce;

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
            // equal points cannot be added in lanes
            if count > 1 {
                sign_all(&[requests[0]; 2], &mut signatures, proof);
                assert_eq!(signatures[count..], [None; 2]);
            }
        }
    }
}
