//! Wireshark's own analysis of a capture. Needs `tshark`; without it, the test says so and passes.

use crate::packet::capture::pcapng::{
    Capture, CapturedKind, CapturedPacket, CapturedSegment, IpEcn, SynOptions, window_scale,
};
use crate::units::{Duration, Time};
use std::net::Ipv4Addr;
use std::path::{Path, PathBuf};
use std::process::Command;

const MSS: u32 = 1460;
const WINDOW: u64 = 1 << 20;
const CLIENT: (Ipv4Addr, u16) = (Ipv4Addr::new(10, 0, 0, 1), 40_000);
const SERVER: (Ipv4Addr, u16) = (Ipv4Addr::new(10, 0, 0, 2), 5001);

/// The first byte of data segment `number`, counted from 0.
fn byte(number: u32) -> u32 {
    1 + number * MSS
}

fn header(sequence: u32, acknowledgement: Option<u32>) -> CapturedSegment {
    CapturedSegment {
        syn: None,
        fin: false,
        push: false,
        ecn_echo: false,
        accurate: false,
        window_reduced: false,
        sequence,
        acknowledgement,
        window: WINDOW,
        window_scale: window_scale(WINDOW),
        sack_blocks: vec![],
    }
}

fn packet(milliseconds: u64, from_client: bool, payload_length: u32, kind: CapturedKind) -> CapturedPacket {
    let (source, destination) = if from_client { (CLIENT, SERVER) } else { (SERVER, CLIENT) };
    CapturedPacket {
        now: Time::ZERO + Duration::from_millis(milliseconds),
        source_address: source.0,
        destination_address: destination.0,
        source_port: source.1,
        destination_port: destination.1,
        ecn: if payload_length > 0 { IpEcn::Ect0 } else { IpEcn::NotEct },
        payload_length,
        kind,
    }
}

fn syn(milliseconds: u64, from_client: bool) -> CapturedPacket {
    let syn = Some(SynOptions { mss: MSS as u16, sack_permitted: true });
    let acknowledgement = (!from_client).then_some(1);
    packet(milliseconds, from_client, 0, CapturedKind::Tcp(CapturedSegment { syn, ..header(0, acknowledgement) }))
}

fn data(milliseconds: u64, number: u32) -> CapturedPacket {
    packet(milliseconds, true, MSS, CapturedKind::Tcp(header(byte(number), Some(1))))
}

fn ack(milliseconds: u64, next: u32, sacked: Option<(u32, u32)>) -> CapturedPacket {
    let sack_blocks = sacked.map(|(first, end)| (byte(first), byte(end))).into_iter().collect();
    packet(milliseconds, false, 0, CapturedKind::Tcp(CapturedSegment { sack_blocks, ..header(1, Some(byte(next))) }))
}

/// A connection that loses its second segment behind the capture, learns it by SACK and sends it again; a datagram.
fn connection() -> Vec<CapturedPacket> {
    let mut packets = vec![syn(0, true), syn(10, false), packet(10, true, 0, CapturedKind::Tcp(header(1, Some(1))))];
    packets.extend((0..5).map(|number| data(11 + u64::from(number), number)));
    packets.push(ack(31, 1, None));
    packets.extend((2..5).map(|number| ack(31 + u64::from(number), 1, Some((2, number + 1)))));
    packets.push(data(36, 1));
    packets.push(ack(56, 5, None));
    packets.push(packet(57, true, 500, CapturedKind::Udp));
    packets
}

fn tshark(file: &Path, fields: &[&str]) -> Option<Vec<Vec<String>>> {
    let mut command = Command::new("tshark");
    command.arg("-r").arg(file).args(["-n", "-o", "tcp.check_checksum:TRUE", "-o", "ip.check_checksum:TRUE"]);
    command.args(["-T", "fields"]).args(fields.iter().flat_map(|field| ["-e", *field]));
    let output = match command.output() {
        Ok(output) => output,
        Err(problem) if problem.kind() == std::io::ErrorKind::NotFound => return None,
        Err(problem) => panic!("tshark: {problem}"),
    };
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let text = String::from_utf8(output.stdout).unwrap();
    Some(text.lines().map(|line| line.split('\t').map(str::to_owned).collect()).collect())
}

