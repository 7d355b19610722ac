//! Completion times of flows that end: the packet engine sends each flow many times over its path, without other flows.
//!
//! The path includes the effect of the other flows. On each link, n other flows share the rate with it. The number n is drawn as in processor sharing,
//! with the probability (1 - load) load^n. Links that long flows fill have their mean wait and their drop ratio.
//!
//! Planned flows do not come at random, so no number of them is drawn for another: [`overlap`](super::overlap) refuses those that share a link.

use super::class::{Interval, interval};
use super::solver::Solution;
use crate::packet::{LossSpec, Simulation};
use crate::predict::bulk;
use crate::predict::network::error::PredictError;
use crate::predict::network::flows::model::FlowModel;
use crate::predict::network::laws::law::segments_per_ack;
use crate::predict::network::links::model::LinkModel;
use crate::predict::network::watch::Watch;
use crate::rng::{Purpose, Stream};
use crate::spec::{LinkId, LinkSpec, QueueLimit, QueueSpec, RunSpec, ScheduleSpec};
use crate::units::{Duration, Rate};
use std::collections::HashMap;

/// Number of simulations of a flow whose completion time is random.
const RUNS: u64 = 41;
/// Sizes up to this number of segments are rounded up to quarters of a segment. For a larger flow, the two neighbours in a series of factor 2^(1/4) are
/// simulated.
const EXACT: f64 = 32.0;
const STEPS_PER_OCTAVE: f64 = 4.0;
const EVENTS: u64 = 1_000_000;

/// Times from a flow's start until its last byte is delivered, seconds. For a flow that does not end within the run, the time is extrapolated from its
/// mean rate until then.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Completion {
    /// Median of the times.
    pub median_s: f64,
    /// Time below which 5 % of the flows end.
    pub low_s: f64,
    /// Time above which 5 % of the flows end.
    pub high_s: f64,
    /// The other traffic and losses on its path.
    pub meets: Meets,
}

/// The traffic and losses on the path of a flow that ends. The measured error of the model depends on them.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Meets {
    /// No losses, and little load.
    Idle,
    /// Random losses.
    Losses,
    /// Other flows that end.
    Load,
    /// Flows that do not end.
    LongFlows,
}

impl Meets {
    /// Factors for the ends of the model's interval, so that it holds 90 % of the goodputs of single flows.
    pub fn interval(self) -> Interval {
        interval(match self {
            Meets::Idle => "size, idle",
            Meets::Losses => "size, losses",
            Meets::Load => "size, load",
            Meets::LongFlows => "size, long flows",
        })
    }
}

/// A link with more than this load counts as loaded.
const LOADED: f64 = 0.05;

/// The properties that flows of any size share: stack and paths.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
struct Kind {
    stack: usize,
    /// See [`FlowModel::planned`].
    planned: bool,
    data: Vec<LinkId>,
    ack: Vec<LinkId>,
}

/// What the flows of a run have of a link.
#[derive(Debug, Clone, Copy, Default)]
struct Shared {
    /// The number of flows without end that react.
    long: f64,
    /// The load of planned flows, bit/s.
    planned_bps: f64,
    /// The load of all other flows, bit/s.
    load_bps: f64,
}

impl Shared {
    /// The load that this flow is part of, bit/s.
    fn load_of(&mut self, flow: &FlowModel) -> &mut f64 {
        if flow.planned { &mut self.planned_bps } else { &mut self.load_bps }
    }
}

/// Completion times by the kind and the size of flows.
pub struct Completions<'a> {
    spec: &'a RunSpec,
    links: &'a [LinkModel],
    shared: Vec<Shared>,
    known: HashMap<(Kind, u64), Completion>,
    watch: &'a Watch,
}

/// A flow to simulate, and its own mean load over the run: data and ACKs, bit/s on the wire.
struct Sent<'b> {
    kind: &'b Kind,
    bytes: u64,
    data_bps: f64,
    acks_bps: f64,
}

