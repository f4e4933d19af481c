//! The calls of a server for one session, as data. Each server has a file in `servers/`.

use std::sync::LazyLock;

use serde::Deserialize;

/// The sequence of a server.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Sequence {
    /// The server's name, as in the names of its contenders: `nginx` in `nginx-openssl`.
    pub(super) name: String,
    /// Where the sequence comes from.
    pub(super) source: String,
    /// `None`: the context is that of the embedded server's connections.
    pub(super) context: Option<Context>,
    pub(super) worker: Worker,
    pub(super) session: Session,
}

/// Settings of the TLS context; all others are OpenSSL's defaults.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Context {
    /// The suites of TLS 1.2, as a list for OpenSSL.
    pub(super) suites: String,
    pub(super) read_ahead: bool,
    pub(super) release_buffers: bool,
    pub(super) session_cache: SessionCache,
}

/// The cache of the server for sessions that a client can resume.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub(super) enum SessionCache {
    Off,
    /// The server's own, to which it gives each session in DER.
    External,
}

/// The event loop and the access log.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Worker {
    /// The maximum number of events of one `epoll_wait`.
    pub(super) events_max: usize,
    /// The maximum number of `accept4` for each event of the listening socket.
    pub(super) accepts_per_event: u32,
    /// New connections are accepted after the turns of the others.
    pub(super) accepts_last: bool,
    /// The maximum number of connections that get a turn between two calls of `epoll_wait`; the
    /// others wait for theirs.
    pub(super) turns_per_wait: usize,
    pub(super) watch: Watch,
    /// Calls before `epoll_wait`, and again after it.
    pub(super) around_wait: Vec<Call>,
    /// The longest time in milliseconds between two writes of the access log.
    pub(super) log_flush_ms: u64,
    /// The line of a session; `{bytes}` is the length of the body.
    pub(super) log_line: String,
}

/// The times at which a connection is in the set of `epoll_wait`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub(super) enum Watch {
    /// From `accept4` on, edge-triggered.
    Always,
    /// While it waits for bytes. Its first turn comes without an event.
    WhileWaiting,
}

/// The calls for one connection.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Session {
    /// The lengths in bytes of what the server allocates for a connection.
    pub(super) connection_bytes: Vec<usize>,
    /// The lengths in bytes of what the server allocates for a request.
    pub(super) request_bytes: Vec<usize>,
    /// Calls at the start of each turn.
    pub(super) at_turn: Vec<Call>,
    pub(super) before_handshake: Vec<Call>,
    /// The length in bytes of the buffer for a request.
    pub(super) read_bytes: usize,
    /// The server calls `SSL_read` again after a whole request.
    pub(super) reads_until_blocked: bool,
    pub(super) before_body: Vec<Call>,
    /// The maximum number of bytes of one `pread64`; without [`Call::Open`] the body is in memory.
    pub(super) file_bytes: usize,
    /// The maximum number of bytes of one `SSL_write`.
    pub(super) record_bytes: usize,
    /// The head of the response; `{bytes}` is the length of the body.
    pub(super) head: String,
    pub(super) at_end: Vec<Call>,
    /// The server reads until its client has closed, before it closes.
    pub(super) lingers: bool,
}

/// A call that not every server makes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub(super) enum Call {
    /// `close` of the body's file.
    CloseFile,
    /// `fstat` of the body's file.
    Fstat,
    /// `openat` of the body's file.
    Open,
    /// `recvfrom` of one byte with `MSG_PEEK`.
    Peek,
    /// `shutdown` of the writing side.
    ShutdownWriting,
    /// `getsockopt` of `SO_ERROR`.
    SocketError,
    /// `SSL_shutdown`, which sends `close_notify`.
    SslShutdown,
    /// `setsockopt` of `TCP_NODELAY`.
    TcpNodelay,
    /// `clock_gettime` of the thread's CPU time.
    ThreadClock,
}

