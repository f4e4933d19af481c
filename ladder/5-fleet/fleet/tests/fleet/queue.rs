//! Response times, loads and bursts.

use proptest::prelude::*;
use tollgate_fleet::Error;
use tollgate_fleet::queue::{ServiceTime, Station};
use tollgate_record::{Estimate, PerSecond};

use crate::exact;

fn station(cores: u32) -> Station {
    Station::new(cores).unwrap()
}

fn mean_response(station: Station, load: f64, service: &ServiceTime) -> f64 {
    station.at_load(load, service).unwrap().response_ns.point()
}

#[test]
fn one_core_has_the_textbook_response_time() {
    // At a load of 0.9 and a service time of 1 ms, the mean response time is 10 ms in M/M/1 and
    // 5.5 ms in M/D/1.
    let at = |scv| station(1).at_load(0.9, &exact(1e6, scv)).unwrap();
    assert!((at(1.0).waits.point() - 0.9).abs() < 1e-12);
    assert!((at(1.0).response_ns.point() - 10e6).abs() < 1e-3);
    assert!((at(0.0).response_ns.point() - 5.5e6).abs() < 1e-3);
}

#[test]
fn the_load_at_which_the_response_doubles() {
    // M/G/1: the mean wait in service times, load (1 + scv) / (2 (1 - load)), is 1 at
    // load = 2 / (3 + scv).
    for scv in [0.0, 0.25, 1.0, 4.0] {
        let load = station(1).load_where(2.0, &exact(1e6, scv)).unwrap().point();
        assert!((load - 2.0 / (3.0 + scv)).abs() < 1e-12, "{scv}: {load}");
    }
    // M/M/2: the mean response in service times, 1 / (1 - load^2), is 2 at load = sqrt(1/2).
    let two = station(2).load_where(2.0, &exact(1e6, 1.0)).unwrap().point();
    assert!((two - 0.5_f64.sqrt()).abs() < 1e-12);
    assert!(station(1).load_where(1.0, &exact(1e6, 0.0)).is_err());
    // An uncertain variation gives an uncertain load.
    let scv = Estimate::new(1.0, (0.0, 4.0), 30).unwrap();
    let service = ServiceTime::new(Estimate::exact(1e6).unwrap(), scv).unwrap();
    let knee = station(1).load_where(2.0, &service).unwrap();
    let (low, high) = knee.interval();
    assert!((low - 2.0 / 7.0).abs() < 1e-12 && (high - 2.0 / 3.0).abs() < 1e-12);
}

#[test]
fn an_overload_has_no_mean() {
    let station = station(4);
    let service = exact(1e6, 1.0);
    let gain = |rate, slow: &ServiceTime| station.gain(PerSecond::new(rate), slow, &service);
    for rate in [4000.0, 4400.0] {
        let result = gain(rate, &service);
        assert_eq!(result, Err(Error::Unstable { utilisation: rate / 4000.0 }), "{rate}");
    }
    assert_eq!(station.at_load(1.0, &service), Err(Error::Unstable { utilisation: 1.0 }));
    // If service times are 1 ms +- 5 %, a rate of 3900/s may be too high.
    let mean = Estimate::new(1e6, (0.95e6, 1.05e6), 30).unwrap();
    let wide = ServiceTime::new(mean, Estimate::exact(1.0).unwrap()).unwrap();
    let result = gain(3900.0, &wide);
    assert!(matches!(result, Err(Error::PerhapsUnstable { utilisation }) if utilisation > 1.0));
    assert!(gain(3700.0, &wide).is_ok());
    for bad in [-1.0, f64::NAN, f64::INFINITY] {
        assert!(gain(bad, &wide).is_err());
        assert!(station.at_load(bad, &wide).is_err());
    }
}

#[test]
fn invalid_stations_and_quantiles_are_refused() {
    assert!(Station::new(0).is_err());
    assert!(Station::new(65_537).is_err());
    let service = exact(1e6, 1.0);
    for bad in [0.0, 0.49, 1.0, f64::NAN] {
        let result = station(2).quantile_at_load(bad, 0.5, &service);
        assert!(matches!(result, Err(Error::Rejected { .. })), "{bad}");
    }
}

