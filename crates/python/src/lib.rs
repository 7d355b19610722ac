//! The Python face of `anabranch-core`: as thin as it can be.
#![allow(missing_docs)] // what pyo3 generates has no documentation; the Python stub has it

#[cfg(target_os = "linux")]
mod cables;
mod control;
#[cfg(target_os = "linux")]
mod kernel;
mod network;
mod plan;
mod robust;
mod supervised;

use anabranch_core::drill::{run as run_script, settings::Preset};
use anabranch_core::entropy::EntropySpec;
use anabranch_core::packet::output::route_log::ROUTES;
use anabranch_core::packet::output::table::{Column, Table};
use anabranch_core::packet::{self, results::STATES};
use anabranch_core::spec::{
    DisciplineSpec, DistributionSpec, LossSpec, ProtocolSpec, RunSpec, Selector, StackSettings,
};
use anabranch_core::tcp::congestion::linux::program::ProgramSpec;
use anabranch_core::tcp::congestion::{CongestionSpec, slow_start::SlowStartSpec};
use anabranch_core::tcp::{ack::AckSpec, detection::DetectionSpec};
use anabranch_core::units::{Duration, Time};
use numpy::PyArray1;
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyDict};
use std::sync::Arc;
use supervised::{Supervisor, interruptible};

mod predict;
mod prediction;

/// The registries of algorithms by kind, as a JSON text.
#[pyfunction]
fn algorithms() -> String {
    serde_json::json!({
        "congestion": CongestionSpec::describe(),
        "slow_start": SlowStartSpec::describe(),
        "detection": DetectionSpec::describe(),
        "ack": AckSpec::describe(),
        "protocol": ProtocolSpec::describe(),
        "entropy": EntropySpec::describe(),
        "select": Selector::describe(),
        "queue": DisciplineSpec::describe_queues(),
        "jitter": DistributionSpec::describe(),
        "loss": LossSpec::describe(),
    })
    .to_string()
}

/// The settings of a stack besides its algorithms, as a JSON text.
#[pyfunction]
fn stack_settings() -> String {
    serde_json::json!(StackSettings::describe()).to_string()
}

/// The problem of an algorithm of this kind with its parameters; `None` if it is valid.
#[pyfunction]
fn check_algorithm(kind: &str, algorithm: &str) -> PyResult<Option<String>> {
    Ok(match kind {
        "congestion" => CongestionSpec::problem_of(algorithm),
        "slow_start" => SlowStartSpec::problem_of(algorithm),
        "detection" => DetectionSpec::problem_of(algorithm),
        "ack" => AckSpec::problem_of(algorithm),
        "protocol" => ProtocolSpec::problem_of(algorithm),
        "entropy" => EntropySpec::problem_of(algorithm),
        "select" => Selector::problem_of(algorithm),
        "queue" => DisciplineSpec::problem_of(algorithm),
        "jitter" => DistributionSpec::problem_of(algorithm),
        "loss" => LossSpec::problem_of(algorithm),
        _ => return Err(PyValueError::new_err(format!("no kind of algorithm: {kind}"))),
    })
}

/// Contents of an eBPF object and requirements of its programs, as a JSON text.
#[pyfunction]
fn describe_program(object: &[u8]) -> PyResult<String> {
    anabranch_core::tcp::congestion::linux::program::describe(object)
        .map(|description| description.to_string())
        .map_err(PyValueError::new_err)
}

/// Executes recorded calls of an object's control; (record, difference) for each call that differs from Linux.
#[pyfunction]
fn replay_calls(
    py: Python<'_>,
    congestion: &str,
    functions: Vec<String>,
    records: &[u8],
) -> PyResult<Vec<(usize, String)>> {
    let spec: ProgramSpec =
        serde_json::from_str(congestion).map_err(|error| PyValueError::new_err(error.to_string()))?;
    let differences = Supervisor::of_program(spec.supervision())
        .run(py, || spec.replay(&functions, records))?
        .map_err(PyValueError::new_err::<String>)?;
    Ok(differences.into_iter().map(|one| (one.record, one.what)).collect())
}

/// The share of packets that a loss model loses in the long run.
#[pyfunction]
fn stationary_loss(model: &str) -> PyResult<f64> {
    let spec: LossSpec = serde_json::from_str(model).map_err(|error| PyValueError::new_err(error.to_string()))?;
    Ok(spec.stationary_ratio())
}

