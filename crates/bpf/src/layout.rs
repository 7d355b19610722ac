//! Positions of the fields of structures, in our memory or in a kernel's.

use crate::Error;
use crate::access::{Place, Step, find};
use crate::btf::{Btf, Kind, TypeId};
use object::{Object as _, ObjectSection as _};
use std::collections::HashMap;

/// A field's place in its structure.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Field {
    /// Bytes from the begin of the structure.
    pub offset: u32,
    /// Bytes; of a bit field, those of the number that holds it.
    pub size: u32,
    /// Bits below it in that number; zero unless it is a bit field.
    pub shift: u32,
    /// Bits of a bit field, else eight times the size.
    pub bits: u32,
}

/// The structures of a kernel, or of the simulator, by name.
#[derive(Debug, Clone)]
pub struct Layout {
    btf: Btf,
    by_name: HashMap<String, Vec<TypeId>>,
}

impl Layout {
    /// Reads BTF as Linux has it in `/sys/kernel/btf/vmlinux`, or an ELF object with a section of it.
    ///
    /// # Errors
    /// If it is neither.
    pub fn parse(data: &[u8]) -> Result<Layout, Error> {
        let section = match object::File::parse(data) {
            Ok(file) => file.section_by_name(".BTF").and_then(|section| section.data().ok()).unwrap_or_default(),
            Err(_) => data,
        };
        let (btf, _) = Btf::parse(section)?;
        let mut by_name: HashMap<String, Vec<TypeId>> = HashMap::new();
        for (id, one) in btf.iter().filter(|(_, one)| !one.name.is_empty() && one.kind != Kind::Forward) {
            by_name.entry(one.name.clone()).or_default().push(id);
        }
        Ok(Layout { btf, by_name })
    }

    pub(crate) fn btf(&self) -> &Btf {
        &self.btf
    }

    /// The types of a name that are of the same kind as another.
    pub(crate) fn candidates(&self, name: &str, like: &Kind) -> impl Iterator<Item = TypeId> {
        let like = std::mem::discriminant(like);
        let named = self.by_name.get(name).into_iter().flatten().copied();
        named.filter(move |id| std::mem::discriminant(&self.btf.get(*id).kind) == like)
    }

    fn structure(&self, name: &str) -> Option<TypeId> {
        let named = self.by_name.get(name)?;
        named.iter().copied().find(|id| matches!(self.btf.get(*id).kind, Kind::Struct { .. }))
    }

    /// The size of a structure, bytes.
    pub fn size(&self, structure: &str) -> Option<u32> {
        Some(self.btf.size(self.structure(structure)?))
    }

    /// The field of a structure at a path such as `inet_conn.icsk_rto`, or `rtt_min.s.0.v`.
    pub fn field(&self, structure: &str, path: &str) -> Option<Field> {
        let steps = path.split('.').map(|part| part.parse().map_or_else(|_| Step::Member(part.into()), Step::Index));
        let place = find(&self.btf, self.structure(structure)?, &steps.collect::<Vec<_>>())?;
        Some(place.field(&self.btf))
    }

    /// The paths of all fields of a structure that are no structures themselves, of arrays the array.
    pub fn paths(&self, structure: &str) -> Vec<String> {
        let mut paths = Vec::new();
        if let Some(id) = self.structure(structure) {
            self.collect(id, "", &mut paths, 0);
        }
        paths
    }

    fn collect(&self, id: TypeId, prefix: &str, paths: &mut Vec<String>, depth: usize) {
        for member in self.btf.members(id).iter().filter(|_| depth < 16) {
            let name = match (prefix, member.name.as_str()) {
                ("", name) => name.to_string(),
                (prefix, "") => prefix.to_string(),
                (prefix, name) => format!("{prefix}.{name}"),
            };
            if self.btf.members(member.of).is_empty() {
                paths.push(name);
            } else {
                self.collect(member.of, &name, paths, depth + 1);
            }
        }
    }
}

impl Place {
    /// The place as bytes and bits, as libbpf computes it for CO-RE.
    pub(crate) fn field(&self, btf: &Btf) -> Field {
        let size = btf.size(self.of);
        if self.bits == 0 {
            return Field { offset: self.bit_offset / 8, size, shift: 0, bits: size.saturating_mul(8) };
        }
        let mut size = size.clamp(1, 8);
        let mut offset = self.bit_offset / 8 / size * size;
        while size < 8 && self.bit_offset + self.bits - offset * 8 > size * 8 {
            size *= 2;
            offset = self.bit_offset / 8 / size * size;
        }
        Field { offset, size, shift: self.bit_offset.saturating_sub(offset * 8), bits: self.bits }
    }
}
