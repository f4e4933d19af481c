//! Expressions: sums and products of numbers and names, with `%hi` and `%lo`.

use std::collections::{BTreeMap, HashMap};

use super::statement::is_of_name;

/// The values of names.
#[derive(Debug, Default)]
pub(super) struct Names {
    values: HashMap<String, u32>,
    labels: BTreeMap<String, u32>,
}

impl Names {
    /// Defines a label.
    pub(super) fn define(&mut self, name: &str, address: u32) -> Result<(), String> {
        self.define_value(name, address)?;
        self.labels.insert(name.to_owned(), address);
        Ok(())
    }

    /// Defines a name for a number.
    pub(super) fn define_value(&mut self, name: &str, value: u32) -> Result<(), String> {
        if name.starts_with(|c: char| c.is_ascii_digit()) {
            return Err(format!("{name} cannot be a name: it begins with a digit"));
        }
        match self.values.insert(name.to_owned(), value) {
            None => Ok(()),
            Some(_) => Err(format!("{name} is already defined")),
        }
    }

    /// Returns the labels, with their addresses.
    pub(super) fn labels(self) -> BTreeMap<String, u32> {
        self.labels
    }

    /// Returns the value of an expression at this address.
    pub(super) fn evaluate(&self, text: &str, here: u32) -> Result<i64, String> {
        let mut reader = Reader { rest: text, names: self, here, depth: 0 };
        let value = reader.sum()?;
        if reader.rest.trim().is_empty() {
            Ok(value)
        } else {
            Err(format!("unexpected: {}", reader.rest.trim()))
        }
    }
}

/// Converts a number from -2^31 to 2^32 - 1 to a word.
pub(super) fn word(value: i64) -> Result<u32, String> {
    let signed = i32::try_from(value).map(i32::cast_unsigned);
    u32::try_from(value).or(signed).map_err(|_| format!("{value} does not fit 32 bits"))
}

struct Reader<'a> {
    rest: &'a str,
    names: &'a Names,
    here: u32,
    depth: u32,
}

impl Reader<'_> {
    fn skip(&mut self, prefix: &str) -> bool {
        let rest = self.rest.trim_start().strip_prefix(prefix);
        rest.inspect(|rest| self.rest = rest).is_some()
    }

    fn sum(&mut self) -> Result<i64, String> {
        let mut sum = self.product()?;
        loop {
            let value = if self.skip("+") {
                self.product()?
            } else if self.skip("-") {
                -self.product()?
            } else {
                return Ok(sum);
            };
            sum = within(sum.checked_add(value))?;
        }
    }

    fn product(&mut self) -> Result<i64, String> {
        let mut product = self.term()?;
        while self.skip("*") {
            product = within(product.checked_mul(self.term()?))?;
        }
        Ok(product)
    }

    fn term(&mut self) -> Result<i64, String> {
        self.depth += 1;
        if self.depth > 64 {
            return Err("it is nested too deeply".to_owned());
        }
        let value = self.simple();
        self.depth -= 1;
        value
    }

    fn simple(&mut self) -> Result<i64, String> {
        if self.skip("-") {
            return Ok(-self.term()?);
        }
        if self.skip("%hi(") {
            return self.closed().and_then(word).map(|value| i64::from(value >> 10));
        }
        if self.skip("%lo(") {
            return self.closed().and_then(word).map(|value| i64::from(value & 0x3ff));
        }
        if self.skip("(") {
            return self.closed();
        }
        let rest = self.rest.trim_start();
        let end = rest.find(|c| !is_of_name(c)).unwrap_or(rest.len());
        let (name, after) = rest.split_at(end);
        self.rest = after;
        match name {
            "" if rest.is_empty() => Err("a number is missing".to_owned()),
            "" => Err(format!("{rest} is not a number")),
            "." => Ok(self.here.into()),
            _ if name.starts_with(|c: char| c.is_ascii_digit()) => number(name),
            _ => match self.names.values.get(name) {
                Some(&value) => Ok(value.into()),
                None => Err(format!("{name} is not defined")),
            },
        }
    }

    fn closed(&mut self) -> Result<i64, String> {
        let value = self.sum()?;
        if self.skip(")") { Ok(value) } else { Err("a ) is missing".to_owned()) }
    }
}

fn number(text: &str) -> Result<i64, String> {
    let hexadecimal = text.strip_prefix("0x").or_else(|| text.strip_prefix("0X"));
    let value = match hexadecimal {
        Some(digits) => i64::from_str_radix(digits, 16),
        None => text.parse(),
    };
    within(value.ok()).map_err(|_| format!("{text} is not a number of 32 bits"))
}

/// Limits intermediate results, so that they cannot overflow.
fn within(value: Option<i64>) -> Result<i64, String> {
    let range = -(1 << 40)..1 << 40;
    value.filter(|value| range.contains(value)).ok_or_else(|| "a number is too large".to_owned())
}
