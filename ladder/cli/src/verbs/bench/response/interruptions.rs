//! The interruptions of the servers' cores by other programs, the kernel or the host of a virtual
//! machine, seen by a thread that does nothing but read the clock.

use core::time::Duration;
use std::thread;
use std::time::Instant;

use tollgate_fleet::simulation::Interruptions;
use tollgate_load::{Plan, pin};

use crate::cells::float;
use crate::error::CliError;
use crate::interrupt;
use crate::progress;
use crate::verbs::bench::times::short;

/// The shortest interruption that counts. The kernel's clock tick is shorter, and is part of the
/// CPU time of the thread that it interrupts.
const SHORTEST: Duration = Duration::from_micros(50);

/// The interruptions that were seen on some cores.
#[derive(Clone, Debug, Default)]
pub(super) struct Seen {
    lengths: Vec<Duration>,
    /// The time of observation, over all cores.
    within: Duration,
}

/// The interruptions of the servers' cores and of those of the clients.
#[derive(Debug)]
pub(super) struct Observed {
    pub(super) servers: Seen,
    pub(super) clients: Seen,
}

impl Observed {
    /// Observes all cores at once for a time, so that each has something to do, as under load.
    /// Where a list is empty, the system chooses one. Ends early after Ctrl-C.
    pub(super) fn observe(
        servers: &[u32],
        clients: &[u32],
        time: Duration,
        plan: &Plan,
    ) -> Result<Self, CliError> {
        let watch = |core: Option<u32>| {
            pin(&Plan { cores: core.into_iter().collect(), ..plan.clone() }, 0)?;
            Ok::<_, CliError>(lengths(time))
        };
        let one_of = |cores: &[u32]| -> Vec<Option<u32>> {
            if cores.is_empty() { vec![None] } else { cores.iter().copied().map(Some).collect() }
        };
        let (servers, clients) = (one_of(servers), one_of(clients));
        // a core of both is observed once
        let others = clients.iter().filter(|core| !servers.contains(core));
        let all: Vec<Option<u32>> = servers.iter().chain(others).copied().collect();
        let found = thread::scope(|scope| {
            let threads: Vec<_> =
                all.iter().map(|&core| scope.spawn(move || watch(core))).collect();
            let began = Instant::now();
            while !threads.iter().all(thread::ScopedJoinHandle::is_finished) {
                progress::part(began.elapsed().div_duration_f64(time));
                thread::sleep(Duration::from_millis(50));
            }
            let join = |thread: thread::ScopedJoinHandle<'_, _>| {
                thread.join().expect("the thread only reads the clock")
            };
            threads.into_iter().map(join).collect::<Result<Vec<_>, CliError>>()
        })?;
        let of = |cores: &[Option<u32>]| {
            let mut seen = Seen::default();
            for (core, (lengths, within)) in all.iter().zip(&found) {
                if cores.contains(core) {
                    seen.lengths.extend(lengths);
                    seen.within += *within;
                }
            }
            seen
        };
        Ok(Self { servers: of(&servers), clients: of(&clients) })
    }

    /// Adds a later observation of the same cores.
    pub(super) fn add(&mut self, later: Self) {
        for (seen, later) in
            [(&mut self.servers, later.servers), (&mut self.clients, later.clients)]
        {
            seen.lengths.extend(later.lengths);
            seen.within += later.within;
        }
    }
}

impl Seen {
    /// Returns the interruptions of one core.
    pub(super) fn of_a_core(&self) -> Result<Interruptions, CliError> {
        let lengths = self.lengths.iter().map(|length| 1e9 * length.as_secs_f64()).collect();
        Ok(Interruptions::seen(lengths, 1e9 * self.within.as_secs_f64())?)
    }

    /// Describes the interruptions of the servers' cores before the loads and after them.
    pub(super) fn words(&self, after: &Self) -> String {
        format!(
            "interruptions of a server's core, of {} µs or more: {} before the loads; {} after them",
            SHORTEST.as_micros(),
            self.told(),
            after.told()
        )
    }

    fn told(&self) -> String {
        let seconds = format!("{:.1}", self.within.as_secs_f64());
        let Some(longest) = self.lengths.iter().max() else {
            return format!("none in {seconds} s");
        };
        let share = self.lengths.iter().sum::<Duration>().div_duration_f64(self.within);
        format!(
            "{:.1} a second and {:.2} % of its time, the longest {}, in {seconds} s",
            float(self.lengths.len() as u64) / self.within.as_secs_f64(),
            100.0 * share,
            short(u64::try_from(longest.as_nanos()).unwrap_or(u64::MAX))
        )
    }
}

/// Reads the clock for a time. Returns the gaps between successive readings that count as
/// interruptions, and the time.
fn lengths(time: Duration) -> (Vec<Duration>, Duration) {
    let began = Instant::now();
    let (mut last, mut lengths) = (began, Vec::new());
    while last - began < time && !interrupt::asked() {
        let now = Instant::now();
        if now - last >= SHORTEST {
            lengths.push(now - last);
        }
        last = now;
    }
    (lengths, last - began)
}

#[cfg(test)]
mod tests {
    use tollgate_load::Protocol;

    use super::*;

    #[test]
    fn cores_are_observed_for_the_time() {
        let (time, plan) = (Duration::from_millis(30), Plan::new(Protocol::Tls13));
        // on a machine with one core, nothing is pinned
        let Observed { servers, clients } = Observed::observe(&[], &[], time, &plan).unwrap();
        for seen in [&servers, &clients] {
            assert!(seen.within >= time, "{seen:?}");
            assert!(seen.lengths.iter().all(|length| *length >= SHORTEST), "{seen:?}");
        }
        assert_eq!(servers.lengths, clients.lengths, "the same core");
        assert!(Observed::observe(&[1023], &[], time, &plan).is_err(), "there is no such core");
    }

    #[test]
    fn observations_are_added() {
        let ms = Duration::from_millis;
        let seen = |lengths: &[u64], within| Seen {
            lengths: lengths.iter().copied().map(ms).collect(),
            within: ms(within),
        };
        let mut all = Observed { servers: seen(&[1], 100), clients: seen(&[], 100) };
        all.add(Observed { servers: seen(&[2, 3], 200), clients: seen(&[4], 200) });
        let found = [all.servers, all.clients].map(|it| (it.lengths, it.within));
        assert_eq!(found, [(vec![ms(1), ms(2), ms(3)], ms(300)), (vec![ms(4)], ms(300))]);
    }

    #[test]
    fn interruptions_are_told_with_their_share_of_the_time() {
        let ms = Duration::from_millis;
        let seen = Seen { lengths: vec![ms(1), ms(5)], within: ms(2000) };
        assert!(seen.of_a_core().is_ok());
        let none = Seen { lengths: Vec::new(), within: ms(2500) };
        let expected = "interruptions of a server's core, of 50 µs or more: 1.0 a second and 0.30 % of its \
            time, the longest 5.00 ms, in 2.0 s before the loads; none in 2.5 s after them";
        assert_eq!(seen.words(&none), expected);
    }
}
