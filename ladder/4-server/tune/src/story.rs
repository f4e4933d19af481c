//! The story of a run: what was known, expected, measured and decided, step by step.

use core::fmt::Write as _;

use tollgate_record::Estimate;
use tollgate_report::grid::{Column, grid};
use tollgate_report::text::wrapped;

use crate::expected::{GAIN_MIN, Outcome, Prospect, Shares, Standing};

/// The number of parts that a state names.
const PARTS_SHOWN: usize = 3;

/// A change that was tried.
#[derive(Clone, Debug)]
pub struct Step {
    /// The candidate with its expectation.
    pub prospect: Prospect,
    /// The parts of the server's time before the change.
    pub shares: Shares,
    /// Requests per second before the change, in the same rounds.
    pub before: Option<Estimate>,
    /// Requests per second with the change.
    pub after: Option<Estimate>,
    /// The decision.
    pub outcome: Outcome,
}

/// The steps of a run and what remains.
#[derive(Clone, Debug, Default)]
pub struct Story {
    /// The server, its key and its load.
    pub about: String,
    /// The parts of the server's time at the end.
    pub shares: Shares,
    /// The steps, in order.
    pub steps: Vec<Step>,
    /// The candidates that apply at the end and were not tried.
    pub left: Vec<Prospect>,
}

impl Step {
    /// Returns measured divided by expected, minus 1.
    fn error(&self) -> Option<f64> {
        Some(self.outcome.measured()?.point() / self.prospect.expected.point() - 1.0)
    }

    fn text(&self, number: usize) -> String {
        let Prospect { candidate, share, factor, expected, .. } = &self.prospect;
        let mut text = wrapped(&format!("step {number}: {}", candidate.title));
        let mut line = |name: &str, words: String| text += &wrapped(&format!("- {name}: {words}"));
        line("state", state(&self.shares));
        line("reason", candidate.reason.clone());
        if let Some(change) = &candidate.changes {
            line("changes", format!("{}: {}", change.kind, change.what));
        }
        let parts = candidate.parts.join(" + ");
        line(
            "expected",
            format!(
                "{}: {parts}, {} of the time, becomes {} as fast",
                times(expected),
                percent(share),
                times(factor)
            ),
        );
        if let (Some(ratio), Some(before), Some(after)) =
            (self.outcome.measured(), &self.before, &self.after)
        {
            let error = 100.0 * (ratio.point() / expected.point() - 1.0);
            let rates = format!("from {:.0} to {:.0} per s", before.point(), after.point());
            line("measured", format!("{}, {rates}; error {error:+.1} %", times(ratio)));
        }
        line(
            "decision",
            match &self.outcome {
                Outcome::Kept(_) => "kept".to_owned(),
                Outcome::NotKept(ratio) if ratio.interval().1 < 1.0 => {
                    "not kept: it is slower".to_owned()
                }
                Outcome::NotKept(_) => "not kept: no gain proven".to_owned(),
                Outcome::NoStep(why) => format!("no step: {why}"),
            },
        );
        text
    }
}

impl Story {
    /// Returns the story for a terminal, in lines of at most [`tollgate_report::WIDTH`] columns.
    #[must_use]
    pub fn text(&self) -> String {
        let mut text = wrapped(&self.about);
        for (place, step) in self.steps.iter().enumerate() {
            let _ = write!(text, "\n{}", step.text(place + 1));
        }
        text += &format!("\n{}", wrapped(&format!("now: {}", state(&self.shares))));
        text += &self.left_text();
        text + &self.errors()
    }

    fn left_text(&self) -> String {
        if self.left.is_empty() {
            return "Nothing else applies.\n".to_owned();
        }
        const COLUMNS: [Column; 3] = [
            Column::words("not tried", 14),
            Column::figures("expected", 18),
            Column::words("why", 64),
        ];
        let row = |prospect: &Prospect| {
            let what =
                prospect.candidate.changes.as_ref().map_or("", |change| change.what.as_str());
            let why = match prospect.standing {
                Standing::Withheld(kind) => format!("--allow {kind}: {what}"),
                Standing::Small => format!("less than {:.0} %", 100.0 * (GAIN_MIN - 1.0)),
                Standing::Open => prospect.candidate.title.clone(),
            };
            vec![prospect.candidate.word.clone(), times(&prospect.expected), why]
        };
        format!("\n{}", grid(&COLUMNS, self.left.iter().map(row).collect()))
    }

    /// Sums the errors of all measured steps, and the gains of the kept steps.
    fn errors(&self) -> String {
        let errors: Vec<f64> = self.steps.iter().filter_map(Step::error).collect();
        if errors.is_empty() {
            return String::new();
        }
        let kept = || self.steps.iter().filter(|step| matches!(step.outcome, Outcome::Kept(_)));
        let expected: f64 = kept().map(|step| step.prospect.expected.point()).product();
        let measured: f64 =
            kept().filter_map(|step| step.outcome.measured()).map(Estimate::point).product();
        let sum: f64 = errors.iter().map(|error| error.abs()).sum();
        let words = format!(
            "All kept steps together: expected {expected:.2}x, measured {measured:.2}x. Measured \
             steps: {}; the sum of the sizes of their errors is {:.1} %, the sum with signs {:+.1} \
             %.",
            errors.len(),
            100.0 * sum,
            100.0 * errors.iter().sum::<f64>()
        );
        format!("\n{}", wrapped(&words))
    }
}

