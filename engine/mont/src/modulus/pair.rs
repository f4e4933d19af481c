//! Two moduli whose exponentiations run in step.

use zeroize::{Zeroize, ZeroizeOnDrop};

use super::Modulus;
use crate::shape::Shape;
use crate::word::{LANES, Row, Scalar};

/// Two moduli of one shape whose exponentiations run in step: the primes of a key.
#[derive(Clone, Debug, ZeroizeOnDrop)]
pub struct Pair<W: Zeroize> {
    /// The first.
    p: Modulus<W>,
    /// The second.
    q: Modulus<W>,
    /// Both moduli in one set of lane blocks, if two fit.
    #[zeroize(skip)] // wipes itself
    blocks: Option<Box<Modulus<Row>>>,
}

impl<W: Zeroize> Zeroize for Pair<W> {
    /// Wipes every number, in words and in blocks.
    fn zeroize(&mut self) {
        self.p.zeroize();
        self.q.zeroize();
        self.blocks = None; // wipes itself
    }
}

impl<W: Zeroize> Pair<W> {
    /// Returns the first modulus.
    pub fn p(&self) -> &Modulus<W> {
        &self.p
    }
    /// Returns the second modulus.
    pub fn q(&self) -> &Modulus<W> {
        &self.q
    }
    /// Returns both moduli in one set of lane blocks; `None` if two do not fit.
    pub fn blocks(&self) -> Option<&Modulus<Row>> {
        self.blocks.as_deref()
    }
}

impl<S: Scalar> Pair<S> {
    /// Creates a pair from two moduli.
    ///
    /// # Panics
    ///
    /// If their shapes differ.
    pub fn new(p: Modulus<S>, q: Modulus<S>) -> Self {
        assert!(p.shape == q.shape, "the moduli of a pair have one shape");
        let two = p.blocks().filter(|p| p.shape().tile() < LANES);
        let blocks = two.zip(q.blocks()).map(|(p, q)| {
            let mut pair = Box::new(p.clone());
            pair.take_second(q);
            pair
        });
        Self { p, q, blocks }
    }

    /// Tells memcheck that every number of these moduli is secret.
    pub fn mark_secret(&self) {
        self.p.mark_secret();
        self.q.mark_secret();
        self.blocks.iter().for_each(|blocks| blocks.mark_rows_secret());
    }
}

impl Pair<Row> {
    /// Returns memory for eight pairs: see [`Modulus::lanes`].
    pub fn lanes(shape: Shape) -> Self {
        Self { p: Modulus::lanes(shape), q: Modulus::lanes(shape), blocks: None }
    }

    /// Returns the first and the second moduli, for operations that treat both alike.
    pub fn each_mut(&mut self) -> [&mut Modulus<Row>; 2] {
        [&mut self.p, &mut self.q]
    }
}
