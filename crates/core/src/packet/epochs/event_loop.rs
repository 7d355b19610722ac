//! The event loop in epochs: events are sorted only at the node or link where they meet.
//!
//! An epoch is at most as long as the least time that a packet needs from the queue of a link to its far end. So an event at one node reaches no
//! other node in the same epoch. Nodes and links are visited one after another, each with all its events of the epoch. At every node and link the
//! order is that of [`crate::packet::oracle::event_loop`]: (time, kind, index).
//!
//! An epoch has three phases:
//! 1. Every link in which a packet arrives delivers its packets. Packets on a compiled route go to their next link. Packets for this node's
//!    hosts, or without a compiled route, go to the node. A node without other events processes them at once.
//! 2. The other nodes process the packets that came to them, with the starts and timers of their flows, in order.
//! 3. Links with several inputs process the packets that were offered to them, in order. The packets of a link whose only egress is such a link
//!    stay in its FIFO until then.

use crate::packet::capture::recorder::Captures;
use crate::packet::engine::network::Network;
use crate::packet::engine::{Engine, EventLoop, RECEIVER, TIMERS_PER_FLOW};
use crate::packet::epochs::fan_in::{FanIn, Feed};
use crate::packet::epochs::inbox::{Event, Inbox, Key, Rank, emptied};
use crate::packet::epochs::loser_tree::LoserTree;
use crate::packet::epochs::timers::Timers;
use crate::packet::epochs::timing_wheel::TimingWheel;
use crate::packet::forwarding::{Forwarding, RouteRef};
use crate::packet::hosts::flow::Flow;
use crate::packet::link::packet::Packet;
use crate::packet::link::packet_sizes::FlowSizes;
use crate::packet::link::{Link, Offer};
use crate::spec::{LinkId, NodeId, RunSpec};
use crate::units::{Duration, Time};
use std::cmp::Reverse;
use std::collections::BinaryHeap;

/// A node in the current epoch.
#[derive(Default)]
struct Node {
    /// Links in which packets arrive.
    inputs: u32,
    /// One of them, if there are any.
    input: LinkId,
    /// A flow starts, or a timer is due that no link fires among its packets.
    has_local: bool,
    /// It belongs to this partition: see [`crate::packet::parallel`].
    is_here: bool,
    /// Whether its links may deliver one after another. No two of them deliver to the same end of a flow, and all packets that an end sends have one
    /// route.
    delivers_per_link: bool,
    inbox: Inbox,
}

/// How a node processes the packets that a link delivers.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in crate::packet) enum Delivery {
    /// In phase 1: the node has no other events than these packets and its timers, which are fired between them.
    Immediate,
    /// In phase 1, although other links deliver packets, too.
    PerLink,
    /// In phase 2, with all other events of the node in order.
    Sorted,
}

