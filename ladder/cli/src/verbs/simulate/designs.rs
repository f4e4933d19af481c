//! The parameters of the study.

use tollgate_simulator::Timing;
use tollgate_simulator::routines::{
    Algorithm, Arithmetic, Exponentiation, Inputs, Loops, Number, Routine, Window,
};
use tollgate_simulator::timing::Issue;

#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) struct Multiplier {
    pub(super) arithmetic: Arithmetic,
    pub(super) slots: u32,
    pub(super) issue: Issue,
}

impl Multiplier {
    const fn plain(slots: u32) -> Self {
        Self { arithmetic: Arithmetic::Plain, slots, issue: Issue::Blocking }
    }

    const fn extended(slots: u32, issue: Issue) -> Self {
        Self { arithmetic: Arithmetic::Extended, slots, issue }
    }

    /// Returns the timing of `core` with this multiplier.
    pub(super) fn timing(self, core: &Timing) -> Timing {
        core.clone().with_products(self.slots, self.issue)
    }

    pub(super) fn name(self) -> String {
        let slots = self.slots;
        match (self.arithmetic, self.issue) {
            (Arithmetic::Plain, _) => format!("V8 {slots}"),
            (Arithmetic::Extended, Issue::Blocking) => format!("extended {slots}"),
            (Arithmetic::Extended, Issue::Decoupled) => format!("ext. {slots} decoupled"),
        }
    }
}

/// The multipliers of LEON-2: 32x32, 32x16, 16x16, iterative.
pub(super) const PLAIN: [Multiplier; 4] =
    [Multiplier::plain(1), Multiplier::plain(3), Multiplier::plain(5), Multiplier::plain(35)];

/// Multipliers of the extension.
pub(super) const EXTENDED: [Multiplier; 4] = [
    Multiplier::extended(1, Issue::Blocking),
    Multiplier::extended(2, Issue::Blocking),
    Multiplier::extended(3, Issue::Blocking),
    Multiplier::extended(2, Issue::Decoupled),
];

pub(super) fn routines(arithmetic: Arithmetic, words: u32) -> Vec<Routine> {
    let algorithms = [Algorithm::Fips, Algorithm::Cios, Algorithm::Squaring];
    let of = |algorithm| {
        Loops::ALL
            .into_iter()
            .filter_map(move |loops| Routine::new(algorithm, arithmetic, loops, words).ok())
    };
    algorithms.into_iter().flat_map(of).collect()
}

/// The multipliers of the pictures, and of exponentiations that are counted.
pub(super) const SHOWN: [Multiplier; 5] =
    [PLAIN[0], PLAIN[1], EXTENDED[0], EXTENDED[1], EXTENDED[3]];

fn windows() -> impl Iterator<Item = Window> {
    (1..=6).map(Window::Sliding).chain((1..=6).map(Window::Fixed))
}

#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) struct Design {
    pub(super) multiplier: Multiplier,
    pub(super) loops: Loops,
    /// True if squares have a separate routine; products use FIPS.
    pub(super) squaring: bool,
    pub(super) window: Window,
    pub(super) words: u32,
}

impl Design {
    /// Returns the design of the headline: FIPS unrolled by 4, sliding windows of 5 bits.
    pub(super) const fn headline(multiplier: Multiplier, words: u32) -> Self {
        let (loops, window) = (Loops::Unrolled(4), Window::Sliding(5));
        Self { multiplier, loops, squaring: false, window, words }
    }

    pub(super) fn exponentiation(self) -> Exponentiation {
        let of = |algorithm| {
            Routine::new(algorithm, self.multiplier.arithmetic, self.loops, self.words)
                .expect("every unrolling divides the words")
        };
        let square = self.squaring.then(|| of(Algorithm::Squaring));
        Exponentiation { multiply: of(Algorithm::Fips), square, window: self.window }
    }

    /// Returns the design's name in tables, without the window.
    pub(super) fn row(self) -> String {
        let squaring = if self.squaring { ", squaring" } else { "" };
        format!("{}, {}{squaring}", self.multiplier.name(), self.loops)
    }
}

/// Returns the exponentiations of `words` words to execute, in the order of their table.
pub(super) fn designs(words: u32) -> Vec<Design> {
    let multipliers = [PLAIN[0], PLAIN[1], PLAIN[3], EXTENDED[0], EXTENDED[1], EXTENDED[3]];
    let mut designs = Vec::new();
    for multiplier in multipliers {
        for loops in [Loops::Index, Loops::Unrolled(4), Loops::Unrolled(8)] {
            for squaring in [false, true] {
                designs.extend(windows().map(|window| Design {
                    multiplier,
                    loops,
                    squaring,
                    window,
                    words,
                }));
            }
        }
    }
    designs
}

/// Returns the same base, exponent and modulus in every run. The exponent's highest bit is set.
pub(super) fn numbers(words: u32) -> [Number; 3] {
    let Inputs { a, b, p } = Inputs::patterned(words);
    let mut exponent = b.words().to_vec();
    if let Some(highest) = exponent.last_mut() {
        *highest |= 1 << 31;
    }
    [a, Number::new(exponent), p]
}
