//! The congestion control that a stack chooses: one of the registry, or one that comes with the scenario.

use super::custom::CustomSpec;
use super::supervision::Supervision;
use super::{CongestionSpec, FlowContext, ProgramSpec, Snapshot};
use serde::{Deserialize, Serialize};
use serde_json::Value;

/// A stack's congestion control.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(try_from = "Value", into = "Value")]
pub enum ControlSpec {
    /// One of the registry, by its `name`.
    Named(CongestionSpec),
    /// An eBPF program, by its object.
    Program(ProgramSpec),
    /// One that the caller of the core provides, by its text.
    Custom(CustomSpec),
}

impl ControlSpec {
    /// The state machine of one flow.
    pub fn build(&self, flow: FlowContext) -> Box<dyn Snapshot> {
        match self {
            ControlSpec::Named(spec) => spec.build(flow),
            ControlSpec::Program(spec) => spec.build(flow),
            ControlSpec::Custom(spec) => spec.build(flow),
        }
    }

    /// Refuses a parameter out of its range, and a Python control without a factory.
    ///
    /// # Errors
    /// Names the parameter, its value and a correct value.
    pub fn check(&self) -> Result<(), String> {
        match self {
            ControlSpec::Named(spec) => spec.check(),
            ControlSpec::Program(spec) => spec.check(),
            ControlSpec::Custom(spec) => spec.check(),
        }
    }

    /// The state that flows of a control of the scenario share; `None` for one of the registry.
    pub fn supervision(&self) -> Option<&Supervision> {
        match self {
            ControlSpec::Named(_) => None,
            ControlSpec::Program(spec) => Some(spec.supervision()),
            ControlSpec::Custom(spec) => Some(spec.supervision()),
        }
    }

    /// The fault of a flow of this stack; `None` without a fault.
    pub fn fault(&self) -> Option<String> {
        self.supervision()?.fault()
    }
}

impl From<CongestionSpec> for ControlSpec {
    fn from(spec: CongestionSpec) -> ControlSpec {
        ControlSpec::Named(spec)
    }
}

impl TryFrom<Value> for ControlSpec {
    type Error = serde_json::Error;

    fn try_from(value: Value) -> Result<ControlSpec, serde_json::Error> {
        if value.get("python").is_some() {
            serde_json::from_value(value).map(ControlSpec::Custom)
        } else if value.get("program").is_some() {
            serde_json::from_value(value).map(ControlSpec::Program)
        } else {
            serde_json::from_value(value).map(ControlSpec::Named)
        }
    }
}

impl From<ControlSpec> for Value {
    fn from(spec: ControlSpec) -> Value {
        let value = match spec {
            ControlSpec::Named(spec) => serde_json::to_value(spec),
            ControlSpec::Program(spec) => serde_json::to_value(spec),
            ControlSpec::Custom(spec) => serde_json::to_value(spec),
        };
        value.expect("a choice consists of names, numbers and texts")
    }
}
