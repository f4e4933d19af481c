//! Synthetic records of all six rungs, spelled like real ones. No figure here was measured or
//! published. The name of the machine says that it is synthetic.

use std::collections::BTreeMap;

use tollgate_record::vocabulary as word;
use tollgate_record::{Estimate, Kind, Machine, Quantity, Record, Timestamp, Unit};

const CLOCK_HZ: f64 = 4.0e9;

/// A list of records, to which tests add figures.
#[derive(Default)]
pub(crate) struct Synthetic(pub(crate) Vec<Record>);

/// Returns the records of a whole run of the ladder.
pub(crate) fn all() -> Vec<Record> {
    let mut records = Synthetic::default();
    records.model();
    records.simulation();
    records.kernels();
    records.operations();
    records.sessions();
    records.servers();
    records.fleet();
    records.papers();
    records.0
}

/// Returns the records whose subject begins with one of `rungs`.
pub(crate) fn only(rungs: &[&str]) -> Vec<Record> {
    let of = |record: &Record| rungs.contains(&&*record.subject.area().to_string());
    all().into_iter().filter(of).collect()
}

fn machine() -> Machine {
    Machine {
        features: ["adx".to_owned(), "ifma".to_owned()].into(),
        logical_cores: Some(2),
        kernel: Some("6.1.0".into()),
        virtualised: Some(true),
        core_clock_hz: Some(Estimate::new(CLOCK_HZ, (3.99e9, 4.01e9), 41).unwrap()),
        ..Machine::unknown("Synthetic <Processor> & Sons 9000")
    }
}

impl Synthetic {
    /// Adds a figure with an interval of plus and minus one percent.
    pub(crate) fn add(
        &mut self,
        subject: &str,
        quantity: Quantity,
        unit: Unit,
        point: f64,
        kind: Kind,
    ) {
        let machine = match &kind {
            Kind::Published { .. } => Machine::unknown("a processor of a paper, 3 GHz, 2010"),
            _ => machine(),
        };
        let margin = 0.01 * point.abs();
        let estimate = Estimate::new(point, (point - margin, point + margin), 51).unwrap();
        self.0.push(Record {
            versions: BTreeMap::from([
                ("openssl".into(), "3.0.19".into()),
                ("tollgate".into(), "0.1.0".into()),
            ]),
            commit: Some("0123abcd".into()),
            taken_at: "2026-11-20T12:00:00Z".parse::<Timestamp>().unwrap(),
            ..Record::new(subject.parse().unwrap(), (quantity, unit, estimate), kind, machine)
        });
    }

    fn measured(&mut self, subject: &str, quantity: Quantity, unit: Unit, point: f64) {
        self.add(subject, quantity, unit, point, Kind::Measured);
    }

    fn predicted(&mut self, by: &str, subject: &str, quantity: Quantity, unit: Unit, point: f64) {
        let kind = Kind::Predicted { by: by.into(), from: vec!["a record".into()] };
        self.add(subject, quantity, unit, point, kind);
    }

    fn published(
        &mut self,
        source: &str,
        subject: &str,
        quantity: Quantity,
        unit: Unit,
        point: f64,
    ) {
        let kind = Kind::Published { source: source.into() };
        self.add(subject, quantity, unit, point, kind);
    }

    /// Adds a condition to the last record.
    fn under(&mut self, key: &str, value: &str) {
        self.0.last_mut().unwrap().conditions.insert(key.into(), value.into());
    }

