//! Runs the 32 threads of a warp in step, and follows secrets: a register or a word of memory that
//! depends on a secret is marked. A branch or an address that depends on one is a panic.

use crate::parse::{Instruction, Kernel, Operand};

pub(crate) const LANES: usize = 32;

/// One value for each thread.
type Row = [u64; LANES];

/// Words of 32 bits and their marks; addresses are multiples of four.
#[derive(Default)]
pub(crate) struct Memory {
    pub(crate) words: Vec<u32>,
    pub(crate) secret: Vec<bool>,
}

impl Memory {
    pub(crate) fn with_words(words: usize) -> Self {
        Self { words: vec![0; words], secret: vec![false; words] }
    }

    fn at(&self, address: u64) -> usize {
        assert!(address.is_multiple_of(4), "aligned");
        usize::try_from(address / 4).expect("within memory")
    }
}

pub(crate) struct Warp<'a> {
    pub(crate) kernel: &'a Kernel,
    /// The argument, in words.
    pub(crate) argument: &'a [u32],
    pub(crate) block: u64,
    /// The number of the first thread in its block.
    pub(crate) first_thread: u64,
}

struct State<'m> {
    registers: Vec<Row>,
    /// A bit for each thread.
    secret: Vec<u32>,
    carry: Row,
    carry_secret: u32,
    global: &'m mut Memory,
    shared: Memory,
}

