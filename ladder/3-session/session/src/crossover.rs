//! The size at which the transfer of a session costs as much as its handshake.

use std::collections::BTreeMap;

use tollgate_record::vocabulary as word;
use tollgate_record::{Estimate, Kind, Record, Subject, Timestamp, Topic, Unit};

use crate::error::Error;

/// Finds the crossover of each kind of session, from totals of several sizes: the number of bytes
/// at which a session costs twice as much as a session without payload. Between two sizes the cost
/// is taken as linear. Predicted and measured totals give separate records.
///
/// There is no record for a kind without a total of 0 bytes, nor for one whose largest session
/// costs less than that.
///
/// # Errors
///
/// [`Error::Figure`] if a total is not a valid figure.
pub fn crossovers(records: &[Record]) -> Result<Vec<Record>, Error> {
    let mut curves: BTreeMap<(bool, Subject), BTreeMap<u64, &Record>> = BTreeMap::new();
    for record in records {
        let is_measured = match &record.kind {
            Kind::Measured => true,
            Kind::Predicted { by, .. } if by == word::SESSION_RUNG => false,
            _ => continue,
        };
        let is_total = record.quantity == word::CYCLES_PER_SESSION
            && matches!(record.subject.topic(), Topic::Session(_))
            && record.subject.parameter(word::PART).is_none();
        let bytes = record.subject.parameter(word::BYTES).and_then(|bytes| bytes.parse().ok());
        if let (true, Some(bytes)) = (is_total, bytes) {
            let kind = (is_measured, record.subject.without(&[word::BYTES]));
            curves.entry(kind).or_default().insert(bytes, record);
        }
    }
    let found = curves.into_iter().filter_map(|((_, subject), sizes)| of_curve(subject, &sizes));
    found.collect()
}

fn of_curve(subject: Subject, sizes: &BTreeMap<u64, &Record>) -> Option<Result<Record, Error>> {
    let handshake = sizes.get(&0)?;
    let points: Vec<(f64, f64)> =
        sizes.iter().map(|(&bytes, record)| (number(bytes), record.estimate.point())).collect();
    let bytes = crossing(&points, 2.0 * handshake.estimate.point())?;
    let (low, high) = handshake.estimate.interval();
    // An end of the interval may lie beyond the sizes: the figure is then not better known.
    let low = crossing(&points, 2.0 * low).unwrap_or(0.0).min(bytes);
    let largest = points.last()?.0;
    let high = crossing(&points, 2.0 * high).unwrap_or(largest).max(bytes);
    let samples = sizes.values().map(|record| record.estimate.samples()).min()?;
    let kind = match &handshake.kind {
        Kind::Predicted { by, .. } => {
            let from = sizes.values().map(|record| record.subject.to_string()).collect();
            Kind::Predicted { by: by.clone(), from }
        }
        other => other.clone(),
    };
    let estimate = Estimate::new(bytes, (low, high), samples).map_err(Error::figure);
    Some(estimate.map(|estimate| Record {
        subject,
        quantity: word::BYTES_WHERE_DOUBLE,
        unit: Unit::Bytes,
        estimate,
        kind,
        taken_at: Timestamp::now(),
        ..(*handshake).clone()
    }))
}

/// Returns where a curve of straight lines first reaches `height`; `None` if it never does.
fn crossing(points: &[(f64, f64)], height: f64) -> Option<f64> {
    let pair = points.windows(2).find(|pair| pair[1].1 >= height)?;
    let ((x0, y0), (x1, y1)) = (pair[0], pair[1]);
    (y1 > y0).then(|| x0 + (x1 - x0) * ((height - y0) / (y1 - y0)).clamp(0.0, 1.0))
}

#[allow(clippy::cast_precision_loss, reason = "at most 2^20 bytes")]
const fn number(bytes: u64) -> f64 {
    bytes as f64
}

#[cfg(test)]
mod tests {
    use tollgate_record::Machine;

    use super::*;

    fn total(bytes: u64, point: f64, kind: Kind) -> Record {
        let subject = format!("session/rsa-2048/tls13?by=openssl&bytes={bytes}");
        let estimate = Estimate::new(point, (0.9 * point, 1.1 * point), 7).unwrap();
        let figure = (word::CYCLES_PER_SESSION, Unit::Cycles, estimate);
        let machine = Machine::unknown("Some Processor 9000");
        Record::new(subject.parse().unwrap(), figure, kind, machine)
    }

    fn predicted() -> Kind {
        Kind::Predicted { by: word::SESSION_RUNG.to_owned(), from: vec![] }
    }

    #[test]
    fn the_transfer_costs_as_much_as_the_handshake() {
        // A byte costs 2 cycles up to 100 000 bytes and 4 cycles above; a handshake costs 300 000.
        let sizes = [(0, 3e5), (100_000, 5e5), (200_000, 9e5)];
        let totals = |kind: fn() -> Kind| sizes.map(|(bytes, cost)| total(bytes, cost, kind()));
        let mut records = totals(predicted).to_vec();
        records.extend(totals(|| Kind::Measured));
        let part = records[0].subject.with(word::PART, word::PART_RSA).unwrap();
        records.push(Record { subject: part, ..records[0].clone() });
        let found = crossovers(&records).unwrap();
        assert_eq!(found.len(), 2, "one predicted, one measured");
        for record in &found {
            assert_eq!(record.subject.to_string(), "session/rsa-2048/tls13?by=openssl");
            assert!((record.estimate.point() - 125_000.0).abs() < 1e-6, "{record:?}");
            // 540 000 and 660 000 cycles
            let (low, high) = record.estimate.interval();
            assert!((low - 110_000.0).abs() < 1e-6 && (high - 140_000.0).abs() < 1e-6);
        }
        let from = |record: &Record| match &record.kind {
            Kind::Predicted { from, .. } => from.len(),
            _ => 0,
        };
        assert_eq!(found.iter().map(from).collect::<Vec<_>>(), [3, 0]);
    }

    #[test]
    fn without_a_handshake_or_a_crossing_there_is_no_record() {
        let short = [total(0, 3e5, predicted()), total(1000, 5.9e5, predicted())];
        assert_eq!(crossovers(&short).unwrap(), []);
        assert_eq!(crossovers(&short[1..]).unwrap(), []);
        let flat = [total(0, 0.0, predicted()), total(1000, 0.0, predicted())];
        assert_eq!(crossovers(&flat).unwrap(), []);
    }
}
