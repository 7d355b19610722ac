//! Refuses a spec that cannot run, before anything is built.

use super::{BuildError, refuse};
use crate::packet::link_state::controller::Measured;
use crate::spec::{
    LinkAction, LinkId, LinkSpec, LossSpec, QueueLimit, QueueSpec, RoutingSpec, RunSpec, ScheduleSpec, StackSpec,
    TrafficSpec,
};
use crate::units::Duration;

/// The longest run: a packet's arrival time has 56 bits.
const LONGEST: Duration = Duration::from_secs(72_000);

/// Refuses the first value that the engine cannot use. Flows are checked when they are planned.
pub(super) fn check_run(spec: &RunSpec) -> Result<(), BuildError> {
    if spec.duration == Duration::ZERO || spec.duration > LONGEST {
        return Err(refuse("run.duration", format!("{}: must be more than 0 and at most 20 hours", spec.duration)));
    }
    if spec.warm_up >= spec.duration {
        return Err(refuse("run.warm_up", format!("{}: must be less than the duration", spec.warm_up)));
    }
    if spec.sample == Some(Duration::ZERO) {
        return Err(refuse("run.sample", "0: must be more than 0"));
    }
    for (index, schedule) in spec.schedules.iter().enumerate() {
        schedule.check().map_err(|problem| refuse(format!("schedule {index}"), problem))?;
    }
    for (index, link) in (0..).zip(&spec.links) {
        check_link(spec, index, link)?;
    }
    if let Some(link) = spec.captures.iter().find(|link| **link as usize >= spec.links.len()) {
        return Err(refuse("capture", format!("link {link}: must be one of the {} links", spec.links.len())));
    }
    for (index, event) in spec.events.iter().enumerate() {
        if let LinkAction::Impair(loss) = &event.action {
            check_loss(loss.as_ref()).map_err(|problem| refuse(format!("event {index}, loss"), problem))?;
        }
    }
    for routing in &spec.routings {
        check_link_state(routing)
            .map_err(|problem| refuse(format!("routing '{}', link_state", routing.name), problem))?;
    }
    spec.stacks.iter().try_for_each(check_stack)
}

/// Refuses a capture of packets that the engine makes without headers.
pub(super) fn check_captures(spec: &RunSpec) -> Result<(), BuildError> {
    let has_no_headers = |group: &&TrafficSpec| spec.messages_of(group).is_some() || spec.subflows_of(group).is_some();
    if let Some(group) = spec.traffic.iter().find(has_no_headers)
        && !spec.captures.is_empty()
    {
        let what = if spec.messages_of(group).is_some() { "messages" } else { "data over subflows" };
        let problem = format!("traffic '{}' sends {what}, which a capture has no headers for", group.name);
        return Err(refuse("capture", problem));
    }
    Ok(())
}

fn check_link(spec: &RunSpec, index: LinkId, link: &LinkSpec) -> Result<(), BuildError> {
    let field = format!("link {}", spec.link_name(index));
    if link.src as usize >= spec.nodes.len() || link.dst as usize >= spec.nodes.len() || link.src == link.dst {
        return Err(refuse(field, "must join two different nodes that exist"));
    }
    if link.rate.0 < 1000 {
        return Err(refuse(field, format!("rate {} bit/s: must be at least 1 kbit/s", link.rate.0)));
    }
    if link.delay > LONGEST - spec.duration {
        return Err(refuse(field, format!("delay {}: with the duration, must be at most 20 hours", link.delay)));
    }
    check_variation(spec, link).map_err(|problem| refuse(field.clone(), problem))?;
    check_queue(&link.queue).map_err(|problem| refuse(format!("{field}, queue"), problem))?;
    check_loss(link.loss.as_ref()).map_err(|problem| refuse(format!("{field}, loss"), problem))
}

/// Refuses schedules that do not exist or do not fit, and delays of zero where a packet takes no time to transmit.
fn check_variation(spec: &RunSpec, link: &LinkSpec) -> Result<(), String> {
    let schedule = |index: usize| spec.schedules.get(index).ok_or(format!("schedule {index}: there is none"));
    let mut least_delay = link.delay;
    if let Some(index) = link.delay_schedule {
        let ScheduleSpec::Steps { values, .. } = schedule(index)? else {
            return Err(format!("schedule {index}: opportunities are no delays"));
        };
        if values.iter().any(|delay| Duration(*delay) > LONGEST - spec.duration) {
            return Err(format!("schedule {index}: each delay, with the duration, must be at most 20 hours"));
        }
        least_delay = Duration(values.iter().min().copied().unwrap_or(0));
    }
    if let Some(index) = link.rate_schedule {
        let schedule = schedule(index)?;
        schedule.check_rate().map_err(|problem| format!("schedule {index}: {problem}"))?;
        if matches!(schedule, ScheduleSpec::Opportunities { .. }) && least_delay == Duration::ZERO {
            return Err("delay 0: must be more than 0 on a link with a trace".into());
        }
    }
    if let Some(shaper) = link.shaper {
        if shaper.line < link.rate {
            return Err(format!(
                "shaper: line {} bit/s must be at least the rate, {} bit/s",
                shaper.line.0, link.rate.0
            ));
        }
        if let Some(ScheduleSpec::Opportunities { .. }) = link.rate_schedule.and_then(|index| spec.schedules.get(index))
        {
            return Err("shaper: the capacity of its link is a trace; must be a rate".into());
        }
    }
    link.jitter.as_ref().map_or(Ok(()), |jitter| jitter.check().map_err(|problem| format!("jitter: {problem}")))
}

fn check_queue(queue: &QueueSpec) -> Result<(), String> {
    if matches!(queue.limit, QueueLimit::Packets(0) | QueueLimit::Bytes(0)) {
        return Err("limit 0: must hold at least one packet".into());
    }
    queue.discipline.check()
}

fn check_loss(loss: Option<&LossSpec>) -> Result<(), String> {
    loss.map_or(Ok(()), LossSpec::check)
}

fn check_link_state(routing: &RoutingSpec) -> Result<(), String> {
    let Some(settings) = &routing.link_state else { return Ok(()) };
    if settings.sample == Duration::ZERO || settings.recompute == Duration::ZERO || settings.window == 0 {
        return Err("sample, recompute and window must each be more than 0".into());
    }
    if !(0.0..1.0).contains(&settings.hysteresis) {
        return Err(format!("hysteresis {}: must be at least 0 and below 1", settings.hysteresis));
    }
    Measured::of(&routing.hops).map(drop)
}

/// Refuses a stack with a value that no sender or receiver can use.
pub fn check_stack(stack: &StackSpec) -> Result<(), BuildError> {
    let field = |part: &str| format!("stack '{}', {part}", stack.name);
    stack.congestion.check().map_err(|problem| refuse(field("congestion"), problem))?;
    stack.slow_start.check().map_err(|problem| refuse(field("slow_start"), problem))?;
    stack.detection.check().map_err(|problem| refuse(field("detection"), problem))?;
    stack.ack.check().map_err(|problem| refuse(field("ack"), problem))?;
    if stack.mss == 0 || stack.header == 0 || stack.mss + stack.header > 65_535 {
        return Err(refuse(field("mss and header"), "each at least 1 byte, together at most 65535 bytes"));
    }
    if stack.initial_window == 0 {
        return Err(refuse(field("initial_window"), "0: must be at least 1 packet"));
    }
    Ok(())
}
