//! What the model does not know, by name.

use super::error::PredictError;
use super::flows::FlowModel;
use super::law::Response;
use crate::packet::{DisciplineSpec, LossSpec};
use crate::spec::{ApplicationSpec, Granularity, RunSpec, TransportSpec};
use crate::tcp::congestion::CongestionSpec;
use crate::tcp::congestion::choice::ControlSpec;

/// A flow that starts after this share of the run is not in the long run that the model is of.
const LATEST_START: f64 = 0.25;

fn refuse(what: String) -> PredictError {
    PredictError::Refused(what)
}

/// Refuses a run with anything that the model does not know.
pub fn check(spec: &RunSpec) -> Result<(), PredictError> {
    if !spec.events.is_empty() {
        return Err(refuse("events during the run".into()));
    }
    if !spec.captures.is_empty() {
        return Err(refuse("captures: it has no packets".into()));
    }
    for (index, link) in spec.links.iter().enumerate() {
        let name = spec.link_name(index as u32);
        if link.varies() {
            return Err(refuse(format!("link {name}: its rate or delay varies")));
        }
        let marks = matches!(link.queue.discipline, DisciplineSpec::EcnThreshold(_));
        if marks && !all_answer_marks(spec) {
            return Err(refuse(format!("the queue of link {name}: not all flows answer its marks")));
        }
        if !matches!(link.loss, None | Some(LossSpec::Bernoulli(_))) {
            return Err(refuse(format!("the losses of link {name}: only bernoulli")));
        }
    }
    for routing in &spec.routings {
        if routing.link_state.is_some() {
            return Err(refuse(format!("routing {}: it measures its links", routing.name)));
        }
        if matches!(routing.per, Granularity::Flowlet { .. }) {
            return Err(refuse(format!("routing {}: flowlets", routing.name)));
        }
    }
    for group in &spec.traffic {
        let name = &group.name;
        match group.application {
            ApplicationSpec::Bulk { .. }
            | ApplicationSpec::Constant { .. }
            | ApplicationSpec::Poisson { .. }
            | ApplicationSpec::ShortFlows { .. }
            | ApplicationSpec::Trace { .. } => {}
            ApplicationSpec::ParetoOnOff { .. } => return Err(refuse(format!("traffic {name}: on-off sources"))),
        }
        let last = group.pairs.len() as f64 * f64::from(group.flows_per_pair) - 1.0;
        let ends = group.application.writes_at_once() && group.application != ApplicationSpec::Bulk { bytes: None };
        if group.stop.is_some() && !ends {
            return Err(refuse(format!("traffic {name}: it stops during the run")));
        }
        if !ends && group.start.as_secs() + last * group.stagger.as_secs() > LATEST_START * spec.duration.as_secs() {
            return Err(refuse(format!("traffic {name}: flows that start after the first quarter of the run")));
        }
        if let TransportSpec::Tcp { stack } = group.transport {
            let stack = &spec.stacks[stack];
            if Response::of(stack, false).is_none() {
                return Err(refuse(format!("stack {}: its congestion control has no law", stack.name)));
            }
        }
    }
    Ok(())
}

/// Whether all flows are TCP that answers congestion marks.
fn all_answer_marks(spec: &RunSpec) -> bool {
    spec.traffic.iter().all(|group| match group.transport {
        TransportSpec::Tcp { stack } => spec.stacks[stack].ecn,
        TransportSpec::Udp { .. } => false,
    })
}

/// Refuses datagrams and flows that end, if they alone fill a link.
pub fn check_load(spec: &RunSpec, flows: &[FlowModel]) -> Result<(), PredictError> {
    let mut load_bps = vec![0.0; spec.links.len()];
    for flow in flows.iter().filter(|flow| flow.long_run().is_none()) {
        for (link, share) in &flow.data.shares {
            load_bps[*link as usize] += f64::from(*share) * flow.source_rate * flow.wire_bits;
        }
    }
    let full = load_bps.iter().zip(&spec.links).position(|(load, link)| *load >= 0.9 * link.rate.as_bps());
    match full {
        Some(link) => {
            Err(refuse(format!("UDP, or flows that end, that alone fill link {}", spec.link_name(link as u32))))
        }
        None => Ok(()),
    }
}

/// Refuses BBR version 3 where it answers losses: BBR's law has none.
pub fn check_bbr3(spec: &RunSpec, flows: &[FlowModel]) -> Result<(), PredictError> {
    // By link: whether other congestion controls cross it, and whether bbr3 does.
    let mut crossed = vec![[false; 2]; spec.links.len()];
    for flow in flows {
        let Some(control) = flow.long_run() else { continue };
        let is_bbr3 = matches!(spec.stacks[control.stack].congestion, ControlSpec::Named(CongestionSpec::Bbr3(_)));
        if is_bbr3 && flow.loss > 0.0 {
            return Err(refuse(format!("flow {}: bbr3 over a path that loses packets at random", flow.number)));
        }
        for (link, _) in &flow.data.shares {
            crossed[*link as usize][usize::from(is_bbr3)] = true;
        }
    }
    match crossed.iter().position(|crossed| *crossed == [true, true]) {
        Some(link) => {
            let name = spec.link_name(link as u32);
            Err(refuse(format!("bbr3 beside other congestion controls on link {name}")))
        }
        None => Ok(()),
    }
}
