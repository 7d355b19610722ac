//! Instructions (RFC 9669), decoded once so that the machine decides little.

/// A register that is always zero: operands are `source + immediate`, of which one is zero.
pub const ZERO: u8 = 15;

/// The operation of an instruction.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Code {
    Add64,
    Sub64,
    Mul64,
    Div64,
    Sdiv64,
    Or64,
    And64,
    Lsh64,
    Rsh64,
    Neg64,
    Mod64,
    Smod64,
    Xor64,
    Mov64,
    Movsx64,
    Arsh64,
    Add32,
    Sub32,
    Mul32,
    Div32,
    Sdiv32,
    Or32,
    And32,
    Lsh32,
    Rsh32,
    Neg32,
    Mod32,
    Smod32,
    Xor32,
    Mov32,
    Movsx32,
    Arsh32,
    /// Keeps the low bits; the offset is their number.
    Truncate,
    /// Reverses the bytes of the low bits.
    Reverse,
    /// Takes two places.
    LoadWide,
    Load8,
    Load16,
    Load32,
    Load64,
    LoadSigned8,
    LoadSigned16,
    LoadSigned32,
    Store8,
    Store16,
    Store32,
    Store64,
    Atomic32,
    Atomic64,
    /// Jumps to the instruction at the offset, as all jumps do.
    Jump,
    Eq64,
    Gt64,
    Ge64,
    Set64,
    Ne64,
    Sgt64,
    Sge64,
    Lt64,
    Le64,
    Slt64,
    Sle64,
    Eq32,
    Gt32,
    Ge32,
    Set32,
    Ne32,
    Sgt32,
    Sge32,
    Lt32,
    Le32,
    Slt32,
    Sle32,
    /// A function of ours or of Linux by its number.
    Helper,
    /// A function of the program.
    Local,
    /// A function of the kernel, which the caller of this crate provides.
    Kernel,
    Exit,
    /// Ends the call with a message.
    Fault,
}

/// An instruction.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Instruction {
    pub code: Code,
    pub destination: u8,
    pub source: u8,
    pub offset: i32,
    pub immediate: u64,
}

/// An instruction as the file has it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Raw {
    pub opcode: u8,
    pub destination: u8,
    pub source: u8,
    pub offset: i32,
    pub immediate: i32,
}

impl Raw {
    /// Reads the eight bytes of an instruction.
    pub fn read(bytes: [u8; 8]) -> Raw {
        Raw {
            opcode: bytes[0],
            destination: bytes[1] & 15,
            source: bytes[1] >> 4,
            offset: i16::from_le_bytes([bytes[2], bytes[3]]).into(),
            immediate: i32::from_le_bytes([bytes[4], bytes[5], bytes[6], bytes[7]]),
        }
    }

    /// Whether the instruction is the first half of a 64-bit load of a constant.
    pub fn is_wide(self) -> bool {
        self.opcode == 0x18
    }

    /// Whether the instruction is a call.
    pub fn is_call(self) -> bool {
        self.opcode == 0x85
    }

    /// Whether the instruction's offset is that of a memory access.
    pub fn is_access(self) -> bool {
        matches!(self.opcode & 7, 1..=3)
    }

    /// The bytes that it accesses, if it does.
    pub fn access_size(self) -> Option<u32> {
        self.is_access().then(|| [4, 2, 1, 8][usize::from(self.opcode >> 3 & 3)])
    }

    /// The same access with another size; `None` if there is none.
    pub fn with_access_size(self, size: u32) -> Option<Raw> {
        let code = [4, 2, 1, 8].iter().position(|one| *one == size)? as u8;
        Some(Raw { opcode: self.opcode & !0x18 | code << 3, ..self })
    }

