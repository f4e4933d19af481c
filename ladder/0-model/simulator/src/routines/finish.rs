//! The final subtraction, without a branch on a number: both t and t - p are there, one is taken.

use super::text::Text;

/// z := t - p if t >= p, else t; t is the n words at m and the word REST above them.
pub(super) fn write(text: &mut Text) {
    text.add("clr %l2");
    text.add("clr %l3                 ! the borrow");
    text.name("subtract");
    text.all(&[
        "ld [%i4 + %l2], %o0",
        "ld [%i3 + %l2], %o1",
        "subcc %g0, %l3, %g0     ! the carry is the borrow",
        "subxcc %o0, %o1, %o0",
        "addx %g0, %g0, %l3",
        "st %o0, [%i5 + %l2]",
        "add %l2, 4, %l2",
        "cmp %l2, %l0",
    ]);
    text.add(format!("bne {}", text.label("subtract")));
    text.add("nop");
    text.add("sub %o5, %l3, %l3       ! ones, if t < p");
    text.add("clr %l2");
    text.name("select");
    text.all(&[
        "ld [%i5 + %l2], %o1",
        "ld [%i4 + %l2], %o0",
        "and %o0, %l3, %o0",
        "andn %o1, %l3, %o1",
        "or %o0, %o1, %o0",
        "st %o0, [%i0 + %l2]",
        "add %l2, 4, %l2",
        "cmp %l2, %l0",
    ]);
    text.add(format!("bne {}", text.label("select")));
    text.add("nop");
    text.add("ret");
    text.add("restore");
}
