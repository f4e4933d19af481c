//! `tollgate tune`: changes a server step by step, as \[HP01\] did: profile, expect, change one
//! thing, measure, keep or take back.

pub(crate) mod options;

mod rig;

use std::fs;
use std::process::ExitCode;

use tollgate_curves::p256::P256;
use tollgate_record::vocabulary as word;
use tollgate_record::{Estimate, Kind, Record};
use tollgate_server::KeyKind;
use tollgate_stock_servers::Product;
use tollgate_tune::{
    Candidate, Factor, Host, Outcome, Prospect, Set, Setup, Standing, Step, Story, prospects,
};
use toml::Value;

use self::options::Tune;
use crate::error::CliError;
use crate::interrupt;
use crate::options::Bench;
use crate::options::values::defaults;
use crate::progress::{self, Progress};
use crate::read;
use crate::run::Run;
use crate::verbs::bench::profile::Profiler;
use crate::verbs::bench::setups::{Started, Starter};
use crate::verbs::bench::{plan, report};
use crate::verbs::speed::{self, Against, LineupOptions, Speed};

/// Maximum seconds for each row of rung 2, which gives the factors of signatures.
const SPEED_SECONDS_MAX: f64 = 1.0;

pub(crate) fn run(options: &Tune) -> Result<ExitCode, CliError> {
    if !options.rounds.is_multiple_of(2) {
        bail!("--rounds: give an even number, so that each state runs first equally often");
    }
    let bench = options.bench();
    let bare = bare(options, &bench);
    let set = candidates(options, &bare.server)?;
    let mut run = Run::measuring(options.written.json.as_deref())?;
    let Some(profiler) = Profiler::new(&bench)? else { bail!("tune needs a profile") };
    let progress = Progress::new("tune");
    let mut starter = Starter::new(bench.clone(), None)?;
    let state = starter.start(bare.edited(&set.start).map_err(CliError::new)?)?;
    let mut story = Story { about: rig::words(&state, &bench), ..Story::default() };
    let speeds = speeds(options, &mut run)?;
    if !interrupt::asked() {
        let tuner = Tuner { options, profiler: &profiler, speeds: &speeds, set: &set };
        tuner.steps(&mut starter, state, &mut story, &mut run)?;
    }
    drop(progress);
    if story.steps.is_empty() && story.left.is_empty() {
        run.notes.add("no candidate changes this server: give some in --candidates");
    }
    let text = story.text();
    run.end(&format!("{}\n{text}", report::machine(&run.host)))
}

/// Returns the setup of a server without directives of its own.
fn bare(options: &Tune, bench: &Bench) -> Setup {
    let modules = fs::read_to_string("/proc/sys/net/ipv4/tcp_available_ulp");
    let has_tls = |modules: String| modules.split_whitespace().any(|module| module == "tls");
    let server = match &options.command {
        Some(_) => Product::Command.to_string(),
        None => {
            bench.kind().stock().map_or_else(|| "openssl".to_owned(), |product| product.to_string())
        }
    };
    Setup {
        server,
        command: options.command.clone(),
        key: options.key.to_string(),
        host: Host {
            cores: plan::server_cores(bench).len().max(1),
            kernel_tls: modules.is_ok_and(has_tls),
        },
        ..Setup::default()
    }
}

/// Reads the candidates of the server, and those of `--candidates`.
fn candidates(options: &Tune, server: &str) -> Result<Set, CliError> {
    let mut set = Set::of_server(server).ok_or_else(|| error!("{server} has no candidates"))?;
    if options.command.as_ref().is_some_and(|command| !command.contains("{folder}")) {
        // such a server has a key of its own
        set.candidates.retain(|candidate| !candidate.set.contains_key("key"));
    }
    let Some(path) = &options.candidates else { return Ok(set) };
    let text = read::text(path)?;
    let more = Set::from_toml(&text).map_err(CliError::about(path.display()))?;
    let directives = "directives";
    match (set.start.get_mut(directives), more.start.get(directives)) {
        (Some(Value::Table(known)), Some(Value::Table(more))) => known.extend(more.clone()),
        (None, Some(more)) => _ = set.start.insert(directives.to_owned(), more.clone()),
        _ => {}
    }
    set.candidates
        .retain(|candidate| more.candidates.iter().all(|other| other.word != candidate.word));
    set.candidates.extend(more.candidates);
    Ok(set)
}

/// Measures signatures with the server's key and the keys that may replace it.
fn speeds(options: &Tune, run: &mut Run) -> Result<Vec<Record>, CliError> {
    let mut bits = vec![2048];
    if let KeyKind::Rsa { bits: longest } = options.key {
        bits.push(longest);
    }
    bits.dedup();
    let request = Speed {
        lineup: LineupOptions { against: vec![Against::Openssl], batch: 8 },
        bits,
        seconds: Some(options.seconds.min(SPEED_SECONDS_MAX)),
        ..defaults()
    };
    speed::collect(&request, &[], run)
}

