//! Machine files: valid files, refused files, and properties of all valid files.

use proptest::prelude::*;
use tollgate_processor::{Bound, Digits, Form, Limit, Machine, Mark, Rate, Routine, Uses, host};
use tollgate_record::{Kind, Timestamp};

const FILE: &str = r#"
name = "an example"
[rates]
mulx = { per_cycle = 1, mark = "stated", source = "a guide, table 7" }
multiplies = { cycles_each = 6, source = "a guide, table 6" }
mul_adc = { unknown = true }
[[routines]]
bits_max = 512
assumption = "nothing else counts"
digit = { bits = 32, source = "a guide, table 6" }
[routines.uses]
multiplies = { per_product = 1, source = "counted" }
port_operations = { unknown = true }
"#;

#[test]
fn a_file_is_written_as_it_was_read() {
    let machine = Machine::from_toml(FILE).unwrap();
    assert_eq!(machine.rates[&Limit::Mulx].cycles(3.0), Some(3.0));
    assert_eq!(machine.rates[&Limit::Multiplier].cycles(3.0), Some(18.0));
    assert_eq!(machine.rates[&Limit::Mulx].source(), Some("a guide, table 7"));
    assert_eq!(machine.rates[&Limit::MulRow], Rate::unknown());
    assert_eq!(Machine::from_toml(&machine.to_toml()).unwrap(), machine);
    let sources: Vec<_> = machine.sources().collect();
    assert_eq!(
        sources,
        [
            "multiplies = 6 cycles each, unverified: a guide, table 6",
            "mulx = 1 per cycle, stated: a guide, table 7"
        ]
    );
}

#[test]
fn a_routine_is_limited_to_its_sizes() {
    let machine = Machine::from_toml(FILE).unwrap();
    assert_eq!(machine.product(512).unwrap().bound.cycles.get(), 2.0 * 16.0 * 16.0 * 6.0);
    assert_eq!(machine.product(33).unwrap().bound.cycles.get(), 2.0 * 2.0 * 2.0 * 6.0);
    assert_eq!(machine.product(513), None);
    assert_eq!(machine.product(0), None);
}

