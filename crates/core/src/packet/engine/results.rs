//! The result tables of a run, as of now.

use crate::histogram::Histogram;
use crate::packet::engine::idle::IdleRoutes;
use crate::packet::engine::{Engine, EventLoop};
use crate::packet::hosts::delays::DelayFigures;
use crate::packet::hosts::flow::{Flow, FlowCounters, FlowIdentity};
use crate::packet::link::packet_sizes::PacketSizes;
use crate::packet::link::{LinkCounters, LinksView};
use crate::packet::output::columns::{ColumnInfo, ColumnOf, columns};
use crate::packet::output::route_log::ROUTES;
use crate::packet::output::samples::{FLOW_SERIES, LINK_SERIES, LINK_STATE, Observations, payload_bytes};
use crate::packet::output::table::Table;
use crate::spec::{ApplicationSpec, LinkSpec, RunSpec, TrafficSpec, TransportSpec};
use crate::tcp::sender::LimitShares;
use crate::units::{Duration, Time};

/// The columns of every table, by the table's name in Python.
pub fn describe() -> Vec<(&'static str, Vec<ColumnInfo>)> {
    vec![
        ("flows", infos(FLOWS)),
        ("links", infos(LINKS)),
        ("states", infos(STATES)),
        ("routes", infos(ROUTES)),
        ("link_state", infos(LINK_STATE)),
        ("series_flows", infos(FLOW_SERIES)),
        ("series_links", infos(LINK_SERIES)),
    ]
}

fn infos<R>(columns: &[ColumnOf<R>]) -> Vec<ColumnInfo> {
    columns.iter().map(ColumnOf::describe).collect()
}

/// Whether only the node of a flow's sender knows this column of the results or samples of flows.
pub(in crate::packet) fn is_of_sender(column: &str) -> bool {
    FLOWS.iter().any(|one| one.name == column && one.of_sender)
        || FLOW_SERIES.iter().any(|one| one.name == column && one.of_sender)
}

/// A flow's counters now and at the end of the warm-up.
pub(in crate::packet) struct FlowRow {
    flow: u32,
    identity: FlowIdentity,
    routing: u32,
    /// `u32::MAX` for a flow of datagrams.
    stack: u32,
    sizes: PacketSizes,
    total: FlowCounters,
    warm: FlowCounters,
    /// When it ended, or [`Time::NEVER`].
    end: Time,
    idle_completion: Option<Duration>,
    /// Payload bytes since the end of the warm-up.
    bytes: u64,
    delays: DelayFigures,
    /// The measured time between its start and its end.
    measured: Duration,
}

