//! The machine: executes instructions (RFC 9669) with every access checked.

use crate::decode::{Code, Instruction, ZERO};
use crate::helpers::{Helper, helper, name};
use crate::link::{FUNCTIONS, MAPS, Program};
use crate::memory::Memory;

/// Jumps and calls that one call may take, of a long program fewer: at most a whole pass over it lies between two jumps. Linux's verifier
/// follows a million instructions.
const MOST_JUMPS: u32 = 1_000_000;
/// Instructions that one call may take, or a few more.
const MOST_INSTRUCTIONS: usize = 1 << 31;

/// Parts of the jumps of a call after which the kernel is asked whether it may go on: at most half a million instructions lie between.
const SLICES: u32 = 1 << 12;

/// Bytes of a frame, and how many frames there are at most (Linux: 512 bytes in all, eight calls).
pub const FRAME: u64 = 512;
/// As [`FRAME`].
pub const MOST_FRAMES: u64 = 8;

/// Bytes that are copied in about the time of a jump.
pub const BYTES_OF_A_JUMP: usize = 64;

/// Iterations of `bpf_loop` at most.
const MOST_ITERATIONS: u32 = 1 << 23;

/// Why a call ended early.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct Fault(pub String);

impl Fault {
    fn new(problem: impl Into<String>) -> Fault {
        Fault(problem.into())
    }
}

/// The kernel functions that a program may call.
pub trait Kernel {
    /// The time since the machine started, nanoseconds.
    fn time_ns(&mut self) -> u64;

    /// The time since the machine started, jiffies.
    fn jiffies(&mut self) -> u64;

    /// A random number.
    fn random(&mut self) -> u32;

    /// Calls a function by its index in [`Program::functions`].
    ///
    /// # Errors
    /// The reason why the call is not possible.
    fn call(&mut self, function: usize, arguments: &[u64; 5], memory: &mut Memory) -> Result<u64, String>;

    /// Takes note that a call under way has taken this number of further jumps; whether it may go on.
    fn may_go_on(&mut self, _jumps: u32) -> bool {
        true
    }
}

/// One call under way.
pub struct Machine<'a> {
    pub program: &'a Program,
    pub memory: &'a mut Memory,
    pub kernel: &'a mut dyn Kernel,
    /// Jumps until the kernel is asked whether the call may go on.
    pub jumps_left: u32,
    /// Jumps that the call may take after these.
    later: u32,
    /// Jumps between two questions.
    slice: u32,
}

type Registers = [u64; 16];

