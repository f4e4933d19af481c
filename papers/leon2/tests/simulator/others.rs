//! Comparison with other tools: encodings with the GNU assembler, programs with QEMU. If these
//! tools are not installed, the tests say so and are skipped.

use core::fmt::Write as _;
use std::path::{Path, PathBuf};
use std::process::Command;

use tollgate_leon2::isa::Syntax;
use tollgate_leon2::{Assembler, Ending, InstructionSet, Machine, Timing, elf};

const AS: &str = "sparc64-linux-gnu-as";
const LD: &str = "sparc64-linux-gnu-ld";
const OBJCOPY: &str = "sparc64-linux-gnu-objcopy";
const QEMU: &str = "qemu-sparc";

/// Returns whether all of these programs start; prints the first that does not.
fn are_there(programs: &[&str]) -> bool {
    let missing =
        programs.iter().find(|&program| Command::new(program).arg("--version").output().is_err());
    if let Some(program) = missing {
        assert!(std::env::var_os("CI").is_none(), "CI has {program}");
        println!("skipped: there is no {program}");
    }
    missing.is_none()
}

/// A temporary folder, removed at the end.
struct Folder(PathBuf);

impl Folder {
    fn new(name: &str) -> Self {
        let path = std::env::temp_dir().join(format!("tollgate-{name}-{}", std::process::id()));
        std::fs::create_dir_all(&path).unwrap();
        Self(path)
    }

