//! Measured figures of the real server, for comparison with predictions.

use tollgate_record::vocabulary as word;
use tollgate_record::{Estimate, Kind, Record, Timestamp, Topic, Unit};

use crate::error::Error;

const NS_PER_S: f64 = 1e9;

/// Returns the measured cost of a session: the real server's CPU time multiplied by the clock of
/// its core in Hz. The subject is the same as that of the predicted total.
///
/// # Errors
///
/// [`Error::Record`] if the record is not `server_cpu_ns_per_session` of a server.
pub fn measured_total(server: &Record, clock_hz: &Estimate) -> Result<Record, Error> {
    let wanted = "a measured server_cpu_ns_per_session";
    let fits = server.quantity == word::SERVER_CPU_NS_PER_SESSION
        && server.unit == Unit::Nanos
        && server.kind == Kind::Measured;
    let topic = match server.subject.topic() {
        Topic::Server(service) if fits => Topic::Session(service.clone()),
        _ => return Err(refused(wanted, server)),
    };
    let cycles = product(&server.estimate.scaled(1.0 / NS_PER_S)?, clock_hz)?;
    Ok(Record {
        subject: server.subject.with_topic(topic)?,
        quantity: word::CYCLES_PER_SESSION,
        unit: Unit::Cycles,
        estimate: cycles,
        ..server.clone()
    })
}

/// Returns the sessions per second that follow from a predicted total, for a server with `workers`
/// workers, each on a dedicated core.
///
/// # Errors
///
/// [`Error::Record`] if the record is not a predicted `cycles_per_session`; [`Error::Figure`] if
/// its value is not above zero.
pub fn predicted_rate(total: &Record, clock_hz: &Estimate, workers: u32) -> Result<Record, Error> {
    let wanted = "a predicted cycles_per_session";
    let fits = total.quantity == word::CYCLES_PER_SESSION
        && total.subject.parameter(word::PART).is_none()
        && matches!(total.kind, Kind::Predicted { .. });
    let topic = match total.subject.topic() {
        Topic::Session(service) if fits => Topic::Server(service.clone()),
        _ => return Err(refused(wanted, total)),
    };
    let rate = total.estimate.inverted(f64::from(workers))?;
    let from = vec![total.subject.to_string()];
    Ok(Record {
        subject: total.subject.with_topic(topic)?,
        quantity: word::SESSIONS_PER_S,
        unit: Unit::PerSecond,
        estimate: product(&rate, clock_hz)?,
        kind: Kind::Predicted { by: word::SESSION_RUNG.to_owned(), from },
        taken_at: Timestamp::now(),
        ..total.clone()
    })
}

fn refused(wanted: &'static str, record: &Record) -> Error {
    Error::Record { wanted, subject: record.subject.to_string() }
}

/// Returns the product of two estimates above zero; their relative errors add in quadrature.
fn product(a: &Estimate, b: &Estimate) -> Result<Estimate, Error> {
    let point = a.point() * b.point();
    let relative = |estimate: &Estimate, end: f64| (end / estimate.point() - 1.0).powi(2);
    let ((a_low, a_high), (b_low, b_high)) = (a.interval(), b.interval());
    let below = f64::sqrt(relative(a, a_low) + relative(b, b_low));
    let above = f64::sqrt(relative(a, a_high) + relative(b, b_high));
    let samples = a.samples().min(b.samples());
    Ok(Estimate::new(point, (point * (1.0 - below), point * (1.0 + above)), samples)?)
}

#[cfg(test)]
mod tests {

    use tollgate_record::{Machine, Quantity};

    use super::*;

    fn record(subject: &str, quantity: Quantity, unit: Unit, point: f64, kind: Kind) -> Record {
        let estimate = Estimate::new(point, (0.9 * point, 1.1 * point), 7).unwrap();
        let machine = Machine::unknown("Some Processor 9000");
        Record::new(subject.parse().unwrap(), (quantity, unit, estimate), kind, machine)
    }

    #[test]
    fn cpu_time_becomes_cycles_of_the_session() {
        let subject = "server/rsa-2048/tls13?by=tollgate&bytes=14336";
        let quantity = word::SERVER_CPU_NS_PER_SESSION;
        let server = record(subject, quantity, Unit::Nanos, 500_000.0, Kind::Measured);
        let clock = Estimate::exact(4.0e9).unwrap();
        let total = measured_total(&server, &clock).unwrap();
        let expected = "session/rsa-2048/tls13?by=tollgate&bytes=14336";
        assert_eq!((total.subject.to_string().as_str(), total.unit), (expected, Unit::Cycles));
        assert!((total.estimate.point() - 2.0e6).abs() < 1.0);
        assert!((total.estimate.interval().0 - 1.8e6).abs() < 1.0, "the clock adds no doubt");
        for wrong in [
            Record { unit: Unit::Cycles, ..server.clone() },
            Record { quantity: word::SESSIONS_PER_S, ..server.clone() },
            Record { subject: "servers/x?by=y".parse().unwrap(), ..server },
        ] {
            let error = measured_total(&wrong, &clock).unwrap_err().to_string();
            assert!(error.contains(word::SERVER_CPU_NS_PER_SESSION.as_str()), "{error}");
        }
    }

    #[test]
    fn a_rate_follows_from_a_predicted_total() {
        let predicted = Kind::Predicted { by: word::SESSION_RUNG.to_owned(), from: vec![] };
        let subject = "session/rsa-2048/tls13?by=tollgate&bytes=0";
        let total = record(subject, word::CYCLES_PER_SESSION, Unit::Cycles, 2.0e6, predicted);
        let clock = Estimate::exact(4.0e9).unwrap();
        let rate = predicted_rate(&total, &clock, 2).unwrap();
        assert!((rate.estimate.point() - 4000.0).abs() < 1e-6);
        assert_eq!(rate.subject.to_string(), "server/rsa-2048/tls13?by=tollgate&bytes=0");
        let part = total.subject.with(word::PART, word::PART_RSA).unwrap();
        assert!(predicted_rate(&Record { subject: part, ..total.clone() }, &clock, 2).is_err());
        let nothing = Estimate::new(0.0, (-1.0, 1.0), 3).unwrap();
        assert!(predicted_rate(&Record { estimate: nothing, ..total }, &clock, 2).is_err());
    }
}
