//! Calls of the core that end when they are interrupted, even where a congestion control of the scenario is slow or endless.

use anabranch_core::spec::RunSpec;
use anabranch_core::tcp::congestion::choice::ControlSpec;
use anabranch_core::tcp::congestion::supervision::Supervision;
use pyo3::exceptions::PyKeyboardInterrupt;
use pyo3::prelude::*;
use pyo3::{PyTypeInfo, ffi};
use std::ffi::{c_long, c_ulong};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{Receiver, RecvTimeoutError, channel};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

/// Time between two looks at signals and at the request to stop.
const LOOK: Duration = Duration::from_millis(20);

/// How long a step of a run may go on after a request to stop. Most end sooner by themselves, and their results are then those of the whole run
/// until its end. Controls are cut off only after this time.
const GRACE: Duration = Duration::from_millis(300);

/// Calls of a run into Python code of the scenario, on any thread.
#[derive(Default)]
pub struct PythonCalls {
    /// The threads that are in such code.
    running: Mutex<Vec<c_ulong>>,
    interrupted: AtomicBool,
}

impl PythonCalls {
    /// Calls Python code of the scenario. `None` if it is interrupted, by [`Self::interrupt`] or by itself.
    pub fn call<T>(&self, py: Python<'_>, code: impl FnOnce() -> PyResult<T>) -> PyResult<Option<T>> {
        if self.is_interrupted() {
            return Ok(None);
        }
        let thread = this_thread(py);
        self.running().push(thread);
        let result = code();
        self.running().retain(|other| *other != thread);
        if self.is_interrupted() {
            raise_in(py, thread, None);
            return Ok(None);
        }
        match result {
            Err(error) if error.is_instance_of::<PyKeyboardInterrupt>(py) => {
                self.interrupted.store(true, Ordering::Relaxed);
                Ok(None)
            }
            other => other.map(Some),
        }
    }

    /// Raises `KeyboardInterrupt` in all calls under way, and makes no further ones.
    pub fn interrupt(&self, py: Python<'_>) {
        self.interrupted.store(true, Ordering::Relaxed);
        for thread in self.running().iter() {
            raise_in(py, *thread, Some(PyKeyboardInterrupt::type_object(py)));
        }
    }

    fn is_interrupted(&self) -> bool {
        self.interrupted.load(Ordering::Relaxed)
    }

    /// The lock is held for moments, by threads that hold Python's lock: no two wait for each other.
    fn running(&self) -> std::sync::MutexGuard<'_, Vec<c_ulong>> {
        self.running.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[allow(unsafe_code)]
fn this_thread(_attached: Python<'_>) -> c_ulong {
    // SAFETY: the function has no requirements, and the thread is known to Python.
    unsafe { ffi::PyThread_get_thread_ident() }
}

/// Raises an exception at the next instruction of Python code on a thread; with `None` takes back one that has not been raised.
#[allow(unsafe_code)]
fn raise_in(_attached: Python<'_>, thread: c_ulong, exception: Option<Bound<'_, pyo3::types::PyType>>) {
    let exception = exception.as_ref().map_or(std::ptr::null_mut(), Bound::as_ptr);
    // SAFETY: the caller is attached to Python, as the token shows. The exception is a class that lives during the call, and Python takes its own
    // reference. The identifier of a thread that has ended is not found, which does nothing.
    unsafe { ffi::PyThreadState_SetAsyncExc(thread as c_long, exception) };
}

/// What can stop a run whose controls come with its scenario.
pub struct Supervisor {
    supervisions: Vec<Supervision>,
    pub calls: Arc<PythonCalls>,
    calls_python: bool,
    /// A `threading.Event` that asks the run to stop.
    stop: Option<Py<PyAny>>,
}

impl Supervisor {
    /// For a run.
    pub fn of(spec: &RunSpec, stop: Option<Py<PyAny>>) -> Supervisor {
        let calls_python = spec.stacks.iter().any(|stack| matches!(stack.congestion, ControlSpec::Custom(_)));
        let supervisions = spec.supervisions().cloned().collect();
        Supervisor { supervisions, calls: Arc::default(), calls_python, stop }
    }

    /// For work with one program.
    pub fn of_program(supervision: &Supervision) -> Supervisor {
        let supervisions = vec![supervision.clone()];
        Supervisor { supervisions, calls: Arc::default(), calls_python: false, stop: None }
    }

    /// Cuts the controls off.
    pub fn stop(&self, py: Python<'_>) {
        self.supervisions.iter().for_each(Supervision::stop);
        self.calls.interrupt(py);
    }

    /// Does work that may call Python code, on this thread.
    pub fn work<T: Send>(&self, work: impl FnOnce() -> T + Send) -> T {
        // Otherwise each call of a control would make a state of this thread for Python and free it, which takes longer than the control.
        if self.calls_python { Python::attach(|py| py.detach(work)) } else { work() }
    }

    /// Does work that may call controls. Signals are handled meanwhile, and the event is looked at.
    ///
    /// # Errors
    /// The exception of a signal's handler, or `KeyboardInterrupt` if a control has raised that. The work has ended then.
    pub fn run<T: Send>(&self, py: Python<'_>, work: impl FnOnce() -> T + Send) -> PyResult<T> {
        if self.supervisions.is_empty() {
            return Ok(py.detach(work));
        }
        let (mut interrupt, mut asked) = (None, None::<Instant>);
        let result = py.detach(|| {
            std::thread::scope(|scope| {
                let (ended, end) = channel::<()>();
                let worker = scope.spawn(move || {
                    let _ended = ended;
                    self.work(work)
                });
                wait(end, |py| {
                    if let Err(error) = py.check_signals() {
                        interrupt = Some(error);
                    }
                    if self.is_asked(py) {
                        asked.get_or_insert_with(Instant::now);
                    }
                    if interrupt.is_some() || asked.is_some_and(|since| since.elapsed() >= GRACE) {
                        self.stop(py);
                    }
                    true
                });
                worker.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic))
            })
        });
        match interrupt {
            Some(error) => Err(error),
            None if asked.is_none() && self.calls.is_interrupted() => Err(PyKeyboardInterrupt::new_err(())),
            None => Ok(result),
        }
    }

    fn is_asked(&self, py: Python<'_>) -> bool {
        let is_set = |stop: &Py<PyAny>| stop.call_method0(py, "is_set").and_then(|set| set.extract(py));
        self.stop.as_ref().is_some_and(|stop| is_set(stop).unwrap_or(false))
    }
}

/// Does work without side effects. Signals are handled meanwhile; if a handler raises, the work is left to itself.
///
/// # Errors
/// The exception of a signal's handler.
pub fn interruptible<T: Send + 'static>(py: Python<'_>, work: impl FnOnce() -> T + Send + 'static) -> PyResult<T> {
    let (ended, end) = channel();
    let worker = std::thread::spawn(move || {
        let _ended: std::sync::mpsc::Sender<()> = ended;
        work()
    });
    let mut interrupt = None;
    let look = |py: Python<'_>| {
        interrupt = py.check_signals().err();
        interrupt.is_none()
    };
    py.detach(move || wait(end, look));
    match interrupt {
        Some(error) => Err(error),
        None => Ok(worker.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic))),
    }
}

/// Waits until the sender is gone, and looks around from time to time as long as `look` returns true.
fn wait(end: Receiver<()>, mut look: impl FnMut(Python<'_>) -> bool) {
    while end.recv_timeout(LOOK) == Err(RecvTimeoutError::Timeout) && Python::attach(&mut look) {}
}
