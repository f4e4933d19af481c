//! Behaviour of a queue through its public API, with several threads.
#![allow(clippy::unwrap_used, reason = "tests")]

mod contract;
mod faults;
mod order;
mod shutdown;
mod tickets;
#[path = "../toy/mod.rs"]
mod toy;

use std::sync::{Arc, Mutex, mpsc};
use std::thread;

use tollgate_queue::{Answer, Caller, Config, Error, Event, Queue};
use toy::{Doubler, Doubling, Log, Refused};

type Toy = Queue<Doubling>;

fn queue(config: Config, units: impl IntoIterator<Item = Doubler>) -> Toy {
    Queue::start(config, units.into_iter().map(Doubler::boxed)).unwrap()
}

/// Returns a queue with one unit of width four, and the unit's log.
fn four() -> (Toy, Caller<Doubling>, Log) {
    let unit = Doubler::new(4);
    let log = Arc::clone(&unit.log);
    let queue = queue(Config::with_capacity(16), [unit]);
    let caller = queue.caller().unwrap();
    (queue, caller, log)
}

fn doubled(answer: Result<Answer<Doubling>, Error<Refused>>) -> u64 {
    answer.unwrap().doubled
}

/// Adds a listener that records events.
fn listening(config: Config) -> (Config, Arc<Mutex<Vec<Event>>>) {
    let events = Arc::new(Mutex::new(Vec::new()));
    let heard = Arc::clone(&events);
    let on_event = move |event: &Event| heard.lock().unwrap().push(event.clone());
    (Config { on_event: Some(Box::new(on_event)), ..config }, events)
}

/// Returns a queue with one unit of width one, which is busy with the request of a thread. The unit
/// continues after the test sends `()` on the channel. The thread then returns the result, 2.
fn busy() -> (Toy, Caller<Doubling>, mpsc::Sender<()>, thread::JoinHandle<u64>) {
    let (unit, has_entered, go_on) = gated(1);
    let queue = queue(Config::with_capacity(8), [unit]);
    let caller = queue.caller().unwrap();
    let first = caller.submit(Doubling::new(1)).unwrap();
    let leader = thread::spawn(|| doubled(first.wait()));
    has_entered.recv().unwrap();
    (queue, caller, go_on, leader)
}

/// Returns a unit whose first batch blocks until the test sends `()` on the channel.
fn gated(width: usize) -> (Doubler, mpsc::Receiver<()>, mpsc::Sender<()>) {
    let (entered, has_entered) = mpsc::channel();
    let (go_on, may_go_on) = mpsc::channel();
    let mut gate = Some((entered, may_go_on));
    let before_batch = Box::new(move || {
        if let Some((entered, may_go_on)) = gate.take() {
            entered.send(()).unwrap();
            may_go_on.recv().unwrap();
        }
    });
    (Doubler { before_batch, ..Doubler::new(width) }, has_entered, go_on)
}
