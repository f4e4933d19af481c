//! Exponentiations by fixed and by sliding windows of every size.

use tollgate_mont::{Exponentiate as _, LimbKernel, Modulus, Shape};
use tollgate_record::vocabulary as word;
use tollgate_record::{Kind, Topic, Unit};
use tollgate_variants::{
    Method, Numbers as Constants, PublicExponent, Variant, WIDTH_MAX, fixed_table_words,
    fixed_window, scratch_words, sliding_table_words, sliding_window_vartime,
};

use super::{Entry, UNROLL, count, size, subject};
use crate::contenders::{self, Contender, Failed};
use crate::error::CliError;
use crate::verbs::kernel::chain::Numbers;

/// The variant for exponentiations by windows: the simplest with a formula for squares.
const WINDOWED: Variant = Variant { method: Method::Sos, unroll: UNROLL };

/// Fixed and sliding windows of every size.
pub(super) fn windows(bits: u32) -> Result<Vec<Entry>, CliError> {
    let k = Shape::limbs(size(bits)).k();
    let mut entries = Vec::new();
    for width in 1..=WIDTH_MAX {
        let name = WINDOWED.method.name().replace("amm", "exp");
        for (form, name, words) in [
            (Form::Fixed, name.clone(), fixed_table_words(k, width)),
            (Form::Sliding, name + "_vartime", sliding_table_words(k, width)),
        ] {
            let parameters = [
                (word::BITS, bits),
                (word::UNROLL, UNROLL.products()),
                (word::WINDOW, count(width)?),
            ];
            let run = exponentiation(form, width, bits);
            let contender = Contender { by: form.name(), batch: None, kernel: None, run };
            entries.push(Entry {
                subject: subject(Topic::Variant(name), &parameters)?,
                quantity: word::CYCLES_PER_OPERATION,
                contender,
                exact: vec![(word::TABLE_BYTES, Unit::Bytes, 8 * words, Kind::Measured)],
            });
        }
    }
    Ok(entries)
}

/// Fixed or sliding windows.
#[derive(Clone, Copy)]
enum Form {
    Fixed,
    Sliding,
}

impl Form {
    const fn name(self) -> &'static str {
        match self {
            Self::Fixed => "fixed window",
            Self::Sliding => "sliding window",
        }
    }
}

/// x^e mod m with the same numbers for every window size; e is generated here and not secret.
fn exponentiation(form: Form, width: usize, bits: u32) -> contenders::Run {
    let mut numbers = Numbers::new(bits);
    let shape = Shape::limbs(size(bits));
    let m = Modulus::<u64>::new(&numbers.modulus(), shape).expect("the modulus is odd");
    let (k, e, mut x) = (m.k(), numbers.modulus(), numbers.below());
    x.resize(k, 0);
    let engine = LimbKernel::best();
    let (mut right, mut t) = (vec![0; k], vec![0; engine.exp_words(shape, size(bits))]);
    engine.exp(&m, size(bits), &x, &e, &mut right, &mut t);
    let (constants, public) = (Constants::of(&m), PublicExponent::declassify(&e));
    let mut t = vec![0; scratch_words(k, width, m.scratch_words())];
    let mut z = vec![0; k];
    Box::new(move || {
        let kernel = WINDOWED.kernel(&constants);
        match form {
            Form::Fixed => {
                fixed_window(kernel, width, &m, size(bits), &x, &e, &mut z, &mut t);
            }
            Form::Sliding => {
                sliding_window_vartime(kernel, width, &m, &x, &public, &mut z, &mut t);
            }
        }
        if z == right { Ok(()) } else { Err(Failed::new("the power is not the engine's")) }
    })
}
