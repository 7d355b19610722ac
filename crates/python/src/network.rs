//! Path search over a network that Python gives as columns.

use anabranch_core::routing::routes::{self, PairRoutes, PathCost};
use anabranch_core::routing::rows::RouteText;
use anabranch_core::routing::tcpbp::certificate::certified_path;
use anabranch_core::routing::{
    self, GoodputLaw, Graph, Link, MOST_LABELS, RoutingError, describe_metrics, pareto_sets, path_sets, throughput_sets,
};
use anabranch_core::spec::{Disjointness, HopsSpec, MetricSpec, ThroughputMetric};
use anabranch_core::units::{Duration, Rate};
use numpy::{PyArray1, PyArray2, PyArrayMethods, PyReadonlyArray1};
use pyo3::buffer::PyBuffer;
use pyo3::exceptions::{PyKeyError, PyValueError};
use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyDict};
use rustc_hash::FxHashMap;
use std::fmt::Display;

/// A directed graph to find paths in.
#[pyclass(frozen)]
pub struct Network(Graph);

fn refuse(problem: impl Display) -> PyErr {
    PyValueError::new_err(problem.to_string())
}

fn metric_of(text: &str) -> PyResult<MetricSpec> {
    serde_json::from_str(text).map_err(|error| refuse(format!("the metric {text}: {error}")))
}

/// The routes of some pairs, column by column.
#[pyclass(frozen, name = "PairRoutes")]
pub struct Found(PairRoutes);

#[pymethods]
impl Found {
    /// A column: for each pair `src`, `dst` and how many `paths` there are, then of all paths one after another.
    fn __getitem__<'py>(&self, py: Python<'py>, column: &str) -> PyResult<Bound<'py, PyAny>> {
        let found = &self.0;
        Ok(match column {
            "src" => PyArray1::from_slice(py, &found.src).into_any(),
            "dst" => PyArray1::from_slice(py, &found.dst).into_any(),
            "paths" => PyArray1::from_slice(py, &found.paths).into_any(),
            "hops" => PyArray1::from_slice(py, &found.hops).into_any(),
            "links" => PyArray1::from_slice(py, &found.links).into_any(),
            "delay_s" => PyArray1::from_slice(py, &found.delay_s).into_any(),
            "loss" => PyArray1::from_slice(py, &found.loss).into_any(),
            "cost" => PyArray1::from_slice(py, &found.cost).into_any(),
            "share" => PyArray1::from_slice(py, &found.share).into_any(),
            _ => return Err(PyKeyError::new_err(column.to_owned())),
        })
    }

    /// The number of pairs.
    fn __len__(&self) -> usize {
        self.0.src.len()
    }

    #[staticmethod]
    fn by_source(py: Python<'_>, sources: Vec<u32>, to_each: Vec<PyRef<'_, Found>>) -> Found {
        let to_each: Vec<&PairRoutes> = to_each.iter().map(|found| &found.0).collect();
        py.detach(|| Found(PairRoutes::by_source(&sources, &to_each)))
    }
}

/// Writes routes as text.
#[pyclass(frozen, name = "RouteText")]
pub struct Text(RouteText);

#[pymethods]
impl Text {
    #[new]
    fn new(
        network: &Network,
        names: Vec<String>,
        widths: Vec<usize>,
        knows_delay: bool,
        knows_loss: bool,
    ) -> PyResult<Text> {
        let nodes = network.0.nodes();
        if names.len() != nodes || widths.len() != nodes {
            return Err(refuse(format!("{} names and {} widths of {nodes} nodes", names.len(), widths.len())));
        }
        Ok(Text(RouteText::new(&network.0, names, widths, knows_delay, knows_loss)))
    }

    fn table(
        &self,
        py: Python<'_>,
        found: Vec<PyRef<'_, Found>>,
        mut widths: Vec<usize>,
        with_share: bool,
    ) -> PyResult<(String, Vec<usize>)> {
        if widths.len() != 6 + usize::from(with_share) {
            return Err(refuse(format!("{} widths of columns: must be six, or seven with the share", widths.len())));
        }
        let found: Vec<&PairRoutes> = found.iter().map(|found| &found.0).collect();
        let text = py.detach(|| self.0.table(&found, &mut widths, with_share));
        Ok((text, widths))
    }

    fn json(&self, py: Python<'_>, found: &Found, is_indented: bool) -> String {
        py.detach(|| self.0.json(&found.0, is_indented))
    }

    fn csv(&self, py: Python<'_>, found: &Found, is_guarded: bool) -> String {
        py.detach(|| self.0.csv(&found.0, is_guarded))
    }
}

