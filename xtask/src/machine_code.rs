//! The machine code of a binary, as objdump (binutils) prints it: functions, and the targets of
//! calls.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

use xshell::{Shell, cmd};

use crate::Result;
use crate::workspace::target_folder;
use instruction::Instruction;

pub(crate) mod instruction;

/// The functions that the audit follows, and the names of all functions.
#[derive(Debug, Default)]
pub(crate) struct Program {
    pub(crate) functions: Vec<Function>,
    /// Parts of these functions that the compiler did not inline, by address. A part is a closure,
    /// or a library function (`[T; N]::map`) instantiated for a closure.
    pub(crate) parts: BTreeMap<u64, Function>,
    names: BTreeMap<u64, String>,
    /// Slots that the loader fills with an address, and the address.
    slots: BTreeMap<u64, Slot>,
}

#[derive(Debug, Default, PartialEq, Eq)]
pub(crate) struct Function {
    /// Demangled: `path::name::<20, true>`.
    pub(crate) name: String,
    pub(crate) code: Vec<Instruction>,
}

#[derive(Debug, PartialEq, Eq)]
enum Slot {
    Here(u64),
    Library(String),
}

/// A binary that users run, and that has all kernels.
const BINARY: &str = "release/tollgate-ladder";

impl Program {
    /// Reads the functions whose names begin with one of `prefixes` from a binary; without a
    /// binary, from the release build.
    pub(crate) fn read(binary: Option<&str>, prefixes: &[&str]) -> Result<Self> {
        let binary =
            binary.map_or(target_folder()?.join(BINARY), |binary| Path::new(binary).into());
        let sh = Shell::new()?;
        let code = cmd!(sh, "objdump -d -C --no-show-raw-insn -M intel {binary}").read()?;
        let relocations = cmd!(sh, "objdump -R {binary}").read()?;
        Ok(Self::parse(&code, &relocations, prefixes))
    }

    /// Parses the output of `objdump -d -C` and `objdump -R`.
    pub(crate) fn parse(code: &str, relocations: &str, prefixes: &[&str]) -> Self {
        let mut program = Self::default();
        // the function to which the next lines belong
        let mut function: Option<&mut Function> = None;
        for line in code.lines() {
            if let Some((address, name)) = header(line) {
                program.names.insert(address, name.to_owned());
                let new = || Function { name: name.to_owned(), code: Vec::new() };
                function = if is_part(name, prefixes) {
                    Some(program.parts.entry(address).or_insert_with(new))
                } else if prefixes.iter().any(|prefix| name.starts_with(prefix)) {
                    program.functions.push(new());
                    program.functions.last_mut()
                } else {
                    None
                };
            } else if let Some(function) = &mut function {
                function.code.extend(Instruction::parse(line));
            }
        }
        program.slots = relocations.lines().filter_map(slot).collect();
        program
    }

    /// Returns the name of the function that is called by this address, or through this slot.
    pub(crate) fn callee(&self, target: u64) -> Option<&str> {
        match self.slots.get(&target) {
            Some(Slot::Library(name)) => Some(name),
            _ => self.names.get(&self.address(target)).map(String::as_str),
        }
    }

    /// Returns the address of the function that is called by this address, or through this slot.
    pub(crate) fn address(&self, target: u64) -> u64 {
        match self.slots.get(&target) {
            Some(Slot::Here(address)) => *address,
            _ => target,
        }
    }

    /// Returns whether the loader writes an address to this place.
    pub(crate) fn is_slot(&self, target: u64) -> bool {
        self.slots.contains_key(&target)
    }
}

impl Function {
    /// Returns the address of the first instruction.
    pub(crate) fn address(&self) -> Option<u64> {
        self.code.first().map(|first| first.address)
    }

    /// Returns the innermost loops. A key is the target of a backward jump; the value is the
    /// addresses of all instructions of the loop. A backward jump is not a loop if its target does
    /// not lead to the jump again: the compiler moves rare code to the end of a function.
    pub(crate) fn innermost_loops(&self) -> BTreeMap<u64, BTreeSet<u64>> {
        let first = self.code.first().map_or(0, |i| i.address);
        let before = self.predecessors();
        let mut loops: BTreeMap<u64, BTreeSet<u64>> = BTreeMap::new();
        for jump in self.code.iter().filter(|i| i.is_jump()) {
            let Some(target) = jump.target.filter(|t| (first..=jump.address).contains(t)) else {
                continue;
            };
            let (mut body, mut work) = (BTreeSet::from([target]), vec![jump.address]);
            let mut leads_back = jump.address == target;
            while let Some(at) = work.pop() {
                leads_back |= at == target;
                if body.insert(at) {
                    work.extend(before.get(&at).into_iter().flatten());
                }
            }
            // The loop is entered in its middle: the code before that entry is not part of it.
            if target != first && body.contains(&first) {
                body.retain(|at| (target..=jump.address).contains(at));
            }
            if leads_back {
                loops.entry(target).or_default().extend(body);
            }
        }
        let inner = |body: &BTreeSet<u64>, at: &u64| {
            loops.iter().any(|(other, inside)| other != at && inside.is_subset(body))
        };
        loops.iter().filter(|(at, body)| !inner(body, at)).map(|(a, b)| (*a, b.clone())).collect()
    }

