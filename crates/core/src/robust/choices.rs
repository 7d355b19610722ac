//! A local search over what each pair does with its traffic, under the exact worst-case load of every link.
//!
//! Each pair has options (a single path, a split), each with a penalty. The search looks for the choice of least total
//! penalty under which no matrix of a traffic model loads a link more than is allowed. It anneals (Kirkpatrick 1983): moves
//! take pairs off overloaded links, and what overload costs rises while the search keeps failing to be rid of it, and falls
//! while it succeeds, so that it stays near the border where the best choices are.

use super::{Limits, Workspace, WorstCase};
use crate::rng::{Purpose, Sequence, Stream};

/// The traffic matrices that may be, in a unit that makes the greatest traffic of a pair about 1.
#[derive(Debug, Clone, PartialEq)]
pub enum Traffic {
    /// All within bounds.
    Bounds {
        /// Of rows and columns, above the least traffic of their pairs.
        limits: Limits,
        /// Of each pair, above its least traffic.
        upper: Vec<f64>,
        /// The least traffic of each pair.
        lower: Vec<f64>,
    },
    /// Some matrices, each by pair.
    Matrices(Vec<Vec<f64>>),
}

/// What pairs may do, one option after another; those of a pair stand together, those of less penalty first.
#[derive(Debug, Clone, PartialEq)]
pub struct Options {
    /// The first option of each pair; one more entry than pairs.
    pub first: Vec<u32>,
    /// What each option costs.
    pub penalty: Vec<f64>,
    /// Where each option's links begin in `links`; one more entry than options.
    pub start: Vec<u32>,
    /// Links that carry traffic of the pair under the option, each once.
    pub links: Vec<u32>,
    /// What share of the pair's traffic each of them carries, above 0.
    pub shares: Vec<f64>,
}

impl Options {
    fn links_of(&self, option: u32) -> impl Iterator<Item = (u32, f64)> + '_ {
        let span = self.start[option as usize] as usize..self.start[option as usize + 1] as usize;
        self.links[span.clone()].iter().copied().zip(self.shares[span].iter().copied())
    }
}

/// What a search is after.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Goal {
    /// The load that no link may exceed.
    pub load: f64,
    /// Options of a greater penalty are not taken.
    pub greatest_penalty: f64,
    /// Whether the load allowed falls below every load that is reached.
    pub lower_load: bool,
    /// How many moves are tried.
    pub moves: u64,
    /// The temperature of the first moves, in penalty; the last are at a hundredth.
    pub hottest: f64,
    /// What a unit of overload (the traffic of a pair) costs at first, in penalty.
    pub price: f64,
}

/// The best choice found.
#[derive(Debug, Clone, PartialEq)]
pub struct Best {
    /// The option of each pair.
    pub options: Vec<u32>,
    /// The sum of their penalties.
    pub penalty: f64,
    /// The worst-case load.
    pub load: f64,
}

const COLDEST: f64 = 0.01;
/// By what a load that was reached is to be improved, relative.
const IMPROVEMENT: f64 = 1e-3;
/// What rounding adds to loads, relative.
const ROUNDING: f64 = 1e-9;
/// Which power of a uniform draw picks among options: those of little penalty, which stand first, more often.
const PREFERENCE: i32 = 3;
const HARDER: f64 = 1.2;
const MILDER: f64 = 1.1;
const DEAREST: f64 = 30.0;
/// What traffic beyond the load counts that only all pairs of a link together would make, beside that of its worst case.
const GUIDE: f64 = 0.03;

/// A link that a move changes.
#[derive(Debug, Clone, Default)]
struct Changed {
    link: u32,
    case: WorstCase,
    load: f64,
}

/// The search: a choice, the load of every link under it, and the best choice so far.
#[derive(Debug, Clone)]
pub struct Choices {
    traffic: Traffic,
    pairs: Vec<(u32, u32)>,
    capacity: Vec<f64>,
    options: Options,
    chosen: Vec<u32>,
    links: Vec<WorstCase>,
    loads: Vec<f64>,
    penalty: f64,
    goal: Goal,
    done: u64,
    /// What a unit of overload costs.
    price: f64,
    overloaded_since: u64,
    free_since: u64,
    best: Option<Best>,
    draws: Sequence,
    space: Workspace,
    changed: Vec<Changed>,
    overloaded: Vec<u32>,
}

