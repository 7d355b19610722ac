//! Sockets of Multipath TCP: nix has no types for them, nor for what Linux reports about their subflows (include/uapi/linux/mptcp.h, Linux 5.16).
#![allow(unsafe_code)]

use crate::socket_options::{self, TcpInfo};
use nix::errno::Errno;
use nix::libc::{
    AF_INET, IPPROTO_MPTCP, SOCK_CLOEXEC, SOCK_NONBLOCK, SOCK_STREAM, c_int, getsockopt, sockaddr_storage, socket,
    socklen_t,
};
use std::collections::BTreeMap;
use std::net::Ipv4Addr;
use std::os::fd::{AsFd, AsRawFd, FromRawFd, OwnedFd};

const SOL_MPTCP: c_int = 284;
const MPTCP_INFO: c_int = 1;
const MPTCP_TCPINFO: c_int = 2;
const MPTCP_SUBFLOW_ADDRS: c_int = 3;

/// Bytes of `struct mptcp_subflow_data`, before the records of subflows: its size, their number, the bytes of one that Linux has and that are read.
const PREFIX: usize = 16;
/// Bytes of `struct mptcp_subflow_addrs`: the local address and the remote one.
const ADDRESSES: usize = 2 * size_of::<sockaddr_storage>();
/// Where a `struct sockaddr_in` has its address.
const ADDRESS_AT: usize = 4;
/// More subflows than Linux's path manager makes.
const MOST_SUBFLOWS: usize = 16;
/// Bytes of `struct mptcp_info` up to `mptcpi_bytes_retrans`, which Linux has since 6.5.
const KNOWN: usize = 56;

/// A socket for a stream, which does not block.
///
/// # Errors
/// If this Linux has no Multipath TCP.
pub fn stream() -> Result<OwnedFd, Errno> {
    // SAFETY: the arguments are plain numbers.
    let descriptor = unsafe { socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, IPPROTO_MPTCP) };
    // SAFETY: Linux has just opened the descriptor, and nothing else owns it.
    Errno::result(descriptor).map(|descriptor| unsafe { OwnedFd::from_raw_fd(descriptor) })
}

/// The last report about each subflow of a connection. A subflow that has ended keeps its report.
#[derive(Debug, Default)]
pub struct Subflows(BTreeMap<Ipv4Addr, TcpInfo>);

impl Subflows {
    /// Linux's report about the connection now: counters and windows are sums, round trips the lowest ones. The slow start thresholds and the times of limits
    /// are unknown.
    ///
    /// # Errors
    /// If the descriptor is no socket of Multipath TCP.
    pub fn info(&mut self, socket: impl AsFd) -> Result<TcpInfo, Errno> {
        let addresses: Vec<[u8; ADDRESSES]> = records(&socket, MPTCP_SUBFLOW_ADDRS)?.0;
        let (reports, length) = records(&socket, MPTCP_TCPINFO)?;
        // A subflow that ends or begins between the two calls is seen at the next report.
        if addresses.len() == reports.len() {
            for (addresses, report) in addresses.iter().zip(&reports) {
                let local: [u8; 4] = std::array::from_fn(|byte| addresses[ADDRESS_AT + byte]);
                self.0.insert(Ipv4Addr::from(local), socket_options::parsed(report, length));
            }
        }
        let sum = self.0.values().copied().reduce(together).unwrap_or_default();
        let again = reinjected(&socket)?.checked_div(sum.segment_bytes.into()).unwrap_or(0);
        Ok(TcpInfo { retransmits: sum.retransmits + again, ..sum })
    }
}

fn together(one: TcpInfo, other: TcpInfo) -> TcpInfo {
    let least = |one: Option<_>, other| one.into_iter().chain(other).min();
    TcpInfo {
        cwnd: one.cwnd + other.cwnd,
        in_flight: one.in_flight + other.in_flight,
        srtt: least(one.srtt, other.srtt),
        min_rtt: least(one.min_rtt, other.min_rtt),
        sent: one.sent + other.sent,
        retransmits: one.retransmits + other.retransmits,
        duplicates: one.duplicates + other.duplicates,
        marked: one.marked + other.marked,
        timeouts: one.timeouts.zip(other.timeouts).map(|(one, other)| one + other),
        segment_bytes: one.segment_bytes.max(other.segment_bytes),
        ..TcpInfo::default()
    }
}

