//! Checks with memcheck that output bytes are no longer marked as secret. `tollgate-rsa` checks the
//! decoding.
#![forbid(unsafe_code)]

use tollgate_cpu::memcheck;
use tollgate_rerun as rerun;

use crate::handle;

#[test]
fn output_bytes_are_declassified() {
    if !memcheck::running_on_valgrind() {
        return rerun::under_memcheck("constant_time::output_bytes_are_declassified");
    }
    let (mut buffer, mut length) = ([0; 128], 0);
    let secret = vec![7; 128];
    memcheck::mark_secret(&secret);
    let before = memcheck::count_errors();
    let mut output = handle::tests::output(&mut buffer, &mut length);
    output.write(&secret).expect("it fits");
    output.copy_out();
    if core::hint::black_box(buffer[100] == 7) {
        core::hint::black_box(&buffer);
    }
    assert_eq!(memcheck::count_errors(), before);
    assert_eq!(length, 128);
}
