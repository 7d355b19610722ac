//! The network: links with their FIFOs, the SACK blocks of the packets on them, and the forwarding.

use crate::packet::forwarding::select::{Backlogs, NoBacklogs, PacketKey};
use crate::packet::forwarding::{END, Forwarding, RouteRef};
use crate::packet::hosts::flow::FlowIdentity;
use crate::packet::link::fifo::{Fifo, FifoStore};
use crate::packet::link::impairment::LossProcess;
use crate::packet::link::packet::{ACK, HAS_SACK, LOST, Packet};
use crate::packet::link::packet_sizes::{FlowSizes, PacketSizes};
use crate::packet::link::queue::FlowKey;
use crate::packet::link::sack_pool::SackPool;
use crate::packet::link::{Link, LinksView, Offer};
use crate::packet::link_state::estimate::Estimate;
use crate::spec::{LinkId, LossSpec, NodeId};
use crate::units::{Duration, Time};

/// The network that carries packets from host to host: links and forwarding.
pub struct Network {
    links: Vec<Link>,
    /// The packets that wait at a link or are on its wire.
    fifos: FifoStore,
    sizes: FlowSizes,
    pool: SackPool,
    forwarding: Forwarding,
    /// Room for the packets that a queue drops at a service, or in place of a packet that comes.
    dropped: Vec<Packet>,
    packet_hops: u64,
    without_route: u64,
    expired: u64,
    varies: bool,
    /// Number of packets that hosts have sent, and number that hosts have received.
    #[cfg(test)]
    at_hosts: (u64, u64),
    /// Packets that the oracle's hosts have sent and received, if a test records them.
    #[cfg(test)]
    pub(in crate::packet) host_log: Option<Vec<HostEvent>>,
}

/// A packet at a host.
#[cfg(test)]
pub(in crate::packet) enum HostEvent {
    /// A host sends it at this time, with the number that selectors see.
    Sent(Packet, u32, Time),
    /// The packet has reached its host at this time.
    Come(Packet, Time),
}

/// A link, with the state that its queue needs to accept packets.
pub(in crate::packet) struct LinkAccess<'network> {
    pub link: &'network mut Link,
    pub fifos: &'network mut FifoStore,
    pub pool: &'network mut SackPool,
    pub sizes: &'network FlowSizes,
}

/// Next hop of a packet: a link, and the hop index that the packet carries from there.
pub(in crate::packet) type NextHop = (LinkId, u32);

impl Network {
    pub(in crate::packet) fn new(links: Vec<Link>, sizes: FlowSizes, forwarding: Forwarding) -> Network {
        Network {
            varies: links.iter().any(Link::varies),
            links,
            fifos: FifoStore::default(),
            sizes,
            pool: SackPool::default(),
            forwarding,
            dropped: Vec::new(),
            packet_hops: 0,
            without_route: 0,
            expired: 0,
            #[cfg(test)]
            at_hosts: (0, 0),
            #[cfg(test)]
            host_log: None,
        }
    }

    /// Whether the rate or the delay of a link varies.
    pub(in crate::packet) fn varies(&self) -> bool {
        self.varies
    }

    pub(in crate::packet) fn links(&self) -> &[Link] {
        &self.links
    }

