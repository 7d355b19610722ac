//! From the sender's events to the operations of `tcp_congestion_ops`, in the order of Linux's `tcp_ack` and `tcp_enter_loss`.
//!
//! Two orders differ from Linux. An ACK that begins or ends recovery comes to `set_state` before `pkts_acked`. `in_ack_event` comes before
//! `pkts_acked`, as in Linux 6.1; Linux 6.18 calls it behind. `sndbuf_expand` is never called, because a send buffer has no bound here.

use super::Loaded;
use super::functions::{ProgramKernel, WindowSlots};
use super::socket::{self, INFINITE_SSTHRESH, Sizes, Slot};
use crate::tcp::congestion::linux::window::restart_window;
use crate::tcp::congestion::linux::{LinuxControl, MIN_QUANTUM};
use crate::tcp::congestion::{CongestionControl, Demands, FlowContext};
use crate::tcp::events::{AckEvent, CongestionEvent, CongestionKind, Connection};
use crate::tcp::rtt::RttEstimate;
use crate::units::{Duration, Rate, Time};
use anabranch_bpf::Memory;
use std::collections::VecDeque;
use std::sync::Arc;

/// States of loss recovery (Linux, `tcp.h`).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum State {
    Open = 0,
    Disorder = 1,
    WindowReduced = 2,
    Recovery = 3,
    Loss = 4,
}

/// Arguments of `cwnd_event`.
const TX_START: u64 = 0;
const WINDOW_RESTART: u64 = 1;
const COMPLETE_REDUCTION: u64 = 2;
const LOSS: u64 = 3;

/// Bits of an ACK, second argument of `cong_control` (Linux, `tcp_input.c`) and argument of `in_ack_event` (`tcp.h`).
const WINDOW_UPDATE: u64 = 0x02;
const DATA_ACKED: u64 = 0x04;
const DATA_SACKED: u64 = 0x20;
const ECN_ECHO: u64 = 0x40;
const SLOW_PATH: u64 = 0x100;
const ADVANCED: u64 = 0x400;
const EVENT_SLOW_PATH: u64 = 1;
const EVENT_WINDOW_UPDATE: u64 = 2;
const EVENT_ECN_ECHO: u64 = 4;

/// `sk_pacing_status` of a socket that paces itself.
const PACES: u64 = 1;

/// The operations that the program has.
#[derive(Debug)]
struct Operations {
    ssthresh: Option<usize>,
    cong_avoid: Option<usize>,
    set_state: Option<usize>,
    cwnd_event: Option<usize>,
    in_ack_event: Option<usize>,
    pkts_acked: Option<usize>,
    cong_control: Option<usize>,
    undo_cwnd: Option<usize>,
    min_tso_segs: Option<usize>,
}

/// The fields that the control itself reads and writes, besides the window.
#[derive(Debug)]
struct Slots {
    window: WindowSlots,
    state: Slot,
    delivered: Slot,
    delivered_ce: Slot,
    delivered_mstamp: Slot,
    high_seq: Slot,
    app_limited: Slot,
    cwnd_stamp: Slot,
    pacing_rate: Slot,
}

/// A flow's program and its memory.
pub struct ProgramControl {
    loaded: Arc<Loaded>,
    memory: Memory,
    kernel: ProgramKernel,
    operations: Operations,
    slots: Slots,
    sizes: Sizes,
    state: State,
    /// The first unacknowledged segment, and the first never sent.
    una: u32,
    next: u32,
    sacked: u32,
    max_outstanding: u32,
    /// The smoothed RTT in eighths of a microsecond, as Linux has it; zero before the first sample.
    srtt_us: u64,
    window_limited: bool,
    wire_bytes: u32,
    paces: bool,
    /// The memory before `init` ran ahead; none once the connection is known.
    unopened: Option<Memory>,
    /// The episode has reduced the window without a timeout, so that its end completes a reduction, also behind an undo.
    completes: bool,
    /// It failed or was stopped, and keeps its window.
    has_failed: bool,
    /// The program has seen the present ACK before a reduction.
    shown: bool,
    /// The totals of delivered and of marked segments whenever they grew by marks, the last one before the newest rate sample included.
    marks: VecDeque<(u64, u64)>,
}

