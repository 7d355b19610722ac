//! Objects with changed bytes: no panic, no endless loop, the same result twice, and no write outside of writable
//! memory.

use super::CountingKernel;
use super::compiled::compiled;
use super::objects::{CUBIC, LAYOUT, RENO, every_field, everything};
use crate::{Layout, Memory, Object, Options, Program};
use proptest::prelude::*;
use std::sync::LazyLock;

/// Programs to change; with clang also one with maps, loops and weak functions.
static OBJECTS: LazyLock<Vec<Vec<u8>>> =
    LazyLock::new(|| [RENO.to_vec(), CUBIC.to_vec()].into_iter().chain(compiled()).collect());

static PARSED: LazyLock<Layout> = LazyLock::new(|| Layout::parse(LAYOUT).unwrap());

/// The answers of all operations, and the memory after them.
fn answers(object: &Object) -> Option<(Vec<Result<u64, String>>, Memory)> {
    let options =
        Options { configuration: &[("CONFIG_HZ", 250)], provides_field: &every_field, provides_function: &everything };
    let program = Program::link(object, 0, &PARSED, &options).ok()?;
    let mut memory = program.memory().clone();
    let guarded = memory.add(&[0xa5; 64], None);
    let socket = memory.add(&[1; 1200], [0..400, 800..1200]);
    let sample = memory.add(&[2; 128], None);
    let mut kernel = CountingKernel::default();
    let names: Vec<&str> = program.operations().collect();
    let answers = names
        .iter()
        .map(|name| {
            let operation = program.operation(name).unwrap();
            program.call(operation, &[socket, sample, 3], &mut memory, &mut kernel).map_err(|fault| fault.to_string())
        })
        .collect();
    assert_eq!(memory.bytes(guarded, 64), Some(&[0xa5; 64][..]));
    assert_eq!(memory.bytes(socket + 400, 400), Some(&[1; 400][..]));
    Some((answers, memory))
}

proptest! {
    #[test]
    fn a_changed_object_is_refused_or_runs_within_its_memory(
        which: prop::sample::Index,
        changes in prop::collection::vec((any::<prop::sample::Index>(), any::<u8>()), 1..12),
    ) {
        let mut bytes = which.get::<Vec<u8>>(&OBJECTS).clone();
        for (index, value) in changes {
            let at = index.index(bytes.len());
            bytes[at] = value;
        }
        if let Ok(object) = Object::parse(&bytes) {
            prop_assert_eq!(answers(&object), answers(&object));
        }
        let _ = Layout::parse(&bytes);
    }

    #[test]
    fn changed_instructions_run_within_their_memory(
        which: prop::sample::Index,
        changes in prop::collection::vec((any::<prop::sample::Index>(), any::<u8>()), 1..40),
    ) {
        let mut object = Object::parse(which.get::<Vec<u8>>(&OBJECTS)).unwrap();
        for section in object.sections.iter_mut().filter(|section| section.is_code && !section.data.is_empty()) {
            for (index, value) in &changes {
                let at = index.index(section.data.len());
                section.data[at] = *value;
            }
        }
        prop_assert_eq!(answers(&object), answers(&object));
    }
}
