//! Tokens to a script.

use super::Problem;
use super::code::Program;
use super::lexer::{Kind, Token, tokens};
use super::script::{Action, Argument, At, Call, Event, Script, Setting};
use super::wire::{Ecn, Flags, Segment, TcpOption};
use crate::units::Duration;

/// Parses a script.
///
/// # Errors
/// The first construct that is not of the language, or that needs a feature that the simulator does not have.
pub fn parse(text: &str) -> Result<Script, Problem> {
    let lexed = tokens(text)?;
    let mut parser = Parser { tokens: lexed.tokens, position: 0 };
    let options = parser.options()?;
    let mut events = Vec::new();
    if let Some(Kind::Command(command)) = parser.peek() {
        let (line, action) = (parser.line(), Action::Command(command.clone()));
        parser.position += 1;
        events.push(Event { line, at: At::Relative(Duration::ZERO), action });
    }
    while parser.peek().is_some() {
        events.push(parser.event()?);
    }
    Ok(Script { options, settings: lexed.settings, events })
}

struct Parser {
    tokens: Vec<Token>,
    position: usize,
}

/// The nesting of arguments that a call may have.
const MOST_NESTED: u32 = 16;

impl Parser {
    fn peek(&self) -> Option<&Kind> {
        self.tokens.get(self.position).map(|token| &token.kind)
    }

    fn peek_after(&self, ahead: usize) -> Option<&Kind> {
        self.tokens.get(self.position + ahead).map(|token| &token.kind)
    }

    /// The line of the next token, or of the last.
    fn line(&self) -> u32 {
        self.tokens.get(self.position).or(self.tokens.last()).map_or(1, |token| token.line)
    }

    fn next(&mut self) -> Option<Kind> {
        let kind = self.peek().cloned();
        self.position += usize::from(kind.is_some());
        kind
    }

    fn wanted<T>(&self, what: &str) -> Result<T, Problem> {
        let found = match self.peek() {
            None => "the end of the script".to_string(),
            Some(Kind::Integer(number)) => number.to_string(),
            Some(Kind::Decimal(text) | Kind::Word(text)) => text.clone(),
            Some(Kind::Text(text)) => format!("\"{text}\""),
            Some(Kind::Command(_)) => "a command in backticks".to_string(),
            Some(Kind::Code(_)) => "%{".to_string(),
            Some(Kind::Option(name)) => format!("--{name}"),
            Some(Kind::Ellipsis) => "...".to_string(),
            Some(Kind::Sign(sign)) => sign.to_string(),
        };
        Err(Problem::syntax(self.line(), format!("{found}: here should be {what}")))
    }

    fn takes_sign(&mut self, sign: char) -> bool {
        let is_next = self.peek() == Some(&Kind::Sign(sign));
        self.position += usize::from(is_next);
        is_next
    }

    fn sign(&mut self, sign: char) -> Result<(), Problem> {
        if self.takes_sign(sign) { Ok(()) } else { self.wanted(&format!("\"{sign}\"")) }
    }

    fn takes_word(&mut self, word: &str) -> bool {
        let is_next = matches!(self.peek(), Some(Kind::Word(next)) if next == word);
        self.position += usize::from(is_next);
        is_next
    }

    fn word(&mut self, what: &str) -> Result<String, Problem> {
        match self.peek() {
            Some(Kind::Word(word)) => {
                let word = word.clone();
                self.position += 1;
                Ok(word)
            }
            _ => self.wanted(what),
        }
    }

    fn number(&mut self, what: &str) -> Result<u32, Problem> {
        self.number_to(u32::MAX, what)
    }

    fn number_to(&mut self, most: u32, what: &str) -> Result<u32, Problem> {
        match self.peek() {
            Some(Kind::Integer(number)) if (0..=i64::from(most)).contains(number) => {
                let number = *number as u32;
                self.position += 1;
                Ok(number)
            }
            _ => self.wanted(&format!("{what} (0 to {most})")),
        }
    }

