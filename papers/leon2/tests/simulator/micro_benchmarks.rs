//! Cycles of short sequences, against the integer unit of the public LEON-2 VHDL.
//!
//! The figures were measured on that unit, simulated with memory without wait states, in five
//! configurations. A measurement is one sequence, or 16 repetitions of it, between two markers; the
//! markers' own cycles are subtracted. The figures are exact, and the tests compare them exactly.

use tollgate_leon2::timing::Geometry;
use tollgate_leon2::{Assembler, Ending, InstructionSet, Machine, Timing};

/// LEON-2 with its multipliers: 32x32, 32x16, 16x16, iterative; and 32x32 with the slower options
/// for loads and branches.
fn configurations() -> [Timing; 5] {
    let of = |geometry| Timing::leon2().with_multiplier(geometry);
    let mut slow = Timing::leon2();
    slow.interlocks.load_delay = 2;
    slow.interlocks.icc_hold = true;
    [
        of(Geometry::By32x32),
        of(Geometry::By32x16),
        of(Geometry::By16x16),
        of(Geometry::Iterative),
        slow,
    ]
}

/// Returns cycles from the first instruction of a body to the first after it.
fn cycles(timing: &Timing, body: &str) -> u64 {
    let set = InstructionSet::sparc();
    let source = format!(
        "set data, %l0
         nop
         nop
begin:   {body}
end:     ta 0
         .align 8
data:    .word 0x12345678, 0x9abcdef0, 0, 0"
    );
    let program = Assembler::new(&set).assemble(&source).unwrap();
    let (begin, end) = (program.symbols["begin"], program.symbols["end"]);
    let mut machine = Machine::new(set, timing.clone(), &program).unwrap();
    let mut count_to = |address| {
        assert_eq!(machine.run_to(address, 10_000), Ok(Ending::Reached));
        machine.cycles()
    };
    let start = count_to(begin);
    count_to(end) - start
}

#[test]
fn short_sequences_take_the_cycles_that_the_vhdl_takes() {
    let repeated = [
        ("1: nothing", "", [0; 5]),
        ("2: add", "add %o0, %o1, %o2", [16; 5]),
        ("3: ld, same destination", "ld [%l0], %o0", [16; 5]),
        ("4: ld, read at once", "ld [%l0], %o0; add %o0, 1, %o1", [48, 48, 48, 48, 64]),
        ("5: ld, read later", "ld [%l0], %o0; nop; add %o0, 1, %o1", [48, 48, 48, 48, 64]),
        ("6: ldd", "ldd [%l0], %o0", [32; 5]),
        ("7: st", "st %o0, [%l0 + 8]", [32; 5]),
        ("8: std", "std %o0, [%l0 + 8]", [48; 5]),
        ("9: ld, stored", "ld [%l0], %o0; st %o0, [%l0 + 8]", [48, 48, 48, 48, 64]),
        ("10: umul", "umul %o0, %o1, %o2", [16, 48, 80, 560, 16]),
        ("11: umul, read", "umul %o0, %o1, %o2; add %o2, 1, %o3", [32, 64, 96, 576, 32]),
        ("12: umul, rd %y", "umul %o0, %o1, %o2; rd %y, %o3", [32, 64, 96, 576, 32]),
        (
            "13: a product into three registers",
            "umul %o0, %o1, %o2; rd %y, %o3; addcc %l1, %o2, %l1; addxcc %l2, %o3, %l2
             addx %l3, 0, %l3",
            [80, 112, 144, 624, 112],
        ),
        ("14: be, taken", "cmp %g0, 0; be . + 8; nop", [48, 48, 48, 48, 64]),
        ("15: bne, not taken", "cmp %g0, 0; bne . + 8; nop", [48, 48, 48, 48, 64]),
        ("16: ba,a", "ba,a . + 8; nop", [32; 5]),
        ("18: call", "call . + 8; nop", [32; 5]),
        ("19: sethi, or", "sethi 5, %o0; or %o0, 5, %o0", [32; 5]),
        ("21: save, restore", "save; restore", [32; 5]),
        ("22: umulcc, addx", "umulcc %o0, %o1, %o2; addx %o3, 0, %o3", [48, 64, 96, 576, 48]),
        ("23: wr %y", "wr %o0, %y", [16; 5]),
    ];
    for (i, timing) in configurations().iter().enumerate() {
        for (name, body, expected) in repeated {
            assert_eq!(cycles(timing, &format!("{body}\n").repeat(16)), expected[i], "{name}, {i}");
        }
    }
}

#[test]
fn loops_calls_and_pairs_take_the_cycles_that_the_vhdl_takes() {
    let once = [
        (
            "17: a loop",
            "mov 16, %o0
             again: subcc %o0, 1, %o0; bne again; nop",
            [49, 49, 49, 49, 65],
        ),
        (
            "20: calls in a loop",
            "nop; nop; mov 16, %o0
             again: call leaf; nop; subcc %o0, 1, %o0; bne again; nop
             ba,a end; nop
             leaf: retl; nop",
            [131 + 2, 131 + 2, 131 + 2, 131 + 2, 147 + 2],
        ),
        (
            "24: a pair, multiplied and stored",
            "ldd [%l0], %o0; umul %o0, %o1, %o2; st %o2, [%l0 + 8]",
            [6, 8, 10, 39, 7],
        ),
        (
            "25: two products",
            "umul %o0, %o1, %o2; umul %o1, %o1, %o3; rd %y, %o4; st %o4, [%l0 + 8]",
            [5, 9, 13, 73, 5],
        ),
    ];
    for (i, timing) in configurations().iter().enumerate() {
        for (name, body, expected) in once {
            assert_eq!(cycles(timing, body), expected[i], "{name}, {i}");
        }
    }
}
