//! MDC-2 with DES (ISO/IEC 10118-2). OpenSSL signs with it, and no crate implements it.

use des::Des;
use des::cipher::{Array, BlockCipherEncrypt as _, KeyInit as _};
use zeroize::{Zeroize, ZeroizeOnDrop};

const BLOCK: usize = 8;

/// The state between two pieces of a message.
#[derive(Clone, Zeroize, ZeroizeOnDrop)]
pub(crate) struct Mdc2 {
    /// The two chaining values, each the next key of a DES encryption.
    chain: [[u8; BLOCK]; 2],
    pending: [u8; BLOCK],
    pending_len: usize,
}

impl Default for Mdc2 {
    fn default() -> Self {
        Self { chain: [[0x52; BLOCK], [0x25; BLOCK]], pending: [0; BLOCK], pending_len: 0 }
    }
}

impl Mdc2 {
    pub(crate) fn update(&mut self, piece: &[u8]) {
        for &byte in piece {
            self.pending[self.pending_len] = byte;
            self.pending_len += 1;
            if self.pending_len == BLOCK {
                self.compress();
            }
        }
    }

    /// A partial block is padded with zeros, as OpenSSL does by default.
    pub(crate) fn finalize(mut self) -> [u8; 16] {
        if self.pending_len > 0 {
            self.pending[self.pending_len..].fill(0);
            self.compress();
        }
        let mut digest = [0; 16];
        digest[..BLOCK].copy_from_slice(&self.chain[0]);
        digest[BLOCK..].copy_from_slice(&self.chain[1]);
        digest
    }

    /// Encrypts the block under both chaining values, XORs the block into the results, and
    /// exchanges the right halves of the results.
    fn compress(&mut self) {
        // The second and third bit of the two keys differ; the keys are therefore different.
        for (key, bits) in self.chain.iter_mut().zip([0x40, 0x20]) {
            key[0] = key[0] & 0x9f | bits;
            let mut block = Array::from(self.pending);
            Des::new(&Array::from(*key)).encrypt_block(&mut block);
            for (key, (encrypted, byte)) in key.iter_mut().zip(block.iter().zip(self.pending)) {
                *key = encrypted ^ byte;
            }
        }
        let [left, right] = &mut self.chain;
        left[BLOCK / 2..].swap_with_slice(&mut right[BLOCK / 2..]);
        self.pending_len = 0;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// From ISO/IEC 10118-2 and OpenSSL's `mdc2test.c`.
    #[test]
    fn digest_of_the_standard_s_example() {
        let mut state = Mdc2::default();
        state.update(b"Now is the");
        state.update(b" time for all ");
        assert_eq!(hex::encode(state.finalize()), "42e50cd224baceba760bdd2bd409281a");
    }
}
