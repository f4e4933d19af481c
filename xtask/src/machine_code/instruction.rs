//! One instruction, as objdump prints it in Intel syntax.

use core::fmt;

/// The number of a general register: rax is 0, rsp is 4, r15 is 15.
pub(crate) type Gpr = usize;

pub(crate) const RAX: Gpr = 0;
pub(crate) const RCX: Gpr = 1;
pub(crate) const RDX: Gpr = 2;
pub(crate) const RSP: Gpr = 4;
pub(crate) const RSI: Gpr = 6;
pub(crate) const RDI: Gpr = 7;
pub(crate) const R9: Gpr = 9;

/// The sixteen general registers: the names of their 8, 4, 2 and 1 lowest bytes.
const GPRS: [[&str; 4]; 16] = [
    ["rax", "eax", "ax", "al"],
    ["rcx", "ecx", "cx", "cl"],
    ["rdx", "edx", "dx", "dl"],
    ["rbx", "ebx", "bx", "bl"],
    ["rsp", "esp", "sp", "spl"],
    ["rbp", "ebp", "bp", "bpl"],
    ["rsi", "esi", "si", "sil"],
    ["rdi", "edi", "di", "dil"],
    ["r8", "r8d", "r8w", "r8b"],
    ["r9", "r9d", "r9w", "r9b"],
    ["r10", "r10d", "r10w", "r10b"],
    ["r11", "r11d", "r11w", "r11b"],
    ["r12", "r12d", "r12w", "r12b"],
    ["r13", "r13d", "r13w", "r13b"],
    ["r14", "r14d", "r14w", "r14b"],
    ["r15", "r15d", "r15w", "r15b"],
];
/// The names of the second byte of the first four registers. The audit treats such a byte as the
/// two lowest bytes.
const HIGH_BYTES: [&str; 4] = ["ah", "ch", "dh", "bh"];

/// The number of vector registers. Numbers from here on are those of mask registers.
pub(crate) const MASKS: usize = 32;

/// The mnemonic for an instruction whose operands cannot be read. No rule knows this mnemonic.
const UNREADABLE: &str = "(unreadable)";

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Operand {
    /// A general register, and the number of its bytes that the instruction uses.
    Gpr(Gpr, u32),
    /// The number of a vector register of any length, or of a mask register from [`MASKS`] on.
    Vector(usize),
    Immediate(i64),
    Memory(Memory),
}

/// A memory operand: base + index * scale + displacement.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Memory {
    pub(crate) base: Option<Gpr>,
    pub(crate) index: Option<Gpr>,
    /// True if the index is a vector: each lane has its own address.
    pub(crate) vector_index: bool,
    pub(crate) displacement: i64,
    /// The number of bytes read or written; 0 if only the address is computed.
    pub(crate) bytes: u32,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Instruction {
    pub(crate) address: u64,
    /// The whole instruction, without the comment.
    pub(crate) text: String,
    pub(crate) mnemonic: String,
    /// True if the instruction has a prefix such as `rep` or `lock`.
    pub(crate) repeated: bool,
    pub(crate) operands: Vec<Operand>,
    /// The target of a jump or call, or the address of an operand relative to rip.
    pub(crate) target: Option<u64>,
}

impl fmt::Display for Instruction {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:x}: {}", self.address, self.text)
    }
}

