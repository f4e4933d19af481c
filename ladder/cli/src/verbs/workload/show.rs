//! `tollgate workload show`: the parameters of a workload and their sources.

use std::process::ExitCode;

use tollgate_report::text::{plain, wrapped};
use tollgate_workload::{FILES, Quantiles, Workload};

use super::find;
use crate::cells::{bar, float};
use crate::error::CliError;
use crate::output::Output;
use crate::verbs::workload::options::Show as Options;

/// Columns of the longest bar.
const BAR: u32 = 60;

/// Prints a workload, or all names.
pub(super) fn run(options: &Options) -> Result<ExitCode, CliError> {
    let text = match &options.workload {
        Some(name) => text(&find(name)?),
        None => FILES.map(|file| format!("{:10} {}\n", file.name, file.workload().title)).concat(),
    };
    Output::new(None)?.text(&text)?;
    Ok(ExitCode::SUCCESS)
}

/// Every parameter with its source, and a drawing of the sizes.
pub(super) fn text(workload: &Workload) -> String {
    let mut text = wrapped(&workload.title);
    for (name, parameter) in workload.parameters() {
        let line = match parameter {
            // a body has one size or a table of sizes
            None if name == "bytes" && workload.sizes.is_some() => continue,
            None if name == "sizes" && workload.bytes.is_some() => continue,
            // A comparison is optional.
            None if name == "compared with" => continue,
            None => format!("{name}: not known"),
            Some(parameter) => {
                let instead = parameter.instead_of.map(|what| format!(", instead of {what}"));
                let instead = instead.unwrap_or_default();
                format!("{name}: {}{instead} - {}", parameter.value, parameter.source)
            }
        };
        text += &wrapped(&line);
    }
    if let Some(sizes) = &workload.sizes {
        text += "\n";
        text += &drawing(&sizes.value);
    }
    text
}

/// Draws the quantiles of body sizes as bars on a logarithmic scale.
fn drawing(sizes: &Quantiles) -> String {
    let length = |bytes: u64| (float(bytes) + 1.0).log2();
    let longest = sizes.get().last().map_or(1.0, |row| length(row.1)).max(1.0);
    let mut text = "bytes that so many bodies do not exceed; bars by powers of two\n".to_owned();
    for (quantile, bytes) in sizes.get() {
        let bar = bar(length(*bytes) / longest, BAR);
        text += &format!("{:>6.1} % {bytes:>13}  {bar}\n", 100.0 * quantile);
    }
    text
}

/// Describes a workload in a paragraph, for the output of a run.
pub(crate) fn disclosure(name: &str, workload: &Workload) -> String {
    let words = workload.parameters().into_iter().filter_map(|(name, parameter)| {
        let parameter = parameter?;
        let instead = parameter.instead_of.map(|what| format!(" instead of {what}"));
        Some(format!("{name} {}{}", parameter.value, instead.unwrap_or_default()))
    });
    let words = words.collect::<Vec<_>>().join("; ");
    plain(&format!(
        "workload {name}, {}: {words} (sources: tollgate workload show {name})",
        workload.title
    ))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_workload_fits_a_terminal_with_all_its_sources() {
        for file in FILES {
            let text = text(&file.workload());
            assert!(text.lines().all(|line| line.chars().count() <= 100), "{text}");
            assert!(!text.contains("not known"), "{text}");
            let disclosed = disclosure(file.name, &file.workload());
            assert!(disclosed.contains(file.name) && disclosed.contains("resumed"), "{disclosed}");
        }
    }
}
