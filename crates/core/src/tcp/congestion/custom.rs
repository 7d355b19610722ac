//! A congestion control that the caller of the core provides, such as a class in Python.

use super::FlowContext;
use super::Snapshot;
use super::supervision::Supervision;
use serde::{Deserialize, Serialize};
use std::sync::Arc;

/// Makes the control of each flow of a stack. Problems of a control go to the supervision.
pub trait ControlFactory: Send + Sync {
    /// The state machine of one flow.
    fn build(&self, flow: FlowContext, supervision: &Supervision) -> Box<dyn Snapshot>;
}

/// The text of a control, and the factory that the caller made from it.
#[derive(Clone, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct CustomSpec {
    /// The program's text in the caller's language.
    pub python: String,
    /// The name of the class within the text.
    pub class: String,
    /// The name of the text's file, for messages.
    #[serde(default)]
    pub file: String,
    #[serde(skip)]
    factory: Option<Arc<dyn ControlFactory>>,
    #[serde(skip)]
    supervision: Supervision,
}

impl CustomSpec {
    /// Sets the factory that builds its controls.
    pub fn provide(&mut self, factory: Arc<dyn ControlFactory>) {
        self.factory = Some(factory);
    }

    /// Refuses a control without a factory.
    ///
    /// # Errors
    /// Says that only the package for Python runs it.
    pub fn check(&self) -> Result<(), String> {
        match self.factory {
            Some(_) => Ok(()),
            None => Err(format!("the class {} runs only in the package for Python", self.class)),
        }
    }

    /// The control of one flow. The caller must have [provided](Self::provide) its factory.
    pub fn build(&self, flow: FlowContext) -> Box<dyn Snapshot> {
        self.factory.as_ref().expect("checked before the run").build(flow, &self.supervision)
    }

    /// The state that its flows share.
    pub fn supervision(&self) -> &Supervision {
        &self.supervision
    }
}

impl PartialEq for CustomSpec {
    fn eq(&self, other: &CustomSpec) -> bool {
        (&self.python, &self.class) == (&other.python, &other.class)
    }
}

impl std::fmt::Debug for CustomSpec {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter.debug_struct("CustomSpec").field("class", &self.class).finish_non_exhaustive()
    }
}
