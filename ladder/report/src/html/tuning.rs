//! The page of a tuned server: the rate after each step, with the expectation.

use maud::html;
use tollgate_record::{Estimate, Unit};

use super::bars::{Bar as Row, Group, bars, legend};
use super::page;

/// A state of the server.
#[derive(Clone, Debug)]
pub struct Bar {
    /// The name of the step.
    pub name: String,
    /// Requests per second.
    pub rate: Estimate,
    /// The expected requests per second.
    pub expected: Option<f64>,
    /// `false` if the step was taken back.
    pub is_kept: bool,
}

/// Returns the page: bars with a mark at each expectation, then the story as text.
#[must_use]
pub fn of_tuning(about: &str, steps: &[Bar], story: &str) -> String {
    let row = |step: &Bar| {
        let class = if step.is_kept { "ours" } else { "library-other" };
        let note = if step.is_kept { "" } else { "not kept" };
        Row {
            note: note.to_owned(),
            mark: step.expected,
            interval: Some(step.rate.interval()),
            remark: step.expected.map_or_else(String::new, |rate| format!("expected {rate:.0}")),
            ..Row::plain(step.name.clone(), class, step.rate.point(), Unit::PerSecond)
        }
    };
    let steps = [Group { heading: String::new(), bars: steps.iter().map(row).collect() }];
    let main = html! {
        section id="steps" {
            h2 { "Requests per second, step by step" }
            p {
                "A bar is the rate of a state, with its 95 % interval. The mark is the rate that \
                 was expected before the step: Amdahl\u{2019}s law on the measured parts."
            }
            (legend(&[("ours", "kept".to_owned()), ("library-other", "not kept".to_owned())]))
            (bars("", &steps, Unit::PerSecond, "per s"))
        }
        section id="story" {
            h2 { "The story" }
            pre { (story) }
        }
    };
    page("Tuning a server", &html! { (about) }, [("steps", "Steps"), ("story", "Story")], &main)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_bar_has_its_expectation_and_text_is_escaped() {
        let rate = |rate: f64| Estimate::new(rate, (rate, rate), 6).unwrap();
        let steps = [
            Bar { name: "start".to_owned(), rate: rate(500.0), expected: None, is_kept: true },
            Bar {
                name: "1 <x>".to_owned(),
                rate: rate(900.0),
                expected: Some(950.0),
                is_kept: false,
            },
        ];
        let page = of_tuning("nginx", &steps, "a story & more");
        for part in ["1 &lt;x&gt;", "expected 950", "not kept", "a story &amp; more"] {
            assert!(page.contains(part), "{part}");
        }
        assert_eq!(page.matches("class=\"mark\"").count(), 1);
    }
}
