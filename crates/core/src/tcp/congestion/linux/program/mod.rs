//! Congestion controls of Linux as eBPF objects: the file that Linux loads runs here unchanged.
//!
//! `anabranch-bpf` reads and executes it. This folder adds TCP. `socket` gives each field of Linux's socket its meaning here.
//! `functions` has the functions that programs call. `control` maps the sender's events to Linux's operations. `replay` compares with
//! calls that were recorded in Linux.

mod control;
mod functions;
mod replay;
mod socket;

use crate::tcp::congestion::FlowContext;
use crate::tcp::congestion::Snapshot;
use crate::tcp::congestion::supervision::Supervision;
use anabranch_bpf::{Instance, Layout, Object, Options, Program, Value};
use base64::prelude::{BASE64_STANDARD, Engine as _};
use control::ProgramControl;
use serde::{Deserialize, Serialize};
use serde_json::{Value as Json, json};
use socket::{SocketLayout, provides_field};
use std::sync::{Arc, LazyLock};

/// The structure whose variables are congestion controls.
const OPERATIONS: &str = "tcp_congestion_ops";

/// The version of Linux that the layout and the functions are of: 6.18.
const LINUX: u64 = 6 << 16 | 18 << 8;

/// `TCP_CONG_NEEDS_ECN`, a bit of `flags`: sockets with this control negotiate ECN.
const NEEDS_ECN: u64 = 2;

/// The operations that Linux requires besides one of the last two (`tcp_validate_congestion_control`).
const REQUIRED: [&str; 2] = ["ssthresh", "undo_cwnd"];
const GROWTH: [&str; 2] = ["cong_avoid", "cong_control"];

/// The fields of a rate sample that a delivery rate has.
const DELIVERY_RATE: [&str; 3] = ["prior_delivered", "delivered", "interval_us"];

/// The structures of the simulator, from `bpf/layout.bpf.c`.
static LAYOUT: LazyLock<Layout> = LazyLock::new(|| Layout::parse(include_bytes!("layout.btf")).expect("made by clang"));

/// A program as the compiled run has it.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct ProgramJson {
    /// The object's bytes, in base 64.
    program: String,
    /// The name of its congestion control; may be left out if the object has one.
    #[serde(default)]
    name: Option<String>,
    /// Ticks of the kernel's clock in a second.
    hz: u32,
}

/// A congestion control in an object for Linux.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(try_from = "ProgramJson", into = "ProgramJson")]
pub struct ProgramSpec {
    json: ProgramJson,
    loaded: Arc<Loaded>,
}

/// A program that is linked, and where its socket's fields lie.
#[derive(Debug)]
struct Loaded {
    program: Program,
    socket: SocketLayout,
    hz: u32,
    /// Parameters of `cong_control`: 2 until Linux 6.9, 4 since.
    rate_parameters: usize,
    supervision: Supervision,
}

impl PartialEq for ProgramSpec {
    fn eq(&self, other: &ProgramSpec) -> bool {
        self.json == other.json
    }
}

impl From<ProgramSpec> for ProgramJson {
    fn from(spec: ProgramSpec) -> ProgramJson {
        spec.json
    }
}

impl TryFrom<ProgramJson> for ProgramSpec {
    type Error = String;

    fn try_from(json: ProgramJson) -> Result<ProgramSpec, String> {
        let bytes = BASE64_STANDARD.decode(&json.program).map_err(|error| format!("program: {error}"))?;
        let object = Object::parse(&bytes).map_err(|error| error.to_string())?;
        let (index, instance) = chosen(&object, json.name.as_deref())?;
        let program = link(&object, index, json.hz)?;
        let rate_parameters = match instance.value("cong_control") {
            Some(Value::Program { parameters, .. }) => *parameters,
            _ => 0,
        };
        let socket = SocketLayout::new(&program);
        let loaded = Loaded { program, socket, hz: json.hz, rate_parameters, supervision: Supervision::default() };
        Ok(ProgramSpec { json, loaded: Arc::new(loaded) })
    }
}