const SERVERS: [&str; 3] = [
    include_str!("../../servers/nginx.toml"),
    include_str!("../../servers/haproxy.toml"),
    include_str!("../../servers/embedded.toml"),
];

/// The name of the sequence of the embedded server.
pub(super) const EMBEDDED: &str = "embedded";

/// All sequences; a test parses each.
static SEQUENCES: LazyLock<Vec<Sequence>> = LazyLock::new(|| {
    let parse = |text| Sequence::parse(text).expect("servers/*.toml is valid");
    SERVERS.into_iter().map(parse).collect()
});

impl Sequence {
    /// The sequence of a server; `None` if there is none for it.
    pub(super) fn new(server: &str) -> Option<&'static Self> {
        SEQUENCES.iter().find(|sequence| sequence.name == server)
    }

    /// The sequence of the embedded server.
    pub(super) fn embedded() -> &'static Self {
        Self::new(EMBEDDED).expect("servers/embedded.toml is one")
    }

    fn parse(text: &str) -> Result<Self, String> {
        let sequence: Self = toml::from_str(text).map_err(|error| error.to_string())?;
        let Session { before_body, file_bytes, record_bytes, read_bytes, .. } = &sequence.session;
        let positive = [*file_bytes, *record_bytes, *read_bytes, sequence.worker.events_max];
        let Worker { accepts_per_event, turns_per_wait, .. } = sequence.worker;
        if positive.contains(&0) || accepts_per_event == 0 || turns_per_wait == 0 {
            return Err("lengths and numbers of events must be at least 1".to_owned());
        }
        if before_body.first().is_some_and(|call| *call != Call::Open) {
            return Err("before_body must begin with \"open\"".to_owned());
        }
        Ok(sequence)
    }
}

/// The text of a head or of a line of the log for a body of `bytes` bytes.
pub(super) fn filled(text: &str, bytes: u64) -> String {
    text.replace("{bytes}", &bytes.to_string())
}

#[cfg(test)]
mod tests {
    use super::*;

    const NGINX: &str = SERVERS[0];

    #[test]
    fn each_server_has_its_sequence() {
        let nginx = Sequence::new("nginx").expect("there is one");
        assert!(nginx.context.as_ref().is_some_and(|context| context.read_ahead));
        assert!(nginx.source.contains("strace"));
        assert_eq!(nginx.session.before_handshake, [Call::Peek, Call::TcpNodelay]);
        assert_eq!(nginx.session.at_end, [Call::CloseFile, Call::SslShutdown]);
        // strace: a body of 14336 bytes was written as one record of 14587 bytes of plaintext.
        let head = filled(&nginx.session.head, 14_336).replace('\n', "\r\n");
        assert_eq!(head.len() + 14_336, 14_587);
        // strace: a record of 14454 bytes, with its content type and tag.
        let haproxy = Sequence::new("haproxy").expect("there is one");
        let head = filled(&haproxy.session.head, 14_336).replace('\n', "\r\n");
        assert_eq!(head.len() + 14_336, 14_454 - 1 - 16);
        assert!(haproxy.session.before_body.is_empty() && !haproxy.session.lingers);
        let embedded = Sequence::new(EMBEDDED).expect("there is one");
        assert!(embedded.context.is_none() && embedded.session.lingers);
        assert!(Sequence::new("lighttpd").is_none());
    }

    #[test]
    fn wrong_sequences_are_refused() {
        for (before, after, word) in [
            ("\"peek\", ", "\"dance\", ", "dance"),
            ("events_max = 512", "events_max = 0", "at least 1"),
            ("\"open\", ", "", "begin with"),
            ("release_buffers = true", "release_bufers = true", "release_bufers"),
            ("[worker]", "[worker", "worker"),
        ] {
            let text = NGINX.replacen(before, after, 1);
            assert_ne!(text, NGINX);
            let error = Sequence::parse(&text).expect_err(after);
            assert!(error.contains(word), "{after}: {error}");
        }
    }
}
