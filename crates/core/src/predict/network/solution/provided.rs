//! Refuses congestion controls that come with a scenario, in Python or as eBPF, where an ideal path cannot show their behaviour, and
//! returns their errors.

use super::solver::Solution;
use crate::predict::network::error::PredictError;
use crate::predict::network::flows::crossing::Crossing;
use crate::predict::network::flows::model::FlowModel;
use crate::predict::network::laws::ideal_path::flow_context;
use crate::predict::network::laws::law::Response;
use crate::predict::network::laws::provided::is_provided;
use crate::spec::{RunSpec, StackSpec, TransportSpec};
use crate::tcp::congestion::choice::ControlSpec;
use std::collections::BTreeMap;

/// Greatest ratio of the idle RTT to the RTT at which a control is tested. A control that reacts to delay shows it with a queue of
/// this size.
const JUDGED_QUEUE: f64 = 0.5;

/// Refuses controls that depend on features that an ideal path does not have, before any observation.
pub fn check(spec: &RunSpec) -> Result<(), PredictError> {
    for stack in used(spec) {
        let control = stack.congestion.build(flow_context(stack));
        if let Some(fault) = fault(stack) {
            return Err(fault);
        }
        if control.pacing_rate().is_some() {
            return Err(refused(stack, "paces its packets"));
        }
        let samples_rates = match &stack.congestion {
            ControlSpec::Program(program) => program.samples_rates(),
            _ => control.demands().rate_samples,
        };
        if samples_rates {
            return Err(refused(stack, "measures delivery rates, which an ideal path does not limit"));
        }
    }
    Ok(())
}

/// Returns the error of a control that failed during its observation.
pub fn check_faults(spec: &RunSpec) -> Result<(), PredictError> {
    used(spec).find_map(fault).map_or(Ok(()), Err)
}

/// Refuses controls whose window hardly depends on losses, at the RTTs and queues of their flows in the solution.
pub fn check_answers(spec: &RunSpec, flows: &[FlowModel], solution: &Solution) -> Result<(), PredictError> {
    // For each stack: the least ratio of idle RTT to RTT, that RTT, and the response.
    let mut judged: BTreeMap<usize, (f64, f64, &Response)> = BTreeMap::new();
    for (index, (flow, state)) in flows.iter().zip(&solution.flows).enumerate() {
        let Some(control) = flow.long_run() else { continue };
        if is_provided(&spec.stacks[control.stack].congestion) {
            let buffer_s = |crossing: &Crossing| solution.links[crossing.link as usize].buffer_s;
            // If the equations are not solved, the queues are assumed to be half full.
            let rtt_s = if solution.converged {
                state.rtt_s
            } else {
                flow.idle_rtt_s + 0.5 * solution.data(index).iter().map(buffer_s).sum::<f64>()
            };
            let share = (flow.idle_rtt_s / rtt_s).min(JUDGED_QUEUE);
            let this = (share, rtt_s, &*control.response);
            let least = judged.entry(control.stack).or_insert(this);
            if share < least.0 {
                *least = this;
            }
        }
    }
    for (stack, (share, rtt_s, response)) in judged {
        let answers = match response {
            Response::Observed(observed) => observed.answers_events(rtt_s, share * rtt_s),
            Response::Marked(laws) => laws.iter().all(|observed| observed.answers_events(rtt_s, share * rtt_s)),
            _ => true,
        };
        let stack = &spec.stacks[stack];
        if let Some(fault) = fault(stack) {
            return Err(fault);
        }
        if !answers {
            return Err(refused(
                stack,
                "hardly answers losses: seven times as many leave more than half of its window",
            ));
        }
    }
    Ok(())
}

/// The stacks of the run's traffic whose controls come with the scenario.
fn used(spec: &RunSpec) -> impl Iterator<Item = &StackSpec> {
    let is_used = |index: usize| {
        spec.traffic.iter().any(|group| matches!(group.transport, TransportSpec::Tcp { stack } if stack == index))
    };
    let stacks = spec.stacks.iter().enumerate();
    stacks.filter(move |(index, stack)| is_provided(&stack.congestion) && is_used(*index)).map(|(_, stack)| stack)
}

fn fault(stack: &StackSpec) -> Option<PredictError> {
    let problem = stack.congestion.fault()?;
    Some(PredictError::Fault { stack: stack.name.clone(), problem })
}

fn refused(stack: &StackSpec, what: &str) -> PredictError {
    PredictError::Refused(format!("stack {}: its congestion control {what}", stack.name))
}
