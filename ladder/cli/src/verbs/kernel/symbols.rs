//! Code sizes of this program's functions, from its own symbol table.
//!
//! Sizes are unknown, not zero, if the table was stripped.

use std::fs;

use object::{Object as _, ObjectSegment as _, ObjectSymbol as _, SymbolKind};

/// Functions of this program: address in memory, and size in bytes.
pub(crate) struct Symbols(Vec<(usize, u64)>);

impl Symbols {
    /// Returns the functions of the running program; `None` if they cannot be read.
    pub(crate) fn of_this_program() -> Option<Self> {
        let file = fs::read("/proc/self/exe").ok()?;
        let path = fs::read_link("/proc/self/exe").ok()?;
        let maps = fs::read_to_string("/proc/self/maps").ok()?;
        functions(&file, loaded_at(&maps, path.to_str()?)?).map(Self)
    }

    pub(crate) fn bytes_at(&self, address: usize) -> Option<u64> {
        self.0.iter().find(|(start, _)| *start == address).map(|(_, bytes)| *bytes)
    }
}

/// Returns the address to which the beginning of the file is mapped. A line has the form `start-end
/// rights offset device inode path`.
fn loaded_at(maps: &str, path: &str) -> Option<usize> {
    let is_zero = |offset: &str| offset.bytes().all(|digit| digit == b'0');
    let first = |line: &&str| {
        line.ends_with(path) && line.split_ascii_whitespace().nth(2).is_some_and(is_zero)
    };
    let (start, _) = maps.lines().find(first)?.split_once('-')?;
    usize::from_str_radix(start, 16).ok()
}

/// Returns the functions of an ELF file that is mapped at `base`; `None` if there are none.
fn functions(file: &[u8], base: usize) -> Option<Vec<(usize, u64)>> {
    let file = object::File::parse(file).ok()?;
    // the preferred address; 0 for a position-independent program
    let wanted = usize::try_from(file.segments().next()?.address()).ok()?;
    let shift = base.wrapping_sub(wanted);
    let functions = file.symbols().filter(|symbol| symbol.kind() == SymbolKind::Text);
    let sized = functions.filter(|function| function.size() > 0).filter_map(|function| {
        let address = usize::try_from(function.address()).ok()?;
        Some((address.wrapping_add(shift), function.size()))
    });
    let all: Vec<_> = sized.collect();
    (!all.is_empty()).then_some(all)
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
}
