//! Chains of kernel calls. Each call takes the result of the previous one, as in an exponentiation;
//! the last result is checked.

use tollgate_mont::{
    BlockKernel, Blocks, Digit, Kernel, LANES, LaneKernel, LimbKernel, Modulus, Pair, Place, Row,
    Scalar, Shape, Word, carry,
};

use tollgate_internet::{Method, Numbers as Constants};

use crate::contenders::Run;
use crate::error::CliError;

/// Calls in a chain.
pub(crate) const CALLS: u32 = 16;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Call {
    /// Products with a fixed factor.
    Product,
    Square,
}

/// Returns a chain on limbs with a modulus of `bits` bits.
pub(crate) fn limbs(kernel: LimbKernel, call: Call, bits: u32) -> Run {
    run(on_limbs(kernel, call, bits), on_limbs(LimbKernel::Portable, call, bits))
}

/// Returns a chain of a method of a paper with a modulus of `bits` bits, on the same numbers as
/// [`limbs`].
pub(crate) fn method(method: Method, call: Call, bits: u32) -> Run {
    let mut chain = on_limbs(LimbKernel::Portable, call, bits);
    let (right, constants) = (chain.canonical(), Constants::new(&chain.m));
    let first = chain.run_by(method.kernel(&constants)).to_vec();
    let mut reduced = first.clone();
    carry::reduce(&mut reduced, chain.m.m());
    let is_right = reduced == right;
    Box::new(move || compare(is_right && chain.run_by(method.kernel(&constants)) == first))
}

fn on_limbs(kernel: LimbKernel, call: Call, bits: u32) -> Chain<LimbKernel> {
    let mut numbers = Numbers::new(bits);
    let shape = Shape::limbs(numbers.bits);
    let m = Modulus::<u64>::new(&numbers.modulus(), shape).expect("the modulus is odd");
    let mut operand = || packed::<u64>(&numbers.below(), shape);
    let (x, y) = (operand(), operand());
    Chain::new(kernel, call, &m, &x, &y, reduce)
}

/// Returns a chain in eight lanes with eight moduli of `bits` bits.
pub(crate) fn lanes(kernel: LaneKernel, call: Call, bits: u32) -> Run {
    let mut numbers = Numbers::new(bits);
    let shape = Shape::digits(numbers.bits);
    let mut m = Modulus::lanes(shape);
    let (mut x, mut y) = (vec![Row::default(); shape.k()], vec![Row::default(); shape.k()]);
    for lane in 0..LANES {
        let modulus = Modulus::<Digit>::new(&numbers.modulus(), shape).expect("the modulus is odd");
        m.load(Place::Lane(lane), &modulus);
        for operand in [&mut x, &mut y] {
            let digits = packed::<Digit>(&numbers.below(), shape);
            for (row, digit) in operand.iter_mut().zip(digits) {
                row.0[lane] = digit.bits();
            }
        }
    }
    let chain = |kernel| Chain::new(kernel, call, &m, &x, &y, reduce);
    run(chain(kernel), chain(LaneKernel::Portable))
}

/// Returns a chain in lane blocks with one or two moduli of `bits` bits.
pub(crate) fn blocks(kernel: BlockKernel, call: Call, bits: u32) -> Run {
    let mut numbers = Numbers::new(bits);
    let shape = Shape::limbs(numbers.bits);
    let mut modulus =
        || Modulus::<u64>::new(&numbers.modulus(), shape).expect("the modulus is odd");
    let pair = Pair::new(modulus(), modulus());
    let set = pair.blocks().or(pair.p().blocks()).expect("there are blocks of this size");
    let layout = Blocks::of_shape(set.shape());
    let mut operand = || {
        let mut rows = vec![Row::default(); set.k()];
        (0..layout.numbers()).for_each(|i| layout.pack(&mut rows, i, &numbers.below()));
        rows
    };
    let (x, y) = (operand(), operand());
    let chain = |kernel| Chain::new(kernel, call, set, &x, &y, reduce_blocks);
    run(chain(kernel), chain(BlockKernel::Portable))
}

/// z mod m, for z < 3m.
fn reduce<W: Word>(z: &mut [W], m: &Modulus<W>) {
    carry::reduce(z, m.m());
}

/// z mod m, for z < 8m in blocks.
fn reduce_blocks(z: &mut [Row], m: &Modulus<Row>) {
    let layout = Blocks::of_shape(m.shape());
    for number in 0..layout.numbers() {
        let (mut x, mut n) =
            (vec![0; layout.bits_max() / 64 + 1], vec![0; layout.bits_max() / 64 + 1]);
        layout.unpack(&mut x, z, number);
        layout.unpack(&mut n, m.m(), number);
        (0..4).for_each(|_| carry::reduce(&mut x, &n)); // 2m each
        layout.pack(z, number, &x);
    }
}

