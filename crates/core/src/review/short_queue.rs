//! Queues far shorter than flows of a loss-based congestion control need to use their link.
//!
//! n long flows need a queue of RTT × C / √n (Appenzeller, Keslassy and McKeown, "Sizing router buffers", SIGCOMM 2004). The rule is for
//! long flows whose losses come from the queue: bulk without end, over links without other losses, with windows that can exceed the path.

use super::Finding;
use super::delays::Delays;
use super::routes::Finder;
use crate::routing::{Graph, RoutingError};
use crate::spec::{ApplicationSpec, LinkId, QueueLimit, RunSpec, StackSpec, TrafficSpec, TransportSpec};
use crate::tcp::congestion::CongestionSpec;
use crate::tcp::congestion::choice::ControlSpec;
use crate::units::Duration;
use std::collections::BTreeMap;

/// A queue is reported if it is shorter than this share of what Appenzeller et al. ask for. Half of it costs a flow a few per cent, as
/// the window falls to a half or 0.7 only; a tenth also overflows at each doubling of slow start.
const SHARE: f64 = 0.1;

/// The long flows over a link on which they meet.
#[derive(Default)]
struct Flows {
    number: u64,
    round_trip: Duration,
    traffic: Option<usize>,
    windows: u64,
    packet: u64,
}

pub(super) fn find(spec: &RunSpec, graph: &Graph, delays: &mut Delays) -> Result<Vec<Finding>, RoutingError> {
    let concerned: Vec<(usize, &TrafficSpec, &StackSpec)> =
        (0..).zip(&spec.traffic).filter_map(|(index, group)| Some((index, group, loss_based(spec, group)?))).collect();
    let longest_way = spec.links.iter().fold(0_u64, |sum, link| sum.saturating_add(link.delay.0));
    let packet = concerned.iter().map(|(.., stack)| u64::from(stack.mss + stack.header)).max().unwrap_or(0);
    let may_be_short = |longest: Duration| {
        (0..spec.links.len() as LinkId)
            .any(|link| is_short(bytes(spec.links[link as usize].queue.limit, packet), graph, link, longest, 1))
    };
    if longest_way > u64::MAX / 2 || !may_be_short(Duration(2 * longest_way)) {
        return Ok(Vec::new());
    }
    let routes = concerned.iter().flat_map(|(_, group, _)| spec.data_routes(group).chain(spec.ack_routes(group)));
    delays.find(spec, graph, routes.collect())?;
    let pairs = concerned.iter().flat_map(|(_, group, _)| spec.data_routes(group).zip(spec.ack_routes(group)));
    let round_trips = pairs.filter_map(|(there, back)| Some(delays.of(there)?.0 + delays.of(back)?.0));
    if !may_be_short(round_trips.max().unwrap_or(Duration::ZERO)) {
        return Ok(Vec::new());
    }
    let mut finder = Finder::default();
    let mut on_links: BTreeMap<LinkId, Flows> = BTreeMap::new();
    for (traffic, group, stack) in concerned {
        for (there, back) in spec.data_routes(group).zip(spec.ack_routes(group)) {
            let (Some(ahead), Some(behind)) = (delays.of(there), delays.of(back)) else { continue };
            let routes = finder.find(graph, (there.0, &spec.routings[there.0].hops), there.1, there.2)?;
            let links: Vec<LinkId> = routes.steps(graph, there.1).into_iter().map(|(_, link)| link).collect();
            if links.iter().any(|link| spec.links[*link as usize].loss.is_some()) {
                continue;
            }
            let narrowest = links.iter().map(|link| graph.link(*link).rate).min();
            for link in links.into_iter().filter(|link| Some(graph.link(*link).rate) == narrowest) {
                if stack.ecn && spec.links[link as usize].queue.discipline.marks() {
                    continue;
                }
                let flows = on_links.entry(link).or_default();
                let number = u64::from(group.flows_per_pair);
                flows.number += number;
                flows.round_trip = flows.round_trip.max(ahead.0 + behind.0);
                flows.traffic = flows.traffic.or(Some(traffic));
                flows.windows = flows.windows.saturating_add(number.saturating_mul(stack.receive_window));
                flows.packet = flows.packet.max(u64::from(stack.mss + stack.header));
            }
        }
    }
    let mut found: BTreeMap<usize, Finding> = BTreeMap::new();
    for (link, flows) in on_links {
        let queue = bytes(spec.links[link as usize].queue.limit, flows.packet);
        let product = product(graph, link, flows.round_trip);
        let Some(traffic) = flows.traffic else { continue };
        if !is_short(queue, graph, link, flows.round_trip, flows.number) || (flows.windows as f64) < product {
            continue;
        }
        let first = Finding::ShortQueue {
            traffic,
            links: 0,
            link,
            queue,
            flows: flows.number,
            product: product as u64,
            round_trip: flows.round_trip,
        };
        if let Finding::ShortQueue { links, .. } = found.entry(traffic).or_insert(first) {
            *links += 1;
        }
    }
    Ok(found.into_values().collect())
}

/// The stack of a group of endless flows that shrink their windows because of losses only, and send without pacing.
fn loss_based<'a>(spec: &'a RunSpec, group: &TrafficSpec) -> Option<&'a StackSpec> {
    let TransportSpec::Tcp { stack } = group.transport else { return None };
    let stack = &spec.stacks[stack];
    let ControlSpec::Named(congestion) = &stack.congestion else { return None };
    let is_loss_based = matches!(
        congestion,
        CongestionSpec::Reno(_)
            | CongestionSpec::NewReno(_)
            | CongestionSpec::Cubic(_)
            | CongestionSpec::Bic(_)
            | CongestionSpec::HighSpeed(_)
            | CongestionSpec::Scalable(_)
            | CongestionSpec::Htcp(_)
            | CongestionSpec::LinuxReno(_)
            | CongestionSpec::LinuxCubic(_)
            | CongestionSpec::LinuxBic(_)
            | CongestionSpec::LinuxScalable(_)
            | CongestionSpec::LinuxHighSpeed(_)
            | CongestionSpec::LinuxHtcp(_)
    );
    let is_long = matches!(group.application, ApplicationSpec::Bulk { bytes: None });
    (is_loss_based && is_long && !stack.pacing).then_some(stack)
}

fn bytes(limit: QueueLimit, packet: u64) -> u64 {
    match limit {
        QueueLimit::Packets(packets) => u64::from(packets) * packet,
        QueueLimit::Bytes(bytes) => bytes,
    }
}

/// The bandwidth-delay product, bytes.
fn product(graph: &Graph, link: LinkId, round_trip: Duration) -> f64 {
    graph.link(link).rate.as_bps() * round_trip.as_secs() / 8.0
}

fn is_short(queue: u64, graph: &Graph, link: LinkId, round_trip: Duration, flows: u64) -> bool {
    (queue as f64) < SHARE * product(graph, link, round_trip) / (flows as f64).sqrt()
}