impl<'a> Machine<'a> {
    /// A machine for one call.
    pub fn new(program: &'a Program, memory: &'a mut Memory, kernel: &'a mut dyn Kernel) -> Machine<'a> {
        let most = most_jumps(program);
        let slice = most.div_ceil(SLICES);
        Machine { program, memory, kernel, jumps_left: slice, later: most - slice, slice }
    }

    /// Runs the function at `entry` with these arguments, on the frame that ends at `frame`.
    pub fn run(&mut self, entry: usize, arguments: [u64; 5], frame: u64) -> Result<u64, Fault> {
        let mut callers: Vec<(usize, [u64; 4])> = Vec::new();
        let mut r: Registers = [0; 16];
        r[1..6].copy_from_slice(&arguments);
        r[10] = frame;
        let code = &self.program.code[..];
        let mut jumps_left = self.jumps_left;
        let mut at = entry;
        loop {
            let Some(&Instruction { code: operation, destination, source, offset, immediate }) = code.get(at) else {
                return Err(Fault::new("runs past its last instruction"));
            };
            at += 1;
            let (d, s) = (usize::from(destination & 15), usize::from(source & 15));
            let operand = r[s].wrapping_add(immediate);
            macro_rules! wide {
                (|$a:ident, $b:ident| $value:expr) => {{
                    let ($a, $b) = (r[d], operand);
                    r[d] = $value;
                }};
            }
            macro_rules! narrow {
                (|$a:ident, $b:ident| $value:expr) => {{
                    let ($a, $b) = (r[d] as u32, operand as u32);
                    r[d] = u64::from($value);
                }};
            }
            macro_rules! jump {
                () => {{
                    jumps_left -= 1;
                    if jumps_left == 0 {
                        jumps_left = self.next_slice()?;
                    }
                    at = offset as usize;
                }};
            }
            macro_rules! jump_if {
                ($condition:expr) => {
                    if $condition {
                        jump!();
                    }
                };
            }
            macro_rules! load {
                ($number:ty, $size:literal) => {{
                    let address = r[s].wrapping_add(i64::from(offset) as u64);
                    let bytes = self.memory.load::<$size>(address);
                    let bytes = bytes.ok_or_else(|| self.outside("reads", address, $size, at))?;
                    r[d] = <$number>::from_le_bytes(bytes) as i64 as u64;
                }};
            }
            macro_rules! store {
                ($number:ty) => {{
                    let address = r[d].wrapping_add(i64::from(offset) as u64);
                    let stored = self.memory.store(address, (operand as $number).to_le_bytes());
                    stored.ok_or_else(|| self.outside("writes", address, size_of::<$number>(), at))?;
                }};
            }
            match operation {
                Code::Add64 => wide!(|a, b| a.wrapping_add(b)),
                Code::Sub64 => wide!(|a, b| a.wrapping_sub(b)),
                Code::Mul64 => wide!(|a, b| a.wrapping_mul(b)),
                Code::Div64 => wide!(|a, b| a.checked_div(b).unwrap_or(0)),
                Code::Sdiv64 => wide!(|a, b| if b == 0 { 0 } else { (a as i64).wrapping_div(b as i64) as u64 }),
                Code::Or64 => wide!(|a, b| a | b),
                Code::And64 => wide!(|a, b| a & b),
                Code::Lsh64 => wide!(|a, b| a.wrapping_shl(b as u32)),
                Code::Rsh64 => wide!(|a, b| a.wrapping_shr(b as u32)),
                Code::Neg64 => wide!(|a, _b| a.wrapping_neg()),
                Code::Mod64 => wide!(|a, b| a.checked_rem(b).unwrap_or(a)),
                Code::Smod64 => wide!(|a, b| if b == 0 { a } else { (a as i64).wrapping_rem(b as i64) as u64 }),
                Code::Xor64 => wide!(|a, b| a ^ b),
                Code::Mov64 => r[d] = operand,
                Code::Movsx64 => r[d] = sign_extended(operand, offset),
                Code::Arsh64 => wide!(|a, b| (a as i64).wrapping_shr(b as u32) as u64),
                Code::Add32 => narrow!(|a, b| a.wrapping_add(b)),
                Code::Sub32 => narrow!(|a, b| a.wrapping_sub(b)),
                Code::Mul32 => narrow!(|a, b| a.wrapping_mul(b)),
                Code::Div32 => narrow!(|a, b| a.checked_div(b).unwrap_or(0)),
                Code::Sdiv32 => narrow!(|a, b| if b == 0 { 0 } else { (a as i32).wrapping_div(b as i32) as u32 }),
                Code::Or32 => narrow!(|a, b| a | b),
                Code::And32 => narrow!(|a, b| a & b),
                Code::Lsh32 => narrow!(|a, b| a.wrapping_shl(b)),
                Code::Rsh32 => narrow!(|a, b| a.wrapping_shr(b)),
                Code::Neg32 => narrow!(|a, _b| a.wrapping_neg()),
                Code::Mod32 => narrow!(|a, b| a.checked_rem(b).unwrap_or(a)),
                Code::Smod32 => narrow!(|a, b| if b == 0 { a } else { (a as i32).wrapping_rem(b as i32) as u32 }),
                Code::Xor32 => narrow!(|a, b| a ^ b),
                Code::Mov32 => r[d] = operand & 0xffff_ffff,
                Code::Movsx32 => r[d] = sign_extended(operand, offset) & 0xffff_ffff,
                Code::Arsh32 => narrow!(|a, b| (a as i32).wrapping_shr(b) as u32),
                Code::Truncate => r[d] &= u64::MAX >> (64 - offset),
                Code::Reverse => r[d] = r[d].swap_bytes() >> (64 - offset),
                Code::LoadWide => {
                    r[d] = immediate;
                    at += 1;
                }
                Code::Load8 => load!(u8, 1),
                Code::Load16 => load!(u16, 2),
                Code::Load32 => load!(u32, 4),
                Code::Load64 => load!(u64, 8),
                Code::LoadSigned8 => load!(i8, 1),
                Code::LoadSigned16 => load!(i16, 2),
                Code::LoadSigned32 => load!(i32, 4),
                Code::Store8 => store!(u8),
                Code::Store16 => store!(u16),
                Code::Store32 => store!(u32),
                Code::Store64 => store!(u64),
                Code::Atomic32 | Code::Atomic64 => self.atomic(&mut r, code[at - 1], at)?,
                Code::Jump => jump!(),
                Code::Eq64 => jump_if!(r[d] == operand),
                Code::Gt64 => jump_if!(r[d] > operand),
                Code::Ge64 => jump_if!(r[d] >= operand),
                Code::Set64 => jump_if!(r[d] & operand != 0),
                Code::Ne64 => jump_if!(r[d] != operand),
                Code::Sgt64 => jump_if!(r[d] as i64 > operand as i64),
                Code::Sge64 => jump_if!(r[d] as i64 >= operand as i64),
                Code::Lt64 => jump_if!(r[d] < operand),
                Code::Le64 => jump_if!(r[d] <= operand),
                Code::Slt64 => jump_if!((r[d] as i64) < operand as i64),
                Code::Sle64 => jump_if!(r[d] as i64 <= operand as i64),
                Code::Eq32 => jump_if!(r[d] as u32 == operand as u32),
                Code::Gt32 => jump_if!(r[d] as u32 > operand as u32),
                Code::Ge32 => jump_if!(r[d] as u32 >= operand as u32),
                Code::Set32 => jump_if!(r[d] as u32 & operand as u32 != 0),
                Code::Ne32 => jump_if!(r[d] as u32 != operand as u32),
                Code::Sgt32 => jump_if!(r[d] as i32 > operand as i32),
                Code::Sge32 => jump_if!(r[d] as i32 >= operand as i32),
                Code::Lt32 => jump_if!((r[d] as u32) < operand as u32),
                Code::Le32 => jump_if!(r[d] as u32 <= operand as u32),
                Code::Slt32 => jump_if!((r[d] as i32) < operand as i32),
                Code::Sle32 => jump_if!(r[d] as i32 <= operand as i32),
                Code::Local => {
                    if r[10] + FRAME > self.program.stack + FRAME * MOST_FRAMES {
                        return Err(Fault::new(format!("calls more than {MOST_FRAMES} functions deep")));
                    }
                    callers.push((at, [r[6], r[7], r[8], r[9]]));
                    r[10] = r[10].wrapping_add(FRAME);
                    jump!();
                }
                Code::Exit => match callers.pop() {
                    None => {
                        self.jumps_left = jumps_left;
                        return Ok(r[0]);
                    }
                    Some((back, saved)) => {
                        r[6..10].copy_from_slice(&saved);
                        r[10] = r[10].wrapping_sub(FRAME);
                        at = back;
                    }
                },
                Code::Helper => {
                    self.jumps_left = jumps_left;
                    r[0] = self.help(immediate, [r[1], r[2], r[3], r[4], r[5]], r[10])?;
                    jumps_left = self.jumps_left;
                    debug_assert_eq!(r[usize::from(ZERO)], 0);
                }
                Code::Kernel => {
                    let arguments = [r[1], r[2], r[3], r[4], r[5]];
                    r[0] = self.kernel.call(immediate as usize, &arguments, self.memory).map_err(Fault)?;
                }
                Code::Fault => return Err(Fault(self.program.faults[immediate as usize].clone())),
            }
        }
    }

    #[cold]
    fn outside(&self, verb: &str, address: u64, size: usize, after: usize) -> Fault {
        let place = self.program.place(after - 1);
        Fault(format!("{place} {verb} {size} bytes at address {address:#x}, which it may not"))
    }

    #[inline(never)]
    fn atomic(&mut self, r: &mut Registers, instruction: Instruction, after: usize) -> Result<(), Fault> {
        let Instruction { code, destination, source, offset, immediate } = instruction;
        let (d, s) = (usize::from(destination & 15), usize::from(source & 15));
        let address = r[d].wrapping_add(i64::from(offset) as u64);
        let size = if code == Code::Atomic64 { 8 } else { 4 };
        if !self.memory.is_writable(address, size) {
            return Err(self.outside("writes", address, size, after));
        }
        let mask = if size == 8 { u64::MAX } else { u64::from(u32::MAX) };
        let (old, value) = (self.memory.read(address, size), r[s] & mask);
        let new = match immediate & !1 {
            0x00 => old.wrapping_add(value),
            0x40 => old | value,
            0x50 => old & value,
            0xa0 => old ^ value,
            0xe0 => value,
            _ if old == r[0] & mask => value, // compare and exchange
            _ => old,
        };
        self.memory.write(address, size, new & mask);
        match immediate {
            0xf1 => r[0] = old,
            fetch if fetch & 1 == 1 => r[s] = old,
            _ => {}
        }
        Ok(())
    }

    fn help(&mut self, number: u64, arguments: [u64; 5], frame: u64) -> Result<u64, Fault> {
        let [first, second, third, fourth, _] = arguments;
        let outside = || Fault::new("gives a helper function an address that it may not read or write");
        let map = |handle: u64| {
            let index = handle.wrapping_sub(MAPS) as usize;
            self.program.maps.get(index).ok_or_else(|| Fault::new("uses as a map what is none"))
        };
        let errno = |result: Option<i64>| result.map(|value| value as u64).ok_or_else(outside);
        if let Some(map) = self.program.maps.get(first.wrapping_sub(MAPS) as usize) {
            self.spend(map.work(self.memory))?;
        }
        match helper(number) {
            Some(Helper::MapLookup) => map(first)?.lookup(self.memory, second).ok_or_else(outside),
            Some(Helper::MapUpdate) if map(first)?.would_evict(self.memory, second) => {
                let name = &map(first)?.name;
                Err(Fault::new(format!("fills the LRU map {name}: which key Linux would forget is not known")))
            }
            Some(Helper::MapUpdate) => errno(map(first)?.update(self.memory, second, third, fourth)),
            Some(Helper::MapDelete) => errno(map(first)?.delete(self.memory, second)),
            // Linux: NULL without a socket or for an unknown flag, and EINVAL without a socket.
            Some(Helper::StorageGet) if second == 0 || fourth > 1 => Ok(0),
            Some(Helper::StorageGet) => map(first)?.storage(self.memory, third, fourth == 1).ok_or_else(outside),
            Some(Helper::StorageDelete) if second == 0 => Ok(-22i64 as u64),
            Some(Helper::StorageDelete) => Ok(map(first)?.forget(self.memory) as u64),
            Some(Helper::Time) => Ok(self.kernel.time_ns()),
            Some(Helper::Jiffies) => Ok(self.kernel.jiffies()),
            Some(Helper::Random) => Ok(self.kernel.random().into()),
            Some(Helper::Ignored) => Ok(0),
            Some(Helper::Copy) => {
                let size = (second as u32) as usize;
                self.spend(size / BYTES_OF_A_JUMP)?;
                if !self.memory.is_writable(first, size) {
                    return Err(outside());
                }
                // Like Linux for an address that cannot be read: zeros, and EFAULT.
                let (copy, result) = match self.memory.bytes(third, size) {
                    Some(bytes) => (bytes.to_vec(), 0),
                    None => (vec![0; size], -14i64),
                };
                self.memory.bytes_mut(first, size).ok_or_else(outside)?.copy_from_slice(&copy);
                Ok(result as u64)
            }
            Some(Helper::Loop) if fourth != 0 => Ok(-22i64 as u64), // EINVAL: Linux has no flags yet
            Some(Helper::Loop) => self.repeat(first as u32, second, third, frame),
            None => Err(Fault::new(format!("needs {}", name(number)))),
        }
    }

    #[cold]
    fn endless(&self) -> Fault {
        Fault(format!("takes {} jumps in one call: an endless loop", most_jumps(self.program)))
    }

    /// Jumps of the next slice, once those of the last one are taken.
    #[cold]
    fn next_slice(&mut self) -> Result<u32, Fault> {
        if self.later == 0 {
            return Err(self.endless());
        }
        if !self.kernel.may_go_on(self.slice) {
            return Err(Fault::new("was stopped"));
        }
        let next = self.slice.min(self.later);
        self.later -= next;
        Ok(next)
    }

    /// Counts work of a helper function as jumps, so that a loop of calls ends in time.
    fn spend(&mut self, jumps: usize) -> Result<(), Fault> {
        let mut jumps = u32::try_from(jumps).map_err(|_| self.endless())?;
        while jumps >= self.jumps_left {
            jumps -= self.jumps_left;
            self.jumps_left = self.next_slice()?;
        }
        self.jumps_left -= jumps;
        Ok(())
    }

    /// `bpf_loop`: calls a function with 0, 1, ... and a context until it returns something else than zero.
    fn repeat(&mut self, count: u32, function: u64, context: u64, frame: u64) -> Result<u64, Fault> {
        let entry = function.wrapping_sub(FUNCTIONS) as usize;
        let deepest = self.program.stack + FRAME * MOST_FRAMES;
        if !self.program.entries.contains(&entry) || frame + FRAME > deepest {
            return Err(Fault::new("gives bpf_loop what is no function of it, or loops too deep"));
        }
        if count > MOST_ITERATIONS {
            return Ok(-7i64 as u64); // E2BIG
        }
        for index in 0..count {
            self.spend(1)?;
            if self.run(entry, [index.into(), context, 0, 0, 0], frame + FRAME)? != 0 {
                return Ok(u64::from(index) + 1);
            }
        }
        Ok(count.into())
    }
}

/// Jumps that a call of a program may take.
pub fn most_jumps(program: &Program) -> u32 {
    let passes = MOST_INSTRUCTIONS / program.code.len().max(1);
    u32::try_from(passes).unwrap_or(MOST_JUMPS).min(MOST_JUMPS)
}

fn sign_extended(value: u64, bits: i32) -> u64 {
    let shift = 64 - bits;
    (((value << shift) as i64) >> shift) as u64
}
