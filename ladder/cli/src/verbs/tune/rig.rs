//! Starts a server in the state of a setup, profiles it, and compares two states.

use std::collections::BTreeMap;

use tollgate_load::{Mechanism, Naming, Offer, Outcome, Plan, Resume, Verdict};
use tollgate_record::vocabulary as word;
use tollgate_record::{Estimate, Record};
use tollgate_server::{Certificate, Engine, KeyKind};
use tollgate_stock_servers::{Product, Settings};
use tollgate_tune::{Setup, Shares};

use super::options::Tune;
use crate::error::CliError;
use crate::interrupt;
use crate::options::Bench;
use crate::run::Run;
use crate::verbs::bench::profile::Profiler;
use crate::verbs::bench::scenario::{Rounds, Scenario};
use crate::verbs::bench::servers::{self, Ready};
use crate::verbs::bench::turns::{self, Measured};
use crate::verbs::bench::{context, plan};
use tempfile::TempDir;

/// The rounds of a profile.
const PROFILE_ROUNDS: u32 = 3;

/// Starts servers.
pub(super) struct Rig<'a> {
    options: &'a Tune,
    bench: Bench,
    /// The installed server; `None` for the embedded one.
    product: Option<Product>,
    plan: Plan,
    /// By type of key, so that all states with a type share the certificate.
    certificates: BTreeMap<String, Certificate>,
    /// The access logs of embedded servers.
    folder: TempDir,
    started: u32,
}

/// A running server, and the load for it.
pub(super) struct State {
    pub(super) setup: Setup,
    plan: Plan,
    /// The load as a request of `tollgate bench`, as far as it depends on the setup.
    bench: Bench,
    running: Ready<'static>,
    version: String,
}

/// The profile of a state.
pub(super) struct Look {
    pub(super) shares: Shares,
    pub(super) rate: Estimate,
}

/// A change, measured in turn with the state before it.
pub(super) struct Pair {
    pub(super) before: Estimate,
    pub(super) after: Estimate,
    /// The ratio of the rates, after to before.
    pub(super) ratio: Estimate,
}

impl<'a> Rig<'a> {
    pub(super) fn new(options: &'a Tune) -> Result<Self, CliError> {
        let bench = options.bench();
        let product = match options.command {
            Some(_) => Some(Product::Command),
            None => bench.kind().stock(),
        };
        let first = plan::plans(&bench)?.into_iter().next();
        let plan = first.ok_or_else(|| error!("the load has no plan"))?;
        let (certificates, folder) = (BTreeMap::new(), tollgate::temporary_folder()?);
        Ok(Self { options, bench, product, plan, certificates, folder, started: 0 })
    }

    pub(super) const fn bench(&self) -> &Bench {
        &self.bench
    }

    /// Returns the setup of a server without directives of its own.
    pub(super) fn bare(&self) -> Setup {
        let modules = std::fs::read_to_string("/proc/sys/net/ipv4/tcp_available_ulp");
        let has_tls = |modules: String| modules.split_whitespace().any(|module| module == "tls");
        Setup {
            server: self.product.map_or_else(|| "openssl".to_owned(), |one| one.to_string()),
            cores: plan::server_cores(&self.bench).len().max(1),
            kernel_tls: modules.is_ok_and(has_tls),
            key: self.options.key.to_string(),
            provider: false,
            asynchronous: false,
            suite: None,
            group: None,
            resumed: 0.0,
            requests: 1,
            directives: BTreeMap::new(),
        }
    }

