//! The worst traffic of one link, updated when pairs are added, removed or change their share.
//!
//! This is the transportation problem of [`worst_matrix`](super::worst_matrix), as a circulation: from a root to rows, over
//! entries to columns, and back. A local search solves it again after every small change. So the solver starts from the
//! previous worst matrix. It sends traffic around cycles with a gain (Klein 1967) until labels prove that no such cycle is
//! left.

/// Room below this counts as none, if the greatest bound is about 1.
const NO_ROOM: f64 = 1e-12;
/// Gain below this counts as none, if shares are at most 1.
const NO_GAIN: f64 = 1e-10;
/// Cycles that a small change may need, in all and for each pair. Rooms that rounding errors left cause more.
const FEW_CYCLES: usize = 100;
const CYCLES_PER_PAIR: usize = 10;
const NOWHERE: u32 = u32::MAX;
const NO_ENTRY: u32 = u32::MAX;

/// Bounds of the traffic matrices, in a unit that makes the greatest finite bound about 1; may be infinite.
#[derive(Debug, Clone, PartialEq)]
pub struct Limits {
    /// Bound of the sum of each row.
    pub rows: Vec<f64>,
    /// Bound of the sum of each column.
    pub columns: Vec<f64>,
}

/// An entry of the matrix whose pair crosses the link.
#[derive(Debug, Clone, Copy, PartialEq)]
struct Crossing {
    pair: u32,
    row: u32,
    column: u32,
    upper: f64,
    share: f64,
    amount: f64,
}

/// The pairs that cross a link, and the matrix that loads it most.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct WorstCase {
    crossings: Vec<Crossing>,
    /// Labels of rows, then columns, then the root. They are kept because they are nearly right after a small change.
    labels: Vec<f64>,
    value: f64,
}

/// Work space that many links share.
#[derive(Debug, Clone, Default)]
pub struct Workspace {
    used: Vec<f64>,
    parent: Vec<u32>,
    entry: Vec<u32>,
    seen: Vec<u32>,
}

impl WorstCase {
    /// The traffic over the link under its worst matrix.
    pub fn value(&self) -> f64 {
        self.value
    }

