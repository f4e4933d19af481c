//! MGF1 (RFC 8017 B.2.1), the mask generation function of PSS and OAEP.

use zeroize::Zeroize;

use crate::hash::Hash;

/// `out := out xor MGF1(seed)`, with `out.len()` bytes of mask. The mask is wiped: in OAEP it is
/// secret.
pub(crate) fn xor(out: &mut [u8], hash: Hash, seed: &[u8]) {
    // 3. T = Hash(seed || C(0)) || Hash(seed || C(1)) || ..., C a big-endian counter of 32 bits.
    for (counter, block) in (0_u32..).zip(out.chunks_mut(hash.len())) {
        let mut mask = hash.digest_parts(&[seed, &counter.to_be_bytes()]);
        for (byte, mask) in block.iter_mut().zip(mask.as_ref()) {
            *byte ^= mask;
        }
        mask.zeroize();
    }
}
