//! Constant tables for C: functions, algorithms, texts and parameter descriptions.

use core::ffi::{CStr, c_uint};
use core::ptr;

use crate::abi::{OSSL_ALGORITHM, OSSL_DISPATCH, OSSL_ITEM, OSSL_PARAM};

/// A constant table for C.
#[repr(transparent)]
pub(crate) struct Table<T>(T);

impl<T, const N: usize> Table<[T; N]> {
    pub(crate) const fn first(&'static self) -> *const T {
        self.0.as_ptr()
    }

    /// Returns a pointer to this row. The later rows follow it in memory.
    pub(crate) const fn row(&'static self, index: usize) -> *const T {
        assert!(index < N, "the row is in the table");
        self.0.as_ptr().wrapping_add(index)
    }
}

// SAFETY: such a table holds numbers and pointers to functions, which never change.
unsafe impl<const N: usize> Sync for Table<[OSSL_DISPATCH; N]> {}
// SAFETY: such a table holds only pointers to constants, as its constructor requires.
unsafe impl Sync for Table<Vec<OSSL_ALGORITHM>> {}
// SAFETY: as for `Sync`.
unsafe impl Send for Table<Vec<OSSL_ALGORITHM>> {}
// SAFETY: such a table holds numbers and pointers to literals, as its constructor requires.
unsafe impl<const N: usize> Sync for Table<[OSSL_ITEM; N]> {}
// SAFETY: such a table describes parameters: its constructor sets their data to NULL.
unsafe impl<const N: usize> Sync for Table<[OSSL_PARAM; N]> {}

impl<const N: usize> Table<[OSSL_DISPATCH; N]> {
    /// Use the macro [`dispatch`], which checks types.
    pub(crate) const fn of_functions(table: [OSSL_DISPATCH; N]) -> Self {
        Self(table)
    }
}

/// An implementation of an algorithm: its names, properties, functions and description.
pub(crate) struct Algorithm {
    pub(crate) names: &'static CStr,
    pub(crate) properties: &'static CStr,
    pub(crate) functions: *const OSSL_DISPATCH,
    pub(crate) description: &'static CStr,
}

impl Table<Vec<OSSL_ALGORITHM>> {
    pub(crate) fn of_algorithms(algorithms: &[Algorithm]) -> Self {
        let row = |algorithm: &Algorithm| OSSL_ALGORITHM {
            algorithm_names: algorithm.names.as_ptr(),
            property_definition: algorithm.properties.as_ptr(),
            implementation: algorithm.functions,
            algorithm_description: algorithm.description.as_ptr(),
        };
        Self(algorithms.iter().map(row).chain([OSSL_ALGORITHM::END]).collect())
    }

    pub(crate) fn as_ptr(&self) -> *const OSSL_ALGORITHM {
        self.0.as_ptr()
    }
}

impl<const N: usize> Table<[OSSL_ITEM; N]> {
    /// Creates a table of numbers and texts; the last number is 0.
    pub(crate) const fn of_items(rows: [(c_uint, &'static CStr); N]) -> Self {
        let mut table = [const { OSSL_ITEM { id: 0, ptr: ptr::null() } }; N];
        let mut i = 0;
        while i + 1 < N {
            table[i] = OSSL_ITEM { id: rows[i].0, ptr: rows[i].1.as_ptr().cast() };
            i += 1;
        }
        Self(table)
    }
}

impl<const N: usize> Table<[OSSL_PARAM; N]> {
    /// Creates a table of parameters by key and type; the last key is empty.
    pub(crate) const fn of_keys(rows: [(&'static CStr, c_uint); N]) -> Self {
        let mut table = [OSSL_PARAM::END; N];
        let mut i = 0;
        while i + 1 < N {
            table[i].key = rows[i].0.as_ptr();
            table[i].data_type = rows[i].1;
            i += 1;
        }
        Self(table)
    }
}

/// Creates a dispatch table and checks each function against the type of its number.
macro_rules! dispatch {
    ($($id:ident = $function:expr;)*) => {
        $crate::table::Table::of_functions([
            $($crate::abi::OSSL_DISPATCH {
                function_id: $crate::abi::$id.number,
                function: $crate::abi::$id.checked($function) as *const (),
            },)*
            $crate::abi::OSSL_DISPATCH::END,
        ])
    };
}
pub(crate) use dispatch;
