//! Tests of RV64. Encodings are compared with published ones, and the instructions of a product
//! with Spike's count.

use num_bigint::BigUint;
use tollgate_leon2::routines::{Inputs, Number};
use tollgate_leon2::rv64::{
    BASE, Core, Operands, PRODUCTS, Product, Row, Run, Source, Stopped, decode, encode,
};

fn row(name: &str) -> &'static Row {
    BASE.iter().chain(PRODUCTS).find(|row| row.name == name).unwrap()
}

#[test]
fn rows_do_not_overlap_and_decode_to_themselves() {
    let rows: Vec<&Row> = BASE.iter().chain(PRODUCTS).collect();
    for (i, row) in rows.iter().enumerate() {
        assert_eq!(row.bits & !row.mask, 0, "{}", row.name);
        for other in &rows[..i] {
            let common = row.mask & other.mask;
            assert_ne!((row.bits ^ other.bits) & common, 0, "{} and {}", row.name, other.name);
        }
    }
    let mut random = fastrand::Rng::with_seed(7);
    for _ in 0..50_000 {
        let row = rows[random.usize(..rows.len())];
        let word = row.bits | random.u32(..) & !row.mask;
        let (found, operands) = decode(&[BASE, PRODUCTS], word).unwrap();
        assert_eq!(found.name, row.name);
        assert_eq!(encode(row, operands), Some(word), "{}", row.name);
    }
}

#[test]
fn words_are_the_published_ones() {
    let four = Operands { rd: 10, rs1: 11, rs2: 12, rs3: 13, constant: 0 };
    for (name, word) in [("maddlu", 0x68c5_f57b), ("maddhu", 0x6ac5_f57b), ("cadd", 0x6cc5_f57b)] {
        assert_eq!(encode(row(name), four), Some(word), "{name}");
    }
    // By GNU's assembler.
    for (name, operands, word) in [
        ("add", Operands { rd: 10, rs1: 11, rs2: 12, ..Operands::default() }, 0x00c5_8533),
        ("ld", Operands { rd: 10, rs1: 11, constant: -8, ..Operands::default() }, 0xff85_b503),
        ("sd", Operands { rs1: 11, rs2: 12, constant: 40, ..Operands::default() }, 0x02c5_b423),
        ("bne", Operands { rs1: 10, rs2: 0, constant: -4, ..Operands::default() }, 0xfe05_1ee3),
        ("jal", Operands { rd: 1, constant: 2048, ..Operands::default() }, 0x0010_00ef),
        ("srai", Operands { rd: 10, rs1: 11, constant: 63, ..Operands::default() }, 0x43f5_d513),
    ] {
        assert_eq!(encode(row(name), operands), Some(word), "{name}");
    }
}

/// Returns the counts of a product of random numbers, whose result is checked.
fn multiply(source: Source, words: u32, seed: u64) -> Run {
    let mut random = fastrand::Rng::with_seed(seed);
    let mut number = |top: u32, lowest_bit: u32| {
        let mut all: Vec<u32> = (0..2 * words).map(|_| random.u32(..)).collect();
        all[0] |= lowest_bit;
        *all.last_mut().unwrap() = top;
        Number::new(all)
    };
    let inputs = Inputs { a: number(3, 0), b: number(u32::MAX >> 1, 0), p: number(u32::MAX, 1) };
    let measured = Product::new(source, words).measure(&inputs).unwrap();
    let big = |number: &Number| BigUint::new(number.words().to_vec());
    let (p, r) = (big(&inputs.p), BigUint::from(1_u32) << (64 * words));
    let expected = big(&inputs.a) * big(&inputs.b) * r.modinv(&p).unwrap() % &p;
    let result = big(&measured.result);
    assert!(result == expected || result == expected + p, "{source:?}, {words}");
    measured.run
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
            assert_eq!(base.instructions - 4, 20 * n * n + 8 * n - 2);
            assert_eq!(extended.instructions - 4, 12 * n * n + 8 * n - 2);
            assert_eq!(base.products, 4 * n * n + n);
        }
    }
    assert_eq!(multiply(Source::Base, 16, 0).instructions - 4, 5246);
    assert_eq!(multiply(Source::Extended, 16, 0).instructions - 4, 3198);
}

#[test]
fn slots_are_instructions_and_waits() {
    let run = multiply(Source::Extended, 16, 1);
    assert_eq!(run.slots(1), run.instructions + run.waits);
    assert_eq!(run.slots(4), run.slots(1) + 3 * run.products);
    // The second load of each pair is read by the next instruction, and so is the load of the
    // lowest word of p.
    assert_eq!(run.waits, 2 * 16 * 16);
}

#[test]
fn a_core_that_stops_says_why() {
    let mut core = Core::new(&[BASE], &[0xffff_ffff], 4);
    assert_eq!(core.run(10), Err(Stopped::NoInstruction(0)));
    let load = encode(row("ld"), Operands { rd: 1, constant: 4, ..Operands::default() }).unwrap();
    assert_eq!(Core::new(&[BASE], &[load], 64).run(10), Err(Stopped::BadAddress(4, 0)));
    let forever = encode(row("jal"), Operands::default()).unwrap();
    assert_eq!(Core::new(&[BASE], &[forever], 64).run(10), Err(Stopped::Limit));
    let three = encode(row("cadd"), Operands::default()).unwrap();
    assert_eq!(Core::new(&[BASE], &[three], 64).run(10), Err(Stopped::NoInstruction(0)));
}

#[test]
fn the_golden_product_is_correct_on_rv64() {
    let inputs = Inputs::patterned(32);
    let p = BigUint::new(inputs.p.words().to_vec());
    for source in [Source::Base, Source::Extended] {
        let measured = Product::new(source, 16).measure(&inputs).unwrap();
        let result = BigUint::new(measured.result.words().to_vec()) % &p;
        let digits = format!("{result:0256x}");
        assert!(digits.starts_with("61b9313fbe4f2927"), "{digits}");
        assert!(digits.ends_with("cbdd188826c76b56"), "{digits}");
    }
}
