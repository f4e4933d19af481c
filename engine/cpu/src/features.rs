//! Detected processor features, minus those that the user disabled, as proof types.
//!
//! A kernel takes a zero-sized proof such as [`HaveIfma`]. Only [`HaveIfma::check`] creates this
//! proof, after checking the processor and the environment variable `TOLLGATE_CPU_DISABLE`. The
//! variable is a comma-separated list of [`Feature`] words, and is read once per process.
//! `TOLLGATE_CPU_DISABLE=ifma,avxifma,avx512f,adx,avx2` disables every feature, so only
//! portable kernels run.
//!
//! An unknown word is an error: binaries call [`veto`] first and exit with its message. If the
//! variable is invalid, all features count as disabled.

use core::fmt;
use std::sync::OnceLock;

/// The environment variable that disables features.
pub const VETO_VARIABLE: &str = "TOLLGATE_CPU_DISABLE";

/// An instruction set extension that kernels need, or a group of such extensions.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Feature {
    /// `adx`: MULX (BMI2) with ADCX and ADOX (ADX).
    Adx,
    /// `avx2`: VPMULUDQ on 256-bit registers.
    Avx2,
    /// `avx512f`: VPMULUDQ on 512-bit registers.
    Avx512,
    /// `avxifma`: VPMADD52 on 256-bit registers, by AVX-IFMA or by AVX-512 IFMA with VL.
    AvxIfma,
    /// `ifma`: VPMADD52 on 512-bit registers, and the AVX-512 subsets that the IFMA kernels use (F,
    /// DQ, VL and IFMA).
    Ifma,
}

impl Feature {
    /// Every feature, in the alphabetical order of their words.
    pub const ALL: [Self; 5] = [Self::Adx, Self::Avx2, Self::Avx512, Self::AvxIfma, Self::Ifma];

    /// Returns the word of the feature in `TOLLGATE_CPU_DISABLE`, in records and in tests.
    #[must_use]
    pub const fn word(self) -> &'static str {
        match self {
            Self::Adx => "adx",
            Self::Avx2 => "avx2",
            Self::Avx512 => "avx512f",
            Self::AvxIfma => "avxifma",
            Self::Ifma => "ifma",
        }
    }

    /// Returns `true` if the processor and the operating system support this feature, even if the
    /// user disabled it.
    #[cfg(target_arch = "x86_64")]
    fn is_present(self) -> bool {
        use std::is_x86_feature_detected as has;
        match self {
            // Under valgrind, CPUID reports a Haswell, which has BMI2 but not ADX. Nevertheless
            // valgrind executes ADCX and ADOX (tested with valgrind 3.19). Without this exception,
            // memcheck could not check the MULX kernels.
            Self::Adx => has!("bmi2") && (has!("adx") || crate::memcheck::running_on_valgrind()),
            Self::Avx2 => has!("avx2"),
            Self::Avx512 => has!("avx512f"),
            Self::AvxIfma => {
                has!("avx2") && (has!("avxifma") || has!("avx512vl") && has!("avx512ifma"))
            }
            Self::Ifma => {
                has!("avx512f") && has!("avx512dq") && has!("avx512vl") && has!("avx512ifma")
            }
        }
    }

    /// Other architectures have none of these features.
    #[cfg(not(target_arch = "x86_64"))]
    fn is_present(self) -> bool {
        false
    }

    /// Returns `true` if this feature is present and the user did not disable it.
    fn is_usable(self) -> bool {
        !vetoed().contains(&self) && self.is_present()
    }
}

impl fmt::Display for Feature {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.word())
    }
}

/// The error for an unknown word in `TOLLGATE_CPU_DISABLE`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct UnknownFeature {
    /// The unknown word, trimmed.
    pub word: String,
}

impl fmt::Display for UnknownFeature {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let known = Feature::ALL.map(Feature::word).join(", ");
        write!(
            f,
            "{VETO_VARIABLE}: {:?} is not a feature: give words of the list {known}",
            self.word
        )
    }
}

impl core::error::Error for UnknownFeature {}

/// Parses words separated by commas. Ignores spaces around words, and empty words.
fn parse_veto(text: &str) -> Result<Vec<Feature>, UnknownFeature> {
    let feature = |word: &str| {
        let known = Feature::ALL.into_iter().find(|feature| feature.word() == word);
        known.ok_or_else(|| UnknownFeature { word: word.to_owned() })
    };
    let words = text.split(',').map(str::trim).filter(|word| !word.is_empty());
    let mut features = words.map(feature).collect::<Result<Vec<_>, _>>()?;
    features.sort_unstable();
    features.dedup();
    Ok(features)
}

