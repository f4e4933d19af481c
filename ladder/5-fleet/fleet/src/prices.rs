//! Prices of machines, from a file that its user writes.

use core::ops::Range;

use serde::de::Error as _;
use serde::{Deserialize, Deserializer};
use tollgate_record::{BadFile, Estimate, Subject, vocabulary as word};
use toml::Spanned;
use toml::value::Datetime;

use crate::session::NS_PER_S;
use crate::{Error, SessionCost, Utilisation};

/// The mean year of the Gregorian calendar.
const HOURS_PER_YEAR: f64 = 365.2425 * 24.0;
const SECONDS_PER_HOUR: f64 = 3600.0;
const MILLION: f64 = 1e6;

/// The machines of a price file.
///
/// ```
/// use tollgate_fleet::{Paid, Prices};
///
/// let prices = Prices::from_toml(
///     r#"
///     [[machine]]
///     name = "example-16"
///     cores = 16
///     price_per_hour = 0.64
///     currency = "EUR"
///     date = 2026-11-27
///     source = "made up"
///     "#,
/// )?;
/// assert_eq!(prices.machines[0].paid, Paid::PerHour(0.64));
/// let error = Prices::from_toml("[[machine]]\nname = \"x\"\ncores = 0\n").unwrap_err();
/// assert!(error.to_string().starts_with("price file: line 3: machine.cores: "));
/// # Ok::<(), tollgate_record::BadFile>(())
/// ```
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Prices {
    /// In the order of the file.
    pub machines: Vec<PricedMachine>,
}

/// A machine and its price. Its cores are assumed to be as fast as the measured ones.
#[derive(Clone, Debug, PartialEq)]
pub struct PricedMachine {
    /// A name of letters, digits and `_-.+:`, as in the subjects of records.
    pub name: String,
    /// The number of cores, counted as the operating system counts them.
    pub cores: u32,
    /// The amount and the way to pay.
    pub paid: Paid,
    /// The currency of the amount: the three letters of its code in ISO 4217.
    pub currency: String,
    /// The day on which the price was valid, such as `2026-11-27`.
    pub date: String,
    /// The origin of the price: an address, an offer, an invoice.
    pub source: String,
}

/// The amount for a machine, and the way to pay.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Paid {
    /// Once.
    Once {
        /// The amount.
        amount: f64,
        /// The years of use that the amount is divided by. Without them there is no cost per
        /// session.
        years: Option<f64>,
    },
    /// This amount in each hour.
    PerHour(f64),
}

impl Prices {
    /// Reads a price file.
    ///
    /// # Errors
    ///
    /// [`BadFile`] with the line, if a field is missing, unknown or invalid.
    pub fn from_toml(text: &str) -> Result<Self, BadFile> {
        let at = |span: Option<Range<usize>>, why: &str| BadFile::at("price", text, span, why);
        let file: File = toml::from_str(text).map_err(|error| at(error.span(), error.message()))?;
        let mut machines: Vec<PricedMachine> = Vec::new();
        for entry in file.machine {
            let span = entry.span();
            let machine =
                entry.into_inner().checked().map_err(|why| at(Some(span.clone()), why))?;
            if machines.iter().any(|other| other.name == machine.name) {
                let why = format!("{} has two prices: remove one, or rename it", machine.name);
                return Err(at(Some(span), &why));
            }
            machines.push(machine);
        }
        if machines.is_empty() {
            return Err(at(None, "no machine: write one under the heading [[machine]]"));
        }
        Ok(Self { machines })
    }
}

impl PricedMachine {
    /// Returns the cost of a million sessions if each core is busy for the share `utilisation` of
    /// the time; `None` for a bought machine without years of use.
    ///
    /// # Errors
    ///
    /// The cost is not finite.
    pub fn cost_of_million(
        &self,
        session: &SessionCost,
        utilisation: Utilisation,
    ) -> Result<Option<Estimate>, Error> {
        let per_hour = match self.paid {
            Paid::PerHour(amount) => amount,
            Paid::Once { years: None, .. } => return Ok(None),
            Paid::Once { amount, years: Some(years) } => amount / (years * HOURS_PER_YEAR),
        };
        let per_core_s = per_hour / SECONDS_PER_HOUR / f64::from(self.cores);
        let seconds = session.cpu_ns().scaled(MILLION / NS_PER_S / utilisation.get())?;
        Ok(Some(seconds.scaled(per_core_s)?))
    }