/// Generates moduli and operands, the same in every run.
pub(crate) struct Numbers {
    bits: usize,
    random: fastrand::Rng,
}

impl Numbers {
    pub(crate) fn new(bits: u32) -> Self {
        let random = fastrand::Rng::with_seed(u64::from(bits));
        Self { bits: usize::try_from(bits).expect("at most 8192"), random }
    }

    /// Returns an odd number of exactly `bits` bits.
    pub(crate) fn modulus(&mut self) -> Vec<u64> {
        let mut m = self.below();
        let top = self.bits - 1;
        m.resize(top / 64 + 1, 0);
        m[top / 64] |= 1 << (top % 64);
        m[0] |= 1;
        m
    }

    /// Returns a number below half of any modulus of `bits` bits.
    pub(crate) fn below(&mut self) -> Vec<u64> {
        let bits = self.bits - 1;
        let mut x: Vec<u64> = (0..bits.div_ceil(64)).map(|_| self.random.u64(..)).collect();
        if !bits.is_multiple_of(64) {
            *x.last_mut().expect("at least 127 bits") &= (1 << (bits % 64)) - 1;
        }
        x
    }
}

fn packed<S: Scalar>(limbs: &[u64], shape: Shape) -> Vec<S> {
    let mut words = vec![S::default(); shape.k()];
    S::pack(&mut words, limbs);
    words
}

struct Chain<K: Kernel> {
    kernel: K,
    call: Call,
    m: Modulus<K::Word>,
    x: Vec<K::Word>,
    y: Vec<K::Word>,
    z: Vec<K::Word>,
    next: Vec<K::Word>,
    t: Vec<K::Word>,
    reduce: fn(&mut [K::Word], &Modulus<K::Word>),
}

impl<K: Kernel> Chain<K> {
    fn new(
        kernel: K,
        call: Call,
        m: &Modulus<K::Word>,
        x: &[K::Word],
        y: &[K::Word],
        reduce: fn(&mut [K::Word], &Modulus<K::Word>),
    ) -> Self {
        let words = |count| vec![K::Word::default(); count];
        Self {
            kernel,
            call,
            m: m.clone(),
            x: x.to_vec(),
            y: y.to_vec(),
            z: words(m.k()),
            next: words(m.k()),
            t: words(m.scratch_words()),
            reduce,
        }
    }

    /// Runs the chain from x and returns the last result, not reduced.
    fn run(&mut self) -> &[K::Word] {
        self.run_by(self.kernel)
    }

    fn run_by(&mut self, kernel: impl Kernel<Word = K::Word>) -> &[K::Word] {
        self.z.copy_from_slice(&self.x);
        for _ in 0..CALLS {
            match self.call {
                Call::Product => {
                    kernel.amm(&mut self.next, &self.z, &self.y, &self.m, &mut self.t);
                }
                Call::Square => kernel.ams(&mut self.next, &self.z, &self.m, &mut self.t),
            }
            core::mem::swap(&mut self.z, &mut self.next);
        }
        &self.z
    }

    /// Runs the chain and returns the last result reduced mod m.
    fn canonical(&mut self) -> Vec<K::Word> {
        let mut z = self.run().to_vec();
        (self.reduce)(&mut z, &self.m);
        z
    }
}

/// Runs the chain and checks the result. A kernel is deterministic. Therefore its first result must
/// be congruent to the model's, and all later results must equal the first.
fn run<K: Kernel + 'static>(mut chain: Chain<K>, mut model: Chain<K>) -> Run
where
    K::Word: PartialEq,
{
    let right = chain.canonical() == model.canonical();
    let first = chain.run().to_vec();
    Box::new(move || compare(right && chain.run() == first))
}

fn compare(is_right: bool) -> Result<(), CliError> {
    CliError::unless(is_right, "the product is not the model's")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_kernel_agrees_with_its_model_at_odd_sizes_too() {
        for bits in [128, 129, 512, 1000, 8192] {
            for call in [Call::Product, Call::Square] {
                for kernel in LimbKernel::all() {
                    limbs(kernel, call, bits)().unwrap();
                }
                for kernel in LaneKernel::all() {
                    lanes(kernel, call, bits)().unwrap();
                }
                for kernel in BlockKernel::all().into_iter().filter(|_| bits < 2048) {
                    blocks(kernel, call, bits)().unwrap();
                }
            }
        }
    }

    #[test]
    fn a_wrong_result_is_found() {
        let shape = Shape::limbs(512);
        let m = Modulus::<u64>::new(&Numbers::new(512).modulus(), shape).unwrap();
        let one = m.one().to_vec();
        let mut two = one.clone();
        carry::add_mod(&mut two, &one, &one, m.m());
        let chain = |x: &[u64]| Chain::new(LimbKernel::best(), Call::Product, &m, x, &one, reduce);
        assert!(run(chain(&one), chain(&one))().is_ok());
        assert!(run(chain(&one), chain(&two))().is_err());
    }
}
