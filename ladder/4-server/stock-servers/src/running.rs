//! A running server.

use core::fmt;
use core::net::SocketAddr;
use core::time::Duration;
use std::fs::{self, OpenOptions};
use std::io;
use std::net::TcpStream;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::thread;
use std::time::Instant;

use tollgate_load::processes_cpu;
use tollgate_server::Certificate;

use crate::error::Error;
use crate::folder::Folder;
use crate::group::Group;
use crate::product::{ACCESS_LOG, Log, Place, Product, Recipe};
use crate::settings::Settings;
use crate::{port, provider};

/// The longest time until a server listens.
const START_TIMEOUT: Duration = Duration::from_secs(10);

/// The longest time until the provider is loaded, after the server listens.
const LOADING_TIMEOUT: Duration = Duration::from_secs(2);

/// Maximum number of ports to try if another process takes a port.
const TRIES: u32 = 3;

/// The file for a server's output.
const OUTPUT: &str = "output";

/// The folder for the counters of the provider.
const METRICS: &str = "metrics";

/// A stock server. Dropping the value kills the server and its children.
pub struct Running {
    // Dropped in this order.
    group: Group,
    folder: Folder,
    _backend: Option<Box<Self>>,
    product: Product,
    address: SocketAddr,
}

impl Product {
    /// Starts the server, and waits until it listens.
    ///
    /// # Errors
    ///
    /// The program is not installed, refuses the settings or the certificate, or does not listen in
    /// time.
    pub fn start(self, settings: &Settings) -> Result<Running, Error> {
        let mut tries = 0;
        loop {
            tries += 1;
            match Running::start(self, settings) {
                Err(Error::Failed { said, .. }) if tries < TRIES && is_taken(&said) => {}
                done => return done,
            }
        }
    }
}

impl Running {
    fn start(product: Product, settings: &Settings) -> Result<Self, Error> {
        let folder = prepare(product, settings)?;
        let backend = (product == Product::Stunnel).then(|| {
            let plain = Settings::new(settings.certificate.clone());
            Self::start(Product::Nginx, &Settings { bodies: settings.bodies.clone(), ..plain })
        });
        let backend = backend.transpose()?.map(Box::new);
        let address = port::free().map_err(Error::io("find a free port for", folder.path()))?;
        let place = Place {
            folder: folder.path(),
            address,
            backend: backend.as_ref().and_then(|nginx| nginx.plain_address()).or(settings.backend),
            settings,
            is_root: rustix::process::geteuid().is_root(),
        };
        let recipe = product.recipe(&place);
        if let Some((name, text)) = &recipe.file {
            folder.write(name, text.as_bytes())?;
        }
        let program = product.program().ok_or(Error::Missing(product))?;
        let mut command = command(product, &program, &recipe, &folder)?;
        command.envs(&settings.environment);
        let group = Group::spawn(&mut command, &settings.cores, folder.path())
            .map_err(Error::io("start", &program))?;
        let mut running = Self { group, folder, _backend: backend, product, address };
        running.listens()?;
        if let Some(module) = &settings.module {
            running.has_loaded(module)?;
        }
        Ok(running)
    }

    /// Waits until the server accepts connections and its log exists: Apache opens the log after
    /// its ports.
    fn listens(&mut self) -> Result<(), Error> {
        let end = Instant::now() + START_TIMEOUT;
        let log = self.access_log();
        loop {
            let connected = log.as_ref().is_none_or(|log| log.exists())
                && TcpStream::connect(self.address).is_ok();
            // This is checked after the connection: if the server has ended, the connection was to
            // another process.
            if self.group.has_ended() || Instant::now() > end {
                let said = self.folder.end_of(OUTPUT);
                let said = if said.is_empty() { "nothing".to_owned() } else { said };
                return Err(Error::Failed { product: self.product, said });
            }
            if connected {
                return Ok(());
            }
            thread::sleep(Duration::from_millis(5));
        }
    }

    /// Waits until a process of the server has loaded the module.
    fn has_loaded(&self, module: &Path) -> Result<(), Error> {
        let module = module.canonicalize().map_err(Error::io("find", module))?;
        let end = Instant::now() + LOADING_TIMEOUT;
        loop {
            let members = self.group.members().map_err(Error::io("list", "/proc".as_ref()))?;
            if members.iter().any(|&process| has_mapped(process, &module)) {
                return Ok(());
            }
            if Instant::now() > end {
                return Err(Error::NotLoaded { product: self.product, module });
            }
            thread::sleep(Duration::from_millis(5));
        }
    }

    /// Returns the product.
    #[must_use]
    pub const fn product(&self) -> Product {
        self.product
    }

    /// Returns the address that it listens on.
    #[must_use]
    pub const fn address(&self) -> SocketAddr {
        self.address
    }

    /// Returns the address for HTTP without TLS, if there is one.
    #[must_use]
    pub fn plain_address(&self) -> Option<SocketAddr> {
        self.product.plain_address(self.address)
    }

    /// Returns the id of the started process. In most products it forks the workers.
    #[must_use]
    pub fn master(&self) -> u32 {
        self.group.leader()
    }

    /// Returns the ids of the serving processes: the children of the master, or the master if it
    /// has none. After a [`reload`](Self::reload) they include old workers until these have
    /// finished.
    ///
    /// # Errors
    ///
    /// `/proc` cannot be read.
    pub fn workers(&self) -> io::Result<Vec<u32>> {
        if self.product.serves_alone() {
            return Ok(vec![self.group.leader()]);
        }
        let mut members = self.group.members()?;
        if members.len() > 1 {
            members.retain(|&process| process != self.group.leader());
        }
        Ok(members)
    }

