//! Our own scripts, each of which names the section that it shows. Also a test that no text makes the interpreter panic.

use crate::drill::report::Report;
use crate::drill::settings::Preset;
use crate::drill::{Problem, run};
use proptest::prelude::*;
use std::path::PathBuf;

fn scripts() -> Vec<(PathBuf, String)> {
    let directory = concat!(env!("CARGO_MANIFEST_DIR"), "/../../tests/drill");
    let entries = std::fs::read_dir(directory).expect("the directory of scripts");
    let mut paths: Vec<PathBuf> = entries.map(|entry| entry.expect("an entry").path()).collect();
    paths.sort();
    let text = |path: &PathBuf| std::fs::read_to_string(path).expect("a script");
    paths.into_iter().map(|path| (path.clone(), text(&path))).collect()
}

fn verdict(text: &str) -> Result<Report, Problem> {
    run(text, Preset::Linux)
}

#[test]
fn every_script_of_ours_passes_and_names_its_section() {
    let scripts = scripts();
    assert!(scripts.len() >= 14, "only {} scripts", scripts.len());
    for (path, text) in scripts {
        let header: String = text.lines().take_while(|line| line.starts_with("//")).collect();
        assert!(header.contains("RFC ") && header.contains("section"), "{}: names no section", path.display());
        let report = verdict(&text).unwrap_or_else(|problem| panic!("{}: {problem}", path.display()));
        assert_eq!(report.failure, None, "{}", path.display());
    }
}

const BEGIN: &str = "0 socket(..., SOCK_STREAM, IPPROTO_TCP) = 3\n+0 bind(3, ..., ...) = 0\n+0 listen(3, 1) = 0\n\
    +0 < S 0:0(0) win 32792 <mss 1000,sackOK,nop,nop,nop,wscale 7>\n+0 > S. 0:0(0) ack 1 <...>\n\
    +.1 < . 1:1(0) ack 1 win 500\n+0 accept(3, ..., ...) = 4\n";

fn failure(lines: &str) -> (u32, String) {
    let failure = verdict(&format!("{BEGIN}{lines}")).expect("it runs").failure.expect("it fails");
    (failure.line, failure.text)
}

#[test]
fn a_wrong_expectation_is_shown_with_what_was_sent() {
    let (line, text) =
        failure("+0 write(4, ..., 1500) = 1500\n+0 > . 1:1001(1000) ack 1\n+0 > . 1001:1501(500) ack 2\n");
    assert_eq!(line, 10);
    assert!(
        text.starts_with("another acknowledgement was sent\n  expected > . 1001:1501(500) ack 2 at 0.100000 s"),
        "{text}"
    );
    assert!(text.ends_with("got      > . 1001:1501(500) ack 1 at 0.100000 s"), "{text}");
}

#[test]
fn a_wrong_time_says_by_how_much() {
    let (_, text) = failure("+0 write(4, ..., 1000) = 1000\n+0 > . 1:1001(1000) ack 1\n+.1 > . 1:1001(1000) ack 1\n");
    // The tail loss probe of a lone segment: 2 SRTT + 200 ms after it was sent, and at most RTO = 300 ms (RFC 8985 section 7.2). That
    // is tick 400 of 1000 Hz. A timer of 300 ticks fires at the next multiple of eight, tick 408.
    assert!(text.starts_with("nothing was sent"), "{text}");
    let (_, text) = failure("+0 write(4, ..., 1000) = 1000\n+0 > . 1:1001(1000) ack 1\n+.4 > . 1:1001(1000) ack 1\n");
    assert!(text.starts_with("0.092000 s too early, with a tolerance of 0.050000 s"), "{text}");
}

#[test]
fn a_wrong_assertion_and_a_wrong_result_say_what_was_found() {
    assert_eq!(failure("+0 %{ assert tcpi_snd_cwnd == 11 }%\n").1, "assert tcpi_snd_cwnd == 11 (tcpi_snd_cwnd = 10)");
    assert_eq!(failure("+0 read(4, ..., 10) = 0\n").1, "read() would wait: there is nothing for it yet");
    let nonblocking = "+0 fcntl(4, F_SETFL, O_RDWR|O_NONBLOCK) = 0\n+0 read(4, ..., 10) = 0\n";
    assert_eq!(failure(nonblocking).1, "read() returned -1 EAGAIN, not 0");
}

#[test]
fn the_first_difference_stops_a_script_and_what_was_sent_besides_is_listed() {
    let text = format!("{BEGIN}+0 write(4, ..., 3000) = 3000\n+0 > . 1:501(500) ack 1\n");
    let report = verdict(&text).expect("it runs");
    let unexpected: Vec<&str> =
        report.rows.iter().filter(|row| row.expected.is_none()).filter_map(|row| row.sent.as_deref()).collect();
    assert_eq!(unexpected, [". 1001:2001(1000) ack 1", ". 2001:3001(1000) ack 1"]);
}

/// A script with some of its lines changed, left out, doubled or replaced by rubbish.
fn mangled() -> impl Strategy<Value = String> {
    let scripts = scripts();
    let changes = prop::collection::vec(
        (any::<prop::sample::Index>(), 0u32..6, "[-+*~.:<>(){}%`a-zA-Z0-9 ,=|\"\\[\\]]{0,12}"),
        1..6,
    );
    (any::<prop::sample::Index>(), changes).prop_map(move |(which, changes)| {
        let mut lines: Vec<String> = which.get(&scripts).1.lines().map(str::to_string).collect();
        for (place, change, rubbish) in changes {
            let place = place.index(lines.len());
            match change {
                0 => _ = lines.remove(place),
                1 => lines.insert(place, lines[place].clone()),
                2 => lines.insert(place, rubbish),
                3 => lines[place] = lines[place].chars().rev().collect(),
                4 => lines[place].push_str(&rubbish),
                _ => {
                    // Another number for each digit of one kind.
                    let digit = char::from_digit(rubbish.len() as u32 % 10, 10).unwrap_or('0');
                    lines[place] = lines[place].replace(digit, &rubbish.len().to_string());
                }
            }
            if lines.is_empty() {
                break;
            }
        }
        lines.join("\n")
    })
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(400))]

    /// Any text passes, fails or is refused as a script, and the report names a line that the script has.
    #[test]
    fn a_mangled_script_never_panics(text in mangled()) {
        let lines = text.lines().count().max(1) as u32;
        match verdict(&text) {
            Ok(report) => prop_assert!(report.failure.is_none_or(|failure| (1..=lines).contains(&failure.line))),
            Err(problem) => prop_assert!((1..=lines).contains(&problem.line), "{}", problem),
        }
    }

    #[test]
    fn arbitrary_text_never_panics(text in "\\PC{0,200}") {
        let _ = verdict(&text);
    }
}
