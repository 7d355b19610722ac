//! The settings of a script's run: the stack, and its environment. They come from a preset, then the script's comments, options
//! and shell commands, in this order.

use super::script::{Script, Setting};
use super::{Problem, presets};
use crate::spec::{Follows, StackSpec};
use crate::tcp::detection::DetectionSpec;
use crate::units::Duration;
use serde_json::json;

/// The least segment size, bytes, whatever the peer announces (Linux's `tcp_min_snd_mss`).
pub const LEAST_MSS: u32 = 48;

/// How ECN is negotiated (Linux's `tcp_ecn`).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum EcnUse {
    /// Never.
    Off,
    /// Requested and accepted.
    On,
    /// Accepted if the peer requests it.
    IfAsked,
}

/// Everything that a script may choose.
#[derive(Debug, Clone, PartialEq)]
pub struct Settings {
    /// The stack. For the connection, options that the peer does not offer are removed from it.
    pub stack: StackSpec,
    /// The segment size that our SYN announces, bytes.
    pub mss: u32,
    /// The size of the segments that one arriving packet may join (generic receive offload), bytes; `None` if each packet is one
    /// segment.
    pub joined_mss: Option<u32>,
    /// The window scale that our SYN announces.
    pub window_scale: u32,
    /// Whether our SYN offers timestamps.
    pub timestamps: bool,
    /// ECN.
    pub ecn: EcnUse,
    /// How far a time may be off.
    pub tolerance: Duration,
    /// The tolerance as a share of the time since the previous event.
    pub tolerance_share: f64,
}

/// The name of a stack to run against.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Preset {
    /// As Linux does it.
    Linux,
    /// As the RFCs have it.
    Rfc,
}

impl Preset {
    /// All, by name.
    pub const NAMES: [(&'static str, Preset); 2] = [("linux", Preset::Linux), ("rfc", Preset::Rfc)];

    /// The preset of this name.
    ///
    /// # Errors
    /// Says which names there are.
    pub fn of(name: &str) -> Result<Preset, String> {
        let found = Preset::NAMES.iter().find(|(known, _)| *known == name);
        found.map(|(_, preset)| *preset).ok_or_else(|| {
            let names: Vec<&str> = Preset::NAMES.iter().map(|(name, _)| *name).collect();
            format!("stack {name}: must be one of {}", names.join(", "))
        })
    }

    fn settings(self) -> Settings {
        Settings {
            stack: match self {
                Preset::Linux => presets::linux(),
                Preset::Rfc => presets::rfc(),
            },
            mss: 1460,
            joined_mss: None,
            window_scale: 8,
            timestamps: false,
            ecn: EcnUse::Off,
            // The same tolerance as that of packetdrill's interpreter.
            tolerance: Duration::from_micros(4000),
            tolerance_share: 0.125,
        }
    }
}

impl Settings {
    /// The settings of a script, run against `preset` unless its comments name another.
    ///
    /// # Errors
    /// A name or a value that means nothing here.
    pub fn of(script: &Script, preset: Preset) -> Result<Settings, Problem> {
        let mut settings = preset.settings();
        for setting in &script.settings {
            settings.set(setting)?;
        }
        for option in &script.options {
            settings.set_option(option)?;
        }
        Ok(settings)
    }

    /// A `// anabranch:` setting: `stack=` or a key of a scenario's stack, with its value or an algorithm's name.
    fn set(&mut self, setting: &Setting) -> Result<(), Problem> {
        let problem = |text: String| Problem::syntax(setting.line, text);
        if setting.name == "stack" {
            *self = Preset::of(&setting.value).map_err(problem)?.settings();
            return Ok(());
        }
        let mut stack = serde_json::to_value(&self.stack).expect("a stack is plain data");
        let (key, parameter) = setting.name.split_once('.').unwrap_or((&setting.name, ""));
        let Some(place) = stack.get_mut(key) else {
            return Err(problem(format!("{key}: not a key of a stack")));
        };
        let value = serde_json::from_str(&setting.value).unwrap_or_else(|_| json!(setting.value));
        if !parameter.is_empty() {
            let Some(place) = place.get_mut(parameter) else {
                return Err(problem(format!("{}: {key} has no such parameter", setting.name)));
            };
            *place = value;
        } else if place.is_object() {
            *place = json!({ "name": value });
        } else {
            *place = value;
        }
        self.stack = serde_json::from_value(stack)
            .map_err(|error| problem(format!("{}={}: {error}", setting.name, setting.value)))?;
        Ok(())
    }

    fn set_option(&mut self, option: &Setting) -> Result<(), Problem> {
        let number = |least: u32, most: u32| -> Result<u32, Problem> {
            option.value.parse().ok().filter(|number| (least..=most).contains(number)).ok_or_else(|| {
                let text = format!("--{}={}: must be a whole number from {least} to {most}", option.name, option.value);
                Problem::syntax(option.line, text)
            })
        };
        match option.name.as_str() {
            "tolerance_usecs" => self.tolerance = Duration::from_micros(number(1, 60_000_000)?.into()),
            "tolerance_percent" => {
                self.tolerance_share = option.value.parse::<f64>().unwrap_or(f64::NAN) / 100.0;
                if !(0.0..=1.0).contains(&self.tolerance_share) {
                    let text = format!("--tolerance_percent={}: must be from 0 to 100", option.value);
                    return Err(Problem::syntax(option.line, text));
                }
            }
            "mss" => self.joined_mss = Some(number(LEAST_MSS, 65_495)?),
            "mtu" => self.mss = number(LEAST_MSS + 40, 65_535)? - 40,
            // These options concern the address of the tested machine and the form of reports, not the connection.
            "ip_version" | "bind_port" | "connect_port" | "remote_ip" | "local_ip" | "gateway_ip" | "netmask_ip"
            | "speed" | "tcp_ts_tick_usecs" | "code_command" | "code_format" | "code_sockopt" | "verbose" | "debug" => {
            }
            other => return Err(Problem::refused(option.line, format!("the option --{other}"))),
        }
        Ok(())
    }

    /// Takes an algorithm by its name in scenarios.
    ///
    /// # Errors
    /// If there is none of this name.
    pub fn set_congestion(&mut self, name: &str) -> Result<(), String> {
        let linux = format!("linux-{name}");
        let is_linux = self.stack.follows == Follows::Linux;
        let names = [if is_linux { linux.as_str() } else { "" }, name, if name == "reno" { "newreno" } else { "" }];
        let known = names.iter().find_map(|name| serde_json::from_value(json!({ "name": name })).ok());
        self.stack.congestion = known.ok_or_else(|| format!("the congestion control {name}"))?;
        Ok(())
    }

    /// Loss detection by RACK, or without it by duplicate ACKs.
    pub fn set_rack(&mut self, on: bool) {
        match (&self.stack.detection, on) {
            (DetectionSpec::RackTlp(_), false) => self.stack.detection = DetectionSpec::DupAck(Default::default()),
            (DetectionSpec::DupAck(_), true) => self.stack.detection = DetectionSpec::RackTlp(Default::default()),
            _ => {}
        }
    }
}