columns! {
    /// One row for each flow. Counts are those since the end of the warm-up.
    pub(in crate::packet) const FLOWS of row: FlowRow {
        /// Number of the flow in its run, from 0.
        flow: Index = row.flow;
        /// Name of its `[[traffic]]` group.
        traffic: Name = row.identity.group;
        /// Node that sends.
        src: Name = row.identity.src;
        /// Node that receives.
        dst: Name = row.identity.dst;
        /// Transport stack.
        stack: Name, unknown "UDP" = row.stack;
        /// Routing of its data.
        routing: Name = row.routing;
        /// When the application opens the flow.
        start_s: Number in "s", unknown "waits for another flow" = row.start_s();
        /// When the last byte was delivered in order.
        end_s: Number in "s", unknown "not finished" = if row.has_ended() { row.end.as_secs() } else { f64::NAN };
        /// Flow completion time, `end_s - start_s`, handshake included.
        fct_s: Number in "s", unknown "not finished" = row.completion_s();
        /// Least completion time in an idle network: all segments back to back at the maximum flow of its paths, without loss.
        idle_fct_s: Number in "s", unknown "without a size; the flow's routes may change" = row.idle_completion_s();
        /// `fct_s / idle_fct_s`.
        slowdown: Number, unknown "one of them is null" = row.completion_s() / row.idle_completion_s();
        /// Payload that the application writes in all.
        size_bytes: CountIfKnown in "bytes", unknown "no size: bulk, constant, poisson, on-off" = row.size_bytes();
        /// Payload that arrived, each byte counted once.
        delivered_bytes: Count in "bytes" = row.bytes;
        /// `8 * delivered_bytes` over the measured time between the flow's start and its end.
        goodput_bps: Number in "bit/s", unknown "the flow did not run in the measured time" = row.goodput_bps();
        /// Data segments sent, retransmissions and a FIN without data included; UDP: packets.
        segments_sent: Count in "segments", of sender = row.sent();
        /// Segments sent again.
        retransmits: Count in "segments", of sender = row.retransmits();
        /// Segments that the receiver had already.
        spurious_retransmits: Count in "segments" = row.total.receiver.duplicates - row.warm.receiver.duplicates;
        /// `retransmits / segments_sent`, 0 if none was sent.
        retransmit_ratio: Number, of sender = ratio(row.retransmits(), row.sent());
        /// Expiries of the retransmission timer.
        timeouts: Count, of sender = row.total.sender.timeouts - row.warm.sender.timeouts;
        /// Episodes of loss recovery, those after a timeout included.
        recoveries: Count, of sender = row.total.sender.recoveries - row.warm.sender.recoveries;
        /// Reductions of the window taken back as spurious.
        undone: Count, of sender = row.total.sender.undone - row.warm.sender.undone;
        /// Smoothed RTT (RFC 6298), last value.
        srtt_s: Number in "s", unknown "UDP; no RTT measured", of sender = row.total.srtt_s.unwrap_or(f64::NAN);
        /// Least RTT measured, warm-up included.
        min_rtt_s: Number in "s", unknown "UDP; no RTT measured", of sender = row.total.min_rtt_s.unwrap_or(f64::NAN);
        /// Median RTT sample of the sender.
        rtt_median_s: Number in "s", unknown "no `delays` in `[run]`; UDP; messages; no RTT measured", of sender = row.delays.round_trips[0];
        /// 95th percentile of its RTT samples.
        rtt_p95_s: Number in "s", unknown "no `delays` in `[run]`; UDP; messages; no RTT measured", of sender = row.delays.round_trips[1];
        /// 99th percentile of its RTT samples.
        rtt_p99_s: Number in "s", unknown "no `delays` in `[run]`; UDP; messages; no RTT measured", of sender = row.delays.round_trips[2];
        /// Mean one-way delay of the data packets that arrived, retransmissions included, from their host to the other.
        delay_mean_s: Number in "s", unknown "no `delays` in `[run]`; nothing arrived" = row.delays.mean;
        /// Median one-way delay: half of the packets took no longer. Percentiles are exact to 0.4 %.
        delay_median_s: Number in "s", unknown "no `delays` in `[run]`; nothing arrived" = row.delays.percentiles[0];
        /// 95th percentile of the one-way delays.
        delay_p95_s: Number in "s", unknown "no `delays` in `[run]`; nothing arrived" = row.delays.percentiles[1];
        /// 99th percentile of the one-way delays.
        delay_p99_s: Number in "s", unknown "no `delays` in `[run]`; nothing arrived" = row.delays.percentiles[2];
        /// Greatest one-way delay.
        delay_max_s: Number in "s", unknown "no `delays` in `[run]`; nothing arrived" = row.delays.greatest;
        /// Interarrival jitter (RFC 3550, section 6.4.1), last value: a moving mean of how much the delays of successive packets differ.
        jitter_s: Number in "s", unknown "no `delays` in `[run]`; fewer than two packets arrived" = row.delays.jitter;
        /// Congestion window, last value.
        cwnd_segments: Number in "segments", unknown "UDP; not started", of sender = row.total.cwnd.unwrap_or(f64::NAN);
        /// Share of the sender's time in which the receiver's window held it back. That time begins with the flow or the end of the warm-up. It
        /// ends when all data is acknowledged, or with the run.
        limited_by_receive_window: Number, unknown "UDP; no time", of sender = row.limits().receive_window;
        /// Share in which the application had written no more.
        limited_by_application: Number, unknown "UDP; no time", of sender = row.limits().application;
        /// Share in which the congestion window held it back, recovery included.
        limited_by_congestion_window: Number, unknown "UDP; no time", of sender = row.limits().congestion_window;
        /// Share in which only pacing held it back. The rest to 1 is the handshake and, of a flow with a size, the wait for
        /// the last acknowledgements.
        limited_by_pacing: Number, unknown "UDP; no time", of sender = row.limits().pacing;
        /// Segments, sent once, that arrived after a later one (RFC 4737); UDP: packets.
        reordered_segments: Count in "segments" = row.reordered();
        /// Greatest reordering extent (RFC 4737, section 4.2), warm-up included.
        reordering_extent_max: Index in "segments" = row.total.receiver.reordering_extent_max;
        /// Mean extent of the reordered segments.
        reordering_extent_mean: Number in "segments", unknown "no segment was reordered" = row.reordering_extent_mean();
        /// Segments that arrived with congestion experienced (ECN).
        marked_segments: Count in "segments" = row.total.receiver.marked - row.warm.receiver.marked;
        /// Longest time in which nothing was delivered in order though data was outstanding, because later data had arrived or
        /// something was sent again.
        longest_stall_s: Number in "s", unknown "UDP", of sender = row.longest_stall_s();
        /// Greatest amount that the receiver held beyond a hole, in full segments.
        reassembly_peak_bytes: CountIfKnown in "bytes", unknown "UDP" = row.reassembly_peak();
    }
}

