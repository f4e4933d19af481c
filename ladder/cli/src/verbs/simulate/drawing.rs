//! The study as an SVG picture.

use tollgate_report::points::{Plane, Series, planes};
use tollgate_simulator::routines::{Algorithm, Loops, Window};

use super::designs::{EXTENDED, Multiplier, PLAIN};
use super::exponentiations::{ExponentiationCost, WORDS};
use super::products::Size;
use crate::cells::float;

/// Draws cycles against the size of the code, against the size of the table, and against the
/// multiplier.
pub(super) fn drawing(size: &Size, raised: &[ExponentiationCost]) -> String {
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
        series: [PLAIN[0], PLAIN[1], EXTENDED[0], EXTENDED[1], EXTENDED[3]]
            .map(of_multiplier)
            .into(),
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
        series: [PLAIN[0], PLAIN[1], EXTENDED[0], EXTENDED[1], EXTENDED[3]].map(chosen).into(),
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
        axes: ["slots of a product of words".to_owned(), "cycles".to_owned()],
        series: vec![
            by_slots(PLAIN, Loops::Index),
            by_slots(PLAIN, Loops::Unrolled(8)),
            by_slots(EXTENDED, Loops::Index),
            by_slots(EXTENDED, Loops::Unrolled(8)),
        ],
    };
    planes("LEON-2 with a multiply-accumulate instruction, simulated", &[code, table, multiplier])
}
