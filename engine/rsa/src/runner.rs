//! Kernels with their scratch memory.

#[cfg(test)]
use tollgate_mont::Word as _;
use tollgate_mont::{BlockKernel, Kernel, LimbKernel};
use zeroize::Zeroize;

/// A kernel and its scratch memory, which grows to the largest key so far. The memory is wiped
/// after each private operation and when it is dropped.
pub(crate) struct Runner<K: Kernel> {
    pub(crate) kernel: K,
    memory: Vec<K::Word>,
    /// The number of words that may hold secrets.
    used: usize,
}

impl<K: Kernel> Runner<K> {
    pub(crate) fn new(kernel: K) -> Self {
        Self { kernel, memory: Vec::new(), used: 0 }
    }

    /// Returns memory of `words` words, which may contain old values.
    pub(crate) fn memory(&mut self, words: usize) -> &mut [K::Word] {
        if self.memory.len() < words {
            self.wipe();
            self.memory.resize(words, K::Word::default());
        }
        self.used = self.used.max(words);
        &mut self.memory[..words]
    }

    /// Wipes all words used since the last wipe.
    pub(crate) fn wipe(&mut self) {
        let used = &mut self.memory[..self.used];
        self.kernel.with_target_features(
            #[inline(always)]
            || used.zeroize(),
        );
        self.used = 0;
    }

    /// Returns whether the last operation left no data; for tests.
    #[cfg(test)]
    pub(crate) fn is_wiped(&self) -> bool {
        (0..K::Word::LANES).all(|lane| self.memory.iter().all(|word| word.lane(lane) == 0))
    }
}

impl<K: Kernel> Drop for Runner<K> {
    fn drop(&mut self) {
        self.wipe();
    }
}

/// A kernel on lane blocks with its memory, which is wiped like that of a [`Runner`].
pub(crate) struct BlockRunner {
    pub(crate) rows: Runner<BlockKernel>,
    pub(crate) limbs: Runner<LimbKernel>,
}

impl BlockRunner {
    pub(crate) fn new(kernel: BlockKernel) -> Self {
        let limbs = Runner::new(LimbKernel::Blocks(kernel));
        Self { rows: Runner::new(kernel), limbs }
    }

    pub(crate) fn wipe(&mut self) {
        self.rows.wipe();
        self.limbs.wipe();
    }

    /// Returns whether the last operation left no data; for tests.
    #[cfg(test)]
    pub(crate) fn is_wiped(&self) -> bool {
        self.rows.is_wiped() && self.limbs.is_wiped()
    }
}