/// All metrics of routing, as a JSON text.
#[pyfunction]
pub fn metrics() -> String {
    serde_json::json!(describe_metrics()).to_string()
}

/// The predicted goodput of a stack (JSON) over any path, as a JSON text for the metric.
#[pyfunction]
pub fn goodput_law(py: Python<'_>, stack: &str) -> PyResult<String> {
    let stack = serde_json::from_str(stack).map_err(refuse)?;
    let law = py.detach(|| anabranch_core::predict::goodput::law(&stack)).map_err(refuse)?;
    Ok(serde_json::json!(law).to_string())
}

/// The predicted goodput by a law (JSON) of paths with these one-way delays, loss ratios and least rates, bit/s.
#[pyfunction]
pub fn goodput_of_paths<'py>(
    py: Python<'py>,
    law: &str,
    delay_s: Vec<f64>,
    loss: Vec<f64>,
    rate_bps: Vec<f64>,
) -> PyResult<Bound<'py, PyArray1<f64>>> {
    let law: GoodputLaw = serde_json::from_str(law).map_err(refuse)?;
    let paths = delay_s.into_iter().zip(loss).zip(rate_bps);
    let goodput = paths.map(|((delay_s, loss), rate_bps)| law.at(delay_s, loss, rate_bps)).collect();
    Ok(PyArray1::from_vec(py, goodput))
}

/// OSPF's default cost of a link with this rate; `None` for a rate of zero.
#[pyfunction]
pub fn ospf_cost(capacity_bps: u64) -> Option<u64> {
    routing::ospf_cost(capacity_bps)
}

/// The distinct texts of a column, and the place of each cell's text among them (32 bits each).
type Coded<'py> = (Vec<String>, Bound<'py, PyBytes>);

/// The columns of lines with this many cells between commas; `None` if a line has another number. The columns of both `ends` have their
/// texts in common, in the order of the lines.
#[pyfunction]
pub fn coded_columns<'py>(
    py: Python<'py>,
    lines: &str,
    columns: usize,
    ends: (usize, usize),
) -> PyResult<Option<Vec<Coded<'py>>>> {
    if ends.0.max(ends.1) >= columns {
        return Err(refuse(format!("the columns {ends:?} of {columns}")));
    }
    let Some(found) = py.detach(|| code(lines, columns, ends)) else { return Ok(None) };
    let coded = found.into_iter().map(|(texts, codes)| {
        let texts = texts.into_iter().map(str::to_owned).collect();
        let bytes: Vec<u8> = codes.into_iter().flat_map(u32::to_ne_bytes).collect();
        (texts, PyBytes::new(py, &bytes))
    });
    Ok(Some(coded.collect()))
}

fn code(lines: &str, columns: usize, ends: (usize, usize)) -> Option<Vec<(Vec<&str>, Vec<u32>)>> {
    let mut known: Vec<FxHashMap<&str, u32>> = vec![FxHashMap::default(); columns];
    let mut found: Vec<(Vec<&str>, Vec<u32>)> = vec![Default::default(); columns];
    for line in lines.split('\n') {
        let mut cells = line.split(',');
        // Texts of ends are numbered in the order of source and target, whichever column comes first.
        let mut both = [("", 0); 2];
        for column in 0..columns {
            let cell = cells.next()?;
            if column == ends.0 {
                both[0] = (cell, column);
            } else if column == ends.1 {
                both[1] = (cell, column);
            } else {
                let code = place(&mut known[column], &mut found[column].0, cell);
                found[column].1.push(code);
            }
        }
        for (cell, column) in both {
            let code = place(&mut known[ends.0], &mut found[ends.0].0, cell);
            found[column].1.push(code);
        }
        if cells.next().is_some() {
            return None;
        }
    }
    Some(found)
}

fn place<'a>(known: &mut FxHashMap<&'a str, u32>, texts: &mut Vec<&'a str>, text: &'a str) -> u32 {
    *known.entry(text).or_insert_with(|| {
        texts.push(text);
        texts.len() as u32 - 1
    })
}

/// The ends of links, of arrays of unsigned integers (`I`).
fn ends(py: Python<'_>, nodes: usize, sources: &PyBuffer<u32>, targets: &PyBuffer<u32>) -> PyResult<Vec<(u32, u32)>> {
    let (sources, targets) = (sources.to_vec(py)?, targets.to_vec(py)?);
    let least = nodes.min(sources.len()).min(targets.len());
    if least == 0 || sources.len() != targets.len() || sources.iter().chain(&targets).any(|&end| end as usize >= nodes)
    {
        return Err(refuse(format!("{} sources and {} targets among {nodes} nodes", sources.len(), targets.len())));
    }
    Ok(sources.into_iter().zip(targets).collect())
}

