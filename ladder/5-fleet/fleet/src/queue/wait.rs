//! Mean waiting times, in units of the mean service time.
//!
//! The formulas are exact for one server (Pollaczek and Khinchine) and for exponential service
//! (Erlang). Otherwise the result is the interpolation of \[Kimura86\] with the M/D/c value of
//! \[Cosmetatos75\], whose correction is capped as in \[Whitt93\]:
//!
//! ```text
//! M/M/c:  M := C(c, load) / (c (1 - load))
//! M/D/c:  D := (1 + g) M / 2
//!         g := min(0.24, (1 - load) (c - 1) (sqrt(4 + 5c) - 2) / (16 c load))
//! M/G/c:  W := (1 + s) / (2 s / M + (1 - s) / D)
//! ```
//!
//! Here s is the squared coefficient of variation of the service time. W equals M if s = 1, D if s
//! = 0, and `(1 + s) M / 2` if c = 1. The rule of \[LL59\] uses the factor `(1 + s) / 2` alone.
//!
//! **Error.** Two moments do not determine the mean wait of more than one server \[GHDZ10\]; the
//! error depends on the rest of the distribution. `tests/` compares the interpolation with an exact
//! M/D/c and with simulations of five distributions with s up to 4, on up to 16 cores at loads of
//! 0.5 to 0.85: see [`WAIT_ERROR_MAX`] and [`RESPONSE_ERROR_MAX`]. The relative error of short
//! waits is larger: it is 50 % for 16 cores at a load of 0.3. This error has little effect on the
//! response time.

use super::erlang::erlang_c;

/// The largest relative error of a mean wait of at least a twentieth of the mean service time.
pub const WAIT_ERROR_MAX: f64 = 0.06;

/// The largest relative error of the mean response time.
pub const RESPONSE_ERROR_MAX: f64 = 0.03;

/// Returns the mean wait divided by mean service time, M/G/1, exact: `load (1 + s) / (2 (1 -
/// load))`.
pub(crate) fn pollaczek_khinchine(load: f64, scv: f64) -> f64 {
    load * (1.0 + scv) / (2.0 * (1.0 - load))
}

/// Returns the mean wait divided by mean service time, M/M/c, exact.
pub(crate) fn mmc(servers: u32, load: f64) -> f64 {
    erlang_c(servers, load) / (f64::from(servers) * (1.0 - load))
}

/// Returns the mean wait of M/D/c divided by that of M/M/c: a ratio from 0.5 to 0.62.
fn deterministic_over_exponential(servers: u32, load: f64) -> f64 {
    let c = f64::from(servers);
    if servers == 1 {
        return 0.5;
    }
    // At load 0 the quotient is infinite, and the cap applies.
    let g = (1.0 - load) * (c - 1.0) * (5.0_f64.mul_add(c, 4.0).sqrt() - 2.0) / (16.0 * c * load);
    f64::midpoint(1.0, g.min(0.24))
}

/// Returns the mean wait divided by mean service time, M/G/c; see the module's text. `servers` is
/// at least 1, `load` is at least 0 and below 1, and `scv` is at least 0.
pub(crate) fn mgc(servers: u32, load: f64, scv: f64) -> f64 {
    if servers == 1 {
        return pollaczek_khinchine(load, scv);
    }
    interpolated(servers, load, scv)
}

/// Returns the interpolation. For one server it equals Pollaczek and Khinchine's formula.
fn interpolated(servers: u32, load: f64, scv: f64) -> f64 {
    let ratio = deterministic_over_exponential(servers, load);
    // The divisor is positive for every scv. For s > 1 this follows from ratio >= 1/2: 2s + (1 - s)
    // / ratio >= 2s + 2 (1 - s) = 2.
    mmc(servers, load) * (1.0 + scv) / (2.0_f64.mul_add(scv, (1.0 - scv) / ratio))
}

#[cfg(test)]
mod tests {
    use super::*;

    const LOADS: [f64; 7] = [0.001, 0.1, 0.3, 0.5, 0.7, 0.9, 0.999];

    #[test]
    fn agrees_with_the_exact_formulas_at_its_edges() {
        for load in LOADS {
            for scv in [0.0, 0.25, 1.0, 4.0, 100.0] {
                let exact = pollaczek_khinchine(load, scv);
                assert_eq!(mgc(1, load, scv), exact);
                assert!((interpolated(1, load, scv) / exact - 1.0).abs() < 1e-12);
            }
            for servers in [1, 2, 3, 8, 64, 1024] {
                let (general, exact) = (mgc(servers, load, 1.0), mmc(servers, load));
                assert!((general - exact).abs() <= 1e-12 * exact, "{servers} at {load}");
            }
        }
    }

    #[test]
    fn agrees_with_textbook_values() {
        assert!((pollaczek_khinchine(0.5, 1.0) - 1.0).abs() < 1e-15); // M/M/1: load / (1 - load)
        assert!((pollaczek_khinchine(0.8, 0.0) - 2.0).abs() < 1e-12); // M/D/1: half of M/M/1
        assert!((mmc(2, 0.5) - 1.0 / 3.0).abs() < 1e-15);
        assert!((mmc(3, 2.0 / 3.0) - 4.0 / 9.0).abs() < 1e-15);
    }

    #[test]
    fn no_load_no_wait() {
        for servers in [1, 2, 100] {
            for scv in [0.0, 1.0, 9.0] {
                assert_eq!(mgc(servers, 0.0, scv), 0.0);
            }
        }
    }
}
