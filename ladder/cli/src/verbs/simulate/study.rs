//! `tollgate simulate study`: the cycles that a multiply-accumulate instruction saves, in tables
//! and as a picture.

use std::fs;
use std::process::ExitCode;

use tollgate_record::{Record, Timestamp};
use tollgate_report::points::{Plane, Series, planes};
use tollgate_report::{simulation, text::wrapped};
use tollgate_simulator::routines::{Algorithm, Loops, Window};

use super::designs::{Design, EXTENDED, Multiplier, PLAIN, SHOWN, designs};
use super::exponentiations::{ExponentiationCost, WORDS, counted, execute, other_sizes, tables};
use super::products::{Rv64Product, Size, rv64_table};
use super::records::Figures;
use super::{Core, Study as Options};
use crate::cells::float;
use crate::error::CliError;
use crate::interrupt;
use crate::progress::Progress;
use crate::run::Run;

#[derive(Default)]
struct Study {
    sizes: Vec<Size>,
    /// Exponentiations of 1024 bits, all executed.
    raised: Vec<ExponentiationCost>,
    /// Exponentiations of other sizes.
    others: Vec<ExponentiationCost>,
    rv64: Vec<Rv64Product>,
}

pub(super) fn run(options: &Options) -> Result<ExitCode, CliError> {
    let core = Core::of(options.timing.as_deref())?;
    let mut run = Run::new(options.written.json.as_deref())?;
    let progress = Progress::new("study");
    let heading = format!("{}\nmemory that never waits\n", core.timing.name);
    if options.headline {
        let records = headline(&core, &mut run)?;
        drop(progress);
        let sentence = simulation::sentence(&records).unwrap_or_default();
        return run.end(&(heading + &wrapped(&sentence)));
    }
    let study = Study::new(options, &core, &mut run)?;
    drop(progress);
    if let (Some(file), Some(size)) = (&options.svg, study.first()) {
        fs::write(file, drawing(size, &study.raised)).map_err(CliError::at(file))?;
    }
    run.end(&(heading + &study.tables()))
}

/// Returns the records of the headline's exponentiation with and without the extension, and the
/// paper's.
pub(super) fn headline(core: &Core, run: &mut Run) -> Result<Vec<Record>, CliError> {
    let figures = Figures { core, commit: run.host.context.commit.clone() };
    let designs = [PLAIN[0], EXTENDED[0]].map(|multiplier| Design::headline(multiplier, WORDS));
    let mut records = vec![simulation::published(Timestamp::now())];
    execute(&core.timing, &designs, |raised| {
        records.extend(figures.of_exponentiation(raised));
        Ok(())
    })?;
    run.output.records(&records)?;
    Ok(records)
}

impl Study {
    /// Runs the study and writes the records of each part. Ctrl-C ends it early.
    fn new(options: &Options, core: &Core, run: &mut Run) -> Result<Self, CliError> {
        let figures = Figures { core, commit: run.host.context.commit.clone() };
        let output = &mut run.output;
        let mut study = Self::default();
        output.records(&[simulation::published(Timestamp::now())])?;
        for bits in &options.bits {
            let size = Size::measure(&core.timing, bits / 32)?;
            output.records(&figures.of_size(&size))?;
            study.sizes.push(size);
            let pair = Rv64Product::measure(*bits)?;
            output.records(&figures.of_rv64(&pair))?;
            study.rv64.push(pair);
        }
        for size in study.sizes.iter().filter(|_| !options.products) {
            if interrupt::asked() {
                break;
            }
            let is_whole = size.words == WORDS;
            let headline = Design::headline(EXTENDED[0], size.words);
            let designs = if is_whole { designs(size.words) } else { vec![headline] };
            let executed = execute(&core.timing, &designs, |raised| {
                output.records(&figures.of_exponentiation(raised))
            })?;
            if is_whole {
                study.raised = executed;
                continue;
            }
            let counted = counted(size);
            for raised in &counted {
                output.records(&figures.of_exponentiation(raised))?;
            }
            study.others.extend(executed.into_iter().chain(counted));
        }
        Ok(study)
    }

    /// Returns the size that the picture shows: 1024 bits, or the first size if 1024 bits is not
    /// studied.
    fn first(&self) -> Option<&Size> {
        self.sizes.iter().find(|size| size.words == WORDS).or(self.sizes.first())
    }

    fn tables(&self) -> String {
        let mut text: String = self.sizes.iter().map(Size::tables).collect();
        text += &self.first().map(Size::gains).unwrap_or_default();
        if !self.raised.is_empty() {
            text += &tables(&self.raised);
        }
        if !self.others.is_empty() {
            text += &other_sizes(&self.others);
        }
        text + &rv64_table(&self.rv64)
    }
}

/// Draws cycles against the size of the code, against the size of the table, and against the
/// multiplier.
fn drawing(size: &Size, raised: &[ExponentiationCost]) -> String {
    let of_multiplier = |multiplier: Multiplier| Series {
        name: multiplier.name(),
        points: size
            .products
            .iter()
            .filter(|product| product.routine.algorithm() == Algorithm::Fips)
            .filter_map(|product| {
                let cycles = product.cycles.iter().find(|(of, _)| *of == multiplier)?.1;
                Some((float(product.code as u64), float(cycles)))
            })
            .collect(),
    };
    let code = Plane {
        title: "One product: cycles against code".to_owned(),
        axes: ["bytes of code".to_owned(), "cycles".to_owned()],
        series: SHOWN.map(of_multiplier).into(),
    };
    let chosen = |multiplier: Multiplier| Series {
        name: format!("{}, unrolled by 4", multiplier.name()),
        points: raised
            .iter()
            .filter(|ExponentiationCost { design, .. }| {
                matches!(design.window, Window::Sliding(_))
                    && (design.multiplier, design.loops) == (multiplier, Loops::Unrolled(4))
                    && (design.squaring, design.words) == (false, WORDS)
            })
            .map(|it| (f64::from(it.design.exponentiation().table_bytes()), float(it.cycles)))
            .collect(),
    };
    let table = Plane {
        title: "Exponentiation of 1024 bits: cycles against table".to_owned(),
        axes: ["bytes of the table, sliding windows".to_owned(), "cycles".to_owned()],
        series: SHOWN.map(chosen).into(),
    };
    let by_slots = |multipliers: [Multiplier; 4], loops: Loops| {
        let blocking = multipliers.into_iter().filter(|multiplier| *multiplier != EXTENDED[3]);
        let point = |multiplier: Multiplier| {
            let cycles = size.cycles(Algorithm::Fips, loops, multiplier)?;
            Some((f64::from(multiplier.slots), float(cycles)))
        };
        Series {
            name: format!("{}, {loops}", multipliers[0].arithmetic),
            points: blocking.filter_map(point).collect(),
        }
    };
    let multiplier = Plane {
        title: "One product: cycles against multiplier".to_owned(),
        axes: ["slots of a multiplication of two words".to_owned(), "cycles".to_owned()],
        series: vec![
            by_slots(PLAIN, Loops::Index),
            by_slots(PLAIN, Loops::Unrolled(8)),
            by_slots(EXTENDED, Loops::Index),
            by_slots(EXTENDED, Loops::Unrolled(8)),
        ],
    };
    planes("LEON-2 with a multiply-accumulate instruction, simulated", &[code, table, multiplier])
}
