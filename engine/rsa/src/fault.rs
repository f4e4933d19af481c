//! Points between the steps of an operation where a test lets one bit flip, or puts another number.
//! Built for tests alone: the module and each call of it stand under `#[cfg(test)]`.

use core::cell::{Cell, RefCell};
use std::collections::BTreeMap;

use tollgate_mont::{Scalar, Word};

/// What goes wrong, once.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Flip {
    pub(crate) point: &'static str,
    /// At which time that this operation passes the point, from 0.
    pub(crate) pass: usize,
    /// Which of the operations that go together: the lane, or the one in step.
    pub(crate) operation: usize,
    pub(crate) change: Change,
}

/// What becomes of a number.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Change {
    /// This bit of it flips, modulo the length.
    Bit(usize),
    /// Random bits, from this seed, take its place.
    Number(u64),
}

thread_local! {
    static FLIP: Cell<Option<Flip>> = const { Cell::new(None) };
    /// How often each operation passed each point.
    static PASSES: RefCell<BTreeMap<(&'static str, usize), usize>> =
        const { RefCell::new(BTreeMap::new()) };
}

/// A point that all operations pass together: one number, or one in each lane.
pub(crate) fn point<W: Word>(name: &'static str, words: &mut [W]) {
    for operation in 0..W::LANES {
        at(name, operation, words, operation);
    }
}

/// A point of one of the operations in step, whose number is `words`.
pub(crate) fn point_of<W: Word>(operation: usize, name: &'static str, words: &mut [W]) {
    at(name, operation, words, operation % W::LANES); // any lane: a block of the number
}

/// [`point_of`] for all operations in step.
pub(crate) fn points<W: Word, const S: usize>(name: &'static str, words: [&mut [W]; S]) {
    for (operation, words) in words.into_iter().enumerate() {
        point_of(operation, name, words);
    }
}

fn at<W: Word>(name: &'static str, operation: usize, words: &mut [W], lane: usize) {
    let pass = PASSES.with_borrow_mut(|passes| {
        let count = passes.entry((name, operation)).or_default();
        *count += 1;
        *count - 1
    });
    if let Some(flip) = FLIP.get()
        && (flip.point, flip.pass, flip.operation) == (name, pass, operation)
    {
        match flip.change {
            Change::Bit(bit) => {
                let word = &mut words[bit / W::Scalar::BITS % words.len()];
                word.set_lane(lane, word.lane(lane) ^ 1 << (bit % W::Scalar::BITS));
            }
            Change::Number(seed) => {
                let mut rng = fastrand::Rng::with_seed(seed);
                words.iter_mut().for_each(|word| word.set_lane(lane, rng.u64(..)));
            }
        }
        FLIP.set(None);
    }
}

/// Runs `f` with what goes wrong, and says whether it did.
pub(crate) fn with<T>(flip: Flip, f: impl FnOnce() -> T) -> (T, bool) {
    PASSES.with_borrow_mut(BTreeMap::clear);
    FLIP.set(Some(flip));
    let result = f();
    (result, FLIP.take().is_none())
}

/// The points that the first operation of `f` passes, by name, and how often.
pub(crate) fn passed(f: impl FnOnce()) -> BTreeMap<&'static str, usize> {
    PASSES.with_borrow_mut(BTreeMap::clear);
    f();
    PASSES.with_borrow(|passes| {
        passes.iter().filter(|((_, i), _)| *i == 0).map(|((name, _), n)| (*name, *n)).collect()
    })
}
