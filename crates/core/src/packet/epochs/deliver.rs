//! Bursts: packets of one flow that arrive one right after another.
//!
//! A sender sends several packets of a window together, and most stay together. A host processes a burst in one call, which looks up the flow, its
//! connection, the first link of its answers and their sizes once. The results are those of single packets ([`crate::packet::engine::hosts`]).
//!
//! Many conditions hold until a packet arrives that is not the next segment, or that acknowledges more than the next segment. They are checked once per
//! burst. Any other packet takes the general path. A burst ends before the next timer of its node, and also where its end may need a timer in this
//! epoch.

use crate::packet::engine::network::LinkAccess;
use crate::packet::engine::{Engine, EventLoop, SENDER};
use crate::packet::epochs::event_loop::EpochLoop;
use crate::packet::epochs::inbox::{Inbox, Key, Rank};
use crate::packet::epochs::timing_wheel::TimingWheel;
use crate::packet::forwarding::RouteRef;
use crate::packet::hosts::flow::{Connection, Flow, FlowState};
use crate::packet::link::fifo::{Fifo, FifoStore};
use crate::packet::link::packet::{ACK, HAS_SACK, PUSH, Packet, SYN, flag_if};
use crate::packet::link::packet_sizes::PacketSizes;
use crate::packet::link::sack_pool::SackPool;
use crate::packet::link::{Link, Offer};
use crate::spec::LinkId;
use crate::units::Time;

/// The first link of the packets that an end sends.
trait Outlet {
    /// Returns `false` if the packet is dropped.
    fn send(&mut self, now: Time, packet: Packet, size: u32, fifos: &mut FifoStore) -> bool;
}

/// A simple link that packets enter at once.
struct Direct<'engine> {
    id: LinkId,
    link: &'engine mut Link,
    wheel: &'engine mut TimingWheel,
}

impl Outlet for Direct<'_> {
    #[inline(always)]
    fn send(&mut self, now: Time, packet: Packet, size: u32, fifos: &mut FifoStore) -> bool {
        let offer = self.link.offer::<false>(now, packet, size, fifos);
        if let Offer::Due(at) = offer {
            self.wheel.insert(self.id, at);
        }
        offer != Offer::Dropped
    }
}

/// A link that packets enter in phase 3.
struct Merged<'engine> {
    id: LinkId,
    inbox: &'engine mut Inbox,
    busy_links: &'engine mut Vec<LinkId>,
    begin: Time,
    rank: Rank,
}

impl Outlet for Merged<'_> {
    #[inline(always)]
    fn send(&mut self, now: Time, mut packet: Packet, _size: u32, _fifos: &mut FifoStore) -> bool {
        if self.inbox.is_empty() {
            self.busy_links.push(self.id);
        }
        packet.set_arrival(now);
        self.inbox.put(Key::new(self.begin, now, self.rank), packet);
        true
    }
}

/// The fields that all packets of one end share.
#[derive(Clone, Copy)]
struct PacketTemplate<'engine> {
    flow: u32,
    /// The packets' hop index after the first link.
    hop_index: u32,
    sizes: &'engine PacketSizes,
}

impl PacketTemplate<'_> {
    #[inline(always)]
    fn packet(&self, segment: u32, number: u32, flags: u64) -> Packet {
        let mut packet = Packet::new(self.flow, segment, number, flags);
        packet.set_hop_index(self.hop_index);
        packet
    }
}

/// The packets of a burst, one after another.
struct Burst<'engine> {
    fifo: Fifo,
    fifos: &'engine mut FifoStore,
    pool: &'engine mut SackPool,
    packet: Packet,
    until: Time,
}

