//! Charts as SVG: horizontal bars, and points and lines in a plane. Only this module uses the
//! plotting crate.

use core::ops::Range;
use std::io;

use plotters::coord::Shift;
use plotters::coord::ranged1d::{AsRangedCoord, Ranged, ValueFormatter};
use plotters::coord::types::RangedCoordf64;
use plotters::element::DashedPathElement;
use plotters::prelude::*;
use plotters::style::text_anchor::{HPos, Pos, VPos};
use tollgate_record::{Record, Unit};

use crate::cite::Citation;
use crate::figure::number;
use crate::rates::{Contender, OPERATIONS, Rates, name};
use crate::text::cut;

type Area<'a> = DrawingArea<SVGBackend<'a>, Shift>;
type Drawn = Result<(), DrawingAreaErrorKind<io::Error>>;

/// The colour of a piece of a bar, or of a line.
pub(crate) type Colour = RGBColor;

/// The background is opaque, for use on dark pages.
const PAPER: Colour = RGBColor(255, 255, 255);
const INK: Colour = RGBColor(31, 35, 40);
const PALE_INK: Colour = RGBColor(89, 99, 110);
const GRID: Colour = RGBColor(226, 229, 233);

/// Tollgate is blue and the libraries are grey.
pub(crate) const OURS: Colour = RGBColor(24, 90, 168);
pub(crate) const OURS_LIGHT: Colour = RGBColor(112, 170, 230);
pub(crate) const LIBRARY: Colour = RGBColor(97, 104, 115);
pub(crate) const LIBRARY_LIGHT: Colour = RGBColor(182, 188, 197);
pub(crate) const PUBLISHED: Colour = RGBColor(214, 140, 60);
pub(crate) const PREDICTED: Colour = RGBColor(150, 168, 190);
pub(crate) const REMAINDER: Colour = RGBColor(200, 215, 235);

/// The colours of series, and of the parts of a session.
pub(crate) const COLOURS: [Colour; 8] = [
    RGBColor(24, 90, 168),
    RGBColor(224, 112, 27),
    RGBColor(40, 140, 80),
    RGBColor(130, 60, 150),
    RGBColor(97, 104, 115),
    RGBColor(112, 170, 230),
    RGBColor(227, 181, 5),
    RGBColor(204, 134, 181),
];

/// Returns the colour of an implementation's bars.
pub(crate) fn colour(by: &str, is_batch: bool) -> Colour {
    match (by.contains("tollgate"), is_batch) {
        (true, true) => OURS,
        (true, false) => OURS_LIGHT,
        _ if by.contains("openssl") => LIBRARY,
        _ => LIBRARY_LIGHT,
    }
}

/// A horizontal bar.
#[derive(Default)]
pub(crate) struct Bar {
    pub(crate) label: String,
    /// The pieces of the bar, from the left.
    pub(crate) pieces: Vec<(f64, Colour)>,
    /// The 95 % interval.
    pub(crate) interval: Option<(f64, f64)>,
    /// The place of a mark across the bar, such as the prediction of a measured figure.
    pub(crate) mark: Option<f64>,
    /// The text at the end of the line.
    pub(crate) figure: String,
}

impl Bar {
    /// Returns the bar of a record.
    pub(crate) fn new(record: &Record, label: impl Into<String>, colour: Colour) -> Self {
        let (point, (low, high)) = (record.estimate.point(), record.estimate.interval());
        Self {
            label: label.into(),
            pieces: vec![(point, colour)],
            interval: (low < high).then_some((low, high)),
            mark: None,
            figure: number(point, record.unit),
        }
    }

    /// Returns the bar of a published record, named by its citation.
    pub(crate) fn published(record: &Record, what: &str) -> Self {
        let cited = Citation::new(record).map_or_else(String::new, |cited| cited.to_string());
        let bar = Self::new(record, format!("{what} {cited}").trim(), PUBLISHED);
        Self { interval: None, ..bar }
    }

    /// Returns the largest value that the axis must include.
    fn reach(&self) -> f64 {
        let length = self.pieces.iter().map(|piece| piece.0.max(0.0)).sum();
        let ends = [Some(length), self.mark, self.interval.map(|(_, high)| high)];
        ends.into_iter().flatten().fold(0.0, f64::max)
    }
}

