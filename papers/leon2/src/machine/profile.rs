//! Cycles by routine.

use super::Machine;

/// A routine's share of the run. A routine is the code from its symbol to the next symbol.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Share {
    /// Its name; empty before the first symbol.
    pub name: String,
    /// Its cycles.
    pub cycles: u64,
    /// Its instructions.
    pub instructions: u64,
}

impl Machine {
    /// Returns cycles by routine, highest first.
    pub fn profile(&self) -> Vec<Share> {
        let names = core::iter::once("").chain(self.routines.iter().map(|(_, name)| name.as_str()));
        let share = |(name, &(cycles, instructions)): (&str, &(u64, u64))| Share {
            name: name.to_owned(),
            cycles,
            instructions,
        };
        let mut shares: Vec<_> = names.zip(&self.spent).map(share).collect();
        shares.retain(|share| share.cycles > 0);
        shares.sort_by_key(|share| core::cmp::Reverse(share.cycles));
        shares
    }
}
