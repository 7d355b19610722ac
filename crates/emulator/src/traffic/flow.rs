//! One flow: a sender that writes its application's data, and a receiver that reads it.

use super::records::{FlowRecord, Progress};
use super::{StackOptions, Target};
use crate::multipath::{self, Subflows};
use crate::socket_options::{pace, tcp_info};
use anabranch_core::packet::emulated::{Endpoints, FlowPlan};
use anabranch_core::traffic::application::Application;
use anabranch_core::traffic::reordering::Reordering;
use anabranch_core::units::Time;
use nix::errno::Errno;
use nix::sys::epoll::{Epoll, EpollEvent, EpollFlags};
use nix::sys::socket::{self, AddressFamily, MsgFlags, SockFlag, SockType, SockaddrIn, sockopt};
use std::io::Write;
use std::net::{Shutdown, SocketAddrV4, TcpStream, UdpSocket};
use std::os::fd::{AsRawFd, OwnedFd};

/// Zeros that senders send, and the size of a read.
pub const BLOCK: usize = 1 << 17;
/// Headers of a datagram: IPv4 and UDP.
const DATAGRAM_HEADERS: u32 = 28;

/// Bytes of the number that a datagram begins with.
const NUMBER: usize = size_of::<u32>();

/// The protocol of a flow.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Kind {
    Tcp,
    /// Multipath TCP.
    Multipath,
    Udp,
}

impl Kind {
    /// A socket of this protocol, which does not block.
    pub fn socket(self) -> Result<OwnedFd, Errno> {
        let kind = match self {
            Kind::Multipath => return multipath::stream(),
            Kind::Tcp => SockType::Stream,
            Kind::Udp => SockType::Datagram,
        };
        let flags = SockFlag::SOCK_NONBLOCK | SockFlag::SOCK_CLOEXEC;
        socket::socket(AddressFamily::Inet, kind, flags, None)
    }
}

/// The socket with which a flow sends.
pub enum Sender {
    /// Not open yet, or closed.
    None,
    /// A connection, requested or established.
    Tcp(TcpStream),
    /// A socket for datagrams.
    Udp(UdpSocket),
}

/// A flow of the run.
pub struct Flow {
    pub plan: FlowPlan,
    pub endpoints: Endpoints,
    /// Bytes of a write: a full segment's payload, or a datagram's.
    pub unit_bytes: u32,
    pub kind: Kind,
    /// The application's writes over time; `None` if it writes everything at its start.
    pub application: Option<Application>,
    pub sender: Sender,
    pub receiver: Option<TcpStream>,
    /// Bytes that the application has given and the socket has not taken.
    unsent: u64,
    /// The application writes no more.
    closing: bool,
    /// The sender is told when the socket takes more.
    waits_to_write: bool,
    /// The order of the datagrams that have arrived.
    order: Reordering,
    subflows: Subflows,
    pub record: FlowRecord,
    pub sampled: Progress,
    /// It is over, and has had its last sample.
    pub is_over: bool,
    pub sampled_after_end: bool,
}

impl Flow {
    pub fn new(
        plan: FlowPlan,
        endpoints: Endpoints,
        unit_bytes: u32,
        kind: Kind,
        application: Option<Application>,
    ) -> Flow {
        let payload = unit_bytes.saturating_sub(DATAGRAM_HEADERS) as usize;
        let record = FlowRecord {
            is_numbered: kind == Kind::Udp && payload >= NUMBER,
            is_multipath: kind == Kind::Multipath,
            writes_over_time: application.is_some(),
            ..FlowRecord::default()
        };
        Flow {
            unsent: if application.is_none() { plan.bytes.unwrap_or(u64::MAX) } else { 0 },
            closing: application.is_none() && plan.bytes.is_some(),
            plan,
            endpoints,
            unit_bytes,
            kind,
            application,
            sender: Sender::None,
            receiver: None,
            waits_to_write: true,
            order: Reordering::default(),
            subflows: Subflows::default(),
            record,
            sampled: Progress::default(),
            is_over: false,
            sampled_after_end: false,
        }
    }

    /// Opens the sender's socket; the calling thread is in the namespace of the source.
    pub fn open(&mut self, number: u32, options: Option<&StackOptions>, epoll: &Epoll) -> Result<(), Errno> {
        self.record.has_started = true;
        let socket = self.kind.socket()?;
        socket::setsockopt(&socket, sockopt::ReuseAddr, &true)?;
        socket::bind(socket.as_raw_fd(), &address(self.endpoints.sender))?;
        let target = Target::Sender(number).into();
        let Some(options) = options else {
            socket::connect(socket.as_raw_fd(), &address(self.endpoints.receiver))?;
            self.sender = Sender::Udp(socket.into());
            return Ok(());
        };
        self.configure(&socket, options)?;
        match socket::connect(socket.as_raw_fd(), &address(self.endpoints.receiver)) {
            Ok(()) | Err(Errno::EINPROGRESS) => {}
            Err(error) => return Err(error),
        }
        epoll.add(&socket, EpollEvent::new(EpollFlags::EPOLLOUT | EpollFlags::EPOLLIN, target))?;
        self.sender = Sender::Tcp(socket.into());
        Ok(())
    }

