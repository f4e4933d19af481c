//! At a shutdown, waiting requests are run or get an error.

use core::time::Duration;
use std::thread;

use tollgate_queue::Error;

use super::toy::Doubling;
use super::{busy, doubled, four};

#[test]
fn a_shutdown_runs_waiting_requests_and_refuses_new_ones() {
    let (queue, caller, _) = four();
    let tickets = [1, 2].map(|x| caller.submit(Doubling::new(x)).unwrap());
    let ended = queue.shut_down(Duration::from_secs(60)).unwrap();
    assert_eq!((ended.cancelled, ended.still_running), (0, false));
    assert_eq!(caller.submit(Doubling::new(3)).unwrap_err(), Error::ShutDown);
    assert_eq!(tickets.map(|ticket| doubled(ticket.wait())), [2, 4]);
}

#[test]
fn a_shutdown_past_its_deadline_cancels_waiting_requests() {
    let (queue, caller, go_on, leader) = busy();
    let second = caller.submit(Doubling::new(2)).unwrap();
    let sleeper = thread::spawn(|| second.wait().unwrap_err());
    let ended = queue.shut_down(Duration::from_millis(20)).unwrap();
    assert_eq!((ended.cancelled, ended.still_running), (1, true));
    assert_eq!(sleeper.join().unwrap(), Error::ShutDown);
    go_on.send(()).unwrap();
    assert_eq!(leader.join().unwrap(), 2);
}

#[test]
fn a_shutdown_accepts_the_longest_duration() {
    let (queue, caller, _) = four();
    let ticket = caller.submit(Doubling::new(1)).unwrap();
    let ended = queue.shut_down(Duration::MAX).unwrap();
    assert_eq!((ended.cancelled, ended.still_running), (0, false));
    assert_eq!(doubled(ticket.wait()), 2);
}
