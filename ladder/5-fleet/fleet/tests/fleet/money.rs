//! Cost and saving.

use tollgate_fleet::{
    Compared, Currency, Demand, Energy, Error, Power, Price, SessionCost, Utilisation,
    cost_of_million, saving,
};
use tollgate_record::{Estimate, PerSecond};

fn session(point: f64, low: f64, high: f64) -> SessionCost {
    SessionCost::new(Estimate::new(point, (low, high), 20).unwrap(), 14_336).unwrap()
}

fn price() -> Price {
    crate::price(0.036) // 10 µUSD per core-second
}

fn close(x: f64, y: f64) -> bool {
    (x - y).abs() <= 1e-12 * y.abs()
}

#[test]
fn energy_is_unknown_without_power() {
    let session = session(400e3, 390e3, 420e3);
    let cost = |power| cost_of_million(&session, Utilisation::DEFAULT, price(), power).unwrap();
    assert_eq!(cost(Power::Unknown).energy, Energy::Unknown);
    let watts = Estimate::new(5.0, (4.0, 6.0), 3).unwrap();
    let Energy::Joules(joules) = cost(Power::WattsPerCore(watts)).energy else { panic!("known") };
    assert!(close(joules.point(), 2000.0)); // 400 s at 5 W
    assert!(close(joules.interval().0, 390.0 * 4.0) && close(joules.interval().1, 420.0 * 6.0));
    let none = Power::WattsPerCore(Estimate::exact(0.0).unwrap());
    assert!(cost_of_million(&session, Utilisation::DEFAULT, price(), none).is_err());
}

#[test]
fn a_faster_engine_saves_what_it_does_not_use() {
    let (first, second) = (session(500e3, 490e3, 510e3), session(400e3, 380e3, 420e3));
    let rate = Demand::Sessions(PerSecond::new(1000.0));
    let half = Utilisation::new(0.5).unwrap();
    let apart = saving(&first, &second, Compared::Apart, rate, half, price()).unwrap();
    assert!(close(apart.share.point(), 0.2));
    assert!(close(apart.share.interval().0, 1.0 - 420.0 / 490.0));
    assert!(close(apart.share.interval().1, 1.0 - 380.0 / 510.0));
    assert!(close(apart.cores.point(), 0.2)); // 1000/s x 100 µs / 0.5
    assert!(close(apart.amount_per_million.point(), 0.002)); // 100 s / 0.5 x 10 µUSD/s
    // A year costs 31 556 952 s x 0.2 cores x 10 µUSD.
    assert!(close(apart.amount_per_year.point(), 63.113_904));

    let ratio = Estimate::new(1.25, (1.24, 1.26), 51).unwrap();
    let paired = Compared::Paired { times_as_fast: ratio };
    let paired = saving(&first, &second, paired, rate, half, price()).unwrap();
    assert!(close(paired.share.point(), 0.2));
    let width = |x: Estimate| x.interval().1 - x.interval().0;
    assert!(width(paired.share) < width(apart.share) / 4.0);
    assert!(width(paired.amount_per_year) < width(apart.amount_per_year));
}

#[test]
fn the_savings_of_a_slower_engine_are_negative() {
    let (first, second) = (session(400e3, 390e3, 410e3), session(500e3, 490e3, 510e3));
    let rate = Demand::Sessions(PerSecond::new(1000.0));
    let ratio = Estimate::new(0.8, (0.79, 0.81), 51).unwrap();
    for compared in [Compared::Apart, Compared::Paired { times_as_fast: ratio }] {
        let saving =
            saving(&first, &second, compared, rate, Utilisation::DEFAULT, price()).unwrap();
        for figure in [saving.share, saving.cores, saving.amount_per_year] {
            let (low, high) = figure.interval();
            assert!(low < figure.point() && figure.point() < high && high < 0.0, "{figure:?}");
        }
    }
}

#[test]
fn different_payloads_are_not_compared() {
    let first = session(400e3, 390e3, 410e3);
    let other = SessionCost::new(first.cpu_ns(), 0).unwrap();
    let rate = Demand::Sessions(PerSecond::new(1000.0));
    let result = saving(&first, &other, Compared::Apart, rate, Utilisation::DEFAULT, price());
    assert_eq!(result, Err(Error::NotComparable { what: "payload per session" }));
    assert!(Price::per_core_hour(0.0, Currency::USD).is_err());
}

#[test]
fn a_currency_is_three_capital_letters() {
    assert_eq!(Currency::new("USD"), Some(Currency::USD));
    assert_eq!(Currency::new("CHF").unwrap().to_string(), "CHF");
    for bad in ["", "usd", "US", "USDT", "U$D", "ÄB"] {
        assert_eq!(Currency::new(bad), None, "{bad}");
    }
}