/// Runs a script in packetdrill's language against a stack by name; its report as a JSON text.
#[pyfunction]
fn drill(py: Python<'_>, script: String, stack: String) -> PyResult<String> {
    interruptible(py, move || {
        let preset = Preset::of(&stack)?;
        Ok(match run_script(&script, preset) {
            Ok(report) => serde_json::json!({ "failure": report.failure, "rows": report.rows }),
            Err(problem) => serde_json::json!({
                "problem": { "line": problem.line, "text": problem.text, "refused": problem.refused }
            }),
        }
        .to_string())
    })?
    .map_err(PyValueError::new_err::<String>)
}

/// Runs both event loops; the first result in which they differ, if any.
#[pyfunction]
fn disagreement(py: Python<'_>, spec: &str) -> PyResult<Option<String>> {
    let mut spec = py.detach(|| read_spec(spec)).map_err(PyValueError::new_err)?;
    control::provide(py, &mut spec, &Arc::default())?;
    py.detach(|| packet::disagreement(&spec).map_err(|error| error.to_string())).map_err(PyValueError::new_err)
}

/// Unexpected properties of a run, as a JSON text.
#[pyfunction]
fn review(py: Python<'_>, spec: &str) -> PyResult<String> {
    let found = py
        .detach(|| read_spec(spec).map(|spec| anabranch_core::review::review(&spec)))
        .map_err(PyValueError::new_err)?;
    Ok(serde_json::json!(found).to_string())
}

fn read_spec(spec: &str) -> Result<RunSpec, String> {
    serde_json::from_str(spec).map_err(|error| format!("the compiled run: {error}"))
}

/// The columns of the result tables, declared once, as a JSON text.
#[pyfunction]
fn result_tables() -> String {
    serde_json::json!(packet::results::describe()).to_string()
}

fn columns(py: Python<'_>, table: Table) -> PyResult<Bound<'_, PyDict>> {
    let columns = PyDict::new(py);
    for (name, column) in table.columns {
        match column {
            Column::U32(values) => columns.set_item(name, PyArray1::from_vec(py, values))?,
            Column::U64(values) => columns.set_item(name, PyArray1::from_vec(py, values))?,
            Column::F64(values) => columns.set_item(name, PyArray1::from_vec(py, values))?,
            Column::Texts(values) => columns.set_item(name, values)?,
            Column::Paths(values) => columns.set_item(name, values)?,
        }
    }
    Ok(columns)
}

/// A run of a compiled text, and what can stop it.
fn built<T: Send>(
    py: Python<'_>,
    spec: &str,
    stop: Option<Py<PyAny>>,
    build: impl FnOnce(RunSpec) -> Result<T, packet::BuildError> + Send,
) -> PyResult<(T, Supervisor)> {
    let mut spec = py.detach(|| read_spec(spec)).map_err(PyValueError::new_err)?;
    let supervisor = Supervisor::of(&spec, stop);
    let run = supervisor.run(py, || {
        Python::attach(|py| control::provide(py, &mut spec, &supervisor.calls))?;
        build(spec).map_err(|error| PyValueError::new_err(error.to_string()))
    })??;
    Ok((run, supervisor))
}

/// The packets of a span of time of a run, packet by packet.
#[pyclass]
struct Trace {
    oracle: packet::Oracle,
    supervisor: Supervisor,
}

#[pymethods]
impl Trace {
    #[new]
    fn new(py: Python<'_>, spec: &str, from_s: f64, until_s: f64) -> PyResult<Trace> {
        let (mut oracle, supervisor) = built(py, spec, None, packet::Oracle::new)?;
        let at = |seconds| Time::ZERO + Duration::from_secs_f64(seconds);
        oracle.record_trace(at(from_s), at(until_s));
        Ok(Trace { oracle, supervisor })
    }

    fn advance(&mut self, py: Python<'_>, events: u64) -> PyResult<bool> {
        self.supervisor.run(py, || self.oracle.advance_trace(events))
    }

    #[getter]
    fn now_s(&self) -> f64 {
        self.oracle.now().as_secs()
    }

    #[getter]
    fn crossings(&self) -> usize {
        self.oracle.traced()
    }

    fn table<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyDict>> {
        columns(py, self.oracle.trace())
    }
}

/// One run of the packet engine.
#[pyclass]
struct Simulation {
    run: packet::Partitions,
    supervisor: Supervisor,
}

#[pymethods]
impl Simulation {
    #[new]
    #[pyo3(signature = (spec, threads=1, stop=None))]
    fn new(py: Python<'_>, spec: &str, threads: usize, stop: Option<Py<PyAny>>) -> PyResult<Simulation> {
        let (run, supervisor) = built(py, spec, stop, |spec| packet::Partitions::new(spec, threads))?;
        Ok(Simulation { run, supervisor })
    }

    fn advance(&mut self, py: Python<'_>, events: u64) -> PyResult<bool> {
        let goes_on = self.supervisor.run(py, || self.run.advance(events))?;
        self.run.fault().map_or(Ok(goes_on), |fault| Err(PyValueError::new_err(fault)))
    }

    #[getter]
    fn now_s(&self) -> f64 {
        self.run.now().as_secs()
    }

    #[getter]
    fn packet_hops(&self) -> u64 {
        self.run.packet_hops()
    }

    fn flows<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyDict>> {
        if let Some(problem) = self.run.impossible_goodput() {
            return Err(PyValueError::new_err(problem));
        }
        columns(py, self.run.flow_table())
    }

    fn states<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyDict>> {
        columns(py, Table::of(STATES, self.run.state_shares().into_iter()))
    }

    fn links<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyDict>> {
        columns(py, self.run.link_table())
    }

    #[getter]
    fn threads(&self) -> usize {
        self.run.threads()
    }

    #[getter]
    fn thread_gain(&self) -> Option<f64> {
        self.run.thread_gain()
    }

    fn take_flow_series<'py>(&mut self, py: Python<'py>) -> PyResult<Bound<'py, PyDict>> {
        columns(py, self.run.take_flow_series())
    }

    fn take_link_series<'py>(&mut self, py: Python<'py>) -> PyResult<Bound<'py, PyDict>> {
        columns(py, self.run.take_link_series())
    }

    fn take_link_state<'py>(&mut self, py: Python<'py>) -> PyResult<Bound<'py, PyDict>> {
        columns(py, self.run.take_link_state())
    }

    fn routes<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyDict>> {
        columns(py, Table::of(ROUTES, self.run.route_changes().iter().cloned()))
    }

    #[getter]
    fn packets_without_route(&self) -> u64 {
        self.run.packets_without_route()
    }

    #[getter]
    fn packets_expired(&self) -> u64 {
        self.run.packets_expired()
    }

    fn take_capture<'py>(&mut self, py: Python<'py>, link: u32) -> Bound<'py, PyBytes> {
        PyBytes::new(py, &self.run.take_capture(link))
    }
}

