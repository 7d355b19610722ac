//! Congestion controls written in Python: `anabranch.engines.control` documents their classes.

use crate::supervised::PythonCalls;
use anabranch_core::spec::RunSpec;
use anabranch_core::tcp::congestion::Snapshot;
use anabranch_core::tcp::congestion::choice::ControlSpec;
use anabranch_core::tcp::congestion::custom::{ControlFactory, CustomSpec};
use anabranch_core::tcp::congestion::linux::LinuxControl;
use anabranch_core::tcp::congestion::supervision::Supervision;
use anabranch_core::tcp::congestion::{CongestionControl, Demands, FlowContext};
use anabranch_core::tcp::events::{AckEvent, CongestionEvent, CongestionKind};
use anabranch_core::tcp::rtt::RttEstimate;
use anabranch_core::units::{Duration, Rate, Time};
use pyo3::exceptions::{PyKeyboardInterrupt, PyValueError};
use pyo3::prelude::*;
use std::ffi::CString;
use std::sync::Arc;

/// The arguments with which a class is created.
#[pyclass(frozen, get_all)]
struct Flow {
    initial_window: u32,
    wire_bytes: u32,
    seed: u64,
}

/// An acknowledgement.
#[pyclass(frozen, get_all)]
struct Ack {
    now_s: f64,
    delivered: u32,
    growth: u32,
    newly_lost: u32,
    prior_in_flight: u32,
    in_flight: u32,
    rtt_s: Option<f64>,
    srtt_s: Option<f64>,
    min_rtt_s: Option<f64>,
    round_start: bool,
    in_recovery: bool,
    ecn_echo: bool,
    delivery_rate_bps: Option<f64>,
    app_limited: bool,
}

/// A congestion signal.
#[pyclass(frozen, get_all)]
struct Congestion {
    now_s: f64,
    kind: &'static str,
    prior_in_flight: u32,
}

/// Loads the classes that the stacks of a run name. Their code runs as one of these calls.
pub fn provide(py: Python<'_>, spec: &mut RunSpec, calls: &Arc<PythonCalls>) -> PyResult<()> {
    for stack in &mut spec.stacks {
        if let ControlSpec::Custom(custom) = &mut stack.congestion {
            let loaded = calls.call(py, || load(py, custom)).map_err(|error| {
                let problem = describe(py, &error, &custom.file);
                PyValueError::new_err(format!("stack '{}', congestion: {problem}", stack.name))
            })?;
            let class = loaded.ok_or_else(|| PyKeyboardInterrupt::new_err(()))?;
            let file = custom.file.as_str().into();
            custom.provide(Arc::new(PythonFactory { class, file, calls: Arc::clone(calls) }));
        }
    }
    Ok(())
}

fn load(py: Python<'_>, custom: &CustomSpec) -> PyResult<Py<PyAny>> {
    let code = CString::new(custom.python.as_str())?;
    let file = CString::new(custom.file.as_str())?;
    let module = PyModule::from_code(py, &code, &file, c"anabranch_custom_control")?;
    let class = module.getattr(custom.class.as_str())?;
    let base = py.import("anabranch.engines.control")?.getattr("Control")?;
    if !class.is_instance_of::<pyo3::types::PyType>() || !class.cast::<pyo3::types::PyType>()?.is_subclass(&base)? {
        return Err(PyValueError::new_err(format!("{} must be a class derived from anabranch.Control", custom.class)));
    }
    Ok(class.unbind())
}

/// An exception in one line, with the control's file and the last line of this file that was executed.
fn describe(py: Python<'_>, error: &PyErr, file: &str) -> String {
    let mut line = None;
    let mut traceback = error.traceback(py);
    while let Some(entry) = traceback {
        let code = entry.getattr("tb_frame").and_then(|frame| frame.getattr("f_code")?.getattr("co_filename"));
        if code.and_then(|name| name.extract::<String>()).is_ok_and(|name| name == file) {
            line = entry.getattr("tb_lineno").and_then(|line| line.extract::<u32>()).ok();
        }
        traceback = entry.getattr("tb_next").ok().and_then(|next| next.cast_into().ok());
    }
    let place = line.map_or(String::new(), |line| format!("line {line}: "));
    format!("{place}{error} (in {file})")
}

struct PythonFactory {
    class: Py<PyAny>,
    file: Arc<str>,
    calls: Arc<PythonCalls>,
}

impl ControlFactory for PythonFactory {
    fn build(&self, flow: FlowContext, supervision: &Supervision) -> Box<dyn Snapshot> {
        let mut control = PythonControl {
            object: None,
            now: Time::ZERO,
            supervision: supervision.clone(),
            file: Arc::clone(&self.file),
            calls: Arc::clone(&self.calls),
            wire_bits: 8.0 * f64::from(flow.wire_bytes),
            cwnd: f64::from(flow.initial_window),
            ssthresh: f64::INFINITY,
            pacing_rate: None,
            samples_rate: false,
        };
        Python::attach(|py| {
            let given =
                Flow { initial_window: flow.initial_window, wire_bytes: flow.wire_bytes, seed: flow.random.bits(0) };
            let built = self.calls.call(py, || {
                let object = self.class.call1(py, (given,))?;
                control.samples_rate = object.getattr(py, "samples_rate")?.extract(py)?;
                control.read(object.bind(py), true)?;
                Ok(object)
            });
            control.object = control.outcome(py, Time::ZERO, built);
        });
        Box::new(control)
    }
}

