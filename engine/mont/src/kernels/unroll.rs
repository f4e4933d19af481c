//! Loops unrolled by the compiler's front end.
#![forbid(unsafe_code)]

/// The block for each constant J below W <= 20, unrolled by the front end: so arrays of vectors
/// become registers regardless of LLVM's thresholds.
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

/// The same for W <= 10: nested loops are then less work for the front end.
macro_rules! un10 {
    ($j:ident < $w:ident $block:block) => { un!(@ $j $w $block 0 1 2 3 4 5 6 7 8 9) };
    (1 <= $j:ident < $w:ident $block:block) => { un!(@ $j $w $block 1 2 3 4 5 6 7 8 9) };
    (2 <= $j:ident < $w:ident $block:block) => { un!(@ $j $w $block 2 3 4 5 6 7 8 9) };
}

/// The same for W <= 8: nested loops are then less work for the front end.
macro_rules! un8 {
    ($j:ident < $w:ident $block:block) => { un!(@ $j $w $block 0 1 2 3 4 5 6 7) };
}

/// The same for W <= 7.
macro_rules! un7 {
    ($j:ident < $w:ident $block:block) => { un!(@ $j $w $block 0 1 2 3 4 5 6) };
}

/// The same for W <= 5.
macro_rules! un5 {
    ($j:ident < $w:ident $block:block) => { un!(@ $j $w $block 0 1 2 3 4) };
    (1 <= $j:ident < $w:ident $block:block) => { un!(@ $j $w $block 1 2 3 4) };
    (2 <= $j:ident < $w:ident $block:block) => { un!(@ $j $w $block 2 3 4) };
}

pub(super) use {un, un5, un7, un8, un10};
