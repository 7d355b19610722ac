//! A local search over the routing options of each pair, under the exact worst-case load of every link.
//!
//! Each pair has options (a single path, a split), each with a penalty. The search minimises the total penalty. Under its
//! choice, no matrix of a traffic model may load a link above the limit. It uses simulated annealing (Kirkpatrick 1983): moves
//! take pairs off overloaded links. The price of overload rises while every choice has overload, and falls while no choice has
//! any. So the search stays near the border where the best choices are.

use super::{Limits, Workspace, WorstCase};
use crate::rng::{Purpose, Sequence, Stream};

/// The set of possible traffic matrices, in a unit that makes the greatest traffic of a pair about 1.
#[derive(Debug, Clone, PartialEq)]
pub enum Traffic {
    /// All matrices within bounds.
    Bounds {
        /// Bounds of rows and columns, minus the least traffic of their pairs.
        limits: Limits,
        /// Upper bound of each pair, minus its least traffic.
        upper: Vec<f64>,
        /// The least traffic of each pair.
        lower: Vec<f64>,
    },
    /// A list of matrices, each indexed by pair.
    Matrices(Vec<Vec<f64>>),
}

/// The options of all pairs. The options of a pair are consecutive, sorted by penalty.
#[derive(Debug, Clone, PartialEq)]
pub struct Options {
    /// The first option of each pair; one more entry than pairs.
    pub first: Vec<u32>,
    /// Penalty of each option.
    pub penalty: Vec<f64>,
    /// Index in `links` of each option's first link; one more entry than options.
    pub start: Vec<u32>,
    /// Links that carry traffic of the pair under the option, each once.
    pub links: Vec<u32>,
    /// Share of the pair's traffic that each of these links carries, above 0.
    pub shares: Vec<f64>,
}

impl Options {
    fn links_of(&self, option: u32) -> impl Iterator<Item = (u32, f64)> + '_ {
        let span = self.start[option as usize] as usize..self.start[option as usize + 1] as usize;
        self.links[span.clone()].iter().copied().zip(self.shares[span].iter().copied())
    }
}

/// The goal of a search.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Goal {
    /// The load that no link may exceed.
    pub load: f64,
    /// Options with a greater penalty are not used.
    pub greatest_penalty: f64,
    /// Whether the load limit falls below every load that was reached.
    pub lower_load: bool,
    /// Number of moves to try.
    pub moves: u64,
    /// Temperature of the first moves, in penalty; the last moves have a hundredth of it.
    pub hottest: f64,
    /// Initial price of a unit of overload (the traffic of a pair), in penalty.
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
/// Relative improvement that is required over a load that was reached.
const IMPROVEMENT: f64 = 1e-3;
/// Relative rounding error of loads.
const ROUNDING: f64 = 1e-9;
/// Exponent of the uniform draw that selects an option: options with little penalty are first and are selected more often.
const PREFERENCE: i32 = 3;
const HARDER: f64 = 1.2;
const MILDER: f64 = 1.1;
const DEAREST: f64 = 30.0;
/// Weight of the overload that all pairs of a link would cause together, in addition to the overload of its worst case.
const GUIDE: f64 = 0.03;

/// A link that a move changes.
#[derive(Debug, Clone, Default)]
struct Changed {
    link: u32,
    case: WorstCase,
    load: f64,
}

/// The state of the search: a choice, the load of every link under it, and the best choice so far.
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
    /// Price of a unit of overload.
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

    /// Changes to another choice: an option of each pair.
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

    /// The best choice within the load limit that the search has found; `None` if there is none.
    pub fn best(&self) -> Option<&Best> {
        self.best.as_ref()
    }

    /// Tries `moves` more moves. Returns whether moves are left.
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
        // Where overload costs more than penalties, the temperature must allow overload to rise for a while.
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

    /// Counts a move. After one move per pair on average, the price rises if every choice had overload. It falls if no choice
    /// had any.
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

    /// Computes the links that change. Returns the change of the total overload, in traffic.
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

    /// Overload of a link: the traffic above its limit in its worst case, plus a small share of its joint excess. The joint
    /// excess is the excess if all its pairs send their greatest traffic at once. Removing a pair may not change the worst
    /// case, but it reduces this second term.
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
            // Penalties are sums in changing order, so differences by rounding count as equal.
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

    /// Three parallel links for `pairs` pairs. An option is one link, or two links with half of the traffic each.
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

    /// The worst-case load of a choice, computed by solving the transportation problem of each link from scratch.
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

    /// Four pairs of unit traffic over three links: two pairs must share a link, unless pairs split.
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

    /// The load that the search reaches without splits, and the least load by enumeration. Also checks the load that the
    /// search reports.
    fn found_and_least(rows: &[f64], columns: &[f64], upper: &[f64]) -> (f64, f64) {
        let mut found = search(rows, columns, upper);
        found.begin(Goal { greatest_penalty: 0.0, ..goal(100.0, true) });
        while found.advance(1000) {}
        let best = found.best().unwrap();
        assert!((load_of(&best.options, rows, columns, upper) - best.load).abs() < 1e-8);
        let least = (0..3_u32.pow(6))
            .map(|code| (0..6).map(|pair| pair * 6 + code / 3_u32.pow(pair) % 3).collect::<Vec<u32>>())
            .map(|choice| load_of(&choice, rows, columns, upper))
            .fold(f64::INFINITY, f64::min);
        (best.load, least)
    }

    /// A local search need not find the least load: for some of thousands of random bounds, its load was up to 18 % above.
    #[test]
    fn on_most_bounds_the_least_load_is_found() {
        let draws = Stream::new(1, Purpose::Planning, 0);
        let mut index = 0;
        let mut draw = |low: f64, high: f64| {
            index += 1;
            low + (high - low) * draws.uniform(index)
        };
        let ratio = |_| {
            let rows = [draw(0.2, 2.0), draw(0.2, 2.0)];
            let columns = [draw(0.2, 2.0), draw(0.2, 2.0), draw(0.2, 2.0)];
            let upper: Vec<f64> = (0..6).map(|_| draw(0.1, 1.0)).collect();
            let (found, least) = found_and_least(&rows, &columns, &upper);
            found / least
        };
        let ratios: Vec<f64> = (0..60).map(ratio).collect();
        let least_found = ratios.iter().filter(|ratio| **ratio < 1.002).count();
        assert!(least_found >= 54, "{least_found} of 60");
    }

    proptest! {
        #[test]
        fn no_load_below_the_least_of_enumeration_is_claimed(
            rows in prop::collection::vec(0.2..2.0_f64, 2),
            columns in prop::collection::vec(0.2..2.0_f64, 3),
            upper in prop::collection::vec(0.1..1.0_f64, 6),
        ) {
            let (found, least) = found_and_least(&rows, &columns, &upper);
            prop_assert!(found >= least - 1e-8, "{found} where {least} is the least");
        }
    }
}
