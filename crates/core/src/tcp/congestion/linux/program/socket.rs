//! The fields of Linux's socket: their meaning here, and their position in a flow's memory.

use super::LAYOUT;
use crate::tcp::events::Connection;
use crate::units::{Duration, Time};
use anabranch_bpf::{Field, Memory, Program};

/// Age of the virtual machine when the run starts, because programs use the time 0 for "never".
pub const BOOT: Duration = Duration::from_secs(1000);

/// Linux's "no threshold" and "no limit".
pub const INFINITE_SSTHRESH: u64 = 0x7fff_ffff;

/// Fields that options of the socket set.
pub const OPTIONS: [&str; 2] = ["icsk_rto_min", "icsk_delack_max"];

/// Fields that the control keeps itself, as Linux's stack and the program write them.
pub const KEPT: [&str; 20] = [
    "snd_cwnd",
    "snd_cwnd_cnt",
    "snd_cwnd_stamp",
    "snd_cwnd_clamp",
    "snd_ssthresh",
    "prior_cwnd",
    "prior_ssthresh",
    "delivered",
    "delivered_ce",
    "delivered_mstamp",
    "high_seq",
    "ecn_flags",
    "app_limited",
    "is_cwnd_limited",
    "max_packets_out",
    "icsk_ca_state",
    "icsk_ca_initialized",
    "sk_pacing_rate",
    "sk_max_pacing_rate",
    "sk_pacing_status",
];

/// Fields that Linux's verifier lets a program write (6.18), besides its own bytes.
const WRITABLE: [&str; 8] = [
    "snd_cwnd",
    "snd_cwnd_cnt",
    "snd_cwnd_stamp",
    "snd_ssthresh",
    "app_limited",
    "ecn_flags",
    "sk_pacing_rate",
    "sk_pacing_status",
];

/// The program's own bytes.
const PRIVATE: &str = "icsk_ca_priv";

