//! Shell commands of scripts. Commands that configure a feature of the stack are applied. Commands without effect on the
//! connection are skipped. All others are refused. Nothing is ever executed.

use super::Problem;
use super::settings::{EcnUse, Settings};
use crate::spec::SpuriousResponse;
use crate::tcp::detection::DetectionSpec;
use crate::units::Duration;

/// The settings of the scripts' common preparation.
const DEFAULTS: &str = "sysctl -q net.ipv4.tcp_timestamps=1 net.ipv4.tcp_frto=2 net.ipv4.tcp_sack=1 net.ipv4.tcp_dsack=1 \
    net.ipv4.tcp_reordering=3 net.ipv4.tcp_congestion_control=cubic net.ipv4.tcp_slow_start_after_idle=0 \
    net.ipv4.tcp_early_retrans=4 net.ipv4.tcp_recovery=1 net.ipv4.tcp_ecn=0 net.ipv4.tcp_rmem=4096:540000:15728640";

/// Kernel settings that have nothing to act on here: buffers, retry limits, offload, fast open, filters.
const WITHOUT_EFFECT: [&str; 27] = [
    "tcp_wmem",
    "tcp_syn_retries",
    "tcp_synack_retries",
    "tcp_fack",
    "tcp_tso_win_divisor",
    "tcp_min_tso_segs",
    "tcp_pacing_ss_ratio",
    "tcp_pacing_ca_ratio",
    "tcp_notsent_lowat",
    "tcp_fastopen",
    "tcp_fastopen_key",
    "tcp_syncookies",
    "tcp_autocorking",
    "tcp_limit_output_bytes",
    "tcp_no_metrics_save",
    "tcp_retries1",
    "tcp_retries2",
    "tcp_moderate_rcvbuf",
    "tcp_fastopen_blackhole_timeout_sec",
    "tcp_fastopen_cookies",
    "tcp_ecn_option",
    "tcp_tso_rtt_log",
    "tcp_rto_max_ms",
    "tcp_challenge_ack_limit",
    "tcp_invalid_ratelimit",
    "tcp_comp_sack_nr",
    "tcp_shrink_window",
];

/// Applies a command.
///
/// # Errors
/// Names a command or a setting that is not supported.
pub fn apply(command: &str, line: u32, settings: &mut Settings) -> Result<(), Problem> {
    for text in command.replace("\\\n", " ").split(['\n', ';']) {
        let text = text.split('#').next().unwrap_or("").trim();
        let words: Vec<String> = words(text);
        let words: Vec<&str> = words.iter().map(String::as_str).collect();
        one(text, &words, settings).map_err(|what| Problem::refused(line, what))?;
    }
    Ok(())
}

/// Splits at blanks outside quotes; redirections are left out.
fn words(text: &str) -> Vec<String> {
    let (mut words, mut word, mut quote) = (Vec::new(), String::new(), None);
    for character in text.chars() {
        match quote {
            Some(closing) if character == closing => quote = None,
            Some(_) => word.push(if character.is_whitespace() { ':' } else { character }),
            None if character == '"' || character == '\'' => quote = Some(character),
            None if character.is_whitespace() => words.push(std::mem::take(&mut word)),
            None => word.push(character),
        }
    }
    words.push(word);
    let mut kept = Vec::new();
    let mut is_target = false;
    for word in words.into_iter().filter(|word| !word.is_empty()) {
        let redirects = word.trim_start_matches(['1', '2', '&']).starts_with('>');
        if !is_target && !redirects {
            kept.push(word);
        } else {
            is_target = redirects && word.ends_with('>');
        }
    }
    kept
}

fn one(text: &str, words: &[&str], settings: &mut Settings) -> Result<(), String> {
    let Some((command, arguments)) = words.split_first() else { return Ok(()) };
    let program = command.rsplit('/').next().unwrap_or(command);
    match program {
        "defaults.sh" => {
            let defaults: Vec<&str> = DEFAULTS.split_whitespace().skip(1).collect();
            sysctl(&defaults, settings)
        }
        "sysctl" | "set_sysctls.py" => sysctl(arguments, settings),
        "tc" => queue(text, arguments, settings),
        "ip" => route(text, arguments, settings),
        "echo" => echo(text, settings),
        // Commands that restore the machine, or only read its state.
        "ethtool" | "nstat" => Ok(()),
        _ if program.starts_with("sysctl_restore") => Ok(()),
        _ => Err(format!("the shell command {text}")),
    }
}

