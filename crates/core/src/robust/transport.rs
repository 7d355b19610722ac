//! The worst traffic matrix for a link: a transportation problem with bounds.
//!
//! Among all matrices whose rows, columns and entries stay within bounds, it has the greatest weighted sum. The weight of
//! an entry is the share of the pair's traffic that crosses the link ("Candidate Path Selection Method", equations 6 to 8).
//! The solver uses successive shortest paths with potentials (Edmonds and Karp 1972). The final potentials are the dual
//! variables of equations 10 to 14, so they prove that the result is optimal.

use super::key::Key;
use std::cmp::Reverse;
use std::collections::BinaryHeap;

/// Amounts below this share of the greatest bound count as zero.
const NOTHING: f64 = 1e-13;
const UNREACHED: f64 = f64::INFINITY;

/// An entry of the matrix that may exceed zero.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Entry {
    /// Row of the entry, from 0.
    pub row: u32,
    /// Column of the entry, from 0.
    pub column: u32,
    /// Greatest value of the entry; may be infinite if its row or its column is bounded.
    pub upper: f64,
    /// Weight of each unit of the entry, at least 0.
    pub weight: f64,
}

/// The worst matrix and its proof.
#[derive(Debug, Clone, PartialEq)]
pub struct Worst {
    /// The weighted sum of the matrix.
    pub value: f64,
    /// The value of the dual variables: no matrix within the bounds has a greater weighted sum, but for rounding.
    pub bound: f64,
    /// The matrix, entry by entry.
    pub amounts: Vec<f64>,
    /// The dual variable of each row's bound.
    pub row_prices: Vec<f64>,
    /// The dual variable of each column's bound.
    pub column_prices: Vec<f64>,
}

/// The matrix of greatest weighted sum with row sums of at most `rows` and column sums of at most `columns` (either may be
/// infinite). All entries that are not listed are zero.
///
/// Every entry must be bounded by itself, its row or its column, and bounds and weights must not be negative nor NaN.
pub fn worst_matrix(rows: &[f64], columns: &[f64], entries: &[Entry]) -> Worst {
    let mut search = AugmentingSearch::new(rows, columns, entries);
    while search.augment() {}
    search.finish(rows, columns)
}

/// Nodes of the search: rows, then columns. The source (before the rows) has potential 0, the sink its own.
struct AugmentingSearch<'a> {
    entries: &'a [Entry],
    rows: usize,
    row_left: Vec<f64>,
    column_left: Vec<f64>,
    amounts: Vec<f64>,
    /// The entries of each row, and of each column.
    at_row: Vec<Vec<u32>>,
    at_column: Vec<Vec<u32>>,
    potential: Vec<f64>,
    sink: f64,
    nothing: f64,
    distance: Vec<f64>,
    reached_by: Vec<u32>,
    done: Vec<bool>,
    touched: Vec<u32>,
    heap: BinaryHeap<Reverse<Key>>,
}

const FROM_SOURCE: u32 = u32::MAX;

