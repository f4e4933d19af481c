//! The study as records, `simulation/leon-2/exp_sliding?arithmetic=extended&bits=1024&...`.

use std::collections::BTreeMap;

use tollgate_record::vocabulary as word;
use tollgate_record::{Estimate, Kind, Machine, Quantity, Record, Subject, Topic, Unit};
use tollgate_simulator::routines::{Algorithm, Arithmetic, Loops, Window};
use tollgate_simulator::rv64::{Run, Source};
use tollgate_simulator::timing::Issue;

use super::Core;
use super::designs::{Design, Multiplier};
use super::exponentiations::{ExponentiationCost, Method};
use super::products::{MULTIPLY_SLOTS, Product, Rv64Product, Size};
use crate::cells::float;

pub(super) struct Figures<'a> {
    pub(super) core: &'a Core,
    pub(super) commit: Option<String>,
}

impl Figures<'_> {
    pub(super) fn of_size(&self, size: &Size) -> Vec<Record> {
        let of = |product: &Product| {
            let routine = product.routine;
            let name = algorithm(routine.algorithm());
            let subject = self.subject(
                name,
                [
                    (word::ARITHMETIC, arithmetic(routine.arithmetic())),
                    (word::BITS, size.bits().to_string()),
                    (word::LOOPS, loops(routine.loops())),
                ],
            );
            let bytes = (word::CODE_BYTES, Unit::Bytes, product.code as u64);
            let code = self.record(&subject, bytes, routine.arithmetic(), Method::Executed);
            let on = |(multiplier, cycles): &(Multiplier, u64)| {
                let subject = with(&subject, on_multiplier(*multiplier));
                let cycles = (word::CYCLES_PER_CALL, Unit::Cycles, *cycles);
                self.record(&subject, cycles, multiplier.arithmetic, Method::Executed)
            };
            [code].into_iter().chain(product.cycles.iter().map(on)).collect::<Vec<_>>()
        };
        size.products.iter().flat_map(of).collect()
    }

    pub(super) fn of_exponentiation(
        &self,
        ExponentiationCost { design, cycles, how }: &ExponentiationCost,
    ) -> [Record; 2] {
        let subject = self.of_design(*design);
        let cycles = (word::CYCLES_PER_OPERATION, Unit::Cycles, *cycles);
        let table = (word::TABLE_BYTES, Unit::Bytes, design.exponentiation().table_bytes().into());
        [cycles, table]
            .map(|figure| self.record(&subject, figure, design.multiplier.arithmetic, *how))
    }

    fn of_design(&self, design: Design) -> Subject {
        let (name, bits) = match design.window {
            Window::Fixed(bits) => ("exp_fixed", bits),
            Window::Sliding(bits) => ("exp_sliding", bits),
        };
        let square = if design.squaring { Algorithm::Squaring } else { Algorithm::Fips };
        let subject = self.subject(
            name,
            [
                (word::ARITHMETIC, arithmetic(design.multiplier.arithmetic)),
                (word::BITS, (32 * design.words).to_string()),
                (word::LOOPS, loops(design.loops)),
                (word::SQUARE, algorithm(square).to_owned()),
                (word::WINDOW, bits.to_string()),
            ],
        );
        with(&subject, on_multiplier(design.multiplier))
    }

    fn subject(
        &self,
        name: &str,
        parameters: impl IntoIterator<Item = (&'static str, String)>,
    ) -> Subject {
        with(&simulated(&self.core.word, name), parameters)
    }

    /// Returns records of code, instructions and modelled slots of a product on RV64.
    pub(super) fn of_rv64(&self, pair: &Rv64Product) -> Vec<Record> {
        let of = |(source, run): (Source, &Run)| {
            let arithmetic = match source {
                Source::Base => word::RV64IM,
                Source::Extended => word::EXTENDED,
            };
            let subject = with(
                &simulated(word::RV64, "fips"),
                [
                    (word::ARITHMETIC, arithmetic.to_owned()),
                    (word::BITS, pair.bits.to_string()),
                    (word::LOOPS, loops(Loops::Full)),
                ],
            );
            let counted = Basis {
                core: "RV64".to_owned(),
                from: "scarv/rvkex: the instructions, and what Spike counted for such a product"
                    .to_owned(),
                assumption: "executed from the first instruction to the last, without the final \
                             subtraction",
                mark: "measured",
            };
            let slots = Basis {
                assumption: "in-order core: one slot for each instruction, one more if the next \
                             instruction reads a loaded word",
                mark: "assumed",
                ..counted.clone()
            };
            let on_core = with(&subject, [(word::SLOTS, MULTIPLY_SLOTS.to_string())]);
            let cycles = (word::CYCLES_PER_CALL, Unit::Cycles, run.slots(MULTIPLY_SLOTS));
            [
                (&subject, (word::CODE_BYTES, Unit::Bytes, pair.code_bytes(source)), &counted),
                (&subject, (word::INSTRUCTIONS, Unit::Count, run.instructions), &counted),
                (&on_core, cycles, &slots),
            ]
            .map(|(subject, figure, basis)| self.made(subject, figure, basis))
        };
        [(Source::Base, &pair.base), (Source::Extended, &pair.extended)]
            .into_iter()
            .flat_map(of)
            .collect()
    }

    fn record(
        &self,
        subject: &Subject,
        figure: (Quantity, Unit, u64),
        arithmetic: Arithmetic,
        how: Method,
    ) -> Record {
        let timing = &self.core.timing;
        let basis = Basis {
            core: timing.name.clone(),
            from: format!("{}: {}", timing.name, timing.source),
            assumption: match how {
                Method::Executed => {
                    "executed from the first instruction to the last; memory that never waits"
                }
                Method::Counted => {
                    "the cycles of a product, executed, times the products of the windows; memory \
                     that never waits"
                }
            },
            // The extension was never built, so its timing is assumed.
            mark: match (arithmetic, how) {
                _ if !self.core.is_leon2() => "unverified",
                (Arithmetic::Extended, _) => "assumed",
                (Arithmetic::Plain, Method::Counted) => "derived",
                (Arithmetic::Plain, Method::Executed) => "measured",
            },
        };
        self.made(subject, figure, &basis)
    }

    fn made(
        &self,
        subject: &Subject,
        (quantity, unit, figure): (Quantity, Unit, u64),
        Basis { core, from, assumption, mark }: &Basis,
    ) -> Record {
        let conditions = [(word::ASSUMPTION, *assumption), (word::MARK, *mark)];
        let conditions = conditions.map(|(key, value)| (key.to_owned(), value.to_owned()));
        let version = ("tollgate".to_owned(), env!("CARGO_PKG_VERSION").to_owned());
        let estimate = Estimate::exact(float(figure)).expect("a count");
        let kind = Kind::Predicted { by: word::MODEL_RUNG.to_owned(), from: vec![from.clone()] };
        let machine = Machine::unknown(&format!("{core}, simulated"));
        Record {
            versions: BTreeMap::from([version]),
            commit: self.commit.clone(),
            conditions: BTreeMap::from(conditions),
            ..Record::new(subject.clone(), (quantity, unit, estimate), kind, machine)
        }
    }
}

