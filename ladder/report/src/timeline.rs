//! A burst over time, as SVG: arrivals, completions, backlog and response times.

use crate::chart::{Plane, Series, planes};
use crate::names::who;

/// Points of a line.
const BINS: u32 = 240;

/// The colours of servers: as in the other charts, Tollgate is blue, and it comes last.
const COLOURS: [usize; 4] = [1, 0, 2, 3];
/// The colour of arrivals.
const GREY: usize = 4;

/// A burst, and the servers that it hit.
#[derive(Clone, Debug)]
pub struct Burst {
    /// The title above the charts.
    pub title: String,
    /// The length of the charts, in milliseconds.
    pub shown_ms: f64,
    /// The servers. All got the same arrivals.
    pub servers: Vec<Server>,
}

/// The sessions of a server.
#[derive(Clone, Debug)]
pub struct Server {
    /// The engine, as in records.
    pub name: String,
    /// The sessions as predicted.
    pub predicted: Sessions,
    /// The sessions of each measured run.
    pub measured: Vec<Sessions>,
}

/// Each session's arrival and end, in milliseconds since the burst began.
pub type Sessions = Vec<(f64, f64)>;

/// Draws arrivals and completions, backlog, and response time over time: predictions as dashed
/// lines, and each measured run as a line.
#[must_use]
pub fn burst(burst: &Burst) -> String {
    let arrivals = burst.servers.first().map(|server| Series {
        name: "arrived".to_owned(),
        points: burst.steps(|from, to| count(&server.predicted, |session| session.0, from, to)),
        colour: GREY,
        is_dashed: false,
    });
    let done = burst.lines(|all| burst.steps(|from, to| count(all, |session| session.1, from, to)));
    let backlog = burst.lines(|sessions| {
        let within = |of: fn(&(f64, f64)) -> f64, to| count(sessions, of, f64::MIN, to);
        burst.bins().map(|(_, to)| (to, within(|s| s.0, to) - within(|s| s.1, to))).collect()
    });
    let response = burst.lines(|sessions| burst.responses(sessions));
    let plane = |title: &str, series| Plane {
        title: title.to_owned(),
        axes: ["ms since the burst began".to_owned(), String::new()],
        series,
        is_from_zero: true,
    };
    planes(
        &burst.title,
        &[
            plane("sessions: arrived and done", arrivals.into_iter().chain(done).collect()),
            plane("backlog: sessions arrived, and not done", backlog),
            plane("response time in ms, by arrival", response),
        ],
    )
}

#[allow(clippy::cast_precision_loss, reason = "sessions of a burst are far below 2^52")]
fn count(sessions: &Sessions, of: impl Fn(&(f64, f64)) -> f64, from: f64, to: f64) -> f64 {
    sessions.iter().filter(|session| (from..to).contains(&of(session))).count() as f64
}

impl Burst {
    fn bins(&self) -> impl Iterator<Item = (f64, f64)> {
        let width = self.shown_ms / f64::from(BINS);
        (0..BINS).map(move |bin| (f64::from(bin) * width, f64::from(bin + 1) * width))
    }

    /// Returns the sums of the counts, at the end of each bin.
    fn steps(&self, count: impl Fn(f64, f64) -> f64) -> Vec<(f64, f64)> {
        let mut sum = 0.0;
        let add = |(from, to)| {
            sum += count(from, to);
            (to, sum)
        };
        self.bins().map(add).collect()
    }

    /// Returns the mean response time of each bin's arrivals.
    fn responses(&self, sessions: &Sessions) -> Vec<(f64, f64)> {
        let mean = |(from, to)| {
            let within = sessions.iter().filter(|session| (from..to).contains(&session.0));
            let (count, sum) = within.fold((0.0, 0.0), |(count, sum), (arrived, done)| {
                (count + 1.0, sum + done - arrived)
            });
            (count > 0.0).then(|| (f64::midpoint(from, to), sum / count))
        };
        self.bins().filter_map(mean).collect()
    }

    fn lines(&self, points: impl Fn(&Sessions) -> Vec<(f64, f64)>) -> Vec<Series> {
        let of_server = |(place, server): (usize, &Server)| {
            let line = |sessions, name: String, is_dashed| Series {
                name,
                points: points(sessions),
                colour: COLOURS[place % COLOURS.len()],
                is_dashed,
            };
            let name = |what, is_named| match is_named {
                true => format!("{}, {what}", who(&server.name)),
                false => String::new(),
            };
            let runs = server.measured.iter().enumerate();
            let measured = runs.map(|(run, all)| line(all, name("measured", run == 0), false));
            let predicted = line(&server.predicted, name("predicted", true), true);
            measured.chain([predicted]).collect::<Vec<_>>()
        };
        self.servers.iter().enumerate().flat_map(of_server).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Ten sessions, one in each millisecond, served one after the other in two milliseconds each.
    fn ten() -> Burst {
        let sessions = (0..10).map(|number| {
            let number = f64::from(number);
            (number + 0.5, 2.0 * (number + 1.0) + 0.5)
        });
        let sessions: Sessions = sessions.collect();
        let server = |name: &str| Server {
            name: name.to_owned(),
            predicted: sessions.clone(),
            measured: vec![sessions.clone(); 2],
        };
        Burst {
            title: "a burst <of ten>".to_owned(),
            shown_ms: 24.0,
            servers: vec![server("openssl"), server("tollgate")],
        }
    }

    #[test]
    fn lines_follow_the_sessions() {
        let burst = ten();
        let sessions = &burst.servers[0].predicted;
        let at = |points: &[(f64, f64)], ms: f64| {
            let found = points.iter().rfind(|point| point.0 <= ms);
            found.map_or(0.0, |point| point.1)
        };
        let arrived = burst.steps(|from, to| count(sessions, |session| session.0, from, to));
        let done = burst.steps(|from, to| count(sessions, |session| session.1, from, to));
        assert_eq!((at(&arrived, 5.0), at(&arrived, 24.0)), (5.0, 10.0));
        assert_eq!((at(&done, 5.0), at(&done, 24.0)), (2.0, 10.0));
        let times: Vec<f64> = burst.responses(sessions).iter().map(|point| point.1).collect();
        assert_eq!(times, [2.0, 3.0, 4.0, 5.0, 6.0, 7.0, 8.0, 9.0, 10.0, 11.0]);
    }

    #[test]
    fn a_picture_has_the_lines_of_both_servers() {
        let svg = burst(&ten());
        for text in
            ["a burst &lt;of ten&gt;", "OpenSSL, measured", "tollgate, predicted", "backlog"]
        {
            assert!(svg.contains(text), "{text}: {svg}");
        }
        // backlog, completions and response times: two runs of two servers
        assert!(svg.matches("<polyline").count() > 12, "{svg}");
        let none = Burst { servers: Vec::new(), ..ten() };
        assert!(burst(&none).starts_with("<svg"));
    }
}
