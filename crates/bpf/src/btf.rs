//! BTF: the types of an object or a kernel (Linux, `Documentation/bpf/btf.rst`).

use crate::Error;
use crate::bytes::Bytes;

/// Index of a type; zero is void.
pub type TypeId = usize;

/// Longest chain of typedefs and qualifiers that is followed.
const LONGEST_CHAIN: usize = 32;

/// A member of a structure or union.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct StructMember {
    /// Empty for an anonymous one.
    pub name: String,
    pub of: TypeId,
    pub bit_offset: u32,
    /// Bits of a bit field, else zero.
    pub bits: u32,
}

/// The kinds of types.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Kind {
    Void,
    Int {
        size: u32,
        signed: bool,
    },
    Pointer(TypeId),
    Array {
        of: TypeId,
        count: u32,
    },
    Struct {
        size: u32,
        members: Vec<StructMember>,
    },
    Union {
        size: u32,
        members: Vec<StructMember>,
    },
    Enum {
        size: u32,
        signed: bool,
        values: Vec<(String, i64)>,
    },
    Forward,
    Typedef(TypeId),
    /// const, volatile, restrict or a tag.
    Qualifier(TypeId),
    Function(TypeId),
    /// The number of parameters.
    Prototype(usize),
    Variable(TypeId),
    /// Variables of a section: type, offset and size.
    Section(Vec<(TypeId, u32, u32)>),
    Float {
        size: u32,
    },
    Tag,
}

/// A type and its name.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Type {
    pub name: String,
    pub kind: Kind,
}

/// All types of a file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Btf {
    types: Vec<Type>,
}

impl Btf {
    /// Reads a `.BTF` section. Also returns its texts, which `.BTF.ext` refers to.
    pub fn parse(data: &[u8]) -> Result<(Btf, Bytes<'_>), Error> {
        let whole = Bytes(data);
        if whole.u16(0)? != 0xeb9f {
            return Err(Error::new("has no little-endian BTF"));
        }
        let body = whole.index(4)?;
        let at = |field| Ok::<_, Error>((body.saturating_add(whole.index(field)?), whole.index(field + 4)?));
        let ((types_at, types_length), (texts_at, texts_length)) = (at(8)?, at(16)?);
        let types = whole.slice(types_at, types_length)?;
        let texts = whole.slice(texts_at, texts_length)?;
        let mut parsed = vec![Type { name: String::new(), kind: Kind::Void }];
        let mut offset = 0;
        while offset < types.0.len() {
            let (one, length) = parse_type(types, offset, texts)?;
            parsed.push(one);
            offset += length;
        }
        Ok((Btf { types: parsed }, texts))
    }

    /// The type of this index; void if there is none.
    pub fn get(&self, id: TypeId) -> &Type {
        self.types.get(id).unwrap_or(&self.types[0])
    }

    /// All types with their indexes.
    pub fn iter(&self) -> impl Iterator<Item = (TypeId, &Type)> {
        self.types.iter().enumerate()
    }

    /// The type behind typedefs and qualifiers.
    pub fn resolve(&self, mut id: TypeId) -> TypeId {
        for _ in 0..LONGEST_CHAIN {
            match self.get(id).kind {
                Kind::Typedef(of) | Kind::Qualifier(of) => id = of,
                _ => return id,
            }
        }
        0
    }

    /// The type behind qualifiers, which may be a typedef.
    pub fn unqualified(&self, mut id: TypeId) -> TypeId {
        for _ in 0..LONGEST_CHAIN {
            match self.get(id).kind {
                Kind::Qualifier(of) => id = of,
                _ => return id,
            }
        }
        0
    }

