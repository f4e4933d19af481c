//! The functions of a stripped ELF file, from the table that unwinding uses.

use std::fs;
use std::path::Path;

use gimli::{BaseAddresses, EhFrameHdr, LittleEndian};
use object::{Object as _, ObjectSection as _, ObjectSegment as _};

/// The starts of a file's functions.
#[derive(Clone, Debug)]
pub(crate) struct Binary {
    /// In ascending order, as addresses of the file's own layout.
    starts: Vec<u64>,
    /// Offset in the file, size and address of each loaded segment.
    segments: Vec<(u64, u64, u64)>,
}

impl Binary {
    /// Reads a file; `None` if it is no ELF file or has no table.
    pub(crate) fn read(path: &Path) -> Option<Self> {
        let bytes = fs::read(path).ok()?;
        let file = object::File::parse(&*bytes).ok()?;
        let segments = file.segments().map(|segment| {
            let (offset, size) = segment.file_range();
            (offset, size, segment.address())
        });
        let section = file.section_by_name(".eh_frame_hdr")?;
        let data = section.uncompressed_data().ok()?;
        let bases = BaseAddresses::default().set_eh_frame_hdr(section.address());
        let header = EhFrameHdr::new(&data, LittleEndian).parse(&bases, 8).ok()?;
        let mut starts = Vec::new();
        let table = header.table()?;
        let mut rows = table.iter(&bases);
        while let Ok(Some((start, _))) = rows.next() {
            starts.push(start.direct().ok()?);
        }
        Some(Self { starts, segments: segments.collect() })
    }

    /// Returns the start of the function at a place in the file, as `perf` and `/proc/PID/maps`
    /// give it.
    pub(crate) fn function_at(&self, offset: u64) -> Option<u64> {
        let inside = |(start, size, _): &&(u64, u64, u64)| (*start..start + size).contains(&offset);
        let (start, _, address) = self.segments.iter().find(inside)?;
        let address = offset - start + address;
        let after = self.starts.partition_point(|start| *start <= address);
        self.starts[..after].last().copied()
    }
}

impl Binary {
    /// Returns the functions that the function with this start ends in: the targets of its jumps
    /// that are starts of other functions. `bytes` are those of the file, for x86-64. Such a call
    /// leaves no frame of the caller on the stack.
    pub(crate) fn tail_calls(&self, bytes: &[u8], start: u64) -> Vec<u64> {
        /// `jmp` with a distance of 32 bits.
        const JUMP: u8 = 0xE9;
        const JUMP_BYTES: usize = 5;

        let next = self.starts.partition_point(|other| *other <= start);
        let end = self.starts.get(next).copied().unwrap_or(start);
        let inside = |(_, size, at): &&(u64, u64, u64)| (*at..at + size).contains(&start);
        let Some((offset, _, at)) = self.segments.iter().find(inside) else { return Vec::new() };
        let place = |address: u64| usize::try_from(address - at + offset).unwrap_or(usize::MAX);
        let code = bytes.get(place(start)..place(end)).unwrap_or_default();
        let target = |(place, code): (usize, &[u8])| {
            let distance = i32::from_le_bytes(code[1..].try_into().ok()?);
            let after = start + u64::try_from(place + JUMP_BYTES).ok()?;
            after.checked_add_signed(distance.into())
        };
        let jumps = code.windows(JUMP_BYTES).enumerate().filter(|(_, code)| code[0] == JUMP);
        let is_start = |target: &u64| *target != start && self.starts.binary_search(target).is_ok();
        jumps.filter_map(target).filter(is_start).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_jump_to_another_function_is_a_call_without_a_frame() {
        let binary =
            Binary { starts: vec![0x1000, 0x1010, 0x1020], segments: vec![(4, 0x40, 0x1000)] };
        let mut bytes = vec![0x90; 0x44];
        // at 0x1002 to 0x1020; at 0x1008 to 0x1004, in the same function
        bytes[4 + 2..][..5].copy_from_slice(&[0xE9, 0x19, 0, 0, 0]);
        bytes[4 + 8..][..5].copy_from_slice(&[0xE9, 0xF7, 0xFF, 0xFF, 0xFF]);
        assert_eq!(binary.tail_calls(&bytes, 0x1000), [0x1020]);
        assert_eq!(binary.tail_calls(&bytes, 0x1010), []);
        assert_eq!(binary.tail_calls(&bytes[..5], 0x1000), []);
    }

    #[test]
    fn functions_of_this_program_are_found() {
        let path = std::env::current_exe().unwrap();
        let binary = Binary::read(&path).unwrap();
        assert!(binary.starts.len() > 1000, "{}", binary.starts.len());
        assert!(binary.starts.is_sorted());
        let start = binary.starts[binary.starts.len() / 2];
        let holds = |(_, size, at): &&(u64, u64, u64)| (*at..at + size).contains(&start);
        let (offset, _, at) = binary.segments.iter().find(holds).unwrap();
        assert_eq!(binary.function_at(start + 1 - at + offset), Some(start));
        assert_eq!(binary.function_at(u64::MAX), None);
    }

    #[test]
    fn other_files_have_no_functions() {
        assert!(Binary::read(Path::new("/etc/passwd")).is_none());
        assert!(Binary::read(Path::new("/nonexistent")).is_none());
    }
}
