//! The minimum cost of a handshake to a client: the cost of the handshake's bytes over loopback,
//! without TLS.

use tollgate_bench::median_estimate;
use tollgate_load::{Context, Protocol};
use tollgate_record::vocabulary as word;
use tollgate_record::{Record, Subject, Unit};
use tollgate_server::in_memory::Worker;
use tollgate_server::{Certificate, Config, Engine, KeyKind};

use crate::error::Error;
use crate::in_memory::Stage;
use crate::plan::{Session, primitive};
use crate::system::Replay;

const NOTE: &str = "the bytes of a handshake of TLS 1.2 over loopback, sockets and event loop as \
                    in the load generator, no TLS; the server computes for as long as a \
                    handshake takes it; softirqs of both sides that run in the client's calls \
                    included";

/// Measures the CPU time that a client spends on TCP alone in a TLS 1.2 handshake. Returns the
/// median of `replays` replays, in nanoseconds per handshake. The load generator's
/// `client_cpu_ns_per_session` includes TLS as well.
///
/// # Errors
///
/// [`Error::Plan`] for TLS 1.3, because a recording does not show where its handshake ends. Any
/// other [`Error`] prints as one line with advice.
pub fn bare_client(
    protocol: Protocol,
    key: KeyKind,
    replays: u32,
    context: &Context,
) -> Result<Record, Error> {
    if protocol == Protocol::Tls13 {
        return Err(Error::Plan("a bare client speaks the bytes of TLS 1.2"));
    }
    let worker = Worker::new(&Config {
        engine: Engine::Tollgate,
        certificate: Certificate::SelfSigned(key),
        allow_rsa_kx: protocol == Protocol::Tls12Rsa,
        ..Config::default()
    })?;
    let session = Session::new(key, protocol, Engine::Tollgate, 0);
    let mut stage = Stage::new(session, &worker)?;
    stage.play()?;
    let replay = Replay::of_handshake(&stage.record()?)?;
    replay.play()?; // warm-up: the caches are cold
    let played = (0..replays).map(|_| replay.play());
    let nanos = |client: core::time::Duration| 1e9 * client.as_secs_f64();
    let nanos =
        played.map(|played| Ok(nanos(played?.client))).collect::<Result<Vec<f64>, Error>>()?;
    let estimate = median_estimate(&nanos).ok_or(Error::Plan("at least one replay"))?;
    let topic = primitive("client-system", session.service());
    let subject = Subject::new(topic).map_err(Error::figure)?;
    let subject = subject.with(word::EXCHANGE, word::HANDSHAKE).map_err(Error::figure)?;
    let figure = (Unit::Nanos, estimate);
    let more = [(word::ASSUMPTION.to_owned(), NOTE.to_owned())];
    context.measured(subject, word::CLIENT_CPU_NS_PER_SESSION, figure, more).map_err(Error::figure)
}
