//! Price files.

use proptest::prelude::*;
use tollgate_fleet::{Paid, PricedMachine, Prices, SessionCost, Utilisation};
use tollgate_record::Estimate;

const GOOD: &str = r#"
[[machine]]
name = "example-16"
cores = 16
price_per_hour = 0.64
currency = "EUR"
date = 2026-11-27
source = "made up"

[[machine]]
name = "eti10-blade"
cores = 12
price = 3999
currency = "USD"
date = 2010-08-30
source = "SIGCOMM 2010"
"#;

#[test]
fn a_file_has_rented_and_bought_machines() {
    let prices = Prices::from_toml(GOOD).unwrap();
    let [rented, bought] = &*prices.machines else { panic!("{prices:?}") };
    assert_eq!(rented.paid, Paid::PerHour(0.64));
    assert_eq!(bought.paid, Paid::Once { amount: 3999.0, years: None });
    assert_eq!(bought.date, "2010-08-30");
    let session = SessionCost::new(Estimate::exact(400e3).unwrap(), 1).unwrap();
    let cost = |of: &PricedMachine| of.cost_of_million(&session, Utilisation::new(0.5).unwrap());
    // 800 s of a core for 0.04 EUR an hour
    assert!((cost(rented).unwrap().unwrap().point() - 800.0 * 0.04 / 3600.0).abs() < 1e-12);
    assert_eq!(cost(bought), Ok(None));
    assert_eq!(rented.stated(), "0.64 EUR an hour");
    let years = Prices::from_toml(&GOOD.replace("price = 3999", "price = 3999\nyears = 5"));
    assert_eq!(years.unwrap().machines[1].stated(), "3999 USD for 5 years");
}

/// Each error has one line, which names the line of the file and the remedy.
#[test]
fn bad_files_are_refused_with_line_and_remedy() {
    for (from, to, says) in [
        ("cores = 16", "cores = 0", "line 4: machine.cores: give the number of cores"),
        ("cores = 16", "cores = \"many\"", "line 4: machine.cores: give the number of cores"),
        ("name = \"example-16\"", "name = \"a b\"", "line 3: machine.name: give a name of at most"),
        ("0.64", "-0.64", "line 5: machine.price_per_hour: give a number above 0"),
        ("0.64", "nan", "line 5: machine.price_per_hour: give a number above 0"),
        ("0.64", "inf", "line 5: machine.price_per_hour: give a number above 0"),
        ("\"EUR\"", "\"euro\"", "line 6: machine.currency: give three capital letters"),
        ("2026-11-27", "\"2026-11-27\"", "line 7: machine.date: give a day without quotes"),
        ("2026-11-27", "2026-11-27T10:00:00Z", "line 7: machine.date: give a day without quotes"),
        ("2026-11-27", "2026-13-27", "line 7"),
        ("\"made up\"", "\" \"", "line 8: machine.source: say in one line"),
        ("\"made up\"", "\"a\\u001b[31m\"", "line 8: machine.source: say in one line"),
        ("cores = 16", "cores = 16\nvolts = 1", "line 5: machine.volts: unknown field `volts`"),
        (
            "cores = 16",
            "cores = 16\nyears = 5",
            "line 2: machine: years is for a price that is paid",
        ),
        ("cores = 16", "cores = 16\nprice = 5", "line 2: machine: give one of price"),
        ("price_per_hour = 0.64", "", "line 2: machine: give one of price"),
        ("eti10-blade", "example-16", "line 10: machine: example-16 has two prices"),
        ("currency = \"EUR\"", "", "missing field `currency`"),
        ("[[machine]]", "[[machine]", "line 2"),
    ] {
        let text = GOOD.replacen(from, to, 1);
        assert_ne!(text, GOOD, "{from}");
        let error = Prices::from_toml(&text).unwrap_err().to_string();
        assert!(error.starts_with("price file: line ") && error.contains(says), "{to}: {error}");
        assert_eq!(error.lines().count(), 1, "{error}");
    }
    let error = Prices::from_toml("# nothing\n").unwrap_err().to_string();
    assert_eq!(error, "price file: no machine: write one under the heading [[machine]]");
}

proptest! {
    /// Any text is a price file or an error of one line; a good file has sound prices.
    #[test]
    fn no_text_is_a_surprise(
        at in 0..GOOD.len(),
        length in 0_usize..40,
        text in "\\PC{0,30}|[\n=\"\\[\\]0-9.-]{0,12}",
    ) {
        let end = (at + length).min(GOOD.len());
        let edited = format!("{}{text}{}", &GOOD[..at], &GOOD[end..]);
        match Prices::from_toml(&edited) {
            Ok(prices) => for machine in &prices.machines {
                prop_assert!(machine.cores > 0 && !machine.stated().is_empty());
            },
            Err(error) => prop_assert!(!error.to_string().contains(char::is_control), "{error}"),
        }
    }
}
