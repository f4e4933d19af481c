//! Names and numbers of the registries of TLS: one row per entry.

/// An enumeration whose entries have a registered number and name.
macro_rules! registry {
    ($(#[$doc:meta])* $name:ident {
        $($(#[$row_doc:meta])* $entry:ident = $number:literal $text:literal;)*
    }) => {
        $(#[$doc])*
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
        pub enum $name {
            $(
                #[doc = concat!("`", $text, "` (", stringify!($number), ").")]
                $(#[$row_doc])*
                $entry,
            )*
        }

        impl $name {
            /// Every entry, in the order of this table.
            pub const ALL: [Self; [$($number),*].len()] = [$(Self::$entry),*];

            /// The registered name.
            pub const fn name(self) -> &'static str {
                match self {
                    $(Self::$entry => $text,)*
                }
            }

            /// The number on the wire.
            pub const fn number(self) -> u16 {
                match self {
                    $(Self::$entry => $number,)*
                }
            }

            /// The entry of a registered name.
            pub fn from_name(name: &str) -> Option<Self> {
                Self::ALL.into_iter().find(|entry| entry.name() == name)
            }

            pub(crate) fn from_number(number: u16) -> Option<Self> {
                Self::ALL.into_iter().find(|entry| entry.number() == number)
            }
        }

        impl core::fmt::Display for $name {
            fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
                f.write_str(self.name())
            }
        }
    };
}

pub(crate) use registry;