/// Computes the value of a field from the connection.
type Source = fn(&Connection<'_>, &Sizes) -> u64;

/// Sizes of a flow that some fields need.
#[derive(Debug, Clone, Copy)]
pub struct Sizes {
    /// Payload of a segment, bytes.
    pub mss: u32,
    /// Ticks of the kernel's clock in a second.
    pub hz: u32,
}

/// Fields that follow from the connection: path within `tcp_sock`, and value.
const SHOWN: [(&str, Source); 30] = [
    ("tcp_mstamp", |connection, _| clock_us(connection.now)),
    ("tcp_wstamp_ns", |connection, _| (connection.next_send.max(connection.now).0 + BOOT.0) / 1000),
    ("data_segs_out", |connection, _| (connection.next + connection.retransmits).into()),
    ("bytes_retrans", |connection, sizes| u64::from(connection.retransmits) * u64::from(sizes.mss)),
    ("sk_gso_max_size", |_, _| 65_536),
    ("sk_gso_max_segs", |_, _| 65_535),
    ("tcp_clock_cache", |connection, _| (connection.now.0 + BOOT.0) / 1000),
    ("snd_una", |connection, sizes| sequence(connection.una, sizes)),
    ("snd_nxt", |connection, sizes| sequence(connection.next, sizes)),
    ("rcv_nxt", |_, _| 1), // a sender of data receives none
    ("copied_seq", |_, _| 1),
    ("bytes_acked", |connection, sizes| u64::from(connection.una) * u64::from(sizes.mss)),
    ("packets_out", |connection, _| (connection.next - connection.una).into()),
    ("sacked_out", |connection, _| connection.sacked.into()),
    // Linux counts a lost segment until it is acknowledged, and counts its retransmission too: the flight is the
    // same.
    ("lost_out", |connection, _| connection.lost.into()),
    ("retrans_out", |connection, _| retransmitted(connection).into()),
    ("lost", |connection, _| connection.marked_lost.into()),
    ("total_retrans", |connection, _| connection.retransmits.into()),
    ("srtt_us", |connection, _| connection.rtt.smoothed().map_or(0, |srtt| srtt.0 * 8 / 1_000_000)),
    ("mdev_us", |connection, _| connection.rtt.variation().0 * 4 / 1_000_000),
    ("rttvar_us", |connection, _| connection.rtt.variation().0 * 4 / 1_000_000),
    ("rtt_min.s.0.v", |connection, _| connection.rtt.minimum().map_or(u64::from(u32::MAX), |rtt| micros(rtt.0))),
    ("icsk_rto", |connection, sizes| (micros(connection.rtt.rto().0) * u64::from(sizes.hz)).div_ceil(1_000_000)),
    ("icsk_rto_min", |connection, sizes| jiffies(connection.rtt.least_rto(), sizes.hz)),
    ("icsk_backoff", |connection, _| connection.rtt.backoff().into()),
    ("lsndtime", |connection, sizes| jiffies(Duration(connection.last_sent.0 + BOOT.0), sizes.hz)),
    ("mss_cache", |_, sizes| sizes.mss.into()),
    ("advmss", |_, sizes| sizes.mss.into()),
    ("sk_pacing_shift", |_, _| 10),
    ("__sk_common.skc_state", |_, _| 1),
];

/// Fields of `ack_sample` and `rate_sample`, the arguments of `pkts_acked` and `cong_control`.
const ACK_SAMPLE: [&str; 2] = ["pkts_acked", "rtt_us"];
const RATE_SAMPLE: [&str; 10] = [
    "prior_delivered",
    "delivered",
    "interval_us",
    "rtt_us",
    "losses",
    "acked_sacked",
    "prior_in_flight",
    "is_app_limited",
    "delivered_ce",
    "is_ack_delayed",
];

/// Linux's clock in microseconds.
pub fn clock_us(now: Time) -> u64 {
    micros(now.0 + BOOT.0)
}

fn micros(picoseconds: u64) -> u64 {
    picoseconds / 1_000_000
}

/// Time in ticks of the kernel's clock.
pub fn jiffies(time: Duration, hz: u32) -> u64 {
    micros(time.0) * u64::from(hz) / 1_000_000
}

fn sequence(segment: u32, sizes: &Sizes) -> u64 {
    u64::from(segment.wrapping_mul(sizes.mss).wrapping_add(1))
}

/// Linux's retrans_out: the number that makes packets_out - (sacked_out + lost_out) + retrans_out equal to the
/// segments in flight.
fn retransmitted(connection: &Connection<'_>) -> u32 {
    let outstanding = connection.next - connection.una;
    (connection.in_flight + connection.sacked + connection.lost).saturating_sub(outstanding)
}

/// The path within `tcp_sock`'s own fields, without the structures that it begins with.
fn own_path(path: &str) -> &str {
    ["inet_conn.", "icsk_inet.", "sk."].iter().fold(path, |path, prefix| path.strip_prefix(prefix).unwrap_or(path))
}

/// The path from `tcp_sock` to one of its fields, which may lie in the structures at its start.
fn whole_path(own: &str) -> Option<String> {
    let begins = ["", "inet_conn.", "inet_conn.icsk_inet.", "inet_conn.icsk_inet.sk."];
    begins.iter().map(|begin| format!("{begin}{own}")).find(|path| LAYOUT.field("tcp_sock", path).is_some())
}

/// Whether a field has a meaning here.
pub fn provides_field(structure: &str, path: &str) -> bool {
    match structure {
        "ack_sample" => ACK_SAMPLE.contains(&path),
        "rate_sample" => RATE_SAMPLE.contains(&path),
        _ => {
            let own = own_path(path);
            own.split('.').next() == Some(PRIVATE)
                || KEPT.contains(&own)
                || SHOWN.iter().any(|(shown, _)| *shown == own)
        }
    }
}

/// A number in a flow's memory.
#[derive(Debug, Clone, Copy)]
pub struct Slot {
    field: Field,
}

impl Slot {
    /// Value of the field in the structure at this address.
    #[inline]
    pub fn read(self, memory: &Memory, structure: u64) -> u64 {
        let Field { offset, size, shift, bits } = self.field;
        memory.read(structure + u64::from(offset), size as usize) >> shift & (u64::MAX >> (64 - bits))
    }

    /// Sets it.
    #[inline]
    pub fn write(self, memory: &mut Memory, structure: u64, value: u64) {
        let Field { offset, size, shift, bits } = self.field;
        let address = structure + u64::from(offset);
        if bits == size * 8 {
            return memory.write(address, size as usize, value);
        }
        let mask = u64::MAX >> (64 - bits);
        let others = memory.read(address, size as usize) & !(mask << shift);
        memory.write(address, size as usize, others | (value & mask) << shift);
    }
}

/// Positions of the fields that the control reads and writes, and the fields that it must update for this program.
#[derive(Debug)]
pub struct SocketLayout {
    /// Places of [`OPTIONS`].
    pub options: [Slot; OPTIONS.len()],
    kept: [Slot; KEPT.len()],
    shown: Vec<(Slot, Source)>,
    ack_sample: [Slot; ACK_SAMPLE.len()],
    rate_sample: [Slot; RATE_SAMPLE.len()],
    /// Whether the program reads `sk_pacing_rate`.
    pub reads_pacing_rate: bool,
    /// The memory of a new flow.
    memory: Memory,
    /// Addresses of the socket and of the samples.
    pub socket: u64,
    pub ack: u64,
    pub rate: u64,
}

fn slot(structure: &str, path: &str) -> Slot {
    let field = LAYOUT.field(structure, path);
    Slot { field: field.unwrap_or_else(|| panic!("the layout has no {structure}.{path}")) }
}

fn socket_slot(own: &str) -> Slot {
    slot("tcp_sock", &whole_path(own).unwrap_or_else(|| panic!("the layout has no {own}")))
}

impl SocketLayout {
    /// The layout for a program.
    pub fn new(program: &Program) -> SocketLayout {
        let mut memory = program.memory().clone();
        let writable = WRITABLE.iter().chain([&PRIVATE]).map(|own| {
            let Slot { field } = socket_slot(own);
            field.offset as usize..(field.offset + field.size) as usize
        });
        let size = |structure| LAYOUT.size(structure).unwrap_or(0) as usize;
        let socket = memory.add(&vec![0; size("tcp_sock")], writable);
        let ack = memory.add(&vec![0; size("ack_sample")], None);
        let rate = memory.add(&vec![0; size("rate_sample")], None);
        let uses = |own: &str| program.fields().iter().any(|used| own_path(&used.path) == own);
        let shown = SHOWN.iter().filter(|(own, _)| uses(own));
        SocketLayout {
            options: OPTIONS.map(socket_slot),
            kept: KEPT.map(socket_slot),
            shown: shown.map(|(own, source)| (socket_slot(own), *source)).collect(),
            ack_sample: ACK_SAMPLE.map(|path| slot("ack_sample", path)),
            rate_sample: RATE_SAMPLE.map(|path| slot("rate_sample", path)),
            reads_pacing_rate: uses("sk_pacing_rate"),
            memory,
            socket,
            ack,
            rate,
        }
    }

    /// The memory of a new flow.
    pub fn memory(&self) -> Memory {
        self.memory.clone()
    }

    /// The place of a field that the control keeps.
    pub fn kept(&self, own: &str) -> Slot {
        self.kept[KEPT.iter().position(|kept| *kept == own).expect("a field that is kept")]
    }

    /// Shows the connection to the program.
    pub fn show(&self, memory: &mut Memory, connection: &Connection<'_>, sizes: &Sizes) {
        for (slot, source) in &self.shown {
            slot.write(memory, self.socket, source(connection, sizes));
        }
    }

    /// Fills in an `ack_sample`: `pkts_acked` and `rtt_us`.
    pub fn set_ack_sample(&self, memory: &mut Memory, values: [u64; ACK_SAMPLE.len()]) {
        self.ack_sample.iter().zip(values).for_each(|(slot, value)| slot.write(memory, self.ack, value));
    }

    /// Fills in a `rate_sample`, in the order of its list above.
    pub fn set_rate_sample(&self, memory: &mut Memory, values: [u64; RATE_SAMPLE.len()]) {
        self.rate_sample.iter().zip(values).for_each(|(slot, value)| slot.write(memory, self.rate, value));
    }
}
