//! Whole kernels: compares the sum over the tiles that a kernel calls with the model's count, and
//! with the formula in the kernel's header.

use tollgate_processor::{Issued, Size};

use crate::kernels::{self, Row, TABLE};
use crate::workspace::Workspace;

/// A kernel at one size, and the functions that it runs.
struct Whole {
    kernel: &'static str,
    size: Size,
    /// The number of groups of eight numbers that one call computes.
    streams: u64,
    parts: Vec<Part>,
}

/// A function that a kernel calls: the number of calls, and the passes of each kind in all calls.
struct Part {
    function: String,
    calls: u64,
    passes: Vec<u64>,
}

fn part(function: impl Into<String>, calls: u64, passes: &[u64]) -> Part {
    Part { function: function.into(), calls, passes: passes.to_vec() }
}

/// Returns the kernels that `dispatch` chooses for the sizes of RSA's primes and moduli.
fn wholes() -> Vec<Whole> {
    let mut wholes = Vec::new();
    for (w, blocks) in [(6, 1), (6, 2), (10, 1), (15, 1), (15, 2), (20, 1), (20, 2), (20, 4)] {
        for streams in [1, 2] {
            wholes.push(lanes_product(w, blocks, streams));
            wholes.push(lanes_square(w, blocks, streams, false));
            wholes.push(lanes_square(w, blocks, streams, true));
        }
        if blocks == 1 {
            wholes.extend(short_by_columns(w));
        }
    }
    for (w, tiles) in [(4, 1), (4, 3), (8, 1), (8, 2), (8, 3), (8, 4), (8, 8)] {
        wholes.push(limbs("amm64_mulx", w, tiles));
        wholes.push(limbs("ams64_mulx", w, tiles));
    }
    for encoding in ["vex", "evex"] {
        for (w, blocks) in [(6, 1), (6, 2), (5, 3), (10, 1), (10, 2), (10, 4)] {
            wholes.push(narrow_product(encoding, w, blocks));
            wholes.push(narrow_square(encoding, w, blocks));
        }
    }
    for halves in [Halves::AVX2, Halves::AVX512] {
        let of_ten = halves.of_ten;
        let sizes = [1, 2, 4].map(|tens| (of_ten, 10 / of_ten * tens, 10));
        for (w, blocks, s) in [(6, 1, 6), (6, 2, 6), (5, 3, 5)].into_iter().chain(sizes) {
            wholes.push(halves.product(w, blocks));
            wholes.push(halves.square(w, blocks, s));
        }
    }
    for (k, rows, function, passes) in [
        (3, 10, "amm52_blocks_ifma::amm52_blocks_ifma::<3, 4, 1>", 0),
        (3, 10, "amm52_blocks_ifma::window52_blocks_ifma::<3, 1, 1>", 1),
        (3, 10, "amm52_blocks_ifma::window52_blocks_ifma::<3, 2, 1>", 1),
        (5, 20, "amm52_blocks_ifma::amm52_blocks_ifma::<5, 4, 5>", 0),
        (5, 20, "amm52_blocks_ifma::window52_blocks_ifma::<5, 1, 5>", 1),
        (5, 20, "amm52_blocks_ifma::window52_blocks_ifma::<5, 2, 5>", 1),
        (4, 30, "amm52_blocks_ifma::amm52_blocks_ifma::<4, 8, 2>", 0),
        (5, 40, "amm52_blocks_ifma::amm52_blocks_ifma::<5, 8, 5>", 0),
        (8, 60, "amm52_long_blocks_ifma::amm52_long_blocks_ifma::<8, 4>", 7),
        (10, 80, "amm52_long_blocks_ifma::amm52_long_blocks_ifma::<10, 10>", 7),
    ] {
        let kernel = function.split("::").next().expect("the path begins with the kernel's file");
        let parts = vec![part(function, 1, &[passes])];
        wholes.push(Whole { kernel, size: Size { k, rows }, streams: 1, parts });
    }
    wholes
}

fn tile(name: &str, w: u64) -> String {
    format!("tiles52_ifma::{name}::<{w}>")
}