    fn options(&mut self) -> Result<Vec<Setting>, Problem> {
        let mut options = Vec::new();
        while let Some(Kind::Option(name)) = self.peek() {
            let (line, name) = (self.line(), name.clone());
            self.position += 1;
            let mut value = String::new();
            if self.takes_sign('=') {
                value = match self.next() {
                    Some(Kind::Integer(number)) => number.to_string(),
                    Some(Kind::Decimal(text) | Kind::Word(text) | Kind::Text(text)) => text,
                    _ => return self.wanted("the option's value"),
                };
                // An IPv6 address: skips further tokens of the same line, because they are not used.
                while self.tokens.get(self.position).is_some_and(|token| {
                    name.ends_with("_ip")
                        && token.line == line
                        && !matches!(token.kind, Kind::Option(_) | Kind::Command(_))
                }) {
                    self.position += 1;
                }
            }
            options.push(Setting { line, name, value });
        }
        Ok(options)
    }

    fn event(&mut self) -> Result<Event, Problem> {
        let line = self.line();
        // A command at the end needs no time.
        if let Some(Kind::Command(command)) = self.peek() {
            let action = Action::Command(command.clone());
            self.position += 1;
            return Ok(Event { line, at: At::Any, action });
        }
        let at = self.at()?;
        let line = self.line();
        let action = match self.peek() {
            Some(Kind::Sign('<')) => Action::Inbound(self.arriving_packet()?),
            Some(Kind::Sign('>')) => Action::Outbound(self.packet()?),
            Some(Kind::Command(command)) => {
                let command = command.clone();
                self.position += 1;
                Action::Command(command)
            }
            Some(Kind::Code(code)) => {
                let program = Program::parse(code, line)?;
                self.position += 1;
                Action::Code(program)
            }
            Some(Kind::Word(_) | Kind::Ellipsis) => Action::Call(self.call()?),
            _ => return self.wanted("a packet (< or >), a system call, a command in backticks or %{ code }%"),
        };
        let is_point = matches!(at, At::Absolute(_) | At::Relative(_));
        if !is_point && !matches!(action, Action::Outbound(_)) {
            let text =
                "\"*\" and spans of time are for segments that must be sent (>); here should be a time such as +.1";
            return Err(Problem::syntax(line, text.to_string()));
        }
        Ok(Event { line, at, action })
    }

    fn at(&mut self) -> Result<At, Problem> {
        if self.takes_sign('*') {
            return Ok(At::Any);
        }
        let relative = self.takes_sign('+');
        let begin = self.time()?;
        if !self.takes_sign('~') {
            return Ok(if relative { At::Relative(begin) } else { At::Absolute(begin) });
        }
        if relative {
            self.sign('+')?;
        }
        let end = self.time()?;
        if end < begin {
            return Err(Problem::syntax(self.line(), "a span of time that ends before it begins".to_string()));
        }
        Ok(if relative { At::RelativeRange(begin, end) } else { At::AbsoluteRange(begin, end) })
    }

    fn time(&mut self) -> Result<Duration, Problem> {
        /// Seconds that a script may last: more than any, and less than [`crate::units::Time`] holds.
        const LONGEST: f64 = 36_000.0;
        let seconds = match self.peek() {
            Some(Kind::Integer(seconds)) => *seconds as f64,
            Some(Kind::Decimal(text)) => text.parse().unwrap_or(f64::NAN),
            _ => return self.wanted("a time in seconds, such as 0, +0 or +.100"),
        };
        if !(0.0..=LONGEST).contains(&seconds) {
            return self.wanted("a time between 0 and 36000 seconds");
        }
        self.position += 1;
        Ok(Duration::from_micros((seconds * 1e6).round() as u64))
    }

    /// A packet that is to be made, so that nothing of it may be left open.
    fn arriving_packet(&mut self) -> Result<Segment, Problem> {
        let line = self.line();
        let segment = self.packet()?;
        let open = match segment {
            Segment { options: None, .. } => "<...>",
            Segment { ecn: Some(Ecn::Capable), .. } => "[ect01]",
            Segment { window: None, .. } => "no window",
            _ => return Ok(segment),
        };
        Err(Problem::syntax(line, format!("{open} is for segments that must be sent (>): say what this one has")))
    }

