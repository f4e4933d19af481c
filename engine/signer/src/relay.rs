//! Operations with keys that are elsewhere: a worker sends them to upstream signers, and takes the first
//! right answer, or gives them to a token.
//!
//! An operation goes to the first signer that is there. If its answer takes longer than usual, a second
//! signer is asked too. If a connection ends, the next signer gets its operations. A refusal is final
//! unless another signer is still asked. A signature is checked before it is used.

mod checking;
mod failure;
mod hedging;
mod in_token;
mod plan;
mod upstream;

use core::sync::atomic::Ordering;
use std::collections::{BTreeSet, HashMap};
use std::sync::Arc;
use std::time::Instant;

use mio::{Registry, Token, Waker};
use tollgate_keyless::{ErrorCode, Message, Operation, Ski};
use zeroize::Zeroizing;

pub(crate) use self::checking::{Checker, Claim, suits};
use self::failure::Failure;
use self::hedging::Hedging;
use self::in_token::Inbox;
pub(crate) use self::plan::Plan;
use self::upstream::{News, PING_ID, Upstream};
use crate::account::Relayed;
use crate::keys::Key;
use crate::shared::Shared;
use crate::token::Trouble;

/// The operations of a worker that upstream signers or tokens have, and its connections to the signers.
pub(crate) struct Relay {
    shared: Arc<Shared>,
    plan: Option<Arc<Plan>>,
    upstreams: Vec<Upstream>,
    hedging: Option<Hedging>,
    exchanges: HashMap<u32, Exchange>,
    /// The times at which something is to be done for an operation: each has one.
    times: BTreeSet<(Instant, u32)>,
    /// Operations that wait for a connection.
    unplaced: Vec<u32>,
    /// Results that are not checked yet: the signer, the number and the result.
    results: Vec<(usize, u32, Zeroizing<Vec<u8>>)>,
    ended: Vec<Ended>,
    last_id: u32,
    checker: Checker,
    /// The results of tokens.
    inbox: Arc<Inbox>,
}

/// The token of the connection to the first signer; the next one has the token before it, and so on.
const FIRST_TOKEN: usize = usize::MAX - 4;

/// The place where an answer is to go: a connection, and the number of its request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Origin {
    pub(crate) connection: usize,
    pub(crate) id: u32,
}

/// An operation that waits for an answer.
struct Exchange {
    origin: Origin,
    operation: Operation,
    key: Arc<Key>,
    input: Vec<u8>,
    deadline: Instant,
    /// The time of its entry in `times`.
    due: Instant,
    /// The signers that are not to be asked again, and those that have not answered: a bit for each.
    asked: u8,
    open: u8,
    /// The number of requests for it.
    requests: u8,
    /// The signer that was asked because another one was slow.
    hedge: Option<usize>,
    /// The last refusal, and the signer that gave it.
    refusal: Option<(String, ErrorCode)>,
    /// None in a token, whose job has it.
    _relayed: Option<Relayed>,
}

/// The maximum number of requests for an operation, whose connections end one after the other.
const REQUESTS_MAX: u8 = 4;

impl Exchange {
    fn new(
        origin: Origin,
        (key, operation, input): (&Arc<Key>, Operation, &[u8]),
        (deadline, due): (Instant, Instant),
        relayed: Option<Relayed>,
    ) -> Self {
        Self {
            origin,
            operation,
            key: Arc::clone(key),
            input: input.to_vec(),
            deadline,
            due,
            asked: 0,
            open: 0,
            requests: 0,
            hedge: None,
            refusal: None,
            _relayed: relayed,
        }
    }

    fn claim<'a>(&'a self, result: &'a [u8]) -> Option<Claim<'a>> {
        let key = self.key.upstream()?;
        Some(Claim { key, operation: self.operation, input: &self.input, result })
    }
}

/// An operation that has ended.
pub(crate) struct Ended {
    pub(crate) origin: Origin,
    pub(crate) operation: Operation,
    pub(crate) ski: Ski,
    pub(crate) input: Vec<u8>,
    pub(crate) end: End,
}

/// The end of an operation.
pub(crate) enum End {
    /// A signer has decided, or a token.
    Answer { signer: Option<String>, result: Result<Zeroizing<Vec<u8>>, ErrorCode> },
    /// No signer did it, or the token did not in time.
    Absent,
}

