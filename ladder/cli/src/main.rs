//! `tollgate-ladder`: the verbs that measure, which `tollgate VERB` runs.

#[macro_use]
extern crate tollgate;

mod bounds;
mod cells;
mod contenders;
mod figures;
mod host;
mod hybrid;
mod keys;
mod measure;
mod options;
mod output;
mod run;
mod shelf;
mod verbs;

use std::process::ExitCode;

use tollgate::{error, interrupt, progress, read};

use crate::error::CliError;
use crate::options::{Options, Verb};
use crate::verbs::{
    agent, bench, compare, explain, fleet, kernel, ladder, man, papers, serve, speed, trial, tune,
    workload,
};

fn main() -> ExitCode {
    run().unwrap_or_else(|error| output::fail(&error))
}

fn run() -> Result<ExitCode, CliError> {
    // Without this check, a misspelled TOLLGATE_CPU_DISABLE would leave a feature enabled without a
    // message.
    tollgate_cpu::features::veto()?;
    let options = Options::read()?;
    interrupt::listen()?;
    match options.verb {
        Verb::Agent(options) => agent::run(&options),
        Verb::Bench(options) => bench::run(&options),
        Verb::Compare(options) => compare::run(&options),
        Verb::Explain(options) => explain::run(&options),
        Verb::Fleet(options) => fleet::run(&options),
        Verb::Kernel(options) => kernel::run(&options),
        Verb::Ladder(options) => ladder::run(&options),
        Verb::Man(options) => man::run(&options),
        Verb::Papers(options) => papers::run(&options),
        Verb::Serve(options) => serve::run(&options),
        Verb::Speed(options) => speed::run(&options),
        Verb::Trial(options) => trial::run(&options),
        Verb::Tune(options) => tune::run(&options),
        Verb::Workload(options) => workload::run(&options),
    }
}
