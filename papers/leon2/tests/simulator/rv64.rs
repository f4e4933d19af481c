//! Tests of RV64: products, and their instructions beside Spike's count.

use num_bigint::BigUint;
use tollgate_leon2::routines::{Inputs, Number};
use tollgate_leon2::rv64::{Product, Source};

/// Returns the instructions of a product of random numbers, whose result is checked.
fn multiply(source: Source, words: u32, seed: u64) -> u64 {
    let mut random = fastrand::Rng::with_seed(seed);
    let mut number = |top: u32, lowest_bit: u32| {
        let mut all: Vec<u32> = (0..2 * words).map(|_| random.u32(..)).collect();
        all[0] |= lowest_bit;
        *all.last_mut().unwrap() = top;
        Number::new(all)
    };
    let inputs = Inputs { a: number(3, 0), b: number(u32::MAX >> 1, 0), p: number(u32::MAX, 1) };
    let (instructions, result) = Product::new(source, words).measure(&inputs);
    let big = |number: &Number| BigUint::new(number.words().to_vec());
    let (p, r) = (big(&inputs.p), BigUint::from(1_u32) << (64 * words));
    let expected = big(&inputs.a) * big(&inputs.b) * r.modinv(&p).unwrap() % &p;
    let result = big(&result);
    assert!(result == expected || result == expected + p, "{source:?}, {words}");
    instructions
}

#[test]
fn products_are_correct_and_take_the_instructions_that_spike_counted() {
    for words in [1, 2, 4, 8, 16, 32] {
        let n = u64::from(words);
        for seed in 0..4 {
            let base = multiply(Source::Base, words, seed);
            let extended = multiply(Source::Extended, words, seed);
            // Some instructions are outside of the columns: three clear words, one stores the word
            // above the highest, and one is ecall. Spike's figures include a read of its counter,
            // and the exact ends of its run are unknown. The terms in n^2 and n agree.
            assert_eq!(base - 4, 20 * n * n + 8 * n - 2);
            assert_eq!(extended - 4, 12 * n * n + 8 * n - 2);
        }
    }
    assert_eq!(multiply(Source::Base, 16, 0) - 4, 5246);
    assert_eq!(multiply(Source::Extended, 16, 0) - 4, 3198);
}

#[test]
fn the_golden_product_is_correct_on_rv64() {
    let inputs = Inputs::patterned(32);
    let p = BigUint::new(inputs.p.words().to_vec());
    for source in [Source::Base, Source::Extended] {
        let (_, result) = Product::new(source, 16).measure(&inputs);
        let result = BigUint::new(result.words().to_vec()) % &p;
        let digits = format!("{result:0256x}");
        assert!(digits.starts_with("61b9313fbe4f2927"), "{digits}");
        assert!(digits.ends_with("cbdd188826c76b56"), "{digits}");
    }
}
