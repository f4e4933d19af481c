//! Memory, one contiguous range, big-endian; and the console.

use crate::trap::Trap;

/// The data register of LEON-2's first serial port. A byte stored at this address goes to the
/// console. If a word or half word is stored, its lowest byte goes to the console.
pub const CONSOLE: u32 = 0x8000_0070;

/// The status register of the console; it always reads as ready.
pub const CONSOLE_STATUS: u32 = CONSOLE + 4;

/// The status bits: transmitter and holding register are empty.
const READY: u32 = 6;

/// The memory of a program.
#[derive(Clone, Debug)]
pub struct Memory {
    base: u32,
    bytes: Vec<u8>,
    console: Vec<u8>,
}

impl Memory {
    /// Creates memory of zeros from this address on.
    pub(crate) fn new(base: u32, bytes: usize) -> Self {
        Self { base, bytes: vec![0; bytes], console: Vec::new() }
    }

    /// Returns the first address, and the first one after the end.
    pub fn bounds(&self) -> (u32, u64) {
        (self.base, u64::from(self.base) + self.bytes.len() as u64)
    }

    /// Returns the bytes at an address, if all exist.
    pub fn bytes(&self, address: u32, count: usize) -> Option<&[u8]> {
        let start = address.checked_sub(self.base)? as usize;
        self.bytes.get(start..start.checked_add(count)?)
    }

    /// Returns the bytes at an address, if all exist.
    pub fn bytes_mut(&mut self, address: u32, count: usize) -> Option<&mut [u8]> {
        let start = address.checked_sub(self.base)? as usize;
        self.bytes.get_mut(start..start.checked_add(count)?)
    }

    /// Returns the bytes written to the console since the last call.
    pub fn take_console(&mut self) -> Vec<u8> {
        core::mem::take(&mut self.console)
    }

    pub(crate) fn print(&mut self, bytes: &[u8]) {
        self.console.extend_from_slice(bytes);
    }

    /// Loads N bytes; the address must be a multiple of N.
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
