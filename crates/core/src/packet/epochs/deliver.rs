//! Bursts: packets of one flow that arrive right behind one another.
//!
//! A sender sends several packets of a window together, and most stay together. An end takes a burst in one call, which looks up the flow, its
//! connection, the first link of its answers and their sizes once. The results are those of single packets ([`crate::packet::engine::hosts`]).
//!
//! Many facts about an end hold until a packet comes that is not the next segment, or acknowledges more than the next one. They are computed once
//! per burst. Any other packet goes through the general path. A burst ends before any timer that is due at its node, and where the end may need a
//! timer before the epoch is over.

use crate::packet::engine::network::LinkAccess;
use crate::packet::engine::{Engine, EventLoop, SENDER};
use crate::packet::epochs::event_loop::EpochLoop;
use crate::packet::epochs::inbox::{Inbox, Key, Rank};
use crate::packet::epochs::timing_wheel::TimingWheel;
use crate::packet::forwarding::RouteRef;
use crate::packet::hosts::flow::{Connection, FlowState};
use crate::packet::link::fifo::{Fifo, FifoStore};
use crate::packet::link::packet::{ACK, HAS_SACK, Packet, SYN};
use crate::packet::link::packet_sizes::PacketSizes;
use crate::packet::link::sack_pool::SackPool;
use crate::packet::link::{Link, Offer};
use crate::spec::LinkId;
use crate::units::Time;

/// Where the packets that an end sends go first.
trait Outlet {
    /// Returns `false` if the packet is dropped.
    fn send(&mut self, now: Time, packet: Packet, size: u32, fifos: &mut FifoStore) -> bool;
}

/// A simple link that takes at once what is offered.
struct Direct<'engine> {
    id: LinkId,
    link: &'engine mut Link,
    wheel: &'engine mut TimingWheel,
}

impl Outlet for Direct<'_> {
    #[inline(always)]
    fn send(&mut self, now: Time, packet: Packet, size: u32, fifos: &mut FifoStore) -> bool {
        let offer = self.link.offer(now, packet, size, fifos);
        if let Offer::Due(at) = offer {
            self.wheel.insert(self.id, at);
        }
        offer != Offer::Dropped
    }
}

/// A link that puts in order what is offered, in phase 3.
struct Merged<'engine> {
    id: LinkId,
    inbox: &'engine mut Inbox,
    busy_links: &'engine mut Vec<LinkId>,
    begin: Time,
    rank: Rank,
}

impl Outlet for Merged<'_> {
    #[inline(always)]
    fn send(&mut self, now: Time, mut packet: Packet, _size: u32, _lines: &mut FifoStore) -> bool {
        if self.inbox.is_empty() {
            self.busy_links.push(self.id);
        }
        packet.arrives(now);
        self.inbox.put(Key::new(self.begin, now, self.rank), packet);
        true
    }
}

/// What is the same for all packets that an end sends.
#[derive(Clone, Copy)]
struct PacketTemplate<'engine> {
    flow: u32,
    /// Where they go after their first link.
    at: u32,
    sizes: &'engine PacketSizes,
}

