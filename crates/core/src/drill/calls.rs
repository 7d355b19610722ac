//! The system calls that scripts may use, with their arguments.

use super::Problem;
use super::script::{Argument, Call};

/// A system call, understood.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Action {
    /// The call has no effect on the connection; it returns the result in the script.
    Nothing,
    /// `connect`.
    Connect,
    /// `accept`.
    Accept,
    /// `write`, `send`, `sendto`; whether more is to come at once.
    Write(i64, u64, bool),
    /// `read`, `recv`, `recvfrom`.
    Read(i64, u64),
    /// `close`.
    Close(i64),
    /// `shutdown`.
    Shutdown {
        /// Whether the sending direction closes.
        sending: bool,
        /// Whether the reading direction closes.
        reading: bool,
    },
    /// `setsockopt` of `TCP_MAXSEG`: the size of segments, bytes.
    SegmentSize(u32),
    /// Whether short segments wait for acknowledgements.
    Nagle(bool),
    /// Whether short segments wait for more data.
    Cork(bool),
    /// `fcntl(..., F_SETFL, ...)`: whether calls return at once.
    NonBlocking(i64, bool),
    /// `getsockopt` of `SO_ERROR`: whether the script expects no error, unless it leaves that open.
    SocketError(Option<bool>),
}

/// Options of sockets that cannot matter to one connection in a simulator.
const WITHOUT_EFFECT: [&str; 10] = [
    "SO_REUSEADDR",
    "SO_REUSEPORT",
    "SO_SNDBUF",
    "SO_SNDBUFFORCE",
    "SO_KEEPALIVE",
    "SO_MARK",
    "IP_MTU_DISCOVER",
    "IP_TOS",
    "IP_FREEBIND",
    "SO_PRIORITY",
];

/// What Linux takes as `TCP_MAXSEG` (`TCP_MIN_MSS` to `MAX_TCP_WINDOW`).
const MAXSEG: std::ops::RangeInclusive<u32> = 88..=32_767;

fn number(call: &Call, position: usize) -> Option<i64> {
    match call.arguments.get(position)? {
        Argument::Number(number) => Some(*number),
        Argument::List(values) => match values.first()? {
            Argument::Number(number) => Some(*number),
            _ => None,
        },
        _ => None,
    }
}

fn names(call: &Call, position: usize) -> Vec<&str> {
    match call.arguments.get(position) {
        Some(Argument::Names(names)) => names.iter().map(String::as_str).collect(),
        _ => Vec::new(),
    }
}

/// Translates a system call into an action.
///
/// # Errors
/// Names a feature that the simulator does not have.
pub fn understand(call: &Call, line: u32) -> Result<Action, Problem> {
    let action = action_of(call, line)?;
    let returns_a_value = call.name == "socket" || names(call, 1).first() == Some(&"F_GETFL");
    match (&action, &call.error, call.result) {
        // The results of these are simulated.
        (Action::Connect | Action::Accept | Action::Write(..) | Action::Read(..), ..) => Ok(action),
        (_, Some(error), _) => Err(Problem::refused(line, format!("the error {error} of {}()", call.name))),
        (_, None, Some(result)) if result != 0 && !returns_a_value => {
            Err(Problem::refused(line, format!("{}() that returns {result}: it succeeds here, with 0", call.name)))
        }
        _ => Ok(action),
    }
}

