//! The settings of a script's run: the stack, and its environment. They come from a preset, then the script's comments, options
//! and shell commands, in this order.

use super::script::{Script, Setting};
use super::{Problem, presets};
use crate::packet::check_stack;
use crate::parameters::ParameterInfo;
use crate::spec::{Follows, StackSettings, StackSpec};
use crate::tcp::ack::AckSpec;
use crate::tcp::congestion::CongestionSpec;
use crate::tcp::congestion::slow_start::SlowStartSpec;
use crate::tcp::detection::DetectionSpec;
use crate::units::Duration;
use serde_json::{Value as Json, json};

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

/// Keys of a stack that a script decides otherwise.
const WITHOUT_EFFECT: [(&str, &str); 5] = [
    ("mss", "--mtu changes the segment size"),
    ("ecn", "sysctl net.ipv4.tcp_ecn does it"),
    ("receive_window", "the window is that of arriving segments"),
    ("handshake", "every connection has one"),
    ("name", "stack=linux or stack=rfc chooses a stack"),
];

/// Whether a key of a stack, or a parameter of one of its algorithms, is a time.
fn is_duration(stack: &Json, key: &str, parameter: &str) -> bool {
    let is_time = |one: &ParameterInfo| one.kind.ends_with("duration");
    let algorithms = match key {
        _ if parameter.is_empty() => {
            return StackSettings::describe().iter().any(|one| one.name == key && is_time(one));
        }
        "congestion" => CongestionSpec::describe(),
        "slow_start" => SlowStartSpec::describe(),
        "detection" => DetectionSpec::describe(),
        "ack" => AckSpec::describe(),
        _ => return false,
    };
    let chosen = algorithms.into_iter().filter(|one| stack[key]["name"] == one.name);
    chosen.flat_map(|one| one.parameters).any(|one| one.name == parameter && is_time(&one))
}

/// A time with its unit.
fn duration(text: &str) -> Option<Duration> {
    let units = [("ms", 1e-3), ("us", 1e-6), ("s", 1.0)];
    let (number, unit) = units.iter().find_map(|(unit, seconds)| Some((text.strip_suffix(unit)?, seconds)))?;
    let seconds = number.trim().parse::<f64>().ok()? * unit;
    (0.0..=LONGEST).contains(&seconds).then(|| Duration::from_secs_f64(seconds))
}

/// Ticks a second of a kernel's clock.
const HZ: std::ops::RangeInclusive<u32> = 32..=1200;
/// The longest time of a setting, seconds.
const LONGEST: f64 = 36_000.0;

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
        let line = script.settings.last().map_or(1, |setting| setting.line);
        settings.check().map_err(|problem| Problem::syntax(line, problem))?;
        Ok(settings)
    }

    /// Refuses values that scenarios refuse.
    fn check(&self) -> Result<(), String> {
        let StackSettings { hz, min_rto, max_rto, initial_rto, .. } = self.stack.settings;
        if !HZ.contains(&hz) {
            return Err(format!("hz={hz}: must be from {} to {}", HZ.start(), HZ.end()));
        }
        if min_rto == Duration::ZERO || initial_rto == Duration::ZERO || min_rto > max_rto {
            return Err("min_rto and initial_rto must be more than 0, and min_rto not exceed max_rto".to_string());
        }
        check_stack(&self.stack).map_err(|error| error.to_string())
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
        if let Some((_, instead)) = WITHOUT_EFFECT.iter().find(|(name, _)| *name == key) {
            return Err(problem(format!("{key}: has no effect in a script; {instead}")));
        }
        let value = if is_duration(&stack, key, parameter) {
            let duration = duration(&setting.value);
            let wanted = || problem(format!("{}={}: must be a time, such as 300ms", setting.name, setting.value));
            json!(duration.ok_or_else(wanted)?)
        } else {
            serde_json::from_str(&setting.value).unwrap_or_else(|_| json!(setting.value))
        };
        let Some(place) = stack.get_mut(key) else {
            return Err(problem(format!("{key}: not a key of a stack")));
        };
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

#[cfg(test)]
mod tests {
    use super::super::parser::parse;
    use super::*;

    fn set(settings: &str) -> Result<Settings, String> {
        let script = parse(&format!("// anabranch: {settings}\n")).unwrap();
        Settings::of(&script, Preset::Linux).map_err(|problem| problem.to_string())
    }

    #[test]
    fn times_have_units() {
        let stack = set("min_rto=40ms max_rto=1.5s ack=delayed ack.timer=500us").unwrap().stack;
        assert_eq!((stack.min_rto, stack.max_rto), (Duration::from_millis(40), Duration::from_millis(1500)));
        assert_eq!(serde_json::to_value(stack.ack).unwrap()["timer"], json!(Duration::from_micros(500)));
        for wrong in ["min_rto=5", "min_rto=5 ms", "min_rto=-1ms", "ack=delayed ack.timer=40"] {
            assert!(set(wrong).unwrap_err().contains("must be a time, such as 300ms"), "{wrong}");
        }
    }

    /// As the engine refuses them in scenarios.
    #[test]
    fn values_out_of_range_are_refused() {
        for (wrong, text) in [
            ("congestion=cubic congestion.beta=5", "beta"),
            ("detection.threshold=0", "threshold"),
            ("initial_window=0", "initial_window"),
            ("hz=0", "must be from 32 to 1200"),
            ("min_rto=2s max_rto=1s", "max_rto"),
            ("min_rto=0s", "more than 0"),
            ("initial_rto=0s", "more than 0"),
        ] {
            assert!(set(wrong).unwrap_err().contains(text), "{wrong}: {:?}", set(wrong));
        }
    }

    #[test]
    fn keys_that_a_script_decides_otherwise_are_refused() {
        for key in ["mss=1000", "ecn=true", "receive_window=9", "handshake=false", "name=x"] {
            assert!(set(key).unwrap_err().contains("has no effect in a script"), "{key}");
        }
    }
}