#[pymodule]
fn _core(module: &Bound<'_, PyModule>) -> PyResult<()> {
    module.add("__version__", env!("CARGO_PKG_VERSION"))?;
    module.add_class::<Simulation>()?;
    module.add_class::<Trace>()?;
    #[cfg(target_os = "linux")]
    {
        module.add_class::<cables::Cables>()?;
        module.add_class::<kernel::KernelRun>()?;
        module.add_function(wrap_pyfunction!(kernel::most_subflows, module)?)?;
    }
    module.add_class::<prediction::Prediction>()?;
    module.add_class::<prediction::Predictor>()?;
    module.add_class::<network::Network>()?;
    module.add_class::<network::Found>()?;
    module.add_class::<network::Text>()?;
    module.add_function(wrap_pyfunction!(network::metrics, module)?)?;
    module.add_function(wrap_pyfunction!(network::goodput_law, module)?)?;
    module.add_function(wrap_pyfunction!(network::goodput_of_paths, module)?)?;
    module.add_function(wrap_pyfunction!(network::coded_columns, module)?)?;
    module.add_function(wrap_pyfunction!(network::first_reaches_all, module)?)?;
    module.add_function(wrap_pyfunction!(network::is_simple, module)?)?;
    module.add_function(wrap_pyfunction!(network::ospf_cost, module)?)?;
    module.add_function(wrap_pyfunction!(algorithms, module)?)?;
    module.add_function(wrap_pyfunction!(stack_settings, module)?)?;
    module.add_function(wrap_pyfunction!(check_algorithm, module)?)?;
    module.add_function(wrap_pyfunction!(describe_program, module)?)?;
    module.add_function(wrap_pyfunction!(replay_calls, module)?)?;
    module.add_function(wrap_pyfunction!(stationary_loss, module)?)?;
    module.add_function(wrap_pyfunction!(result_tables, module)?)?;
    module.add_function(wrap_pyfunction!(drill, module)?)?;
    module.add_function(wrap_pyfunction!(disagreement, module)?)?;
    module.add_function(wrap_pyfunction!(review, module)?)?;
    module.add_function(wrap_pyfunction!(predict::prediction_models, module)?)?;
    module.add_function(wrap_pyfunction!(predict::predict, module)?)?;
    module.add_function(wrap_pyfunction!(predict::round_trip, module)?)?;
    module.add_class::<plan::PlanSearch>()?;
    robust::register(module)
}
