//! Tests of instructions against RFC 9669: arithmetic is compared with Rust's on wider numbers, other instructions
//! with worked programs.

use super::CountingKernel;
use crate::decode::Raw;
use crate::link::Program;
use proptest::prelude::*;

fn raw(opcode: u8, destination: u8, source: u8, offset: i32, immediate: i32) -> Raw {
    Raw { opcode, destination, source, offset, immediate }
}

const EXIT: Raw = Raw { opcode: 0x95, destination: 0, source: 0, offset: 0, immediate: 0 };

/// Two instructions that set a register to a constant.
fn set(register: u8, value: u64) -> [Raw; 2] {
    [raw(0x18, register, 0, 0, value as i32), raw(0, 0, 0, 0, (value >> 32) as i32)]
}

/// Runs instructions and returns register 0, or the fault.
fn run(code: &[Raw]) -> Result<u64, String> {
    let (mut program, mut memory, _) = Program::assembled(code, 64);
    // A wide constant's second half is data; the linker fills it in.
    for at in 0..code.len() {
        if code[at].is_wide() {
            program.code[at].immediate |= u64::from(code[at + 1].immediate as u32) << 32;
        }
    }
    program.call(0, &[], &mut memory, &mut CountingKernel::default()).map_err(|fault| fault.to_string())
}

/// An operation of two registers: r0 = r0 op r1.
fn of_registers(opcode: u8, offset: i32, a: u64, b: u64) -> u64 {
    run(&[&set(0, a)[..], &set(1, b), &[raw(opcode, 0, 1, offset, 0), EXIT]].concat()).unwrap()
}

/// Result of an operation by RFC 9669 section 4.1, computed in numbers of 128 bits.
fn arithmetic(operation: u8, signed: bool, a: u64, b: u64, bits: u32) -> u64 {
    let mask = if bits == 64 { u128::from(u64::MAX) } else { u128::from(u32::MAX) };
    let (a, b) = (u128::from(a) & mask, u128::from(b) & mask);
    let signed_of = |value: u128| (value as i128) << (128 - bits) >> (128 - bits);
    let shift = (b as u32) & (bits - 1);
    let value = match operation {
        0 => a.wrapping_add(b),
        1 => a.wrapping_sub(b),
        2 => a.wrapping_mul(b),
        3 if b == 0 => 0,
        3 if signed => (signed_of(a) / signed_of(b)) as u128,
        3 => a / b,
        4 => a | b,
        5 => a & b,
        6 => a << shift,
        7 => a >> shift,
        8 => 0u128.wrapping_sub(a),
        9 if b == 0 => a,
        9 if signed => (signed_of(a) % signed_of(b)) as u128,
        9 => a % b,
        10 => a ^ b,
        11 => b,
        _ => (signed_of(a) >> shift) as u128,
    };
    (value & mask) as u64
}

/// Whether RFC 9669 section 4.3 jumps.
fn jumps(operation: u8, a: u64, b: u64, bits: u32) -> bool {
    let (a, b) = if bits == 64 { (a, b) } else { (a & 0xffff_ffff, b & 0xffff_ffff) };
    let signed_of = |value: u64| (i128::from(value)) << (128 - bits) >> (128 - bits);
    match operation {
        1 => a == b,
        2 => a > b,
        3 => a >= b,
        4 => a & b != 0,
        5 => a != b,
        6 => signed_of(a) > signed_of(b),
        7 => signed_of(a) >= signed_of(b),
        10 => a < b,
        11 => a <= b,
        12 => signed_of(a) < signed_of(b),
        _ => signed_of(a) <= signed_of(b),
    }
}

fn numbers() -> impl Strategy<Value = u64> {
    prop_oneof![any::<u64>(), 0u64..4, any::<u32>().prop_map(u64::from), Just(1 << 63), Just(1 << 31), Just(u64::MAX)]
}