    fn file(&self, name: &str) -> PathBuf {
        self.0.join(name)
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

fn run(program: &str, arguments: &[&str], files: &[&Path]) -> Vec<u8> {
    let done = Command::new(program).args(arguments).args(files).output().unwrap();
    let errors = String::from_utf8_lossy(&done.stderr);
    let first: Vec<&str> = errors.lines().take(5).collect();
    assert!(done.status.success(), "{program}: {first:?}");
    done.stdout
}

#[test]
fn encodings_are_those_of_binutils() {
    if !are_there(&[AS, OBJCOPY]) {
        return;
    }
    let set = InstructionSet::sparc();
    let mut random = fastrand::Rng::with_seed(11);
    let (mut source, mut words) = (String::new(), Vec::new());
    for row in set.rows() {
        for i in 0..12 {
            let bits = if i % 3 == 0 { random.u32(..) & random.u32(..) } else { random.u32(..) };
            let mut word = row.bits | bits & !row.mask;
            if row.syntax == Syntax::Branch {
                // Keep the distance within the few thousand words of this program.
                word &= !0x3f_ff00;
            } else if row.syntax == Syntax::Call {
                word &= !0x3fff_ff00;
            } else if bits & 1 != 0 {
                word &= !0x1fe0; // unused if there is a second register
            }
            let Some(instruction) = set.decode(word) else { continue };
            let target = instruction.target(0);
            let text = match row.syntax {
                Syntax::Branch | Syntax::Call => format!("{} . + {target}", row.name),
                _ => instruction.text(0),
            };
            writeln!(source, "{text}").unwrap();
            words.push((text, word));
        }
    }
    assert!(words.len() > 800, "{}", words.len());
    // Branches need a target.
    source += &"nop\n".repeat(300);
    let folder = Folder::new("binutils");
    let [text, object, binary] = ["all.s", "all.o", "all.bin"].map(|name| folder.file(name));
    std::fs::write(&text, source).unwrap();
    run(AS, &["-32", "-Av8", "-o"], &[&object, &text]);
    run(OBJCOPY, &["-O", "binary", "-j", ".text"], &[&object, &binary]);
    let theirs = std::fs::read(&binary).unwrap();
    for ((text, word), theirs) in words.iter().zip(theirs.chunks(4)) {
        let theirs = u32::from_be_bytes(theirs.try_into().unwrap());
        assert_eq!(*word, theirs, "{text}: {word:#010x}, binutils: {theirs:#010x}");
    }
}

/// Registers that a random program may write.
const FREE: [&str; 21] = [
    "%g1", "%g2", "%g3", "%g4", "%o0", "%o1", "%o2", "%o3", "%o4", "%o5", "%l0", "%l1", "%l2",
    "%l3", "%l4", "%l5", "%l6", "%i0", "%i1", "%i2", "%i3",
];

/// Writes random programs. In every window, `%l7` is the address of a buffer. `%g5`, which all
/// windows share, is the same address.
struct Writer {
    random: fastrand::Rng,
    text: String,
    labels: usize,
    depth: usize,
}

impl Writer {
    fn line(&mut self, line: &str) {
        writeln!(self.text, "        {line}").unwrap();
    }

    fn register(&mut self) -> &'static str {
        FREE[self.random.usize(..FREE.len())]
    }

    fn second(&mut self) -> String {
        match self.random.u32(..3) {
            0 => self.random.i32(-4096..4096).to_string(),
            1 => ["0", "1", "-1", "31", "-4096"][self.random.usize(..5)].to_owned(),
            _ => self.register().to_owned(),
        }
    }

    /// Writes an instruction other than a jump.
    fn simple(&mut self) {
        const ARITHMETIC: [&str; 33] = [
            "add", "addcc", "addx", "addxcc", "sub", "subcc", "subx", "subxcc", "and", "andcc",
            "andn", "andncc", "or", "orcc", "orn", "orncc", "xor", "xorcc", "xnor", "xnorcc",
            "sll", "srl", "sra", "umul", "umulcc", "smul", "smulcc", "taddcc", "tsubcc", "mulscc",
            "addxcc", "subxcc", "umul",
        ];
        let (a, b, rd) = (self.register(), self.second(), self.register());
        let offset = self.random.u32(..16) * 8;
        match self.random.u32(..20) {
            0..=11 => {
                let name = ARITHMETIC[self.random.usize(..ARITHMETIC.len())];
                let shifts = matches!(name, "sll" | "srl" | "sra") && !b.starts_with('%');
                let b = if shifts { self.random.u32(..32).to_string() } else { b };
                self.line(&format!("{name} {a}, {b}, {rd}"));
            }
            12 => {
                let value = self.random.u32(..1 << 22);
                self.line(&format!("sethi {value}, {rd}"));
            }
            13 => {
                self.line(&format!("wr {a}, {b}, %y"));
                (0..3).for_each(|_| self.line("nop")); // the write may be delayed by this many
            }
            14 => self.line(&format!("rd %y, {rd}")),
            15 | 16 => {
                let loads = [("ld", 4), ("ldub", 1), ("ldsb", 1), ("lduh", 2), ("ldsh", 2)];
                let (name, align) = loads[self.random.usize(..5)];
                let offset = offset + self.random.u32(..8 / align) * align;
                self.line(&format!("{name} [%l7 + {offset}], {rd}"));
            }
            17 => {
                let (name, align) = [("st", 4), ("stb", 1), ("sth", 2)][self.random.usize(..3)];
                let offset = offset + self.random.u32(..8 / align) * align;
                self.line(&format!("{name} {a}, [%l7 + {offset}]"));
            }
            18 => {
                let pair =
                    ["%g2", "%o0", "%o2", "%o4", "%l0", "%l4", "%i0"][self.random.usize(..7)];
                let name = ["ldd", "std"][self.random.usize(..2)];
                match name {
                    "ldd" => self.line(&format!("ldd [%l7 + {offset}], {pair}")),
                    _ => self.line(&format!("std {pair}, [%l7 + {offset}]")),
                }
            }
            _ => {
                let name = ["swap", "ldstub"][self.random.usize(..2)];
                self.line(&format!("{name} [%l7 + {offset}], {rd}"));
            }
        }
    }

    /// Writes a division: the divisor is not zero, and the quotient is in range or far from the
    /// limit.
    fn division(&mut self) {
        let name = ["udiv", "udivcc", "sdiv", "sdivcc"][self.random.usize(..4)];
        let (a, b, rd) = (self.register(), self.register(), self.register());
        self.line(&format!("or {b}, 1, {b}"));
        if self.random.bool() {
            let upper = self.random.u32(..64);
            self.line(&format!("wr %g0, {upper}, %y"));
            (0..3).for_each(|_| self.line("nop"));
        }
        self.line(&format!("{name} {a}, {b}, {rd}"));
    }

    /// Writes a branch forward over some instructions.
    fn branch(&mut self) {
        const CONDITIONS: [&str; 16] = [
            "n", "e", "le", "l", "leu", "cs", "neg", "vs", "a", "ne", "g", "ge", "gu", "cc", "pos",
            "vc",
        ];
        let label = self.labels;
        self.labels += 1;
        let condition = CONDITIONS[self.random.usize(..16)];
        let annul = ["", ",a"][self.random.usize(..2)];
        self.line(&format!("b{condition}{annul} label{label}"));
        self.plain_word();
        (0..self.random.u32(..4)).for_each(|_| self.simple());
        writeln!(self.text, "label{label}:").unwrap();
    }

    /// Writes one word for a delay slot.
    fn plain_word(&mut self) {
        let (a, b, rd) = (self.register(), self.second(), self.register());
        self.line(&format!("addxcc {a}, {b}, {rd}"));
    }

    /// Writes a loop of a few rounds, a call, or a window with some instructions in it.
    fn nested(&mut self) {
        if self.depth == 12 {
            return;
        }
        self.depth += 1;
        match self.random.u32(..3) {
            0 => {
                let (a, b) = (self.register(), self.second());
                self.line("save %sp, -96, %sp");
                self.line("mov %g5, %l7");
                // The contents of a new window are undefined: set them.
                for register in
                    FREE.iter().filter(|name| name.starts_with("%l") || name.starts_with("%o"))
                {
                    self.line(&format!("mov {}, {register}", self.labels % 4096));
                }
                self.some(4);
                let rd = self.register();
                self.line(&format!("restore {a}, {b}, {rd}"));
                self.line("mov %g5, %l7");
            }
            1 => {
                let label = self.labels;
                self.labels += 1;
                self.line(&format!("call leaf{}", label % 3));
                self.plain_word();
            }
            _ => self.some(3),
        }
        self.depth -= 1;
    }

    fn some(&mut self, count: u32) {
        for _ in 0..count {
            match self.random.u32(..12) {
                0 | 1 => self.branch(),
                2 => self.division(),
                3 => self.nested(),
                _ => self.simple(),
            }
        }
    }

    /// Writes a program that prints all its registers, %y and the condition codes to standard
    /// output.
    fn program(&mut self, size: u32) {
        for register in FREE {
            let value = self.random.u32(..);
            self.line(&format!("sethi %hi({value}), {register}"));
            self.line(&format!("or {register}, %lo({value}), {register}"));
        }
        self.line("cmp %g0, 0");
        self.some(size);
        let label = self.labels;
        self.labels += 1;
        // Moves %y and the condition codes to %g1, after %g1 has been stored. The instructions that
        // keep the condition codes come first.
        for (i, register) in FREE.iter().enumerate() {
            self.line(&format!("st {register}, [%l7 + {}]", 256 + 4 * i));
        }
        self.line("rd %y, %g1");
        self.line("st %g1, [%l7 + 340]");
        self.line("mov 0, %g1");
        for (i, branch) in ["bpos", "bne", "bvc", "bcc"].iter().enumerate() {
            self.line(&format!("{branch} codes{label}_{i}"));
            self.line("nop");
            self.line(&format!("or %g1, {}, %g1", 8 >> i));
            writeln!(self.text, "codes{label}_{i}:").unwrap();
        }
        self.line("st %g1, [%l7 + 344]");
        self.line("mov 4, %g1; mov 1, %o0; mov %l7, %o1; mov 352, %o2; ta 0x10");
    }
}

fn source(seed: u64, programs: usize) -> String {
    let mut writer =
        Writer { random: fastrand::Rng::with_seed(seed), text: String::new(), labels: 0, depth: 0 };
    writer.text += "        .text\n        .global _start\n_start:\n";
    // QEMU starts in the window that its %wim marks invalid. The first restore would lose this
    // window.
    writer.line("save %sp, -96, %sp");
    writer.line("sethi %hi(buffer), %g5");
    writer.line("or %g5, %lo(buffer), %g5");
    writer.line("mov %g5, %l7");
    (0..programs).for_each(|_| writer.program(60));
    writer.line("mov 1, %g1; mov 7, %o0; ta 0x10");
    for (i, body) in
        ["addcc %g1, %g2, %g3", "umul %o0, %o1, %g4", "subxcc %o2, %g1, %o3"].iter().enumerate()
    {
        writeln!(writer.text, "leaf{i}: {body}\n        retl\n        xor %o0, %o1, %o0").unwrap();
    }
    writer.text + "        .data\n        .align 8\nbuffer: .skip 512\n"
}

#[test]
fn random_programs_end_as_under_qemu() {
    if !are_there(&[AS, LD, QEMU]) {
        return;
    }
    let folder = Folder::new("qemu");
    for seed in 0..25 {
        let [text, object, program] = ["it.s", "it.o", "it"].map(|name| folder.file(name));
        std::fs::write(&text, source(seed, 40)).unwrap();
        run(AS, &["-32", "-Av8", "-o"], &[&object, &text]);
        run(LD, &["-m", "elf32_sparc", "-o"], &[&program, &object]);
        // One instruction at a time; the option's name differs between QEMU versions. QEMU 7.2
        // computes some of these programs differently if it translates whole blocks.
        let mut qemu = Command::new(QEMU);
        qemu.envs([("QEMU_SINGLESTEP", "1"), ("QEMU_ONE_INSN_PER_TB", "1")]);
        let theirs = qemu.arg(&program).output().unwrap();
        assert_eq!(theirs.status.code(), Some(7), "{:?}", theirs.status);
        let file = elf::read(&std::fs::read(&program).unwrap()).unwrap();
        let mut machine = Machine::new(InstructionSet::sparc(), Timing::leon2(), &file).unwrap();
        assert_eq!(machine.run(10_000_000), Ok(Ending::Exit(7)));
        let ours = machine.memory_mut().take_console();
        assert_eq!(ours.len(), 40 * 352);
        for (i, (ours, theirs)) in ours.chunks(352).zip(theirs.stdout.chunks(352)).enumerate() {
            let words = |bytes: &[u8]| -> Vec<u32> {
                bytes.chunks(4).map(|c| u32::from_be_bytes(c.try_into().unwrap())).collect()
            };
            // 64 words of memory, the registers, %y, the condition codes.
            for (place, (ours, theirs)) in words(ours).iter().zip(words(theirs)).enumerate() {
                assert_eq!(*ours, theirs, "seed {seed}, program {i}, word {place}, and QEMU's");
            }
        }
        assert_eq!(theirs.stdout.len(), ours.len());
    }
}

#[test]
fn programs_of_this_assembler_run_under_qemu() {
    // Routines, assembled here, compared with the simulator.
    if !are_there(&[AS, LD, QEMU]) {
        return;
    }
    let body = "_start: mov 4, %g1; mov 1, %o0; sethi %hi(text), %o1; or %o1, %lo(text), %o1
        mov 6, %o2; ta 0x10; mov 1, %g1; mov 3, %o0; ta 0x10
        .align 4
text:   .ascii \"hello\\n\"
        .align 4";
    let set = InstructionSet::sparc();
    // Linked by the GNU linker at the address that is given to this assembler.
    let program = Assembler::new(&set).at(0x10000).assemble(body).unwrap();
    let words: Vec<String> = program.segments[0]
        .bytes
        .chunks(4)
        .map(|c| format!("{:#x}", u32::from_be_bytes(c.try_into().unwrap())))
        .collect();
    let folder = Folder::new("words");
    let [text, object, linked] = ["it.s", "it.o", "it"].map(|name| folder.file(name));
    let source = format!(".text\n.global _start\n_start: .word {}\n", words.join(", "));
    std::fs::write(&text, source).unwrap();
    run(AS, &["-32", "-Av8", "-o"], &[&object, &text]);
    run(LD, &["-m", "elf32_sparc", "-Ttext", "0x10000", "-o"], &[&linked, &object]);
    let theirs = Command::new(QEMU).arg(&linked).output().unwrap();
    assert_eq!((theirs.status.code(), theirs.stdout.as_slice()), (Some(3), b"hello\n".as_slice()));
}
