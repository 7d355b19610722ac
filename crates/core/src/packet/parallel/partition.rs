//! Divides the nodes of a network into partitions with about equal work, and few packets between them.

use crate::packet::engine::Engine;
use crate::packet::epochs::event_loop::EpochLoop;
use crate::spec::{LinkId, NodeId, RunSpec};
use crate::units::Duration;
use std::collections::BTreeMap;

/// The work of either end of a flow per packet, relative to the work of a link that the packet crosses.
const WORK_OF_END: u64 = 4;

/// Twice the work, on either side, of sending a packet to another partition, relative to the work of a link that the packet crosses.
const TWICE_WORK_OF_MAIL: u64 = 1;

/// The packet-hops that every flow is assumed to make: the longer its path, the fewer its packets.
const HOPS_OF_FLOW: u64 = 60;

/// The number of first divisions that are improved.
const FIRST_DIVISIONS: usize = 32;

/// Number of passes that try every node in other partitions.
const PASSES: usize = 8;

/// The longest round, 2^36 ps or 69 ms: the receiver of a finished flow must learn of it before its connection retires.
const MAX_ROUND: Duration = Duration(1 << 36);

/// The partitions of a network.
pub struct Partitioning {
    /// Number of partitions.
    pub count: usize,
    partition_of: Vec<usize>,
    /// No event in one partition reaches another sooner.
    pub round: Duration,
    /// The expected packet-hops in a round, if all flows share their links evenly.
    pub hops_per_round: f64,
}

impl Partitioning {
    /// A network in one partition.
    pub fn whole(engine: &Engine<EpochLoop>) -> Partitioning {
        Partitioning {
            count: 1,
            partition_of: vec![0; engine.spec.nodes.len()],
            round: MAX_ROUND,
            hops_per_round: f64::INFINITY,
        }
    }

    /// The partition of a node.
    pub fn partition_of(&self, node: NodeId) -> usize {
        self.partition_of[node as usize]
    }
}

/// The most epochs in a round: a run can be interrupted between two rounds only.
const MAX_EPOCHS: u64 = 10_000;

/// Divides a network. Some first divisions keep neighbours together; each is improved node by node; the one whose busiest partition has the least work
/// is chosen.
pub fn divide(engine: &Engine<EpochLoop>, count: usize) -> Partitioning {
    let network = Load::of(engine);
    let nodes = engine.spec.nodes.len();
    let tries = (0..nodes).step_by(nodes.div_ceil(FIRST_DIVISIONS).max(1)).map(|root| {
        let mut partition_of = network.neighbours_together(root, count);
        let busiest = network.improve(&mut partition_of, count);
        (busiest, partition_of)
    });
    let partition_of = tries.min_by_key(|(busiest, _)| *busiest).map(|(_, nodes)| nodes).unwrap_or_default();
    let round = round(engine, &partition_of);
    Partitioning { count, partition_of, round, hops_per_round: hops_per_second(engine) * round.as_secs() }
}

/// The longest round, a number of whole epochs: in no shorter time does a packet get from the queue of a link to another partition.
fn round(engine: &Engine<EpochLoop>, partition_of: &[usize]) -> Duration {
    let smallest = engine.network.all_sizes().smallest();
    let links = engine.spec.links.iter().zip(engine.network.links());
    let between = links.filter(|(link, _)| partition_of[link.src as usize] != partition_of[link.dst as usize]);
    let crossings = between.map(|(_, link)| link.least_crossing(u64::from(smallest)));
    let shortest = crossings.min().unwrap_or(MAX_ROUND).min(MAX_ROUND);
    let epoch = engine.event_loop.longest_epoch();
    Duration((shortest.0 / epoch.0).min(MAX_EPOCHS) * epoch.0)
}

/// The links of each flow's data, and of its ACKs.
fn routes(engine: &Engine<EpochLoop>) -> impl Iterator<Item = (usize, [Vec<LinkId>; 2])> {
    engine.hosts.flows().iter().map(|flow| &flow.identity).enumerate().map(|(flow, identity)| {
        let there = engine.network.forwarding().current_path(identity.forward, identity.src);
        (flow, [there, engine.network.forwarding().current_path(identity.reverse, identity.dst)])
    })
}