impl FlowRow {
    fn has_ended(&self) -> bool {
        self.end != Time::NEVER
    }

    fn start_s(&self) -> f64 {
        let start = self.identity.start;
        if start < Time::NEVER { start.as_secs() } else { f64::NAN }
    }

    fn completion_s(&self) -> f64 {
        if self.has_ended() { (self.end - self.identity.start).as_secs() } else { f64::NAN }
    }

    fn idle_completion_s(&self) -> f64 {
        self.idle_completion.map_or(f64::NAN, Duration::as_secs)
    }

    fn size_bytes(&self) -> f64 {
        self.sizes.whole_payload().map_or(f64::NAN, |bytes| bytes as f64)
    }

    fn goodput_bps(&self) -> f64 {
        if self.measured.0 == 0 { f64::NAN } else { self.bytes as f64 * 8.0 / self.measured.as_secs() }
    }

    fn sent(&self) -> u64 {
        self.total.sender.sent - self.warm.sender.sent
    }

    fn retransmits(&self) -> u64 {
        self.total.sender.retransmits - self.warm.sender.retransmits
    }

    fn reordered(&self) -> u64 {
        self.total.receiver.reordered - self.warm.receiver.reordered
    }

    fn reordering_extent_mean(&self) -> f64 {
        let extents = self.total.receiver.reordering_extent_sum - self.warm.receiver.reordering_extent_sum;
        if self.reordered() == 0 { f64::NAN } else { extents as f64 / self.reordered() as f64 }
    }

    fn limits(&self) -> LimitShares {
        self.total.limits.shares_since(&self.warm.limits)
    }

    fn is_udp(&self) -> bool {
        self.stack == u32::MAX
    }

    fn reassembly_peak(&self) -> f64 {
        let bytes = u64::from(self.total.receiver.reassembly_max) * self.sizes.payload(1, false);
        if self.is_udp() { f64::NAN } else { bytes as f64 }
    }

    fn longest_stall_s(&self) -> f64 {
        if self.is_udp() { f64::NAN } else { self.total.longest_stall.as_secs() }
    }
}

/// A directed link's counters now and at the end of the warm-up.
pub(in crate::packet) struct LinkRow {
    link: u32,
    spec: LinkSpec,
    total: LinkCounters,
    warm: LinkCounters,
    /// [`LinkCounters::possible`] when the traffic had ended.
    possible: Duration,
    /// Median, 95th and 99th percentile of the waits.
    waits: [f64; 3],
}

