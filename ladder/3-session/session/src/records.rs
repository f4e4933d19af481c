//! Figures as records: primitives, parts, totals, messages.

use std::collections::BTreeMap;

use tollgate_load::Context;
use tollgate_record::vocabulary as word;
use tollgate_record::{Estimate, Record, Subject};

use crate::batches::Batches;
use crate::error::Error;
use crate::messages::Anatomy;
use crate::need::Need;
use crate::pipe::Lap;
use crate::plan::Session;
use crate::primitive::{Primitive, RECORD_BYTES};
use crate::sum::sum;
use crate::writer::Writer;

/// The parts that are sums of primitives, each with its description.
const COUNTED: [(&str, &str); 7] = [
    (word::PART_RSA, "the private-key operation through EVP, as libssl calls it"),
    (word::PART_SIGNATURE, "the signature through EVP, as libssl calls it"),
    (
        word::PART_VERIFY,
        "verification of the other end's chain and signature, or encryption of the premaster \
         secret, through EVP; the reading of certificates counts as library",
    ),
    (
        word::PART_KEY_EXCHANGE,
        "an ephemeral key pair and the agreement through EVP, as libssl calls them",
    ),
    (
        word::PART_KEY_SCHEDULE,
        "derivations, with the fetches that libssl makes for each, and hashes of the transcript",
    ),
    (word::PART_RECORDS, "records both ways, handshake and alert included; authenticated as well"),
    (word::PART_MAC, "HMAC of the records, if it is separate: an AEAD is counted as records"),
];

const LIBRARY: &str = "the server's calls in memory less their primitives: state machine, \
                       messages, tickets, allocation; HTTP and log lines of the server";
const LIBRARY_OF_CLIENT: &str = "the client's calls of libssl in memory less their primitives";
const SYSTEM_OF_CLIENT: &str = "the client's system calls in the same replay, CPU time of its \
                                thread; sockets are reset and used again, as the load generator's";
const SYSTEM: &str = "the server's system calls replayed over loopback without TLS, CPU time of \
                      the serving thread; a write there also does most of its client's receiving";

/// The end of the connection whose cost is measured.
pub(crate) enum End {
    Client,
    /// The server, whose messages have a cost each.
    Server(Anatomy),
}

/// The measured figures of one end of a session.
pub(crate) struct Measured {
    pub(crate) session: Session,
    pub(crate) end: End,
    /// The primitives of the whole session.
    pub(crate) need: Need,
    pub(crate) batches: Batches,
    /// The number of connections in flight.
    pub(crate) connections: u32,
    /// The cycles in memory; a server's by lap.
    pub(crate) laps: Vec<Estimate>,
    /// The operating system's cycles.
    pub(crate) system: Estimate,
    /// True if server and client of the replay ran on separate cores.
    pub(crate) cores_apart: bool,
}

impl Measured {
    fn lap(&self, lap: Lap) -> Estimate {
        self.laps[lap as usize]
    }

    fn laps(&self) -> Vec<(f64, Estimate)> {
        self.laps.iter().map(|lap| (1.0, *lap)).collect()
    }

    fn system_note(&self) -> String {
        let shared = if self.cores_apart { "" } else { "; one core for both sides" };
        let calls = match self.end {
            End::Client => SYSTEM_OF_CLIENT,
            End::Server(_) => SYSTEM,
        };
        format!("{calls}{shared}")
    }

    /// The subject of the whole cost.
    fn total(&self) -> Result<Subject, Error> {
        self.of_end(self.session.subject().map_err(Error::figure)?)
    }

    /// The subject of a primitive, in the batches of this end.
    fn of_primitive(&self, primitive: Primitive) -> Result<Subject, Error> {
        primitive.subject(&self.session, self.batches.size(primitive)).map_err(Error::figure)
    }

    /// The subjects of a need's primitives.
    fn subjects(&self, need: &Need) -> Result<Vec<String>, Error> {
        need.counts().map(|(primitive, _)| Ok(self.of_primitive(primitive)?.to_string())).collect()
    }

    /// The number of connections that the figures hold for, and the number of operations with the
    /// server's key in a batch, if there are batches.
    fn conditions(&self) -> impl Iterator<Item = (String, String)> {
        let connections = (word::CONNECTIONS.to_owned(), self.connections.to_string());
        let batch = Some(self.batches.of_key()).filter(|batch| *batch > 1);
        let batch = batch.map(|batch| (word::BATCH.to_owned(), batch.to_string()));
        [connections].into_iter().chain(batch)
    }

