//! Plays a script in virtual time.

use super::calls::{Action as CallAction, understand};
use super::code::{Failure as CodeFailure, Names, Value};
use super::compare::{compare, is_part, join};
use super::connection::{Connection, MOST_WAITING, Phase};
use super::outline::Outline;
use super::report::{Failure, Report, Row};
use super::script::{Action, At, Call, Event, Script};
use super::settings::{Preset, Settings};
use super::wire::Segment;
use super::{Problem, info, shell, shortened};
use crate::units::{Duration, Time};
use std::collections::{BTreeMap, BTreeSet};

/// A call that blocks until the connection lets it return.
struct Blocked<'a> {
    line: u32,
    call: &'a Call,
    action: CallAction,
    /// When it is to return.
    returns: Time,
}

/// A script while it runs.
pub struct Runner<'a> {
    script: &'a Script,
    settings: Settings,
    /// Before there is a connection, and after: the one.
    connection: Option<Connection>,
    now: Time,
    /// The event before: when it was due, and whether it was an arriving packet.
    last: (Time, bool),
    names: BTreeMap<String, Value>,
    non_blocking: BTreeSet<i64>,
    listener: Option<i64>,
    accepted: bool,
    /// The application has shut reading down.
    reads_nothing: bool,
    /// Nagle's rule and corking, for a connection that is to come.
    coalescing: (bool, bool),
    blocked: Option<Blocked<'a>>,
    report: Report,
}

/// The reason why a run stops.
enum Stop {
    Failed(Failure),
    Refused(Problem),
}

fn failed(line: u32, text: String) -> Stop {
    Stop::Failed(Failure { line, text: shortened(text) })
}

impl From<Problem> for Stop {
    fn from(problem: Problem) -> Stop {
        Stop::Refused(problem)
    }
}

