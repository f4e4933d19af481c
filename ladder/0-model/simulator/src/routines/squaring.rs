//! A Montgomery square by columns: each product of two different words is computed once and added
//! twice.
//!
//! Column i adds `2 a_j a_(i-j)` for j < i - j, and the square of the middle word if i is even. It
//! then adds `m_j p_(i-j)` as in a product. The extension doubles with `umac2`. Plain V8 adds the
//! products of different words in a second accumulator, `%l5`, `%l6`, `%i2`, and doubles the sum.

use super::fips::{accumulate, add_quotient, clear, last_words, next_column, result_word};
use super::text::{Text, register as r};
use super::{Arithmetic, Loops, Routine};

pub(super) fn write(text: &mut Text, routine: &Routine) {
    let Routine { loops, words, .. } = *routine;
    clear(text);
    if loops == Loops::Full {
        return write_full(text, words);
    }
    text.all(&["sub %l0, 4, %l7", "clr %l2"]);

    text.name("lower");
    text.all(&["clr %l3", "mov %l2, %l4"]);
    doubled(text, routine, "lower");
    text.all(&["btst 4, %l2", "srl %l2, 1, %o0"]);
    middle(text, "lower");
    text.add("tst %l2");
    text.add(format!("be {}", text.label("quotient")));
    text.all(&["clr %l3", "mov %l2, %l4", "mov %l2, %g4"]);
    stream(text, routine, "lower_reduction", [r::M, r::P], Product::Once);
    text.name("quotient");
    text.add("ld [%i3], %o3");
    add_quotient(text, "+ %l2");
    next_column(text, "lower");

    text.add("mov 4, %l2");
    text.name("upper");
    text.all(&["mov %l2, %l3", "mov %l7, %l4"]);
    doubled(text, routine, "upper");
    text.all(&["add %l2, %l7, %o0", "btst 4, %o0", "srl %o0, 1, %o0"]);
    middle(text, "upper");
    text.all(&["mov %l2, %l3", "mov %l7, %l4", "mov %l0, %g4"]);
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
    let done = text.label(&format!("{half}_doubled"));
    text.add("cmp %l3, %l4");
    text.add(format!("be {done}"));
    // The number of words below the middle is half the number of words between the two offsets.
    text.all(&["sub %l4, %l3, %g4", "add %g4, 4, %g4", "srl %g4, 1, %g4", "and %g4, -4, %g4"]);
    text.add("add %l3, %g4, %g4");
    stream(text, routine, &format!("{half}_square"), [r::A, r::A], Product::Twice);
    if text.arithmetic == Arithmetic::Plain {
        double_sum(text);
    }
    text.name(&format!("{half}_doubled"));
}

fn clear_sum(text: &mut Text) {
    text.all(&["clr %l5", "clr %l6", "clr %i2"]);
}

/// Adds twice the second accumulator.
fn double_sum(text: &mut Text) {
    text.all(&[
        "addcc %l5, %l5, %l5",
        "addxcc %l6, %l6, %l6",
        "addx %i2, %i2, %i2",
        "addcc %g1, %l5, %g1",
        "addxcc %g2, %l6, %g2",
        "addx %g3, %i2, %g3",
    ]);
}

/// Adds the square of the middle word, at offset `%o0`, if the column has a middle word. The flags
/// tell whether the column has one.
fn middle(text: &mut Text, half: &str) {
    let odd = text.label(&format!("{half}_odd"));
    text.add(format!("bne {odd}"));
    text.add("nop");
    text.add("ld [%i1 + %o0], %o0");
    accumulate(text, "%o0", "%o0");
    text.name(&format!("{half}_odd"));
}

