//! The instruction patterns of the probes, each in a loop of known length.

use core::arch::asm;
use core::arch::x86_64::{
    __m512i, _mm256_set1_epi64x, _mm512_madd52hi_epu64, _mm512_madd52lo_epu64, _mm512_set1_epi64,
};
use core::hint::black_box;

use super::{Probe, Run};
use crate::clock;
use tollgate_cpu::{HaveAdxBmi2, HaveAvx2, HaveAvx512, HaveAvxIfma, HaveIfma};

pub(super) const PROBES: [Run; 12] = [
    (Probe::Vpmadd52Zmm, || HaveIfma::check().and_then(vpmadd52_zmm)),
    (Probe::Vpmadd52Ymm, || HaveAvxIfma::check().and_then(vpmadd52_ymm)),
    (Probe::VectorZmm, || HaveIfma::check().and_then(vector_zmm)),
    (Probe::VpmuludqVpaddqYmm, || HaveAvx2::check().and_then(vpmuludq_vpaddq_ymm)),
    (Probe::VpmuludqVpaddqZmm, || HaveAvx512::check().and_then(vpmuludq_vpaddq_zmm)),
    (Probe::Mulx, || HaveAdxBmi2::check().and_then(mulx)),
    (Probe::MulxAdcxAdox, || HaveAdxBmi2::check().and_then(mulx_adcx_adox)),
    (Probe::Loads, loads),
    (Probe::LoadsZmm, || HaveIfma::check().and_then(loads_zmm)),
    (Probe::MulxChain, || HaveAdxBmi2::check().and_then(mulx_chain)),
    (Probe::Vpmadd52Chain, || HaveIfma::check().and_then(vpmadd52_chain)),
    (Probe::MulAdc, mul_adc),
];

/// Windows per batch, and the rank of the window that is used, counted from the slowest. With other
/// load on the core, most windows are too slow. With a changing clock, the highest rates are too
/// high.
const WINDOWS: usize = 31;
const FAST: usize = 9 * WINDOWS / 10;

/// Products per row of the row probes.
const ROW: usize = 8;

/// The number of iterations of the vector probes' loop per window: about 60 µs. Intel's cores start
/// wide vector code slowly, which costs 0.2 to 2 µs, and reduce their clock for it. Each window
/// follows another one closely enough that the chains which measure the clock see the reduced
/// clock.
const TURNS: u32 = 20_000;
/// The number of rows or groups of scalar instructions per window.
const ROWS: u32 = 2_000;

/// Instructions per cycle in a fast window of a batch. `window` executes `count` instructions.
fn rate(count: u32, mut window: impl FnMut()) -> Option<f64> {
    window(); // warms up code and vector units
    let mut rates = (0..WINDOWS)
        .map(|_| clock::time(&mut window).1.core.map(|core| f64::from(count) / core.cycles))
        .collect::<Option<Vec<f64>>>()?;
    rates.sort_by(f64::total_cmp);
    Some(rates[FAST])
}

/// The number of accumulators of each kind in the vector probe. A latency of 4 cycles at 2
/// instructions per cycle needs 8 accumulators; 12 leave some reserve. 24 accumulators and two
/// operands fit into 32 registers.
const ACCUMULATORS: usize = 12;

fn vpmadd52_zmm(_proof: HaveIfma) -> Option<f64> {
    let count = TURNS * 2 * u32::try_from(ACCUMULATORS).expect("12");
    rate(count, || {
        // SAFETY: `_proof` shows that avx512f and avx512ifma are present.
        unsafe { vpmadd52_turns(black_box(0x000f_edcb_a987_6543)) }
    })
}

#[target_feature(enable = "avx512f,avx512ifma")]
fn vpmadd52_turns(x: i64) {
    let x = _mm512_set1_epi64(x);
    let y = _mm512_set1_epi64(black_box(0x0001_2345_6789_abcd));
    let mut low: [__m512i; ACCUMULATORS] = [x; ACCUMULATORS];
    let mut high: [__m512i; ACCUMULATORS] = [y; ACCUMULATORS];
    for _ in 0..TURNS {
        for i in 0..ACCUMULATORS {
            low[i] = _mm512_madd52lo_epu64(low[i], x, y);
            high[i] = _mm512_madd52hi_epu64(high[i], x, y);
        }
    }
    black_box((low, high));
}