/// Whether links lead from the first node to all others.
#[pyfunction]
pub fn first_reaches_all(
    py: Python<'_>,
    nodes: usize,
    sources: PyBuffer<u32>,
    targets: PyBuffer<u32>,
) -> PyResult<bool> {
    let ends = ends(py, nodes, &sources, &targets)?;
    Ok(py.detach(|| routing::first_reaches_all(nodes, &ends)))
}

/// Whether no link joins a node to itself, and no two join the same nodes.
#[pyfunction]
pub fn is_simple(
    py: Python<'_>,
    nodes: usize,
    sources: PyBuffer<u32>,
    targets: PyBuffer<u32>,
    either_way: bool,
) -> PyResult<bool> {
    let ends = ends(py, nodes, &sources, &targets)?;
    Ok(py.detach(|| routing::is_simple(&ends, either_way)))
}

#[pymethods]
impl Network {
    #[new]
    fn new(
        nodes: usize,
        src: PyReadonlyArray1<'_, u32>,
        dst: PyReadonlyArray1<'_, u32>,
        rate_bps: PyReadonlyArray1<'_, u64>,
        delay_ps: PyReadonlyArray1<'_, u64>,
        loss: PyReadonlyArray1<'_, f64>,
        cost: PyReadonlyArray1<'_, f64>,
    ) -> PyResult<Network> {
        let (src, dst) = (src.as_slice()?, dst.as_slice()?);
        let (rate, delay) = (rate_bps.as_slice()?, delay_ps.as_slice()?);
        let (loss, cost) = (loss.as_slice()?, cost.as_slice()?);
        let lengths = [dst.len(), rate.len(), delay.len(), loss.len(), cost.len()];
        if lengths.iter().any(|&length| length != src.len()) {
            return Err(refuse(format!("columns of {} and {lengths:?} links: must be of one length", src.len())));
        }
        let links = (0..src.len()).map(|id| Link {
            src: src[id],
            dst: dst[id],
            rate: Rate(rate[id]),
            delay: Duration(delay[id]),
            cost: cost[id],
            loss: loss[id],
        });
        Graph::new(nodes, links.collect()).map(Network).map_err(refuse)
    }