fn echo(text: &str, settings: &mut Settings) -> Result<(), String> {
    let target = text.rsplit('>').next().unwrap_or("").trim();
    let value = text.trim_start_matches("echo").split('>').next().unwrap_or("").trim().trim_matches(['"', '\'']);
    match target.strip_prefix("/proc/sys/") {
        Some(key) => sysctl(&[&format!("{key}={value}")], settings),
        None if target.ends_with("/hystart_detect") && value == "3" => Ok(()),
        None => Err(format!("the shell command {text}")),
    }
}

fn queue(text: &str, arguments: &[&str], settings: &mut Settings) -> Result<(), String> {
    match arguments {
        ["qdisc", "add" | "replace", "dev", _, "root", "pfifo"] => settings.stack.pacing = false,
        ["qdisc", "add" | "replace", "dev", _, "root", "fq"] => settings.stack.pacing = true,
        _ => return Err(format!("the shell command {text}: there is no queue")),
    }
    Ok(())
}

fn route(text: &str, arguments: &[&str], settings: &mut Settings) -> Result<(), String> {
    match arguments {
        ["tcp_metrics", "flush", ..] => return Ok(()),
        ["-6", "route", ..] => return Ok(()), // beside the same for IPv4
        ["route", "change" | "replace", ..] => {}
        _ => return Err(format!("the shell command {text}")),
    }
    let mut rest = arguments[2..].iter();
    while let Some(word) = rest.next() {
        let mut number = || {
            let value = rest.next().filter(|value| **value != "lock").or_else(|| rest.next());
            value.and_then(|value| value.parse::<u32>().ok()).filter(|value| (1..=65_535).contains(value))
        };
        match *word {
            "via" | "dev" | "proto" | "scope" | "src" => _ = rest.next(),
            "initcwnd" => settings.stack.initial_window = number().ok_or("initcwnd needs a number from 1 to 65535")?,
            "advmss" => settings.mss = number().ok_or("advmss needs a number from 1 to 65535")?,
            "mtu" => {
                let mtu = number().ok_or("mtu needs a number from 1 to 65535")?;
                settings.mss = settings.mss.min(mtu.saturating_sub(40).max(1));
            }
            "rto_min" => return Err("rto_min of a route".to_string()),
            address if address.starts_with(|first: char| first.is_ascii_digit()) || address == "default" => {}
            other => return Err(format!("{other} in the shell command {text}")),
        }
    }
    Ok(())
}

fn sysctl(arguments: &[&str], settings: &mut Settings) -> Result<(), String> {
    for argument in arguments {
        if argument.starts_with('-') {
            continue;
        }
        let Some((key, value)) = argument.split_once('=') else {
            return Err(format!("sysctl {argument}: has no value"));
        };
        let key = key.trim_start_matches("/proc/sys/").replace('/', ".");
        let Some(name) = key.strip_prefix("net.ipv4.") else { return Err(format!("sysctl {key}")) };
        set(name, value, settings)?;
    }
    Ok(())
}

