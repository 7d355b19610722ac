//! The prediction functions over arrays.

use anabranch_core::predict::models::{Argument, FLOW, MODELS, Model};
use anabranch_core::predict::{path, response::ResponseLaw};
use numpy::ndarray::{ArrayD, ArrayViewD, IxDyn};
use numpy::{IntoPyArray, PyArrayDyn, PyReadonlyArrayDyn};
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;

/// The common arguments of all models, the models, and response functions by name, as a JSON text.
#[pyfunction]
pub fn prediction_models() -> String {
    let laws = [
        ("reno", ResponseLaw::reno(1.0)),
        ("highspeed", ResponseLaw::highspeed()),
        ("scalable", ResponseLaw::scalable()),
    ];
    serde_json::json!({ "flow": FLOW, "models": MODELS, "laws": std::collections::BTreeMap::from(laws) }).to_string()
}

/// The rates of a model, bit/s, from the arrays of its arguments, which broadcast to `shape`.
#[pyfunction]
pub fn predict<'py>(
    py: Python<'py>,
    name: &str,
    arguments: Vec<PyReadonlyArrayDyn<'py, f64>>,
    shape: Vec<usize>,
) -> PyResult<Bound<'py, PyArrayDyn<f64>>> {
    let model = Model::of(name).ok_or_else(|| PyValueError::new_err(format!("there is no model \"{name}\"")))?;
    let declared: Vec<&Argument> = FLOW.iter().chain(model.arguments).collect();
    let views: Vec<_> = arguments.iter().map(|values| values.as_array()).collect();
    py.detach(|| {
        check(&declared, &views)?;
        broadcast(&views, &shape, |values| model.evaluate(values))
    })
    .map(|rates| rates.into_pyarray(py))
    .map_err(PyValueError::new_err)
}

/// Round-trip time in seconds and round-trip loss, from delays and losses forward and back, which broadcast to `shape`.
#[pyfunction]
pub fn round_trip<'py>(
    py: Python<'py>,
    arguments: Vec<PyReadonlyArrayDyn<'py, f64>>,
    shape: Vec<usize>,
) -> PyResult<[Bound<'py, PyArrayDyn<f64>>; 2]> {
    let views: Vec<_> = arguments.iter().map(|values| values.as_array()).collect();
    py.detach(|| {
        check(&path::ARGUMENTS.each_ref(), &views)?;
        let trip = |values: &[f64]| path::round_trip(values[0], values[1], values[2], values[3]);
        Ok([
            broadcast(&views, &shape, |values| trip(values).rtt_s)?,
            broadcast(&views, &shape, |values| trip(values).loss)?,
        ])
    })
    .map(|trips: [ArrayD<f64>; 2]| trips.map(|values| values.into_pyarray(py)))
    .map_err(PyValueError::new_err::<String>)
}

/// Refuses the first value that is not in the domain of its argument, by name and place.
fn check(declared: &[&Argument], views: &[ArrayViewD<'_, f64>]) -> Result<(), String> {
    if views.len() != declared.len() {
        return Err(format!("there are {} arguments, not {}", declared.len(), views.len()));
    }
    for (argument, values) in declared.iter().zip(views) {
        if let Some((index, value)) = values.indexed_iter().find(|(_, value)| !argument.domain.contains(**value)) {
            let place: Vec<String> = (0..values.ndim()).map(|axis| index[axis].to_string()).collect();
            let place = if place.is_empty() { String::new() } else { format!("[{}]", place.join(", ")) };
            return Err(format!("{}{place} is {value}: it must be {}", argument.name, argument.domain.requirement()));
        }
    }
    Ok(())
}

fn broadcast(
    views: &[ArrayViewD<'_, f64>],
    shape: &[usize],
    function: impl Fn(&[f64]) -> f64,
) -> Result<ArrayD<f64>, String> {
    let wide: Option<Vec<_>> = views.iter().map(|view| view.broadcast(IxDyn(shape))).collect();
    let wide = wide.ok_or_else(|| format!("an argument does not broadcast to {shape:?}"))?;
    let mut columns: Vec<_> = wide.iter().map(|view| view.iter()).collect();
    let mut values = vec![0.0; columns.len()];
    Ok(ArrayD::from_shape_simple_fn(IxDyn(shape), || {
        for (value, column) in values.iter_mut().zip(&mut columns) {
            *value = *column.next().expect("a broadcast view has the shape's number of values");
        }
        function(&values)
    }))
}
