//! ELF: big-endian files of 32 bits for SPARC, linked to fixed addresses.
//!
//! Reads the header, the program headers and the symbols of functions and labels (*Tool Interface
//! Standard: ELF*, version 1.2).

use std::collections::BTreeMap;

use crate::program::{BadProgram, Program, Segment};

const MACHINE_SPARC: u16 = 2;
const MACHINE_SPARC32PLUS: u16 = 18;
const TYPE_EXECUTABLE: u16 = 2;
const LOAD: u32 = 1;
const SYMBOL_TABLE: u32 = 2;

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
    let file = File(bytes);
    if !is_elf(bytes) {
        return Err(BadProgram::new("it is no ELF file: its first bytes are not 7f 45 4c 46"));
    }
    match (file.byte(4, "its class")?, file.byte(5, "its byte order")?) {
        (1, 2) => {}
        (2, _) => return Err(BadProgram::new("it is an ELF file of 64 bits; compile with -m32")),
        (1, 1) => {
            return Err(BadProgram::new("it is a little-endian ELF file; SPARC is big-endian"));
        }
        _ => return Err(BadProgram::new("it is an ELF file of unknown class or byte order")),
    }
    let kind = file.half(16, "its type")?;
    let machine = file.half(18, "its processor")?;
    if !matches!(machine, MACHINE_SPARC | MACHINE_SPARC32PLUS) {
        let why = format!("it is an ELF file for processor {machine}, and SPARC is 2");
        return Err(BadProgram::new(&why));
    }
    if kind != TYPE_EXECUTABLE {
        return Err(BadProgram::new(
            "it is an ELF file, but no executable with fixed addresses; link it statically and not \
             position-independent",
        ));
    }
    let entry = file.word(24, "its entry")?;
    let segments = segments(&file)?;
    if segments.is_empty() {
        return Err(BadProgram::new("it is an ELF file with nothing to load; link it"));
    }
    let program = Program { segments, entry, symbols: symbols(&file)? };
    program.memory().map(|_| program)
}

fn segments(file: &File<'_>) -> Result<Vec<Segment>, BadProgram> {
    let offset = file.word(28, "the place of its program headers")?;
    let size = file.half(42, "the size of its program headers")?;
    let count = file.half(44, "the number of its program headers")?;
    let mut segments = Vec::new();
    for i in 0..count {
        let what = format!("program header {i}");
        let at = u64::from(offset) + u64::from(i) * u64::from(size);
        file.slice(at, size.into(), &what)?;
        if file.word(at, &what)? != LOAD {
            continue;
        }
        let from = file.word(at + 4, &what)?;
        let address = file.word(at + 8, &what)?;
        let in_file = file.word(at + 16, &what)?;
        let in_memory = file.word(at + 20, &what)?;
        let bytes = file.slice(from.into(), in_file, &format!("segment {i}"))?.to_vec();
        let Some(zeros) = in_memory.checked_sub(in_file) else {
            let why = format!("{what} has fewer bytes in memory than in the file");
            return Err(BadProgram::new(&why));
        };
        segments.push(Segment { address, bytes, zeros });
    }
    Ok(segments)
}

/// Reads the symbols of functions and labels, if there are any.
fn symbols(file: &File<'_>) -> Result<BTreeMap<String, u32>, BadProgram> {
    let offset = u64::from(file.word(32, "the place of its section headers")?);
    let size = file.half(46, "the size of its section headers")?;
    let count = file.half(48, "the number of its section headers")?;
    let mut names = BTreeMap::new();
    for i in 0..u64::from(count) {
        let what = format!("section header {i}");
        let at = offset + i * u64::from(size);
        file.slice(at, size.into(), &what)?;
        if file.word(at + 4, &what)? != SYMBOL_TABLE {
            continue;
        }
        let table = file.slice(
            file.word(at + 16, &what)?.into(),
            file.word(at + 20, &what)?,
            "the symbol table",
        )?;
        let strings = offset + u64::from(file.word(at + 24, &what)?) * u64::from(size);
        let what = "the section of symbols' names";
        let text = file.slice(
            file.word(strings + 16, what)?.into(),
            file.word(strings + 20, what)?,
            "the names of symbols",
        )?;
        for symbol in table.chunks_exact(16) {
            let symbol = File(symbol);
            // The symbol has no type (0) or is a function (2), and it belongs to a section.
            let kind = symbol.byte(12, "a symbol")? & 15;
            let start = symbol.word(0, "a symbol")? as usize;
            let section = symbol.half(14, "a symbol")?;
            let name = text.get(start..).unwrap_or_default().split(|&byte| byte == 0).next();
            let name = String::from_utf8_lossy(name.unwrap_or_default());
            let place = matches!(kind, 0 | 2) && section != 0 && section < 0xff00;
            if place && !name.is_empty() && !name.chars().any(char::is_control) {
                names.insert(name.into_owned(), symbol.word(4, "a symbol")?);
            }
        }
    }
    Ok(names)
}

/// Bytes, big-endian.
struct File<'a>(&'a [u8]);

impl<'a> File<'a> {
    fn slice(&self, from: u64, count: u32, what: &str) -> Result<&'a [u8], BadProgram> {
        let range = usize::try_from(from).ok().zip(usize::try_from(from + u64::from(count)).ok());
        range.and_then(|(from, to)| self.0.get(from..to)).ok_or_else(|| {
            BadProgram::new(&format!(
                "it is truncated: {what} should end at byte {}, but the file has {} bytes",
                from + u64::from(count),
                self.0.len()
            ))
        })
    }

    fn byte(&self, from: u64, what: &str) -> Result<u8, BadProgram> {
        Ok(self.slice(from, 1, what)?[0])
    }

    fn half(&self, from: u64, what: &str) -> Result<u16, BadProgram> {
        let bytes = self.slice(from, 2, what)?;
        Ok(u16::from_be_bytes([bytes[0], bytes[1]]))
    }

    fn word(&self, from: u64, what: &str) -> Result<u32, BadProgram> {
        let bytes = self.slice(from, 4, what)?;
        Ok(u32::from_be_bytes([bytes[0], bytes[1], bytes[2], bytes[3]]))
    }
}
