//! The event loop in epochs: events are sorted only at the node or link where they meet.
//!
//! An epoch is at most as long as the least time that a packet needs from the queue of a link to its far end. So an event at one node reaches no
//! other node in the same epoch. Nodes and links are visited one after another, each with all its events of the epoch. At every node and link the
//! order is that of [`crate::packet::oracle::event_loop`]: (time, kind, index).
//!
//! This file has the state of the loop and the sequence of epochs. An epoch first finds its due links, timers and starts ([`super::gather`]).
//! Then it has three phases:
//! 1. Every link in which a packet arrives delivers its packets ([`super::arrivals`]). Packets on a compiled route go to their next link.
//!    Packets for this node's hosts, or without a compiled route, go to the node. A node without other events processes them at once.
//! 2. The other nodes process the packets that came to them, with the starts and timers of their flows, in order ([`super::nodes`]).
//! 3. Links with several inputs process the packets that were offered to them, in order ([`super::merge`]). The packets of a link whose only
//!    egress is such a link stay in its FIFO until then.

use crate::packet::capture::recorder::Captures;
use crate::packet::engine::network::Network;
use crate::packet::engine::{Engine, EventLoop, TIMERS_PER_FLOW};
use crate::packet::epochs::fan_in::{FanIn, Feed};
use crate::packet::epochs::inbox::{Event, Inbox, Key, Rank};
use crate::packet::epochs::loser_tree::LoserTree;
use crate::packet::epochs::nodes::Nodes;
use crate::packet::epochs::timers::Timers;
use crate::packet::epochs::timing_wheel::TimingWheel;
use crate::packet::forwarding::Forwarding;
use crate::packet::hosts::flow::Flow;
use crate::packet::link::packet::Packet;
use crate::packet::link::packet_sizes::FlowSizes;
use crate::packet::link::{Link, Offer};
use crate::spec::{LinkId, NodeId, RunSpec};
use crate::units::{Duration, Time};
use std::cmp::Reverse;
use std::collections::BinaryHeap;

/// The state of the loop.
pub struct EpochLoop {
    pub(in crate::packet) wheel: TimingWheel,
    /// All events before are processed.
    processed_until: Time,
    /// The current epoch, from its begin to its end.
    pub(super) begin: Time,
    pub(super) until: Time,
    pub(super) timers: Timers,
    /// Timers that are due in this epoch, of the current node, or of the ends at which the current link delivers.
    pub(super) due_timers: BinaryHeap<Reverse<(Time, u32)>>,
    /// For each link, the timers due in this epoch that are fired among its packets.
    pub(super) timers_of_link: Vec<Vec<(Time, u32)>>,
    /// Whether any link has such timers.
    pub(super) links_have_timers: bool,
    /// The FIFOs that are merged into one link.
    pub(super) tree: LoserTree,
    /// The rank of the current event.
    pub(super) rank: Rank,
    /// The current node processes all its events in order. Only then do packets of its hosts enter a link at once.
    pub(super) in_order: bool,
    pub(super) fan_in: FanIn,
    pub(super) inboxes: Vec<Inbox>,
    pub(super) nodes: Nodes,
    /// Links over which packets arrive in this epoch.
    pub(super) due: Vec<LinkId>,
    /// Links with packets in their inboxes.
    pub(super) busy_links: Vec<LinkId>,
    /// Links from here to other partitions.
    pub(in crate::packet) outgoing: Vec<LinkId>,
    /// Finished flows whose receivers are in another partition, and when they retire.
    pub(in crate::packet) done_flows: Vec<(Time, u32)>,
    /// Flows that started after others and whose receivers are in another partition, and when they started.
    pub(in crate::packet) started_flows: Vec<(Time, u32)>,
}

/// Length of an epoch, in which no packet gets from one node to another: the least delay, or the least sum of transmission time and delay. Longer
/// epochs cause fewer visits of links and nodes. But if transmission counts, packets may leave a link before earlier ones are offered, and such a
/// link takes the general path. So the transmission time counts only where delays are much shorter.
fn epoch_length(spec: &RunSpec, links: &[Link], flows: &[Flow], sizes: &FlowSizes) -> Duration {
    let smallest = u64::from(sizes.smallest());
    let shortest = links.iter().map(|link| link.least_crossing(smallest)).min().unwrap_or(Key::LONGEST_EPOCH);
    let delay = links.iter().map(Link::least_delay).min().unwrap_or(Key::LONGEST_EPOCH);
    let length = if delay * 2 >= shortest { delay } else { shortest };
    length.min(time_of_writes(spec, flows)).clamp(Duration(1), Key::LONGEST_EPOCH)
}

/// The most writes of all applications in an epoch: a run can be interrupted between two epochs only.
const MAX_WRITES: f64 = 100_000.0;

