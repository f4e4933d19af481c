//! TEMPORARY until bench lands.
use crate::contenders::Contender;
use crate::interrupt;
use crate::stop::Stop;
use tollgate_record::Estimate;

pub(crate) struct Taken {
    pub(crate) nanos: Estimate,
    pub(crate) cycles: Option<Estimate>,
}
pub(crate) struct Round {
    pub(crate) taken: Vec<Taken>,
    pub(crate) warnings: Vec<String>,
    pub(crate) conditions: Vec<(String, String)>,
}
impl Round {
    pub(crate) fn times_as_fast(&self, ours: usize, other: usize) -> Result<Estimate, Stop> {
        Estimate::exact(self.taken[other].nanos.point() / self.taken[ours].nanos.point())
            .map_err(Stop::from_error)
    }
}
pub(crate) fn measure(
    _what: &str,
    contenders: &mut [Contender],
    seconds: f64,
    progress: impl Fn(f64),
) -> Result<Option<Round>, Stop> {
    let each = seconds / contenders.len() as f64;
    let mut taken = Vec::new();
    for c in contenders.iter_mut() {
        if interrupt::asked() {
            return Ok(None);
        }
        progress(0.5);
        let mut n = 0.0;
        (c.run)().map_err(|e| Stop::new(format!("{}: {e}", c.by)))?;
        let start = std::time::Instant::now();
        let (_, e) = tollgate_cpu::clock::time(|| {
            while start.elapsed().as_secs_f64() < each {
                for _ in 0..8 {
                    (c.run)().unwrap();
                    n += 8.0 / 8.0;
                }
            }
        });
        let ops = n * f64::from(c.batch.unwrap_or(1));
        taken.push(Taken {
            nanos: Estimate::exact(e.wall.as_nanos() as f64 / ops).unwrap(),
            cycles: e.core.map(|c| Estimate::exact(c.cycles / ops).unwrap()),
        });
    }
    Ok(Some(Round { taken, warnings: vec![], conditions: vec![] }))
}
