//! Measures two kernels in turn.

use num_bigint::BigUint;
use tollgate_bench::{Contender, Error, SamplePlan, Series, Wrong, interleave};
use tollgate_mont::{Kernel, Word};

use crate::contract::{Layout, lane, modulus, operand, spread};

/// Calls in a run; its result is checked once.
const CALLS: u32 = 64;

/// Measures products and squares of `kernel`, then products and squares of `other`, with moduli of
/// `bits` bits and the given `plan`. These four are contenders 0 to 3 of the series, in this order.
/// Figures are per number.
///
/// # Errors
///
/// [`Error::Wrong`] if a result is wrong.
pub fn time<K, L>(kernel: K, other: L, bits: usize, plan: &SamplePlan) -> Result<Series, Error>
where
    K: Kernel<Word: Layout> + 'static,
    L: Kernel<Word: Layout> + 'static,
{
    let mut contenders: Vec<_> = [false, true].map(|square| calls(kernel, bits, square)).into();
    contenders.extend([false, true].map(|square| calls(other, bits, square)));
    interleave(&mut contenders, plan, &|| false, &mut |_| ())
}

/// Creates runs of products or squares of the same numbers.
fn calls<K: Kernel<Word: Layout> + 'static>(
    kernel: K,
    bits: usize,
    square: bool,
) -> Contender<'static> {
    let mut rng = fastrand::Rng::with_seed(18);
    let (shape, lanes) = (K::Word::shape(bits), K::Word::LANES);
    let k = shape.k();
    let moduli: Vec<_> = (0..lanes).map(|_| modulus(&mut rng, bits, 5)).collect();
    let mut draw = || moduli.iter().map(|m| operand(&mut rng, m, m, 5)).collect::<Vec<_>>();
    let (x, y) = (draw(), draw());
    let y = if square { x.clone() } else { y };
    let m = K::Word::load(shape, &moduli);
    let (xs, ys) = (spread::<K::Word>(&mut rng, k, &x), spread::<K::Word>(&mut rng, k, &y));
    let is_right = move |z: &[K::Word]| {
        let r = BigUint::from(1u8) << (K::Word::RADIX_BITS * k);
        (0..lanes).all(|l| (lane(z, l) * &r) % &moduli[l] == (&x[l] * &y[l]) % &moduli[l])
    };
    let (mut z, mut t) = (xs.clone(), vec![K::Word::default(); shape.scratch_words()]);
    // the first run is compared with slow integers, and later runs with the first
    let mut first: Option<Vec<K::Word>> = None;
    let name = if square { kernel.square_name() } else { kernel.name() };
    let numbers = CALLS * u32::try_from(lanes).expect("one or eight");
    Contender::new(name, numbers, move || {
        for _ in 0..CALLS {
            if square {
                kernel.ams(&mut z, core::hint::black_box(&xs), &m, &mut t);
            } else {
                kernel.amm(&mut z, core::hint::black_box(&xs), &ys, &m, &mut t);
            }
        }
        let right = match &first {
            Some(first) => {
                let same = |(a, b): (&K::Word, &K::Word)| {
                    (0..lanes).all(|lane| a.lane(lane) == b.lane(lane))
                };
                first.iter().zip(&z).all(same)
            }
            None => is_right(first.insert(z.clone())),
        };
        if right { Ok(()) } else { Err(Wrong::new(format!("a product of {bits} bits"))) }
    })
}