    /// The pairs that cross the link, with the share of their traffic that crosses it.
    pub fn shares(&self) -> impl ExactSizeIterator<Item = (u32, f64)> + '_ {
        self.crossings.iter().map(|crossing| (crossing.pair, crossing.share))
    }

    /// The pair at a place of [`shares`](WorstCase::shares).
    pub fn pair(&self, place: usize) -> u32 {
        self.crossings[place].pair
    }

    /// Copies another worst case into this one, and reuses the allocated memory.
    pub fn copy_from(&mut self, other: &WorstCase) {
        self.crossings.clone_from(&other.crossings);
        self.labels.clone_from(&other.labels);
        self.value = other.value;
    }

    /// Sets the share of a pair's traffic that crosses the link; 0 removes the pair. [`solve`](WorstCase::solve) must
    /// follow.
    ///
    /// `at` is the pair's row and column, and `upper` the most that it sends.
    pub fn set(&mut self, pair: u32, at: (u32, u32), upper: f64, share: f64) {
        let place = self.crossings.iter().position(|crossing| crossing.pair == pair);
        match place {
            Some(place) if share == 0.0 => {
                self.crossings.swap_remove(place);
            }
            Some(place) => self.crossings[place].share = share,
            None if share == 0.0 => {}
            None => self.crossings.push(Crossing { pair, row: at.0, column: at.1, upper, share, amount: 0.0 }),
        }
    }

    /// Finds the worst matrix of the pairs that cross now.
    pub fn solve(&mut self, limits: &Limits, space: &mut Workspace) {
        let nodes = limits.rows.len() + limits.columns.len() + 1;
        self.labels.resize(nodes, 0.0);
        space.used.clear();
        space.used.resize(nodes, 0.0);
        for crossing in &self.crossings {
            space.used[crossing.row as usize] += crossing.amount;
            space.used[limits.rows.len() + crossing.column as usize] += crossing.amount;
        }
        space.parent.clear();
        space.parent.resize(nodes, NOWHERE);
        space.entry.resize(nodes, NO_ENTRY);
        let (mut cycles, many) = (0, FEW_CYCLES + CYCLES_PER_PAIR * self.crossings.len());
        while self.relax(limits, space) {
            if let Some(node) = cycle(space) {
                self.send(limits, space, node);
                space.parent.fill(NOWHERE);
                cycles += 1;
                if cycles == many {
                    self.start_afresh(space);
                }
            }
        }
        self.value = self.crossings.iter().map(|crossing| crossing.share * crossing.amount).sum();
    }

    /// Forgets the previous worst matrix, whose rounding errors leave rooms so small that cycles through them take for ever.
    fn start_afresh(&mut self, space: &mut Workspace) {
        self.crossings.iter_mut().for_each(|crossing| crossing.amount = 0.0);
        self.labels.fill(0.0);
        space.used.fill(0.0);
    }

    /// Raises every label that an arc with room may raise, once; whether there was one.
    fn relax(&mut self, limits: &Limits, space: &mut Workspace) -> bool {
        let rows = limits.rows.len();
        let root = self.labels.len() - 1;
        let labels = &mut self.labels;
        let mut raised = false;
        let mut raise = |labels: &mut [f64], from: usize, to: usize, gain: f64, entry: u32| {
            if labels[from] + gain > labels[to] + NO_GAIN {
                labels[to] = labels[from] + gain;
                space.parent[to] = from as u32;
                space.entry[to] = entry;
                raised = true;
            }
        };
        for (index, crossing) in self.crossings.iter().enumerate() {
            let (row, column) = (crossing.row as usize, rows + crossing.column as usize);
            if space.used[row] < limits.rows[row] - NO_ROOM {
                raise(labels, root, row, 0.0, NO_ENTRY);
            }
            if crossing.upper - crossing.amount > NO_ROOM {
                raise(labels, row, column, crossing.share, index as u32);
            }
            if crossing.amount > NO_ROOM {
                raise(labels, column, row, -crossing.share, index as u32);
            }
            if space.used[column] < limits.columns[column - rows] - NO_ROOM {
                raise(labels, column, root, 0.0, NO_ENTRY);
            }
            if space.used[row] > NO_ROOM {
                raise(labels, row, root, 0.0, NO_ENTRY);
            }
            if space.used[column] > NO_ROOM {
                raise(labels, root, column, 0.0, NO_ENTRY);
            }
        }
        raised
    }

    /// Sends as much as fits around the cycle through a node.
    fn send(&mut self, limits: &Limits, space: &mut Workspace, start: u32) {
        let rows = limits.rows.len() as u32;
        let root = self.labels.len() as u32 - 1;
        let bound = |node: u32| {
            if node < rows { limits.rows[node as usize] } else { limits.columns[(node - rows) as usize] }
        };
        let mut room = f64::INFINITY;
        walk(space, start, |space, from, to| {
            let here = match space.entry[to as usize] {
                NO_ENTRY if from == root && to < rows => bound(to) - space.used[to as usize],
                NO_ENTRY if from == root => space.used[to as usize],
                NO_ENTRY if from < rows => space.used[from as usize],
                NO_ENTRY => bound(from) - space.used[from as usize],
                entry if to >= rows => self.crossings[entry as usize].upper - self.crossings[entry as usize].amount,
                entry => self.crossings[entry as usize].amount,
            };
            room = room.min(here);
        });
        walk(space, start, |space, from, to| match space.entry[to as usize] {
            NO_ENTRY if from == root && to < rows => space.used[to as usize] += room,
            NO_ENTRY if from == root => space.used[to as usize] -= room,
            NO_ENTRY if from < rows => space.used[from as usize] -= room,
            NO_ENTRY => space.used[from as usize] += room,
            entry if to >= rows => self.crossings[entry as usize].amount += room,
            entry => self.crossings[entry as usize].amount -= room,
        });
    }
}

/// Visits the arcs of the cycle through a node, backwards.
fn walk(space: &mut Workspace, start: u32, mut visit: impl FnMut(&mut Workspace, u32, u32)) {
    let mut node = start;
    loop {
        let from = space.parent[node as usize];
        visit(space, from, node);
        node = from;
        if node == start {
            return;
        }
    }
}

