//! The model of a flow: its law, its limits, and the links that its packets and ACKs cross.

use super::loss::{self, PathLoss};
use crate::packet::{DisciplineSpec, Simulation, Unlisted};
use crate::predict::network::error::PredictError;
use crate::predict::network::laws::law::{Bbr, Response, segments_per_ack};
use crate::predict::network::laws::provided;
use crate::predict::network::watch::Watch;
use crate::predict::{Flow, padhye};
use crate::spec::{ApplicationSpec, Granularity, LinkId, LinkSpec, Selector, TransportSpec};
use crate::tcp::congestion::rate_based::bbr::PACING_GAINS;
use crate::tcp::detection::{DetectionSpec, path_count};
use std::sync::Arc;

/// Greatest loss ratio of a path. Above it, timeouts determine the rate.
const GREATEST_LOSS: f64 = 0.05;
/// 90 % of a normal distribution lie within this number of standard deviations.
const NORMAL_90: f64 = 1.645;
/// Greatest number of paths of a flow whose packets choose a path.
const MOST_PATHS: usize = 1024;

/// Packets of all paths' queues together when one overflows, in units of one queue's limit, where packets draw their path.
pub const TOGETHER: f64 = 0.5;
/// A share above this counts as all packets, because shares are sums of rounded numbers.
pub const ALL: f32 = 0.999;
/// Least number of packets that Linux's pacing sends at once (`tcp_min_tso_segs`).
const LINUX_QUANTUM: f64 = 2.0;
/// Steps to the rate that BBR measures.
const MEASUREMENTS: u32 = 100;

/// How long the flowlets of a run are.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Flowlets {
    /// Each packet, or burst of packets, is one.
    Short,
    /// All packets of a flow are one. The flows take the paths in turn, and `turn` of 0 to 1 is where the first one begins.
    Long { turn: f64 },
}

/// The path that a flow takes in its turn, with the paths' shares of the flows.
fn path_in_turn(paths: &[(Vec<LinkId>, f64)], flow: u32, turn: f64) -> usize {
    let place = (f64::from(flow) / paths.len() as f64 + turn).fract();
    let mut end = 0.0;
    let found = paths.iter().position(|(_, share)| {
        end += share;
        place < end
    });
    found.unwrap_or(paths.len() - 1)
}

/// The links of a flow in one direction.
#[derive(Debug, Clone, PartialEq)]
pub struct Paths {
    /// Each link, and the share of the packets that crosses it.
    pub shares: Vec<(LinkId, f32)>,
    /// Number of paths that the packets take.
    pub count: usize,
    /// The paths, if there are several.
    pub routes: Vec<Route>,
    /// Whether packets take the paths in turn. Otherwise they draw one.
    pub in_turn: bool,
}

/// One of several paths.
#[derive(Debug, Clone, PartialEq)]
pub struct Route {
    /// Its links.
    pub links: Vec<LinkId>,
    /// Share of the packets that take it.
    pub share: f64,
    /// Delay in an idle network, seconds.
    pub delay_s: f64,
}

impl Paths {
    /// One path over these links.
    fn one(links: &[LinkId]) -> Paths {
        let shares = links.iter().map(|link| (*link, 1.0)).collect();
        Paths { shares, count: 1, routes: Vec::new(), in_turn: false }
    }

    /// Several paths, each with its share of the packets. A packet has `bits`. With `in_turn` packets take the paths in turn, otherwise they draw
    /// one.
    fn several(found: Vec<(Vec<LinkId>, f64)>, wires: &[Wire], bits: f64, in_turn: bool) -> Paths {
        let mut shares: Vec<(LinkId, f32)> = Vec::new();
        for (links, of_path) in &found {
            for link in links {
                match shares.iter_mut().find(|(known, _)| known == link) {
                    Some((_, share)) => *share += *of_path as f32,
                    None => shares.push((*link, *of_path as f32)),
                }
            }
        }
        let count = found.len();
        let route = |(links, share): (Vec<LinkId>, f64)| {
            let delay_s = links.iter().map(|link| wires[*link as usize].crossing_s(bits)).sum();
            Route { links, share, delay_s }
        };
        let routes = if count > 1 { found.into_iter().map(route).collect() } else { Vec::new() };
        Paths { shares, count, routes, in_turn }
    }

