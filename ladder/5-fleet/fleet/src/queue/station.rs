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
}

/// Cores that serve sessions.
///
/// ```
/// use tollgate_fleet::queue::{Discipline, ServiceTime, Station};
/// use tollgate_record::Estimate;
///
/// // 1 ms, exponential.
/// let service = ServiceTime::new(Estimate::exact(1e6)?, Estimate::exact(1.0)?)?;
/// let station = Station::new(2, Discipline::OneQueue)?;
/// let response = station.at_load(0.5, &service)?;
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
    /// Share of the sessions that find no free core.
    pub waits: Estimate,
    /// Mean time that a session waits, including those that do not wait.
    pub wait_ns: Estimate,
    /// Mean time from arrival to completion: wait and service.
    pub response_ns: Estimate,
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

    /// Returns the waits and response times if each core is busy for exactly a share `load`. Use
    /// this function for a plot with the load on its horizontal axis.
    ///
    /// # Errors
    ///
    /// A load below 0; [`Error::Unstable`] for one of 1 or more.
    pub fn at_load(&self, load: f64, service: &ServiceTime) -> Result<Response, Error> {
        let load = stable(Error::not_negative("load", load)?)?;
        let inputs = [(service.mean_ns(), Slope::Rising), (service.scv(), Slope::Rising)];
        Ok(Response {
            waits: Estimate::exact(self.waiting(load))?,
            wait_ns: propagate(inputs, |[mean, scv]| Ok(mean * self.wait(load, scv)))?,
            response_ns: propagate(inputs, |[mean, scv]| Ok(mean * (1.0 + self.wait(load, scv))))?,
        })
    }

    /// Returns the `quantile` of the response time in nanoseconds at an arrival rate `rate` for the
    /// whole station. It is an approximation; see [`super::tail`]. Its interval contains the values
    /// at the ends of the two inputs' intervals.
    ///
    /// # Errors
    ///
    /// A rate below 0; [`Error::Unstable`] if more sessions arrive than the cores can serve;
    /// [`Error::PerhapsUnstable`] if the station is overloaded only at an end of the service time's
    /// interval; a quantile outside 0.5 to 0.9999, which would depend mostly on the assumed
    /// distributions.
    pub fn quantile_at_rate(
        &self,
        quantile: f64,
        rate: PerSecond,
        service: &ServiceTime,
    ) -> Result<Estimate, Error> {
        let rate = Error::not_negative("the arrival rate per second", rate.get())?;
        let load = rate / f64::from(self.cores) / NS_PER_S;
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
        // The quantile increases with the mean, but not always with the variation: a longer tail
        // lowers the median.
        let with = |scv: f64| {
            propagate([(service.mean_ns(), Slope::Rising)], |[mean]| {
                let load = load_of(mean)?;
                let tail = Tail::new(self.waiting(load), self.wait(load, scv), scv);
                Ok(mean * tail.quantile(quantile))
            })
        };
        let (low, high) = service.scv().interval();
        let (at_low, at_high) = (with(low)?.interval(), with(high)?.interval());
        hull(with(service.scv().point())?, &[at_low.0, at_low.1, at_high.0, at_high.1])
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

    /// Returns the probability of waiting.
    fn waiting(&self, load: f64) -> f64 {
        match self.discipline {
            Discipline::OneQueue => erlang_c(self.cores, load),
            Discipline::QueuePerCore => load,
        }
    }

    /// Returns the mean wait divided by mean service time.
    fn wait(&self, load: f64, scv: f64) -> f64 {
        match self.discipline {
            Discipline::OneQueue => wait::mgc(self.cores, load, scv),
            Discipline::QueuePerCore => wait::pollaczek_khinchine(load, scv),
        }
    }
}

/// Returns `load` if it is below 1.
fn stable(load: f64) -> Result<f64, Error> {
    if load < 1.0 { Ok(load) } else { Err(Error::Unstable { utilisation: load }) }
}
