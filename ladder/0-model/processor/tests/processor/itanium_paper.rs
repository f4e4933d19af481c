//! The white paper's tables, computed from the machine files.

use tollgate_processor::papers::{
    Exponentiation, Origin, PRIVATE, PRODUCTS, Processor, records, sensitivity,
};
use tollgate_processor::{Limit, Machine};
use tollgate_record::{Cycles, Kind, Record, Timestamp, jsonl};

fn percent(share: f64) -> f64 {
    (share * 1e3).round() / 10.0
}

#[test]
fn table_5_comes_out_with_these_integers_errors_and_limits() {
    use Limit::{BlockingMultiplier, Issue, Multiplier, Ports};
    use Processor::{Alpha21264, Itanium, PowerPcG4, UltraSparc3};
    let expected = [
        (Itanium, 512, 244.0, -0.4, Multiplier),
        (Itanium, 1024, 1248.0, 2.3, Ports),
        (Alpha21264, 1024, 1792.0, -0.4, Issue),
        (UltraSparc3, 1024, 12_288.0, -0.1, BlockingMultiplier),
        (PowerPcG4, 1024, 14_336.0, 2.4, Issue),
    ];
    for (row, (processor, bits, cycles, error, limit)) in PRODUCTS.into_iter().zip(expected) {
        let product = processor.product(bits);
        assert_eq!((row.processor, row.bits), (processor, bits));
        assert_eq!(product.bound.cycles, Cycles::new(cycles), "{processor:?}");
        assert_eq!(product.bound.limit, limit, "{processor:?}");
        assert_eq!(percent(row.error()), error, "{processor:?}");
        assert!(product.assumption.len() > 40 && !product.from.is_empty());
    }
}

/// Cycles, and their error against the paper's figures. Both were computed by hand.
#[test]
fn each_assumption_has_the_effect_computed_by_hand() {
    let expected = [
        ("itanium/amm?bits=512&limit=multiplier", 132.0, -46.1),
        ("itanium/amm?bits=1024&port_operations_per_product=2", 744.0, -39.0),
        ("itanium/amm?bits=1024&port_operations_per_product=3", 992.0, -18.7),
        ("itanium/amm?bits=1024&limit=multiplier", 520.0, -57.4),
        ("alpha-21264/amm?bits=1024&multiply_latencies_per_row=2", 2016.0, 12.0),
        ("alpha-21264/amm?bits=1024&issue_slots_per_cycle=6", 1195.0, -33.6),
        ("alpha-21264/amm?bits=1024&limit=multiplier", 1040.0, -42.2),
        ("ultrasparc-iii/amm?bits=1024&blocking_multiplies_per_row=1", 12_480.0, 1.5),
        ("ultrasparc-iii/amm?bits=1024&blocking_multiplies_cycles_each=5", 10_240.0, -16.7),
        ("ultrasparc-iii/amm?bits=1024&blocking_multiplies_cycles_each=7", 14_336.0, 16.6),
        ("ultrasparc-iii/amm?bits=1024&blocking_multiplies_cycles_each=8", 16_384.0, 33.2),
        ("ultrasparc-iii/amm?bits=1024&blocking_multiplies_cycles_each=9", 18_432.0, 49.9),
        ("powerpc-g4/amm?bits=1024&issue_slots_per_product=1.25", 10_240.0, -26.9),
        ("powerpc-g4/amm?bits=1024&issue_slots_per_product=1.5", 12_288.0, -12.2),
        ("powerpc-g4/amm?bits=1024&issue_slots_per_product=1.625", 13_312.0, -4.9),
        ("powerpc-g4/amm?bits=1024&issue_slots_per_product=2", 16_384.0, 17.0),
    ];
    let records = sensitivity(Timestamp::UNIX_EPOCH);
    assert_eq!(records.len(), expected.len());
    for (record, (subject, cycles, error)) in records.iter().zip(expected) {
        assert_eq!(record.subject, format!("model/{subject}").parse().unwrap());
        let point = record.estimate.point();
        assert_eq!(point.round(), cycles, "{subject}");
        let row = PRODUCTS.iter().find(|row| {
            record.subject.topic().to_string().contains(row.processor.word())
                && record.subject.parameter("bits") == Some(&row.bits.to_string())
        });
        assert_eq!(percent(point / row.unwrap().cycles - 1.0), error, "{subject}");
    }
}

#[test]
fn the_measured_rate_needs_crt_and_its_products_are_46_percent() {
    let itanium = PRIVATE[0];
    assert_eq!(itanium.cycles(), Cycles::new(660_000.0));
    // Without CRT, the squares alone would take longer than the measured operation.
    assert!(1024.0 * PRODUCTS[1].cycles > itanium.cycles().get());
    let products = itanium.exponentiation.products(512) + 3.0;
    assert_eq!(products.round(), 616.0);
    assert_eq!((itanium.kernel_share() * 100.0).round(), 46.0);
    // The paper's own cycles of a product give the same share.
    let share = 2.0 * products * PRODUCTS[0].cycles / itanium.cycles().get();
    assert_eq!((share * 100.0).round(), 46.0);
}

