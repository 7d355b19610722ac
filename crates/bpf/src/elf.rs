//! The ELF file of an object: its sections, symbols, relocations and types.

use crate::Error;
use crate::btf::{Btf, Kind};
use crate::bytes::{Bytes, checked};
use crate::relocations::{CoreRelocation, core_relocations};
use crate::struct_ops::{Instance, instances};
use object::read::elf::ElfFile64;
use object::{LittleEndian, Object as _, ObjectSection as _, ObjectSymbol as _, RelocationFlags, RelocationTarget};

/// Most bytes of instructions and data in an object.
const LARGEST: u64 = 1 << 20;
/// Most bytes of all its sections, with types and notes for debuggers. They may overlap in a broken file.
const LARGEST_OF_ALL: u64 = 1 << 27;

/// A section with contents.
#[derive(Debug, Clone)]
pub struct Section {
    pub name: String,
    pub data: Vec<u8>,
    pub is_code: bool,
    pub is_writable: bool,
    /// Whether the program has it in memory.
    pub is_loaded: bool,
    pub relocations: Vec<Relocation>,
}

impl Section {
    /// Whether the section has variables of operations. libbpf ignores a leading question mark, which means "load only on
    /// request".
    pub fn is_struct_ops(&self) -> bool {
        self.name.trim_start_matches('?').starts_with(".struct_ops")
    }
}

/// A place that depends on a symbol.
#[derive(Debug, Clone, Copy)]
pub struct Relocation {
    pub offset: u64,
    pub symbol: usize,
}

/// A named place.
#[derive(Debug, Clone)]
pub struct Symbol {
    pub name: String,
    /// Index among the sections; none of an external one.
    pub section: Option<usize>,
    pub value: u64,
    /// Whether the symbol may be missing.
    pub is_weak: bool,
}

/// An object with programs for `struct_ops`, as clang compiles it for BPF.
#[derive(Debug, Clone)]
pub struct Object {
    pub(crate) sections: Vec<Section>,
    pub(crate) symbols: Vec<Symbol>,
    pub(crate) btf: Btf,
    pub(crate) core: Vec<CoreRelocation>,
    instances: Vec<Instance>,
    licence: String,
}

impl Object {
    /// Reads an ELF file.
    ///
    /// # Errors
    /// Names the property that the file does not have.
    pub fn parse(data: &[u8]) -> Result<Object, Error> {
        let file = ElfFile64::<LittleEndian>::parse(data)
            .map_err(|_| Error::new("is no little-endian 64-bit ELF file; compile it with clang --target=bpf"))?;
        if file.architecture() != object::Architecture::Bpf {
            return Err(Error::new("is no object for BPF; compile it with clang --target=bpf"));
        }
        let (mut loaded, mut total) = (0u64, 0u64);
        let mut sections = Vec::new();
        let mut places = Vec::new(); // of sections in the file
        for section in file.sections() {
            let flags = match section.flags() {
                object::SectionFlags::Elf { sh_flags } => sh_flags,
                _ => 0,
            };
            let is_loaded = flags & u64::from(object::elf::SHF_ALLOC) != 0;
            let name =
                section.name().map_err(|_| Error::new("has a section without a name")).and_then(checked)?.to_string();
            loaded = loaded.saturating_add(if is_loaded { section.size() } else { 0 });
            total = total.saturating_add(section.size());
            if loaded > LARGEST || total > LARGEST_OF_ALL {
                return Err(Error::new(format!(
                    "has more than {LARGEST} bytes of instructions and data, or {LARGEST_OF_ALL} in all"
                )));
            }
            let is_empty = section.kind() == object::SectionKind::UninitializedData;
            let data = match section.data() {
                _ if is_loaded && is_empty => vec![0; section.size() as usize],
                Ok(data) => data.to_vec(),
                Err(_) => return Err(Error::new(format!("is cut off within its section {name}"))),
            };
            let relocations = section.relocations().filter_map(|(offset, relocation)| match relocation.target() {
                RelocationTarget::Symbol(symbol) if is_known(relocation.flags()) => {
                    Some(Relocation { offset, symbol: symbol.0 })
                }
                _ => None,
            });
            places.push(section.index());
            sections.push(Section {
                is_code: flags & u64::from(object::elf::SHF_EXECINSTR) != 0,
                is_writable: flags & u64::from(object::elf::SHF_WRITE) != 0,
                is_loaded,
                relocations: relocations.collect(),
                name,
                data,
            });
        }
        let mut symbols = vec![Symbol { name: String::new(), section: None, value: 0, is_weak: false }];
        for symbol in file.symbols() {
            let name =
                symbol.name().map_err(|_| Error::new("has a symbol without a name")).and_then(checked)?.to_string();
            let section = symbol.section_index().and_then(|index| places.iter().position(|place| *place == index));
            symbols.resize(symbol.index().0, symbols[0].clone());
            symbols.push(Symbol { name, section, value: symbol.address(), is_weak: symbol.is_weak() });
        }
        let named = |name: &str| sections.iter().find(|section| section.name == name).map(|section| &section.data);
        let btf = named(".BTF").ok_or_else(|| Error::new("has no BTF; compile it with clang -g"))?;
        let (btf, texts) = Btf::parse(btf)?;
        let core = match named(".BTF.ext") {
            Some(extension) => core_relocations(Bytes(extension), texts)?,
            None => Vec::new(),
        };
        let licence = named("license").map_or(Ok(""), |text| Bytes(text).text(0))?.to_string();
        let instances = instances(&btf, &sections, &symbols)?;
        Ok(Object { sections, symbols, btf, core, instances, licence })
    }

    /// The operations that it defines: one for each variable in a section `.struct_ops`.
    pub fn instances(&self) -> &[Instance] {
        &self.instances
    }

    /// Whether an external variable is a constant of the kernel's configuration.
    pub(crate) fn is_constant(&self, name: &str) -> bool {
        self.btf.iter().any(|(_, one)| match &one.kind {
            Kind::Section(variables) if one.name == ".kconfig" => {
                variables.iter().any(|(variable, ..)| self.btf.get(*variable).name == name)
            }
            _ => false,
        })
    }

    /// The licence that it states; Linux requires one compatible with the GPL.
    pub fn licence(&self) -> &str {
        &self.licence
    }
}

/// Relocations of instructions and data (Linux, `llvm_reloc.rst`): R_BPF_64_64, R_BPF_64_ABS64, R_BPF_64_32.
fn is_known(flags: RelocationFlags) -> bool {
    matches!(flags, RelocationFlags::Elf { r_type: 1 | 2 | 10 })
}
