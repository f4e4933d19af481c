//! Sessions in memory whose client is libssl too, to measure the client's end.

use openssl::error::ErrorStack;
use openssl::ssl::{
    ErrorCode, Ssl, SslContext, SslContextBuilder, SslOptions, SslSessionCacheMode, SslStream,
    SslVersion,
};
use tollgate_server::in_memory::{self, Turn, Worker};

use crate::error::Error;
use crate::handshake::Handshake;
use crate::in_memory::{Requests, Responses, number, turn, with_clock};
use crate::pipe::{Lap, Pipe};
use crate::plan::Session;
use crate::workers::Served;

/// As much as libssl returns in one call.
const RECORD_BYTES_MAX: usize = 16 * 1024;

/// A server in memory and clients on libssl.
pub(crate) struct Pair<'w> {
    session: Session,
    worker: &'w Worker,
    context: SslContext,
    requests: Requests,
    /// The number of connections in flight.
    connections: usize,
}

/// A session in progress.
struct Link<'w> {
    client: SslStream<Pipe>,
    is_established: bool,
    server: in_memory::Connection<'w, Pipe>,
    responses: Responses,
}

impl<'w> Pair<'w> {
    /// A pair for a session without resumption; `None` for other sessions.
    pub(crate) fn new(
        session: Session,
        served: &'w Served,
        connections: usize,
    ) -> Result<Option<Self>, Error> {
        let Some(server) =
            served.certificates.of_server().filter(|_| !session.handshake.is_resumed())
        else {
            return Ok(None);
        };
        let own =
            served.certificates.of_client().filter(|_| session.handshake == Handshake::Mutual);
        let worker = &served.worker;
        let mut context = worker.client_context(server, own)?;
        offer(&mut context, &session)?;
        let (context, requests) = (context.build(), Requests::new(&session));
        Ok(Some(Self { session, worker, context, requests, connections }))
    }

    /// Plays the sessions in flight, in turns. Returns the core cycles of each client in libssl.
    pub(crate) fn play(&self) -> Result<Vec<f64>, Error> {
        let (ticks, cycles_per_tick) = with_clock(|| self.run())?;
        Ok(ticks?.into_iter().map(|ticks| number(ticks) * cycles_per_tick).collect())
    }

    fn run(&self) -> Result<Vec<u64>, Error> {
        let links = (0..self.connections).map(|_| self.begin().map(Some));
        let mut links: Vec<Option<Link<'_>>> = links.collect::<Result<_, _>>()?;
        let mut done = Vec::with_capacity(self.connections);
        while done.len() < self.connections {
            for place in &mut links {
                let Some(link) = place else { continue };
                self.advance(link)?;
                if link.responses.are_complete(&self.requests) {
                    done.extend(place.take().map(|link| self.finish(link)));
                }
            }
        }
        done.into_iter().collect()
    }

    fn begin(&self) -> Result<Link<'w>, Error> {
        let mut pipe = Pipe::new(false);
        pipe.start();
        let made = Ssl::new(&self.context).and_then(|ssl| SslStream::new(ssl, pipe));
        let mut client = made.map_err(Error::openssl("a connection"))?;
        client.get_mut().stop();
        let server = self.worker.accept(Pipe::new(false))?;
        Ok(Link { client, is_established: false, server, responses: Responses::default() })
    }

    /// Gives the client a turn, and then the server.
    fn advance(&self, link: &mut Link<'_>) -> Result<(), Error> {
        self.turn(link).map_err(|error| self.strange(&error.to_string()))?;
        let Link { client, server, .. } = link;
        client.get_mut().receive(|bytes| server.transport().send(Lap::Data, bytes));
        turn(server, Turn::Wait).map_err(|why| self.strange(why))?;
        server.transport().receive(|bytes| client.get_mut().send(Lap::Data, bytes));
        Ok(())
    }

    /// Lets the client continue until it waits for the server.
    fn turn(&self, link: &mut Link<'_>) -> Result<(), openssl::ssl::Error> {
        let Link { client, is_established, responses, .. } = link;
        if !*is_established && timed(client, SslStream::connect)?.is_none() {
            return Ok(());
        }
        *is_established = true;
        let mut record = [0; RECORD_BYTES_MAX];
        loop {
            if let Some(request) = responses.request(&self.requests) {
                timed(client, |client| client.ssl_write(request))?;
            }
            match timed(client, |client| client.ssl_read(&mut record))? {
                Some(count) => responses.read(&record[..count]),
                None => return Ok(()),
            }
        }
    }

    fn finish(&self, link: Link<'_>) -> Result<u64, Error> {
        let Link { mut client, mut server, .. } = link;
        server.transport().reset();
        while !turn(&mut server, Turn::Close).map_err(|why| self.strange(why))? {}
        Ok(client.get_mut().ticks().iter().sum())
    }

    fn strange(&self, why: &str) -> Error {
        Error::Session { session: self.session.to_string(), why: why.to_owned() }
    }
}

