//! `tollgate bench sessions`: resumed sessions, by the place where the servers keep them, with one
//! and with two processes.
//!
//! Every connection offers a session. Processes share a port, and the kernel distributes connections
//! among them. In each round all servers take turns.

use core::time::Duration;
use std::env;
use std::fs;
use std::process::ExitCode;
use std::thread;
use std::time::Instant;

use tollgate_bench::median_estimate;
use tollgate_load::{Finding, Mechanism, Naming, Outcome, Plan, Resume, Verdict};
use tollgate_report::stores::{self as table, Store as Row};
use tollgate_server::Certificate;
use tollgate_stock_servers::{Product, Running, Settings};

use super::options::sub_verbs::Sessions as Options;
use super::scenario::{Rounds, Scenario};
use super::turns::{self, Measured};
use super::{context, plan, report};
use crate::error::CliError;
use crate::interrupt;
use crate::options::Bench;
use crate::progress::{self, Progress};
use crate::run::Run;

/// The longest wait until all processes of a server have started.
const START_LIMIT: Duration = Duration::from_secs(10);

/// The numbers of processes.
const PROCESSES: [usize; 2] = [1, 2];

/// The place of sessions.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Place {
    None,
    /// With the client.
    Tickets,
    Memory,
    Redis,
    /// Of Apache, in memory that its processes share.
    Shared,
    /// Of Apache, in a file of a database.
    Disk,
}

struct Subject {
    /// The server's name in records.
    by: &'static str,
    words: &'static str,
    place: Place,
}

/// The servers; the first of each program has no sessions.
const SUBJECTS: [Subject; 7] = [
    Subject { by: "tollgate-sessions-none", words: "tollgate serve: none", place: Place::None },
    Subject {
        by: "tollgate-sessions-tickets",
        words: "tollgate serve: tickets",
        place: Place::Tickets,
    },
    Subject {
        by: "tollgate-sessions-memory",
        words: "tollgate serve: memory",
        place: Place::Memory,
    },
    Subject { by: "tollgate-sessions-redis", words: "tollgate serve: Redis", place: Place::Redis },
    Subject { by: "apache-sessions-none", words: "Apache: none", place: Place::None },
    Subject { by: "apache-sessions-shmcb", words: "Apache: shared memory", place: Place::Shared },
    Subject { by: "apache-sessions-dbm", words: "Apache: dbm on disk", place: Place::Disk },
];

impl Subject {
    fn is_apache(&self) -> bool {
        self.by.starts_with("apache")
    }

    fn settings(&self, processes: usize, bench: &Bench) -> Result<Settings, CliError> {
        let certificate = Certificate::SelfSigned(bench.keys()[0]).to_pem()?;
        let mut settings = Settings {
            bodies: vec![bench.bytes],
            cores: plan::server_cores(bench),
            ..Settings::new(certificate)
        };
        if !self.is_apache() {
            settings.command = Some(command(self.place, processes, bench)?);
            return Ok(settings);
        }
        let cache = match self.place {
            Place::Shared => "shmcb:{folder}/sessions(5120000)",
            Place::Disk => "dbm:{folder}/sessions",
            _ => "none",
        };
        let processes = processes.to_string();
        let threads = if processes == "1" { "64" } else { "32" };
        let directives = [
            ("SSLSessionCache", cache),
            ("SSLSessionTickets", "off"),
            ("StartServers", &processes),
            ("ServerLimit", &processes),
            ("ThreadsPerChild", threads),
            ("ThreadLimit", threads),
        ];
        let named = |(name, value): (&str, &str)| (format!("server.{name}"), value.to_owned());
        settings.directives = directives.into_iter().map(named).collect();
        Ok(settings)
    }
}

/// Measures the servers in turn, with one and with two processes, and prints a table for each.
pub(super) fn run(options: &Options) -> Result<ExitCode, CliError> {
    let mut run = Run::measuring(options.turns.written.json.as_deref())?;
    let bench = turns::request(&options.turns, options.key);
    let progress = Progress::new("bench");
    let seconds = plan::seconds(&bench) * f64::from(u32::try_from(SUBJECTS.len())?);
    progress::plan(PROCESSES.len(), seconds);
    let (mut text, mut is_valid) = (String::new(), true);
    for (row, processes) in PROCESSES.into_iter().enumerate() {
        let label = if processes == 1 { "one process" } else { "two processes" };
        progress::row(row, label);
        let rounds = measure(&bench, processes)?;
        if interrupt::asked() {
            break;
        }
        let name = |subject: &Subject| {
            Naming::new(options.key.to_string(), format!("{}-{processes}", subject.by))
        };
        let names: Vec<Naming> = SUBJECTS.iter().map(name).collect();
        let repeated = rounds.iter().map(|measured| measured.repeated).sum();
        let outcomes: Vec<Vec<Outcome>> =
            rounds.into_iter().map(|measured| believed(measured.outcomes)).collect();
        let rows = SUBJECTS.iter().zip(&outcomes).map(|(subject, of)| figures(subject, of));
        let rows: Option<Vec<Row>> = rows.collect();
        let of = Rounds { outcomes, repeated, broken: None };
        let title = format!("{label}, {}", options.key);
        let scenario = Scenario::apart(title, of, &names, &context(&bench, &run.host))?;
        run.output.records(&scenario.records)?;
        text += &scenario.verdict_text();
        match rows.filter(|_| scenario.verdict() != Verdict::Invalid) {
            Some(rows) => text += &format!("\n{}\n", table::table(label, &rows)),
            None => is_valid = false,
        }
    }
    drop(progress);
    let code = run.end(&(report::machine(&run.host) + "\n" + &text))?;
    Ok(if is_valid { code } else { ExitCode::FAILURE })
}

