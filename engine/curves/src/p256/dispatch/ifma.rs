//! The calls that need AVX-512 IFMA, and the code between them.

use std::sync::OnceLock;

use tollgate_cpu::{HaveIfma, memcheck, proven};

use crate::batches::{LANES, by_number, by_word};
use crate::keys::SharedSecret;
use crate::p256::digits::Odd;
use crate::p256::ecdsa::{Draft, Request, Signature, VerifyRequest};
use crate::p256::kernels::p256_affine_mb8_ifma::{Neighbours, denominator, p256_affine_mb8_ifma};
use crate::p256::kernels::p256_comb_mb8_ifma::{self, p256_comb_mb8_ifma};
use crate::p256::kernels::p256_comb_sum8_ifma::{self, difference, p256_comb_sum8_ifma};
use crate::p256::kernels::p256_field52_ifma::Lanes;
use crate::p256::kernels::p256_points52_ifma::Jacobian;
use crate::p256::kernels::p256_verify_mb8_ifma::p256_verify_mb8_ifma;
use crate::p256::kernels::p256_window_mb8_ifma::p256_window_mb8_ifma;
use crate::p256::kernels::sha512_mb8_avx512::sha512_mb8_avx512;
use crate::p256::keys::{PublicKey, SecretKey};
use crate::p256::point::{Affine, Point, has_second_x};
use crate::p256::tables_ifma;
use crate::residue::{Element, Limbs, Scalar};

/// The fewest keys for which eight lanes cost less than one key after the other.
pub(super) const FEWEST_KEYS: usize = 3;
/// The same for agreements.
pub(super) const FEWEST_AGREEMENTS: usize = 2;
/// The same for signatures.
pub(super) const FEWEST_SIGNATURES: usize = 3;
/// The same for verifications.
pub(super) const FEWEST_VERIFICATIONS: usize = 3;

/// The kernels that work on secrets in lanes. Memcheck cannot run those with IFMA; a test puts
/// others in their place, and memcheck watches the code between kernels.
pub(super) trait Kernels: Copy {
    /// Eight points.
    type Points;
    /// Products of the denominators of other lanes.
    type Neighbours;

    /// Returns multiples of the base point.
    fn base_multiples(self, k: &[Odd; LANES]) -> Self::Points;

    /// Returns multiples of points in affine coordinates.
    fn multiples(self, k: &[Odd; LANES], points: &[Lanes; 2]) -> Self::Points;

    /// Returns the product of all denominators, and that of the others for each lane.
    fn denominator(self, points: &Self::Points) -> (Limbs, Self::Neighbours);

    /// Returns x and y, from the inverse of the product of all denominators.
    fn affine(
        self,
        points: &Self::Points,
        inverse: &Limbs,
        neighbours: &Self::Neighbours,
    ) -> [Lanes; 2];

    /// Compares the sum of points with k G: see `p256_comb_sum8_ifma`.
    fn difference(self, k: &Odd, points: &[Lanes; 2]) -> [Limbs; 3];

    /// Returns the SHA-512 hashes of blocks.
    fn sha512(self, blocks: &[[u64; LANES]; 16]) -> [[u64; LANES]; 8];
}

impl Kernels for HaveIfma {
    type Points = Jacobian;
    type Neighbours = Neighbours;

    fn base_multiples(self, k: &[Odd; LANES]) -> Jacobian {
        static TABLE: OnceLock<p256_comb_mb8_ifma::Table> = OnceLock::new();
        let table = TABLE.get_or_init(|| proven!(self, tables_ifma::mb8()));
        proven!(self, p256_comb_mb8_ifma(&limbs(k), table))
    }

    fn multiples(self, k: &[Odd; LANES], points: &[Lanes; 2]) -> Jacobian {
        proven!(self, p256_window_mb8_ifma(&limbs(k), points))
    }

    fn denominator(self, points: &Jacobian) -> (Limbs, Neighbours) {
        proven!(self, denominator(points))
    }

    fn affine(self, points: &Jacobian, inverse: &Limbs, neighbours: &Neighbours) -> [Lanes; 2] {
        proven!(self, p256_affine_mb8_ifma(points, inverse, neighbours))
    }

    fn difference(self, k: &Odd, points: &[Lanes; 2]) -> [Limbs; 3] {
        proven!(self, difference(k, windows(self), points))
    }

    fn sha512(self, blocks: &[[u64; LANES]; 16]) -> [[u64; LANES]; 8] {
        proven!(self, sha512_mb8_avx512(blocks))
    }
}

/// Returns the limbs of all lanes. Each kernel loads them as vectors.
fn limbs(k: &[Odd; LANES]) -> Lanes {
    by_word(&k.each_ref().map(|k| k.t))
}

