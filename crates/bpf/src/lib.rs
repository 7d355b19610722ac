//! Linux congestion controls in user space: eBPF objects of `struct_ops`, loaded, relocated and interpreted.
//!
//! [`Object`] reads the ELF file that clang writes. [`Layout`] has the positions of the fields of Linux's structures, in our memory
//! or in a kernel's. [`Program`] is one set of operations of an object, relocated for a layout. [`Memory`] is the memory that one
//! connection's program may read and write. [`Kernel`] has the functions that it may call. This crate does not depend on TCP.
//!
//! Sources: RFC 9669 (instructions), Linux's `Documentation/bpf/btf.rst` (types, CO-RE) and `llvm_reloc.rst` (relocations).
#![forbid(unsafe_code)]

mod access;
mod btf;
mod bytes;
mod decode;
mod elf;
mod helper_names;
mod helpers;
mod layout;
mod link;
mod machine;
mod maps;
mod memory;
mod relocations;
mod struct_ops;
#[cfg(test)]
mod tests;

pub use elf::Object;
pub use layout::{Field, Layout};
pub use link::{Options, Program};
pub use machine::{Fault, Kernel};
pub use maps::MapKind;
pub use memory::Memory;
pub use struct_ops::{Instance, Member, Value};

/// Why an object cannot be used.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct Error(pub String);

impl Error {
    fn new(problem: impl Into<String>) -> Error {
        Error(problem.into())
    }
}
