//! Products and squares of every variant.

use tollgate_mont::{Kernel as _, LimbKernel, Shape};
use tollgate_record::vocabulary as word;
use tollgate_record::{Kind, Topic, Unit};
use tollgate_variants::{Call as Asked, Method, Unroll, Variant};

use super::{Entry, UNROLL, count, size, subject};
use crate::contenders::Contender;
use crate::error::CliError;
use crate::verbs::kernel::chain::{self, CALLS, Call};
use crate::verbs::kernel::symbols::Symbols;

/// The product of every variant at each unroll factor, the squares of those with a formula, and the
/// engine's kernel on limbs.
pub(super) fn products(bits: u32, symbols: Option<&Symbols>) -> Result<Vec<Entry>, CliError> {
    let k = Shape::limbs(size(bits)).k();
    let mut entries = Vec::new();
    for method in Method::ALL {
        for unroll in Unroll::ALL {
            entries.push(product(Variant { method, unroll }, Asked::Product, bits, k, symbols)?);
        }
        if method.squares() {
            let variant = Variant { method, unroll: UNROLL };
            entries.push(product(variant, Asked::Square, bits, k, symbols)?);
        }
    }
    let engine = LimbKernel::best().on_limbs();
    let calls = [(Call::Product, engine.name()), (Call::Square, engine.square_name())];
    let distinct = if calls[0].1 == calls[1].1 { 1 } else { 2 };
    for (call, name) in calls.into_iter().take(distinct) {
        let subject =
            subject(Topic::Kernel(name.to_owned()), &[(word::BITS, bits), (word::K, count(k)?)])?;
        let run = chain::limbs(engine, call, bits);
        let contender = Contender { by: name, batch: Some(CALLS), kernel: None, run };
        let quantity = word::CYCLES_PER_CALL;
        entries.push(Entry { subject, quantity, contender, exact: vec![] });
    }
    Ok(entries)
}

fn product(
    variant: Variant,
    asked: Asked,
    bits: u32,
    k: usize,
    symbols: Option<&Symbols>,
) -> Result<Entry, CliError> {
    let (name, call) = match asked {
        Asked::Product => (variant.method.name(), Call::Product),
        Asked::Square => (variant.method.square_name(), Call::Square),
    };
    let unroll = variant.unroll.products();
    let parameters = [(word::BITS, bits), (word::K, count(k)?), (word::UNROLL, unroll)];
    let subject = subject(Topic::Variant(name.to_owned()), &parameters)?;
    let run = chain::variant(variant, call, bits);
    let contender = Contender { by: name, batch: Some(CALLS), kernel: None, run };
    let counted = Kind::Predicted {
        by: word::KERNEL_RUNG.to_owned(),
        from: vec!["the method's count, which tests compare with its code".to_owned()],
    };
    let multiplications = variant.method.multiplications(asked, k);
    let mut exact = vec![(word::MULTIPLICATIONS, Unit::Count, multiplications, counted)];
    let bytes =
        |place: usize| symbols?.bytes_at(place).and_then(|bytes| usize::try_from(bytes).ok());
    let bytes: Option<usize> = variant.code(asked).into_iter().map(bytes).sum();
    exact.extend(bytes.map(|bytes| (word::CODE_BYTES, Unit::Bytes, bytes, Kind::Measured)));
    Ok(Entry { subject, quantity: word::CYCLES_PER_CALL, contender, exact })
}
