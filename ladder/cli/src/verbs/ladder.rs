//! `tollgate ladder`: all six rungs in turn, as one table and one HTML page.

use core::time::Duration;
use std::fs;
use std::path::PathBuf;
use std::process::ExitCode;
use std::time::Instant;

use clap::Args;
use tollgate_bench::this_machine;
use tollgate_fleet::Prices;
use tollgate_record::vocabulary as word;
use tollgate_record::{Record, Timestamp};
use tollgate_report::{heading, html, rungs};
use tollgate_session::{LONG_BYTES, SHORT_BYTES, SessionPlan};
use tollgate_stock_servers::Product;

use crate::error::CliError;
use crate::hybrid::noted_group;
use crate::options::values::{OutputFile, defaults};
use crate::options::{Bench, Fleet, ServerKind};
use crate::output::{Output, say};
use crate::progress::Progress;
use crate::run::Run;
use crate::verbs::bench::servers;
use crate::verbs::explain::{self, parts};
use crate::verbs::fleet::prices;
use crate::verbs::kernel::{Table, model};
use crate::verbs::speed::Speed;
use crate::{bench, fleet, interrupt, kernel, papers, shelf, speed};

/// The rungs from the lowest, each with its steps.
const RUNGS: [(&str, &[Step]); 6] = [
    ("0 model", &[LadderRun::model, LadderRun::papers]),
    ("1 kernel", &[LadderRun::kernel]),
    ("2 operation", &[LadderRun::speed]),
    ("3 session", &[LadderRun::session, LadderRun::stock_session]),
    ("4 server", &[LadderRun::server, LadderRun::stock_server, LadderRun::long_responses]),
    ("5 fleet", &[LadderRun::fleet]),
];

/// Collects the records of one request to a verb.
type Step = fn(&mut LadderRun) -> Result<Vec<Record>, CliError>;

/// The stock server of rungs 3 to 5.
const STOCK: Product = Product::Nginx;

/// The time that `--quick` measures, as a share of the usual time.
const QUICK: f64 = 0.1;

/// The rounds of each server with `--quick`. Two is the smallest number that compares two servers.
const QUICK_ROUNDS: u32 = 2;

/// Minimum seconds of a run of a server. In shorter runs the CPU clock is often read too late.
const BENCH_SECONDS_MIN: f64 = 0.4;

/// The records so far, and the context of the run.
struct LadderRun {
    run: Run,
    records: Vec<Record>,
    pace: f64,
    prices: Option<Prices>,
}

#[derive(Args, Clone, Debug)]
pub(crate) struct Ladder {
    /// Files of records, as `--json` of any verb writes them, to show instead of measuring; the
    /// last record of a figure counts
    #[arg(value_name = "FILE", conflicts_with_all = ["prices", "quick", "records"])]
    files: Vec<PathBuf>,

    /// Write the records as JSON Lines to FILE, replacing it; - is standard output [default, if
    /// measured: MACHINE/DATE.jsonl in the folder of records]
    #[arg(long, value_name = "FILE")]
    pub(crate) json: Option<OutputFile>,

    /// Prices of machines; without them no costs are computed
    #[arg(long, value_name = "FILE", value_parser = prices)]
    pub(crate) prices: Option<Prices>,

    /// Measure for a tenth of the time, with only two rounds of each server, for rough figures
    #[arg(long)]
    pub(crate) quick: bool,

    /// Folder of records
    #[arg(long, value_name = "FOLDER", default_value = "records")]
    pub(crate) records: PathBuf,

    /// Write the HTML page to FILE, replacing it
    #[arg(long, value_name = "FILE", default_value = "ladder.html")]
    pub(crate) report: OutputFile,
}

/// Measures all rungs, and writes table, page and records. After Ctrl-C, table and page show the
/// complete rungs.
pub(crate) fn run(options: &Ladder) -> Result<ExitCode, CliError> {
    if !options.files.is_empty() {
        return show(options);
    }
    let file = match &options.json {
        Some(file) => file.to_path_buf(),
        None => shelf::fresh(&options.records, &this_machine(), Timestamp::now())?,
    };
    let run = Run::measuring(Some(&file))?;
    let prices = options.prices.clone();
    let pace = if options.quick { QUICK } else { 1.0 };
    let mut ladder = LadderRun { run, records: Vec::new(), pace, prices };
    ladder.begin()?;
    for (rung, steps) in RUNGS {
        ladder.rung(rung, steps)?;
        if interrupt::asked() {
            break;
        }
    }
    let LadderRun { run, records, .. } = ladder;
    let table = rungs::table(&records);
    let ended = run.end(&("\n".to_owned() + &heading::lines(&records) + "\n" + &table));
    say(&format!("records: {}", file.display()));
    write_page(options, &records)?;
    ended
}

/// Prints the table of files of records, and writes their page.
fn show(options: &Ladder) -> Result<ExitCode, CliError> {
    let records = shelf::read(&options.files)?;
    if records.is_empty() {
        let names: Vec<_> = options.files.iter().map(|file| file.display().to_string()).collect();
        bail!("{}: no records; run 'tollgate ladder'", names.join(", "));
    }
    let mut output = Output::new(options.json.as_deref())?;
    output.records(&records)?;
    // Write the page completely even if the reader of the table closes the pipe.
    let printed = output.text(&rungs::table(&records));
    write_page(options, &records)?;
    printed.map(|()| ExitCode::SUCCESS)
}