/// Calls libssl with the clock of the client's time. Returns `None` if it waits for the server.
fn timed<R>(
    client: &mut SslStream<Pipe>,
    call: impl FnOnce(&mut SslStream<Pipe>) -> Result<R, openssl::ssl::Error>,
) -> Result<Option<R>, openssl::ssl::Error> {
    client.get_mut().start();
    let result = call(client);
    client.get_mut().stop();
    match result {
        Err(error) if error.code() == ErrorCode::WANT_READ => Ok(None),
        // the server's close_notify after the last response
        Err(error) if error.code() == ErrorCode::ZERO_RETURN => Ok(None),
        result => result.map(Some),
    }
}

/// Restricts the client to the session's version, suite and groups.
fn offer(context: &mut SslContextBuilder, session: &Session) -> Result<(), Error> {
    let settings = session.settings()?;
    let unknown = |_| Error::Plan("the server speaks the suite and the group");
    let suite: tollgate_server::Suite = settings.suite.name().parse().map_err(unknown)?;
    let is_tls13 = settings.suite.is_tls13();
    let version = if is_tls13 { SslVersion::TLS1_3 } else { SslVersion::TLS1_2 };
    let groups = settings.groups.iter().map(|group| group.name().parse());
    let groups: Vec<tollgate_server::Group> = groups.collect::<Result<_, _>>().map_err(unknown)?;
    let groups: Vec<&str> = groups.iter().map(|group| group.openssl_name()).collect();
    let set = |context: &mut SslContextBuilder| -> Result<(), ErrorStack> {
        context.set_session_cache_mode(SslSessionCacheMode::OFF);
        context.set_options(SslOptions::NO_TICKET);
        context.set_min_proto_version(Some(version))?;
        context.set_max_proto_version(Some(version))?;
        match is_tls13 {
            true => context.set_ciphersuites(suite.openssl_name())?,
            false => context.set_cipher_list(suite.openssl_name())?,
        }
        context.set_groups_list(&groups.join(":"))
    };
    set(context).map_err(Error::openssl("the settings of a client"))
}

#[cfg(test)]
mod tests {
    use tollgate_load::Protocol;
    use tollgate_server::{Engine, KeyKind};

    use super::*;
    use crate::plan::SessionPlan;
    use crate::workers::Workers;

    const COUNT: usize = 16;

    #[test]
    fn libssl_verifies_a_chain_and_presents_one() {
        let usual = Session::new(KeyKind::EcdsaP256, Protocol::Tls13, Engine::OpenSsl, 40_000);
        let mutual = Session { handshake: Handshake::Mutual, chain: Some(3), ..usual };
        let old = Session { protocol: Protocol::Tls12X25519, requests: 3, ..mutual };
        let total = core::time::Duration::from_secs(1);
        let plan = SessionPlan::new(vec![usual, mutual, old], total);
        let plan = SessionPlan { both_ends: true, ..plan };
        let workers = Workers::of(&plan).unwrap();
        let cost = |session: Session| {
            let pair = Pair::new(session, workers.of_session(&session), COUNT).unwrap().unwrap();
            pair.play().unwrap(); // warm-up
            let mut costs = pair.play().unwrap();
            assert_eq!(costs.len(), COUNT, "{session}");
            costs.sort_by(f64::total_cmp);
            costs[COUNT / 2]
        };
        let costs = plan.sessions.iter().map(|session| cost(*session)).collect::<Vec<_>>();
        assert!(costs.iter().all(|cost| *cost > 0.0), "{costs:?}");
        // A client of another root is refused.
        let (session, other) = (plan.sessions[1], plan.sessions[0]);
        let mut pair = Pair::new(session, workers.of_session(&session), COUNT).unwrap().unwrap();
        pair.worker = &workers.of_session(&other).worker;
        let error = pair.play().unwrap_err().to_string();
        assert!(error.contains("certificate"), "{error}");
        let resumed = Session { handshake: Handshake::Ticket, ..usual };
        assert!(Pair::new(resumed, workers.of_session(&usual), COUNT).unwrap().is_none());
    }
}
