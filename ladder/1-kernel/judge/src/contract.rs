//! Checks of the kernels' contract: random and patterned operands, each lane alone, compared with
//! `num-bigint`. Tests call them directly; a wrong result panics.

#![allow(clippy::unwrap_used, clippy::missing_panics_doc, reason = "checks panic, as tests do")]

use num_bigint::BigUint;
use tollgate_mont::{Digit, Exponentiate, Kernel, Modulus, Pair, Place, Row, Scalar, Shape, Word};

/// Returns the number with these limbs or digits.
pub fn number<S: Scalar>(x: &[S]) -> BigUint {
    x.iter().rev().fold(BigUint::ZERO, |a, x| (a << S::BITS) + x.bits())
}

/// Returns the `n` limbs of a number.
pub fn limbs(x: &BigUint, n: usize) -> Vec<u64> {
    let mut v = x.to_u64_digits();
    assert!(v.len() <= n, "{} limbs, not {n}", v.len());
    v.resize(n, 0);
    v
}

/// Returns the number in a lane.
pub fn lane<W: Word>(x: &[W], lane: usize) -> BigUint {
    let x: Vec<_> = x.iter().map(|w| W::Scalar::from_bits(w.lane(lane))).collect();
    number(&x)
}

/// Returns a number whose digits carry in every column, in none, or in runs; `kind` selects the
/// pattern.
pub fn pattern(rng: &mut fastrand::Rng, bits: usize, kind: usize) -> BigUint {
    let ones = (BigUint::from(1u8) << bits) - 1u8;
    let mut random = || (0..bits.div_ceil(32)).map(|_| rng.u32(..)).collect::<Vec<_>>();
    match kind {
        0 => BigUint::ZERO,
        1 => ones, // every digit is 2^52 - 1
        2 => BigUint::from(1u8),
        3 => BigUint::from(1u8) << (bits - 1), // only the top digit
        4 => BigUint::new(random().into_iter().map(|w| (w & 1).wrapping_neg()).collect()) & ones,
        _ => BigUint::new(random()) & ones,
    }
}

/// Returns an odd modulus of exactly `bits` bits.
pub fn modulus(rng: &mut fastrand::Rng, bits: usize, kind: usize) -> BigUint {
    pattern(rng, bits, kind) | BigUint::from(1u8) | (BigUint::from(1u8) << (bits - 1))
}

/// Returns an operand below `bound`: a patterned number, a number at the bound, or a number near m.
pub fn operand(rng: &mut fastrand::Rng, m: &BigUint, bound: &BigUint, kind: usize) -> BigUint {
    let x = match kind % 10 {
        6 => m - 1u8,
        7 => m.clone(),
        8 => m * 2u8 - 1u8,
        9 => bound - 1u8,
        kind => pattern(rng, usize::try_from(bound.bits()).unwrap(), kind),
    };
    x % bound
}

/// Word types of kernels that can be checked: their layout, bounds, and random bits above a digit.
pub trait Layout: Word {
    /// The size of a limb or digit in bits.
    const RADIX_BITS: usize;
    /// Returns the shape for a modulus of `bits` bits.
    fn shape(bits: usize) -> Shape;
    /// Loads a modulus per lane.
    fn load(shape: Shape, moduli: &[BigUint]) -> Modulus<Self>;
    /// Loads two moduli per lane.
    fn load_pair(shape: Shape, p: &[BigUint], q: &[BigUint]) -> Pair<Self>;
    /// Returns the exclusive bound of operands.
    fn operand_bound(m: &BigUint, k: usize) -> BigUint;
    /// Returns random bits above a digit, which a kernel must ignore.
    fn dirt(rng: &mut fastrand::Rng) -> u64;
}

impl Layout for u64 {
    const RADIX_BITS: usize = 64;
    fn shape(bits: usize) -> Shape {
        Shape::limbs(bits)
    }
    fn load(shape: Shape, moduli: &[BigUint]) -> Modulus<Self> {
        Modulus::new(&moduli[0].to_u64_digits(), shape).unwrap()
    }
    fn load_pair(shape: Shape, p: &[BigUint], q: &[BigUint]) -> Pair<Self> {
        Pair::new(Self::load(shape, p), Self::load(shape, q))
    }
    fn operand_bound(_: &BigUint, k: usize) -> BigUint {
        BigUint::from(1u8) << (64 * k)
    }
    fn dirt(_: &mut fastrand::Rng) -> u64 {
        0
    }
}

