//! A macro for enumerations whose variants have a text.

/// Defines an enumeration by one row for each variant. The row holds the variant's data, and the
/// variant's text with the parts to insert.
macro_rules! messages {
    ($(#[$doc:meta])* $name:ident {
        $(
            $kind:ident
            $({ $($field:ident: $type:ty),+ })?
            $(($one:ident: $of:ty))?
            => $text:literal $(, $part:expr)*;
        )*
    }) => {
        $(#[$doc])*
        #[allow(missing_docs, reason = "the text of a variant names its data")]
        pub enum $name {
            $(
                #[doc = concat!("`", $text, "`")]
                $kind $({ $($field: $type),+ })? $(($of))?,
            )*
        }

        impl core::fmt::Display for $name {
            fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
                match self {
                    $(Self::$kind $({ $($field),+ })? $(($one))? => write!(f, $text $(, $part)*),)*
                }
            }
        }
    };
}

pub(crate) use messages;
