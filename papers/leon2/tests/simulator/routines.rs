//! Tests of the routines. Results are compared with `num-bigint`. Cycles are compared with figures
//! that the LEON-2 VHDL has confirmed.

use num_bigint::BigUint;
use sha2::{Digest, Sha256};
use tollgate_leon2::Timing;
use tollgate_leon2::routines::{
    Arithmetic, Exponentiation, Inputs, Loops, Number, Products, Routine,
};

fn big(number: &Number) -> BigUint {
    BigUint::new(number.words().to_vec())
}

/// Returns the expected result: a b / R mod p.
fn product(a: &Number, b: &Number, p: &Number) -> BigUint {
    let r = BigUint::from(1_u32) << (32 * p.words().len());
    big(a) * big(b) * r.modinv(&big(p)).unwrap() % big(p)
}

fn routines(words: u32) -> impl Iterator<Item = Routine> {
    let has = move |loops: &Loops| match loops {
        Loops::Unrolled(by) => words.is_multiple_of(*by),
        _ => true,
    };
    [Arithmetic::Plain, Arithmetic::Extended].into_iter().flat_map(move |arithmetic| {
        let all = Loops::ALL.into_iter().filter(has);
        all.map(move |loops| Routine { arithmetic, loops, words })
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
                let expected = product(&inputs.a, &inputs.b, &inputs.p);
                assert_eq!(big(&measured.result), expected, "{routine}, {words}");
            }
        }
    }
}

#[test]
fn the_golden_product_is_that_of_other_processors() {
    // The same program in C, with these numbers, ran on SPARC under two emulators and on RV64.
    let inputs = Inputs::patterned(32);
    for routine in routines(32) {
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

/// Cycles of FIPS as coefficients of n^2, n and 1: for V8, and for the extension with one slot.
/// They are in sixteenths, so that they are whole numbers.
const FORMS: [(Loops, [i64; 6]); 6] = [
    (Loops::Index, [320, 624, 192, 160, 640, 208]),
    (Loops::Unrolled(2), [272, 1264, -352, 144, 1248, -336]),
    (Loops::Unrolled(4), [248, 1312, -352, 120, 1296, -336]),
    (Loops::Unrolled(8), [236, 1336, -352, 108, 1320, -336]),
    (Loops::Unrolled(16), [230, 1348, -352, 102, 1332, -336]),
    (Loops::Full, [224, 496, 240, 96, 480, 256]),
];

#[test]
fn fips_takes_the_cycles_that_were_compared_with_the_vhdl() {
    for (loops, form) in FORMS {
        for words in [16, 32] {
            for (arithmetic, form) in
                [(Arithmetic::Plain, &form[..3]), (Arithmetic::Extended, &form[3..])]
            {
                let n = i64::from(words);
                let expected = (form[0] * n * n + form[1] * n + form[2]) / 16;
                let routine = Routine { arithmetic, loops, words };
                let measured =
                    routine.measure(&Timing::leon2(), &Inputs::patterned(words)).unwrap();
                assert_eq!(measured.counts.cycles.cast_signed(), expected, "{routine}, {words}");
            }
        }
    }
}

#[test]
fn slots_of_products_add_their_number_of_cycles() {
    // 2 n^2 + n products.
    for arithmetic in [Arithmetic::Plain, Arithmetic::Extended] {
        for loops in Loops::ALL {
            let routine = Routine { arithmetic, loops, words: 16 };
            let cycles = |slots| {
                let timing = Timing::leon2().with_products(slots);
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
        let multiply = Routine { arithmetic, loops: Loops::Unrolled(4), words };
        for window in 1..=6 {
            let exponentiation = Exponentiation { multiply, window };
            for exponent in &exponents {
                let run = |slots| {
                    let timing = Timing::leon2().with_products(slots);
                    exponentiation.run(&timing, [&base, exponent, &p]).unwrap()
                };
                let raised = run(1);
                let expected = big(&base).modpow(&big(exponent), &big(&p));
                assert_eq!(big(&raised.result), expected, "{window}, {}", big(exponent));
                // In the second run each multiplication of two words takes one more slot. A
                // Montgomery product has 2 n^2 + n of them. Each digit of the exponent needs one
                // more, to compute its position in the table.
                let products = Products::count(window, exponent);
                let slots = run(2).counts.cycles - raised.counts.cycles;
                assert_eq!(slots, products.total * 136 + products.digits, "{window}");
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
    let multiply = Routine { arithmetic: Arithmetic::Extended, loops: Loops::Unrolled(4), words };
    let exponentiation = Exponentiation { multiply, window: 5 };
    let raised = exponentiation.run(&Timing::leon2(), [&base, &exponent, &p]).unwrap();
    assert_eq!(big(&raised.result), big(&base).modpow(&big(&exponent), &big(&p)));
    let cycles = raised.counts.cycles;
    assert!((12_276_000..=12_524_000).contains(&cycles), "{cycles}");
    // Its Montgomery products, at 10251 cycles each, are 99 % of its cycles.
    let products = Products::count(5, &exponent).total * 10_251;
    assert!((products..products + products / 100).contains(&cycles), "{cycles}, {products}");
}
