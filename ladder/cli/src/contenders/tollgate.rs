//! Tollgate as a contender: one operation at a time, and in batches.

use std::rc::Rc;

use tollgate_rsa::{
    Error, Form, Hash, Operation, Plans, PrivateKey, PrivateRequest, PublicKey, PublicRequest,
    VerifyRequest, Workspace, private_batch, public_batch, verify_batch,
};

use super::full_length::FullLength;
use super::{
    Case, Contender, Job, KeyOperation, OURS, Run, compare, computed, in_turn, public_der,
};
use crate::bounds::{Family, modulus_bits};
use crate::error::CliError;

/// The number of requests that fills all lanes of a call.
#[allow(clippy::cast_possible_truncation, reason = "there are eight")]
const LANES: u32 = tollgate_mont::LANES as u32;

/// Creates contenders for Tollgate: one operation at a time and, if `batch` is more than one,
/// batches of `batch`.
pub(crate) fn contenders(job: &Job, batch: u32) -> Result<Vec<Contender>, CliError> {
    let single = Workspace::new()?;
    let kernel = single_kernel(&single, job);
    let run = one_by_one(job, single)?;
    let mut contenders = vec![Contender { by: OURS, batch: None, kernel: Some(kernel), run }];
    if job.what == KeyOperation::VerifyOnce {
        contenders[0].kernel = None; // most of the time is not in the exponentiation
    } else if batch > 1 {
        let together = Workspace::new()?;
        let count = usize::try_from(batch).expect("at most 1024");
        let plan = together.plans().plan(operation(job.what), job.key.ours.bits());
        let kernel = match plan.cut(count).calls().next() {
            Some((Form::Lanes, _)) => Family::Lanes(together.lane_kernel()),
            _ => single_kernel(&together, job),
        };
        let run = together_run(job, together, count)?;
        contenders.push(Contender { by: OURS, batch: Some(batch), kernel: Some(kernel), run });
    }
    Ok(contenders)
}

/// Creates a contender for Tollgate restricted to one form, even if that form is slow.
pub(crate) fn by_form(job: &Job, form: Form) -> Result<Contender, CliError> {
    let workspace = Workspace::new()?.with_plans(Plans::always(form));
    let kernel = match form {
        Form::Lanes => Family::Lanes(workspace.lane_kernel()),
        Form::One => single_kernel(&workspace, job),
    };
    let (batch, run) = match form {
        Form::One => (None, one_by_one(job, workspace)),
        Form::Lanes => (Some(LANES), together_run(job, workspace, tollgate_mont::LANES)),
    };
    let run = run?;
    Ok(Contender { by: OURS, batch, kernel: Some(kernel), run })
}

/// Returns the operation for the planner.
pub(crate) fn operation(what: KeyOperation) -> Operation {
    match what {
        KeyOperation::Sign => Operation::Private,
        // without CRT, a private operation is an exponentiation modulo n, too
        KeyOperation::PrivateFull
        | KeyOperation::Public(_)
        | KeyOperation::Verify
        | KeyOperation::VerifyOnce => Operation::Public,
    }
}

fn single_kernel(workspace: &Workspace, job: &Job) -> Family {
    Family::single(workspace.limb_kernel(), modulus_bits(&job.key, job.what))
}

fn one_by_one(job: &Job, mut workspace: Workspace) -> Result<Run, CliError> {
    let key = Rc::clone(&job.key);
    Ok(match job.what {
        KeyOperation::PrivateFull => {
            let mut full = FullLength::on_limbs(workspace.limb_kernel(), &key.ours);
            computed(job, move |_, input, output| {
                output.copy_from_slice(input);
                full.run(&mut [output]);
                Ok(())
            })
        }
        KeyOperation::Public(e) => {
            let key = with_exponent(&key.ours, e)?;
            computed(job, move |_, input, output| {
                output.copy_from_slice(input);
                Ok(key.public(&mut workspace, output)?)
            })
        }
        KeyOperation::Sign => computed(job, move |_, input, output| {
            Ok(key.ours.sign_pkcs1v15_with(&mut workspace, Hash::Sha256, input, output)?)
        }),
        KeyOperation::VerifyOnce => {
            let der = public_der(&key).map_err(CliError::about("OpenSSL does not write it"))?;
            in_turn(job, move |_, case| {
                let key = PublicKey::from_der(&der)?;
                Ok(key.verify_pkcs1v15(Hash::Sha256, &case.input, &case.output)?)
            })
        }
        KeyOperation::Verify => in_turn(job, move |_, case| {
            let public = key.ours.public();
            Ok(public.verify_pkcs1v15_with(
                &mut workspace,
                Hash::Sha256,
                &case.input,
                &case.output,
            )?)
        }),
    })
}