    /// Makes the shares those of the packets that arrive if BBR sends at the rate that it measures. The draft of BBR measures the greatest delivery
    /// rate of its gain cycle, B. While it probes it sends more, and of that each path delivers what it can: B is the greatest solution of
    /// `B = sum min(1.25 share B, rate)`. So it overloads the slowest paths, and the others deliver more than the slowest.
    fn overload(&mut self, wires: &[Wire]) {
        let partly: Vec<LinkId> = self.shares.iter().filter(|(_, share)| *share < ALL).map(|(link, _)| *link).collect();
        let rate = |route: &Route| {
            let links = route.links.iter().filter(|link| partly.contains(link));
            links.map(|link| wires[*link as usize].rate_bps).fold(f64::INFINITY, f64::min)
        };
        let rates: Vec<f64> = self.routes.iter().map(rate).collect();
        let Some(shares) = delivered_shares(&self.routes, &rates) else { return };
        self.shares.iter_mut().filter(|(_, share)| *share < ALL).for_each(|(_, share)| *share = 0.0);
        for (route, share) in self.routes.iter_mut().zip(shares) {
            route.share = share;
            for link in route.links.iter().filter(|link| partly.contains(link)) {
                let known = self.shares.iter_mut().find(|(known, _)| known == link).expect("a link of the paths");
                known.1 += share as f32;
            }
        }
    }
}

/// The TCP properties that the model needs besides the paths.
#[derive(Debug, Clone, PartialEq)]
pub struct Control {
    /// The stack's index.
    pub stack: usize,
    /// Its congestion control, shared by all flows of the stack.
    pub response: Arc<Response>,
    /// The receiver's window, segments.
    pub window_limit: f64,
    /// The least retransmission timeout, seconds.
    pub min_rto_s: f64,
    /// Number of duplicate ACKs that signal a loss, if the detector counts them.
    pub threshold: Option<f64>,
    /// Whether only a timer signals a loss.
    pub by_timer: bool,
}

impl Control {
    /// The retransmission timeout at this RTT, seconds.
    pub fn timeout_s(&self, rtt_s: f64) -> f64 {
        (self.min_rto_s + rtt_s).max(2.0 * rtt_s)
    }
}

/// A flow in the model.
#[derive(Debug, Clone, PartialEq)]
pub struct FlowModel {
    /// Its number in the run.
    pub number: u32,
    /// `None` for UDP.
    pub control: Option<Arc<Control>>,
    /// Bits on the wire of a packet.
    pub wire_bits: f64,
    /// Bits of its payload.
    pub payload_bits: f64,
    /// Bits on the wire of an ACK.
    pub ack_bits: f64,
    /// ACKs per data packet.
    pub acks: f64,
    /// Packets that one ACK releases together. A full queue drops more packets of longer bursts.
    pub burst: f64,
    /// Whether its packets are paced at even distances instead of sent when ACKs arrive.
    pub paced: bool,
    /// Packets a second that the application writes; infinite without a limit. The data of a flow that ends is spread over the run.
    pub source_rate: f64,
    /// In 90 % of runs, a random source writes within this share of its mean.
    pub source_noise: f64,
    /// Payload of a flow that ends.
    pub bytes: Option<u64>,
    /// Whether it ends, and the scenario says when it starts. Otherwise its start is random.
    pub planned: bool,
    /// Links of its data packets.
    pub data: Paths,
    /// Links of its ACKs.
    pub ack: Paths,
    /// The RTT with empty queues, seconds.
    pub idle_rtt_s: f64,
    /// Losses of its data on the wire.
    pub loss: PathLoss,
    /// Share of its packets that go to links that carry none, because they have failed. The paths are the others; of a flow of datagrams without any, the
    /// links before the failed one.
    pub lost: f64,
    /// See [`SprayLimits`](crate::predict::network::solution::spraying::SprayLimits).
    pub spray_limit: f64,
}