/// Returns the name of a tile with w - `less` rows.
fn tile_less(name: &str, w: u64, less: u64) -> String {
    format!("tiles52_ifma::{name}::<{w}, {less}>")
}

/// Returns the name of a product of w - `less` rows. `onto` is true if the product is added to the
/// columns.
fn product(w: u64, less: u64, onto: bool) -> String {
    format!("tiles52_ifma::mul_tile::<{w}, {less}, {onto}>")
}

fn square(w: u64, onto: bool) -> String {
    format!("tiles52_ifma::sq_tile::<{w}, {onto}>")
}

/// Returns the parts of the reduction of products of `blocks` tiles of w digits. `reading`: whether
/// it also reads a table.
fn reduction(w: u64, blocks: u64, streams: u64, reading: bool) -> Vec<Part> {
    let (k, s) = (w * blocks, streams);
    let fold = if reading { "fold_tile_reading" } else { "fold_tile" };
    if by_halves(w, blocks) && w == 20 {
        let h = w / 2;
        let first = match reading {
            true => format!("fold52_halves_ifma::mul_tile_reading::<{h}, {w}>"),
            false => product(h, 0, false),
        };
        return vec![
            part(first, 0, &[4 * s * h]),
            part(product(h, 0, false), 0, &[2 * s * h]),
            part(format!("fold52_halves_ifma::combine::<{h}>"), 0, &[3 * s * h]),
            part(tile_less(fold, w, 0), 0, &[s * w]),
            part(tile("finish", streams), 1, &[k - 1]),
        ];
    }
    vec![
        part(tile_less(fold, w, 0), s * (blocks - 1), &[s * (k - w)]),
        part(tile_less(fold, w, 1), s, &[s * (w - 1)]),
        part(product(w, 0, true), 0, &[s * (k - w) * (blocks - 1)]),
        part(product(w, 1, true), 0, &[s * (w - 1) * (blocks - 1)]),
        part(tile("finish", streams), 1, &[k - 1]),
    ]
}

/// Returns whether numbers of `blocks` tiles of w digits are multiplied by Karatsuba's method.
fn by_halves(w: u64, blocks: u64) -> bool {
    blocks == 2 && w >= 15
}

fn lanes_product(w: u64, blocks: u64, streams: u64) -> Whole {
    let (k, s) = (w * blocks, streams);
    let mut parts = if blocks == 1 {
        vec![part(format!("rows52_ifma::amm_rows::<{w}>"), s, &[s * ((w - 1) / 2)])]
    } else if by_halves(w, blocks) {
        vec![
            part(product(w, 0, false), 2 * s, &[2 * s * w]),
            part(format!("karatsuba52_ifma::product_combine::<{w}>"), s, &[s * w]),
        ]
    } else {
        vec![
            part(product(w, 0, false), s, &[s * w]),
            part(product(w, 0, true), 0, &[s * (k * blocks - w)]),
        ]
    };
    if blocks > 1 {
        parts.extend(reduction(w, blocks, streams, false));
    }
    Whole { kernel: "amm52_mb8_ifma", size: Size::words(small(k)), streams, parts }
}

fn lanes_square(w: u64, blocks: u64, streams: u64, reading: bool) -> Whole {
    let s = streams;
    let mut parts = if blocks == 1 {
        let rows = if reading { "ams_rows_reading" } else { "ams_rows" };
        vec![part(format!("rows52_ifma::{rows}::<{w}>"), s, &[])]
    } else if by_halves(w, blocks) {
        vec![
            part(square(w, false), 2 * s, &[]),
            part(format!("karatsuba52_ifma::square_combine::<{w}>"), s, &[]),
        ]
    } else {
        vec![part(square(w, true), s * blocks, &[])]
    };
    if blocks > 1 && !by_halves(w, blocks) {
        // each block times each higher block
        let pairs = blocks * (blocks - 1) / 2;
        parts.push(part(product(w, 0, true), 0, &[s * pairs * w]));
    }
    if blocks > 1 {
        parts.extend(reduction(w, blocks, streams, reading));
    }
    Whole { kernel: "ams52_mb8_ifma", size: Size::words(small(w * blocks)), streams, parts }
}

