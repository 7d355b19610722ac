//! Robust routing: arrays in, arrays out.

use anabranch_core::robust::{self, Entry, Paths, Selection};
use anabranch_core::routing::{Graph, Link, Weight};
use anabranch_core::units::{Duration, Rate};
use numpy::{PyArray1, PyReadonlyArray1};
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;

type Array<'py, T> = Bound<'py, PyArray1<T>>;
type Given<'py, T> = PyReadonlyArray1<'py, T>;
type PathArrays<'py> = (Array<'py, u32>, Array<'py, u32>, Array<'py, u32>);

fn arrays(py: Python<'_>, paths: Paths) -> PathArrays<'_> {
    (PyArray1::from_vec(py, paths.pair), PyArray1::from_vec(py, paths.start), PyArray1::from_vec(py, paths.links))
}

fn zipped(sources: &[u32], targets: &[u32]) -> Vec<(u32, u32)> {
    sources.iter().copied().zip(targets.iter().copied()).collect()
}

fn graph(nodes: usize, sources: &[u32], targets: &[u32]) -> PyResult<Graph> {
    let link = |(src, dst)| Link { src, dst, rate: Rate(1), delay: Duration(1), cost: 1.0, loss: 0.0 };
    let links = zipped(sources, targets).into_iter().map(link).collect();
    Graph::new(nodes, links).map_err(|error| PyValueError::new_err(error.to_string()))
}

/// Candidate paths of pairs; `select` is "shortest", "with-ties" or "disjoint".
#[pyfunction]
#[allow(clippy::too_many_arguments)] // arrays of one table
pub fn candidate_paths<'py>(
    py: Python<'py>,
    nodes: usize,
    link_sources: Given<'py, u32>,
    link_targets: Given<'py, u32>,
    link_weights: Given<'py, u64>,
    pair_sources: Given<'py, u32>,
    pair_targets: Given<'py, u32>,
    select: &str,
    count: usize,
    most: usize,
) -> PyResult<PathArrays<'py>> {
    let graph = graph(nodes, link_sources.as_slice()?, link_targets.as_slice()?)?;
    let weights: Vec<Weight> = link_weights.as_slice()?.iter().map(|&value| Weight::of_link(value)).collect();
    let pairs = zipped(pair_sources.as_slice()?, pair_targets.as_slice()?);
    let selection = match select {
        "shortest" => Selection::Shortest(count),
        "with-ties" => Selection::WithTies { count, most },
        "disjoint" => Selection::Disjoint(count),
        other => return Err(PyValueError::new_err(format!("no such selection of paths: {other}"))),
    };
    Ok(arrays(py, py.detach(|| robust::candidate_paths(&graph, &weights, &pairs, selection))))
}

/// The cheapest path of each pair, which pays prices of its own.
#[pyfunction]
pub fn cheapest_paths<'py>(
    py: Python<'py>,
    nodes: usize,
    link_sources: Given<'py, u32>,
    link_targets: Given<'py, u32>,
    pair_sources: Given<'py, u32>,
    pair_targets: Given<'py, u32>,
    prices: Given<'py, f64>,
) -> PyResult<(Array<'py, f64>, PathArrays<'py>)> {
    let pairs = zipped(pair_sources.as_slice()?, pair_targets.as_slice()?);
    let ends = (link_sources.as_slice()?, link_targets.as_slice()?);
    let prices = prices.as_slice()?;
    let (least, paths) = py.detach(|| robust::cheapest_paths(nodes, ends, &pairs, prices));
    Ok((PyArray1::from_vec(py, least), arrays(py, paths)))
}

type WorstArrays<'py> = (Array<'py, f64>, Array<'py, f64>, Array<'py, f64>, Array<'py, f64>, Array<'py, f64>);

/// The worst matrix of each of several links; the entries of link `k` are those from `start[k]` to `start[k + 1]`.
#[pyfunction]
#[allow(clippy::too_many_arguments)] // arrays of one table
pub fn worst_matrices<'py>(
    py: Python<'py>,
    rows: Given<'py, f64>,
    columns: Given<'py, f64>,
    start: Given<'py, u32>,
    row: Given<'py, u32>,
    column: Given<'py, u32>,
    upper: Given<'py, f64>,
    weight: Given<'py, f64>,
) -> PyResult<WorstArrays<'py>> {
    let (rows, columns, start) = (rows.as_slice()?, columns.as_slice()?, start.as_slice()?);
    let (row, column) = (row.as_slice()?, column.as_slice()?);
    let (upper, weight) = (upper.as_slice()?, weight.as_slice()?);
    let (mut values, mut bounds, mut amounts) = (Vec::new(), Vec::new(), Vec::with_capacity(row.len()));
    let (mut row_prices, mut column_prices) = (Vec::new(), Vec::new());
    py.detach(|| {
        for ends in start.windows(2) {
            let entries: Vec<Entry> = (ends[0] as usize..ends[1] as usize)
                .map(|at| Entry { row: row[at], column: column[at], upper: upper[at], weight: weight[at] })
                .collect();
            let worst = robust::worst_matrix(rows, columns, &entries);
            values.push(worst.value);
            bounds.push(worst.bound);
            amounts.extend(worst.amounts);
            row_prices.extend(worst.row_prices);
            column_prices.extend(worst.column_prices);
        }
    });
    Ok((
        PyArray1::from_vec(py, values),
        PyArray1::from_vec(py, bounds),
        PyArray1::from_vec(py, amounts),
        PyArray1::from_vec(py, row_prices),
        PyArray1::from_vec(py, column_prices),
    ))
}

/// Adds the functions to the module.
pub fn register(module: &Bound<'_, PyModule>) -> PyResult<()> {
    module.add_function(wrap_pyfunction!(candidate_paths, module)?)?;
    module.add_function(wrap_pyfunction!(cheapest_paths, module)?)?;
    module.add_function(wrap_pyfunction!(worst_matrices, module)?)
}
