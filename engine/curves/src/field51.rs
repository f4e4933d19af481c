//! Forms of the numbers of X25519: bytes, words, and five limbs of 51 bits.

/// Bits of a limb.
const BITS: u32 = 51;
const MASK: u64 = (1 << BITS) - 1;

/// The words of 32 bytes, little end first.
pub(crate) fn words(bytes: &[u8; 32]) -> [u64; 4] {
    let (words, _) = bytes.as_chunks::<8>();
    core::array::from_fn(|i| u64::from_le_bytes(words[i]))
}

/// The words of a public key, without the top bit (RFC 7748, section 5).
pub(crate) fn words_of_u(bytes: &[u8; 32]) -> [u64; 4] {
    let mut u = words(bytes);
    u[3] &= u64::MAX >> 1;
    u
}

/// The bytes of four words, little end first.
pub(crate) fn bytes(words: &[u64; 4]) -> [u8; 32] {
    let mut bytes = [0; 32];
    for (bytes, word) in bytes.as_chunks_mut::<8>().0.iter_mut().zip(words) {
        *bytes = word.to_le_bytes();
    }
    bytes
}

/// The limbs of a number below 2^256.
pub(crate) fn limbs(x: &[u64; 4]) -> [u64; 5] {
    [
        x[0] & MASK,
        (x[0] >> 51 | x[1] << 13) & MASK,
        (x[1] >> 38 | x[2] << 26) & MASK,
        (x[2] >> 25 | x[3] << 39) & MASK,
        x[3] >> 12,
    ]
}

/// The least number that is the same modulo 2^255 - 19, from any limbs.
pub(crate) fn least(x: [u64; 5]) -> [u64; 4] {
    let mut x = carried(carried(carried(x)));
    // 1 if x >= p: then x + 19 reaches bit 255
    let mut over = 19;
    for limb in x {
        over = (limb + over) >> BITS;
    }
    x[0] += 19 * over;
    for i in 0..4 {
        x[i + 1] += x[i] >> BITS;
        x[i] &= MASK;
    }
    x[4] &= MASK;
    [x[0] | x[1] << 51, x[1] >> 13 | x[2] << 38, x[2] >> 26 | x[3] << 25, x[3] >> 39 | x[4] << 12]
}

/// Carries every limb once; the top one by 2^255 = 19.
fn carried(x: [u64; 5]) -> [u64; 5] {
    let carry = x.map(|limb| limb >> BITS);
    core::array::from_fn(|i| (x[i] & MASK) + if i == 0 { 19 * carry[4] } else { carry[i - 1] })
}
