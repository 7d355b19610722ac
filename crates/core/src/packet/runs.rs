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
use super::packet::{ACK, Packet};
use super::simulation::Engine;
use super::wheel::Wheel;
use super::windows::{Feed, Windows};
use crate::spec::LinkId;
use crate::units::Time;

/// The first link of what an end sends.
struct Outlet<'engine> {
    id: LinkId,
    link: &'engine mut Link,
    /// If what is offered waits for phase 3.
    inbox: Option<&'engine mut Inbox>,
    wheel: &'engine mut Wheel,
    busy_links: &'engine mut Vec<LinkId>,
    begin: Time,
    rank: Rank,
}

impl<'engine> Outlet<'engine> {
    /// `None` for a link to which more happens than that it takes packets.
    #[inline(always)]
    fn new(id: LinkId, links: &'engine mut [Link], order: &'engine mut Windows) -> Option<Outlet<'engine>> {
        let link = &mut links[id as usize];
        let is_direct = match order.feeds[id as usize] {
            Feed::Link => true,
            Feed::Node => order.in_order,
            Feed::Merged => false,
        };
        if is_direct && !link.is_unwatched() {
            return None;
        }
        let inbox = if is_direct { None } else { Some(&mut order.inboxes[id as usize]) };
        Some(Outlet {
            id,
            link,
            inbox,
            wheel: &mut order.wheel,
            busy_links: &mut order.busy_links,
            begin: order.begin,
            rank: order.rank,
        })
    }

    #[inline(always)]
    fn send(&mut self, now: Time, mut packet: Packet, size: u32, lines: &mut Lines) {
        match &mut self.inbox {
            None => {
                if let Offer::Due(at) = self.link.offer(now, packet, size, lines) {
                    self.wheel.insert(self.id, at);
                }
            }
            Some(inbox) => {
                if inbox.is_empty() {
                    self.busy_links.push(self.id);
                }
                packet.arrives(now);
                inbox.put(Key::new(self.begin, now, self.rank), packet);
            }
        }
    }
}

impl Engine<Windows> {
    /// Takes a packet that has come to its host by this line, and those behind it that continue its run.
    #[inline(always)]
    pub(super) fn take_run(&mut self, link: LinkId, line: &mut Line, packet: Packet) {
        if !self.order.soon.is_empty() {
            self.fire_timers(packet.arrival(), Rank::arrival(link));
            self.order.rank = Rank::arrival(link);
        } else if packet.is_plain_data() {
            if self.take_data(line, packet) {
                return;
            }
        } else if packet.is_plain_ack() && self.take_acks(line, packet) {
            return;
        }
        self.now = packet.arrival();
        self.deliver(packet);
    }

    /// A run of data comes to its receiver, which acknowledges every segment at once.
    #[inline(always)]
    fn take_data(&mut self, line: &mut Line, first: Packet) -> bool {
        let Engine { flows, links, lines, order, forwarding, sizes, .. } = self;
        let (flow, until) = (first.flow(), order.until);
        let state = &mut flows[flow as usize];
        let Activity::Tcp(connection) = &mut state.activity else { return false };
        let Connection { receiver, acks_sent, .. } = &mut **connection;
        let Way::Route(position) = state.identity.reverse else { return false };
        if !receiver.is_undisturbed() || receiver.delivered() != first.segment() {
            return false;
        }
        let Some(mut outlet) = Outlet::new(forwarding.next_on_route(position), links, order) else { return false };
        let sizes = &sizes[flow as usize];
        let size = u32::from(sizes.header());
        let mut packet = first;
        let mut number = *acks_sent;
        loop {
            let mut ack = Packet::new(flow, packet.segment() + 1, number, ACK);
            ack.set_at(position + 1);
            number = number.wrapping_add(1);
            outlet.send(packet.arrival(), ack, size, lines);
            match lines.pop_next(line, &packet, until) {
                Some(next) => packet = next,
                None => break,
            }
        }
        let count = number.wrapping_sub(*acks_sent);
        *acks_sent = number;
        receiver.take_run(count);
        if receiver.delivered() > sizes.last_segment && state.end == Time::NEVER {
            state.end = packet.arrival();
        }
        self.now = packet.arrival();
        #[cfg(test)]
        {
            self.at_hosts.0 += u64::from(count);
            self.at_hosts.1 += u64::from(count);
        }
        true
    }

    /// A run of ACKs comes to its sender.
    #[inline(always)]
    fn take_acks(&mut self, line: &mut Line, first: Packet) -> bool {
        let Engine { flows, links, lines, order, forwarding, sizes, .. } = self;
        let (flow, until) = (first.flow(), order.until);
        let state = &mut flows[flow as usize];
        let Activity::Tcp(connection) = &mut state.activity else { return false };
        let Way::Route(position) = state.identity.forward else { return false };
        let Some(mut sender) = connection.sender.undisturbed(first.segment(), until - first.arrival()) else {
            return false;
        };
        let Some(mut outlet) = Outlet::new(forwarding.next_on_route(position), links, order) else { return false };
        let sizes = &sizes[flow as usize];
        let mut packet = first;
        #[cfg(test)]
        let mut at_hosts = self.at_hosts;
        loop {
            let now = packet.arrival();
            let burst = sender.take_ack(now);
            for index in 0..burst.count {
                let mut data = Packet::new(flow, burst.segment + index, burst.number + index, 0);
                data.set_at(position + 1);
                let size = sizes.of(&data);
                outlet.send(now, data, size, lines);
            }
            #[cfg(test)]
            {
                at_hosts.0 += u64::from(burst.count);
                at_hosts.1 += 1;
            }
            match lines.pop_next(line, &packet, until) {
                Some(next) => packet = next,
                None => break,
            }
        }
        #[cfg(test)]
        {
            self.at_hosts = at_hosts;
        }
        self.now = packet.arrival();
        self.settle(flow);
        true
    }
}
