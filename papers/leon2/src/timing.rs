//! The cost of instructions, read from a file.

use serde::Deserialize;
use tollgate_record::BadFile;

/// The timing of a core: slots, interlocks, multiplier. Read from TOML.
///
/// ```
/// use tollgate_leon2::Timing;
///
/// let timing = Timing::from_toml(Timing::LEON2)?;
/// assert_eq!(timing.slots.store, 2);
/// # Ok::<(), tollgate_record::BadFile>(())
/// ```
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Timing {
    /// Its name.
    pub name: String,
    /// The source of its numbers.
    pub source: String,
    /// The slots of instructions.
    pub slots: Slots,
    /// The waits of an instruction for an earlier one.
    pub interlocks: Interlocks,
    /// The integer multiplier.
    pub multiplier: Multiplier,
    /// The unit of the multiply-accumulate extension.
    pub accumulate: Accumulate,
    /// Register windows.
    pub windows: Windows,
}

/// The number of slots that each class of instructions takes.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
#[expect(missing_docs, reason = "each is a class of instructions")]
pub struct Slots {
    pub alu: u32,
    pub load: u32,
    pub load_double: u32,
    pub store: u32,
    pub store_double: u32,
    pub atomic: u32,
    pub branch: u32,
    /// The number of slots of a jump, without the bubble after its delay slot.
    pub jump: u32,
    pub divide: u32,
    /// The number of slots from an instruction that traps to the first instruction of its handler.
    pub trap: u32,
}

/// Interlocks: the waits of an instruction for an earlier one.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Interlocks {
    /// The number of slots from a load to an instruction that reads its result: 1 or 2.
    pub load_delay: u32,
    /// True if a branch waits for condition codes of the instruction before it.
    pub icc_hold: bool,
    /// The number of slots lost after the delay slot of a jump to an address in registers.
    pub jump_bubble: u32,
}

/// The integer multiplier.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Multiplier {
    /// Its array.
    pub geometry: Geometry,
    /// The number of slots of a multiplication. `None` if the geometry determines it.
    slots: Option<u32>,
}

impl Multiplier {
    /// Returns the number of slots of a multiplication.
    pub fn slots(&self) -> u32 {
        self.slots.unwrap_or(self.geometry.slots())
    }
}

/// The array of the multiplier.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[expect(missing_docs, reason = "bits by bits")]
pub enum Geometry {
    #[serde(rename = "32x32")]
    By32x32,
    #[serde(rename = "32x16")]
    By32x16,
    #[serde(rename = "32x8")]
    By32x8,
    #[serde(rename = "16x16")]
    By16x16,
    #[serde(rename = "16x16-pipelined")]
    By16x16Pipelined,
    #[serde(rename = "iterative")]
    Iterative,
}

impl Geometry {
    /// Returns the number of slots of a multiplication on LEON-2.
    pub fn slots(self) -> u32 {
        match self {
            Self::By32x32 => 1,
            Self::By32x16 => 3,
            Self::By32x8 | Self::By16x16 => 5,
            Self::By16x16Pipelined => 6,
            Self::Iterative => 35,
        }
    }
}

/// The unit of the multiply-accumulate extension.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Accumulate {
    /// The number of slots of a multiplication into the accumulator.
    pub slots: u32,
}

/// Register windows.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Windows {
    /// Their number.
    pub count: u32,
    /// The number of slots of a handler that stores a window, if the simulator acts as the
    /// operating system.
    pub spill: u32,
    /// The number of slots of a handler that loads a window, if the simulator acts as the operating
    /// system.
    pub fill: u32,
}

impl Timing {
    /// The file of LEON-2 with a multiplier of one slot and an accumulator unit of one slot.
    pub const LEON2: &str = include_str!("../timings/leon-2.toml");

    /// Returns the timing in [`Timing::LEON2`].
    ///
    /// # Panics
    ///
    /// Never: a test reads the file.
    #[must_use]
    pub fn leon2() -> Self {
        Self::from_toml(Self::LEON2).expect("a test reads it")
    }

    /// Returns this timing with another multiplier.
    #[must_use]
    pub fn with_multiplier(self, geometry: Geometry) -> Self {
        Self { multiplier: Multiplier { geometry, slots: None }, ..self }
    }

    /// Returns this timing with products of `slots` slots, both into a register and into the
    /// accumulator.
    #[must_use]
    pub fn with_products(self, slots: u32) -> Self {
        let multiplier = Multiplier { slots: Some(slots), ..self.multiplier };
        Self { multiplier, accumulate: Accumulate { slots }, ..self }
    }

    /// Reads a timing file.
    ///
    /// # Errors
    ///
    /// [`BadFile`] with the line, if a field is missing, unknown or invalid.
    pub fn from_toml(text: &str) -> Result<Self, BadFile> {
        let timing: Self = toml::from_str(text)
            .map_err(|error| BadFile::at("timing", text, error.span(), error.message()))?;
        timing.check()?;
        Ok(timing)
    }

    /// Refuses numbers that no core could have.
    fn check(&self) -> Result<(), BadFile> {
        let s = &self.slots;
        let named = [
            ("slots.alu", s.alu, 1..=16),
            ("slots.load", s.load, 1..=16),
            ("slots.load_double", s.load_double, 1..=16),
            ("slots.store", s.store, 1..=16),
            ("slots.store_double", s.store_double, 1..=16),
            ("slots.atomic", s.atomic, 1..=64),
            ("slots.branch", s.branch, 1..=16),
            ("slots.jump", s.jump, 1..=16),
            ("slots.divide", s.divide, 1..=128),
            ("slots.trap", s.trap, 1..=64),
            ("interlocks.load_delay", self.interlocks.load_delay, 1..=2),
            ("interlocks.jump_bubble", self.interlocks.jump_bubble, 0..=4),
            ("multiplier.slots", self.multiplier.slots(), 1..=128),
            ("accumulate.slots", self.accumulate.slots, 1..=128),
            ("windows.count", self.windows.count, 3..=32),
            ("windows.spill", self.windows.spill, 1..=1000),
            ("windows.fill", self.windows.fill, 1..=1000),
        ];
        let absurd = named.into_iter().find(|(_, value, range)| !range.contains(value));
        let Some((field, value, range)) = absurd else { return Ok(()) };
        let why = format!("is {value}; it must be from {} to {}", range.start(), range.end());
        Err(BadFile::field("timing", field, why))
    }
}
