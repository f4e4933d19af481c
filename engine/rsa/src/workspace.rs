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

    /// Wipes what operations left, on whichever memory they ran: a public one leaves its input.
    pub(crate) fn wipe(&mut self) {
        self.limbs.wipe();
        self.lanes.wipe();
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::batch::{PrivateRequest, PublicRequest, private_batch, public_batch};
    use crate::plan::{Form, Operation, Plan};

    /// Public operations alone and in lanes, and then one private operation, alone or in a batch.
    #[test]
    fn what_a_public_operation_leaves_goes_with_the_next_private_one() {
        let pem = include_str!("../../../vectors/keys/rsa-1024.pem");
        let key = PrivateKey::from_pem(pem).expect("a good key");
        for kernel in LimbKernel::all() {
            for in_batch in [false, true] {
                let plans = Plans::always(Form::Lanes);
                let plans = plans.with(Operation::Private, 1024, Plan::always(Form::Two));
                let mut workspace = Workspace::with_kernels(kernel, LaneKernel::Portable);
                workspace = workspace.with_plans(plans);
                let mut buffer = vec![1; key.size()];
                key.public().public(&mut workspace, &mut buffer).expect("below n");
                let mut requests = [PublicRequest::new(key.public(), &mut buffer)];
                public_batch(&mut workspace, &mut requests);
                assert!(!workspace.limbs.is_wiped() && !workspace.lanes.is_wiped());
                if in_batch {
                    let mut second = buffer.clone();
                    let mut requests =
                        [&mut buffer, &mut second].map(|buffer| PrivateRequest::new(&key, buffer));
                    private_batch(&mut workspace, &mut requests);
                } else {
                    key.private(&mut workspace, &mut buffer).expect("a good key");
                }
                assert!(workspace.limbs.is_wiped() && workspace.lanes.is_wiped(), "{kernel:?}");
            }
        }
    }
}