impl ProgramControl {
    /// A flow that has not sent yet. `init` runs ahead, as the sender must know whether the program paces. Linux calls it when the connection is
    /// established: so it runs anew when the control first sees the connection, with the time and the RTT of then.
    pub fn new(loaded: Arc<Loaded>, flow: FlowContext) -> ProgramControl {
        let Loaded { program, socket, hz, supervision, .. } = &*loaded;
        let find = |name| program.operation(name);
        let slots = Slots {
            window: WindowSlots::new(socket),
            state: socket.kept("icsk_ca_state"),
            delivered: socket.kept("delivered"),
            delivered_ce: socket.kept("delivered_ce"),
            delivered_mstamp: socket.kept("delivered_mstamp"),
            high_seq: socket.kept("high_seq"),
            app_limited: socket.kept("app_limited"),
            cwnd_stamp: socket.kept("snd_cwnd_stamp"),
            pacing_rate: socket.kept("sk_pacing_rate"),
        };
        let mut control = ProgramControl {
            memory: socket.memory(),
            kernel: ProgramKernel::new(program.functions(), socket, *hz, flow.random, supervision),
            operations: Operations {
                ssthresh: find("ssthresh"),
                cong_avoid: find("cong_avoid"),
                set_state: find("set_state"),
                cwnd_event: find("cwnd_event"),
                in_ack_event: find("in_ack_event"),
                pkts_acked: find("pkts_acked"),
                cong_control: find("cong_control"),
                undo_cwnd: find("undo_cwnd"),
                min_tso_segs: find("min_tso_segs"),
            },
            slots,
            sizes: Sizes { mss: flow.payload, hz: *hz },
            state: State::Open,
            una: 0,
            next: 0,
            sacked: 0,
            max_outstanding: 0,
            srtt_us: 0,
            window_limited: false,
            wire_bytes: flow.wire_bytes,
            paces: false,
            unopened: None,
            completes: false,
            has_failed: false,
            shown: false,
            marks: VecDeque::from([(0, 0)]),
            loaded: Arc::clone(&loaded),
        };
        let address = socket.socket;
        for (name, value) in [
            ("snd_cwnd", flow.initial_window.into()),
            ("snd_ssthresh", INFINITE_SSTHRESH),
            ("snd_cwnd_clamp", u64::from(u32::MAX)),
            ("sk_pacing_rate", u64::MAX),
            ("sk_max_pacing_rate", u64::MAX),
            ("ecn_flags", 1),
            ("icsk_ca_initialized", 1),
        ] {
            socket.kept(name).write(&mut control.memory, address, value);
        }
        let rtt = RttEstimate::new(Duration::from_millis(200), Duration::from_secs(120), Duration::from_secs(1));
        let unopened = control.memory.clone();
        control.show(&Connection {
            now: Time::ZERO,
            una: 0,
            next: 0,
            app_limited: 0,
            sacked: 0,
            lost: 0,
            in_flight: 0,
            marked_lost: 0,
            retransmits: 0,
            max_outstanding: 0,
            window_limited: false,
            last_sent: Time::ZERO,
            next_send: Time::ZERO,
            rtt: &rtt,
        });
        control.call(find("init"), &[]);
        control.paces = socket.kept("sk_pacing_status").read(&control.memory, address) == PACES;
        control.unopened = Some(unopened);
        control
    }

    fn show(&mut self, connection: &Connection<'_>) {
        self.kernel.now = connection.now;
        (self.una, self.next, self.sacked) = (connection.una, connection.next, connection.sacked);
        (self.max_outstanding, self.window_limited) = (connection.max_outstanding, connection.window_limited);
        self.srtt_us = connection.rtt.smoothed().map_or(0, |srtt| srtt.0 / 125_000);
        self.loaded.socket.show(&mut self.memory, connection, &self.sizes);
        if self.owns_window() {
            self.set(self.slots.app_limited, connection.app_limited);
        }
    }

    /// Calls an operation with the socket and further arguments, if the program has it. `None` if it has none, or after a fault.
    fn call(&mut self, operation: Option<usize>, arguments: &[u64]) -> Option<u64> {
        let operation = operation.filter(|_| !self.has_failed)?;
        let mut all = [self.loaded.socket.socket, 0, 0, 0, 0];
        all[1..=arguments.len()].copy_from_slice(arguments);
        let program = &self.loaded.program;
        match program.call(operation, &all[..=arguments.len()], &mut self.memory, &mut self.kernel) {
            Ok(value) => Some(value),
            Err(fault) => {
                self.has_failed = true;
                if !self.loaded.supervision.is_stopped() {
                    self.loaded.supervision.record(self.kernel.now, fault.to_string());
                }
                None
            }
        }
    }

