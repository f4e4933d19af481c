//! Code sizes of this program's functions, from its own symbol table.
//!
//! Reads the running file as a 64-bit little-endian ELF file. Sizes are unknown, not zero, if the
//! table was stripped or the format differs.

use std::fs;

/// Symbol kinds and header kinds of ELF.
const FUNCTION: u8 = 2;
const SYMBOL_TABLE: u32 = 2;
const LOADED: u32 = 1;

/// Functions of this program: address in memory, and size in bytes.
pub(crate) struct Symbols(Vec<(usize, u64)>);

impl Symbols {
    /// The functions of the running program; `None` if they cannot be read.
    pub(crate) fn of_this_program() -> Option<Self> {
        let file = fs::read("/proc/self/exe").ok()?;
        let path = fs::read_link("/proc/self/exe").ok()?;
        let maps = fs::read_to_string("/proc/self/maps").ok()?;
        functions(&file, loaded_at(&maps, path.to_str()?)?).map(Self)
    }

    /// Bytes of the function that begins at this address.
    pub(crate) fn bytes_at(&self, address: usize) -> Option<u64> {
        self.0.iter().find(|(start, _)| *start == address).map(|(_, bytes)| *bytes)
    }
}

/// The address to which the beginning of the file is mapped. A line has the form `start-end rights
/// offset device inode path`.
fn loaded_at(maps: &str, path: &str) -> Option<usize> {
    let first = |line: &&str| {
        line.ends_with(path) && line.split_ascii_whitespace().nth(2).is_some_and(is_zero)
    };
    let (start, _) = maps.lines().find(first)?.split_once('-')?;
    usize::from_str_radix(start, 16).ok()
}

fn is_zero(offset: &str) -> bool {
    offset.bytes().all(|digit| digit == b'0')
}

/// The functions of an ELF file that is mapped at `base`.
fn functions(file: &[u8], base: usize) -> Option<Vec<(usize, u64)>> {
    if file.get(..6)? != [0x7f, b'E', b'L', b'F', 2, 1] {
        return None;
    }
    // the preferred address; 0 for a position-independent program
    let wanted = table(file, 32, 54, 56)?.find(|header| word(header, 0) == Some(LOADED))?;
    let shift = base.wrapping_sub(long(wanted, 16)?);
    let symbols = table(file, 40, 58, 60)?.find(|header| word(header, 4) == Some(SYMBOL_TABLE))?;
    let (at, size) = (long(symbols, 24)?, long(symbols, 32)?);
    let symbols = file.get(at..at.checked_add(size)?)?.chunks_exact(24);
    let function = |symbol: &[u8]| {
        let is_function = symbol.get(4)? & 0xf == FUNCTION;
        let bytes = u64::try_from(long(symbol, 16)?).ok()?;
        is_function.then_some((long(symbol, 8)?.wrapping_add(shift), bytes))
    };
    Some(symbols.filter_map(function).filter(|(_, bytes)| *bytes > 0).collect())
}

/// The entries of a header table. The file header has the table's offset, the size of an entry and
/// the number of entries at these positions.
fn table(
    file: &[u8],
    place: usize,
    entry: usize,
    count: usize,
) -> Option<impl Iterator<Item = &[u8]>> {
    let (place, entry, count) = (long(file, place)?, short(file, entry)?, short(file, count)?);
    let bytes = file.get(place..place.checked_add(entry.checked_mul(count)?)?)?;
    (entry > 0).then(|| bytes.chunks_exact(entry))
}

fn short(bytes: &[u8], at: usize) -> Option<usize> {
    Some(u16::from_le_bytes(*bytes.get(at..)?.first_chunk()?).into())
}

fn word(bytes: &[u8], at: usize) -> Option<u32> {
    Some(u32::from_le_bytes(*bytes.get(at..)?.first_chunk()?))
}

fn long(bytes: &[u8], at: usize) -> Option<usize> {
    usize::try_from(u64::from_le_bytes(*bytes.get(at..)?.first_chunk()?)).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[cfg(all(target_os = "linux", target_pointer_width = "64"))]
    #[test]
    fn functions_of_this_program_have_bytes() {
        let symbols = Symbols::of_this_program().unwrap();
        let function: fn(&str, &str) -> Option<usize> = loaded_at;
        let bytes = symbols.bytes_at(function as usize).unwrap();
        assert!((20..20_000).contains(&bytes), "{bytes}");
        assert_eq!(symbols.bytes_at(function as usize + 1), None);
    }

    #[test]
    fn a_program_is_found_among_mappings() {
        let maps = "7f00-7f10 r--p 00001000 00:1 7 /bin/a\n5500-5600 r--p 00000000 00:1 7 /bin/a\n";
        assert_eq!(loaded_at(maps, "/bin/a"), Some(0x5500));
        assert_eq!(loaded_at(maps, "/bin/b"), None);
    }

    #[test]
    fn broken_files_have_no_functions() {
        let mut file = vec![0; 256];
        assert!(functions(&file, 0).is_none());
        file[..6].copy_from_slice(&[0x7f, b'E', b'L', b'F', 2, 1]);
        for byte in [0, 1, 0xff] {
            file[6..].fill(byte);
            for length in 0..file.len() {
                assert!(functions(&file[..length], 0).is_none_or(|found| found.is_empty()));
            }
        }
    }
}