/// Bars under a heading; the heading may be empty.
pub(crate) struct Group {
    pub(crate) heading: String,
    pub(crate) bars: Vec<Bar>,
}

/// Bars on one scale.
pub(crate) struct Bars<'a> {
    pub(crate) title: &'a str,
    /// Small text below the bars.
    pub(crate) note: &'a str,
    pub(crate) legend: Vec<(Colour, String)>,
    pub(crate) groups: Vec<Group>,
    pub(crate) unit: Unit,
}

const BARS_PX: u32 = 700;
/// The width of the labels, and of the figures.
const LABEL_PX: i32 = 220;
const FIGURE_PX: i32 = 120;
const ROW_PX: i32 = 22;
const TITLE_PX: i32 = 34;
/// Names of the legend in a line.
const ACROSS: usize = 4;
/// The maximum number of characters of a label, a figure and a line.
const LABEL_MAX: usize = 32;
const FIGURE_MAX: usize = 18;
const LINE_MAX: usize = 100;
/// The least and the largest figure that an axis has, because records may contain any number. Bars
/// beyond it are drawn like this one; points beyond it are left out.
const LEAST: f64 = 1e-9;
const LARGEST: f64 = 1e15;

impl Bars<'_> {
    /// Draws the bars. The SVG has no external references.
    pub(crate) fn svg(&self) -> String {
        let lines = |group: &Group| group.bars.len() + usize::from(!group.heading.is_empty());
        let rows = pixels(self.groups.iter().map(lines).sum());
        let top = TITLE_PX + ROW_PX * pixels(self.legend.len().div_ceil(ACROSS));
        let bottom = top + ROW_PX * rows;
        let height = bottom + ROW_PX + if self.note.is_empty() { 4 } else { ROW_PX };
        svg((BARS_PX, height.unsigned_abs()), |area| self.draw(area, top, bottom))
    }

    fn draw(&self, area: &Area<'_>, top: i32, bottom: i32) -> Drawn {
        let bold = TextStyle::from(("sans-serif", em(15), FontStyle::Bold)).color(&INK);
        text(area, self.title, LINE_MAX, (8, 16), bold)?;
        for (place, (colour, name)) in self.legend.iter().enumerate() {
            let (x, y) =
                (8 + 172 * pixels(place % ACROSS), TITLE_PX + ROW_PX * pixels(place / ACROSS));
            area.draw(&Rectangle::new([(x, y + 3), (x + 12, y + 15)], colour.filled()))?;
            text(area, name, 24, (x + 18, y + 9), font(12, &INK))?;
        }
        let reach = self.groups.iter().flat_map(|group| &group.bars).map(Bar::reach);
        let end = Some(reach.fold(0.0, f64::max)).filter(|end| *end > LEAST);
        let end = end.map_or(1.0, |end| 1.02 * end.min(LARGEST));
        let (left, right) = (LABEL_PX, pixels(BARS_PX as usize) - FIGURE_PX);
        let axis = RangedCoordf64::from(0.0..end);
        let at = |value: f64| axis.map(&value.clamp(0.0, end), (left, right));
        for tick in axis.key_points(5) {
            let x = at(tick);
            area.draw(&PathElement::new([(x, top), (x, bottom)], GRID))?;
            let style = font(11, &PALE_INK).pos(Pos::new(HPos::Center, VPos::Center));
            text(area, &short_label(tick, self.unit), 9, (x, bottom + 11), style)?;
        }
        let mut y = top;
        for group in &self.groups {
            if !group.heading.is_empty() {
                let bold = TextStyle::from(("sans-serif", em(12), FontStyle::Bold)).color(&INK);
                text(area, &group.heading, LINE_MAX, (8, y + 12), bold)?;
                y += ROW_PX;
            }
            for bar in &group.bars {
                bar.draw(area, y, right, &at)?;
                y += ROW_PX;
            }
        }
        text(area, self.note, LINE_MAX, (8, bottom + ROW_PX + 11), font(12, &PALE_INK))
    }
}

