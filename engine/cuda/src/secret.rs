//! Secret bytes of batches.
#![allow(unsafe_code, reason = "memory is wiped")]

use zeroize::Zeroize as _;

/// Bytes of secret memory, wiped when dropped. They never grow beyond their first capacity, since
/// growing leaves copies.
pub(crate) struct Secret(Vec<u8>);

impl Secret {
    pub(crate) fn with_capacity(bytes: usize) -> Self {
        Self(Vec::with_capacity(bytes))
    }

    pub(crate) fn zeros(bytes: usize) -> Self {
        Self(vec![0; bytes])
    }

    pub(crate) fn append(&mut self, bytes: &[u8]) {
        assert!(
            bytes.len() <= self.0.capacity() - self.0.len(),
            "the capacity is that of all bytes"
        );
        self.0.extend_from_slice(bytes);
    }

    /// Appends bytes in the opposite order.
    pub(crate) fn append_reversed(&mut self, bytes: &[u8]) {
        let at = self.0.len();
        self.append(bytes);
        self.0[at..].reverse();
    }
}

impl core::ops::Deref for Secret {
    type Target = [u8];

    fn deref(&self) -> &[u8] {
        &self.0
    }
}

impl core::ops::DerefMut for Secret {
    fn deref_mut(&mut self) -> &mut [u8] {
        &mut self.0
    }
}

impl Drop for Secret {
    fn drop(&mut self) {
        wipe(&mut self.0);
    }
}

/// Overwrites bytes with zeros, by words: a batch has megabytes.
pub(crate) fn wipe(bytes: &mut [u8]) {
    // SAFETY: every value of the words' bytes is a word, and of the word's bytes a byte.
    let (head, words, tail) = unsafe { bytes.align_to_mut::<u64>() };
    head.zeroize();
    words.zeroize();
    tail.zeroize();
}
