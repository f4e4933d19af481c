//! Windows: the digits of an exponent, and the number of products.

use core::fmt;

use super::Number;

/// The digits of an exponent.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Window {
    /// Digits of this many bits, counted from the lowest bit. The table has a power for each digit
    /// except zero.
    Fixed(u32),
    /// Odd digits of at most this many bits, with zeros between them. The table has a power for
    /// each odd digit.
    Sliding(u32),
}

impl Window {
    /// Returns the bits of a digit.
    pub fn bits(self) -> u32 {
        match self {
            Self::Fixed(bits) | Self::Sliding(bits) => bits,
        }
    }

    /// Returns the number of powers in the table.
    pub fn entries(self) -> u32 {
        match self {
            Self::Fixed(bits) => (1 << bits) - 1,
            Self::Sliding(bits) => 1 << (bits - 1),
        }
    }

    /// Returns the products of an exponentiation, without the two conversions.
    pub fn products(self, exponent: &Number) -> Products {
        let (bits, top) = (self.bits(), exponent.bits());
        let square = u32::from(matches!(self, Self::Sliding(2..)));
        let table = u64::from(self.entries() - 1 + square);
        let mut products = Products { table, ..Products::default() };
        let mut left = top;
        while left > 0 {
            let first = left == top;
            let width = match self {
                Self::Fixed(_) if first && left % bits != 0 => left % bits,
                Self::Fixed(_) => bits,
                Self::Sliding(_) if !exponent.bit(left - 1) => 1,
                Self::Sliding(_) => {
                    let lowest = left.saturating_sub(bits);
                    let zeros = (lowest..left).take_while(|&bit| !exponent.bit(bit)).count();
                    left - lowest - u32::try_from(zeros).unwrap_or(0)
                }
            };
            let digit = (left - width..left).any(|bit| exponent.bit(bit));
            products.multiplications += u64::from(digit && !first);
            products.squarings += if first { 0 } else { u64::from(width) };
            left -= width;
        }
        products
    }
}

impl fmt::Display for Window {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Fixed(bits) => write!(f, "fixed {bits}"),
            Self::Sliding(bits) => write!(f, "sliding {bits}"),
        }
    }
}

/// The products of an exponentiation.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Products {
    /// The number of squarings.
    pub squarings: u64,
    /// The number of multiplications by powers of the table.
    pub multiplications: u64,
    /// The number of products that compute the table.
    pub table: u64,
}

impl Products {
    /// Returns the number of all products, including the two conversions.
    pub fn total(self) -> u64 {
        self.squarings + self.multiplications + self.table + 2
    }
}