impl Relay {
    pub(crate) fn new(shared: Arc<Shared>, waker: Arc<Waker>) -> Result<Self, tollgate_rsa::Error> {
        let checker = Checker::new()?;
        Ok(Self {
            shared,
            plan: None,
            upstreams: Vec::new(),
            hedging: None,
            exchanges: HashMap::new(),
            times: BTreeSet::new(),
            unplaced: Vec::new(),
            results: Vec::new(),
            ended: Vec::new(),
            last_id: PING_ID,
            checker,
            inbox: Inbox::new(waker),
        })
    }

    /// Takes another plan. Operations in flight are sent again, over new connections.
    pub(crate) fn follow(&mut self, plan: Option<&Arc<Plan>>) {
        let is_same = match (&self.plan, plan) {
            (Some(old), Some(new)) => Arc::ptr_eq(old, new),
            (None, None) => true,
            _ => false,
        };
        if is_same {
            return;
        }
        let connect = |plan: &Arc<Plan>| {
            (0..plan.statuses.len()).map(|number| Upstream::new(number, plan)).collect()
        };
        self.upstreams = plan.map_or_else(Vec::new, connect);
        self.hedging = plan.map(|plan| Hedging::new(&plan.settings));
        self.plan = plan.map(Arc::clone);
        let sent = self.exchanges.iter_mut().filter(|(_, it)| it.key.upstream().is_some());
        self.unplaced = sent
            .map(|(id, exchange)| {
                (exchange.asked, exchange.open, exchange.hedge) = (0, 0, None);
                *id
            })
            .collect();
    }

    /// Takes an operation with a key of upstream signers, or in a token.
    pub(crate) fn submit(
        &mut self,
        origin: Origin,
        (key, operation, input): (&Arc<Key>, Operation, &[u8]),
        relayed: Relayed,
    ) -> Result<(), ErrorCode> {
        if let Some(in_token) = key.in_token() {
            let deadline = self.give_to_token((key, in_token), operation, input, relayed)?;
            let exchange =
                Exchange::new(origin, (key, operation, input), (deadline, deadline), None);
            self.add(self.last_id, exchange);
            return Ok(());
        }
        if !key.upstream().is_some_and(|public| suits(public, operation, input)) {
            return Err(ErrorCode::Crypto);
        }
        let (Some(plan), Some(hedging)) = (&self.plan, &mut self.hedging) else {
            return Err(ErrorCode::Internal);
        };
        hedging.requested();
        let now = Instant::now();
        let deadline = now + plan.settings.limit;
        let due = deadline.min(now + hedging.delay());
        let id = self.next_id();
        let exchange =
            Exchange::new(origin, (key, operation, input), (deadline, due), Some(relayed));
        self.add(id, exchange);
        self.place(id, now);
        Ok(())
    }

    fn add(&mut self, id: u32, exchange: Exchange) {
        self.times.insert((exchange.due, id));
        self.exchanges.insert(id, exchange);
    }

    /// Returns a number that no answer can have.
    fn next_id(&mut self) -> u32 {
        loop {
            self.last_id = self.last_id.wrapping_add(1);
            let id = self.last_id;
            let is_used = |upstream: &Upstream| upstream.has_asked(id);
            if id != PING_ID
                && !self.exchanges.contains_key(&id)
                && !self.upstreams.iter().any(is_used)
            {
                return id;
            }
        }
    }

    /// Sends an operation to the next signer that is there. If none is, the operation waits for one that
    /// is connecting, or ends.
    fn place(&mut self, id: u32, now: Instant) {
        let Some(exchange) = self.exchanges.get_mut(&id) else { return };
        if exchange.open != 0 || exchange.refusal.is_some() || exchange.requests >= REQUESTS_MAX {
            return self.end_if_answered(id);
        }
        if self.send_to_next(id, now).is_some() {
            return;
        }
        let Some(exchange) = self.exchanges.get(&id) else { return };
        let may = |(number, upstream): (usize, &Upstream)| {
            exchange.asked & bit(number) == 0 && upstream.is_coming(now)
        };
        if self.upstreams.iter().enumerate().any(may) {
            self.unplaced.push(id);
        } else {
            self.end(id, End::Absent);
        }
    }