    /// Returns the predecessors of each address.
    fn predecessors(&self) -> BTreeMap<u64, Vec<u64>> {
        let mut before: BTreeMap<u64, Vec<u64>> = BTreeMap::new();
        for (i, instruction) in self.code.iter().enumerate() {
            let at = instruction.address;
            let ends = ["jmp", "ret", "int3", "ud2"].contains(&instruction.mnemonic.as_str());
            if let Some(next) = self.code.get(i + 1).filter(|_| !ends) {
                before.entry(next.address).or_default().push(at);
            }
            if let Some(target) = instruction.target.filter(|_| instruction.is_jump()) {
                before.entry(target).or_default().push(at);
            }
        }
        before
    }
}

/// Returns whether a function is a part of a function whose name begins with one of `prefixes`. A
/// part is a closure of that function, or a library function instantiated for such a closure.
fn is_part(name: &str, prefixes: &[&str]) -> bool {
    name.contains("::{closure#")
        && prefixes.iter().any(|prefix| name.contains(prefix))
        && (prefixes.iter().any(|prefix| name.starts_with(prefix)) || name.starts_with("<["))
}

/// Reads a line such as `00000000004d7120 <name>:`.
fn header(line: &str) -> Option<(u64, &str)> {
    let (address, name) = line.strip_suffix(">:")?.split_once(" <")?;
    Some((u64::from_str_radix(address, 16).ok()?, name))
}

/// Reads a line such as `00000000007dab08 R_X86_64_RELATIVE  *ABS*+0x00000000001b1ce0`.
fn slot(line: &str) -> Option<(u64, Slot)> {
    let mut words = line.split_whitespace();
    let (address, kind, value) = (words.next()?, words.next()?, words.next()?);
    let address = u64::from_str_radix(address, 16).ok()?;
    let slot = match kind {
        "R_X86_64_RELATIVE" => {
            Slot::Here(u64::from_str_radix(value.strip_prefix("*ABS*+0x")?, 16).ok()?)
        }
        "R_X86_64_GLOB_DAT" | "R_X86_64_JUMP_SLOT" => {
            Slot::Library(value.split('@').next()?.to_owned())
        }
        _ => return None,
    };
    Some((address, slot))
}

#[cfg(test)]
mod tests {
    use std::collections::{BTreeMap, BTreeSet};

    use super::Program;

    const CODE: &str = "\
0000000000001000 <mont::kernels::rows::<20, true>>:
    1000:\tpush   rax
    1001:\tadd    rax,0x40
    1005:\tje     1009 <mont::kernels::rows::<20, true>+0x9>
    1007:\tdec    rcx
    1009:\tcmp    rax,rdx
    100c:\tjne    1007 <mont::kernels::rows::<20, true>+0x7>
    100e:\tjne    1001 <mont::kernels::rows::<20, true>+0x1>
    1010:\tcall   QWORD PTR [rip+0x10]        # 3000 <_DYNAMIC+0x8>
    1016:\tcall   QWORD PTR [rip+0x10]        # 3008 <_DYNAMIC+0x10>

0000000000002000 <core::panicking::panic>:
    2000:\tint3
";
    const RELOCATIONS: &str = "\
OFFSET           TYPE              VALUE
0000000000003000 R_X86_64_RELATIVE  *ABS*+0x0000000000002000
0000000000003008 R_X86_64_GLOB_DAT  memset@GLIBC_2.2.5
";

    #[test]
    fn finds_functions_of_a_prefix_and_all_names() {
        let program = Program::parse(CODE, RELOCATIONS, &["mont::kernels::"]);
        let [rows] = &program.functions[..] else { panic!("one function") };
        assert_eq!((rows.name.as_str(), rows.code.len()), ("mont::kernels::rows::<20, true>", 9));
        assert_eq!(program.callee(0x3000), Some("core::panicking::panic"));
        assert_eq!(program.callee(0x3008), Some("memset"));
        assert_eq!(program.callee(0x2000), Some("core::panicking::panic"));
        assert_eq!(program.callee(0x2001), None);
    }

    #[test]
    fn finds_innermost_loops() {
        let program = Program::parse(CODE, "", &["mont::kernels::"]);
        let loops = program.functions[0].innermost_loops();
        assert_eq!(loops, BTreeMap::from([(0x1007, BTreeSet::from([0x1007, 0x1009, 0x100c]))]));
    }

    #[test]
    fn a_jump_back_from_code_moved_to_the_end_is_no_loop() {
        let code = "\
0000000000001000 <mont::kernels::rows>:
    1000:\tje     1003 <mont::kernels::rows+0x3>
    1001:\tdec    rcx
    1002:\tret
    1003:\tinc    rcx
    1004:\tjmp    1001 <mont::kernels::rows+0x1>
";
        let program = Program::parse(code, "", &["mont::kernels::"]);
        assert_eq!(program.functions[0].innermost_loops().len(), 0);
    }
}
