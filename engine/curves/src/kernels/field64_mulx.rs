// The field of 2^255 - 19 in four limbs of 64 bits, with MULX and two carry chains (ADCX on CF,
// ADOX on OF). The numbers of a kernel are in one array, whose address stays in a register; an
// operation names their places.
//
//   mul     z :== x y      16 mulx and a reduction
//   square  z :== x^2      10 mulx and a reduction
//   small   z :== x + K y  a reduction
//   add     z :== x + y
//   sub     z :== x - y
//
// Reduction, r :== low + K high: 4 mulx. Bits 255 and up of low + K high come first, from the top
// limbs alone. They are at most 2K + 1 and come down by 19 in one of the two chains that add the
// other limbs, so no third chain is needed.
//
// Ranges    Numbers are below 2^256. Products, squares and `small` are below 2^255 + 2^210, since
//           K < 2^17. In a sum and a difference, y is such a result: then one correction by 38 is
//           enough, because 2^256 :== 38.
// Time      constant: no jump; addresses are literal offsets.
// Registers rdi = the numbers, rdx = the factor of a row, rax, rcx = halves of a product, rsi = 0.
// Soundness: SOUNDNESS.md#inline-assembly.
//! The field of 2^255 - 19 on limbs with MULX.

use core::arch::asm;

use tollgate_cpu::HaveAdxBmi2;

/// Four limbs: a number below 2^256.
pub(crate) type Number = [u64; 4];

/// The numbers of a kernel.
#[repr(align(64))]
pub(super) struct Numbers<const N: usize> {
    numbers: [Number; N],
    _proof: HaveAdxBmi2,
}

