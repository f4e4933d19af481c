//! Cores with a queue.

use tollgate_record::{Estimate, PerSecond};

use super::erlang::erlang_c;
use super::service_time::ServiceTime;
use super::tail::Tail;
use super::wait;
use crate::Error;
use crate::interval::{Slope, hull, propagate};
use crate::session::NS_PER_S;

/// A limit above every machine's number of cores; it bounds the work of Erlang's recurrence.
const CORES_MAX: u32 = 1 << 16;

/// The queue discipline.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Discipline {
    /// One queue for all cores, first come, first served: M/G/c.
    OneQueue,
    /// A queue for each core. Each session joins a random queue, as with one listening socket per
    /// thread. Each core is an M/G/1 queue, and its formula is exact.
    QueuePerCore,
    /// Each session goes to a random core. The sessions of a core take turns in small time slices:
    /// M/G/1 with processor sharing. The mean is exact and does not depend on the variation.
    Sharing,
}

/// Cores that serve sessions.
///
/// ```
/// use tollgate_fleet::queue::{Discipline, ServiceTime, Station};
/// use tollgate_record::{Estimate, PerSecond};
///
/// // 1 ms, exponential.
/// let service = ServiceTime::new(Estimate::exact(1e6)?, Estimate::exact(1.0)?)?;
/// let station = Station::new(2, Discipline::OneQueue)?;
/// let response = station.at_rate(PerSecond::new(1000.0), &service)?;
/// assert_eq!(response.utilisation.point(), 0.5);
/// assert!((response.waits.point() - 1.0 / 3.0).abs() < 1e-12); // Erlang C
/// assert!((response.response_ns.point() - 4e6 / 3.0).abs() < 1e-3);
/// # Ok::<(), tollgate_fleet::Error>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Station {
    cores: u32,
    discipline: Discipline,
}

