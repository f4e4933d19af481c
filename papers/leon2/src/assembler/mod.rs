//! A small assembler with labels, data and the usual pseudo-instructions.
//!
//! It reads the assembly language of the SPARC manual, as the GNU assembler does: one statement per
//! line, or several separated by `;`; `!` begins a comment. Directives are `.align`, `.ascii`,
//! `.asciz`, `.byte`, `.half`, `.skip`, `.word`, and `name = value`. `.global`, `.text` and other
//! directives for a linker are ignored: memory is filled in the order of the source.

mod expression;
mod operands;
mod pseudo;
mod statement;

use core::fmt;
use std::collections::{BTreeMap, HashMap};

use self::expression::Names;
use self::statement::{Statement, statements};
use crate::isa::{InstructionSet, Row};
use crate::program::{MEMORY_BASE, Program, Segment};

/// An assembler for the instructions of a set.
#[derive(Clone, Debug)]
pub struct Assembler {
    rows: HashMap<&'static str, Vec<&'static Row>>,
    origin: u32,
}

impl Assembler {
    /// Creates an assembler for these instructions.
    #[must_use]
    pub fn new(set: &InstructionSet) -> Self {
        let mut rows: HashMap<&'static str, Vec<&'static Row>> = HashMap::new();
        for row in set.rows() {
            rows.entry(row.name).or_default().push(row);
        }
        Self { rows, origin: MEMORY_BASE }
    }

    /// Sets the address of the first byte.
    #[must_use]
    pub fn at(self, origin: u32) -> Self {
        Self { origin, ..self }
    }

    /// Assembles a source. The entry point is `_start`, `main` or `start`, in this order, or else
    /// the first instruction.
    ///
    /// # Errors
    ///
    /// [`BadSource`] with the line of the first error.
    pub fn assemble(&self, source: &str) -> Result<Program, BadSource> {
        let mut pieces = Vec::new();
        let mut names = Names::default();
        let mut here = self.origin;
        for (line, statement) in statements(source) {
            let at = |why: String| BadSource { line, why };
            match statement {
                Statement::Label(name) => names.define(&name, here).map_err(at)?,
                Statement::Value(name, value) => {
                    let value = names.evaluate(&value, here).map_err(at)?;
                    let value = expression::word(value).map_err(at)?;
                    names.define_value(&name, value).map_err(at)?;
                }
                Statement::Line(text) => {
                    for piece in self.pieces(&text, here, &names).map_err(at)? {
                        let next = here.checked_add(piece.size);
                        let next =
                            next.ok_or_else(|| at("it is beyond the last address".into()))?;
                        pieces.push((line, here, piece));
                        here = next;
                    }
                }
            }
            if here - self.origin > BYTES_MAX {
                return Err(at(format!("it is longer than {} MiB", BYTES_MAX >> 20)));
            }
        }
        let mut bytes = Vec::with_capacity((here - self.origin) as usize);
        for (line, here, piece) in pieces {
            let at = |why: String| BadSource { line, why };
            self.fill(&piece, here, &names, &mut bytes).map_err(at)?;
        }
        let symbols: BTreeMap<String, u32> = names.labels();
        let first = ["_start", "main", "start"].iter().find_map(|&name| symbols.get(name));
        let entry = first.copied().unwrap_or(self.origin);
        let segments = vec![Segment { address: self.origin, bytes, zeros: 0 }];
        Ok(Program { segments, entry, symbols })
    }

    /// Returns the rows of a mnemonic.
    fn rows(&self, name: &str) -> &[&'static Row] {
        self.rows.get(name).map_or(&[], Vec::as_slice)
    }
}

/// Maximum number of bytes of a program.
const BYTES_MAX: u32 = 64 << 20;

/// The bytes of a statement, filled in after all names are known.
struct Piece {
    size: u32,
    content: Content,
}

enum Content {
    /// An instruction.
    Instruction(String, Vec<String>),
    /// The size of each number in bytes, and the numbers.
    Numbers(u32, Vec<String>),
    /// Literal bytes.
    Bytes(Vec<u8>),
}

