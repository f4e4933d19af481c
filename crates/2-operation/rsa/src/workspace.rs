//! The memory and the kernels of one thread.

use tollgate_mont::{LaneKernel, LimbKernel};

use crate::blocks::{self, BlockRunner};
use crate::error::{Error, MODULUS_BITS_MAX, Misuse};
use crate::key::PrivateKey;
use crate::material::Lanes;
use crate::plans::Plans;
use crate::private::Runner;

/// Kernels and scratch memory for operations, one per thread.
///
/// Grows to the largest key it has seen; after that no operation allocates. Wiped after each
/// private operation and when dropped; a panic in between leaves that to the drop.
pub struct Workspace {
    pub(crate) limbs: Runner<LimbKernel>,
    /// For keys that have blocks, where they are what `limbs` computes with.
    pub(crate) blocks: Option<BlockRunner>,
    pub(crate) lanes: Runner<LaneKernel>,
    pub(crate) keys: Lanes,
    pub(crate) plans: Plans,
}

/// Limbs of the longest number, on the stack.
pub(crate) const LIMBS_MAX: usize = MODULUS_BITS_MAX / 64;

impl core::fmt::Debug for Workspace {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        f.debug_struct("Workspace")
            .field("limbs", &self.limbs.kernel)
            .field("lanes", &self.lanes.kernel)
            .finish_non_exhaustive()
    }
}

impl Workspace {
    /// With the best kernels of this processor, less those that `TOLLGATE_CPU_DISABLE` vetoes.
    ///
    /// # Errors
    ///
    /// [`Misuse::Veto`] if the variable holds an unknown word.
    pub fn new() -> Result<Self, Error> {
        tollgate_cpu::features::veto().map_err(|unknown| Misuse::Veto(unknown.to_string()))?;
        Ok(Self::with_kernels(LimbKernel::best(), LaneKernel::best()))
    }

    /// With these kernels.
    pub fn with_kernels(limbs: LimbKernel, lanes: LaneKernel) -> Self {
        let blocks = match limbs {
            LimbKernel::Blocks(kernel) => Some(BlockRunner::new(kernel)),
            _ => None,
        };
        Self {
            limbs: Runner::new(limbs),
            blocks,
            lanes: Runner::new(lanes),
            keys: Lanes::new(),
            plans: Plans::built_in(limbs, lanes),
        }
    }

    /// With other plans for batches than those built in for the kernels.
    #[must_use]
    pub fn with_plans(mut self, plans: Plans) -> Self {
        self.plans = plans;
        self
    }

    /// How batches are cut.
    pub fn plans(&self) -> &Plans {
        &self.plans
    }

    /// Whether private operations with this key can go two in step, as
    /// [`Form::Two`](crate::Form::Two) says.
    pub fn goes_in_step(&self, key: &PrivateKey) -> bool {
        self.blocks.is_some() && blocks::alike(key, key)
    }

    /// The kernel of single operations.
    pub fn limb_kernel(&self) -> LimbKernel {
        self.limbs.kernel
    }

    /// The kernel of batches.
    pub fn lane_kernel(&self) -> LaneKernel {
        self.lanes.kernel
    }
}
