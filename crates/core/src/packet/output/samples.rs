//! Records of a run: the counters at the end of the warm-up, and samples.

use crate::packet::hosts::flow::{Flow, FlowCounters, FlowState};
use crate::packet::link::packet_sizes::{FlowSizes, PacketSizes};
use crate::packet::link::{LinkCounters, LinksView};
use crate::packet::link_state::estimate::Estimate;
use crate::packet::output::columns::columns;
use crate::packet::output::table::Table;
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

/// The share of a time in which a link could transmit; 0 without such a time.
fn share(busy: Duration, possible: Duration) -> f64 {
    // A shaper lets a burst pass in addition.
    if possible == Duration::ZERO { 0.0 } else { (busy.as_secs() / possible.as_secs()).min(1.0) }
}

/// The state of one run's records.
pub struct Observations {
    /// The counters of flows and links at the end of the warm-up.
    warm_flows: Vec<FlowCounters>,
    warm_links: Vec<LinkCounters>,
    flow_series: Table,
    link_series: Table,
    link_state: Table,
    /// Payload bytes that had arrived, and segments retransmitted, at the last sample, and whether the flow had retired.
    sampled_flows: Vec<(u64, u64, bool)>,
    /// The counters of links at the last sample.
    sampled_links: Vec<LinkCounters>,
    sampled_at: Time,
}

/// A flow at a sample, with its activity since the last sample.
pub(in crate::packet) struct FlowSample {
    seconds: f64,
    flow: u32,
    counters: FlowCounters,
    ssthresh: Option<f64>,
    in_flight: Option<u32>,
    goodput: f64,
    retransmits: u64,
}

columns! {
    /// One row for each flow and sample.
    pub(in crate::packet) const FLOW_SERIES of sample: FlowSample {
        /// Time of the sample, from the start of the run.
        time_s: Number in "s" = sample.seconds;
        /// Number of the flow; a flow has samples from its start to the first one after its end.
        flow: Index = sample.flow;
        /// Congestion window.
        cwnd_segments: Number in "segments", unknown "UDP", of sender = sample.counters.cwnd.unwrap_or(f64::NAN);
        /// Slow start threshold.
        ssthresh_segments: Number in "segments", unknown "UDP; no threshold yet; the flow has ended", of sender = sample.ssthresh.unwrap_or(f64::NAN);
        /// Segments in flight, as the sender sees it.
        in_flight_segments: IndexIfKnown in "segments", unknown "UDP", of sender = sample.in_flight.map_or(f64::NAN, f64::from);
        /// Smoothed RTT (RFC 6298).
        srtt_s: Number in "s", unknown "UDP; no RTT measured", of sender = sample.counters.srtt_s.unwrap_or(f64::NAN);
        /// Payload that first arrived since the last sample, over the time since then.
        goodput_bps: Number in "bit/s" = sample.goodput;
        /// Segments sent again since the last sample.
        retransmits: Count in "segments", of sender = sample.retransmits;
    }
}

/// A link at a sample, with its activity since the last sample.
pub(in crate::packet) struct LinkSample {
    seconds: f64,
    link: u32,
    queue_packets: u32,
    utilisation: f64,
    drops: u64,
}

columns! {
    /// One row for each directed link and sample.
    pub(in crate::packet) const LINK_SERIES of sample: LinkSample {
        /// Time of the sample, from the start of the run.
        time_s: Number in "s" = sample.seconds;
        /// Number of the directed link.
        link: Index = sample.link;
        /// Packets waiting or in transmission.
        queue_packets: Index in "packets" = sample.queue_packets;
        /// Share of the time since the last sample in which the transmitter was busy; where its rate changes, of what it could transmit.
        utilisation: Number = sample.utilisation;
        /// Packets dropped by the queue or lost since the last sample.
        drops: Count in "packets" = sample.drops;
    }
}

/// A routing's estimate of a link.
pub(in crate::packet) struct LinkEstimate {
    seconds: f64,
    routing: u32,
    link: u32,
    delay: Option<f64>,
    loss: Option<f64>,
}

columns! {
    /// One row for each directed link and sample of a routing.
    pub(in crate::packet) const LINK_STATE of learnt: LinkEstimate {
        /// When the routing took the sample.
        time_s: Number in "s" = learnt.seconds;
        /// Name of the routing.
        routing: Name = learnt.routing;
        /// Number of the directed link.
        link: Index = learnt.link;
        /// The routing's estimate of its delay.
        delay_s: Number in "s", unknown "not known" = learnt.delay.unwrap_or(f64::NAN);
        /// The routing's estimate of its loss ratio.
        loss: Number, unknown "not known" = learnt.loss.unwrap_or(f64::NAN);
    }
}

