//! ELF: big-endian files of 32 bits for SPARC, linked to fixed addresses.

use std::collections::BTreeMap;

use object::read::elf::{ElfFile32, FileHeader as _, ProgramHeader as _};
use object::{BigEndian, Object as _, ObjectSymbol as _, SymbolKind, elf};

use crate::program::{BadProgram, Program, Segment};

/// Returns whether a file begins as an ELF file does.
#[must_use]
pub fn is_elf(bytes: &[u8]) -> bool {
    bytes.starts_with(b"\x7fELF")
}

/// Reads the program of an ELF file.
///
/// # Errors
///
/// [`BadProgram`], if it is truncated, or of another type or processor.
pub fn read(bytes: &[u8]) -> Result<Program, BadProgram> {
    let refuse = |why: &str| Err(BadProgram::new(why));
    match bytes.get(4..6) {
        _ if !is_elf(bytes) => {
            return refuse("it is no ELF file: its first bytes are not 7f 45 4c 46");
        }
        Some([2, _]) => {
            return refuse("it is an ELF file of 64 bits; compile with -m32");
        }
        Some([_, 1]) => {
            return refuse("it is a little-endian ELF file; SPARC is big-endian");
        }
        _ => {}
    }
    let bad = |error: object::Error| {
        BadProgram::new(&format!("it is a truncated or bad ELF file: {error}"))
    };
    let file = ElfFile32::<BigEndian>::parse(bytes).map_err(bad)?;
    let header = file.elf_header();
    let machine = header.e_machine(BigEndian);
    if !matches!(machine, elf::EM_SPARC | elf::EM_SPARC32PLUS) {
        return refuse(&format!("it is an ELF file for processor {machine}, and SPARC is 2"));
    }
    if header.e_type(BigEndian) != elf::ET_EXEC {
        return refuse(
            "it is an ELF file, but no executable with fixed addresses; link it statically and not \
             position-independent",
        );
    }
    let mut segments = Vec::new();
    for segment in file.elf_program_headers() {
        if segment.p_type(BigEndian) != elf::PT_LOAD {
            continue;
        }
        let Ok(data) = segment.data(BigEndian, bytes) else {
            return refuse("it is truncated: a segment ends beyond the file");
        };
        let Some(zeros) = segment.p_memsz(BigEndian).checked_sub(segment.p_filesz(BigEndian))
        else {
            return refuse("a segment has fewer bytes in memory than in the file");
        };
        let address = segment.p_vaddr(BigEndian);
        segments.push(Segment { address, bytes: data.to_vec(), zeros });
    }
    if segments.is_empty() {
        return refuse("it is an ELF file with nothing to load; link it");
    }
    let entry = header.e_entry(BigEndian);
    let program = Program { segments, entry, symbols: symbols(&file) };
    program.memory().map(|_| program)
}

/// Returns the symbols of functions and labels.
fn symbols(file: &ElfFile32<'_, BigEndian>) -> BTreeMap<String, u32> {
    let places = file.symbols().filter(|symbol| {
        let kind = matches!(symbol.kind(), SymbolKind::Text | SymbolKind::Unknown);
        kind && symbol.section_index().is_some()
    });
    let named = places.filter_map(|symbol| {
        let name = symbol.name().ok()?;
        let is_plain = !name.is_empty() && !name.chars().any(char::is_control);
        Some((is_plain.then(|| name.to_owned())?, u32::try_from(symbol.address()).ok()?))
    });
    named.collect()
}