fn capture_file() -> PathBuf {
    let mut capture = Capture::new("client-server");
    let mut bytes = Vec::new();
    for packet in connection() {
        capture.record(&packet);
        bytes.extend(capture.take());
    }
    let path = std::env::temp_dir().join(format!("anabranch-capture-{}.pcapng", std::process::id()));
    std::fs::write(&path, bytes).unwrap();
    path
}

#[test]
fn tshark_reads_the_connection_and_recognises_the_retransmission() {
    let fields = [
        "frame.time_epoch",
        "frame.len",
        "tcp.seq_raw",
        "tcp.ack_raw",
        "tcp.len",
        "tcp.options.sack_le",
        "tcp.options.sack_re",
        "tcp.window_size",
        "tcp.analysis.retransmission",
        "tcp.analysis.lost_segment",
        "_ws.malformed",
        "ip.checksum.status",
        "ip.dsfield.ecn",
        "udp.length",
        "tcp.options.mss_val",
        "tcp.options.sack_perm",
        "frame.interface_name",
    ];
    let file = capture_file();
    let rows = tshark(&file, &fields);
    std::fs::remove_file(file).unwrap();
    let Some(rows) = rows else {
        eprintln!("skipped: tshark is not installed (Debian package tshark)");
        return;
    };
    let column = |field: &str| -> Vec<&str> {
        let index = fields.iter().position(|name| *name == field).unwrap();
        rows.iter().map(|row| row[index].as_str()).collect()
    };
    let packets = connection();
    let of_tcp = |value: &dyn Fn(&CapturedPacket, &CapturedSegment) -> String| -> Vec<String> {
        let value = |packet: &CapturedPacket| match &packet.kind {
            CapturedKind::Tcp(segment) => value(packet, segment),
            CapturedKind::Udp => String::new(),
        };
        packets.iter().map(value).collect()
    };
    let edge = |edge: Option<u32>| edge.map_or(String::new(), |edge| edge.to_string());
    assert_eq!(column("tcp.seq_raw"), of_tcp(&|_, segment| segment.sequence.to_string()));
    assert_eq!(column("tcp.ack_raw"), of_tcp(&|_, segment| segment.acknowledgement.unwrap_or(0).to_string()));
    assert_eq!(column("tcp.len"), of_tcp(&|packet, _| packet.payload_length.to_string()));
    assert_eq!(
        column("tcp.options.sack_le"),
        of_tcp(&|_, segment| edge(segment.sack_blocks.first().map(|block| block.0)))
    );
    assert_eq!(
        column("tcp.options.sack_re"),
        of_tcp(&|_, segment| edge(segment.sack_blocks.first().map(|block| block.1)))
    );
    assert_eq!(column("tcp.options.sack_re")[11], byte(5).to_string());
    // Packet 12 of the script is the only retransmitted segment.
    let retransmissions: Vec<usize> = column("tcp.analysis.retransmission")
        .iter()
        .enumerate()
        .filter(|(_, flag)| !flag.is_empty())
        .map(|(i, _)| i)
        .collect();
    assert_eq!(retransmissions, [12]);
    assert!(column("tcp.analysis.lost_segment").iter().all(|flag| flag.is_empty()));
    assert!(column("_ws.malformed").iter().all(|flag| flag.is_empty()));
    assert!(column("ip.checksum.status").iter().all(|status| *status == "1"), "every IP checksum is good");
    assert_eq!(column("frame.time_epoch")[12], "0.036000000");
    assert_eq!(column("frame.len")[3], "1500");
    assert_eq!(column("tcp.window_size")[3], WINDOW.to_string());
    assert_eq!((column("ip.dsfield.ecn")[2], column("ip.dsfield.ecn")[3]), ("0", "2"));
    assert_eq!(column("udp.length")[14], "508");
    assert_eq!((column("tcp.options.mss_val")[0], column("tcp.options.sack_perm")[0].is_empty()), ("1460", false));
    assert!(column("frame.interface_name").iter().all(|name| *name == "client-server"));
}