/// Names the largest parts of the server's time. Parts that the profile divides further are left
/// out.
fn state(shares: &Shares) -> String {
    let details = tollgate_profile::parts();
    let is_detail = |word: &str| details.iter().any(|part| part.word == word) || word == "idle";
    let mut all: Vec<(&String, &Estimate)> =
        shares.iter().filter(|(word, _)| is_detail(word)).collect();
    all.sort_by(|a, b| b.1.point().total_cmp(&a.1.point()));
    let words =
        all.iter().take(PARTS_SHOWN).map(|(word, share)| format!("{word} {}", percent(share)));
    let words: Vec<String> = words.collect();
    if words.is_empty() { "no profile".to_owned() } else { words.join(", ") }
}

/// Writes `1.50x [1.40-1.60]`.
fn times(ratio: &Estimate) -> String {
    let (low, high) = ratio.interval();
    if low == high {
        return format!("{:.2}x", ratio.point());
    }
    format!("{:.2}x [{low:.2}-{high:.2}]", ratio.point())
}

/// Writes `76 % [75-77]`.
fn percent(share: &Estimate) -> String {
    let (low, high) = share.interval();
    format!("{:.0} % [{:.0}-{:.0}]", 100.0 * share.point(), 100.0 * low, 100.0 * high)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::candidate::Set;
    use crate::expected::gain;

    fn estimate(point: f64) -> Estimate {
        Estimate::new(point, (0.95 * point, 1.05 * point), 6).unwrap()
    }

    fn prospect(word: &str, share: f64, factor: f64, standing: Standing) -> Prospect {
        let set = Set::of_server("nginx").unwrap();
        let candidate =
            set.candidates.into_iter().find(|candidate| candidate.word == word).unwrap();
        let (share, factor) = (estimate(share), Estimate::exact(factor).unwrap());
        let expected = gain(&share, &factor).unwrap();
        Prospect { candidate, share, factor, expected, standing }
    }

    fn step(prospect: Prospect, rates: Option<(f64, f64)>, outcome: Outcome) -> Step {
        let shares = [("rsa", 0.8), ("kernel-files", 0.05), ("system", 0.2)];
        Step {
            prospect,
            shares: shares.map(|(part, share)| (part.to_owned(), estimate(share))).into(),
            before: rates.map(|(before, _)| estimate(before)),
            after: rates.map(|(_, after)| estimate(after)),
            outcome,
        }
    }

    fn story() -> Story {
        let provider = prospect("provider", 0.8, 4.0, Standing::Open);
        let files = prospect("file-cache", 0.1, 2.0, Standing::Open);
        let pinning = prospect("pinning", 0.1, 2.0, Standing::Open);
        Story {
            about: "nginx, rsa-3072".to_owned(),
            shares: Shares::from([("rsa".to_owned(), estimate(0.5))]),
            steps: vec![
                step(provider, Some((500.0, 1200.0)), Outcome::Kept(estimate(2.4))),
                step(files, Some((1200.0, 1190.0)), Outcome::NotKept(estimate(0.99))),
                step(pinning, None, Outcome::NoStep("nginx does not start".to_owned())),
            ],
            left: vec![
                prospect("rsa-2048", 0.5, 3.0, Standing::Withheld(crate::Kind::Security)),
                prospect("no-gzip", 0.01, 1.02, Standing::Small),
            ],
        }
    }

    #[test]
    fn the_story_has_state_reason_expectation_measurement_and_decision() {
        let text = story().text();
        let unbroken = text.replace("\n  ", " ");
        assert!(!text.contains('?'), "no line feed inside a wrapped line: {text}");
        for part in [
            "step 1: sign with Tollgate's provider",
            "state: rsa 80 % [76-84], kernel-files 5 % [5-5]",
            "reason: the same signatures",
            "expected: 2.50x [2.33-2.70]: rsa, 80 % [76-84] of the time, becomes 4.00x as fast",
            "measured: 2.40x [2.28-2.52], from 500 to 1200 per s; error -4.0 %",
            "decision: kept\n",
            "decision: not kept: no gain proven",
            "decision: no step: nginx does not start",
            "now: rsa 50 %",
            "--allow security: 112 bits",
            "less than 3 %",
            "All kept steps together: expected 2.50x, measured 2.40x.",
            "Measured steps: 2;",
        ] {
            assert!(unbroken.contains(part), "{part}\n{text}");
        }
        assert!(text.lines().all(|line| line.chars().count() <= tollgate_report::WIDTH), "{text}");
    }

    #[test]
    fn a_plan_has_no_errors() {
        let text = Story { steps: Vec::new(), ..story() }.text();
        assert!(
            text.contains("not tried") && !text.contains('#') && !text.contains("Errors"),
            "{text}"
        );
        let nothing = Story::default().text();
        assert!(nothing.contains("Nothing else applies"), "{nothing}");
    }
}