/// A node of a cycle of parents, which gains: labels rise around it without end.
fn cycle(space: &mut Workspace) -> Option<u32> {
    space.seen.clear();
    space.seen.resize(space.parent.len(), NOWHERE);
    for start in 0..space.parent.len() as u32 {
        let mut node = start;
        while node != NOWHERE && space.seen[node as usize] == NOWHERE {
            space.seen[node as usize] = start;
            node = space.parent[node as usize];
        }
        if node != NOWHERE && space.seen[node as usize] == start {
            return Some(node);
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use super::super::{Entry, worst_matrix};
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(200))]
        /// After any changes, the value equals that of the transportation problem, solved from scratch by another method.
        #[test]
        fn equals_the_transportation_problem_after_any_changes(
            rows in prop::collection::vec(0.1..1.0_f64, 4),
            columns in prop::collection::vec(prop_oneof![0.1..1.0_f64, Just(f64::INFINITY)], 4),
            upper in prop::collection::vec(0.0..1.0_f64, 16),
            changes in prop::collection::vec((0..16_u32, 0..5_u32), 1..60),
        ) {
            let limits = Limits { rows: rows.clone(), columns: columns.clone() };
            let (mut kept, mut space, mut shares) = (WorstCase::default(), Workspace::default(), [0.0; 16]);
            for (pair, quarters) in changes {
                let share = f64::from(quarters) / 4.0;
                shares[pair as usize] = share;
                kept.set(pair, (pair / 4, pair % 4), upper[pair as usize], share);
                kept.solve(&limits, &mut space);
                let entries: Vec<Entry> = (0..16_u32)
                    .filter(|&pair| shares[pair as usize] > 0.0)
                    .map(|pair| Entry {
                        row: pair / 4, column: pair % 4, upper: upper[pair as usize], weight: shares[pair as usize],
                    })
                    .collect();
                let anew = worst_matrix(&rows, &columns, &entries);
                prop_assert!((kept.value() - anew.value).abs() < 1e-8, "{} is not {}", kept.value(), anew.value);
            }
        }
    }

    /// Rounding errors left rooms of 3e-12 and 5e-12. Cycles through them took turns, and moved as much each time: 10^11 cycles.
    #[test]
    fn rooms_of_rounding_errors_do_not_take_for_ever() {
        let rows = [1.0, 1.000000000003, 1.2000000000000002, 0.5999999999950001];
        let limits = Limits { rows: rows.to_vec(), columns: vec![1.2, 0.399999999995, 0.8] };
        let entry =
            |row, column, share, amount| Crossing { pair: 3 * row + column, row, column, upper: 1.0, share, amount };
        let crossings = vec![
            entry(2, 2, 0.5, 0.4),
            entry(2, 1, 0.625, 0.2),
            entry(3, 1, 0.5, 0.199999999995),
            entry(2, 0, 0.625, 0.6),
            entry(1, 2, 0.25, 0.4),
            entry(1, 0, 0.75, 0.6),
        ];
        let of_crossing = |at: &Crossing| Entry { row: at.row, column: at.column, upper: at.upper, weight: at.share };
        let entries: Vec<Entry> = crossings.iter().map(of_crossing).collect();
        let mut link = WorstCase { crossings, ..WorstCase::default() };
        link.solve(&limits, &mut Workspace::default());
        let anew = worst_matrix(&limits.rows, &limits.columns, &entries);
        assert!((link.value() - anew.value).abs() < 1e-8, "{} is not {}", link.value(), anew.value);
    }

    /// The numbers of the paper's section 6, in units of 50 Mbit/s: of four pairs of a source 130 Mbit/s cross, of two 100.
    #[test]
    fn pairs_that_leave_free_their_bounds() {
        let limits = Limits { rows: vec![2.6], columns: vec![2.6; 4] };
        let (mut link, mut space) = (WorstCase::default(), Workspace::default());
        for pair in 0..4 {
            link.set(pair, (0, pair), 1.0, 1.0);
        }
        link.solve(&limits, &mut space);
        assert!((link.value() - 2.6).abs() < 1e-12);
        link.set(0, (0, 0), 1.0, 0.0);
        link.set(2, (0, 2), 1.0, 0.0);
        link.solve(&limits, &mut space);
        assert!((link.value() - 2.0).abs() < 1e-12);
        assert_eq!(link.shares().len(), 2);
    }
}
