//! Cells of tables: rates, bars, a dash for an unknown figure, and the distinct values of a column.

use tollgate_record::PerSecond;

/// Returns the text of a value; `-` for an unknown one.
pub(crate) fn or_dash<T>(value: Option<T>, text: impl FnOnce(T) -> String) -> String {
    value.map_or_else(|| "-".to_owned(), text)
}

/// Returns a rate, in a column whose heading names the unit.
pub(crate) fn rate(per_s: f64) -> String {
    PerSecond::new(per_s).to_string().replace("/s", "")
}

/// Returns the distinct values, in the order of their first appearance.
pub(crate) fn distinct<T: PartialEq>(values: impl IntoIterator<Item = T>) -> Vec<T> {
    let mut distinct = Vec::new();
    for value in values {
        if !distinct.contains(&value) {
            distinct.push(value);
        }
    }
    distinct
}

/// Returns a bar that is `share * columns` columns long, rounded.
pub(crate) fn bar(share: f64, columns: u32) -> String {
    #[allow(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "0 to columns")]
    let length = (share.clamp(0.0, 1.0) * f64::from(columns)).round() as usize;
    "#".repeat(length)
}

/// Converts a count or a time in nanoseconds. The conversion is exact, because the values of a run
/// are far below 2^52.
#[allow(clippy::cast_precision_loss, reason = "far below 2^52")]
pub(crate) fn float(count: u64) -> f64 {
    count as f64
}
