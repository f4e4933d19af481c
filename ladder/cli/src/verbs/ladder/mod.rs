//! `tollgate ladder`: all six rungs, one after the other, as one table and one page.

pub(crate) mod options;

use std::process::ExitCode;
use std::time::Instant;

use tollgate_bench::this_machine;
use tollgate_fleet::published as fleets;
use tollgate_record::{Record, Timestamp};
use tollgate_report::{heading, published, rungs};

use crate::error::CliError;
use crate::options::{Ladder as Options, Options as Line, Verb};
use crate::output::say;
use crate::progress::Progress;
use crate::run::Run;
use crate::{bench, fleet, interrupt, kernel, model, report, session, shelf, simulate, speed};

/// The rungs from the lowest, and the command line that climbs each alone. A rung may need several.
const RUNGS: [(&str, &[&[&str]]); 6] = [
    ("0 model", &[&["model"], &["simulate", "study", "--headline"]]),
    ("1 kernel", &[&["kernel", "--seconds", "2"]]),
    ("2 operation", &[&["speed", "--bits", "1024,2048,3072,4096", "--seconds", "4"]]),
    ("3 session", &[&["session", "--parts-only", "--seconds", "25"]]),
    (
        "4 server",
        &[
            &["bench", "--key", "rsa-2048,rsa-3072", "--rounds", "4", "--seconds", "1"],
            &["bench", "--protocol", "tls12-rsa", "--rounds", "4", "--seconds", "1"],
            &[
                "bench",
                "--protocol",
                "tls13",
                "--bytes",
                "143360",
                "--rounds",
                "4",
                "--seconds",
                "1",
            ],
        ],
    ),
    ("5 fleet", &[&["fleet"]]),
];

/// What `--quick` leaves of the time.
const QUICK: f64 = 0.1;

/// What it leaves of the rounds of a server: as few as compare two.
const QUICK_ROUNDS: u32 = 2;

/// In less the CPU clock of a server is often read too late.
const BENCH_SECONDS_MIN: f64 = 0.4;

/// A climb: what was found so far, and where it goes.
struct Climb {
    run: Run,
    records: Vec<Record>,
    pace: f64,
    price: f64,
}

/// Climbs, prints and writes. After Ctrl-C table and page show what was reached.
///
/// # Errors
///
/// A rung cannot be measured, or a file cannot be written.
pub(crate) fn run(options: &Options) -> Result<ExitCode, CliError> {
    let file = match &options.json {
        Some(file) => file.clone(),
        None => shelf::fresh(&options.records, &this_machine(), Timestamp::now())?,
    };
    let run = Run::measuring(Some(&file))?;
    let price = options.price_per_core_hour;
    let pace = if options.quick { QUICK } else { 1.0 };
    let mut climb = Climb { run, records: Vec::new(), pace, price };
    climb.begin()?;
    for (rung, lines) in RUNGS {
        climb.rung(rung, lines)?;
        if interrupt::asked() {
            break;
        }
    }
    let Climb { run, records, .. } = climb;
    let table = rungs::table(&records);
    let ended = run.end(&("\n".to_owned() + &heading::lines(&records) + "\n" + &table));
    say(&format!("records: {}", file.display()));
    report::write(&options.report, &records)?;
    ended
}

impl Climb {
    /// What stands before all rungs: what others published, and what the user must know.
    fn begin(&mut self) -> Result<(), CliError> {
        let now = Timestamp::now();
        self.records = published::records(now);
        self.records.extend(fleets::records(now).map_err(CliError::from_error)?);
        self.run.output.records(&self.records)?;
        self.run.notes.add(format!(
            "costs are for {} USD per core and hour: --price-per-core-hour says what yours is",
            self.price
        ));
        if !self.run.host.machine.features.contains("ifma") {
            self.run.notes.add(
                "no AVX-512 IFMA here (or it is switched off): ours runs on the multiplier of the \
                 integer unit, and batches do not pay"
                    .to_owned(),
            );
        }
        Ok(())
    }

    /// One rung, with a bar while it is climbed and a line when it is done.
    fn rung(&mut self, rung: &'static str, lines: &[&[&str]]) -> Result<(), CliError> {
        let begun = Instant::now();
        let before = self.records.len();
        for line in lines {
            let verb = Line::of(line)?.verb;
            let progress = Progress::new(rung);
            let found = self.collect(verb, &progress)?;
            drop(progress);
            self.records.extend(found);
            if interrupt::asked() {
                break;
            }
        }
        let (found, seconds) = (self.records.len() - before, begun.elapsed().as_secs());
        say(&format!("{rung:12} {found:4} figures in {seconds:3} s"));
        Ok(())
    }

    fn collect(&mut self, verb: Verb, progress: &Progress) -> Result<Vec<Record>, CliError> {
        let Self { run, records, pace, price } = self;
        match verb {
            Verb::Bench(mut options) => {
                options.seconds = (options.seconds * *pace).max(BENCH_SECONDS_MIN);
                if *pace < 1.0 {
                    options.rounds = QUICK_ROUNDS;
                }
                bench::collect(&options, run, progress)
            }
            Verb::Fleet(mut options) => {
                options.price_per_core_hour = Some(*price);
                if !fleet::rests_on(records) {
                    let why = "5 fleet: no server has a valid figure to compute from";
                    run.notes.add(why.to_owned());
                    return Ok(Vec::new());
                }
                fleet::collect(&options, records, run)
            }
            Verb::Kernel(mut options) => {
                options.seconds = options.seconds.map(|seconds| seconds * *pace);
                kernel::collect(&options, run, progress)
            }
            Verb::Model(options) => model::collect(&options, run),
            Verb::Simulate(_) => simulate::collect(run, progress),
            Verb::Session(mut options) => {
                options.seconds *= *pace;
                session::collect(&options, run, progress)
            }
            Verb::Speed(mut options) => {
                options.seconds = options.seconds.map(|seconds| seconds * *pace);
                speed::collect(&options, records, run, progress)
            }
            Verb::Compare(_)
            | Verb::Key(_)
            | Verb::Ladder(_)
            | Verb::Provider(_)
            | Verb::Report(_)
            | Verb::Serve(_)
            | Verb::Workload(_) => {
                unreachable!("no rung is climbed by these")
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_rung_has_command_lines_that_are_right() {
        for (rung, lines) in RUNGS {
            for line in lines {
                let verb = Line::of(line).map(|line| line.verb);
                assert!(
                    !matches!(
                        verb,
                        Err(_) | Ok(Verb::Ladder(_) | Verb::Report(_) | Verb::Serve(_))
                    ),
                    "{rung}: {line:?}: {verb:?}"
                );
            }
        }
    }
}