/// The time in which all applications together make [`MAX_WRITES`].
fn time_of_writes(spec: &RunSpec, flows: &[Flow]) -> Duration {
    let writes_per_second: f64 = flows.iter().map(|flow| spec.writes_per_second(flow.identity.group as usize)).sum();
    Duration::from_secs_f64((MAX_WRITES / writes_per_second).min(1.0))
}

impl EventLoop for EpochLoop {
    fn new(spec: &RunSpec, links: &mut [Link], flows: &[Flow], sizes: &FlowSizes) -> EpochLoop {
        let epoch = epoch_length(spec, links, flows, sizes);
        links.iter_mut().for_each(|link| link.set_epoch_length(epoch));
        EpochLoop {
            wheel: TimingWheel::new(links.len(), epoch),
            processed_until: Time::ZERO,
            begin: Time::ZERO,
            until: Time::ZERO,
            timers: Timers::new(flows.len(), TIMERS_PER_FLOW),
            due_timers: BinaryHeap::new(),
            timers_of_link: vec![Vec::new(); links.len()],
            links_have_timers: false,
            tree: LoserTree::new(links.len()),
            rank: Rank::FIRST,
            in_order: true,
            fan_in: FanIn::new(links),
            inboxes: std::iter::repeat_with(Inbox::default).take(links.len()).collect(),
            nodes: Nodes::new(spec, flows),
            due: Vec::new(),
            busy_links: Vec::new(),
            outgoing: Vec::new(),
            done_flows: Vec::new(),
            started_flows: Vec::new(),
        }
    }

    fn advance(engine: &mut Engine<EpochLoop>, events: u64) -> bool {
        // Packets are most of the work. Events count too: applications may write data that no link accepts, and samples may follow one another
        // closely. And so does the work of controls that come with the scenario.
        let work = |engine: &Engine<EpochLoop>| engine.packet_hops() + engine.events() + engine.work_of_controls();
        let enough = work(engine) + events;
        while work(engine) < enough {
            if !engine.next_epoch(Time(engine.clock.end().0 + 1)) {
                engine.clock.set(engine.clock.end());
                return false;
            }
        }
        // The node that came last may have stopped before the others.
        engine.clock.set(engine.processed_until().min(engine.clock.end()));
        true
    }

    #[inline(always)]
    fn offer(&mut self, now: Time, link: LinkId, mut packet: Packet, network: &mut Network, captures: &mut Captures) {
        if self.enters_at_once(link) {
            self.enter(now, link, packet, network, captures);
        } else {
            packet.set_arrival(now);
            let key = self.key(now, self.rank);
            self.inbox_of_link(link).put(key, packet);
        }
    }

    #[inline]
    fn arm(&mut self, flow: u32, timer: u32, deadline: Time) {
        if deadline >= self.until {
            self.timers.arm(flow, timer, deadline);
        } else if self.timers.schedule(flow, timer, deadline) {
            self.due_timers.push(Reverse((deadline, self.timers.identity(flow, timer))));
        }
    }

    #[inline]
    fn armed(&self, flow: u32, timer: u32) -> Time {
        self.timers.armed(flow, timer)
    }

    fn served(&self) -> LinkId {
        match self.rank.event() {
            Event::Start(_) => 0,
            Event::Arrival => self.rank.link(),
            Event::Timer(_) => LinkId::MAX,
        }
    }

    fn on_scheduled(&mut self, _at: Time) {}

    fn on_failed(&mut self, _now: Time, _link: LinkId) {}

    fn on_done(&mut self, at: Time, flow: u32, receiver: NodeId) {
        if !self.is_here(receiver) {
            self.done_flows.push((at, flow));
        }
    }

    fn on_started(&mut self, at: Time, flow: u32, receiver: NodeId) {
        if !self.is_here(receiver) {
            self.started_flows.push((at, flow));
        }
    }

    fn on_rerouted(&mut self, forwarding: &Forwarding) {
        self.fan_in.derive(forwarding);
    }
}

impl EpochLoop {
    /// The length of an epoch that no network event cuts short.
    pub(in crate::packet) fn longest_epoch(&self) -> Duration {
        self.wheel.begin(1) - Time::ZERO
    }

    /// Whether a node belongs to this partition.
    pub(in crate::packet) fn is_here(&self, node: NodeId) -> bool {
        self.nodes.at(node).is_here
    }

    /// Restricts this partition to these nodes.
    pub(in crate::packet) fn restrict_to(&mut self, is_here: impl Fn(NodeId) -> bool) {
        self.nodes.restrict_to(is_here);
    }

    /// The key of an event in this epoch.
    #[inline(always)]
    pub(super) fn key(&self, at: Time, rank: Rank) -> Key {
        Key::new(self.begin, at, rank)
    }