    fn get(&self, slot: Slot) -> u64 {
        slot.read(&self.memory, self.loaded.socket.socket)
    }

    fn set(&mut self, slot: Slot, value: u64) {
        slot.write(&mut self.memory, self.loaded.socket.socket, value);
    }

    /// Records that the window is in use, or changes (`snd_cwnd_stamp`).
    fn stamp_window(&mut self, now: Time) {
        self.set(self.slots.cwnd_stamp, socket::jiffies(Duration(now.0 + socket::BOOT.0), self.sizes.hz));
    }

    fn owns_window(&self) -> bool {
        self.operations.cong_control.is_some()
    }

    /// `tcp_set_ca_state`: the program hears of it first.
    fn enter(&mut self, state: State) {
        self.call(self.operations.set_state, &[state as u64]);
        self.state = state;
        self.set(self.slots.state, state as u64);
    }

    /// The window to return to, and the new threshold.
    fn reduce(&mut self) {
        let WindowSlots { cwnd, ssthresh, prior_cwnd, prior_ssthresh, .. } = self.slots.window;
        let (window, threshold) = (self.get(cwnd), self.get(ssthresh));
        self.set(prior_cwnd, window);
        self.set(prior_ssthresh, threshold.max((window >> 1) + (window >> 2)));
        if let Some(value) = self.call(self.operations.ssthresh, &[]) {
            self.set(ssthresh, value & 0xffff_ffff);
        }
    }

    /// The window becomes the threshold, whatever the program wrote: Linux sets it itself in a reduction (`tcp_cwnd_reduction`,
    /// `tcp_end_cwnd_reduction`).
    fn shrink(&mut self) {
        let threshold = self.get(self.slots.window.ssthresh);
        if !self.owns_window() && threshold < INFINITE_SSTHRESH {
            self.set(self.slots.window.cwnd, threshold);
        }
    }

    /// The episode lasts until all that was sent is acknowledged.
    fn mark_end(&mut self) {
        let high = u64::from(self.next.wrapping_mul(self.sizes.mss).wrapping_add(1));
        self.set(self.slots.high_seq, high);
    }

    /// `tcp_update_pacing_rate`: twice the window in a smoothed RTT in slow start, 1.2 times after. Only for a program that leaves it to Linux and
    /// needs it.
    fn update_pacing_rate(&mut self) {
        if self.owns_window() || !(self.paces || self.loaded.socket.reads_pacing_rate) {
            return;
        }
        let WindowSlots { cwnd, ssthresh, .. } = self.slots.window;
        let (window, threshold) = (self.get(cwnd), self.get(ssthresh));
        let percent = if window < threshold / 2 { 200 } else { 120 };
        let segments = window.max(u64::from(self.next - self.una));
        let rate = (u64::from(self.sizes.mss) * segments * percent * 80_000).checked_div(self.srtt_us);
        if let Some(rate) = rate {
            self.set(self.slots.pacing_rate, rate);
        }
    }

    /// Gives an ACK to `cong_control` or `cong_avoid`.
    fn control(&mut self, ack: &AckEvent) {
        let acknowledged = u64::from(self.una.wrapping_mul(self.sizes.mss).wrapping_add(1));
        if !self.owns_window() {
            if ack.may_grow > 0 {
                self.call(self.operations.cong_avoid, &[acknowledged, ack.may_grow.into()]);
            }
            self.update_pacing_rate();
            return;
        }
        let micros = |duration: Duration| duration.0 / 1_000_000;
        let none = -1i64 as u64;
        let rate = ack.rate;
        let marked = rate.map_or(0, |rate| self.marked_since(rate.prior_delivered));
        self.loaded.socket.set_rate_sample(
            &mut self.memory,
            [
                rate.map_or(0, |rate| rate.prior_delivered),
                rate.map_or(none, |rate| rate.delivered.into()),
                rate.map_or(none, |rate| micros(rate.interval)),
                ack.rtt.map_or(none, micros),
                ack.newly_lost.into(),
                ack.delivered.into(),
                ack.prior_in_flight.into(),
                rate.is_some_and(|rate| rate.app_limited).into(),
                marked,
                0, // is_ack_delayed: of a segment shorter than the rest; only a flow's last one is
            ],
        );
        let sample = self.loaded.socket.rate;
        if self.loaded.rate_parameters == 2 {
            self.call(self.operations.cong_control, &[sample]);
            return;
        }
        let bit = |is_set: bool, bit: u64| if is_set { bit } else { 0 };
        let flag = bit(ack.advanced, ADVANCED | DATA_ACKED | WINDOW_UPDATE)
            | bit(ack.delivered > 0 && !ack.advanced, DATA_SACKED)
            | bit(ack.ecn_echo, ECN_ECHO)
            | bit(!self.is_predicted(ack), SLOW_PATH);
        self.call(self.operations.cong_control, &[acknowledged, flag, sample]);
    }

