//! The result tables of a run, as of now.

use crate::packet::engine::idle::IdleRoutes;
use crate::packet::engine::{Engine, EventLoop};
use crate::packet::hosts::flow::Flow;
use crate::packet::output::samples::payload_bytes;
use crate::packet::output::table::{Column, Table};
use crate::spec::TransportSpec;
use crate::units::{Duration, Time};

/// How long a flow's congestion control was in one of its states.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct StateShare {
    /// The flow's index.
    pub flow: u32,
    /// The state's name.
    pub state: &'static str,
    /// Share of the time.
    pub share: f64,
}

fn ratio(part: u64, whole: u64) -> f64 {
    if whole == 0 { 0.0 } else { part as f64 / whole as f64 }
}

impl<L: EventLoop> Engine<L> {
    /// One row a flow. Counts are those since the end of the warm-up; `srtt_s`, `min_rtt_s` and `cwnd_segments` are the
    /// last known. `traffic`, `src`, `dst`, `stack` and `routing` are indexes; a flow of datagrams has no stack
    /// (`u32::MAX`). `goodput_bps` and `delivered_bytes` count payload once, when it first arrives. `longest_stall_s` is as
    /// [`crate::tcp::scoreboard::Scoreboard::longest_stall`], `reassembly_peak_bytes` the most that the receiver held beyond a hole, `idle_fct_s` the
    /// least `fct_s` in an idle network.
    pub fn flow_table(&self) -> Table {
        let mut table = Table::with_columns(&[
            ("flow", Column::U32(Vec::new())),
            ("traffic", Column::U32(Vec::new())),
            ("src", Column::U32(Vec::new())),
            ("dst", Column::U32(Vec::new())),
            ("stack", Column::U32(Vec::new())),
            ("routing", Column::U32(Vec::new())),
            ("start_s", Column::F64(Vec::new())),
            ("end_s", Column::F64(Vec::new())),
            ("fct_s", Column::F64(Vec::new())),
            ("idle_fct_s", Column::F64(Vec::new())),
            ("size_bytes", Column::F64(Vec::new())),
            ("delivered_bytes", Column::U64(Vec::new())),
            ("goodput_bps", Column::F64(Vec::new())),
            ("segments_sent", Column::U64(Vec::new())),
            ("retransmits", Column::U64(Vec::new())),
            ("spurious_retransmits", Column::U64(Vec::new())),
            ("retransmit_ratio", Column::F64(Vec::new())),
            ("timeouts", Column::U64(Vec::new())),
            ("recoveries", Column::U64(Vec::new())),
            ("undone", Column::U64(Vec::new())),
            ("srtt_s", Column::F64(Vec::new())),
            ("min_rtt_s", Column::F64(Vec::new())),
            ("cwnd_segments", Column::F64(Vec::new())),
            ("reordered_segments", Column::U64(Vec::new())),
            ("reordering_extent_max", Column::U32(Vec::new())),
            ("reordering_extent_mean", Column::F64(Vec::new())),
            ("marked_segments", Column::U64(Vec::new())),
            ("longest_stall_s", Column::F64(Vec::new())),
            ("reassembly_peak_bytes", Column::U64(Vec::new())),
        ]);
        table.reserve_exact(self.hosts.flows().len());
        let mut routes = IdleRoutes::default();
        for (index, flow) in self.hosts.flows().iter().enumerate() {
            table.push(&self.flow_row(index, flow, self.idle_completion(index, &mut routes)));
        }
        table
    }

    fn flow_row(&self, index: usize, flow: &Flow, idle_completion: Option<Duration>) -> Vec<f64> {
        let identity = &flow.identity;
        let group = &self.spec.traffic[identity.group as usize];
        let (is_tcp, stack) = match group.transport {
            TransportSpec::Tcp { stack } => (true, stack as f64),
            TransportSpec::Udp { .. } => (false, f64::from(u32::MAX)),
        };
        let sizes = self.network.sizes(index as u32);
        let tally = flow.state.counters(self.clock.now(), sizes.last_segment);
        let warm = self.observers.observations.warm_flow(index);
        let sent = tally.sender.sent - warm.sender.sent;
        let retransmits = tally.sender.retransmits - warm.sender.retransmits;
        let reordered = tally.receiver.reordered - warm.receiver.reordered;
        let extents = tally.receiver.reordering_extent_sum - warm.receiver.reordering_extent_sum;
        let bytes = payload_bytes(&self.spec, flow, sizes, &tally) - payload_bytes(&self.spec, flow, sizes, &warm);
        let counted_from = identity.start.max(Time::ZERO + self.spec.warm_up);
        let counted_to = flow.end.min(self.clock.now());
        let counted = counted_to - counted_from;
        let goodput = if counted.0 == 0 { f64::NAN } else { bytes as f64 * 8.0 / counted.as_secs() };
        let end = if flow.has_ended() { flow.end.as_secs() } else { f64::NAN };
        vec![
            index as f64,
            f64::from(identity.group),
            f64::from(identity.src),
            f64::from(identity.dst),
            stack,
            group.routing as f64,
            identity.start.as_secs(),
            end,
            if flow.has_ended() { (flow.end - identity.start).as_secs() } else { f64::NAN },
            idle_completion.map_or(f64::NAN, Duration::as_secs),
            if sizes.last_segment == u32::MAX { f64::NAN } else { sizes.payload(sizes.segments(), true) as f64 },
            bytes as f64,
            goodput,
            sent as f64,
            retransmits as f64,
            (tally.receiver.duplicates - warm.receiver.duplicates) as f64,
            ratio(retransmits, sent),
            (tally.sender.timeouts - warm.sender.timeouts) as f64,
            (tally.sender.recoveries - warm.sender.recoveries) as f64,
            (tally.sender.undone - warm.sender.undone) as f64,
            tally.srtt_s.unwrap_or(f64::NAN),
            tally.min_rtt_s.unwrap_or(f64::NAN),
            tally.cwnd.unwrap_or(f64::NAN),
            reordered as f64,
            f64::from(tally.receiver.reordering_extent_max),
            if reordered == 0 { f64::NAN } else { extents as f64 / reordered as f64 },
            (tally.receiver.marked - warm.receiver.marked) as f64,
            if is_tcp { tally.longest_stall.as_secs() } else { f64::NAN },
            f64::from(tally.receiver.reassembly_max) * f64::from(sizes.full() - sizes.header()),
        ]
    }

