//! Erlang's two formulas: exact for Poisson arrivals and exponential service times.

/// Returns Erlang B, the share of arrivals that find all `servers` busy in a system without a
/// queue. `offered` is the load in erlangs: arrival rate times mean service time, at least 0.
///
/// Computed by the recurrence `B(0) := 1`, `B(k) := a B(k-1) / (k + a B(k-1))`. It adds positive
/// numbers only; it is therefore accurate for any number of servers. \[Cooper81\] section 3.3.
pub(crate) fn erlang_b(servers: u32, offered: f64) -> f64 {
    (1..=servers).fold(1.0, |blocked, k| {
        let busy = offered * blocked;
        busy / (f64::from(k) + busy)
    })
}

/// Returns Erlang C, the probability of waiting for one of `servers` (at least 1), each busy for a
/// share `load` (at least 0 and below 1).
///
/// `C := B / (1 - load (1 - B))`. \[Cooper81\] section 3.4.
pub(crate) fn erlang_c(servers: u32, load: f64) -> f64 {
    let blocked = erlang_b(servers, f64::from(servers) * load);
    blocked / (1.0 - load * (1.0 - blocked))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The usual tables of Erlang B list the offered load for a round loss. The values here are the
    /// loads for a loss of 1 %.
    #[test]
    fn agrees_with_the_printed_table_for_one_per_cent() {
        let table = [(1, 0.0101), (2, 0.153), (5, 1.361), (10, 4.461), (20, 12.03), (50, 37.90)];
        for (servers, offered) in table {
            let loss = erlang_b(servers, offered);
            assert!((loss - 0.01).abs() < 5e-5, "{servers} servers: {loss}");
        }
    }

    #[test]
    fn agrees_with_erlang_c_by_hand() {
        // One server: the probability of finding it busy is its load.
        for load in [0.0, 0.1, 0.5, 0.9, 0.999] {
            assert!((erlang_c(1, load) - load).abs() < 1e-12);
        }
        // For two servers, the formula is 2 load^2 / (1 + load). For three servers at 2 erlangs,
        // the result is 4/9.
        assert!((erlang_c(2, 0.5) - 1.0 / 3.0).abs() < 1e-15);
        assert!((erlang_c(3, 2.0 / 3.0) - 4.0 / 9.0).abs() < 1e-15);
    }

    /// The definition is a ratio of sums of `a^k / k!`. The test uses sizes whose terms fit an
    /// `f64`.
    #[test]
    fn agrees_with_the_definition() {
        for servers in 1..=60_u32 {
            for load in [0.05, 0.3, 0.7, 0.95] {
                let c = f64::from(servers);
                let (mut term, mut sum) = (1.0, 0.0); // a^k / k!, and the sum before it
                for k in 1..=servers {
                    sum += term;
                    term *= c * load / f64::from(k);
                }
                let last = term / (1.0 - load);
                let definition = last / (sum + last);
                let error = erlang_c(servers, load) / definition - 1.0;
                assert!(error.abs() < 1e-12, "{servers} servers at {load}: {error:e}");
            }
        }
    }

    #[test]
    fn many_servers_do_not_overflow() {
        let waits = erlang_c(65_536, 0.999);
        assert!(waits > 0.0 && waits < 1.0 && erlang_c(65_536, 0.5) < 1e-300);
    }
}
