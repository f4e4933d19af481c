//! Products and squares: cycles by unroll factor.

use tollgate_record::vocabulary::{BITS, K, MULTIPLICATIONS};
use tollgate_record::{Subject, Unit};

use super::calls::{
    UNROLL_ELSEWHERE, UNROLLS, calls, cycles_of, name, parameter, plain, square_of, unrolled,
};
use crate::grid::{Column, fitting};
use crate::lookup::Origin::Predicted;
use crate::lookup::{Lookup, cell};
use crate::table::{Row, Table};

const COLUMNS: [Column; 10] = fitting([
    Column::words("product", 18),
    Column::figures("bits", 5),
    Column::figures("K", 3),
    Column::figures("mults", 6),
    Column::figures("rolled", 8),
    Column::figures("by 2", 8),
    Column::figures("by 4", 8),
    Column::figures("by 8", 8),
    Column::figures("best", 8),
    Column::figures("square", 8),
]);

const NOTE: &str = "\
    product, square: core cycles of a call; mults: multiplications of limbs in a product; by \
    2, 4, 8: products in the body of the innermost loop; best: the least of them; square: \
    unrolled by 4, its own formula, or the product where there is none (cios, fios); the \
    kernel of the engine below the variants is not one of them";

pub(super) fn table(lookup: Lookup<'_>) -> Table {
    let row = |subject: Subject| {
        let by = UNROLLS.map(|unroll| cycles_of(lookup, unrolled(&subject, unroll)));
        let alone = cycles_of(lookup, Some(subject.clone()));
        let best = by.iter().flatten().copied().chain(alone);
        let best = best.min_by(|a, b| a.get().total_cmp(&b.get()));
        let squares = [&Some(UNROLL_ELSEWHERE), &None].map(|unroll| {
            let of = |call: &Subject| match unroll {
                Some(unroll) => unrolled(call, unroll),
                None => Some(call.clone()),
            };
            let square = cycles_of(lookup, square_of(&subject).as_ref().and_then(of));
            square.or_else(|| cycles_of(lookup, of(&subject)))
        });
        let mults = unrolled(&subject, UNROLLS[0])
            .and_then(|subject| plain(lookup, Predicted, &subject, MULTIPLICATIONS, Unit::Count));
        let mut cells = vec![parameter(&subject, BITS), parameter(&subject, K), cell(mults)];
        cells.extend(by.map(cell));
        cells.extend([cell(best), cell(squares.into_iter().flatten().next())]);
        Row::new(name(&subject), cells)
    };
    let rows = calls(lookup).into_iter().map(row).collect();
    Table { columns: COLUMNS.into(), rows, notes: vec![NOTE.to_owned()] }
}
