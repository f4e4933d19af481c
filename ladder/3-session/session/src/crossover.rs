//! The size at which the transfer of a session costs as much as its handshake, and the number of
//! requests at which the handshake no longer matters.

use std::collections::BTreeMap;

use tollgate_record::vocabulary as word;
use tollgate_record::{Estimate, Kind, Quantity, Record, Subject, Timestamp, Topic, Unit};

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
    let curves = curves(records, word::BYTES, None);
    let found = curves.into_iter().filter_map(|((_, subject), sizes)| of_curve(subject, &sizes));
    found.collect()
}

/// Finds the number of requests on a connection at which the handshake takes a tenth of the cost of
/// a session, from totals of one request and of the largest number. A request is taken to cost the
/// same each time. From there on, the cost for each request is almost flat.
///
/// There is no record for a kind without these two totals, nor for one whose requests cost less
/// than the uncertainty of the totals.
///
/// # Errors
///
/// [`Error::Figure`] if a total is not a valid figure.
pub fn amortisations(records: &[Record]) -> Result<Vec<Record>, Error> {
    let curves = curves(records, word::REQUESTS, Some(1));
    curves.into_iter().filter_map(|((_, subject), costs)| amortised(subject, &costs)).collect()
}

/// The totals of sessions of each kind by a numeric parameter, predicted and measured ones apart.
/// Without the parameter it has the value `absent`.
fn curves<'a>(
    records: &'a [Record],
    parameter: &str,
    absent: Option<u64>,
) -> BTreeMap<(bool, Subject), BTreeMap<u64, &'a Record>> {
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
        let value = match record.subject.parameter(parameter) {
            Some(value) => value.parse().ok(),
            None => absent,
        };
        if let (true, Some(value)) = (is_total, value) {
            let kind = (is_measured, record.subject.without(&[parameter]));
            curves.entry(kind).or_default().insert(value, record);
        }
    }
    curves
}

fn amortised(subject: Subject, costs: &BTreeMap<u64, &Record>) -> Option<Result<Record, Error>> {
    let first = costs.get(&1)?;
    let (count, last) = costs.last_key_value().filter(|(count, _)| **count > 1)?;
    let where_tenth = |one: f64, all: f64| {
        let request = (all - one) / number(count - 1);
        (request > 0.0).then(|| 9.0 * (one - request).max(0.0) / request)
    };
    let ((one_low, one_high), (all_low, all_high)) =
        (first.estimate.interval(), last.estimate.interval());
    let point = where_tenth(first.estimate.point(), last.estimate.point())?;
    let low = where_tenth(one_low, all_high)?.min(point);
    let high = where_tenth(one_high, all_low)?.max(point);
    let samples = first.estimate.samples().min(last.estimate.samples());
    let figure = (word::REQUESTS_WHERE_TENTH, Unit::Count, (point, low, high, samples));
    Some(derived(subject, first, costs, figure))
}

/// A record that follows from the totals `from`, with the conditions of `like`.
fn derived(
    subject: Subject,
    like: &Record,
    from: &BTreeMap<u64, &Record>,
    (quantity, unit, (point, low, high, samples)): (Quantity, Unit, (f64, f64, f64, u64)),
) -> Result<Record, Error> {
    let kind = match &like.kind {
        Kind::Predicted { by, .. } => {
            let from = from.values().map(|record| record.subject.to_string()).collect();
            Kind::Predicted { by: by.clone(), from }
        }
        other => other.clone(),
    };
    let estimate = Estimate::new(point, (low, high), samples).map_err(Error::figure)?;
    let taken_at = Timestamp::now();
    Ok(Record { subject, quantity, unit, estimate, kind, taken_at, ..like.clone() })
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
    let figure = (word::BYTES_WHERE_DOUBLE, Unit::Bytes, (bytes, low, high, samples));
    Some(derived(subject, handshake, sizes, figure))
}

/// Returns where a curve of straight lines first reaches `height`; `None` if it never does.
fn crossing(points: &[(f64, f64)], height: f64) -> Option<f64> {
    let pair = points.windows(2).find(|pair| pair[1].1 >= height)?;
    let ((x0, y0), (x1, y1)) = (pair[0], pair[1]);
    (y1 > y0).then(|| x0 + (x1 - x0) * ((height - y0) / (y1 - y0)).clamp(0.0, 1.0))
}

#[allow(clippy::cast_precision_loss, reason = "at most 2^20 bytes or 1000 requests")]
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
    fn more_requests_make_the_handshake_cheap() {
        // A handshake costs 300 000 cycles, a request 50 000.
        let one = total(1024, 3.5e5, predicted());
        let subject = one.subject.with(word::REQUESTS, 10).unwrap();
        let ten = Record { subject, ..total(1024, 8e5, predicted()) };
        let found = amortisations(&[one.clone(), ten.clone()]).unwrap();
        assert_eq!(found.len(), 1);
        assert_eq!(found[0].subject, one.subject);
        // 54 requests of 50 000 are nine tenths
        assert!((found[0].estimate.point() - 54.0).abs() < 1e-6, "{found:?}");
        let (low, high) = found[0].estimate.interval();
        assert!(low < 54.0 && high > 54.0);
        assert_eq!(amortisations(&[one]).unwrap(), []);
        assert_eq!(amortisations(&[ten]).unwrap(), []);
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