    /// Sends an operation to the next signer that was not asked, and returns its number. A signer that
    /// is late is the last choice: it may be gone.
    fn send_to_next(&mut self, id: u32, now: Instant) -> Option<usize> {
        let exchange = self.exchanges.get_mut(&id)?;
        let late = 2 * self.hedging.as_ref()?.delay();
        let may = |(number, upstream): &(usize, &Upstream)| {
            exchange.asked & bit(*number) == 0 && upstream.takes()
        };
        let choices = || self.upstreams.iter().enumerate().filter(may);
        let in_time = choices().find(|(_, upstream)| !upstream.is_late(late, now));
        let (number, _) = in_time.or_else(|| choices().next())?;
        let upstream = &mut self.upstreams[number];
        exchange.asked |= bit(number);
        exchange.open |= bit(number);
        exchange.requests += 1;
        let (opcode, ski) = (exchange.operation.code(), Some(exchange.key.ski));
        upstream.ask(&Message { id, opcode, ski, payload: &exchange.input }, now);
        Some(number)
    }

    /// Ends an operation that no signer has any more: with the refusal, if there was one.
    fn end_if_answered(&mut self, id: u32) {
        let Some(exchange) = self.exchanges.get_mut(&id).filter(|exchange| exchange.open == 0)
        else {
            return;
        };
        let refused = |(signer, why)| End::Answer { signer: Some(signer), result: Err(why) };
        let end = exchange.refusal.take().map_or(End::Absent, refused);
        self.end(id, end);
    }

    fn end(&mut self, id: u32, end: End) {
        if let Some(exchange) = self.remove(id) {
            let Exchange { origin, operation, key, input, .. } = exchange;
            self.ended.push(Ended { origin, operation, ski: key.ski, input, end });
        }
    }

    fn remove(&mut self, id: u32) -> Option<Exchange> {
        let exchange = self.exchanges.remove(&id)?;
        self.times.remove(&(exchange.due, id));
        Some(exchange)
    }

    /// Forgets the operations of a connection that has ended, and returns them.
    pub(crate) fn abandon(&mut self, connection: usize) -> Vec<(Operation, Ski)> {
        let is_its = |exchange: &Exchange| exchange.origin.connection == connection;
        let its = self.exchanges.iter().filter(|(_, it)| is_its(it)).map(|(id, _)| *id);
        let its: Vec<u32> = its.collect();
        let removed = its.into_iter().filter_map(|id| self.remove(id));
        removed.map(|exchange| (exchange.operation, exchange.key.ski)).collect()
    }

    /// Returns the time of the next step without an event.
    pub(crate) fn due(&self) -> Option<Instant> {
        let connections = self.upstreams.iter().map(Upstream::due);
        connections.chain(self.times.first().map(|(due, _)| *due)).min()
    }

    /// Takes an event, if it is one of the connections.
    pub(crate) fn wake(&mut self, Token(token): Token) {
        let number = FIRST_TOKEN.checked_sub(token);
        if let Some(upstream) = number.and_then(|number| self.upstreams.get_mut(number)) {
            upstream.wake();
        }
    }

    /// Goes on with all connections, and returns the operations that have ended.
    pub(crate) fn turn(&mut self, registry: &Registry) -> Vec<Ended> {
        let mut news = Vec::new();
        for number in 0..self.upstreams.len() {
            self.upstreams[number].turn(registry, Token(FIRST_TOKEN - number), &mut news);
            news.drain(..).for_each(|it| self.take(number, it));
        }
        self.check();
        self.take_results();
        let now = Instant::now();
        for id in core::mem::take(&mut self.unplaced) {
            self.place(id, now);
        }
        while self.times.first().is_some_and(|(due, _)| *due <= now)
            && let Some((_, id)) = self.times.pop_first()
        {
            self.expire(id, now);
        }
        for number in 0..self.upstreams.len() {
            self.upstreams[number].send(&mut news);
            news.drain(..).for_each(|it| self.take(number, it));
        }
        core::mem::take(&mut self.ended)
    }

    fn take(&mut self, number: usize, news: News) {
        let status = self.upstreams[number].status();
        match news {
            News::Opened => {
                if status.is_reported.swap(false, Ordering::Relaxed) {
                    (self.shared.say)(&format!("the signer {} is there again", status.name()));
                }
            }
            News::Answer { id, took, reply } => {
                if let Some(hedging) = &mut self.hedging {
                    hedging.answered(took);
                }
                match reply {
                    Ok(result) => self.results.push((number, id, result)),
                    Err(why) => self.refuse(number, id, why),
                }
            }
            News::Ended { ids, why } => {
                let is_news = !matches!(why, Failure::Ended)
                    && !status.is_reported.swap(true, Ordering::Relaxed);
                if is_news || matches!(why, Failure::Wrong) {
                    (self.shared.say)(&format!("the signer {} {why}", status.name()));
                }
                self.lost(number, &ids, why.may_ask_again());
            }
        }
    }