/// Returns the product and the squares of numbers of one tile in their other form, with the columns
/// in memory. Products of more than 15 digits have one form.
fn short_by_columns(w: u64) -> Vec<Whole> {
    let whole = |kernel, first, rows, reduction: &str| {
        let second = part(format!("columns52_ifma::{reduction}::<{w}>"), 1, &[w - 1]);
        let parts = vec![part(first, 1, rows), second];
        Whole { kernel, size: Size::words(small(w)), streams: 1, parts }
    };
    let reading = "reduce_columns_reading";
    let mut wholes = vec![
        whole("ams52_mb8_ifma", square(w, false), &[], "reduce_columns"),
        whole("ams52_mb8_ifma", square(w, false), &[], reading),
    ];
    if w <= 15 {
        wholes.push(whole("amm52_mb8_ifma", product(w, 0, false), &[w], "reduce_columns"));
    }
    wholes
}

/// The groups of numbers of the kernels on 256-bit registers.
const NARROW_GROUPS: u64 = 2;

fn narrow_tile(encoding: &str, name: &str) -> String {
    format!("tiles52_avxifma::{encoding}::{name}")
}

/// Returns `calls` products of `rows` rows of w digits in each group: rows in pairs, and a last
/// row.
fn narrow_rows(encoding: &str, w: u64, onto: bool, calls: u64, rows: u64) -> Part {
    let (calls, function) = (NARROW_GROUPS * calls, format!("mul_tile::<{w}, {onto}>"));
    part(narrow_tile(encoding, &function), 0, &[calls * (rows / 2), calls * (rows % 2)])
}

fn narrow_reduction(encoding: &str, w: u64, blocks: u64) -> Vec<Part> {
    let fold = |rows: u64, calls: u64| {
        let calls_of_groups = NARROW_GROUPS * calls;
        let function = narrow_tile(encoding, &format!("fold_tile::<{w}, {rows}>"));
        [
            part(function, calls_of_groups, &[calls_of_groups * (rows / 2)]),
            narrow_rows(encoding, w, true, calls * (blocks - 1), rows),
        ]
    };
    let finish = part(narrow_tile(encoding, "finish"), 1, &[w * blocks - 1]);
    fold(w, blocks - 1).into_iter().chain(fold(w - 1, 1)).chain([finish]).collect()
}

fn narrow_product(encoding: &str, w: u64, blocks: u64) -> Whole {
    let k = w * blocks;
    let mut parts =
        vec![narrow_rows(encoding, w, false, 1, k), narrow_rows(encoding, w, true, blocks - 1, k)];
    parts.extend(narrow_reduction(encoding, w, blocks));
    Whole { kernel: "amm52_mb8_avxifma", size: Size::words(small(k)), streams: 1, parts }
}

/// Returns a square: each block times all higher ones, and the squares of blocks.
fn narrow_square(encoding: &str, w: u64, blocks: u64) -> Whole {
    let squares = narrow_tile(encoding, &format!("sq_tile::<{w}>"));
    let mut parts = vec![part(squares, NARROW_GROUPS * blocks, &[])];
    parts.extend((1..blocks).map(|above| narrow_rows(encoding, w, true, 1, above * w)));
    parts.extend(narrow_reduction(encoding, w, blocks));
    Whole { kernel: "ams52_mb8_avxifma", size: Size::words(small(w * blocks)), streams: 1, parts }
}

/// The kernels on half digits, for vectors of one width.
#[derive(Clone, Copy)]
struct Halves {
    tiles: &'static str,
    product: &'static str,
    square: &'static str,
    /// Eight numbers are this many groups, each in the lanes of a vector.
    groups: u64,
    /// The width of blocks for multiples of ten digits.
    of_ten: u64,
}