fn write_page(options: &Ladder, records: &[Record]) -> Result<(), CliError> {
    let page = &*options.report;
    fs::write(page, html::report(records)).map_err(CliError::at(page))?;
    say(&format!("report: {}", page.display()));
    Ok(())
}

impl LadderRun {
    /// Adds published records and general notes.
    fn begin(&mut self) -> Result<(), CliError> {
        let of_unit = |record: &Record| record.subject.parameter(word::BY) == Some("pkeu");
        self.records = tollgate_published::records();
        self.records.retain(|record| !of_unit(record)); // its times have tables of their own
        self.run.output.records(&self.records)?;
        if self.prices.is_none() {
            self.run.notes.add("no costs: give prices of machines with --prices FILE".to_owned());
        }
        if !self.run.host.context.machine.features.contains("ifma") {
            self.run.notes.add(
                "no AVX-512 IFMA here (or it is disabled): Tollgate uses the integer multiplier, \
                 and batches do not pay"
                    .to_owned(),
            );
        }
        Ok(())
    }

    /// Measures one rung, with a progress bar and a line at the end.
    fn rung(&mut self, rung: &'static str, steps: &[Step]) -> Result<(), CliError> {
        let begun = Instant::now();
        let before = self.records.len();
        for step in steps {
            let progress = Progress::new(rung);
            let found = step(self)?;
            drop(progress);
            self.records.extend(found);
            if interrupt::asked() {
                break;
            }
        }
        let (found, seconds) = (self.records.len() - before, begun.elapsed().as_secs());
        say(&format!("{rung:12} {found:4} figures in {seconds:3} s"));
        let number = rung.split(' ').next().and_then(|number| number.parse().ok());
        if let Some(number) = number.filter(|_| found > 0) {
            say(&rungs::rung(&self.records, number));
        }
        Ok(())
    }

    fn model(&mut self) -> Result<Vec<Record>, CliError> {
        model::collect(&mut self.run)
    }

    fn papers(&mut self) -> Result<Vec<Record>, CliError> {
        papers::collect(&mut self.run)
    }

    fn kernel(&mut self) -> Result<Vec<Record>, CliError> {
        let options = Table { seconds: 2.0 * self.pace, ..defaults() };
        kernel::collect(&options, &mut self.run)
    }

    fn speed(&mut self) -> Result<Vec<Record>, CliError> {
        let bits = vec![1024, 2048, 3072, 4096];
        let options = Speed { bits, seconds: Some(3.0 * self.pace), ..defaults() };
        speed::collect(&options, &self.records, &mut self.run)
    }

    fn session(&mut self) -> Result<Vec<Record>, CliError> {
        let total = Duration::from_secs_f64(25.0 * self.pace);
        let plan = explain::ladder(noted_group(&mut self.run.notes), total);
        parts::collect(None, &plan, &mut self.run)
    }

    /// Predicts the sessions that [`Self::stock_server`] measures.
    fn stock_session(&mut self) -> Result<Vec<Record>, CliError> {
        if !self.has_stock_server() {
            return Ok(Vec::new());
        }
        let total = Duration::from_secs_f64(15.0 * self.pace);
        let mut plan = explain::ladder(noted_group(&mut self.run.notes), total);
        plan.sessions.retain(|session| session.bytes == SHORT_BYTES);
        plan.pauses = false;
        parts::collect(Some(&STOCK.to_string()), &plan, &mut self.run)
    }

    fn server(&mut self) -> Result<Vec<Record>, CliError> {
        self.bench(defaults())
    }

    fn stock_server(&mut self) -> Result<Vec<Record>, CliError> {
        if !self.has_stock_server() {
            return Ok(Vec::new());
        }
        self.bench(Bench { server: vec![ServerKind::Nginx], ..defaults() })
    }

    /// The transfer of \[ETI10\], with one key.
    fn long_responses(&mut self) -> Result<Vec<Record>, CliError> {
        let [_, rsa] = SessionPlan::KEYS;
        self.bench(Bench { key: vec![rsa], bytes: LONG_BYTES, ..defaults() })
    }

    /// Returns whether a stock server can run with the provider; otherwise notes why not.
    fn has_stock_server(&mut self) -> bool {
        let missing = match (STOCK.version(), servers::provider(None)) {
            (None, _) => format!("{STOCK} is not installed"),
            (_, Err(why)) => why.to_string(),
            (Some(_), Ok(_)) => return true,
        };
        self.run.notes.add(format!("no stock server in rungs 3 to 5: {missing}"));
        false
    }

    fn bench(&mut self, options: Bench) -> Result<Vec<Record>, CliError> {
        let rounds = if self.pace < 1.0 { QUICK_ROUNDS } else { 4 };
        let seconds = self.pace.max(BENCH_SECONDS_MIN);
        bench::collect(&Bench { rounds, seconds, ..options }, &mut self.run)
    }

    fn fleet(&mut self) -> Result<Vec<Record>, CliError> {
        if !fleet::rests_on(&self.records) {
            let why = "5 fleet: no server has a valid figure to compute from";
            self.run.notes.add(why.to_owned());
            return Ok(Vec::new());
        }
        let options = Fleet { prices: self.prices.clone(), ..defaults() };
        fleet::collect(&options, &self.records, &mut self.run)
    }
}