    fn model(&mut self) {
        let ita00 =
            "Intel, Itanium Processor: High Performance, white paper SEG_103, 1999-2000, table 5";
        for (machine, name, model, paper, limit) in [
            ("itanium", "Itanium", 1248.0, 1220.0, "memory ports"),
            ("alpha-21264", "Alpha 21264", 1792.0, 1800.0, "issue"),
            ("ultrasparc-iii", "UltraSPARC III", 12_288.0, 12_300.0, "multiplier"),
            ("powerpc-g4", "PowerPC G4", 14_336.0, 14_000.0, "issue"),
        ] {
            let subject = format!("model/{machine}/amm?bits=1024");
            let quantity = word::CYCLES_PER_PRODUCT;
            self.predicted(word::MODEL_RUNG, &subject, quantity, Unit::Cycles, model);
            self.0.last_mut().unwrap().machine = Machine::unknown(name);
            self.under(word::LIMIT, limit);
            self.under(word::ASSUMPTION, "every multiply at its least latency, the rest hidden");
            self.published(ita00, &subject, quantity, Unit::Cycles, paper);
            self.under(word::ORIGIN, "estimated");
        }
        let changed = "model/itanium/amm?bits=1024&port_operations_per_product=3";
        let quantity = word::CYCLES_PER_PRODUCT;
        self.predicted(word::MODEL_RUNG, changed, quantity, Unit::Cycles, 992.0);
        self.0.last_mut().unwrap().machine = Machine::unknown("Itanium");
        let subject = "model/host/amm?bits=1024";
        self.predicted(word::MODEL_RUNG, subject, quantity, Unit::Cycles, 101.0);
        self.under(word::LIMIT, "vpmadd52");
        self.under(word::ASSUMPTION, "rates calibrated on this machine");
    }

    fn simulation(&mut self) {
        let quantity = word::CYCLES_PER_OPERATION;
        for (arithmetic, cycles) in [(word::V8, 22.3e6), (word::EXTENDED, 12.4e6)] {
            let subject = format!(
                "simulation/leon-2/exp_sliding?arithmetic={arithmetic}&bits=1024&issue=blocking\
                 &loops=unrolled-4&slots=1&square=fips&window=5"
            );
            self.predicted(word::MODEL_RUNG, &subject, quantity, Unit::Cycles, cycles);
        }
        let gts07 = "Performance of Instruction Set Extensions for Long Integer Modular Arithmetic \
                     on a SPARC V8 Processor, 2007";
        let subject = "simulation/leon-2/exp?bits=1024&by=gts07";
        self.published(gts07, subject, quantity, Unit::Cycles, 12.5e6);
    }

    fn kernels(&mut self) {
        for (name, k, bits, cycles, lanes, bound, limit) in [
            ("amm52_mb8_ifma", 20, 1024, 905.0, 8.0, 810.0, "vpmadd52"),
            ("ams52_mb8_ifma", 20, 1024, 760.0, 8.0, 610.0, "vpmadd52"),
            ("amm52_mb8_ifma", 40, 2048, 3400.0, 8.0, 3210.0, "vpmadd52"),
            ("amm64_mulx", 16, 1024, 560.0, 1.0, 384.0, "mulx row"),
        ] {
            let subject = format!("kernel/{name}?K={k}&bits={bits}");
            self.measured(&subject, word::CYCLES_PER_CALL, Unit::Cycles, cycles);
            self.measured(&subject, word::CYCLES_PER_LANE, Unit::Cycles, cycles / lanes);
            let quantity = word::BOUND_CYCLES_PER_CALL;
            self.predicted(word::MODEL_RUNG, &subject, quantity, Unit::Cycles, bound);
            self.under(word::LIMIT, limit);
        }
    }

    fn operations(&mut self) {
        for (bits, scale) in [(1024, 0.16), (2048, 1.0), (3072, 3.3), (4096, 7.3)] {
            for (who, cycles) in [
                ("batch=8&by=tollgate", 275e3),
                ("by=tollgate", 860e3),
                ("by=openssl", 901e3),
                ("by=aws-lc", 893e3),
            ] {
                let subject = format!("operation/rsa-{bits}/sign?{who}");
                self.operation(&subject, cycles * scale);
                if who.contains("tollgate") {
                    let quantity = word::BOUND_CYCLES_PER_OPERATION;
                    let bound = 0.74 * cycles * scale;
                    self.predicted(word::MODEL_RUNG, &subject, quantity, Unit::Cycles, bound);
                    self.under(word::LIMIT, "vpmadd52");
                    let quantity = word::CYCLES_PER_OPERATION;
                    let calls = 0.94 * cycles * scale;
                    self.predicted(word::KERNEL_RUNG, &subject, quantity, Unit::Cycles, calls);
                    let against = format!("operation/rsa-{bits}/sign?against=openssl&{who}");
                    let times = 901e3 / cycles;
                    self.measured(&against, word::TIMES_AS_FAST, Unit::Ratio, times);
                }
            }
            self.operation(&format!("operation/rsa-{bits}/verify?by=openssl"), 53e3 * scale);
        }
        for (what, by, cycles) in [
            ("sign", "openssl", 59.7e3),
            ("sign", "aws-lc", 47.5e3),
            ("verify", "openssl", 173e3),
            ("verify", "aws-lc", 142e3),
        ] {
            self.operation(&format!("operation/ecdsa-p256/{what}?by={by}"), cycles);
        }
    }

