//! `tollgate provider check`: checks a configuration line by line and with OpenSSL's own command,
//! and lists the running programs with a libcrypto.

use core::fmt::Write as _;
use std::collections::BTreeMap;
use std::path::Path;
use std::process::ExitCode;

use super::Check;
use super::configuration::{Configuration, QUERY, SETTINGS, is_yes};
use super::openssl::Openssl;
use super::processes::{self, Module, Process};
use super::proof::{self, HYBRID};
use crate::error::CliError;
use crate::output::{check_stdout, print};

/// Keys of a provider's section that libcrypto itself reads.
const LIBCRYPTO: [&str; 4] = ["identity", "module", "activate", "soft_load"];

/// Checks the configuration; the first failure ends the run.
pub(crate) fn run(options: &Check) -> Result<ExitCode, CliError> {
    let openssl = Openssl::find()?;
    check_stdout()?;
    let line =
        |verdict: &str, what: &str, why: &str| print(&format!("{verdict:6}{what:15}{why}\n"));
    line("good", "openssl", &openssl.version)?;
    line("good", "modules", &openssl.modules.display().to_string())?;
    let path = openssl.chosen(options.openssl_conf.as_deref());
    // servers change their working directory
    let path = std::path::absolute(&path).map_err(CliError::about(path.display()))?;
    if !path.is_file() {
        bail!("{}: no such configuration; run: tollgate provider install", path.display());
    }
    let configuration = Configuration::read(&path)?;
    line("good", "configuration", &path.display().to_string())?;
    for (verdict, what, why) in findings(&configuration) {
        line(verdict, what, &why)?;
    }
    let served = proof::prove(&path)?;
    line(
        "good",
        "signs",
        "with `openssl dgst`, PKCS#1 v1.5 and PSS, like OpenSSL without the module",
    )?;
    line("good", "decrypts", "with `openssl pkeyutl`, OAEP")?;
    for (what, setting, is_used) in
        [("ECDSA P-256", "ecdsa", served.ecdsa), ("X25519", "x25519", served.x25519)]
    {
        if is_used {
            line("good", what, "with the module; OpenSSL without it agrees")?;
        } else {
            let why = format!("left to OpenSSL: no AVX2, BMI2 and ADX here, or {setting} = off");
            line("none", what, &why)?;
        }
    }
    if served.hybrid {
        line("good", HYBRID, "with the module, in a handshake of `openssl s_server`")?;
    } else {
        let why = "left to OpenSSL, which has it from 3.5 on: no AVX2, ADX and AES here, or \
                   ml_kem = off";
        line("none", HYBRID, why)?;
    }
    let fips = "not validated: with the query fips=yes, OpenSSL signs itself";
    line("none", "FIPS", fips)?;
    let (mut found, closed) = processes::all();
    // this command has a libcrypto too, but signs nothing
    found.retain(|process| process.pid != std::process::id());
    print(&programs(&found, closed, &path))?;
    Ok(ExitCode::SUCCESS)
}

/// A verdict, its subject, and the reason.
type Finding = (&'static str, &'static str, String);

/// Checks a configuration without running OpenSSL.
fn findings(configuration: &Configuration) -> Vec<Finding> {
    let good = |what, why: &str| ("good", what, why.to_owned());
    let weak = |what, why: &str| ("weak", what, why.to_owned());
    let providers = configuration.providers();
    let at = |wanted: &str| providers.iter().position(|(name, _)| name == wanted);
    let ours = configuration.tollgate();
    let ours_at = providers.iter().position(|(_, section)| Some(section.as_str()) == ours);
    let default =
        at("default").map(|at| (at, is_yes(configuration.value(&providers[at].1, "activate"))));
    let default = match default {
        Some((at, true)) if ours_at.is_none_or(|ours| at < ours) => {
            good("default", "listed, activated, and before tollgate")
        }
        Some((_, true)) => {
            weak("default", "list it before tollgate: it reads and generates the keys")
        }
        Some((_, false)) => weak("default", "give its section activate = 1"),
        None => {
            weak("default", "list it and activate it: it reads keys, and TLS needs its ciphers")
        }
    };
    let query = configuration.default_properties().unwrap_or_default();
    let query = if query.split(',').any(|part| part.replace(' ', "") == QUERY) {
        good("query", query)
    } else {
        let why = "programs may not use it, or refused keys not fall back to OpenSSL";
        weak("query", &format!("{query:?} ({why}): set default_properties = {QUERY}"))
    };
    let lines = ours.map_or(&[][..], |section| configuration.section(section));
    let settings = lines.iter().filter_map(|(key, value)| {
        let is_section = !configuration.section(value).is_empty();
        let setting = format!("{key} = {value}");
        match SETTINGS.contains(&key.as_str()) {
            true if is_section => {
                let why = "this is the name of a section; rename the section";
                Some(weak("setting", &format!("{setting}: {why}")))
            }
            true => Some(good("setting", &setting)),
            false if LIBCRYPTO.contains(&key.as_str()) => None,
            false => {
                let known = SETTINGS.join(", ");
                Some(weak("setting", &format!("{key}: unknown, and ignored; known: {known}")))
            }
        }
    });
    [default, query].into_iter().chain(settings).collect()
}

/// Lists the running programs with a libcrypto, and their use of the module.
fn programs(found: &[Process], closed: usize, configuration: &Path) -> String {
    let mut groups: BTreeMap<(&str, String), Vec<u32>> = BTreeMap::new();
    for process in found {
        let group = (process.program.as_str(), answer(process, configuration));
        groups.entry(group).or_default().push(process.pid);
    }
    let mut text = "\nrunning programs with OpenSSL's libcrypto:\n".to_owned();
    for ((program, answer), pids) in groups {
        let more =
            if pids.len() > 1 { format!(" and {} more", pids.len() - 1) } else { String::new() };
        let pid = pids.first().unwrap_or(&0);
        writeln!(text, "  {program:16}{answer} (pid {pid}{more})")
            .expect("a string takes what is written");
    }
    if found.is_empty() {
        text += "  none\n";
    }
    if closed > 0 {
        let advice = match rustix::process::geteuid().is_root() {
            true => "not allowed for root here: run this outside of the container",
            false => "run this as root",
        };
        text += &format!("  not inspected: {closed} more; {advice}\n");
    }
    text + "programs without a file libcrypto.so.3 (static, other libraries) never use it\n"
}

/// Says that a process uses the module, or why it does not.
pub(super) fn answer(process: &Process, configuration: &Path) -> String {
    let library = process.libcrypto.as_deref().unwrap_or_default();
    let old = library.ends_with(".so.1.1") || library.ends_with(".so.1.0.0");
    match (process.module, process.configuration.as_deref()) {
        (Module::Loaded, _) => "yes: it has loaded the module".to_owned(),
        (Module::Outdated, _) => {
            "yes: with a module that was since replaced or removed; restart it".to_owned()
        }
        _ if process.libcrypto.is_none() => "no: it has no libcrypto".to_owned(),
        _ if old => format!("no: {library} is OpenSSL 1, which has no providers"),
        (_, Some(named)) if Path::new(named) == configuration => {
            "no: it has this configuration, and has not loaded it; restart it, then: tollgate \
             provider check"
                .to_owned()
        }
        (_, Some(named)) => format!("no: its OPENSSL_CONF is {named}"),
        (_, None) => {
            format!("no: start it with OPENSSL_CONF={}", configuration.display())
        }
    }
}