/// [ITA00]: at the same arrival rate, a faster engine improves the response time by a larger factor
/// than the capacity.
#[test]
fn a_faster_engine_gains_more_response_time_than_capacity() {
    // At 900 arrivals per second, a service time of 1 ms gives a response time of 10 ms. A service
    // time of 1/1.4 ms gives (1/1.4) / (1 - 0.9/1.4) = 2 ms.
    let (slow, fast) = (exact(1e6, 1.0), exact(1e6 / 1.4, 1.0));
    let rate = PerSecond::new(900.0);
    let gain = station(1).gain(rate, &slow, &fast).unwrap();
    assert!((gain.capacity.point() - 1.4).abs() < 1e-12);
    assert!((gain.response.point() - 5.0).abs() < 1e-9);
    let unstable = station(1).gain(PerSecond::new(1100.0), &slow, &fast);
    assert!(matches!(unstable, Err(Error::Unstable { .. })));
}

proptest! {
    /// A longer service time, a higher load or more variation never shortens the response time.
    #[test]
    fn response_times_rise(
        cores in 1..200_u32,
        loads in (0.0..0.99_f64, 0.0..0.99_f64),
        scvs in (0.0..20.0_f64, 0.0..20.0_f64),
    ) {
        let station = station(cores);
        let (low, high) = (loads.0.min(loads.1), loads.0.max(loads.1));
        let (steady, varied) = (scvs.0.min(scvs.1), scvs.0.max(scvs.1));
        let at = |load, scv| mean_response(station, load, &exact(1e6, scv));
        let rounding = 1.0 + 1e-12;
        prop_assert!(at(low, steady) <= at(high, steady) * rounding);
        prop_assert!(at(low, steady) <= at(low, varied) * rounding);
        prop_assert!(at(low, steady) >= 1e6);
    }

    /// With more cores at the same load, the wait becomes shorter.
    #[test]
    fn sharing_a_queue_helps(cores in 1..200_u32, load in 0.0..0.99_f64, scv in 0.0..20.0_f64) {
        let response = |cores| mean_response(station(cores), load, &exact(1e6, scv));
        let all = response(cores);
        prop_assert!(response(cores + 1) <= all * (1.0 + 1e-12));
        prop_assert!(all <= response(1) * (1.0 + 1e-12));
    }

    #[test]
    fn the_knee_is_where_it_is_said_to_be(
        cores in 1..100_u32,
        times in 1.01..50.0_f64,
        scv in 0.0..10.0_f64,
    ) {
        let (station, service) = (station(cores), exact(1e6, scv));
        let load = station.load_where(times, &service).unwrap().point();
        let reached = mean_response(station, load, &service) / 1e6;
        prop_assert!((reached / times - 1.0).abs() < 1e-6, "{reached} at {load}");
    }

    /// The interval of the result contains the results of all values within the inputs' intervals.
    #[test]
    fn intervals_hold_what_they_should(
        cores in 1..64_u32,
        load in 0.01..0.85_f64,
        scv in 0.0..5.0_f64,
        within in (0.0..=1.0_f64, 0.0..=1.0_f64),
    ) {
        let spread = |x: f64| Estimate::new(x, (0.9 * x, 1.1 * x), 30).unwrap();
        let inside = |x: f64, at: f64| x * (0.9 + 0.2 * at);
        let uncertain = ServiceTime::new(spread(1e6), spread(scv)).unwrap();
        let certain = exact(inside(1e6, within.0), inside(scv, within.1));
        let station = station(cores);
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
        let (station, service) = (station(cores), exact(1e6, scv));
        let at = |quantile, load| {
            station.quantile_at_load(quantile, load, &service).unwrap().point()
        };
        prop_assert!(at(quantile, load) <= at(quantile + 0.009, load));
        prop_assert!(at(quantile, load) <= at(quantile, load + 0.01) * (1.0 + 1e-9));
        prop_assert!(at(0.999, load) >= mean_response(station, load, &service) * (1.0 - 1e-9));
    }
}