    /// The size of a value, bytes; zero if it has none.
    pub fn size(&self, id: TypeId) -> u32 {
        let mut count = 1u32;
        let mut id = self.resolve(id);
        for _ in 0..LONGEST_CHAIN {
            match &self.get(id).kind {
                Kind::Array { of, count: elements } => {
                    count = count.saturating_mul(*elements);
                    id = self.resolve(*of);
                }
                Kind::Int { size, .. }
                | Kind::Struct { size, .. }
                | Kind::Union { size, .. }
                | Kind::Enum { size, .. }
                | Kind::Float { size } => return size.saturating_mul(count),
                Kind::Pointer(_) => return count.saturating_mul(8),
                _ => return 0,
            }
        }
        0
    }

    /// The members of a structure or union; none of other types.
    pub fn members(&self, id: TypeId) -> &[StructMember] {
        match &self.get(self.resolve(id)).kind {
            Kind::Struct { members, .. } | Kind::Union { members, .. } => members,
            _ => &[],
        }
    }
}

fn parse_type(types: Bytes<'_>, offset: usize, texts: Bytes<'_>) -> Result<(Type, usize), Error> {
    let name = texts.text(types.index(offset)?)?.to_string();
    let info = types.u32(offset + 4)?;
    let (count, flag) = ((info & 0xffff) as usize, info >> 31 == 1);
    let word = types.u32(offset + 8)?;
    let of = word as usize;
    let rest = offset + 12;
    let each =
        |width: usize| types.slice(rest, count * width).map(|_| (0..count).map(move |index| rest + index * width));
    let (kind, extra) = match info >> 24 & 0x1f {
        1 => {
            let encoding = types.u32(rest)?;
            (Kind::Int { size: word, signed: encoding >> 24 & 1 == 1 }, 4)
        }
        2 => (Kind::Pointer(of), 0),
        3 => (Kind::Array { of: types.index(rest)?, count: types.u32(rest + 8)? }, 12),
        kind @ (4 | 5) => {
            let mut members = Vec::with_capacity(count);
            for at in each(12)? {
                let place = types.u32(at + 8)?;
                let (bit_offset, bits) = if flag { (place & 0xff_ffff, place >> 24) } else { (place, 0) };
                let name = texts.text(types.index(at)?)?.to_string();
                members.push(StructMember { name, of: types.index(at + 4)?, bit_offset, bits });
            }
            let size = word;
            (if kind == 4 { Kind::Struct { size, members } } else { Kind::Union { size, members } }, 12 * count)
        }
        6 => {
            let mut values = Vec::with_capacity(count);
            for at in each(8)? {
                let value = types.u32(at + 4)?;
                let value = if flag { i64::from(value as i32) } else { i64::from(value) };
                values.push((texts.text(types.index(at)?)?.to_string(), value));
            }
            (Kind::Enum { size: word, signed: flag, values }, 8 * count)
        }
        7 => (Kind::Forward, 0),
        8 => (Kind::Typedef(of), 0),
        9..=11 | 18 => (Kind::Qualifier(of), 0),
        12 => (Kind::Function(of), 0),
        13 => (Kind::Prototype(count), 8 * count),
        14 => (Kind::Variable(of), 4),
        15 => {
            let variables = each(12)?
                .map(|at| Ok((types.index(at)?, types.u32(at + 4)?, types.u32(at + 8)?)))
                .collect::<Result<_, Error>>()?;
            (Kind::Section(variables), 12 * count)
        }
        16 => (Kind::Float { size: word }, 0),
        17 => (Kind::Tag, 4),
        19 => {
            let mut values = Vec::with_capacity(count);
            for at in each(12)? {
                let value = u64::from(types.u32(at + 8)?) << 32 | u64::from(types.u32(at + 4)?);
                values.push((texts.text(types.index(at)?)?.to_string(), value as i64));
            }
            (Kind::Enum { size: word, signed: flag, values }, 12 * count)
        }
        other => return Err(Error::new(format!("has a BTF type of the unknown kind {other}"))),
    };
    types.slice(rest, extra)?;
    Ok((Type { name, kind }, 12 + extra))
}