impl FlowModel {
    /// Its congestion control, if that determines its rate in the long run.
    pub fn long_run(&self) -> Option<&Control> {
        self.control.as_deref().filter(|_| self.bytes.is_none())
    }

    /// Mean share of a link's limit that is full when its queue overflows. `share` of the flow's packets cross the link. If packets draw their path,
    /// the queues of the paths swing against one another: when one is full, all together hold half a limit. Where all packets cross the link,
    /// nothing swings.
    pub fn fills(&self, share: f32) -> f64 {
        if self.data.count == 1 || self.data.in_turn || share > ALL { 1.0 } else { TOGETHER * f64::from(share) }
    }

    /// Number of duplicate ACKs that signal a loss, if its packets take several paths and its detector counts them.
    pub fn counted(&self) -> Option<f64> {
        self.long_run().filter(|_| self.data.count > 1)?.threshold
    }

    /// Whether its congestion control is BBR.
    pub fn is_bbr(&self) -> bool {
        self.bbr().is_some()
    }

    /// Its version of BBR, if its congestion control is BBR.
    pub fn bbr(&self) -> Option<Bbr> {
        match *self.long_run()?.response {
            Response::Bbr(version) => Some(version),
            _ => None,
        }
    }
}

/// The state of a flow.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct FlowState {
    /// Packets sent a second.
    pub rate: f64,
    /// Mean window, segments.
    pub window: f64,
    /// Mean RTT, seconds.
    pub rtt_s: f64,
    /// Segments by which the window grows a round trip.
    pub growth: f64,
    /// Events a round trip, of links and at random.
    pub events: (f64, f64),
    /// How far the flow follows its law, from 0 (another limit holds it) to 1.
    pub responds: f64,
    /// Ratio of its window after an event to the window before it.
    pub remaining: f64,
    /// Ratio of its mean window to the greatest one, for events at even distances.
    pub mean_share: f64,
    /// The limit by reordering, packets a second.
    pub spray_limit: f64,
}

/// Builds the models of a run's flows, sorted by their first link, so that the solver finds this link in the cache. Flows without a path are left out: of
/// TCP, also those whose ACKs have none.
pub fn models(run: &mut Simulation, flowlets: Flowlets, watch: &Watch) -> Result<Vec<FlowModel>, PredictError> {
    let count = run.planned_flows();
    let spec = run.spec();
    let marking = spec.links.iter().any(|link| !matches!(link.queue.discipline, DisciplineSpec::DropTail(_)));
    let senders: Vec<Sender> = spec
        .stacks
        .iter()
        .map(|stack| Some((Arc::new(Response::of(stack, stack.ecn && marking)?), provided::min_rto_s(stack))))
        .collect();
    let wires: Vec<Wire> = spec.links.iter().map(Wire::of).collect();
    let mut controls = Vec::new();
    let flows = (0..count).filter_map(|flow| {
        let found = watch.check().and_then(|()| model((&senders, &mut controls), &wires, (run, flow), flowlets));
        found.transpose()
    });
    let mut flows = flows.collect::<Result<Vec<FlowModel>, PredictError>>()?;
    loss::divide(run.spec(), &mut flows);
    flows.sort_by_cached_key(|flow| flow.data.shares.first().map(|(link, _)| *link));
    Ok(flows)
}

/// Of a stack: its congestion control, and its least retransmission timeout in seconds; `None` if the model has no law for it.
type Sender = Option<(Arc<Response>, f64)>;

