//! A burst over time, as SVG: arrivals, completions, backlog and response times.

use std::io;

use plotters::coord::Shift;
use plotters::element::DashedPathElement;
use plotters::prelude::*;

use crate::names::who;
use crate::points::{COLOURS, GRID, INK, PALE_INK, PAPER, short};
use crate::text::cut;

type Area<'a> = DrawingArea<SVGBackend<'a>, Shift>;
type Drawn = Result<(), DrawingAreaErrorKind<io::Error>>;

const WIDTH_PX: u32 = 860;
const HEAD_PX: u32 = 92;
const PANEL_PX: u32 = 230;
/// Distance between two names of the legend.
const LEGEND_PX: i32 = 200;
/// Points of a line.
const BINS: u32 = 240;

/// A burst, and the servers that it hit.
#[derive(Clone, Debug)]
pub struct Burst {
    /// The title above the charts.
    pub title: String,
    /// The last arrival, in milliseconds since the burst began.
    pub last_ms: f64,
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
/// lines, and each measured run as a thin line.
///
/// # Panics
///
/// Never: only writing could fail, and the target is a string.
#[must_use]
pub fn burst(burst: &Burst) -> String {
    let mut svg = String::new();
    let size = (WIDTH_PX, HEAD_PX + 3 * PANEL_PX);
    let area = SVGBackend::with_string(&mut svg, size).into_drawing_area();
    draw(&area, burst).expect("a string takes whatever is drawn");
    drop(area);
    svg
}

struct Line {
    points: Vec<(f64, f64)>,
    colour: RGBColor,
    is_predicted: bool,
}

fn draw(area: &Area<'_>, burst: &Burst) -> Drawn {
    area.fill(&PAPER)?;
    let (head, below) = area.split_vertically(HEAD_PX);
    legend(&head, burst)?;
    let panels = below.split_evenly((3, 1));
    let arrivals = burst.servers.first().map(|server| Line {
        points: burst.steps(|from, to| count(&server.predicted, |session| session.0, from, to)),
        colour: INK,
        is_predicted: false,
    });
    let done = burst.lines(|all| burst.steps(|from, to| count(all, |session| session.1, from, to)));
    let backlog = burst.lines(|sessions| {
        let within = |of: fn(&(f64, f64)) -> f64, to| count(sessions, of, f64::MIN, to);
        burst.bins().map(|(_, to)| (to, within(|s| s.0, to) - within(|s| s.1, to))).collect()
    });
    let response = burst.lines(|sessions| burst.responses(sessions));
    let arrived = arrivals.into_iter().chain(done).collect::<Vec<_>>();
    burst.panel(&panels[0], "sessions: arrived (black) and done", &arrived)?;
    burst.panel(&panels[1], "backlog: sessions arrived, and not done", &backlog)?;
    let caption = "response time in ms, of the sessions that arrive at this time";
    burst.panel(&panels[2], caption, &response)
}

fn legend(area: &Area<'_>, burst: &Burst) -> Drawn {
    let font = |px: u32, colour: &'static RGBColor| ("sans-serif", px).into_font().color(colour);
    area.draw(&Text::new(cut(&burst.title, 90), (16, 12), font(20, &INK)))?;
    for (place, server) in (0_i32..).zip(&burst.servers) {
        let (x, colour) = (16 + 2 * LEGEND_PX * place, colour(place));
        let line = |x| [(x, 58), (x + 26, 58)];
        area.draw(&PathElement::new(line(x), colour.stroke_width(2)))?;
        let name = cut(who(&server.name), 20);
        area.draw(&Text::new(format!("{name}, measured"), (x + 32, 51), font(13, &INK)))?;
        let x = x + LEGEND_PX;
        area.draw(&dashed(line(x), colour))?;
        area.draw(&Text::new("predicted".to_owned(), (x + 32, 51), font(13, &INK)))?;
    }
    Ok(())
}

fn colour(place: i32) -> RGBColor {
    // as in the other charts, Tollgate is blue, and it comes last
    let place = usize::try_from(place).unwrap_or(0);
    COLOURS[[1, 0, 2, 3][place.min(3)]]
}

fn dashed<C: Clone>(
    points: impl IntoIterator<Item = C, IntoIter: Clone>,
    colour: RGBColor,
) -> DashedPathElement<impl Iterator<Item = C> + Clone, i32> {
    DashedPathElement::new(points, 7, 5, colour.stroke_width(2))
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

    fn lines(&self, points: impl Fn(&Sessions) -> Vec<(f64, f64)>) -> Vec<Line> {
        let of_server = |(place, server): (i32, &Server)| {
            let line = |sessions, is_predicted| Line {
                points: points(sessions),
                colour: colour(place),
                is_predicted,
            };
            let measured = server.measured.iter().map(|sessions| line(sessions, false));
            measured.chain([line(&server.predicted, true)]).collect::<Vec<_>>()
        };
        (0_i32..).zip(&self.servers).flat_map(of_server).collect()
    }

    fn panel(&self, area: &Area<'_>, caption: &str, lines: &[Line]) -> Drawn {
        let font =
            |px: u32, colour: &'static RGBColor| ("sans-serif", px).into_font().color(colour);
        let points = || lines.iter().flat_map(|line| &line.points);
        let top = points().map(|point| point.1).fold(1.0, f64::max) * 1.08;
        let mut chart = ChartBuilder::on(area)
            .caption(caption, font(14, &INK))
            .margin(8)
            .x_label_area_size(36)
            .y_label_area_size(56)
            .build_cartesian_2d(0.0..self.shown_ms, 0.0..top)?;
        chart
            .configure_mesh()
            .x_desc("ms since the burst began")
            .x_labels(10)
            .y_labels(5)
            .x_label_formatter(&|value| short(*value))
            .y_label_formatter(&|value| short(*value))
            .label_style(font(12, &PALE_INK))
            .axis_desc_style(font(12, &PALE_INK))
            .bold_line_style(GRID)
            .light_line_style(TRANSPARENT)
            .axis_style(PALE_INK)
            .draw()?;
        let end = [(self.last_ms, 0.0), (self.last_ms, top)];
        chart.draw_series([PathElement::new(end, PALE_INK)])?;
        for line in lines {
            if line.is_predicted {
                chart.draw_series([dashed(line.points.clone(), line.colour)])?;
            } else {
                chart.draw_series([PathElement::new(line.points.clone(), line.colour.mix(0.6))])?;
            }
        }
        Ok(())
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
            last_ms: 9.5,
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
        for text in ["a burst &lt;of ten&gt;", "OpenSSL, measured", "tollgate, measured", "backlog"]
        {
            assert!(svg.contains(text), "{text}: {svg}");
        }
        // backlog and completions: two runs of two servers
        assert!(svg.matches("<polyline").count() > 8, "{svg}");
        let none = Burst { servers: Vec::new(), ..ten() };
        assert!(burst(&none).starts_with("<svg"));
    }
}