    /// The links, to read their counters.
    pub(in crate::packet) fn links_view(&self) -> LinksView<'_> {
        LinksView { links: &self.links, sizes: &self.sizes, fifos: &self.fifos }
    }

    #[inline(always)]
    pub(in crate::packet) fn link(&self, link: LinkId) -> &Link {
        &self.links[link as usize]
    }

    #[inline(always)]
    pub(in crate::packet) fn fifos(&self) -> &FifoStore {
        &self.fifos
    }

    pub(in crate::packet) fn all_sizes(&self) -> &FlowSizes {
        &self.sizes
    }

    /// Sets the sizes of a packet, in a network whose [sizes are those of packets](FlowSizes::of_packets).
    pub(in crate::packet) fn set_sizes(&mut self, packet: u32, sizes: PacketSizes) {
        self.sizes.set(packet, sizes);
    }

    /// The sizes of a flow's packets.
    #[inline(always)]
    pub(in crate::packet) fn sizes(&self, flow: u32) -> &PacketSizes {
        &self.sizes[flow as usize]
    }

    #[inline(always)]
    pub(in crate::packet) fn pool(&self) -> &SackPool {
        &self.pool
    }

    /// The pool of SACK blocks. The sender of an ACK writes its blocks there, and the receiver of the ACK reads them.
    #[inline(always)]
    pub(in crate::packet) fn pool_mut(&mut self) -> &mut SackPool {
        &mut self.pool
    }

    #[inline(always)]
    pub(in crate::packet) fn forwarding(&self) -> &Forwarding {
        &self.forwarding
    }

    /// The routes, to select one for a packet.
    pub(in crate::packet) fn forwarding_mut(&mut self) -> &mut Forwarding {
        &mut self.forwarding
    }

    /// Packets that have crossed a link, lost ones included.
    pub(in crate::packet) fn packet_hops(&self) -> u64 {
        self.packet_hops
    }

    /// Packets for which no route led on.
    pub(in crate::packet) fn without_route(&self) -> u64 {
        self.without_route
    }

    /// Packets whose time to live was over.
    pub(in crate::packet) fn expired(&self) -> u64 {
        self.expired
    }

    /// Frees the SACK blocks of a packet that is gone.
    #[inline(always)]
    pub(in crate::packet) fn discard(&mut self, packet: Packet) {
        discard(packet, &mut self.pool);
    }
}

#[inline(always)]
fn discard(packet: Packet, pool: &mut SackPool) {
    if packet.has(HAS_SACK) {
        pool.release(packet.number());
    }
}

fn first_hop_of(
    forwarding: &mut Forwarding,
    now: Time,
    route: RouteRef,
    key: &PacketKey,
    mut backlogs: impl Backlogs,
) -> Option<NextHop> {
    let index = forwarding.first_hop_index(route, now, key, &mut backlogs)?;
    if Forwarding::is_hop_by_hop(index) {
        Some((forwarding.next_hop(index, key.src, now, key, backlogs)?, index))
    } else {
        Some((forwarding.next_on_route(index), index + 1))
    }
}

/// The queues of the links now, for selectors that read them.
struct Queues<'network> {
    now: Time,
    /// Queues that decide at their service are served before the current event if their link is below this, or the service is due before now.
    served: LinkId,
    links: &'network mut [Link],
    fifos: &'network mut FifoStore,
    sizes: &'network FlowSizes,
    pool: &'network mut SackPool,
    dropped: &'network mut Vec<Packet>,
}

impl Backlogs for Queues<'_> {
    fn bytes(&mut self, link: LinkId) -> u64 {
        let state = &mut self.links[link as usize];
        while (state.next_service(), link) < (self.now, self.served) {
            state.serve(state.next_service(), self.sizes, self.fifos, self.dropped);
        }
        self.dropped.drain(..).for_each(|packet| discard(packet, self.pool));
        if state.is_up() { state.backlog_bytes(self.now, self.sizes, self.fifos) } else { u64::MAX }
    }
}

impl LinkAccess<'_> {
    /// Offers a packet to a simple link, as [`Link::offer`].
    #[inline(always)]
    pub(in crate::packet) fn offer<const WITH_CARE: bool>(&mut self, now: Time, packet: Packet) -> Offer {
        let size = self.sizes[packet.flow() as usize].of(&packet);
        let offer = self.link.offer::<WITH_CARE>(now, packet, size, self.fifos);
        if offer == Offer::Dropped {
            self.discard(packet);
        }
        offer
    }

    /// Frees the SACK blocks of a packet that is gone.
    #[inline(always)]
    pub(in crate::packet) fn discard(&mut self, packet: Packet) {
        discard(packet, self.pool);
    }
}

/// Packets on links.
impl Network {
    /// Offers a packet to any link. `on_drop` takes the packets that the queue drops in its place.
    #[inline(never)]
    pub(in crate::packet) fn offer_to_any(
        &mut self,
        now: Time,
        link: LinkId,
        words: [u64; 3],
        on_drop: impl FnMut(Packet),
    ) -> Offer {
        let packet = Packet::from_words(words);
        let flow = FlowKey { flow: packet.flow(), reverse: packet.has(ACK), entropy: self.entropy(&packet) };
        self.offer_of_flow(now, link, packet, flow, on_drop)
    }