fn model(
    (senders, controls): (&[Sender], &mut Vec<Arc<Control>>),
    wires: &[Wire],
    (run, flow): (&mut Simulation, u32),
    flowlets: Flowlets,
) -> Result<Option<FlowModel>, PredictError> {
    let plan = run.plan(flow);
    let wire_bits = 8.0 * f64::from(run.full_size(flow));
    let transport = run.spec().traffic[plan.group as usize].transport;
    let ack_bits = match transport {
        TransportSpec::Udp { .. } => None,
        TransportSpec::Tcp { stack } => Some(8.0 * f64::from(run.spec().stacks[stack].header)),
    };
    let mut data = paths(run, wires, flow, (false, flowlets), wire_bits)?;
    if ack_bits.is_none() && data.is_none() {
        data = Some((Paths::one(&links_until_failure(run, flow)), 1.0));
    }
    let ack = match ack_bits {
        Some(bits) => paths(run, wires, flow, (true, flowlets), bits)?,
        None => Some((Paths::one(&[]), 0.0)),
    };
    // ACKs are cumulative: those of the other paths suffice.
    let (Some((mut data, lost)), Some((ack, _))) = (data, ack) else { return Ok(None) };
    let ack_bits = ack_bits.unwrap_or(0.0);
    let spec = run.spec();
    let group = &spec.traffic[plan.group as usize];
    let (control, payload_bits, acks, paced) = match transport {
        TransportSpec::Udp { packet } => (None, 8.0 * f64::from(packet), 1.0, false),
        TransportSpec::Tcp { stack: index } => {
            let stack = &spec.stacks[index];
            let control = senders[index].as_ref().map(|(response, min_rto_s)| Control {
                stack: index,
                response: Arc::clone(response),
                window_limit: f64::from(stack.window_segments()),
                min_rto_s: *min_rto_s,
                threshold: None, // known with the paths
                by_timer: matches!(stack.detection_in_use(), DetectionSpec::FastRto(_) | DetectionSpec::TcpPr(_)),
            });
            (control, 8.0 * f64::from(stack.mss), 1.0 / segments_per_ack(&stack.ack), stack.pacing)
        }
    };
    let bytes = plan.bytes;
    let planned = bytes.is_some() && !matches!(group.application, ApplicationSpec::ShortFlows { .. });
    let mut source_rate = match (&group.application, bytes) {
        (ApplicationSpec::Constant { rate } | ApplicationSpec::Poisson { rate }, _) => rate.as_bps() / payload_bits,
        (_, Some(bytes)) => 8.0 * bytes as f64 / payload_bits / spec.duration.as_secs(),
        _ => f64::INFINITY,
    };
    let source_noise = match &group.application {
        // The number of packets in an interval has a Poisson distribution: its variance equals its mean.
        ApplicationSpec::Poisson { .. } => NORMAL_90 / (source_rate * (spec.duration - spec.warm_up).as_secs()).sqrt(),
        _ => 0.0,
    };
    if control.as_ref().is_some_and(|control| *control.response == Response::Bbr(Bbr::Draft)) && bytes.is_none() {
        data.overload(wires);
    }
    if bytes.is_some() && data.shares.iter().any(|(link, _)| loss::in_bursts(&spec.links[*link as usize])) {
        return Err(PredictError::Refused(format!(
            "flow {flow}: it ends, and a link of its path loses packets in bursts"
        )));
    }
    if (data.count > 1 || lost > 0.0) && bytes.is_some() {
        return Err(PredictError::Refused(format!("flow {flow}: it ends, and has several paths")));
    }
    let control = control.map(|control: Control| Control {
        threshold: threshold(&spec.stacks[control.stack].detection_in_use(), data.count as u32),
        ..control
    });
    let burst = match transport {
        TransportSpec::Tcp { stack } if paced && spec.stacks[stack].sends_quanta() => LINUX_QUANTUM,
        _ if paced => 1.0,
        _ => 1.0 / acks,
    };
    let kept = data.shares.iter().map(|(link, share)| f64::from(*share) * wires[*link as usize].kept).sum::<f64>();
    let loss = -libm::expm1(kept);
    if loss > GREATEST_LOSS {
        let [src, dst] = [plan.src, plan.dst].map(|node| &spec.nodes[node as usize]);
        return Err(PredictError::Refused(format!(
            "flow {flow} ({src} -> {dst}): its path loses {loss:.3} of the packets, more than {GREATEST_LOSS}"
        )));
    }
    let idle_rtt_s = idle_s(wires, &data, wire_bits) + idle_s(wires, &ack, ack_bits);
    if lost > 0.0 && lost < 1.0 {
        source_rate = match &control {
            None => source_rate * (1.0 - lost),
            Some(control) if matches!(*control.response, Response::Bbr(_)) => source_rate,
            Some(control) => source_rate.min(rate_of_timeouts(control, lost, idle_rtt_s, 1.0 / acks)),
        };
    }
    Ok(Some(FlowModel {
        number: flow,
        control: control.map(|control| shared(controls, control)),
        wire_bits,
        payload_bits,
        ack_bits,
        acks,
        burst,
        paced,
        source_rate,
        source_noise,
        bytes,
        planned,
        data,
        ack,
        idle_rtt_s,
        loss: PathLoss::independent(loss),
        lost,
        spray_limit: f64::INFINITY, // known with the links
    }))
}

