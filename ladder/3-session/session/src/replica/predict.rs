//! Predicts sessions of a stock server: the primitives, and the replica of its calls.

use core::cell::RefCell;
use core::time::Duration;

use tollgate_bench::{Contender, SamplePlan, Wrong, interleave, median_estimate};
use tollgate_load::Context;
use tollgate_record::vocabulary as word;
use tollgate_record::{Estimate, Kind, Record, Subject};

use super::{Played, Replica};
use crate::error::Error;
use crate::plan::{Session, SessionPlan};
use crate::sum::sum;
use crate::workers::Workers;
use crate::writer::Writer;

/// The parts that cost the same in every server that calls libssl, besides that of the key.
const SHARED: [&str; 4] =
    [word::PART_KEY_EXCHANGE, word::PART_KEY_SCHEDULE, word::PART_RECORDS, word::PART_MAC];

const LIBRARY: &str = "the server's calls of libssl, less their primitives; in turn with the \
                       server's system calls, so the caches are as cold as in the server";
const SYSTEM: &str = "the server's system calls over loopback, between its calls of libssl: CPU \
                      time of the serving thread outside libssl, the loop of the replay included";

/// Predicts the sessions of a plan for the stock server `server`, such as `nginx`, or without a name
/// for the embedded server: the server's calls of libssl and of the system are repeated without the
/// server, under load.
///
/// `embedded` has the records of [`measure`](crate::measure) for the same plan, with the parts that
/// all servers share. `stop` is polled before each sample. `progress` receives the share done, in
/// [0, 1]. Returns no records if the server's calls are not known.
///
/// # Errors
///
/// [`Error`], one line with advice.
pub fn measure_stock(
    server: Option<&str>,
    plan: &SessionPlan,
    embedded: &[Record],
    context: &Context,
    (stop, progress): (&dyn Fn() -> bool, &mut dyn FnMut(f64)),
) -> Result<Vec<Record>, Error> {
    plan.check()?;
    let workers = Workers::of(plan)?;
    let mut all: Vec<(Session, Replica<'_>, RefCell<Vec<Played>>)> = Vec::new();
    for &session in &plan.sessions {
        let Some(replica) = Replica::new(server, session, &workers.of_session(&session).worker)?
        else {
            return Ok(Vec::new());
        };
        all.push((session, replica, RefCell::default()));
    }
    let failure = RefCell::new(None);
    let mut contenders = Vec::new();
    for (session, replica, played) in &all {
        contenders.push(Contender::new(session.to_string(), 1, || {
            let one = replica.play().map_err(|error| {
                *failure.borrow_mut() = Some(error);
                Wrong::new("it failed")
            })?;
            played.borrow_mut().push(one);
            Ok(())
        }));
    }
    let schedule = SamplePlan {
        warm_up: Duration::ZERO,
        total: plan.total,
        sample: Duration::from_millis(1), // one replay
        min_rounds: 3,
    };
    let series = interleave(&mut contenders, &schedule, stop, progress);
    drop(contenders);
    series.map_err(|error| failure.take().unwrap_or_else(|| error.into()))?;
    let writer = Writer::new(context);
    let predict = |(session, replica, played): &(Session, Replica<'_>, RefCell<Vec<Played>>)| {
        let (source, writer) = (replica.source(), &writer);
        let stock = Stock { server, session, source, embedded, writer };
        stock.records(&played.borrow())
    };
    Ok(all.iter().map(predict).collect::<Result<Vec<_>, Error>>()?.concat())
}

/// A session of a stock server.
struct Stock<'a> {
    server: Option<&'a str>,
    session: &'a Session,
    /// Where the sequence of calls comes from.
    source: &'a str,
    embedded: &'a [Record],
    writer: &'a Writer<'a>,
}

impl Stock<'_> {
    /// The replica's measurements, the parts, and their sum.
    fn records(&self, played: &[Played]) -> Result<Vec<Record>, Error> {
        let of = |cycles: fn(&Played) -> f64| {
            let cycles: Vec<f64> = played.iter().map(cycles).collect();
            median_estimate(&cycles).ok_or(Error::NoCycles)
        };
        let library = self.measured("libssl", of(|one| one.library)?)?;
        let system = self.measured("system", of(|one| one.system)?)?;
        let mut rest = vec![(1.0, library.estimate)];
        let mut rest_from = vec![library.subject.to_string()];
        let mut parts = Vec::new();
        let of_key = match self.session.key.is_rsa() {
            true => word::PART_RSA,
            false => word::PART_SIGNATURE,
        };
        let batch = of(|one| one.batch)?.point();
        for part in [of_key].into_iter().chain(SHARED) {
            let embedded = self.of_embedded(part)?;
            rest.push((-1.0, embedded.estimate));
            rest_from.push(embedded.subject.to_string());
            let note = embedded.conditions.get(word::ASSUMPTION).map_or("", String::as_str);
            let from = vec![embedded.subject.to_string()];
            parts.push(self.part(part, embedded.estimate, from, note)?);
        }
        parts.push(self.part(word::PART_LIBRARY, sum(&rest)?, rest_from, LIBRARY)?);
        let from = vec![system.subject.to_string()];
        parts.push(self.part(word::PART_SYSTEM, system.estimate, from, SYSTEM)?);
        // The library's part is a difference, so the parts add up to the two measurements.
        let total = sum(&[(1.0, library.estimate), (1.0, system.estimate)])?;
        let from = parts.iter().map(|part| part.subject.to_string()).collect();
        let total = self.writer.predicted(self.total()?, total, from, "the sum of the parts")?;
        let mut all = [vec![library, system], parts, vec![total]].concat();
        if batch > 1.0 {
            let batch = (word::BATCH.to_owned(), format!("{batch:.1}"));
            all.iter_mut().for_each(|record| record.conditions.extend([batch.clone()]));
        }
        Ok(all)
    }

    fn of_embedded(&self, part: &str) -> Result<&Record, Error> {
        let subject = self.session.subject().and_then(|subject| subject.with(word::PART, part));
        let subject = subject.map_err(Error::figure)?;
        let found = self.embedded.iter().find(|record| {
            record.subject == subject
                && record.quantity == word::CYCLES_PER_SESSION
                && matches!(record.kind, Kind::Predicted { .. })
        });
        found.ok_or_else(|| Error::Figure(format!("{subject}: no figure")))
    }

    fn total(&self) -> Result<Subject, Error> {
        self.named(self.session.subject().map_err(Error::figure)?)
    }

    /// The subject of the embedded server's figure, with the stock server's name.
    fn named(&self, subject: Subject) -> Result<Subject, Error> {
        let Some(server) = self.server else { return Ok(subject) };
        let by = format!("{server}-{}", self.session.engine);
        subject.without(&[word::BY]).with(word::BY, by).map_err(Error::figure)
    }

    fn measured(&self, name: &str, cycles: Estimate) -> Result<Record, Error> {
        let subject = self.session.primitive_subject(name).map_err(Error::figure)?;
        let note = format!("a replay of the calls of {}", self.source);
        self.writer.measured(self.named(subject)?, cycles, &note)
    }

    fn part(
        &self,
        part: &str,
        cycles: Estimate,
        from: Vec<String>,
        note: &str,
    ) -> Result<Record, Error> {
        let subject = self.total()?.with(word::PART, part).map_err(Error::figure)?;
        self.writer.predicted(subject, cycles, from, note)
    }
}
