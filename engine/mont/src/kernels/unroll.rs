//! Loops that macros unroll, before LLVM.

/// Repeats the block for each constant J below W <= 20. Since the macro unrolls it, arrays of
/// vectors become registers regardless of LLVM's thresholds for unrolling.
macro_rules! un {
    ($j:ident < $w:ident $block:block) => {
        un!(@ $j $w $block 0 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17 18 19)
    };
    (1 <= $j:ident < $w:ident $block:block) => {
        un!(@ $j $w $block 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17 18 19)
    };
    (@ $j:ident $w:ident $block:block $($n:literal)*) => { $({
        const $j: usize = $n;
        if $j < $w { $block }
    })* };
}

/// `un` for W <= 10. In nested loops it creates less code for the compiler to discard.
macro_rules! un10 {
    ($j:ident < $w:ident $block:block) => { un!(@ $j $w $block 0 1 2 3 4 5 6 7 8 9) };
    (1 <= $j:ident < $w:ident $block:block) => { un!(@ $j $w $block 1 2 3 4 5 6 7 8 9) };
    (2 <= $j:ident < $w:ident $block:block) => { un!(@ $j $w $block 2 3 4 5 6 7 8 9) };
}

/// `un` for W <= 8. In nested loops it creates less code for the compiler to discard.
macro_rules! un8 {
    ($j:ident < $w:ident $block:block) => { un!(@ $j $w $block 0 1 2 3 4 5 6 7) };
}

/// `un` for the even constants below W <= 20.
macro_rules! evens {
    ($j:ident < $w:ident $block:block) => { un!(@ $j $w $block 0 2 4 6 8 10 12 14 16 18) };
}

/// `un` for W <= 4.
macro_rules! un4 {
    ($j:ident < $w:ident $block:block) => { un!(@ $j $w $block 0 1 2 3) };
}

/// `un` for W <= 5.
macro_rules! un5 {
    ($j:ident < $w:ident $block:block) => { un!(@ $j $w $block 0 1 2 3 4) };
    (1 <= $j:ident < $w:ident $block:block) => { un!(@ $j $w $block 1 2 3 4) };
    (2 <= $j:ident < $w:ident $block:block) => { un!(@ $j $w $block 2 3 4) };
}

pub(super) use {evens, un, un4, un5, un8, un10};
