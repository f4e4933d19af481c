//! Memory: one stretch of it, big-endian, and the console.

use crate::machine::Trap;

/// A byte that is stored here is written to the console: the data register of LEON-2's first serial
/// port. A word, a half word or a byte may be stored; its lowest byte counts.
pub const CONSOLE: u32 = 0x8000_0070;

/// The status of the console: what is loaded from here says that it is ready.
pub const CONSOLE_STATUS: u32 = CONSOLE + 4;

/// Transmitter and its holding register are empty.
const READY: u32 = 6;

/// What a program can reach.
#[derive(Clone, Debug)]
pub struct Memory {
    base: u32,
    bytes: Vec<u8>,
    console: Vec<u8>,
}

impl Memory {
    /// Zeros from this address on.
    pub(crate) fn new(base: u32, bytes: usize) -> Self {
        Self { base, bytes: vec![0; bytes], console: Vec::new() }
    }

    /// The first address, and the first that is not there any more.
    #[must_use]
    pub fn bounds(&self) -> (u32, u64) {
        (self.base, u64::from(self.base) + self.bytes.len() as u64)
    }

    /// The bytes at an address, if all are there.
    #[must_use]
    pub fn bytes(&self, address: u32, count: usize) -> Option<&[u8]> {
        let start = address.checked_sub(self.base)? as usize;
        self.bytes.get(start..start.checked_add(count)?)
    }

    /// The bytes at an address, if all are there.
    pub fn bytes_mut(&mut self, address: u32, count: usize) -> Option<&mut [u8]> {
        let start = address.checked_sub(self.base)? as usize;
        self.bytes.get_mut(start..start.checked_add(count)?)
    }

    /// What was written to the console since this was last asked.
    pub fn take_console(&mut self) -> Vec<u8> {
        core::mem::take(&mut self.console)
    }

    /// Writes to the console, as a store to its address does.
    pub(crate) fn print(&mut self, bytes: &[u8]) {
        self.console.extend_from_slice(bytes);
    }

    /// The bytes from this address on, whose number is their alignment too.
    #[inline(always)]
    pub(crate) fn load<const N: usize>(&self, address: u32) -> Result<[u8; N], Trap> {
        if !(address as usize).is_multiple_of(N) {
            return Err(Trap::Misaligned(address));
        }
        let start = address.wrapping_sub(self.base) as usize;
        match self.bytes.get(start..).and_then(<[u8]>::first_chunk) {
            Some(bytes) => Ok(*bytes),
            None => Self::load_elsewhere(address),
        }
    }

    #[inline(always)]
    pub(crate) fn store<const N: usize>(
        &mut self,
        address: u32,
        value: [u8; N],
    ) -> Result<(), Trap> {
        if !(address as usize).is_multiple_of(N) {
            return Err(Trap::Misaligned(address));
        }
        let start = address.wrapping_sub(self.base) as usize;
        match self.bytes.get_mut(start..).and_then(<[u8]>::first_chunk_mut) {
            Some(bytes) => *bytes = value,
            None => self.store_elsewhere(address, &value)?,
        }
        Ok(())
    }

    #[cold]
    fn load_elsewhere<const N: usize>(address: u32) -> Result<[u8; N], Trap> {
        let word = match address & !3 {
            CONSOLE => 0,
            CONSOLE_STATUS => READY,
            _ => return Err(Trap::NoMemory(address)),
        };
        let from = (address & 3) as usize;
        u32::to_be_bytes(word)[from..].first_chunk().copied().ok_or(Trap::NoMemory(address))
    }

    #[cold]
    fn store_elsewhere(&mut self, address: u32, value: &[u8]) -> Result<(), Trap> {
        match (address & !3, value.last()) {
            (CONSOLE, Some(&byte)) if value.len() <= 4 => self.console.push(byte),
            (CONSOLE_STATUS, _) if value.len() <= 4 => {}
            _ => return Err(Trap::NoMemory(address)),
        }
        Ok(())
    }
}