    /// The entropy value of a packet; zero if its flow chooses none. The handshake of TCP has none.
    fn entropy(&self, packet: &Packet) -> u32 {
        let number = packet.number();
        match (self.sizes(packet.flow()).numbers_are_entropy(), packet.has(HAS_SACK)) {
            (true, true) => self.pool.number(number),
            (true, false) => number,
            (false, true) => self.pool.announcement(number).and_then(|announcement| announcement.value).unwrap_or(0),
            (false, false) => 0,
        }
    }

    /// [`Self::offer_to_any`] of a packet of this flow.
    #[inline]
    pub(in crate::packet) fn offer_of_flow(
        &mut self,
        now: Time,
        link: LinkId,
        packet: Packet,
        flow: FlowKey,
        on_drop: impl FnMut(Packet),
    ) -> Offer {
        let Network { links, sizes, fifos, dropped, .. } = self;
        let offer = links[link as usize].offer_to_any(now, packet, flow, sizes, fifos, dropped);
        if offer == Offer::Dropped {
            self.discard(packet);
        }
        if !self.dropped.is_empty() {
            self.discard_dropped(on_drop);
        }
        offer
    }

    fn discard_dropped(&mut self, mut on_drop: impl FnMut(Packet)) {
        for packet in self.dropped.drain(..) {
            on_drop(packet);
            discard(packet, &mut self.pool);
        }
    }

    /// The queue of a link, with the state that it needs to accept packets.
    #[inline(always)]
    pub(in crate::packet) fn access(&mut self, link: LinkId) -> LinkAccess<'_> {
        let Network { links, fifos, pool, sizes, .. } = self;
        LinkAccess { link: &mut links[link as usize], fifos, pool, sizes }
    }

    /// The packet that arrives next at the far end of a link.
    pub(in crate::packet) fn next_to_arrive(&self, link: LinkId) -> Option<Packet> {
        self.links[link as usize].first_packet(&self.fifos).copied()
    }

    /// Processes the arrival of a link's first packet at the far end; `None` if the wire has lost it.
    #[inline(always)]
    pub(in crate::packet) fn arrive(&mut self, link: LinkId) -> Option<Packet> {
        let packet = self.links[link as usize].on_arrival(&self.sizes, &mut self.fifos);
        self.packet_hops += 1;
        if packet.has(LOST) {
            self.discard(packet);
            return None;
        }
        Some(packet)
    }

    /// Removes the next packet from this FIFO of a link if it arrives before an instant, even if the wire has lost it.
    #[inline(always)]
    pub(in crate::packet) fn pop_arrival(&mut self, fifo: &mut Fifo, before: Time) -> Option<Packet> {
        self.fifos.pop_before(fifo, before)
    }

    /// Puts back the FIFO of a simple link, from which packets have been removed.
    pub(in crate::packet) fn end_arrivals(&mut self, link: LinkId, mut fifo: Fifo) {
        self.fifos.release(&mut fifo);
        self.packet_hops += u64::from(self.links[link as usize].return_fifo(fifo));
    }

    /// Counts a packet that has crossed a simple link and that the wire has lost.
    #[cold]
    pub(in crate::packet) fn lose(&mut self, link: LinkId, packet: Packet) {
        self.links[link as usize].count_loss();
        self.discard(packet);
    }

    /// Counts a packet that the merge has found lost on the wire of a simple link.
    pub(in crate::packet) fn count_loss(&mut self, link: LinkId) {
        self.links[link as usize].count_loss();
    }

    /// Serves a queue that decides when it dequeues: transmits the packet that is due, and may drop others. Returns the transmitted packet.
    pub(in crate::packet) fn serve(&mut self, link: LinkId, on_drop: impl FnMut(Packet)) -> Option<Packet> {
        let state = &mut self.links[link as usize];
        let transmitted = state.serve(state.next_service(), &self.sizes, &mut self.fifos, &mut self.dropped);
        self.discard_dropped(on_drop);
        transmitted
    }
}

/// Forwarding of packets.
impl Network {
    /// The first link of a packet that its host sends now by this route; `None` if no route leads on. See [`Queues::served`] for `served`.
    #[inline(always)]
    pub(in crate::packet) fn first_hop(
        &mut self,
        now: Time,
        packet: &Packet,
        number: u32,
        identity: &FlowIdentity,
        route: RouteRef,
        served: impl FnOnce() -> LinkId,
    ) -> Option<NextHop> {
        if let RouteRef::Route(start) = route {
            return Some((self.forwarding.next_on_route(start), start + 1));
        }
        self.select_first_hop(now, packet.words(), number, identity, route, served)
    }

