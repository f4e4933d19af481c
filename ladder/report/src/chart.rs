//! Draws records as SVG charts. Only this module, `points` and `timeline` use the plotting crate.

use std::io;

use plotters::coord::Shift;
use plotters::prelude::*;
use plotters::style::text_anchor::{HPos, Pos, VPos};
use tollgate_record::{PerSecond, Record};

use crate::lookup::cell;
use crate::names::who;
use crate::signing::{SIZES, Signer, Signing, key};
use crate::text::cut;

type Area<'a> = DrawingArea<SVGBackend<'a>, Shift>;
type Drawn = Result<(), DrawingAreaErrorKind<io::Error>>;

const SIZE_PX: (u32, u32) = (860, 460);
const LEFT_PX: i32 = 28;
/// Height of the areas above and below the plot, in pixels.
const HEAD_PX: u32 = 118;
const FOOT_PX: u32 = 40;
/// Distance between two names of the legend, and the maximum number of characters of a name.
const LEGEND_PX: i32 = 204;
const NAME_MAX: usize = 24;
/// Maximum number of characters of a line of text.
const LINE_MAX: usize = 110;
/// Maximum number of characters of a figure, which must fit on the narrowest bar.
const FIGURE_MAX: usize = 6;

/// Tollgate is blue and the libraries are grey. The background is opaque, for use on dark pages.
const PAPER: RGBColor = RGBColor(255, 255, 255);
const OURS: [RGBColor; 2] = [RGBColor(24, 90, 168), RGBColor(112, 170, 230)];
const LIBRARIES: [RGBColor; 2] = [RGBColor(97, 104, 115), RGBColor(182, 188, 197)];
const INK: RGBColor = RGBColor(31, 35, 40);
const PALE_INK: RGBColor = RGBColor(89, 99, 110);
const GRID: RGBColor = RGBColor(226, 229, 233);

/// The share of a group's width that its bars fill together.
const FILLED: f64 = 0.88;
/// Maximum length of a bar, as a ratio to the baseline. The figure on a cut bar is not changed.
const TIMES_MAX: f64 = 100.0;

/// Draws the RSA signatures per second of one core. The length of a bar is the ratio to the
/// baseline. The signatures per second are written on the bar. Bars are grouped by key size (1024
/// to 4096 bits).
///
/// The result is an SVG of 860 x 460 pixels without external references. Signers without
/// measurements are left out. The baseline is the first measured signer of this list: OpenSSL,
/// AWS-LC, Tollgate one by one, Tollgate in batches. Key sizes without a figure of the baseline are
/// left out.
///
/// # Panics
///
/// Never: only writing could fail, and the target is a string.
#[must_use]
pub fn speed(records: &[Record]) -> String {
    let mut svg = String::new();
    let area = SVGBackend::with_string(&mut svg, SIZE_PX).into_drawing_area();
    draw(&area, Signing(records)).expect("a string takes whatever is drawn");
    drop(area);
    svg
}

fn draw(area: &Area<'_>, signing: Signing<'_>) -> Drawn {
    area.fill(&PAPER)?;
    let signers = signing.signers();
    let order = ["openssl", "aws-lc", "tollgate"];
    let Some(measure) = order.iter().find_map(|by| signers.iter().rfind(|signer| signer.by == *by))
    else {
        let text = "No RSA signature was measured.";
        return area.draw(&Text::new(text, (LEFT_PX, 24), font(16, &INK)));
    };
    let measure_name = who(measure.by);
    let line =
        |text: String, y, style| area.draw(&Text::new(cut(&text, LINE_MAX), (LEFT_PX, y), style));
    line(
        format!("RSA signing on one core: times as fast as {measure_name}"),
        22,
        TextStyle::from(("sans-serif", em(20), FontStyle::Bold)).color(&INK),
    )?;
    line(
        "On the bars: sign operations per second per core (PKCS#1 v1.5, SHA-256).".to_owned(),
        52,
        font(13, &PALE_INK),
    )?;
    line(
        format!("{}, {}", signing.date().unwrap_or_default(), signing.machine()),
        434,
        font(12, &PALE_INK),
    )?;
    legend(area, signing, &signers)?;
    bars(area, &groups(signing, &signers, measure), measure_name)
}

