//! Response time against load, from the mean and the variation of the measured service time.
//!
//! Arrivals are Poisson. All cores share one queue, first come, first served (M/G/c); a core serves
//! one session at a time, for its CPU time. Round trips and the client's own work are not included,
//! and the CPU time of a session is treated as one piece. The result is the effect of queueing, not
//! the time that a browser sees.

mod erlang;
pub mod tail;
pub mod wait;

use tollgate_record::{Estimate, PerSecond};

use crate::Error;
use crate::interval::{Slope, hull, propagate};
use crate::session::NS_PER_S;
use erlang::erlang_c;
use tail::Tail;
use wait::mgc;

/// A limit above every machine's number of cores; it bounds the work of Erlang's recurrence.
const CORES_MAX: u32 = 1 << 16;

/// The mean service time of a session, and its variation.
///
/// This estimate is a mean, but most estimates of this project are medians. A queue depends on the
/// sum of the work, and so on the mean. The CPU time of a run divided by its sessions is a mean.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct ServiceTime {
    mean_ns: Estimate,
    scv: Estimate,
}

impl ServiceTime {
    /// A service time of mean `mean_ns` nanoseconds and squared coefficient of variation `scv`
    /// (variance over squared mean: 0 for a constant, 1 for an exponential distribution).
    ///
    /// # Errors
    ///
    /// The mean is not above 0, or `scv` is below 0, at the point or within the interval.
    pub fn new(mean_ns: Estimate, scv: Estimate) -> Result<Self, Error> {
        Error::positive("mean service time in ns", mean_ns.interval().0)?;
        Error::not_negative("squared coefficient of variation", scv.interval().0)?;
        Ok(Self { mean_ns, scv })
    }

    /// Mean in nanoseconds.
    #[must_use]
    pub const fn mean_ns(&self) -> Estimate {
        self.mean_ns
    }

    /// Squared coefficient of variation.
    #[must_use]
    pub const fn scv(&self) -> Estimate {
        self.scv
    }
}

/// Cores that serve sessions from one queue.
///
/// ```
/// use tollgate_fleet::queue::{ServiceTime, Station};
/// use tollgate_record::Estimate;
///
/// // 1 ms, exponential.
/// let service = ServiceTime::new(Estimate::exact(1e6)?, Estimate::exact(1.0)?)?;
/// let response = Station::new(2)?.at_load(0.5, &service)?;
/// assert!((response.waits.point() - 1.0 / 3.0).abs() < 1e-12); // Erlang C
/// assert!((response.response_ns.point() - 4e6 / 3.0).abs() < 1e-3);
/// # Ok::<(), tollgate_fleet::Error>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Station {
    cores: u32,
}

/// The waits and response times at a station.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Response {
    /// Share of the sessions that find no free core.
    pub waits: Estimate,
    /// Mean time that a session waits, including those that do not wait.
    pub wait_ns: Estimate,
    /// Mean time from arrival to completion: wait and service.
    pub response_ns: Estimate,
}

/// The gain of a faster engine at the same arrival rate.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Gain {
    /// The ratio of capacities: the first engine's mean service time divided by the second's.
    pub capacity: Estimate,
    /// The first engine's mean response time divided by the second's. This ratio is larger than
    /// `capacity`, because the faster engine also shortens the queue, as \[ITA00\] argues.
    pub response: Estimate,
}

impl Station {
    /// `cores` cores.
    ///
    /// # Errors
    ///
    /// No core, or more than 65 536.
    pub fn new(cores: u32) -> Result<Self, Error> {
        if cores == 0 || cores > CORES_MAX {
            let must = "be within 1 and 65536";
            return Err(Error::Rejected { what: "cores", value: f64::from(cores), must });
        }
        Ok(Self { cores })
    }

    /// Waits and response times if each core is busy for exactly a share `load`.
    ///
    /// # Errors
    ///
    /// A load below 0; [`Error::Unstable`] for one of 1 or more.
    pub fn at_load(&self, load: f64, service: &ServiceTime) -> Result<Response, Error> {
        let load = stable(Error::not_negative("load", load)?)?;
        let mean = (service.mean_ns, Slope::Rising);
        let both = [mean, (service.scv, Slope::Rising)];
        Ok(Response {
            waits: propagate([mean], |_| Ok(erlang_c(self.cores, load)))?,
            wait_ns: propagate(both, |[mean, scv]| Ok(mean * mgc(self.cores, load, scv)))?,
            response_ns: propagate(both, |[mean, scv]| {
                Ok(mean * (1.0 + mgc(self.cores, load, scv)))
            })?,
        })
    }

