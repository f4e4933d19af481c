//! Published figures of variants, as records.

use tollgate_record::vocabulary as word;
use tollgate_record::{Record, Subject, Timestamp, Topic, Unit};

use crate::published::{self, ETI10, machine, record, subject};
use crate::simulation;

/// The source of the counts of \[KAK96\].
const KAK96: &str = "Koç, Acar, Kaliski, Analyzing and Comparing Montgomery Multiplication \
                     Algorithms, IEEE Micro 16(3), 1996: the table of operations for s words, \
                     counted again from its schedules";

/// A product of 512 bits on the older core of \[ETI10\], in cycles.
pub const ETI10_PRODUCT_512: f64 = 806.0;

/// The operations on words in a Montgomery product of K words, by \[KAK96\]. The counts are a K^2 +
/// b K + c, as (a, b, c).
#[derive(Clone, Copy, Debug)]
pub struct Schedule {
    /// The name in record subjects.
    pub name: &'static str,
    /// Multiplications.
    pub multiplications: (f64, f64, f64),
    /// Additions.
    pub additions: (f64, f64, f64),
    /// Words read.
    pub reads: (f64, f64, f64),
    /// Words written.
    pub writes: (f64, f64, f64),
}

/// The table of \[KAK96\] for the schedules that are measured.
///
/// Only two parts were compared with the paper, as quoted in public code: the row of CIOS, part by
/// part, and the additions of SOS and FIOS. The other figures are computed from the schedules,
/// statement by statement: see the test. The cost of a statement follows from the parts of CIOS.
pub const KAK96_TABLE: [Schedule; 4] = [
    Schedule {
        name: "amm64_sos",
        multiplications: (2.0, 1.0, 0.0),
        additions: (4.0, 4.0, 2.0),
        reads: (6.0, 7.0, 3.0),
        writes: (2.0, 6.0, 2.0),
    },
    Schedule {
        name: "amm64_cios",
        multiplications: (2.0, 1.0, 0.0),
        additions: (4.0, 4.0, 2.0),
        reads: (6.0, 7.0, 2.0),
        writes: (2.0, 5.0, 1.0),
    },
    Schedule {
        name: "amm64_fios",
        multiplications: (2.0, 1.0, 0.0),
        additions: (5.0, 3.0, 2.0),
        reads: (7.0, 5.0, 2.0),
        writes: (3.0, 4.0, 1.0),
    },
    Schedule {
        name: "amm64_fips",
        multiplications: (2.0, 1.0, 0.0),
        additions: (6.0, 2.0, 2.0),
        reads: (9.0, 8.0, 2.0),
        writes: (5.0, 8.0, 1.0),
    },
];

/// Returns the published records for a study of variants: the operation counts of \[KAK96\] for
/// moduli of these numbers of words, and the published cycles.
///
/// # Panics
///
/// Never: the tables contain only valid subjects and finite numbers.
#[must_use]
pub fn published(taken_at: Timestamp, words: &[usize]) -> Vec<Record> {
    let cycles = (word::CYCLES_PER_CALL, Unit::Cycles, ETI10_PRODUCT_512);
    let older = machine("Pentium R4", None);
    let eti10 = format!("{ETI10}: one product of 512 bits");
    let mut records =
        vec![simulation::published(taken_at), record(product(), cycles, older, &eti10, taken_at)];
    records.extend(published::operations(taken_at));
    for k in words {
        records.extend(KAK96_TABLE.iter().flat_map(|schedule| counts(schedule, *k, taken_at)));
    }
    records
}

/// Returns the subject of the product of \[ETI10\].
pub(super) fn product() -> Subject {
    let topic = Topic::Variant("product".to_owned());
    subject(topic, &[(word::BITS, "512"), (word::BY, "eti10-older-core")])
}

