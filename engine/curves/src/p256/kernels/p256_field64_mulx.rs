// The field of P-256 in four limbs: products, squares, and functions that are linear.
//
// Numbers are below p, in Montgomery form (R = 2^256). p = -1 mod 2^96, so the quotient digit of a
// reduction is the limb itself, and a row adds q (2^96 + 2^192 M), with M = 2^64 - 2^32 + 1: two
// shifts and one product.
//
// Requires  x, y < p.
// Ensures   z < p. Before its last subtraction, z is below x y / R + p < 2p.
// Counts    a product has 20 mulx, a square 14. A row ends with one more adcx and adox, which add
//           the carries.
// Time      constant: no branch and no address depends on a number.
// Model     the portable field of `residue.rs`.
//
// Products. Rows of x y alternate with rows of the reduction. A window of six registers slides by a
// limb: the lowest one is zero after a row of the reduction, and becomes the top one. After both
// rows the window is below 2x + p < 2^258, so its fifth limb is small.
//
// Squares. The lower half of x^2 is reduced alone, to at most p, and the upper half is added, which
// is less than p.
//
// Registers: rdx = the factor of a row; rax, rcx = halves of a product; r14 = M, r15 = 32.
// Soundness: SOUNDNESS.md#inline-assembly.
//! Products by MULX and two carry chains (ADCX on CF, ADOX on OF).
#![allow(unsafe_code, reason = "inline assembly")]

use core::arch::asm;

use tollgate_cpu::{HaveAdxBmi2, HaveAvx2, proven};

use super::p256_select_avx2::p256_select_avx2;
use crate::mask::hidden;
use crate::p256::point::Affine;
use crate::residue::{Element, P, Prime as _};

/// M, the highest limb of p.
const TOP: u64 = P::M[3];