    fn configure(&self, socket: &OwnedFd, options: &StackOptions) -> Result<(), Errno> {
        socket::setsockopt(socket, sockopt::TcpCongestion, &options.congestion.clone().into())?;
        socket::setsockopt(socket, sockopt::TcpMaxSeg, &options.maximum_segment)?;
        // Each write of a paced application is one segment. This call comes last: Linux 6.17 gives TCP_MAXSEG to further subflows only with a later option.
        socket::setsockopt(socket, sockopt::TcpNoDelay, &self.application.is_some())?;
        if options.paced { pace(socket) } else { Ok(()) }
    }

    /// Writes one more unit for the application.
    pub fn write_unit(&mut self, number: u32, epoll: &Epoll) {
        match &self.sender {
            Sender::Udp(socket) => {
                let mut payload = vec![0; self.unit_bytes.saturating_sub(DATAGRAM_HEADERS) as usize];
                if let Some(number) = payload.first_chunk_mut::<NUMBER>() {
                    *number = (self.record.total.datagrams as u32).to_be_bytes();
                }
                self.record.total.datagrams += u64::from(socket.send(&payload).is_ok());
            }
            Sender::Tcp(_) => {
                self.unsent += u64::from(self.unit_bytes);
                self.pump(number, epoll);
            }
            Sender::None => {}
        }
    }

    /// Stops the application's writes.
    pub fn stop(&mut self, number: u32, epoll: &Epoll) {
        self.closing = true;
        if self.application.is_none() && self.plan.bytes.is_none() {
            self.unsent = 0;
        }
        self.application = None;
        self.pump(number, epoll);
    }

    /// Writes as much data as the socket accepts.
    pub fn pump(&mut self, number: u32, epoll: &Epoll) {
        static ZEROS: [u8; BLOCK] = [0; BLOCK];
        let Sender::Tcp(stream) = &mut self.sender else { return };
        let mut is_full = false;
        while self.unsent > 0 && !is_full {
            let count = usize::try_from(self.unsent).map_or(BLOCK, |unsent| unsent.min(BLOCK));
            match stream.write(&ZEROS[..count]) {
                Ok(written) if self.unsent < u64::MAX => self.unsent -= written as u64,
                Ok(_) => {}
                Err(_) => is_full = true, // or not connected yet; an error of the connection comes as an event
            }
        }
        if self.unsent == 0 && self.closing {
            let _ = stream.shutdown(Shutdown::Write);
        }
        if self.waits_to_write != is_full {
            self.waits_to_write = is_full;
            let wanted = if is_full { EpollFlags::EPOLLOUT | EpollFlags::EPOLLIN } else { EpollFlags::EPOLLIN };
            let _ = epoll.modify(stream, &mut EpollEvent::new(wanted, Target::Sender(number).into()));
        }
    }

    /// Processes an event of the sender's socket: it accepts more data, or the connection has ended.
    pub fn on_sender(&mut self, number: u32, epoll: &Epoll) {
        let Sender::Tcp(stream) = &self.sender else { return };
        if let Ok(Some(error)) = stream.take_error() {
            self.record.failure = Some(error.to_string());
            return self.close();
        }
        // The receiver closes when it has read everything.
        let mut nothing = [0; 1];
        if matches!(socket::recv(stream.as_raw_fd(), &mut nothing, MsgFlags::MSG_DONTWAIT), Ok(0)) {
            return self.close();
        }
        self.pump(number, epoll);
    }

    /// Reads data from the receiver's socket, or its end.
    pub fn on_receiver(&mut self, now: Time, block: &mut [u8]) {
        let Some(stream) = &self.receiver else { return };
        // With this flag, Linux discards the data that a read of a stream returns.
        let read =
            |block: &mut [u8]| socket::recv(stream.as_raw_fd(), block, MsgFlags::MSG_TRUNC | MsgFlags::MSG_DONTWAIT);
        let is_at_end = loop {
            match read(block) {
                Ok(0) => break true,
                Ok(count) => self.record.total.delivered += count as u64,
                Err(_) => break false,
            }
        };
        if is_at_end {
            self.receiver = None;
        }
        if self.plan.bytes == Some(self.record.total.delivered) && self.record.end.is_none() {
            self.record.end = Some(now);
        }
    }

    /// Counts a datagram that has arrived with this payload.
    pub fn on_datagram(&mut self, payload: &[u8]) {
        self.record.total.delivered += u64::from(self.unit_bytes);
        if let Some(number) = payload.first_chunk::<NUMBER>() {
            self.order.on_arrival(u32::from_be_bytes(*number));
            self.record.total.order = self.order.counts();
        }
    }

    /// Stores the connection's last state, and closes it.
    fn close(&mut self) {
        self.refresh();
        self.sender = Sender::None;
        self.is_over = true;
    }

    /// Reads the connection's state from Linux.
    pub fn refresh(&mut self) {
        let Sender::Tcp(stream) = &self.sender else { return };
        let info = if self.kind == Kind::Multipath { self.subflows.info(stream) } else { tcp_info(stream) };
        if let Ok(info) = info {
            self.record.total.info = info;
        }
    }
}

/// An address for a system call.
pub fn address((host, port): (std::net::Ipv4Addr, u16)) -> SockaddrIn {
    SocketAddrV4::new(host, port).into()
}
