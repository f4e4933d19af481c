//! The real server's figures beside the predicted ones.

use tollgate_record::vocabulary as word;
use tollgate_record::{Estimate, Kind, Record, Subject, Timestamp, Unit};

use crate::error::Error;

const NS_PER_S: f64 = 1e9;

/// The measured cost of a session, from the real server's CPU time and the clock of its core in
/// cycles per second. Its subject is that of the predicted total.
///
/// # Errors
///
/// [`Error::Record`] if the record is not `server_cpu_ns_per_session` of a server.
pub fn measured_total(server: &Record, clock_hz: &Estimate) -> Result<Record, Error> {
    let wanted = "a measured server_cpu_ns_per_session";
    let fits = server.quantity.as_str() == word::SERVER_CPU_NS_PER_SESSION
        && server.unit == Unit::Nanos
        && server.kind == Kind::Measured;
    let subject = moved(&server.subject, "server", "session").filter(|_| fits);
    let subject = subject.ok_or_else(|| refused(wanted, server))?;
    let cycles =
        product(&server.estimate.scaled(1.0 / NS_PER_S).map_err(Error::figure)?, clock_hz)?;
    Ok(Record {
        subject,
        quantity: word::CYCLES_PER_SESSION.parse().map_err(Error::figure)?,
        unit: Unit::Cycles,
        estimate: cycles,
        ..server.clone()
    })
}

/// The sessions per second that a predicted total promises of a server with so many workers, each
/// on a core of its own that does nothing else.
///
/// # Errors
///
/// [`Error::Record`] if the record is not a predicted `cycles_per_session`; [`Error::Figure`] if
/// it is not above zero.
pub fn predicted_rate(total: &Record, clock_hz: &Estimate, workers: u32) -> Result<Record, Error> {
    let wanted = "a predicted cycles_per_session";
    let fits = total.quantity.as_str() == word::CYCLES_PER_SESSION
        && total.subject.parameter(word::PART).is_none()
        && matches!(total.kind, Kind::Predicted { .. });
    let subject = moved(&total.subject, "session", "server").filter(|_| fits);
    let subject = subject.ok_or_else(|| refused(wanted, total))?;
    let rate = total.estimate.inverted(f64::from(workers)).map_err(Error::figure)?;
    let from = vec![total.subject.to_string()];
    Ok(Record {
        subject,
        quantity: word::SESSIONS_PER_S.parse().map_err(Error::figure)?,
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

/// The subject with another first segment.
fn moved(subject: &Subject, from: &str, to: &str) -> Option<Subject> {
    let text = subject.to_string();
    let rest = text.strip_prefix(from).filter(|rest| rest.starts_with('/'))?;
    format!("{to}{rest}").parse().ok()
}

/// The product of two estimates above zero; relative errors add up as squares.
fn product(a: &Estimate, b: &Estimate) -> Result<Estimate, Error> {
    let point = a.point() * b.point();
    let relative = |estimate: &Estimate, end: f64| (end / estimate.point() - 1.0).powi(2);
    let ((a_low, a_high), (b_low, b_high)) = (a.interval(), b.interval());
    let below = f64::sqrt(relative(a, a_low) + relative(b, b_low));
    let above = f64::sqrt(relative(a, a_high) + relative(b, b_high));
    let samples = a.samples().min(b.samples());
    Estimate::new(point, (point * (1.0 - below), point * (1.0 + above)), samples)
        .map_err(Error::figure)
}