    /// Starts a server with this setup.
    pub(super) fn start(&mut self, setup: Setup) -> Result<State, CliError> {
        let plan = self.plan_of(&setup)?;
        let certificate = self.certificate(&setup.key)?;
        let bench = Bench {
            suites: setup.suite.iter().cloned().collect(),
            group: setup.group.iter().cloned().collect(),
            resumed_share: setup.resumed,
            ..self.bench.clone()
        };
        let (running, version) = match self.product {
            Some(product) => {
                let settings = self.settings(&setup, &plan, certificate)?;
                let version = product.version().unwrap_or_default();
                (Ready::Stock(product.start(&settings)?), version)
            }
            None => {
                let is_ours = setup.provider && setup.key.starts_with("rsa");
                let engine = if is_ours { Engine::Tollgate } else { Engine::OpenSsl };
                self.started += 1;
                let log = self.folder.path().join(format!("{}.log", self.started));
                let running = servers::start_embedded(&bench, engine, certificate, log)?;
                (running, env!("CARGO_PKG_VERSION").to_owned())
            }
        };
        Ok(State { running, version, setup, plan, bench })
    }

    /// The settings of an installed server.
    fn settings(
        &self,
        setup: &Setup,
        plan: &Plan,
        certificate: Certificate,
    ) -> Result<Settings, CliError> {
        let module = setup.provider.then(|| servers::provider(self.options.module.as_deref()));
        Ok(Settings {
            module: module.transpose()?,
            command: self.options.command.clone(),
            bodies: vec![self.options.bytes],
            cores: plan::server_cores(&self.bench),
            asynchronous: setup.asynchronous,
            resumption: plan.resume.map(|resume| resume.by),
            directives: setup.directives.clone(),
            ..Settings::new(certificate)
        })
    }

    fn certificate(&mut self, key: &str) -> Result<Certificate, CliError> {
        if let Some(known) = self.certificates.get(key) {
            return Ok(known.clone());
        }
        let kind: KeyKind = key.parse().map_err(CliError::about("a candidate's key"))?;
        let made = Certificate::SelfSigned(kind).to_pem()?;
        self.certificates.insert(key.to_owned(), made.clone());
        Ok(made)
    }

    fn plan_of(&self, setup: &Setup) -> Result<Plan, CliError> {
        let resume = Some(Resume { share: setup.resumed, by: Mechanism::Psk });
        let resume = resume.filter(|resume| resume.share > 0.0);
        let plan = Plan {
            offer: Offer {
                suite: setup.suite.clone(),
                group: setup.group.clone(),
                curve_key: !setup.key.starts_with("rsa"),
            },
            resume,
            requests_per_connection: f64::from(setup.requests),
            close: self.bench.close(resume),
            ..self.plan.clone()
        };
        plan.check()?;
        Ok(plan)
    }

    /// Profiles a state; `None` after Ctrl-C.
    pub(super) fn look(
        &self,
        profiler: &Profiler,
        state: &State,
        run: &mut Run,
    ) -> Result<Option<Look>, CliError> {
        let bench = Bench { rounds: PROFILE_ROUNDS, ..self.bench.clone() };
        let names = [state.naming()];
        let mut rounds = [Measured::default()];
        {
            let mut targets = [state.running.target(&state.bench, &names[0])?];
            profiler.look(&mut targets, vec![state.running.threads(&state.bench)?]);
            turns::measure(&bench, &[&state.plan], &mut targets, &mut rounds)?;
        }
        if interrupt::asked() {
            return Ok(None);
        }
        let [Measured { outcomes, repeated }] = rounds;
        check(&outcomes)?;
        let rate = rate(&outcomes).ok_or_else(|| error!("the profile has no rate: run again"))?;
        let of = Rounds { outcomes: vec![outcomes], repeated, broken: None };
        let label = format!("{} {}", state.setup.key, plan::named(&state.plan));
        let mut scenario = Scenario::of(label, of, &names, &context(&bench, &run.host))?;
        profiler.end(&bench, &mut scenario, &state.plan, &names)?;
        run.output.records(&scenario.records)?;
        Ok(Some(Look { shares: shares(&scenario.records)?, rate }))
    }