    /// Decodes the instruction at place `index`; `None` if RFC 9669 has no such instruction. For wide constants, the caller adds the
    /// second half.
    pub fn decode(self, index: usize) -> Option<Instruction> {
        let Raw { opcode, destination, source, offset, immediate } = self;
        if destination > 10 || source > 10 {
            return None;
        }
        let is_register = opcode & 8 != 0;
        let mut decoded = Instruction {
            code: Code::Exit,
            destination,
            source: if is_register { source } else { ZERO },
            offset,
            immediate: if is_register { 0 } else { i64::from(immediate) as u64 },
        };
        let target = |offset: i32| i32::try_from(index as i64 + 1 + i64::from(offset)).ok();
        match opcode & 7 {
            class @ (4 | 7) => {
                let is_wide = class == 7;
                decoded.code = arithmetic(opcode >> 4, is_wide, offset)?;
                if opcode >> 4 == 13 {
                    decoded.code = if is_wide || is_register { Code::Reverse } else { Code::Truncate };
                    decoded.offset = matches!(immediate, 16 | 32 | 64).then_some(immediate)?;
                }
                if matches!(decoded.code, Code::Movsx64 | Code::Movsx32) {
                    let most = if is_wide { 32 } else { 16 };
                    (is_register && matches!(offset, 8 | 16 | 32) && offset <= most).then_some(())?;
                }
                writes_register(destination)?;
            }
            class @ (5 | 6) => {
                let is_wide = class == 5;
                match opcode {
                    0x05 => (decoded.code, decoded.offset) = (Code::Jump, target(offset)?),
                    0x06 => (decoded.code, decoded.offset) = (Code::Jump, target(immediate)?),
                    0x85 => {
                        decoded.immediate = u64::from(immediate as u32);
                        decoded.code = match source {
                            0 => Code::Helper,
                            1 => {
                                decoded.offset = target(immediate)?;
                                Code::Local
                            }
                            _ => return None,
                        };
                    }
                    0x95 => decoded.code = Code::Exit,
                    // may_goto: leaves a loop that Linux finds too long. Here such a loop ends as an endless one, so it never jumps.
                    0xe5 if source == 0 => {
                        (decoded.code, decoded.destination, decoded.source) = (Code::Add64, 0, ZERO);
                        decoded.immediate = 0;
                    }
                    _ => (decoded.code, decoded.offset) = (comparison(opcode >> 4, is_wide)?, target(offset)?),
                }
            }
            0 if opcode == 0x18 => {
                writes_register(destination)?;
                decoded.code = Code::LoadWide;
                decoded.immediate = u64::from(immediate as u32);
            }
            1 => {
                writes_register(destination)?;
                decoded.source = source;
                decoded.immediate = 0;
                decoded.code = match opcode {
                    0x71 => Code::Load8,
                    0x69 => Code::Load16,
                    0x61 => Code::Load32,
                    0x79 => Code::Load64,
                    0x91 => Code::LoadSigned8,
                    0x89 => Code::LoadSigned16,
                    0x81 => Code::LoadSigned32,
                    _ => return None,
                };
            }
            class @ (2 | 3) => {
                if class == 3 {
                    (decoded.source, decoded.immediate) = (source, 0);
                } else {
                    (decoded.source, decoded.immediate) = (ZERO, i64::from(immediate) as u64);
                }
                decoded.code = match opcode & 0xf8 {
                    0x70 => Code::Store8,
                    0x68 => Code::Store16,
                    0x60 => Code::Store32,
                    0x78 => Code::Store64,
                    0xc0 if class == 3 => Code::Atomic32,
                    0xd8 if class == 3 => Code::Atomic64,
                    _ => return None,
                };
                if matches!(decoded.code, Code::Atomic32 | Code::Atomic64) {
                    matches!(immediate, 0 | 1 | 0x40 | 0x41 | 0x50 | 0x51 | 0xa0 | 0xa1 | 0xe1 | 0xf1).then_some(())?;
                    decoded.immediate = immediate as u64;
                    if immediate & 1 == 1 {
                        writes_register(if immediate == 0xf1 { 0 } else { source })?;
                    }
                }
            }
            _ => return None,
        }
        Some(decoded)
    }
}

/// Register 10, the frame pointer, is read-only.
fn writes_register(register: u8) -> Option<()> {
    (register < 10).then_some(())
}

fn arithmetic(operation: u8, is_wide: bool, offset: i32) -> Option<Code> {
    use Code::*;
    let (wide, narrow) = match operation {
        0 => (Add64, Add32),
        1 => (Sub64, Sub32),
        2 => (Mul64, Mul32),
        3 if offset == 1 => (Sdiv64, Sdiv32),
        3 => (Div64, Div32),
        4 => (Or64, Or32),
        5 => (And64, And32),
        6 => (Lsh64, Lsh32),
        7 => (Rsh64, Rsh32),
        8 => (Neg64, Neg32),
        9 if offset == 1 => (Smod64, Smod32),
        9 => (Mod64, Mod32),
        10 => (Xor64, Xor32),
        11 if offset == 0 => (Mov64, Mov32),
        11 => (Movsx64, Movsx32),
        12 => (Arsh64, Arsh32),
        13 => (Reverse, Reverse),
        _ => return None,
    };
    Some(if is_wide { wide } else { narrow })
}

fn comparison(operation: u8, is_wide: bool) -> Option<Code> {
    use Code::*;
    let (wide, narrow) = match operation {
        1 => (Eq64, Eq32),
        2 => (Gt64, Gt32),
        3 => (Ge64, Ge32),
        4 => (Set64, Set32),
        5 => (Ne64, Ne32),
        6 => (Sgt64, Sgt32),
        7 => (Sge64, Sge32),
        10 => (Lt64, Lt32),
        11 => (Le64, Le32),
        12 => (Slt64, Slt32),
        13 => (Sle64, Sle32),
        _ => return None,
    };
    Some(if is_wide { wide } else { narrow })
}