impl<'a> Runner<'a> {
    /// Prepares to run a script: everything in it that is refused is refused now.
    ///
    /// # Errors
    /// The first thing that is refused.
    pub fn new(script: &'a Script, preset: Preset) -> Result<Runner<'a>, Problem> {
        let settings = Settings::of(script, preset)?;
        check(script, &settings)?;
        Ok(Runner {
            script,
            settings,
            connection: None,
            now: Time::ZERO,
            last: (Time::ZERO, false),
            names: BTreeMap::new(),
            non_blocking: BTreeSet::new(),
            listener: None,
            accepted: false,
            reads_nothing: false,
            coalescing: (true, false),
            blocked: None,
            report: Report { rows: Vec::new(), failure: None },
        })
    }

    /// Runs the script to its end, or to the first failed expectation.
    ///
    /// # Errors
    /// A missing feature that only the run has found.
    pub fn run(mut self) -> Result<Report, Problem> {
        for event in &self.script.events {
            match self.event(event) {
                Ok(()) => {}
                Err(Stop::Failed(failure)) => {
                    self.report.failure = Some(failure);
                    break;
                }
                Err(Stop::Refused(problem)) => return Err(problem),
            }
        }
        while let Some(sent) = self.connection.as_mut().and_then(Connection::take_sent) {
            self.report.rows.push(Row::unexpected(&sent));
        }
        Ok(self.report)
    }

    /// Earliest and latest time of an event. Relative times count from when the event before happened, not from when it was due. Only from
    /// one arriving packet to the next they count from its due time (packetdrill, `adjust_relative_event_times`).
    fn due(&self, event: &Event) -> (Time, Time) {
        let (last_due, follows_arrival) = self.last;
        let base = if follows_arrival && is_arrival(event) { last_due } else { self.now };
        match event.at {
            At::Absolute(since_start) => (Time::ZERO + since_start, Time::ZERO + since_start),
            At::Relative(later) => (base + later, base + later),
            At::AbsoluteRange(begin, end) => (Time::ZERO + begin, Time::ZERO + end),
            At::RelativeRange(begin, end) => (base + begin, base + end),
            At::Any => (base, Time::NEVER),
        }
    }

    fn event(&mut self, event: &'a Event) -> Result<(), Stop> {
        let (due, due_end) = self.due(event);
        if due >= Time::NEVER {
            return Err(Problem::refused(event.line, "a script of more than 20 hours".to_string()).into());
        }
        match &event.action {
            Action::Outbound(segment) => self.outbound(event, due, due_end, segment)?,
            action => {
                // Assertions about a state come after all other events of the same instant. All other actions come
                // before them.
                let is_code = matches!(action, Action::Code(_));
                self.advance(due, is_code)?;
                match action {
                    Action::Inbound(segment) => self.inbound(event.line, segment)?,
                    Action::Call(call) => self.call(event, call, due)?,
                    Action::Command(command) => shell::apply(command, event.line, &mut self.settings)?,
                    Action::Code(program) => self.code(event.line, program)?,
                    Action::Outbound(_) => {}
                }
            }
        }
        self.last = (due, is_arrival(event));
        if self.is_flooded() {
            let text = format!("{MOST_WAITING} segments that no line expects");
            return Err(Problem::refused(event.line, text).into());
        }
        self.unblock()
    }

    fn is_flooded(&self) -> bool {
        self.connection.as_ref().is_some_and(Connection::is_flooded)
    }

    /// Advances the time to `until`. With `inclusive`, also processes the deadlines at `until` itself.
    fn advance(&mut self, until: Time, inclusive: bool) -> Result<(), Stop> {
        while let Some(deadline) = self.connection.as_ref().and_then(Connection::deadline) {
            if deadline > until || (deadline == until && !inclusive) || self.is_flooded() {
                break;
            }
            self.wake(deadline);
            self.unblock()?;
        }
        self.now = self.now.max(until);
        Ok(())
    }

    fn wake(&mut self, deadline: Time) {
        self.now = self.now.max(deadline);
        if let Some(connection) = &mut self.connection {
            connection.on_deadline(self.now);
        }
    }

    fn new_connection(&self) -> Connection {
        let mut connection = Connection::new(&self.settings, Outline::of(self.script, self.settings.joined_mss));
        let (nagle, cork) = self.coalescing;
        connection.set_coalescing(self.now, Some(nagle), Some(cork));
        connection
    }

    fn connection(&mut self, line: u32) -> Result<&mut Connection, Stop> {
        self.connection.as_mut().ok_or_else(|| failed(line, "there is no connection yet".to_string()))
    }

    fn inbound(&mut self, line: u32, segment: &Segment) -> Result<(), Stop> {
        if self.connection.is_none() {
            if !segment.flags.syn || self.listener.is_none() {
                return Err(failed(
                    line,
                    "nobody listens and nobody has called connect(): what is it to answer?".to_string(),
                ));
            }
            self.connection = Some(self.new_connection());
        }
        let now = self.now;
        self.connection(line)?.on_segment(now, segment);
        Ok(())
    }

    fn outbound(&mut self, event: &Event, due: Time, due_end: Time, expected: &Segment) -> Result<(), Stop> {
        let line = event.line;
        let tolerance = self.tolerance(due);
        let latest = if due_end == Time::NEVER { Time::NEVER } else { due_end + tolerance };
        let mut joined: Option<(Time, Segment)> = None;
        let outcome = loop {
            match self.next_sent(latest)? {
                None if joined.is_none() => break Err("nothing was sent".to_string()),
                None => break Err("too little was sent".to_string()),
                Some(sent) => {
                    joined = Some(match joined {
                        None => sent,
                        Some((_, together)) => (sent.0, join(&together, sent.1)),
                    });
                }
            }
            let Some((time, together)) = &joined else { continue };
            if together.length >= expected.length || !is_part(together, expected) {
                break compare(expected, together).and_then(|()| self.on_time(*time, due, due_end, tolerance));
            }
        };
        let agrees = outcome.is_ok();
        self.report.rows.push(Row::expected(line, event.at, due, expected, joined.as_ref(), agrees));
        if let Some((time, _)) = &joined {
            self.now = self.now.max(*time);
        }
        outcome.map_err(|text| {
            let time = if event.at == At::Any { String::new() } else { format!(" at {:.6} s", due.as_secs()) };
            let got = joined.map(|(time, sent)| format!("\n  got      > {sent} at {:.6} s", time.as_secs()));
            failed(line, format!("{text}\n  expected > {expected}{time}{}", got.unwrap_or_default()))
        })
    }

    /// The next segment that was sent or will be sent by `latest`.
    fn next_sent(&mut self, latest: Time) -> Result<Option<(Time, Segment)>, Stop> {
        loop {
            let Some(connection) = &mut self.connection else { return Ok(None) };
            if let Some(sent) = connection.take_sent() {
                return Ok(Some(sent));
            }
            match connection.deadline() {
                Some(deadline) if deadline <= latest => {
                    self.wake(deadline);
                    self.unblock()?;
                }
                _ => return Ok(None),
            }
        }
    }

    /// How far a time may be off: a fixed span, or a share of the time since the event before.
    fn tolerance(&self, due: Time) -> Duration {
        self.settings.tolerance.max((due - self.last.0).scale(self.settings.tolerance_share))
    }

    fn on_time(&self, sent: Time, due: Time, due_end: Time, tolerance: Duration) -> Result<(), String> {
        if due_end == Time::NEVER || (sent + tolerance >= due && sent <= due_end + tolerance) {
            return Ok(());
        }
        let (sign, off) = if sent < due { ("early", due - sent) } else { ("late", sent - due_end) };
        Err(format!("{:.6} s too {sign}, with a tolerance of {:.6} s", off.as_secs(), tolerance.as_secs()))
    }

    fn code(&mut self, line: u32, program: &super::code::Program) -> Result<(), Stop> {
        let connection = self.connection.as_ref();
        let value = |name: &str| match connection {
            Some(connection) => info::value(connection, name),
            None => info::constant(name),
        };
        let mut names = Names { own: &mut self.names, connection: &value, known: &info::NAMES };
        program.run(&mut names).map_err(|failure| match failure {
            CodeFailure::Assertion(at, text) => failed(at, text),
            CodeFailure::Unknown(at, text) => failed(at.max(line), text),
        })
    }

    fn call(&mut self, event: &'a Event, call: &'a Call, due: Time) -> Result<(), Stop> {
        let line = event.line;
        let action = understand(call, line)?;
        if let Some(blocked) = &self.blocked {
            return Err(failed(line, format!("{}() of line {} has not returned", blocked.call.name, blocked.line)));
        }
        self.begin(line, call, &action)?;
        let result = self.result(call, &action);
        match (call.returns_after, result) {
            (None, Some(result)) => compare_result(line, call, result),
            (None, None) => Err(failed(line, format!("{}() would wait: there is nothing for it yet", call.name))),
            (Some(after), _) => {
                // Counted from the same point as the beginning.
                let returns = match event.at {
                    At::Relative(later) => due - later + after,
                    _ => Time::ZERO + after,
                };
                self.blocked = Some(Blocked { line, call, action, returns });
                Ok(())
            }
        }
    }

    /// Performs the immediate part of a call.
    fn begin(&mut self, line: u32, call: &Call, action: &CallAction) -> Result<(), Stop> {
        let now = self.now;
        match action {
            CallAction::Connect if self.connection.is_some() => {}
            CallAction::Connect => {
                let mut connection = self.new_connection();
                connection.open(now);
                self.connection = Some(connection);
            }
            CallAction::Write(_, bytes, more) => {
                let connection = self.connection(line)?;
                if connection.phase() != Phase::Reset && !connection.has_closed() {
                    connection.write(now, *bytes, *more);
                }
            }
            CallAction::Close(descriptor) => {
                if Some(*descriptor) == self.listener {
                    return Ok(());
                }
                match self.connection.as_mut() {
                    Some(connection) if connection.phase() == Phase::Established => {
                        if connection.readable() > 0 {
                            connection.abort(now)
                        } else {
                            connection.finish(now)
                        }
                    }
                    Some(connection) if connection.phase() == Phase::SynSent => connection.forget(),
                    _ => {}
                }
            }
            CallAction::Shutdown { sending, reading } => {
                self.reads_nothing |= reading;
                if *sending {
                    self.connection(line)?.finish(now);
                }
            }
            CallAction::SegmentSize(size) => {
                if self.connection.is_some() {
                    let text = "TCP_MAXSEG of a connection that has begun".to_string();
                    return Err(Problem::refused(line, text).into());
                }
                self.settings.mss = *size;
            }
            CallAction::SocketError(expected) => {
                if self.connection.as_ref().is_some_and(|connection| connection.phase() == Phase::Reset) {
                    return Err(Problem::refused(line, "SO_ERROR of a connection that was reset".to_string()).into());
                }
                if *expected == Some(false) {
                    return Err(failed(line, "there is no error: SO_ERROR is 0".to_string()));
                }
            }
            CallAction::Nagle(on) => self.set_coalescing(Some(*on), None),
            CallAction::Cork(on) => self.set_coalescing(None, Some(*on)),
            CallAction::NonBlocking(descriptor, on) => {
                if *on {
                    self.non_blocking.insert(*descriptor);
                } else {
                    self.non_blocking.remove(descriptor);
                }
            }
            CallAction::Nothing if call.name == "listen" => self.listener = descriptor(call),
            _ => {}
        }
        Ok(())
    }

    fn set_coalescing(&mut self, nagle: Option<bool>, cork: Option<bool>) {
        self.coalescing = (nagle.unwrap_or(self.coalescing.0), cork.unwrap_or(self.coalescing.1));
        if let Some(connection) = &mut self.connection {
            connection.set_coalescing(self.now, nagle, cork);
        }
    }

    /// The result of a call now: a value or an error; `None` while it blocks.
    fn result(&mut self, call: &Call, action: &CallAction) -> Option<Result<i64, &'static str>> {
        let would_wait = |runner: &Runner<'_>, descriptor: i64| {
            (runner.non_blocking.contains(&descriptor) && call.returns_after.is_none()).then_some(Err("EAGAIN"))
        };
        let phase = self.connection.as_ref().map(Connection::phase);
        match action {
            CallAction::Connect => match phase {
                Some(Phase::Established) => Some(Ok(0)),
                Some(Phase::Reset) => Some(Err("ECONNREFUSED")),
                _ if descriptor(call).is_some_and(|descriptor| self.non_blocking.contains(&descriptor)) => {
                    Some(Err("EINPROGRESS"))
                }
                _ => None,
            },
            CallAction::Accept => match phase {
                Some(Phase::Established | Phase::Reset | Phase::Gone) if !self.accepted => {
                    self.accepted = true;
                    Some(Ok(call.result.unwrap_or(0).max(0)))
                }
                _ => descriptor(call).and_then(|descriptor| would_wait(self, descriptor)),
            },
            CallAction::Write(_, bytes, _) => match (&self.connection, phase) {
                (_, Some(Phase::Reset | Phase::Gone)) => Some(Err("EPIPE")),
                (Some(connection), _) if connection.has_closed() => Some(Err("EPIPE")),
                _ => Some(Ok(*bytes as i64)),
            },
            CallAction::Read(descriptor, most) => {
                let connection = self.connection.as_mut()?;
                let bytes = connection.read(*most);
                if bytes > 0 || connection.peer_has_closed() || self.reads_nothing {
                    Some(Ok(bytes as i64))
                } else if connection.phase() == Phase::Reset {
                    Some(Err("ECONNRESET"))
                } else {
                    would_wait(self, *descriptor)
                }
            }
            _ => Some(Ok(call.result.unwrap_or(0))),
        }
    }

    /// Lets a blocked call return, if it can. Its time must then agree with the script's time.
    fn unblock(&mut self) -> Result<(), Stop> {
        let Some(blocked) = self.blocked.take() else { return Ok(()) };
        let tolerance = self.settings.tolerance;
        let Blocked { line, call, ref action, returns } = blocked;
        match self.result(call, action) {
            Some(result) => {
                let off = if self.now < returns { returns - self.now } else { self.now - returns };
                if off > tolerance {
                    let (due, now) = (returns.as_secs(), self.now.as_secs());
                    return Err(failed(line, format!("{}() returned at {now:.6} s, not at {due:.6} s", call.name)));
                }
                compare_result(line, call, result)
            }
            None if self.now > returns + tolerance => {
                let due = returns.as_secs();
                Err(failed(line, format!("{}() has not returned at {due:.6} s", call.name)))
            }
            None => {
                self.blocked = Some(blocked);
                Ok(())
            }
        }
    }
}

