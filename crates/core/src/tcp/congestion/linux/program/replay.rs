//! Calls of a real Linux flow, executed again: the same socket, arguments and clock must give the same socket and result.

use super::functions::ProgramKernel;
use super::{LAYOUT, Loaded, ProgramSpec};
use crate::rng::{Purpose, Stream};
use anabranch_bpf::{Kernel, Memory};

/// Offsets of the parts of a record, bytes. In order: function and flow (4 each), four arguments, result, times at entry and exit in
/// nanoseconds, jiffies at entry and exit (8 each), the sample, the socket at entry and at exit.
const ARGUMENTS: usize = 8;
const RESULT: usize = 40;
const TIMES: usize = 48;
const JIFFIES: usize = 64;
const SAMPLE: usize = 80;

/// Counters of arriving segments. Linux counts them also while another processor runs a program for the socket (`tcp_segs_in`).
const CONCURRENT: [&str; 2] = ["segs_in", "data_segs_in"];

/// A call whose outcome differs from Linux's.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Difference {
    /// Which record.
    pub record: usize,
    /// The operation, and the difference: fields with Linux's and our value, or the fault.
    pub what: String,
}

/// A kernel whose clock shows the recorded time of Linux.
struct RecordedKernel {
    kernel: ProgramKernel,
    time_ns: u64,
    jiffies: u64,
}

impl Kernel for RecordedKernel {
    fn time_ns(&mut self) -> u64 {
        self.time_ns
    }

    fn jiffies(&mut self) -> u64 {
        self.jiffies
    }

    fn random(&mut self) -> u32 {
        self.kernel.random()
    }

    fn call(&mut self, function: usize, arguments: &[u64; 5], memory: &mut Memory) -> Result<u64, String> {
        self.kernel.call(function, arguments, memory)
    }

    fn may_go_on(&mut self, jumps: u32) -> bool {
        self.kernel.may_go_on(jumps)
    }
}

impl ProgramSpec {
    /// Executes recorded calls of these functions, and returns the calls that differ from Linux. If the clock advanced during a call,
    /// either time may be the one that Linux used.
    /// A stop ends the list early.
    ///
    /// # Errors
    /// If the program lacks a function, or the records have another size.
    pub fn replay(&self, functions: &[String], records: &[u8]) -> Result<Vec<Difference>, String> {
        let size = |structure| LAYOUT.size(structure).unwrap_or(0) as usize;
        let (socket, sample) = (size("tcp_sock"), size("rate_sample"));
        let length = SAMPLE + sample + 2 * socket;
        if !records.len().is_multiple_of(length) {
            return Err(format!(
                "records have {length} bytes each; {} bytes are no whole number of them",
                records.len()
            ));
        }
        let mut operations = Vec::new();
        for name in functions {
            operations.push((self.loaded.program.operation(name), name));
        }
        let mut differences = Vec::new();
        for (number, record) in records.chunks_exact(length).enumerate() {
            if self.loaded.supervision.is_stopped() {
                break;
            }
            let Some((Some(operation), name)) = operations.get(word(record, 0, 4) as usize).copied() else {
                return Err(format!("record {number} is of a function that the program lacks"));
            };
            let clocks = [(TIMES, JIFFIES), (TIMES + 8, JIFFIES + 8), (TIMES, JIFFIES + 8)];
            let mut outcomes = clocks.iter().map(|(time, jiffies)| {
                self.loaded.repeat(operation, record, sample, socket, word(record, *time, 8), word(record, *jiffies, 8))
            });
            let first = outcomes.next().expect("there are three clocks");
            if let Some(what) = first
                && outcomes.all(|outcome| outcome.is_some())
            {
                differences.push(Difference { record: number, what: format!("{name}: {what}") });
            }
        }
        Ok(differences)
    }
}

impl Loaded {
    /// Executes one call. Returns the difference.
    fn repeat(
        &self,
        operation: usize,
        record: &[u8],
        sample: usize,
        socket: usize,
        time_ns: u64,
        jiffies: u64,
    ) -> Option<String> {
        let mut memory = self.socket.memory();
        let (entry, exit) = record[SAMPLE + sample..].split_at(socket);
        memory.bytes_mut(self.socket.socket, socket)?.copy_from_slice(entry);
        for address in [self.socket.ack, self.socket.rate] {
            let size = if address == self.socket.ack { LAYOUT.size("ack_sample")? as usize } else { sample };
            memory.bytes_mut(address, size)?.copy_from_slice(&record[SAMPLE..SAMPLE + size]);
        }
        let name = self.program.operations().nth(operation)?;
        let mut arguments = [self.socket.socket, 0, 0, 0, 0];
        (0..4).for_each(|index| arguments[index + 1] = word(record, ARGUMENTS + 8 * index, 8));
        match name {
            "pkts_acked" => arguments[1] = self.socket.ack,
            "cong_control" => arguments[if self.rate_parameters == 2 { 1 } else { 3 }] = self.socket.rate,
            _ => {}
        }
        let random = Stream::new(0, Purpose::Congestion, 0);
        let kernel = ProgramKernel::new(self.program.functions(), &self.socket, self.hz, random, &self.supervision);
        let mut kernel = RecordedKernel { kernel, time_ns, jiffies };
        let result = match self.program.call(operation, &arguments, &mut memory, &mut kernel) {
            Ok(result) => result,
            Err(fault) => return Some(fault.to_string()),
        };
        let mut differing = Vec::new();
        let ours = memory.bytes(self.socket.socket, socket)?;
        if ours != exit {
            for path in LAYOUT.paths("tcp_sock").into_iter().filter(|path| !CONCURRENT.contains(&path.as_str())) {
                let field = LAYOUT.field("tcp_sock", &path)?;
                let range = field.offset as usize..(field.offset + field.size) as usize;
                if ours[range.clone()] != exit[range.clone()] {
                    let [linux, here] = [exit, ours].map(|bytes| word(bytes, range.start, range.len().min(8)));
                    differing.push(format!("{path} is {linux} in Linux, {here} here"));
                }
            }
        }
        // Linux keeps the lower half of a result of 32 bits, and ignores that of functions without one.
        let returns = matches!(name, "ssthresh" | "undo_cwnd" | "min_tso_segs" | "sndbuf_expand");
        let linux = word(record, RESULT, 4);
        if returns && linux != result & 0xffff_ffff {
            differing.push(format!("the result is {linux} in Linux, {} here", result & 0xffff_ffff));
        }
        (!differing.is_empty()).then(|| differing.join(", "))
    }
}

fn word(bytes: &[u8], start: usize, size: usize) -> u64 {
    bytes[start..start + size].iter().rev().fold(0, |value, byte| value << 8 | u64::from(*byte))
}