    #[inline(never)]
    fn select_first_hop(
        &mut self,
        now: Time,
        words: [u64; 3],
        number: u32,
        identity: &FlowIdentity,
        route: RouteRef,
        served: impl FnOnce() -> LinkId,
    ) -> Option<NextHop> {
        let packet = Packet::from_words(words);
        let key = identity.key(packet.flow(), packet.has(ACK), number);
        let first = self.first_hop_of_key(now, route, &key, served);
        if first.is_none() {
            self.discard(packet);
        }
        first
    }

    /// [`Self::first_hop`] of a packet with this key. Counts a packet without a route.
    pub(in crate::packet) fn first_hop_of_key(
        &mut self,
        now: Time,
        route: RouteRef,
        key: &PacketKey,
        served: impl FnOnce() -> LinkId,
    ) -> Option<NextHop> {
        let first = if self.forwarding.reads_backlogs() {
            let (forwarding, queues) = self.forwarding_and_queues(now, served());
            first_hop_of(forwarding, now, route, key, queues)
        } else {
            first_hop_of(&mut self.forwarding, now, route, key, NoBacklogs)
        };
        self.without_route += u64::from(first.is_none());
        first
    }

    /// The next link of a packet that a router forwards hop by hop, or [`END`] at its host. `None`, and the packet is gone, if no route leads on
    /// or its time to live is over.
    #[inline(never)]
    pub(in crate::packet) fn next_hop(
        &mut self,
        now: Time,
        words: [u64; 3],
        node: NodeId,
        identity: &FlowIdentity,
        served: impl FnOnce() -> LinkId,
    ) -> Option<NextHop> {
        let packet = Packet::from_words(words);
        // A router with one next hop does not read the state of the flow, which is seldom in a cache here.
        match self.forwarding.only_next_hop(packet.hop_index(), node) {
            Some(END) => return Some((END, packet.hop_index())),
            Some(link) => {
                if let Some(decremented) = Forwarding::decrement_ttl(packet.hop_index()) {
                    return Some((link, decremented));
                }
            }
            None => {}
        }
        let number = if packet.has(HAS_SACK) { self.pool.selected_number(packet.number()) } else { packet.number() };
        let key = identity.key(packet.flow(), packet.has(ACK), number);
        let next_hop = self.next_hop_of_key(now, packet.hop_index(), node, &key, served);
        if next_hop.is_none() {
            self.discard(packet);
        }
        next_hop
    }

    /// [`Self::next_hop`] of a packet with this key and hop index. Counts a packet that goes no further.
    #[inline]
    pub(in crate::packet) fn next_hop_of_key(
        &mut self,
        now: Time,
        hop_index: u32,
        node: NodeId,
        key: &PacketKey,
        served: impl FnOnce() -> LinkId,
    ) -> Option<NextHop> {
        let next = if self.forwarding.reads_backlogs() {
            let (forwarding, queues) = self.forwarding_and_queues(now, served());
            forwarding.next_hop(hop_index, node, now, key, queues)
        } else {
            self.forwarding.next_hop(hop_index, node, now, key, NoBacklogs)
        };
        if next == Some(END) {
            return Some((END, hop_index));
        }
        let decremented = Forwarding::decrement_ttl(hop_index);
        self.without_route += u64::from(next.is_none());
        self.expired += u64::from(next.is_some() && decremented.is_none());
        next.zip(decremented)
    }

    /// The forwarding, and the queues that selectors read now. See [`Queues::served`] for `served`.
    fn forwarding_and_queues(&mut self, now: Time, served: LinkId) -> (&mut Forwarding, Queues<'_>) {
        let Network { links, fifos, sizes, pool, dropped, forwarding, .. } = self;
        (forwarding, Queues { now, served, links, fifos, sizes, pool, dropped })
    }

    /// Paths that a new flow's packets may take by this route.
    pub(in crate::packet) fn paths_of_flow(&mut self, route: RouteRef, src: NodeId) -> u32 {
        self.forwarding.paths_of_flow(route, src)
    }
}