fn is_arrival(event: &Event) -> bool {
    matches!(event.action, Action::Inbound(_))
}

fn descriptor(call: &Call) -> Option<i64> {
    match call.arguments.first() {
        Some(super::script::Argument::Number(descriptor)) => Some(*descriptor),
        _ => None,
    }
}

fn compare_result(line: u32, call: &Call, got: Result<i64, &'static str>) -> Result<(), Stop> {
    let got_text = match got {
        Ok(value) => value.to_string(),
        Err(error) => format!("-1 {error}"),
    };
    let agrees = match (call.result, &call.error, got) {
        (None, _, _) => true,
        (Some(-1), None, Err(_)) => true,
        (Some(-1), Some(wanted), Err(error)) => wanted == error || (error == "EPIPE" && wanted == "ECONNRESET"),
        (Some(wanted), None, Ok(value)) => wanted == value,
        _ => false,
    };
    if agrees {
        return Ok(());
    }
    let error = call.error.as_ref().map(|error| format!(" {error}")).unwrap_or_default();
    let wanted = call.result.map_or("...".to_string(), |value| value.to_string());
    Err(failed(line, format!("{}() returned {got_text}, not {wanted}{error}", call.name)))
}

/// Greatest payload of an IPv4 packet with the headers, bytes.
const LONGEST_PACKET: u32 = 65_535 - 40;