impl Choices {
    /// Begins with the first option of each pair. `pairs` are their rows and columns; capacities have the unit of the traffic.
    pub fn new(traffic: Traffic, pairs: Vec<(u32, u32)>, capacity: Vec<f64>, options: Options, seed: u64) -> Choices {
        let chosen = options.first[..pairs.len()].to_vec();
        let goal = Goal {
            load: f64::INFINITY,
            greatest_penalty: f64::INFINITY,
            lower_load: false,
            moves: 0,
            hottest: 1.0,
            price: 1.0,
        };
        let mut search = Choices {
            traffic,
            pairs,
            links: vec![WorstCase::default(); capacity.len()],
            loads: vec![0.0; capacity.len()],
            capacity,
            options,
            chosen: Vec::new(),
            penalty: 0.0,
            goal,
            done: 0,
            price: 1.0,
            overloaded_since: 0,
            free_since: 0,
            best: None,
            draws: Sequence::new(Stream::new(seed, Purpose::Planning, 0)),
            space: Workspace::default(),
            changed: Vec::new(),
            overloaded: Vec::new(),
        };
        search.choose(&chosen);
        search
    }

    /// Goes to another choice: an option of each pair.
    pub fn choose(&mut self, options: &[u32]) {
        self.chosen = options.to_vec();
        self.links.fill(WorstCase::default());
        for (pair, &option) in options.iter().enumerate() {
            let upper = self.upper(pair as u32);
            for (link, share) in self.options.links_of(option) {
                self.links[link as usize].set(pair as u32, self.pairs[pair], upper, share);
            }
        }
        for link in 0..self.links.len() {
            self.loads[link] = load(&self.traffic, &mut self.links[link], self.capacity[link], &mut self.space);
        }
        self.penalty = options.iter().map(|&option| self.options.penalty[option as usize]).sum();
        self.best = None;
    }

    /// Starts a search from the present choice.
    pub fn begin(&mut self, goal: Goal) {
        self.goal = goal;
        self.done = 0;
        self.price = goal.price;
        (self.overloaded_since, self.free_since) = (0, 0);
        self.best = None;
        self.keep_if_best();
    }

    /// The best choice that the search has found within the load allowed; none if there was none.
    pub fn best(&self) -> Option<&Best> {
        self.best.as_ref()
    }

    /// Tries so many moves more; whether some are left.
    pub fn advance(&mut self, moves: u64) -> bool {
        let end = self.goal.moves.min(self.done + moves);
        while self.done < end {
            self.step();
            self.done += 1;
            if self.best.as_ref().is_some_and(|best| best.penalty <= 0.0) && !self.goal.lower_load {
                self.done = self.goal.moves;
            }
        }
        self.done < self.goal.moves
    }

    fn step(&mut self) {
        let progress = self.done as f64 / self.goal.moves as f64;
        self.adjust_price();
        // Where overload is dearer than penalties, it is overload that must be able to rise for a while.
        let temperature = self.goal.hottest * libm::pow(COLDEST, progress) * self.price.max(1.0);
        let Some((pair, option)) = self.propose() else { return };
        let before = self.chosen[pair as usize];
        let penalty = self.options.penalty[option as usize] - self.options.penalty[before as usize];
        let overload = self.try_option(pair, option);
        let energy = penalty + self.price * overload;
        let accepted = energy <= 0.0 || self.draws.uniform() < libm::exp(-energy / temperature);
        if accepted {
            for at in 0..self.changed.len() {
                let Changed { link, case, load } = &mut self.changed[at];
                std::mem::swap(&mut self.links[*link as usize], case);
                self.loads[*link as usize] = *load;
            }
            self.chosen[pair as usize] = option;
            self.penalty += penalty;
            self.keep_if_best();
        }
    }

    /// Every so many moves as there are pairs: dearer if no choice was within the load, cheaper if all were.
    fn adjust_price(&mut self) {
        let round = self.pairs.len() as u64;
        if self.overloaded.is_empty() {
            self.free_since += 1
        } else {
            self.overloaded_since += 1
        }
        if self.free_since + self.overloaded_since >= round {
            if self.free_since == 0 {
                self.price = (self.price * HARDER).min(DEAREST);
            } else if self.overloaded_since == 0 {
                self.price /= MILDER;
            }
            (self.free_since, self.overloaded_since) = (0, 0);
        }
    }

