//! The plan of each operation and size: built in, or from costs that the caller has measured.
//!
//! Nothing is timed here. The built-in costs were measured on an AMD and an Intel processor; a
//! processor takes those of its nearest relative. Callers can replace them by their own.

use tollgate_mont::{BlockKernel, LaneKernel, LimbKernel};

use crate::plan::{Form, Operation, Plan};

/// A plan for each operation, by size of the modulus.
///
/// ```
/// use tollgate_rsa::{Operation, Plan, Plans, Workspace};
///
/// # let measured = Plan { lanes: Some(5.2) };
/// let workspace = Workspace::new()?;
/// let plans = workspace.plans().clone().with(Operation::Private, 2048, measured);
/// let workspace = workspace.with_plans(plans);
/// assert_eq!(workspace.plans().plan(Operation::Private, 2048), measured);
/// # Ok::<(), tollgate_rsa::Error>(())
/// ```
#[derive(Clone, Debug, Default)]
pub struct Plans {
    rows: Vec<Row>,
    measured_on: Option<&'static str>,
}

/// Costs of an operation with keys of up to `bits` bits, as multiples of a single operation: see
/// [`Plan`].
#[derive(Clone, Copy, Debug)]
struct Row {
    operation: Operation,
    bits: usize,
    plan: Plan,
}

/// Returns a row of costs, known to three digits.
const fn row(operation: Operation, bits: usize, lanes: f64) -> Row {
    Row { operation, bits, plan: Plan { lanes: Some(lanes) } }
}

use Operation::{Private, Public};

/// The processors of the tables below.
const ZEN_4: &str = "AMD Zen 4";
const ZEN_5: &str = "AMD Zen 5";
const GRANITE_RAPIDS: &str = "Intel Granite Rapids";

/// IFMA: lanes compared with lane blocks, on a Zen 5 core, from `records/plan.jsonl`.
const IFMA_AGAINST_BLOCKS: [Row; 8] = [
    row(Private, 1024, 2.64),
    row(Private, 2048, 5.15),
    row(Private, 3072, 5.12),
    row(Private, 4096, 5.65),
    row(Public, 1024, 3.24),
    row(Public, 2048, 4.85),
    row(Public, 3072, 5.61),
    row(Public, 4096, 5.98),
];

/// The same on a Granite Rapids core, from `records/plan-intel.jsonl`. For Intel's processors.
#[allow(clippy::approx_constant, reason = "3.14 is a measured cost")]
const IFMA_AGAINST_BLOCKS_INTEL: [Row; 8] = [
    row(Private, 1024, 3.14),
    row(Private, 2048, 4.87),
    row(Private, 3072, 4.50),
    row(Private, 4096, 5.40),
    row(Public, 1024, 2.83),
    row(Public, 2048, 4.42),
    row(Public, 3072, 5.12),
    row(Public, 4096, 5.54),
];

/// IFMA lanes compared with limbs (MULX), on a Zen 5 core (docs/tried-kernels.md). Used for keys
/// above 4096 bits, and for all keys if lane blocks are vetoed.
const IFMA_AGAINST_LIMBS: [Row; 2] = [row(Private, 8192, 1.3), row(Public, 8192, 1.3)];

/// AVX2 lanes compared with limbs (MULX), on a Zen 5 core with IFMA vetoed (docs/tried-kernels.md).
const AVX2_AGAINST_LIMBS: [Row; 3] =
    [row(Private, 1024, 6.3), row(Private, 8192, 5.1), row(Public, 8192, 5.1)];

/// AVX-IFMA lanes compared with limbs (MULX), on a Zen 4 core in the encoding of AVX-512, with IFMA
/// vetoed (docs/tried-kernels.md).
const AVXIFMA_AGAINST_LIMBS: [Row; 4] = [
    row(Private, 1024, 2.65),
    row(Private, 8192, 2.2),
    row(Public, 1024, 2.3),
    row(Public, 8192, 2.2),
];

/// AVX-512F lanes compared with limbs (MULX), on a Granite Rapids core with IFMA vetoed
/// (docs/tried-kernels.md).
const AVX512_AGAINST_LIMBS: [Row; 4] = [
    row(Private, 1024, 5.4),
    row(Private, 8192, 4.2),
    row(Public, 1024, 4.2),
    row(Public, 8192, 3.97),
];

