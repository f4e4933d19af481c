//! A program: segments, symbols and entry point.

use std::collections::BTreeMap;

use crate::memory::Memory;

/// The default start of memory: LEON-2's.
pub const MEMORY_BASE: u32 = 0x4000_0000;

/// Memory after the program, for heap and stack.
const HEAP_AND_STACK: u64 = 16 << 20;

/// Maximum size of memory, in bytes. A corrupt file may ask for more.
const MEMORY_MAX: u64 = 512 << 20;

/// A program, ready to load.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Program {
    /// Bytes and their addresses.
    pub segments: Vec<Segment>,
    /// The address of the first instruction.
    pub entry: u32,
    /// The addresses of symbols.
    pub symbols: BTreeMap<String, u32>,
}

/// Bytes and their address.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Segment {
    /// The address of the first byte.
    pub address: u32,
    /// The bytes.
    pub bytes: Vec<u8>,
    /// The number of zeros that follow.
    pub zeros: u32,
}

impl Segment {
    fn end(&self) -> u64 {
        u64::from(self.address) + self.bytes.len() as u64 + u64::from(self.zeros)
    }
}

impl Program {
    /// Returns the bytes at an address, if one segment contains them all.
    pub fn bytes(&self, address: u32, count: usize) -> Option<&[u8]> {
        self.segments.iter().find_map(|segment| {
            let start = address.checked_sub(segment.address)? as usize;
            segment.bytes.get(start..start.checked_add(count)?)
        })
    }

    /// Creates memory with the program in it.
    ///
    /// # Errors
    ///
    /// [`BadProgram`], if it does not fit or its entry point is outside its bytes.
    pub fn memory(&self) -> Result<Memory, BadProgram> {
        let low = self.segments.iter().map(|segment| segment.address).min().unwrap_or(MEMORY_BASE);
        let high = self.segments.iter().map(Segment::end).max().unwrap_or(0);
        let base = low & !0xfff;
        let top = (high + HEAP_AND_STACK).next_multiple_of(4096).min(1 << 32);
        if high > 1 << 32 {
            return Err(BadProgram::new("a segment ends beyond the last address"));
        }
        let size = top - u64::from(base);
        if size > MEMORY_MAX {
            return Err(BadProgram::new(&format!(
                "its segments span {} MiB; memory has at most {} MiB; link them closer",
                size >> 20,
                MEMORY_MAX >> 20
            )));
        }
        if !self.entry.is_multiple_of(4) || self.bytes(self.entry, 4).is_none() {
            let why = format!("its entry point {:#x} holds no instruction", self.entry);
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

    /// Returns the symbol of an address, or the one before it and the distance.
    pub fn place(&self, address: u32) -> Option<String> {
        let before = self.symbols.iter().filter(|&(_, &at)| at <= address);
        let (name, &at) = before.max_by_key(|&(_, &at)| at)?;
        Some(if at == address { name.clone() } else { format!("{name}+{:#x}", address - at) })
    }
}

/// An invalid program file.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct BadProgram(String);

impl BadProgram {
    pub(crate) fn new(why: &str) -> Self {
        Self(why.to_owned())
    }
}
