//! The table of six rungs, of synthetic records.
#![allow(clippy::unwrap_used, reason = "tests")]

mod synthetic;

use tollgate_ladder::{WIDTH, rungs};

#[test]
fn x() {
    let t = rungs::table(&synthetic::all());
    use tollgate_ladder::{fleet, model, server, session};
    println!(
        "{}\n{}\n{}\n{}",
        model::table(&synthetic::all()),
        session::table(&synthetic::all()),
        server::table(&synthetic::all()),
        fleet::table(&synthetic::all())
    );
    println!("{t}");
    println!("{}", rungs::table(&synthetic::only(&["operation"])));
    println!("{}", rungs::table(&[]));
    let speed = std::fs::File::open("../../../records/speed.jsonl").unwrap();
    let speed = tollgate_record::jsonl::read_all(std::io::BufReader::new(speed)).unwrap();
    println!("{}", rungs::table(&speed));
    for line in t.lines() {
        assert!(line.chars().count() <= WIDTH);
    }
}
