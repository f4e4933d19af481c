//! Validation of keys: sizes, oddness, consistency.
//!
//! Primality is not tested. The test costs more than many signatures, and only the owner of a key
//! can make its numbers consistent. With a composite "prime", the check of the first operation
//! fails.
//!
//! The result and the lengths of the numbers are public. Times of arithmetic on secrets depend on
//! byte lengths only.

use tollgate_cpu::memcheck;
use zeroize::Zeroizing;

use crate::error::{Error, MODULUS_BITS_MAX, MODULUS_BITS_MIN, Prime, Rejected};
use crate::natural::{
    Natural, bit_length, divided, is_below, is_equal, less_one, natural, product,
};
use crate::parts::KeyParts;

#[cfg(test)]
mod tests;

/// A consistent private key: little-endian limbs of 64 bits, zeroized on drop.
///
/// Lengths in limbs, where |x| is ceil(bits of x / 64): `n` and `d` have |n|; `p`, `d_p` and
/// `q_inv` have |p|; `q` and `d_q` have |q|; `e` has |e|. p > q and |p| = |q| are not guaranteed,
/// but each prime has at least a quarter of the bits of n (128 or more).
pub(crate) struct Checked {
    pub(crate) public: CheckedPublic,
    /// The private exponent, e d = 1 modulo p-1 and q-1, d < n.
    pub(crate) d: Zeroizing<Vec<u64>>,
    /// The first prime, odd.
    pub(crate) p: Zeroizing<Vec<u64>>,
    /// The second prime, odd, different from p.
    pub(crate) q: Zeroizing<Vec<u64>>,
    /// The first CRT exponent, e `d_p` = 1 modulo p-1, `d_p` < p.
    pub(crate) d_p: Zeroizing<Vec<u64>>,
    /// The second CRT exponent, e `d_q` = 1 modulo q-1, `d_q` < q.
    pub(crate) d_q: Zeroizing<Vec<u64>>,
    /// The CRT coefficient, q `q_inv` = 1 modulo p, `q_inv` < p.
    pub(crate) q_inv: Zeroizing<Vec<u64>>,
}

/// A public key of an accepted size: little-endian limbs of 64 bits without leading zero limbs.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct CheckedPublic {
    /// The modulus, odd, of `bits` bits.
    pub(crate) n: Vec<u64>,
    /// The public exponent, odd, 3 <= e < 2^256.
    pub(crate) e: Vec<u64>,
    /// The size of n in bits: 512 to 8192.
    pub(crate) bits: usize,
}

/// Checks a private key. After the errors of [`public`], the first of these that applies is
/// returned: `PrimeZero`, `PrimeOne`, `PrimeEven`, `EqualPrimes`, `Product`, `PrimeSmall`, `DP`,
/// `DQ`, `QInv`, `D`.
pub(crate) fn private(parts: &KeyParts) -> Result<Checked, Error> {
    let public = public(&parts.n, &parts.e)?;
    let (n, e) = (&public.n, &public.e);
    let (p, q) = primes(parts, n)?;
    let [n_len, p_len, q_len] = [&parts.n, &*parts.p, &*parts.q].map(|bytes| trim(bytes).len());
    let check = |bytes: &[u8], len, below, factor: &[u64], modulus, rejected: Rejected| {
        below_inverse(bytes, len, below, factor, modulus).ok_or(Error::from(rejected))
    };
    let (p_1, q_1) = (less_one(&p), less_one(&q));
    let d_p = check(&parts.d_p, p_len, &p, e, &p_1, Rejected::DP)?;
    let d_q = check(&parts.d_q, q_len, &q, e, &q_1, Rejected::DQ)?;
    let q_inv = check(&parts.q_inv, p_len, &p, &q, &p, Rejected::QInv)?;
    let d = check(&parts.d, n_len, n, e, &p_1, Rejected::D)?;
    if !is_inverse(&d, e, &q_1) {
        return Err(Rejected::D.into());
    }
    Ok(Checked { public, d, p, q, d_p, d_q, q_inv })
}

