//! The operation of each unit in each cycle: the steady state of a product, for a drawing.
//!
//! Every unit works at the pace of the slowest one. An operation on a result starts after the
//! latency of the result. Nothing here is measured: the schedule shows what the limits allow.

use crate::limit::{Demand, Limit};
use crate::machine::Machine;

/// The maximum number of units with one line each; a larger group shares one line.
const UNITS_MAX: usize = 8;

/// A unit and its operation in each cycle.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Line {
    /// The unit.
    pub unit: String,
    /// The operation and the letter of its product; empty if the unit is idle.
    pub cells: Vec<String>,
}

/// The schedule of a machine's units.
#[derive(Clone, Debug, PartialEq)]
pub struct Schedule {
    /// A line for each unit.
    pub lines: Vec<Line>,
    /// The number of cycles from one product of two digits to the next.
    pub pace: f64,
}

impl Machine {
    /// Schedules the demand of one product of two digits for `cycles` cycles. `does` returns the
    /// names of a limit's operations in turn, or an empty list. `None` if no rate is known.
    #[must_use]
    pub fn schedule<'a>(
        &self,
        demand: &Demand,
        does: impl Fn(Limit) -> &'a [String],
        cycles: usize,
    ) -> Option<Schedule> {
        let is_drawn = |limit: Limit| {
            let is_row = matches!(limit, Limit::MulxRow | Limit::Residency | Limit::Issue);
            !is_row && (!limit.is_in_cycles() || limit == Limit::BlockingMultiplier)
        };
        let known = |&(limit, amount): &(Limit, f64)| {
            let each = self.rates.get(&limit)?.cycles(1.0)?;
            // Smaller amounts belong to the row and not to each product, so they round to zero.
            let amount = (amount * 64.0).round() / 64.0;
            (amount > 0.0).then_some((limit, amount, each))
        };
        let all: Vec<(Limit, f64, f64)> = demand.amounts().iter().filter_map(known).collect();
        let throughput = all
            .iter()
            .filter(|(limit, ..)| !limit.is_in_cycles() || *limit == Limit::BlockingMultiplier);
        let pace = throughput.map(|(_, amount, each)| amount * each).reduce(f64::max)?;
        let waits = self.rates.get(&Limit::Latency).and_then(|rate| rate.cycles(1.0));
        let drawn = all.into_iter().filter(|(limit, ..)| is_drawn(*limit));
        let mut lines = Vec::new();
        for (limit, amount, each) in drawn {
            let waits = waits.unwrap_or(0.0);
            let behind = match limit {
                Limit::Additions => waits + 1.0, // additions follow the moves between registers
                Limit::Ports => waits,
                _ => 0.0,
            };
            let work = Work {
                limit,
                amount,
                each,
                pace,
                behind,
                start: if waits > 0.0 { waits + 1.0 } else { 0.0 },
            };
            lines.extend(work.lines(self, does(limit), cycles));
        }
        lines.retain(|line| line.cells.iter().any(|cell| !cell.is_empty()));
        (!lines.is_empty()).then_some(Schedule { lines, pace })
    }
}

/// The operations of one limit.
struct Work {
    limit: Limit,
    /// The number of operations for each product.
    amount: f64,
    /// The number of cycles of each operation.
    each: f64,
    pace: f64,
    /// Delay in cycles from the start of the product.
    behind: f64,
    /// The first cycle that is drawn.
    start: f64,
}

