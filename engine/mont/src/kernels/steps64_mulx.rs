// Product and square of one tile of 8 limbs. A row of the reduction follows each row of the
// product. Uses MULX and two carry chains (ADCX on CF, ADOX on OF).
//
//   product     (w, over) := (x * y + q * m) / 2^512
//   square      (w, over) := (x^2   + q * m) / 2^512
//
// A reduction row has 8 products, but waits 11 cycles for the quotient digit of the previous row.
// If the whole product came first, waiting rows would fill the scheduler, and the core would have
// no other work. Therefore product rows, which wait for nothing, alternate with reduction rows.
//
// Squares. Row i is a_i * (a_i + 2 * (a_(i+1), .., a_7)), from column 2i on, so it does not delay
// the digit of row i. The doubled limbs are in memory. The lowest doubled limb of a row is
// e_j = 2 a_j; the others are d_j = 2 a_j + the top bit of a_(j-1); d_8 is 0 or 1.
//
// No overflow: after a product row and a reduction row the window is below 2x + m < 3 * 2^512. With
// the next product row it is below 2x * 2^64 + m < 3 * 2^576. So a tenth limb of 0 to 2 suffices.
// It takes the carries of both rows, and becomes the ninth limb of the next window.
//
// Registers: rcx = m, rdx = the factor of a row, rax = low halves. The assembly saves rbx and rbp
// itself, since asm operands may not name them.
// Soundness: SOUNDNESS.md#inline-assembly.
//! Steps of the limb kernels for one tile: a row of a product, and a row of its reduction.

use core::arch::asm;

use tollgate_cpu::HaveAdxBmi2;

/// Eight limbs, and a ninth that is 0 or 1.
pub(super) type Sum = ([u64; 8], u64);

// Adds both halves of one product to the window.
macro_rules! term {
    ($factor:literal, $x:literal, $h:literal, $y:literal) => {
        concat!("mulx ", $h, ", rax, ", $factor, "\nadcx ", $x, ", rax\nadox ", $y, ", ", $h, "\n")
    };
}
// Adds q * m to the window. The lowest limb becomes 0, which frees its register. So only the carry
// of the lowest product is needed. This carry is 1 unless that limb was 0 before. `$top` takes the
// carries.
macro_rules! redc_row {
    ($k0:literal, $low:literal, $($j:literal $x:literal $y:literal),*; $first:literal
     $seventh:literal $eighth:literal $top:literal) => {
        concat!(
            "mov rdx, ", $k0, "\n", "imul rdx, ", $low, "\n",
            "xor eax, eax\n", // CF = OF = 0
            "mov rax, -1\n", "adcx ", $low, ", rax\n",
            "mulx ", $low, ", rax, [rcx]\n", "adox ", $first, ", ", $low, "\n",
            $("mulx ", $low, ", rax, [rcx + 8*", $j, "]\n", "adcx ", $x, ", rax\n",
              "adox ", $y, ", ", $low, "\n",)*
            "mulx ", $low, ", rax, [rcx + 8*7]\n", "adcx ", $seventh, ", rax\n",
            "mov eax, 0\n", // keeps the flags
            "adcx ", $low, ", rax\n", // a carry into a high half does not overflow
            "adox ", $eighth, ", ", $low, "\n", "adox ", $top, ", rax\n",
        )
    };
}
// The nine registers of a window, the lowest first, and the free register.
macro_rules! redc_window {
    ($k0:literal: $n0:literal $n1:literal $n2:literal $n3:literal $n4:literal $n5:literal
     $n6:literal $n7:literal $n8:literal, $free:literal) => {
        redc_row!($k0, $n0, 1 $n1 $n2, 2 $n2 $n3, 3 $n3 $n4, 4 $n4 $n5, 5 $n5 $n6, 6 $n6 $n7;
            $n1 $n7 $n8 $free)
    };
}

// Row i of a product. The window r8..r15, rbp slides by a limb, as in `tiles64_mulx`. Then rbx is
// the lowest limb, and rbp the carry.
macro_rules! mul_row {
    ($i:literal; $($j:literal $x:literal $y:literal),*) => {
        concat!(
            "mov rdx, [rdi + 8*", $i, "]\n", "mov rbx, r8\n",
            "xor eax, eax\n", // CF = OF = 0
            "mulx r8, rax, [rsi]\n", "adcx rbx, rax\n",
            $("adox ", $y, ", ", $x, "\n",
              "mulx ", $x, ", rax, [rsi + 8*", $j, "]\n", "adcx ", $y, ", rax\n",)*
            "mov eax, 0\n", "adcx r15, rax\n", // a carry into a high half does not overflow
            "adox r15, rbp\n", "mov ebp, 0\n", "adox rbp, rax\n",
        )
    };
    ($i:literal) => {
        mul_row!($i; 1 "r9" "r8", 2 "r10" "r9", 3 "r11" "r10", 4 "r12" "r11", 5 "r13" "r12",
            6 "r14" "r13", 7 "r15" "r14")
    };
}
macro_rules! mul_redc {
    () => {
        redc_window!("[rsp]": "rbx" "r8" "r9" "r10" "r11" "r12" "r13" "r14" "r15", "rbp")
    };
}