    fn packet(&mut self) -> Result<Segment, Problem> {
        self.position += 1; // the direction
        let mut ecn = None;
        if self.takes_sign('[') {
            ecn = Some(self.ip_information(']')?);
        } else if self.takes_sign('(') {
            ecn = Some(self.ip_information(')')?);
        }
        self.refuse_other_protocols()?;
        if let (Some(Kind::Integer(_)), Some(Kind::Sign('>'))) = (self.peek(), self.peek_after(1)) {
            return Err(Problem::refused(self.line(), "ports in a packet: there is one connection".to_string()));
        }
        let flags = self.flags()?;
        let (seq, end, length) = self.sequence()?;
        if seq.wrapping_add(length) != end {
            return Err(Problem::syntax(
                self.line(),
                format!("{seq}:{end}({length}): the end is not the start and the length together"),
            ));
        }
        let mut ack = flags.ack.then_some(0); // without a number it is zero
        if self.takes_word("ack") {
            if !flags.ack {
                return Err(Problem::syntax(self.line(), "\"ack\" needs \".\" among the flags".to_string()));
            }
            ack = Some(self.number("an acknowledgement number")?);
        }
        let window = if self.takes_word("win") { Some(self.number_to(65_535, "a window")?) } else { None };
        if self.takes_word("urg") {
            return Err(Problem::refused(self.line(), "urg: there is no urgent data".to_string()));
        }
        let options = self.tcp_options()?;
        Ok(Segment { flags, seq, length, ack, window, options, ecn })
    }

    fn ip_information(&mut self, closing: char) -> Result<Ecn, Problem> {
        let line = self.line();
        let ecn = match self.word("what the IP header says, such as ect0")?.as_str() {
            "noecn" => Ecn::NotCapable,
            "ect0" => Ecn::Capable0,
            "ect1" => Ecn::Capable1,
            "ect01" => Ecn::Capable,
            "ce" => Ecn::Experienced,
            other => {
                return Err(Problem::refused(line, format!("{other}: of the IP header there is only the ECN field")));
            }
        };
        self.sign(closing)?;
        Ok(ecn)
    }

    fn refuse_other_protocols(&self) -> Result<(), Problem> {
        let Some(Kind::Word(word)) = self.peek() else { return Ok(()) };
        match word.as_str() {
            "icmp" | "udp" | "ipv4" | "ipv6" | "gre" | "mpls" | "encap" | "UDP" => {
                Err(Problem::refused(self.line(), format!("{word}: packets are TCP, without IP or other headers")))
            }
            _ => Ok(()),
        }
    }

    fn flags(&mut self) -> Result<Flags, Problem> {
        let mut flags = Flags::default();
        if let Some(Kind::Decimal(_)) = self.peek() {
            return Err(Problem::refused(self.line(), "accurate ECN (RFC 9768)".to_string()));
        }
        if self.takes_sign('-') {
            return Ok(flags);
        }
        let mut any = false;
        if let Some(Kind::Word(letters)) = self.peek() {
            let letters = letters.clone();
            for letter in letters.chars() {
                match letter {
                    'S' => flags.syn = true,
                    'F' => flags.fin = true,
                    'R' => flags.rst = true,
                    'P' => flags.psh = true,
                    'E' => flags.ece = true,
                    'W' => flags.cwr = true,
                    'A' => return Err(Problem::refused(self.line(), "accurate ECN (RFC 9768)".to_string())),
                    'U' => {
                        return Err(Problem::refused(self.line(), "the flag U: there is no urgent data".to_string()));
                    }
                    _ => return self.wanted("flags: letters of SFRPEW, and \".\" for ACK"),
                }
            }
            self.position += 1;
            any = true;
        }
        if let Some(Kind::Decimal(_)) = self.peek() {
            return Err(Problem::refused(self.line(), "accurate ECN (RFC 9768)".to_string()));
        }
        flags.ack = self.takes_sign('.');
        if any || flags.ack { Ok(flags) } else { self.wanted("flags, such as S, \".\", P. or F.") }
    }

    fn sequence(&mut self) -> Result<(u32, u32, u32), Problem> {
        let seq = self.number("a sequence number")?;
        self.sign(':')?;
        let end = self.number("a sequence number")?;
        self.sign('(')?;
        let length = self.number("a length")?;
        self.sign(')')?;
        Ok((seq, end, length))
    }