fn action_of(call: &Call, line: u32) -> Result<Action, Problem> {
    let refused = |what: String| Problem::refused(line, what);
    let needs = |position: usize, what: &str| {
        number(call, position).ok_or_else(|| Problem::syntax(line, format!("{}() needs {what}", call.name)))
    };
    let bytes = || -> Result<u64, Problem> {
        let bytes = needs(2, "a number of bytes as its third argument")?;
        u64::try_from(bytes)
            .ok()
            .filter(|bytes| *bytes < 1 << 31)
            .ok_or_else(|| Problem::syntax(line, format!("{}() of {bytes} bytes: 0 to 2147483647", call.name)))
    };
    if names(call, 1).contains(&"NULL") {
        return Err(refused(format!("NULL in {}(): there is no memory to address", call.name)));
    }
    match call.name.as_str() {
        "socket" => match (names(call, 1).first(), names(call, 2).first()) {
            (Some(&"SOCK_STREAM"), None | Some(&"IPPROTO_TCP")) => Ok(Action::Nothing),
            (Some(&"SOCK_STREAM"), Some(protocol)) => Err(refused(format!("a socket of {protocol}"))),
            _ => Err(refused("a socket that is not SOCK_STREAM".to_string())),
        },
        "bind" | "listen" => Ok(Action::Nothing),
        "connect" => Ok(Action::Connect),
        "accept" => Ok(Action::Accept),
        "write" | "send" | "sendto" => {
            let flags = if call.name == "write" { Vec::new() } else { names(call, 3) };
            let passed_over = ["MSG_MORE", "MSG_DONTWAIT", "MSG_NOSIGNAL", "0"];
            if let Some(flag) = flags.iter().find(|flag| !passed_over.contains(flag)) {
                return Err(refused(format!("{flag} of {}()", call.name)));
            }
            Ok(Action::Write(needs(0, "a descriptor")?, bytes()?, flags.contains(&"MSG_MORE")))
        }
        "read" | "recv" | "recvfrom" => {
            if let Some(flag) = names(call, 3).iter().find(|flag| **flag != "MSG_DONTWAIT") {
                return Err(refused(format!("{flag} of {}()", call.name)));
            }
            Ok(Action::Read(needs(0, "a descriptor")?, bytes()?))
        }
        "close" => Ok(Action::Close(needs(0, "a descriptor")?)),
        "shutdown" => match names(call, 1).first() {
            Some(&"SHUT_RD") => Ok(Action::Shutdown { sending: false, reading: true }),
            Some(&"SHUT_WR") => Ok(Action::Shutdown { sending: true, reading: false }),
            Some(&"SHUT_RDWR") => Ok(Action::Shutdown { sending: true, reading: true }),
            _ => Err(Problem::syntax(line, "shutdown() needs SHUT_RD, SHUT_WR or SHUT_RDWR".to_string())),
        },
        "fcntl" => Ok(match names(call, 1).first() {
            Some(&"F_SETFL") => Action::NonBlocking(needs(0, "a descriptor")?, names(call, 2).contains(&"O_NONBLOCK")),
            _ => Action::Nothing,
        }),
        "getsockopt" => match names(call, 2).first() {
            Some(&"SO_ERROR") => Ok(Action::SocketError(match call.arguments.get(3) {
                Some(Argument::List(values)) => values.first().map(|value| *value == Argument::Number(0)),
                _ => None,
            })),
            other => Err(refused(format!("getsockopt() of {}", other.unwrap_or(&"a number")))),
        },
        "setsockopt" => set_option(call, line),
        other => Err(refused(format!("the system call {other}()"))),
    }
}

fn set_option(call: &Call, line: u32) -> Result<Action, Problem> {
    let name = names(call, 2).first().copied().unwrap_or("a number");
    let is_on = || {
        number(call, 3)
            .map(|value| value != 0)
            .ok_or_else(|| Problem::syntax(line, format!("{name} needs a value, such as [1]")))
    };
    match name {
        "TCP_NODELAY" => Ok(Action::Nagle(!is_on()?)),
        "TCP_MAXSEG" => number(call, 3)
            .and_then(|size| u32::try_from(size).ok())
            .filter(|size| MAXSEG.contains(size))
            .map(Action::SegmentSize)
            .ok_or_else(|| {
                let (least, most) = (MAXSEG.start(), MAXSEG.end());
                Problem::syntax(line, format!("TCP_MAXSEG needs a size from {least} to {most}, such as [1000]"))
            }),
        "TCP_CORK" => Ok(Action::Cork(is_on()?)),
        name if WITHOUT_EFFECT.contains(&name) => Ok(Action::Nothing),
        name => Err(Problem::refused(line, format!("the socket option {name}"))),
    }
}
