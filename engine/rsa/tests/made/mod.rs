//! Keys of any size, computed by OpenSSL.

#![allow(clippy::unwrap_used, reason = "tests")]
#![allow(dead_code, reason = "each test uses a part")]

use openssl::bn::{BigNum, BigNumContext, BigNumRef};
use tollgate_rsa::KeyParts;
use zeroize::Zeroizing;

/// Returns a key with primes of these sizes; p may be the larger or the smaller one.
pub(crate) fn key_of(p_bits: i32, q_bits: i32, e: &BigNumRef) -> KeyParts {
    let prime = |bits| {
        let mut p = BigNum::new().unwrap();
        p.generate_prime(bits, false, None, None).unwrap();
        p
    };
    loop {
        if let Some(parts) = key_from(&prime(p_bits), &prime(q_bits), e) {
            return parts;
        }
    }
}

/// Returns a key of these primes, if e has an inverse modulo p - 1 and q - 1.
pub(crate) fn key_from(p: &BigNumRef, q: &BigNumRef, e: &BigNumRef) -> Option<KeyParts> {
    let mut ctx = BigNumContext::new().unwrap();
    let one = BigNum::from_u32(1).unwrap();
    let (p_1, q_1) = (p - &one, q - &one);
    let mut invert = |x: &BigNumRef, m: &BigNumRef| {
        let mut z = BigNum::new().unwrap();
        z.mod_inverse(x, m, &mut ctx).ok().map(|()| Zeroizing::new(z.to_vec()))
    };
    let (d, d_p, d_q) = (invert(e, &(&p_1 * &q_1))?, invert(e, &p_1)?, invert(e, &q_1)?);
    let (q_inv, n, e) = (invert(q, p)?, (p * q).to_vec(), e.to_vec());
    let (p, q) = (Zeroizing::new(p.to_vec()), Zeroizing::new(q.to_vec()));
    Some(KeyParts { n, e, d, p, q, d_p, d_q, q_inv })
}