fn hops_per_second(engine: &Engine<EpochLoop>) -> f64 {
    let mut users = vec![0_u32; engine.network.links().len()];
    routes(engine).for_each(|(_, [there, _])| there.iter().for_each(|link| users[*link as usize] += 1));
    let hops = routes(engine).map(|(flow, [there, back])| {
        let share = |link: &LinkId| engine.spec.links[*link as usize].rate.as_bps() / f64::from(users[*link as usize]);
        let rate = there.iter().map(share).fold(f64::INFINITY, f64::min);
        rate / (8.0 * f64::from(engine.network.sizes(flow as u32).full())) * (there.len() + back.len()) as f64
    });
    hops.sum()
}

/// The work at each node, and the packets between neighbours, in packet-hops.
struct Load {
    work: Vec<u64>,
    /// For each node, its neighbours, and the number of packets exchanged with each.
    passing: Vec<Vec<(usize, u64)>>,
}

impl Load {
    fn of(engine: &Engine<EpochLoop>) -> Load {
        let RunSpec { links, nodes, .. } = &engine.spec;
        let mut work = vec![2; nodes.len()];
        let mut between: BTreeMap<(usize, usize), u64> = BTreeMap::new();
        let ends = |link: LinkId| (links[link as usize].src as usize, links[link as usize].dst as usize);
        (0..links.len()).for_each(|link| *between.entry(ends(link as LinkId)).or_default() += 1);
        for (_, directions) in routes(engine) {
            let packets = HOPS_OF_FLOW / directions[0].len().max(1) as u64;
            for route in directions {
                for &link in &route {
                    work[ends(link).1] += 2 * packets;
                    *between.entry(ends(link)).or_default() += packets;
                }
                route.last().into_iter().for_each(|&link| work[ends(link).1] += 2 * WORK_OF_END * packets);
            }
        }
        let mut passing = vec![Vec::new(); nodes.len()];
        for ((src, dst), amount) in between {
            passing[src].push((dst, amount));
            passing[dst].push((src, amount));
        }
        Load { work, passing }
    }

    /// All nodes in breadth-first order from this one, cut into partitions of equal work.
    fn neighbours_together(&self, root: usize, count: usize) -> Vec<usize> {
        let whole: u64 = self.work.iter().sum();
        let mut partition_of = vec![usize::MAX; self.work.len()];
        let mut before = 0;
        for first in (root..self.work.len()).chain(0..root) {
            let mut next = std::collections::VecDeque::from([first]);
            while let Some(node) = next.pop_front() {
                if partition_of[node] == usize::MAX {
                    partition_of[node] = ((before + self.work[node] / 2) * count as u64 / whole) as usize;
                    before += self.work[node];
                    next.extend(self.passing[node].iter().map(|(other, _)| *other));
                }
            }
        }
        partition_of
    }

    /// Moves nodes to other partitions as long as the busiest one gets less work. Returns the work of the busiest.
    fn improve(&self, partition_of: &mut [usize], count: usize) -> u64 {
        let mut load = self.loads(partition_of, count);
        for _ in 0..PASSES {
            let mut is_improved = false;
            for node in 0..partition_of.len() {
                for other in 0..count {
                    let here = partition_of[node];
                    let moved = self.loads_after(&load, partition_of, node, other);
                    let rank = |load: &[u64]| (load.iter().max().copied(), load.iter().sum::<u64>());
                    if other != here && rank(&moved) < rank(&load) {
                        partition_of[node] = other;
                        load = moved;
                        is_improved = true;
                    }
                }
            }
            if !is_improved {
                break;
            }
        }
        load.into_iter().max().unwrap_or(0)
    }

    /// The work of each partition, its packets to others included.
    fn loads(&self, partition_of: &[usize], count: usize) -> Vec<u64> {
        let mut load = vec![0; count];
        for (node, &partition) in partition_of.iter().enumerate() {
            load[partition] += self.work[node];
            let elsewhere = self.passing[node].iter().filter(|(other, _)| partition_of[*other] != partition);
            load[partition] += elsewhere.map(|(_, amount)| TWICE_WORK_OF_MAIL * amount).sum::<u64>();
        }
        load
    }

    /// [`Self::loads`], if a node belonged to another partition.
    fn loads_after(&self, load: &[u64], partition_of: &[usize], node: usize, other: usize) -> Vec<u64> {
        let (mut after, here) = (load.to_vec(), partition_of[node]);
        after[here] -= self.work[node];
        after[other] += self.work[node];
        for &(neighbour, amount) in &self.passing[node] {
            let (there, mail) = (partition_of[neighbour], TWICE_WORK_OF_MAIL * amount);
            if there != here {
                after[here] -= mail;
                after[there] -= mail;
            }
            if there != other {
                after[other] += mail;
                after[there] += mail;
            }
        }
        after
    }
}