/// The paper estimates 130 operations. The products of a binary exponentiation alone give this
/// number.
#[test]
fn the_estimated_rate_is_products_only() {
    let sparc = PRIVATE[1];
    assert_eq!(Processor::UltraSparc3.product(512).bound.cycles, Cycles::new(3072.0));
    assert_eq!(Exponentiation::Binary.products(512), 768.0);
    let per_half = sparc.cycles().get() / 3072.0 / 2.0;
    assert_eq!(per_half.round(), 751.0);
    assert!((0.95..1.05).contains(&sparc.kernel_share()), "{}", sparc.kernel_share());
}

/// The ratio in table 1 also compares methods of exponentiation. The paper's "nearly 10x" compares
/// the kernels alone.
#[test]
fn nearly_ten_times_is_the_kernels_ratio() {
    let [itanium, sparc] = PRIVATE;
    assert_eq!((itanium.rate / sparc.rate * 10.0).round(), 77.0);
    assert_eq!((PRODUCTS[3].cycles / PRODUCTS[1].cycles * 10.0).round(), 101.0);
    assert_eq!((PRODUCTS[1].cycles / PRODUCTS[0].cycles * 100.0).round(), 498.0);
}

#[test]
fn names_of_files_subjects_and_machines_agree() {
    for processor in Processor::ALL {
        let machine = processor.machine();
        assert_eq!(tollgate_record::Machine::unknown(&machine.name).slug(), processor.word());
        assert_eq!(Machine::from_toml(&machine.to_toml()).unwrap(), machine);
        for routine in &machine.routines {
            assert!(!routine.digit.source.trim().is_empty());
        }
    }
}

fn of<'a>(records: &'a [Record], subject: &str, quantity: &str) -> Vec<&'a Record> {
    let subject = subject.parse().unwrap();
    let same = |r: &&Record| r.subject == subject && r.quantity.as_str() == quantity;
    records.iter().filter(same).collect()
}

#[test]
fn predicted_and_published_records_have_their_sources() {
    let all = records(Timestamp::UNIX_EPOCH);
    // One more record is the rate that the paper expects at 800 MHz.
    assert_eq!(all.len(), 2 * PRODUCTS.len() + 2 * PRIVATE.len() + 1);
    for record in all.iter().chain(&sensitivity(Timestamp::UNIX_EPOCH)) {
        match &record.kind {
            Kind::Predicted { by, from } => {
                assert_eq!(by, "0-model");
                assert!(!from.is_empty());
                assert!(record.conditions.contains_key("limit"));
                assert!(record.conditions.contains_key("assumption"));
            }
            Kind::Published { source } => {
                assert!(source.contains("SEG_103"));
                assert!(record.conditions.contains_key("origin"));
            }
            Kind::Measured => panic!("nothing here is measured"),
        }
    }
    for row in PRODUCTS {
        let subject = format!("model/{}/amm?bits={}", row.processor.word(), row.bits);
        let pair = of(&all, &subject, "cycles_per_product");
        assert_eq!(pair.len(), 2, "{subject}");
        assert_ne!(pair[0].kind, pair[1].kind);
        assert!(pair.iter().any(|r| r.estimate.point() == row.cycles));
    }
    let sparc = of(&all, "model/ultrasparc-iii/rsa-1024", "operations_per_s");
    let rates: Vec<f64> = sparc.iter().map(|r| r.estimate.point().round()).collect();
    assert_eq!(rates, [130.0, 127.0]);
    let linear = of(&all, "model/itanium/rsa-1024?clock_mhz=800", "operations_per_s");
    assert_eq!(linear[0].estimate.point().round(), 1212.0);
    let itanium = of(&all, "model/itanium/rsa-1024", "operations_per_s");
    assert_eq!(itanium.len(), 1);
    assert_eq!(itanium[0].machine.core_clock_hz.unwrap().point(), 660e6);
    assert_eq!(itanium[0].conditions["origin"], Origin::Measured.word());
}

#[test]
fn every_record_can_be_written() {
    let mut all = records(Timestamp::UNIX_EPOCH);
    all.extend(sensitivity(Timestamp::UNIX_EPOCH));
    let mut file = Vec::new();
    let mut writer = jsonl::Writer::new(&mut file);
    all.iter().for_each(|record| writer.write(record).unwrap());
    assert_eq!(jsonl::read_all(file.as_slice()).unwrap(), all);
}
