//! The controller: enrols agents, splits plans among them, and collects their parts.

mod remote;

use core::cell::RefCell;
use core::fmt;
use core::net::SocketAddr;
use core::str::FromStr;
use core::time::Duration;
use std::rc::Rc;
use std::sync::{Arc, Mutex};
use std::thread;
use std::time::Instant;

use async_nats::Client;
use futures_util::StreamExt as _;
use futures_util::future::join_all;
use tokio::sync::watch;
use tokio::task::JoinHandle;
use tokio::time::{interval, timeout};
use tollgate_load::{AgentPart, Agents, Error, LiveCounts, Part, Plan, Segment};

use self::remote::{Control, Order, Remote, State};
use crate::message::{Answer, Enrolled, Request, parse};
use crate::nats::{ALL, Connection, FleetName, Nats, Role};
use crate::{AGENTS_MAX, HEARTBEAT, LOST_AFTER, network_place};

/// Longest wait for agents.
const ENROL_MAX: Duration = Duration::from_secs(30);

/// Longest wait for the last messages to be sent.
const FLUSH_MAX: Duration = Duration::from_secs(2);

/// Interval of looking at the agents' states while waiting.
const TICK: Duration = Duration::from_millis(5);

/// Time from the last reading of a clock to the start, in addition to the round trips.
const LEAD: Duration = Duration::from_millis(300);

/// Agents of a fleet: `nats:FLEET/COUNT`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Address {
    /// The fleet.
    pub fleet: FleetName,
    /// The number of agents, 1 to [`AGENTS_MAX`].
    pub count: usize,
}

impl FromStr for Address {
    type Err = &'static str;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let parts = text.strip_prefix("nats:").and_then(|rest| rest.split_once('/'));
        let (fleet, count) = parts.ok_or("give nats:FLEET/COUNT, as in nats:lab/4")?;
        let count = count.parse().ok().filter(|count| (1..=AGENTS_MAX).contains(count));
        let wanted = concat!("the number of agents is 1 to ", agents_max!(), ", as in nats:lab/4");
        Ok(Self { fleet: fleet.parse()?, count: count.ok_or(wanted)? })
    }
}

/// The server that all agents load.
#[derive(Clone, Debug)]
pub struct Site {
    /// The server's URL.
    pub url: String,
    /// Its address.
    pub address: SocketAddr,
    /// The host that the user allows to be tested.
    pub may_test: Option<String>,
}

/// The connections to all agents. Clones share them.
#[derive(Clone)]
pub struct Controller(Rc<RefCell<Fleet>>);

impl fmt::Debug for Controller {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Controller").field(&self.lines()).finish()
    }
}

struct Fleet {
    agents: Vec<Arc<Remote>>,
    connection: Connection,
    /// The subject of requests to all agents.
    all: String,
    run: u64,
    /// The agents' runs, and the orders to all of them.
    runs: Vec<JoinHandle<Result<Part, (Instant, String)>>>,
    control: watch::Sender<Control>,
}

impl Controller {
    /// Enrols the agents. `version` is that of this program, which all agents must have. `stop` is
    /// called every few milliseconds.
    ///
    /// # Errors
    ///
    /// [`Error::Agent`] if there is no connection to NATS or too few agents, if an agent has
    /// another version or another controller or gets no consent, or if the server has a loopback
    /// address and an agent another network. [`Error::Stopped`] if `stop` returned true.
    pub fn start(
        address: &Address,
        nats: &Nats,
        site: &Site,
        version: &str,
        stop: &dyn Fn() -> bool,
    ) -> Result<Self, Error> {
        let Address { fleet, count } = address;
        let failed = |why| Error::Agent { agent: format!("nats:{fleet}/{count}"), why };
        let mut connection = Connection::new(nats, fleet, Role::Controller).map_err(failed)?;
        let all = Role::Agent.subject(fleet, ALL, &connection.name);
        let found = recruit(&mut connection, &all, address, stop).map_err(failed)?;
        let agents = found.ok_or(Error::Stopped)?.into_iter().enumerate().map(|(at, enrolled)| {
            let subject = Role::Agent.subject(fleet, &enrolled.agent, &connection.name);
            let name = format!("agent {}, nats:{fleet}/{}", at + 1, enrolled.agent);
            let client = connection.client.clone();
            Arc::new(Remote { name, enrolled, subject, client, state: Mutex::default() })
        });
        let agents = agents.collect();
        let (control, runs) = (watch::Sender::default(), Vec::new());
        connection.runtime.spawn(live(connection.client.clone(), all.clone()));
        let fleet = Fleet { agents, connection, all, run: 0, runs, control };
        let here = site.address.ip().is_loopback().then(network_place);
        for agent in &fleet.agents {
            let checked = check(&agent.enrolled, version, here.as_deref());
            checked.map_err(|why| Error::Agent { agent: agent.name.clone(), why })?;
        }
        let target = Request::Target {
            url: site.url.clone(),
            address: site.address,
            may_test: site.may_test.clone(),
        };
        fleet.name_target(&target, stop)?;
        Ok(Self(Rc::new(RefCell::new(fleet))))
    }

