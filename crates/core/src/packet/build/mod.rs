//! Builds an engine from a compiled run.
//!
//! [`validate`] refuses a spec that cannot run. [`flows`] plans flows, their sizes and their routes; [`subflows`] adds the subflows of connections. [`hosts`] finds the links to hosts. [`capacity`] refuses a run whose queues or
//! sequence numbers do not suffice for its flows.
//!
//! May use: the engine and what the engine uses. It knows no event loop.

mod capacity;
mod flows;
mod hosts;
mod subflows;
mod validate;
pub(crate) use validate::check_stack;

use crate::packet::engine::clock::NetworkEvent;
use crate::packet::engine::dependencies::Dependencies;
use crate::packet::engine::{Engine, EventLoop};
use crate::packet::forwarding::Forwarding;
use crate::packet::hosts::flow::Flow;
use crate::packet::link::Link;
use crate::packet::link::packet_sizes::FlowSizes;
use crate::packet::link::varying::Schedules;
use crate::routing::{Graph, RoutingError};
use crate::spec::{LinkAction, RunSpec};
use crate::units::{Duration, Time};
use std::collections::VecDeque;

/// Why a run is refused before it starts.
#[derive(Debug, thiserror::Error)]
pub enum BuildError {
    /// A value that the engine cannot use.
    #[error("{field}: {problem}")]
    Value {
        /// The field, as scenarios name it.
        field: String,
        /// The problem, and a correct value.
        problem: String,
    },
    /// A routing without a path for a pair that has traffic.
    #[error("routing '{routing}', {}from '{src}' to '{dst}': {error}", if *acks { "ACKs " } else { "" })]
    Routing {
        /// The routing's name.
        routing: String,
        /// Whether the pair has traffic the other way, and needs a path for its ACKs.
        acks: bool,
        /// The source node's name.
        src: String,
        /// The destination node's name.
        dst: String,
        /// The error in the routing.
        error: RoutingError,
    },
}

fn refuse(field: impl Into<String>, problem: impl Into<String>) -> BuildError {
    BuildError::Value { field: field.into(), problem: problem.into() }
}

/// Whether links fail or routes are recomputed during the run.
fn is_dynamic(spec: &RunSpec) -> bool {
    spec.events.iter().any(|event| !matches!(event.action, LinkAction::Impair(_)))
}

/// The events of the network that are known before the run, in the order of time.
fn network_events(spec: &RunSpec, forwarding: &mut Forwarding) -> VecDeque<(Time, NetworkEvent)> {
    let mut events = Vec::new();
    for (index, event) in spec.events.iter().enumerate() {
        let links = || event.links.clone();
        events.extend(match &event.action {
            LinkAction::Fail => Some((event.at, NetworkEvent::Fail(links()))),
            LinkAction::Repair => Some((event.at, NetworkEvent::Repair(links()))),
            LinkAction::Impair(loss) => Some((event.at, NetworkEvent::Impair(links(), loss.clone(), index as u32 + 1))),
            LinkAction::Reroute => None,
        });
        for (index, routing) in spec.routings.iter().enumerate() {
            let wait = match event.action {
                LinkAction::Fail | LinkAction::Repair => routing.reconverge,
                LinkAction::Impair(_) => None,
                LinkAction::Reroute => Some(Duration::ZERO),
            };
            events.extend(wait.map(|wait| (event.at + wait, NetworkEvent::Reroute(index))));
        }
    }
    if spec.warm_up > Duration::ZERO {
        events.push((Time::ZERO + spec.warm_up, NetworkEvent::WarmedUp));
    }
    if let Some(interval) = spec.sample {
        events.push((Time::ZERO + interval, NetworkEvent::Sample));
    }
    for index in 0..spec.routings.len() {
        events
            .extend(forwarding.controller(index).map(|controller| (controller.due(), NetworkEvent::LinkState(index))));
    }
    events.sort_by_key(|(at, _)| *at);
    events.into()
}

/// The initial parts of a run.
pub(in crate::packet) struct Parts {
    pub links: Vec<Link>,
    pub forwarding: Forwarding,
    pub flows: Vec<Flow>,
    /// By flow.
    pub sizes: FlowSizes,
    pub dependencies: Dependencies,
    pub network_events: VecDeque<(Time, NetworkEvent)>,
}

/// The parts of a run, or the first value that the engine cannot use.
pub(in crate::packet) fn parts(spec: &RunSpec) -> Result<Parts, BuildError> {
    validate::check_run(spec)?;
    let graph =
        Graph::of_specs(spec.nodes.len(), &spec.links).map_err(|error| refuse("topology", error.to_string()))?;
    let mut forwarding = Forwarding::new(spec.routings.clone(), graph, spec.seed, is_dynamic(spec));
    let (flows, sizes, dependencies) = flows::flows(spec, &mut forwarding)?;
    let schedules = Schedules::new(&spec.schedules);
    let mut links: Vec<Link> =
        (0..).zip(&spec.links).map(|(index, link)| Link::new(link, &schedules, spec.seed, index)).collect();
    spec.captures.iter().for_each(|link| links[*link as usize].capture());
    if spec.routings.iter().any(|routing| routing.link_state.is_some()) {
        links.iter_mut().for_each(Link::measure);
    }
    if spec.delays {
        links.iter_mut().for_each(Link::record_waits);
    }
    if forwarding.reads_backlogs() {
        links.iter_mut().for_each(Link::watch);
    }
    for link in hosts::links_to_hosts(spec) {
        links[link].lead_to_host();
    }
    let network_events = network_events(spec, &mut forwarding);
    Ok(Parts { links, forwarding, flows, sizes, dependencies, network_events })
}

impl<L: EventLoop> Engine<L> {
    /// Builds a run.
    ///
    /// # Errors
    /// Names the first value that the engine cannot use. The scenario schema finds most of these before.
    pub fn new(spec: RunSpec) -> Result<Engine<L>, BuildError> {
        validate::check_captures(&spec)?;
        let Parts { links, forwarding, flows, sizes, dependencies, network_events } = parts(&spec)?;
        let mut engine = Engine::assemble(spec, links, forwarding, (flows, dependencies), sizes, network_events);
        engine.measure_for_messages();
        engine.check_packets_fit()?;
        engine.check_lasting()?;
        engine.check_sequence_space()?;
        Ok(engine)
    }
}
