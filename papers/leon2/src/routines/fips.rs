//! A Montgomery product by columns: FIPS. [`Columns`] describes the columns.

use super::columns::Columns;
use super::text::{Text, register as r};
use super::{Arithmetic, Loops, Routine};

/// The lower or the upper columns.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Half {
    Lower,
    Upper,
}

pub(super) fn write(text: &mut Text, routine: &Routine) {
    clear(text);
    if routine.loops == Loops::Full {
        return text.columns(routine.words);
    }
    text.add("sub %l0, 4, %l7; clr %l2");
    text.add(match routine.loops {
        Loops::Index => "@lower: orcc %l2, %g0, %l4",
        _ => "@lower: tst %l2",
    });
    text.add("be @quotient");
    columns(text, routine, Half::Lower);
    text.add("@quotient:");
    quotient(text, "+ %l2");
    next_column(text, "lower");

    text.add("mov 4, %l2; @upper:");
    columns(text, routine, Half::Upper);
    result_word(text, "+ %g5");
    next_column(text, "upper");
    last_words(text, "+ %l7");
}

/// Writes the end of the loop over columns.
fn next_column(text: &mut Text, half: &str) {
    text.add(format!("add %l2, 4, %l2; cmp %l2, %l0; bne @{half}; nop"));
}

/// Writes the loop over the pairs of a column. In the lower half, the first instruction of the loop
/// fills the delay slot of the branch that skips the loop. In the upper half, `%g5` ends as the
/// offset of the result's word.
fn columns(text: &mut Text, routine: &Routine, half: Half) {
    match routine.loops {
        Loops::Index => by_index(text, half),
        Loops::Unrolled(by) => unrolled(text, half, by),
        Loops::Full => {}
    }
}

fn label_of(half: Half) -> &'static str {
    if half == Half::Lower { "@lower_pairs" } else { "@upper_pairs" }
}

/// Offsets j in `%l3`, i - j in `%l4`.
fn by_index(text: &mut Text, half: Half) {
    let again = label_of(half);
    let (begin, end) = match half {
        Half::Lower => ("clr %l3", "%l2"),
        Half::Upper => ("sub %l2, 4, %g5; mov %l2, %l3; mov %l7, %l4", "%l0"),
    };
    text.add(format!("{begin}; {again}:"));
    load(text, ["%i1 + %l3", "%i2 + %l4", "%i4 + %l3", "%i3 + %l4"]);
    match text.arithmetic {
        Arithmetic::Extended => {
            text.add("add %l3, 4, %l3; umac %o0, %o1; sub %l4, 4, %l4");
            text.add(format!("cmp %l3, {end}; bne {again}; umac %o2, %o3"));
        }
        Arithmetic::Plain => {
            accumulate_both(text);
            text.add("add %l3, 4, %l3; sub %l4, 4, %l4");
            text.add(format!("sub {end}, %l3, %g4; tst %g4; bne {again}; nop"));
        }
    }
}

/// Writes blocks of `by` pairs. A computed jump enters the first block so that the last one is
/// complete.
fn unrolled(text: &mut Text, half: Half, by: u32) {
    let (block, bytes) = (label_of(half), 4 * by);
    text.add(match half {
        Half::Lower => "nop; sub %g0, %l2, %o0",
        Half::Upper => "sub %l2, %l0, %o0",
    });
    text.add(format!("and %o0, {}, %o0       ! words to be skipped, in bytes", bytes - 1));
    // A pair takes 24 or 56 bytes of code: 6 or 14 for each byte of the offset to skip.
    text.add(match text.arithmetic {
        Arithmetic::Extended => "sll %o0, 2, %o1; sll %o0, 1, %o2; add %o1, %o2, %o1",
        Arithmetic::Plain => "sll %o0, 4, %o1; sll %o0, 1, %o2; sub %o1, %o2, %o1",
    });
    text.add(format!("sethi %hi({block}), %o2; or %o2, %lo({block}), %o2; add %o1, %o2, %o1"));
    text.add(match half {
        Half::Lower => {
            "sub %i1, %o0, %l3; sub %i4, %o0, %l5
             add %i2, %l2, %l4; add %l4, %o0, %l4; add %i3, %l2, %l6; add %l6, %o0, %l6
             jmp %o1; add %i1, %l2, %g4"
        }
        Half::Upper => {
            "add %i1, %l2, %l3; sub %l3, %o0, %l3; add %i4, %l2, %l5; sub %l5, %o0, %l5
             add %i2, %l7, %l4; add %l4, %o0, %l4; add %i3, %l7, %l6; add %l6, %o0, %l6
             jmp %o1; add %i1, %l0, %g4"
        }
    });
    text.add(format!("{block}:"));
    for at in (0..by).map(|t| 4 * t) {
        let places = ["%l3 +", "%l4 -", "%l5 +", "%l6 -"].map(|base| format!("{base} {at}"));
        load(text, places.each_ref().map(String::as_str));
        accumulate_both(text);
    }
    text.add(format!("add %l3, {bytes}, %l3; sub %l4, {bytes}, %l4; add %l5, {bytes}, %l5"));
    text.add(format!("cmp %l3, %g4; bne {block}; sub %l6, {bytes}, %l6"));
    if half == Half::Upper {
        text.add("sub %l2, 4, %g5");
    }
}

