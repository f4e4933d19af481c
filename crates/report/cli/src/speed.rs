//! `tollgate speed`: RSA operations, ours beside the libraries', in one run.

use std::process::ExitCode;
use std::rc::Rc;

use tollgate_ladder::{context, heading, pkeu as pkeu_table, speed as speed_table, text};
use tollgate_ladder::vocabulary as word;
use tollgate_record::{Record, Subject, Unit};

use crate::bounds;
use crate::contenders::{Contender, Job, What, aws_lc, openssl, tollgate};
use crate::figures::Figures;
use crate::host::Host;
use crate::interrupt;
use crate::keys::Key;
use crate::measure::{self, Round, Runner};
use crate::options::{Against, Exponent, Speed, Table};
use crate::output::Output;
use crate::pkeu;
use crate::progress::Progress;
use crate::stop::Stop;

/// Sizes of the table unless told; 512 and 1024 are insecure, and what the papers used.
const SIZES: [u32; 5] = [512, 1024, 2048, 3072, 4096];

/// Seconds for the whole table unless told.
const TABLE_SECONDS: f64 = 60.0;

/// Measures and prints.
///
/// # Errors
///
/// Nothing can be measured, or a result is wrong.
pub(crate) fn run(options: &Speed) -> Result<ExitCode, Stop> {
    let against = against(&options.against)?;
    let mut output = Output::new(options.json.as_deref())?;
    let rows = rows(options, &against)?;
    let seconds = options.seconds.unwrap_or(TABLE_SECONDS / exact(rows.len()));
    let host = Host::this();
    let figures = Figures::new(&host).with([("seconds_per_row".to_owned(), seconds.to_string())]);

    let mut records = Vec::new();
    if options.table == Some(Table::Pkeu) {
        records = pkeu::published(&figures)?;
        output.records(&records)?;
    }
    let mut notes = Vec::new();
    let progress = Progress::new(rows.len());
    for (number, row) in rows.iter().enumerate() {
        progress.row(number, &row.path);
        let lineup = row.lineup(options.batch, &against)?;
        notes.extend(lineup.absent);
        let Some(round) = measure_row(&row.path, &lineup.contenders, seconds, |part| progress.part(number, part))?
        else {
            break;
        };
        notes.extend(round.1.warnings.iter().map(|warning| format!("{}: {warning}", row.path)));
        let of_row = row.records(&host, &figures, &round.0, &round.1)?;
        output.records(&of_row)?;
        records.extend(of_row);
    }
    drop(progress);
    print(&output, options.table, &records, notes)?;
    Ok(interrupt::exit_code())
}
