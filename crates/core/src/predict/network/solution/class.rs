//! Classes of flows by the limit of their rate, and the measured error of the model in each class.

use super::bbr_limit;
use super::solver::Solution;
use crate::predict::network::flows::model::FlowModel;
use crate::predict::network::laws::law::Response;
use crate::predict::network::links::discipline::Discipline;
use std::collections::BTreeMap;
use std::sync::LazyLock;

/// Flows whose RTTs differ by at most this ratio count as having one RTT.
const ONE_RTT: f64 = 1.1;
/// A link is a bottleneck of a flow if it causes more than this share of the flow's events.
const PART: f64 = 0.1;
/// A flow is limited by its window or its source if its rate is below this share of the rate of its law.
const RESPONDS: f64 = 0.98;

/// The limit of a flow's rate.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Class {
    /// The amount of its data: the flow ends.
    Size,
    /// The receiver's window, or the rate of the application.
    Limit,
    /// Random losses.
    Loss,
    /// A link with no other flow that reacts. For BBR: a path without one.
    Alone,
    /// A link shared with flows of the same control and RTT.
    OneRtt,
    /// A link shared with flows of other RTTs.
    MixedRtts,
    /// A link shared with other congestion controls.
    MixedControls,
    /// Several links.
    Several,
    /// The number of its own segments in queues (Vegas).
    Waiting,
    /// BBR, with other flows on its path.
    Bbr,
    /// BBR over several paths.
    BbrSprayed,
    /// BBR over several paths, with a detector that counts duplicate ACKs.
    BbrSprayedCounting,
    /// BBR over several paths whose delays differ so much that its window limits it.
    BbrFarApart,
    /// BBR version 3, with losses at random.
    BbrLoss,
    /// A link shared with BBR.
    BesideBbr,
    /// Flowlets.
    Flowlets,
    /// Several paths, with a detector that counts duplicate ACKs.
    SprayedCounting,
    /// Several paths, with a detector that uses a timer.
    SprayedTimer,
}

/// The interval of a prediction, as factors of the predicted goodput.
#[derive(Debug, Clone, Copy, PartialEq, serde::Deserialize)]
pub struct Interval {
    /// Factor of its lower end.
    pub low: f64,
    /// Factor of its upper end.
    pub high: f64,
}

/// The interval of each class. It holds 90 % of the single runs of random scenarios, each with the same weight; `python -m validation.predict` measures it.
static CALIBRATION: LazyLock<BTreeMap<String, Interval>> =
    LazyLock::new(|| serde_json::from_str(include_str!("calibration.json")).expect("the bench writes valid JSON"));

impl Class {
    /// Name of the class in the results.
    pub fn name(self) -> &'static str {
        match self {
            Class::Size => "size",
            Class::Limit => "limit",
            Class::Loss => "random loss",
            Class::Alone => "alone",
            Class::OneRtt => "one RTT",
            Class::MixedRtts => "mixed RTTs",
            Class::MixedControls => "mixed stacks",
            Class::Several => "several bottlenecks",
            Class::Waiting => "waiting",
            Class::Bbr => "BBR",
            Class::BbrSprayed => "BBR, sprayed",
            Class::BbrSprayedCounting => "BBR, sprayed, counting",
            Class::BbrFarApart => "BBR, delays far apart",
            Class::BbrLoss => "BBR, random loss",
            Class::Flowlets => "flowlets",
            Class::BesideBbr => "beside BBR",
            Class::SprayedCounting => "sprayed, counting",
            Class::SprayedTimer => "sprayed, timer",
        }
    }

    /// Whether a law of its own limits the flow, which is BBR.
    pub fn is_of_special_bbr(self) -> bool {
        matches!(self, Class::BbrSprayed | Class::BbrSprayedCounting | Class::BbrFarApart | Class::BbrLoss)
    }

    /// Its interval.
    pub fn interval(self) -> Interval {
        interval(self.name())
    }
}

/// The interval of a class.
pub fn interval(class: &str) -> Interval {
    CALIBRATION[class]
}

/// Phase effects are possible if the RTTs of the flows differ by at most this ratio and the flows are fewer than [`FEW`].
const ONE_PHASE: f64 = 1.02;
/// See [`ONE_PHASE`].
const FEW: usize = 10;

