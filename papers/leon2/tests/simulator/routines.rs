//! Tests of the routines. Results are compared with `num-bigint`. Cycles are compared with figures
//! that the LEON-2 VHDL has confirmed.

use num_bigint::BigUint;
use sha2::{Digest, Sha256};
use tollgate_leon2::Timing;
use tollgate_leon2::routines::{
    Algorithm, Arithmetic, Exponentiation, Inputs, Loops, Number, Routine, Window,
};
use tollgate_leon2::timing::Issue;

fn big(number: &Number) -> BigUint {
    BigUint::new(number.words().to_vec())
}

/// Returns the expected result: a b / R mod p.
fn product(a: &Number, b: &Number, p: &Number) -> BigUint {
    let r = BigUint::from(1_u32) << (32 * p.words().len());
    big(a) * big(b) * r.modinv(&big(p)).unwrap() % big(p)
}

fn routines(words: u32) -> impl Iterator<Item = Routine> {
    let algorithms = [Algorithm::Fips, Algorithm::Squaring];
    let arithmetics = [Arithmetic::Plain, Arithmetic::Extended];
    algorithms.into_iter().flat_map(move |algorithm| {
        arithmetics.into_iter().flat_map(move |arithmetic| {
            Loops::ALL
                .into_iter()
                .filter_map(move |loops| Routine::new(algorithm, arithmetic, loops, words).ok())
        })
    })
}

#[test]
fn every_routine_computes_its_product() {
    let mut random = fastrand::Rng::with_seed(3);
    for words in [4, 6, 8, 16, 32] {
        let mut inputs = vec![Inputs::patterned(words)];
        let fill = |word: u32| Number::new(vec![word; words as usize]);
        // Every column carries: p = 2^(32n) - 1, a = b = p - 1.
        let mut below = vec![u32::MAX; words as usize];
        below[0] = u32::MAX - 1;
        let below = Number::new(below);
        inputs.push(Inputs { a: below.clone(), b: below.clone(), p: fill(u32::MAX) });
        inputs.push(Inputs { a: fill(0), b: below, p: fill(u32::MAX) }); // nothing to subtract
        let mut random_below = |top: u32| {
            let mut words: Vec<u32> = (0..words).map(|_| random.u32(..)).collect();
            words[0] |= 1;
            *words.last_mut().unwrap() = top;
            Number::new(words)
        };
        let (a, b) = (random_below(0x7fff_ffff), random_below(1));
        inputs.push(Inputs { a, b, p: random_below(0x8000_0000) });
        for routine in routines(words) {
            for inputs in &inputs {
                let measured = routine.measure(&Timing::leon2(), inputs).unwrap();
                let b = match routine.algorithm() {
                    Algorithm::Squaring => &inputs.a,
                    _ => &inputs.b,
                };
                assert_eq!(
                    big(&measured.result),
                    product(&inputs.a, b, &inputs.p),
                    "{routine}, {words}"
                );
            }
        }
    }
}

#[test]
fn the_golden_product_is_that_of_other_processors() {
    // The same program in C, with these numbers, ran on SPARC under two emulators and on RV64.
    let inputs = Inputs::patterned(32);
    for routine in routines(32).filter(|it| it.algorithm() != Algorithm::Squaring) {
        let measured = routine.measure(&Timing::leon2(), &inputs).unwrap();
        let digits = format!("{:0256x}", big(&measured.result));
        assert!(digits.starts_with("61b9313fbe4f2927"), "{routine}: {digits}");
        assert_eq!(
            hex::encode(Sha256::digest(&digits)),
            "a2724b6f1da1d41324772a4b3942943f045b333dd038cf354748da68b85165ae",
            "{routine}"
        );
    }
}

#[test]
fn a_routine_may_overwrite_its_operands() {
    // z = a = b, as in a squaring in place: assembled by hand around the routine.
    use tollgate_leon2::{Assembler, Machine};
    for routine in routines(8) {
        let inputs = Inputs::patterned(8);
        let list = |n: &Number| n.words().iter().map(u32::to_string).collect::<Vec<_>>().join(",");
        let source = format!(
            "_start: set a, %o0; mov %o0, %o1; mov %o0, %o2; set p, %o3; call routine; nop; ta 0
             {}
             .align 8
             .word 8, {}
             p: .word {}
             .skip 64
             a: .word {}",
            routine.source("routine"),
            Number::n0(&inputs.p) & 0xffff_ffff,
            list(&inputs.p),
            list(&inputs.a)
        );
        let program = Assembler::new(&routine.instructions()).assemble(&source).unwrap();
        let mut machine = Machine::new(routine.instructions(), Timing::leon2(), &program).unwrap();
        machine.run(100_000).unwrap();
        let bytes = machine.memory().bytes(program.symbols["a"], 32).unwrap();
        let words = bytes.chunks(4).map(|c| u32::from_be_bytes(c.try_into().unwrap())).collect();
        let result = big(&Number::new(words));
        assert_eq!(result, product(&inputs.a, &inputs.a, &inputs.p), "{routine}");
    }
}

/// Cycles of FIPS as coefficients of n^2, n and 1: for V8, for the blocking extension with one
/// slot, and for the decoupled extension with two. They are in sixteenths, so that they are whole
/// numbers.
const FORMS: [(Loops, [i64; 9]); 7] = [
    (Loops::Index, [320, 39, 12, 160, 40, 13, 160, 44, 12]),
    (Loops::Pointers, [320, 45, 6, 192, 44, 7, 192, 47, 7]),
    (Loops::Unrolled(2), [272, 79, -22, 144, 78, -21, 160, 80, -21]),
    (Loops::Unrolled(4), [248, 82, -22, 120, 81, -21, 136, 83, -21]),
    (Loops::Unrolled(8), [236, 0, -22, 108, 0, -21, 124, 0, -21]), // 83.5, 82.5, 84.5
    (Loops::Unrolled(16), [230, 0, -22, 102, 0, -21, 118, 0, -21]), // 84.25, 83.25, 85.25
    (Loops::Full, [224, 31, 15, 96, 30, 16, 112, 33, 15]),
];