proptest! {
    #[test]
    fn arithmetic_is_that_of_the_rfc(operation in 0u8..13, a in numbers(), b in numbers(), signed: bool, by_constant: bool) {
        let offset = i32::from(signed && matches!(operation, 3 | 9));
        for (class, bits) in [(7u8, 64), (4, 32)] {
            let got = if by_constant {
                let code = [&set(0, a)[..], &[raw(operation << 4 | class, 0, 0, offset, b as i32), EXIT]].concat();
                run(&code).unwrap()
            } else {
                of_registers(operation << 4 | 8 | class, offset, a, b)
            };
            let b = if by_constant { i64::from(b as i32) as u64 } else { b };
            prop_assert_eq!(got, arithmetic(operation, offset == 1, a, b, bits));
        }
    }

    #[test]
    fn jumps_are_those_of_the_rfc(operation in prop_oneof![1u8..8, 10u8..14], a in numbers(), b in numbers()) {
        for (class, bits) in [(5u8, 64), (6, 32)] {
            let code = [
                &set(2, a)[..],
                &set(1, b),
                &[raw(0xb7, 0, 0, 0, 1), raw(operation << 4 | 8 | class, 2, 1, 1, 0), raw(0xb7, 0, 0, 0, 0), EXIT],
            ]
            .concat();
            prop_assert_eq!(run(&code).unwrap() == 1, jumps(operation, a, b, bits));
        }
    }

    #[test]
    fn what_is_stored_is_loaded_with_its_sign(value in any::<u64>(), size in 0usize..4) {
        let (bits, code) = [(32, 0x00), (16, 0x08), (8, 0x10), (64, 0x18)][size];
        let loaded = |opcode: u8| {
            let body = [raw(0x63 | code, 10, 1, -16, 0), raw(opcode, 0, 10, -16, 0), EXIT];
            run(&[&set(1, value)[..], &body].concat()).unwrap()
        };
        prop_assert_eq!(loaded(0x61 | code), value << (64 - bits) >> (64 - bits));
        if bits < 64 {
            prop_assert_eq!(loaded(0x81 | code), ((value << (64 - bits)) as i64 >> (64 - bits)) as u64);
        }
    }

    #[test]
    fn atomic_operations_return_the_old_value(a in numbers(), b in numbers(), index in 0usize..5) {
        let (operation, expected) = [
            (0x01, a.wrapping_add(b)), (0x41, a | b), (0x51, a & b), (0xa1, a ^ b), (0xe1, b),
        ][index];
        let head = [&set(0, a)[..], &set(1, b), &[raw(0x7b, 10, 0, -8, 0), raw(0xdb, 10, 1, -8, operation)]].concat();
        let old = run(&[&head[..], &[raw(0xbf, 0, 1, 0, 0), EXIT]].concat()).unwrap();
        let new = run(&[&head[..], &[raw(0x79, 0, 10, -8, 0), EXIT]].concat()).unwrap();
        prop_assert_eq!((old, new), (a, expected));
    }
}

#[test]
fn bytes_are_reversed_and_signs_extended() {
    let of_one = |instruction: Raw, value: u64| run(&[&set(0, value)[..], &[instruction, EXIT]].concat()).unwrap();
    let value = 0x1122_3344_5566_7788;
    assert_eq!(of_one(raw(0xd7, 0, 0, 0, 64), value), 0x8877_6655_4433_2211); // bswap64
    assert_eq!(of_one(raw(0xdc, 0, 0, 0, 32), value), 0x8877_6655); // be32
    assert_eq!(of_one(raw(0xd4, 0, 0, 0, 16), value), 0x7788); // le16
    assert_eq!(of_registers(0xbf, 8, 0, 0x80), 0xffff_ffff_ffff_ff80); // movsx
    assert_eq!(of_registers(0xbc, 16, 0, 0x8000), 0xffff_8000);
}

#[test]
fn compare_and_exchange_writes_only_an_equal_value() {
    for (expected, new) in [(5, 7), (6, 5)] {
        let code = [
            &set(0, expected)[..],
            &set(1, 7),
            &[raw(0x7a, 10, 0, -8, 5), raw(0xdb, 10, 1, -8, 0xf1), raw(0x79, 0, 10, -8, 0), EXIT],
        ];
        assert_eq!(run(&code.concat()), Ok(new));
    }
}