fn measure(bench: &Bench, processes: usize) -> Result<Vec<Measured>, CliError> {
    let full = plan::plans(bench)?.remove(0);
    let resumed = Plan { resume: Some(Resume { share: 1.0, by: Mechanism::Psk }), ..full.clone() };
    let start = |subject: &Subject| -> Result<Running, CliError> {
        let product = if subject.is_apache() { Product::Apache } else { Product::Command };
        let running = product.start(&subject.settings(processes, bench)?)?;
        if !subject.is_apache() {
            until_started(&running, processes)?;
        }
        Ok(running)
    };
    let servers: Vec<Running> = SUBJECTS.iter().map(start).collect::<Result<_, _>>()?;
    let target = |(subject, running): (&Subject, _)| super::servers::of_stock(subject.by, running);
    let mut targets = SUBJECTS.iter().zip(&servers).map(target).collect::<Result<Vec<_>, _>>()?;
    let plan = |subject: &Subject| if subject.place == Place::None { &full } else { &resumed };
    let plans: Vec<&Plan> = SUBJECTS.iter().map(plan).collect();
    let mut rounds: Vec<Measured> = SUBJECTS.iter().map(|_| Measured::default()).collect();
    turns::measure(bench, &plans, &mut targets, &mut rounds)?;
    Ok(rounds)
}

/// Waits until each process has begun the log. A start in the middle of a run would make it invalid.
fn until_started(running: &Running, processes: usize) -> Result<(), CliError> {
    let log = running.access_log().ok_or_else(|| error!("the server has no access log"))?;
    let deadline = Instant::now() + START_LIMIT;
    while Instant::now() < deadline {
        let text = fs::read_to_string(&log).unwrap_or_default();
        if text.matches("\"event\":\"start\"").count() == processes {
            return Ok(());
        }
        thread::sleep(Duration::from_millis(10));
    }
    bail!("a server did not start within {START_LIMIT:?}: is redis-server installed?")
}

/// Returns the command that starts the processes of this program, and Redis on the client's core. The
/// shell writes the settings.
fn command(place: Place, processes: usize, bench: &Bench) -> Result<String, CliError> {
    let program = env::current_exe()?;
    let program = program.display();
    let mut command = String::new();
    let sessions = match place {
        Place::None | Place::Shared | Place::Disk => String::new(),
        Place::Tickets => "resumption = \"tickets\"\nticket_keys = \"keys\"\n".to_owned(),
        Place::Memory => "resumption = \"cache\"\n".to_owned(),
        Place::Redis => {
            let port = std::net::TcpListener::bind("127.0.0.1:0")?.local_addr()?.port();
            let cores = plan::client_cores(bench);
            let on = match &*plan::listed(&cores) {
                "" => String::new(),
                cores => format!("taskset -c {cores} "),
            };
            command += &format!(
                "{on}redis-server --bind 127.0.0.1 --port {port} --save '' --appendonly no \
                 >{{folder}}/redis.log &\nuntil grep -q 'Ready to accept' {{folder}}/redis.log; \
                 do sleep 0.02; done\n"
            );
            format!(
                "resumption = \"cache\"\nticket_keys = \"keys\"\n[sessions.redis]\n\
                 address = \"127.0.0.1:{port}\"\n"
            )
        }
    };
    command += &format!(
        "head -c 240 /dev/urandom >{{folder}}/keys\n\
         cat >{{folder}}/site.toml <<'END'\n\
         address = \"127.0.0.1:{{port}}\"\n\
         shared_port = true\n\
         workers = 1\n\
         access_log = \"{{log}}\"\n\
         {sessions}\
         [[certificate]]\n\
         chain = \"chain.pem\"\n\
         key = \"key.pem\"\n\
         END\n"
    );
    for _ in 1..processes {
        command += &format!("'{program}' serve --config {{folder}}/site.toml &\n");
    }
    Ok(command + &format!("exec '{program}' serve --config {{folder}}/site.toml"))
}

/// Returns the runs, of which some have fewer resumed sessions than planned: processes that do not
/// share sessions refuse those of each other. The table shows the share.
fn believed(mut outcomes: Vec<Outcome>) -> Vec<Outcome> {
    for outcome in &mut outcomes {
        outcome.reasons.retain(|reason| !matches!(reason, Finding::ResumedOffPlan { .. }));
        if outcome.reasons.is_empty() && outcome.verdict == Verdict::Invalid {
            outcome.verdict = Verdict::Valid;
        }
    }
    outcomes
}

/// Returns the row of a server; `None` if a run is invalid or has no CPU time.
fn figures(subject: &Subject, outcomes: &[Outcome]) -> Option<Row> {
    let median = |of: &dyn Fn(&Outcome) -> Option<f64>| {
        median_estimate(&outcomes.iter().map(of).collect::<Option<Vec<f64>>>()?)
    };
    #[allow(clippy::cast_precision_loss, reason = "nanoseconds of a run are below 2^52")]
    let p99 = |outcome: &Outcome| Some(outcome.handshake()?.quantile_ns(0.99)? as f64);
    Some(Row {
        words: subject.words,
        resumed: median(&|outcome| Some(outcome.resumed_share().unwrap_or(0.0)))?,
        per_s: median(&|outcome| outcome.sessions_per_s())?,
        p99_ns: median(&p99)?,
        cpu_ns: median(&|outcome| outcome.server_cpu_ns_per_session())?,
    })
}
