//! Reads any bytes as records. The result is records that survive a round trip, or an error.
#![no_main]

use libfuzzer_sys::fuzz_target;
use tollgate_record::jsonl;

fuzz_target!(|bytes: &[u8]| {
    let records = match jsonl::read_all(bytes) {
        Ok(records) => records,
        Err(error) => {
            assert!(!error.to_string().contains('\n'), "{error}");
            return;
        }
    };
    let mut again = Vec::new();
    let mut writer = jsonl::Writer::new(&mut again);
    for record in &records {
        writer.write(record).expect("a record that was read can be written");
    }
    assert_eq!(jsonl::read_all(again.as_slice()).expect("what was written is read"), records);
});