    /// Returns a line about each agent: its machine, and its clock.
    #[must_use]
    pub fn lines(&self) -> Vec<String> {
        self.0.borrow().agents.iter().map(|agent| agent.line()).collect()
    }

    /// Returns the largest error of an agent's clock at the last run.
    #[must_use]
    pub fn clock_error(&self) -> Duration {
        self.0.borrow().clock_error()
    }
}

/// Calls for agents until as many have answered. `None` if it was stopped.
fn recruit(
    connection: &mut Connection,
    all: &str,
    Address { fleet, count }: &Address,
    stop: &dyn Fn() -> bool,
) -> Result<Option<Vec<Enrolled>>, String> {
    let Connection { client, failure, runtime, .. } = connection;
    let end = Instant::now() + ENROL_MAX;
    let mut found: Vec<Enrolled> = Vec::new();
    runtime.block_on(async {
        let reply = client.new_inbox();
        let mut inbox = client.subscribe(reply.clone()).await.map_err(|error| error.to_string())?;
        let (mut call, mut look) = (interval(HEARTBEAT), interval(TICK));
        while found.len() < *count {
            tokio::select! {
                Some(message) = inbox.next() => {
                    if message.payload.is_empty() {
                        continue; // no agent is there
                    }
                    if let Answer::Enrolled(agent) = parse(&message.payload)?
                        && !found.iter().any(|other| other.agent == agent.agent)
                    {
                        found.push(*agent);
                    }
                }
                why = failure.recv() => return Err(why.unwrap_or_default()),
                _ = call.tick() => {
                    let payload = encode(&Request::Enrol).into();
                    let _ = client.publish_with_reply(all.to_owned(), reply.clone(), payload).await;
                }
                _ = look.tick() => {
                    if stop() {
                        return Ok(None);
                    }
                    if Instant::now() > end {
                        return Err(format!(
                            "{} of {count} agents answered within {} s: start 'tollgate agent \
                             --nats ... --fleet {fleet}' on more machines; an agent has one \
                             controller at a time",
                            found.len(), ENROL_MAX.as_secs(),
                        ));
                    }
                }
            }
        }
        Ok(Some(found))
    })
}

/// Tells all agents again and again that this process lives.
async fn live(client: Client, all: String) {
    let mut tick = interval(HEARTBEAT);
    loop {
        tick.tick().await;
        let _ = client.publish(all.clone(), encode(&Request::Alive).into()).await;
    }
}

fn encode(request: &Request) -> Vec<u8> {
    serde_json::to_vec(request).expect("requests have no maps")
}

/// Checks that an agent has this version, and sees this place, if one is given.
fn check(enrolled: &Enrolled, version: &str, here: Option<&str>) -> Result<(), String> {
    if enrolled.version != version {
        return Err(format!(
            "it has version {}, and this program {version}: install the same on all machines",
            enrolled.version
        ));
    }
    if here.is_some_and(|here| here != enrolled.place) {
        return Err(
            "a loopback address is another server there: give the server's address in the \
                    network"
                .to_owned(),
        );
    }
    Ok(())
}

impl Fleet {
    /// Claims the agents, and waits until each may load the target.
    fn name_target(&self, target: &Request, stop: &dyn Fn() -> bool) -> Result<(), Error> {
        let agents = self.agents.clone();
        let target = target.clone();
        let all = self.connection.runtime.spawn(async move {
            let each = agents.iter().map(|agent| agent.prepare(&target));
            join_all(each).await.into_iter().collect::<Result<Vec<()>, Error>>()
        });
        while !all.is_finished() {
            if stop() {
                return Err(Error::Stopped);
            }
            thread::sleep(TICK);
        }
        self.connection.runtime.block_on(all).expect("it does not panic").map(drop)
    }

    fn clock_error(&self) -> Duration {
        self.agents.iter().map(|agent| agent.clock_error()).max().unwrap_or_default()
    }

    fn stop(&self) {
        self.control.send_modify(|control| control.is_stopped = true);
    }

    /// Returns the result of the agent's run, which has ended.
    fn result(&mut self, at: usize) -> Result<Part, (Instant, String)> {
        let joined = self.connection.runtime.block_on(&mut self.runs[at]);
        joined.unwrap_or_else(|error| Err((Instant::now(), error.to_string())))
    }
}

impl Drop for Fleet {
    /// Leaves the agents to other controllers.
    fn drop(&mut self) {
        let Self { connection, all, .. } = self;
        connection.runtime.block_on(async {
            let leave = encode(&Request::Leave).into();
            let _ = connection.client.publish(all.clone(), leave).await;
            let _ = timeout(FLUSH_MAX, connection.client.flush()).await; // the server may be gone
        });
    }
}

