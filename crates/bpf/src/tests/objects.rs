//! Objects as clang compiles them: their contents, the positions of fields, and their missing features.

use super::CountingKernel;
use crate::{Layout, Object, Options, Program, Value};

pub const RENO: &[u8] = include_bytes!("../../../../python/anabranch/programs/anabranch_reno.bpf.o");
pub const CUBIC: &[u8] = include_bytes!("../../../../python/anabranch/programs/anabranch_cubic.bpf.o");
pub const LAYOUT: &[u8] = include_bytes!("../../../../python/anabranch/programs/layout.btf");

pub fn everything(_: &str) -> bool {
    true
}

pub fn every_field(_: &str, _: &str) -> bool {
    true
}

fn linked(provides_field: &dyn Fn(&str, &str) -> bool, provides_function: &dyn Fn(&str) -> bool) -> Program {
    let options = Options { configuration: &[], provides_field, provides_function };
    Program::link(&Object::parse(RENO).unwrap(), 0, &Layout::parse(LAYOUT).unwrap(), &options).unwrap()
}

#[test]
fn an_object_says_what_it_defines() {
    let object = Object::parse(RENO).unwrap();
    assert_eq!(object.licence(), "Dual MIT/GPL");
    let [reno] = object.instances() else { panic!("one control") };
    assert_eq!((reno.name(), reno.structure.as_str()), ("anabranch_reno", "tcp_congestion_ops"));
    assert_eq!(reno.value("flags"), Some(&Value::Number(1)));
    assert!(matches!(reno.value("cong_avoid"), Some(Value::Program { parameters: 3, .. })));
    assert_eq!(reno.value("cong_control"), None);
}

#[test]
fn fields_are_found_by_name_wherever_a_layout_has_them() {
    let layout = Layout::parse(LAYOUT).unwrap();
    let whole = layout.field("tcp_sock", "snd_cwnd").unwrap();
    assert_eq!((whole.size, whole.bits, whole.shift), (4, 32, 0));
    let state = layout.field("tcp_sock", "inet_conn.icsk_ca_state").unwrap();
    assert_eq!((state.bits, state.shift), (5, 0));
    assert_eq!(layout.field("tcp_sock", "snd_cwnds"), None);
    assert!(layout.paths("tcp_sock").contains(&"inet_conn.icsk_ack.pending".to_string()));
}

#[test]
fn half_of_the_window_is_the_threshold_of_reno() {
    let program = linked(&every_field, &everything);
    let layout = Layout::parse(LAYOUT).unwrap();
    let mut memory = program.memory().clone();
    let socket = memory.add(&vec![0; layout.size("tcp_sock").unwrap() as usize], None);
    let cwnd = socket + u64::from(layout.field("tcp_sock", "snd_cwnd").unwrap().offset);
    let ssthresh = program.operation("ssthresh").unwrap();
    for (window, half) in [(30, 15), (3, 2), (2, 2)] {
        memory.write(cwnd, 4, window);
        assert_eq!(program.call(ssthresh, &[socket], &mut memory, &mut CountingKernel::default()), Ok(half));
    }
}

#[test]
fn what_the_layout_lacks_is_named_and_faults_only_when_used() {
    let program = linked(&|_, path| path != "prior_cwnd", &|name| name != "tcp_slow_start");
    assert_eq!(program.missing(), ["tcp_slow_start", "tcp_sock.prior_cwnd"]);
    let mut memory = program.memory().clone();
    let socket = memory.add(&[0; 2000], None);
    let mut call = |name| {
        let operation = program.operation(name).unwrap();
        program.call(operation, &[socket], &mut memory, &mut CountingKernel::default())
    };
    assert_eq!(call("ssthresh"), Ok(2));
    assert_eq!(call("undo_cwnd").unwrap_err().to_string(), "undo_cwnd: needs tcp_sock.prior_cwnd");
}

#[test]
fn what_is_no_object_is_refused() {
    let problem = |bytes: &[u8]| Object::parse(bytes).unwrap_err().to_string();
    assert!(problem(b"#include <stdio.h>").contains("is no little-endian 64-bit ELF file"));
    assert!(problem(&std::fs::read(std::env::current_exe().unwrap()).unwrap()).contains("is no object for BPF"));
    assert!(!problem(&RENO[..RENO.len() / 2]).is_empty());
}

#[test]
fn a_relocation_never_sets_the_frame_pointer() {
    let Some(compiled) = super::compiled::compiled() else { return };
    let layout = Layout::parse(LAYOUT).unwrap();
    let options = Options { configuration: &[], provides_field: &every_field, provides_function: &everything };
    for (register, faults) in [(9, 0), (10, 1), (15, 1)] {
        let mut object = Object::parse(&compiled).unwrap();
        let wide = object.sections.iter_mut().filter(|section| section.is_code).find_map(|section| {
            let mut offsets = section.relocations.iter().map(|one| one.offset as usize);
            offsets.find(|at| section.data[*at] == 0x18).map(|at| &mut section.data[at + 1])
        });
        *wide.expect("it has maps") = register;
        let program = Program::link(&object, 0, &layout, &options).unwrap();
        let refused = program.faults.iter().filter(|fault| fault.contains("needs a register for the address")).count();
        assert_eq!(refused, faults, "register {register}");
    }
}
