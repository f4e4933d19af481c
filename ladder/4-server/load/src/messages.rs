//! Macros for enumerations whose variants have a text.

/// Defines an enumeration by one row for each variant. The row holds the variant's data, and the
/// variant's text with the parts to insert.
#[macro_export]
#[doc(hidden)]
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

/// Defines an enumeration by a word for each variant.
#[macro_export]
#[doc(hidden)]
macro_rules! words {
    ($(#[$about:meta])* $name:ident { $($(#[$doc:meta])* $variant:ident = $word:literal,)+ }) => {
        $(#[$about])*
        #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
        pub enum $name {
            $($(#[$doc])* $variant,)+
        }

        impl $name {
            /// Every value, in order.
            pub const ALL: [Self; [$($word),+].len()] = [$(Self::$variant),+];

            /// Returns the word for the value in flags, plans, tables and records.
            #[must_use]
            pub const fn word(self) -> &'static str {
                match self {
                    $(Self::$variant => $word,)+
                }
            }
        }

        impl core::fmt::Display for $name {
            fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
                f.pad(self.word())
            }
        }
    };
}

pub(crate) use {messages, words};