    /// Segments delivered with marks since this number had been delivered (`tcp_rate_gen`).
    fn marked_since(&mut self, delivered: u64) -> u64 {
        while self.marks.get(1).is_some_and(|(total, _)| *total <= delivered) {
            self.marks.pop_front();
        }
        let before = self.marks.front().map_or(0, |(_, marked)| *marked);
        self.get(self.slots.delivered_ce) - before
    }

    /// Whether Linux's fast path takes an ACK: without SACK blocks and echoes.
    fn is_predicted(&self, ack: &AckEvent) -> bool {
        ack.advanced && self.sacked == 0 && !ack.ecn_echo
    }

    /// Counts what an ACK delivers, and shows the ACK to the program (`tcp_in_ack_event`).
    fn show_ack(&mut self, ack: &AckEvent) {
        let delivered = self.get(self.slots.delivered) + u64::from(ack.delivered);
        self.set(self.slots.delivered, delivered);
        if ack.delivered > 0 {
            self.set(self.slots.delivered_mstamp, socket::clock_us(ack.now));
        }
        if ack.ecn_echo {
            let marked = self.get(self.slots.delivered_ce) + u64::from(ack.delivered);
            self.set(self.slots.delivered_ce, marked);
            if self.owns_window() {
                self.marks.push_back((delivered, marked));
            }
        }
        // Linux notes the most that was outstanding when the window was the limit: then it was the window.
        let window = if self.window_limited { self.get(self.slots.window.cwnd) } else { 0 };
        let most = u64::from(self.max_outstanding.max(ack.prior_in_flight)).max(window);
        self.set(self.slots.window.max_packets_out, most);
        self.set(self.slots.window.is_limited, self.window_limited.into());
        if self.window_limited {
            self.stamp_window(ack.now);
        }
        // An ACK that advances counts as an update of the window (`tcp_may_update_window`).
        let flags = if ack.advanced { EVENT_WINDOW_UPDATE } else { 0 }
            | if self.is_predicted(ack) { 0 } else { EVENT_SLOW_PATH }
            | if ack.ecn_echo { EVENT_ECN_ECHO } else { 0 };
        self.call(self.operations.in_ack_event, &[flags]);
    }
}

impl CongestionControl for ProgramControl {
    fn on_echo(&mut self, ack: &AckEvent) {
        self.show_ack(ack);
        self.shown = true;
    }

    fn on_ack(&mut self, ack: &AckEvent, _rtt: &RttEstimate) {
        if !std::mem::take(&mut self.shown) {
            self.show_ack(ack);
        }
        let rtt_us = ack.rtt.map_or(-1i64 as u64, |rtt| rtt.0 / 1_000_000);
        if self.operations.pkts_acked.is_some() {
            self.loaded.socket.set_ack_sample(&mut self.memory, [ack.cumulative.into(), rtt_us]);
            self.call(self.operations.pkts_acked, &[self.loaded.socket.ack]);
        }
        if matches!(self.state, State::Open | State::Disorder) {
            let state = if self.sacked > 0 { State::Disorder } else { State::Open };
            if state != self.state {
                self.enter(state);
            }
        }
        self.control(ack);
    }

