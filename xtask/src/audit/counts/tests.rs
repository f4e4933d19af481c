//! Checks that wrong counts are found: one instruction too many or too few, in a loop or outside.

use super::check;
use crate::kernels::work::row;
use crate::kernels::{Multiplies, Row, Work};
use crate::machine_code::Program;

/// A function with two low halves and one high half outside its loops. It has two kinds of passes:
/// one low and one high half, or one step of both carry chains.
const ROWS: [Row; 1] = [row("rows", "", |_| Work {
    once: Multiplies::halves(2, 1),
    passes: vec![Multiplies::halves(1, 1), Multiplies::limbs(2, 3, 2)],
})];

/// Returns the findings for a loop of the instructions `looped`, followed by `behind`.
fn planted(looped: &[&str], behind: &[&str]) -> Vec<String> {
    let mut code = String::from("0000000000001000 <tollgate_mont::kernels::rows>:\n");
    let jump = ["jne    1000 <rows>"];
    for (at, line) in looped.iter().chain(&jump).chain(behind).enumerate() {
        code += &format!("    {:x}:\t{line} zmm0,zmm1,zmm2\n", 0x1000 + at)
            .replace("<rows> zmm0,zmm1,zmm2", "<rows>");
    }
    check(&Program::parse(&code, "", &["tollgate_mont::kernels::"]), &ROWS)
}

const LOW: &str = "vpmadd52luq";
const HIGH: &str = "vpmadd52huq";

#[test]
fn whole_passes_pass_unrolled_or_split_off() {
    assert!(planted(&[LOW, HIGH], &[LOW, LOW, HIGH]).is_empty());
    assert!(planted(&[LOW, HIGH, LOW, HIGH], &[LOW, LOW, HIGH, LOW, HIGH]).is_empty());
    let limbs = ["mulx", "mulx", "adcx", "adcx", "adcx", "adox", "adox"];
    assert!(planted(&limbs, &[LOW, LOW, HIGH]).is_empty());
    assert!(planted(&[&limbs[..], &[LOW, HIGH]].concat(), &[LOW, LOW, HIGH]).is_empty());
    assert!(planted(&[], &[LOW, LOW, HIGH]).is_empty()); // a loop without multiplications
}

#[test]
fn a_loop_with_one_too_many_or_too_few() {
    let found = planted(&[LOW, HIGH, HIGH], &[LOW, LOW, HIGH]);
    assert_eq!(
        found,
        ["tollgate_mont::kernels::rows: the loop at 1000 has 1 vpmadd52luq, 2 vpmadd52huq; \
          declared are, in a pass, 1 vpmadd52luq, 1 vpmadd52huq, or 2 mulx, 3 adcx, 2 adox"]
    );
    assert_eq!(planted(&[LOW], &[LOW, LOW, HIGH]).len(), 1);
    assert_eq!(planted(&["mulx", "mulx", "adcx", "adox", "adox"], &[LOW, LOW, HIGH]).len(), 1);
}

#[test]
fn straight_code_with_one_too_many_or_too_few() {
    let found = planted(&[LOW, HIGH], &[LOW, HIGH]);
    assert_eq!(
        found,
        ["tollgate_mont::kernels::rows: outside of loops are 1 vpmadd52luq, 1 vpmadd52huq; \
          declared are, beside whole passes, 2 vpmadd52luq, 1 vpmadd52huq"]
    );
    assert_eq!(planted(&[LOW, HIGH], &[LOW, LOW, LOW, HIGH]).len(), 1);
    assert_eq!(planted(&[LOW, HIGH], &[]).len(), 1);
}