// r8..r11 := r8..r11 + rdx * r12..r15, reduced.
macro_rules! reduce {
    () => {
        concat!(
            "mulx rcx, rax, r15\n",
            "add r11, rax\n",
            "adc rcx, 0\n",
            "add r11, r11\n",
            "adc rcx, rcx\n", // bits 255 and up
            "shr r11, 1\n",
            "imul rcx, rcx, 19\n",
            "xor esi, esi\n", // CF = OF = 0
            "mulx r12, rax, r12\n",
            "adcx r8, rax\n",
            "adox r8, rcx\n",
            "mulx r13, rax, r13\n",
            "adcx r9, rax\n",
            "adox r9, r12\n",
            "mulx r14, rax, r14\n",
            "adcx r10, rax\n",
            "adox r10, r13\n",
            "adcx r11, rsi\n",
            "adox r11, r14\n",
            store!(),
        )
    };
}
macro_rules! store {
    () => {
        "mov [rdi + {z}], r8\nmov [rdi + {z} + 8], r9\n\
         mov [rdi + {z} + 16], r10\nmov [rdi + {z} + 24], r11\n"
    };
}
macro_rules! load {
    () => {
        "mov r8, [rdi + {x}]\nmov r9, [rdi + {x} + 8]\n\
         mov r10, [rdi + {x} + 16]\nmov r11, [rdi + {x} + 24]\n"
    };
}
// Adds a row of a product. The top register takes a new limb.
macro_rules! row {
    ($y:literal: $w0:literal $w1:literal $w2:literal $w3:literal $top:literal) => {
        concat!(
            "mov rdx, [rdi + {y} + 8*",
            $y,
            "]\n",
            "xor esi, esi\n", // CF = OF = 0
            "mulx rcx, rax, [rdi + {x}]\n",
            "adcx ",
            $w0,
            ", rax\n",
            "adox ",
            $w1,
            ", rcx\n",
            "mulx rcx, rax, [rdi + {x} + 8]\n",
            "adcx ",
            $w1,
            ", rax\n",
            "adox ",
            $w2,
            ", rcx\n",
            "mulx rcx, rax, [rdi + {x} + 16]\n",
            "adcx ",
            $w2,
            ", rax\n",
            "adox ",
            $w3,
            ", rcx\n",
            "mulx ",
            $top,
            ", rax, [rdi + {x} + 24]\n",
            "adcx ",
            $w3,
            ", rax\n",
            // a carry into a high half does not overflow
            "adox ",
            $top,
            ", rsi\n",
            "adcx ",
            $top,
            ", rsi\n",
        )
    };
}
// The operations on numbers at constant places. Operands that the template does not name are errors.
macro_rules! templates {
    ($(
        $(#[$doc:meta])*
        $name:ident<$($place:ident $operand:ident),*> $(times $factor:ident)? = $template:expr;
    )*) => {$(
        $(#[$doc])*
        #[inline(always)]
        pub(super) fn $name<$(const $place: usize,)* $(const $factor: u32)?>(&mut self) {
            const { assert!($($place < N &&)* true, "a place of the array") };
            // SAFETY: the proof shows that bmi2 and adx are present; all offsets are inside the
            // array.
            unsafe {
                asm!(
                    $template,
                    $($operand = const 32 * $place,)*
                    $(k = const $factor,)?
                    in("rdi") self.numbers.as_mut_ptr(),
                    out("rax") _, out("rcx") _, out("rdx") _, out("rsi") _,
                    out("r8") _, out("r9") _, out("r10") _, out("r11") _,
                    out("r12") _, out("r13") _, out("r14") _, out("r15") _,
                    options(nostack),
                );
            }
        }
    )*};
}

impl<const N: usize> Numbers<N> {
    #[inline(always)]
    pub(super) fn new(proof: HaveAdxBmi2) -> Self {
        Self { numbers: [[0; 4]; N], _proof: proof }
    }

    #[inline(always)]
    pub(super) fn set<const Z: usize>(&mut self, x: Number) {
        self.numbers[Z] = x;
    }

    #[inline(always)]
    pub(super) fn get<const X: usize>(&self) -> Number {
        self.numbers[X]
    }

    templates! {
        /// z :== x y.
        mul<Z z, X x, Y y> = concat!(
            "mov rdx, [rdi + {y}]\n",
            "mulx r9, r8, [rdi + {x}]\n",
            "mulx r10, rax, [rdi + {x} + 8]\n",
            "add r9, rax\n",
            "mulx r11, rax, [rdi + {x} + 16]\n",
            "adc r10, rax\n",
            "mulx r12, rax, [rdi + {x} + 24]\n",
            "adc r11, rax\n",
            "adc r12, 0\n",
            row!(1: "r9" "r10" "r11" "r12" "r13"),
            row!(2: "r10" "r11" "r12" "r13" "r14"),
            row!(3: "r11" "r12" "r13" "r14" "r15"),
            "mov edx, 38\n", // 2^256 :== 38
            reduce!(),
        );
        /// z :== x^2.
        square<Z z, X x> = concat!(
            // the products of different limbs
            "mov rdx, [rdi + {x}]\n",
            "mulx r10, r9, [rdi + {x} + 8]\n",
            "mulx r11, rax, [rdi + {x} + 16]\n",
            "xor esi, esi\n", // CF = OF = 0
            "adcx r10, rax\n",
            "mulx r12, rax, [rdi + {x} + 24]\n",
            "adcx r11, rax\n",
            "mov rdx, [rdi + {x} + 24]\n",
            "mulx r13, rax, [rdi + {x} + 8]\n",
            "adcx r12, rax\n",
            "mulx r14, rax, [rdi + {x} + 16]\n",
            "adcx r13, rax\n",
            "adcx r14, rsi\n",
            "mov rdx, [rdi + {x} + 8]\n",
            "mulx rcx, rax, [rdi + {x} + 16]\n",
            "adox r11, rax\n",
            "adox r12, rcx\n",
            "adox r13, rsi\n",
            "adox r14, rsi\n",
            // twice, and the squares of limbs
            "xor esi, esi\n",
            "mov rdx, [rdi + {x}]\n",
            "mulx rcx, r8, rdx\n",
            "adox r9, r9\n",
            "adcx r9, rcx\n",
            "mov rdx, [rdi + {x} + 8]\n",
            "mulx rcx, rax, rdx\n",
            "adox r10, r10\n",
            "adcx r10, rax\n",
            "adox r11, r11\n",
            "adcx r11, rcx\n",
            "mov rdx, [rdi + {x} + 16]\n",
            "mulx rcx, rax, rdx\n",
            "adox r12, r12\n",
            "adcx r12, rax\n",
            "adox r13, r13\n",
            "adcx r13, rcx\n",
            "mov rdx, [rdi + {x} + 24]\n",
            "mulx r15, rax, rdx\n",
            "adox r14, r14\n",
            "adcx r14, rax\n",
            "adox r15, rsi\n",
            "adcx r15, rsi\n",
            "mov edx, 38\n", // 2^256 :== 38
            reduce!(),
        );
        /// z :== x + K y, for a constant K < 2^17.
        small<Z z, X x, Y y> times K = concat!(
            load!(),
            "mov r12, [rdi + {y}]\nmov r13, [rdi + {y} + 8]\n",
            "mov r14, [rdi + {y} + 16]\nmov r15, [rdi + {y} + 24]\n",
            "mov edx, {k}\n",
            reduce!(),
        );
        /// z :== x + y.
        add<Z z, X x, Y y> = concat!(
            load!(),
            "mov ecx, 38\n",
            "xor eax, eax\n",
            "add r8, [rdi + {y}]\n",
            "adc r9, [rdi + {y} + 8]\n",
            "adc r10, [rdi + {y} + 16]\n",
            "adc r11, [rdi + {y} + 24]\n",
            "cmovc eax, ecx\n",
            "add r8, rax\n",
            "adc r9, 0\n",
            "adc r10, 0\n",
            "adc r11, 0\n",
            store!(),
        );
        /// z :== x - y.
        sub<Z z, X x, Y y> = concat!(
            load!(),
            "mov ecx, 38\n",
            "xor eax, eax\n",
            "sub r8, [rdi + {y}]\n",
            "sbb r9, [rdi + {y} + 8]\n",
            "sbb r10, [rdi + {y} + 16]\n",
            "sbb r11, [rdi + {y} + 24]\n",
            "cmovc eax, ecx\n",
            "sub r8, rax\n",
            "sbb r9, 0\n",
            "sbb r10, 0\n",
            "sbb r11, 0\n",
            store!(),
        );
    }

    /// z := y if `choice` is not 0, else x.
    #[inline(always)]
    pub(super) fn select<const Z: usize, const X: usize, const Y: usize>(&mut self, choice: u64) {
        const { assert!(Z < N && X < N && Y < N, "a place of the array") };
        // SAFETY: as above; CMOV is part of x86-64.
        unsafe {
            asm!(
                concat!(
                    load!(),
                    "test {choice}, {choice}\n",
                    "cmovnz r8, [rdi + {y}]\n",
                    "cmovnz r9, [rdi + {y} + 8]\n",
                    "cmovnz r10, [rdi + {y} + 16]\n",
                    "cmovnz r11, [rdi + {y} + 24]\n",
                    store!(),
                ),
                z = const 32 * Z,
                x = const 32 * X,
                y = const 32 * Y,
                choice = in(reg) choice,
                in("rdi") self.numbers.as_mut_ptr(),
                out("r8") _, out("r9") _, out("r10") _, out("r11") _,
                options(nostack),
            );
        }
    }

    /// z :== -x if `choice` is not 0, else x. x <= 2^256 - 38.
    #[inline(always)]
    pub(super) fn negate_if<const Z: usize, const X: usize>(&mut self, choice: u64) {
        const { assert!(Z < N && X < N, "a place of the array") };
        // SAFETY: as above.
        unsafe {
            asm!(
                concat!(
                    // 2^256 - 38 is 2p
                    "mov r8, -38\nmov r9, -1\nmov r10, -1\nmov r11, -1\n",
                    "sub r8, [rdi + {x}]\n",
                    "sbb r9, [rdi + {x} + 8]\n",
                    "sbb r10, [rdi + {x} + 16]\n",
                    "sbb r11, [rdi + {x} + 24]\n",
                    "test {choice}, {choice}\n",
                    "cmovz r8, [rdi + {x}]\n",
                    "cmovz r9, [rdi + {x} + 8]\n",
                    "cmovz r10, [rdi + {x} + 16]\n",
                    "cmovz r11, [rdi + {x} + 24]\n",
                    store!(),
                ),
                z = const 32 * Z,
                x = const 32 * X,
                choice = in(reg) choice,
                in("rdi") self.numbers.as_mut_ptr(),
                out("r8") _, out("r9") _, out("r10") _, out("r11") _,
                options(nostack),
            );
        }
    }
}

#[cfg(test)]
mod tests {
    use num_bigint::BigUint;

    use super::*;

    fn big(x: &Number) -> BigUint {
        x.iter().rev().fold(BigUint::ZERO, |sum, &word| (sum << 64) + word)
    }

    fn power(n: u32) -> BigUint {
        BigUint::from(1u8) << n
    }

    /// Words with bounds of limbs and of the field among them.
    fn number(rng: &mut fastrand::Rng) -> Number {
        let low = u64::MAX - rng.u64(..80);
        match rng.u8(..8) {
            0 => [u64::MAX; 4],
            1 => [low, u64::MAX, u64::MAX, u64::MAX], // near 2^256 and 2p
            2 => [low, u64::MAX, u64::MAX, u64::MAX >> 1], // near p and 2^255
            3 => [rng.u64(..80), 0, 0, [0, 1 << 63][rng.usize(..2)]], // near 0 and 2^255
            4 => core::array::from_fn(|_| [0, 1, u64::MAX, 1 << 63][rng.usize(..4)]),
            5 => core::array::from_fn(|_| rng.u64(..) >> rng.u32(..64)),
            _ => core::array::from_fn(|_| rng.u64(..)),
        }
    }

    /// Makes a number one of those that products return: below 2^255 + 2^210.
    fn like_a_product(mut x: Number, rng: &mut fastrand::Rng) -> Number {
        match rng.u8(..4) {
            0 => x[3] = (1 << 63) + (x[3] & 0x3_ffff), // at least 2^255
            _ => x[3] >>= 1,
        }
        x
    }

    #[test]
    fn operations_are_those_of_integers() {
        let Some(proof) = HaveAdxBmi2::check() else { return };
        let (p, limit) = (power(255) - 19u8, power(255) + power(210));
        let mut rng = fastrand::Rng::with_seed(64);
        let mut n = Numbers::<3>::new(proof);
        for round in 0..200_000 {
            let (x, y) = (number(&mut rng), number(&mut rng));
            let (a, b) = (big(&x), big(&y));
            let start = |n: &mut Numbers<3>, x, y| {
                n.set::<0>(x);
                n.set::<1>(y);
            };
            let is = |n: &Numbers<3>, right: BigUint, what: &str| {
                let z = big(&n.get::<2>());
                assert_eq!(&z % &p, right % &p, "{what}, round {round}: {x:x?}, {y:x?}");
                assert!(what.contains("sum") || z < limit, "{what}, round {round}: {x:x?}, {y:x?}");
            };
            start(&mut n, x, y);
            n.mul::<2, 0, 1>();
            is(&n, &a * &b, "product");
            n.square::<2, 0>();
            is(&n, &a * &a, "square");
            n.small::<2, 0, 1, 121_666>();
            is(&n, &a + &b * 121_666u32, "product by 121666");
            n.small::<2, 0, 1, 131_071>();
            is(&n, &a + &b * 131_071u32, "product by 2^17 - 1");
            let y = like_a_product(y, &mut rng);
            let b = big(&y);
            start(&mut n, x, y);
            n.add::<2, 0, 1>();
            is(&n, &a + &b, "sum");
            n.sub::<2, 0, 1>();
            is(&n, &a + &p * 4u8 - &b, "sum with the opposite");
            n.negate_if::<2, 1>(0);
            assert_eq!(n.get::<2>(), y);
            n.negate_if::<2, 1>(u64::MAX);
            is(&n, &p * 4u8 - &b, "sum of nothing and the opposite");
            for (choice, right) in [(0, x), (1, y), (1 << 63, y)] {
                n.select::<2, 0, 1>(choice);
                assert_eq!(n.get::<2>(), right);
            }
            // a result may take the place of an operand
            n.mul::<0, 0, 1>();
            n.square::<1, 1>();
            assert_eq!(big(&n.get::<0>()) % &p, &a * &b % &p);
            assert_eq!(big(&n.get::<1>()) % &p, &b * &b % &p);
        }
    }
}