/// Packets a second that a flow delivers of which this share meets failed links, by Padhye et al. 1998 (`B(p)` without a receiver's window).
fn rate_of_timeouts(control: &Control, lost: f64, rtt_s: f64, packets_per_ack: f64) -> f64 {
    let flow = Flow { mss_bytes: 0.125, rtt_s, loss: lost, max_window: control.window_limit };
    (1.0 - lost) * padhye::full(flow, padhye::Timing { packets_per_ack, timeout_s: control.timeout_s(rtt_s) })
}

/// Returns the stored control that equals this one: most flows have one of few controls.
fn shared(known: &mut Vec<Arc<Control>>, control: Control) -> Arc<Control> {
    let same = |one: &&Arc<Control>| (one.stack, one.threshold) == (control.stack, control.threshold);
    if let Some(one) = known.iter().find(same) {
        return Arc::clone(one);
    }
    known.push(Arc::new(control));
    Arc::clone(&known[known.len() - 1])
}

fn threshold(detection: &DetectionSpec, paths: u32) -> Option<f64> {
    match detection {
        DetectionSpec::PathCount(parameters) => Some(f64::from(path_count::threshold(parameters.threshold, paths))),
        DetectionSpec::DupAck(parameters) => Some(f64::from(parameters.threshold)),
        DetectionSpec::RackTlp(_) | DetectionSpec::FastRto(_) | DetectionSpec::TcpPr(_) => None,
        _ => Some(f64::from(crate::tcp::detection::dup_ack::LEAST_THRESHOLD)),
    }
}

/// Each path's share of the packets that arrive if BBR sends at the rate that it measures; `None` if no path has a rate of its own.
fn delivered_shares(routes: &[Route], rates: &[f64]) -> Option<Vec<f64>> {
    let arriving = |sent: f64| -> Vec<f64> {
        routes.iter().zip(rates).map(|(route, rate)| (route.share * sent).min(*rate)).collect()
    };
    let mut measured: f64 = rates.iter().sum();
    if routes.is_empty() || !measured.is_finite() {
        return None;
    }
    // From above, it falls to the greatest solution.
    for _ in 0..MEASUREMENTS {
        measured = arriving(PACING_GAINS[0] * measured).iter().sum();
    }
    let arriving = arriving(measured);
    let sum: f64 = arriving.iter().sum();
    Some(arriving.into_iter().map(|one| one / sum).collect())
}