    fn tcp_options(&mut self) -> Result<Option<Vec<TcpOption>>, Problem> {
        let mut options = Vec::new();
        if !self.takes_sign('<') {
            return Ok(Some(options));
        }
        if self.peek() == Some(&Kind::Ellipsis) {
            self.position += 1;
            self.sign('>')?;
            return Ok(None);
        }
        let line = self.line();
        loop {
            options.push(self.tcp_option()?);
            if !self.takes_sign(',') {
                self.sign('>')?;
                break;
            }
        }
        let length: usize = options.iter().map(TcpOption::length).sum();
        let expectation = match length {
            41.. => "a header has room for 40".to_string(),
            _ if !length.is_multiple_of(4) => format!("must be a multiple of 4, as with {} nop more", 4 - length % 4),
            _ => return Ok(Some(options)),
        };
        Err(Problem::syntax(line, format!("the options have {length} bytes: {expectation}")))
    }

    fn tcp_option(&mut self) -> Result<TcpOption, Problem> {
        let line = self.line();
        let name = self.word("an option, such as mss 1460, sackOK, nop or sack 1:1001")?;
        Ok(match name.as_str() {
            "nop" | "eol" => TcpOption::Padding,
            "mss" => TcpOption::Mss(self.number_to(65_535, "the maximum segment size")?),
            "wscale" => TcpOption::WindowScale(self.number_to(255, "the window's shift")?),
            "sackOK" => TcpOption::SackPermitted,
            "sack" => {
                let mut blocks = Vec::new();
                while let (Some(Kind::Integer(_)), Some(Kind::Sign(':'))) = (self.peek(), self.peek_after(1)) {
                    let start = self.number("a sequence number")?;
                    self.position += 1;
                    blocks.push((start, self.number("a sequence number")?));
                }
                if blocks.is_empty() {
                    return self.wanted("a SACK block, such as 1001:2001");
                }
                TcpOption::Sack(blocks)
            }
            "TS" => {
                if !self.takes_word("val") {
                    return self.wanted("\"val\"");
                }
                let value = self.number("a timestamp")?;
                if !self.takes_word("ecr") {
                    return self.wanted("\"ecr\"");
                }
                TcpOption::Timestamp { value, echo: self.number("a timestamp")? }
            }
            "FO" | "FOEXP" => return Err(Problem::refused(line, "TCP fast open".to_string())),
            "md5" => return Err(Problem::refused(line, "md5: segments are not signed".to_string())),
            "ECN" => return Err(Problem::refused(line, "accurate ECN (RFC 9768)".to_string())),
            other => return Err(Problem::refused(line, format!("the TCP option {other}"))),
        })
    }

    fn call(&mut self) -> Result<Call, Problem> {
        let mut returns_after = None;
        if self.peek() == Some(&Kind::Ellipsis) {
            self.position += 1;
            returns_after = Some(self.time()?);
        }
        let name = self.word("the name of a system call")?;
        self.sign('(')?;
        let arguments = self.arguments(')', 0)?;
        self.sign('=')?;
        let mut call = Call { name, arguments, returns_after, result: None, error: None };
        let before = self.position;
        match self.next() {
            Some(Kind::Integer(value)) => call.result = Some(value),
            Some(Kind::Ellipsis | Kind::Sign('?')) => {}
            _ => {
                self.position = before;
                return self.wanted("what the call returns: a number, or ...");
            }
        }
        if let Some(Kind::Word(error)) = self.peek() {
            call.error = Some(error.clone());
            self.position += 1;
            if self.peek() != Some(&Kind::Sign('(')) {
                return self.wanted("what the error means, such as (Resource temporarily unavailable)");
            }
        }
        if self.peek() == Some(&Kind::Sign('(')) {
            self.note()?; // "(Operation now in progress)", "(flags O_RDWR)"
        }
        Ok(call)
    }

    fn note(&mut self) -> Result<(), Problem> {
        while !self.takes_sign(')') {
            if self.next().is_none() {
                return self.wanted("\")\"");
            }
        }
        Ok(())
    }

    fn arguments(&mut self, closing: char, depth: u32) -> Result<Vec<Argument>, Problem> {
        let mut arguments = Vec::new();
        if self.takes_sign(closing) {
            return Ok(arguments);
        }
        loop {
            arguments.push(self.argument(depth)?);
            if !self.takes_sign(',') {
                self.sign(closing)?;
                return Ok(arguments);
            }
        }
    }

