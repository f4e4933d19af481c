//! A Montgomery product by rows: CIOS.
//!
//! Row i adds `a b_i` to t, then `m_i p`, where `m_i` makes the lowest word zero, and drops that
//! word. t is at m; its words n and n + 1 are `%l5` and `%l6`. The carry from word to word is in
//! `%g1`, or in the extension's accumulator.

use super::text::{Text, register as r};
use super::{Arithmetic, Loops, Routine};

pub(super) fn write(text: &mut Text, routine: &Routine) {
    let Routine { loops, words, .. } = *routine;
    if text.arithmetic == Arithmetic::Extended {
        text.add("clracc");
    }
    text.add("sub %l0, 4, %l7; sub %i4, 4, %g3; clr %l5; clr %l2");
    text.add("@clear: st %g0, [%i4 + %l2]; cmp %l2, %l7; bne @clear; add %l2, 4, %l2");
    if loops == Loops::Full {
        for i in 0..words {
            text.add(format!("ld [%i2 + {}], %o2", 4 * i));
            row(text, routine);
        }
    } else {
        text.add("clr %l2; @row: ld [%i2 + %l2], %o2");
        row(text, routine);
        text.add("cmp %l2, %l7; bne @row; add %l2, 4, %l2");
    }
    text.add(format!("mov %l5, {}", r::REST));
}

/// `t := (t + a b_i + m_i p) / 2^32`, `b_i` in `%o2`.
fn row(text: &mut Text, routine: &Routine) {
    let Routine { loops, words, .. } = *routine;
    let extended = text.arithmetic == Arithmetic::Extended;
    if !extended {
        text.add("clr %g1");
    }
    match loops {
        Loops::Full => (0..words).for_each(|j| word(text, r::A, 4 * j, 4 * j)),
        Loops::Unrolled(by) => {
            text.add("mov %i1, %l3; mov %i4, %l4; add %i1, %l0, %g4");
            blocks(text, "product", by, 0);
        }
        _ => {
            text.add("clr %l3");
            rolled(text, "product", r::A, "%i4");
        }
    }
    text.add(if extended {
        "addac %l5; shacr %l5; shacr %l6
         ld [%i4], %o0; ld [%i3], %o1; umul %o0, %l1, %o2
         umac %o2, %o1; addac %o0; shacr %g0"
    } else {
        "addcc %l5, %g1, %l5; addx %g0, 0, %l6
         ld [%i4], %o1; ld [%i3], %o0; umul %o1, %l1, %o2
         umul %o0, %o2, %o3; rd %y, %g1; addcc %o3, %o1, %g0; addx %g1, 0, %g1"
    });
    match loops {
        Loops::Full => (1..words).for_each(|j| word(text, r::P, 4 * j, 4 * j - 4)),
        Loops::Unrolled(by) => reduction_blocks(text, by),
        _ => {
            text.add("mov 4, %l3");
            rolled(text, "reduction", r::P, "%g3");
        }
    }
    text.add(if extended {
        "addac %l5; shacr %o0; st %o0, [%i4 + %l7]; addac %l6; shacr %l5"
    } else {
        "addcc %l5, %g1, %o0; st %o0, [%i4 + %l7]; addx %l6, 0, %l5"
    });
}

/// Writes the reduction: words 1 to U - 1, then blocks of U.
fn reduction_blocks(text: &mut Text, by: u32) {
    (1..by).for_each(|j| word(text, r::P, 4 * j, 4 * j - 4));
    let bytes = 4 * by;
    text.add(format!("cmp %l0, {bytes}; be @reduced; add %i3, {bytes}, %l3"));
    text.add(format!("add %i4, {bytes}, %l4; add %i3, %l0, %g4"));
    blocks(text, "reduction", by, 4);
    text.add("@reduced:");
}

/// Writes the loop over words of a number from `%l3` to `%g4`; t is read at `%l4` and stored `down`
/// bytes lower.
fn blocks(text: &mut Text, name: &str, by: u32, down: u32) {
    text.add(format!("@{name}:"));
    for t in 0..by {
        let (from, to) = (4 * t, (4 * t).cast_signed() - down.cast_signed());
        step(text, &format!("%l3 + {from}"), &format!("%l4 + {from}"), &format!("%l4 {to:+}"));
    }
    let bytes = 4 * by;
    text.add(format!("add %l3, {bytes}, %l3; cmp %l3, %g4; bne @{name}; add %l4, {bytes}, %l4"));
}

/// Writes the loop over words from offset `%l3` on; t is stored at `to`.
fn rolled(text: &mut Text, name: &str, number: &str, to: &str) {
    text.add(format!("@{name}:"));
    step(text, &format!("{number} + %l3"), "%i4 + %l3", &format!("{to} + %l3"));
    text.add(format!("cmp %l3, %l7; bne @{name}; add %l3, 4, %l3"));
}

/// Writes the step for a word at a known offset.
fn word(text: &mut Text, number: &str, from: u32, to: u32) {
    let (number, t) = (format!("{number} + {from}"), format!("%i4 + {from}"));
    step(text, &number, &t, &format!("%i4 + {to}"));
}

/// Adds a word of a number times `%o2`, a word of t and the carry.
fn step(text: &mut Text, number: &str, t: &str, to: &str) {
    text.add(format!("ld [{number}], %o0; ld [{t}], %o1"));
    text.add(match text.arithmetic {
        Arithmetic::Extended => "umac %o0, %o2; addac %o1; shacr %o3",
        Arithmetic::Plain => {
            "umul %o0, %o2, %o3; rd %y, %o4; addcc %o3, %o1, %o3; addx %o4, 0, %o4
             addcc %o3, %g1, %o3; addx %o4, 0, %g1"
        }
    });
    text.add(format!("st %o3, [{to}]"));
}