    /// Returns the CPU time of all processes of the server so far, user and system.
    ///
    /// # Errors
    ///
    /// One of them ended meanwhile, or `/proc` cannot be read.
    pub fn cpu(&self) -> io::Result<Duration> {
        processes_cpu(&self.group.members()?)
    }

    /// Returns the log of handshakes and requests, if there is one, for
    /// [`tollgate_load::AccessLog`].
    #[must_use]
    pub fn access_log(&self) -> Option<PathBuf> {
        let logs = self.product.log() != Log::None;
        logs.then(|| self.folder.path().join(ACCESS_LOG))
    }

    /// Returns the folder, which is removed when the value is dropped.
    #[must_use]
    pub fn folder(&self) -> &Path {
        self.folder.path()
    }

    /// Returns the folder for the counters of the provider: each process writes a file in
    /// Prometheus' text format. If the server runs without the provider, the folder is empty.
    #[must_use]
    pub fn metrics(&self) -> PathBuf {
        self.folder.path().join(METRICS)
    }

    /// Makes the server reload its configuration without losing a connection, as `nginx -s reload`
    /// does. New workers take over some time later.
    ///
    /// # Errors
    ///
    /// [`Error::NotReloadable`], or the master has ended.
    pub fn reload(&self) -> Result<(), Error> {
        let signal = self.product.reload_signal().ok_or(Error::NotReloadable(self.product))?;
        self.group.signal_leader(signal).map_err(Error::io("reload", self.folder.path()))
    }
}

impl fmt::Debug for Running {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} {} at {}", self.product, self.master(), self.address)
    }
}

/// Creates the folder with certificate, key, bodies and `OPENSSL_CONF`.
fn prepare(product: Product, settings: &Settings) -> Result<Folder, Error> {
    let command = settings.command.as_deref().unwrap_or_default();
    let lacks = |place: &&&str| product == Product::Command && !command.contains(**place);
    if let Some(place) = ["{port}", "{log}"].iter().find(lacks) {
        return Err(Error::Command(place));
    }
    if settings.asynchronous && !product.can_pause_handshakes() {
        return Err(Error::NotAsynchronous(product));
    }
    let has_place = |name: &str| {
        name.split_once('.').is_some_and(|(context, _)| product.contexts().contains(&context))
    };
    if let Some(name) = settings.directives.keys().find(|name| !has_place(name)) {
        return Err(Error::Directive { product, name: name.clone() });
    }
    if let Some(&bytes) = settings.bodies.iter().find(|&&n| n > Settings::BODY_BYTES_MAX) {
        return Err(Error::LongBody(bytes));
    }
    if let Some(module) = settings.module.as_deref().filter(|module| !module.is_file()) {
        return Err(Error::NoModule(module.to_owned()));
    }
    let folder = Folder::new(product.word(), settings.parent.as_deref())?;
    let certificate = settings.certificate.to_pem().map_err(Error::Certificate)?;
    if let Certificate::Pem { chain, key } = &certificate {
        let key = settings.stub.as_ref().map_or(&key[..], |stub| stub.as_bytes());
        folder.write("chain.pem", chain)?;
        folder.write_secret("key.pem", key)?;
        folder.write_secret("both.pem", &[chain.as_slice(), key].concat())?;
    }
    folder.make("www")?;
    for &bytes in &settings.bodies {
        let body = "x".repeat(usize::try_from(bytes).unwrap_or_default());
        folder.write(&format!("www/bytes/{bytes}"), body.as_bytes())?;
    }
    folder.open_to_all(METRICS)?;
    let metrics = folder.path().join(METRICS);
    let text = provider::openssl_conf(settings, &metrics);
    folder.write("openssl.cnf", text.as_bytes())?;
    Ok(folder)
}

fn command(
    product: Product,
    program: &Path,
    recipe: &Recipe,
    folder: &Folder,
) -> Result<Command, Error> {
    let open = |name: &str| {
        let path = folder.path().join(name);
        let file = OpenOptions::new().append(true).create(true).open(&path);
        file.map_err(Error::io("open", &path))
    };
    let stdout = if product.log() == Log::Stdout { ACCESS_LOG } else { OUTPUT };
    let mut command = Command::new(program);
    command
        .args(&recipe.arguments)
        .current_dir(folder.path().join(product.working_folder()))
        .env("OPENSSL_CONF", folder.path().join("openssl.cnf"))
        .stdin(Stdio::null())
        .stdout(open(stdout)?)
        .stderr(open(OUTPUT)?);
    Ok(command)
}

/// Returns whether the process has mapped the file.
fn has_mapped(process: u32, file: &Path) -> bool {
    // Fails if the process has ended, or belongs to another user.
    let maps = fs::read_to_string(format!("/proc/{process}/maps")).unwrap_or_default();
    maps.lines().any(|line| line.find('/').is_some_and(|at| Path::new(&line[at..]) == file))
}

/// Returns whether a server's output says that its port is in use.
fn is_taken(said: &str) -> bool {
    let said = said.to_lowercase();
    ["in use", "cannot bind", "bind()", "binding"].iter().any(|words| said.contains(words))
}
