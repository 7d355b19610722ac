//! Runs: most packets come to their host with others of their flow right behind them, for what a window lets out together
//! stays together. So an end that nothing disturbs takes a run of them in one call, to the same effect as one by one
//! ([`super::hosts`]): what is the same for all of them (the flow, its connection, the way of what it answers) is looked up
//! once, and what cannot change among them is asked once.
//!
//! A run ends before a packet that is not the next of its kind: the next segment, or the next cumulative acknowledgement,
//! without anything beside it. No timer is due among its packets.

use super::flow::{Activity, Connection};
use super::forwarding::Way;
use super::inbox::{Inbox, Key, Rank};
use super::line::{Line, Lines};
use super::link::{Link, Offer};
use super::packet::{ACK, Packet, PacketSizes};
use super::simulation::{Engine, EventLoop, SENDER};
use super::wheel::Wheel;
use super::windows::Windows;
use crate::spec::LinkId;
use crate::tcp::sender::Undisturbed;
use crate::units::Time;

/// Where the packets that an end sends go first.
trait Outlet {
    fn send(&mut self, now: Time, packet: Packet, size: u32);
    fn lines(&mut self) -> &mut Lines;
}

/// A plain link that takes what is offered at once.
struct Direct<'engine> {
    id: LinkId,
    link: &'engine mut Link,
    wheel: &'engine mut Wheel,
    lines: &'engine mut Lines,
}

impl Outlet for Direct<'_> {
    #[inline(always)]
    fn send(&mut self, now: Time, packet: Packet, size: u32) {
        if let Offer::Due(at) = self.link.offer(now, packet, size, self.lines) {
            self.wheel.insert(self.id, at);
        }
    }

    #[inline(always)]
    fn lines(&mut self) -> &mut Lines {
        self.lines
    }
}

/// A link that puts in order what is offered, in phase 3.
struct Merged<'engine> {
    id: LinkId,
    inbox: &'engine mut Inbox,
    busy_links: &'engine mut Vec<LinkId>,
    begin: Time,
    rank: Rank,
    lines: &'engine mut Lines,
}

impl Outlet for Merged<'_> {
    #[inline(always)]
    fn send(&mut self, now: Time, mut packet: Packet, _size: u32) {
        if self.inbox.is_empty() {
            self.busy_links.push(self.id);
        }
        packet.arrives(now);
        self.inbox.put(Key::new(self.begin, now, self.rank), packet);
    }

    #[inline(always)]
    fn lines(&mut self) -> &mut Lines {
        self.lines
    }
}

/// The packets of a run, one after another.
struct Run {
    line: Line,
    packet: Packet,
    until: Time,
}

impl Run {
    /// Goes on to the next packet, if there is one.
    #[inline(always)]
    fn goes_on(&mut self, lines: &mut Lines) -> bool {
        match lines.pop_next(&mut self.line, &self.packet, self.until) {
            Some(next) => {
                self.packet = next;
                true
            }
            None => false,
        }
    }
}

/// A receiver answers every segment with such an ACK. Returns how many there were.
#[inline(always)]
fn answer_data(run: &mut Run, mut outlet: impl Outlet, flow: u32, first: u32, at: u32, size: u32) -> u32 {
    let mut number = first;
    loop {
        let mut ack = Packet::new(flow, run.packet.segment() + 1, number, ACK);
        ack.set_at(at);
        number = number.wrapping_add(1);
        outlet.send(run.packet.arrival(), ack, size);
        if !run.goes_on(outlet.lines()) {
            return number.wrapping_sub(first);
        }
    }
}

/// A sender takes one ACK after another, and sends what they let out.
#[inline(always)]
fn answer_acks(
    run: &mut Run,
    mut outlet: impl Outlet,
    sender: &mut Undisturbed,
    flow: u32,
    at: u32,
    sizes: &PacketSizes,
) {
    loop {
        let now = run.packet.arrival();
        for _ in 0..sender.take_ack(now) {
            let (segment, number) = sender.send(now);
            let mut data = Packet::new(flow, segment, number, 0);
            data.set_at(at);
            outlet.send(now, data, sizes.of(&data));
        }
        sender.stop();
        if !run.goes_on(outlet.lines()) {
            return;
        }
    }
}

