//! The cost of a million sessions, and the savings of a faster engine.

use core::fmt;

use tollgate_record::Estimate;

use crate::Error;
use crate::demand::{Demand, Utilisation};
use crate::interval::{Slope, propagate};
use crate::session::{NS_PER_S, SessionCost};

/// The number of sessions that costs refer to.
const MILLION: f64 = 1e6;
pub(crate) const SECONDS_PER_HOUR: f64 = 3600.0;
/// The mean year of the Gregorian calendar, 365.2425 days.
pub(crate) const SECONDS_PER_YEAR: f64 = 365.2425 * 24.0 * SECONDS_PER_HOUR;

/// A currency, named by the three letters of its code in ISO 4217. An example is `USD`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Currency([u8; 3]);

impl Currency {
    /// The United States dollar.
    pub const USD: Self = Self(*b"USD");

    /// Returns the currency with this code of three capital letters. The function does not check
    /// that the currency exists.
    #[must_use]
    pub fn new(code: &str) -> Option<Self> {
        let letters: [u8; 3] = code.as_bytes().try_into().ok()?;
        letters.iter().all(u8::is_ascii_uppercase).then_some(Self(letters))
    }
}

impl fmt::Display for Currency {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(core::str::from_utf8(&self.0).expect("three ASCII letters"))
    }
}

/// The price of a rented core, which is paid whether the core is used or not.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Price {
    per_core_hour: f64,
    currency: Currency,
}

impl Price {
    /// Creates a price for one core and one hour.
    ///
    /// # Errors
    ///
    /// The price is not above 0.
    pub fn per_core_hour(amount: f64, currency: Currency) -> Result<Self, Error> {
        let per_core_hour = Error::positive("the price of a core-hour", amount)?;
        Ok(Self { per_core_hour, currency })
    }

    /// Returns the amount per core and hour.
    #[must_use]
    pub const fn amount(&self) -> f64 {
        self.per_core_hour
    }

    /// Returns the currency.
    #[must_use]
    pub const fn currency(&self) -> Currency {
        self.currency
    }
}

/// Electrical power. An unknown power does not count as 0.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub enum Power {
    /// Not measured, because virtual machines seldom report it.
    #[default]
    Unknown,
    /// Watts of one busy core, including its share of the machine.
    WattsPerCore(Estimate),
}

/// Energy of a million sessions.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Energy {
    /// Unknown, because the power is unknown.
    Unknown,
    /// In joules.
    Joules(Estimate),
}

/// The cost of a million sessions.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Cost {
    /// Core-hours, including head room.
    pub core_hours: Estimate,
    /// The amount, in the price's currency.
    pub amount: Estimate,
    /// The price that `amount` was computed with.
    pub price: Price,
    /// Electrical energy of the busy time. Head room is not included, because the power of idle
    /// cores is unknown.
    pub energy: Energy,
}

/// Computes the cost of a million sessions. Each core is paid by the hour and is busy for the
/// share `utilisation` of the time.
///
/// ```
/// use tollgate_fleet::{Currency, Power, Price, SessionCost, Utilisation, cost_of_million};
/// use tollgate_record::Estimate;
///
/// let session = SessionCost::new(Estimate::exact(504e3)?, 14_336)?; // 504 µs
/// let price = Price::per_core_hour(0.05, Currency::USD)?;
/// let cost = cost_of_million(&session, Utilisation::DEFAULT, price, Power::Unknown)?;
/// assert!((cost.core_hours.point() - 0.2).abs() < 1e-12); // 504 s / 0.7 = 720 s
/// assert!((cost.amount.point() - 0.01).abs() < 1e-12);
/// # Ok::<(), tollgate_fleet::Error>(())
/// ```
///
/// # Errors
///
/// A known power that is not above 0; a result that is not finite.
pub fn cost_of_million(
    session: &SessionCost,
    utilisation: Utilisation,
    price: Price,
    power: Power,
) -> Result<Cost, Error> {
    let core_hours = busy_s(session)?.scaled(1.0 / utilisation.get() / SECONDS_PER_HOUR)?;
    let amount = core_hours.scaled(price.per_core_hour)?;
    Ok(Cost { core_hours, amount, price, energy: energy_of_million(session, power)? })
}

