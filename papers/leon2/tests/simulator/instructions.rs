//! Encodings: they are unambiguous and agree with other assemblers.

use tollgate_leon2::isa::{Cost, Icc, InstructionSet, Meaning, Row, Syntax, accumulate, sparc};
use tollgate_leon2::{Assembler, Ending, Machine, Timing};

/// Returns the word of a statement at 0x40000000.
fn word(statement: &str) -> u32 {
    let set = InstructionSet::with_accumulator();
    let program =
        Assembler::new(&set).assemble(statement).unwrap_or_else(|e| panic!("{statement}: {e}"));
    u32::from_be_bytes(program.segments[0].bytes[..4].try_into().unwrap())
}

#[test]
fn rows_do_not_overlap() {
    assert!(InstructionSet::new(&[sparc::ROWS, accumulate::ROWS]).is_ok());
    let twice = InstructionSet::new(&[sparc::ROWS, &sparc::ROWS[..1]]).unwrap_err();
    assert!(twice.to_string().contains("call"), "{twice}");
    for row in InstructionSet::with_accumulator().rows() {
        assert_eq!(row.bits & !row.mask, 0, "{} has fixed bits outside its mask", row.name);
    }
}

#[test]
fn a_word_that_decodes_encodes_to_itself() {
    let set = InstructionSet::with_accumulator();
    let mut random = fastrand::Rng::with_seed(1);
    let mut met = std::collections::HashSet::new();
    let rows: Vec<&Row> = set.rows().collect();
    for _ in 0..100_000 {
        // Try random words, and the fixed bits of each row with random other fields, which are
        // often zero.
        let row = rows[random.usize(..rows.len())];
        let sparse = random.u32(..) & random.u32(..);
        for word in
            [random.u32(..), row.bits | random.u32(..) & !row.mask, row.bits | sparse & !row.mask]
        {
            let Some(instruction) = set.decode(word) else { continue };
            met.insert((instruction.row.name, instruction.row.bits));
            assert_eq!(instruction.encode(), Ok(word), "{word:#010x}");
        }
    }
    let missed: Vec<_> =
        set.rows().filter(|row| !met.contains(&(row.name, row.bits))).map(|row| row.name).collect();
    assert!(missed.is_empty(), "never met: {missed:?}");
}

#[test]
fn the_text_of_an_instruction_assembles_to_the_same_word() {
    let set = InstructionSet::with_accumulator();
    let mut random = fastrand::Rng::with_seed(2);
    for row in set.rows() {
        let mut done = 0;
        while done < 30 {
            let sparse = random.u32(..) & random.u32(..) & random.u32(..);
            let bits = if done % 2 == 0 { random.u32(..) } else { sparse };
            let original = row.bits | bits & !row.mask;
            let Some(instruction) = set.decode(original) else {
                done += usize::from(random.u32(..16) == 0); // rows whose free bits must be zero
                continue;
            };
            let text = instruction.text(0x4000_0000);
            assert_eq!(word(&text), original, "{text}");
            done += 1;
        }
    }
}

#[test]
fn words_are_those_of_the_manual() {
    // Encoded by the GNU assembler with -Av8 -32. The extension's encodings are those of
    // README.md.
    for (text, expected) in [
        ("nop", 0x0100_0000),
        ("sethi %hi(0x12345678), %g1", 0x0304_8d15),
        ("add %g1, %g2, %g3", 0x8600_4002),
        ("add %g1, -1, %g3", 0x8600_7fff),
        ("umul %o0, %o1, %o2", 0x9452_0009),
        ("rd %y, %o3", 0x9740_0000),
        ("wr %g0, 5, %y", 0x8180_2005),
        ("ld [%o0 + 4], %o1", 0xd202_2004),
        ("ldd [%l0], %o0", 0xd01c_0000),
        ("st %o1, [%o0 + %o2]", 0xd222_000a),
        ("save %sp, -96, %sp", 0x9de3_bfa0),
        ("retl", 0x81c3_e008),
        ("ret", 0x81c7_e008),
        ("restore", 0x81e8_0000),
        ("be,a . + 8", 0x2280_0002),
        ("call . + 8", 0x4000_0002),
        ("ta 0x10", 0x91d0_2010),
        ("umac %g1, %g2", 0x81f0_4002),
        ("shacr %g1", 0x8360_2000),
        ("rdacc %g1", 0x8360_0000),
        ("addac %g1", 0x8168_4000),
        ("clracc", 0xa780_2000),
    ] {
        assert_eq!(word(text), expected, "{text}: {:#010x}", word(text));
    }
}

#[test]
fn the_base_does_not_decode_the_extension() {
    for row in accumulate::ROWS {
        assert!(InstructionSet::sparc().decode(row.bits).is_none(), "{}", row.name);
    }
}

#[test]
fn leon_s_own_multiply_accumulate_overlaps_the_extension() {
    // umac rs1, rs2, rd of 16 by 16 bits: `95f60016` is umac %i0, %l6, %o2.
    static LEON: &[Row] = &[Row {
        name: "umac",
        mask: 0xc1f8_0000,
        bits: 0x81f0_0000,
        syntax: Syntax::Three,
        cost: Cost::Accumulate,
        icc: Icc::None,
        meaning: Meaning::Custom(|_, _, _| 0),
        says: "in another processor's table",
    }];
    assert!(InstructionSet::new(&[sparc::ROWS, LEON]).unwrap().decode(0x95f6_0016).is_some());
    assert!(InstructionSet::new(&[sparc::ROWS, accumulate::ROWS, LEON]).is_err());
    assert!(InstructionSet::with_accumulator().decode(0x95f6_0016).is_none());
}

#[test]
fn an_instruction_is_added_with_a_row() {
    // This table is the example in README.md.
    static ROWS: &[Row] = &[Row {
        name: "popc",
        mask: 0xc1f8_2000,
        bits: 0x8170_0000, // op3 0x2e, where SPARC V9 has it too
        syntax: Syntax::Three,
        cost: Cost::Alu,
        icc: Icc::None,
        meaning: Meaning::Custom(|_, a, b| (a & b).count_ones()),
        says: "rd := ones of rs1 and rs2",
    }];
    let set = InstructionSet::new(&[sparc::ROWS, ROWS]).unwrap();
    let source = "set 0xf0f0f0f0, %o1; mov -1, %o2; popc %o1, %o2, %o0; ta 0";
    let program = Assembler::new(&set).assemble(source).unwrap();
    let mut machine = Machine::new(set, Timing::leon2(), &program).unwrap();
    assert_eq!(machine.run(100), Ok(Ending::Exit(16)));
}
