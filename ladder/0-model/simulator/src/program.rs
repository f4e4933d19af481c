//! What is loaded: bytes at addresses, names of addresses, and where to begin.

use core::fmt;
use std::collections::BTreeMap;

use crate::memory::Memory;

/// Where memory begins unless a program says something else: LEON-2's.
pub const MEMORY_BASE: u32 = 0x4000_0000;

/// Memory beyond what a program fills: heap, and stack from its end downwards.
const ROOM: u64 = 16 << 20;

/// More than this is refused: no program of this simulator's needs it, a broken file may ask for
/// it.
const MOST: u64 = 512 << 20;

/// A program that can be loaded.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Program {
    /// Bytes and where they go.
    pub segments: Vec<Segment>,
    /// The first instruction.
    pub entry: u32,
    /// Names of addresses.
    pub symbols: BTreeMap<String, u32>,
}

/// Bytes and where they go.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Segment {
    /// Of the first byte.
    pub address: u32,
    /// What stands there.
    pub bytes: Vec<u8>,
    /// How many zeros follow.
    pub zeros: u32,
}

impl Segment {
    fn end(&self) -> u64 {
        u64::from(self.address) + self.bytes.len() as u64 + u64::from(self.zeros)
    }
}

impl Program {
    /// A flat binary: bytes for an address, of which the first is the first instruction.
    ///
    /// # Errors
    ///
    /// [`BadProgram`], if the address is no word's or there are no bytes.
    pub fn flat(bytes: &[u8], address: u32) -> Result<Self, BadProgram> {
        if bytes.is_empty() {
            return Err(BadProgram::new("the file is empty; a flat binary begins with code"));
        }
        let segments = vec![Segment { address, bytes: bytes.to_vec(), zeros: 0 }];
        let program = Self { segments, entry: address, symbols: BTreeMap::new() };
        program.memory().map(|_| program)
    }

    /// The bytes at an address, if a segment has all of them.
    #[must_use]
    pub fn bytes(&self, address: u32, count: usize) -> Option<&[u8]> {
        self.segments.iter().find_map(|segment| {
            let start = address.checked_sub(segment.address)? as usize;
            segment.bytes.get(start..start.checked_add(count)?)
        })
    }

    /// How many bytes it fills, zeros not counted.
    #[must_use]
    pub fn size(&self) -> usize {
        self.segments.iter().map(|segment| segment.bytes.len()).sum()
    }

    /// Memory with the program in it.
    ///
    /// # Errors
    ///
    /// [`BadProgram`], if it does not fit or does not begin where it has bytes.
    pub fn memory(&self) -> Result<Memory, BadProgram> {
        let low = self.segments.iter().map(|segment| segment.address).min().unwrap_or(MEMORY_BASE);
        let high = self.segments.iter().map(Segment::end).max().unwrap_or(0);
        let base = low & !0xfff;
        let top = (high + ROOM).next_multiple_of(4096).min(1 << 32);
        if high > 1 << 32 {
            return Err(BadProgram::new("a segment ends beyond the last address"));
        }
        let size = top - u64::from(base);
        if size > MOST {
            return Err(BadProgram::new(&format!(
                "its segments lie {} MiB apart, and memory has at most {} MiB; link them closer",
                size >> 20,
                MOST >> 20
            )));
        }
        if !self.entry.is_multiple_of(4) || self.bytes(self.entry, 4).is_none() {
            let why = format!("it begins at {:#x}, where it has no instruction", self.entry);
            return Err(BadProgram::new(&why));
        }
        let mut memory = Memory::new(base, usize::try_from(size).unwrap_or(usize::MAX));
        for segment in &self.segments {
            if let Some(place) = memory.bytes_mut(segment.address, segment.bytes.len()) {
                place.copy_from_slice(&segment.bytes);
            }
        }
        Ok(memory)
    }

    /// The name that an address has, or the one before it and the distance.
    #[must_use]
    pub fn place(&self, address: u32) -> Option<String> {
        let before = self.symbols.iter().filter(|&(_, &at)| at <= address);
        let (name, &at) = before.max_by_key(|&(_, &at)| at)?;
        Some(if at == address { name.clone() } else { format!("{name}+{:#x}", address - at) })
    }
}

/// A file that is no program for this machine. Fixed by whoever made it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct BadProgram(String);

impl BadProgram {
    pub(crate) fn new(why: &str) -> Self {
        Self(why.to_owned())
    }
}

impl fmt::Display for BadProgram {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl core::error::Error for BadProgram {}