impl Plans {
    /// Returns the built-in plans for these kernels.
    pub fn built_in(limbs: LimbKernel, lanes: LaneKernel) -> Self {
        let (measured_on, tables): (_, &[&[Row]]) = match (lanes, limbs) {
            (LaneKernel::Ifma(proof), LimbKernel::Blocks(BlockKernel::Ifma(..))) => {
                if proof.shares_vector_ports() {
                    (GRANITE_RAPIDS, &[&IFMA_AGAINST_BLOCKS_INTEL, &IFMA_AGAINST_LIMBS])
                } else {
                    (ZEN_5, &[&IFMA_AGAINST_BLOCKS, &IFMA_AGAINST_LIMBS])
                }
            }
            (LaneKernel::Ifma(_), _) => (ZEN_5, &[&IFMA_AGAINST_LIMBS]),
            // Lane blocks of IFMA are faster than lanes without it. The portable kernel multiplies
            // eight numbers one after the other.
            (
                LaneKernel::AvxIfma(_) | LaneKernel::Avx512(_) | LaneKernel::Avx2(_),
                LimbKernel::Blocks(BlockKernel::Ifma(..)),
            )
            | (LaneKernel::Portable, _) => return Self::default(),
            (LaneKernel::AvxIfma(_), _) => (ZEN_4, &[&AVXIFMA_AGAINST_LIMBS]),
            (LaneKernel::Avx512(_), _) => (GRANITE_RAPIDS, &[&AVX512_AGAINST_LIMBS]),
            (LaneKernel::Avx2(_), _) => (ZEN_5, &[&AVX2_AGAINST_LIMBS]),
        };
        Self { rows: tables.concat(), measured_on: Some(measured_on) }
    }

    /// The processor whose costs the built-in plans contain. `None` if there are none.
    pub fn measured_on(&self) -> Option<&'static str> {
        self.measured_on
    }

    /// Uses one form for every batch, even where it is slow. For measurements.
    pub fn always(form: Form) -> Self {
        let row = |operation| Row { operation, bits: usize::MAX, plan: Plan::always(form) };
        Self { rows: [Private, Public].map(row).to_vec(), measured_on: None }
    }

    /// Replaces the plan for keys of up to `bits` bits. It applies down to the next smaller size
    /// that has a plan.
    #[must_use]
    pub fn with(mut self, operation: Operation, bits: usize, plan: Plan) -> Self {
        self.rows.retain(|row| (row.operation, row.bits) != (operation, bits));
        self.rows.push(Row { operation, bits, plan });
        self.rows.sort_by_key(|row| row.bits);
        self
    }

    /// Returns the plan for keys of this size: the plan of the smallest size that is not below it,
    /// otherwise of the largest size. Without any plan, operations run one by one.
    pub fn plan(&self, operation: Operation, bits: usize) -> Plan {
        let mut rows = self.rows.iter().filter(|row| row.operation == operation);
        let largest = rows.clone().next_back();
        rows.find(|row| row.bits >= bits).or(largest).map_or(Plan::default(), |row| row.plan)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_size_takes_the_plan_of_the_next_one_above() {
        let of = |lanes| Plan { lanes: Some(lanes) };
        let plans = Plans::default().with(Private, 2048, of(2.0)).with(Private, 1024, of(1.0));
        let plans = plans.with(Public, 512, of(0.5)).with(Private, 2048, of(2.5));
        for (bits, lanes) in [(512, 1.0), (1024, 1.0), (1025, 2.5), (2048, 2.5), (8192, 2.5)] {
            assert_eq!(plans.plan(Private, bits), of(lanes), "{bits}");
        }
        assert_eq!(plans.plan(Public, 4096), of(0.5));
        assert_eq!(Plans::default().plan(Public, 2048), Plan::default());
    }

    #[test]
    fn requests_run_one_by_one_if_the_lane_kernel_is_slow() {
        let plans = Plans::built_in(LimbKernel::best(), LaneKernel::Portable);
        assert_eq!(plans.plan(Private, 2048).cut(20).to_string(), "20 x 1");
    }
}