/// Returns k G. k is not zero.
pub(super) fn base_multiple(k: &Scalar, proof: HaveIfma) -> Point {
    let k = Odd::new(k);
    let multiple = proven!(proof, p256_comb_sum8_ifma(&k, windows(proof)));
    let mut point = Point::from_jacobian(multiple.map(|x| Element::new(&x)));
    point.y.negate(k.negative);
    point
}

fn windows(proof: HaveIfma) -> &'static p256_comb_sum8_ifma::Table {
    static TABLE: OnceLock<p256_comb_sum8_ifma::Table> = OnceLock::new();
    TABLE.get_or_init(|| proven!(proof, tables_ifma::sum8()))
}

/// Returns whether the sum of eight points in affine coordinates is k G. k is not zero.
fn have_sum(points: &[Lanes; 2], k: &Scalar, kernels: impl Kernels) -> bool {
    let numbers = kernels.difference(&Odd::new(k), points);
    let [h, r, z] = numbers.map(|x| Element::new(&x).is_zero());
    memcheck::declassified(h & r & !z) != 0
}

/// Appends the public keys of at most eight secret keys.
pub(super) fn public_keys(secrets: &[SecretKey], keys: &mut Vec<PublicKey>, kernels: impl Kernels) {
    let k: [Odd; LANES] =
        core::array::from_fn(|l| Odd::new(&secrets.get(l).unwrap_or(&secrets[0]).0));
    let [x, y] = affine(&kernels.base_multiples(&k), kernels).each_ref().map(by_number);
    keys.extend((0..secrets.len()).map(|l| {
        let mut point = Affine { x: Element::new(&x[l]), y: Element::new(&y[l]) };
        point.y.negate(k[l].negative);
        PublicKey(point)
    }));
}

fn affine<K: Kernels>(points: &K::Points, kernels: K) -> [Lanes; 2] {
    let (z, neighbours) = kernels.denominator(points);
    let inverse = Element::new(&z).inverted().number();
    kernels.affine(points, &inverse, &neighbours)
}

/// Returns x and y of points, and all 1/k.
fn affine_beside<K: Kernels>(
    points: &K::Points,
    k: &[Scalar; LANES],
    kernels: K,
) -> ([Lanes; 2], [Scalar; LANES]) {
    let (mut k, mut before) = (k.clone(), [const { Scalar::ZERO }; LANES]);
    let (z, neighbours) = kernels.denominator(points);
    let (inverse_of_z, inverse_of_k) =
        Element::new(&z).inverted_beside(&Scalar::products(&k, &mut before));
    Scalar::divide_all(inverse_of_k, &mut k, &before);
    (kernels.affine(points, &inverse_of_z.number(), &neighbours), k)
}

/// Appends the shared secrets of at most eight pairs.
pub(super) fn agree_all(
    pairs: &[(&SecretKey, &PublicKey)],
    shared: &mut Vec<SharedSecret>,
    kernels: impl Kernels,
) {
    let pair = |l: usize| pairs.get(l).unwrap_or(&pairs[0]);
    let k = core::array::from_fn(|l| Odd::new(&pair(l).0.0));
    let points = [
        by_word(&core::array::from_fn(|l| pair(l).1.0.x.number())),
        by_word(&core::array::from_fn(|l| pair(l).1.0.y.number())),
    ];
    let [x, _] = affine(&kernels.multiples(&k, &points), kernels);
    let x = by_number(&x);
    shared.extend(x[..pairs.len()].iter().map(|x| SharedSecret(Element::new(x).to_bytes())));
}

