//! The shares of clients in a turn: a client with many connections leaves room for the others.

/// The maximum number of operations in a turn. It is also the number of slots in the queue for each
/// worker, so the queue is never full.
pub(crate) const TURN_MAX: usize = 64;

/// Divides the operations of a turn among the clients that had requests in the turn before.
#[derive(Default)]
pub(crate) struct Shares {
    /// The operations of each client in this turn; `None` if it has asked for none.
    taken: Vec<Option<usize>>,
    /// The maximum number for each client.
    each: usize,
}

impl Shares {
    pub(crate) fn begin(&mut self) {
        let clients = self.taken.iter().flatten().count();
        self.each = TURN_MAX.div_ceil(clients.max(1));
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
        let mut shares = Shares::default();
        assert_eq!(turn(&mut shares, &[3, 1]), [TURN_MAX; 2]);
        assert_eq!(turn(&mut shares, &[1, 3]), [TURN_MAX / 2; 2]);
        assert_eq!(turn(&mut shares, &[1]), [TURN_MAX / 2]);
        assert_eq!(turn(&mut shares, &[1, 2, 3]), [TURN_MAX; 3], "one had asked");
        assert_eq!(turn(&mut shares, &[5, 1, 2]), [TURN_MAX.div_ceil(3); 3]);
        assert!(turn(&mut shares, &[]).is_empty());
        assert_eq!(turn(&mut shares, &[0]), [TURN_MAX]);
    }
}
