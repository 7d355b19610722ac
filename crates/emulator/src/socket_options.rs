//! Options of sockets that nix has no types for: TCP_INFO, and the pacing rate.
#![allow(unsafe_code)]

use nix::errno::Errno;
use nix::libc::{IPPROTO_TCP, SO_MAX_PACING_RATE, SOL_SOCKET, TCP_INFO, c_int, getsockopt, setsockopt, socklen_t};
use std::os::fd::{AsFd, AsRawFd};
use std::time::Duration;

/// Bytes of `struct tcp_info` that this module knows, up to `tcpi_total_rto` (include/uapi/linux/tcp.h, Linux 6.7).
pub(crate) const KNOWN: usize = 248;
/// A window that has not been reduced yet (TCP_INFINITE_SSTHRESH of Linux).
const INFINITE_SSTHRESH: u32 = 0x7fff_ffff;

/// Linux's report about a connection.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub struct TcpInfo {
    /// Congestion window, segments.
    pub cwnd: u32,
    /// Slow start threshold, segments; `None` before the first reduction.
    pub ssthresh: Option<u32>,
    /// Segments in flight: sent, neither acknowledged nor lost.
    pub in_flight: u32,
    /// Smoothed RTT; `None` without a sample.
    pub srtt: Option<Duration>,
    /// Least RTT of the last minutes (tcp_min_rtt_wlen).
    pub min_rtt: Option<Duration>,
    /// Data segments sent, retransmissions included.
    pub sent: u64,
    /// Segments sent again.
    pub retransmits: u64,
    /// Segments that the receiver reported to have got twice (DSACK).
    pub duplicates: u64,
    /// Segments delivered with congestion experienced.
    pub marked: u64,
    /// Expiries of the retransmission timer; `None` before Linux 6.7.
    pub timeouts: Option<u64>,
    /// Payload of a full segment, bytes.
    pub segment_bytes: u32,
    /// Time with data that was not acknowledged, or that waited to be sent.
    pub busy: Duration,
    /// Of this, the time in which the receiver's window was the limit.
    pub window_limited: Duration,
    /// Of it, the time in which the send buffer was full and all of it was sent.
    pub buffer_limited: Duration,
}

/// TCP_INFO of a connection.
///
/// # Errors
/// If the descriptor is no TCP socket.
pub fn tcp_info(socket: impl AsFd) -> Result<TcpInfo, Errno> {
    let mut bytes = [0_u8; KNOWN];
    let mut length = KNOWN as socklen_t;
    let descriptor = socket.as_fd().as_raw_fd();
    // SAFETY: `bytes` is valid for writes of `length` bytes, which is the most that Linux writes, and any bytes are valid values of it. The
    // descriptor is open for as long as `socket` is borrowed.
    let result = unsafe { getsockopt(descriptor, IPPROTO_TCP, TCP_INFO, bytes.as_mut_ptr().cast(), &raw mut length) };
    Errno::result(result)?;
    Ok(parsed(&bytes, length as usize))
}

/// The report in these bytes, of which Linux has filled the first `length`.
pub(crate) fn parsed(bytes: &[u8; KNOWN], length: usize) -> TcpInfo {
    let word = |at: usize| u32::from_ne_bytes([bytes[at], bytes[at + 1], bytes[at + 2], bytes[at + 3]]);
    let microseconds = |at: usize| Duration::from_micros(u64::from(word(at)));
    let long = |at: usize| u64::from_ne_bytes(std::array::from_fn(|byte| bytes[at + byte]));
    let [unacked, sacked, lost, resent] = [24, 28, 32, 36].map(word);
    TcpInfo {
        segment_bytes: word(16),
        busy: Duration::from_micros(long(168)),
        window_limited: Duration::from_micros(long(176)),
        buffer_limited: Duration::from_micros(long(184)),
        in_flight: (unacked + resent).saturating_sub(sacked + lost),
        srtt: Some(microseconds(68)).filter(|rtt| !rtt.is_zero()),
        ssthresh: Some(word(76)).filter(|ssthresh| *ssthresh < INFINITE_SSTHRESH),
        cwnd: word(80),
        retransmits: u64::from(word(100)),
        min_rtt: Some(word(148))
            .filter(|rtt| *rtt != 0 && *rtt != u32::MAX)
            .map(|rtt| Duration::from_micros(rtt.into())),
        sent: u64::from(word(156)),
        marked: u64::from(word(196)),
        duplicates: u64::from(word(216)),
        timeouts: (length >= 242).then(|| u64::from(u16::from_ne_bytes([bytes[240], bytes[241]]))),
    }
}

/// Paces a connection at the rate of its congestion control, whether or not the control asks for that.
///
/// # Errors
/// If the descriptor is no socket.
pub fn pace(socket: impl AsFd) -> Result<(), Errno> {
    // Linux paces a socket with a limit below 2^64 - 1 bytes per second. This one never limits.
    let limit: u64 = u64::MAX - 1;
    let length = size_of::<u64>() as socklen_t;
    let descriptor: c_int = socket.as_fd().as_raw_fd();
    // SAFETY: `limit` is valid for reads of its own size. The descriptor is open for as long as `socket` is borrowed.
    let result = unsafe { setsockopt(descriptor, SOL_SOCKET, SO_MAX_PACING_RATE, (&raw const limit).cast(), length) };
    Errno::result(result).map(drop)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::{Read, Write};
    use std::net::{TcpListener, TcpStream};

    #[test]
    fn linux_reports_what_a_connection_has_sent() {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let mut sender = TcpStream::connect(listener.local_addr().unwrap()).unwrap();
        let (mut receiver, _) = listener.accept().unwrap();
        pace(&sender).unwrap();
        let mut answer = [0; 100];
        for _ in 0..3 {
            sender.write_all(&[7; 100]).unwrap();
            receiver.read_exact(&mut answer).unwrap();
            receiver.write_all(&answer).unwrap(); // which acknowledges
            sender.read_exact(&mut answer).unwrap();
        }
        let info = tcp_info(&sender).unwrap();
        assert_eq!((info.sent, info.retransmits, info.in_flight, info.ssthresh), (3, 0, 0, None));
        // Linux counts whole ticks of its clock: such a short exchange may be busy for none.
        assert_eq!(info.window_limited, Duration::ZERO);
        assert!(info.cwnd >= 10 && info.srtt.unwrap() >= info.min_rtt.unwrap());
        assert!(tcp_info(std::io::stdin()).is_err());
    }
}
