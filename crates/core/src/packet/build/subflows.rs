//! Adds the subflows of connections behind the planned flows: each on a path of its own that does not change.

use super::flows::packet_sizes;
use super::{BuildError, refuse};
use crate::packet::forwarding::Forwarding;
use crate::packet::forwarding::RouteRef;
use crate::packet::forwarding::select::PacketKey;
use crate::packet::hosts::flow::{Flow, FlowIdentity, FlowState};
use crate::packet::link::packet_sizes::PacketSizes;
use crate::routing::RoutingError;
use crate::spec::{LinkAction, RunSpec};
use crate::units::Time;

/// Adds the subflows of all connections, and gives the connections their routes: those of all subflows.
pub(super) fn add(
    spec: &RunSpec,
    forwarding: &mut Forwarding,
    flows: &mut Vec<Flow>,
    sizes: &mut Vec<PacketSizes>,
) -> Result<(), BuildError> {
    for flow in 0..flows.len() {
        let FlowIdentity { group: group_index, src, dst, .. } = flows[flow].identity;
        let group = &spec.traffic[group_index as usize];
        let Some(parameters) = spec.subflows_of(group) else { continue };
        let reverse_routing = spec.reverse_routing(group);
        [group.routing, reverse_routing].into_iter().try_for_each(|routing| check_routing(spec, routing))?;
        let first = PacketKey { flow: flows.len() as u32, group: group_index, src, dst, reverse: false, number: 0 };
        let back = PacketKey { src: dst, dst: src, reverse: true, ..first };
        let problem = |error: RoutingError, routing: usize, key: &PacketKey| BuildError::Routing {
            routing: spec.routings[routing].name.clone(),
            acks: key.reverse,
            src: spec.nodes[key.src as usize].clone(),
            dst: spec.nodes[key.dst as usize].clone(),
            error,
        };
        let forth_paths = forwarding
            .paths_of_subflows(group.routing, first, parameters.subflows)
            .map_err(|error| problem(error, group.routing, &first))?;
        let back_paths = forwarding
            .paths_of_subflows(reverse_routing, back, forth_paths.len() as u32)
            .map_err(|error| problem(error, reverse_routing, &back))?;
        let pairs: Vec<(u32, u32)> = (0..forth_paths.len())
            .map(|index| {
                let forth = forth_paths[index];
                let reversed: Vec<_> =
                    forwarding.nodes_of(src, forwarding.links_from(forth)).into_iter().rev().collect();
                let is_same = |path: &&u32| forwarding.nodes_of(dst, forwarding.links_from(**path)) == reversed;
                let same = back_paths.iter().find(is_same).copied();
                (forth, same.unwrap_or(back_paths[index % back_paths.len()]))
            })
            .collect();
        for (forth, back) in &pairs {
            let (forward, reverse) = (RouteRef::Route(*forth), RouteRef::Route(*back));
            let identity = FlowIdentity { group: group_index, src, dst, start: Time::NEVER, forward, reverse };
            flows.push(Flow { state: FlowState::Subflow(flow as u32), ..Flow::new(identity) });
            sizes.push(
                packet_sizes(spec, group, None)
                    .map_err(|problem| refuse(format!("traffic '{}'", group.name), problem))?,
            );
        }
        let (forth, back): (Vec<u32>, Vec<u32>) = pairs.into_iter().unzip();
        flows[flow].identity.forward = forwarding.any_of(group.routing, (src, dst), &forth);
        flows[flow].identity.reverse = forwarding.any_of(reverse_routing, (dst, src), &back);
    }
    Ok(())
}

/// Refuses a routing whose paths change during the run: subflows keep theirs.
fn check_routing(spec: &RunSpec, routing: usize) -> Result<(), BuildError> {
    let routing = &spec.routings[routing];
    let changes = |is_change: fn(&LinkAction) -> bool| spec.events.iter().any(|event| is_change(&event.action));
    let follows =
        routing.reconverge.is_some() && changes(|action| matches!(action, LinkAction::Fail | LinkAction::Repair));
    if routing.link_state.is_some() || follows || changes(|action| matches!(action, LinkAction::Reroute)) {
        let problem = "its paths change during the run, but the subflows of mptcp keep theirs: leave out reconverge, link_state and reroute";
        return Err(refuse(format!("routing '{}'", routing.name), problem));
    }
    Ok(())
}
