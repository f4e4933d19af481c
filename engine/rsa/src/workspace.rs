//! The memory and the kernels of one thread.

use tollgate_mont::{Kernel as _, LaneKernel, LimbKernel};

use crate::error::{Error, MODULUS_BITS_MAX, Misuse};
use crate::material::Lanes;
use crate::plans::Plans;
use crate::runner::{BlockRunner, Runner};

/// Kernels and scratch memory for operations, one per thread.
///
/// Its memory grows to the largest key so far; after that no operation allocates. The memory is
/// wiped after each private operation and when it is dropped, also after a panic.
pub struct Workspace {
    pub(crate) limbs: Runner<LimbKernel>,
    /// Runs operations in lane blocks; `None` if the limb kernel does not use them.
    pub(crate) blocks: Option<BlockRunner>,
    pub(crate) lanes: Runner<LaneKernel>,
    pub(crate) keys: Lanes,
    pub(crate) plans: Plans,
}

/// The number of limbs of the longest number, for arrays on the stack.
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
    /// Uses the best kernels of this processor that `TOLLGATE_CPU_DISABLE` does not veto.
    ///
    /// # Errors
    ///
    /// [`Misuse::Veto`] if the variable holds an unknown word.
    pub fn new() -> Result<Self, Error> {
        tollgate_cpu::features::veto().map_err(|unknown| Misuse::Veto(unknown.to_string()))?;
        Ok(Self::with_kernels(LimbKernel::best(), LaneKernel::best()))
    }

    /// Uses these kernels.
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

    /// Wipes all memory used by operations, including the inputs of public ones.
    pub(crate) fn wipe(&mut self) {
        self.limbs.wipe();
        if let Some(blocks) = &mut self.blocks {
            blocks.wipe();
        }
        self.lanes.wipe();
        let keys = &mut self.keys;
        self.lanes.kernel.with_target_features(
            #[inline(always)]
            || keys.wipe(),
        );
    }

    /// Replaces the built-in plans for batches.
    #[must_use]
    pub fn with_plans(mut self, plans: Plans) -> Self {
        self.plans = plans;
        self
    }

    /// Returns the plans that cut batches into calls.
    pub fn plans(&self) -> &Plans {
        &self.plans
    }

    /// Returns the kernel of single operations.
    pub fn limb_kernel(&self) -> LimbKernel {
        self.limbs.kernel
    }

    /// Returns the kernel of batches.
    pub fn lane_kernel(&self) -> LaneKernel {
        self.lanes.kernel
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::operations::public_batch;
    use crate::plan::{Form, Operation, Plan};
    use crate::request::PublicRequest;
    use crate::test_keys::{self, run};

    /// Runs public operations alone and in lanes, and then one private operation, alone or in a
    /// batch.
    #[test]
    fn a_private_operation_wipes_data_of_public_ones() {
        let key = test_keys::key("rsa-1024");
        for kernel in LimbKernel::all() {
            for in_batch in [false, true] {
                let plans = Plans::always(Form::Lanes);
                let plans = plans.with(Operation::Private, 1024, Plan::always(Form::One));
                let mut workspace = Workspace::with_kernels(kernel, LaneKernel::Portable);
                workspace = workspace.with_plans(plans);
                let mut buffer = vec![1; key.size()];
                key.public().public(&mut workspace, &mut buffer).expect("below n");
                let mut requests = [PublicRequest::new(key.public(), &mut buffer)];
                public_batch(&mut workspace, &mut requests);
                assert!(!workspace.limbs.is_wiped() && !workspace.lanes.is_wiped());
                if in_batch {
                    assert_eq!(
                        run(&mut workspace, &key, &mut [buffer.clone(), buffer]),
                        [Ok(()), Ok(())]
                    );
                } else {
                    key.private(&mut workspace, &mut buffer).expect("a good key");
                }
                let in_blocks = workspace.blocks.as_ref().is_none_or(BlockRunner::is_wiped);
                assert!(in_blocks, "{kernel:?}");
                assert!(workspace.limbs.is_wiped() && workspace.lanes.is_wiped(), "{kernel:?}");
            }
        }
    }
}
