//! The shares of clients in a turn: a client with many connections leaves room for the others.

/// Divides the operations of a turn among the clients that had requests in the turn before.
pub(crate) struct Shares {
    /// The maximum number of operations in a turn.
    turn_max: usize,
    /// The operations of each client in this turn; `None` if it has asked for none.
    taken: Vec<Option<usize>>,
    /// The maximum number for each client.
    each: usize,
}

impl Shares {
    pub(crate) const fn new(turn_max: usize) -> Self {
        Self { turn_max, taken: Vec::new(), each: 0 }
    }

    pub(crate) fn begin(&mut self) {
        let clients = self.taken.iter().flatten().count();
        self.each = self.turn_max.div_ceil(clients.max(1));
        self.taken.clear();
    }

    /// Returns whether a client that has a request may have another operation in this turn.
    pub(crate) fn allows(&mut self, client: usize) -> bool {
        *self.of(client).get_or_insert(0) < self.each
    }

    pub(crate) fn count(&mut self, client: usize) {
        *self.of(client).get_or_insert(0) += 1;
    }

    fn of(&mut self, client: usize) -> &mut Option<usize> {
        if client >= self.taken.len() {
            self.taken.resize(client + 1, None);
        }
        &mut self.taken[client]
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const TURN_MAX: usize = 64;

    /// Returns the operations of clients that all ask for many.
    fn turn(shares: &mut Shares, asking: &[usize]) -> Vec<usize> {
        shares.begin();
        asking
            .iter()
            .map(|&client| {
                let may = |_: &usize| {
                    let allows = shares.allows(client);
                    allows.then(|| shares.count(client)).is_some()
                };
                (0..2 * TURN_MAX).filter(may).count()
            })
            .collect()
    }

    #[test]
    fn clients_share_the_next_turn() {
        let mut shares = Shares::new(TURN_MAX);
        assert_eq!(turn(&mut shares, &[3, 1]), [TURN_MAX; 2]);
        assert_eq!(turn(&mut shares, &[1, 3]), [TURN_MAX / 2; 2]);
        assert_eq!(turn(&mut shares, &[1]), [TURN_MAX / 2]);
        assert_eq!(turn(&mut shares, &[1, 2, 3]), [TURN_MAX; 3], "one had asked");
        assert_eq!(turn(&mut shares, &[5, 1, 2]), [TURN_MAX.div_ceil(3); 3]);
        assert!(turn(&mut shares, &[]).is_empty());
        assert_eq!(turn(&mut shares, &[0]), [TURN_MAX]);
    }
}
