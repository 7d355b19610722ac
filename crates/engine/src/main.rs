//! Runs one compiled run, to measure and to compare: `cargo run --release --package anabranch-engine RUN.json [epochs|oracle|THREADS]
//! [HOPS]`.
//!
//! `RUN.json` is the output of `anabranch.compile.run` for a scenario. The run ends after its duration, or after `HOPS` packet-hops. Prints
//! one line of JSON: seconds of the run alone (of the CPU in the first thread, and of the clock), its resident memory, and a fingerprint
//! of its results.

use anabranch_core::packet::output::table::Table;
use anabranch_core::packet::{Engine, EventLoop, Oracle, Partitions, Simulation};
use anabranch_core::spec::{LinkId, RunSpec};
use serde_json::{Value, json};
use std::hash::{DefaultHasher, Hash, Hasher};
use std::time::Instant;

fn main() {
    let mut arguments = std::env::args().skip(1);
    let path = arguments.next().expect("the path of a compiled run");
    let order = arguments.next().unwrap_or("epochs".into());
    let hops = arguments.next().map_or(u64::MAX, |value| value.parse().expect("a number of packet-hops"));
    let text = std::fs::read_to_string(path).expect("the compiled run can be read");
    let spec: RunSpec = serde_json::from_str(&text).expect("a compiled run");
    drop(text);
    let captures = spec.captures.clone();
    let resident = status("VmRSS:");
    let began = cpu_seconds();
    let report = match order.as_str() {
        "epochs" => measure(Simulation::new(spec).expect("a run that can be"), &captures, hops, began, resident),
        "oracle" => measure(Oracle::new(spec).expect("a run that can be"), &captures, hops, began, resident),
        threads => {
            let threads = threads.parse().expect("epochs, oracle, or a number of threads");
            measure(Partitions::new(spec, threads).expect("a run that can be"), &captures, hops, began, resident)
        }
    };
    println!("{report}");
}

/// A run, whoever moves its packets.
trait Run {
    fn advance(&mut self, events: u64) -> bool;
    fn packet_hops(&self) -> u64;
    fn events(&self) -> u64;
    fn simulated_seconds(&self) -> f64;
    fn tables(&self) -> [Table; 2];
    /// Discards its records.
    fn empty(&mut self, captures: &[LinkId]);
}

/// The methods of these have the same names.
macro_rules! run {
    ($type:ty $(, $parameter:ident: $bound:path)?) => {
        impl$(<$parameter: $bound>)? Run for $type {
            fn advance(&mut self, events: u64) -> bool {
                self.advance(events)
            }
            fn packet_hops(&self) -> u64 {
                self.packet_hops()
            }
            fn events(&self) -> u64 {
                self.events()
            }
            fn simulated_seconds(&self) -> f64 {
                self.now().as_secs()
            }
            fn tables(&self) -> [Table; 2] {
                [self.flow_table(), self.link_table()]
            }
            fn empty(&mut self, captures: &[LinkId]) {
                self.take_flow_series();
                self.take_link_series();
                for &link in captures {
                    self.take_capture(link);
                }
            }
        }
    };
}

run!(Engine<L>, L: EventLoop);
run!(Partitions);

/// Runs to the end. At the start of the build, the thread had used `began` CPU seconds, and `resident` bytes were resident.
fn measure<R: Run>(mut simulation: R, captures: &[LinkId], hops: u64, began: f64, resident: u64) -> Value {
    let (built, clock) = (cpu_seconds(), Instant::now());
    move_packets(&mut simulation, hops, captures);
    let (ended, elapsed) = (cpu_seconds(), clock.elapsed());
    let grown = status("VmHWM:").saturating_sub(resident); // before there are tables of the results
    let tables = simulation.tables();
    let flows = &tables[0];
    json!({
        "grown_bytes": grown,
        "packet_hops": simulation.packet_hops(),
        "events": simulation.events(),
        "flows": flows.numbers("goodput_bps").len(),
        "in_flight_packets": flows.numbers("cwnd_segments").iter().filter(|window| window.is_finite()).sum::<f64>(),
        "simulated_seconds": simulation.simulated_seconds(),
        "build_seconds": built - began,
        "cpu_seconds": ended - built,
        "clock_seconds": elapsed.as_secs_f64(),
        "fingerprint": format!("{:016x}", fingerprint(&tables)),
    })
}

/// Runs the engine alone, and discards its records from time to time. callgrind finds the code to count by this name.
#[inline(never)]
fn move_packets<R: Run>(simulation: &mut R, hops: u64, captures: &[LinkId]) {
    while simulation.packet_hops() < hops && simulation.advance((hops - simulation.packet_hops()).min(200_000)) {
        simulation.empty(captures);
    }
}

/// A hash over every result, to the bit.
fn fingerprint(tables: &[Table]) -> u64 {
    let mut hasher = DefaultHasher::new();
    for (name, column) in tables.iter().flat_map(|table| &table.columns) {
        name.hash(&mut hasher);
        column.bits().hash(&mut hasher);
    }
    hasher.finish()
}

/// CPU time of this thread so far, as Linux reports it; 0 on other systems.
fn cpu_seconds() -> f64 {
    let text = std::fs::read_to_string("/proc/thread-self/schedstat").unwrap_or_default();
    text.split_whitespace().next().and_then(|value| value.parse::<f64>().ok()).map_or(0.0, |value| value * 1e-9)
}

/// A size of this process, bytes, as Linux reports it; 0 on other systems.
fn status(key: &str) -> u64 {
    let text = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let line = text.lines().find_map(|line| line.strip_prefix(key));
    line.and_then(|rest| rest.split_whitespace().next()?.parse::<u64>().ok()).map_or(0, |value| value * 1024)
}