/// The same on 256-bit registers, in one encoding, with its prefix for the assembler.
macro_rules! vpmadd52_ymm {
    ($turns:ident, $isa:literal, $encoding:literal) => {
        #[target_feature(enable = $isa)]
        fn $turns() {
            // SAFETY: VPMADD52 on 12 accumulators, each a chain of its own, in a loop that counts
            // in a declared register. It writes declared registers and flags only, and uses neither
            // memory nor the stack.
            unsafe {
                asm!(
                    "2:",
                    ".irp n, 0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11",
                    concat!($encoding, " vpmadd52luq ymm\\n, {x}, {x}"),
                    ".endr",
                    "sub {turns:e}, 1",
                    "jnz 2b",
                    x = in(ymm_reg) _mm256_set1_epi64x(3),
                    turns = inout(reg) TURNS => _,
                    out("xmm0") _, out("xmm1") _, out("xmm2") _, out("xmm3") _,
                    out("xmm4") _, out("xmm5") _, out("xmm6") _, out("xmm7") _,
                    out("xmm8") _, out("xmm9") _, out("xmm10") _, out("xmm11") _,
                    options(nomem, nostack),
                );
            }
        }
    };
}

vpmadd52_ymm!(vpmadd52_vex_turns, "avx2,avxifma", "{{vex}}");
vpmadd52_ymm!(vpmadd52_evex_turns, "avx512ifma,avx512vl", "{{evex}}");

fn vpmadd52_ymm(proof: HaveAvxIfma) -> Option<f64> {
    let turns = if proof.has_vex() { vpmadd52_vex_turns } else { vpmadd52_evex_turns };
    rate(TURNS * u32::try_from(ACCUMULATORS).expect("12"), || {
        // SAFETY: `proof` shows that this encoding is present.
        unsafe { turns() }
    })
}

fn vector_zmm(_proof: HaveIfma) -> Option<f64> {
    rate(TURNS * 24, || {
        // SAFETY: `_proof` shows that avx512f and avx512ifma are present.
        unsafe { vector_turns() }
    })
}

#[target_feature(enable = "avx512f,avx512ifma")]
fn vector_turns() {
    let x = _mm512_set1_epi64(3);
    // SAFETY: VPMADD52 and additions on 24 vectors, each a chain of its own, in a loop that counts
    // in a declared register. It writes declared registers and flags only, and uses neither memory
    // nor the stack.
    unsafe {
        asm!(
            "2:",
            ".irp even, 0, 2, 4, 6, 8, 10, 12, 14, 16, 18, 20, 22",
            "vpmadd52luq zmm\\even, {x}, {x}",
            ".endr",
            ".irp odd, 1, 3, 5, 7, 9, 11, 13, 15, 17, 19, 21, 23",
            "vpaddq zmm\\odd, zmm\\odd, {x}",
            ".endr",
            "sub {turns:e}, 1",
            "jnz 2b",
            x = in(zmm_reg) x,
            turns = inout(reg) TURNS => _,
            out("zmm0") _, out("zmm1") _, out("zmm2") _, out("zmm3") _,
            out("zmm4") _, out("zmm5") _, out("zmm6") _, out("zmm7") _,
            out("zmm8") _, out("zmm9") _, out("zmm10") _, out("zmm11") _,
            out("zmm12") _, out("zmm13") _, out("zmm14") _, out("zmm15") _,
            out("zmm16") _, out("zmm17") _, out("zmm18") _, out("zmm19") _,
            out("zmm20") _, out("zmm21") _, out("zmm22") _, out("zmm23") _,
            options(nomem, nostack),
        );
    }
}

/// The number of links of a chain per iteration of its loop.
const LINKS: u32 = 16;

fn vpmadd52_chain(_proof: HaveIfma) -> Option<f64> {
    rate(TURNS * LINKS, || {
        // SAFETY: `_proof` shows that avx512f and avx512ifma are present.
        unsafe { vpmadd52_links(black_box(0x000f_edcb_a987_6543)) }
    })
}

#[target_feature(enable = "avx512f,avx512ifma")]
fn vpmadd52_links(x: i64) {
    let (x, mut sum) = (_mm512_set1_epi64(x), _mm512_set1_epi64(0));
    for _ in 0..TURNS {
        for _ in 0..LINKS {
            sum = _mm512_madd52lo_epu64(sum, x, x);
        }
    }
    black_box(sum);
}

/// Two values of 512 bits, each in its own cache line.
#[repr(align(64))]
struct Lines([u64; 16]);