    /// Returns the price of the machine, divided by its sessions per second. If the machine is paid
    /// by the hour, the price is that of a mean year.
    ///
    /// ```
    /// use tollgate_fleet::{Paid, PricedMachine, SessionCost, Utilisation};
    /// use tollgate_record::Estimate;
    ///
    /// // [ETI10]: a blade of 3,999 USD with 12 cores, each with 1,200 sessions per second.
    /// let blade = PricedMachine {
    ///     name: "eti10-blade".to_owned(),
    ///     cores: 12,
    ///     paid: Paid::Once { amount: 3999.0, years: None },
    ///     currency: "USD".to_owned(),
    ///     date: "2010-08-30".to_owned(),
    ///     source: "SIGCOMM 2010".to_owned(),
    /// };
    /// let session = SessionCost::new(Estimate::exact(1e9 / 1200.0)?, 140_000)?;
    /// let price = blade.per_session_per_s(&session, Utilisation::FULL)?;
    /// assert!((price.point() - 0.28).abs() < 0.005);
    /// # Ok::<(), tollgate_fleet::Error>(())
    /// ```
    ///
    /// # Errors
    ///
    /// The quotient is not finite.
    pub fn per_session_per_s(
        &self,
        session: &SessionCost,
        utilisation: Utilisation,
    ) -> Result<Estimate, Error> {
        let amount = match self.paid {
            Paid::Once { amount, .. } => amount,
            Paid::PerHour(amount) => amount * HOURS_PER_YEAR,
        };
        let busy_cores = f64::from(self.cores) * utilisation.get();
        Ok(session.cpu_ns().scaled(amount / busy_cores / NS_PER_S)?)
    }

    /// Returns the price as the file states it: `0.64 EUR an hour`, `3999 USD once`.
    #[must_use]
    pub fn stated(&self) -> String {
        let currency = &self.currency;
        match self.paid {
            Paid::PerHour(amount) => format!("{amount} {currency} an hour"),
            Paid::Once { amount, years: None } => format!("{amount} {currency} once"),
            Paid::Once { amount, years: Some(years) } => {
                format!("{amount} {currency} for {years} years")
            }
        }
    }
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct File {
    #[serde(default)]
    machine: Vec<Spanned<Entry>>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Entry {
    #[serde(deserialize_with = "name")]
    name: String,
    #[serde(deserialize_with = "cores")]
    cores: u32,
    #[serde(default, deserialize_with = "positive")]
    price: Option<f64>,
    #[serde(default, deserialize_with = "positive")]
    price_per_hour: Option<f64>,
    #[serde(default, deserialize_with = "positive")]
    years: Option<f64>,
    #[serde(deserialize_with = "currency")]
    currency: String,
    #[serde(deserialize_with = "date")]
    date: String,
    #[serde(deserialize_with = "source")]
    source: String,
}

impl Entry {
    fn checked(self) -> Result<PricedMachine, &'static str> {
        let paid = match (self.price, self.price_per_hour, self.years) {
            (Some(amount), None, years) => Paid::Once { amount, years },
            (None, Some(amount), None) => Paid::PerHour(amount),
            (None, Some(_), Some(_)) => {
                return Err("years is for a price that is paid once: remove it");
            }
            _ => return Err("give one of price (paid once) and price_per_hour"),
        };
        let Self { name, cores, currency, date, source, .. } = self;
        Ok(PricedMachine { name, cores, paid, currency, date, source })
    }
}

fn name<'de, D: Deserializer<'de>>(from: D) -> Result<String, D::Error> {
    let text = String::deserialize(from)?;
    let bare: Subject = "fleet/session".parse().map_err(D::Error::custom)?;
    let is_value = bare.with(word::PRICED_MACHINE, &text).is_ok() && text.len() <= NAME_MAX_BYTES;
    let why = "give a name of at most 40 letters, digits and _-.+:";
    if is_value { Ok(text) } else { Err(D::Error::custom(why)) }
}

fn cores<'de, D: Deserializer<'de>>(from: D) -> Result<u32, D::Error> {
    let why = "give the number of cores, 1 to 65536";
    let cores = u32::deserialize(from).map_err(|_| D::Error::custom(why))?;
    if (1..=65_536).contains(&cores) { Ok(cores) } else { Err(D::Error::custom(why)) }
}

fn positive<'de, D: Deserializer<'de>>(from: D) -> Result<Option<f64>, D::Error> {
    let number = f64::deserialize(from)?;
    let why = "give a number above 0, at most 10^12";
    let is_fit = number > 0.0 && number <= AMOUNT_MAX;
    if is_fit { Ok(Some(number)) } else { Err(D::Error::custom(why)) }
}

fn currency<'de, D: Deserializer<'de>>(from: D) -> Result<String, D::Error> {
    let code = String::deserialize(from)?;
    let is_code = code.len() == 3 && code.bytes().all(|letter| letter.is_ascii_uppercase());
    let why = "give three capital letters, such as EUR";
    if is_code { Ok(code) } else { Err(D::Error::custom(why)) }
}

fn date<'de, D: Deserializer<'de>>(from: D) -> Result<String, D::Error> {
    let why = "give a day without quotes, such as 2026-11-27";
    let date = Datetime::deserialize(from).map_err(|_| D::Error::custom(why))?;
    match date {
        Datetime { date: Some(day), time: None, .. } => Ok(day.to_string()),
        _ => Err(D::Error::custom(why)),
    }
}

fn source<'de, D: Deserializer<'de>>(from: D) -> Result<String, D::Error> {
    let text = String::deserialize(from)?;
    let is_line = !text.trim().is_empty() && !text.contains(char::is_control);
    let why = "say in one line where the price is from";
    if is_line { Ok(text) } else { Err(D::Error::custom(why)) }
}

const NAME_MAX_BYTES: usize = 40;
const AMOUNT_MAX: f64 = 1e12;