    /// Sends the operations of a connection that has ended to other signers.
    fn lost(&mut self, number: usize, ids: &[u32], may_ask_again: bool) {
        let now = Instant::now();
        for id in ids {
            let Some(exchange) = self.exchanges.get_mut(id) else { continue };
            self.upstreams[number].status().lost.fetch_add(1, Ordering::Relaxed);
            exchange.open &= !bit(number);
            if may_ask_again {
                exchange.asked &= !bit(number);
            }
            self.place(*id, now);
        }
    }

    /// Checks the results of this turn, and ends their operations, unless they have ended before.
    fn check(&mut self) {
        let results = core::mem::take(&mut self.results);
        // The operation may have ended before.
        let claims: Vec<Option<Claim<'_>>> = results
            .iter()
            .map(|(_, id, result)| self.exchanges.get(id).and_then(|it| it.claim(result)))
            .collect();
        let has_claim: Vec<bool> = claims.iter().map(Option::is_some).collect();
        let claims: Vec<Claim<'_>> = claims.into_iter().flatten().collect();
        let mut are_right = self.checker.are_right(&claims).into_iter();
        for ((number, id, result), has_claim) in results.into_iter().zip(has_claim) {
            let is_right = has_claim && are_right.next().unwrap_or(false);
            let Some(exchange) = self.exchanges.get_mut(&id) else { continue };
            exchange.open &= !bit(number);
            let status = self.upstreams[number].status();
            if is_right {
                status.done.fetch_add(1, Ordering::Relaxed);
                if exchange.hedge == Some(number) {
                    self.shared.counters.relay.hedges_won.fetch_add(1, Ordering::Relaxed);
                }
                let signer = Some(status.name().to_owned());
                self.end(id, End::Answer { signer, result: Ok(result) });
            } else {
                status.wrong.fetch_add(1, Ordering::Relaxed);
                let mut news = Vec::new();
                self.upstreams[number].end(Failure::Wrong, &mut news);
                news.into_iter().for_each(|it| self.take(number, it));
                self.place(id, Instant::now());
            }
        }
    }

    /// Takes the refusal of a signer, unless another one has answered before.
    fn refuse(&mut self, number: usize, id: u32, why: ErrorCode) {
        let Some(exchange) = self.exchanges.get_mut(&id) else { return };
        exchange.open &= !bit(number);
        let status = self.upstreams[number].status();
        status.refused.fetch_add(1, Ordering::Relaxed);
        match why {
            ErrorCode::Crypto
            | ErrorCode::KeyNotFound
            | ErrorCode::OverRate
            | ErrorCode::BadOpcode => {
                exchange.refusal = Some((status.name().to_owned(), why));
            }
            // The signer failed: another one may do it.
            _ => {}
        }
        self.place(id, Instant::now());
    }

    /// Asks a second signer, or ends an operation whose time is over. Its entry in `times` was removed.
    fn expire(&mut self, id: u32, now: Instant) {
        let Some(exchange) = self.exchanges.get_mut(&id) else { return };
        if exchange.deadline <= now {
            if let Some(key) = exchange.key.in_token()
                && let Some(line) = key.report(Some(&Trouble::Late))
            {
                (self.shared.say)(&line);
            }
            let open = core::mem::take(&mut exchange.open);
            for (number, upstream) in self.upstreams.iter().enumerate() {
                let is_lost = open & bit(number) != 0;
                upstream.status().lost.fetch_add(is_lost.into(), Ordering::Relaxed);
            }
            self.unplaced.retain(|other| *other != id);
            return self.end_if_answered(id);
        }
        exchange.due = exchange.deadline;
        self.times.insert((exchange.due, id));
        let may = exchange.open != 0 && exchange.requests < REQUESTS_MAX;
        let is_asked = |number| exchange.asked & bit(number) != 0;
        let mut upstreams = self.upstreams.iter().enumerate();
        let has_other = upstreams.any(|(number, it)| !is_asked(number) && it.takes());
        let Some(hedging) = self.hedging.as_mut().filter(|_| may && has_other) else {
            return;
        };
        let counters = &self.shared.counters.relay;
        if !hedging.may() {
            counters.hedges_withheld.fetch_add(1, Ordering::Relaxed);
            return;
        }
        counters.hedges.fetch_add(1, Ordering::Relaxed);
        let second = self.send_to_next(id, now);
        if let Some(exchange) = self.exchanges.get_mut(&id) {
            exchange.hedge = second;
        }
    }
}

/// Returns the bit of a signer. There are at most four.
const fn bit(number: usize) -> u8 {
    1 << number
}
