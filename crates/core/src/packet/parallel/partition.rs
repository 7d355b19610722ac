//! Which node belongs to which part: about as much to do in each, and little to hand over.

use crate::packet::engine::Engine;
use crate::packet::epochs::event_loop::EpochLoop;
use crate::spec::{LinkId, NodeId, RunSpec};
use crate::units::Duration;
use std::collections::BTreeMap;

/// What either end of a flow costs for each of its packets, in multiples of what a link costs that they cross.
const WORK_OF_END: u64 = 4;

/// What it costs to hand a packet over, on either side, in half of what a link costs that it crosses.
const HALF_WORK_OF_MAIL: u64 = 1;

/// What each flow is taken to do, in packet-hops of data: the farther its packets go, the fewer they are.
const HOPS_OF_FLOW: u64 = 60;

/// So many first divisions are tried.
const TRIES: usize = 32;

/// So often all nodes are asked whether they had better belong to another part.
const PASSES: usize = 8;

/// A round lasts no longer than that, 2^36 ps or 69 ms: the other end of a flow that is done must hear of it before its connection goes.
const LONGEST_ROUND: Duration = Duration(1 << 36);

/// The parts of a network.
pub struct Partitioning {
    /// How many there are.
    pub parts: usize,
    part_of: Vec<usize>,
    /// What happens in one part comes to no other sooner.
    pub round: Duration,
    /// About so many packet-hops are done in a round, if all flows share their links evenly.
    pub hops_in_a_round: f64,
}

impl Partitioning {
    /// Of a network in one part.
    pub fn whole(engine: &Engine<EpochLoop>) -> Partitioning {
        Partitioning {
            parts: 1,
            part_of: vec![0; engine.spec.nodes.len()],
            round: LONGEST_ROUND,
            hops_in_a_round: f64::INFINITY,
        }
    }

    /// The part that a node belongs to.
    pub fn part_of(&self, node: NodeId) -> usize {
        self.part_of[node as usize]
    }
}

/// A run may be left between two rounds only: one has no more epochs than this.
const MOST_WINDOWS: u64 = 10_000;

/// Divides a network: of some divisions in which neighbours are together, each mended node by node, the one whose part with the most to
/// do has the least.
pub fn divide(engine: &Engine<EpochLoop>, parts: usize) -> Partitioning {
    let network = Network::of(engine);
    let nodes = engine.spec.nodes.len();
    let tries = (0..nodes).step_by(nodes.div_ceil(TRIES).max(1)).map(|root| {
        let mut part_of = network.neighbours_together(root, parts);
        let most = network.mend(&mut part_of, parts);
        (most, part_of)
    });
    let part_of = { tries }.min_by_key(|(most, _)| *most).map(|(_, part_of)| part_of).unwrap_or_default();
    let round = round(engine, &part_of);
    Partitioning { parts, part_of, round, hops_in_a_round: hops_per_second(engine) * round.as_secs() }
}

/// The most epochs, though few if these are short, that fit into the least time that a packet takes from the queue of a link to another part.
fn round(engine: &Engine<EpochLoop>, part_of: &[usize]) -> Duration {
    let smallest = engine.network.all_sizes().least();
    let is_between = |link: &&crate::spec::LinkSpec| part_of[link.src as usize] != part_of[link.dst as usize];
    let crossing = |link: &crate::spec::LinkSpec| link.delay + link.rate.serialization_delay(u64::from(smallest));
    let between = engine.spec.links.iter().filter(is_between).map(crossing);
    let shortest = between.min().unwrap_or(LONGEST_ROUND).min(LONGEST_ROUND);
    let epoch = engine.order.longest_epoch();
    Duration((shortest.0 / epoch.0).min(MOST_WINDOWS) * epoch.0)
}

/// The links that each flow's packets cross there, and its ACKs back.
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

/// What there is to do at each node and between two, counted in links that flows cross.
struct Network {
    work: Vec<u64>,
    /// For each node, its neighbours and how much passes between them.
    passing: Vec<Vec<(usize, u64)>>,
}

impl Network {
    fn of(engine: &Engine<EpochLoop>) -> Network {
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
        Network { work, passing }
    }

    /// All nodes, each soon after a neighbour from this one on, cut into parts with as much to do.
    fn neighbours_together(&self, root: usize, parts: usize) -> Vec<usize> {
        let whole: u64 = self.work.iter().sum();
        let mut part_of = vec![usize::MAX; self.work.len()];
        let mut before = 0;
        for first in (root..self.work.len()).chain(0..root) {
            let mut next = std::collections::VecDeque::from([first]);
            while let Some(node) = next.pop_front() {
                if part_of[node] == usize::MAX {
                    part_of[node] = ((before + self.work[node] / 2) * parts as u64 / whole) as usize;
                    before += self.work[node];
                    next.extend(self.passing[node].iter().map(|(other, _)| *other));
                }
            }
        }
        part_of
    }

    /// Gives nodes to other parts as long as that leaves the part with the most to do with less. Returns how much that is.
    fn mend(&self, part_of: &mut [usize], parts: usize) -> u64 {
        let mut load = self.loads(part_of, parts);
        for _ in 0..PASSES {
            let mut is_mended = false;
            for node in 0..part_of.len() {
                for part in 0..parts {
                    let here = part_of[node];
                    let moved = self.loads_after(&load, part_of, node, part);
                    let rank = |load: &[u64]| (load.iter().max().copied(), load.iter().sum::<u64>());
                    if part != here && rank(&moved) < rank(&load) {
                        part_of[node] = part;
                        load = moved;
                        is_mended = true;
                    }
                }
            }
            if !is_mended {
                break;
            }
        }
        load.into_iter().max().unwrap_or(0)
    }

    /// What each part has to do, handing over included.
    fn loads(&self, part_of: &[usize], parts: usize) -> Vec<u64> {
        let mut load = vec![0; parts];
        for (node, &part) in part_of.iter().enumerate() {
            load[part] += self.work[node];
            let elsewhere = self.passing[node].iter().filter(|(other, _)| part_of[*other] != part);
            load[part] += elsewhere.map(|(_, amount)| HALF_WORK_OF_MAIL * amount).sum::<u64>();
        }
        load
    }

    /// [`Self::loads`], if a node belonged to another part.
    fn loads_after(&self, load: &[u64], part_of: &[usize], node: usize, part: usize) -> Vec<u64> {
        let (mut after, here) = (load.to_vec(), part_of[node]);
        after[here] -= self.work[node];
        after[part] += self.work[node];
        for &(other, amount) in &self.passing[node] {
            let (there, mail) = (part_of[other], HALF_WORK_OF_MAIL * amount);
            if there != here {
                after[here] -= mail;
                after[there] -= mail;
            }
            if there != part {
                after[part] += mail;
                after[there] += mail;
            }
        }
        after
    }
}