fn counts(schedule: &Schedule, k: usize, taken_at: Timestamp) -> [Record; 4] {
    let topic = Topic::Variant(schedule.name.to_owned());
    let subject = subject(topic, &[(word::K, &k.to_string()), (word::BY, "kak96")]);
    let k = f64::from(u32::try_from(k).expect("at most 128 words"));
    [
        (word::MULTIPLICATIONS, schedule.multiplications),
        (word::ADDITIONS, schedule.additions),
        (word::READS, schedule.reads),
        (word::WRITES, schedule.writes),
    ]
    .map(|(quantity, (a, b, c))| {
        let figure = (quantity, Unit::Count, a * k * k + b * k + c);
        record(subject.clone(), figure, machine("any", None), KAK96, taken_at)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The cost of a statement: multiplications, additions, reads, writes.
    type Price = [usize; 4];

    /// Statements of \[KAK96\] and their costs.
    const PRODUCT: Price = [1, 1, 3, 0]; // (C, S) := t + a * b
    const PRODUCT_AND_CARRY: Price = [1, 2, 3, 0]; // (C, S) := t + a * b + C
    const REDUCTION: Price = [1, 1, 2, 0]; // (C, S) := S + m * n
    const QUOTIENT: Price = [1, 0, 1, 1]; // m := S * n'
    const LOAD: Price = [0, 0, 1, 0];
    const STORE: Price = [0, 0, 0, 1];
    const ADD_CARRY: Price = [0, 1, 1, 0]; // (C, S) := t + C
    const PROPAGATE: Price = [0, 2, 2, 2]; // ADD(t, C)

    fn sum(parts: &[(usize, &[Price])]) -> Price {
        let mut sum = [0; 4];
        for (times, statements) in parts {
            for price in *statements {
                sum.iter_mut().zip(price).for_each(|(sum, price)| *sum += times * price);
            }
        }
        sum
    }

    fn counted(name: &str, s: usize) -> Price {
        let row = &[PRODUCT_AND_CARRY, STORE];
        let difference: (usize, &[Price]) = (s + 1, &[[0, 2, 2, 1]]); // the final subtraction
        match name {
            "amm64_sos" => {
                let quotients = &[STORE, LOAD, QUOTIENT, PROPAGATE]; // the carry of a row, then m
                sum(&[(2 * s * s, row), (s, quotients), (s + 1, &[LOAD, STORE]), difference])
            }
            "amm64_cios" => {
                let between = &[ADD_CARRY, STORE, STORE, LOAD, QUOTIENT, PRODUCT];
                let after = &[ADD_CARRY, STORE, ADD_CARRY, STORE];
                sum(&[(2 * s * s - s, row), (s, between), (s, after), difference])
            }
            "amm64_fios" => {
                let first = &[PRODUCT, PROPAGATE, QUOTIENT, REDUCTION];
                let others = &[PRODUCT_AND_CARRY, PROPAGATE, REDUCTION, STORE];
                let after = &[ADD_CARRY, STORE, ADD_CARRY, STORE, STORE];
                sum(&[(s, first), (s * s - s, others), (s, after), difference])
            }
            _ => {
                let pair = &[PRODUCT, PROPAGATE, REDUCTION, STORE, PROPAGATE];
                let shift = [LOAD, STORE, LOAD, STORE, STORE]; // t[0], t[1], t[2] := t[1], t[2], 0
                let low = &[PRODUCT, PROPAGATE, QUOTIENT, REDUCTION, PROPAGATE];
                let high = &[LOAD, STORE];
                sum(&[(s * s - s, pair), (s, low), (s, high), (2 * s, &shift), difference])
            }
        }
    }

    #[test]
    fn the_table_is_what_the_schedules_cost() {
        for schedule in &KAK96_TABLE {
            for s in [1u8, 2, 16, 64] {
                let (n, k) = (usize::from(s), f64::from(s));
                let Schedule { multiplications, additions, reads, writes, .. } = *schedule;
                let table = [multiplications, additions, reads, writes];
                let table = table.map(|(a, b, c)| a * k * k + b * k + c);
                let counted = counted(schedule.name, n).map(|count| {
                    f64::from(u32::try_from(count).expect("a few thousand operations"))
                });
                assert!(table == counted, "{}, {s} words: {table:?}, {counted:?}", schedule.name);
            }
        }
    }
}