impl<'a> AugmentingSearch<'a> {
    fn new(row_bounds: &[f64], column_bounds: &[f64], entries: &'a [Entry]) -> AugmentingSearch<'a> {
        let (rows, columns) = (row_bounds.len(), column_bounds.len());
        let mut at_row = vec![Vec::new(); rows];
        let mut at_column = vec![Vec::new(); columns];
        // Potentials under which no arc from the source on has a negative cost: the lengths of shortest paths.
        let mut potential = vec![0.0_f64; rows + columns];
        let mut greatest = 0.0_f64;
        for (index, entry) in entries.iter().enumerate() {
            at_row[entry.row as usize].push(index as u32);
            at_column[entry.column as usize].push(index as u32);
            let column = &mut potential[rows + entry.column as usize];
            *column = column.min(-entry.weight);
            for bound in [entry.upper, row_bounds[entry.row as usize], column_bounds[entry.column as usize]] {
                if bound.is_finite() {
                    greatest = greatest.max(bound);
                }
            }
        }
        let sink = potential.iter().copied().fold(0.0, f64::min);
        AugmentingSearch {
            entries,
            rows,
            row_left: row_bounds.to_vec(),
            column_left: column_bounds.to_vec(),
            amounts: vec![0.0; entries.len()],
            at_row,
            at_column,
            potential,
            sink,
            nothing: NOTHING * greatest,
            distance: vec![UNREACHED; rows + columns],
            reached_by: vec![FROM_SOURCE; rows + columns],
            done: vec![false; rows + columns],
            touched: Vec::new(),
            heap: BinaryHeap::new(),
        }
    }

    /// Sends as much as fits along the path of greatest gain; false if no path gains.
    fn augment(&mut self) -> bool {
        let gainless = -self.sink; // the distance at which the gain is zero
        let end = self.search(gainless);
        let farthest = end.map_or(gainless, |(distance, _)| distance);
        for &node in &self.touched {
            let node = node as usize;
            self.potential[node] += self.distance[node].min(farthest) - farthest;
            (self.distance[node], self.done[node]) = (UNREACHED, false);
        }
        // The algorithm changes every potential by the lesser of its node's distance and `farthest`. Only differences of
        // potentials count. So touched nodes were lowered by `farthest` first, and this shift raises all nodes again.
        self.shift(farthest);
        self.touched.clear();
        self.heap.clear();
        let Some((_, column)) = end else { return false };
        self.send(column);
        true
    }

    /// Adds to the sink and to all potentials what `augment` subtracted from the touched nodes.
    fn shift(&mut self, by: f64) {
        self.potential.iter_mut().for_each(|potential| *potential += by);
        self.sink += by;
    }

    /// Dijkstra from the source over reduced costs, until a column with room is the nearest; no farther than `limit`.
    fn search(&mut self, limit: f64) -> Option<(f64, u32)> {
        for row in 0..self.rows {
            if self.row_left[row] > self.nothing && !self.at_row[row].is_empty() {
                self.reach(row as u32, -self.potential[row], FROM_SOURCE);
            }
        }
        let mut best: Option<(f64, u32)> = None;
        while let Some(Reverse(Key(distance, node))) = self.heap.pop() {
            if distance >= best.map_or(limit, |(distance, _)| distance) {
                break;
            }
            let place = node as usize;
            if self.done[place] {
                continue;
            }
            self.done[place] = true;
            if place < self.rows {
                for position in 0..self.at_row[place].len() {
                    let index = self.at_row[place][position];
                    let entry = self.entries[index as usize];
                    if entry.upper - self.amounts[index as usize] > self.nothing {
                        let column = self.rows as u32 + entry.column;
                        let cost = self.potential[place] - entry.weight - self.potential[column as usize];
                        self.reach(column, distance + cost.max(0.0), index);
                    }
                }
                continue;
            }
            if self.column_left[place - self.rows] > self.nothing {
                let through = distance + (self.potential[place] - self.sink).max(0.0);
                if best.is_none_or(|(known, _)| through < known) && through < limit {
                    best = Some((through, node));
                }
            }
            for position in 0..self.at_column[place - self.rows].len() {
                let index = self.at_column[place - self.rows][position];
                if self.amounts[index as usize] > self.nothing {
                    let entry = self.entries[index as usize];
                    let cost = self.potential[place] + entry.weight - self.potential[entry.row as usize];
                    self.reach(entry.row, distance + cost.max(0.0), index);
                }
            }
        }
        best
    }

    fn reach(&mut self, node: u32, distance: f64, by: u32) {
        let distance = distance.max(0.0);
        let known = &mut self.distance[node as usize];
        if distance < *known {
            if *known == UNREACHED {
                self.touched.push(node);
            }
            *known = distance;
            self.reached_by[node as usize] = by;
            self.heap.push(Reverse(Key(distance, node)));
        }
    }

    /// Sends along the path found to this column.
    fn send(&mut self, end: u32) {
        let mut room = self.column_left[end as usize - self.rows];
        let mut node = end;
        loop {
            let by = self.reached_by[node as usize];
            if by == FROM_SOURCE {
                room = room.min(self.row_left[node as usize]);
                break;
            }
            let (entry, amount) = (self.entries[by as usize], self.amounts[by as usize]);
            if node as usize >= self.rows {
                room = room.min(entry.upper - amount);
                node = entry.row;
            } else {
                room = room.min(amount);
                node = self.rows as u32 + entry.column;
            }
        }
        self.column_left[end as usize - self.rows] -= room;
        self.row_left[node as usize] -= room;
        let first = node;
        node = end;
        while node != first {
            let by = self.reached_by[node as usize] as usize;
            if node as usize >= self.rows {
                self.amounts[by] = (self.amounts[by] + room).min(self.entries[by].upper);
                node = self.entries[by].row;
            } else {
                self.amounts[by] = (self.amounts[by] - room).max(0.0);
                node = self.rows as u32 + self.entries[by].column;
            }
        }
    }

    fn finish(self, rows: &[f64], columns: &[f64]) -> Worst {
        // A bound that is not exhausted has price 0, and so has an infinite bound, even with rounding errors.
        let price = |(potential, left): (f64, &f64)| if *left > self.nothing { 0.0 } else { potential.max(0.0) };
        let (of_rows, of_columns) = self.potential.split_at(self.rows);
        let row_prices: Vec<f64> = of_rows.iter().copied().zip(&self.row_left).map(price).collect();
        let column_prices = of_columns.iter().map(|potential| -potential).zip(&self.column_left).map(price);
        let column_prices: Vec<f64> = column_prices.collect();
        let paid = |prices: &[f64], bounds: &[f64]| -> f64 {
            prices.iter().zip(bounds).filter(|(price, _)| **price > 0.0).map(|(price, bound)| price * bound).sum()
        };
        let mut bound = paid(&row_prices, rows) + paid(&column_prices, columns);
        let mut value = 0.0;
        for (entry, amount) in self.entries.iter().zip(&self.amounts) {
            value += entry.weight * amount;
            let unpaid = entry.weight - row_prices[entry.row as usize] - column_prices[entry.column as usize];
            if unpaid > 0.0 {
                // The bounds of its row and column bound an entry too, so that rounding does not cost infinitely much.
                bound += unpaid * entry.upper.min(rows[entry.row as usize]).min(columns[entry.column as usize]);
            }
        }
        Worst { value, bound, amounts: self.amounts, row_prices, column_prices }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn entry(row: u32, column: u32, upper: f64, weight: f64) -> Entry {
        Entry { row, column, upper, weight }
    }

    const FREE: f64 = f64::INFINITY;

    #[test]
    fn an_assignment_takes_the_better_diagonal() {
        let entries = [entry(0, 0, FREE, 3.0), entry(0, 1, FREE, 2.0), entry(1, 0, FREE, 2.0), entry(1, 1, FREE, 0.5)];
        let worst = worst_matrix(&[1.0, 1.0], &[1.0, 1.0], &entries);
        assert_eq!(worst.amounts, [0.0, 1.0, 1.0, 0.0]); // 2 + 2 is more than 3 + 0.5
        assert!((worst.value - 4.0).abs() < 1e-12 && (worst.bound - 4.0).abs() < 1e-12);
    }

    /// The numbers of the paper's section 6: 130 Mbit/s in and out, 50 between two.
    #[test]
    fn entries_are_bounded_by_themselves_too() {
        let entries: Vec<Entry> = (0..4).map(|column| entry(0, column, 50.0, 1.0)).collect();
        let worst = worst_matrix(&[130.0], &[130.0; 4], &entries);
        assert!((worst.value - 130.0).abs() < 1e-12);
        let worst = worst_matrix(&[130.0], &[130.0; 2], &entries[..2]);
        assert!((worst.value - 100.0).abs() < 1e-12);
    }

    #[test]
    fn what_sends_nothing_has_no_price() {
        let worst = worst_matrix(&[1.0, 1.0], &[1.0], &[entry(0, 0, FREE, 0.5)]);
        assert_eq!((worst.value, worst.bound), (0.5, 0.5));
    }

    #[test]
    fn without_entries_nothing_is_loaded() {
        let worst = worst_matrix(&[1.0], &[1.0], &[]);
        assert_eq!((worst.value, worst.bound), (0.0, 0.0));
    }

    /// The greatest weighted sum over all whole matrices: bounds are whole, so some best matrix is whole.
    fn best_by_enumeration(rows: &mut [u32], columns: &mut [u32], entries: &[(u32, u32, u32, u32)]) -> u32 {
        let Some((&(row, column, upper, weight), rest)) = entries.split_first() else { return 0 };
        let most = upper.min(rows[row as usize]).min(columns[column as usize]);
        (0..=most)
            .map(|amount| {
                rows[row as usize] -= amount;
                columns[column as usize] -= amount;
                let value = amount * weight + best_by_enumeration(rows, columns, rest);
                rows[row as usize] += amount;
                columns[column as usize] += amount;
                value
            })
            .max()
            .unwrap_or(0)
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(400))]
        #[test]
        fn equals_enumeration_and_proves_itself(
            mut rows in prop::collection::vec(0..4_u32, 3),
            mut columns in prop::collection::vec(0..4_u32, 3),
            cells in prop::collection::vec((0..4_u32, 0..5_u32), 9),
        ) {
            let listed: Vec<(u32, u32, u32, u32)> = cells
                .iter()
                .enumerate()
                .map(|(cell, &(upper, weight))| (cell as u32 / 3, cell as u32 % 3, upper, weight))
                .collect();
            let entries: Vec<Entry> = listed
                .iter()
                .map(|&(row, column, upper, weight)| entry(row, column, f64::from(upper), f64::from(weight)))
                .collect();
            let bounds = |bounds: &[u32]| bounds.iter().map(|&bound| f64::from(bound)).collect::<Vec<f64>>();
            let worst = worst_matrix(&bounds(&rows), &bounds(&columns), &entries);
            let best = f64::from(best_by_enumeration(&mut rows, &mut columns, &listed));
            prop_assert!((worst.value - best).abs() < 1e-9, "{} is not {best}", worst.value);
            prop_assert!((worst.bound - best).abs() < 1e-9, "the bound {} is not {best}", worst.bound);
        }

        #[test]
        fn matrices_of_real_numbers_keep_their_bounds_and_meet_their_proof(
            rows in prop::collection::vec(0.0..3.0_f64, 6),
            columns in prop::collection::vec(0.0..3.0_f64, 6),
            cells in prop::collection::vec((0.0..2.0_f64, 0.0..1.0_f64, prop::bool::ANY), 36),
        ) {
            let entries: Vec<Entry> = cells
                .iter()
                .enumerate()
                .map(|(cell, &(upper, weight, free))| {
                    entry(cell as u32 / 6, cell as u32 % 6, if free { FREE } else { upper }, weight)
                })
                .collect();
            let worst = worst_matrix(&rows, &columns, &entries);
            for line in 0..6 {
                let sum = |at: fn(&Entry) -> u32| -> f64 {
                    let listed = entries.iter().zip(&worst.amounts);
                    listed.filter(|(entry, _)| at(entry) == line).map(|(_, amount)| amount).sum()
                };
                prop_assert!(sum(|entry| entry.row) <= rows[line as usize] + 1e-9);
                prop_assert!(sum(|entry| entry.column) <= columns[line as usize] + 1e-9);
            }
            prop_assert!(entries.iter().zip(&worst.amounts).all(|(entry, amount)| (0.0..=entry.upper).contains(amount)));
            prop_assert!((worst.value - worst.bound).abs() < 1e-9, "{} and {}", worst.value, worst.bound);
        }
    }
}