/// Columns with known offsets.
impl Columns for Text {
    fn pair(&mut self, j: u32, k: u32) {
        let places = [(r::A, j), (r::B, k), (r::M, j), (r::P, k)];
        let places = places.map(|(base, word)| format!("{base} {}", place(word)));
        load(self, places.each_ref().map(String::as_str));
        accumulate_both(self);
    }

    fn quotient(&mut self, i: u32) {
        quotient(self, &place(i));
    }

    fn result_word(&mut self, word: u32) {
        result_word(self, &place(word));
    }

    fn last_words(&mut self, word: u32) {
        last_words(self, &place(word));
    }
}

/// Returns the offset of a word, as part of an address.
fn place(word: u32) -> String {
    format!("+ {}", 4 * word)
}

fn load(text: &mut Text, places: [&str; 4]) {
    for (i, place) in places.into_iter().enumerate() {
        text.add(format!("ld [{place}], %o{i}"));
    }
}

/// Clears the accumulator: the extension's, or `%g1` to `%g3`.
fn clear(text: &mut Text) {
    text.add(match text.arithmetic {
        Arithmetic::Extended => "clracc",
        Arithmetic::Plain => "clr %g1; clr %g2; clr %g3",
    });
}

/// Adds a product to the accumulator.
fn accumulate(text: &mut Text, a: &str, b: &str) {
    match text.arithmetic {
        Arithmetic::Extended => text.add(format!("umac {a}, {b}")),
        Arithmetic::Plain => text.add(format!(
            "umul {a}, {b}, %o4; rd %y, %o5
             addcc %g1, %o4, %g1; addxcc %g2, %o5, %g2; addx %g3, 0, %g3"
        )),
    }
}

/// Adds `a_i b_0`, computes `m_i`, adds `m_i p_0`, and drops the lowest word, which is zero.
fn quotient(text: &mut Text, at: &str) {
    text.add(format!("ld [{} {at}], %o0; ld [%i2], %o1; ld [%i3], %o3", r::A));
    accumulate(text, "%o0", "%o1");
    add_quotient(text, at);
}

/// Adds the two products of a pair, whose words [`load`] has loaded.
fn accumulate_both(text: &mut Text) {
    accumulate(text, "%o0", "%o1");
    accumulate(text, "%o2", "%o3");
}

/// Computes `m_i` from the accumulator's lowest word and adds `m_i p_0`; `p_0` is in `%o3`.
fn add_quotient(text: &mut Text, at: &str) {
    let (n0, m) = (r::N0, r::M);
    text.add(match text.arithmetic {
        Arithmetic::Extended => format!(
            "rdacc %o2; umul %o2, {n0}, %o2; st %o2, [{m} {at}]
             umac %o2, %o3; shacr %g0"
        ),
        Arithmetic::Plain => format!(
            "umul %g1, {n0}, %o2; st %o2, [{m} {at}]
             umul %o2, %o3, %o4; rd %y, %o5; addcc %g1, %o4, %g0
             addxcc %g2, %o5, %g1; addx %g3, 0, %g2; clr %g3"
        ),
    });
}

/// Stores the lowest word as a word of the result, and drops it.
fn result_word(text: &mut Text, at: &str) {
    text.add(match text.arithmetic {
        Arithmetic::Extended => format!("shacr %o0; st %o0, [{} {at}]", r::M),
        Arithmetic::Plain => {
            format!("st %g1, [{} {at}]; mov %g2, %g1; mov %g3, %g2; clr %g3", r::M)
        }
    });
}

/// Stores the highest word of the result, and keeps the word above it.
fn last_words(text: &mut Text, at: &str) {
    let (m, rest) = (r::M, r::REST);
    text.add(match text.arithmetic {
        Arithmetic::Extended => format!("shacr %o0; st %o0, [{m} {at}]; shacr {rest}"),
        Arithmetic::Plain => format!("st %g1, [{m} {at}]; mov %g2, {rest}"),
    });
}
