//! Tests of additions that the formulas of some kernels do not have: of equal and of opposite
//! points.
//!
//! The multiples of one point never have them, which the kernels prove by the digits of n. So these
//! tests come as close as a scalar can, in each window, and check one step beyond. A verification
//! adds multiples of two points, and the owner of the key can force any such addition.

use std::sync::OnceLock;

use super::digits::{Odd, signed_digits_vartime};
use super::dispatch::P256;
use super::ecdsa::{Signature, VerifyRequest};
use super::keys::{PublicKey, SecretKey};
use super::point::{Affine, Point};
use crate::residue::Scalar;

/// Windows of the kernels: bits, and the number of windows of which not every digit is 1.
const KINDS: [(usize, usize); 3] = [(4, 64), (5, 51), (7, 37)];

fn small(x: u64) -> Scalar {
    Scalar::new(&[x, 0, 0, 0])
}

/// 2^n.
fn power(n: usize) -> Scalar {
    (0..n).fold(Scalar::ONE, |x, _| x.add(&x))
}

fn base_multiple(k: &Scalar) -> Point {
    Point::sum_vartime(k, &Scalar::ZERO, &Affine::base().into())
}

fn random(rng: &mut fastrand::Rng) -> Scalar {
    Scalar::new(&core::array::from_fn(|_| rng.u64(..)))
}

/// If the digit d of window w had the other sign, the sum of k = n - 2 d 2^{bits w} would be n
/// without the digits below. No scalar brings a sum closer to a table entry or its negative. -k is
/// the same with the other sign.
fn closest() -> Vec<SecretKey> {
    let mut scalars = Vec::new();
    for (bits, windows) in KINDS {
        for w in 0..windows {
            let (weight, top) = (power(bits * w + 1), 256 - bits * w);
            let highest = (1 << bits.min(top - 1)) - 1;
            for d in [1, (highest / 2) | 1, highest] {
                let k = small(d).mul(&weight);
                scalars.extend([SecretKey(k.negated()), SecretKey(k)]);
            }
        }
    }
    scalars
}

/// Each of them in a lane while the other lanes have ordinary ones, and alone. Complete formulas
/// judge.
#[test]
fn sums_close_to_table_entries() {
    let mut rng = fastrand::Rng::with_seed(51);
    let peer = PublicKey(base_multiple(&random(&mut rng)).affine());
    for (round, special) in closest().into_iter().enumerate() {
        let lane = round % 8;
        let mut keys: [SecretKey; 8] = core::array::from_fn(|_| SecretKey(random(&mut rng)));
        keys[lane] = special;
        let public = PublicKey(base_multiple(&keys[lane].0).affine());
        let shared = Point::from(peer.0).times(&keys[lane].0).affine().x.to_bytes();
        for curve in P256::all() {
            assert_eq!(curve.public_key(&keys[lane]), public, "{round}, {curve:?}");
            assert_eq!(curve.agree(&keys[lane], &peer).as_bytes(), &shared, "{round}, {curve:?}");
            if curve.has_lanes() {
                let pairs = keys.each_ref().map(|key| (key, &peer));
                let (in_lanes, agreed) = (curve.public_keys(&keys), curve.agree_all(&pairs));
                for (l, key) in keys.iter().enumerate() {
                    assert_eq!(in_lanes[l], curve.public_key(key), "{round}, lane {l}");
                    assert_eq!(agreed[l].as_bytes(), curve.agree(key, &peer).as_bytes(), "{round}");
                }
            }
        }
    }
}

impl Point {
    /// Returns k times the point.
    fn times(&self, k: &Scalar) -> Self {
        Self::sum_vartime(&Scalar::ZERO, k, self)
    }
}

/// Digits beyond the contract of kernels, k = n + 2 d 2^i, where -d is the digit of n with the
/// weight 2^i. The digits before it have the sum n + d 2^i, so that opposite points are added. The
/// first scalar is for combs of seven bits, the second one for windows of five bits.
pub(crate) fn beyond_the_contract() -> [Odd; 2] {
    let n = Odd::new(&Scalar::ZERO);
    [(7, n.digit::<7>(1)), (0, n.digit::<5>(0))].map(|(i, (entry, negative))| {
        assert_eq!(negative, u64::MAX);
        // t = floor(k / 2) + 2^255
        let (mut t, mut carry) = (n.t, (2 * entry + 1) << i);
        for limb in &mut t {
            let (sum, over) = limb.overflowing_add(carry);
            (*limb, carry) = (sum, u64::from(over));
        }
        Odd { t, negative: 0 }
    })
}

