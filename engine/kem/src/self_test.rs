//! The known-answer test of ML-KEM-768.

use crate::{CIPHERTEXT_BYTES, MlKem768, SECRET_BYTES, SEED_BYTES};

impl MlKem768 {
    /// Generates a key pair, encapsulates, and decapsulates the ciphertext and a changed one.
    /// Returns whether the secrets are the known ones: the first depends on the public key, and the
    /// other on each byte of the ciphertext.
    #[must_use]
    pub fn passes_test(self) -> bool {
        let key = self.decapsulation_key(&[0x3c; SEED_BYTES]);
        let Ok(public) = self.encapsulation_key(&key.encapsulation_key().to_bytes()) else {
            return false;
        };
        let (mut ciphertext, mut secrets) = ([0; CIPHERTEXT_BYTES], [[0; SECRET_BYTES]; 3]);
        let [sent, received, rejected] = &mut secrets;
        public.encapsulate(&[0x5a; 32], &mut ciphertext, sent);
        key.decapsulate(&ciphertext, received);
        ciphertext[0] ^= 1;
        key.decapsulate(&ciphertext, rejected);
        secrets == [SECRET, SECRET, REJECTED]
    }
}

const SECRET: [u8; SECRET_BYTES] = [
    0xe1, 0x7d, 0x5c, 0x18, 0x65, 0x00, 0x88, 0xa2, 0xed, 0xd9, 0x11, 0x32, 0x4e, 0x04, 0xee, 0x52,
    0xc3, 0x1e, 0x27, 0x96, 0x3d, 0xf6, 0xdd, 0x44, 0x89, 0x91, 0x85, 0x57, 0x9a, 0x63, 0xf6, 0x1e,
];
const REJECTED: [u8; SECRET_BYTES] = [
    0x6c, 0x40, 0x7b, 0xfe, 0xa1, 0x02, 0x47, 0xf9, 0x1e, 0x5c, 0x33, 0xaf, 0x77, 0x3e, 0x94, 0xd3,
    0x72, 0xa0, 0xf7, 0x46, 0x75, 0x0a, 0x89, 0x7d, 0x6c, 0x03, 0xed, 0xa4, 0x19, 0xc9, 0x7d, 0xb1,
];