    /// A pair and another option for it: half of the time a pair of an overloaded link.
    fn propose(&mut self) -> Option<(u32, u32)> {
        let pair = if !self.overloaded.is_empty() && self.draws.uniform() < 0.5 {
            let link = self.overloaded[self.draws.below(self.overloaded.len() as u64) as usize];
            let case = &self.links[link as usize];
            case.pair(self.draws.below(case.shares().len() as u64) as usize)
        } else {
            self.draws.below(self.pairs.len() as u64) as u32
        };
        let (first, end) = (self.options.first[pair as usize], self.options.first[pair as usize + 1]);
        let drawn = self.draws.uniform().powi(PREFERENCE) * f64::from(end - first);
        let option = first + drawn as u32;
        let taken =
            option != self.chosen[pair as usize] && self.options.penalty[option as usize] <= self.goal.greatest_penalty;
        taken.then_some((pair, option))
    }

    /// Works out the links that change; by what the total overload would change, in traffic.
    fn try_option(&mut self, pair: u32, option: u32) -> f64 {
        let at = self.pairs[pair as usize];
        let upper = self.upper(pair);
        let before = self.chosen[pair as usize];
        let mut spare = std::mem::take(&mut self.changed);
        let mut used = 0;
        let mut overload = 0.0;
        let old = self.options.links_of(before).map(|(link, share)| {
            (
                link,
                share,
                self.options.links_of(option).find(|&(other, _)| other == link).map_or(0.0, |(_, share)| share),
            )
        });
        let fresh = self.options.links_of(option).filter_map(|(link, share)| {
            let there = self.options.links_of(before).any(|(other, _)| other == link);
            (!there).then_some((link, 0.0, share))
        });
        for (link, _, to) in old.chain(fresh).filter(|(_, from, to)| from != to) {
            if used == spare.len() {
                spare.push(Changed::default());
            }
            let changed = &mut spare[used];
            used += 1;
            changed.link = link;
            changed.case.copy_from(&self.links[link as usize]);
            changed.case.set(pair, at, upper, to);
            let capacity = self.capacity[link as usize];
            changed.load = load(&self.traffic, &mut changed.case, capacity, &mut self.space);
            overload += self.overload(capacity, changed.load, &changed.case)
                - self.overload(capacity, self.loads[link as usize], &self.links[link as usize]);
        }
        spare.truncate(used);
        self.changed = spare;
        overload
    }

    /// The traffic by which a link exceeds what is allowed in its worst case, and a little of what all its pairs would make
    /// it exceed together: a pair that leaves may not change the worst case, but brings that nearer.
    fn overload(&self, capacity: f64, load: f64, case: &WorstCase) -> f64 {
        let allowed = self.goal.load * (1.0 + ROUNDING);
        if load <= allowed {
            return 0.0;
        }
        let together: f64 = case.shares().map(|(pair, share)| share * self.upper(pair)).sum();
        (load - allowed) * capacity + GUIDE * (together - allowed * capacity).max(0.0)
    }

    fn keep_if_best(&mut self) {
        let most = self.loads.iter().copied().fold(0.0, f64::max);
        self.overloaded.clear();
        if most <= self.goal.load * (1.0 + ROUNDING) {
            // Penalties are sums in changing order; what differs by rounding is equal.
            let better = self.best.as_ref().is_none_or(|best| {
                self.penalty < best.penalty - ROUNDING || (self.penalty < best.penalty + ROUNDING && most < best.load)
            });
            if better {
                let penalty = self.chosen.iter().map(|&option| self.options.penalty[option as usize]).sum();
                self.best = Some(Best { options: self.chosen.clone(), penalty, load: most });
                if self.goal.lower_load {
                    self.goal.load = most * (1.0 - IMPROVEMENT);
                }
            }
        }
        let allowed = self.goal.load * (1.0 + ROUNDING);
        self.overloaded.extend((0..self.loads.len() as u32).filter(|&link| self.loads[link as usize] > allowed));
    }

    fn upper(&self, pair: u32) -> f64 {
        match &self.traffic {
            Traffic::Bounds { upper, .. } => upper[pair as usize],
            Traffic::Matrices(_) => 0.0,
        }
    }
}

/// The worst-case load of a link of that capacity.
fn load(traffic: &Traffic, link: &mut WorstCase, capacity: f64, space: &mut Workspace) -> f64 {
    let sum = |of: &[f64]| -> f64 { link.shares().map(|(pair, share)| share * of[pair as usize]).sum() };
    match traffic {
        Traffic::Bounds { limits, lower, .. } => {
            let fixed = sum(lower);
            link.solve(limits, space);
            (link.value() + fixed) / capacity
        }
        Traffic::Matrices(matrices) => matrices.iter().map(|matrix| sum(matrix)).fold(0.0, f64::max) / capacity,
    }
}

#[cfg(test)]
mod tests {
    use super::super::{Entry, worst_matrix};
    use super::*;
    use proptest::prelude::*;

