//! Two moduli whose exponentiations go together.

use zeroize::{Zeroize, ZeroizeOnDrop};

use super::Modulus;
use crate::blocks::Blocks;
use crate::shape::Shape;
use crate::word::{Row, Scalar};

/// Two moduli of one shape whose exponentiations go together: the primes of a key.
#[derive(Clone, Debug, ZeroizeOnDrop)]
pub struct Pair<W: Zeroize> {
    /// The first.
    p: Modulus<W>,
    /// The second.
    q: Modulus<W>,
    /// Both in one set of lane blocks, where two fit.
    #[zeroize(skip)] // wipes itself
    blocks: Option<Box<Modulus<Row>>>,
    /// Both twice in one set of lane blocks, where four fit: a half of it is for another pair.
    #[zeroize(skip)] // wipes itself
    twice: Option<Box<Modulus<Row>>>,
}

impl<W: Zeroize> Zeroize for Pair<W> {
    /// Leaves no number, in words or in blocks.
    fn zeroize(&mut self) {
        self.p.zeroize();
        self.q.zeroize();
        (self.blocks, self.twice) = (None, None); // they wipe themselves
    }
}

impl<W: Zeroize> Pair<W> {
    /// The first modulus.
    pub fn p(&self) -> &Modulus<W> {
        &self.p
    }
    /// The second modulus.
    pub fn q(&self) -> &Modulus<W> {
        &self.q
    }
    /// Both in one set of lane blocks, where two fit.
    pub fn blocks(&self) -> Option<&Modulus<Row>> {
        self.blocks.as_deref()
    }
    /// Both twice in one set of lane blocks, where four fit.
    pub fn twice(&self) -> Option<&Modulus<Row>> {
        self.twice.as_deref()
    }
}

impl<S: Scalar> Pair<S> {
    /// From two moduli.
    ///
    /// # Panics
    ///
    /// If their shapes differ.
    pub fn new(p: Modulus<S>, q: Modulus<S>) -> Self {
        assert!(p.shape == q.shape, "the moduli of a pair have one shape");
        let two = Blocks::pair_of_limbs(p.shape).filter(|blocks| blocks.numbers() == 2);
        let [blocks, twice] = [two, Blocks::four_of_limbs(p.shape)]
            .map(|blocks| blocks.map(|blocks| Self::by_turns(&p, &q, blocks)));
        Self { p, q, blocks, twice }
    }

    /// Numbers by turns of p and of q. Apart, since its moduli would take a part of the caller's
    /// stack, which may be that of a job of OpenSSL.
    #[inline(never)]
    fn by_turns(p: &Modulus<S>, q: &Modulus<S>, blocks: Blocks) -> Box<Modulus<Row>> {
        let mut both = p.again(blocks);
        both.take_turns(&q.again(blocks));
        both
    }

    /// Tells memcheck that every number of these moduli is secret.
    pub fn mark_secret(&self) {
        self.p.mark_secret();
        self.q.mark_secret();
        self.blocks.iter().chain(&self.twice).for_each(|blocks| blocks.mark_rows_secret());
    }
}

impl Pair<Row> {
    /// Room for eight pairs: see [`Modulus::lanes`].
    pub fn lanes(shape: Shape) -> Self {
        Self { p: Modulus::lanes(shape), q: Modulus::lanes(shape), blocks: None, twice: None }
    }

    /// The first and the second moduli, to be reshaped, loaded and wiped alike.
    pub fn each_mut(&mut self) -> [&mut Modulus<Row>; 2] {
        [&mut self.p, &mut self.q]
    }
}
