//! Operands of instructions.

use super::expression::{Names, word};
use crate::isa::{Instruction, Row, Syntax};

/// Reads the operands of an instruction. The instruction has the first row that matches these
/// operands.
pub(super) fn read(
    rows: &[&'static Row],
    name: &str,
    operands: &[String],
    here: u32,
    names: &Names,
) -> Result<Instruction, String> {
    if rows.is_empty() {
        return Err(format!("{name} is not an instruction of this machine"));
    }
    let reader = Reader { here, names };
    let given: Vec<&str> = operands.iter().map(String::as_str).collect();
    let mut first_error = None;
    for row in rows {
        match reader.read(row, &given) {
            Ok(instruction) => return Ok(instruction),
            Err(why) => first_error = first_error.or(Some(why)),
        }
    }
    let wanted = form(rows[0].syntax);
    let why = first_error.unwrap_or_default();
    Err(match (why.is_empty(), wanted.is_empty()) {
        (true, true) => format!("{name} takes no operands"),
        (true, false) => format!("{name} takes other operands: {name} {wanted}"),
        (false, _) => why,
    })
}

/// Returns the notation of operands.
fn form(syntax: Syntax) -> &'static str {
    match syntax {
        Syntax::None => "",
        Syntax::Call | Syntax::Branch => "label",
        Syntax::Sethi => "%hi(value), rd",
        Syntax::Constant => "constant",
        Syntax::Three => "rs1, rs2 or constant, rd",
        Syntax::Two => "rs1, rs2",
        Syntax::Source => "rs1",
        Syntax::Target => "rd",
        Syntax::Load => "[address], rd",
        Syntax::Store => "rd, [address]",
        Syntax::Jump => "address, rd",
        Syntax::Address => "address",
        Syntax::ReadY => "%y, rd",
        Syntax::WriteY => "rs1, rs2 or constant, %y",
    }
}

struct Reader<'a> {
    here: u32,
    names: &'a Names,
}

impl Reader<'_> {
    /// Returns an empty error if the operands do not match the row: their number differs, or a
    /// fixed operand differs.
    fn read(&self, row: &'static Row, given: &[&str]) -> Result<Instruction, String> {
        let mut i = Instruction::new(row);
        match (row.syntax, given) {
            (Syntax::None, []) => {}
            (Syntax::Call | Syntax::Branch, [label]) => i.constant = self.distance(label)?,
            (Syntax::Sethi, [value, rd]) => {
                (i.constant, i.rd) = (self.constant(value)?, register(rd)?);
            }
            (Syntax::Constant, [value]) => i.constant = self.constant(value)?,
            (Syntax::Three, [a, b, rd]) => {
                (i.rs1, i.rd) = (register(a)?, register(rd)?);
                self.second(&mut i, b)?;
            }
            (Syntax::Two, [a, b]) => (i.rs1, i.rs2) = (register(a)?, register(b)?),
            (Syntax::Source, [a]) => i.rs1 = register(a)?,
            (Syntax::Target, [rd]) => i.rd = register(rd)?,
            (Syntax::Load, [address, rd]) | (Syntax::Store, [rd, address]) => {
                i.rd = register(rd)?;
                self.address(&mut i, bracketed(address)?)?;
            }
            (Syntax::Jump, [address, rd]) => {
                i.rd = register(rd)?;
                self.address(&mut i, address)?;
            }
            (Syntax::Address, [address]) => self.address(&mut i, address)?,
            (Syntax::ReadY, ["%y", rd]) => i.rd = register(rd)?,
            (Syntax::WriteY, [a, b, "%y"]) => {
                i.rs1 = register(a)?;
                self.second(&mut i, b)?;
            }
            _ => return Err(String::new()),
        }
        Ok(i)
    }

    fn constant(&self, text: &str) -> Result<i32, String> {
        let value = self.names.evaluate(text, self.here)?;
        word(value).map(u32::cast_signed)
    }

    /// Returns the distance in words from this instruction to a label.
    fn distance(&self, label: &str) -> Result<i32, String> {
        let target = word(self.names.evaluate(label, self.here)?)?;
        let bytes = target.wrapping_sub(self.here).cast_signed();
        if bytes % 4 == 0 {
            Ok(bytes / 4)
        } else {
            Err(format!("{label} is not the address of an instruction: it is not a multiple of 4"))
        }
    }

    /// Reads a register or a constant.
    fn second(&self, i: &mut Instruction, text: &str) -> Result<(), String> {
        if is_register(text) {
            i.rs2 = register(text)?;
        } else {
            (i.immediate, i.constant) = (true, self.constant(text)?);
        }
        Ok(())
    }

    /// Reads a register, a constant, or the sum of a register and either.
    fn address(&self, i: &mut Instruction, text: &str) -> Result<(), String> {
        if !text.starts_with('%') || !is_register(first_word(text)) {
            return self.second(i, text);
        }
        let first = first_word(text);
        i.rs1 = register(first)?;
        let rest = text[first.len()..].trim_start();
        match rest.strip_prefix('+').map(str::trim) {
            _ if rest.is_empty() => Ok(()),
            Some(second) => self.second(i, second),
            None if rest.starts_with('-') => self.second(i, rest),
            None => Err(format!("{text} is not an address")),
        }
    }
}

/// Returns the text before the first space, plus or minus.
fn first_word(text: &str) -> &str {
    text.split([' ', '\t', '+', '-']).next().unwrap_or_default()
}

fn bracketed(text: &str) -> Result<&str, String> {
    let inner = text.strip_prefix('[').and_then(|text| text.strip_suffix(']'));
    inner.map(str::trim).ok_or_else(|| format!("{text} is not an address in [ ]"))
}

/// Returns whether a text is a register name: a percent sign, but not `%hi(` or `%lo(`.
fn is_register(text: &str) -> bool {
    text.starts_with('%') && !text.contains('(')
}

fn register(text: &str) -> Result<u8, String> {
    let no = || format!("{text} is not a register");
    let name = text.strip_prefix('%').ok_or_else(no)?;
    let numbered = |prefix: &str, first: u8, count: u8| {
        let digits = name.strip_prefix(prefix)?;
        let plain = !digits.starts_with(['0', '+']) || digits == "0";
        let number: u8 = digits.parse().ok().filter(|_| plain)?;
        (number < count).then_some(first + number)
    };
    match name {
        "sp" => Ok(14),
        "fp" => Ok(30),
        _ => [("g", 0, 8), ("o", 8, 8), ("l", 16, 8), ("i", 24, 8), ("r", 0, 32)]
            .into_iter()
            .find_map(|(prefix, first, count)| numbered(prefix, first, count))
            .ok_or_else(no),
    }
}
