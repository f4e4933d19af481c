//! This machine: its fingerprint, its calibrated rates, and the versions of all libraries.

use std::collections::BTreeMap;
use std::sync::OnceLock;

use tollgate_bench::{Conditions, this_machine};
use tollgate_calibrate::probe::{self, Probe};
use tollgate_load::Context;
use tollgate_processor as processor;
use tollgate_processor::{Limit, Mark, Rate, RegisterFile, Registers};
use tollgate_record::Timestamp;

/// The variable that disables CPU features in OpenSSL.
const OPENSSL_VETO: &str = "OPENSSL_ia32cap";

/// The properties that all records of a run share.
pub(crate) struct Host {
    pub(crate) context: Context,
    /// See [`model`](Self::model).
    model: OnceLock<processor::Machine>,
    /// Advice if the figures cannot be trusted.
    warning: Option<String>,
}

impl Host {
    /// Returns notes about this machine for the reader of the figures.
    pub(crate) fn notes(&self) -> impl Iterator<Item = String> {
        let masked = self.context.conditions.get("openssl_ia32cap").map(|mask| {
            format!("{OPENSSL_VETO} is set ({mask}): OpenSSL does not run as it would otherwise")
        });
        let load = self.warning.as_ref().map(|warning| format!("warning: {warning}"));
        masked.into_iter().chain(load)
    }

    /// Identifies this machine.
    pub(crate) fn this() -> Self {
        let machine = this_machine();
        let conditions = Conditions::now();
        let context = Context {
            machine,
            versions: versions(),
            commit: option_env!("TOLLGATE_COMMIT").map(str::to_owned),
            conditions: shared(&conditions),
        };
        Self { context, model: OnceLock::new(), warning: conditions.warning() }
    }

    /// The same machine for the model. The first call runs the probes, for 0.4 s to 2 s.
    pub(crate) fn model(&self) -> &processor::Machine {
        self.model.get_or_init(|| calibrated(&self.context.machine.cpu))
    }
}

/// Calibrates this core with `tollgate_calibrate::probe`; rates of missing instructions are
/// unknown.
fn calibrated(name: &str) -> processor::Machine {
    let now = Timestamp::now().to_string();
    let date = now.split('T').next().unwrap_or(&now);
    let source = format!("calibrated by tollgate_calibrate::probe on {date}");
    let probed = probe::measure();
    let known = |rate: Option<Rate>| rate.unwrap_or_else(Rate::unknown);
    let rate = |probe| {
        let value = probed.get(&probe);
        known(value.and_then(|value| Rate::per_cycle(*value, Mark::Measured, &source).ok()))
    };
    let latency = |probe| {
        let value = probed.get(&probe).map(|links| links.recip());
        known(value.and_then(|value| Rate::cycles_each(value, Mark::Measured, &source).ok()))
    };
    let rates = [
        (Limit::Loads, rate(Probe::Loads)),
        (Limit::LoadsZmm, rate(Probe::LoadsZmm)),
        (Limit::MulRow, rate(Probe::MulAdc)),
        (Limit::Mulx, rate(Probe::Mulx)),
        (Limit::MulxChain, latency(Probe::MulxChain)),
        (Limit::MulxRow, rate(Probe::MulxAdcxAdox)),
        (Limit::PmuludqRow, rate(Probe::VpmuludqVpaddqYmm)),
        (Limit::PmuludqRowZmm, rate(Probe::VpmuludqVpaddqZmm)),
        (Limit::Vpmadd52Ymm, rate(Probe::Vpmadd52Ymm)),
        (Limit::VectorZmm, rate(Probe::VectorZmm)),
        (Limit::Vpmadd52, rate(Probe::Vpmadd52Zmm)),
        (Limit::Vpmadd52Chain, latency(Probe::Vpmadd52Chain)),
    ];
    let mut machine = processor::Machine::with_rates(name, rates);
    if cfg!(target_arch = "x86_64") {
        for (file, count, set) in
            [(RegisterFile::General, 16, "x86-64"), (RegisterFile::Vector, 32, "AVX-512")]
        {
            let source = format!("the instruction set, {set}");
            let registers = Registers::new(count, Mark::Stated, &source).expect("in range");
            machine.registers.insert(file, registers);
        }
    }
    machine
}

fn versions() -> BTreeMap<String, String> {
    // "OpenSSL 3.0.19 27 Jan 2026 ..." of the loaded library, not of the headers.
    let openssl = openssl::version::version().split(' ').nth(1).unwrap_or("unknown");
    let known = |version: Option<&str>| version.unwrap_or("unknown").to_owned();
    BTreeMap::from([
        ("aws-lc-rs".to_owned(), known(option_env!("TOLLGATE_AWS_LC_RS"))),
        ("aws-lc-sys".to_owned(), known(option_env!("TOLLGATE_AWS_LC_SYS"))),
        ("openssl".to_owned(), openssl.to_owned()),
        ("rustc".to_owned(), known(option_env!("TOLLGATE_RUSTC"))),
        ("tollgate".to_owned(), env!("CARGO_PKG_VERSION").to_owned()),
    ])
}

/// Returns the load, the governor, and the CPU features disabled in OpenSSL.
fn shared(conditions: &Conditions) -> BTreeMap<String, String> {
    let mut map = conditions.to_map();
    map.insert("threads".to_owned(), "1".to_owned());
    if let Some(mask) = std::env::var_os(OPENSSL_VETO) {
        map.insert("openssl_ia32cap".to_owned(), mask.to_string_lossy().into_owned());
    }
    map
}