/// Adds products of a word of one number and a word of the other number. The words of the first
/// number go up from offset `%l3`, and those of the second go down from offset `%l4`, until the
/// first offset is `%g4`. There is at least one product.
fn stream(text: &mut Text, routine: &Routine, name: &str, of: [&str; 2], product: Product) {
    let loops = routine.loops;
    let [up, down] = of;
    let Loops::Unrolled(by) = loops else {
        text.name(name);
        text.add(format!("ld [{up} + %l3], %o0"));
        text.add(format!("ld [{down} + %l4], %o1"));
        text.add("add %l3, 4, %l3");
        let again = text.label(name);
        match text.arithmetic {
            Arithmetic::Extended => {
                text.all(&["cmp %l3, %g4", "sub %l4, 4, %l4"]);
                text.add(format!("bne {again}"));
                multiply(text, product, ["%o0", "%o1"]);
            }
            Arithmetic::Plain => {
                multiply(text, product, ["%o0", "%o1"]);
                text.add("cmp %l3, %g4");
                text.add(format!("bne {again}"));
                text.add("sub %l4, 4, %l4");
            }
        }
        return;
    };
    text.add("sub %l3, %g4, %g5");
    text.add(format!("and %g5, {}, %g5", 4 * by - 1));
    // A product takes 12 or 28 bytes of code: 3 or 7 for each byte of the offset to skip.
    match text.arithmetic {
        Arithmetic::Extended => text.all(&["sll %g5, 1, %o1", "add %o1, %g5, %o1"]),
        Arithmetic::Plain => text.all(&["sll %g5, 3, %o1", "sub %o1, %g5, %o1"]),
    }
    let block = text.label(name);
    text.add(format!("sethi %hi({block}), %o2"));
    text.add(format!("or %o2, %lo({block}), %o2"));
    text.add("add %o1, %o2, %o4");
    text.add(format!("add %l3, {up}, %l3"));
    text.add("sub %l3, %g5, %l3");
    text.add(format!("add %l4, {down}, %l4"));
    text.add("add %l4, %g5, %l4");
    // Each product is added after the loads of the next one, so the addition does not wait. The
    // first addition adds 0.
    text.all(&["clr %o0", "clr %o2", "jmp %o4"]);
    text.add(format!("add %g4, {up}, %g4"));
    text.name(name);
    for t in 0..by {
        let (now, before) = if t % 2 == 0 {
            (["%o0", "%o1"], ["%o2", "%o3"])
        } else {
            (["%o2", "%o3"], ["%o0", "%o1"])
        };
        text.add(format!("ld [%l3 + {}], {}", 4 * t, now[0]));
        text.add(format!("ld [%l4 - {}], {}", 4 * t, now[1]));
        multiply(text, product, before);
    }
    text.add(format!("add %l3, {}, %l3", 4 * by));
    text.add("cmp %l3, %g4");
    text.add(format!("bne {block}"));
    text.add(format!("sub %l4, {}, %l4", 4 * by));
    multiply(text, product, ["%o2", "%o3"]);
}

fn multiply(text: &mut Text, product: Product, of: [&str; 2]) {
    let [a, b] = of;
    match (text.arithmetic, product) {
        (_, Product::Once) => accumulate(text, a, b),
        (Arithmetic::Extended, Product::Twice) => text.add(format!("umac2 {a}, {b}")),
        (Arithmetic::Plain, Product::Twice) => {
            text.add(format!("umul {a}, {b}, %o4"));
            text.all(&[
                "rd %y, %o5",
                "addcc %l5, %o4, %l5",
                "addxcc %l6, %o5, %l6",
                "addx %i2, 0, %i2",
            ]);
        }
    }
}

fn write_full(text: &mut Text, words: u32) {
    for i in 0..2 * words - 1 {
        let first = (i + 1).saturating_sub(words);
        column(text, i, first);
        if i < words {
            pairs(text, Product::Once, [r::M, r::P], (0..i).map(|j| (j, i - j)));
            text.add("ld [%i3], %o3");
            add_quotient(text, &format!("+ {}", 4 * i));
        } else {
            let places = (first..words).map(|j| (j, i - j));
            pairs(text, Product::Once, [r::M, r::P], places);
            result_word(text, &format!("+ {}", 4 * (i - words)));
        }
    }
    last_words(text, &format!("+ {}", 4 * (words - 1)));
}

/// The products of the square in one column.
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

/// Products, each added after the loads of the next.
fn pairs(
    text: &mut Text,
    product: Product,
    of: [&str; 2],
    places: impl Iterator<Item = (u32, u32)>,
) {
    let mut before: Option<[&str; 2]> = None;
    for (t, (j, k)) in places.enumerate() {
        let now = if t % 2 == 0 { ["%o0", "%o1"] } else { ["%o2", "%o3"] };
        text.add(format!("ld [{} + {}], {}", of[0], 4 * j, now[0]));
        text.add(format!("ld [{} + {}], {}", of[1], 4 * k, now[1]));
        if let Some(before) = before {
            multiply(text, product, before);
        }
        before = Some(now);
    }
    if let Some(before) = before {
        multiply(text, product, before);
    }
}
