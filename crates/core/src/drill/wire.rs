//! Segments as scripts write them: flags, sequence numbers of bytes, options.

use std::fmt;

/// TCP flags, by the letters of the language.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Flags {
    /// `S`.
    pub syn: bool,
    /// `F`.
    pub fin: bool,
    /// `R`.
    pub rst: bool,
    /// `P`; not compared.
    pub psh: bool,
    /// `.`.
    pub ack: bool,
    /// `E`: echo of congestion experienced (RFC 3168).
    pub ece: bool,
    /// `W`: congestion window reduced (RFC 3168).
    pub cwr: bool,
}

/// The ECN field of the IP header.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Ecn {
    /// `noecn`.
    NotCapable,
    /// `ect0`.
    Capable0,
    /// `ect1`.
    Capable1,
    /// `ect01`: either of the two.
    Capable,
    /// `ce`.
    Experienced,
}

/// A TCP option.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum TcpOption {
    /// `nop` and `eol`: padding, not compared.
    Padding,
    /// `mss N`.
    Mss(u32),
    /// `wscale N`.
    WindowScale(u32),
    /// `sackOK`.
    SackPermitted,
    /// `sack START:END ...`.
    Sack(Vec<(u32, u32)>),
    /// `TS val N ecr N`.
    Timestamp {
        /// The sender's clock.
        value: u32,
        /// The peer's clock, echoed.
        echo: u32,
    },
}

impl TcpOption {
    /// The order in which options are shown and compared.
    pub fn rank(&self) -> u32 {
        match self {
            TcpOption::Mss(_) => 0,
            TcpOption::SackPermitted => 1,
            TcpOption::Timestamp { .. } => 2,
            TcpOption::WindowScale(_) => 3,
            TcpOption::Sack(_) => 4,
            TcpOption::Padding => 5,
        }
    }
}

impl TcpOption {
    /// Bytes in the header.
    pub fn length(&self) -> usize {
        match self {
            TcpOption::Padding => 1,
            TcpOption::SackPermitted => 2,
            TcpOption::WindowScale(_) => 3,
            TcpOption::Mss(_) => 4,
            TcpOption::Sack(blocks) => 2 + 8 * blocks.len(),
            TcpOption::Timestamp { .. } => 10,
        }
    }
}

/// A TCP segment.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Segment {
    /// Flags of the segment.
    pub flags: Flags,
    /// Sequence number of its first byte.
    pub seq: u32,
    /// Payload bytes.
    pub length: u32,
    /// Acknowledgement number, if the flag is set.
    pub ack: Option<u32>,
    /// The window field; not compared where a script leaves it out.
    pub window: Option<u32>,
    /// The options; `None` for `<...>`: any.
    pub options: Option<Vec<TcpOption>>,
    /// The ECN field; not compared where a script leaves it out.
    pub ecn: Option<Ecn>,
}

impl Segment {
    /// The sequence number behind its last byte, SYN and FIN not counted.
    pub fn end(&self) -> u32 {
        self.seq.wrapping_add(self.length)
    }

    /// The value of its timestamp, and the echo.
    pub fn timestamp(&self) -> Option<(u32, u32)> {
        self.options.iter().flatten().find_map(|option| match option {
            TcpOption::Timestamp { value, echo } => Some((*value, *echo)),
            _ => None,
        })
    }

    /// Options of the segment without padding.
    pub fn meaningful_options(&self) -> Vec<&TcpOption> {
        self.options.iter().flatten().filter(|option| **option != TcpOption::Padding).collect()
    }
}

impl fmt::Display for Flags {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let letters = [
            (self.syn, 'S'),
            (self.fin, 'F'),
            (self.rst, 'R'),
            (self.psh, 'P'),
            (self.ece, 'E'),
            (self.cwr, 'W'),
            (self.ack, '.'),
        ];
        let text: String = letters.iter().filter(|(set, _)| *set).map(|(_, letter)| *letter).collect();
        formatter.write_str(if text.is_empty() { "-" } else { &text })
    }
}

impl fmt::Display for TcpOption {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            TcpOption::Padding => formatter.write_str("nop"),
            TcpOption::Mss(mss) => write!(formatter, "mss {mss}"),
            TcpOption::WindowScale(shift) => write!(formatter, "wscale {shift}"),
            TcpOption::SackPermitted => formatter.write_str("sackOK"),
            TcpOption::Sack(blocks) => {
                formatter.write_str("sack")?;
                blocks.iter().try_for_each(|(start, end)| write!(formatter, " {start}:{end}"))
            }
            TcpOption::Timestamp { value, echo } => write!(formatter, "TS val {value} ecr {echo}"),
        }
    }
}

impl fmt::Display for Segment {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let ecn = match self.ecn {
            None => "",
            Some(Ecn::NotCapable) => "[noecn] ",
            Some(Ecn::Capable0) => "[ect0] ",
            Some(Ecn::Capable1) => "[ect1] ",
            Some(Ecn::Capable) => "[ect01] ",
            Some(Ecn::Experienced) => "[ce] ",
        };
        write!(formatter, "{ecn}{} {}:{}({})", self.flags, self.seq, self.end(), self.length)?;
        if let Some(ack) = self.ack {
            write!(formatter, " ack {ack}")?;
        }
        if let Some(window) = self.window {
            write!(formatter, " win {window}")?;
        }
        match &self.options {
            None => formatter.write_str(" <...>"),
            Some(_) => {
                let options: Vec<String> = self.meaningful_options().iter().map(ToString::to_string).collect();
                if options.is_empty() { Ok(()) } else { write!(formatter, " <{}>", options.join(",")) }
            }
        }
    }
}
