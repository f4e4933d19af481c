//! The tables of variants: cycles by unroll factor, bytes of code, windows, and published figures.

mod published;
mod tables;

use tollgate_record::Record;

use crate::lookup::Lookup;
pub use published::{ETI10_PRODUCT_512, KAK96_TABLE, Schedule, published};

/// Returns all tables of the study. Tables without records are left out.
#[must_use]
pub fn table(records: &[Record]) -> String {
    let lookup = Lookup(records);
    let products = tables::products(lookup);
    if products.rows.is_empty() {
        return "no variant was measured\n".to_owned();
    }
    let others = [tables::code, tables::windows, tables::counts, tables::papers];
    let tables = [products].into_iter().chain(others.map(|table| table(lookup)));
    let known = tables.filter(|table| !table.rows.is_empty());
    known.map(|table| table.text()).collect::<Vec<_>>().join("\n")
}

#[cfg(test)]
mod tests {

    use tollgate_record::vocabulary::{CODE_BYTES, CYCLES_PER_CALL, CYCLES_PER_OPERATION};
    use tollgate_record::{Estimate, Kind, Machine, Quantity, Timestamp, Unit};

    use super::*;
    use crate::text::WIDTH;

    fn studied(subject: &str, (quantity, unit, figure): (Quantity, Unit, f64)) -> Record {
        let figure = (quantity, unit, Estimate::exact(figure).unwrap());
        let machine = Machine::unknown("Some Processor 9000");
        Record::new(subject.parse().unwrap(), figure, Kind::Measured, machine)
    }

    #[test]
    fn figures_stand_in_their_places_and_gaps_are_not_zeros() {
        let call = |figure| (CYCLES_PER_CALL, Unit::Cycles, figure);
        let power = |figure| (CYCLES_PER_OPERATION, Unit::Cycles, figure);
        let mut records = published(Timestamp::UNIX_EPOCH, &[8]);
        assert_eq!(table(&records), "no variant was measured\n");
        records.extend([
            studied("variant/amm64_sos?K=8&bits=512&unroll=1", call(500.0)),
            studied("variant/amm64_sos?K=8&bits=512&unroll=4", call(400.0)),
            studied("variant/amm64_sos?K=8&bits=512&unroll=4", (CODE_BYTES, Unit::Bytes, 1234.0)),
            studied("variant/ams64_sos?K=8&bits=512&unroll=4", call(300.0)),
            studied("variant/amm64_karatsuba?K=8&bits=512&unroll=4", call(600.0)),
            studied("kernel/amm64_mulx?K=8&bits=512", call(230.0)),
            studied("variant/exp64_sos?bits=1024&unroll=4&window=5", power(2e6)),
            studied("variant/exp64_sos_vartime?bits=1024&unroll=4&window=5", power(1.8e6)),
        ]);
        let text = table(&records);
        let words = |line: &str| line.split_ascii_whitespace().collect::<Vec<_>>().join(" ");
        let line =
            |of: &str| words(text.lines().find(|line| line.starts_with(of)).unwrap_or_default());
        assert_eq!(line("amm64_sos "), "amm64_sos 512 8 - 500 - 400 - 400 300");
        // a variant without a squaring formula has the product in the column of squares
        assert_eq!(line("amm64_karatsuba"), "amm64_karatsuba 512 8 - - - 600 - 600 600");
        assert_eq!(line("amm64_mulx"), "amm64_mulx 512 8 - - - - - 230 230");
        assert!(text.lines().any(|line| words(line) == "amm64_sos - - 1234 - -"), "{text}");
        assert_eq!(line("1024 "), "1024 5 2.00M - 1.80M -");
        assert_eq!(line("amm64_cios"), "amm64_cios 8 - 136 290 442 169"); // 4s^2 + 4s + 2 ...
        assert!(text.contains(" 1.46   1.50\n"), "{text}");
        assert!(text.contains(" 12.5M  2.00M\n"), "{text}");
        assert!(text.lines().all(|line| line.chars().count() <= WIDTH && !line.contains('~')));
    }
}