impl Bar {
    fn draw(&self, area: &Area<'_>, y: i32, right: i32, at: &impl Fn(f64) -> i32) -> Drawn {
        text(area, &self.label, LABEL_MAX, (8, y + 11), font(12, &INK))?;
        let mut from = 0.0;
        for (value, colour) in &self.pieces {
            let to = from + value.max(0.0);
            let corners = [(at(from), y + 3), (at(to), y + 19)];
            area.draw(&Rectangle::new(corners, colour.filled()))?;
            from = to;
        }
        if let Some((low, high)) = self.interval {
            let (low, high) = (at(low), at(high));
            area.draw(&PathElement::new([(low, y + 11), (high, y + 11)], INK))?;
            for x in [low, high] {
                area.draw(&PathElement::new([(x, y + 7), (x, y + 15)], INK))?;
            }
        }
        if let Some(mark) = self.mark {
            let path = [(at(mark), y + 1), (at(mark), y + 21)];
            area.draw(&PathElement::new(path, INK.stroke_width(3)))?;
        }
        text(area, &self.figure, FIGURE_MAX, (right + 10, y + 11), font(12, &INK))
    }
}

/// Draws the operations of a handshake per second of one core. The length of a bar is the ratio to
/// the baseline; the operations per second are written beside the bar.
///
/// Contenders without measurements are left out. The baseline is the first measured one of this
/// list: OpenSSL, AWS-LC, Tollgate. Operations without a figure of the baseline are left out, and
/// if Tollgate was measured, those without it.
#[must_use]
pub fn speed(records: &[Record]) -> String {
    let rates = Rates(records);
    let contenders = rates.contenders();
    let baseline = ["openssl", "aws-lc", "tollgate"];
    let baseline =
        baseline.iter().find_map(|by| contenders.iter().rfind(|contender| contender.by == *by));
    let Some(baseline) = baseline else {
        let (title, groups) = ("No operation of a handshake was measured.", Vec::new());
        let (note, legend, unit) = ("", Vec::new(), Unit::Ratio);
        return Bars { title, note, legend, groups, unit }.svg();
    };
    let has_ours = contenders.iter().any(|contender| contender.by == "tollgate");
    let group = |operation| {
        let unit = rates.rate(operation, baseline)?;
        if has_ours {
            rates.ours(operation, &contenders)?;
        }
        let bar = |contender: &Contender| {
            let rate = rates.rate(operation, contender)?;
            let figure = format!("{} per s", number(rate.get(), Unit::PerSecond));
            let pieces = vec![(rate / unit, colour(contender.by, contender.batch.is_some()))];
            Some(Bar { label: rates.name(contender), pieces, figure, ..Bar::default() })
        };
        Some(Group { heading: name(operation), bars: contenders.iter().filter_map(bar).collect() })
    };
    let library = rates.name(baseline);
    let date = rates.date().unwrap_or_default();
    Bars {
        title: &format!("Operations of a server on one core: times as fast as {library}"),
        note: &format!("{date}, {}", rates.machine()),
        legend: Vec::new(),
        groups: OPERATIONS.iter().filter_map(group).collect(),
        unit: Unit::Ratio,
    }
    .svg()
}

const PANEL_PX: (u32, u32) = (460, 430);

/// The smallest ratio of the ends of a logarithmic x axis; below it, the axis is linear.
const LOG_FROM: f64 = 10.0;

/// A chart with series of points.
#[derive(Clone, Debug)]
pub struct Plane {
    /// The title above the chart.
    pub title: String,
    /// The labels of the x and the y axis.
    pub axes: [String; 2],
    /// The series of points.
    pub series: Vec<Series>,
    /// `true` if both axes are linear and begin at 0. Otherwise the y axis is logarithmic, and so
    /// is a long x axis.
    pub is_from_zero: bool,
}

/// Points that belong together, joined by a line. Coordinates are positive or 0.
#[derive(Clone, Debug, Default)]
pub struct Series {
    /// The name in the legend; series without a name are not in it.
    pub name: String,
    /// Points as (x, y).
    pub points: Vec<(f64, f64)>,
    /// The place of the colour; each place has its own.
    pub colour: usize,
    /// `true` for a dashed line without marks at the points.
    pub is_dashed: bool,
}