/// Appends the signatures of at most eight requests, and `None` for those to sign alone: if r or s
/// is zero, or if a check fails.
pub(super) fn sign_all(
    requests: &[Request<'_>],
    signatures: &mut Vec<Option<Signature>>,
    kernels: impl Kernels,
) {
    let mut drafts: [Option<Draft<'_>>; LANES] =
        core::array::from_fn(|l| requests.get(l).map(Draft::without_nonce));
    take_nonces(&mut drafts, kernels);
    let k = drafts.each_ref().map(|draft| match draft {
        Some(draft) => draft.k.clone(),
        None => Scalar::ONE,
    });
    let odd = k.each_ref().map(Odd::new);
    let (points, inverses) = affine_beside(&kernels.base_multiples(&odd), &k, kernels);
    let sum = sum(&k, &odd);
    signatures.extend(&checked(&drafts, &points, &sum, &inverses, kernels)[..requests.len()]);
}

/// Returns the sum of the scalars whose multiples the kernels compute: k or -k.
fn sum(k: &[Scalar; LANES], odd: &[Odd; LANES]) -> Scalar {
    k.iter().zip(odd).fold(Scalar::ZERO, |sum, (k, odd)| {
        let mut k = k.clone();
        k.negate(odd.negative);
        sum.add(&k)
    })
}

/// Returns the signatures from k G, the sum of all k, and 1/k: none if the points have another sum,
/// or if two of them have the same r. A fault that gives two requests one nonce passes all other
/// checks, and two valid signatures with one nonce give the key away.
fn checked(
    drafts: &[Option<Draft<'_>>; LANES],
    points: &[Lanes; 2],
    sum: &Scalar,
    inverses: &[Scalar; LANES],
    kernels: impl Kernels,
) -> [Option<Signature>; LANES] {
    let right = have_sum(points, sum, kernels);
    let x = by_number(&points[0]);
    let signatures: [Option<Signature>; LANES] = core::array::from_fn(|l| {
        let draft = drafts[l].as_ref().filter(|_| right)?;
        draft.sign(&Element::least(&x[l]), &inverses[l]).ok().flatten()
    });
    let are_same = |(a, b): (Signature, Signature)| {
        let difference = a.r.iter().zip(&b.r).fold(0, |any, (a, b)| any | (a ^ b));
        memcheck::declassified(difference) == 0 // r is public
    };
    let is_again =
        |l: usize| (0..l).any(|m| signatures[m].zip(signatures[l]).is_some_and(are_same));
    if (1..LANES).any(is_again) { [None; LANES] } else { signatures }
}

/// Takes the first nonces, of which those with random bytes are hashed in lanes.
fn take_nonces(drafts: &mut [Option<Draft<'_>>; LANES], kernels: impl Kernels) {
    let mut blocks = [[0; LANES]; 16];
    for (l, draft) in drafts.iter().enumerate() {
        let block = draft.as_ref().map(|draft| draft.nonces.block()).unwrap_or_default();
        (0..16).for_each(|i| blocks[i][l] = block[i]);
    }
    let hashes = kernels.sha512(&blocks);
    for (l, draft) in drafts.iter_mut().enumerate() {
        if let Some(draft) = draft {
            draft.take_nonce(&hashes.each_ref().map(|word| word[l]));
        }
    }
}

/// Appends whether at most eight signatures are valid, and `None` for those to verify alone: if a
/// factor is zero, if the multiples are equal or opposite points, or if r + n is below p. All of
/// these are rare, or made by intent. Variable time.
pub(super) fn verify_all(
    requests: &[VerifyRequest<'_>],
    valid: &mut Vec<Option<bool>>,
    proof: HaveIfma,
) {
    let request = |l: usize| requests.get(l).unwrap_or(&requests[0]);
    let mut inverses: [_; LANES] = core::array::from_fn(|l| Scalar::new(&request(l).signature.s));
    Scalar::invert_all(&mut inverses, &mut [const { Scalar::ZERO }; LANES]);
    let factors: [_; LANES] = core::array::from_fn(|l| {
        let VerifyRequest { digest, signature, .. } = request(l);
        signature.factors_from(digest, &inverses[l])
    });
    // zero has no form in odd digits
    let is_zero = |u: &Scalar| u.is_vartime(&Scalar::ZERO);
    let of_base = factors.each_ref().map(|(u, _)| match is_zero(u) {
        true => Odd::new(&Scalar::ONE),
        false => Odd::new(u),
    });
    let of_keys = factors.each_ref().map(|(_, v)| Odd::new(v));
    let negative = core::array::from_fn(|l| of_base[l].negative ^ of_keys[l].negative);
    let points = [
        by_word(&core::array::from_fn(|l| request(l).key.0.x.number())),
        by_word(&core::array::from_fn(|l| request(l).key.0.y.number())),
    ];
    let of_keys = proof.multiples(&of_keys, &points);
    let r = by_word(&core::array::from_fn(|l| request(l).signature.r));
    let of_base = proof.base_multiples(&of_base);
    let [difference, z] = proven!(proof, p256_verify_mb8_ifma(of_keys, &of_base, negative, &r))
        .each_ref()
        .map(|x| by_number(x).map(|x| Element::new(&x)));
    valid.extend((0..requests.len()).map(|l| {
        let VerifyRequest { digest, signature, .. } = &requests[l];
        let alone = is_zero(&factors[l].0) || digest.is_empty() || z[l].is_vartime(&Element::ZERO);
        match difference[l].is_vartime(&Element::ZERO) {
            _ if alone => None,
            false if has_second_x(&signature.r) => None,
            is_valid => Some(is_valid),
        }
    }));
}

#[cfg(test)]
mod tests;
