//! The shares of clients in a turn: a client with many connections leaves room for the others.

/// Divides the requests of a turn among the clients that had requests in the turn before.
pub(crate) struct Shares {
    /// The maximum number of requests that run.
    turn_max: usize,
    /// The number that is left in this turn.
    left: usize,
    /// The requests of each client in this turn; `None` if it has sent none.
    taken: Vec<Option<usize>>,
    /// The maximum number for each client.
    each: usize,
}

impl Shares {
    pub(crate) const fn new(turn_max: usize) -> Self {
        Self { turn_max, left: 0, taken: Vec::new(), each: 0 }
    }

    /// Begins a turn in which so many earlier requests still run.
    pub(crate) fn begin(&mut self, running: usize) {
        let clients = self.taken.iter().flatten().count();
        self.left = self.turn_max.saturating_sub(running);
        self.each = self.left.div_ceil(clients.max(1));
        self.taken.clear();
    }

    /// Returns whether a client that has a request may have it taken in this turn.
    pub(crate) fn allows(&mut self, client: usize) -> bool {
        *self.of(client).get_or_insert(0) < self.each && self.left > 0
    }

    pub(crate) fn count(&mut self, client: usize) {
        *self.of(client).get_or_insert(0) += 1;
        self.left -= 1;
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

    /// Returns the requests taken of clients that all have many.
    fn turn(shares: &mut Shares, asking: &[usize]) -> Vec<usize> {
        shares.begin(0);
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
        assert_eq!(turn(&mut shares, &[3, 1]), [TURN_MAX, 0]);
        assert_eq!(turn(&mut shares, &[1, 3]), [TURN_MAX / 2; 2]);
        assert_eq!(turn(&mut shares, &[1]), [TURN_MAX / 2]);
        assert_eq!(turn(&mut shares, &[1, 2, 3]), [TURN_MAX, 0, 0], "one had asked");
        assert_eq!(turn(&mut shares, &[5, 1, 2]), [22, 22, 20]);
        assert!(turn(&mut shares, &[]).is_empty());
        assert_eq!(turn(&mut shares, &[0]), [TURN_MAX]);
    }
}