impl Instruction {
    /// Reads a line such as `  4d5a52:<tab>vpaddq zmm0,zmm1,zmm2   # comment`. Returns `None` if
    /// the line is not an instruction. An instruction with unknown operands gets no operands and
    /// the mnemonic [`UNREADABLE`].
    pub(crate) fn parse(line: &str) -> Option<Self> {
        let (address, rest) = line.trim_start().split_once(':')?;
        let address = u64::from_str_radix(address, 16).ok()?;
        let (text, comment) = match rest.split_once('#') {
            Some((text, comment)) => (text.trim(), Some(comment.trim())),
            None => (rest.trim(), None),
        };
        let (mut words, mut repeated) = (text, false);
        let (mnemonic, arguments) = loop {
            let (word, rest) = words.split_once(char::is_whitespace).unwrap_or((words, ""));
            match word {
                "rep" | "repz" | "repnz" | "lock" => repeated = true,
                "data16" | "cs" | "ds" | "notrack" | "bnd" | "rex.W" | "{vex}" | "{evex}" => {}
                _ => break (word, rest.trim()),
            }
            words = rest.trim_start();
        };
        if mnemonic.is_empty() {
            return None;
        }
        let jumps = mnemonic.starts_with('j') || mnemonic == "call";
        let leading = |text: &str| {
            let word = text.split_whitespace().next()?;
            u64::from_str_radix(word.trim_start_matches("0x"), 16).ok()
        };
        // names in angle brackets may contain square brackets: `<[T; 1]>::map`
        let to = arguments.split(" <").next().unwrap_or(arguments);
        let direct = if jumps && !to.contains('[') { leading(arguments) } else { None };
        let operands = if direct.is_some() || arguments.is_empty() {
            Some(Vec::new())
        } else {
            arguments.split(',').map(operand).collect()
        };
        let mnemonic = match (mnemonic, operands.as_deref()) {
            // the two-byte no-op, which aligns loops
            ("xchg", Some([Operand::Gpr(RAX, 2), Operand::Gpr(RAX, 2)])) => "nop",
            (_, None) => UNREADABLE,
            (mnemonic, Some(_)) => mnemonic,
        };
        Some(Self {
            address,
            text: text.split_whitespace().collect::<Vec<_>>().join(" "),
            mnemonic: mnemonic.to_owned(),
            repeated,
            operands: operands.unwrap_or_default(),
            target: direct.or_else(|| comment.and_then(leading)),
        })
    }

    pub(crate) fn memory(&self) -> Option<Memory> {
        self.operands.iter().find_map(|operand| match operand {
            Operand::Memory(memory) => Some(*memory),
            _ => None,
        })
    }

    pub(crate) fn is_jump(&self) -> bool {
        self.mnemonic.starts_with('j')
    }
}

/// Returns the name of the whole 8-byte register.
pub(crate) fn name(register: Gpr) -> &'static str {
    GPRS[register][0]
}

fn gpr(name: &str) -> Option<(Gpr, u32)> {
    if let Some(number) = HIGH_BYTES.iter().position(|high| *high == name) {
        return Some((number, 2));
    }
    let bytes = [8, 4, 2, 1];
    GPRS.iter().enumerate().find_map(|(number, names)| {
        let at = names.iter().position(|known| *known == name)?;
        Some((number, bytes[at]))
    })
}

fn vector(name: &str) -> Option<usize> {
    let kinds = [("xmm", 0), ("ymm", 0), ("zmm", 0), ("k", MASKS)];
    kinds.iter().find_map(|(kind, first)| {
        let number: usize = name.strip_prefix(kind)?.parse().ok()?;
        (number < MASKS).then_some(first + number)
    })
}

fn operand(text: &str) -> Option<Operand> {
    // `{k1}{z}` and `{1to8}` do not change the operand
    let bare = text.trim().split('{').next()?.trim();
    if let Some((what, address)) = bare.split_once('[') {
        return memory(what, address.strip_suffix(']')?).map(Operand::Memory);
    }
    if let Some((number, bytes)) = gpr(bare) {
        return Some(Operand::Gpr(number, bytes));
    }
    if let Some(number) = vector(bare) {
        return Some(Operand::Vector(number));
    }
    immediate(bare).map(Operand::Immediate)
}

fn immediate(text: &str) -> Option<i64> {
    let (negative, digits) = match text.strip_prefix('-') {
        Some(digits) => (true, digits),
        None => (false, text),
    };
    let value = match digits.strip_prefix("0x") {
        // 64 bits, signed
        Some(hex) => u64::from_str_radix(hex, 16).ok()?.cast_signed(),
        None => digits.parse().ok()?,
    };
    Some(if negative { value.wrapping_neg() } else { value })
}

fn memory(what: &str, address: &str) -> Option<Memory> {
    let sizes = [
        ("BYTE", 1),
        ("WORD", 2),
        ("DWORD", 4),
        ("QWORD", 8),
        ("XMMWORD", 16),
        ("YMMWORD", 32),
        ("ZMMWORD", 64),
    ];
    let size = what.split_whitespace().next().unwrap_or("");
    let bytes = sizes.iter().find(|(name, _)| *name == size).map_or(0, |(_, bytes)| *bytes);
    let mut memory = Memory { bytes, ..Memory::default() };
    for term in address.replace('-', "+-").split('+').filter(|term| !term.is_empty()) {
        let (name, scaled) = term.split_once('*').map_or((term, false), |(name, _)| (name, true));
        if name == "rip" {
            continue;
        } else if let Some((number, _)) = gpr(name) {
            match memory.base {
                None if !scaled => memory.base = Some(number),
                _ => memory.index = Some(number),
            }
        } else if vector(name).is_some() {
            memory.vector_index = true;
        } else {
            memory.displacement = immediate(term)?;
        }
    }
    Some(memory)
}

