//! Fault points: places between the steps of an operation where a test flips a bit or replaces a
//! number. The module and every call of it are `#[cfg(test)]`.

use core::cell::{Cell, RefCell};
use std::collections::BTreeMap;

use tollgate_mont::{Scalar, Word};

/// A fault, injected once.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Flip {
    pub(crate) point: &'static str,
    /// The index of the operation's pass through the point, counted from 0.
    pub(crate) pass: usize,
    /// Index of the operation in the call: its lane.
    pub(crate) operation: usize,
    pub(crate) change: Change,
}

/// A change of a number.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Change {
    /// Flips the bit with this index, which is taken modulo the number's length.
    Bit(usize),
    /// Replaces the number by random bits from this seed.
    Number(u64),
}

thread_local! {
    static FLIP: Cell<Option<Flip>> = const { Cell::new(None) };
    /// Counts how often each operation passes each point.
    static PASSES: RefCell<BTreeMap<(&'static str, usize), usize>> =
        const { RefCell::new(BTreeMap::new()) };
}

/// Marks a point that the operations of a call pass, with their number there: in lanes, each of
/// `lanes` operations has a lane of the words.
pub(crate) fn points<W: Word>(name: &'static str, lanes: usize, words: &mut [W]) {
    (0..lanes).for_each(|lane| at(name, lane, words));
}

fn at<W: Word>(name: &'static str, lane: usize, words: &mut [W]) {
    let pass = PASSES.with_borrow_mut(|passes| {
        let count = passes.entry((name, lane)).or_default();
        *count += 1;
        *count - 1
    });
    if let Some(flip) = FLIP.get()
        && (flip.point, flip.pass, flip.operation) == (name, pass, lane)
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

/// Runs `f` with a fault; also returns whether it was injected.
pub(crate) fn with<T>(flip: Flip, f: impl FnOnce() -> T) -> (T, bool) {
    PASSES.with_borrow_mut(BTreeMap::clear);
    FLIP.set(Some(flip));
    let result = f();
    (result, FLIP.take().is_none())
}

/// Returns the points that the first operation of `f` passes, by name, and how often it passes
/// each.
pub(crate) fn passed(f: impl FnOnce()) -> BTreeMap<&'static str, usize> {
    PASSES.with_borrow_mut(BTreeMap::clear);
    f();
    PASSES.with_borrow(|passes| {
        passes.iter().filter(|((_, i), _)| *i == 0).map(|((name, _), n)| (*name, *n)).collect()
    })
}
