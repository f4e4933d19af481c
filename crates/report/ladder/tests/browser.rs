#![allow(clippy::unwrap_used, reason = "tests")]
mod synthetic;
#[test]
fn dump() {
    let speed = std::fs::File::open("../../../records/speed.jsonl").unwrap();
    let speed = tollgate_record::jsonl::read_all(std::io::BufReader::new(speed)).unwrap();
    std::fs::create_dir_all("/tmp/report-view").unwrap();
    std::fs::write("/tmp/report-view/full.html", tollgate_ladder::html::report(&synthetic::all()))
        .unwrap();
    std::fs::write("/tmp/report-view/speed.html", tollgate_ladder::html::report(&speed)).unwrap();
    std::fs::write("/tmp/report-view/empty.html", tollgate_ladder::html::report(&[])).unwrap();
}