/// Changes of the network.
impl Network {
    /// Takes a link down. Returns its packets, which are lost.
    pub(in crate::packet) fn fail(&mut self, now: Time, link: LinkId) -> Vec<Packet> {
        let lost = self.links[link as usize].fail(now, &self.sizes, &mut self.fifos);
        lost.iter().for_each(|packet| self.discard(*packet));
        self.forwarding.set_up(link, false);
        lost
    }

    /// Brings a link up again, empty.
    pub(in crate::packet) fn repair(&mut self, link: LinkId) {
        self.links[link as usize].repair();
        self.forwarding.set_up(link, true);
    }

    /// The wires of links lose packets differently, by the draws of the run with this seed after this number of changes.
    pub(in crate::packet) fn impair(&mut self, links: &[LinkId], loss: Option<&LossSpec>, seed: u64, changes: u32) {
        for &link in links {
            self.links[link as usize].change_loss(LossProcess::after_changes(loss, seed, link, changes));
        }
    }

    /// Recomputes the routes of a routing.
    pub(in crate::packet) fn reroute(&mut self, routing: usize) {
        self.forwarding.reroute(routing);
    }

    /// Takes a sample for a routing that measures its links, if one is due. Returns the time of the next sample, whether routes are computed
    /// now, and the estimates after a sample. `None` if the routing does not measure its links.
    pub(in crate::packet) fn measure(&mut self, now: Time, routing: usize) -> Option<Measurement<'_>> {
        let Network { links, forwarding, .. } = self;
        let controller = forwarding.controller(routing)?;
        let has_sampled = controller.sample(now, links.iter().map(Link::reading));
        let (computes, due) = (controller.computes(now), controller.due());
        Some(Measurement { due, computes, estimates: has_sampled.then(|| controller.estimates()) })
    }

    /// Resets the waits when the warm-up is over.
    pub(in crate::packet) fn forget_waits(&mut self) {
        self.links.iter_mut().for_each(Link::forget_waits);
    }
}

/// The result of a measurement by a routing's controller.
pub(in crate::packet) struct Measurement<'network> {
    pub due: Time,
    pub computes: bool,
    pub estimates: Option<&'network [Estimate]>,
}

/// The boundary between partitions.
impl Network {
    /// Keeps only the wire of a link, because its queue is in another partition.
    pub(in crate::packet) fn become_wire(&mut self, link: LinkId) {
        self.links[link as usize].become_wire();
    }

    /// Sets how long before their arrival packets may be removed from a link.
    pub(in crate::packet) fn set_epoch_length(&mut self, link: LinkId, by: Duration) {
        self.links[link as usize].set_epoch_length(by);
    }

    /// Puts a packet on the wire of a link whose queue is in another partition.
    pub(in crate::packet) fn put_on_wire(&mut self, link: LinkId, packet: Packet) {
        self.links[link as usize].put_on_wire(packet, &mut self.fifos);
    }

    /// Removes the packets that arrive over a link before an instant. They go to its far end in another partition, which counts their hops.
    pub(in crate::packet) fn drain_wire(
        &mut self,
        link: LinkId,
        before: Time,
        mut put: impl FnMut(&mut SackPool, Packet),
    ) {
        if self.link(link).is_simple() {
            let mut fifo = self.link(link).fifo();
            while let Some(packet) = self.pop_arrival(&mut fifo, before) {
                if packet.has(LOST) {
                    self.packet_hops += 1;
                    self.lose(link, packet);
                } else {
                    put(&mut self.pool, packet);
                }
            }
            self.fifos.release(&mut fifo);
            self.links[link as usize].return_fifo(fifo);
        } else {
            while self.link(link).next_arrival() < before {
                let packet = self.links[link as usize].on_arrival(&self.sizes, &mut self.fifos);
                if packet.has(LOST) {
                    self.packet_hops += 1;
                    self.discard(packet);
                } else {
                    put(&mut self.pool, packet);
                }
            }
        }
    }
}

#[cfg(test)]
impl Network {
    /// Counts packets that hosts have sent and received.
    pub(in crate::packet) fn count_at_hosts(&mut self, sent: u64, come: u64) {
        self.at_hosts.0 += sent;
        self.at_hosts.1 += come;
    }

    pub(in crate::packet) fn log_at_host(&mut self, event: HostEvent) {
        if let Some(log) = &mut self.host_log {
            log.push(event);
        }
    }

    pub(in crate::packet) fn at_hosts(&self) -> (u64, u64) {
        self.at_hosts
    }
}
