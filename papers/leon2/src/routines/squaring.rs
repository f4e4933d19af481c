//! A Montgomery square by columns: each product of two different words is computed once and added
//! twice.
//!
//! Column i adds `2 a_j a_(i-j)` for j < i - j, and the square of the middle word if i is even. It
//! then adds `m_j p_(i-j)` as in a product. The extension doubles with `umac2`. Plain V8 adds the
//! products of different words in a second accumulator, `%l5`, `%l6`, `%i2`, and doubles the sum.

use super::fips::{
    accumulate, add_product, add_quotient, clear, last_words, next_column, place, result_word,
};
use super::text::{Text, register as r};
use super::{Arithmetic, Loops, Routine};

pub(super) fn write(text: &mut Text, routine: &Routine) {
    let Routine { loops, words, .. } = *routine;
    clear(text);
    if loops == Loops::Full {
        return write_full(text, words);
    }
    text.add("sub %l0, 4, %l7; clr %l2; @lower: clr %l3; mov %l2, %l4");
    doubled(text, routine, "lower");
    text.add("btst 4, %l2; srl %l2, 1, %o0");
    middle(text, "lower");
    text.add("tst %l2; be @quotient; clr %l3; mov %l2, %l4; mov %l2, %g4");
    stream(text, routine, "lower_reduction", [r::M, r::P], Product::Once);
    text.add("@quotient: ld [%i3], %o3");
    add_quotient(text, "+ %l2");
    next_column(text, "lower");

    text.add("mov 4, %l2; @upper: mov %l2, %l3; mov %l7, %l4");
    doubled(text, routine, "upper");
    text.add("add %l2, %l7, %o0; btst 4, %o0; srl %o0, 1, %o0");
    middle(text, "upper");
    text.add("mov %l2, %l3; mov %l7, %l4; mov %l0, %g4");
    stream(text, routine, "upper_reduction", [r::M, r::P], Product::Once);
    text.add("sub %l2, 4, %g5");
    result_word(text, "+ %g5");
    next_column(text, "upper");
    last_words(text, "+ %l7");
}

/// The number of times that a product is added.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Product {
    /// The product is added once.
    Once,
    /// The product is added twice. On plain V8 it is added once to a sum that is doubled later.
    Twice,
}

/// Adds the products of different words. One offset rises from `%l3`, the other falls from `%l4`,
/// until they meet.
fn doubled(text: &mut Text, routine: &Routine, half: &str) {
    if text.arithmetic == Arithmetic::Plain {
        clear_sum(text);
    }
    text.add(format!("cmp %l3, %l4; be @{half}_doubled"));
    // The number of words below the middle is half the number of words between the two offsets.
    text.add("sub %l4, %l3, %g4; add %g4, 4, %g4; srl %g4, 1, %g4; and %g4, -4, %g4");
    text.add("add %l3, %g4, %g4");
    stream(text, routine, &format!("{half}_square"), [r::A, r::A], Product::Twice);
    if text.arithmetic == Arithmetic::Plain {
        double_sum(text);
    }
    text.add(format!("@{half}_doubled:"));
}

fn clear_sum(text: &mut Text) {
    text.add("clr %l5; clr %l6; clr %i2");
}

/// Adds twice the second accumulator.
fn double_sum(text: &mut Text) {
    text.add("addcc %l5, %l5, %l5; addxcc %l6, %l6, %l6; addx %i2, %i2, %i2");
    text.add("addcc %g1, %l5, %g1; addxcc %g2, %l6, %g2; addx %g3, %i2, %g3");
}

/// Adds the square of the middle word, at offset `%o0`, if the column has a middle word. The flags
/// tell whether the column has one.
fn middle(text: &mut Text, half: &str) {
    text.add(format!("bne @{half}_odd; nop; ld [%i1 + %o0], %o0"));
    accumulate(text, "%o0", "%o0");
    text.add(format!("@{half}_odd:"));
}

