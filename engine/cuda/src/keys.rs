//! The places of keys and blinding pairs in a device's memory: a key is copied once, a pair serves
//! many operations.

use std::collections::HashMap;
use std::sync::{Arc, Weak};

use tollgate_rsa::PrivateKey;

/// The number of operations that use a pair, or its squares, before the pair is replaced.
pub(crate) const USES: u32 = 64;

/// The keys and pairs of one size. Numbers are places in the device's memory.
pub(crate) struct Keys {
    keys: Vec<Option<Key>>,
    /// Places by the address of the key. The weak references keep addresses from being used again.
    by_address: HashMap<usize, usize>,
    pairs: Vec<Pair>,
    /// Pairs of no key.
    spare: Vec<usize>,
    /// Counts batches, to find the keys that were not used for longest.
    batch: u64,
}

struct Key {
    key: Weak<PrivateKey>,
    address: usize,
    used: u64,
    /// Pairs with uses left that no operation has.
    idle: Vec<usize>,
}

#[derive(Clone, Copy)]
struct Pair {
    key: usize,
    left: u32,
}

/// The place of a key, and the key that must be copied there if it is new.
pub(crate) struct Placed {
    pub(crate) place: usize,
    pub(crate) is_new: bool,
}

impl Keys {
    /// Creates places for as many keys and pairs as a batch can have.
    pub(crate) fn new(width: usize) -> Self {
        Self {
            keys: (0..width).map(|_| None).collect(),
            by_address: HashMap::new(),
            pairs: vec![Pair { key: 0, left: 0 }; width],
            spare: (0..width).rev().collect(),
            batch: 0,
        }
    }

    /// Begins a batch. Forgets keys that their owners have dropped, and returns their places, which
    /// the caller must clear.
    pub(crate) fn begin(&mut self) -> Vec<usize> {
        self.batch += 1;
        let dropped = |key: &Option<Key>| key.as_ref().is_some_and(|k| k.key.strong_count() == 0);
        let places = self.keys.iter().enumerate().filter(|(_, key)| dropped(key));
        let places: Vec<usize> = places.map(|(place, _)| place).collect();
        places.iter().for_each(|&place| self.forget(place));
        places
    }

    /// Returns the place of a key of this batch.
    pub(crate) fn place(&mut self, key: &Arc<PrivateKey>) -> Placed {
        let address = Arc::as_ptr(key).addr();
        let known = self.by_address.get(&address).copied();
        let place = known.unwrap_or_else(|| self.vacate());
        let batch = self.batch;
        let entry = self.keys[place].get_or_insert_with(|| Key {
            key: Arc::downgrade(key),
            address,
            used: 0,
            idle: Vec::new(),
        });
        entry.used = batch;
        self.by_address.insert(address, place);
        Placed { place, is_new: known.is_none() }
    }

    /// Returns an empty place; if there is none, that of the key that was not used for longest. A
    /// batch has no more keys than there are places, so that key is not of this batch.
    fn vacate(&mut self) -> usize {
        if let Some(empty) = self.keys.iter().position(Option::is_none) {
            return empty;
        }
        let used = |place: &usize| self.keys[*place].as_ref().map_or(0, |key| key.used);
        let oldest = (0..self.keys.len()).min_by_key(used).expect("there are places");
        self.forget(oldest);
        oldest
    }

    fn forget(&mut self, place: usize) {
        if let Some(key) = self.keys[place].take() {
            self.by_address.remove(&key.address);
            self.spare.extend(key.idle);
        }
    }

    /// Takes a pair for an operation. The second value is `true` if the pair must be made first.
    pub(crate) fn take_pair(&mut self, key: usize) -> (usize, bool) {
        if let Some(pair) = self.key(key).idle.pop() {
            return (pair, false);
        }
        let pair = self.spare.pop().unwrap_or_else(|| {
            let other = self.keys.iter_mut().flatten().find_map(|key| key.idle.pop());
            other.expect("as many pairs as operations of a batch")
        });
        self.pairs[pair] = Pair { key, left: USES };
        (pair, true)
    }

    /// Returns a pair after its operation; a pair whose operation failed is not used again.
    pub(crate) fn give_pair(&mut self, pair: usize, passed: bool) {
        let Pair { key, left } = &mut self.pairs[pair];
        *left -= 1;
        if passed && *left > 0 {
            let key = *key;
            self.key(key).idle.push(pair);
        } else {
            self.spare.push(pair);
        }
    }

    fn key(&mut self, place: usize) -> &mut Key {
        self.keys[place].as_mut().expect("a key of this batch has a place")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn keys<const N: usize>() -> [Arc<PrivateKey>; N] {
        let pem = include_str!("../../../vectors/keys/rsa-512.pem");
        core::array::from_fn(|_| Arc::new(PrivateKey::from_pem(pem).unwrap()))
    }

    #[test]
    fn a_pair_has_one_operation_at_a_time_and_a_bounded_number_of_uses() {
        let [a, b] = keys();
        let mut keys = Keys::new(2);
        keys.begin();
        let (a, b) = (keys.place(&a).place, keys.place(&b).place);
        let ((first, _), (second, _)) = (keys.take_pair(a), keys.take_pair(a));
        assert_ne!(first, second);
        keys.give_pair(second, false);
        keys.give_pair(first, true);
        for _ in 1..USES {
            assert_eq!(keys.take_pair(a), (first, false));
            keys.give_pair(first, true);
        }
        let (pair, is_new) = keys.take_pair(a);
        assert!(is_new, "after 64 uses");
        keys.give_pair(pair, true);
        // Pairs of another key are used if none are left, but never as they are.
        assert!(keys.take_pair(b).1 && keys.take_pair(b).1);
    }
}