#[inline(always)]
pub(super) fn product(
    x: &[u64; 8],
    y: &[u64; 8],
    m: &[u64; 8],
    k0: u64,
    _proof: HaveAdxBmi2,
) -> Sum {
    let mut w = [0; 8];
    let over;
    // SAFETY: `_proof` shows that bmi2 and adx are present; all offsets are inside the arrays; rbx,
    // rbp and the stack pointer are restored at the end.
    unsafe {
        asm!(
            "push rbx",
            "push rbp",
            "push rdx", // k0
            "mov rdx, [rdi]",
            "mulx r8, rbx, [rsi]",
            "mulx r9, rax, [rsi + 8]",
            "add r8, rax",
            "mulx r10, rax, [rsi + 16]",
            "adc r9, rax",
            "mulx r11, rax, [rsi + 24]",
            "adc r10, rax",
            "mulx r12, rax, [rsi + 32]",
            "adc r11, rax",
            "mulx r13, rax, [rsi + 40]",
            "adc r12, rax",
            "mulx r14, rax, [rsi + 48]",
            "adc r13, rax",
            "mulx r15, rax, [rsi + 56]",
            "adc r14, rax",
            "adc r15, 0",
            "mov ebp, 0",
            mul_redc!(),
            mul_row!(1), mul_redc!(),
            mul_row!(2), mul_redc!(),
            mul_row!(3), mul_redc!(),
            mul_row!(4), mul_redc!(),
            mul_row!(5), mul_redc!(),
            mul_row!(6), mul_redc!(),
            mul_row!(7), mul_redc!(),
            "mov rax, rbp",
            "mov [rsp], rax", // overwrites k0
            "pop rdx",
            "pop rbp",
            "pop rbx",
            in("rdi") y.as_ptr(), in("rsi") x.as_ptr(), in("rcx") m.as_ptr(),
            inout("rdx") k0 => _, out("rax") over,
            out("r8") w[0], out("r9") w[1], out("r10") w[2], out("r11") w[3],
            out("r12") w[4], out("r13") w[5], out("r14") w[6], out("r15") w[7],
        );
    }
    (w, over)
}

// Memory layout of a square, from rsi on: x; then k0 and e_1..e_7; then d_8, a gap and d_2..d_7.
macro_rules! double {
    (lowest $j:literal) => {
        concat!(
            "mov rax, [rdi + 8*", $j, "]\n", "mov [rsi + 8*", $j, "], rax\n",
            "lea rdx, [rax + rax]\n", "mov [rsi + 64 + 8*", $j, "], rdx\n",
            "adc rax, rax\n",
        )
    };
    ($j:literal) => {
        concat!(double!(lowest $j), "mov [rsi + 128 + 8*", $j, "], rax\n")
    };
}
macro_rules! sq_row {
    ($i:literal: $($factor:literal $x:literal $y:literal),*; $top:literal, $free:literal) => {
        concat!(
            "mov rdx, [rsi + 8*", $i, "]\n", "xor eax, eax\n",
            $(term!($factor, $x, "rdi", $y),)*
            "mulx rdi, rax, [rsi + 128]\n", // rdi = 0
            "mov ", $free, ", 0\n", "adcx ", $top, ", rax\n",
            "adcx ", $free, ", rdi\n", "adox ", $free, ", rdi\n",
        )
    };
}
macro_rules! sq_redc {
    ($($n:literal)*, $free:literal) => { redc_window!("[rsi + 64]": $($n)*, $free) };
}