impl Burst<'_> {
    /// The next packet, if it has the same flow and direction; SYNs do not belong to a burst. Routes visit no node twice, so the packet has reached its
    /// host, too.
    #[inline(always)]
    fn next(&self) -> Option<Packet> {
        self.next_if(|next| next.goes_to_same_end(&self.packet) && !next.has(SYN))
    }

    /// The next packet, if it is the next segment of the flow, or acknowledges exactly the next segment, as the packet before.
    #[inline(always)]
    fn next_in_order(&self) -> Option<Packet> {
        self.next_if(|next| next.follows(&self.packet))
    }

    #[inline(always)]
    fn next_if(&self, belongs: impl FnOnce(&Packet) -> bool) -> Option<Packet> {
        if self.fifo.is_empty() {
            return None;
        }
        let next = *self.fifos.at(self.fifo.first_slot());
        (next.arrival() < self.until && belongs(&next)).then_some(next)
    }

    /// Advances to the next packet.
    #[inline(always)]
    fn go_on(&mut self, next: Packet) {
        self.packet = next;
        self.fifos.advance(&mut self.fifo);
    }

    /// The FIFO without the packets of the burst.
    #[inline(always)]
    fn rest(mut self) -> Fifo {
        self.fifos.update_first_arrival(&mut self.fifo);
        self.fifo
    }

    /// Processes the burst: `ACKS` at the sender, data at the receiver.
    #[inline(always)]
    fn deliver<const ACKS: bool>(
        &mut self,
        connection: &mut Connection,
        end: &mut Time,
        template: &PacketTemplate,
        epoch_end: Time,
        outlet: impl Outlet,
    ) {
        if !ACKS {
            self.deliver_to_receiver(connection, end, template, outlet);
        } else if connection.sender.detector_learns() {
            self.deliver_to_sender::<true>(connection, template, epoch_end, outlet);
        } else {
            self.deliver_to_sender::<false>(connection, template, epoch_end, outlet);
        }
    }

    /// Processes data at a receiver that acknowledges every segment at once.
    #[inline(always)]
    fn deliver_to_receiver(
        &mut self,
        connection: &mut Connection,
        end: &mut Time,
        template: &PacketTemplate,
        mut outlet: impl Outlet,
    ) {
        let size = u32::from(template.sizes.header());
        loop {
            if self.packet.is_plain_data() && connection.receiver.predicts(self.packet.segment()) {
                let first = connection.acks_sent;
                let mut number = first;
                loop {
                    let ack = template.packet(self.packet.segment() + 1, number, ACK);
                    number = number.wrapping_add(1);
                    outlet.send(self.packet.arrival(), ack, size, self.fifos);
                    let Some(next) = self.next_in_order() else { break };
                    self.go_on(next);
                }
                connection.acks_sent = number;
                connection.receiver.on_predicted_burst(number.wrapping_sub(first));
            } else {
                self.answer_any(connection, template, &mut outlet);
            }
            if connection.receiver.delivered() > template.sizes.last_segment && *end == Time::NEVER {
                *end = self.packet.arrival();
                return; // another flow may start now
            }
            let Some(next) = self.next() else { return };
            self.go_on(next);
        }
    }

    #[inline(always)]
    fn answer_any(&mut self, connection: &mut Connection, template: &PacketTemplate, outlet: &mut impl Outlet) {
        let (now, last) = (self.packet.arrival(), template.sizes.last_segment);
        if let Some(ack) = connection.answer(now, self.packet.words(), last, self.pool) {
            self.send(ack, template.sizes.of_ack(&ack), template, outlet);
        }
    }

    /// Sends a packet of the end. Frees its SACK blocks if the link drops it.
    #[inline(always)]
    fn send(&mut self, mut packet: Packet, size: u32, template: &PacketTemplate, outlet: &mut impl Outlet) {
        packet.set_hop_index(template.hop_index);
        if !outlet.send(self.packet.arrival(), packet, size, self.fifos) && packet.has(HAS_SACK) {
            self.pool.release(packet.number());
        }
    }

    /// Processes ACKs at a sender, and sends the segments that each ACK allows. `LEARNS`: the detector learns from every ACK.
    #[inline(always)]
    fn deliver_to_sender<const LEARNS: bool>(
        &mut self,
        connection: &mut Connection,
        template: &PacketTemplate,
        epoch_end: Time,
        mut outlet: impl Outlet,
    ) {
        let stays_quiet = connection.sender.stays_quiet_after_advance(epoch_end - self.packet.arrival());
        loop {
            let mut is_undisturbed = false;
            if self.packet.is_plain_ack()
                && connection.echo == 0
                && let Some(mut sender) = connection.sender.predict_acks::<LEARNS>(self.packet.segment())
            {
                loop {
                    let now = self.packet.arrival();
                    is_undisturbed = sender.on_ack(now, epoch_end);
                    if !is_undisturbed {
                        break;
                    }
                    for _ in 0..sender.to_send() {
                        let (segment, number, push) = sender.send(now);
                        let data = template.packet(segment, number, flag_if(PUSH, push));
                        outlet.send(now, data, template.sizes.of(&data), self.fifos);
                    }
                    sender.stop();
                    let Some(next) = self.next_in_order().filter(|_| stays_quiet) else { break };
                    self.go_on(next);
                }
            } else {
                connection.take_ack(self.packet.arrival(), self.packet.words(), self.pool);
            }
            if !is_undisturbed {
                self.send_any(connection, template, &mut outlet);
            }
            let Some(next) = self.next() else { return };
            // An ACK that does not advance may have set a deadline in this epoch.
            if connection.sender.is_done() || !connection.sender.no_deadline_before(epoch_end) {
                return;
            }
            self.go_on(next);
        }
    }

    #[inline(always)]
    fn send_any(&mut self, connection: &mut Connection, template: &PacketTemplate, outlet: &mut impl Outlet) {
        let now = self.packet.arrival();
        if connection.echo == 0
            && let Some(burst) = connection.sender.poll_burst(now)
        {
            for index in 0..burst.count {
                let data = template.packet(burst.segment + index, burst.number + index, 0);
                outlet.send(now, data, template.sizes.of(&data), self.fifos);
            }
            return;
        }
        while let Some((data, _)) = connection.next_packet(template.flow, now, self.pool) {
            self.send(data, template.sizes.of(&data), template, outlet);
        }
    }
}