// Adds both halves of one product to the window.
macro_rules! term {
    ($factor:literal, $x:literal $y:literal) => {
        concat!("mulx rcx, rax, ", $factor, "\nadcx ", $x, ", rax\nadox ", $y, ", rcx\n")
    };
}
// Adds x y_i to the window of five limbs. A sixth takes the carries.
macro_rules! row {
    ($i:literal; $a:literal $b:literal $c:literal $d:literal $e:literal $f:literal) => {
        concat!(
            "mov rdx, [rdi + 8*", $i, "]\n",
            "xor ", $f, ", ", $f, "\n", // CF = OF = 0
            term!("[rsi]", $a $b), term!("[rsi + 8]", $b $c),
            term!("[rsi + 16]", $c $d), term!("[rsi + 24]", $d $e),
            "adcx ", $e, ", ", $f, "\n", "adox ", $f, ", ", $f, "\n", "adc ", $f, ", 0\n",
        )
    };
}
// Makes the lowest limb of the window zero.
#[rustfmt::skip]
macro_rules! reduction {
    ($a:literal $b:literal $c:literal $d:literal $e:literal $f:literal) => {
        concat!(
            "mov rdx, ", $a, "\n",
            "shlx rax, ", $a, ", r15\n",
            "shrx rcx, ", $a, ", r15\n",
            "add ", $b, ", rax\n",
            "adc ", $c, ", rcx\n",
            "mulx rcx, rax, r14\n",
            "adc ", $d, ", rax\n",
            "adc ", $e, ", rcx\n",
            "adc ", $f, ", 0\n",
        )
    };
}
// The same for four limbs; the lowest one becomes the top one.
#[rustfmt::skip]
macro_rules! rotation {
    ($a:literal $b:literal $c:literal $d:literal, $top:literal, $shift:literal) => {
        concat!(
            "mov rdx, ", $a, "\n",
            "shlx rax, ", $a, ", ", $shift, "\n",
            "shrx rcx, ", $a, ", ", $shift, "\n",
            "add ", $b, ", rax\n",
            "adc ", $c, ", rcx\n",
            "mulx ", $a, ", rax, ", $top, "\n",
            "adc ", $d, ", rax\n",
            "adc ", $a, ", 0\n",
        )
    };
}
// Subtracts p from four limbs and a carry, unless the difference is negative.
#[rustfmt::skip]
macro_rules! at_most_once {
    ($a:literal $b:literal $c:literal $d:literal $carry:literal, $top:literal;
     $w:literal $x:literal $y:literal $z:literal) => {
        concat!(
            "mov ", $w, ", ", $a, "\n",
            "mov ", $x, ", ", $b, "\n",
            "mov ", $y, ", ", $c, "\n",
            "mov ", $z, ", ", $d, "\n",
            "mov eax, -1\n", // 2^32 - 1
            "sub ", $a, ", -1\n",
            "sbb ", $b, ", rax\n",
            "sbb ", $c, ", 0\n",
            "sbb ", $d, ", ", $top, "\n",
            "sbb ", $carry, ", 0\n",
            "cmovc ", $a, ", ", $w, "\n",
            "cmovc ", $b, ", ", $x, "\n",
            "cmovc ", $c, ", ", $y, "\n",
            "cmovc ", $d, ", ", $z, "\n",
        )
    };
}
// Doubles two limbs, and adds the square of rdx.
#[rustfmt::skip]
macro_rules! doubled {
    ($x:literal $y:literal) => {
        concat!(
            "mulx rcx, rax, rdx\n",
            "adcx ", $x, ", ", $x, "\n",
            "adox ", $x, ", rax\n",
            "adcx ", $y, ", ", $y, "\n",
            "adox ", $y, ", rcx\n",
        )
    };
}
// Loads x into r8..r11, or adds or subtracts it.
#[rustfmt::skip]
macro_rules! four {
    ($first:literal $next:literal $from:literal) => {
        concat!(
            $first, " r8, [", $from, "]\n",
            $next, " r9, [", $from, " + 8]\n",
            $next, " r10, [", $from, " + 16]\n",
            $next, " r11, [", $from, " + 24]\n",
        )
    };
}
// After a sum: rcx = the carry.
macro_rules! sum_below_p {
    () => {
        concat!(
            "mov ecx, 0\n", "adc rcx, 0\n",
            at_most_once!("r8" "r9" "r10" "r11" "rcx", "r14"; "rdx" "r12" "r13" "r15"),
        )
    };
}
// Adds p under the mask rax.
macro_rules! add_masked_p {
    () => {
        concat!(
            "mov ecx, eax\n",
            "mov rdx, r14\n",
            "and rdx, rax\n",
            "add r8, rax\n",
            "adc r9, rcx\n",
            "adc r10, 0\n",
            "adc r11, rdx\n",
        )
    };
}
// After a difference: adds p if it is negative.
macro_rules! not_negative {
    () => {
        concat!("sbb rax, rax\n", add_masked_p!())
    };
}

/// Returns x y / R.
#[inline(always)]
pub(super) fn mul(x: &Element, y: &Element, _proof: HaveAdxBmi2) -> Element {
    let (z0, z1, z2, z3);
    // SAFETY: `_proof` shows that bmi2 and adx are present; all loads are inside x and y.
    unsafe {
        asm!(
            "mov rdx, [rdi]",
            "mulx r9, r8, [rsi]",
            "mulx r10, rax, [rsi + 8]",
            "mulx r11, rcx, [rsi + 16]",
            "mulx r12, rdx, [rsi + 24]",
            "add r9, rax",
            "adc r10, rcx",
            "adc r11, rdx",
            "adc r12, 0",
            "xor r13, r13",
            reduction!("r8" "r9" "r10" "r11" "r12" "r13"),
            row!(1; "r9" "r10" "r11" "r12" "r13" "r8"),
            reduction!("r9" "r10" "r11" "r12" "r13" "r8"),
            row!(2; "r10" "r11" "r12" "r13" "r8" "r9"),
            reduction!("r10" "r11" "r12" "r13" "r8" "r9"),
            row!(3; "r11" "r12" "r13" "r8" "r9" "r10"),
            reduction!("r11" "r12" "r13" "r8" "r9" "r10"),
            at_most_once!("r12" "r13" "r8" "r9" "r10", "r14"; "rsi" "rdi" "rdx" "r11"),
            inout("rsi") x.0.as_ptr() => _, inout("rdi") y.0.as_ptr() => _,
            in("r14") TOP, in("r15") 32u64,
            out("rax") _, out("rcx") _, out("rdx") _, out("r10") _, out("r11") _,
            out("r12") z0, out("r13") z1, out("r8") z2, out("r9") z3,
            options(pure, readonly, nostack),
        );
    }
    Element::raw([z0, z1, z2, z3])
}