/// Adds products of a word of one number and a word of the other number. The words of the first
/// number go up from offset `%l3`, and those of the second go down from offset `%l4`, until the
/// first offset is `%g4`. There is at least one product.
fn stream(text: &mut Text, routine: &Routine, name: &str, of: [&str; 2], product: Product) {
    let [up, down] = of;
    let Loops::Unrolled(by) = routine.loops else {
        text.add(format!("@{name}: ld [{up} + %l3], %o0; ld [{down} + %l4], %o1"));
        text.add("add %l3, 4, %l3");
        match text.arithmetic {
            Arithmetic::Extended => {
                text.add(format!("cmp %l3, %g4; sub %l4, 4, %l4; bne @{name}"));
                multiply(text, product, FIRST);
            }
            Arithmetic::Plain => {
                multiply(text, product, FIRST);
                text.add(format!("cmp %l3, %g4; bne @{name}; sub %l4, 4, %l4"));
            }
        }
        return;
    };
    let bytes = 4 * by;
    text.add(format!("sub %l3, %g4, %g5; and %g5, {}, %g5", bytes - 1));
    // A product takes 12 or 28 bytes of code: 3 or 7 for each byte of the offset to skip.
    text.add(match text.arithmetic {
        Arithmetic::Extended => "sll %g5, 1, %o1; add %o1, %g5, %o1",
        Arithmetic::Plain => "sll %g5, 3, %o1; sub %o1, %g5, %o1",
    });
    // Each product is added after the loads of the next one, so the addition does not wait. The
    // first addition adds 0.
    text.add(format!(
        "sethi %hi(@{name}), %o2; or %o2, %lo(@{name}), %o2; add %o1, %o2, %o4
         add %l3, {up}, %l3; sub %l3, %g5, %l3; add %l4, {down}, %l4; add %l4, %g5, %l4
         clr %o0; clr %o2; jmp %o4; add %g4, {up}, %g4
         @{name}:"
    ));
    for t in 0..by {
        let [now, before] = if t % 2 == 0 { [FIRST, SECOND] } else { [SECOND, FIRST] };
        let at = 4 * t;
        text.add(format!("ld [%l3 + {at}], {}; ld [%l4 - {at}], {}", now[0], now[1]));
        multiply(text, product, before);
    }
    text.add(format!("add %l3, {bytes}, %l3; cmp %l3, %g4; bne @{name}; sub %l4, {bytes}, %l4"));
    multiply(text, product, SECOND);
}

/// Registers of two words; products use both pairs in turn.
const FIRST: [&str; 2] = ["%o0", "%o1"];
const SECOND: [&str; 2] = ["%o2", "%o3"];

fn multiply(text: &mut Text, product: Product, of: [&str; 2]) {
    let [a, b] = of;
    match (text.arithmetic, product) {
        (_, Product::Once) => accumulate(text, a, b),
        (Arithmetic::Extended, Product::Twice) => text.add(format!("umac2 {a}, {b}")),
        (Arithmetic::Plain, Product::Twice) => add_product(text, of, ["%l5", "%l6", "%i2"]),
    }
}

fn write_full(text: &mut Text, words: u32) {
    for i in 0..2 * words - 1 {
        let first = (i + 1).saturating_sub(words);
        column(text, i, first);
        if i < words {
            pairs(text, Product::Once, [r::M, r::P], (0..i).map(|j| (j, i - j)));
            text.add("ld [%i3], %o3");
            add_quotient(text, &place(i));
        } else {
            let places = (first..words).map(|j| (j, i - j));
            pairs(text, Product::Once, [r::M, r::P], places);
            result_word(text, &place(i - words));
        }
    }
    last_words(text, &place(words - 1));
}

/// Writes the products of the square in one column.
fn column(text: &mut Text, i: u32, first: u32) {
    let places: Vec<(u32, u32)> =
        (first..).map(|j| (j, i.saturating_sub(j))).take_while(|(j, k)| j < k).collect();
    let plain = text.arithmetic == Arithmetic::Plain && !places.is_empty();
    if plain {
        clear_sum(text);
    }
    pairs(text, Product::Twice, [r::A, r::A], places.into_iter());
    if plain {
        double_sum(text);
    }
    if i.is_multiple_of(2) {
        text.add(format!("ld [%i1 + {}], %o0", 2 * i));
        accumulate(text, "%o0", "%o0");
    }
}

/// Writes products; each is added after the loads of the next.
fn pairs(
    text: &mut Text,
    product: Product,
    of: [&str; 2],
    places: impl Iterator<Item = (u32, u32)>,
) {
    let mut before: Option<[&str; 2]> = None;
    for (t, (j, k)) in places.enumerate() {
        let now = if t % 2 == 0 { FIRST } else { SECOND };
        text.add(format!("ld [{} {}], {}", of[0], place(j), now[0]));
        text.add(format!("ld [{} {}], {}", of[1], place(k), now[1]));
        if let Some(before) = before.replace(now) {
            multiply(text, product, before);
        }
    }
    if let Some(before) = before {
        multiply(text, product, before);
    }
}
