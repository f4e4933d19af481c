//! The options of `tollgate bench URL`.

use std::fs::File;
use std::io::Read as _;
use std::path::{Path, PathBuf};

use clap::Args;
use tollgate_agents::{Address, Controller};
use tollgate_load::{Exchange, LogFormat, Offer, Plan, Protocol, RequestForm};
use tollgate_probe::{Probe, Scheme, Site, Url};
use tollgate_tls_client::Group;

use crate::error::CliError;
use crate::options::nats::NatsOptions;

#[derive(Args, Clone, Debug, Default)]
#[command(next_help_heading = "Server at a URL")]
pub(crate) struct Given {
    /// Server to load instead of the two embedded ones: on this machine or in a private network, or
    /// elsewhere with its consent (see --i-may-test)
    #[arg(value_name = "URL", conflicts_with_all = ["bytes", "server", "server_cores", "engine"])]
    #[arg(conflicts_with_all = ["key-type", "module", "asynchronous"])]
    pub(crate) target: Option<Url>,

    /// Host name of the URL, to confirm that you may load-test a server that is neither on this
    /// machine nor in a private network; the server must consent too, at
    /// /.well-known/tollgate-consent
    #[arg(long, value_name = "HOST", requires = "target")]
    pub(crate) i_may_test: Option<String>,

    /// Access log of the server, to check the client's counts (formats: docs/bench-url.md)
    #[arg(long, value_name = "FILE", requires = "target")]
    pub(crate) log: Option<PathBuf>,

    /// Format of --log: own, nginx, apache or haproxy [default: detected]
    #[arg(long, value_name = "FORMAT", requires = "log", value_parser = format)]
    pub(crate) log_format: Option<LogFormat>,

    /// Process IDs of the server, separated by commas, to measure its CPU time
    #[arg(long, value_name = "LIST", value_delimiter = ',', requires = "target")]
    #[arg(value_parser = process)]
    pub(crate) pid: Vec<u32>,

    /// Control group of the server, to measure its CPU time: a folder of /sys/fs/cgroup, or its
    /// path below that
    #[arg(long, value_name = "PATH", requires = "target", conflicts_with = "pid")]
    pub(crate) cgroup: Option<PathBuf>,

    /// Method of the requests; the server must answer with status 200 [default: GET, with --body
    /// POST]
    #[arg(long, value_name = "METHOD", requires = "target", value_parser = method)]
    pub(crate) method: Option<String>,

    /// Header field of the requests, as in 'Accept: text/html'; may be repeated
    #[arg(short = 'H', long, value_name = "NAME: VALUE", requires = "target")]
    #[arg(value_parser = header)]
    pub(crate) header: Vec<String>,

    /// Body of the requests: TEXT, or the content of a file as @FILE; at most 1 MiB
    #[arg(short = 'd', long, value_name = "TEXT|@FILE", requires = "target")]
    pub(crate) body: Option<String>,

    /// Agents that load the server instead of this process, nats:FLEET/COUNT: as many 'tollgate
    /// agent' of the fleet; each has a thread on each of --client-cores, or one thread
    #[arg(long, value_name = "ADDRESS", requires_all = ["target", "nats"])]
    pub(crate) agents: Option<Address>,

    #[command(flatten)]
    pub(crate) nats: NatsOptions,

    /// Filled in by a request to the URL.
    #[arg(skip)]
    pub(crate) probed: Option<Probed>,
}

impl Given {
    pub(crate) fn body_file(&self) -> Option<&Path> {
        self.body.as_ref()?.strip_prefix('@').map(Path::new)
    }

    /// Returns the number of agents.
    pub(crate) fn agent_count(&self) -> usize {
        self.agents.as_ref().map_or(0, |address| address.count)
    }

    /// Returns method, header fields and body of the requests; reads the file of the body.
    pub(crate) fn request_form(&self) -> Result<RequestForm, CliError> {
        let body = match (self.body_file(), &self.body) {
            (Some(path), _) => read(path)?,
            (None, Some(text)) => text.clone().into_bytes(),
            (None, None) => Vec::new(),
        };
        let usual = if self.body.is_some() { "POST" } else { "GET" };
        let wrong = |flag: &'static str| move |why| error!("{flag}: {why}");
        let method = self.method.as_deref().unwrap_or(usual);
        let mut form = RequestForm::default().with_method(method).map_err(wrong("--method"))?;
        for field in &self.header {
            form = form.with_field(field).map_err(wrong("--header"))?;
        }
        form.with_body(body).map_err(wrong("--body"))
    }
}

/// A server that consented to the load, and its abilities.
#[derive(Clone, Debug)]
pub(crate) struct Probed {
    pub(crate) site: Site,
    pub(crate) probe: Probe,
    /// The protocol to measure if the options name none.
    pub(crate) choice: Option<(Protocol, Offer)>,
    /// The agents that load it, if there are any.
    pub(crate) agents: Option<Controller>,
}

impl Probed {
    /// Returns whether the server speaks HTTP without TLS.
    pub(crate) fn is_plain(&self) -> bool {
        self.site.url().scheme() == Scheme::Http
    }

    /// Returns the protocol to measure if the options name none.
    pub(crate) fn choice(&self) -> (Protocol, Offer) {
        // HTTP without TLS does not use it
        self.choice.clone().unwrap_or((Protocol::Tls13, Offer::default()))
    }

    /// Returns the hybrid group, if the server has it.
    pub(crate) fn hybrid(&self) -> Option<Group> {
        let groups = self.probe.support.iter().flat_map(|support| &support.groups);
        groups.copied().find(|group| group.is_kem())
    }

    /// Returns the type of the server's key, as record subjects spell it.
    pub(crate) fn key(&self) -> String {
        let first = self.probe.support.as_ref().and_then(|support| support.keys.first());
        first.cloned().unwrap_or_else(|| "none".to_owned())
    }

    /// Checks that the server supports a plan. An error names the option to change.
    pub(crate) fn check(&self, plan: &Plan) -> Result<(), CliError> {
        let url = self.site.url();
        if has_bytes(plan) && !url.path().starts_with("/bytes/") {
            bail!("{url}: bodies of many sizes are requested as /bytes/N: give such a URL");
        }
        match self.probe.unmet(plan) {
            None => Ok(()),
            Some(unmet) => Err(error!("{url}: {unmet}")),
        }
    }
}

/// Returns whether clients request bodies other than the URL's.
fn has_bytes(plan: &Plan) -> bool {
    matches!(plan.exchange, Exchange::Sizes(_))
}

/// Reads a file, but not much more than a body may have.
fn read(path: &Path) -> Result<Vec<u8>, CliError> {
    let mut bytes = Vec::new();
    let most = RequestForm::BODY_BYTES_MAX as u64 + 1;
    let read = File::open(path).and_then(|file| file.take(most).read_to_end(&mut bytes));
    read.map_err(CliError::at(path))?;
    Ok(bytes)
}

fn process(text: &str) -> Result<u32, &'static str> {
    // `pgrep` prints nothing if no process has the name
    let why = "give process IDs as in 4242,4243; is the server running?";
    text.parse().ok().filter(|&id| id > 0).ok_or(why)
}

fn method(text: &str) -> Result<String, &'static str> {
    RequestForm::default().with_method(text).map(|_| text.to_owned())
}

fn header(text: &str) -> Result<String, &'static str> {
    RequestForm::default().with_field(text).map(|_| text.to_owned())
}

fn format(text: &str) -> Result<LogFormat, String> {
    let found = LogFormat::ALL.into_iter().find(|format| format.name() == text);
    found.ok_or_else(|| "give own, nginx, apache or haproxy".to_owned())
}