/// Returns x^2 / R.
#[inline(always)]
pub(super) fn square(x: &Element, _proof: HaveAdxBmi2) -> Element {
    let (z0, z1, z2, z3);
    // SAFETY: as in `mul`.
    unsafe {
        asm!(
            // products of different limbs
            "mov rdx, [rsi]",
            "mulx r10, r9, [rsi + 8]",
            "mulx r11, rax, [rsi + 16]",
            "mulx r12, rcx, [rsi + 24]",
            "add r10, rax",
            "adc r11, rcx",
            "adc r12, 0",
            "mov rdx, [rsi + 8]",
            "xor eax, eax", // CF = OF = 0
            term!("[rsi + 16]", "r11" "r12"),
            "mulx r13, rax, [rsi + 24]",
            "mov ecx, 0",
            "adcx r12, rax",
            "adcx r13, rcx",
            "adox r13, rcx",
            "mov rdx, [rsi + 16]",
            "mulx rdi, rax, [rsi + 24]",
            "add r13, rax",
            "adc rdi, 0",
            // twice these, and the squares
            "mov rdx, [rsi]",
            "xor r15, r15", // CF = OF = 0
            "mulx rcx, r8, rdx",
            "adcx r9, r9",
            "adox r9, rcx",
            "mov rdx, [rsi + 8]",
            doubled!("r10" "r11"),
            "mov rdx, [rsi + 16]",
            doubled!("r12" "r13"),
            "mov rdx, [rsi + 24]",
            doubled!("rdi" "r15"),
            // the lower half, reduced, and the upper half
            "mov esi, 32",
            rotation!("r8" "r9" "r10" "r11", "r14", "rsi"),
            rotation!("r9" "r10" "r11" "r8", "r14", "rsi"),
            rotation!("r10" "r11" "r8" "r9", "r14", "rsi"),
            rotation!("r11" "r8" "r9" "r10", "r14", "rsi"),
            "mov ecx, 0",
            "add r8, r12",
            "adc r9, r13",
            "adc r10, rdi",
            "adc r11, r15",
            "adc rcx, 0",
            at_most_once!("r8" "r9" "r10" "r11" "rcx", "r14"; "rsi" "rdx" "r12" "r13"),
            inout("rsi") x.0.as_ptr() => _, in("r14") TOP,
            out("rax") _, out("rcx") _, out("rdx") _,
            out("rdi") _, out("r12") _, out("r13") _, out("r15") _,
            out("r8") z0, out("r9") z1, out("r10") z2, out("r11") z3,
            options(pure, readonly, nostack),
        );
    }
    Element::raw([z0, z1, z2, z3])
}