/// The state of the loop.
pub struct EpochLoop {
    pub(in crate::packet) wheel: TimingWheel,
    /// All events before are processed.
    processed_until: Time,
    /// The current epoch, from its begin to its end.
    pub(in crate::packet) begin: Time,
    pub(in crate::packet) until: Time,
    pub(in crate::packet) timers: Timers,
    /// Timers that are due in this epoch, of the current node, or of the ends at which the current link delivers.
    pub(in crate::packet) due_timers: BinaryHeap<Reverse<(Time, u32)>>,
    /// For each link, the timers due in this epoch that are fired among its packets.
    timers_of_link: Vec<Vec<(Time, u32)>>,
    /// Whether any link has such timers.
    pub(in crate::packet) links_have_timers: bool,
    /// The FIFOs that are merged into one link.
    pub(in crate::packet) tree: LoserTree,
    /// The rank of the current event.
    pub(in crate::packet) rank: Rank,
    /// The current node processes all its events in order. Only then do packets of its hosts enter a link at once.
    pub(in crate::packet) in_order: bool,
    pub(in crate::packet) fan_in: FanIn,
    pub(in crate::packet) inboxes: Vec<Inbox>,
    nodes: Vec<Node>,
    /// Links over which packets arrive in this epoch.
    pub(in crate::packet) due: Vec<LinkId>,
    /// Nodes with events in their inboxes.
    busy_nodes: Vec<NodeId>,
    /// Links with packets in their inboxes.
    pub(in crate::packet) busy_links: Vec<LinkId>,
    /// Links from here to other partitions.
    pub(in crate::packet) outgoing: Vec<LinkId>,
    /// Finished flows whose receivers are in another partition, and when they retire.
    pub(in crate::packet) done_flows: Vec<(Time, u32)>,
    /// Links whose queue decides at its service (CoDel).
    serves: Vec<bool>,
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
        // Routers that select hop by hop have selector state of their own, which sees packets in order.
        let goes_by_hop = |flow: &Flow| {
            let Flow { identity, .. } = flow;
            matches!(identity.forward, RouteRef::NextHopTable(_))
                || matches!(identity.reverse, RouteRef::NextHopTable(_))
        };
        let delivers_per_link = !flows.iter().any(goes_by_hop);
        let node = || Node { delivers_per_link, is_here: true, ..Node::default() };
        let mut nodes: Vec<Node> = std::iter::repeat_with(node).take(spec.nodes.len()).collect();
        for Flow { identity, .. } in flows {
            if !matches!((identity.forward, identity.reverse), (RouteRef::Route(_), RouteRef::Route(_))) {
                nodes[identity.src as usize].delivers_per_link = false;
                nodes[identity.dst as usize].delivers_per_link = false;
            }
        }
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
            nodes,
            due: Vec::new(),
            busy_nodes: Vec::new(),
            busy_links: Vec::new(),
            outgoing: Vec::new(),
            done_flows: Vec::new(),
            serves: links.iter().map(Link::decides_at_service).collect(),
        }
    }

    fn advance(engine: &mut Engine<EpochLoop>, events: u64) -> bool {
        // Packets are most of the work. Events count too: applications may write data that no link accepts, and samples may follow one another
        // closely.
        let work = |engine: &Engine<EpochLoop>| engine.packet_hops() + engine.events();
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

    fn on_scheduled(&mut self, _at: Time) {}

    fn on_failed(&mut self, _now: Time, _link: LinkId) {}

    fn on_done(&mut self, at: Time, flow: u32, receiver: NodeId) {
        if !self.is_here(receiver) {
            self.done_flows.push((at, flow));
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
        self.nodes[node as usize].is_here
    }

    /// Restricts this partition to these nodes.
    pub(in crate::packet) fn restrict_to(&mut self, is_here: impl Fn(NodeId) -> bool) {
        self.nodes.iter_mut().enumerate().for_each(|(node, state)| state.is_here = is_here(node as NodeId));
    }

    /// The key of an event in this epoch.
    #[inline(always)]
    pub(in crate::packet) fn key(&self, at: Time, rank: Rank) -> Key {
        Key::new(self.begin, at, rank)
    }

    /// Puts a packet into the queue of a link now.
    #[inline(always)]
    fn enter(&mut self, now: Time, link: LinkId, packet: Packet, network: &mut Network, captures: &mut Captures) {
        let offer = if network.link(link).is_uninstrumented() {
            network.access(link).offer::<false>(now, packet)
        } else {
            captures.capture(link, now, packet, network.pool());
            network.offer_to_any(now, link, packet.words())
        };
        if let Offer::Due(at) = offer {
            self.wheel.insert(link, at);
        }
    }

    #[inline]
    pub(in crate::packet) fn inbox_of_link(&mut self, link: LinkId) -> &mut Inbox {
        let inbox = &mut self.inboxes[link as usize];
        if inbox.is_empty() {
            self.busy_links.push(link);
        }
        inbox
    }

    /// Whether a packet enters the queue of a link when it is offered, not in phase 3.
    #[inline(always)]
    pub(in crate::packet) fn enters_at_once(&self, link: LinkId) -> bool {
        match self.fan_in.feed(link) {
            Feed::Link => true,
            Feed::Node => self.in_order,
            Feed::Merged => false,
        }
    }

    /// Before this instant all arrivals precede the timers of this epoch: at one instant arrivals come first.
    #[inline(always)]
    pub(in crate::packet) fn timers_after(&self) -> Time {
        self.due_timers.peek().map_or(self.until, |Reverse((at, _))| self.until.min(Time(at.0 + 1)))
    }

    /// Ends phase 1.
    #[inline(always)]
    pub(in crate::packet) fn forget_inputs(&mut self, links: &[Link]) {
        for link in &self.due {
            self.nodes[links[*link as usize].dst as usize].inputs = 0;
        }
    }

    /// How a node processes the packets that its links deliver in this epoch.
    pub(in crate::packet) fn delivery(&self, node: NodeId) -> Delivery {
        let state = &self.nodes[node as usize];
        match (state.inputs, state.has_local) {
            (1, false) => Delivery::Immediate,
            (_, false) if state.delivers_per_link => Delivery::PerLink,
            _ => Delivery::Sorted,
        }
    }

    /// Adds an event of a node to phase 2.
    #[inline(always)]
    pub(in crate::packet) fn put_for_node(&mut self, node: NodeId, rank: Rank, packet: Packet) {
        let key = self.key(packet.arrival(), rank);
        let inbox = &mut self.nodes[node as usize].inbox;
        if inbox.is_empty() {
            self.busy_nodes.push(node);
        }
        inbox.put(key, packet);
    }

    /// Adds the start of a flow or a due timer at a node.
    fn put_local(&mut self, node: NodeId, at: Time, rank: Rank) {
        let mut no_packet = Packet::new(0, 0, 0, 0);
        no_packet.set_arrival(at);
        self.put_for_node(node, rank, no_packet);
        self.nodes[node as usize].has_local = true;
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

    /// Finds the links over which packets arrive in the epoch, and its starts and timers.
    fn gather(&mut self, epoch: u64) {
        let until = self.event_loop.until;
        self.event_loop.wheel.take(epoch, &mut self.event_loop.due);
        let mut due = std::mem::take(&mut self.event_loop.due);
        due.retain(|&link| {
            let state = self.network.link(link);
            if !state.is_simple() && state.next_service() < until {
                self.event_loop.busy_links.push(link);
            }
            let is_here = self.event_loop.nodes[state.dst as usize].is_here;
            if is_here {
                let node = &mut self.event_loop.nodes[state.dst as usize];
                node.inputs += 1;
                node.input = link;
            } else {
                self.event_loop.wheel.insert(link, state.next_event());
            }
            is_here
        });
        self.event_loop.due = due;
        while self.event_loop.timers.first() < until {
            let Some((at, timer)) = self.event_loop.timers.take() else { break };
            self.assign_timer(at, timer);
        }
        while self.hosts.next_start() < until {
            let (position, flow) = self.hosts.take_next_start();
            let identity = *self.hosts.identity(flow);
            if self.event_loop.is_here(identity.src) {
                self.event_loop.put_local(identity.src, identity.start, Rank::start(position));
            } else if self.event_loop.is_here(identity.dst) {
                self.clock.set(identity.start);
                let (hosts, mut context) = self.hosts();
                hosts.open(flow, &mut context);
            }
        }
    }

    /// Assigns a timer that is due in this epoch: it is fired between the packets of a link, or in phase 2.
    fn assign_timer(&mut self, at: Time, timer: u32) {
        let identity = self.hosts.identity(timer / TIMERS_PER_FLOW);
        let (node, way) = match timer % TIMERS_PER_FLOW {
            RECEIVER => (identity.dst, identity.forward),
            _ => (identity.src, identity.reverse),
        };
        match self.link_that_fires(node, way) {
            Some(link) => {
                self.event_loop.timers_of_link[link as usize].push((at, timer));
                self.event_loop.links_have_timers = true;
            }
            None => self.event_loop.put_local(node, at, Rank::timer(timer)),
        }
    }

    /// The link between whose packets the timer of an end is fired. The end's packets arrive by the route `way`. Where a node processes packets link
    /// by link, the timer must be in order only with packets for its own end. These all arrive over one link.
    fn link_that_fires(&self, node: NodeId, way: RouteRef) -> Option<LinkId> {
        let state = &self.event_loop.nodes[node as usize];
        match (state.inputs, way) {
            (0, _) => None,
            (1, _) => Some(state.input),
            (_, RouteRef::Route(position)) if state.delivers_per_link => {
                let link = self.network.forwarding().last_link(position);
                let brings_packets = |own: &Link| own.dst == node && own.next_arrival() < self.event_loop.until;
                Some(if self.network.links().get(link as usize).is_some_and(brings_packets) {
                    link
                } else {
                    state.input
                })
            }
            _ => None,
        }
    }

    /// The timers of a link become due among its packets, or go to the node's inbox with these.
    pub(in crate::packet) fn take_timers_of_link(&mut self, link: LinkId, node: NodeId, delivery: Delivery) {
        let mut timers = std::mem::take(&mut self.event_loop.timers_of_link[link as usize]);
        for (at, timer) in timers.drain(..) {
            if delivery == Delivery::Sorted {
                self.event_loop.put_local(node, at, Rank::timer(timer));
            } else {
                self.event_loop.due_timers.push(Reverse((at, timer)));
            }
        }
        self.event_loop.timers_of_link[link as usize] = timers;
    }

    /// Advances to a packet that arrives over a link now: fires the timers that are due before it.
    #[inline(always)]
    pub(in crate::packet) fn advance_to_arrival(&mut self, link: LinkId, now: Time) {
        if !self.event_loop.due_timers.is_empty() {
            self.fire_timers(now, Rank::arrival(link));
            self.event_loop.rank = Rank::arrival(link);
        }
        self.clock.set(now);
    }

    /// Phase 2: every other node processes its events in order.
    fn process_nodes(&mut self) {
        while let Some(node) = self.event_loop.busy_nodes.pop() {
            let event_loop = &mut self.event_loop;
            let items = event_loop.nodes[node as usize].inbox.take_in_order();
            self.clock.count_events(items.len() as u64);
            for (index, item) in items.iter().enumerate() {
                self.prefetch_for_inbox(&items[index..]);
                let (at, rank) = (item.packet.arrival(), item.key.rank());
                self.fire_timers(at, rank);
                self.clock.set(at);
                self.event_loop.rank = rank;
                match rank.event() {
                    Event::Start(position) => self.start_flow(self.hosts.flow_that_starts(position)),
                    Event::Arrival => self.forward(item.packet, node),
                    Event::Timer(timer) => self.fire_timer(at, timer),
                }
            }
            self.fire_timers(self.event_loop.until, Rank::FIRST);
            let state = &mut self.event_loop.nodes[node as usize];
            state.inbox.reuse(items);
            state.has_local = false;
        }
    }

    /// Fires the timers of the current node that are due before this event.
    pub(in crate::packet) fn fire_timers(&mut self, before: Time, rank: Rank) {
        while let Some(Reverse((at, timer))) = self.event_loop.due_timers.peek().copied()
            && (at, Rank::timer(timer)) < (before, rank)
        {
            self.event_loop.due_timers.pop();
            self.clock.set(at);
            self.event_loop.rank = Rank::timer(timer);
            self.clock.count_events(1);
            self.fire_timer(at, timer);
        }
    }

    fn fire_timer(&mut self, at: Time, timer: u32) {
        if self.event_loop.timers.is_due(at, timer) {
            self.on_timer(timer / TIMERS_PER_FLOW, timer % TIMERS_PER_FLOW);
        }
    }

    /// Phase 3: links with several inputs process the packets that were offered to them, in order.
    fn process_queues(&mut self) {
        while let Some(link) = self.event_loop.busy_links.pop() {
            self.clock.count_events(1);
            self.prefetch_for_busy();
            let event_loop = &mut self.event_loop;
            let inbox = &mut event_loop.inboxes[link as usize];
            let items = inbox.take_in_order();
            let inputs = std::mem::take(&mut inbox.inputs);
            if self.network.link(link).is_simple() {
                self.process_offers(link, &items, &inputs);
            } else {
                for item in &items {
                    let at = item.packet.arrival();
                    self.serve(link, at, item.key.rank());
                    self.clock.set(at);
                    let Engine { network, observers, event_loop, .. } = &mut *self;
                    event_loop.enter(at, link, item.packet, network, &mut observers.captures);
                }
                self.serve(link, self.event_loop.until, Rank::FIRST);
            }
            let inbox = &mut self.event_loop.inboxes[link as usize];
            inbox.reuse(items);
            inbox.inputs = emptied(inputs);
        }
    }

    /// Serves a queue that decides at its service, as often as it is due before this event.
    fn serve(&mut self, link: LinkId, before: Time, rank: Rank) {
        if !self.event_loop.serves[link as usize] {
            return;
        }
        while (self.network.link(link).next_service(), Rank::arrival(link)) < (before, rank) {
            self.network.serve(link, |_| {});
        }
        self.event_loop.wheel.insert(link, self.network.link(link).next_event());
    }
}