#[test]
fn fips_takes_the_cycles_that_were_compared_with_the_vhdl() {
    for (loops, form) in FORMS {
        for words in [16_u32, 32] {
            for (i, (arithmetic, issue, slots)) in [
                (Arithmetic::Plain, Issue::Blocking, 1),
                (Arithmetic::Extended, Issue::Blocking, 1),
                (Arithmetic::Extended, Issue::Decoupled, 2),
            ]
            .into_iter()
            .enumerate()
            {
                let n = i64::from(words);
                let linear = match loops {
                    Loops::Unrolled(8) => [1336, 1320, 1352][i] * n / 16,
                    Loops::Unrolled(16) => [1348, 1332, 1364][i] * n / 16,
                    _ => form[3 * i + 1] * n,
                };
                let expected = form[3 * i] * n * n / 16 + linear + form[3 * i + 2];
                let routine = Routine::new(Algorithm::Fips, arithmetic, loops, words).unwrap();
                let timing = Timing::leon2().with_products(slots, issue);
                let measured = routine.measure(&timing, &Inputs::patterned(words)).unwrap();
                assert_eq!(
                    measured.counts.cycles.cast_signed(),
                    expected,
                    "{routine}, {words} words, {slots} slots {issue:?}"
                );
            }
        }
    }
}

#[test]
fn slots_of_products_add_their_number_of_cycles() {
    // 2 n^2 + n products.
    for arithmetic in [Arithmetic::Plain, Arithmetic::Extended] {
        for loops in Loops::ALL {
            let routine = Routine::new(Algorithm::Fips, arithmetic, loops, 16).unwrap();
            let cycles = |slots| {
                let timing = Timing::leon2().with_products(slots, Issue::Blocking);
                routine.measure(&timing, &Inputs::patterned(16)).unwrap().counts.cycles
            };
            for slots in [2, 3, 5, 35] {
                assert_eq!(cycles(slots) - cycles(1), 528 * (u64::from(slots) - 1), "{routine}");
            }
        }
    }
}

#[test]
fn exponentiations_are_correct_and_take_the_counted_products() {
    let words = 8;
    let mut random = fastrand::Rng::with_seed(5);
    let Inputs { a: base, p, .. } = Inputs::patterned(words);
    let mut exponents =
        vec![Number::new(vec![1]), Number::new(vec![0, 1]), Number::new(vec![u32::MAX; 2])];
    exponents.push(Number::new((0..3).map(|_| random.u32(..)).collect()));
    for arithmetic in [Arithmetic::Plain, Arithmetic::Extended] {
        for separate in [false, true] {
            let of =
                |algorithm| Routine::new(algorithm, arithmetic, Loops::Unrolled(4), words).unwrap();
            let square = separate.then(|| of(Algorithm::Squaring));
            for bits in 1..=6 {
                for window in [Window::Fixed(bits), Window::Sliding(bits)] {
                    for exponent in &exponents {
                        let it = Exponentiation { multiply: of(Algorithm::Fips), square, window };
                        let run = |slots| {
                            let timing = Timing::leon2().with_products(slots, Issue::Blocking);
                            it.run(&timing, [&base, exponent, &p]).unwrap()
                        };
                        let raised = run(1);
                        let expected = big(&base).modpow(&big(exponent), &big(&p));
                        assert_eq!(big(&raised.result), expected, "{window}, {}", big(exponent));
                        if separate {
                            continue;
                        }
                        // In the second run each multiplication of two words takes one more slot. A
                        // Montgomery product has 2 n^2 + n of them. Each digit of the exponent
                        // needs one more, to compute its position in the table.
                        let products = window.products(exponent);
                        let digits = match window {
                            Window::Fixed(_) => u64::from(exponent.bits().div_ceil(bits)),
                            Window::Sliding(_) => products.multiplications + 1,
                        };
                        let slots = run(2).counts.cycles - raised.counts.cycles;
                        assert_eq!(slots, products.total() * 136 + digits, "{window}");
                    }
                }
            }
        }
    }
}

#[test]
fn a_1024_bit_exponentiation_takes_12_4_million_cycles() {
    let words = 32;
    let Inputs { a: base, b, p } = Inputs::patterned(words);
    // A random exponent with its highest bit set.
    let mut exponent = b.words().to_vec();
    exponent[31] |= 1 << 31;
    let exponent = Number::new(exponent);
    let multiply =
        Routine::new(Algorithm::Fips, Arithmetic::Extended, Loops::Unrolled(4), words).unwrap();
    let window = Window::Sliding(5);
    let it = Exponentiation { multiply, square: None, window };
    let raised = it.run(&Timing::leon2(), [&base, &exponent, &p]).unwrap();
    assert_eq!(big(&raised.result), big(&base).modpow(&big(&exponent), &big(&p)));
    assert_eq!(it.table_bytes(), 2048);
    let cycles = raised.counts.cycles;
    assert!((12_276_000..=12_524_000).contains(&cycles), "{cycles}");
    // Its Montgomery products, at 10251 cycles each, are 99 % of its cycles.
    let products = window.products(&exponent).total() * 10_251;
    assert!((products..products + products / 100).contains(&cycles), "{cycles}, {products}");
}