    /// The `quantile` of the response time in nanoseconds if each core is busy for exactly a share
    /// `load`. It is an approximation; see [`tail`]. Its interval contains the values at the ends
    /// of the two inputs' intervals.
    ///
    /// # Errors
    ///
    /// The errors of [`Self::at_load`]; a quantile outside 0.5 to 0.9999, which would depend mostly
    /// on the assumed distributions.
    pub fn quantile_at_load(
        &self,
        quantile: f64,
        load: f64,
        service: &ServiceTime,
    ) -> Result<Estimate, Error> {
        let load = stable(Error::not_negative("load", load)?)?;
        if !(0.5..=0.9999).contains(&quantile) {
            let must = "be within 0.5 and 0.9999";
            return Err(Error::Rejected { what: "the quantile", value: quantile, must });
        }
        // The quantile increases with the mean, but not always with the variation: a longer tail
        // lowers the median.
        let with = |scv: f64| {
            let tail = Tail::new(erlang_c(self.cores, load), mgc(self.cores, load, scv), scv);
            let times = tail.quantile(quantile);
            propagate([(service.mean_ns, Slope::Rising)], |[mean]| Ok(mean * times))
        };
        let (low, high) = service.scv.interval();
        let (at_low, at_high) = (with(low)?.interval(), with(high)?.interval());
        hull(with(service.scv.point())?, &[at_low.0, at_low.1, at_high.0, at_high.1])
    }

    /// The utilisation at which the mean response time is `times` (above 1) the mean service time.
    /// If `times` is 2, this is the load at which the response time has doubled.
    ///
    /// # Errors
    ///
    /// `times` is not above 1.
    pub fn load_where(&self, times: f64, service: &ServiceTime) -> Result<Estimate, Error> {
        let wait = Error::positive("how many times the service time, less 1,", times - 1.0)?;
        propagate([(service.scv, Slope::Falling)], |[scv]| {
            let (mut low, mut high) = (0.0, 1.0);
            // Bisection: the wait rises with the load without limit.
            for _ in 0..60 {
                let middle = f64::midpoint(low, high);
                if middle < 1.0 && mgc(self.cores, middle, scv) < wait {
                    low = middle;
                } else {
                    high = middle;
                }
            }
            Ok(low)
        })
    }

    /// The gain if `second` replaces `first` at the same arrival rate `rate` for the whole station.
    ///
    /// # Errors
    ///
    /// A rate below 0; [`Error::Unstable`] if more sessions arrive than the cores can serve;
    /// [`Error::PerhapsUnstable`] if the station is overloaded only at an end of a service time's
    /// interval.
    pub fn gain(
        &self,
        rate: PerSecond,
        first: &ServiceTime,
        second: &ServiceTime,
    ) -> Result<Gain, Error> {
        let rate = Error::not_negative("the arrival rate per second", rate.get())?;
        let load_per_ns = rate / f64::from(self.cores) / NS_PER_S;
        let means = [(first.mean_ns, Slope::Rising), (second.mean_ns, Slope::Falling)];
        let [one, two] = means;
        let all = [one, (first.scv, Slope::Rising), two, (second.scv, Slope::Falling)];
        let response = |mean: f64, scv: f64| -> Result<f64, Error> {
            Ok(mean * (1.0 + mgc(self.cores, stable(load_per_ns * mean)?, scv)))
        };
        Ok(Gain {
            capacity: propagate(means, |[first, second]| Ok(first / second))?,
            response: propagate(all, |[mean_1, scv_1, mean_2, scv_2]| {
                Ok(response(mean_1, scv_1)? / response(mean_2, scv_2)?)
            })?,
        })
    }

    /// The number of cores.
    #[must_use]
    pub const fn cores(&self) -> u32 {
        self.cores
    }
}

/// Returns `load` if it is below 1.
fn stable(load: f64) -> Result<f64, Error> {
    if load < 1.0 { Ok(load) } else { Err(Error::Unstable { utilisation: load }) }
}
