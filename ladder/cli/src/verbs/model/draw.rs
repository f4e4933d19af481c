//! The operation of each unit in each cycle: table 3 of \[ITA00\], for any machine file.

use tollgate_processor::machines::File;
use tollgate_processor::{Kernel, Limit, Machine, Routine, Schedule};
use tollgate_report::WIDTH;
use tollgate_report::text::wrapped;

use super::columns;
use crate::bounds::call;

/// Maximum number of cycles in a drawing.
const CYCLES: usize = 8;

/// The size in bits: a prime of RSA-1024, as in the paper.
const BITS: u32 = 512;

/// Units and operations of table 3, in one cycle.
const TABLE_3: [(&str, &str, &str); 6] = [
    ("FP 0", "xma.lu", "low half of multiply-add"),
    ("FP 1", "xma.hu", "high half of multiply-add"),
    ("integer 0", "add", "sum partial products"),
    ("integer 1", "cmp.ltu", "detect carry, into a predicate"),
    ("memory 0", "getf.sig", "move a partial product to a general register"),
    ("memory 1", "add if", "apply carry, under the predicate"),
];

/// Returns table 3 as printed, then the schedule that the model computes for the same processor.
pub(super) fn of_paper() -> String {
    let heads = ["table 3, one cycle", "operation", "purpose"];
    let mut rows = vec![heads.map(str::to_owned).to_vec()];
    rows.extend(TABLE_3.map(|(unit, does, what)| [unit, does, what].map(str::to_owned).to_vec()));
    let itanium = File::named("itanium").expect("one of the files").machine();
    let note = "The paper's cycle moves one half of a product. In the model both halves move \
                (getf.sig twice), which occupies both memory units. These are seven operations, \
                but only six can issue: the issue_slots of a product are unknown, so that limit is \
                ignored. The multiplier binds at 512 bits either way.";
    format!("\n{}\n{}{}", columns(&rows, 0..0), schedule(&itanium), wrapped(note))
}

/// Returns the schedule of a machine's fastest routine or, without routines, of a kernel of this
/// project.
pub(super) fn schedule(machine: &Machine) -> String {
    let cycles = |routine: &&Routine| {
        let analysis = machine.analyse(&routine.product(BITS)?)?;
        Some(analysis.bound.cycles.get())
    };
    let known = machine.routines.iter().filter_map(|routine| Some((routine, cycles(&routine)?)));
    let fastest = known.min_by(|x, y| x.1.total_cmp(&y.1)).map(|(routine, _)| routine);
    let drawn = match fastest {
        Some(routine) => {
            let does = |limit| routine.uses.get(&limit).map_or(&[][..], |uses| uses.does());
            machine.schedule(&routine.per_product(), does, CYCLES)
        }
        None => by_kernel(machine),
    };
    match drawn {
        Some(drawn) => drawing(machine, &drawn),
        None => wrapped(&format!("{}: there is no known rate to draw", machine.name)),
    }
}

/// Returns a product of two digits in the first kernel that the machine can run, at 1024 bits.
fn by_kernel(machine: &Machine) -> Option<Schedule> {
    let kernel = Kernel::ALL.into_iter().find(|kernel| {
        call(*kernel, 1024).is_some_and(|call| machine.kernel(*kernel, call).is_some())
    })?;
    let call = call(kernel, 1024)?;
    let products = f64::from(2 * call.size.k * call.size.rows);
    let demand = kernel.demand(call, machine).over(products);
    let halves = ["vpmadd52luq".to_owned(), "vpmadd52huq".to_owned()];
    let does = |limit| if limit == Limit::Vpmadd52 { &halves[..] } else { &[][..] };
    machine.schedule(&demand, does, CYCLES)
}

fn drawing(machine: &Machine, schedule: &Schedule) -> String {
    // As many cycles as fit the width.
    let width = |cycle: usize| {
        let cells = schedule.lines.iter().map(|line| line.cells[cycle].chars().count());
        cells.max().unwrap_or(0).max(7) + 2
    };
    let names = schedule.lines.iter().map(|line| line.unit.chars().count()).max().unwrap_or(0);
    let mut left = WIDTH.saturating_sub(names.max(4));
    let mut shown = 0;
    while shown < CYCLES && width(shown) <= left {
        left -= width(shown);
        shown += 1;
    }
    let mut rows = vec![vec!["unit".to_owned()]];
    rows[0].extend((1..=shown).map(|cycle| format!("cycle {cycle}")));
    for line in &schedule.lines {
        let mut row = vec![line.unit.clone()];
        row.extend(line.cells.iter().take(shown).cloned());
        rows.push(row);
    }
    let about = format!(
        "{}: the operation of each unit in a steady state; a letter is a product of two digits, \
         with a new one every {:.3} cycles; ... is a unit that is still busy",
        machine.name, schedule.pace
    );
    wrapped(&about) + &columns(&rows, 0..0)
}

#[cfg(test)]
mod tests {
    use super::*;
    use tollgate_processor::machines::FILES;

    #[test]
    fn every_machine_is_drawn_within_the_width() {
        for file in FILES {
            let text = schedule(&file.machine());
            assert!(text.contains("cycle 4"), "{}: {text}", file.name);
            assert!(text.lines().all(|line| line.chars().count() <= WIDTH), "{text}");
        }
    }

    #[test]
    fn the_paper_s_operations_are_those_of_the_machine_file() {
        let text = of_paper();
        for (_, does, _) in TABLE_3 {
            assert!(text.matches(does).count() >= 2, "{does} in {text}");
        }
    }
}