    fn operation(&mut self, subject: &str, cycles: f64) {
        self.measured(subject, word::CYCLES_PER_OPERATION, Unit::Cycles, cycles);
        let ns = cycles / CLOCK_HZ * 1e9;
        self.measured(subject, word::NS_PER_OPERATION, Unit::Nanos, ns);
        self.measured(subject, word::OPERATIONS_PER_S, Unit::PerSecond, 1e9 / ns);
    }

    fn sessions(&mut self) {
        for protocol in ["tls13", "tls12-x25519", "tls12-rsa"] {
            for (by, rsa) in [("tollgate", 860e3), ("openssl", 901e3)] {
                for bytes in [0, 14_336, 35_840, 71_680, 143_360] {
                    self.session("rsa-2048", protocol, by, f64::from(bytes), rsa);
                }
            }
        }
        self.session("ecdsa-p256", "tls13", "tollgate", 14_336.0, 30e3);
        self.session("ecdsa-p256", "tls13", "openssl", 14_336.0, 59.7e3);
    }

    fn session(&mut self, key: &str, protocol: &str, by: &str, bytes: f64, rsa: f64) {
        let subject = format!("session/{key}/{protocol}?by={by}&bytes={bytes}");
        let exchange = if protocol == "tls12-rsa" { 0.0 } else { 145e3 };
        let parts = [
            (if key.starts_with("rsa") { word::PART_RSA } else { word::PART_SIGNATURE }, rsa),
            (word::PART_KEY_EXCHANGE, exchange), // 0 with RSA key transport
            (word::PART_KEY_SCHEDULE, 42e3),
            (word::PART_RECORDS, 4e3 + 0.6 * bytes),
            (word::PART_MAC, 0.0), // an AEAD has no separate MAC
            (word::PART_LIBRARY, 160e3),
            (word::PART_SYSTEM, 220e3 + 0.9 * bytes),
        ];
        let quantity = word::CYCLES_PER_SESSION;
        let mut total = 0.0;
        for (part, cycles) in parts {
            let subject = format!("{subject}&part={part}");
            self.predicted(word::SESSION_RUNG, &subject, quantity, Unit::Cycles, cycles);
            total += cycles;
        }
        self.predicted(word::SESSION_RUNG, &subject, quantity, Unit::Cycles, total);
        if by == "tollgate" {
            self.under(word::BATCH, "8");
            self.under(word::CONNECTIONS, "16");
        }
        if (bytes - 14_336.0).abs() < 1.0 {
            self.measured(&subject, quantity, Unit::Cycles, 1.11 * total);
        }
    }

    fn servers(&mut self) {
        for (protocol, rate) in [("tls13", 2500.0), ("tls12-x25519", 2600.0), ("tls12-rsa", 2900.0)]
        {
            self.servers_in_turn("rsa-2048", protocol, "", rate, (1.31, 0.76));
        }
        self.servers_in_turn("ecdsa-p256", "tls13", "", 7100.0, (1.05, 0.95));
        self.servers_in_turn("ecdsa-p256", "tls13", "nginx-", 6100.0, (1.06, 0.94));
    }

    fn servers_in_turn(
        &mut self,
        key: &str,
        protocol: &str,
        name: &str,
        rate: f64,
        (times, cpu): (f64, f64),
    ) {
        let [ours, theirs] = ["tollgate", "openssl"].map(|engine| format!("{name}{engine}"));
        self.server(key, protocol, &theirs, rate);
        self.server(key, protocol, &ours, times * rate);
        let subject = format!("server/{key}/{protocol}?against={theirs}&by={ours}&bytes=14336");
        self.measured(&subject, word::SESSIONS_PER_S_RATIO, Unit::Ratio, times);
        self.measured(&subject, word::SERVER_CPU_RATIO, Unit::Ratio, cpu);
    }