impl Agents for Controller {
    fn arm(&mut self, plan: &Plan, stop: &dyn Fn() -> bool) -> Result<(), Error> {
        let mut fleet = self.0.borrow_mut();
        if plan.transactions.is_some() || !plan.request.is_default() {
            return Err(Error::Plan(
                "agents send plain GET requests, for a time and not up to a number",
            ));
        }
        let count = u32::try_from(fleet.agents.len()).unwrap_or(u32::MAX);
        let segments = Segment::split(plan, count)
            .ok_or(Error::Plan("each agent needs at least one thread and one connection"))?;
        fleet.run += 1;
        fleet.control = watch::Sender::default();
        let runs = fleet.agents.iter().zip(segments).map(|(agent, segment)| {
            {
                let mut state = agent.state();
                *state = State { clock: state.clock, ..State::default() };
            }
            let order = Order { run: fleet.run, plan: plan.clone(), segment };
            let (agent, control) = (Arc::clone(agent), fleet.control.subscribe());
            fleet.connection.runtime.spawn(async move { agent.run(order, control).await })
        });
        fleet.runs = runs.collect();
        // each first transaction may take a phase; threads and sessions take far less
        let limit = 4 * Duration::from_millis(plan.phase_ms_max) + LOST_AFTER;
        let since = Instant::now();
        loop {
            if let Some(at) = fleet.runs.iter().position(JoinHandle::is_finished) {
                let why = fleet.result(at).err().map_or_else(String::new, |(_, why)| why);
                fleet.stop();
                return Err(Error::Agent { agent: fleet.agents[at].name.clone(), why });
            }
            let Some(waiting) = fleet.agents.iter().find(|agent| !agent.state().is_ready) else {
                return Ok(());
            };
            if since.elapsed() > limit {
                let why = format!("it did not answer within {} s", limit.as_secs());
                let agent = waiting.name.clone();
                fleet.stop();
                return Err(Error::Agent { agent, why });
            }
            if stop() {
                fleet.stop();
                return Err(Error::Stopped);
            }
            thread::sleep(TICK);
        }
    }

    fn start(&mut self) -> Instant {
        let fleet = self.0.borrow();
        let start = Instant::now() + LEAD + 4 * fleet.clock_error();
        fleet.control.send_modify(|control| control.start = Some(start));
        start
    }

    fn have_ended(&mut self) -> bool {
        let fleet = self.0.borrow();
        let ended = fleet.runs.iter().filter(|run| run.is_finished()).count();
        if fleet.agents.iter().any(|agent| agent.state().is_lost) {
            fleet.stop(); // a run without a part has no figures
        }
        ended == fleet.runs.len()
    }

    fn live_counts(&self) -> LiveCounts {
        let mut sum = LiveCounts::default();
        self.0.borrow().agents.iter().for_each(|agent| sum.add(&agent.state().live));
        sum
    }

    fn stop(&mut self) {
        self.0.borrow().stop();
    }

    fn parts(&mut self) -> Vec<AgentPart> {
        let mut fleet = self.0.borrow_mut();
        let all = (0..fleet.runs.len()).map(|at| {
            let agent = fleet.agents[at].name.clone();
            AgentPart { agent, part: fleet.result(at) }
        });
        all.collect()
    }
}

#[cfg(test)]
mod tests {
    use tollgate_record::Machine;

    use super::*;

    #[test]
    fn addresses_have_a_fleet_and_a_number_of_agents() {
        let address: Address = format!("nats:lab/{AGENTS_MAX}").parse().unwrap();
        assert_eq!((address.fleet.to_string().as_str(), address.count), ("lab", AGENTS_MAX));
        for bad in ["", "lab", "nats:lab", "nats:lab/", "nats:lab/0", "nats:a.b/1", "nats:/1"] {
            assert!(bad.parse::<Address>().is_err(), "{bad:?}");
        }
        let beyond = format!("nats:lab/{}", AGENTS_MAX + 1);
        let why = beyond.parse::<Address>().unwrap_err();
        assert!(why.contains(&format!("1 to {AGENTS_MAX},")), "{why}");
    }

    #[test]
    fn other_versions_and_other_loopbacks_are_refused() {
        let (agent, place) = ("a".to_owned(), "elsewhere".to_owned());
        let machine = Machine::unknown("test");
        let enrolled = Enrolled { agent, version: "1.2.4".to_owned(), machine, place };
        let why = check(&enrolled, "1.2.3", None).unwrap_err();
        assert!(why.contains("it has version 1.2.4, and this program 1.2.3"), "{why}");
        let why = check(&enrolled, "1.2.4", Some("here")).unwrap_err();
        assert!(why.contains("a loopback address is another server there"), "{why}");
        assert_eq!(check(&enrolled, "1.2.4", Some("elsewhere")), Ok(()));
    }
}