#[test]
fn invalid_rates_are_refused_in_one_line() {
    let known = r#"{ per_cycle = 1, mark = "stated", source = "a guide, table 7" }"#;
    assert!(FILE.contains(known));
    for (bad, why) in [
        ("{ per_cycle = 2.0 }", "source"),
        (r#"{ per_cycle = 2.0, source = " " }"#, "source"),
        (r#"{ per_cycle = 0.0, source = "x" }"#, "not 0"),
        (r#"{ cycles_each = -1.0, source = "x" }"#, "not -1"),
        (r#"{ per_cycle = inf, source = "x" }"#, "not inf"),
        (r#"{ per_cycle = nan, source = "x" }"#, "not NaN"),
        (r#"{ per_cycle = 1e300, source = "x" }"#, "0.001 to 1000"),
        (r#"{ per_cycle = 1e6, source = "x" }"#, "not 1000000"),
        (r#"{ unknown = true, at_least = 2.0 }"#, "source"),
        (r#"{ unknown = true, at_least = -2.0, source = "x" }"#, "not -2"),
        (r#"{ at_least = 2.0, source = "x" }"#, "a rate is"),
        (r#"{ unknown = true, source = "x" }"#, "a rate is"),
        (r#"{ per_cycle = 2.0, mark = "sure", source = "x" }"#, "unknown variant"),
        (r#"{ per_cycle = 2.0, cycles_each = 0.5, source = "x" }"#, "a rate is"),
        (r#"{ per_cycle = 2.0, source = "x", unknown = true }"#, "a rate is"),
        ("{ unknown = false }", "a rate is"),
        ("{}", "a rate is"),
        ("{ guess = 2.0 }", "guess"),
        ("2.0", "invalid type"),
    ] {
        let error = Machine::from_toml(&FILE.replace(known, bad)).unwrap_err();
        let message = error.to_string();
        assert!(message.contains(why), "{bad}: {message}");
        assert!(message.starts_with("machine file: line 4: rates.mulx: "), "{message}");
        assert_eq!(message.lines().count(), 1, "{message}");
    }
}

#[test]
fn invalid_uses_are_refused_in_one_line() {
    let known = r#"{ per_product = 1, source = "counted" }"#;
    assert!(FILE.contains(known));
    for (bad, why) in [
        ("{ per_product = 2.0 }", "source"),
        (r#"{ per_row = -1.0, source = "x" }"#, "not -1"),
        (r#"{ source = "x" }"#, "a use is"),
        (r#"{ per_row = 1.0, source = "x", unknown = true }"#, "a use is"),
        ("{ unknown = false }", "a use is"),
    ] {
        let message = Machine::from_toml(&FILE.replace(known, bad)).unwrap_err().to_string();
        assert!(message.contains(why), "{bad}: {message}");
        assert_eq!(message.lines().count(), 1, "{message}");
    }
}

#[test]
fn the_rest_of_a_file_is_checked_too() {
    for (from, to) in [
        ("mulx =", "imul ="),
        ("[rates]", "clock = 3\n[rates]"),
        ("bits = 32", "bits = 0"),
        ("bits = 32", "bits = 4000000000"),
        ("bits_max", "\"bits\\u001b\""),
        ("assumption", "hope"),
    ] {
        let message = Machine::from_toml(&FILE.replace(from, to)).unwrap_err().to_string();
        assert_eq!(message.lines().count(), 1, "{message}");
        assert!(message.chars().all(|c| !c.is_control()), "{message}");
    }
    assert!(Machine::from_toml("name = \"no rates\"").is_err());
}

fn host() -> Machine {
    let rate = |value| Rate::per_cycle(value, Mark::Measured, "calibrated").unwrap();
    let rates = [
        (Limit::MulRow, rate(0.5)),
        (Limit::Mulx, rate(1.4)),
        (Limit::MulxRow, rate(0.75)),
        (Limit::Vpmadd52, rate(2.0)),
    ];
    Machine::with_rates("a host", rates)
}

#[test]
fn a_host_is_a_machine_file_and_its_best_form_counts() {
    let model = Machine::from_toml(&host().to_toml()).unwrap();
    assert_eq!(model, host());
    let machine = tollgate_record::Machine::unknown("a host");
    let records =
        host::records("host", &model, &machine, &[512, 1024, 2048], Timestamp::UNIX_EPOCH);
    let subjects: Vec<_> = records.iter().map(|r| r.subject.to_string()).collect();
    assert_eq!(
        subjects,
        ["model/host/amm?bits=512", "model/host/amm?bits=1024", "model/host/amm?bits=2048"]
    );
    // In lanes, a product takes 4 * 20^2 half products and one more for the last quotient digit. An
    // instruction computes eight numbers, and two instructions issue per cycle. (Blocks have a last
    // quotient digit for each number.)
    assert_eq!(records[1].estimate.point(), (1600.0 + 1.0) / 8.0 / 2.0);
    assert_eq!(records[1].conditions["limit"], "vpmadd52");
    assert_eq!(records[1].conditions["lanes"], "8");
    let Kind::Predicted { from, .. } = &records[1].kind else { panic!("{:?}", records[1].kind) };
    assert_eq!(*from, ["vpmadd52_zmm = 2 per cycle, measured: calibrated"]);

    // Without vectors, the product uses limbs: 2 * 16^2 + 16 multiplies in rows.
    let mut limbs = host();
    limbs.rates.insert(Limit::Vpmadd52, Rate::unknown());
    let product = limbs.product(1024).unwrap();
    assert_eq!(product.bound.cycles.get(), 528.0 / 0.75);
    assert_eq!((product.bound.limit, product.lanes), (Limit::MulxRow, 1));

    let nothing = Machine::with_rates("a host", []);
    assert!(host::records("host", &nothing, &machine, &[512], Timestamp::UNIX_EPOCH).is_empty());
}

/// Returns any valid number, including the ends of the range.
fn number() -> impl Strategy<Value = f64> {
    prop_oneof![Just(1e-3), Just(1e3), 0.01..100.0, (-3.0..3.0).prop_map(|e| 10f64.powf(e))]
}

fn mark() -> impl Strategy<Value = Mark> {
    prop::sample::select(
        &[Mark::Unverified, Mark::Assumed, Mark::Derived, Mark::Measured, Mark::Stated][..],
    )
}

fn rate() -> impl Strategy<Value = Rate> {
    let marked = || (number(), mark());
    prop_oneof![
        marked().prop_map(|(value, mark)| Rate::per_cycle(value, mark, "made up").unwrap()),
        marked().prop_map(|(value, mark)| Rate::cycles_each(value, mark, "made up").unwrap()),
        marked().prop_map(|(value, mark)| Rate::at_least(value, mark, "made up").unwrap()),
        Just(Rate::unknown()),
    ]
}

fn uses() -> impl Strategy<Value = Uses> {
    let zero_or = || prop_oneof![Just(0.0), number()];
    prop_oneof![
        (zero_or(), zero_or(), mark())
            .prop_map(|(p, r, mark)| Uses::new(p, r, mark, "made up").unwrap()),
        Just(Uses::unknown()),
    ]
}

fn limit() -> impl Strategy<Value = Limit> {
    prop::sample::select(&Limit::ALL[..])
}

fn routine() -> impl Strategy<Value = Routine> {
    let bits = prop_oneof![Just(1), 1..=128u32];
    let uses = prop::collection::btree_map(limit(), uses(), 0..9);
    (prop::option::of(any::<u32>()), bits, uses).prop_map(|(bits_max, bits, uses)| Routine {
        bits_max,
        assumption: "made up".to_owned(),
        digit: Digits::new(bits, "made up").unwrap(),
        uses,
    })
}

prop_compose! {
    fn machine()(
        name in ".*",
        rates in prop::collection::btree_map(limit(), rate(), 0..9),
        routines in prop::collection::vec(routine(), 0..3),
    ) -> Machine {
        Machine { routines, ..Machine::with_rates(&name, rates) }
    }
}

fn bits() -> impl Strategy<Value = u32> {
    prop_oneof![Just(0), Just(u32::MAX), 1..8193u32]
}

proptest! {
    #[test]
    fn a_bound_is_finite_and_at_least_each_of_its_limits(machine in machine(), bits in bits()) {
        let fingerprint = tollgate_record::Machine::unknown(&machine.name);
        let records = host::records("host", &machine, &fingerprint, &[bits], Timestamp::UNIX_EPOCH);
        let product = machine.product(bits);
        prop_assert_eq!(records.len(), usize::from(product.is_some()));
        if let Some(product) = product {
            prop_assert!(product.bound.cycles.get().is_finite());
            prop_assert!(product.bound.cycles.get() > 0.0);
            for alone in &product.limits {
                prop_assert!(product.bound.cycles >= alone.cycles);
            }
            let named = product.alone(product.bound.limit).unwrap();
            prop_assert!(product.limits.iter().all(|alone| named >= alone.cycles));
            prop_assert_eq!(Some(product.bound), Bound::new(&product.limits));
        }
    }

    #[test]
    fn every_machine_is_a_file(machine in machine()) {
        prop_assert_eq!(Machine::from_toml(&machine.to_toml()), Ok(machine));
    }

    #[test]
    fn a_faster_machine_never_takes_longer(
        machine in machine(),
        limit in limit(),
        (slow, fast) in (number(), number()).prop_map(|(x, y)| (x.min(y), x.max(y))),
        bits in bits(),
    ) {
        let cycles = |rate: f64| {
            let mut machine = machine.clone();
            machine.rates.insert(limit, Rate::per_cycle(rate, Mark::Assumed, "made up").unwrap());
            machine.product(bits).map(|product| product.bound.cycles)
        };
        match (cycles(slow), cycles(fast)) {
            (Some(slow), Some(fast)) => prop_assert!(fast <= slow),
            (slow, fast) => prop_assert_eq!(slow, fast),
        }
    }

    #[test]
    fn a_larger_number_never_takes_fewer_cycles(machine in machine(), bits in 1..8000u32) {
        // A routine may be valid for only one of the two sizes; a form is valid for both.
        for form in Form::ALL {
            let bound = |bits| machine.bound(form, form.product(form.words(bits)));
            if let (Some(small), Some(large)) = (bound(bits), bound(bits + 100)) {
                prop_assert!(small.cycles <= large.cycles);
            }
        }
    }
}
