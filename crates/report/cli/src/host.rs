//! The machine this runs on: its fingerprint, its calibrated rates, and everybody's versions.

use std::collections::BTreeMap;

use tollgate_cpu::probe::Rates as Probed;
use tollgate_cpu::{clock, features};
use tollgate_processor as processor;
use tollgate_processor::{Rate, Rates};
use tollgate_record::{Estimate, Machine, Timestamp};

/// Windows of the clock's reading.
const CLOCK_WINDOWS: usize = 31;

/// What every record of a run shares.
pub(crate) struct Host {
    /// The fingerprint.
    pub(crate) machine: Machine,
    /// The same machine as the model sees it, calibrated by probes.
    pub(crate) model: processor::Machine,
    /// Versions of all that takes part.
    pub(crate) versions: BTreeMap<String, String>,
    /// The commit this was built from.
    pub(crate) commit: Option<String>,
    /// What else figures depend on.
    pub(crate) conditions: BTreeMap<String, String>,
}

impl Host {
    /// Asks and calibrates this machine; takes about 30 ms.
    pub(crate) fn this() -> Self {
        let machine = fingerprint();
        let model = processor::Machine { name: machine.cpu.clone(), rates: calibrated() };
        Self {
            machine,
            model,
            versions: versions(),
            commit: option_env!("TOLLGATE_COMMIT").map(str::to_owned),
            conditions: conditions(),
        }
    }
}

fn fingerprint() -> Machine {
    let asked = tollgate_cpu::machine::Machine::this();
    let words =
        |features: &[tollgate_cpu::Feature]| features.iter().map(ToString::to_string).collect();
    Machine {
        cpu: asked.model_name.unwrap_or_else(|| "unknown processor".to_owned()),
        features: words(&features::in_use()),
        vetoed: words(features::vetoed()),
        logical_cores: asked.logical_cores,
        kernel: asked.kernel,
        virtualised: asked.virtualised,
        core_clock_hz: core_clock(),
    }
}

/// The median of the windows, between the ends of their middle 95 %.
fn core_clock() -> Option<Estimate> {
    let windows = clock::core_hz(CLOCK_WINDOWS)?;
    let at = |part: usize| windows[(windows.len() - 1) * part / 1000];
    let samples = u64::try_from(windows.len()).expect("few windows");
    Estimate::new(at(500), (at(25), at(975)), samples).ok()
}

/// Rates of this core by `tollgate_cpu::probe`; what it cannot run is unknown.
fn calibrated() -> Rates {
    let now = Timestamp::now().to_string();
    let date = now.split('T').next().unwrap_or(&now);
    let source = format!("calibrated by tollgate_cpu::probe on {date}");
    let rate = |value: Option<f64>| {
        value.and_then(|value| Rate::known(value, &source).ok()).unwrap_or_else(Rate::unknown)
    };
    let probed = Probed::measure();
    Rates {
        vpmadd52_zmm_per_cycle: rate(probed.vpmadd52_zmm_per_cycle),
        mulx_per_cycle: rate(probed.mulx_per_cycle),
        mulx_adcx_adox_per_cycle: rate(probed.mulx_adcx_adox_per_cycle),
        mul_adc_per_cycle: rate(probed.mul_adc_per_cycle),
    }
}

fn versions() -> BTreeMap<String, String> {
    // "OpenSSL 3.0.19 27 Jan 2026 ...": of the library that is loaded, not of the headers.
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

/// OpenSSL's own veto changes its figures, so it stands beside them.
fn conditions() -> BTreeMap<String, String> {
    let mask = std::env::var_os("OPENSSL_ia32cap");
    let mask =
        mask.map(|value| ("openssl_ia32cap".to_owned(), value.to_string_lossy().into_owned()));
    BTreeMap::from_iter(mask.into_iter().chain([("threads".to_owned(), "1".to_owned())]))
}