/// Returns the features that the user disabled by [`VETO_VARIABLE`], sorted. The variable is read
/// once per process.
///
/// # Errors
///
/// The variable contains an unknown word, or text that is not Unicode. Binaries report this error
/// and exit.
pub fn veto() -> Result<&'static [Feature], &'static UnknownFeature> {
    static VETO: OnceLock<Result<Vec<Feature>, UnknownFeature>> = OnceLock::new();
    VETO.get_or_init(|| {
        std::env::var_os(VETO_VARIABLE)
            .map_or(Ok(Vec::new()), |text| parse_veto(&text.to_string_lossy()))
    })
    .as_deref()
}

/// Returns the features that [`veto`] returns, or all features if the variable is invalid.
#[must_use]
pub fn vetoed() -> &'static [Feature] {
    // If the variable contains a misspelt word, use no feature: the user may have meant any of
    // them.
    veto().unwrap_or(&Feature::ALL)
}

/// Returns the features that this machine has, including disabled ones.
#[must_use]
pub fn present() -> Vec<Feature> {
    Feature::ALL.into_iter().filter(|feature| feature.is_present()).collect()
}

/// Returns the features that kernels may use: present and not disabled.
#[must_use]
pub fn in_use() -> Vec<Feature> {
    Feature::ALL.into_iter().filter(|feature| feature.is_usable()).collect()
}

/// A proof that the processor has features: one of the types of this module.
pub trait Proof: Copy + private::Sealed {}

mod private {
    #[allow(unnameable_types, reason = "other crates cannot implement `Proof`")]
    pub trait Sealed {}
}

/// Calls a function that has target features, from one that has not:
/// `proven!(proof, function(..))`.
///
/// The proof shows that the processor has them. So the caller has one, and passes the one that
/// names the features of the function: the compiler does not compare these. The function must need
/// nothing else: the compiler would accept an `unsafe fn` too. So this macro is for Tollgate's own
/// crates.
///
/// ```
/// use tollgate_cpu::{HaveAvx2, proven};
///
/// # #[cfg(target_arch = "x86_64")]
/// #[target_feature(enable = "avx2")]
/// fn sum(x: u64, y: u64) -> u64 {
///     x + y
/// }
/// # #[cfg(target_arch = "x86_64")]
/// if let Some(proof) = HaveAvx2::check() {
///     assert_eq!(proven!(proof, sum(1, 2)), 3);
/// }
/// ```
///
/// Nothing but a proof is one:
///
/// ```compile_fail,E0277
/// # fn sum(x: u64, y: u64) -> u64 { x + y }
/// tollgate_cpu::proven!((), sum(1, 2));
/// ```
///
/// The arguments are not `unsafe`:
///
/// ```compile_fail,E0133
/// # fn double(x: u64) -> u64 { 2 * x }
/// # fn call(proof: tollgate_cpu::HaveAvx2, x: *const u64) -> u64 {
/// tollgate_cpu::proven!(proof, double(*x))
/// # }
/// ```
///
/// A block is not a call:
///
/// ```compile_fail
/// # fn call(proof: tollgate_cpu::HaveAvx2, x: *const u64) -> u64 {
/// tollgate_cpu::proven!(proof, { *x })
/// # }
/// ```
#[macro_export]
macro_rules! proven {
    // gives each argument a name, to evaluate it outside of `unsafe`
    (
        @call $function:tt [$($named:ident)*] [$name:ident $($names:ident)*] $first:expr,
        $($rest:tt)*
    ) => {
        match $first {
            $name => $crate::proven!(@call $function [$($named)* $name] [$($names)*] $($rest)*),
        }
    };
    (@call [$($function:tt)+] [$($named:ident)*] $names:tt) => {
        // SAFETY: the function needs nothing but its features, and the proof shows that the
        // processor has them.
        unsafe { $($function)+($($named),*) }
    };
    (
        $proof:expr,
        $($function:ident)::+ $(::<$($parameter:tt),*>)? ($($argument:expr),* $(,)?)
    ) => {{
        {
            fn expect_proof(_: impl $crate::Proof) {}
            expect_proof($proof);
        }
        $crate::proven!(
            @call [$($function)::+ $(::<$($parameter),*>)?] [] [a b c d e f g h] $($argument,)*
        )
    }};
}

