//! The predict engine over a compiled run.

use crate::{columns, control, read_spec};
use anabranch_core::packet::Simulation;
use anabranch_core::predict::network::{
    self, Completion, FlowPrediction, LinkPrediction, Prediction as Predicted, predict,
};
use numpy::PyArray1;
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use pyo3::types::PyDict;

/// The prediction of a run, and the run, which does not begin: it knows what its flows and links are to be.
#[pyclass]
pub struct Prediction {
    predicted: Predicted,
    planned: Simulation,
    threads: usize,
}

#[pymethods]
impl Prediction {
    #[new]
    #[pyo3(signature = (spec, threads=1))]
    fn new(py: Python<'_>, spec: &str, threads: usize) -> PyResult<Prediction> {
        let mut spec = py.detach(|| read_spec(spec)).map_err(PyValueError::new_err)?;
        control::provide(py, &mut spec)?;
        let (predicted, planned) =
            py.detach(|| predict(spec, threads).map_err(|error| error.to_string())).map_err(PyValueError::new_err)?;
        let threads = network::threads(predicted.flows.len(), threads);
        Ok(Prediction { predicted, planned, threads })
    }

    /// The packet engine's table of flows, before the run.
    fn planned_flows<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyDict>> {
        columns(py, self.planned.flow_table())
    }

    /// The packet engine's table of links, before the run.
    fn planned_links<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyDict>> {
        columns(py, self.planned.link_table())
    }

    /// By flow, by the names of the table of flows.
    fn flows<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyDict>> {
        let number =
            |value: fn(&FlowPrediction) -> f64| PyArray1::from_iter(py, self.predicted.flows.iter().map(value));
        let columns = PyDict::new(py);
        columns.set_item("goodput_bps", number(|flow| flow.goodput_bps))?;
        columns.set_item("low_bps", number(|flow| flow.interval_bps.0))?;
        columns.set_item("high_bps", number(|flow| flow.interval_bps.1))?;
        columns.set_item("srtt_s", number(|flow| flow.rtt_s))?;
        columns.set_item("cwnd_segments", number(|flow| flow.window))?;
        let completion = |value: fn(&Completion) -> f64| {
            let flows = self.predicted.flows.iter();
            let times = flows.map(|flow| flow.completion.as_ref().map_or(f64::NAN, value));
            PyArray1::from_iter(py, times.map(|seconds| if seconds.is_finite() { seconds } else { f64::NAN }))
        };
        columns.set_item("fct_s", completion(|times| times.median_s))?;
        columns.set_item("fct_p95_s", completion(|times| times.high_s))?;
        let limits: Vec<&str> = self.predicted.flows.iter().map(|flow| flow.limited_by).collect();
        columns.set_item("limited_by", limits)?;
        Ok(columns)
    }

    /// By link: what it carries in bit/s and packets/s, its utilisation, mean wait in seconds, drops and losses a second.
    fn links<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyDict>> {
        let number =
            |value: fn(&LinkPrediction) -> f64| PyArray1::from_iter(py, self.predicted.links.iter().map(value));
        let columns = PyDict::new(py);
        columns.set_item("carried_bps", number(|link| link.carried_bps))?;
        columns.set_item("packets", number(|link| link.packets))?;
        columns.set_item("utilisation", number(|link| link.utilisation))?;
        columns.set_item("queue_delay_s", number(|link| link.queue_delay_s))?;
        columns.set_item("drops", number(|link| link.drops))?;
        columns.set_item("losses", number(|link| link.losses))?;
        Ok(columns)
    }

    /// Links at which phase effects decide about single runs.
    #[getter]
    fn in_phase(&self) -> Vec<usize> {
        let links = self.predicted.links.iter().enumerate();
        links.filter(|(_, link)| link.in_phase).map(|(index, _)| index).collect()
    }

    #[getter]
    fn converged(&self) -> bool {
        self.predicted.converged
    }

    #[getter]
    fn unique(&self) -> bool {
        self.predicted.unique
    }

    #[getter]
    fn threads(&self) -> usize {
        self.threads
    }
}
