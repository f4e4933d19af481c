//! Reads any text as a machine file. The result is a machine that survives a round trip and has
//! finite bounds, or an error of one line.
#![no_main]

use libfuzzer_sys::fuzz_target;
use tollgate_processor::Machine;

fuzz_target!(|text: &str| {
    let machine = match Machine::from_toml(text) {
        Ok(machine) => machine,
        Err(error) => {
            let message = error.to_string();
            assert!(!message.chars().any(char::is_control), "{message}");
            return;
        }
    };
    let again = Machine::from_toml(&machine.to_toml()).expect("what was written is read");
    assert_eq!(again, machine);
    for bits in [1, 512, 8192] {
        if let Some(product) = machine.product(bits) {
            assert!(product.bound.cycles.get().is_finite());
        }
    }
});