impl Work {
    /// Operation i begins `i * pace / amount` cycles after the first operation. The units take
    /// turns, so that one unit never begins two operations in one cycle.
    fn lines(&self, machine: &Machine, does: &[String], cycles: usize) -> Vec<Line> {
        let units = whole((1.0 / self.each).ceil()).max(1);
        let names = machine.units.get(&self.limit).map_or(&[][..], Vec::as_slice);
        let name = |unit: usize| match names.get(unit) {
            Some(name) => name.clone(),
            None if units == 1 => self.limit.key().to_owned(),
            None => format!("{} {unit}", self.limit.key()),
        };
        let shared = units > UNITS_MAX;
        let empty = |unit| Line { unit: name(unit), cells: vec![String::new(); cycles] };
        let mut lines: Vec<Line> = (0..units).map(empty).collect();
        let mut begun = vec![0_usize; cycles];
        let step = self.pace / self.amount;
        let end = self.start + float(cycles);
        for i in 0.. {
            let at = float(i) * step + self.behind;
            if at >= end || i > 1 << 16 {
                break;
            }
            let product = whole((float(i) / self.amount + 1e-9).floor());
            let of_product = i - whole((float(product) * self.amount - 1e-9).ceil().max(0.0));
            let word = does.get(of_product % does.len().max(1));
            let word = word.map_or(self.limit.key(), String::as_str);
            let busy = whole(self.each.ceil()).max(1);
            for part in 0..busy {
                let cycle = (at + 1e-9).floor() + float(part) - self.start.floor();
                if cycle < 0.0 || whole(cycle) >= cycles {
                    continue;
                }
                let cell = &mut lines[i % units].cells[whole(cycle)];
                begun[whole(cycle)] += usize::from(part == 0);
                *cell = if part == 0 {
                    format!("{word} {}", letter(product))
                } else {
                    "...".to_owned()
                };
            }
        }
        if shared {
            let cells = begun.iter().map(|begun| format!("{begun} at work")).collect();
            return vec![Line { unit: self.limit.key().to_owned(), cells }];
        }
        lines
    }
}

/// Returns the letter of a product. The letters start again at a after z.
fn letter(product: usize) -> char {
    char::from(b'a' + u8::try_from(product % 26).expect("below 26"))
}

/// Returns a small count.
fn float(count: usize) -> f64 {
    u32::try_from(count).map_or(f64::INFINITY, f64::from)
}

/// Converts to a whole number.
#[allow(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "clamped to a range that fits"
)]
fn whole(value: f64) -> usize {
    value.clamp(0.0, 1e6) as usize
}

#[cfg(test)]
mod tests {

    use super::*;
    use crate::machines::{FILES, File};

    fn of_routine(name: &str, cycles: usize) -> Schedule {
        let machine = File::named(name).unwrap().machine();
        let routine = machine.routines[0].clone();
        let does = |limit| routine.uses.get(&limit).map_or(&[][..], |uses| uses.does());
        machine.schedule(&routine.per_product(), does, cycles).unwrap()
    }

    fn line<'a>(schedule: &'a Schedule, unit: &str) -> &'a [String] {
        &schedule.lines.iter().find(|line| line.unit == unit).unwrap().cells
    }

    /// Table 3: both multipliers, both memory units and the integer units in every cycle.
    #[test]
    fn itanium_does_a_product_in_every_cycle() {
        let schedule = of_routine("itanium", 4);
        assert_eq!(schedule.pace, 1.0);
        assert_eq!(line(&schedule, "FP 0"), ["xma.lu i", "xma.lu j", "xma.lu k", "xma.lu l"]);
        assert_eq!(line(&schedule, "FP 1"), ["xma.hu i", "xma.hu j", "xma.hu k", "xma.hu l"]);
        // Seven cycles later.
        assert_eq!(line(&schedule, "memory 0")[0], "getf.sig b");
        assert_eq!(line(&schedule, "memory 1")[3], "getf.sig e");
        assert!(line(&schedule, "integer 0").contains(&"add a".to_owned()));
        for line in schedule.lines.iter().filter(|line| line.unit.starts_with("integer")) {
            assert!(line.cells.iter().filter(|cell| cell.is_empty()).count() <= 1, "{line:?}");
        }
    }

    #[test]
    fn a_blocking_multiplier_is_busy_while_it_multiplies() {
        let schedule = of_routine("ultrasparc-iii", 7);
        assert_eq!(schedule.pace, 6.0);
        let cells = line(&schedule, "blocking_multiplies");
        assert_eq!(cells, ["mulx a", "...", "...", "...", "...", "...", "mulx b"]);
    }

    /// No cell is written twice: every operation that begins in the window is drawn.
    #[test]
    fn every_machine_with_a_routine_can_be_drawn() {
        for file in FILES {
            for routine in file.machine().routines {
                let none: fn(Limit) -> &'static [String] = |_| &[];
                let schedule = file.machine().schedule(&routine.per_product(), none, 12).unwrap();
                assert!(schedule.pace > 0.0);
                assert!(schedule.lines.iter().all(|line| line.cells.len() == 12));
            }
        }
    }
}