columns! {
    /// One row for each directed link. Counts are those since the end of the warm-up.
    pub(in crate::packet) const LINKS of row: LinkRow {
        /// Number of the directed link, from 0.
        link: Index = row.link;
        /// Node that it leads from.
        src: Name = row.spec.src;
        /// Node that it leads to.
        dst: Name = row.spec.dst;
        /// Rate of the transmitter; its mean, if it changes.
        capacity_bps: Number in "bit/s" = row.spec.rate.as_bps();
        /// Propagation delay; its mean, if it changes, without jitter.
        delay_s: Number in "s" = row.spec.delay.as_secs();
        /// Packets that the link carried to its end or lost on the wire.
        packets: Count in "packets" = row.packets();
        /// Their bytes, headers included.
        bytes: Count in "bytes" = row.total.bytes - row.warm.bytes;
        /// Share of the measured time in which the transmitter was busy; where its rate changes, of what it could transmit. If all flows have a
        /// size and have ended, the measured time lasts until the last one has; short flows arrive until their group stops.
        utilisation: Number, unknown "no time was measured" = row.utilisation();
        /// Packets that the queue dropped.
        queue_drops: Count in "packets" = row.queue_drops();
        /// Of the packets that came to the queue, 0 if none came.
        queue_drop_ratio: Number = row.queue_drop_ratio();
        /// Packets that the wire or a failure lost.
        losses: Count in "packets" = row.losses();
        /// Of the packets that the queue let through and those that a failure took, 0 if there was none.
        loss_ratio: Number = ratio(row.losses(), row.packets() + row.taken_by_failures());
        /// Packets marked with congestion experienced (ECN).
        marks: Count in "packets" = row.total.marks - row.warm.marks;
        /// Packets whose payload the queue has cut. Their headers went on, so they do not count as dropped.
        trimmed: Count in "packets" = row.total.trimmed - row.warm.trimmed;
        /// Mean wait before transmission: of all packets that entered the queue, even if it lasts beyond the end of the run. With
        /// queues that decide when a packet leaves (all but drop-tail, red and ecn-threshold), of all packets that left the queue.
        queue_delay_mean_s: Number in "s", unknown "there was none" = row.mean_wait_s();
        /// Median of these waits: half of the packets waited no longer. Percentiles are exact to 0.4 %.
        queue_delay_median_s: Number in "s", unknown "no `delays` in `[run]`; there was none" = row.waits[0];
        /// 95th percentile of these waits.
        queue_delay_p95_s: Number in "s", unknown "no `delays` in `[run]`; there was none" = row.waits[1];
        /// 99th percentile of these waits.
        queue_delay_p99_s: Number in "s", unknown "no `delays` in `[run]`; there was none" = row.waits[2];
        /// Longest such wait.
        queue_delay_max_s: Number in "s" = row.total.wait_max.as_secs();
    }
}

impl LinkRow {
    fn packets(&self) -> u64 {
        self.total.packets - self.warm.packets
    }

    fn utilisation(&self) -> f64 {
        let busy = self.total.busy - self.warm.busy;
        let possible = self.possible - self.warm.possible;
        // A shaper lets a burst pass in addition, and ACKs follow the last data.
        if possible.0 > 0 { (busy.as_secs() / possible.as_secs()).min(1.0) } else { f64::NAN }
    }

    fn queue_drops(&self) -> u64 {
        self.total.queue_drops - self.warm.queue_drops
    }

    fn queue_drop_ratio(&self) -> f64 {
        let offered = self.total.offered - self.warm.offered;
        // A queue may drop packets that arrived before the warm-up ended.
        ratio(self.queue_drops(), offered.max(self.queue_drops()))
    }

    fn losses(&self) -> u64 {
        self.total.losses - self.warm.losses
    }

    fn taken_by_failures(&self) -> u64 {
        self.total.cut + self.total.refused - self.warm.cut - self.warm.refused
    }

    fn mean_wait_s(&self) -> f64 {
        let transmissions = self.total.transmissions - self.warm.transmissions;
        let waits = (self.total.wait_sum - self.warm.wait_sum) as f64 * 1e-12;
        if transmissions > 0 { waits / transmissions as f64 } else { f64::NAN }
    }
}

/// How long a flow's congestion control was in one of its states.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct StateShare {
    /// The flow's index.
    pub flow: u32,
    /// The index of its stack.
    pub stack: u32,
    /// The state's name.
    pub state: &'static str,
    /// Share of the time since the end of the warm-up, NaN if the flow was there for no time.
    pub share: f64,
}

columns! {
    /// One row for each flow and state of its congestion control, if that reports states.
    pub const STATES of row: StateShare {
        /// Number of the flow.
        flow: Index = row.flow;
        /// Transport stack.
        stack: Name = row.stack;
        /// State of the congestion control.
        state: Text = row.state;
        /// Share of the flow's time in this state.
        share: Number, unknown "the flow had no time" = row.share;
    }
}

fn ratio(part: u64, whole: u64) -> f64 {
    if whole == 0 { 0.0 } else { part as f64 / whole as f64 }
}

