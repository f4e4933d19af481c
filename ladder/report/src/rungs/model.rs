//! Rung 0: the limits of the processor.

use tollgate_record::vocabulary::{CYCLES_PER_OPERATION, CYCLES_PER_PRODUCT, LIMIT};
use tollgate_record::{Quantity, Record, Unit};

use super::{Content, Figure};
use crate::cite::Citation;
use crate::figure::{self, percent};
use crate::lookup::Lookup;
use crate::lookup::Origin::{self, Measured, Predicted, Published};

/// The subjects of the rung. The papers use this size, too.
const HOST: &str = "model/host/amm?bits=1024";
const ITANIUM: &str = "model/itanium/amm?bits=1024";

/// The exponentiation of the simulated LEON-2: without the extension, with it, and the paper's.
const LEON_2: &str = "simulation/leon-2/exp_sliding?arithmetic=v8&bits=1024&issue=blocking\
                      &loops=unrolled-4&slots=1&square=fips&window=5";
const EXTENDED: &str = "simulation/leon-2/exp_sliding?arithmetic=extended&bits=1024&issue=blocking\
                        &loops=unrolled-4&slots=1&square=fips&window=5";
const GTS07: &str = "simulation/leon-2/exp?bits=1024&by=gts07";

pub(super) fn rung(records: &[Record]) -> Content<'_> {
    let find = |origin: Origin, subject: &str, quantity: Quantity| {
        let subject = subject.parse().ok()?;
        Lookup(records).record(origin, &subject, quantity, Unit::Cycles)
    };
    let product = |origin, subject| find(origin, subject, CYCLES_PER_PRODUCT);
    let power = |origin, subject| find(origin, subject, CYCLES_PER_OPERATION);
    let row = |what: &str| Figure::new(what, Unit::Cycles, "cycles");
    let host = product(Predicted, HOST);
    let here = row("one product of 1024 bits, here").shown().bound(host);
    let itanium = row("the same on Itanium").shown().predicted(product(Predicted, ITANIUM));
    let extended = row("LEON-2 that multiplies and adds").predicted(power(Predicted, EXTENDED));
    let rows = vec![
        here.measured(product(Measured, HOST)),
        itanium.published(product(Published, ITANIUM)),
        row("LEON-2, 1024-bit exponentiation").predicted(power(Predicted, LEON_2)),
        extended.published(power(Published, GTS07)),
    ];
    let mut sentences = Vec::new();
    if let Some(record) = host {
        let cycles = figure::number(record.estimate.point(), Unit::Cycles);
        let limit = record.conditions.get(LIMIT).map_or("unnamed", String::as_str);
        sentences.push(format!(
            "This processor cannot multiply two numbers of 1024 bits and reduce the product in \
             less than {cycles} cycles; what limits it: {limit}."
        ));
    }
    sentences.extend(errors(records));
    (rows, sentences)
}

/// Returns the largest error of the model against published figures.
fn errors(records: &[Record]) -> Option<String> {
    let lookup = Lookup(records);
    let published: Vec<&Record> = lookup.all(Published, CYCLES_PER_PRODUCT).collect();
    let error = |paper: &&Record| {
        let model = lookup.find(Predicted, &paper.subject, CYCLES_PER_PRODUCT, Unit::Cycles)?;
        let error = model.point() / paper.estimate.point() - 1.0;
        (paper.estimate.point() > 0.0 && error.is_finite()).then(|| error.abs())
    };
    let errors: Vec<f64> = published.iter().filter_map(error).collect();
    let worst = errors.iter().copied().reduce(f64::max)?;
    let source = published.first().and_then(|paper| Citation::new(paper));
    Some(format!(
        "The same arithmetic lands within {} of {} published figures of {}; every figure of five \
         publications: tollgate papers.",
        percent_of_ratio(worst),
        errors.len(),
        source.map(|source| source.to_string()).unwrap_or_default(),
    ))
}

/// Returns a ratio in percent. Small values have one decimal.
fn percent_of_ratio(ratio: f64) -> String {
    if ratio < 0.095 { format!("{:.1} %", 100.0 * ratio) } else { percent(ratio, 1.0) }
}