fn set(name: &str, value: &str, settings: &mut Settings) -> Result<(), String> {
    let bad = || format!("sysctl {name}={value}: not a value that is understood");
    let number = || -> Result<i64, String> {
        let hexadecimal = value.strip_prefix("0x").map(|digits| i64::from_str_radix(digits, 16));
        hexadecimal.unwrap_or_else(|| value.parse()).map_err(|_| bad())
    };
    let is_on = || number().map(|value| value != 0);
    match name {
        "tcp_congestion_control" => settings.set_congestion(value)?,
        "tcp_sack" => settings.stack.sack = is_on()?,
        "tcp_dsack" if !is_on()? => {
            return Err("sysctl tcp_dsack=0: a receiver with SACK reports duplicates".to_string());
        }
        "tcp_dsack" => {}
        "tcp_frto" => settings.stack.f_rto = is_on()?,
        "tcp_slow_start_after_idle" => settings.stack.restart_after_idle = is_on()?,
        "tcp_timestamps" => {
            settings.timestamps = is_on()?;
            if settings.stack.spurious != SpuriousResponse::None {
                settings.stack.spurious =
                    if settings.timestamps { SpuriousResponse::Eifel } else { SpuriousResponse::Dsack };
            }
        }
        "tcp_ecn" => {
            settings.ecn = match number()? {
                0 => EcnUse::Off,
                1 => EcnUse::On,
                2 => EcnUse::IfAsked,
                _ => return Err(format!("sysctl tcp_ecn={value}: accurate ECN (RFC 9768)")),
            }
        }
        "tcp_recovery" => {
            let features = number()?;
            if features & !1 != 0 {
                return Err(format!("sysctl tcp_recovery={value}: there are only 0 and 1"));
            }
            settings.set_rack(features == 1);
        }
        "tcp_early_retrans" => {
            let probes = number()?;
            if let DetectionSpec::RackTlp(parameters) = &mut settings.stack.detection {
                parameters.probe = probes >= 3;
            }
        }
        "tcp_reordering" => {
            let threshold = u32::try_from(number()?).ok().filter(|value| *value > 0).ok_or_else(bad)?;
            match &mut settings.stack.detection {
                DetectionSpec::RackTlp(parameters) => parameters.threshold = threshold,
                DetectionSpec::DupAck(parameters) => parameters.threshold = threshold,
                _ => return Err(bad()),
            }
        }
        "tcp_rto_min_us" => {
            let least = u64::try_from(number()?).ok().filter(|least| *least > 0).ok_or_else(bad)?;
            settings.stack.min_rto = Duration::from_micros(least.min(60_000_000));
            settings.stack.rto_granularity = settings.stack.min_rto;
        }
        "tcp_window_scaling" if is_on()? => {}
        "tcp_mtu_probing" if !is_on()? => {}
        "tcp_rmem" => {
            let most: u64 = value.rsplit([':', '\t', ' ']).next().and_then(|last| last.parse().ok()).ok_or_else(bad)?;
            settings.window_scale = (0..14).find(|scale| most >> scale <= 65_535).unwrap_or(14);
        }
        name if WITHOUT_EFFECT.contains(&name) => {}
        other => return Err(format!("sysctl {other}={value}")),
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::super::parser::parse;
    use super::super::settings::Preset;
    use super::*;
    use crate::tcp::congestion::{CongestionSpec, choice::ControlSpec};

    fn applied(command: &str) -> Result<Settings, Problem> {
        let mut settings = Settings::of(&parse("").unwrap(), Preset::Linux)?;
        apply(command, 7, &mut settings).map(|()| settings)
    }

    #[test]
    fn sysctls_that_the_stack_has_are_set() {
        let settings = applied(
            "../common/defaults.sh\nsysctl -q net.ipv4.tcp_sack=0 net.ipv4.tcp_recovery=0 # why not\n\
             ../common/set_sysctls.py /proc/sys/net/ipv4/tcp_slow_start_after_idle=1 \\\n /proc/sys/net/ipv4/tcp_ecn=2",
        );
        let settings = settings.unwrap();
        assert!(!settings.stack.sack && settings.stack.restart_after_idle && settings.timestamps);
        assert_eq!((settings.ecn, settings.stack.detection.name()), (EcnUse::IfAsked, "dup-ack"));
        assert!(matches!(settings.stack.congestion, ControlSpec::Named(CongestionSpec::LinuxCubic(_))));
        assert_eq!(settings.window_scale, 8); // 15 MiB >> 8 fits in 16 bits
    }

    #[test]
    fn routes_set_the_initial_window_and_the_segment_size() {
        let settings =
            applied("ip route change 192.0.2.1 via 192.168.0.2 dev tun0 advmss 600 mtu lock 640 initcwnd 11");
        let settings = settings.unwrap();
        assert_eq!((settings.mss, settings.stack.initial_window), (600, 11));
    }

    #[test]
    fn what_cannot_matter_is_passed_over() {
        for command in [
            "sysctl -q net.ipv4.tcp_wmem=\"4096 50000 4194304\"",
            "ip tcp_metrics flush all > /dev/null 2>&1",
            "/tmp/sysctl_restore_${PPID}.sh",
            "tc qdisc add dev tun0 root pfifo",
            "",
        ] {
            assert_eq!(applied(command), applied("true > x").or_else(|_| applied("")), "{command}");
        }
    }

    #[test]
    fn everything_else_is_refused_by_name() {
        for (command, name) in [
            ("rm -rf /", "rm -rf /"),
            ("sysctl -q net.ipv4.tcp_mtu_probing=2", "tcp_mtu_probing=2"),
            ("sysctl -q net.core.rmem_max=1", "net.core.rmem_max"),
            ("sysctl -q net.ipv4.tcp_rto_min_us=0", "tcp_rto_min_us=0"),
            ("tc qdisc replace dev tun0 root pfifo limit 0", "there is no queue"),
            ("sysctl -q net.ipv4.tcp_congestion_control=nonesuch", "nonesuch"),
        ] {
            let refused = applied(command).expect_err(command);
            assert!(refused.refused && refused.to_string().contains(name), "{refused}");
            assert_eq!(refused.line, 7);
        }
    }
}