    fn argument(&mut self, depth: u32) -> Result<Argument, Problem> {
        if depth > MOST_NESTED {
            return self.wanted("fewer brackets within brackets");
        }
        let before = self.position;
        let first = match self.next() {
            Some(Kind::Ellipsis) => Argument::Any,
            Some(Kind::Integer(number)) => Argument::Number(number),
            Some(Kind::Text(_)) => {
                let continued = self.peek() == Some(&Kind::Ellipsis);
                self.position += usize::from(continued);
                Argument::Text
            }
            Some(Kind::Word(word)) if self.peek() == Some(&Kind::Sign('(')) => {
                self.position += 1;
                self.arguments(')', depth + 1)?; // htons(80), inet_addr("...")
                Argument::Names(vec![word])
            }
            Some(Kind::Word(word)) => {
                let mut names = vec![word];
                while self.takes_sign('|') {
                    match self.next() {
                        Some(Kind::Word(word)) => names.push(word),
                        Some(Kind::Integer(number)) => names.push(number.to_string()),
                        _ => return self.wanted("a constant's name"),
                    }
                }
                Argument::Names(names)
            }
            Some(Kind::Sign('[')) => Argument::List(self.arguments(']', depth + 1)?),
            Some(Kind::Sign('{')) => {
                self.structure(depth + 1)?;
                Argument::Structure
            }
            _ => {
                self.position = before;
                return self.wanted("an argument");
            }
        };
        Ok(first)
    }