/// Declares the proofs of features.
macro_rules! proofs {
    ($($(#[$doc:meta])* $proof:ident = $feature:ident;)*) => {$(
        $(#[$doc])*
        #[derive(Clone, Copy, Debug, PartialEq, Eq)]
        pub struct $proof(());

        impl Proof for $proof {}

        impl private::Sealed for $proof {}

        impl $proof {
            /// Returns the proof if this machine has the feature and the user did not disable it.
            #[must_use]
            pub fn check() -> Option<Self> {
                Feature::$feature.is_usable().then_some(Self(()))
            }
        }
    )*};
}

proofs! {
    /// Proof that MULX, ADCX and ADOX may be used: CPU features `bmi2` and `adx`.
    HaveAdxBmi2 = Adx;
    /// Proof that 256-bit integer vectors may be used: CPU feature `avx2`.
    HaveAvx2 = Avx2;
    /// Proof that 512-bit integer vectors may be used: CPU feature `avx512f`.
    HaveAvx512 = Avx512;
    /// Proof that 256-bit VPMADD52 may be used: CPU features `avx2`, and `avxifma` or `avx512ifma`
    /// with `avx512vl`.
    HaveAvxIfma = AvxIfma;
    /// Proof that 512-bit VPMADD52 may be used: CPU features `avx512f`, `avx512dq`, `avx512vl` and
    /// `avx512ifma`.
    HaveIfma = Ifma;
}

impl HaveAvxIfma {
    /// Returns `true` if VPMADD52 has the VEX encoding of AVX-IFMA here; otherwise it has the EVEX
    /// encoding of AVX-512.
    #[must_use]
    pub fn has_vex(self) -> bool {
        #[cfg(target_arch = "x86_64")]
        return std::is_x86_feature_detected!("avxifma");
        #[cfg(not(target_arch = "x86_64"))]
        false
    }
}

impl HaveIfma {
    /// Returns `true` on Intel's cores: all operations on 512-bit registers share two ports there,
    /// so that a shuffle takes the place of a multiplication, and a load does not. On AMD's Zen 5,
    /// multiplications, additions and shuffles have ports of their own.
    #[must_use]
    pub fn shares_vector_ports(self) -> bool {
        static INTEL: OnceLock<bool> = OnceLock::new();
        *INTEL.get_or_init(is_intel)
    }
}

#[cfg(target_arch = "x86_64")]
fn is_intel() -> bool {
    let vendor = core::arch::x86_64::__cpuid(0);
    let text = [vendor.ebx, vendor.edx, vendor.ecx].map(u32::to_le_bytes).concat();
    text == b"GenuineIntel"
}

#[cfg(not(target_arch = "x86_64"))]
fn is_intel() -> bool {
    false
}

#[cfg(test)]
mod tests {

    use super::*;

    #[test]
    fn words_are_read_and_sorted() {
        for feature in Feature::ALL {
            assert_eq!(parse_veto(&feature.to_string()), Ok(vec![feature]));
        }
        assert!(Feature::ALL.map(Feature::word).is_sorted());
        assert!(Feature::ALL.is_sorted());
    }

    #[test]
    fn a_veto_is_a_list() {
        assert_eq!(parse_veto(""), Ok(vec![]));
        assert_eq!(parse_veto(" , "), Ok(vec![]));
        assert_eq!(parse_veto("ifma"), Ok(vec![Feature::Ifma]));
        assert_eq!(parse_veto(" ifma , adx,ifma"), Ok(vec![Feature::Adx, Feature::Ifma]));
    }

    #[test]
    fn an_unknown_word_is_an_error_that_lists_the_known_ones() {
        for bad in ["avx", "AVX2", "IFMA", "ifma adx", "ifma;adx", "ifma,adxx"] {
            let message = parse_veto(bad).unwrap_err().to_string();
            assert!(message.starts_with("TOLLGATE_CPU_DISABLE: "), "{message}");
            assert!(message.ends_with("adx, avx2, avx512f, avxifma, ifma"), "{message}");
            assert_eq!(message.lines().count(), 1);
        }
        assert_eq!(parse_veto("ifma,adxx").unwrap_err().word, "adxx");
    }

    #[test]
    fn proofs_agree_with_the_lists() {
        let usable = in_use();
        assert_eq!(HaveAdxBmi2::check().is_some(), usable.contains(&Feature::Adx));
        assert_eq!(HaveAvx2::check().is_some(), usable.contains(&Feature::Avx2));
        assert_eq!(HaveAvx512::check().is_some(), usable.contains(&Feature::Avx512));
        assert_eq!(HaveAvxIfma::check().is_some(), usable.contains(&Feature::AvxIfma));
        assert_eq!(HaveIfma::check().is_some(), usable.contains(&Feature::Ifma));
        assert!(
            usable.iter().all(|feature| present().contains(feature) && !vetoed().contains(feature))
        );
    }
}
