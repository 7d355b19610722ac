//! State of a connection that scripts may read: the fields of Linux's `tcp_info`, and its constants.

use super::connection::{Connection, Phase};
use crate::tcp::scoreboard::Scoreboard;
use crate::tcp::sender::Episode;
use crate::units::Duration;

/// All names.
pub const NAMES: [&str; 44] = [
    "tcpi_snd_cwnd",
    "tcpi_snd_ssthresh",
    "tcpi_ca_state",
    "tcpi_unacked",
    "tcpi_sacked",
    "tcpi_lost",
    "tcpi_retrans",
    "tcpi_total_retrans",
    "tcpi_reordering",
    "tcpi_reord_seen",
    "tcpi_rtt",
    "tcpi_rttvar",
    "tcpi_min_rtt",
    "tcpi_rto",
    "tcpi_backoff",
    "tcpi_probes",
    "tcpi_snd_mss",
    "tcpi_advmss",
    "tcpi_rcv_mss",
    "tcpi_delivered",
    "tcpi_state",
    "TCP_CA_Open",
    "TCP_CA_Disorder",
    "TCP_CA_CWR",
    "TCP_CA_Recovery",
    "TCP_CA_Loss",
    "TCP_ESTABLISHED",
    "TCP_SYN_SENT",
    "TCP_SYN_RECV",
    "TCP_FIN_WAIT1",
    "TCP_FIN_WAIT2",
    "TCP_TIME_WAIT",
    "TCP_CLOSE",
    "TCP_CLOSE_WAIT",
    "TCP_LAST_ACK",
    "TCP_LISTEN",
    "TCP_CLOSING",
    "TCP_INFINITE_SSTHRESH",
    "tcpi_snd_wscale",
    "tcpi_pacing_rate",
    "tcpi_segs_out",
    "True",
    "False",
    "None",
];

/// Linux's value for a threshold that is not yet set.
const INFINITE: f64 = 2_147_483_647.0;

fn micros(duration: Duration) -> f64 {
    (duration.0 / 1_000_000) as f64
}

/// Segments that were marked lost and have not arrived, whether sent again since or not; and of these those in flight again.
fn lost_and_retransmitted(board: &Scoreboard) -> (u32, u32) {
    let segments = || board.una()..board.next();
    let again = segments()
        .filter(|segment| board.was_retransmitted(*segment) && !board.is_sacked(*segment) && !board.is_lost(*segment));
    let again = again.count() as u32;
    (board.lost() + again, again)
}

fn state(connection: &Connection) -> f64 {
    let (ours, theirs) = (connection.has_closed(), connection.peer_has_closed());
    let acknowledged = ours && connection.is_all_acknowledged();
    f64::from(match connection.phase() {
        Phase::Listening => 10,
        Phase::SynSent => 2,
        Phase::SynReceived => 3,
        Phase::Reset | Phase::Gone => 7,
        Phase::Established => match (ours, theirs, acknowledged) {
            (false, false, _) => 1,
            (false, true, _) => 8,
            (true, false, false) => 4,
            (true, false, true) => 5,
            (true, true, false) => 9,
            (true, true, true) => 7,
        },
    })
}

/// The value of a name; `None` for one that is not known.
pub fn value(connection: &Connection, name: &str) -> Option<f64> {
    let sender = connection.sender();
    let (board, rtt) = (sender.scoreboard(), sender.rtt());
    let sacked = if connection.stack().sack { board.sacked() } else { board.duplicates() };
    Some(match name {
        "tcpi_snd_cwnd" => f64::from(sender.window()),
        "tcpi_snd_ssthresh" => sender.congestion().ssthresh().min(INFINITE).floor(),
        "tcpi_ca_state" => match sender.episode() {
            Episode::Reduction => 2.0,
            Episode::Recovery => 3.0,
            Episode::Timeout => 4.0,
            Episode::Open if sacked > 0 => 1.0,
            Episode::Open => 0.0,
        },
        "tcpi_unacked" => f64::from(board.outstanding()),
        "tcpi_sacked" => f64::from(sacked),
        "tcpi_lost" => f64::from(lost_and_retransmitted(board).0),
        "tcpi_retrans" => f64::from(lost_and_retransmitted(board).1),
        "tcpi_total_retrans" => sender.counters().retransmits as f64,
        "tcpi_segs_out" => sender.counters().sent as f64,
        "tcpi_reordering" => f64::from(connection.reordering().degree),
        "tcpi_reord_seen" => f64::from(connection.reordering().seen),
        "tcpi_rtt" => micros(rtt.smoothed().unwrap_or_default()),
        "tcpi_rttvar" => micros(rtt.variation()),
        "tcpi_min_rtt" => micros(rtt.minimum().unwrap_or_default()),
        "tcpi_rto" => micros(rtt.rto()),
        "tcpi_backoff" => f64::from(rtt.backoff().max(connection.window_probes())),
        "tcpi_probes" => f64::from(connection.window_probes()),
        "tcpi_snd_mss" => f64::from(connection.stack().mss),
        "tcpi_advmss" => f64::from(connection.settings().mss),
        "tcpi_rcv_mss" => f64::from(connection.received_mss()),
        "tcpi_snd_wscale" => f64::from(connection.settings().window_scale),
        "tcpi_pacing_rate" => sender.pacing_rate().map_or(f64::from(u32::MAX), |rate| (rate.0 / 8) as f64),
        // The SYN counts as delivered.
        "tcpi_delivered" => f64::from(board.una() + sacked + u32::from(connection.phase() == Phase::Established)),
        "tcpi_state" => state(connection),
        other => return constant(other),
    })
}

/// Value of a constant name.
pub fn constant(name: &str) -> Option<f64> {
    Some(match name {
        "TCP_CA_Open" | "False" | "None" => 0.0,
        "TCP_CA_Disorder" | "TCP_ESTABLISHED" | "True" => 1.0,
        "TCP_CA_CWR" | "TCP_SYN_SENT" => 2.0,
        "TCP_CA_Recovery" | "TCP_SYN_RECV" => 3.0,
        "TCP_CA_Loss" | "TCP_FIN_WAIT1" => 4.0,
        "TCP_FIN_WAIT2" => 5.0,
        "TCP_TIME_WAIT" => 6.0,
        "TCP_CLOSE" => 7.0,
        "TCP_CLOSE_WAIT" => 8.0,
        "TCP_LAST_ACK" => 9.0,
        "TCP_LISTEN" => 10.0,
        "TCP_CLOSING" => 11.0,
        "TCP_INFINITE_SSTHRESH" => INFINITE,
        _ => return None,
    })
}
