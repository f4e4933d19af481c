//! Memcheck runs operations with everything on the device marked as secret but the jobs. No branch
//! and no address of the source may depend on a marked value; `tests/prebuilt.rs` counts the
//! branches of the machine code.

use core::time::Duration;
use std::path::Path;

use tollgate_cpu::memcheck;
use tollgate_cuda::{Numbers, Operation, Operations, Size};
use tollgate_rerun as rerun;

use crate::compiled::compile;
use crate::library::{EmulatedDriver, Value};
use crate::operations::{expected, key};

#[test]
fn no_branch_and_no_address_depends_on_a_secret() {
    rerun::constant_time("secrets::no_branch_and_no_address_depends_on_a_secret", || {
        // Without the assertions, which branch on numbers.
        let library = Path::new(env!("CARGO_TARGET_TMPDIR")).join("libcuda-memcheck.so.1");
        compile(&["-DNDEBUG", "-Wno-unused-parameter"], &library);
        let (size, key) = (Size::Rsa1024, key(Size::Rsa1024));
        for numbers in Numbers::ALL {
            let driver = EmulatedDriver::copy_of(&library);
            driver.set(Value::SingleToDouble, 2);
            let mut operations = Operations::with_numbers(driver.device(), 1, numbers);
            // The first operation copies the key; a failed one spends its pair.
            for is_secret in [false, true] {
                if is_secret {
                    driver.mark_secret();
                }
                let input = vec![0x5a; key.size()];
                let mut number = input.clone();
                memcheck::mark_secret(&number);
                let mut batch = [Operation { key: &key, number: &mut number, passed: false }];
                operations.run(size, &mut batch, Duration::MAX).unwrap();
                assert!(batch[0].passed);
                let right = expected(&key, &input);
                memcheck::declassify(&number);
                memcheck::declassify(&right);
                assert_eq!(number, right);
            }
        }
    });
}
