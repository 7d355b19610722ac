//! What hosts may use while they process an event: the time, their timers, the SACK pool, and the first links of their packets.

use crate::packet::capture::recorder::Captures;
use crate::packet::engine::EventLoop;
use crate::packet::engine::clock::{Clock, NetworkEvent};
use crate::packet::engine::network::Network;
use crate::packet::hosts::delays;
use crate::packet::hosts::flow::FlowIdentity;
use crate::packet::link::packet::{ACK, Packet};
use crate::spec::RunSpec;
use crate::units::Time;

/// All of an engine but its hosts.
pub(in crate::packet) struct HostContext<'engine, L> {
    pub spec: &'engine RunSpec,
    pub clock: &'engine mut Clock,
    pub network: &'engine mut Network,
    pub captures: &'engine mut Captures,
    pub event_loop: &'engine mut L,
}

impl<L: EventLoop> HostContext<'_, L> {
    #[inline(always)]
    pub(in crate::packet) fn now(&self) -> Time {
        self.clock.now()
    }

    /// Sends a packet from its host: data from the sender and ACKs from the receiver. Selectors see its `number`.
    #[inline(always)]
    pub(in crate::packet) fn send(&mut self, mut packet: Packet, number: u32, identity: &FlowIdentity) {
        #[cfg(test)]
        {
            self.network.count_at_hosts(1, 0);
            self.network.log_at_host(crate::packet::engine::network::HostEvent::Sent(packet, number, self.now()));
        }
        let now = self.clock.now();
        if self.spec.delays && delays::counts(&packet) {
            self.network.pool_mut().stamp(&mut packet, now);
        }
        let route = identity.route(packet.has(ACK));
        let served = || self.event_loop.served();
        if let Some((link, hop_index)) = self.network.first_hop(now, &packet, number, identity, route, served) {
            packet.set_hop_index(hop_index);
            self.event_loop.offer(now, link, packet, self.network, self.captures);
        }
    }

    /// Sets the deadline of a flow's timer, or moves it to a later time.
    #[inline(always)]
    pub(in crate::packet) fn arm(&mut self, flow: u32, timer: u32, deadline: Time) {
        self.event_loop.arm(flow, timer, deadline);
    }

    /// Finished flows retire then.
    pub(in crate::packet) fn schedule_retirement(&mut self, at: Time) {
        self.clock.schedule(at, NetworkEvent::Retire);
        self.event_loop.on_scheduled(at);
    }
}