impl Layout for Row {
    const RADIX_BITS: usize = 52;
    fn shape(bits: usize) -> Shape {
        Shape::digits(bits)
    }
    fn load(shape: Shape, moduli: &[BigUint]) -> Modulus<Self> {
        let mut lanes = Modulus::lanes(shape);
        for (lane, m) in moduli.iter().enumerate() {
            lanes.load(
                Place::Lane(lane),
                &Modulus::<Digit>::new(&m.to_u64_digits(), shape).unwrap(),
            );
        }
        lanes
    }
    fn load_pair(shape: Shape, p: &[BigUint], q: &[BigUint]) -> Pair<Self> {
        let mut pair = Pair::lanes(shape);
        for (lanes, moduli) in pair.each_mut().into_iter().zip([p, q]) {
            *lanes = Self::load(shape, moduli);
        }
        pair
    }
    fn operand_bound(m: &BigUint, _: usize) -> BigUint {
        m * 8u8
    }
    fn dirt(rng: &mut fastrand::Rng) -> u64 {
        rng.u64(..) << 52
    }
}

/// Returns the words of one number per lane, K digits each, with random bits above the digits.
pub fn spread<W: Layout>(rng: &mut fastrand::Rng, k: usize, x: &[BigUint]) -> Vec<W> {
    let mut z = vec![W::default(); k];
    for (l, x) in x.iter().enumerate() {
        let mut scalars = vec![W::Scalar::default(); k];
        Scalar::pack(&mut scalars, &limbs(x, (W::RADIX_BITS * k).div_ceil(64)));
        for (z, s) in z.iter_mut().zip(&scalars) {
            z.set_lane(l, s.bits() | W::dirt(rng));
        }
    }
    z
}

/// Checks products and squares of one size; returns the number of checked results.
pub fn products<K: Kernel<Word: Layout>>(
    kernel: K,
    bits: usize,
    rounds: usize,
    seed: u64,
) -> usize {
    let mut rng = fastrand::Rng::with_seed(seed ^ bits as u64);
    let (lanes, shape) = (K::Word::LANES, K::Word::shape(bits));
    let (k, r) = (shape.k(), BigUint::from(1u8) << (K::Word::RADIX_BITS * shape.k()));
    let mut t = vec![K::Word::splat(rng.u64(..)); shape.scratch_words()]; // must be ignored
    let (mut z, mut checked) = (vec![K::Word::splat(rng.u64(..)); k], 0);
    for round in 0..rounds {
        // lanes have different sizes: a lane's modulus may be far shorter than the shape
        let moduli: Vec<_> = (0..lanes)
            .map(|l| if l == 5 && bits > 400 { bits / 2 } else { bits })
            .map(|bits| modulus(&mut rng, bits, round % 7))
            .collect();
        let m = K::Word::load(shape, &moduli);
        for pair in 0..10 {
            let mut draw = |salt: usize| -> Vec<BigUint> {
                let kind = |l: usize| {
                    if pair < 5 { (pair + l + salt) % 10 } else { 5 + 5 * (l % 2) }
                };
                let bound = |l: usize| K::Word::operand_bound(&moduli[l], k);
                (0..lanes).map(|l| operand(&mut rng, &moduli[l], &bound(l), kind(l))).collect()
            };
            let (x, y) = (draw(round), draw(round / 2));
            let (xs, ys) = (spread::<K::Word>(&mut rng, k, &x), spread::<K::Word>(&mut rng, k, &y));
            for square in [false, true] {
                let y = if square { &x } else { &y };
                if square {
                    kernel.ams(&mut z, &xs, &m, &mut t);
                } else {
                    kernel.amm(&mut z, &xs, &ys, &m, &mut t);
                }
                for l in 0..lanes {
                    let (z, m, xy) = (lane(&z, l), &moduli[l], &x[l] * &y[l]);
                    let name = if square { kernel.square_name() } else { kernel.name() };
                    assert_eq!(&z * &r % m, &xy % m, "{name} {bits} bits: lane {l} is wrong");
                    // squares of digits guarantee the bound only for operands below 7m
                    let is_digits = K::Word::RADIX_BITS == 52;
                    let is_bound = xy <= &r * m && !(is_digits && square && xy >= m * m * 49u8);
                    assert!(!is_bound || z < m * 3u8, "{name} {bits} bits: lane {l} is too large");
                    checked += 1;
                }
            }
        }
    }
    checked
}

/// Returns `short`, or a hundred times as many rounds if `TOLLGATE_TEST_LONG` is set.
pub fn rounds(short: usize) -> usize {
    if std::env::var_os("TOLLGATE_TEST_LONG").is_some() { short * 100 } else { short }
}