impl Assembler {
    fn pieces(&self, text: &str, here: u32, names: &Names) -> Result<Vec<Piece>, String> {
        let (name, rest) = text.split_once(char::is_whitespace).unwrap_or((text, ""));
        let name = name.to_ascii_lowercase();
        if let Some(directive) = name.strip_prefix('.') {
            return directive_pieces(directive, rest.trim(), here, names);
        }
        let operands = statement::operands(rest)?;
        let real = pseudo::expand(&name, operands, |value| names.evaluate(value, here).ok());
        let piece =
            |(name, operands)| Piece { size: 4, content: Content::Instruction(name, operands) };
        Ok(real.into_iter().map(piece).collect())
    }

    fn fill(
        &self,
        piece: &Piece,
        here: u32,
        names: &Names,
        bytes: &mut Vec<u8>,
    ) -> Result<(), String> {
        match &piece.content {
            Content::Bytes(content) => bytes.extend_from_slice(content),
            Content::Numbers(size, values) => {
                for value in values {
                    let number = names.evaluate(value, here)?;
                    let bits = 8 * size;
                    if number >= 1 << bits || number < -(1 << (bits - 1)) {
                        return Err(format!("{number} does not fit {bits} bits"));
                    }
                    let all = number.to_be_bytes();
                    bytes.extend_from_slice(&all[all.len() - *size as usize..]);
                }
            }
            Content::Instruction(name, operands) => {
                let instruction = operands::read(self.rows(name), name, operands, here, names)?;
                let word = instruction.encode()?;
                bytes.extend_from_slice(&word.to_be_bytes());
            }
        }
        Ok(())
    }
}

fn directive_pieces(
    directive: &str,
    rest: &str,
    here: u32,
    names: &Names,
) -> Result<Vec<Piece>, String> {
    let numbers = |size: u32| -> Result<Vec<Piece>, String> {
        let values = statement::operands(rest)?;
        let count = u32::try_from(values.len()).map_err(|_| "too many numbers".to_owned())?;
        if !here.is_multiple_of(size) {
            return Err(format!("numbers of {size} bytes need .align {size} before them"));
        }
        Ok(vec![Piece { size: size * count, content: Content::Numbers(size, values) }])
    };
    let zeros = |count: i64| match u32::try_from(count) {
        Ok(size @ 0..=BYTES_MAX) => {
            Ok(vec![Piece { size, content: Content::Bytes(vec![0; size as usize]) }])
        }
        _ => Err(format!("{count} bytes: give a number from 0 to {BYTES_MAX}")),
    };
    match directive {
        "byte" => numbers(1),
        "half" => numbers(2),
        "word" | "long" => numbers(4),
        "skip" | "space" | "zero" => zeros(names.evaluate(rest, here)?),
        "align" => match names.evaluate(rest, here)? {
            to @ 1..=4096 if to & (to - 1) == 0 => zeros((-i64::from(here)).rem_euclid(to)),
            to => Err(format!("{to} is not a power of two from 1 to 4096")),
        },
        "ascii" | "asciz" | "string" => {
            let mut bytes = statement::string(rest)?;
            if directive != "ascii" {
                bytes.push(0);
            }
            let size = u32::try_from(bytes.len()).map_err(|_| "it is too long".to_owned())?;
            Ok(vec![Piece { size, content: Content::Bytes(bytes) }])
        }
        "global" | "globl" | "text" | "data" | "bss" | "section" | "type" | "size" | "file"
        | "ident" | "register" | "proc" | "seg" => Ok(Vec::new()),
        _ => Err(format!(".{directive} is not a directive of this assembler")),
    }
}

/// An error in a source. Correct the line.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct BadSource {
    /// The line, from 1.
    pub line: usize,
    /// The error.
    pub why: String,
}

impl fmt::Display for BadSource {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "line {}: {}", self.line, self.why.escape_debug().to_string().replace("\\'", "'"))
    }
}

impl core::error::Error for BadSource {}
