//! What is written down of a run: the state at the end of the warm-up, and samples.

use crate::packet::hosts::flow::{Flow, FlowCounters, FlowState};
use crate::packet::link::fifo::FifoStore;
use crate::packet::link::packet_sizes::{FlowSizes, PacketSizes};
use crate::packet::link::{Link, LinkCounters};
use crate::packet::link_state::estimate::Estimate;
use crate::packet::output::table::{Column, Table};
use crate::spec::{RunSpec, TransportSpec};
use crate::units::{Duration, Time};

/// Payload bytes of a flow that have arrived, each counted once.
pub(in crate::packet) fn payload_bytes(
    spec: &RunSpec,
    flow: &Flow,
    sizes: &PacketSizes,
    counters: &FlowCounters,
) -> u64 {
    match spec.traffic[flow.identity.group as usize].transport {
        TransportSpec::Udp { packet } => u64::from(counters.arrived) * u64::from(packet),
        TransportSpec::Tcp { .. } => sizes.payload(counters.arrived, counters.has_last),
    }
}

/// The state of one run's records.
pub struct Observations {
    /// What flows and links had counted when the warm-up ended.
    warm_flows: Vec<FlowCounters>,
    warm_links: Vec<LinkCounters>,
    flow_series: Table,
    link_series: Table,
    link_state: Table,
    /// Payload bytes that had arrived, and segments retransmitted, at the last sample, and whether the flow had retired.
    sampled_flows: Vec<(u64, u64, bool)>,
    /// Time spent transmitting and packets dropped at the last sample.
    sampled_links: Vec<(Duration, u64)>,
    sampled_at: Time,
}

fn flow_series() -> Table {
    Table::with_columns(&[
        ("time_s", Column::F64(Vec::new())),
        ("flow", Column::U32(Vec::new())),
        ("cwnd_segments", Column::F64(Vec::new())),
        ("ssthresh_segments", Column::F64(Vec::new())),
        ("in_flight_segments", Column::U32(Vec::new())),
        ("srtt_s", Column::F64(Vec::new())),
        ("goodput_bps", Column::F64(Vec::new())),
        ("retransmits", Column::U64(Vec::new())),
    ])
}

fn link_series() -> Table {
    Table::with_columns(&[
        ("time_s", Column::F64(Vec::new())),
        ("link", Column::U32(Vec::new())),
        ("queue_packets", Column::U32(Vec::new())),
        ("utilisation", Column::F64(Vec::new())),
        ("drops", Column::U64(Vec::new())),
    ])
}

fn link_state() -> Table {
    Table::with_columns(&[
        ("time_s", Column::F64(Vec::new())),
        ("routing", Column::U32(Vec::new())),
        ("link", Column::U32(Vec::new())),
        ("delay_s", Column::F64(Vec::new())),
        ("loss", Column::F64(Vec::new())),
    ])
}

impl Observations {
    pub(in crate::packet) fn new(spec: &RunSpec) -> Observations {
        Observations {
            warm_flows: Vec::new(),
            warm_links: Vec::new(),
            flow_series: flow_series(),
            link_series: link_series(),
            link_state: link_state(),
            sampled_flows: Vec::new(),
            sampled_links: vec![(Duration::ZERO, 0); if spec.sample.is_some() { spec.links.len() } else { 0 }],
            sampled_at: Time::ZERO,
        }
    }

    /// The warm-up is over: results count from here.
    pub(in crate::packet) fn on_warmed_up(
        &mut self,
        now: Time,
        flows: &[Flow],
        links: &[Link],
        sizes: &FlowSizes,
        fifos: &FifoStore,
    ) {
        let counters = |(index, flow): (usize, &Flow)| flow.state.counters(now, sizes[index].last_segment);
        self.warm_flows = flows.iter().enumerate().map(counters).collect();
        self.warm_links = links.iter().map(|link| link.counters(now, sizes, fifos)).collect();
    }

    /// What a flow had done when the warm-up ended.
    pub(in crate::packet) fn warm_flow(&self, flow: usize) -> FlowCounters {
        self.warm_flows.get(flow).cloned().unwrap_or_default()
    }

    /// What a link had counted when the warm-up ended.
    pub(in crate::packet) fn warm_link(&self, link: usize) -> LinkCounters {
        self.warm_links.get(link).copied().unwrap_or_default()
    }

    pub(in crate::packet) fn on_sample(
        &mut self,
        spec: &RunSpec,
        now: Time,
        flows: &[Flow],
        links: &[Link],
        sizes: &FlowSizes,
        fifos: &FifoStore,
    ) {
        let interval = (now - self.sampled_at).as_secs();
        let seconds = now.as_secs();
        self.sampled_flows.resize(flows.len(), (0, 0, false));
        for (index, flow) in flows.iter().enumerate() {
            if matches!(flow.state, FlowState::Pending) {
                continue;
            }
            let (bytes_before, retransmits, had_retired) = self.sampled_flows[index];
            if had_retired {
                continue;
            }
            let counters = flow.state.counters(now, sizes[index].last_segment);
            let bytes = payload_bytes(spec, flow, &sizes[index], &counters);
            let (in_flight, ssthresh) = match &flow.state {
                FlowState::Tcp(connection) => (
                    f64::from(connection.sender.scoreboard().in_flight()),
                    Some(connection.sender.congestion().ssthresh()).filter(|ssthresh| ssthresh.is_finite()),
                ),
                _ => (0.0, None),
            };
            self.flow_series.push(&[
                seconds,
                index as f64,
                counters.cwnd.unwrap_or(f64::NAN),
                ssthresh.unwrap_or(f64::NAN),
                in_flight,
                counters.srtt_s.unwrap_or(f64::NAN),
                (bytes - bytes_before) as f64 * 8.0 / interval,
                (counters.sender.retransmits - retransmits) as f64,
            ]);
            let has_retired = matches!(flow.state, FlowState::Finished(_));
            self.sampled_flows[index] = (bytes, counters.sender.retransmits, has_retired);
        }
        for (index, link) in links.iter().enumerate() {
            let (busy, drops) = self.sampled_links[index];
            let counters = link.counters(now, sizes, fifos);
            let dropped = counters.queue_drops + counters.losses;
            self.link_series.push(&[
                seconds,
                index as f64,
                f64::from(link.queue_packets(now, fifos)),
                (counters.busy - busy).as_secs() / interval,
                (dropped - drops) as f64,
            ]);
            self.sampled_links[index] = (counters.busy, dropped);
        }
        self.sampled_at = now;
    }

    /// A routing has taken a sample of the links.
    pub(in crate::packet) fn on_link_state(&mut self, now: Time, routing: usize, estimates: &[Estimate]) {
        for (link, estimate) in estimates.iter().enumerate() {
            let delay = estimate.delay().unwrap_or(f64::NAN);
            let loss = estimate.loss().unwrap_or(f64::NAN);
            self.link_state.push(&[now.as_secs(), routing as f64, link as f64, delay, loss]);
        }
    }

    /// What routings have learnt of the links since the last call.
    pub fn take_link_state(&mut self) -> Table {
        std::mem::replace(&mut self.link_state, link_state())
    }

    /// The flow samples since the last call.
    pub fn take_flow_series(&mut self) -> Table {
        std::mem::replace(&mut self.flow_series, flow_series())
    }

    /// The link samples since the last call.
    pub fn take_link_series(&mut self) -> Table {
        std::mem::replace(&mut self.link_series, link_series())
    }
}