impl Halves {
    const AVX2: Self = Self {
        tiles: "tiles26_avx2",
        product: "amm52_mb8_avx2",
        square: "ams52_mb8_avx2",
        groups: 2,
        of_ten: 5,
    };
    const AVX512: Self = Self {
        tiles: "tiles26_avx512",
        product: "amm52_mb8_avx512",
        square: "ams52_mb8_avx512",
        groups: 1,
        of_ten: 10,
    };

    /// The sequences of half digits: low halves, high halves and sums, for each group.
    const fn sequences(self) -> u64 {
        3 * self.groups
    }

    fn tile(self, name: &str) -> String {
        format!("{}::{name}", self.tiles)
    }

    /// Returns the parts of the reduction: the fold rows, in blocks of w rows, and w - 1 rows in
    /// the last block.
    fn reduction(self, w: u64, blocks: u64) -> Vec<Part> {
        let k = w * blocks;
        let fold = |rows: u64, calls: u64| {
            let tiles = self.sequences() * calls;
            [
                part(self.tile(&format!("fold::<{rows}>")), self.groups * calls, &[]),
                part(self.tile(&format!("fold_tile::<{rows}>")), tiles, &[tiles * (k + 1 - rows)]),
            ]
        };
        let finish = part(self.tile("finish"), 1, &[k - 1]);
        fold(w, blocks - 1).into_iter().chain(fold(w - 1, 1)).chain([finish]).collect()
    }

    fn rows(self, w: u64, onto: bool, rows: u64) -> Part {
        part(self.tile(&format!("mul_tile::<{w}, {onto}>")), 0, &[self.sequences() * rows])
    }

    fn product(self, w: u64, blocks: u64) -> Whole {
        let k = w * blocks;
        let mut parts = vec![self.rows(w, false, k), self.rows(w, true, k * (blocks - 1))];
        parts.extend(self.reduction(w, blocks));
        Whole { kernel: self.product, size: Size::words(small(k)), streams: 1, parts }
    }

    /// Returns a square: squares of blocks of s digits, and each digit times the higher blocks.
    fn square(self, w: u64, blocks: u64, s: u64) -> Whole {
        let k = w * blocks;
        let above = |block: u64| k - (block * w / s + 1) * s;
        let mut parts = vec![
            part(self.tile(&format!("sq_tile::<{s}>")), self.sequences() * k / s, &[]),
            self.rows(w, true, (0..blocks).map(above).sum()),
        ];
        parts.extend(self.reduction(w, blocks));
        Whole { kernel: self.square, size: Size::words(small(k)), streams: 1, parts }
    }
}

/// Returns a limb kernel for `tiles` tiles of w limbs. The tiles are inlined, and so is the imul of
/// each quotient digit.
fn limbs(kernel: &'static str, w: u64, tiles: u64) -> Whole {
    let pairs = tiles * tiles;
    let passes = match kernel {
        // the kinds of passes: tiles of products, and masks of m
        "amm64_mulx" => vec![2 * pairs, tiles],
        // the kinds of passes: cross products and reduction; squares of tiles, in two steps; masks
        // of m
        _ => vec![tiles * (tiles - 1) / 2 + pairs, tiles, tiles, tiles],
    };
    let function = format!("{kernel}::{kernel}::<{w}>");
    let parts = vec![part(function, 0, &passes)];
    Whole { kernel, size: Size::words(small(w * tiles)), streams: 1, parts }
}

fn small(k: u64) -> u32 {
    u32::try_from(k).expect("a number has few words")
}

/// Returns a finding for each kernel whose tiles do not add up to the model's formula, or whose
/// header does not state this formula.
pub(in crate::audit) fn check(workspace: &Workspace) -> Vec<String> {
    let differences = wholes().into_iter().filter_map(|whole| difference(TABLE, &whole));
    let headers = Issued::ALL.iter().filter_map(|issued| header(workspace, issued));
    differences.chain(headers).collect()
}

