//! Cables between switches of a testbed, in real time.

use crate::kernel::copy_of;
use crate::read_spec;
use anabranch_core::units::Time;
use anabranch_emulator::cables::Cables as Network;
use anabranch_emulator::clock::Clock;
use anabranch_emulator::driver::{Device, Driven, drive, this_thread};
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::channel;
use std::thread::JoinHandle;
use std::time::Instant;

/// A thread that moves frames until it is ended.
#[pyclass]
pub struct Cables {
    stop: Arc<AtomicBool>,
    thread: i32,
    frames: Option<JoinHandle<Result<Driven<Network>, String>>>,
}

#[pymethods]
impl Cables {
    /// The cables of a compiled run, with the TAP device at each flow's port.
    #[new]
    fn new(spec: &str, devices: Vec<i32>) -> PyResult<Cables> {
        let spec = read_spec(spec).map_err(PyValueError::new_err)?;
        let end = Time::ZERO + spec.duration;
        let cables = Network::new(spec).map_err(PyValueError::new_err)?;
        let device = |(number, descriptor)| Ok(Device { number, descriptor: copy_of(descriptor)? });
        let devices = (0..).zip(devices).map(device).collect::<PyResult<Vec<Device>>>()?;
        let stop = Arc::new(AtomicBool::new(false));
        let (tell, told) = channel();
        let frames = {
            let stop = stop.clone();
            std::thread::spawn(move || {
                let _ = tell.send(this_thread());
                drive(cables, &devices, &Clock::beginning(Instant::now()), end, &stop, |_| ())
                    .map_err(|error| format!("Linux does not watch the devices: {error}"))
            })
        };
        let thread = told.recv().map_err(|_| PyValueError::new_err("the thread of frames has ended"))?;
        Ok(Cables { stop, thread, frames: Some(frames) })
    }

    /// The thread that moves frames.
    #[getter]
    fn thread(&self) -> i32 {
        self.thread
    }

    /// Ends it. Mean, 99th percentile and greatest lateness in seconds, frames written, and frames that devices refused.
    fn end(&mut self, py: Python<'_>) -> PyResult<(f64, f64, f64, u64, u64)> {
        let frames = self.frames.take().ok_or_else(|| PyValueError::new_err("the cables have ended"))?;
        self.stop.store(true, Ordering::Relaxed);
        let driven =
            py.detach(|| frames.join()).map_err(|_| PyValueError::new_err("the thread of frames has failed"))?;
        let driven = driven.map_err(PyValueError::new_err)?;
        let late = driven.lateness;
        Ok((late.mean_s(), late.quantile_s(0.99), late.greatest_s(), late.packets(), driven.refused))
    }
}