#[derive(Clone)]
struct Basis {
    core: String,
    from: String,
    assumption: &'static str,
    mark: &'static str,
}

fn on_multiplier(multiplier: Multiplier) -> [(&'static str, String); 2] {
    let issue = match multiplier.issue {
        Issue::Blocking => "blocking",
        Issue::Decoupled => "decoupled",
    };
    [(word::ISSUE, issue.to_owned()), (word::SLOTS, multiplier.slots.to_string())]
}

fn simulated(processor: &str, routine: &str) -> Subject {
    let (processor, routine) = (processor.to_owned(), routine.to_owned());
    Subject::new(Topic::Simulation { processor, routine }).expect("a path of letters and digits")
}

fn with(
    subject: &Subject,
    parameters: impl IntoIterator<Item = (&'static str, String)>,
) -> Subject {
    parameters
        .into_iter()
        .try_fold(subject.clone(), |subject, (key, value)| subject.with(key, value))
        .expect("words and numbers")
}

fn algorithm(algorithm: Algorithm) -> &'static str {
    match algorithm {
        Algorithm::Fips => "fips",
        Algorithm::Cios => "cios",
        Algorithm::Squaring => "squaring",
    }
}

fn arithmetic(arithmetic: Arithmetic) -> String {
    let arithmetic = match arithmetic {
        Arithmetic::Plain => word::V8,
        Arithmetic::Extended => word::EXTENDED,
    };
    arithmetic.to_owned()
}

fn loops(loops: Loops) -> String {
    match loops {
        Loops::Index => "index".to_owned(),
        Loops::Pointers => "pointers".to_owned(),
        Loops::Unrolled(by) => format!("unrolled-{by}"),
        Loops::Full => "full".to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::super::designs::{EXTENDED, PLAIN};
    use super::super::exponentiations::WORDS;
    use super::*;
    use tollgate_report::simulation::headline;

    #[test]
    fn the_headline_has_the_subject_that_the_report_expects() {
        let core = Core::leon2();
        let figures = Figures { core: &core, commit: None };
        for (multiplier, arithmetic) in [(PLAIN[0], word::V8), (EXTENDED[0], word::EXTENDED)] {
            let subject = figures.of_design(Design::headline(multiplier, WORDS));
            assert_eq!(subject, headline(arithmetic));
        }
    }
}
