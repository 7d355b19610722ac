//! `compiled.c`, which clang compiles for one layout, in memory of another (`compiled_layout.c`). The tests are skipped without clang.

use super::CountingKernel;
use super::objects::every_field;
use crate::{Layout, Object, Options, Program};
use std::path::Path;
use std::process::Command;
use std::sync::LazyLock;

/// The object of `compiled.c`; `None` without clang.
pub fn compiled() -> Option<Vec<u8>> {
    compile("compiled.c", &["-mcpu=v3"])
}

/// The object of a source file beside this one; `None` without clang.
fn compile(source: &str, arguments: &[&str]) -> Option<Vec<u8>> {
    let source = Path::new(env!("CARGO_MANIFEST_DIR")).join("src/tests").join(source);
    let options = ["--target=bpf", "-O2", "-g", "-c", "-o", "-"];
    let compiled = Command::new("clang").args(options).args(arguments).arg(source).output().ok()?;
    assert!(compiled.status.success(), "{}", String::from_utf8_lossy(&compiled.stderr));
    Some(compiled.stdout)
}

static LINKED: LazyLock<Option<(Program, Layout)>> = LazyLock::new(|| {
    let object = Object::parse(&compiled()?).unwrap();
    let layout = Layout::parse(&compile("compiled_layout.c", &[])?).unwrap();
    let options = Options {
        configuration: &[("CONFIG_HZ", 250)],
        provides_field: &every_field,
        provides_function: &|name| name == "provided",
    };
    Some((Program::link(&object, 0, &layout, &options).unwrap(), layout))
});

/// The answer of an operation of a socket in which `field` is `value`.
fn call(operation: &str, field: &str, value: u64) -> Result<u64, String> {
    call_with(operation, field, value, 2)
}

/// Like the function above, with another second argument.
fn call_with(operation: &str, field: &str, value: u64, second: u64) -> Result<u64, String> {
    let (program, layout) = LINKED.as_ref().expect("clang");
    let mut memory = program.memory().clone();
    let socket = memory.add(&[0xff; 64], None);
    let field = layout.field("sock", field).unwrap();
    let others = memory.read(socket + u64::from(field.offset), field.size as usize);
    let mask = u64::MAX >> (64 - field.bits) << field.shift;
    let value = others & !mask | value << field.shift & mask;
    memory.write(socket + u64::from(field.offset), field.size as usize, value);
    let operation = program.operation(operation).unwrap();
    program
        .call(operation, &[socket, second], &mut memory, &mut CountingKernel::default())
        .map_err(|fault| fault.to_string())
}

fn has_clang() -> bool {
    if LINKED.is_none() {
        eprintln!("skipped: there is no clang");
    }
    LINKED.is_some()
}

#[test]
fn fields_are_read_where_and_as_wide_as_the_layout_has_them() {
    if !has_clang() {
        return;
    }
    assert_eq!(call("moved", "moved", 77), Ok(77));
    assert_eq!(call("widened", "widened", 1 << 40), Ok(1 << 40));
    assert_eq!(call("inner", "inner", 5), Ok(5));
    assert_eq!(call("bits", "bits", 21), Ok(21));
    assert_eq!(call("existing", "moved", 0), Ok(1 + 4));
}

#[test]
fn what_is_missing_is_named_and_nothing_else_faults() {
    if !has_clang() {
        return;
    }
    let (program, _) = LINKED.as_ref().unwrap();
    let missing = ["bpf_ringbuf_output", "map ring of type 27", "sock.gone", "sock.signed_one of 4 bytes"];
    assert_eq!(program.missing(), missing);
    assert_eq!(call("gone", "moved", 0).unwrap_err(), "gone: needs sock.gone");
    assert!(call("signed_one", "moved", 0).is_err(), "a number with a sign would lose it");
}

#[test]
fn constants_functions_variables_loops_and_maps_work() {
    if !has_clang() {
        return;
    }
    assert_eq!(call("constants", "moved", 0), Ok(250));
    assert_eq!(call("functions", "moved", 0), Ok(5 + 7), "a weak function that is missing has the address 0");
    assert_eq!(call("variables", "moved", 0), Ok(30 * 30 + 101));
    assert_eq!(call("loop", "moved", 0), Ok(1000 * 45 + 10));
    assert_eq!(call("maps", "moved", 0), Ok(2 * 100 + 4));
}

#[test]
fn a_map_that_would_forget_a_key_ends_the_call_and_a_full_one_keeps_its_keys() {
    if !has_clang() {
        return;
    }
    assert_eq!(call_with("recent_keys", "moved", 0, 2), Ok(4), "three keys, the first of them twice");
    assert_eq!(
        call_with("recent_keys", "moved", 0, 3).unwrap_err(),
        "recent_keys: fills the LRU map recent: which key Linux would forget is not known"
    );
}
