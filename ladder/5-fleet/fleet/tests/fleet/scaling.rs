//! Scaling laws: fits and evaluation.

use proptest::prelude::*;
use tollgate_fleet::Error;
use tollgate_fleet::scaling::{Fit, Law, Point, fit};
use tollgate_record::{Estimate, PerSecond};

fn law(per_core: f64, contention: f64, coherency: f64) -> Law {
    Law::new(PerSecond::new(per_core), contention, coherency).unwrap()
}

/// Returns the law's rates at `cores`, each multiplied by an error from `off`, with an interval of
/// plus and minus `width` times the rate.
fn points(law: Law, cores: &[u32], width: f64, mut off: impl FnMut() -> f64) -> Vec<Point> {
    let at = |&cores: &u32| {
        let rate = law.rate(cores).get() * off();
        let ends = (rate * (1.0 - width), rate * (1.0 + width));
        Point { cores, per_s: Estimate::new(rate, ends, 10).unwrap() }
    };
    cores.iter().map(at).collect()
}

fn exactly(law: Law, cores: &[u32]) -> Fit {
    fit(&points(law, cores, 0.0, || 1.0)).unwrap()
}

#[test]
fn fewer_than_three_numbers_of_cores_are_refused() {
    let law = law(1000.0, 0.02, 0.0);
    for cores in [&[][..], &[1], &[1, 36], &[1, 36, 36, 1]] {
        let distinct = cores.len().min(2);
        let result = fit(&points(law, cores, 0.0, || 1.0));
        assert_eq!(result, Err(Error::TooFewPoints { distinct }), "{cores:?}");
    }
    assert!(fit(&points(law, &[0, 1, 2], 0.0, || 1.0)).is_err());
}

/// The law cannot describe rates above linear scaling: the parameter stays 0, and the residual
/// shows the difference.
#[test]
fn a_rate_above_linear_is_a_residual() {
    let per_s = |rate| Estimate::exact(rate).unwrap();
    let points = [(1, 100.0), (2, 210.0), (4, 450.0), (8, 1000.0)]
        .map(|(cores, rate)| Point { cores, per_s: per_s(rate) });
    let fit = fit(&points).unwrap();
    assert_eq!((fit.law().contention(), fit.law().coherency()), (0.0, 0.0));
    assert!(fit.worst_residual() > 0.05);
}

#[test]
fn noise_widens_extrapolated_intervals() {
    let truth = law(1130.0, 0.015, 4e-5);
    let mut random = fastrand::Rng::with_seed(7);
    for _ in 0..50 {
        let points = points(truth, &[1, 2, 4, 8, 16, 32], 0.01, || 0.99 + 0.02 * random.f64());
        let fit = fit(&points).unwrap();
        let (inside, outside) = (fit.rate(16).unwrap(), fit.rate(64).unwrap());
        let width = |x: Estimate| (x.interval().1 - x.interval().0) / x.point();
        assert!(width(outside) > width(inside));
        assert!(fit.worst_residual() < 0.02);
    }
}

/// Returns a random number of the standard normal distribution (Box and Muller).
fn normal(random: &mut fastrand::Rng) -> f64 {
    let radius = (-2.0 * (1.0 - random.f64()).ln()).sqrt();
    radius * (core::f64::consts::TAU * random.f64()).cos()
}

/// Returns the number of sweeps, out of 1000, whose interval contains the true rate. The rates have
/// errors of 3 % and matching intervals. The four results are for one core, half of the cores, all
/// of them, and twice as many.
fn covered(truth: Law, cores: &[u32]) -> [u32; 4] {
    let last = *cores.last().unwrap();
    let mut random = fastrand::Rng::with_seed(3);
    let mut covered = [0; 4];
    for _ in 0..1000 {
        let points = points(truth, cores, 1.96 * 0.03, || 1.0 + 0.03 * normal(&mut random));
        let fit = fit(&points).unwrap();
        for (covered, n) in covered.iter_mut().zip([1, last / 2, last, 2 * last]) {
            let (low, high) = fit.rate(n).unwrap().interval();
            *covered += u32::from((low..=high).contains(&truth.rate(n).get()));
        }
    }
    covered
}

#[test]
fn the_interval_holds_the_truth_in_95_of_100_sweeps() {
    let all: Vec<u32> = (1..=64).collect();
    for (contention, coherency) in [(0.0, 0.0), (0.02, 0.0), (0.2, 0.0), (0.01, 2e-4), (0.05, 1e-3)]
    {
        let truth = law(2000.0, contention, coherency);
        // The expected count is about 950 with a standard deviation of 7. It is shifted if the fit
        // keeps a parameter from being negative.
        let of_all = covered(truth, &all);
        assert!(of_all.iter().all(|count| (915..985).contains(count)), "{truth:?}: {of_all:?}");
        // With few numbers of cores the intervals are too narrow, most of all for a linear law.
        for few in [&[1, 2, 4, 8, 16, 32, 64][..], &[1, 2, 3, 4]] {
            let of_few = covered(truth, few);
            assert!(of_few.iter().all(|&count| count > 850), "{truth:?}, {few:?}: {of_few:?}");
        }
    }
}

proptest! {
    #[test]
    fn the_law_is_found_again(
        per_core in 1e-3..1e6_f64,
        contention in 0.0..0.5_f64,
        coherency in prop_oneof![Just(0.0), 1e-6..1e-2_f64],
        cores in prop::collection::btree_set(1..512_u32, 3..10),
    ) {
        let truth = law(per_core, contention, coherency);
        let cores: Vec<u32> = cores.into_iter().collect();
        let fit = exactly(truth, &cores);
        prop_assert!(fit.worst_residual() < 1e-7, "{:?}", fit.law());
        for &n in &cores {
            let rate = fit.rate(n).unwrap();
            prop_assert!((rate.point() / truth.rate(n).get() - 1.0).abs() < 1e-7);
        }
    }
}
