//! CO-RE relocations: places that depend on the layout of structures (Linux, `llvm_reloc.rst`, "CO-RE relocations").

use crate::Error;
use crate::access::{find, path, read};
use crate::btf::{Btf, Kind, TypeId};
use crate::bytes::Bytes;
use crate::layout::{Field, Layout};

/// A relocation of an instruction.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CoreRelocation {
    /// The section of its instruction, by name, and the instruction's offset there, bytes.
    pub section: String,
    pub offset: u32,
    pub root: TypeId,
    pub access: String,
    pub kind: u32,
}

/// Reads the relocations of a `.BTF.ext` section.
pub fn core_relocations(extension: Bytes<'_>, texts: Bytes<'_>) -> Result<Vec<CoreRelocation>, Error> {
    let header = extension.index(4)?;
    let mut relocations = Vec::new();
    if header < 32 {
        return Ok(relocations); // written before CO-RE
    }
    let table = extension.slice(header.saturating_add(extension.index(24)?), extension.index(28)?)?;
    if table.0.is_empty() {
        return Ok(relocations);
    }
    let width = table.index(0)?;
    if width < 16 {
        return Err(Error::new("has CO-RE relocations that are too short"));
    }
    let mut at = 4;
    while at < table.0.len() {
        let section = texts.text(table.index(at)?)?;
        let count = table.index(at + 4)?;
        at += 8;
        table.slice(at, count.saturating_mul(width))?;
        for record in (0..count).map(|index| at + index * width) {
            relocations.push(CoreRelocation {
                section: section.to_string(),
                offset: table.u32(record)?,
                root: table.index(record + 4)?,
                access: texts.text(table.index(record + 8)?)?.to_string(),
                kind: table.u32(record + 12)?,
            });
        }
        at += count * width;
    }
    Ok(relocations)
}

/// The new operand of a relocated instruction.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Relocated {
    /// This number.
    Value(u64),
    /// The offset of a field, and the size of the access before and now.
    /// libbpf lets both differ for pointers and for numbers without a sign.
    Field { structure: String, path: String, field: Field, local_size: u32, is_resizable: bool },
    /// Whether the layout's user provides this field.
    Exists { structure: String, path: String },
    /// None: the layout lacks a feature that the relocation needs.
    Missing(String),
}

/// The name without the `___flavour` that distinguishes versions of a structure.
fn essential(name: &str) -> &str {
    name.split_once("___").map_or(name, |(essential, _)| essential)
}

impl CoreRelocation {
    /// Whether another relocates the shift of the bit field that this one accesses.
    fn has_shift(&self, all: &[CoreRelocation]) -> bool {
        all.iter().any(|one| matches!(one.kind, 4 | 5) && one.root == self.root && one.access == self.access)
    }
}

/// Resolves one of an object's relocations for a layout.
pub fn resolve(
    local: &Btf,
    relocation: &CoreRelocation,
    all: &[CoreRelocation],
    layout: &Layout,
) -> Result<Relocated, Error> {
    let root = local.resolve(relocation.root);
    let named = if local.get(root).name.is_empty() { local.unqualified(relocation.root) } else { root };
    let (name, kind) = (essential(&local.get(named).name), &local.get(named).kind);
    let value = |value: u64| Ok(Relocated::Value(value));
    match relocation.kind {
        0..=5 => {
            let malformed = || Error::new(format!("has a malformed access to {name}: {}", relocation.access));
            let (steps, place) = read(local, root, &relocation.access).ok_or_else(malformed)?;
            let target = layout.candidates(name, kind).find_map(|id| find(layout.btf(), id, &steps));
            let path = path(&steps);
            let Some(target) = target else {
                return Ok(match relocation.kind {
                    2 => Relocated::Value(0),
                    _ => Relocated::Missing(format!("{name}.{path}")),
                });
            };
            let (here, there) = (place.field(local), target.field(layout.btf()));
            match relocation.kind {
                0 if place.bits > 0
                    && (here.shift, here.bits) != (there.shift, there.bits)
                    && !relocation.has_shift(all) =>
                {
                    Ok(Relocated::Missing(format!("{name}.{path} at bit {} of its number", here.shift)))
                }
                0 => {
                    let of = (local.get(local.resolve(place.of)), layout.btf().get(layout.btf().resolve(target.of)));
                    let is_resizable = match (&of.0.kind, &of.1.kind) {
                        (Kind::Pointer(_), Kind::Pointer(_)) => true,
                        (Kind::Int { signed, .. }, Kind::Int { signed: there, .. }) => !signed && !there,
                        _ => false,
                    };
                    // The size of a bit field's number does not matter: programs shift it by relocated numbers.
                    let local_size = if place.bits > 0 { there.size } else { here.size };
                    Ok(Relocated::Field { structure: name.into(), path, field: there, local_size, is_resizable })
                }
                1 => value(there.size.into()),
                2 => Ok(Relocated::Exists { structure: name.into(), path }),
                3 => {
                    let of = layout.btf().resolve(target.of);
                    let of = &layout.btf().get(of).kind;
                    value(matches!(of, Kind::Int { signed: true, .. } | Kind::Enum { signed: true, .. }).into())
                }
                4 => value(64u32.saturating_sub(there.shift + there.bits).into()),
                _ => value(64u32.saturating_sub(there.bits).into()),
            }
        }
        6 => value(root as u64),
        7..=9 | 12 => {
            let target = layout.candidates(name, kind).next();
            match (relocation.kind, target) {
                (8 | 12, target) => value(target.is_some().into()),
                (7, Some(id)) => value(id as u64),
                (_, Some(id)) => value(layout.btf().size(id).into()),
                (_, None) => Ok(Relocated::Missing(name.into())),
            }
        }
        10 | 11 => {
            let Kind::Enum { values, .. } = kind else {
                return Err(Error::new(format!("has a relocation by a value of {name}, which is no enum")));
            };
            let index = relocation.access.parse::<usize>().ok();
            let Some((wanted, _)) = index.and_then(|index| values.get(index)) else {
                return Err(Error::new(format!("has a malformed access to {name}: {}", relocation.access)));
            };
            let found = layout.candidates(name, kind).find_map(|id| match &layout.btf().get(id).kind {
                Kind::Enum { values, .. } => {
                    values.iter().find(|(name, _)| essential(name) == essential(wanted)).map(|(_, value)| *value)
                }
                _ => None,
            });
            match (relocation.kind, found) {
                (10, found) => value(found.is_some().into()),
                (_, Some(found)) => value(found as u64),
                (_, None) => Ok(Relocated::Missing(format!("{name} {wanted}"))),
            }
        }
        other => Err(Error::new(format!("has a CO-RE relocation of the unknown kind {other}"))),
    }
}