fn loads_zmm(_proof: HaveIfma) -> Option<f64> {
    let Lines(x) = &black_box(Lines([0; 16]));
    rate(TURNS * 16, || {
        // SAFETY: `_proof` shows that avx512f is present.
        unsafe { zmm_turns(x) }
    })
}

#[target_feature(enable = "avx512f")]
fn zmm_turns(x: &[u64; 16]) {
    // SAFETY: the loop reads the sixteen words at `x`, writes declared registers and flags only,
    // and does not use the stack.
    unsafe {
        asm!(
            "2:",
            ".rept 8",
            "vmovdqu64 zmm0, [{x}]",
            "vmovdqu64 zmm1, [{x} + 64]",
            ".endr",
            "sub {turns:e}, 1",
            "jnz 2b",
            x = in(reg) x.as_ptr(),
            turns = inout(reg) TURNS => _,
            out("zmm0") _,
            out("zmm1") _,
            options(readonly, nostack),
        );
    }
}

fn loads() -> Option<f64> {
    let x = black_box([0_u64; 4]);
    rate(ROWS * 16, || {
        // SAFETY: baseline instructions. The loop reads the four words at `x`, writes declared
        // registers and flags only, and does not use the stack.
        unsafe {
            asm!(
                "2:",
                ".rept 4",
                "mov rax, [{x}]",
                "mov rcx, [{x} + 8]",
                "mov rdx, [{x} + 16]",
                "mov rdi, [{x} + 24]",
                ".endr",
                "sub {turns:e}, 1",
                "jnz 2b",
                x = in(reg) x.as_ptr(),
                turns = inout(reg) ROWS => _,
                out("rax") _,
                out("rcx") _,
                out("rdx") _,
                out("rdi") _,
                options(readonly, nostack),
            );
        }
    })
}

fn mulx_chain(_proof: HaveAdxBmi2) -> Option<f64> {
    rate(ROWS * LINKS, || {
        // SAFETY: `_proof` shows that bmi2 is present. MULX writes the two declared outputs and no
        // flags; the loop counts in a declared register. Neither memory nor the stack is used.
        unsafe {
            asm!(
                "2:",
                ".rept 16",
                "mulx {high}, {x}, {x}",
                ".endr",
                "sub {turns:e}, 1",
                "jnz 2b",
                high = out(reg) _,
                x = inout(reg) 0x9e37_79b9_7f4a_7c15_u64 => _,
                turns = inout(reg) ROWS => _,
                in("rdx") 0xbf58_476d_1ce4_e5b9_u64,
                options(nomem, nostack),
            );
        }
    })
}

/// A probe of products, each with its addition, on vectors of one width: registers named `$prefix`
/// and a number, of class `$class`.
macro_rules! vpmuludq_vpaddq {
    ($probe:ident, $proof:ident, $isa:literal, $prefix:literal, $class:ident, $splat:ident) => {
        fn $probe(_proof: $proof) -> Option<f64> {
            #[target_feature(enable = $isa)]
            fn turns() {
                // SAFETY: products and additions in a loop that counts in a declared register. It
                // writes declared registers and flags only, and uses neither memory nor the stack.
                unsafe {
                    asm!(
                        "2:",
                        ".irp i, 0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11",
                        "vpmuludq {product}, {x}, {x}",
                        concat!("vpaddq ", $prefix, "\\i, ", $prefix, "\\i, {product}"),
                        ".endr",
                        "sub {turns:e}, 1",
                        "jnz 2b",
                        x = in($class) $splat(3),
                        product = out($class) _,
                        turns = inout(reg) TURNS => _,
                        out("xmm0") _, out("xmm1") _, out("xmm2") _, out("xmm3") _,
                        out("xmm4") _, out("xmm5") _, out("xmm6") _, out("xmm7") _,
                        out("xmm8") _, out("xmm9") _, out("xmm10") _, out("xmm11") _,
                        options(nomem, nostack),
                    );
                }
            }
            rate(TURNS * u32::try_from(ACCUMULATORS).expect("12"), || {
                // SAFETY: `_proof` shows that the feature is present.
                unsafe { turns() }
            })
        }
    };
}

vpmuludq_vpaddq!(vpmuludq_vpaddq_ymm, HaveAvx2, "avx2", "ymm", ymm_reg, _mm256_set1_epi64x);
vpmuludq_vpaddq!(vpmuludq_vpaddq_zmm, HaveAvx512, "avx512f", "zmm", zmm_reg, _mm512_set1_epi64);