    fn trees<'py>(&self, py: Python<'py>, metric: &str, sources: Vec<u32>) -> PyResult<Bound<'py, PyDict>> {
        let metric = metric_of(metric)?;
        let found = py.detach(|| routes::trees(&self.0, &metric, &sources)).map_err(refuse)?;
        let shape = [sources.len(), self.0.nodes()];
        let columns = PyDict::new(py);
        columns.set_item("cost", PyArray1::from_vec(py, found.cost).reshape(shape)?)?;
        columns.set_item("reached_by", PyArray1::from_vec(py, found.reached_by).reshape(shape)?)?;
        Ok(columns)
    }

    fn routes(&self, py: Python<'_>, metric: &str, sources: Vec<u32>, destinations: Vec<u32>) -> PyResult<Found> {
        let metric = metric_of(metric)?;
        let found = py.detach(|| routes::routes(&self.0, &metric, &sources, &destinations)).map_err(refuse)?;
        Ok(Found(found))
    }

    fn path_cost(&self, metric: &str, links: Vec<u32>) -> PyResult<f64> {
        Ok(PathCost::new(&self.0, &metric_of(metric)?).of_path(&links))
    }

    fn hop_by_hop(&self, py: Python<'_>, metric: &str) -> PyResult<Found> {
        let metric = metric_of(metric)?;
        let found = py.detach(|| routes::hop_by_hop(&self.0, &metric)).map_err(refuse)?;
        Ok(Found(found))
    }

    fn path_counts<'py>(&self, py: Python<'py>, metric: &str) -> PyResult<Bound<'py, PyArray2<f64>>> {
        let metric = metric_of(metric)?;
        let counts = py.detach(|| routes::path_counts(&self.0, &metric)).map_err(refuse)?;
        PyArray1::from_vec(py, counts).reshape([self.0.nodes(), self.0.nodes()])
    }

    fn certificate<'py>(&self, py: Python<'py>, source: u32, destination: u32) -> PyResult<Option<Bound<'py, PyDict>>> {
        let Some(certificate) = certified_path(&self.0, source, destination) else { return Ok(None) };
        let columns = PyDict::new(py);
        columns.set_item("cost", certificate.cost)?;
        columns.set_item("lower_bound", certificate.lower_bound)?;
        columns.set_item("lambda_s", certificate.supports.iter().map(|support| support.lambda).collect::<Vec<_>>())?;
        columns.set_item("length", certificate.supports.iter().map(|support| support.length).collect::<Vec<_>>())?;
        columns.set_item("holds", certificate.holds(&self.0, source, destination, 1e-9))?;
        Ok(Some(columns))
    }

    fn k_shortest(
        &self,
        py: Python<'_>,
        metric: &str,
        sources: Vec<u32>,
        destinations: Vec<u32>,
        most: u32,
    ) -> PyResult<Found> {
        let metric = metric_of(metric)?;
        let hops = HopsSpec::KShortest { metric: metric.clone(), paths: most };
        self.path_sets(py, &hops, &metric, &sources, &destinations)
    }

    fn within(
        &self,
        py: Python<'_>,
        metric: &str,
        sources: Vec<u32>,
        destinations: Vec<u32>,
        threshold: f64,
        most: u32,
    ) -> PyResult<Found> {
        let metric = metric_of(metric)?;
        let hops = HopsSpec::NearEqual { metric: metric.clone(), threshold, paths: most };
        let found = self.path_sets(py, &hops, &metric, &sources, &destinations)?;
        let more_is_better = matches!(metric, MetricSpec::Throughput(ThroughputMetric::Goodput(_)));
        Ok(Found(found.0.weighted_by_cost(more_is_better)))
    }

    fn disjoint(
        &self,
        py: Python<'_>,
        metric: &str,
        sources: Vec<u32>,
        destinations: Vec<u32>,
        most: u32,
        by_nodes: bool,
    ) -> PyResult<Found> {
        let metric = metric_of(metric)?;
        let by = if by_nodes { Disjointness::Nodes } else { Disjointness::Links };
        let hops = HopsSpec::Disjoint { metric: metric.clone(), paths: most, by };
        self.path_sets(py, &hops, &metric, &sources, &destinations)
    }

    /// The disjoint paths of most predicted throughput, and for each pair the throughput of the set, of its best path, and of any set at most.
    fn throughput_sets<'py>(
        &self,
        py: Python<'py>,
        metric: &str,
        sources: Vec<u32>,
        destinations: Vec<u32>,
        most: u32,
        by_nodes: bool,
    ) -> PyResult<(Found, [Bound<'py, PyArray1<f64>>; 3])> {
        let MetricSpec::Throughput(metric) = metric_of(metric)? else {
            return Err(refuse("sets of most throughput need a metric of predicted throughput"));
        };
        let by = if by_nodes { Disjointness::Nodes } else { Disjointness::Links };
        let pairs = pairs(&sources, &destinations);
        let found = py.detach(|| throughput_sets(&self.0, &metric, &pairs, most as usize, by)).map_err(refuse_pair)?;
        let columns = [found.together, found.alone, found.at_most].map(|column| PyArray1::from_vec(py, column));
        Ok((Found(found.routes), columns))
    }

    #[pyo3(signature = (sources, destinations, most_labels = MOST_LABELS))]
    fn pareto(&self, py: Python<'_>, sources: Vec<u32>, destinations: Vec<u32>, most_labels: usize) -> PyResult<Found> {
        let pairs = pairs(&sources, &destinations);
        let found = py.detach(|| pareto_sets(&self.0, &pairs, most_labels)).map_err(refuse_pair)?;
        Ok(Found(found))
    }
}

impl Network {
    fn path_sets(
        &self,
        py: Python<'_>,
        hops: &HopsSpec,
        metric: &MetricSpec,
        sources: &[u32],
        destinations: &[u32],
    ) -> PyResult<Found> {
        let pairs = pairs(sources, destinations);
        let found = py.detach(|| path_sets(&self.0, hops, metric, &pairs)).map_err(refuse_pair)?;
        Ok(Found(found))
    }
}

/// The nodes of a pair with too many labels follow the message: only the caller knows their names.
fn refuse_pair(problem: RoutingError) -> PyErr {
    match problem {
        RoutingError::TooManyLabels { src, dst, .. } => PyValueError::new_err((problem.to_string(), src, dst)),
        _ => refuse(problem),
    }
}

/// Every source with every destination other than itself.
fn pairs(sources: &[u32], destinations: &[u32]) -> Vec<(u32, u32)> {
    let to_all = |&src: &u32| destinations.iter().filter(move |&&dst| dst != src).map(move |&dst| (src, dst));
    sources.iter().flat_map(to_all).collect()
}