impl ProgramSpec {
    /// The control of one flow.
    pub fn build(&self, flow: FlowContext) -> Box<dyn Snapshot> {
        Box::new(ProgramControl::new(Arc::clone(&self.loaded), flow))
    }

    /// Refuses a clock rate that no kernel has. Missing functions and fields are refused when the program uses them: [`Supervision::fault`].
    ///
    /// # Errors
    /// Names the value, and a correct value.
    pub fn check(&self) -> Result<(), String> {
        if !(24..=1200).contains(&self.json.hz) {
            return Err(format!("hz = {}: must be between 24 and 1200, such as 100, 250 or 1000", self.json.hz));
        }
        Ok(())
    }

    /// Whether the program reads the delivery rate of rate samples.
    pub fn samples_rates(&self) -> bool {
        let fields = self.loaded.program.fields();
        fields.iter().any(|used| used.structure == "rate_sample" && DELIVERY_RATE.contains(&used.path.as_str()))
    }

    /// The state that its flows share.
    pub fn supervision(&self) -> &Supervision {
        &self.loaded.supervision
    }
}

fn link(object: &Object, instance: usize, hz: u32) -> Result<Program, String> {
    let control = &object.instances()[instance];
    let has = |name: &&str| matches!(control.value(name), Some(Value::Program { .. }));
    let mut lacks: Vec<&str> = REQUIRED.into_iter().filter(|name| !has(name)).collect();
    if !GROWTH.iter().any(has) {
        lacks.push("cong_avoid or cong_control");
    }
    if !lacks.is_empty() {
        return Err(format!("{} has no {}: Linux requires it", control.name(), lacks.join(", no ")));
    }
    let options = Options {
        configuration: &[("CONFIG_HZ", hz.into()), ("LINUX_KERNEL_VERSION", LINUX)],
        provides_field: &provides_field,
        provides_function: &functions::provides,
    };
    Program::link(object, instance, &LAYOUT, &options).map_err(|error| error.to_string())
}

/// The instance of a name; without a name the only one.
fn chosen<'a>(object: &'a Object, name: Option<&str>) -> Result<(usize, &'a Instance), String> {
    let controls: Vec<_> = controls(object).collect();
    let names: Vec<&str> = controls.iter().map(|(_, control)| control.name()).collect();
    match (name, controls[..].iter().find(|(_, control)| Some(control.name()) == name), &controls[..]) {
        (_, _, []) => Err(format!("defines no variable of type {OPERATIONS} in a section .struct_ops")),
        (Some(_), Some(found), _) | (None, _, [found]) => Ok(*found),
        (Some(name), None, _) => Err(format!("has no congestion control {name}; it has {}", names.join(", "))),
        (None, _, _) => Err(format!("has several congestion controls: choose one by name, of {}", names.join(", "))),
    }
}

fn controls(object: &Object) -> impl Iterator<Item = (usize, &Instance)> {
    object.instances().iter().enumerate().filter(|(_, instance)| instance.structure == OPERATIONS)
}

/// Describes an object as JSON. The description has its licence. For each congestion control it lists operations, used fields and called
/// functions. It also lists features that the simulator lacks, and state that connections share in Linux but not here, and says whether it needs ECN.
///
/// # Errors
/// The reason why the object is not valid.
pub fn describe(bytes: &[u8]) -> Result<Json, String> {
    let object = Object::parse(bytes).map_err(|error| error.to_string())?;
    chosen(&object, controls(&object).next().map(|(_, first)| first.name()))?;
    let described = controls(&object).map(|(index, instance)| {
        let program = link(&object, index, 250)?;
        Ok(json!({
            "name": instance.name(),
            "operations": program.operations().collect::<Vec<_>>(),
            "fields": program.fields().iter().map(|used| format!("{}.{}", used.structure, used.path)).collect::<Vec<_>>(),
            "functions": program.functions(),
            "missing": program.missing(),
            "shared": program.shared().collect::<Vec<_>>(),
            "needs_ecn": matches!(instance.value("flags"), Some(Value::Number(flags)) if flags & NEEDS_ECN != 0),
        }))
    });
    let described = described.collect::<Result<Vec<_>, String>>()?;
    Ok(json!({ "licence": object.licence(), "controls": described }))
}
