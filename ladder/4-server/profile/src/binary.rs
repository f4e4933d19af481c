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

#[cfg(test)]
mod tests {
    use super::*;

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
