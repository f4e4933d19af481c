//! The machine code of a binary, from objdump (binutils): functions, and where its calls go.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::process::Command;

use cargo_metadata::MetadataCommand;

pub(crate) mod instruction;

use instruction::Instruction;

/// The functions of interest, and the names of all.
#[derive(Debug, Default)]
pub(crate) struct Program {
    pub(crate) functions: Vec<Function>,
    names: BTreeMap<u64, String>,
    /// Addresses that the loader fills in, and with what.
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

/// The binary that users run.
const BINARY: &str = "release/tollgate";

impl Program {
    /// Reads the functions whose names begin with `prefix` from a binary, or from the release
    /// build.
    pub(crate) fn read(binary: Option<&str>, prefix: &str) -> Result<Self, String> {
        if let Some(binary) = binary {
            return Self::read_from(Path::new(binary), prefix);
        }
        let metadata = MetadataCommand::new().no_deps().exec();
        let metadata = metadata.map_err(|error| format!("cargo metadata failed: {error}"))?;
        let binary = PathBuf::from(metadata.target_directory).join(BINARY);
        if !binary.is_file() {
            let at = binary.display();
            return Err(format!("{at} is not there; run: cargo build --release -p tollgate-cli"));
        }
        Self::read_from(&binary, prefix)
    }

    fn read_from(binary: &Path, prefix: &str) -> Result<Self, String> {
        let code = objdump(binary, &["-d", "-C", "--no-show-raw-insn", "-M", "intel"])?;
        let relocations = objdump(binary, &["-R"])?;
        Ok(Self::parse(&code, &relocations, prefix))
    }

    /// From what `objdump -d -C` and `objdump -R` print.
    pub(crate) fn parse(code: &str, relocations: &str, prefix: &str) -> Self {
        let mut program = Self::default();
        let mut inside = false;
        for line in code.lines() {
            if let Some((address, name)) = header(line) {
                inside = name.starts_with(prefix);
                if inside {
                    let function = Function { name: name.to_owned(), code: Vec::new() };
                    program.functions.push(function);
                }
                program.names.insert(address, name.to_owned());
            } else if inside && let Some(function) = program.functions.last_mut() {
                function.code.extend(Instruction::parse(line));
            }
        }
        program.slots = relocations.lines().filter_map(slot).collect();
        program
    }

    /// The name of what a call to this address, or by way of this slot, reaches.
    pub(crate) fn callee(&self, target: u64) -> Option<&str> {
        match self.slots.get(&target) {
            Some(Slot::Library(name)) => Some(name),
            Some(Slot::Here(address)) => self.names.get(address).map(String::as_str),
            None => self.names.get(&target).map(String::as_str),
        }
    }
}

impl Function {
    /// The innermost loops, as ranges of addresses from the target of a backward jump to the jump.
    pub(crate) fn innermost_loops(&self) -> Vec<(u64, u64)> {
        let first = self.code.first().map_or(0, |i| i.address);
        let backward = |i: &Instruction| {
            let target = i.target.filter(|target| (first..=i.address).contains(target))?;
            i.is_jump().then_some((target, i.address))
        };
        let loops: Vec<(u64, u64)> = self.code.iter().filter_map(backward).collect();
        let holds = |outer: &(u64, u64), inner: &(u64, u64)| {
            outer != inner && outer.0 <= inner.0 && inner.1 <= outer.1
        };
        let mut innermost: Vec<_> =
            loops.iter().filter(|l| !loops.iter().any(|other| holds(l, other))).copied().collect();
        innermost.sort_unstable();
        innermost.dedup();
        innermost
    }
}

fn objdump(binary: &Path, arguments: &[&str]) -> Result<String, String> {
    let output = Command::new("objdump")
        .args(arguments)
        .arg(binary)
        .output()
        .map_err(|error| format!("objdump does not run ({error}); install binutils"))?;
    if !output.status.success() {
        let said = String::from_utf8_lossy(&output.stderr);
        return Err(format!("objdump failed, mend what it says: {}", said.trim()));
    }
    Ok(String::from_utf8_lossy(&output.stdout).into_owned())
}

/// `00000000004d7120 <name>:`
fn header(line: &str) -> Option<(u64, &str)> {
    let (address, name) = line.strip_suffix(">:")?.split_once(" <")?;
    Some((u64::from_str_radix(address, 16).ok()?, name))
}

/// `00000000007dab08 R_X86_64_RELATIVE  *ABS*+0x00000000001b1ce0`
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
    fn functions_of_a_prefix_and_the_names_of_all() {
        let program = Program::parse(CODE, RELOCATIONS, "mont::kernels::");
        let [rows] = &program.functions[..] else { panic!("one function") };
        assert_eq!((rows.name.as_str(), rows.code.len()), ("mont::kernels::rows::<20, true>", 9));
        assert_eq!(program.callee(0x3000), Some("core::panicking::panic"));
        assert_eq!(program.callee(0x3008), Some("memset"));
        assert_eq!(program.callee(0x2000), Some("core::panicking::panic"));
        assert_eq!(program.callee(0x2001), None);
    }

    #[test]
    fn the_innermost_of_loops() {
        let program = Program::parse(CODE, "", "mont::kernels::");
        assert_eq!(program.functions[0].innermost_loops(), [(0x1007, 0x100c)]);
    }
}