    fn server(&mut self, key: &str, protocol: &str, by: &str, rate: f64) {
        let subject = format!("server/{key}/{protocol}?by={by}&bytes=14336");
        self.measured(&subject, word::SESSIONS_PER_S, Unit::PerSecond, rate);
        self.0.last_mut().unwrap().doubts.push("the client was busy <to 90 %>".to_owned());
        let quantity = word::SESSIONS_PER_S;
        self.predicted(word::SESSION_RUNG, &subject, quantity, Unit::PerSecond, 1.12 * rate);
        if by == "tollgate" {
            self.under(word::BATCH, "8");
            self.measured(&subject, word::OPERATIONS_PER_BATCH, Unit::Count, 6.34);
        }
        let nanos = [
            (word::SERVER_CPU_NS_PER_SESSION, 1e9 / rate),
            (word::CLIENT_CPU_NS_PER_SESSION, 0.6e9 / rate),
            (word::HANDSHAKE_NS_P50, 2.1e9 / rate),
            (word::HANDSHAKE_NS_P90, 3.4e9 / rate),
            (word::HANDSHAKE_NS_P99, 6.8e9 / rate),
            (word::TRANSACTION_NS_P50, 2.4e9 / rate),
            (word::TRANSACTION_NS_P90, 3.9e9 / rate),
            (word::TRANSACTION_NS_P99, 7.7e9 / rate),
        ];
        for (quantity, ns) in nanos {
            self.measured(&subject, quantity, Unit::Nanos, ns);
        }
    }

    fn fleet(&mut self) {
        for (by, ns) in [("tollgate", 305e3), ("openssl", 400e3)] {
            let subject = format!("fleet/rsa-2048/tls13?by={by}&bytes=14336");
            let by = word::FLEET_RUNG;
            let rate = 1e9 / ns;
            let quantity = word::SESSIONS_PER_S_PER_CORE;
            self.predicted(by, &subject, quantity, Unit::PerSecond, rate);
            let bits = rate * 14_336.0 * 8.0;
            self.predicted(by, &subject, word::BITS_PER_S_PER_CORE, Unit::PerSecond, bits);
            for gbps in [1.0, 10.0, 100.0] {
                let subject = format!("{subject}&link_gbps={gbps}");
                let cores: f64 = gbps * 1e9 / bits / 0.7;
                self.predicted(by, &subject, word::CORES, Unit::Count, cores);
                self.under(word::UTILISATION, "0.7");
                self.predicted(by, &subject, word::WHOLE_CORES, Unit::Count, cores.ceil());
                self.under(word::UTILISATION, "0.7");
                let left = (64.0 - cores.ceil() % 64.0) % 64.0;
                self.predicted(by, &subject, word::CORES_LEFT, Unit::Count, left);
                self.under(word::CORES_PER_MACHINE, "64");
                let machines = (cores / 64.0).ceil();
                self.predicted(by, &subject, word::MACHINES, Unit::Count, machines);
                self.under(word::CORES_PER_MACHINE, "64");
            }
            self.priced(&subject, ns);
            for load in [0.0, 0.2, 0.4, 0.6, 0.7, 0.8, 0.9, 0.95] {
                let subject = format!("{subject}&line=queue_per_core&load={load}&station_cores=2");
                let response = ns * (1.0 + 0.6 * load / (1.0 - load));
                self.predicted(by, &subject, word::RESPONSE_NS_MEAN, Unit::Nanos, response);
                self.under(word::SERVICE_NS, &ns.to_string());
                self.under(word::MODEL, "M/G/1 per core, Pollaczek-Khinchine");
                let waits = load * load;
                self.predicted(by, &subject, word::WAITING_SHARE, Unit::Ratio, waits);
                self.predicted(by, &subject, word::WAIT_NS_MEAN, Unit::Nanos, response - ns);
                let p99 = ns * (1.2 + 3.1 * load / (1.0 - load));
                self.predicted(by, &subject, word::RESPONSE_NS_P99, Unit::Nanos, p99);
                self.under(word::SERVICE_NS, &ns.to_string());
            }
        }
        let by = word::FLEET_RUNG;
        let pair = "fleet/rsa-2048/tls13?against=openssl&by=tollgate&bytes=14336";
        self.predicted(by, pair, word::SAVED_SHARE, Unit::Ratio, 0.2375);
    }