/// The control of one flow.
struct PythonControl {
    /// The control's object; `None` after a fault or an interruption.
    object: Option<Py<PyAny>>,
    /// Time of the last event that had a time.
    now: Time,
    supervision: Supervision,
    file: Arc<str>,
    calls: Arc<PythonCalls>,
    wire_bits: f64,
    cwnd: f64,
    ssthresh: f64,
    pacing_rate: Option<Rate>,
    samples_rate: bool,
}

impl PythonControl {
    /// Calls a method, and reads the control's decision.
    fn call(&mut self, now: Time, method: impl FnOnce(&Bound<'_, PyAny>) -> PyResult<()>) {
        let Some(object) = self.object.take() else { return };
        self.now = now;
        self.object = Python::attach(|py| {
            let calls = Arc::clone(&self.calls);
            let called = calls.call(py, || {
                let bound = object.bind(py);
                method(bound)?;
                self.read(bound, false)?;
                Ok(object)
            });
            self.outcome(py, now, called)
        });
    }

    /// The object after a call, unless that failed or was interrupted.
    fn outcome(&self, py: Python<'_>, now: Time, called: PyResult<Option<Py<PyAny>>>) -> Option<Py<PyAny>> {
        match called {
            Ok(Some(object)) => return Some(object),
            Ok(None) => self.supervision.stop(),
            Err(error) => self.supervision.record(now, describe(py, &error, &self.file)),
        }
        None
    }

    fn read(&mut self, object: &Bound<'_, PyAny>, is_first: bool) -> PyResult<()> {
        let refused = |name: &str, value: f64, right: &str| {
            Err(PyValueError::new_err(format!("{name} = {value}: must be {right}")))
        };
        let cwnd: f64 = object.getattr("cwnd")?.extract()?;
        let ssthresh: f64 = object.getattr("ssthresh")?.extract()?;
        let pacing_bps: Option<f64> = object.getattr("pacing_bps")?.extract()?;
        if !(cwnd.is_finite() && cwnd >= 0.0) {
            return refused("cwnd", cwnd, "a number of segments, 0 or more");
        }
        if ssthresh.is_nan() || ssthresh < 0.0 {
            return refused("ssthresh", ssthresh, "a number of segments, 0 or more, or infinite");
        }
        if let Some(rate) = pacing_bps
            && !(rate.is_finite() && rate > 0.0)
        {
            return refused("pacing_bps", rate, "a rate in bit/s above 0");
        }
        if !is_first && self.pacing_rate.is_some() != pacing_bps.is_some() {
            return Err(PyValueError::new_err("pacing_bps must be a rate from __init__ on, or None for ever"));
        }
        (self.cwnd, self.ssthresh, self.pacing_rate) = (cwnd, ssthresh, pacing_bps.map(Rate::from_bps));
        Ok(())
    }
}

fn seconds(duration: Option<Duration>) -> Option<f64> {
    duration.map(Duration::as_secs)
}

impl CongestionControl for PythonControl {
    fn on_ack(&mut self, ack: &AckEvent, rtt: &RttEstimate) {
        let rate = ack.rate.map(|rate| f64::from(rate.delivered) * self.wire_bits / rate.interval.as_secs());
        let event = Ack {
            now_s: ack.now.as_secs(),
            delivered: ack.delivered,
            growth: ack.growth,
            newly_lost: ack.newly_lost,
            prior_in_flight: ack.prior_in_flight,
            in_flight: ack.in_flight,
            rtt_s: seconds(ack.rtt),
            srtt_s: seconds(rtt.smoothed()),
            min_rtt_s: seconds(rtt.minimum()),
            round_start: ack.round_start,
            in_recovery: ack.in_recovery,
            ecn_echo: ack.ecn_echo,
            delivery_rate_bps: rate,
            app_limited: ack.rate.is_some_and(|rate| rate.app_limited),
        };
        self.call(ack.now, |object| object.call_method1("on_ack", (event,)).map(drop));
    }

    fn on_congestion(&mut self, event: &CongestionEvent, _rtt: &RttEstimate) {
        let kind = match event.kind {
            CongestionKind::Loss => "loss",
            CongestionKind::Timeout { repeated: false } => "timeout",
            CongestionKind::Timeout { repeated: true } => "repeated-timeout",
            CongestionKind::EcnEcho => "ecn-echo",
        };
        let signal = Congestion { now_s: event.now.as_secs(), kind, prior_in_flight: event.prior_in_flight };
        self.call(event.now, |object| object.call_method1("on_congestion", (signal,)).map(drop));
    }

    fn undo(&mut self) {
        self.call(self.now, |object| object.call_method0("undo").map(drop));
    }

    fn on_recovered(&mut self) {
        self.call(self.now, |object| object.call_method0("on_recovered").map(drop));
    }

    fn on_idle(&mut self, now: Time, idle: Duration, _initial_window: u32, rtt: &RttEstimate) {
        let rto = rtt.rto().as_secs();
        self.call(now, |object| object.call_method1("on_idle", (idle.as_secs(), rto)).map(drop));
    }

    fn cwnd(&self) -> f64 {
        self.cwnd
    }

    fn ssthresh(&self) -> f64 {
        self.ssthresh
    }

    fn pacing_rate(&self) -> Option<Rate> {
        self.pacing_rate
    }

    fn demands(&self) -> Demands {
        Demands { rate_samples: self.samples_rate, ..Demands::default() }
    }
}

impl LinuxControl for PythonControl {}