/// Checks selection for each number of entries and of words, with indices inside and beyond the
/// table.
pub fn selects_of<K: Kernel>(kernel: K, sizes: &[(usize, usize)]) {
    for &(entries, k) in sizes {
        let word = |i: usize| {
            let mut w = K::Word::default();
            (0..K::Word::LANES).for_each(|l| w.set_lane(l, (100 * i + l) as u64));
            w
        };
        let table: Vec<_> = (0..entries * k).map(word).collect();
        for start in 0..entries + 2 {
            let mut index = K::Word::default();
            (0..K::Word::LANES).for_each(|l| index.set_lane(l, (start + 3 * l) as u64));
            let mut z = vec![K::Word::splat(7); k];
            kernel.select(&mut z, &table, index);
            for l in 0..K::Word::LANES {
                let entry = start + 3 * l;
                for j in 0..k {
                    let want = if entry < entries { (100 * (entry * k + j) + l) as u64 } else { 0 };
                    assert_eq!(
                        z[j].lane(l),
                        want,
                        "entry {entry} of {entries}, word {j}, lane {l}"
                    );
                }
            }
        }
    }
}

/// Checks x^e for exponents e of `e_bits` bits. It checks secret and public exponents, with one
/// modulus and with two. Each lane has a different e.
pub fn exponentiation<K: Exponentiate<Word: Layout>>(kernel: K, bits: usize, e_bits: usize) {
    let mut rng = fastrand::Rng::with_seed((bits * 7919 + e_bits) as u64);
    let (lanes, shape, name) = (K::Word::LANES, K::Word::shape(bits), kernel.name());
    let k = shape.k();
    let p: Vec<_> = (0..lanes).map(|_| modulus(&mut rng, bits, 5)).collect();
    let q: Vec<_> = (0..lanes).map(|l| modulus(&mut rng, bits - l % 2, 5)).collect();
    let pair = K::Word::load_pair(shape, &p, &q);
    let mut t = vec![K::Word::splat(5); kernel.exp_words(shape, e_bits)]; // garbage
    let words = e_bits.div_ceil(64);
    let mut e_rng = rng.fork();
    let mut exponents = |salt: usize| -> (Vec<BigUint>, Vec<K::Word>) {
        // 0, 1, all ones and random
        let kind = |l: usize| [5, 0, 2, 1, 5, 5, 5, 5][(l + salt) % 8];
        let e: Vec<_> = (0..lanes).map(|l| pattern(&mut e_rng, e_bits, kind(l))).collect();
        let mut z = vec![K::Word::default(); words];
        for l in 0..lanes {
            z.iter_mut().zip(&limbs(&e[l], words)).for_each(|(z, &e)| z.set_lane(l, e));
        }
        (e, z)
    };
    for salt in 0..4 {
        let ((e_p, es_p), (e_q, es_q)) = (exponents(salt), exponents(salt + 2));
        // below p * q, which is twice as long as a modulus; at the bounds and random
        let x: Vec<_> = (0..lanes)
            .map(|l| match (l + salt) % 4 {
                0 => &p[l] * &q[l] - 1u8,
                1 => &p[l] * 3u8, // a multiple of p
                _ => (&p[l] * &q[l]) >> (l + 1),
            })
            .collect();
        let xs = spread::<K::Word>(&mut rng, 2 * k, &x);
        let (mut z_p, mut z_q) = (vec![K::Word::splat(6); k], vec![K::Word::splat(6); k]);
        let check = |z: &[K::Word], e: &[BigUint], m: &[BigUint], what: &str| {
            for l in 0..lanes {
                let want = x[l].modpow(&e[l], &m[l]);
                assert_eq!(lane(z, l), want, "{name} {bits} bits {what}: lane {l}");
            }
        };
        kernel.exp(pair.p(), e_bits, &xs, &es_p, &mut z_p, &mut t);
        check(&z_p, &e_p, &p, "secret exponent");
        z_p.fill(K::Word::splat(7));
        kernel.exp_pair(&pair, e_bits, &xs, [&es_p, &es_q], [&mut z_p, &mut z_q], &mut t);
        check(&z_p, &e_p, &p, "modulo p");
        check(&z_q, &e_q, &q, "modulo q");
        let x: Vec<_> = x.iter().zip(&p).map(|(x, p)| x % p).collect();
        let odd: Vec<_> = es_p.iter().map(|e| e.zip(*e, |e, _| e | 1)).collect();
        let odd = if words == 1 { odd } else { [&odd[..1], &es_p[1..]].concat() };
        let e: Vec<_> = e_p.iter().map(|e| e | BigUint::from(1u8)).collect();
        kernel.exp_vartime(pair.p(), &spread::<K::Word>(&mut rng, k, &x), &odd, &mut z_p, &mut t);
        for l in 0..lanes {
            let want = x[l].modpow(&e[l], &p[l]);
            assert_eq!(lane(&z_p, l), want, "{name} {bits} bits public exponent: lane {l}");
        }
    }
}
