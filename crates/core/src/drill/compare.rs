//! Compares the segments that were sent with the segments that a script expects.

use super::wire::{Ecn, Flags, Segment, TcpOption};

/// Whether the sent segment may be the first part of the expected segment.
pub fn is_part(sent: &Segment, expected: &Segment) -> bool {
    sent.seq == expected.seq && sent.length > 0 && sent.length < expected.length
}

/// Two segments in succession as one: the header is that of the last, except the sequence number and CWR (packetdrill,
/// `aggregate_packets`).
pub fn join(first: &Segment, next: Segment) -> Segment {
    // Not in succession: the comparison says so.
    let length = if next.seq == first.end() { first.length + next.length } else { u32::MAX };
    Segment { seq: first.seq, length, flags: Flags { cwr: first.flags.cwr, ..next.flags }, ..next }
}

/// Whether a sent segment is the expected one.
///
/// # Errors
/// The first difference.
pub fn compare(expected: &Segment, sent: &Segment) -> Result<(), String> {
    let (wanted, got) = (expected.flags, sent.flags);
    let flags = [
        ("SYN", wanted.syn, got.syn),
        ("FIN", wanted.fin, got.fin),
        ("RST", wanted.rst, got.rst),
        ("ACK", wanted.ack, got.ack),
        ("ECE", wanted.ece, got.ece),
        ("CWR", wanted.cwr, got.cwr),
    ];
    if (sent.seq, sent.length) != (expected.seq, expected.length) {
        return Err("another segment was sent".to_string());
    }
    if let Some((name, wanted, _)) = flags.iter().find(|(_, wanted, got)| wanted != got) {
        return Err(format!("the flag {name} is {}", if *wanted { "missing" } else { "set" }));
    }
    if sent.ack != expected.ack {
        return Err("another acknowledgement was sent".to_string());
    }
    if let Some(wanted) = expected.ecn {
        let got = sent.ecn.unwrap_or(Ecn::NotCapable);
        let capable = matches!(got, Ecn::Capable0 | Ecn::Capable1);
        if got != wanted && !(wanted == Ecn::Capable && capable) {
            return Err("another ECN field was sent".to_string());
        }
    }
    compare_options(expected, sent)
}

fn compare_options(expected: &Segment, sent: &Segment) -> Result<(), String> {
    if expected.options.is_none() {
        return Ok(());
    }
    let sorted = |segment: &Segment| {
        let mut options: Vec<TcpOption> = segment.meaningful_options().into_iter().cloned().collect();
        options.sort_by_key(TcpOption::rank);
        options
    };
    let (wanted, got) = (sorted(expected), sorted(sent));
    let agree = |wanted: &TcpOption, got: &TcpOption| match (wanted, got) {
        // The two clocks differ, so only the echoed timestamps are compared.
        (TcpOption::Timestamp { echo: wanted, .. }, TcpOption::Timestamp { echo: got, .. }) => wanted == got,
        _ => wanted == got,
    };
    if wanted.len() == got.len() && wanted.iter().zip(&got).all(|(wanted, got)| agree(wanted, got)) {
        return Ok(());
    }
    Err("other options were sent".to_string())
}