/// (w, over) := (x^2 + q * m) / 2^512. t is scratch memory.
#[inline(always)]
pub(super) fn square(
    x: &[u64; 8],
    m: &[u64; 8],
    k0: u64,
    t: &mut [u64; 24],
    _proof: HaveAdxBmi2,
) -> Sum {
    let mut w = [0; 8];
    let over;
    // SAFETY: as in `product`.
    unsafe {
        asm!(
            "push rbx",
            "push rbp",
            "mov [rsi + 64], rdx", // k0
            "mov r8, [rdi]",
            "mov [rsi], r8",
            "add r8, r8",
            double!(lowest 1),
            double!(2), double!(3), double!(4), double!(5), double!(6), double!(7),
            "mov eax, 0",
            "adc rax, rax",
            "mov [rsi + 128], rax",
            // the window in r10..r15, rbp, rbx, r8; it moves up by a register with each row
            "mov rdx, [rsi]",
            "mulx r11, r10, rdx",
            "mulx r12, rax, [rsi + 64 + 8*1]",
            "add r11, rax",
            "mulx r13, rax, [rsi + 128 + 8*2]",
            "adc r12, rax",
            "mulx r14, rax, [rsi + 128 + 8*3]",
            "adc r13, rax",
            "mulx r15, rax, [rsi + 128 + 8*4]",
            "adc r14, rax",
            "mulx rbp, rax, [rsi + 128 + 8*5]",
            "adc r15, rax",
            "mulx rbx, rax, [rsi + 128 + 8*6]",
            "adc rbp, rax",
            "mulx r8, rax, [rsi + 128 + 8*7]",
            "adc rbx, rax",
            "mulx rdi, rax, [rsi + 128]",
            "adc r8, rax",
            "mov r9, 0",
            "adc r9, 0",
            sq_redc!("r10" "r11" "r12" "r13" "r14" "r15" "rbp" "rbx" "r8", "r9"),
            sq_row!(1: "[rsi + 8*1]" "r12" "r13", "[rsi + 64 + 8*2]" "r13" "r14",
                "[rsi + 128 + 8*3]" "r14" "r15", "[rsi + 128 + 8*4]" "r15" "rbp",
                "[rsi + 128 + 8*5]" "rbp" "rbx", "[rsi + 128 + 8*6]" "rbx" "r8",
                "[rsi + 128 + 8*7]" "r8" "r9"; "r9", "r10"),
            sq_redc!("r11" "r12" "r13" "r14" "r15" "rbp" "rbx" "r8" "r9", "r10"),
            sq_row!(2: "[rsi + 8*2]" "r14" "r15", "[rsi + 64 + 8*3]" "r15" "rbp",
                "[rsi + 128 + 8*4]" "rbp" "rbx", "[rsi + 128 + 8*5]" "rbx" "r8",
                "[rsi + 128 + 8*6]" "r8" "r9", "[rsi + 128 + 8*7]" "r9" "r10"; "r10", "r11"),
            sq_redc!("r12" "r13" "r14" "r15" "rbp" "rbx" "r8" "r9" "r10", "r11"),
            sq_row!(3: "[rsi + 8*3]" "rbp" "rbx", "[rsi + 64 + 8*4]" "rbx" "r8",
                "[rsi + 128 + 8*5]" "r8" "r9", "[rsi + 128 + 8*6]" "r9" "r10",
                "[rsi + 128 + 8*7]" "r10" "r11"; "r11", "r12"),
            sq_redc!("r13" "r14" "r15" "rbp" "rbx" "r8" "r9" "r10" "r11", "r12"),
            sq_row!(4: "[rsi + 8*4]" "r8" "r9", "[rsi + 64 + 8*5]" "r9" "r10",
                "[rsi + 128 + 8*6]" "r10" "r11", "[rsi + 128 + 8*7]" "r11" "r12"; "r12", "r13"),
            sq_redc!("r14" "r15" "rbp" "rbx" "r8" "r9" "r10" "r11" "r12", "r13"),
            sq_row!(5: "[rsi + 8*5]" "r10" "r11", "[rsi + 64 + 8*6]" "r11" "r12",
                "[rsi + 128 + 8*7]" "r12" "r13"; "r13", "r14"),
            sq_redc!("r15" "rbp" "rbx" "r8" "r9" "r10" "r11" "r12" "r13", "r14"),
            sq_row!(6: "[rsi + 8*6]" "r12" "r13", "[rsi + 64 + 8*7]" "r13" "r14"; "r14", "r15"),
            sq_redc!("rbp" "rbx" "r8" "r9" "r10" "r11" "r12" "r13" "r14", "r15"),
            "mov rdx, [rsi + 8*7]",
            "xor eax, eax",
            term!("[rsi + 8*7]", "r14", "rdi", "r15"),
            "mov rdi, 0",
            "mov rbp, 0",
            "adcx r15, rdi",
            "adcx rbp, rdi",
            "adox rbp, rdi",
            sq_redc!("rbx" "r8" "r9" "r10" "r11" "r12" "r13" "r14" "r15", "rbp"),
            "mov rax, rbp",
            "pop rbp",
            "pop rbx",
            inout("rdi") x.as_ptr() => _, in("rsi") t.as_mut_ptr(), in("rcx") m.as_ptr(),
            inout("rdx") k0 => _, out("rax") over,
            out("r8") w[0], out("r9") w[1], out("r10") w[2], out("r11") w[3],
            out("r12") w[4], out("r13") w[5], out("r14") w[6], out("r15") w[7],
        );
    }
    (w, over)
}
