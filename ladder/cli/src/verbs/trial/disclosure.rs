//! The disclosure of a trial: what a reader needs to repeat it, and records do not contain.

use serde::de::Error as _;
use serde::{Deserialize, Deserializer};
use tollgate_record::BadFile;
use toml::value::Datetime;

/// The fields that `SPECweb99_SSL` asked for, in one file.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Disclosure {
    #[serde(deserialize_with = "line")]
    sponsor: String,
    #[serde(deserialize_with = "line")]
    tester: String,
    #[serde(deserialize_with = "day")]
    tested_on: String,
    hardware: Hardware,
    software: Software,
    setup: Setup,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Hardware {
    #[serde(deserialize_with = "line")]
    vendor: String,
    #[serde(deserialize_with = "line")]
    model: String,
    #[serde(deserialize_with = "line")]
    processor: String,
    #[serde(deserialize_with = "line")]
    memory: String,
    #[serde(deserialize_with = "line")]
    network: String,
    #[serde(deserialize_with = "line")]
    accelerators: String,
    #[serde(deserialize_with = "line")]
    available: String,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Software {
    #[serde(deserialize_with = "line")]
    system: String,
    #[serde(deserialize_with = "line")]
    server: String,
    #[serde(deserialize_with = "line")]
    tls_library: String,
    #[serde(deserialize_with = "line")]
    available: String,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Setup {
    #[serde(deserialize_with = "line")]
    certificate: String,
    #[serde(deserialize_with = "line")]
    clients: String,
    #[serde(deserialize_with = "line")]
    tuning: String,
}

impl Disclosure {
    pub(super) fn from_toml(text: &str) -> Result<Self, BadFile> {
        toml::from_str(text)
            .map_err(|error| BadFile::at("disclosure", text, error.span(), error.message()))
    }

    /// Returns every field by name.
    pub(super) fn fields(&self) -> [(&'static str, &str); 17] {
        let Self { sponsor, tester, tested_on, hardware, software, setup } = self;
        [
            ("sponsor", sponsor),
            ("tester", tester),
            ("tested on", tested_on),
            ("vendor", &hardware.vendor),
            ("model", &hardware.model),
            ("processor", &hardware.processor),
            ("memory", &hardware.memory),
            ("network", &hardware.network),
            ("accelerators", &hardware.accelerators),
            ("hardware available", &hardware.available),
            ("system", &software.system),
            ("server", &software.server),
            ("TLS library", &software.tls_library),
            ("software available", &software.available),
            ("certificate", &setup.certificate),
            ("clients", &setup.clients),
            ("tuning", &setup.tuning),
        ]
    }
}

fn line<'de, D: Deserializer<'de>>(from: D) -> Result<String, D::Error> {
    let text = String::deserialize(from)?;
    let is_line = !text.trim().is_empty() && !text.contains(char::is_control);
    let why = "give one line of text; \"none\" and \"unknown\" are answers";
    if is_line { Ok(text) } else { Err(D::Error::custom(why)) }
}

fn day<'de, D: Deserializer<'de>>(from: D) -> Result<String, D::Error> {
    let why = "give a day without quotes, such as 2026-11-27";
    match Datetime::deserialize(from) {
        Ok(Datetime { date: Some(day), time: None, .. }) => Ok(day.to_string()),
        _ => Err(D::Error::custom(why)),
    }
}