fn mulx(_proof: HaveAdxBmi2) -> Option<f64> {
    rate(ROWS * 16, || {
        // SAFETY: `_proof` shows that bmi2 is present. MULX writes the two declared outputs and no
        // flags; the loop counts in a declared register. Neither memory nor the stack is used.
        unsafe {
            asm!(
                "2:",
                ".rept 16",
                "mulx {high}, {low}, {x}",
                ".endr",
                "sub {turns:e}, 1",
                "jnz 2b",
                high = out(reg) _,
                low = out(reg) _,
                x = in(reg) 0x9e37_79b9_7f4a_7c15_u64,
                turns = inout(reg) ROWS => _,
                in("rdx") 0xbf58_476d_1ce4_e5b9_u64,
                options(nomem, nostack),
            );
        }
    })
}

fn mulx_adcx_adox(_proof: HaveAdxBmi2) -> Option<f64> {
    let x: [u64; ROW] = black_box([u64::MAX; ROW]); // every column carries
    rate(ROWS * 8, || {
        // SAFETY: `_proof` shows that bmi2 and adx are present. The loop reads the eight limbs at
        // `x`, writes declared registers and flags only, and does not use the stack.
        unsafe {
            asm!(
                "2:",
                ".rept 8", // one branch per eight rows: a short loop is sometimes slower
                "xor eax, eax", // both carry chains start empty
                "mulx rcx, rax, [{x}]",
                "adcx {z0}, rax",
                "adox {z1}, rcx",
                "mulx rcx, rax, [{x} + 8]",
                "adcx {z1}, rax",
                "adox {z2}, rcx",
                "mulx rcx, rax, [{x} + 16]",
                "adcx {z2}, rax",
                "adox {z3}, rcx",
                "mulx rcx, rax, [{x} + 24]",
                "adcx {z3}, rax",
                "adox {z4}, rcx",
                "mulx rcx, rax, [{x} + 32]",
                "adcx {z4}, rax",
                "adox {z5}, rcx",
                "mulx rcx, rax, [{x} + 40]",
                "adcx {z5}, rax",
                "adox {z6}, rcx",
                "mulx rcx, rax, [{x} + 48]",
                "adcx {z6}, rax",
                "adox {z7}, rcx",
                "mulx rcx, rax, [{x} + 56]",
                "adcx {z7}, rax",
                "adox rdi, rcx",
                "mov eax, 0", // keeps the flags
                "adcx rdi, rax",
                ".endr",
                "sub {turns:e}, 1",
                "jnz 2b",
                x = in(reg) x.as_ptr(),
                turns = inout(reg) ROWS / 8 => _,
                z0 = inout(reg) 0u64 => _,
                z1 = inout(reg) 0u64 => _,
                z2 = inout(reg) 0u64 => _,
                z3 = inout(reg) 0u64 => _,
                z4 = inout(reg) 0u64 => _,
                z5 = inout(reg) 0u64 => _,
                z6 = inout(reg) 0u64 => _,
                z7 = inout(reg) 0u64 => _,
                inout("rdi") 0u64 => _,
                out("rax") _,
                out("rcx") _,
                in("rdx") 0xbf58_476d_1ce4_e5b9_u64,
                options(readonly, nostack),
            );
        }
    })
}

fn mul_adc() -> Option<f64> {
    let x: [u64; ROW] = black_box([u64::MAX; ROW]); // every column carries
    let mut z: [u64; ROW] = black_box([1; ROW]);
    rate(ROWS * 8, || {
        // SAFETY: baseline instructions. The loop reads the eight limbs at `x`, reads and writes
        // the eight limbs at `z`, declared registers and flags, and does not use the stack.
        unsafe {
            asm!(
                "2:",
                "xor ecx, ecx", // the row's carry
                ".set limb, 0",
                ".rept 8",
                "mov rax, [{x} + limb]",
                "mul {y}",
                "add rax, rcx",
                "adc rdx, 0",
                "add [{z} + limb], rax",
                "adc rdx, 0",
                "mov rcx, rdx",
                ".set limb, limb + 8",
                ".endr",
                "sub {turns:e}, 1",
                "jnz 2b",
                x = in(reg) x.as_ptr(),
                z = in(reg) z.as_mut_ptr(),
                y = in(reg) 0xbf58_476d_1ce4_e5b9_u64,
                turns = inout(reg) ROWS => _,
                out("rax") _,
                out("rcx") _,
                out("rdx") _,
                options(nostack),
            );
        }
    })
}