/// Returns a signature with these factors: r is x of the sum, or any number if that is neutral.
fn signature(sum: &Point, u: &Scalar, v: &Scalar) -> (Signature, [u8; 32]) {
    let r = match sum.z.is_zero() != 0 {
        true => small(7),
        false => Scalar::new(&sum.affine().x.number()),
    };
    let s = r.mul(&v.inverted());
    (Signature { r: r.number(), s: s.number() }, u.mul(&s).to_bytes())
}

/// A key, a signature, and its digest.
type Case = (PublicKey, Signature, [u8; 32]);

/// Ordinary signatures.
fn ordinary() -> &'static [Case; 8] {
    static CASES: OnceLock<[Case; 8]> = OnceLock::new();
    CASES.get_or_init(|| {
        let mut rng = fastrand::Rng::with_seed(53);
        core::array::from_fn(|_| {
            let (d, u, v) = (random(&mut rng), random(&mut rng), random(&mut rng));
            let (signature, digest) = signature(&base_multiple(&u.add(&d.mul(&v))), &u, &v);
            (PublicKey(base_multiple(&d).affine()), signature, digest)
        })
    })
}

/// Verifies alone, and in a lane beside ordinary signatures.
fn is_valid(curve: P256, case: &Case, round: usize) -> bool {
    let (key, signature, digest) = case;
    let alone = curve.verify(key, digest, signature);
    if curve.has_lanes() {
        let (mut cases, mut expected) = (*ordinary(), [true; 8]);
        (cases[round % 8], expected[round % 8]) = (*case, alone);
        let requests = cases.each_ref().map(|(key, signature, digest)| VerifyRequest {
            key,
            digest,
            signature: *signature,
        });
        assert_eq!(curve.verify_all(&requests), expected, "{round}, {curve:?}");
    }
    alone
}

/// u G + v P with P = a G, by signed digits from the top. Before a digit d of u or v is added, the
/// sum is (x + a y) G; a makes it d G or -d G, or d P or -d P.
#[test]
fn forced_additions_in_verifications() {
    let mut rng = fastrand::Rng::with_seed(52);
    let (mut additions, mut forced) = (0, 0);
    for round in 0..2 {
        let (u, v) = (random(&mut rng), random(&mut rng));
        let of_u = signed_digits_vartime::<8>(&u.number());
        let of_v = signed_digits_vartime::<5>(&v.number());
        let number = |digit: i8| {
            let mut number = small(digit.unsigned_abs().into());
            number.negate(u64::from(digit < 0).wrapping_neg());
            number
        };
        let (mut x, mut y) = (Scalar::ZERO, Scalar::ZERO);
        for (i, (of_u, of_v)) in of_u.into_iter().zip(of_v).enumerate().rev() {
            (x, y) = (x.add(&x), y.add(&y));
            let mut keys = Vec::new();
            for negative in [0, u64::MAX] {
                let mut d = number(of_u);
                d.negate(negative);
                if of_u != 0 && y.is_zero() == 0 {
                    keys.push(d.sub(&x).mul(&y.inverted()));
                }
                let mut d = number(of_v);
                d.negate(negative);
                if of_v != 0 {
                    keys.push(x.add(&number(of_u)).mul(&d.sub(&y).inverted()));
                }
            }
            (x, y) = (x.add(&number(of_u)), y.add(&number(of_v)));
            for a in keys.into_iter().filter(|a| a.is_zero() == 0) {
                let (point, sum) = (base_multiple(&a).affine(), base_multiple(&u.add(&a.mul(&v))));
                let (signature, digest) = signature(&sum, &u, &v);
                let case = (PublicKey(point), signature, digest);
                for curve in P256::all() {
                    let valid = is_valid(curve, &case, i + round);
                    assert_eq!(valid, sum.z.is_zero() == 0, "digit {i}, {curve:?}");
                }
                additions += 1;
                let is_forced = |curve: &P256| curve.adds_equal_or_opposite(&u, &v, &point);
                forced += usize::from(P256::all().first().is_some_and(is_forced));
            }
        }
        assert!(x.is_vartime(&u) && y.is_vartime(&v));
    }
    let expected = if P256::best().is_ok() { additions } else { 0 };
    assert!(additions > 200 && forced == expected, "{forced} of {additions} additions");
}