impl Observations {
    pub(in crate::packet) fn new(spec: &RunSpec) -> Observations {
        Observations {
            warm_flows: Vec::new(),
            warm_links: Vec::new(),
            flow_series: Table::new(FLOW_SERIES),
            link_series: Table::new(LINK_SERIES),
            link_state: Table::new(LINK_STATE),
            sampled_flows: Vec::new(),
            sampled_links: vec![LinkCounters::default(); if spec.sample.is_some() { spec.links.len() } else { 0 }],
            sampled_at: Time::ZERO,
        }
    }

    /// Keeps the counters at the end of the warm-up, from which results count.
    pub(in crate::packet) fn on_warmed_up(&mut self, now: Time, flows: &[Flow], links: LinksView) {
        let counters = |(index, flow): (usize, &Flow)| flow.state.counters(now, links.sizes[index].last_segment);
        self.warm_flows = flows.iter().enumerate().map(counters).collect();
        self.warm_links = links.counters(now).collect();
    }

    /// The counters of a flow at the end of the warm-up.
    pub(in crate::packet) fn warm_flow(&self, flow: usize) -> FlowCounters {
        self.warm_flows.get(flow).cloned().unwrap_or_default()
    }

    /// The counters of a link at the end of the warm-up.
    pub(in crate::packet) fn warm_link(&self, link: usize) -> LinkCounters {
        self.warm_links.get(link).copied().unwrap_or_default()
    }

    /// Takes a sample of all flows and links.
    pub(in crate::packet) fn on_sample(&mut self, spec: &RunSpec, now: Time, flows: &[Flow], links: LinksView) {
        self.sample_flows(spec, now, flows, links.sizes);
        self.sample_links(now, links);
        self.sampled_at = now;
    }

    fn sample_flows(&mut self, spec: &RunSpec, now: Time, flows: &[Flow], sizes: &FlowSizes) {
        let interval = (now - self.sampled_at).as_secs();
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
                    Some(connection.sender.scoreboard().in_flight()),
                    Some(connection.sender.congestion().ssthresh()).filter(|ssthresh| ssthresh.is_finite()),
                ),
                FlowState::Finished(_) => (Some(0), None),
                FlowState::Message(message) => {
                    let packet = i64::from(message.sender.full_packet());
                    (Some((message.sender.in_flight().max(0) / packet) as u32), None)
                }
                FlowState::Udp(_) | FlowState::Pending => (None, None),
            };
            let has_retired = matches!(flow.state, FlowState::Finished(_));
            self.sampled_flows[index] = (bytes, counters.sender.retransmits, has_retired);
            let sample = FlowSample {
                seconds: now.as_secs(),
                flow: index as u32,
                ssthresh,
                in_flight,
                goodput: (bytes - bytes_before) as f64 * 8.0 / interval,
                retransmits: counters.sender.retransmits - retransmits,
                counters,
            };
            self.flow_series.push(FLOW_SERIES, &sample);
        }
    }

    fn sample_links(&mut self, now: Time, links: LinksView) {
        for (index, counters) in links.counters(now).enumerate() {
            let before = std::mem::replace(&mut self.sampled_links[index], counters);
            let sample = LinkSample {
                seconds: now.as_secs(),
                link: index as u32,
                queue_packets: links.links[index].queue_packets(now, links.fifos),
                utilisation: share(counters.busy - before.busy, counters.possible - before.possible),
                drops: counters.queue_drops + counters.losses - before.queue_drops - before.losses,
            };
            self.link_series.push(LINK_SERIES, &sample);
        }
    }

    /// Records a routing's estimates after it has sampled the links.
    pub(in crate::packet) fn on_link_state(&mut self, now: Time, routing: usize, estimates: &[Estimate]) {
        for (link, estimate) in estimates.iter().enumerate() {
            let learnt = LinkEstimate {
                seconds: now.as_secs(),
                routing: routing as u32,
                link: link as u32,
                delay: estimate.delay(),
                loss: estimate.loss(),
            };
            self.link_state.push(LINK_STATE, &learnt);
        }
    }

    /// The estimates of routings since the last call.
    pub fn take_link_state(&mut self) -> Table {
        std::mem::replace(&mut self.link_state, Table::new(LINK_STATE))
    }

    /// The flow samples since the last call.
    pub fn take_flow_series(&mut self) -> Table {
        std::mem::replace(&mut self.flow_series, Table::new(FLOW_SERIES))
    }

    /// The link samples since the last call.
    pub fn take_link_series(&mut self) -> Table {
        std::mem::replace(&mut self.link_series, Table::new(LINK_SERIES))
    }
}
