//! Reads any text as a price file. The result is prices with costs, or errors of one line.
#![no_main]

use libfuzzer_sys::fuzz_target;
use tollgate_fleet::Prices;

fuzz_target!(|text: &str| {
    let prices = match Prices::from_toml(text) {
        Ok(prices) => prices,
        Err(error) => {
            let message = error.to_string();
            assert!(!message.chars().any(char::is_control), "{message}");
            return;
        }
    };
    for machine in prices.machines() {
        let _ = (machine.per_core_hour(), machine.power(), machine.stated());
    }
});
