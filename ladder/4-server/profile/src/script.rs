//! The output of `perf script`: samples with their stacks.

use std::collections::BTreeMap;
use std::path::Path;

use crate::binary::Binary;
use crate::error::Error;
use crate::operations::Operations;

/// Samples in the order of their times.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Samples {
    pub(crate) samples: Vec<Sample>,
    /// The number of samples that the kernel dropped.
    pub(crate) lost: u64,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Sample {
    /// The time by `CLOCK_MONOTONIC` in nanoseconds.
    pub(crate) at_ns: u64,
    /// The number of units of the event since the previous sample of the thread.
    pub(crate) period: u64,
    /// The innermost function first.
    pub(crate) frames: Vec<Frame>,
}

/// A function on the stack.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Frame {
    /// The symbol, if the file has one; else the start of the function or the address, `+27e7d0`.
    pub(crate) symbol: String,
    /// The entry function of an algorithm of libcrypto, such as `kdf TLS13-KDF`.
    pub(crate) operation: Option<String>,
    /// The name of the mapped file without its folder.
    pub(crate) file: String,
    pub(crate) is_kernel: bool,
}

impl Samples {
    /// Reads the output of `perf script --ns --fields tid,time,period,event,ip,sym,dso`, and names
    /// functions of stripped libraries.
    ///
    /// # Errors
    ///
    /// [`Error::UnknownFormat`].
    pub fn of_script(text: &str) -> Result<Self, Error> {
        let (mut all, mut names) = (Self::default(), Names::default());
        for line in text.lines().filter(|line| !line.trim().is_empty()) {
            let wrong = || Error::UnknownFormat { line: line.trim().chars().take(80).collect() };
            if let Some((_, lost)) = line.split_once("PERF_RECORD_LOST") {
                all.lost +=
                    lost.split_whitespace().last().and_then(|n| n.parse().ok()).unwrap_or(1);
            } else if line.starts_with('\t') {
                let sample = all.samples.last_mut().ok_or_else(wrong)?;
                sample.frames.push(names.frame(line).ok_or_else(wrong)?);
            } else if line.contains(":u: ") || line.trim_end().ends_with(":u:") {
                // Without permission for the kernel, perf samples only user code.
                return Err(Error::NotPermitted);
            } else {
                all.samples.push(Sample::of_heading(line).ok_or_else(wrong)?);
            }
        }
        Ok(all)
    }
}

impl Sample {
    /// Reads `27929   522.489701123:    1001001 cpu-clock: `.
    fn of_heading(line: &str) -> Option<Self> {
        let mut fields = line.split_ascii_whitespace();
        let (_thread, time, period) = (fields.next()?, fields.next()?, fields.next()?);
        let (seconds, ns) = time.strip_suffix(':')?.split_once('.')?;
        let at_ns = seconds.parse::<u64>().ok()?.checked_mul(1_000_000_000)?;
        let at_ns = at_ns.checked_add(ns.parse().ok().filter(|_| ns.len() == 9)?)?;
        Some(Self { at_ns, period: period.parse().ok()?, frames: Vec::new() })
    }
}

/// The names of functions in the files that occur.
#[derive(Default)]
struct Names {
    files: BTreeMap<String, Option<Binary>>,
    operations: Option<Operations>,
}

impl Names {
    /// Reads `\t   12a39d symbol (/path/of/file)`.
    fn frame(&mut self, line: &str) -> Option<Frame> {
        let (address, rest) = line.trim().split_once(' ')?;
        let address = u64::from_str_radix(address, 16).ok()?;
        let (symbol, path) = rest.strip_suffix(')')?.rsplit_once(" (")?;
        // The unwinder ends a user's stack with the highest address.
        let is_high = address >> 63 == 1 && address != u64::MAX;
        let is_kernel = path.starts_with('[') && !USER_MAPS.contains(&path)
            || path.starts_with("bpf_prog_")
            || path == "[unknown]" && is_high;
        let file = path.rsplit('/').next().unwrap_or(path).to_owned();
        if !path.starts_with('/') {
            let symbol = symbol.to_owned();
            return Some(Frame { symbol, operation: None, file, is_kernel });
        }
        let binary = self.files.entry(path.to_owned());
        let binary = binary.or_insert_with(|| Binary::read(Path::new(path)));
        let start = binary.as_ref().and_then(|binary| binary.function_at(address));
        let operation = start.and_then(|start| {
            let operations = self.operations.get_or_insert_with(Operations::of_libcrypto);
            operations.at(Path::new(path), start).map(str::to_owned)
        });
        let symbol = match symbol {
            "[unknown]" => format!("+{:x}", start.unwrap_or(address)),
            known => known.to_owned(),
        };
        Some(Frame { symbol, operation, file, is_kernel })
    }
}

/// Mappings in brackets that belong to the user's code.
const USER_MAPS: [&str; 5] = ["[unknown]", "[vdso]", "[vsyscall]", "[heap]", "[stack]"];

#[cfg(test)]
mod tests {
    use super::*;

    const TEXT: &str = "\
   12   5.000000007:    1001001 cpu-clock: 
\tffffffff815a07be copy_user_generic+0x10 ([kernel.kallsyms])
\t          8e26 <T as core::fmt::Display>::fmt (/opt/x/server)
\tffffffffffffffff [unknown] ([unknown])

   12   5.000000009: PERF_RECORD_LOST lost 3
   12   6.000000000:         10 cycles: 
";

    #[test]
    fn samples_have_times_periods_and_stacks() {
        let all = Samples::of_script(TEXT).unwrap();
        assert_eq!((all.samples.len(), all.lost), (2, 3));
        let first = &all.samples[0];
        assert_eq!((first.at_ns, first.period), (5_000_000_007, 1_001_001));
        let stack: Vec<_> =
            first.frames.iter().map(|f| (&*f.symbol, &*f.file, f.is_kernel)).collect();
        let expected = [
            ("copy_user_generic+0x10", "[kernel.kallsyms]", true),
            ("<T as core::fmt::Display>::fmt", "server", false),
            ("[unknown]", "[unknown]", false),
        ];
        assert_eq!(stack, expected);
    }

    #[test]
    fn samples_of_user_code_alone_are_refused() {
        let error = Samples::of_script("12 5.000000007:  1 cpu-clock:u: \n").unwrap_err();
        assert!(matches!(error, Error::NotPermitted));
    }

    #[test]
    fn other_lines_are_errors() {
        for bad in ["\t 12 main (/bin/x)\n", "12 5.1: 7 cycles:\n", "1 5.000000001: x:\n", "x\n"] {
            let error = Samples::of_script(bad).unwrap_err();
            assert!(matches!(error, Error::UnknownFormat { .. }), "{bad:?}: {error}");
        }
    }
}
