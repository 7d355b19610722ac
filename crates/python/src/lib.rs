//! The Python face of `anabranch-core`: as thin as it can be.
#![allow(missing_docs)] // pyo3 generates undocumented items

use anabranch_core::tcp::{ack::AckSpec, congestion::CongestionSpec, detection::DetectionSpec};
use pyo3::prelude::*;

/// The registries of congestion controls, detectors and ACK policies as a JSON text.
#[pyfunction]
fn algorithms() -> String {
    serde_json::json!({
        "congestion": CongestionSpec::describe(),
        "detection": DetectionSpec::describe(),
        "ack": AckSpec::describe(),
    })
    .to_string()
}

#[pymodule]
fn _core(module: &Bound<'_, PyModule>) -> PyResult<()> {
    module.add_function(wrap_pyfunction!(algorithms, module)?)
}
