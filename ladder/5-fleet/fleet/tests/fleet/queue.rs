//! Response times and loads.

use proptest::prelude::*;
use tollgate_fleet::Error;
use tollgate_fleet::queue::{Discipline, ServiceTime, Station};
use tollgate_record::{Estimate, PerSecond};

use crate::exact;

const DISCIPLINES: [Discipline; 2] = [Discipline::OneQueue, Discipline::QueuePerCore];

fn station(cores: u32, discipline: Discipline) -> Station {
    Station::new(cores, discipline).unwrap()
}

fn mean_response(station: Station, load: f64, service: &ServiceTime) -> f64 {
    station.at_load(load, service).unwrap().response_ns.point()
}

#[test]
fn one_core_has_the_textbook_response_time() {
    // At a load of 0.9 and service times of 1 ms, the mean response time is 10 ms in M/M/1 and 5.5
    // ms in M/D/1.
    for discipline in DISCIPLINES {
        let at = |scv| station(1, discipline).at_load(0.9, &exact(1e6, scv)).unwrap();
        let markov = at(1.0);
        assert!((markov.waits.point() - 0.9).abs() < 1e-12);
        assert!((markov.response_ns.point() - 10e6).abs() < 1e-3);
        assert!((at(0.0).response_ns.point() - 5.5e6).abs() < 1e-3);
    }
}

#[test]
fn an_overload_has_no_mean() {
    for discipline in DISCIPLINES {
        let station = station(4, discipline);
        for rate in [4000.0, 4400.0] {
            let result = station.quantile_at_rate(0.5, PerSecond::new(rate), &exact(1e6, 1.0));
            assert_eq!(
                result,
                Err(Error::Unstable { utilisation: rate / 4000.0 }),
                "{discipline:?}"
            );
        }
        assert_eq!(
            station.at_load(1.0, &exact(1e6, 1.0)),
            Err(Error::Unstable { utilisation: 1.0 })
        );
        // If service times are 1 ms +- 5 %, a rate of 3900/s may be too high.
        let mean = Estimate::new(1e6, (0.95e6, 1.05e6), 30).unwrap();
        let service = ServiceTime::new(mean, Estimate::exact(1.0).unwrap()).unwrap();
        let result = station.quantile_at_rate(0.5, PerSecond::new(3900.0), &service);
        assert!(matches!(result, Err(Error::PerhapsUnstable { utilisation }) if utilisation > 1.0));
        assert!(station.quantile_at_rate(0.5, PerSecond::new(3700.0), &service).is_ok());
        for bad in [-1.0, f64::NAN, f64::INFINITY] {
            assert!(station.quantile_at_rate(0.5, PerSecond::new(bad), &service).is_err());
            assert!(station.at_load(bad, &service).is_err());
        }
    }
}

#[test]
fn invalid_stations_and_quantiles_are_refused() {
    assert!(Station::new(0, Discipline::OneQueue).is_err());
    assert!(Station::new(65_537, Discipline::OneQueue).is_err());
    let service = exact(1e6, 1.0);
    for bad in [0.0, 0.49, 1.0, f64::NAN] {
        let result = station(2, Discipline::OneQueue).quantile_at_load(bad, 0.5, &service);
        assert!(matches!(result, Err(Error::Rejected { .. })), "{bad}");
    }
}

fn discipline() -> impl Strategy<Value = Discipline> {
    prop::sample::select(DISCIPLINES.to_vec())
}

proptest! {
    /// A longer service time, a higher load or more variation never shortens the response time.
    #[test]
    fn response_times_rise(
        cores in 1..200_u32,
        discipline in discipline(),
        loads in (0.0..0.99_f64, 0.0..0.99_f64),
        scvs in (0.0..20.0_f64, 0.0..20.0_f64),
    ) {
        let station = station(cores, discipline);
        let (low, high) = (loads.0.min(loads.1), loads.0.max(loads.1));
        let (steady, varied) = (scvs.0.min(scvs.1), scvs.0.max(scvs.1));
        let at = |load, scv| mean_response(station, load, &exact(1e6, scv));
        let rounding = 1.0 + 1e-12;
        prop_assert!(at(low, steady) <= at(high, steady) * rounding);
        prop_assert!(at(low, steady) <= at(low, varied) * rounding);
        prop_assert!(at(low, steady) >= 1e6);
    }

    /// With more cores at the same load, the wait in one queue becomes shorter. It is never longer
    /// than with a queue per core.
    #[test]
    fn sharing_a_queue_helps(cores in 1..200_u32, load in 0.0..0.99_f64, scv in 0.0..20.0_f64) {
        let service = exact(1e6, scv);
        let response =
            |cores, discipline| mean_response(station(cores, discipline), load, &service);
        let one = response(cores, Discipline::OneQueue);
        prop_assert!(response(cores + 1, Discipline::OneQueue) <= one * (1.0 + 1e-12));
        prop_assert!(one <= response(cores, Discipline::QueuePerCore) * (1.0 + 1e-12));
    }

    /// The interval of the result contains the results of all values within the inputs' intervals.
    #[test]
    fn intervals_hold_what_they_should(
        cores in 1..64_u32,
        discipline in discipline(),
        load in 0.01..0.85_f64,
        scv in 0.0..5.0_f64,
        within in (0.0..=1.0_f64, 0.0..=1.0_f64),
    ) {
        let spread = |x: f64| Estimate::new(x, (0.9 * x, 1.1 * x), 30).unwrap();
        let inside = |x: f64, at: f64| x * (0.9 + 0.2 * at);
        let uncertain = ServiceTime::new(spread(1e6), spread(scv)).unwrap();
        let certain = exact(inside(1e6, within.0), inside(scv, within.1));
        let station = station(cores, discipline);
        let (wide, narrow) =
            (station.at_load(load, &uncertain).unwrap(), station.at_load(load, &certain).unwrap());
        let holds = |wide: Estimate, narrow: Estimate| {
            let ((low, high), x) = (wide.interval(), narrow.point());
            low * (1.0 - 1e-9) <= x && x <= high * (1.0 + 1e-9)
        };
        prop_assert!(holds(wide.waits, narrow.waits));
        prop_assert!(holds(wide.wait_ns, narrow.wait_ns));
        prop_assert!(holds(wide.response_ns, narrow.response_ns));
    }

    /// Quantiles rise with their order and with the load; the mean is below a high quantile.
    #[test]
    fn quantiles_rise(
        cores in 1..64_u32,
        load in 0.0..0.98_f64,
        scv in 0.0..5.0_f64,
        quantile in 0.5..0.99_f64,
    ) {
        let (station, service) = (station(cores, Discipline::OneQueue), exact(1e6, scv));
        let at = |quantile, load| {
            station.quantile_at_load(quantile, load, &service).unwrap().point()
        };
        prop_assert!(at(quantile, load) <= at(quantile + 0.009, load));
        prop_assert!(at(quantile, load) <= at(quantile, load + 0.01) * (1.0 + 1e-9));
        prop_assert!(at(0.999, load) >= mean_response(station, load, &service) * (1.0 - 1e-9));
    }
}