#[cfg(test)]
mod tests {

    use super::*;

    fn parse(line: &str) -> Instruction {
        Instruction::parse(line).unwrap()
    }

    #[test]
    fn a_store_with_an_index() {
        let store = parse("  4d6c60:\tvmovdqa64 ZMMWORD PTR [rdi+r10*1-0x40],zmm0");
        assert_eq!((store.address, store.mnemonic.as_str()), (0x4d_6c60, "vmovdqa64"));
        let memory = Memory {
            base: Some(RDI),
            index: Some(10),
            displacement: -0x40,
            bytes: 64,
            vector_index: false,
        };
        assert_eq!(store.operands, [Operand::Memory(memory), Operand::Vector(0)]);
    }

    #[test]
    fn targets_of_jumps_calls_and_addresses_relative_to_rip() {
        let jump = parse("  4d715c:\tjne    4d71a2 <mont::reduce::<20, true>+0x82>");
        assert_eq!((jump.target, jump.is_jump()), (Some(0x4d_71a2), true));
        let call = parse("  4dd88f:\tcall   QWORD PTR [rip+0x3206cb]  # 7f9f90 <_DYNAMIC+0x358>");
        assert_eq!(call.target, Some(0x7f_9f90));
        assert_eq!(call.memory().unwrap().base, None);
        let call =
            parse("  10:\tcall   4f4e80 <<[&mont::Product; 1]>::map::<mont::f::{closure#0}>>");
        assert_eq!((call.target, call.operands.len()), (Some(0x4f_4e80), 0));
        assert_eq!(parse("  10:\tcall   rbx").operands, [Operand::Gpr(3, 8)]);
    }

    #[test]
    fn masks_broadcasts_prefixes_and_gathers() {
        let masked = parse("  1:\tvmovdqa64 zmm1{k1}{z},ZMMWORD PTR [rsi]");
        assert_eq!(masked.operands[0], Operand::Vector(1));
        assert_eq!(parse("  1:\tkmovb eax,k2").operands[1], Operand::Vector(MASKS + 2));
        let broadcast = parse("  1:\tvpaddq zmm0,zmm1,QWORD PTR [rax+0x8]{1to8}");
        assert_eq!(broadcast.memory().unwrap().bytes, 8);
        let broadcast = parse("  1:\tvpaddq zmm0,zmm1,QWORD BCST [rax+0x8]");
        assert_eq!(broadcast.memory().unwrap().bytes, 8);
        let gather = parse("  1:\tvpgatherqq zmm0{k1},QWORD PTR [rax+zmm1*8]");
        assert!(gather.memory().unwrap().vector_index);
        let fill = parse("  1:\trep stos QWORD PTR es:[rdi],rax");
        assert!(fill.repeated && fill.mnemonic == "stos");
        let encoded = parse("  1:\t{vex} vpmadd52huq ymm4,ymm0,YMMWORD PTR [rcx+0x20]");
        assert_eq!((encoded.mnemonic.as_str(), encoded.operands.len()), ("vpmadd52huq", 3));
        assert_eq!(parse("  1:\tcs nop WORD PTR [rax+rax*1+0x0]").mnemonic, "nop");
        assert_eq!(parse("  1:\txchg   ax,ax").mnemonic, "nop");
        assert_eq!(parse("  1:\txchg   ax,bx").mnemonic, "xchg");
        assert_eq!(parse("  1:\tmovabs rdi,0xcccccccccccccccd").operands.len(), 2);
    }

    #[test]
    fn other_lines_are_no_instruction() {
        for line in ["", "Disassembly of section .text:", "  4d:", "no: address"] {
            assert_eq!(Instruction::parse(line), None, "{line}");
        }
    }

    #[test]
    fn unreadable_operands_give_an_instruction_that_no_rule_knows() {
        for line in ["  4d:\tmov rax,cr0", "  4d:\tmov x[,", "  4d:\tmov rax,QWORD PTR [rax+foo]"] {
            assert_eq!(parse(line).mnemonic, UNREADABLE, "{line}");
        }
    }
}