    /// A machine of 16 cores, at 0.05 USD per hour for each.
    fn priced(&mut self, subject: &str, ns: f64) {
        let by = word::FLEET_RUNG;
        let money = format!("{subject}&currency=USD&machine=example-16");
        let cost = 1e6 * ns * 1e-9 / 0.7 / 3600.0 * 0.05;
        self.predicted(by, &money, word::COST_PER_MILLION, Unit::Count, cost);
        let price = 0.8 * 8765.82 / (16.0 * 0.7) * ns / 1e9;
        self.predicted(by, &money, word::PRICE_PER_SESSION_PER_S, Unit::Count, price);
        for (key, value) in [
            (word::TERM, word::YEAR),
            (word::CORES_PER_MACHINE, "16"),
            (word::PRICE, "0.8 USD an hour"),
            (word::PRICE_SOURCE, "made up, 2026-11-27"),
        ] {
            self.under(key, value);
        }
    }

    fn papers(&mut self) {
        let eti10 = "Kounavis, Encrypting the Internet, ACM SIGCOMM 2010: RSA-1024, 140 KB";
        for (by, rate) in
            [("eti10", 2143.0), ("eti10-karatsuba", 1463.0), ("eti10-openssl-1.0", 1893.0)]
        {
            let subject = format!("operation/rsa-1024/private?by={by}");
            self.published(eti10, &subject, word::OPERATIONS_PER_S, Unit::PerSecond, rate);
        }
        let subject = "session/rsa-1024/tls-rsa?by=eti10-before&bytes=140000";
        let quantity = word::CYCLES_PER_SESSION;
        for (part, cycles) in [
            (word::PART_RSA, 2.17e6),
            (word::PART_RECORDS, 2.30e6),
            (word::PART_MAC, 1.18e6),
            (word::PART_LIBRARY, 0.73e6),
        ] {
            let subject = format!("{subject}&part={part}");
            self.published(eti10, &subject, quantity, Unit::Cycles, cycles);
        }
        self.published(eti10, subject, quantity, Unit::Cycles, 6.38e6);
        for (suite, by, rate, cores) in [
            ("tls-rsa-1024-aes-128-cbc-sha1", "eti10-before", 200.0, [5.0, 46.0]),
            ("tls-rsa-1024-aes-128-cbc-sha1", "eti10", 770.0, [2.0, 12.0]),
            ("tls-rsa-1024-aes-128-gcm", "eti10", 1200.0, [1.0, 8.0]),
        ] {
            let subject = format!("fleet/{suite}?by={by}&bytes=140000");
            let quantity = word::SESSIONS_PER_S_PER_CORE;
            self.published(eti10, &subject, quantity, Unit::PerSecond, rate);
            for (gbps, cores) in [(1, cores[0]), (10, cores[1])] {
                let subject = format!("{subject}&link_gbps={gbps}");
                self.published(eti10, &subject, word::WHOLE_CORES, Unit::Count, cores);
                self.under(word::UTILISATION, "1");
            }
        }
        for (by, usd) in [("appliance", 4.0), ("eti10", 0.28)] {
            let subject = format!("fleet/tls-rsa-1024?by={by}&bytes=140000&currency=USD");
            let quantity = word::PRICE_PER_SESSION_PER_S;
            self.published(eti10, &subject, quantity, Unit::Count, usd);
        }
        let hp01 = "Holt, Mayotte, IA-64 and SSL Performance, 2001";
        for (by, rate) in
            [("itanium-800", 315.0), ("pa-8600-550", 145.0), ("ultrasparc-iii-750", 42.0)]
        {
            let subject = format!("server/rsa-1024/ssl3-rsa?by=hp01-{by}&bytes=14336");
            self.published(hp01, &subject, word::SESSIONS_PER_S, Unit::PerSecond, rate);
            self.0.last_mut().unwrap().machine = Machine::unknown(&format!("{by} MHz, 2001"));
        }
    }
}