impl Plane {
    /// Draws the chart. One without points has only its title.
    pub(crate) fn svg(&self) -> String {
        svg(PANEL_PX, |area| self.draw(area))
    }

    fn draw(&self, area: &Area<'_>) -> Drawn {
        let (across, up) = (self.range(|point| point.0), self.range(|point| point.1));
        if self.is_from_zero {
            self.draw_on(area, 0.0..across.end, 0.0..up.end)
        } else if self.points().any(|point| point.0 == 0.0) {
            self.draw_on(area, 0.0..across.end, up.log_scale())
        } else if across.end < LOG_FROM * across.start {
            self.draw_on(area, across, up.log_scale())
        } else {
            self.draw_on(area, across.log_scale(), up.log_scale())
        }
    }

    /// Returns the points that can be drawn.
    fn of<'a>(&self, series: &'a Series) -> impl Iterator<Item = (f64, f64)> + Clone + use<'a> {
        let is_from_zero = self.is_from_zero;
        let is_drawn = move |(x, y): &(f64, f64)| {
            let is_on = |value: &f64| (LEAST..LARGEST).contains(value);
            (*x == 0.0 || is_on(x)) && (is_on(y) || is_from_zero && *y == 0.0)
        };
        series.points.iter().copied().filter(is_drawn)
    }

    fn points(&self) -> impl Iterator<Item = (f64, f64)> {
        self.series.iter().flat_map(|series| self.of(series))
    }

    fn range(&self, of: fn(&(f64, f64)) -> f64) -> Range<f64> {
        let values = || self.points().map(|point| of(&point)).filter(|value| *value > 0.0);
        let low = values().fold(f64::INFINITY, f64::min);
        let high = values().fold(0.0, f64::max);
        if high > 0.0 { low * 0.85..high * 1.2 } else { 1.0..2.0 }
    }

    /// Returns the upper corner with fewer points.
    fn free_corner(&self) -> SeriesLabelPosition {
        let (x, y) = (self.range(|point| point.0), self.range(|point| point.1));
        let middle = |range: Range<f64>| (range.start * range.end).sqrt();
        let (middle_x, middle_y) = (middle(x), middle(y));
        let upper = || self.points().filter(|point| point.1 > middle_y);
        let right = upper().filter(|point| point.0 > middle_x).count();
        if 2 * right >= upper().count() {
            SeriesLabelPosition::UpperLeft
        } else {
            SeriesLabelPosition::UpperRight
        }
    }

    fn draw_on<X, Y>(&self, area: &Area<'_>, across: X, up: Y) -> Drawn
    where
        X: AsRangedCoord<Value = f64>,
        X::CoordDescType: ValueFormatter<f64>,
        Y: AsRangedCoord<Value = f64>,
        Y::CoordDescType: ValueFormatter<f64>,
    {
        let mut chart = ChartBuilder::on(area)
            .caption(cut(&self.title, 60), font(15, &INK))
            .margin(14)
            .x_label_area_size(42)
            .y_label_area_size(64)
            .build_cartesian_2d(across, up)?;
        chart
            .configure_mesh()
            .x_desc(cut(&self.axes[0], 60))
            .y_desc(cut(&self.axes[1], 60))
            .x_labels(6)
            .y_labels(6)
            .x_label_formatter(&|value| short(*value))
            .y_label_formatter(&|value| short(*value))
            .label_style(font(12, &PALE_INK))
            .axis_desc_style(font(12, &PALE_INK))
            .bold_line_style(GRID)
            .light_line_style(TRANSPARENT)
            .axis_style(PALE_INK)
            .draw()?;
        for series in &self.series {
            let colour = COLOURS[series.colour % COLOURS.len()];
            let points = self.of(series);
            let drawn = if series.is_dashed {
                let line = DashedPathElement::new(points, 7, 5, colour.stroke_width(2));
                chart.draw_series([line])?
            } else {
                chart.draw_series([PathElement::new(points.collect::<Vec<_>>(), colour)])?
            };
            if !series.name.is_empty() {
                drawn
                    .label(cut(&series.name, 34))
                    .legend(move |(x, y)| PathElement::new([(x, y), (x + 16, y)], colour));
            }
            if !series.is_dashed && !self.is_from_zero {
                let mark = |at| Circle::new(at, 3, colour.filled());
                chart.draw_series(self.of(series).map(mark))?;
            }
        }
        if self.points().next().is_some() {
            chart
                .configure_series_labels()
                .background_style(PAPER.mix(0.8))
                .label_font(font(12, &PALE_INK))
                .position(self.free_corner())
                .draw()?;
        }
        Ok(())
    }
}