/// Bytes that were sent again on another subflow; zero before Linux 6.5.
fn reinjected(socket: impl AsFd) -> Result<u64, Errno> {
    let mut bytes = [0; KNOWN];
    read(socket, MPTCP_INFO, &mut bytes)?;
    Ok(u64::from_ne_bytes(std::array::from_fn(|byte| bytes[KNOWN - 8 + byte])))
}

/// A record of each subflow, in the order of their creation, and the bytes of it that Linux fills.
fn records<const SIZE: usize>(socket: impl AsFd, option: c_int) -> Result<(Vec<[u8; SIZE]>, usize), Errno> {
    let mut bytes = vec![0; PREFIX + MOST_SUBFLOWS * SIZE];
    bytes[..4].copy_from_slice(&(PREFIX as u32).to_ne_bytes());
    bytes[12..PREFIX].copy_from_slice(&(SIZE as u32).to_ne_bytes());
    let length = read(socket, option, &mut bytes)?;
    let of_linux = u32::from_ne_bytes(std::array::from_fn(|byte| bytes[8 + byte])) as usize;
    let (records, _) = bytes[PREFIX..length].as_chunks();
    Ok((records.to_vec(), of_linux.min(SIZE)))
}

fn read(socket: impl AsFd, option: c_int, bytes: &mut [u8]) -> Result<usize, Errno> {
    let mut length = bytes.len() as socklen_t;
    let descriptor = socket.as_fd().as_raw_fd();
    // SAFETY: `bytes` is valid for writes of `length` bytes, which is the most that Linux writes, and any bytes are valid values of it. The
    // descriptor is open for as long as `socket` is borrowed.
    let result = unsafe { getsockopt(descriptor, SOL_MPTCP, option, bytes.as_mut_ptr().cast(), &raw mut length) };
    Errno::result(result)?;
    Ok(length as usize)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::{Read, Write};
    use std::net::{SocketAddr, TcpListener, TcpStream};

    fn bound() -> OwnedFd {
        let socket = stream().unwrap();
        let here: nix::sys::socket::SockaddrIn = "127.0.0.1:0".parse().unwrap();
        nix::sys::socket::bind(socket.as_raw_fd(), &here).unwrap();
        socket
    }

    /// One subflow: Linux's report is that of a TCP connection. Skipped where Linux has no Multipath TCP.
    #[test]
    fn linux_reports_the_subflows_of_a_connection() {
        if stream().is_err() {
            eprintln!("skipped: this Linux has no Multipath TCP");
            return;
        }
        let (listener, sender) = (bound(), bound());
        nix::sys::socket::listen(&listener, nix::sys::socket::Backlog::MAXCONN).unwrap();
        let listener = TcpListener::from(listener);
        listener.set_nonblocking(false).unwrap();
        let SocketAddr::V4(there) = listener.local_addr().unwrap() else { panic!("an IPv4 address") };
        let there = nix::sys::socket::SockaddrIn::from(there);
        assert_eq!(nix::sys::socket::connect(sender.as_raw_fd(), &there), Err(Errno::EINPROGRESS));
        let (mut receiver, _) = listener.accept().unwrap();
        let mut sender = TcpStream::from(sender);
        sender.set_nonblocking(false).unwrap();
        let mut block = [7; 100];
        for _ in 0..3 {
            sender.write_all(&block).unwrap();
            receiver.read_exact(&mut block).unwrap();
            receiver.write_all(&block).unwrap(); // which acknowledges
            sender.read_exact(&mut block).unwrap();
        }
        let mut subflows = Subflows::default();
        let info = subflows.info(&sender).unwrap();
        assert_eq!((info.sent, info.retransmits, info.in_flight), (3, 0, 0));
        assert!(info.cwnd >= 10 && info.srtt.unwrap() >= info.min_rtt.unwrap() && info.timeouts == Some(0));
        assert_eq!(subflows.0.keys().collect::<Vec<_>>(), [&Ipv4Addr::LOCALHOST]);
        assert!(subflows.info(std::io::stdin()).is_err());
    }
}