/// The waits and response times at a station.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Response {
    /// Busy share of a core's time.
    pub utilisation: Estimate,
    /// Share of the sessions that find no free core. With processor sharing, the share that find
    /// their own core busy.
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
    /// Creates a station of `cores` cores with a queue discipline.
    ///
    /// # Errors
    ///
    /// No core, or more than 65 536.
    pub fn new(cores: u32, discipline: Discipline) -> Result<Self, Error> {
        if cores == 0 || cores > CORES_MAX {
            let must = "be within 1 and 65536";
            return Err(Error::Rejected { what: "cores", value: f64::from(cores), must });
        }
        Ok(Self { cores, discipline })
    }

    /// Returns the waits and response times at an arrival rate `rate` for the whole station.
    ///
    /// # Errors
    ///
    /// A rate below 0; [`Error::Unstable`] if more sessions arrive than the cores can serve;
    /// [`Error::PerhapsUnstable`] if the station is overloaded only at an end of the service time's
    /// interval.
    pub fn at_rate(&self, rate: PerSecond, service: &ServiceTime) -> Result<Response, Error> {
        let load = self.load_per_ns(rate)?;
        self.response(service, |mean| stable(load * mean))
    }

    /// Returns the waits and response times if each core is busy for exactly a share `load`. Use
    /// this function for a plot with the load on its horizontal axis.
    ///
    /// # Errors
    ///
    /// A load below 0; [`Error::Unstable`] for one of 1 or more.
    pub fn at_load(&self, load: f64, service: &ServiceTime) -> Result<Response, Error> {
        let load = stable(Error::not_negative("load", load)?)?;
        self.response(service, |_| Ok(load))
    }

    fn response(
        &self,
        service: &ServiceTime,
        load_of: impl Fn(f64) -> Result<f64, Error>,
    ) -> Result<Response, Error> {
        let mean = (service.mean_ns(), Slope::Rising);
        let both = [mean, (service.scv(), Slope::Rising)];
        Ok(Response {
            utilisation: propagate([mean], |[mean]| load_of(mean))?,
            waits: propagate([mean], |[mean]| Ok(self.waiting(load_of(mean)?)))?,
            wait_ns: propagate(both, |[mean, scv]| Ok(mean * self.wait(load_of(mean)?, scv)))?,
            response_ns: propagate(both, |[mean, scv]| {
                Ok(mean * (1.0 + self.wait(load_of(mean)?, scv)))
            })?,
        })
    }

    /// Returns the `quantile` of the response time in nanoseconds at an arrival rate `rate` for the
    /// whole station. It is an approximation; see [`super::tail`]. Its interval contains the values
    /// at the ends of the two inputs' intervals.
    ///
    /// # Errors
    ///
    /// The errors of [`Self::at_rate`]; a quantile outside 0.5 to 0.9999, which would depend mostly
    /// on the assumed distributions; [`Error::NoQuantile`] for [`Discipline::Sharing`].
    pub fn quantile_at_rate(
        &self,
        quantile: f64,
        rate: PerSecond,
        service: &ServiceTime,
    ) -> Result<Estimate, Error> {
        let load = self.load_per_ns(rate)?;
        self.quantile(quantile, service, |mean| stable(load * mean))
    }

    /// Returns the same quantile if each core is busy for exactly a share `load`.
    ///
    /// # Errors
    ///
    /// The errors of [`Self::at_load`] and [`Self::quantile_at_rate`].
    pub fn quantile_at_load(
        &self,
        quantile: f64,
        load: f64,
        service: &ServiceTime,
    ) -> Result<Estimate, Error> {
        let load = stable(Error::not_negative("load", load)?)?;
        self.quantile(quantile, service, |_| Ok(load))
    }

    fn quantile(
        &self,
        quantile: f64,
        service: &ServiceTime,
        load_of: impl Fn(f64) -> Result<f64, Error>,
    ) -> Result<Estimate, Error> {
        if !(0.5..=0.9999).contains(&quantile) {
            let must = "be within 0.5 and 0.9999";
            return Err(Error::Rejected { what: "the quantile", value: quantile, must });
        }
        if self.discipline == Discipline::Sharing {
            return Err(Error::NoQuantile);
        }
        // The quantile increases with the mean, but not always with the variation: a longer tail
        // lowers the median.
        let with = |scv: f64| {
            propagate([(service.mean_ns(), Slope::Rising)], |[mean]| {
                let load = load_of(mean)?;
                let kinds = service.kinds(scv);
                let tail = Tail::new(self.waiting(load), self.wait(load, scv), &kinds);
                Ok(mean * tail.quantile(quantile))
            })
        };
        let (low, high) = service.scv().interval();
        let (at_low, at_high) = (with(low)?.interval(), with(high)?.interval());
        hull(with(service.scv().point())?, &[at_low.0, at_low.1, at_high.0, at_high.1])
    }

    /// Returns the utilisation at which the mean response time is `times` times the mean service
    /// time. `times` is above 1. If it is 2, this is the load at which the response time has
    /// doubled.
    ///
    /// # Errors
    ///
    /// `times` is not above 1.
    pub fn load_where(&self, times: f64, service: &ServiceTime) -> Result<Estimate, Error> {
        let wait = Error::positive("how many times the service time, less 1,", times - 1.0)?;
        propagate([(service.scv(), Slope::Falling)], |[scv]| {
            let (mut low, mut high) = (0.0, 1.0);
            // Bisection: the wait rises with the load without limit.
            for _ in 0..60 {
                let middle = f64::midpoint(low, high);
                if middle < 1.0 && self.wait(middle, scv) < wait {
                    low = middle;
                } else {
                    high = middle;
                }
            }
            Ok(low)
        })
    }

    /// Returns the gain if `second` replaces `first` at the same arrival rate.
    ///
    /// # Errors
    ///
    /// The errors of [`Self::at_rate`], for either service time.
    pub fn gain(
        &self,
        rate: PerSecond,
        first: &ServiceTime,
        second: &ServiceTime,
    ) -> Result<Gain, Error> {
        let load = self.load_per_ns(rate)?;
        let means = [(first.mean_ns(), Slope::Rising), (second.mean_ns(), Slope::Falling)];
        let [one, two] = means;
        let all = [one, (first.scv(), Slope::Rising), two, (second.scv(), Slope::Falling)];
        let response = |mean: f64, scv: f64| -> Result<f64, Error> {
            Ok(mean * (1.0 + self.wait(stable(load * mean)?, scv)))
        };
        Ok(Gain {
            capacity: propagate(means, |[first, second]| Ok(first / second))?,
            response: propagate(all, |[mean_1, scv_1, mean_2, scv_2]| {
                Ok(response(mean_1, scv_1)? / response(mean_2, scv_2)?)
            })?,
        })
    }

    /// Returns the number of cores.
    #[must_use]
    pub const fn cores(&self) -> u32 {
        self.cores
    }

    /// Returns the queue discipline.
    #[must_use]
    pub const fn discipline(&self) -> Discipline {
        self.discipline
    }

    /// Returns the utilisation per nanosecond of service time.
    fn load_per_ns(&self, rate: PerSecond) -> Result<f64, Error> {
        let rate = Error::not_negative("the arrival rate per second", rate.get())?;
        Ok(rate / f64::from(self.cores) / NS_PER_S)
    }

    /// Returns the probability of waiting.
    fn waiting(&self, load: f64) -> f64 {
        match self.discipline {
            Discipline::OneQueue => erlang_c(self.cores, load),
            Discipline::QueuePerCore | Discipline::Sharing => load,
        }
    }

    /// Returns the mean wait divided by mean service time.
    fn wait(&self, load: f64, scv: f64) -> f64 {
        match self.discipline {
            Discipline::OneQueue => wait::mgc(self.cores, load, scv),
            Discipline::QueuePerCore => wait::pollaczek_khinchine(load, scv),
            Discipline::Sharing => load / (1.0 - load),
        }
    }
}

/// Returns `load` if it is below 1.
fn stable(load: f64) -> Result<f64, Error> {
    if load < 1.0 { Ok(load) } else { Err(Error::Unstable { utilisation: load }) }
}