    /// Names the end in a subject of its session.
    fn of_end(&self, subject: Subject) -> Result<Subject, Error> {
        match self.end {
            End::Client => subject.with(word::END, word::CLIENT).map_err(Error::figure),
            End::Server(_) => Ok(subject),
        }
    }
}

/// Creates the records of one run.
pub(crate) struct Scribe<'a> {
    writer: Writer<'a>,
    /// Cycles of each primitive.
    figures: &'a BTreeMap<Subject, Estimate>,
}

impl<'a> Scribe<'a> {
    pub(crate) fn new(context: &'a Context, figures: &'a BTreeMap<Subject, Estimate>) -> Self {
        Self { writer: Writer::new(context), figures }
    }

    /// The primitives.
    pub(crate) fn primitives(&self) -> Result<Vec<Record>, Error> {
        let figures = self.figures.iter();
        figures.map(|(subject, cycles)| self.writer.primitive(subject.clone(), *cycles)).collect()
    }

    /// Returns the cost per byte of each primitive that was measured for both lengths of records.
    pub(crate) fn per_byte(&self) -> Result<Vec<Record>, Error> {
        let [small, large] = RECORD_BYTES;
        let share = 1.0 / f64::from(large - small);
        let mut records = Vec::new();
        for (subject, costs) in self.figures {
            let of_large = subject.parameter(word::BYTES) == Some(large.to_string().as_str());
            let other = subject.with(word::BYTES, small).map_err(Error::figure)?;
            let Some(less) = self.figures.get(&other).filter(|_| of_large) else { continue };
            let cycles = sum(&[(share, *costs), (-share, *less)])?;
            let from = vec![subject.to_string(), other.to_string()];
            let note = "the difference of both lengths, divided by their distance";
            let record =
                self.writer.predicted(subject.without(&[word::BYTES]), cycles, from, note)?;
            records.push(Record { quantity: word::CYCLES_PER_BYTE, ..record });
        }
        Ok(records)
    }

    /// The operating system's cost for sessions of one kind.
    pub(crate) fn system(&self, measured: &Measured) -> Result<Record, Error> {
        let subject = Places::of(measured)?.system;
        self.writer.measured(subject, measured.system, &measured.system_note())
    }

    /// All records of one end of a session: measurements, parts, total, messages.
    pub(crate) fn session(&self, measured: &Measured) -> Result<Vec<Record>, Error> {
        let places = Places::of(measured)?;
        let (memory, system) = (sum(&measured.laps())?, measured.system);
        let note = match measured.end {
            End::Client => "the client's calls of libssl in memory",
            End::Server(_) => "the server's calls in memory",
        };
        let mut records = vec![self.writer.measured(places.memory.clone(), memory, note)?];
        let mut total = 0.0;
        let mut from = Vec::new();
        for part in self.parts(measured, &places)? {
            let subject = places.total.with(word::PART, part.name).map_err(Error::figure)?;
            from.push(subject.to_string());
            total += part.cycles.point();
            let mut record = self.writer.predicted(subject, part.cycles, part.from, &part.note)?;
            if let Some(counts) = part.counts {
                record.conditions.insert(word::COUNTS.to_owned(), counts);
            }
            records.push(record);
        }
        // The library's part is the time in memory less the other parts in memory. The parts
        // therefore add up to the time in memory plus the system. The interval of the total is the
        // interval of this sum.
        let (low, high) = sum(&[(1.0, memory), (1.0, system)])?.interval();
        let interval = (low.min(total), high.max(total));
        let samples = memory.samples().min(system.samples());
        let total = Estimate::new(total, interval, samples).map_err(Error::figure)?;
        records.push(self.writer.predicted(
            places.total.clone(),
            total,
            from,
            "the sum of the parts",
        )?);
        match &measured.end {
            End::Client => records.push(self.system(measured)?),
            End::Server(anatomy) => records.extend(self.messages(measured, anatomy, &places)?),
        }
        records.iter_mut().for_each(|record| record.conditions.extend(measured.conditions()));
        Ok(records)
    }