impl Warp<'_> {
    /// Runs until all threads have returned.
    pub(crate) fn run(&self, global: &mut Memory) {
        let mut state = State {
            registers: vec![[0; LANES]; self.kernel.registers],
            secret: vec![0; self.kernel.registers],
            carry: [0; LANES],
            carry_secret: 0,
            global,
            shared: Memory::with_words(1 << 16),
        };
        let code = &self.kernel.code;
        let mut next = [0; LANES];
        // Threads that are behind go first, so they meet the others again.
        while let Some(&pc) = next.iter().min().filter(|pc| **pc < code.len()) {
            let active = (0..LANES).filter(|&lane| next[lane] == pc).fold(0, |all, l| all | 1 << l);
            let instruction = &code[pc];
            let taken = instruction.guard.map_or(active, |(guard, is_true)| {
                assert_eq!(state.secret[guard] & active, 0, "a branch depends on a secret");
                let is_taken = |&l: &usize| (state.registers[guard][l] != 0) == is_true;
                (0..LANES).filter(is_taken).fold(0, |all, l| all | 1 << l) & active
            });
            for (lane, next) in next.iter_mut().enumerate().filter(|(l, _)| active >> l & 1 == 1) {
                *next = match &*instruction.name {
                    "bra" | "bra.uni" if taken >> lane & 1 == 1 => instruction.target,
                    "ret" => code.len(),
                    _ => pc + 1,
                };
            }
            if !matches!(&*instruction.name, "bra" | "bra.uni" | "ret") {
                assert_eq!(taken, active, "only branches have guards");
                self.step(&mut state, instruction, active);
            }
        }
        // Wiped words have no mark.
        assert!(!state.shared.secret.contains(&true), "a secret remains in shared memory");
    }

    fn read(&self, state: &State<'_>, operand: Operand) -> (Row, u32) {
        match operand {
            Operand::Register(at) => (state.registers[at], state.secret[at]),
            Operand::Immediate(x) => ([x; LANES], 0),
            Operand::Thread => (core::array::from_fn(|lane| self.first_thread + lane as u64), 0),
            Operand::Block => ([self.block; LANES], 0),
        }
    }

    fn step(&self, state: &mut State<'_>, instruction: &Instruction, active: u32) {
        let name = &*instruction.name;
        if name == "bar.warp.sync" {
            return assert_eq!(active, u32::MAX, "{name} without all threads");
        }
        if let Some((base, offset)) = instruction.address {
            return self.access(state, instruction, base, offset, active);
        }
        let from: Vec<(Row, u32)> =
            instruction.from.iter().map(|operand| self.read(state, *operand)).collect();
        let operand = |i: usize, lane: usize| from[i].0[lane];
        let mut secret = from.iter().fold(0, |all, (_, secret)| all | secret);
        let mut z = [0; LANES];
        if name.starts_with("shfl") || name.starts_with("vote") {
            assert_eq!(active, u32::MAX, "{name} without all threads");
            let votes = (0..LANES).filter(|&lane| operand(0, lane) != 0).fold(0, |v, l| v | 1 << l);
            if name.starts_with("vote") {
                z = [votes; LANES];
                secret = if secret == 0 { 0 } else { u32::MAX };
            } else {
                assert_eq!(from[1].1 | from[2].1, 0, "a shuffle depends on a secret");
                let (is_up, mut moved) = (name.contains(".up."), 0);
                for (lane, z) in z.iter_mut().enumerate() {
                    let source = shuffled(is_up, lane, operand(1, lane), operand(2, lane));
                    *z = operand(0, source);
                    moved |= (from[0].1 >> source & 1) << lane;
                }
                secret = moved;
            }
        } else {
            let carries_in = name.starts_with("addc") || name.starts_with("madc");
            let carries_out = name.contains(".cc.");
            if carries_in {
                secret |= state.carry_secret;
            }
            for (lane, z) in z.iter_mut().enumerate().filter(|(l, _)| active >> l & 1 == 1) {
                let x = |i| operand(i, lane);
                let carry = if carries_in { state.carry[lane] } else { 0 };
                let (value, out) = computed(name, x, carry);
                *z = value;
                if carries_out {
                    state.carry[lane] = out;
                }
            }
            if carries_out {
                state.carry_secret = state.carry_secret & !active | secret & active;
            }
        }
        let to = instruction.to[0];
        for (lane, z) in z.iter().enumerate().filter(|(lane, _)| active >> lane & 1 == 1) {
            state.registers[to][lane] = *z;
        }
        state.secret[to] = state.secret[to] & !active | secret & active;
    }

    /// Loads or stores words of global memory, shared memory or the argument.
    fn access(
        &self,
        state: &mut State<'_>,
        instruction: &Instruction,
        base: Operand,
        offset: u64,
        active: u32,
    ) {
        let (addresses, secret) = self.read(state, base);
        assert_eq!(secret & active, 0, "an address depends on a secret");
        let mut parts = instruction.name.split('.').filter(|part| *part != "volatile");
        let (is_load, space) = (parts.next() == Some("ld"), parts.next().unwrap_or_default());
        let bytes = if instruction.name.ends_with("64") { 8 } else { 4 };
        for lane in (0..LANES).filter(|lane| active >> lane & 1 == 1) {
            let address = addresses[lane].wrapping_add(offset);
            if space == "param" {
                for (i, &to) in instruction.to.iter().enumerate() {
                    let at = usize::try_from(address / 4).expect("small") + i;
                    let high = if bytes == 8 { u64::from(self.argument[at + 1]) << 32 } else { 0 };
                    state.registers[to][lane] = high | u64::from(self.argument[at]);
                    state.secret[to] &= !(1 << lane);
                }
                continue;
            }
            let memory = if space == "shared" { &mut state.shared } else { &mut *state.global };
            assert!(address.is_multiple_of(bytes), "aligned");
            let (at, words) = (memory.at(address), if bytes == 8 { 2 } else { 1 });
            if is_load {
                for (i, &to) in instruction.to.iter().enumerate() {
                    let at = at + i * words;
                    let high = if words == 2 { u64::from(memory.words[at + 1]) << 32 } else { 0 };
                    state.registers[to][lane] = high | u64::from(memory.words[at]);
                    let is_secret = memory.secret[at..at + words].contains(&true);
                    let bit = u32::from(is_secret) << lane;
                    state.secret[to] = state.secret[to] & !(1 << lane) | bit;
                }
            } else {
                for (i, from) in instruction.from.iter().enumerate() {
                    let Operand::Register(from) = *from else { panic!("a register is stored") };
                    let value = state.registers[from][lane];
                    for (word, part) in [value, value >> 32].into_iter().take(words).enumerate() {
                        memory.words[at + i * words + word] = low(part);
                        memory.secret[at + i * words + word] = state.secret[from] >> lane & 1 == 1;
                    }
                }
            }
        }
    }
}

/// Returns the source of a shuffle: PTX ISA, `shfl.sync`.
fn shuffled(is_up: bool, lane: usize, b: u64, c: u64) -> usize {
    let part = |x: u64| usize::try_from(x & 31).expect("below 32");
    let (b, clamp, segment) = (part(b), part(c), part(c >> 8));
    let bound = (lane & segment) | (clamp & !segment);
    if is_up {
        return if lane >= bound + b { lane - b } else { lane };
    }
    let source = (lane & segment) | (b & !segment);
    if source <= bound { source } else { lane }
}

fn low(x: u64) -> u32 {
    u32::try_from(x & 0xffff_ffff).expect("32 bits")
}

