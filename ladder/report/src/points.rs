//! Scatter charts side by side, as SVG.

use core::ops::Range;
use std::io;

use plotters::coord::Shift;
use plotters::coord::ranged1d::{AsRangedCoord, ValueFormatter};
use plotters::prelude::*;

use crate::text::cut;

type Area<'a> = DrawingArea<SVGBackend<'a>, Shift>;
type Drawn = Result<(), DrawingAreaErrorKind<io::Error>>;

const PANEL_PX: (u32, u32) = (460, 430);
const HEAD_PX: u32 = 40;
pub(crate) const PAPER: RGBColor = RGBColor(255, 255, 255);
pub(crate) const INK: RGBColor = RGBColor(31, 35, 40);
pub(crate) const PALE_INK: RGBColor = RGBColor(89, 99, 110);
pub(crate) const GRID: RGBColor = RGBColor(226, 229, 233);
pub(crate) const COLOURS: [RGBColor; 6] = [
    RGBColor(24, 90, 168),
    RGBColor(200, 90, 20),
    RGBColor(40, 140, 80),
    RGBColor(130, 60, 150),
    RGBColor(97, 104, 115),
    RGBColor(112, 170, 230),
];

/// The smallest ratio of the ends of a logarithmic x axis; below it, the axis is linear.
const LOG_FROM: f64 = 10.0;

/// A chart with series of points. The y axis is logarithmic, and so is a long x axis.
#[derive(Clone, Debug)]
pub struct Plane {
    /// The title above the chart.
    pub title: String,
    /// The labels of the x and the y axis.
    pub axes: [String; 2],
    /// The series of points.
    pub series: Vec<Series>,
}

/// Points that belong together, joined by a line. Coordinates are positive; x may be 0.
#[derive(Clone, Debug)]
pub struct Series {
    /// The name in the legend.
    pub name: String,
    /// Points as (x, y).
    pub points: Vec<(f64, f64)>,
}

/// Draws charts side by side. A chart without points has only its title.
///
/// # Panics
///
/// Never: only writing could fail, and the target is a string.
#[must_use]
pub fn planes(title: &str, planes: &[Plane]) -> String {
    let mut svg = String::new();
    let count = u32::try_from(planes.len().max(1)).expect("planes are few");
    let size = (PANEL_PX.0 * count, PANEL_PX.1 + HEAD_PX);
    let area = SVGBackend::with_string(&mut svg, size).into_drawing_area();
    draw(&area, title, planes).expect("a string takes whatever is drawn");
    drop(area);
    svg
}

fn draw(area: &Area<'_>, title: &str, planes: &[Plane]) -> Drawn {
    area.fill(&PAPER)?;
    area.draw(&Text::new(cut(title, 160), (16, 12), ("sans-serif", 20).into_font().color(&INK)))?;
    let (_, below) = area.split_vertically(HEAD_PX);
    for (panel, plane) in below.split_evenly((1, planes.len().max(1))).iter().zip(planes) {
        draw_plane(panel, plane)?;
    }
    Ok(())
}

fn draw_plane(area: &Area<'_>, plane: &Plane) -> Drawn {
    let across = plane.range(|point| point.0);
    let is_from_zero = plane.points().any(|point| point.0 == 0.0);
    if is_from_zero {
        draw_across(area, plane, 0.0..across.end)
    } else if across.end < LOG_FROM * across.start {
        draw_across(area, plane, across)
    } else {
        draw_across(area, plane, across.log_scale())
    }
}

impl Plane {
    fn points(&self) -> impl Iterator<Item = &(f64, f64)> {
        self.series.iter().flat_map(|series| &series.points)
    }

    fn range(&self, of: fn(&(f64, f64)) -> f64) -> Range<f64> {
        let values = || self.points().map(of).filter(|value| value.is_finite() && *value > 0.0);
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
}

fn draw_across<X>(area: &Area<'_>, plane: &Plane, across: X) -> Drawn
where
    X: AsRangedCoord<Value = f64>,
    X::CoordDescType: ValueFormatter<f64>,
{
    let label = || ("sans-serif", 13).into_font().color(&PALE_INK);
    let mut chart = ChartBuilder::on(area)
        .caption(cut(&plane.title, 60), ("sans-serif", 15).into_font().color(&INK))
        .margin(14)
        .x_label_area_size(42)
        .y_label_area_size(64)
        .build_cartesian_2d(across, plane.range(|point| point.1).log_scale())?;
    chart
        .configure_mesh()
        .x_desc(cut(&plane.axes[0], 60))
        .y_desc(cut(&plane.axes[1], 60))
        .x_labels(6)
        .y_labels(6)
        .x_label_formatter(&|value| short(*value))
        .y_label_formatter(&|value| short(*value))
        .label_style(label())
        .axis_desc_style(label())
        .bold_line_style(GRID)
        .light_line_style(TRANSPARENT)
        .axis_style(PALE_INK)
        .draw()?;
    for (i, series) in plane.series.iter().enumerate() {
        let colour = COLOURS[i % COLOURS.len()];
        chart
            .draw_series([PathElement::new(series.points.clone(), colour)])?
            .label(cut(&series.name, 34))
            .legend(move |(x, y)| PathElement::new([(x, y), (x + 16, y)], colour));
        chart.draw_series(series.points.iter().map(|&at| Circle::new(at, 3, colour.filled())))?;
    }
    if plane.points().next().is_some() {
        chart
            .configure_series_labels()
            .background_style(PAPER.mix(0.8))
            .label_font(label())
            .position(plane.free_corner())
            .draw()?;
    }
    Ok(())
}

/// Returns a short form of a number.
pub(crate) fn short(value: f64) -> String {
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
            series: vec![Series { name: "extended <1>".to_owned(), points }],
        };
        let rising = plane(vec![(30.0, 1.0), (60.0, 2.0), (90.0, 10.0), (95.0, 20.0)]);
        assert!(matches!(rising.free_corner(), SeriesLabelPosition::UpperLeft));
        let marks = planes("", &[rising]);
        assert!(marks.lines().any(|line| line.trim() == "60"), "a short axis is linear: {marks}");
        let svg = planes("a study", &[plane(vec![(500.0, 1e4), (1e3, 9e3)]), plane(Vec::new())]);
        assert!(svg.contains("a study") && svg.contains("bytes of code"), "{svg}");
        assert!(svg.contains("extended &lt;1&gt;"), "names are escaped");
        assert!(svg.matches("<circle").count() >= 2, "{svg}");
        assert!(planes("", &[]).starts_with("<svg"));
    }
}