fn together_run(job: &Job, mut workspace: Workspace, count: usize) -> Result<Run, CliError> {
    let (key, cases) = (Rc::clone(&job.key), Rc::clone(&job.cases));
    let mut buffers = vec![vec![0; key.ours.size()]; count];
    Ok(match job.what {
        KeyOperation::PrivateFull => {
            let mut alone = FullLength::on_limbs(workspace.limb_kernel(), &key.ours);
            let mut in_lanes = FullLength::in_lanes(workspace.lane_kernel(), &key.ours);
            let cut = workspace.plans().plan(operation(job.what), key.ours.bits()).cut(count);
            Box::new(move || {
                fill(&mut buffers, &cases);
                let mut rest = &mut buffers[..];
                for (form, count) in cut.calls() {
                    let call = rest.split_off_mut(..count).expect("a cut has each request once");
                    match form {
                        Form::Lanes => in_lanes.run(call),
                        Form::One => alone.run(call),
                    }
                }
                compare_all(&buffers, &cases)
            })
        }
        KeyOperation::Public(e) => {
            let key = with_exponent(&key.ours, e)?;
            Box::new(move || {
                fill(&mut buffers, &cases);
                let requests = buffers.iter_mut().map(|buffer| PublicRequest::new(&key, buffer));
                let mut requests: Vec<_> = requests.collect();
                public_batch(&mut workspace, &mut requests);
                requests.iter().try_for_each(PublicRequest::outcome)?;
                compare_all(&buffers, &cases)
            })
        }
        KeyOperation::Sign => Box::new(move || {
            let requests = buffers.iter_mut().zip(&*cases).map(|(buffer, case)| {
                PrivateRequest::sign_pkcs1v15(&key.ours, Hash::Sha256, &case.input, buffer)
            });
            let mut requests: Vec<_> = requests.collect();
            private_batch(&mut workspace, &mut requests);
            requests.iter().try_for_each(PrivateRequest::outcome)?;
            compare_all(&buffers, &cases)
        }),
        // Each key verifies a single signature, so there is no batch.
        KeyOperation::VerifyOnce => return one_by_one(job, workspace),
        KeyOperation::Verify => Box::new(move || {
            let public = key.ours.public();
            let requests = cases[..count].iter().map(|case| {
                VerifyRequest::pkcs1v15(public, Hash::Sha256, &case.input, &case.output)
            });
            let mut requests: Vec<_> = requests.collect();
            verify_batch(&mut workspace, &mut requests);
            Ok(requests.iter().try_for_each(VerifyRequest::outcome)?)
        }),
    })
}

/// Returns the key's modulus with another public exponent.
fn with_exponent(key: &PrivateKey, e: u64) -> Result<PublicKey, Error> {
    let zeros = usize::try_from(e.leading_zeros() / 8).expect("at most 8");
    PublicKey::from_components(&key.public().modulus(), &e.to_be_bytes()[zeros..])
}

fn fill(buffers: &mut [Vec<u8>], cases: &[Case]) {
    for (buffer, case) in buffers.iter_mut().zip(cases) {
        buffer.copy_from_slice(&case.input);
    }
}

fn compare_all(buffers: &[Vec<u8>], cases: &[Case]) -> Result<(), CliError> {
    buffers.iter().zip(cases).try_for_each(|(buffer, case)| compare(buffer, &case.output))
}