/// Returns the result of an instruction for one thread, and its carry.
fn computed(name: &str, x: impl Fn(usize) -> u64, carry: u64) -> (u64, u64) {
    let word = |i| u64::from(low(x(i)));
    let signed = |i| i64::from(low(x(i)).cast_signed());
    let wrapped = |x: u64| (x & 0xffff_ffff, x >> 32);
    let flag = |is: bool| (u64::from(is), 0);
    let product = || word(0) * word(1);
    match name {
        "add.cc.u32" | "addc.cc.u32" | "addc.u32" | "add.s32" => wrapped(word(0) + word(1) + carry),
        "mad.lo.cc.u32" | "madc.lo.cc.u32" | "mad.lo.s32" => {
            wrapped((product() & 0xffff_ffff) + word(2) + carry)
        }
        "madc.hi.cc.u32" => wrapped((product() >> 32) + word(2) + carry),
        "mul.lo.s32" => (product() & 0xffff_ffff, 0),
        "mul.lo.s64" => (x(0).wrapping_mul(x(1)), 0),
        "mul.wide.u32" => (product(), 0),
        "mul.wide.s32" => ((signed(0) * signed(1)).cast_unsigned(), 0),
        "add.s64" => (x(0).wrapping_add(x(1)), 0),
        "fma.rz.f64" => (fma_toward_zero(x(0), x(1), x(2)), 0),
        "add.f64" | "add.rn.f64" => ((f64::from_bits(x(0)) + f64::from_bits(x(1))).to_bits(), 0),
        "sub.rn.f64" => ((f64::from_bits(x(0)) - f64::from_bits(x(1))).to_bits(), 0),
        "mov.b64" | "mov.u64" | "mov.f64" => (x(0), 0),
        "and.b64" => (x(0) & x(1), 0),
        "xor.b64" => (x(0) ^ x(1), 0),
        "neg.s64" => (x(0).wrapping_neg(), 0),
        "shr.u64" => (x(0).checked_shr(low(x(1))).unwrap_or(0), 0),
        "shr.s64" => ((x(0).cast_signed() >> word(1).min(63)).cast_unsigned(), 0),
        "bfi.b64" => {
            let mask = (u64::MAX >> (64 - word(3))) << word(2);
            (x(1) & !mask | x(0) << word(2) & mask, 0)
        }
        "sub.s32" => (word(0).wrapping_sub(word(1)) & 0xffff_ffff, 0),
        "and.b32" => (word(0) & word(1), 0),
        "or.b32" => (word(0) | word(1), 0),
        "or.b64" => (x(0) | x(1), 0),
        "xor.b32" => (word(0) ^ word(1), 0),
        "not.b32" => (!word(0) & 0xffff_ffff, 0),
        "neg.s32" => (word(0).wrapping_neg() & 0xffff_ffff, 0),
        "shl.b32" => (word(0).checked_shl(low(x(1))).unwrap_or(0) & 0xffff_ffff, 0),
        "shl.b64" => (x(0).checked_shl(low(x(1))).unwrap_or(0), 0),
        "shr.u32" => (word(0).checked_shr(low(x(1))).unwrap_or(0), 0),
        "shr.s32" => ((signed(0) >> word(1).min(31)).cast_unsigned() & 0xffff_ffff, 0),
        "mov.u32" | "cvt.u64.u32" | "cvt.u32.u64" => (word(0), 0),
        "cvta.to.global.u64" => (x(0), 0),
        "selp.b32" | "selp.u32" | "selp.b64" => (if x(2) == 0 { x(1) } else { x(0) }, 0),
        "setp.eq.s32" => flag(word(0) == word(1)),
        "setp.ne.s32" => flag(word(0) != word(1)),
        "setp.ge.u32" => flag(word(0) >= word(1)),
        "setp.gt.u32" => flag(word(0) > word(1)),
        "setp.lt.u32" => flag(word(0) < word(1)),
        "setp.gt.s32" => flag(signed(0) > signed(1)),
        _ => panic!("no meaning for {name}: add it"),
    }
}

/// Returns the bits of x y + z, rounded towards zero, for doubles that are integers.
fn fma_toward_zero(x: u64, y: u64, z: u64) -> u64 {
    let integer = |bits: u64| {
        let value = f64::from_bits(bits);
        assert!(value.fract() == 0.0 && value.abs() < 2f64.powi(107), "{value} is no integer");
        #[allow(clippy::cast_possible_truncation, reason = "an integer below 2^107")]
        let integer = value as i128;
        integer
    };
    let sum = integer(x) * integer(y) + integer(z);
    let magnitude = sum.unsigned_abs();
    let unused = (128 - magnitude.leading_zeros()).saturating_sub(53);
    #[allow(clippy::cast_precision_loss, reason = "53 bits")]
    let rounded = ((magnitude >> unused) << unused) as f64;
    (if sum < 0 { -rounded } else { rounded }).to_bits()
}