fn svg(size: (u32, u32), draw: impl FnOnce(&Area<'_>) -> Drawn) -> String {
    let mut svg = String::new();
    let area = SVGBackend::with_string(&mut svg, size).into_drawing_area();
    area.fill(&PAPER).and_then(|()| draw(&area)).expect("a string takes whatever is drawn");
    drop(area);
    svg
}

/// Draws text whose middle has this height.
fn text(area: &Area<'_>, text: &str, max: usize, at: (i32, i32), style: TextStyle<'_>) -> Drawn {
    let centred = Pos::new(style.pos.h_pos, VPos::Center);
    area.draw(&Text::new(cut(text, max), at, style.pos(centred)))
}

fn font(px: u32, colour: &'static Colour) -> TextStyle<'static> {
    TextStyle::from(("sans-serif", em(px))).color(colour)
}

/// Returns the font size for which the SVG backend writes `px`. The backend takes a size as the
/// height of a line, and assumes that a line is 1.24 em high.
fn em(px: u32) -> f64 {
    f64::from(px) * 1.24
}

/// Converts a small count.
fn pixels(count: usize) -> i32 {
    i32::try_from(count).unwrap_or(0)
}

/// Returns the shortest label of a tick: `0`, `500k`, `1.5M`.
fn short_label(figure: f64, unit: Unit) -> String {
    let text = number(figure, unit);
    let end = text.find(|c: char| c != '.' && !c.is_ascii_digit()).unwrap_or(text.len());
    let (digits, tail) = text.split_at(end);
    let digits = match digits.contains('.') {
        true => digits.trim_end_matches('0').trim_end_matches('.'),
        false => digits,
    };
    format!("{digits}{tail}")
}

/// Returns a short form of a number.
fn short(value: f64) -> String {
    match value {
        _ if value >= 1e6 => format!("{:.1}M", value / 1e6),
        _ if value >= 1e4 => format!("{:.0}k", value / 1e3),
        _ if value >= 1e3 => format!("{:.1}k", value / 1e3),
        _ => format!("{value:.0}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn points_and_names_are_drawn_and_no_points_are_no_panic() {
        let plane = |points| Plane {
            title: "cycles against bytes".to_owned(),
            axes: ["bytes of code".to_owned(), "cycles".to_owned()],
            series: vec![Series { name: "extended <1>".to_owned(), points, ..Series::default() }],
            is_from_zero: false,
        };
        let rising = plane(vec![(30.0, 1.0), (60.0, 2.0), (90.0, 10.0), (95.0, 20.0)]);
        assert!(matches!(rising.free_corner(), SeriesLabelPosition::UpperLeft));
        let marks = rising.svg();
        assert!(marks.lines().any(|line| line.trim() == "60"), "a short axis is linear: {marks}");
        let svg = plane(vec![(500.0, 1e4), (1e3, 9e3)]).svg();
        assert!(svg.contains("bytes of code"), "{svg}");
        assert!(svg.contains("extended &lt;1&gt;"), "names are escaped");
        assert!(svg.matches("<circle").count() >= 2, "{svg}");
        let odd = plane(vec![(f64::NAN, 1.0), (1.0, f64::INFINITY), (2.0, -1.0), (0.0, 0.0)]);
        for plane in [odd.clone(), Plane { is_from_zero: true, ..odd }, plane(Vec::new())] {
            assert!(plane.svg().starts_with("<svg"));
        }
    }

    #[test]
    fn ticks_are_short() {
        let labels = [0.0, 5e5, 1.5e6, 250.0].map(|tick| short_label(tick, Unit::Cycles));
        assert_eq!(labels, ["0", "500k", "1.5M", "250"]);
    }
}