#[test]
fn a_called_function_has_a_frame_of_its_own_and_keeps_registers_6_to_9() {
    let code = [
        raw(0xb7, 6, 0, 0, 40),
        raw(0x7a, 10, 0, -8, 1),
        raw(0x85, 0, 1, 0, 3), // calls the function below
        raw(0x79, 1, 10, -8, 0),
        raw(0x0f, 6, 1, 0, 0),
        raw(0x05, 0, 0, 4, 0),
        raw(0xb7, 6, 0, 0, 0), // the function
        raw(0x7a, 10, 0, -8, 9),
        raw(0xb7, 0, 0, 0, 1),
        EXIT,
        raw(0x0f, 0, 6, 0, 0),
        EXIT,
    ];
    assert_eq!(run(&code), Ok(42)); // 1 of the function, 40 and 1 of the caller
}

#[test]
fn what_linux_would_not_let_run_ends_with_its_reason() {
    let fault = |code: &[Raw]| run(code).unwrap_err();
    assert!(fault(&[raw(0x05, 0, 0, -1, 0)]).contains("an endless loop"));
    assert!(fault(&[raw(0x85, 0, 1, 0, -1)]).contains("functions deep"));
    assert_eq!(
        fault(&[raw(0xb7, 1, 0, 0, 0), raw(0x61, 0, 1, 8, 0), EXIT]),
        "test: instruction 1 of test reads 4 bytes at address 0x8, which it may not"
    );
    assert!(fault(&[raw(0x7a, 1, 0, 0, 1), EXIT]).contains("writes 8 bytes"), "arguments are read-only");
    assert!(fault(&[raw(0xb7, 0, 0, 0, 0)]).contains("runs past its last instruction"));
    assert!(
        fault(&[raw(0xb7, 10, 0, 0, 0), EXIT]).contains("no instruction of RFC 9669"),
        "the frame pointer is read-only"
    );
    assert!(fault(&[raw(0x85, 0, 0, 0, 9999), EXIT]).contains("needs helper function 9999"));
}

/// A jump back may pass over the whole program: a call takes some 2^31 instructions at most, however long the program is.
#[test]
fn a_long_program_may_jump_less_often() {
    for (length, jumps) in [(2, 1_000_000), (1 << 11, 1_000_000), (1 << 12, 1 << 19), (1 << 17, 1 << 14)] {
        let (program, ..) = Program::assembled(&vec![raw(0xbf, 1, 1, 0, 0); length], 0);
        assert_eq!(crate::machine::most_jumps(&program), jumps, "{length} instructions");
    }
}

/// `bpf_probe_read` of a number of bytes from the frame to the same place, which is an error beyond 512 bytes.
fn copy(size: i32) -> [Raw; 5] {
    [
        raw(0xbf, 1, 10, 0, 0),
        raw(0x07, 1, 0, 0, -512),
        raw(0xb7, 2, 0, 0, size),
        raw(0xbf, 3, 1, 0, 0),
        raw(0x85, 0, 0, 0, 4), // bpf_probe_read
    ]
}

/// 64 bytes are copied in the time of a jump, and a call ends at its millionth jump.
#[test]
fn a_copy_of_too_many_bytes_ends_before_its_addresses_are_looked_at() {
    let fault = |size: i32| run(&[&copy(size)[..], &[EXIT]].concat()).unwrap_err();
    let outside = "test: gives a helper function an address that it may not read or write";
    assert_eq!(fault(64 * 1_000_000 - 1), outside);
    assert_eq!(fault(64 * 1_000_000), "test: takes 1000000 jumps in one call: an endless loop");
}

/// A pass costs seven jumps for 448 bytes and one back to its start, which the last pass does not take.
#[test]
fn the_work_of_copies_adds_to_that_of_jumps() {
    let passes = |count: i32| {
        let next = [raw(0x07, 6, 0, 0, -1), raw(0x55, 6, 0, -7, 0), EXIT];
        run(&[&[raw(0xb7, 6, 0, 0, count)], &copy(7 * 64)[..], &next].concat())
    };
    assert_eq!(passes(125_000), Ok(0));
    assert!(passes(125_001).unwrap_err().contains("an endless loop"));
}
