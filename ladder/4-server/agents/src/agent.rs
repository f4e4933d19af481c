//! The agent: runs its segments of the controller's plans.

use core::cell::Cell;
use core::time::Duration;
use std::io::{Read, Write};
use std::sync::Arc;
use std::time::Instant;

use tollgate_load::{Error as LoadError, Live, Plan, Segment, Target, run_part};
use tollgate_probe::Site;
use tollgate_record::Machine;

use crate::frame::{FromAgent, FromController};
use crate::link::{Link, News};
use crate::nats::{Bus, FleetName, Nats, Opened, Role};
use crate::{HEARTBEAT, LOST_AFTER, place};

/// Longest wait for a frame.
const TICK: Duration = Duration::from_millis(20);

/// Serves a controller until it ends the connection. `version` and `machine` are those of this
/// program and this machine.
///
/// It loads only the server that the controller names, and only if this server may be loaded
/// ([`Site::find`]). In a run it stops by itself when the controller is gone, or silent for
/// [`LOST_AFTER`].
///
/// # Errors
///
/// The reason why the connection ended, or why no further run is possible, in one line.
pub fn serve(
    from: impl Read + Send + 'static,
    to: impl Write + Send + 'static,
    version: String,
    machine: Machine,
) -> Result<(), String> {
    let link = Link::new(from, to);
    link.send_last(FromAgent::Enrol { version, machine: Box::new(machine), place: place() });
    let agent = Agent {
        link,
        origin: Instant::now(),
        told_at: Cell::new(Instant::now()),
        heard_at: Cell::new(Instant::now()),
        is_over: Cell::new(false),
    };
    let ended = agent.turns();
    if let Err(why) = &ended {
        agent.link.send_last(FromAgent::Refused { why: why.clone() });
    }
    agent.link.close();
    ended
}

/// Serves the controllers of a fleet on NATS, one after another, each as [`serve`] does. `tell` gets
/// a line when a controller comes and when it has gone.
///
/// # Errors
///
/// The reason why no controller can reach this agent, in one line.
pub fn serve_fleet(
    nats: &Nats,
    fleet: &FleetName,
    version: &str,
    machine: &Machine,
    tell: &dyn Fn(&str),
) -> Result<(), String> {
    let mut bus = Bus::connect(nats, fleet, Role::Agent)?;
    tell(&format!("{} waits for controllers of the fleet {fleet}", bus.name()));
    loop {
        let Opened { peer, reader, writer } = bus.next()?;
        tell(&format!("controller {peer}: serves it"));
        let ended = serve(reader, writer, version.to_owned(), machine.clone());
        tell(&format!("controller {peer}: {}", ended.err().unwrap_or_else(|| "ended".to_owned())));
    }
}

struct Agent {
    link: Link<FromAgent, FromController>,
    /// The origin of this agent's clock.
    origin: Instant,
    told_at: Cell<Instant>,
    heard_at: Cell<Instant>,
    /// The controller has ended the connection, or is silent.
    is_over: Cell<bool>,
}

impl Agent {
    /// Answers until the connection ends. Without a run, the controller may be silent.
    fn turns(&self) -> Result<(), String> {
        let mut target = None;
        while !self.is_over.get() {
            self.tell(None);
            match self.link.wait(HEARTBEAT) {
                News::None
                | News::Frame(FromController::Alive | FromController::Stop { .. }, _) => {}
                // of a run that has ended here
                News::Frame(FromController::Start { .. }, _) => {}
                News::Frame(FromController::Clock { number }, _) => self.tell_time(number),
                News::Frame(FromController::Target { url, address, may_test }, _) => {
                    let url = url.parse().map_err(|error| format!("{url}: {error}"))?;
                    let site =
                        Site::find(&url, may_test.as_deref(), None, &|_, _| Ok(vec![address]));
                    target = Some(site.map_err(|error| error.to_string())?.target().clone());
                }
                News::Frame(FromController::Arm { run, plan, segment }, _) => {
                    let target = target.as_ref().ok_or("a run has no target")?;
                    self.run(run, &plan, segment, target)?;
                }
                News::Over(None) => return Ok(()),
                News::Over(Some(error)) => return Err(format!("the controller: {error}")),
            }
        }
        Err("the controller is gone, and the load was stopped".to_owned())
    }

    fn run(&self, run: u64, plan: &Plan, part: Segment, to: &Target) -> Result<(), String> {
        self.heard_at.set(Instant::now());
        let live = Arc::new(Live::default());
        let mut is_late = false;
        let mut begin = || {
            self.link.send(FromAgent::Ready { run, plan: plan.hash() });
            let start = self.start_of(run, &live)?;
            is_late = Instant::now() >= start;
            (!is_late).then_some(start)
        };
        let stop = || !self.goes_on(run, &live);
        match run_part(plan, to, part, &live, &mut begin, &stop) {
            // stopped by itself: its part is not the whole one, and `turns` tells why
            Ok(_) if self.is_over.get() => Ok(()),
            Ok(part) => {
                self.link.send_last(FromAgent::Ended { run, part: Box::new(part) });
                Ok(())
            }
            Err(_) if is_late => {
                let why =
                    "it learned the time of the start too late: repeat, or use a faster network";
                Err(why.to_owned())
            }
            Err(LoadError::Stopped) => Ok(()),
            Err(error) => Err(error.to_string()),
        }
    }

    /// Waits for the time of the start; `None` if the run does not begin.
    fn start_of(&self, run: u64, live: &Live) -> Option<Instant> {
        loop {
            self.tell(Some(live));
            let news = self.link.wait(TICK);
            if let News::Frame(FromController::Start { run: of, at_ns }, _) = news
                && of == run
            {
                self.heard_at.set(Instant::now());
                return self.origin.checked_add(Duration::from_nanos(at_ns));
            }
            if !self.handle(run, news) {
                return None;
            }
        }
    }

    /// Reads what the controller has sent in a run; returns whether the run goes on.
    fn goes_on(&self, run: u64, live: &Live) -> bool {
        self.tell(Some(live));
        loop {
            let news = self.link.news();
            let is_last = matches!(news, News::None);
            if !self.handle(run, news) {
                return false;
            }
            if is_last {
                return true;
            }
        }
    }

    /// Handles a frame in a run; returns whether the run goes on.
    fn handle(&self, run: u64, news: News<FromController>) -> bool {
        let now = Instant::now();
        match news {
            News::None => {
                let silent = now.saturating_duration_since(self.heard_at.get());
                self.is_over.set(self.is_over.get() || silent > LOST_AFTER);
                return !self.is_over.get();
            }
            News::Over(_) => self.is_over.set(true),
            News::Frame(FromController::Clock { number }, _) => self.tell_time(number),
            News::Frame(FromController::Stop { run: of }, _) if of == run => return false,
            News::Frame(_, _) => {}
        }
        self.heard_at.set(now);
        !self.is_over.get()
    }

    fn tell_time(&self, number: u32) {
        let at_ns = u64::try_from(self.origin.elapsed().as_nanos()).unwrap_or(u64::MAX);
        self.link.send(FromAgent::Clock { number, at_ns });
    }

    /// Tells the controller that this agent lives, if it is time.
    fn tell(&self, live: Option<&Live>) {
        if self.told_at.get().elapsed() >= HEARTBEAT {
            self.told_at.set(Instant::now());
            self.link.send(FromAgent::Alive { live: live.map(|live| Box::new(live.counts())) });
        }
    }
}