    /// Runs two states in turn; `None` after Ctrl-C.
    pub(super) fn compare(&self, before: &State, after: &State) -> Result<Option<Pair>, CliError> {
        let plans = [&before.plan, &after.plan];
        let mut rounds = [Measured::default(), Measured::default()];
        let mut targets = [
            before.running.target(&before.bench, &Naming::new(&before.setup.key, "before"))?,
            after.running.target(&after.bench, &Naming::new(&after.setup.key, "after"))?,
        ];
        turns::measure(&self.bench, &plans, &mut targets, &mut rounds)?;
        if interrupt::asked() {
            return Ok(None);
        }
        let [before, after] = &rounds;
        check(&before.outcomes)?;
        check(&after.outcomes)?;
        let each = before.outcomes.iter().zip(&after.outcomes);
        let ratios: Option<Vec<f64>> = each
            .map(|(before, after)| Some(requests_per_s(after)? / requests_per_s(before)?))
            .collect();
        let pair = || {
            Some(Pair {
                before: rate(&before.outcomes)?,
                after: rate(&after.outcomes)?,
                ratio: tollgate_bench::median_estimate(&ratios?)?,
            })
        };
        pair().map(Some).ok_or_else(|| error!("a run has no rate: run again"))
    }
}

impl State {
    fn naming(&self) -> Naming {
        let engine = if self.setup.provider { "tollgate" } else { "openssl" };
        Naming::new(&self.setup.key, format!("{}-{engine}", self.setup.server))
    }

    /// Describes server, version, key and load.
    pub(super) fn words(&self, bench: &Bench) -> String {
        let Setup { server, key, suite, group, .. } = &self.setup;
        let server = format!("{server} {}", self.version);
        let server = server.trim_end(); // a command has no version
        let offer = [suite, group].into_iter().flatten().cloned().collect::<Vec<_>>().join(", ");
        format!(
            "{server}, {key}, {offer}, {} bytes; server cores: {}, {} connections, {} \
             rounds of {} s for each step",
            bench.bytes,
            plan::listed(&plan::server_cores(bench)),
            bench.load.connections,
            bench.rounds,
            bench.seconds
        )
    }
}

/// Refuses runs whose sessions the server's log does not confirm, or that are invalid for another
/// reason.
fn check(outcomes: &[Outcome]) -> Result<(), CliError> {
    match outcomes.iter().find(|outcome| outcome.verdict == Verdict::Invalid) {
        None => Ok(()),
        Some(bad) => match bad.reasons.first() {
            Some(reason) => bail!("a run is not valid: {reason}"),
            None => bail!("a run is not valid"),
        },
    }
}

fn requests_per_s(outcome: &Outcome) -> Option<f64> {
    Some(outcome.sessions_per_s()? * outcome.plan.requests_per_connection)
}

fn rate(outcomes: &[Outcome]) -> Option<Estimate> {
    let rates: Option<Vec<f64>> = outcomes.iter().map(requests_per_s).collect();
    tollgate_bench::median_estimate(&rates?)
}

/// Computes the shares of all parts and their details, of the time of the server's cores.
fn shares(records: &[Record]) -> Result<Shares, CliError> {
    let part = |record: &Record| {
        let part = record
            .subject
            .parameter(word::PART)
            .filter(|_| record.quantity == word::CYCLES_PER_SESSION)?;
        Some((part.to_owned(), record.subject.parameter(word::DETAIL).map(str::to_owned)))
    };
    let parts: Vec<_> =
        records.iter().filter_map(|record| Some((part(record)?, record.estimate))).collect();
    let whole = parts.iter().filter(|((_, detail), _)| detail.is_none());
    let total: f64 = whole.map(|(_, cycles)| cycles.point()).sum();
    if total <= 0.0 {
        bail!("the profile is empty: give each run more --seconds");
    }
    let share = |((part, detail), cycles): ((String, Option<String>), Estimate)| {
        Ok((detail.unwrap_or(part), cycles.scaled(1.0 / total)?))
    };
    parts.into_iter().map(share).collect()
}