fn legend(area: &Area<'_>, signing: Signing<'_>, signers: &[Signer]) -> Drawn {
    let mut x = LEFT_PX;
    for signer in signers {
        area.draw(&Rectangle::new([(x, 84), (x + 12, 96)], colour(signer).filled()))?;
        let style = font(13, &INK).pos(Pos::new(HPos::Left, VPos::Center));
        area.draw(&Text::new(cut(&signing.name(signer), NAME_MAX), (x + 18, 90), style))?;
        x += LEGEND_PX;
    }
    Ok(())
}

/// The bars of one key size.
struct Group {
    name: String,
    bars: Vec<Bar>,
}

struct Bar {
    /// The ratio to the chart's baseline; positive.
    times: f64,
    rate: PerSecond,
    colour: RGBColor,
}

fn groups(signing: Signing<'_>, signers: &[Signer], measure: &Signer) -> Vec<Group> {
    let group = |bits| {
        let unit = signing.rate(bits, measure)?;
        let bar = |signer: &Signer| {
            let rate = signing.rate(bits, signer)?;
            let times = (rate / unit).min(TIMES_MAX);
            Some(Bar { times, rate, colour: colour(signer) })
        };
        Some(Group { name: key(bits), bars: signers.iter().filter_map(bar).collect() })
    };
    SIZES.into_iter().filter_map(group).collect()
}

fn bars(area: &Area<'_>, groups: &[Group], measure: &str) -> Drawn {
    let longest = groups.iter().flat_map(|group| &group.bars).map(|bar| bar.times);
    let top = longest.fold(1.0, f64::max) * 1.1; // space for the figure on the longest bar
    let right = float(groups.len());
    let mut chart = ChartBuilder::on(area)
        .margin_top(HEAD_PX)
        .margin_bottom(FOOT_PX)
        .margin_left(LEFT_PX - 4)
        .margin_right(LEFT_PX)
        .x_label_area_size(28)
        .y_label_area_size(54)
        .build_cartesian_2d(0.0..right, 0.0..top)?;
    chart
        .configure_mesh()
        .disable_x_mesh()
        .disable_x_axis()
        .y_labels(10) // at most 10 lines, so one at each whole number up to nine
        .y_label_formatter(&|times| format!("{times}x"))
        .y_desc(format!("times as fast as {measure}"))
        .axis_desc_style(font(13, &PALE_INK))
        .label_style(font(13, &PALE_INK))
        .bold_line_style(GRID)
        .light_line_style(TRANSPARENT)
        .axis_style(GRID)
        .draw()?;
    let width = FILLED / float(groups.iter().map(|group| group.bars.len()).max().unwrap_or(1));
    let centred = |size, v| font(size, &INK).pos(Pos::new(HPos::Center, v));
    for (place, group) in groups.iter().enumerate() {
        let middle = float(place) + 0.5;
        for (place, bar) in group.bars.iter().enumerate() {
            let middle = middle + (float(place) - float(group.bars.len() - 1) / 2.0) * width;
            let half = width * 0.47;
            let corners = [(middle - half, 0.0), (middle + half, bar.times)];
            chart.draw_series([Rectangle::new(corners, bar.colour.filled())])?;
            let figure = cut(&cell(Some(bar.rate)), FIGURE_MAX);
            chart.draw_series([EmptyElement::at((middle, bar.times))
                + Text::new(figure, (0, -1), centred(12, VPos::Bottom))])?;
        }
        chart.draw_series([EmptyElement::at((middle, 0.0))
            + Text::new(group.name.clone(), (0, 10), centred(13, VPos::Top))])?;
    }
    Ok(())
}

/// Converts a small count.
fn float(count: usize) -> f64 {
    u32::try_from(count).map_or(f64::INFINITY, f64::from)
}

fn colour(signer: &Signer) -> RGBColor {
    match (signer.by, &signer.batch) {
        ("tollgate", Some(_)) => OURS[0],
        ("tollgate", None) => OURS[1],
        ("openssl", _) => LIBRARIES[0],
        _ => LIBRARIES[1],
    }
}

fn font(size: u32, colour: &'static RGBColor) -> TextStyle<'static> {
    TextStyle::from(("sans-serif", em(size))).color(colour)
}

/// Returns the font size for which the SVG backend writes `px`. The backend takes a size as the
/// height of a line, and assumes that a line is 1.24 em high.
fn em(px: u32) -> f64 {
    f64::from(px) * 1.24
}