impl PacketTemplate<'_> {
    #[inline(always)]
    fn packet(&self, segment: u32, number: u32, flags: u64) -> Packet {
        let mut packet = Packet::new(self.flow, segment, number, flags);
        packet.set_at(self.at);
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
    /// The next packet of the same flow and direction, if that comes next; requests to
    /// connect and their answers do not belong to a burst. Routes visit no node twice, so it has come to its end, too.
    #[inline(always)]
    fn next(&self) -> Option<Packet> {
        self.next_if(|next| next.is_of_same_end(&self.packet) && !next.has(SYN))
    }

    /// The same if it is the next segment, or acknowledges just the next, like the packet before.
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

    /// Goes on to the next packet.
    #[inline(always)]
    fn go_on(&mut self, next: Packet) {
        self.packet = next;
        self.fifos.pass_packet(&mut self.fifo);
    }

    /// The FIFO without the packets of the burst.
    #[inline(always)]
    fn rest(mut self) -> Fifo {
        self.fifos.find_first_arrival(&mut self.fifo);
        self.fifo
    }

    /// A receiver takes data, and acknowledges every segment at once.
    #[inline(always)]
    fn deliver_to_receiver(
        &mut self,
        connection: &mut Connection,
        end: &mut Time,
        course: &PacketTemplate,
        mut outlet: impl Outlet,
    ) {
        let size = u32::from(course.sizes.header());
        loop {
            if self.packet.is_plain_data() && connection.receiver.predicts(self.packet.segment()) {
                let first = connection.acks_sent;
                let mut number = first;
                loop {
                    let ack = course.packet(self.packet.segment() + 1, number, ACK);
                    number = number.wrapping_add(1);
                    outlet.send(self.packet.arrival(), ack, size, self.fifos);
                    let Some(next) = self.next_in_order() else { break };
                    self.go_on(next);
                }
                connection.acks_sent = number;
                connection.receiver.on_predicted_burst(number.wrapping_sub(first));
            } else {
                self.answer_disturbed(connection, course, &mut outlet);
            }
            if connection.receiver.delivered() > course.sizes.last_segment && *end == Time::NEVER {
                *end = self.packet.arrival();
            }
            let Some(next) = self.next() else { return };
            self.go_on(next);
        }
    }

    #[inline(always)]
    fn answer_disturbed(&mut self, connection: &mut Connection, course: &PacketTemplate, outlet: &mut impl Outlet) {
        let now = self.packet.arrival();
        let last = course.sizes.last_segment;
        let Some(mut ack) = connection.answer(now, self.packet.words(), last, self.pool) else { return };
        ack.set_at(course.at);
        let size = u32::from(course.sizes.header());
        if !outlet.send(now, ack, size, self.fifos) && ack.has(HAS_SACK) {
            self.pool.release(ack.number());
        }
    }

    /// A sender takes ACKs, and sends what each lets out.
    #[inline(always)]
    fn deliver_to_sender(
        &mut self,
        connection: &mut Connection,
        course: &PacketTemplate,
        until: Time,
        outlet: impl Outlet,
    ) {
        if connection.sender.detector_learns() {
            self.deliver_acks::<true>(connection, course, until, outlet);
        } else {
            self.deliver_acks::<false>(connection, course, until, outlet);
        }
    }

    /// The same for a sender whose detector learns from every ACK, or for one whose does not.
    #[inline(always)]
    fn deliver_acks<const LEARNS: bool>(
        &mut self,
        connection: &mut Connection,
        course: &PacketTemplate,
        epoch_end: Time,
        mut outlet: impl Outlet,
    ) {
        let rests = connection.sender.stays_quiet_after_advance(epoch_end - self.packet.arrival());
        loop {
            let mut is_undisturbed = false;
            if self.packet.is_plain_ack()
                && let Some(mut sender) = connection.sender.predict_acks::<LEARNS>(self.packet.segment())
            {
                loop {
                    let now = self.packet.arrival();
                    is_undisturbed = sender.on_ack(now, epoch_end);
                    if !is_undisturbed {
                        break;
                    }
                    for _ in 0..sender.to_send() {
                        let (segment, number) = sender.send(now);
                        let data = course.packet(segment, number, 0);
                        outlet.send(now, data, course.sizes.of(&data), self.fifos);
                    }
                    sender.stop();
                    let Some(next) = self.next_in_order().filter(|_| rests) else { break };
                    self.go_on(next);
                }
            } else {
                connection.take_ack(self.packet.arrival(), self.packet.words(), self.pool);
            }
            if !is_undisturbed {
                self.send_disturbed(connection, course, &mut outlet);
            }
            let Some(next) = self.next() else { return };
            // An ACK that does not advance may have brought a deadline into the window.
            if connection.sender.is_done() || !connection.sender.no_deadline_before(epoch_end) {
                return;
            }
            self.go_on(next);
        }
    }

    #[inline(always)]
    fn send_disturbed(&mut self, connection: &mut Connection, course: &PacketTemplate, outlet: &mut impl Outlet) {
        let now = self.packet.arrival();
        if let Some(burst) = connection.sender.poll_burst(now) {
            for index in 0..burst.count {
                let data = course.packet(burst.segment + index, burst.number + index, 0);
                outlet.send(now, data, course.sizes.of(&data), self.fifos);
            }
            return;
        }
        while let Some((mut data, _)) = connection.next_packet(course.flow, now) {
            data.set_at(course.at);
            outlet.send(now, data, course.sizes.of(&data), self.fifos);
        }
    }
}