    fn on_congestion(&mut self, event: &CongestionEvent, _rtt: &RttEstimate) {
        let WindowSlots { cwnd, count, .. } = self.slots.window;
        self.stamp_window(event.now);
        match event.kind {
            CongestionKind::Loss | CongestionKind::EcnEcho => {
                self.mark_end();
                self.set(count, 0);
                self.reduce();
                self.enter(if event.kind == CongestionKind::Loss { State::Recovery } else { State::WindowReduced });
                self.shrink();
                self.completes = true;
            }
            CongestionKind::Timeout { repeated } => {
                self.completes = false;
                if !repeated {
                    self.reduce();
                    self.call(self.operations.cwnd_event, &[LOSS]);
                }
                self.set(cwnd, 1);
                self.set(count, 0);
                self.enter(State::Loss);
                self.mark_end();
            }
        }
    }

    fn undo(&mut self) {
        let WindowSlots { cwnd, ssthresh, prior_ssthresh, .. } = self.slots.window;
        if let Some(window) = self.call(self.operations.undo_cwnd, &[]) {
            self.set(cwnd, window & 0xffff_ffff);
        }
        let threshold = self.get(prior_ssthresh).max(self.get(ssthresh));
        self.set(ssthresh, threshold);
        self.stamp_window(self.kernel.now);
        self.enter(State::Open);
    }

    /// An undo has opened the connection before.
    fn on_recovered(&mut self) {
        let ended = self.state;
        if matches!(ended, State::Recovery | State::Loss) {
            self.enter(State::Open);
        }
        if std::mem::take(&mut self.completes) && !self.owns_window() {
            if ended != State::Open {
                self.shrink();
                self.stamp_window(self.kernel.now);
            }
            self.call(self.operations.cwnd_event, &[COMPLETE_REDUCTION]);
        }
        if self.state != State::Open {
            self.enter(State::Open);
        }
    }

    fn on_idle(&mut self, now: Time, idle: Duration, initial_window: u32, rtt: &RttEstimate) {
        let WindowSlots { cwnd, ssthresh, .. } = self.slots.window;
        if idle > rtt.rto() && !self.owns_window() {
            self.stamp_window(now);
            self.call(self.operations.cwnd_event, &[WINDOW_RESTART]);
            let window = self.get(cwnd) as u32;
            let threshold = self.get(ssthresh).max(u64::from((window >> 1) + (window >> 2)));
            self.set(ssthresh, threshold);
            self.set(cwnd, restart_window(window, initial_window, idle, rtt.rto()).into());
        }
    }

    fn cwnd(&self) -> f64 {
        self.get(self.slots.window.cwnd) as f64
    }

    fn ssthresh(&self) -> f64 {
        match self.get(self.slots.window.ssthresh) {
            INFINITE_SSTHRESH.. => f64::INFINITY,
            segments => segments as f64,
        }
    }

    /// Linux spaces payload: `sk_pacing_rate` counts its bytes.
    fn pacing_rate(&self) -> Option<Rate> {
        let fastest = 1e15; // nothing is paced at a rate of more
        let bps =
            self.get(self.slots.pacing_rate) as f64 * 8.0 * f64::from(self.wire_bytes) / f64::from(self.sizes.mss);
        self.paces.then(|| Rate::from_bps(bps.clamp(1.0, fastest)))
    }

    fn demands(&self) -> Demands {
        Demands { rate_samples: self.owns_window(), owns_recovery: self.owns_window(), ..Demands::default() }
    }
}

impl LinuxControl for ProgramControl {
    fn on_connection(&mut self, connection: &Connection<'_>) {
        let Some(unopened) = self.unopened.take() else { return self.show(connection) };
        self.memory = unopened;
        self.show(connection);
        self.update_pacing_rate();
        self.call(self.loaded.program.operation("init"), &[]);
    }

    fn on_loss_in_reduction(&mut self, reached: u32) {
        if !self.owns_window() {
            self.set(self.slots.window.cwnd, reached.into());
        }
        self.enter(State::Recovery);
        self.shrink();
    }

    fn on_reopened(&mut self) {
        self.enter(State::Open);
    }

    fn on_start(&mut self) {
        self.call(self.operations.cwnd_event, &[TX_START]);
    }

    fn min_quantum(&mut self, now: Time) -> u32 {
        self.kernel.now = now;
        self.call(self.operations.min_tso_segs, &[]).map_or(MIN_QUANTUM, |segments| segments as u32)
    }

    fn observes_connection(&self) -> bool {
        true
    }

    fn min_rto(&self) -> Option<Duration> {
        self.kernel.min_rto
    }
}
