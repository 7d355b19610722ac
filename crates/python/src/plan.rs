//! The search of plans: arrays in, choices out.

use anabranch_core::robust::{Choices, Goal, Limits, Options, Traffic};
use numpy::{PyArray1, PyReadonlyArray1, PyReadonlyArray2};
use pyo3::prelude::*;

type Given<'py, T> = PyReadonlyArray1<'py, T>;

fn vector<T: numpy::Element + Copy>(array: &Given<'_, T>) -> PyResult<Vec<T>> {
    Ok(array.as_slice()?.to_vec())
}

/// A local search over the options of pairs.
#[pyclass]
pub struct PlanSearch(Choices);

#[pymethods]
impl PlanSearch {
    #[new]
    #[pyo3(signature = (bounds, matrices, pair_sources, pair_targets, capacity, options, seed))]
    #[allow(clippy::too_many_arguments, clippy::type_complexity)] // arrays of one table
    fn new(
        bounds: Option<(Given<'_, f64>, Given<'_, f64>, Given<'_, f64>, Given<'_, f64>)>,
        matrices: PyReadonlyArray2<'_, f64>,
        pair_sources: Given<'_, u32>,
        pair_targets: Given<'_, u32>,
        capacity: Given<'_, f64>,
        options: (Given<'_, u32>, Given<'_, f64>, Given<'_, u32>, Given<'_, u32>, Given<'_, f64>),
        seed: u64,
    ) -> PyResult<PlanSearch> {
        let traffic = match bounds {
            Some((rows, columns, upper, lower)) => Traffic::Bounds {
                limits: Limits { rows: vector(&rows)?, columns: vector(&columns)? },
                upper: vector(&upper)?,
                lower: vector(&lower)?,
            },
            None => Traffic::Matrices(matrices.as_array().rows().into_iter().map(|row| row.to_vec()).collect()),
        };
        let (first, penalty, start, links, shares) = options;
        let options = Options {
            first: vector(&first)?,
            penalty: vector(&penalty)?,
            start: vector(&start)?,
            links: vector(&links)?,
            shares: vector(&shares)?,
        };
        let pairs = vector(&pair_sources)?.into_iter().zip(vector(&pair_targets)?).collect();
        Ok(PlanSearch(Choices::new(traffic, pairs, vector(&capacity)?, options, seed)))
    }

    fn choose(&mut self, options: Given<'_, u32>) -> PyResult<()> {
        self.0.choose(options.as_slice()?);
        Ok(())
    }

    fn begin(&mut self, load: f64, greatest_penalty: f64, lower_load: bool, moves: u64, hottest: f64, price: f64) {
        self.0.begin(Goal { load, greatest_penalty, lower_load, moves, hottest, price });
    }

    fn advance(&mut self, py: Python<'_>, moves: u64) -> bool {
        py.detach(|| self.0.advance(moves))
    }

    fn best<'py>(&self, py: Python<'py>) -> Option<(Bound<'py, PyArray1<u32>>, f64, f64)> {
        self.0.best().map(|best| (PyArray1::from_slice(py, &best.options), best.penalty, best.load))
    }
}