impl Engine<Windows> {
    /// Takes a packet that has come to its host by this line, and those behind it that continue its run.
    #[inline(always)]
    pub(super) fn take_run(&mut self, link: LinkId, line: &mut Line, packet: Packet) {
        self.pass_time(link, packet.arrival());
        let is_taken = if packet.is_plain_data() {
            self.take_data(line, packet.words())
        } else {
            packet.is_plain_ack() && self.take_acks(line, packet.words())
        };
        if !is_taken {
            self.deliver(packet);
        }
    }

    /// A run of data comes to its receiver, which acknowledges every segment at once.
    #[inline(never)]
    fn take_data(&mut self, line: &mut Line, words: [u64; 3]) -> bool {
        let Engine { flows, links, lines, order, forwarding, sizes, .. } = self;
        let packet = Packet::from_words(words);
        let flow = packet.flow();
        let mut run = Run { line: *line, packet, until: order.undisturbed_until() };
        let state = &mut flows[flow as usize];
        let Activity::Tcp(connection) = &mut state.activity else { return false };
        let Connection { receiver, acks_sent, .. } = &mut **connection;
        let Way::Route(position) = state.identity.reverse else { return false };
        if !receiver.is_undisturbed() || receiver.delivered() != packet.segment() {
            return false;
        }
        let sizes = &sizes[flow as usize];
        let (first, size) = (*acks_sent, u32::from(sizes.header()));
        let id = forwarding.next_on_route(position);
        let count = if !order.takes_at_once(id) {
            let Windows { inboxes, busy_links, begin, rank, .. } = order;
            let outlet = Merged { id, inbox: &mut inboxes[id as usize], busy_links, begin: *begin, rank: *rank, lines };
            answer_data(&mut run, outlet, flow, first, position + 1, size)
        } else if links[id as usize].is_unwatched() {
            let outlet = Direct { id, link: &mut links[id as usize], wheel: &mut order.wheel, lines };
            answer_data(&mut run, outlet, flow, first, position + 1, size)
        } else {
            return false;
        };
        *line = run.line;
        *acks_sent = first.wrapping_add(count);
        receiver.take_run(count);
        if receiver.delivered() > sizes.last_segment && state.end == Time::NEVER {
            state.end = run.packet.arrival();
        }
        self.now = run.packet.arrival();
        #[cfg(test)]
        {
            self.at_hosts.0 += u64::from(count);
            self.at_hosts.1 += u64::from(count);
        }
        true
    }

    /// A run of ACKs comes to its sender.
    #[inline(never)]
    fn take_acks(&mut self, line: &mut Line, words: [u64; 3]) -> bool {
        let Engine { flows, links, lines, order, forwarding, sizes, .. } = self;
        let packet = Packet::from_words(words);
        let flow = packet.flow();
        let mut run = Run { line: *line, packet, until: order.undisturbed_until() };
        let state = &mut flows[flow as usize];
        let Activity::Tcp(connection) = &mut state.activity else { return false };
        let Way::Route(position) = state.identity.forward else { return false };
        let Some(mut sender) = connection.sender.undisturbed(packet.segment(), order.until - packet.arrival()) else {
            return false;
        };
        #[cfg(test)]
        let before = sender.counts();
        let sizes = &sizes[flow as usize];
        let id = forwarding.next_on_route(position);
        if !order.takes_at_once(id) {
            let Windows { inboxes, busy_links, begin, rank, .. } = order;
            let outlet = Merged { id, inbox: &mut inboxes[id as usize], busy_links, begin: *begin, rank: *rank, lines };
            answer_acks(&mut run, outlet, &mut sender, flow, position + 1, sizes);
        } else if links[id as usize].is_unwatched() {
            let outlet = Direct { id, link: &mut links[id as usize], wheel: &mut order.wheel, lines };
            answer_acks(&mut run, outlet, &mut sender, flow, position + 1, sizes);
        } else {
            return false;
        }
        *line = run.line;
        #[cfg(test)]
        {
            let (sent, taken) = sender.counts();
            self.at_hosts.0 += u64::from(sent - before.0);
            self.at_hosts.1 += u64::from(taken - before.1);
        }
        let rests = sender.rests_until(order.armed(flow, SENDER));
        self.now = run.packet.arrival();
        if !rests {
            self.settle(flow);
        }
        true
    }
}