/// Computes the energy of the busy time of a million sessions.
///
/// # Errors
///
/// A known power that is not above 0; a result that is not finite.
pub fn energy_of_million(session: &SessionCost, power: Power) -> Result<Energy, Error> {
    let Power::WattsPerCore(watts) = power else { return Ok(Energy::Unknown) };
    Error::positive("power in watts per core", watts.interval().0)?;
    let inputs = [(busy_s(session)?, Slope::Rising), (watts, Slope::Rising)];
    Ok(Energy::Joules(propagate(inputs, |[s, w]| Ok(s * w))?))
}

/// Returns the CPU seconds of a million sessions.
fn busy_s(session: &SessionCost) -> Result<Estimate, Error> {
    Ok(session.cpu_ns().scaled(MILLION / NS_PER_S)?)
}

/// The savings if the second of two engines replaces the first. They are negative if the second
/// engine costs more.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Saving {
    /// The saved share of the first engine's CPU time; at most 1.
    pub share: Estimate,
    /// The amount saved per million sessions, in the price's currency.
    pub amount_per_million: Estimate,
    /// The amount saved in a mean year (365.2425 days) of the demand, in the price's currency.
    pub amount_per_year: Estimate,
    /// The number of cores saved, not rounded.
    pub cores: Estimate,
}

/// How two engines were compared.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Compared {
    /// The engines were measured separately. The interval of the result is the widest that the two
    /// intervals allow.
    Apart,
    /// The engines were measured in pairs within one run. The result is more accurate, because
    /// common disturbances cancel.
    Paired {
        /// The first engine's CPU time divided by the second's, above 0.
        times_as_fast: Estimate,
    },
}

/// Computes the savings of `second` against `first` at `demand`.
///
/// # Errors
///
/// Different payloads; a ratio that is not above 0; an invalid demand, see [`Demand::sessions`]; a
/// result that is not finite.
pub fn saving(
    first: &SessionCost,
    second: &SessionCost,
    compared: Compared,
    demand: Demand,
    utilisation: Utilisation,
    price: Price,
) -> Result<Saving, Error> {
    if first.bytes() != second.bytes() {
        return Err(Error::NotComparable { what: "payload per session" });
    }
    let rate = demand.sessions(first.bytes())?.get();
    let (share, saved_ns) = match compared {
        Compared::Apart => {
            let inputs = [(first.cpu_ns(), Slope::Rising), (second.cpu_ns(), Slope::Falling)];
            (
                propagate(inputs, |[first, second]| Ok(1.0 - second / first))?,
                propagate(inputs, |[first, second]| Ok(first - second))?,
            )
        }
        Compared::Paired { times_as_fast } => {
            Error::positive("the ratio of the two engines", times_as_fast.interval().0)?;
            let share =
                propagate([(times_as_fast, Slope::Rising)], |[ratio]| Ok(1.0 - 1.0 / ratio))?;
            // If the share is negative, the product of share and time decreases as the time
            // increases.
            let (low, high) = first.cpu_ns().interval();
            let ends = [low, high].map(|ns| [share.interval().0 * ns, share.interval().1 * ns]);
            let product = share.scaled(first.cpu_ns().point())?;
            (share, crate::interval::hull(product, ends.as_flattened())?)
        }
    };
    let busy = saved_ns.scaled(1.0 / NS_PER_S / utilisation.get())?;
    let per_session = busy.scaled(price.per_core_hour / SECONDS_PER_HOUR)?;
    Ok(Saving {
        share,
        amount_per_million: per_session.scaled(MILLION)?,
        amount_per_year: per_session.scaled(rate * SECONDS_PER_YEAR)?,
        cores: busy.scaled(rate)?,
    })
}