impl<L: EventLoop> Engine<L> {
    /// The table of [`FLOWS`].
    pub fn flow_table(&self) -> Table {
        let mut idle_routes = IdleRoutes::default();
        let rows = self.hosts.planned().iter().enumerate();
        Table::of(
            FLOWS,
            rows.map(|(index, flow)| self.flow_row(index, flow, self.idle_completion(index, &mut idle_routes))),
        )
    }

    fn flow_row(&self, index: usize, flow: &Flow, idle_completion: Option<Duration>) -> FlowRow {
        let sizes = *self.network.sizes(index as u32);
        let total = flow.state.counters(self.clock.now(), sizes.last_segment);
        let warm = self.observers.observations.warm_flow(index);
        let payload = |counters: &FlowCounters| payload_bytes(&self.spec, flow, &sizes, counters);
        let measured_from = flow.identity.start.max(Time::ZERO + self.spec.warm_up);
        FlowRow {
            flow: index as u32,
            identity: flow.identity,
            routing: self.spec.traffic[flow.identity.group as usize].routing as u32,
            stack: self.stack_of(flow),
            sizes,
            end: flow.end,
            idle_completion,
            bytes: payload(&total) - payload(&warm),
            delays: self.hosts.delay_figures(index),
            measured: flow.end.min(self.clock.now()) - measured_from,
            total,
            warm,
        }
    }

    /// The index of a flow's stack; `u32::MAX` if it has none.
    fn stack_of(&self, flow: &Flow) -> u32 {
        match self.spec.traffic[flow.identity.group as usize].transport {
            TransportSpec::Tcp { stack } => stack as u32,
            TransportSpec::Udp { .. } => u32::MAX,
        }
    }

    /// The rows of [`STATES`].
    pub fn state_shares(&self) -> Vec<StateShare> {
        let mut shares = Vec::new();
        for (index, flow) in self.hosts.planned().iter().enumerate() {
            let states = flow.state.counters(self.clock.now(), self.network.sizes(index as u32).last_segment).states;
            let warm = self.observers.observations.warm_flow(index).states;
            let since_warm =
                |position: usize| states[position].1 - warm.get(position).map_or(Duration::ZERO, |state| state.1);
            let total: f64 = (0..states.len()).map(|position| since_warm(position).as_secs()).sum();
            for (position, (state, _)) in states.iter().enumerate() {
                let share = since_warm(position).as_secs() / total;
                shares.push(StateShare { flow: index as u32, stack: self.stack_of(flow), state, share });
            }
        }
        shares
    }

    /// The table of [`LINKS`].
    pub fn link_table(&self) -> Table {
        self.link_table_of(self.hosts.planned().iter().map(|flow| flow.end))
    }

    /// The table of [`LINKS`] of a run whose flows end at these times.
    pub(in crate::packet) fn link_table_of(&self, ends: impl Iterator<Item = Time>) -> Table {
        link_table(&self.spec, self.clock.now(), ends, self.network.links_view(), &self.observers.observations)
    }
}

/// When the last flow ended, if that was after the warm-up and no traffic may follow; else now.
fn end_of_traffic(spec: &RunSpec, now: Time, ends: impl Iterator<Item = Time>) -> Time {
    let arrives = |group: &&TrafficSpec| matches!(group.application, ApplicationSpec::ShortFlows { .. });
    let last = ends.chain(spec.traffic.iter().filter(arrives).map(TrafficSpec::stop)).max();
    last.filter(|last| *last > Time::ZERO + spec.warm_up).map_or(now, |last| last.min(now))
}

/// The table of [`LINKS`]. The ends of all flows are [`Time::NEVER`] for a flow that has not ended.
pub(in crate::packet) fn link_table(
    spec: &RunSpec,
    now: Time,
    ends: impl Iterator<Item = Time>,
    links: LinksView,
    observations: &Observations,
) -> Table {
    let end = end_of_traffic(spec, now, ends);
    let row = |(index, total): (usize, LinkCounters)| LinkRow {
        link: index as u32,
        spec: spec.links[index].clone(),
        total,
        warm: observations.warm_link(index),
        possible: links.links[index].possible(end),
        waits: links.links[index].waits().map_or([f64::NAN; 3], Histogram::percentiles_s),
    };
    Table::of(LINKS, links.counters(now).enumerate().map(row))
}
