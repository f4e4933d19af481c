//! Finds the fleets, demands and response times among the records.

use tollgate_record::vocabulary::{
    AGAINST, CURRENCY, DEMAND_PER_S, LINE, LINK_GBPS, LOAD, RESPONSE_NS_MEAN, RESPONSE_NS_P99,
    SERVICE_NS, SESSIONS_PER_S_PER_CORE, STATION_CORES, WAIT_NS_MEAN, WAITING_SHARE, WHOLE_CORES,
};
use tollgate_record::{Area, Record, Subject, Topic, Unit};

use crate::lookup::Origin::{self, Predicted, Published};
use crate::lookup::{Lookup, distinct};
use crate::names;
use crate::session::by_rank;

/// Returns the fleets, as subjects without the demand. Predicted fleets are first; among those with
/// the same path and payload, Tollgate's is first. Published fleets follow in the order of their
/// records.
pub(crate) fn sizes(records: &[Record]) -> Vec<(Origin, Subject)> {
    let lookup = Lookup(records);
    let of = |origin| {
        let subjects = lookup.subjects(move |record| {
            let demand = [DEMAND_PER_S, AGAINST, CURRENCY, LOAD];
            Origin::new(record) == origin
                && record.subject.area() == Area::Fleet
                && [WHOLE_CORES, SESSIONS_PER_S_PER_CORE].contains(&record.quantity)
                && demand.iter().all(|key| record.subject.parameter(key).is_none())
        });
        subjects.into_iter().map(move |subject| (origin, subject.without(&[LINK_GBPS])))
    };
    let mut found = distinct([Predicted, Published].into_iter().flat_map(of));
    let order: Vec<Topic> = found.iter().map(|(_, fleet)| fleet.topic().clone()).collect();
    found.sort_by_key(|(origin, fleet)| {
        let place = order.iter().position(|topic| topic == fleet.topic());
        (*origin, place, names::bytes(fleet), by_rank(fleet))
    });
    found
}

/// Returns the records of the number of whole cores for a demand.
pub(crate) fn sized(lookup: Lookup<'_>) -> impl Iterator<Item = &Record> {
    lookup.0.iter().filter(|record| {
        record.subject.area() == Area::Fleet
            && record.quantity == WHOLE_CORES
            && record.unit == Unit::Count
    })
}

/// Returns the subjects of a fleet's demands, in the order of their records.
pub(crate) fn demands<'a>(lookup: Lookup<'a>, origin: Origin, fleet: &Subject) -> Vec<&'a Subject> {
    let takes = |record: &&Record| {
        Origin::new(record) == origin
            && demand(&record.subject).is_some()
            && record.subject.without(&[LINK_GBPS, DEMAND_PER_S]) == *fleet
    };
    distinct(sized(lookup).filter(takes).map(|record| &record.subject))
}

/// Returns the demand of a subject, such as `10 Gbps` or `5000/s`.
pub(crate) fn demand(subject: &Subject) -> Option<String> {
    let link = subject.parameter(LINK_GBPS).map(|gbps| format!("{gbps} Gbps"));
    link.or_else(|| Some(format!("{}/s", subject.parameter(DEMAND_PER_S)?)))
}

/// Returns the whole cores of a fleet for each link. Links are in Gbps, as the subjects spell them.
pub(crate) fn links<'a>(
    lookup: Lookup<'a>,
    origin: Origin,
    fleet: &Subject,
) -> Vec<(&'a str, &'a Record)> {
    let link = |subject: &'a Subject| {
        let gbps = subject.parameter(LINK_GBPS)?;
        Some((gbps, lookup.record(origin, subject, WHOLE_CORES, Unit::Count)?))
    };
    demands(lookup, origin, fleet).into_iter().filter_map(link).collect()
}

/// The response time of one fleet by load.
pub(crate) struct Curve<'a> {
    /// The subject without queue discipline, load and cores.
    pub(crate) subject: Subject,
    pub(crate) cores: &'a str,
    /// Mean service time in nanoseconds, if the records contain it.
    pub(crate) service_ns: Option<f64>,
    /// The points, sorted by load.
    pub(crate) points: Vec<Point<'a>>,
}

/// One load of a curve.
pub(crate) struct Point<'a> {
    pub(crate) load: f64,
    pub(crate) mean: &'a Record,
    pub(crate) p99: Option<&'a Record>,
    pub(crate) waits: Option<&'a Record>,
    pub(crate) wait: Option<&'a Record>,
}

impl Curve<'_> {
    /// Returns the sessions per second at a load.
    pub(crate) fn rate(&self, load: f64) -> Option<f64> {
        let cores: f64 = self.cores.parse().ok()?;
        let rate = load * cores * 1e9 / self.service_ns?;
        (rate.is_finite() && rate >= 0.0).then_some(rate)
    }
}

/// Returns every curve, in the order of the records.
pub(crate) fn curves(records: &[Record]) -> Vec<Curve<'_>> {
    let lookup = Lookup(records);
    let is_mean = |record: &Record| {
        Origin::new(record) == Predicted
            && record.subject.area() == Area::Fleet
            && record.quantity == RESPONSE_NS_MEAN
            && record.unit == Unit::Nanos
            && record.subject.parameter(AGAINST).is_none()
    };
    let mut curves: Vec<(&str, Curve<'_>)> = Vec::new();
    for subject in lookup.subjects(is_mean) {
        let find = |quantity, unit| lookup.record(Predicted, subject, quantity, unit);
        let load = subject.parameter(LOAD).and_then(|load| load.parse::<f64>().ok());
        let bare = subject.without(&[LOAD, LINE, STATION_CORES]);
        let (Some(load), Some(cores), Some(line), Some(mean)) = (
            load.filter(|load| (0.0..1.0).contains(load)),
            subject.parameter(STATION_CORES),
            subject.parameter(LINE),
            find(RESPONSE_NS_MEAN, Unit::Nanos),
        ) else {
            continue;
        };
        let point = Point {
            load,
            mean,
            p99: find(RESPONSE_NS_P99, Unit::Nanos),
            waits: find(WAITING_SHARE, Unit::Ratio),
            wait: find(WAIT_NS_MEAN, Unit::Nanos),
        };
        let same = |(l, curve): &&mut (&str, Curve<'_>)| {
            *l == line && curve.cores == cores && curve.subject == bare
        };
        match curves.iter_mut().find(same) {
            Some((_, curve)) => curve.points.push(point),
            None => {
                let service = mean.conditions.get(SERVICE_NS).and_then(|ns| ns.parse::<f64>().ok());
                let service_ns = service.filter(|ns| ns.is_finite() && *ns > 0.0);
                let curve = Curve { subject: bare, cores, service_ns, points: vec![point] };
                curves.push((line, curve));
            }
        }
    }
    let mut curves: Vec<Curve<'_>> = curves.into_iter().map(|(_, curve)| curve).collect();
    for curve in &mut curves {
        curve.points.sort_by(|x, y| x.load.total_cmp(&y.load));
    }
    curves
}