/// Checks a public key.
pub(crate) fn public(n: &[u8], e: &[u8]) -> Result<CheckedPublic, Error> {
    let (n, e) = (trim(n), trim(e));
    let bits = bit_len(n);
    let rejected = if !(MODULUS_BITS_MIN..=MODULUS_BITS_MAX).contains(&bits) {
        Rejected::Size { bits }
    } else if is_even(n) {
        Rejected::ModulusEven
    } else if bit_len(e) < 2 {
        Rejected::ExponentSmall
    } else if is_even(e) {
        Rejected::ExponentEven
    } else if bit_len(e) > EXPONENT_BITS_MAX {
        // 2^256 itself is even. e is therefore below it, and below every n.
        Rejected::ExponentLarge { bits: bit_len(e) }
    } else {
        let [n, e] = [n, e].map(|bytes| natural(bytes, bytes.len()).to_vec());
        return Ok(CheckedPublic { n, e, bits });
    };
    Err(rejected.into())
}

/// Checks p and q, and that their product is n.
fn primes(parts: &KeyParts, n: &[u64]) -> Result<(Natural, Natural), Error> {
    let (p, q) = (trim(&parts.p), trim(&parts.q));
    for (bytes, prime) in [(p, Prime::P), (q, Prime::Q)] {
        match bit_len(bytes) {
            0 => return Err(Rejected::PrimeZero(prime).into()),
            1 => return Err(Rejected::PrimeOne(prime).into()),
            _ if is_even(bytes) => return Err(Rejected::PrimeEven(prime).into()),
            _ => (),
        }
    }
    let n_len = 8 * n.len();
    // A factor that is longer than the product is refused before the multiplication.
    if p.len() > n_len || q.len() > n_len {
        return Err(Rejected::Product.into());
    }
    let quarter = bit_length(n) / 4;
    let is_small = [p, q].map(|bytes| bit_len(bytes) < quarter);
    let (p, q) = (natural(p, p.len()), natural(q, q.len()));
    if is_true(is_equal(&p, &q)) {
        return Err(Rejected::EqualPrimes.into());
    }
    if !is_true(is_equal(&product(&p, &q), n)) {
        return Err(Rejected::Product.into());
    }
    match is_small {
        [true, _] => Err(Rejected::PrimeSmall(Prime::P).into()),
        [_, true] => Err(Rejected::PrimeSmall(Prime::Q).into()),
        [false, false] => Ok((p, q)),
    }
}

/// Reads x from `bytes` if x < `below` and x `factor` = 1 (mod `modulus`).
///
/// The result has room for `len` bytes, the length of `below`, so that its size does not reveal the
/// length of x.
fn below_inverse(
    bytes: &[u8],
    len: usize,
    below: &[u64],
    factor: &[u64],
    modulus: &[u64],
) -> Option<Natural> {
    let bytes = trim(bytes);
    if bytes.len() > len {
        return None;
    }
    let x = natural(bytes, len);
    (is_true(is_below(&x, below)) && is_inverse(&x, factor, modulus)).then_some(x)
}

/// Returns `true` if x y = 1 (mod m); m > 1, without leading zero limbs.
fn is_inverse(x: &[u64], y: &[u64], m: &[u64]) -> bool {
    let product = product(x, y);
    // a number of fewer limbs than m is below m
    let (low, high) = product.split_at((product.len() + 1).saturating_sub(m.len()));
    let (_, rest) = divided(high, low, m);
    is_true(is_equal(&rest, &[1]))
}

/// Makes the result of a check of secrets public.
fn is_true(mask: u64) -> bool {
    memcheck::declassified(mask) != 0
}

fn trim(bytes: &[u8]) -> &[u8] {
    let zeros = bytes.iter().take_while(|&&byte| byte == 0).count();
    &bytes[zeros..]
}

fn bit_len(trimmed: &[u8]) -> usize {
    let zeros = trimmed.first().map_or(0, |byte| byte.leading_zeros() as usize);
    8 * trimmed.len() - zeros
}

fn is_even(bytes: &[u8]) -> bool {
    bytes.last().is_none_or(|byte| byte & 1 == 0)
}

const EXPONENT_BITS_MAX: usize = 256;