/// The properties of a link in an idle network. The struct is small, so that all links of a large network fit into the cache.
struct Wire {
    delay_s: f64,
    rate_bps: f64,
    /// Logarithm of the share of packets that it does not lose.
    kept: f64,
}

impl Wire {
    fn of(link: &LinkSpec) -> Wire {
        Wire { delay_s: link.delay.as_secs(), rate_bps: link.rate.as_bps(), kept: libm::log1p(-loss::of_link(link)) }
    }

    /// Propagation and transmission, seconds.
    fn crossing_s(&self, bits: f64) -> f64 {
        self.delay_s + bits / self.rate_bps
    }
}

fn idle_s(wires: &[Wire], paths: &Paths, bits: f64) -> f64 {
    paths.shares.iter().map(|(link, share)| f64::from(*share) * wires[*link as usize].crossing_s(bits)).sum()
}

/// The links that packets of a flow take, as the packet engine forwards them, and the share of the packets whose path has failed; `None` if that is all.
fn paths(
    run: &mut Simulation,
    wires: &[Wire],
    flow: u32,
    (reverse, flowlets): (bool, Flowlets),
    bits: f64,
) -> Result<Option<(Paths, f64)>, PredictError> {
    let one = |run: &Simulation, links: &[LinkId]| {
        links.iter().all(|link| run.carries(*link)).then(|| (Paths::one(links), 0.0))
    };
    if let Some(links) = run.compiled_path(flow, reverse) {
        return Ok(one(run, links));
    }
    let no_end = run
        .spec()
        .events
        .is_empty()
        .then(|| PredictError::Refused(format!("flow {flow}: its packets go in a circle, or no route leads on")));
    if run.has_one_path(flow, reverse) {
        return match (run.links_of_first(flow, reverse), no_end) {
            (Some(links), _) => Ok(one(run, &links)),
            (None, Some(error)) => Err(error),
            (None, None) => Ok(None),
        };
    }
    let mut found = match (run.paths_of_packets(flow, reverse, MOST_PATHS), no_end) {
        (Ok(found), _) => found,
        (Err(Unlisted::NoEnd), None) => return Ok(None),
        (Err(Unlisted::NoEnd), Some(error)) => return Err(error),
        (Err(Unlisted::TooMany), _) => {
            let what = format!("flow {flow}: its packets take more than {MOST_PATHS} paths");
            return Err(PredictError::Refused(what));
        }
    };
    let group = run.plan(flow).group as usize;
    let spec = run.spec();
    let group = &spec.traffic[group];
    let used = &spec.routings[if reverse { spec.reverse_routing(group) } else { group.routing }];
    if let (Granularity::Flowlet { .. }, Flowlets::Long { turn }) = (used.per, flowlets) {
        return Ok(one(run, &found[path_in_turn(&found, flow, turn)].0));
    }
    let all = found.len();
    found.retain(|(links, _)| links.iter().all(|link| run.carries(*link)));
    if found.is_empty() {
        return Ok(None);
    }
    let mut lost = 0.0;
    if found.len() < all {
        let kept: f64 = found.iter().map(|(_, share)| share).sum();
        found.iter_mut().for_each(|(_, share)| *share /= kept);
        lost = 1.0 - kept;
    }
    let in_turn = matches!(spec.routings[group.routing].select, Selector::RoundRobin(_));
    Ok(Some((Paths::several(found, wires, bits, in_turn), lost)))
}

/// The links that datagrams of a flow cross before one that carries none, if they have one path.
fn links_until_failure(run: &mut Simulation, flow: u32) -> Vec<LinkId> {
    let links = match run.compiled_path(flow, false) {
        Some(links) => links.to_vec(),
        None if run.has_one_path(flow, false) => run.links_of_first(flow, false).unwrap_or_default(),
        None => Vec::new(),
    };
    links.into_iter().take_while(|link| run.carries(*link)).collect()
}