/// Refuses what is no descriptor, and one that no call of the script has returned, or that it has closed.
fn check_descriptor(call: &Call, line: u32, open: &mut BTreeSet<i64>) -> Result<(), Problem> {
    if call.name != "socket" {
        let Some(used) = descriptor(call) else {
            return Err(Problem::syntax(line, format!("{}() needs a descriptor", call.name)));
        };
        if !open.contains(&used) {
            let known: Vec<String> = open.iter().map(ToString::to_string).collect();
            let known = if known.is_empty() { "none".to_string() } else { known.join(", ") };
            return Err(Problem::syntax(line, format!("{}({used}): open descriptors are: {known}", call.name)));
        }
    }
    match (call.name.as_str(), call.result, descriptor(call)) {
        ("socket" | "accept", Some(result @ 0..), _) => _ = open.insert(result),
        ("close", _, Some(closed)) => _ = open.remove(&closed),
        _ => {}
    }
    Ok(())
}

/// Refuses unsupported features before the run, so that a script does not stop half-way.
fn check(script: &Script, settings: &Settings) -> Result<(), Problem> {
    let mut scratch = settings.clone();
    let mut set = BTreeSet::new();
    let mut sockets = 0;
    let mut open = BTreeSet::new();
    for event in &script.events {
        match &event.action {
            Action::Call(call) => {
                understand(call, event.line)?;
                sockets += u32::from(call.name == "socket");
                if sockets > 1 {
                    return Err(Problem::refused(event.line, "a second socket: there is one connection".to_string()));
                }
                check_descriptor(call, event.line, &mut open)?;
            }
            Action::Command(command) => shell::apply(command, event.line, &mut scratch)?,
            Action::Code(program) => {
                set.extend(program.sets());
                for (line, name) in program.names() {
                    if !set.contains(name) && !info::NAMES.contains(&name) {
                        return Err(Problem::refused(line, format!("{name} in code")));
                    }
                }
            }
            Action::Inbound(segment) if segment.length > LONGEST_PACKET => {
                let text = format!("a packet of {} bytes: IP carries at most {LONGEST_PACKET}", segment.length);
                return Err(Problem::refused(event.line, text));
            }
            Action::Outbound(segment) if segment.window.is_some() && !segment.flags.rst => {
                let text = "win of a packet that is sent: the receiver's buffer has no limits".to_string();
                return Err(Problem::refused(event.line, text));
            }
            _ => {}
        }
    }
    Ok(())
}