impl Engine<EpochLoop> {
    /// Processes a packet from this FIFO that has reached its host, and the packets behind it that continue its burst.
    #[inline(always)]
    pub(super) fn take_burst(&mut self, link: LinkId, fifo: &mut Fifo, packet: Packet) {
        self.advance_to_arrival(link, packet.arrival());
        let is_processed = if packet.has(SYN) {
            false
        } else if packet.has(ACK) {
            self.take_packets::<true>(fifo, packet.words())
        } else {
            self.take_packets::<false>(fifo, packet.words())
        };
        if !is_processed {
            self.deliver(packet);
        }
    }

    /// Processes a burst at its end: `ACKS` at the sender, data at the receiver. `false`, and nothing is changed, if a burst is not possible.
    #[inline(never)]
    fn take_packets<const ACKS: bool>(&mut self, fifo: &mut Fifo, words: [u64; 3]) -> bool {
        let Engine { clock, network, hosts, event_loop, .. } = self;
        let packet = Packet::from_words(words);
        let flow = packet.flow();
        let Flow { identity, state, end } = hosts.flow_mut(flow);
        let FlowState::Tcp(connection) = state else { return false };
        let RouteRef::Route(start) = identity.route(!ACKS) else { return false };
        let id = network.forwarding().next_on_route(start);
        let enters_at_once = event_loop.enters_at_once(id);
        let takes_bursts = if ACKS { connection.sender.takes_bursts() } else { !connection.receiver.may_wait() };
        if !takes_bursts || enters_at_once && !network.link(id).is_uninstrumented() {
            return false;
        }
        #[cfg(test)]
        let before = (connection.packets_sent(ACKS), fifo.len() + 1);
        let had_ended = *end != Time::NEVER;
        let epoch_end = event_loop.until;
        let LinkAccess { link, fifos, pool, sizes } = network.access(id);
        let template = PacketTemplate { flow, hop_index: start + 1, sizes: &sizes[flow as usize] };
        let mut burst = Burst { fifo: *fifo, fifos, pool, packet, until: event_loop.timers_after() };
        if enters_at_once {
            let outlet = Direct { id, link, wheel: &mut event_loop.wheel };
            burst.deliver::<ACKS>(connection, end, &template, epoch_end, outlet);
        } else {
            burst.deliver::<ACKS>(connection, end, &template, epoch_end, event_loop.merged(id));
        }
        let now = burst.packet.arrival();
        *fifo = burst.rest();
        clock.set(now);
        #[cfg(test)]
        network.count_at_hosts(
            u64::from(connection.packets_sent(ACKS).wrapping_sub(before.0)),
            u64::from(before.1 - fifo.len()),
        );
        if ACKS && (connection.sender.is_done() || !connection.sender.quiet_until(event_loop.armed(flow, SENDER))) {
            let (hosts, mut context) = self.hosts_in_context();
            hosts.arm_or_retire(flow, &mut context);
        } else if !ACKS && *end == now && !had_ended {
            let (hosts, mut context) = self.hosts_in_context();
            hosts.on_delivered(flow, &mut context);
        }
        true
    }
}

impl EpochLoop {
    #[inline(always)]
    fn merged(&mut self, id: LinkId) -> Merged<'_> {
        let EpochLoop { inboxes, busy_links, begin, rank, .. } = self;
        Merged { id, inbox: &mut inboxes[id as usize], busy_links, begin: *begin, rank: *rank }
    }
}