    /// For each flow whose congestion control reports states: the share of the time since the end of the warm-up that it
    /// spent in each, NaN if it was there for no time.
    pub fn state_shares(&self) -> Vec<StateShare> {
        let mut shares = Vec::new();
        for (index, flow) in self.hosts.flows().iter().enumerate() {
            let states = flow.state.counters(self.clock.now(), self.network.sizes(index as u32).last_segment).states;
            let warm = self.observers.observations.warm_flow(index).states;
            let since_warm = |place: usize| states[place].1 - warm.get(place).map_or(Duration::ZERO, |state| state.1);
            let total: f64 = (0..states.len()).map(|place| since_warm(place).as_secs()).sum();
            for (place, (state, _)) in states.iter().enumerate() {
                shares.push(StateShare { flow: index as u32, state, share: since_warm(place).as_secs() / total });
            }
        }
        shares
    }

    /// One row a directed link; counts are those since the end of the warm-up. `queue_drop_ratio` is over the packets that
    /// came to the queue, `loss_ratio` over those that it let through and those that a failure took; waits are those in the queue before transmission.
    pub fn link_table(&self) -> Table {
        let mut table = Table::with_columns(&[
            ("link", Column::U32(Vec::new())),
            ("src", Column::U32(Vec::new())),
            ("dst", Column::U32(Vec::new())),
            ("capacity_bps", Column::F64(Vec::new())),
            ("delay_s", Column::F64(Vec::new())),
            ("packets", Column::U64(Vec::new())),
            ("bytes", Column::U64(Vec::new())),
            ("utilisation", Column::F64(Vec::new())),
            ("queue_drops", Column::U64(Vec::new())),
            ("queue_drop_ratio", Column::F64(Vec::new())),
            ("losses", Column::U64(Vec::new())),
            ("loss_ratio", Column::F64(Vec::new())),
            ("marks", Column::U64(Vec::new())),
            ("queue_delay_mean_s", Column::F64(Vec::new())),
            ("queue_delay_max_s", Column::F64(Vec::new())),
        ]);
        table.reserve_exact(self.network.links().len());
        let counted = self.clock.now() - (Time::ZERO + self.spec.warm_up);
        for (index, link) in self.network.links().iter().enumerate() {
            let spec = &self.spec.links[index];
            let (total, warm) = (
                link.counters(self.clock.now(), self.network.all_sizes(), self.network.fifos()),
                self.observers.observations.warm_link(index),
            );
            let packets = total.packets - warm.packets;
            let bytes = total.bytes - warm.bytes;
            let offered = total.offered - warm.offered;
            let drops = total.queue_drops - warm.queue_drops;
            let losses = total.losses - warm.losses;
            let not_across = total.cut + total.refused - warm.cut - warm.refused;
            let transmissions = total.transmissions - warm.transmissions;
            let waits = (total.wait_sum - warm.wait_sum) as f64 * 1e-12;
            table.push(&[
                index as f64,
                f64::from(spec.src),
                f64::from(spec.dst),
                spec.rate.as_bps(),
                spec.delay.as_secs(),
                packets as f64,
                bytes as f64,
                if counted.0 > 0 { (total.busy - warm.busy).as_secs() / counted.as_secs() } else { f64::NAN },
                drops as f64,
                ratio(drops, offered.max(drops)), // CoDel may drop what came before the warm-up ended
                losses as f64,
                ratio(losses, packets + not_across),
                total.marks as f64 - warm.marks as f64,
                if transmissions > 0 { waits / transmissions as f64 } else { f64::NAN },
                total.wait_max.as_secs(),
            ]);
        }
        table
    }
}