    /// The parts of a session, in the order of the tables.
    fn parts(&self, measured: &Measured, places: &Places) -> Result<Vec<Part>, Error> {
        let session = &measured.session;
        let mut library = measured.laps().to_vec();
        let mut library_from = vec![places.memory.to_string()];
        let mut parts = Vec::new();
        let other_key = if session.key.is_rsa() { word::PART_SIGNATURE } else { word::PART_RSA };
        for (name, note) in COUNTED.into_iter().filter(|(name, _)| *name != other_key) {
            let need = measured.need.of(name);
            let (from, costs) = (measured.subjects(&need)?, self.costs(&need, measured)?);
            library.extend(costs.iter().map(|(count, cycles)| (-count, *cycles)));
            library_from.extend_from_slice(&from);
            let counts = spelled(&need, &from);
            parts.push(Part { name, cycles: sum(&costs)?, from, note: note.to_owned(), counts });
        }
        parts.push(Part {
            name: word::PART_LIBRARY,
            cycles: sum(&library)?,
            from: library_from,
            note: match measured.end {
                End::Client => LIBRARY_OF_CLIENT.to_owned(),
                End::Server(_) => LIBRARY.to_owned(),
            },
            counts: None,
        });
        parts.push(Part {
            name: word::PART_SYSTEM,
            cycles: measured.system,
            from: vec![places.system.to_string()],
            note: measured.system_note(),
            counts: None,
        });
        Ok(parts)
    }

    /// The handshake in memory, and the cost of each of its messages.
    fn messages(
        &self,
        measured: &Measured,
        anatomy: &Anatomy,
        places: &Places,
    ) -> Result<Vec<Record>, Error> {
        let both = [Lap::Hello, Lap::Finish].map(|lap| (1.0, measured.lap(lap)));
        let note = "the server's calls in memory until the handshake is complete";
        let mut records =
            vec![self.writer.measured(places.handshake.clone(), sum(&both)?, note)?];
        for message in &anatomy.messages {
            let mut terms = self.costs(&message.need, measured)?;
            let mut from = measured.subjects(&message.need)?;
            let mut note = "its primitives".to_owned();
            if message.opens {
                terms.push((1.0, measured.lap(message.lap)));
                from.insert(0, places.handshake.to_string());
                for other in anatomy.messages.iter().filter(|other| other.lap == message.lap) {
                    let costs = self.costs(&other.need, measured)?;
                    terms.extend(costs.into_iter().map(|(count, cycles)| (-count, cycles)));
                }
                note.push_str(", and what else the server does from here to its next wait");
            }
            let subject = places.total.with(word::MESSAGE, message.name).map_err(Error::figure)?;
            let record = self.writer.predicted(subject, sum(&terms)?, from, &note)?;
            records.push(Record { quantity: word::CYCLES_PER_MESSAGE, ..record });
        }
        Ok(records)
    }

    /// Returns the count of each primitive of a need, and the cost of one.
    fn costs(&self, need: &Need, measured: &Measured) -> Result<Vec<(f64, Estimate)>, Error> {
        let cost = |(primitive, count): (Primitive, f64)| {
            let subject = measured.of_primitive(primitive)?;
            let cycles = self.figures.get(&subject);
            let cycles = cycles.ok_or_else(|| Error::Figure(format!("{subject}: no figure")))?;
            Ok((count, *cycles))
        };
        need.counts().map(cost).collect()
    }
}

/// The subjects of a session's figures.
struct Places {
    total: Subject,
    memory: Subject,
    handshake: Subject,
    system: Subject,
}

impl Places {
    fn of(measured: &Measured) -> Result<Self, Error> {
        let session = &measured.session;
        let primitive =
            |name: &str| measured.of_end(session.primitive_subject(name).map_err(Error::figure)?);
        Ok(Self {
            total: measured.total()?,
            memory: primitive("in-memory")?,
            handshake: primitive("handshake")?,
            system: measured.of_end(session.system_subject().map_err(Error::figure)?)?,
        })
    }
}

/// A part of a session's cost.
struct Part {
    name: &'static str,
    cycles: Estimate,
    from: Vec<String>,
    note: String,
    counts: Option<String>,
}

/// The counts of a need in words; `None` if it is empty.
fn spelled(need: &Need, subjects: &[String]) -> Option<String> {
    let words: Vec<String> = need
        .counts()
        .zip(subjects)
        .map(|((_, count), subject)| {
            format!("{count:.3} {}", subject.trim_start_matches("session/primitive/"))
        })
        .collect();
    (!words.is_empty()).then(|| words.join(", "))
}