/// Returns the classes of the flows, and for each link whether phase effects decide about single runs (Floyd and Jacobson 1992). They do where few
/// flows of one RTT share a full drop-tail queue: some may lose packets in every event and others in none.
pub fn classes(flows: &[FlowModel], solution: &Solution) -> (Vec<Class>, Vec<bool>) {
    let mut crowds = vec![Crowd::default(); solution.links.len()];
    for (index, (flow, state)) in flows.iter().zip(&solution.flows).enumerate() {
        if state.responds > 0.5 {
            for crossing in solution.data(index) {
                crowds[crossing.link as usize].add(flow, state.rtt_s);
            }
        }
    }
    let in_phase = solution.links.iter().zip(&crowds).map(|(link, crowd)| {
        let few = (2..FEW).contains(&crowd.flows) && crowd.longest_s <= ONE_PHASE * crowd.shortest_s;
        few && link.discipline == Discipline::DropTail && link.full() > 0.5
    });
    let classes = (0..flows.len()).map(|index| class(&flows[index], index, solution, &crowds));
    (classes.collect(), in_phase.collect())
}

fn class(flow: &FlowModel, index: usize, solution: &Solution, crowds: &[Crowd<'_>]) -> Class {
    let state = solution.flows[index];
    if flow.bytes.is_some() {
        return Class::Size;
    }
    let Some(control) = &flow.control else { return Class::Limit };
    let sprayed = flow.data.count > 1;
    let held_by_spray = state.rate >= 0.999 * state.spray_limit;
    if state.responds < RESPONDS && !held_by_spray {
        return Class::Limit;
    }
    if let Some(version) = flow.bbr() {
        if sprayed || bbr_limit::answers_losses(flow, version) {
            return bbr_limit::class(flow, version);
        }
        let is_alone = solution.data(index).iter().all(|crossing| crowds[crossing.link as usize].flows <= 1);
        return if is_alone { Class::Alone } else { Class::Bbr };
    }
    if matches!(*control.response, Response::Waiting(..)) && !sprayed {
        return Class::Waiting;
    }
    if sprayed {
        return if control.threshold.is_some() { Class::SprayedCounting } else { Class::SprayedTimer };
    }
    if state.events.1 > state.events.0 {
        return Class::Loss;
    }
    let mut bottlenecks = solution.data(index).iter().filter(|crossing| {
        let events = solution.links[crossing.link as usize].events * f64::from(crossing.takes_part);
        events * state.rtt_s > PART * (state.events.0 + state.events.1)
    });
    let (Some(crossing), None) = (bottlenecks.next(), bottlenecks.next()) else { return Class::Several };
    let crowd = crowds[crossing.link as usize];
    if crowd.with_bbr {
        Class::BesideBbr
    } else if crowd.flows <= 1 {
        Class::Alone
    } else if crowd.mixed {
        Class::MixedControls
    } else if crowd.longest_s > ONE_RTT * crowd.shortest_s {
        Class::MixedRtts
    } else {
        Class::OneRtt
    }
}

/// The flows on a link that react to its events.
#[derive(Debug, Clone, Copy)]
struct Crowd<'a> {
    flows: usize,
    /// Response of the first flow; `None` for UDP.
    first: Option<&'a Response>,
    mixed: bool,
    with_bbr: bool,
    shortest_s: f64,
    longest_s: f64,
}

impl Default for Crowd<'_> {
    fn default() -> Self {
        Crowd { flows: 0, first: None, mixed: false, with_bbr: false, shortest_s: f64::INFINITY, longest_s: 0.0 }
    }
}

impl<'a> Crowd<'a> {
    fn add(&mut self, flow: &'a FlowModel, rtt_s: f64) {
        let response = flow.long_run().map(|control| &*control.response);
        if self.flows == 0 {
            self.first = response;
        }
        self.flows += 1;
        self.mixed |= self.first != response;
        self.with_bbr |= flow.is_bbr();
        self.shortest_s = self.shortest_s.min(rtt_s);
        self.longest_s = self.longest_s.max(rtt_s);
    }
}