// Functions of one or two numbers: r8..r11 = x, rdi = y, r14 = M.
macro_rules! linear {
    ($($(#[$doc:meta])* $name:ident($x:ident $(, $y:ident)?) $($line:expr),*;)*) => {$(
        $(#[$doc])*
        #[inline(always)]
        pub(super) fn $name($x: &Element, $($y: &Element,)? _proof: HaveAdxBmi2) -> Element {
            let (z0, z1, z2, z3);
            let y = first!($($y)? $x);
            // SAFETY: as in `mul`. rdi is only read.
            unsafe {
                asm!(
                    four!("mov" "mov" "rsi"),
                    $($line,)*
                    in("rsi") $x.0.as_ptr(), in("rdi") y.0.as_ptr(), in("r14") TOP,
                    out("rax") _, out("rcx") _, out("rdx") _,
                    out("r12") _, out("r13") _, out("r15") _,
                    out("r8") z0, out("r9") z1, out("r10") z2, out("r11") z3,
                    options(pure, readonly, nostack),
                );
            }
            Element::raw([z0, z1, z2, z3])
        }
    )*};
}
macro_rules! first {
    ($x:ident $($rest:ident)?) => {
        $x
    };
}
linear! {
    /// Returns x - y.
    sub(x, y) four!("sub" "sbb" "rdi"), not_negative!();
    /// Returns x - 2y.
    sub_twice(x, y)
        four!("sub" "sbb" "rdi"), not_negative!(), four!("sub" "sbb" "rdi"), not_negative!();
    /// Returns 2x.
    twice(x) four!("add" "adc" "rsi"), sum_below_p!();
    /// Returns 3x + y.
    triple_plus(x, y)
        four!("add" "adc" "rsi"), sum_below_p!(), four!("add" "adc" "rsi"), sum_below_p!(),
        four!("add" "adc" "rdi"), sum_below_p!();
    /// Returns x / 2: adds p to an odd number.
    half(x)
        "mov rax, r8", "and eax, 1", "neg rax", add_masked_p!(),
        "rcr r11, 1", "rcr r10, 1", "rcr r9, 1", "rcr r8, 1";
}

/// Returns -x if `mask` is all ones, and x if it is 0. x is not 0.
#[inline(always)]
pub(super) fn negated_if(x: &Element, mask: u64) -> Element {
    let mask = hidden(mask);
    let [x0, x1, x2, x3] = x.0.map(|limb| limb ^ mask);
    // p - x = p + not x + 1, where p + 1 = 2^96 + 2^192 M
    let (z1, carry) = x1.overflowing_add(mask & 1 << 32);
    let (z2, carry) = x2.overflowing_add(u64::from(carry));
    let z3 = x3.wrapping_add(mask & TOP).wrapping_add(u64::from(carry));
    Element::raw([x0, z1, z2, z3])
}

/// Returns an entry of a table in constant time. rustc ignores `#[inline(never)]` of a function
/// that names a target feature, so the kernels, which the audit must find, name none.
#[inline(always)]
pub(super) fn selected(table: &[Affine], index: u64, proof: HaveAvx2) -> Affine {
    proven!(proof, p256_select_avx2(table, index))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::residue::{Limbs, subtracted};

    /// A number below p: random, or with words in which carries run.
    fn number(rng: &mut fastrand::Rng) -> Element {
        let x: Limbs = core::array::from_fn(|i| match rng.u8(..8) {
            0 => 0,
            1 => u64::MAX,
            2 => P::M[i],
            3 => P::M[i].wrapping_sub(1),
            4 => 1,
            _ => rng.u64(..),
        });
        let (less, below) = subtracted(&x, &P::M);
        Element::raw(if below == 0 { less } else { x })
    }

    #[test]
    #[allow(clippy::print_stdout, reason = "announces what did not run")]
    fn p256_field64_mulx() {
        let Some(proof) = HaveAdxBmi2::check() else {
            println!("not run: no MULX, ADCX, ADOX");
            return;
        };
        let mut rng = fastrand::Rng::with_seed(6);
        let mut numbers: Vec<_> = (0..1_000_000).map(|_| number(&mut rng)).collect();
        let one = [1, 0, 0, 0];
        numbers.extend([[0; 4], one, subtracted(&P::M, &one).0].map(Element::raw));
        for (x, y) in numbers.iter().zip(numbers.iter().rev()) {
            assert!(mul(x, y, proof).is_vartime(&x.mul(y)), "{:x?} {:x?}", x.0, y.0);
            assert!(square(x, proof).is_vartime(&x.square()), "{:x?}", x.0);
            assert!(sub(x, y, proof).is_vartime(&x.sub(y)), "{:x?} {:x?}", x.0, y.0);
            assert!(twice(x, proof).is_vartime(&x.add(x)), "{:x?}", x.0);
            assert!(sub_twice(x, y, proof).is_vartime(&x.sub(y).sub(y)), "{:x?} {:x?}", x.0, y.0);
            let thrice = x.add(x).add(x);
            assert!(triple_plus(x, y, proof).is_vartime(&thrice.add(y)), "{:x?} {:x?}", x.0, y.0);
            let half = half(x, proof);
            assert!(
                half.add(&half).is_vartime(x) && subtracted(&half.0, &P::M).1 != 0,
                "{:x?}",
                x.0
            );
            if x.is_zero() == 0 {
                assert!(negated_if(x, u64::MAX).is_vartime(&x.negated()));
                assert!(negated_if(x, 0).is_vartime(x));
            }
        }
    }
}
