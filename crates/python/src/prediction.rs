//! The predict engine over a compiled run.

use crate::supervised::Supervisor;
use crate::{columns, control, read_spec};
use anabranch_core::packet::Simulation;
use anabranch_core::predict::network::{
    self, Completion, FlowPrediction, LinkPrediction, Prediction as Predicted, Sum, Watch, predict,
};
use numpy::PyArray1;
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use pyo3::types::PyDict;
use std::sync::mpsc::{Receiver, RecvTimeoutError, channel};
use std::sync::{Arc, Mutex};
use std::thread::JoinHandle;
use std::time::Duration;

/// A run whose prediction is made on a thread of its own.
#[pyclass]
pub struct Predictor {
    made: Mutex<Receiver<Result<Prediction, String>>>,
    maker: Option<JoinHandle<()>>,
    watch: Arc<Watch>,
    supervisor: Arc<Supervisor>,
}

#[pymethods]
impl Predictor {
    #[new]
    #[pyo3(signature = (spec, threads=1))]
    fn new(py: Python<'_>, spec: &str, threads: usize) -> PyResult<Predictor> {
        let mut spec = py.detach(|| read_spec(spec)).map_err(PyValueError::new_err)?;
        let supervisor = Arc::new(Supervisor::of(&spec, None));
        control::provide(py, &mut spec, &supervisor.calls)?;
        let watch = Arc::new(Watch::default());
        let (sender, made) = channel();
        let (watched, supervised) = (Arc::clone(&watch), Arc::clone(&supervisor));
        let maker = std::thread::spawn(move || {
            let predicted = supervised.work(|| predict(spec, threads, &watched));
            let found = predicted.map_err(|error| error.to_string()).map(|(predicted, planned)| {
                let threads = network::threads(predicted.flows.len(), threads);
                Prediction { predicted, planned, threads }
            });
            // Sending fails if the Python object was dropped before: then the result is not needed.
            let _ = sender.send(found);
        });
        Ok(Predictor { made: Mutex::new(made), maker: Some(maker), watch, supervisor })
    }

    /// The prediction; `None` if it is not finished after this number of seconds.
    fn wait(&mut self, py: Python<'_>, seconds: f64) -> PyResult<Option<Prediction>> {
        let most = Duration::from_secs_f64(seconds);
        let made = py.detach(|| self.made.get_mut().expect("nobody else waits").recv_timeout(most));
        match made {
            Ok(found) => found.map(Some).map_err(PyValueError::new_err),
            Err(RecvTimeoutError::Timeout) => Ok(None),
            Err(RecvTimeoutError::Disconnected) => match self.maker.take().map(JoinHandle::join) {
                Some(Err(panic)) => std::panic::resume_unwind(panic),
                _ => Err(PyValueError::new_err("the prediction was given before")),
            },
        }
    }

    /// The share of the work that is done, about.
    #[getter]
    fn share(&self) -> f64 {
        self.watch.share()
    }
}

impl Drop for Predictor {
    fn drop(&mut self) {
        self.watch.stop();
        Python::attach(|py| self.supervisor.stop(py));
    }
}

/// The prediction of a run, and the planned run, which does not start but knows its flows and links.
#[pyclass]
pub struct Prediction {
    predicted: Predicted,
    planned: Simulation,
    threads: usize,
}

#[pymethods]
impl Prediction {
    /// The packet engine's table of flows, before the run.
    fn planned_flows<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyDict>> {
        columns(py, self.planned.flow_table())
    }

    /// The packet engine's table of links, before the run.
    fn planned_links<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyDict>> {
        columns(py, self.planned.link_table())
    }

    /// Results by flow, with the column names of the table of flows.
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

    /// The sums of the flows of each kind: goodput and its interval, bit/s. `kinds` has the kind of each flow, below `count`.
    fn sums<'py>(&self, py: Python<'py>, kinds: Vec<u32>, count: usize) -> PyResult<Bound<'py, PyDict>> {
        if kinds.len() != self.predicted.flows.len() || kinds.iter().any(|kind| *kind as usize >= count) {
            return Err(PyValueError::new_err("sums need one kind below the count for each flow"));
        }
        let found = network::sums(&self.predicted, &kinds, count);
        let number = |value: fn(&Sum) -> f64| PyArray1::from_iter(py, found.iter().map(value));
        let columns = PyDict::new(py);
        columns.set_item("goodput_bps", number(|sum| sum.goodput_bps))?;
        columns.set_item("low_bps", number(|sum| sum.interval_bps.0))?;
        columns.set_item("high_bps", number(|sum| sum.interval_bps.1))?;
        Ok(columns)
    }

    /// Results by link: carried bit/s and packets/s, utilisation, mean wait in seconds, drops and losses a second.
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
