//! Tables of multiples of the base point in lanes. Nothing here is secret.

use crate::batches::by_word;
use crate::edwards::{self, Multiples};
use crate::kernels::edwards52_ifma::Addend;
use crate::kernels::field52_ifma::{Element, element, everywhere};
use crate::kernels::{comb52_mb8_ifma, comb52_sum8_ifma};

/// Builds the table of `comb52_mb8_ifma`.
#[target_feature(enable = "avx512f,avx512ifma")]
pub(crate) fn mb8() -> comb52_mb8_ifma::Table {
    let multiples = Multiples::<{ comb52_mb8_ifma::BITS }>::new(comb52_mb8_ifma::WINDOWS);
    let vectors = |(window, entries): (usize, &[edwards::Addend])| {
        let (chunks, _) = entries.as_chunks::<8>();
        core::array::from_fn(|i| addend(&first_without_d(window, chunks[i])))
    };
    comb52_mb8_ifma::Table { windows: multiples.windows().enumerate().map(vectors).collect() }
}

/// Builds the table of `comb52_sum8_ifma`.
#[target_feature(enable = "avx512f,avx512ifma")]
pub(crate) fn sum8() -> comb52_sum8_ifma::Table {
    let multiples = Multiples::<4>::new(64);
    let windows: Vec<_> = multiples.windows().collect();
    let step = |(step, windows): (usize, &[&[edwards::Addend]])| -> [Addend; 8] {
        core::array::from_fn(|entry| {
            let lanes: [_; 8] = core::array::from_fn(|lane| windows[lane][entry]);
            addend(&first_without_d(step, lanes))
        })
    };
    comb52_sum8_ifma::Table {
        steps: windows.chunks_exact(8).enumerate().map(step).collect(),
        d2: same(edwards::d2()),
    }
}

/// The first addends become points: see [`edwards::Addend::without_d`].
fn first_without_d(step: usize, addends: [edwards::Addend; 8]) -> [edwards::Addend; 8] {
    if step == 0 { addends.map(edwards::Addend::without_d) } else { addends }
}

#[target_feature(enable = "avx512f,avx512ifma")]
pub(crate) fn same(x: edwards::Element) -> Element {
    everywhere(&x.number())
}

#[target_feature(enable = "avx512f,avx512ifma")]
pub(crate) fn addend(addends: &[edwards::Addend; 8]) -> Addend {
    let lanes = |part: fn(&edwards::Addend) -> edwards::Element| {
        element(&by_word(&addends.each_ref().map(|addend| part(addend).number())))
    };
    Addend {
        minus: lanes(|addend| addend.minus),
        plus: lanes(|addend| addend.plus),
        dxy2: lanes(|addend| addend.dxy2),
    }
}
