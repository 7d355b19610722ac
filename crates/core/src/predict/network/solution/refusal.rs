//! Checks that refuse runs which the model cannot predict, and name the reason.

use super::class::Class;
use crate::packet::{DisciplineSpec, LossSpec};
use crate::predict::network::error::PredictError;
use crate::predict::network::flows::model::{FlowModel, FlowState};
use crate::predict::network::laws::law::Response;
use crate::predict::network::links::model::LinkModel;
use crate::spec::{ApplicationSpec, LinkAction, RunSpec, ScheduleSpec, TransportSpec};
use crate::tcp::congestion::CongestionSpec;
use crate::tcp::congestion::choice::ControlSpec;

/// Refuses flows that start after this share of the run: the model describes the long run, and they miss a part of it.
const LATEST_START: f64 = 0.25;

fn refuse(what: String) -> PredictError {
    PredictError::Refused(what)
}

/// Refuses a run with any feature that the model does not describe.
pub fn check(spec: &RunSpec) -> Result<(), PredictError> {
    if !spec.captures.is_empty() {
        return Err(refuse("captures: it has no packets".into()));
    }
    for (index, link) in spec.links.iter().enumerate() {
        let name = spec.link_name(index as u32);
        let changes_in_steps = |schedule: Option<usize>| {
            schedule.is_none_or(|index| {
                matches!(spec.schedules.get(index), Some(ScheduleSpec::Steps { repeat: None, linear: false, .. }))
            })
        };
        if link.jitter.is_some() || !changes_in_steps(link.rate_schedule) || !changes_in_steps(link.delay_schedule) {
            return Err(refuse(format!(
                "link {name}: its rate or delay varies, other than in steps that do not repeat"
            )));
        }
        if link.shaper.is_some() {
            return Err(refuse(format!("link {name}: its shaper")));
        }
        let marks = matches!(link.queue.discipline, DisciplineSpec::EcnThreshold(_));
        if marks && !all_answer_marks(spec) {
            return Err(refuse(format!("the queue of link {name}: not all flows answer its marks")));
        }
        if matches!(link.loss, Some(LossSpec::List(_))) {
            return Err(refuse(format!("the losses of link {name}: a list of packets")));
        }
    }
    for event in &spec.events {
        if matches!(event.action, LinkAction::Impair(Some(LossSpec::List(_)))) {
            return Err(refuse(format!("the losses from {:.3} s on: a list of packets", event.at.as_secs())));
        }
    }
    for group in &spec.traffic {
        for routing in [group.routing, spec.reverse_routing(group)].map(|used| &spec.routings[used]) {
            if routing.link_state.is_some() {
                return Err(refuse(format!("routing {}: it measures its links", routing.name)));
            }
            if routing.select.reads_backlogs() {
                return Err(refuse(format!("routing {}: it chooses by the queues of links", routing.name)));
            }
        }
    }
    for group in &spec.traffic {
        let name = &group.name;
        if group.application.has_dependencies() {
            return Err(refuse(format!("traffic {name}: flows that wait for others")));
        }
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
            if stack.messages().is_some() {
                return Err(refuse(format!(
                    "stack {}: a transport of messages, whose window follows single packets",
                    stack.name
                )));
            }
            if stack.subflows().is_some() {
                return Err(refuse(format!(
                    "stack {}: subflows, between which a scheduler divides the data of a connection",
                    stack.name
                )));
            }
            if Response::of(stack, false).is_none() {
                return Err(refuse(format!("stack {}: its congestion control has no law", stack.name)));
            }
        }
    }
    Ok(())
}

/// How full a link is from which on BBR's share of it, and the wait, decide the prediction.
const FULL: f64 = 0.5;

/// Refuses a solution in which BBR fills a link whose queue drops before it is full.
pub fn check_queues(spec: &RunSpec, links: &[LinkModel]) -> Result<(), PredictError> {
    let is_unknown =
        |link: &LinkModel| link.has_bbr && link.full() > FULL && !link.discipline.is_known_with_bbr(link.senders);
    links.iter().position(is_unknown).map_or(Ok(()), |link| {
        let what = "the share and the wait of BBR are known over drop-tail, and of a single flow over CoDel or PIE";
        Err(refuse(format!("the queue of link {}: {what}", spec.link_name(link as u32))))
    })
}

/// Where flows share a link with other RTTs or controls, phases and timeouts decide about windows of fewer segments.
const LEAST_WINDOW: f64 = 2.0;
/// Greatest share of a run's flows that may have such windows.
const MOST_SMALL: f64 = 0.2;
/// Greatest length of a burst of losses without its first packet, as a share of the window.
const LONGEST_BURST: f64 = 0.125;

/// Refuses a solution with windows that the model cannot predict.
pub fn check_windows(flows: &[FlowModel], states: &[FlowState], classes: &[Class]) -> Result<(), PredictError> {
    for (flow, state) in flows.iter().zip(states).filter(|(flow, _)| flow.long_run().is_some()) {
        let (burst, window) = (flow.loss.burst(), state.window);
        if burst > LONGEST_BURST * window {
            let what = format!("a burst of losses spans {:.1} packets", burst + 1.0);
            return Err(refuse(format!("flow {}: {what}, too many for its window of {window:.1}", flow.number)));
        }
    }
    let competes = |class: &Class| matches!(class, Class::MixedRtts | Class::MixedControls | Class::Several);
    let small = classes.iter().zip(states).filter(|(class, state)| competes(class) && state.window < LEAST_WINDOW);
    let (small, all) = (small.count(), flows.len());
    if small as f64 > MOST_SMALL * all as f64 {
        let what = format!("windows below {LEAST_WINDOW} segments beside flows of other RTTs or stacks");
        return Err(refuse(format!("{what}: {small} of {all} flows have them, more than a fifth")));
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

/// Refuses UDP flows and flows that end if they fill a link without other traffic. Planned flows among themselves may fill it for the whole run, one after
/// another.
pub fn check_load(spec: &RunSpec, flows: &[FlowModel]) -> Result<(), PredictError> {
    // By link: the load, and whether all flows are planned.
    let mut loads = vec![(0.0, true); spec.links.len()];
    for flow in flows {
        for (link, share) in &flow.data.shares {
            let (load_bps, planned) = &mut loads[*link as usize];
            *planned &= flow.planned;
            if flow.long_run().is_none() {
                *load_bps += f64::from(*share) * flow.source_rate * flow.wire_bits;
            }
        }
    }
    let most = |planned: bool| if planned { 1.0 } else { 0.9 };
    let full = loads
        .iter()
        .zip(&spec.links)
        .position(|((load_bps, planned), link)| *load_bps >= most(*planned) * link.rate.as_bps());
    match full {
        Some(link) => {
            Err(refuse(format!("UDP, or flows that end, that alone fill link {}", spec.link_name(link as u32))))
        }
        None => Ok(()),
    }
}

/// Refuses BBR version 3 beside other controls: the model's law for BBR ignores the losses that those cause.
pub fn check_bbr3(spec: &RunSpec, flows: &[FlowModel]) -> Result<(), PredictError> {
    // By link: whether other congestion controls cross it, and whether bbr3 does.
    let mut crossed = vec![[false; 2]; spec.links.len()];
    for flow in flows {
        let Some(control) = flow.long_run() else { continue };
        let is_bbr3 = matches!(spec.stacks[control.stack].congestion, ControlSpec::Named(CongestionSpec::Bbr3(_)));
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
