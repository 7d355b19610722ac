//! The plan of a run's flows, and the links of their packets, at any instant.

use crate::packet::engine::clock::NetworkEvent;
use crate::packet::engine::{Engine, EventLoop};
use crate::packet::forwarding::{RouteRef, SharedPaths, Unlisted};
use crate::packet::hosts::flow::FlowPlan;
use crate::packet::link::schedule::Steps;
use crate::spec::{Granularity, LinkId, RunSpec, ScheduleSpec};
use crate::units::{Duration, Rate, Time};

impl<L: EventLoop> Engine<L> {
    /// The compiled run.
    pub fn spec(&self) -> &RunSpec {
        &self.spec
    }

    /// How many flows the run plans.
    pub fn planned_flows(&self) -> u32 {
        self.hosts.planned().len() as u32
    }

    /// The plan of a flow: its ends, start and size.
    pub fn plan(&self, flow: u32) -> FlowPlan {
        self.hosts.identity(flow).plan(self.network.sizes(flow).whole_payload())
    }

    /// Bytes of a full packet of a flow.
    pub fn full_size(&self, flow: u32) -> u16 {
        self.network.sizes(flow).full()
    }

    /// Whether all packets of a flow take one path, of its data or of its ACKs.
    pub fn has_one_path(&self, flow: u32, reverse: bool) -> bool {
        let identity = self.hosts.identity(flow);
        let group = &self.spec.traffic[identity.group as usize];
        let used = if reverse { self.spec.reverse_routing(group) } else { group.routing };
        matches!(identity.route(reverse), RouteRef::Route(_)) || self.spec.routings[used].per == Granularity::Flow
    }

    /// The links that all packets of a flow take, of its data or of its ACKs, where they are compiled.
    pub fn compiled_path(&self, flow: u32, reverse: bool) -> Option<&[LinkId]> {
        let RouteRef::Route(start) = self.hosts.identity(flow).route(reverse) else { return None };
        Some(self.network.forwarding().links_from(start))
    }

    /// The paths of a flow's packets, or of its ACKs, if each chooses one: see [`paths_of_packets`](crate::packet::forwarding::Forwarding::paths_of_packets).
    ///
    /// # Errors
    /// See [`Unlisted`].
    pub fn paths_of_packets(&self, flow: u32, reverse: bool, most: usize) -> Result<SharedPaths, Unlisted> {
        let identity = self.hosts.identity(flow);
        let src = identity.key(flow, reverse, 0).src;
        self.network.forwarding().paths_of_packets(identity.route(reverse), src, most)
    }

    /// The links that a flow's first packet takes, or its first ACK, if it is sent now: see [`links_of_packet`](crate::packet::forwarding::Forwarding::links_of_packet).
    pub fn links_of_first(&mut self, flow: u32, reverse: bool) -> Option<Vec<LinkId>> {
        let identity = self.hosts.identity(flow);
        let now = self.clock.now();
        self.network.forwarding_mut().links_of_packet(identity.route(reverse), now, &identity.key(flow, reverse, 0))
    }

    /// The instants before the end at which links or routes change, in order and without repetition: events, the routes that follow them, and the steps
    /// of rates and delays.
    pub fn changes(&self) -> Vec<Time> {
        let of_network = self.clock.network_events().filter(|(_, event)| {
            matches!(
                event,
                NetworkEvent::Fail(_) | NetworkEvent::Repair(_) | NetworkEvent::Reroute(_) | NetworkEvent::Impair(..)
            )
        });
        let mut found: Vec<Time> = of_network.map(|(at, _)| *at).collect();
        let used = |link: &crate::spec::LinkSpec| [link.rate_schedule, link.delay_schedule];
        for index in self.spec.links.iter().flat_map(used).flatten() {
            if let ScheduleSpec::Steps { at, .. } = &self.spec.schedules[index] {
                found.extend(at.iter().map(|instant| Time(*instant)));
            }
        }
        found.retain(|at| *at < self.clock.end());
        found.sort_unstable();
        found.dedup();
        found
    }

    /// Changes links and routes as all events until this instant do, in a run that has not started. It has no packets, so it cannot run afterwards.
    /// The links of [`Self::spec`] then have the losses, rates and delays of this instant. A transmitter that stands still keeps its former rate.
    pub fn pass_changes(&mut self, until: Time) {
        while self.clock.next_network_event() <= until {
            self.clock.set(self.clock.next_network_event());
            match self.clock.take_network_event() {
                Some(NetworkEvent::Fail(links)) => {
                    for link in links {
                        self.network.fail(self.clock.now(), link);
                    }
                }
                Some(NetworkEvent::Repair(links)) => links.into_iter().for_each(|link| self.network.repair(link)),
                Some(NetworkEvent::Reroute(routing)) => self.network.reroute(routing),
                Some(NetworkEvent::Impair(links, loss, _)) => {
                    links.into_iter().for_each(|link| self.spec.links[link as usize].loss.clone_from(&loss));
                }
                _ => {}
            }
        }
        self.clock.set(until);
        for link in &mut self.spec.links {
            let value = |schedule: Option<usize>| schedule.and_then(|index| value(&self.spec.schedules[index], until));
            if let Some(bps) = value(link.rate_schedule).filter(|bps| *bps > 0) {
                link.rate = Rate(bps);
            }
            if let Some(delay) = value(link.delay_schedule) {
                link.delay = Duration(delay);
            }
        }
    }

    /// Whether a link carries packets now: it has not failed, and its transmitter does not stand still.
    pub fn carries(&self, link: LinkId) -> bool {
        let rate = self.spec.links[link as usize].rate_schedule;
        let is_still = rate.is_some_and(|index| value(&self.spec.schedules[index], self.clock.now()) == Some(0));
        !is_still && self.network.forwarding().is_up(link)
    }
}

/// The value of a schedule that changes in steps.
fn value(schedule: &ScheduleSpec, at: Time) -> Option<u64> {
    let ScheduleSpec::Steps { at: begins, values, repeat, linear } = schedule else { return None };
    Some(Steps::new(begins, values, *repeat, *linear).value(at))
}