    /// Three parallel links for so many pairs, each of row and column of its own index; an option is a link, or two in halves.
    fn options(pairs: u32) -> Options {
        let mut options = Options { first: vec![0], penalty: vec![], start: vec![0], links: vec![], shares: vec![] };
        for _ in 0..pairs {
            for ways in [&[0][..], &[1], &[2], &[0, 1], &[0, 2], &[1, 2]] {
                options.links.extend_from_slice(ways);
                options.shares.extend(ways.iter().map(|_| 1.0 / ways.len() as f64));
                options.start.push(options.links.len() as u32);
                options.penalty.push(if ways.len() > 1 { 0.5 } else { 0.0 });
            }
            options.first.push(options.penalty.len() as u32);
        }
        options
    }

    fn search(rows: &[f64], columns: &[f64], upper: &[f64]) -> Choices {
        let pairs: Vec<(u32, u32)> = (0..upper.len() as u32).map(|pair| (pair / 3, pair % 3)).collect();
        let traffic = Traffic::Bounds {
            limits: Limits { rows: rows.to_vec(), columns: columns.to_vec() },
            upper: upper.to_vec(),
            lower: vec![0.0; upper.len()],
        };
        Choices::new(traffic, pairs, vec![1.0; 3], options(upper.len() as u32), 1)
    }

    /// The worst-case load of a choice, by the transportation problem of each link solved anew.
    fn load_of(choice: &[u32], rows: &[f64], columns: &[f64], upper: &[f64]) -> f64 {
        let options = options(upper.len() as u32);
        let of_link = |link: u32| {
            let entries: Vec<Entry> = (0..upper.len())
                .flat_map(|pair| {
                    options
                        .links_of(choice[pair])
                        .filter(move |&(crossed, _)| crossed == link)
                        .map(move |(_, share)| (pair, share))
                })
                .map(|(pair, weight)| Entry {
                    row: pair as u32 / 3,
                    column: pair as u32 % 3,
                    upper: upper[pair],
                    weight,
                })
                .collect();
            worst_matrix(rows, columns, &entries).value
        };
        (0..3).map(of_link).fold(0.0, f64::max)
    }

    fn goal(load: f64, lower_load: bool) -> Goal {
        Goal { load, greatest_penalty: f64::INFINITY, lower_load, moves: 20_000, hottest: 0.1, price: 1.0 }
    }

    /// Four pairs of unit traffic over three links: two must share a link whole, unless pairs split.
    #[test]
    fn splits_only_as_many_pairs_as_must() {
        let (rows, columns, upper) = ([9.0, 9.0], [9.0; 3], [1.0, 1.0, 1.0, 1.0]);
        for (load, penalty) in [(2.0, 0.0), (1.5, 0.5)] {
            let mut found = search(&rows, &columns, &upper);
            found.begin(goal(load, false));
            while found.advance(1000) {}
            assert_eq!(found.best().map(|best| best.penalty), Some(penalty), "{load}");
        }
        let mut found = search(&rows, &columns, &upper);
        found.begin(goal(1.2, false)); // four units over three links of 1.2: not in halves
        while found.advance(1000) {}
        assert_eq!(found.best(), None);
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(30))]
        /// On random bounds no load below that of enumeration is claimed, and what is claimed is true. A local search need not
        /// find the least: among thousands of cases it was up to 5 % above.
        #[test]
        fn the_load_found_is_true_and_near_the_least_of_enumeration(
            rows in prop::collection::vec(0.2..2.0_f64, 2),
            columns in prop::collection::vec(0.2..2.0_f64, 3),
            upper in prop::collection::vec(0.1..1.0_f64, 6),
        ) {
            let mut found = search(&rows, &columns, &upper);
            found.begin(Goal { greatest_penalty: 0.0, ..goal(100.0, true) });
            while found.advance(1000) {}
            let best = found.best().unwrap();
            prop_assert!((load_of(&best.options, &rows, &columns, &upper) - best.load).abs() < 1e-8);
            let least = (0..3_u32.pow(6))
                .map(|code| (0..6).map(|pair| pair * 6 + code / 3_u32.pow(pair) % 3).collect::<Vec<u32>>())
                .map(|choice| load_of(&choice, &rows, &columns, &upper))
                .fold(f64::INFINITY, f64::min);
            prop_assert!(best.load >= least - 1e-8, "{} where {least} is the least", best.load);
            prop_assert!(best.load <= least * 1.1, "{} where {least} is possible", best.load);
        }
    }
}
