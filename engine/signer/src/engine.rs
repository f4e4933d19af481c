//! The queue and its units: lanes for each worker, and before them a GPU if there is one.

use core::fmt;
use std::sync::Arc;

use tollgate_queue::{Lanes, PrivateJob, Queue, Unit};

use crate::error::{Error, Say};
use crate::gpu::{GpuCounters, Offloading};

/// The maximum number of operations in a turn of a worker, if no GPU asks for more.
const TURN_MAX: usize = 64;

/// A queue that runs.
pub(crate) struct Engine {
    pub(crate) queue: Queue<PrivateJob>,
    /// The maximum number of operations in a turn of a worker. The queue has as many slots for each
    /// worker, so it is never full.
    pub(crate) turn_max: usize,
    pub(crate) gpu: Option<Arc<GpuCounters>>,
}

impl Engine {
    /// Starts a queue with lanes for each worker. No thread waits for others: the requests that
    /// have come while a batch ran are the next batch. The lanes repeat the operations of a GPU
    /// that fails.
    pub(crate) fn start(workers: usize, gpu: Option<Offloading>, say: &Say) -> Result<Self, Error> {
        let failed = |why: &dyn fmt::Display| Error::Unavailable {
            doing: "starting the engine".into(),
            why: why.to_string(),
        };
        let in_flight = gpu.as_ref().map_or(0, Offloading::in_flight);
        let turn_max = TURN_MAX.max(in_flight.div_ceil(workers));
        let (mut units, mut counters) = (Vec::<Box<dyn Unit<PrivateJob>>>::new(), None);
        if let Some(gpu) = gpu {
            let (unit, counted) = gpu.unit(say).map_err(|why| failed(&why))?;
            counters = Some((unit.name().to_owned(), counted));
            units.push(Box::new(unit));
        }
        for number in 0..workers {
            units.push(Box::new(Lanes::new(number).map_err(|why| failed(&why))?));
        }
        let capacity = workers * turn_max;
        let (hear, of_gpu) = (Arc::clone(say), counters.clone());
        let config = tollgate_queue::Config {
            slots_per_caller_max: capacity,
            on_event: Some(Box::new(move |event| {
                let gpu = of_gpu.as_ref();
                if !gpu.is_some_and(|(unit, gpu)| gpu.note_queue(unit, event, &hear)) {
                    hear(&event.to_string());
                }
            })),
            ..tollgate_queue::Config::with_capacity(capacity)
        };
        let queue = Queue::start(config, units).map_err(|why| failed(&why))?;
        let gpu = counters.map(|(_, gpu)| gpu);
        if let Some(gpu) = &gpu {
            gpu.starts(say)?;
        }
        Ok(Self { queue, turn_max, gpu })
    }
}