    /// Puts a packet into the queue of a link now.
    #[inline(always)]
    pub(super) fn enter(
        &mut self,
        now: Time,
        link: LinkId,
        packet: Packet,
        network: &mut Network,
        captures: &mut Captures,
    ) {
        let offer = if network.link(link).is_uninstrumented() {
            network.access(link).offer::<false>(now, packet)
        } else {
            captures.capture(link, now, packet, network.pool());
            self.serve(link, now, self.rank, network);
            network.offer_to_any(now, link, packet.words(), |_| {})
        };
        if let Offer::Due(at) = offer {
            self.wheel.insert(link, at);
        }
        if self.fan_in.is_in_turn() && network.link(link).next_service() < self.until {
            self.busy_links.push(link); // a queue that is served in this epoch
        }
    }

    /// Serves a queue that decides at its service, as often as it is due before this event.
    pub(super) fn serve(&self, link: LinkId, before: Time, rank: Rank, network: &mut Network) {
        while (network.link(link).next_service(), Rank::arrival(link)) < (before, rank) {
            network.serve(link, |_| {});
        }
    }

    #[inline]
    pub(super) fn inbox_of_link(&mut self, link: LinkId) -> &mut Inbox {
        let inbox = &mut self.inboxes[link as usize];
        if inbox.is_empty() {
            self.busy_links.push(link);
        }
        inbox
    }

    /// Whether a packet enters the queue of a link when it is offered, not in phase 3.
    #[inline(always)]
    pub(super) fn enters_at_once(&self, link: LinkId) -> bool {
        match self.fan_in.feed(link) {
            Feed::Link => true,
            Feed::Node => self.in_order,
            Feed::Merged => false,
        }
    }

    /// Before this instant all arrivals precede the timers of this epoch: at one instant arrivals come first.
    #[inline(always)]
    pub(super) fn timers_after(&self) -> Time {
        self.due_timers.peek().map_or(self.until, |Reverse((at, _))| self.until.min(Time(at.0 + 1)))
    }

    /// Adds an event of a node to phase 2.
    #[inline(always)]
    pub(super) fn put_for_node(&mut self, node: NodeId, rank: Rank, packet: Packet) {
        let key = self.key(packet.arrival(), rank);
        self.nodes.put(node, key, packet);
    }

    /// Adds the start of a flow or a due timer at a node.
    pub(super) fn put_local(&mut self, node: NodeId, at: Time, rank: Rank) {
        let mut no_packet = Packet::new(0, 0, 0, 0);
        no_packet.set_arrival(at);
        self.put_for_node(node, rank, no_packet);
        self.nodes.note_local(node);
    }
}

impl Engine<EpochLoop> {
    /// Processes the next network event, or the next epoch with an event, before this instant; `false` if there is none.
    fn next_epoch(&mut self, before: Time) -> bool {
        let (epoch, begin) = self.next_begin();
        let network_event = self.clock.next_network_event();
        if network_event <= begin && network_event < before {
            self.clock.set(network_event);
            self.clock.count_events(1);
            self.event_loop.processed_until = network_event;
            self.on_network_event();
            return true;
        }
        if begin >= before {
            return false;
        }
        self.event_loop.begin = begin;
        self.event_loop.until = self.event_loop.wheel.begin(epoch + 1).min(network_event).min(before);
        self.gather(epoch);
        self.process_arrivals();
        self.process_nodes();
        self.process_queues();
        self.event_loop.processed_until = self.event_loop.until;
        true
    }

    /// The next epoch with an event in this partition, and the time at which its unprocessed part begins.
    fn next_begin(&mut self) -> (u64, Time) {
        let local = self.event_loop.timers.first().min(self.hosts.next_start());
        let event_loop = &mut self.event_loop;
        let epoch = event_loop.wheel.first().min(event_loop.wheel.epoch(local));
        (epoch, event_loop.wheel.begin(epoch).max(event_loop.processed_until))
    }

    /// A lower bound of the time of the next event, at most an epoch before it.
    pub(in crate::packet) fn next_event(&mut self) -> Time {
        self.next_begin().1.min(self.clock.next_network_event())
    }

    /// Processes all events before this instant.
    pub(in crate::packet) fn run_until(&mut self, instant: Time) {
        while self.next_epoch(instant) {}
        self.event_loop.processed_until = instant;
    }

    /// The instant before which all events are processed.
    pub(in crate::packet) fn processed_until(&self) -> Time {
        self.event_loop.processed_until
    }

    /// Skips to this instant, because no event comes before it.
    pub(in crate::packet) fn skip_to(&mut self, instant: Time) {
        self.event_loop.processed_until = instant;
    }
}