impl<'a> Completions<'a> {
    /// Prepares the completion times of a run whose long-run rates are solved.
    pub fn new(spec: &'a RunSpec, flows: &[FlowModel], solution: &'a Solution, watch: &'a Watch) -> Completions<'a> {
        let mut shared = vec![Shared::default(); solution.links.len()];
        for (index, (flow, state)) in flows.iter().zip(&solution.flows).enumerate() {
            for crossing in solution.data(index) {
                let of_link = &mut shared[crossing.link as usize];
                if state.responds > 0.5 {
                    of_link.long += f64::from(crossing.share);
                } else {
                    *of_link.load_of(flow) += f64::from(crossing.share) * state.rate * flow.wire_bits;
                }
            }
            for crossing in solution.acks(index) {
                *shared[crossing.link as usize].load_of(flow) +=
                    f64::from(crossing.share) * state.rate * flow.acks * flow.ack_bits;
            }
        }
        Completions { spec, links: &solution.links, shared, known: HashMap::new(), watch }
    }

    /// Completion time of a flow with this stack and payload. The flow has one path.
    ///
    /// # Errors
    /// If the caller stops the work, or a link cannot carry the flow with its remaining capacity.
    pub fn of(&mut self, flow: &FlowModel, stack: usize, bytes: u64) -> Result<Completion, PredictError> {
        let links = |shares: &[(LinkId, f32)]| shares.iter().map(|(link, _)| *link).collect();
        let (data, ack) = (links(&flow.data.shares), links(&flow.ack.shares));
        let kind = Kind { stack, planned: flow.planned, data, ack };
        let payload = u64::from(self.spec.stacks[stack].mss);
        let segments = bytes.div_ceil(payload) as f64;
        if segments <= EXACT {
            let quarter = payload.div_ceil(4);
            return self.sent(&kind, bytes.div_ceil(quarter) * quarter);
        }
        let step = segments.log2() * STEPS_PER_OCTAVE;
        let size = |step: f64| libm::exp2(step / STEPS_PER_OCTAVE).round();
        let (below, above) = (size(step.floor()), size(step.floor() + 1.0));
        let part = (segments - below) / (above - below);
        let one = self.sent(&kind, below as u64 * payload)?;
        let other = self.sent(&kind, above as u64 * payload)?;
        let between =
            |one: f64, other: f64| if part > 0.0 && one.is_finite() { one + part * (other - one) } else { one };
        Ok(Completion {
            median_s: between(one.median_s, other.median_s),
            low_s: between(one.low_s, other.low_s),
            high_s: between(one.high_s, other.high_s),
            meets: one.meets,
        })
    }

    fn sent(&mut self, kind: &Kind, bytes: u64) -> Result<Completion, PredictError> {
        if let Some(known) = self.known.get(&(kind.clone(), bytes)) {
            return Ok(*known);
        }
        let stack = &self.spec.stacks[kind.stack];
        let packets_s = bytes as f64 / f64::from(stack.mss) / self.spec.duration.as_secs();
        let sent = Sent {
            kind,
            bytes,
            data_bps: packets_s * 8.0 * f64::from(stack.mss + stack.header),
            acks_bps: packets_s * 8.0 * f64::from(stack.header) / segments_per_ack(&stack.ack),
        };
        let runs = if self.is_certain(&sent) { 1 } else { RUNS };
        let mut times = (0..runs).map(|run| self.send(&sent, run)).collect::<Result<Vec<f64>, PredictError>>()?;
        times.sort_by(f64::total_cmp);
        let at = |share: f64| times[(share * (times.len() - 1) as f64).round() as usize];
        let found = Completion { median_s: at(0.5), low_s: at(0.05), high_s: at(0.95), meets: self.meets(&sent) };
        self.known.insert((kind.clone(), bytes), found);
        Ok(found)
    }

    /// The links of a flow's paths. Each has the share of its rate that other flows that end use.
    fn loads<'b>(&'b self, sent: &'b Sent<'_>) -> impl Iterator<Item = (usize, f64)> + 'b {
        let data = sent.kind.data.iter().map(|link| (*link as usize, sent.data_bps));
        let acks = sent.kind.ack.iter().map(|link| (*link as usize, sent.acks_bps));
        data.chain(acks).map(|(link, own_bps)| (link, self.load(sent, link, own_bps)))
    }

    fn load(&self, sent: &Sent<'_>, link: usize, own_bps: f64) -> f64 {
        let Shared { planned_bps, load_bps, .. } = self.shared[link];
        let others_bps = load_bps + if sent.kind.planned { 0.0 } else { planned_bps - own_bps };
        (others_bps / self.links[link].rate_bps).clamp(0.0, 0.99)
    }

    /// The rate of a link for flows that end, bit/s: flows without end keep one share.
    pub fn left_bps(&self, link: LinkId) -> f64 {
        let long = self.shared[link as usize].long;
        self.links[link as usize].rate_bps / if long > 0.0 { 2.0 } else { 1.0 }
    }

    fn meets(&self, sent: &Sent<'_>) -> Meets {
        if self.loads(sent).any(|(link, _)| self.shared[link].long > 0.0) {
            Meets::LongFlows
        } else if self.loads(sent).any(|(_, load)| load > LOADED) {
            Meets::Load
        } else if self.loads(sent).any(|(link, _)| self.links[link].loss > 0.0) {
            Meets::Losses
        } else {
            Meets::Idle
        }
    }

    /// Whether the completion time is not random.
    fn is_certain(&self, sent: &Sent<'_>) -> bool {
        self.loads(sent).all(|(link, load)| load < 1e-3 && self.drop_ratio(link) <= 0.0 && self.links[link].loss <= 0.0)
    }

    /// Share of its packets that the queue of a link drops.
    fn drop_ratio(&self, link: usize) -> f64 {
        let model = &self.links[link];
        if self.shared[link].long <= 0.0 {
            return 0.0;
        }
        let packets = model.load_bps / (model.rate_bps * model.packet_s);
        let drops = model.events * model.drops;
        drops / (packets + drops)
    }

    /// Simulates a flow, and returns its completion time.
    fn send(&self, sent: &Sent<'_>, run: u64) -> Result<f64, PredictError> {
        let Sent { kind, bytes, .. } = *sent;
        let nodes = kind.data.len() + kind.ack.len();
        // The links form a ring: data packets go on to the receiver, and ACKs go on to the sender.
        let ring = kind.data.iter().map(|link| (*link, true)).chain(kind.ack.iter().map(|link| (*link, false)));
        let links = ring.enumerate().map(|(index, (link, data))| {
            let (src, dst) = (index as u32, ((index + 1) % nodes) as u32);
            LinkSpec { src, dst, ..self.left(sent, link as usize, data, run) }
        });
        let (stack, pair) = (&self.spec.stacks[kind.stack], (0, kind.data.len() as u32));
        let spec = bulk::run(stack, links.collect(), vec![pair], Some(bytes), self.spec.duration, run);
        let mut simulation = Simulation::new(spec)?;
        while simulation.advance(EVENTS) {
            self.watch.check()?;
        }
        self.watch.check()?;
        let table = simulation.flow_table();
        let [time, delivered] = ["fct_s", "delivered_bytes"].map(|column| table.numbers(column)[0]);
        Ok(if time.is_nan() { self.spec.duration.as_secs() * bytes as f64 / delivered } else { time })
    }

    /// A link with the rate and queue that the other flows leave.
    fn left(&self, sent: &Sent<'_>, link: usize, data: bool, run: u64) -> LinkSpec {
        let (spec, model) = (&self.spec.links[link], &self.links[link]);
        let (long, load) = (self.shared[link].long, self.load(sent, link, sent.data_bps));
        // The schedules of a link hold for the whole run, and this is the link of one phase.
        let mut left = LinkSpec { rate_schedule: None, delay_schedule: None, ..spec.clone() };
        let draws = Stream::new(run, Purpose::Arrival, link as u64);
        // Long flows let the queue grow evenly to its limit.
        let (mean_s, greatest_s) = (model.queue_s, model.buffer_s);
        let least_s = (2.0 * mean_s - greatest_s).max(0.0);
        let wait_s = least_s + draws.uniform(0) * 2.0 * (mean_s - least_s);
        left.delay = spec.delay + Duration::from_secs_f64(wait_s);
        if !data {
            return left;
        }
        let others = if load > 0.0 { ((1.0 - draws.uniform(1)).ln() / load.ln()).floor() } else { 0.0 };
        let beside_long = if long > 0.0 { 1.0 } else { 0.0 };
        left.rate =
            Rate::from_bps((spec.rate.as_bps() / (1.0 + others + beside_long)).max(ScheduleSpec::LEAST_RATE as f64));
        let free = 1.0 - (wait_s / greatest_s).min(1.0);
        let stack = &self.spec.stacks[sent.kind.stack];
        let least = 2 * u64::from(stack.mss + stack.header);
        left.queue = QueueSpec {
            limit: match spec.queue.limit {
                QueueLimit::Packets(packets) => QueueLimit::Packets((f64::from(packets) * free).ceil().max(2.0) as u32),
                QueueLimit::Bytes(bytes) => {
                    QueueLimit::Bytes(((bytes as f64 * free).ceil() as u64).max(least.min(bytes)))
                }
            },
            ..spec.queue.clone()
        };
        let lost = 1.0 - (1.0 - model.loss) * (1.0 - self.drop_ratio(link));
        left.loss = (lost > 0.0).then(|| LossSpec::bernoulli(lost));
        left
    }
}