/// The values that all steps of a run use.
struct Tuner<'a> {
    options: &'a Tune,
    profiler: &'a Profiler,
    speeds: &'a [Record],
    set: &'a Set,
}

impl Tuner<'_> {
    /// Profiles and changes the server until no open candidate promises enough, or until Ctrl-C.
    fn steps(
        &self,
        starter: &mut Starter,
        mut state: Started,
        story: &mut Story,
        run: &mut Run,
    ) -> Result<(), CliError> {
        let mut tried: Vec<String> = Vec::new();
        let mut is_profiled = false;
        loop {
            if !is_profiled {
                progress::plan(1, 4.0 * self.options.seconds);
                progress::row(0, "profile");
                match rig::profile(self.profiler, &state, run) {
                    Ok(Some(shares)) => story.shares = shares,
                    Ok(None) => return Ok(()),
                    Err(error) if story.steps.is_empty() => return Err(error),
                    Err(error) => {
                        run.notes.add(format!("the run ends here: {error}"));
                        return Ok(());
                    }
                }
            }
            story.left = self.prospects(&state.setup, story, &tried);
            let open = story.left.iter().position(|prospect| prospect.standing == Standing::Open);
            let Some(open) = open.filter(|_| !self.options.plan) else { return Ok(()) };
            let prospect = story.left.remove(open);
            tried.push(prospect.candidate.word.clone());
            let Some((step, next)) = self.step(starter, &state, prospect, story)? else {
                return Ok(());
            };
            is_profiled = next.is_none();
            state = next.unwrap_or(state);
            story.steps.push(step);
        }
    }

    fn prospects(&self, setup: &Setup, story: &Story, tried: &[String]) -> Vec<Prospect> {
        let open = self.set.candidates.iter().filter(|candidate| !tried.contains(&candidate.word));
        let factor = |candidate: &Candidate| self.factor(candidate, setup);
        prospects(open, setup, &story.shares, &self.options.allow, factor)
    }

    /// Returns the speed-up of a candidate's parts: that of its file, or the ratio of two
    /// signatures.
    fn factor(&self, candidate: &Candidate, setup: &Setup) -> Option<Estimate> {
        match &candidate.factor {
            Factor::Range(_) => candidate.range()?.ok(),
            Factor::Named(_) => {
                let next = setup.edited(&candidate.set).ok()?;
                let (before, after) = (self.signature(setup)?, self.signature(&next)?);
                let ends = (before.interval(), after.interval());
                let low = ends.0.0 / ends.1.1;
                // a full batch is the best case
                let low = if next.asynchronous && !setup.asynchronous { low.min(1.0) } else { low };
                let point = before.point() / after.point();
                Estimate::new(point, (low, ends.0.1 / ends.1.0), before.samples()).ok()
            }
        }
    }

    /// Returns the time of a signature, as rung 2 measures it.
    fn signature(&self, setup: &Setup) -> Option<Estimate> {
        let is_rsa = setup.key.starts_with("rsa");
        let on_curve = setup.key == "ecdsa-p256" && P256::best().is_ok_and(P256::beats_openssl);
        // HAProxy's jobs pause for RSA alone
        let by = match (setup.provider && (is_rsa || on_curve), setup.asynchronous && is_rsa) {
            (false, _) => "by=openssl",
            (true, false) => "by=tollgate",
            (true, true) => "batch=8&by=tollgate",
        };
        let subject = format!("operation/{}/sign?{by}", setup.key);
        let is_it = |record: &&Record| {
            record.kind == Kind::Measured
                && record.quantity == word::NS_PER_OPERATION
                && record.subject.to_string() == subject
        };
        Some(self.speeds.iter().find(is_it)?.estimate)
    }

    /// Tries a change, and returns the step and the server with the change if it is kept. `None`
    /// after Ctrl-C.
    fn step(
        &self,
        starter: &mut Starter,
        state: &Started,
        prospect: Prospect,
        story: &Story,
    ) -> Result<Option<(Step, Option<Started>)>, CliError> {
        progress::plan(1, 3.0 * f64::from(self.options.rounds) * self.options.seconds);
        progress::row(0, &prospect.candidate.word);
        let setup = state.setup.edited(&prospect.candidate.set).map_err(CliError::new)?;
        let rounds = self.options.rounds;
        let tried =
            starter.start(setup).and_then(|next| Ok((rig::compare(rounds, state, &next)?, next)));
        let shares = story.shares.clone();
        let step = |outcome, before, after| Step { prospect, shares, before, after, outcome };
        Ok(match tried {
            Ok((None, _)) => None,
            Ok((Some(pair), next)) => {
                let outcome = Outcome::new(pair.ratio);
                let kept = matches!(outcome, Outcome::Kept(_)).then_some(next);
                Some((step(outcome, Some(pair.before), Some(pair.after)), kept))
            }
            Err(error) => Some((step(Outcome::NoStep(error.to_string()), None, None), None)),
        })
    }
}