fn difference(rows: &[Row], whole: &Whole) -> Option<String> {
    let Whole { kernel, size, streams, parts } = whole;
    let name = format!("{kernel} of {} words", size.k);
    let Some(issued) = Issued::new(kernel) else {
        return Some(format!("{name}: tollgate_processor::issued does not have it; add it there"));
    };
    // The formula for limbs includes one imul for each quotient digit; the table counts mulx only.
    let mut sum = if kernel.contains("64") { u64::from(size.k) } else { 0 };
    for part in parts {
        let function = format!("{}{}", kernels::MONT, part.function);
        let Some((row, parameters)) = kernels::declared(rows, &function) else {
            return Some(format!(
                "{name} runs {function}, which has no row; add one, or correct \
                 xtask/src/audit/counts/whole.rs"
            ));
        };
        let work = (row.work)(&Row::numbers(parameters));
        sum += part.calls * work.once.total();
        let passes = part.passes.iter().zip(&work.passes);
        sum += passes.map(|(times, pass)| times * pass.total()).sum::<u64>();
    }
    let model = streams * issued.count(*size).0;
    (sum != model).then(|| {
        format!(
            "{name}: its tiles multiply {sum} times; tollgate_processor::issued says {model} ({})",
            issued.formula,
        )
    })
}

fn header(workspace: &Workspace, issued: &Issued) -> Option<String> {
    let path = format!("engine/mont/src/kernels/{}.rs", issued.kernel);
    let formula = issued.formula;
    let Some(file) = workspace.file(&path) else {
        return Some(format!("{path}: is not there; tollgate_processor::issued has its formula"));
    };
    let said = paragraph(&file.text);
    let halves = issued.by_halves.unwrap_or_default();
    if said.is_empty() {
        return Some(format!("{path}: the header has no Counts; the model says {formula}"));
    }
    let right = said.starts_with(formula) && said.contains(halves);
    (!right).then(|| {
        let model = [formula, halves].join("; ");
        format!("{path}: Counts {said}; the model says {}", model.trim_end_matches("; "))
    })
}

/// Returns the header's text from `Counts` to the next keyword, as one line.
fn paragraph(text: &str) -> String {
    let mut lines = text.lines().skip_while(|line| !line.starts_with("// Counts "));
    let first = lines.next().and_then(|line| line.strip_prefix("// Counts ")).unwrap_or_default();
    let more = lines.map_while(|line| line.strip_prefix("//  "));
    let words = core::iter::once(first).chain(more).flat_map(str::split_whitespace);
    words.collect::<Vec<_>>().join(" ")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::workspace::fake;

    #[test]
    fn the_rows_of_the_table_add_up_to_the_model_and_headers_state_it() {
        assert_eq!(check(&Workspace::read().expect("this workspace")), Vec::<String>::new());
    }

    #[test]
    fn an_additional_pass_is_found_with_both_numbers() {
        let mut whole = lanes_product(10, 1, 1);
        whole.parts[0].passes[0] += 1;
        let found = difference(TABLE, &whole).expect("a pass too many");
        assert!(found.contains("481 times") && found.contains("says 401"), "{found}");
        whole.parts[0].function = "tiles52_ifma::gone::<10>".into();
        assert!(difference(TABLE, &whole).is_some());
    }

    #[test]
    fn a_header_must_state_the_formula() {
        let issued = Issued::new("amm52_mb8_ifma").expect("a kernel");
        let path = "engine/mont/src/kernels/amm52_mb8_ifma.rs";
        let workspace = |text: &str| fake::workspace(&[], &[(path, text)]);
        let right = "// Counts    4K^2 + 1 vpmadd52 a stream; by Karatsuba 3.5K^2 + 1 for K = 30,\n\
                     //           3.125K^2 + 2K + 1 for K = 40.\n";
        assert_eq!(header(&workspace(right), &issued), None);
        let (quotients, halves) = (right.replace("+ 1 v", "+ K v"), right.replace("3.5", "3"));
        for wrong in [&quotients, &halves, "// no count\n"] {
            let found = header(&workspace(wrong), &issued).expect("a wrong header");
            assert!(found.contains("4K^2 + 1 vpmadd52"), "{found}");
        }
        assert!(header(&Workspace::default(), &issued).is_some());
    }
}
