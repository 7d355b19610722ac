//! Congestion controls that come with a scenario, in Python or as eBPF: what an observation of them needs to know.

use super::ideal_path::flow_context;
use crate::spec::StackSpec;
use crate::tcp::congestion::choice::ControlSpec;

/// Number of ACKs after which the observation of a registry's control stops, if the control counts ACKs.
const MOST_ACKS: u64 = 500_000;
/// The same limit for any control in Python, which needs a microsecond per ACK.
const PYTHON_ACKS: u64 = 15_000;
/// The same limit for any eBPF program.
const PROGRAM_ACKS: u64 = 50_000;

/// Whether a control comes with the scenario.
pub fn is_provided(control: &ControlSpec) -> bool {
    !matches!(control, ControlSpec::Named(_))
}

/// Number of ACKs after which an observation stops, or `None` without a limit. With `all_acks`, the path sends as many ACKs as the
/// receiver.
pub fn most_acks(control: &ControlSpec, all_acks: bool) -> Option<u64> {
    match control {
        ControlSpec::Named(_) => all_acks.then_some(MOST_ACKS),
        ControlSpec::Program(_) => Some(PROGRAM_ACKS),
        ControlSpec::Custom(_) => Some(PYTHON_ACKS),
    }
}

/// Least retransmission timeout of a stack's flows, seconds. An eBPF program may set its own.
pub fn min_rto_s(stack: &StackSpec) -> f64 {
    let demanded = match &stack.congestion {
        ControlSpec::Program(_) => stack.congestion.build(flow_context(stack)).min_rto(),
        _ => None,
    };
    demanded.unwrap_or(stack.min_rto).as_secs()
}