    fn structure(&mut self, depth: u32) -> Result<(), Problem> {
        if depth > MOST_NESTED {
            return self.wanted("fewer brackets within brackets");
        }
        loop {
            match self.next() {
                Some(Kind::Sign('}')) => return Ok(()),
                Some(Kind::Sign('{')) => self.structure(depth + 1)?,
                Some(_) => {}
                None => return self.wanted("\"}\""),
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn one(line: &str) -> Event {
        let mut script = parse(line).expect(line);
        assert_eq!(script.events.len(), 1, "{line}");
        script.events.remove(0)
    }

    fn problem(text: &str) -> Problem {
        parse(text).expect_err(text)
    }

    #[test]
    fn times_are_absolute_or_relative_points_or_spans() {
        let millis = Duration::from_millis;
        for (text, at) in [
            ("0.25", At::Absolute(millis(250))),
            ("+.1", At::Relative(millis(100))),
            ("1~1.5", At::AbsoluteRange(millis(1000), millis(1500))),
            ("+.3~+.31", At::RelativeRange(millis(300), millis(310))),
            ("*", At::Any),
        ] {
            assert_eq!(one(&format!("{text} > . 1:1(0) ack 1")).at, at, "{text}");
        }
    }

    #[test]
    fn a_packet_has_flags_sequence_window_and_options() {
        let event = one("+0 > [ect0] PW. 1001:2001(1000) ack 1 win 257 <nop,nop,sack 5:6 8:9,nop,nop,TS val 3 ecr 4>");
        let Action::Outbound(segment) = &event.action else { panic!("{event:?}") };
        assert_eq!(segment.to_string(), "[ect0] PW. 1001:2001(1000) ack 1 win 257 <sack 5:6 8:9,TS val 3 ecr 4>");
        let Action::Outbound(any) = one("0 > S. 0:0(0) ack 1 <...>").action else { panic!() };
        assert_eq!((any.options, any.window), (None, None));
    }

    #[test]
    fn a_call_has_arguments_a_result_and_perhaps_an_error_and_an_end() {
        let event = one("+0...0.2 connect(3, {sa_family=AF_INET, sin_port=htons(80)}, [16, A|B]) = -1 EAGAIN (Try it)");
        let Action::Call(call) = event.action else { panic!() };
        assert_eq!((call.name.as_str(), call.result, call.error.as_deref()), ("connect", Some(-1), Some("EAGAIN")));
        assert_eq!(call.returns_after, Some(Duration::from_millis(200)));
        let names = Argument::Names(vec!["A".into(), "B".into()]);
        assert_eq!(call.arguments[2], Argument::List(vec![Argument::Number(16), names]));
    }

    #[test]
    fn comments_options_and_settings_stand_before_events() {
        let script = parse(
            "// anabranch: stack=rfc f_rto=true\n--tolerance_usecs=10000 // loose\n/* two\nlines */\n`sysctl -q a=1`\n0 close(3) = 0",
        );
        let script = script.unwrap();
        assert_eq!((script.settings[1].name.as_str(), script.settings[1].value.as_str()), ("f_rto", "true"));
        assert_eq!(script.options[0].value, "10000");
        let beside = parse("--local_ip=fd3d:0a0b::1\n--mtu=1500 0 close(3) = 0").unwrap();
        assert_eq!((beside.options.len(), beside.events.len()), (2, 1));
        assert_eq!(script.events.iter().map(|event| event.line).collect::<Vec<_>>(), [5, 6]);
    }

    #[test]
    fn a_mistake_is_named_with_its_line_and_what_would_be_right() {
        let text = problem("0 close(3) = 0\n+0 > P. 1:1001(999) ack 1").to_string();
        assert_eq!(text, "line 2: 1:1001(999): the end is not the start and the length together");
        assert_eq!(problem("0 socket(").to_string(), "line 1: the end of the script: here should be an argument");
        assert!(problem("0 > Q. 1:1(0) ack 1").to_string().contains("flags"));
        assert!(problem("0 close(3) = 0 %{ assert").to_string().contains("}%"));
    }

    /// As packetdrill's parser does.
    #[test]
    fn what_only_an_expectation_may_leave_open_is_refused_elsewhere() {
        for text in ["* close(3) = 0", "1~2 < . 1:1(0) ack 1 win 9", "+1~+2 `true`", "* %{ a = 1 }%"] {
            assert!(problem(text).to_string().contains("spans of time are for segments that must be sent"), "{text}");
        }
        for (text, open) in [
            ("0 < S 0:0(0) win 9 <...>", "<...>"),
            ("0 < [ect01] . 1:1(0) ack 1 win 9", "[ect01]"),
            ("0 < . 1:1(0) ack 1", "no window"),
        ] {
            assert!(problem(text).to_string().starts_with(&format!("line 1: {open} is for segments")), "{text}");
        }
    }

    #[test]
    fn numbers_fit_in_their_fields() {
        for (text, most) in [
            ("0 < . 1:1(0) ack 1 win 65536", "a window (0 to 65535)"),
            ("0 < S 0:0(0) win 9 <mss 65536>", "the maximum segment size (0 to 65535)"),
            ("0 < S 0:0(0) win 9 <wscale 256>", "the window's shift (0 to 255)"),
            ("0 < . 4294967296:4294967296(0) ack 1", "a sequence number (0 to 4294967295)"),
        ] {
            assert!(problem(text).to_string().contains(most), "{text}");
        }
    }

    /// As in packetdrill, which makes the bytes of every segment of a script.
    #[test]
    fn options_fill_whole_words_of_a_header() {
        for (options, expectation) in [
            ("mss 1000,sackOK", "the options have 6 bytes: must be a multiple of 4, as with 2 nop more"),
            ("sack 1:2 3:4 5:6 7:8 9:10,nop,nop", "the options have 44 bytes: a header has room for 40"),
        ] {
            assert_eq!(problem(&format!("0 > . 1:1(0) ack 1 <{options}>")).text, expectation);
        }
    }

    /// Without it, a stray word would be taken for the error's name.
    #[test]
    fn the_name_of_an_error_has_its_meaning_behind_it() {
        let text = "0 read(3, ..., 9) = 9 win\n+0 close(3) = 0";
        assert!(problem(text).text.contains("here should be what the error means"), "{}", problem(text));
    }

    #[test]
    fn what_a_simulator_has_not_got_is_refused_by_name() {
        for (text, name) in [
            ("0 < icmp unreachable frag_needed mtu 1400", "icmp"),
            ("0 < S 0:0(0) win 1 <mss 1000,FO>", "fast open"),
            ("0 < . 1:1(0) ack 1 win 1 urg 3", "urgent"),
            ("0 < SA. 0:0(0) ack 1", "accurate ECN"),
        ] {
            let refused = problem(text);
            assert!(refused.refused && refused.text.contains(name), "{text}: {refused}");
        }
    }
}
