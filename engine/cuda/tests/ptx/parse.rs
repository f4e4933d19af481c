//! Reads PTX, as far as the kernels use it.

use std::collections::HashMap;

/// A value that an instruction reads.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Operand {
    Register(usize),
    Immediate(u64),
    /// The number of the thread in its block.
    Thread,
    /// The number of the block.
    Block,
}

/// An instruction: `[@guard] name to..., from..., [address + offset]`.
#[derive(Clone, Debug)]
pub(crate) struct Instruction {
    pub(crate) guard: Option<(usize, bool)>,
    pub(crate) name: String,
    pub(crate) to: Vec<usize>,
    pub(crate) from: Vec<Operand>,
    pub(crate) address: Option<(Operand, u64)>,
    /// The index of the next instruction of a branch.
    pub(crate) target: usize,
}

pub(crate) struct Kernel {
    pub(crate) code: Vec<Instruction>,
    pub(crate) registers: usize,
}

/// Returns the kernel of this name.
pub(crate) fn kernel(ptx: &str, name: &str) -> Kernel {
    let entry = format!(".visible .entry {name}(");
    let body = ptx.split_once(&entry).expect("the kernel exists").1;
    let body = body.split_once("\n{").expect("it has a body").1;
    let body = body.split_once("\n}").expect("it ends").0;
    let (mut labels, mut registers, mut branches) = (HashMap::new(), HashMap::new(), Vec::new());
    let mut code = Vec::new();
    for line in body.lines().map(str::trim) {
        if let Some(label) = line.strip_suffix(':') {
            labels.insert(label.to_owned(), code.len());
        } else if let Some(line) = line.strip_suffix(';')
            && !line.starts_with('.')
        {
            let (instruction, label) = instruction(line, &mut registers);
            branches.extend(label.map(|label| (code.len(), label)));
            code.push(instruction);
        }
    }
    for (at, label) in branches {
        code[at].target = labels[&label];
    }
    Kernel { code, registers: registers.len() }
}

type Registers = HashMap<String, usize>;

fn register(name: &str, registers: &mut Registers) -> usize {
    let next = registers.len();
    *registers.entry(name.to_owned()).or_insert(next)
}

fn instruction(line: &str, registers: &mut Registers) -> (Instruction, Option<String>) {
    let (guard, line) = match line.strip_prefix('@') {
        None => (None, line),
        Some(rest) => {
            let (name, rest) = rest.split_once(char::is_whitespace).expect("an instruction");
            let is_true = !name.starts_with('!');
            (Some((register(name.trim_start_matches('!'), registers), is_true)), rest.trim())
        }
    };
    let (name, operands) = line.split_once(char::is_whitespace).unwrap_or((line, ""));
    let mut found = Instruction {
        guard,
        name: name.to_owned(),
        to: Vec::new(),
        from: Vec::new(),
        address: None,
        target: 0,
    };
    if name == "bar.warp.sync" {
        return (found, None);
    }
    if name.starts_with("bra") {
        return (found, Some(operands.trim().to_owned()));
    }
    let is_store = name.starts_with("st.");
    let (mut place, mut in_braces) = (0, false);
    for part in operands.split(',').map(str::trim) {
        let (opens, closes) = (part.starts_with('{'), part.ends_with('}'));
        in_braces |= opens;
        let part = part.trim_matches(['{', '}']);
        if let Some(address) = part.strip_prefix('[') {
            let address = address.trim_end_matches(']');
            let (base, offset) = address.split_once('+').unwrap_or((address, "0"));
            let offset: i64 = offset.parse().expect("an offset");
            found.address = Some((operand(base, registers), offset.cast_unsigned()));
        } else if place == 0 && !is_store {
            // A second destination is a predicate that no kernel reads.
            let name = part.split('|').next().unwrap_or(part);
            found.to.push(register(name, registers));
        } else {
            found.from.push(operand(part, registers));
        }
        in_braces &= !closes;
        place += usize::from(!in_braces);
    }
    (found, None)
}

fn operand(text: &str, registers: &mut Registers) -> Operand {
    match text {
        "%tid.x" => Operand::Thread,
        "%ctaid.x" => Operand::Block,
        "%ntid.x" => Operand::Immediate(128),
        _ if text.contains("%") && text.contains('.') => panic!("no meaning for {text}: add it"),
        _ if text.starts_with('%') => Operand::Register(register(text, registers)),
        // The addresses of the argument and of shared memory.
        _ if text.starts_with("shared") || text.contains("_param_") => Operand::Immediate(0),
        _ => {
            if let Some(bits) = text.strip_prefix("0d") {
                return Operand::Immediate(u64::from_str_radix(bits, 16).expect("a double"));
            }
            let hexadecimal = text.strip_prefix("0x");
            let number =
                hexadecimal.map_or_else(|| text.parse(), |hex| i64::from_str_radix(hex, 16));
            Operand::Immediate(number.expect("a number").cast_unsigned())
        }
    }
}
