//! `tollgate speed --unit gpu`: batches of private operations on a GPU, one after the other.

use core::time::Duration;
use std::process::ExitCode;
use std::sync::Arc;
use std::time::Instant;

use tollgate_cuda::{Device as _, Done, Gpu, Operation, Operations, Size};
use tollgate_report::grid::{Column, grid};
use tollgate_rsa::{PrivateKey, PrivateRequest, Workspace, private_batch};

use crate::error::CliError;
use crate::interrupt;
use crate::keys::Key;
use crate::output::Output;

use super::Operations as Options;

/// Default seconds for each size.
const SECONDS: f64 = 5.0;

/// A batch that takes longer counts as lost.
const LIMIT: Duration = Duration::from_secs(30);

const COLUMNS: [Column; 9] = [
    Column::words("key", 8),
    Column::figures("batch", 6),
    Column::figures("load ms", 8),
    Column::figures("execute ms", 10),
    Column::figures("store ms", 8),
    Column::figures("notify ms", 9),
    Column::figures("p99 ms", 8),
    Column::figures("CPU us/op", 9),
    Column::figures("per s", 9),
];

pub(crate) fn run(options: &Options) -> Result<ExitCode, CliError> {
    let wanted: Vec<Size> = if options.bits.is_empty() {
        Size::ALL.to_vec()
    } else {
        options.bits.iter().copied().map(size).collect::<Result<_, _>>()?
    };
    let gpu = Gpu::open().map_err(CliError::about("--unit gpu"))?;
    let heading = format!("{}, one batch after the other; medians of batches\n\n", gpu.name());
    let mut operations = Operations::new(Box::new(gpu), usize::MAX);
    let seconds = Duration::from_secs_f64(options.seconds.unwrap_or(SECONDS));
    let mut rows = Vec::new();
    for size in wanted {
        let mut times = measure(&mut operations, size, seconds)?;
        rows.push(row(size, &mut times));
        if interrupt::asked() {
            break;
        }
    }
    Output::new(None)?.text(&(heading + &grid(&COLUMNS, rows)))?;
    Ok(interrupt::exit_code())
}

fn size(bits: u32) -> Result<Size, CliError> {
    let known = || Size::ALL.map(|size| size.bits().to_string()).join(", ");
    let size = usize::try_from(bits).ok().and_then(Size::of_bits);
    size.ok_or_else(|| error!("--bits {bits}: the GPU has kernels for {} bits", known()))
}

/// Runs full batches and compares each result with the processor's.
fn measure(
    operations: &mut Operations,
    size: Size,
    seconds: Duration,
) -> Result<Vec<Done>, CliError> {
    let key = Key::built_in(u32::try_from(size.bits())?)?.ours;
    let inputs: Vec<Vec<u8>> = (0..operations.width(size)).map(|i| input(&key, i)).collect();
    let expected = expected(&key, &inputs)?;
    // The first batch copies the key and makes blinding pairs.
    batch(operations, size, &key, &inputs, &expected)?;
    let begin = Instant::now();
    let mut times = Vec::new();
    while times.is_empty() || begin.elapsed() < seconds && !interrupt::asked() {
        times.push(batch(operations, size, &key, &inputs, &expected)?);
    }
    Ok(times)
}

/// Returns the number of an operation, below every modulus, whose highest bit is set.
fn input(key: &PrivateKey, i: usize) -> Vec<u8> {
    let mut number = vec![0x5a; key.size()];
    number[1..9].copy_from_slice(&(i as u64).to_be_bytes());
    number
}

fn expected(key: &PrivateKey, inputs: &[Vec<u8>]) -> Result<Vec<Vec<u8>>, CliError> {
    let mut results = inputs.to_vec();
    let mut requests: Vec<_> = results.iter_mut().map(|x| PrivateRequest::new(key, x)).collect();
    private_batch(&mut Workspace::new()?, &mut requests);
    requests.iter().try_for_each(PrivateRequest::outcome)?;
    Ok(results)
}

fn batch(
    operations: &mut Operations,
    size: Size,
    key: &Arc<PrivateKey>,
    inputs: &[Vec<u8>],
    expected: &[Vec<u8>],
) -> Result<Done, CliError> {
    let mut numbers = inputs.to_vec();
    let numbers_of_batch = numbers.iter_mut();
    let mut batch: Vec<_> =
        numbers_of_batch.map(|number| Operation { key, number, passed: false }).collect();
    let done = operations.run(size, &mut batch, LIMIT).map_err(CliError::about("--unit gpu"))?;
    let all_passed = batch.iter().all(|operation| operation.passed);
    let advice = "the GPU gave a wrong result: do not use it, and test its memory";
    CliError::unless(all_passed && numbers == expected, advice)?;
    Ok(done)
}

/// Returns a row of medians; p99 is that of whole batches.
fn row(size: Size, times: &mut [Done]) -> Vec<String> {
    let mut quantile = |q: f64, of: &dyn Fn(&Done) -> Duration| {
        times.sort_by_key(of);
        #[allow(
            clippy::cast_possible_truncation,
            clippy::cast_precision_loss,
            clippy::cast_sign_loss,
            reason = "an index below a small number"
        )]
        let at = ((times.len() - 1) as f64 * q).round() as usize;
        of(&times[at])
    };
    let whole = |done: &Done| done.load + done.execute + done.store + done.notify;
    let medians =
        [|d: &Done| d.load, |d: &Done| d.execute, |d: &Done| d.store, |d: &Done| d.notify]
            .map(|of| quantile(0.5, &of));
    let (p99, cpu, median) =
        (quantile(0.99, &whole), quantile(0.5, &|done| done.cpu), quantile(0.5, &whole));
    let count = u32::try_from(times[0].operations).unwrap_or(u32::MAX);
    let ms = |time: Duration| format!("{:.3}", time.as_secs_f64() * 1e3);
    let mut cells = vec![format!("RSA-{}", size.bits()), count.to_string()];
    cells.extend(medians.map(ms));
    cells.push(ms(p99));
    cells.push(format!("{:.2}", (cpu / count).as_secs_f64() * 1e6));
    cells.push(format!("{:.0}", f64::from(count) / median.as_secs_f64()));
    cells
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_row_has_medians_and_the_rate_of_the_median_batch() {
        let ms = Duration::from_millis;
        let done = |execute| Done {
            operations: 100,
            load: ms(1),
            execute: ms(execute),
            store: ms(2),
            notify: ms(3),
            cpu: ms(1),
        };
        let row = row(Size::Rsa2048, &mut [done(14), done(4), done(94)]);
        let expected =
            ["RSA-2048", "100", "1.000", "14.000", "2.000", "3.000", "100.000", "10.00", "5000"];
        assert_eq!(row, expected);
    }
}