impl Engine<EpochLoop> {
    /// Takes a packet that has come to its host by this FIFO, and those behind it that continue its burst.
    #[inline(always)]
    pub(in crate::packet) fn take_burst(&mut self, link: LinkId, fifo: &mut Fifo, packet: Packet) {
        self.pass_time(link, packet.arrival());
        let is_taken = if packet.has(SYN) {
            false
        } else if packet.has(ACK) {
            self.take_acks(fifo, packet.words())
        } else {
            self.take_data(fifo, packet.words())
        };
        if !is_taken {
            self.deliver(packet);
        }
    }

    /// A burst of data; `false`, and nothing done, if it is not to be taken as one.
    #[inline(never)]
    fn take_data(&mut self, fifo: &mut Fifo, words: [u64; 3]) -> bool {
        let Engine { clock, network, hosts, order, .. } = self;
        let packet = Packet::from_words(words);
        let flow = packet.flow();
        let state = hosts.flow_mut(flow);
        let FlowState::Tcp(connection) = &mut state.activity else { return false };
        let RouteRef::Route(position) = state.identity.reverse else { return false };
        let id = network.forwarding().next_on_route(position);
        let takes_at_once = order.takes_at_once(id);
        if connection.receiver.may_wait() || takes_at_once && !network.link(id).is_uninstrumented() {
            return false;
        }
        #[cfg(test)]
        let before = (connection.acks_sent, fifo.len() + 1);
        let LinkAccess { link, fifos, pool, sizes } = network.access(id);
        let course = PacketTemplate { flow, at: position + 1, sizes: &sizes[flow as usize] };
        let mut burst = Burst { fifo: *fifo, fifos, pool, packet, until: order.undisturbed_until() };
        if takes_at_once {
            let outlet = Direct { id, link, wheel: &mut order.wheel };
            burst.deliver_to_receiver(connection, &mut state.end, &course, outlet);
        } else {
            burst.deliver_to_receiver(connection, &mut state.end, &course, order.merged(id));
        }
        let now = burst.packet.arrival();
        *fifo = burst.rest();
        clock.set(now);
        #[cfg(test)]
        network
            .count_at_hosts(u64::from(connection.acks_sent.wrapping_sub(before.0)), u64::from(before.1 - fifo.len()));
        true
    }

    /// A burst of ACKs; `false`, and nothing done, if it is not to be taken as one.
    #[inline(never)]
    fn take_acks(&mut self, fifo: &mut Fifo, words: [u64; 3]) -> bool {
        let Engine { clock, network, hosts, order, .. } = self;
        let packet = Packet::from_words(words);
        let flow = packet.flow();
        let state = hosts.flow_mut(flow);
        let FlowState::Tcp(connection) = &mut state.activity else { return false };
        let RouteRef::Route(position) = state.identity.forward else { return false };
        let id = network.forwarding().next_on_route(position);
        let takes_at_once = order.takes_at_once(id);
        if !connection.sender.takes_bursts() || takes_at_once && !network.link(id).is_uninstrumented() {
            return false;
        }
        let epoch_end = order.until;
        #[cfg(test)]
        let before = (connection.sender.scoreboard().next_transmission(), fifo.len() + 1);
        let LinkAccess { link, fifos, pool, sizes } = network.access(id);
        let course = PacketTemplate { flow, at: position + 1, sizes: &sizes[flow as usize] };
        let mut burst = Burst { fifo: *fifo, fifos, pool, packet, until: order.undisturbed_until() };
        if takes_at_once {
            let outlet = Direct { id, link, wheel: &mut order.wheel };
            burst.deliver_to_sender(connection, &course, epoch_end, outlet);
        } else {
            burst.deliver_to_sender(connection, &course, epoch_end, order.merged(id));
        }
        let now = burst.packet.arrival();
        *fifo = burst.rest();
        clock.set(now);
        #[cfg(test)]
        network.count_at_hosts(
            u64::from(connection.sender.scoreboard().next_transmission() - before.0),
            u64::from(before.1 - fifo.len()),
        );
        if connection.sender.is_done() || !connection.sender.quiet_until(order.armed(flow, SENDER)) {
            let (hosts, mut context) = self.hosts();
            hosts.settle(flow, &mut context);
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
