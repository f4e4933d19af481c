//! `tollgate`: the cost of a TLS connection, rung by rung.
#![deny(unsafe_code)]

#[macro_use]
mod error;

mod bounds;
mod cells;
mod contenders;
mod figures;
mod folder;
mod histogram;
mod host;
mod interrupt;
mod keys;
mod measure;
mod options;
mod output;
mod progress;
mod read;
mod run;
mod service;
mod shelf;
mod stdout;
mod verbs;

use std::process::ExitCode;

use crate::error::CliError;
use crate::options::{Options, Verb};
use crate::verbs::{
    agent, bench, compare, completions, fleet, kernel, key, ladder, man, papers, provider, report,
    serve, session, signer, speed, trial, tune, workload,
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
        Verb::Completions(options) => completions::run(&options),
        Verb::Fleet(options) => fleet::run(&options),
        Verb::Kernel(options) => kernel::run(&options),
        Verb::Key(options) => key::run(&options),
        Verb::Ladder(options) => ladder::run(&options),
        Verb::Man(options) => man::run(&options),
        Verb::Papers(options) => papers::run(&options),
        Verb::Provider(options) => provider::run(&options),
        Verb::Report(options) => report::run(&options),
        Verb::Serve(options) => serve::run(&options),
        Verb::Session(options) => session::run(&options),
        Verb::Signer(options) => signer::run(&options),
        Verb::Speed(options) => speed::run(&options),
        Verb::Trial(options) => trial::run(&options),
        Verb::Tune(options) => tune::run(&options),
        Verb::Workload(options) => workload::run(&options),
    }
}
