//! Links an instance of an object: one program in memory, with all places filled in for a layout.

use crate::Error;
use crate::btf::Kind;
use crate::decode::{Code, Instruction, Raw, ZERO};
use crate::elf::{Object, Relocation};
use crate::helpers::{helper, name};
use crate::layout::{Field, Layout};
use crate::machine::{FRAME, Fault, Kernel, MOST_FRAMES, Machine};
use crate::maps::{Map, MapKind, declared};
use crate::memory::Memory;
use crate::relocations::{Relocated, resolve};
use crate::struct_ops::Value;
use std::collections::BTreeMap;

/// Base of pointers to maps, to which an index is added. These pointers are not addresses of memory.
pub const MAPS: u64 = 1 << 40;
/// Base of pointers to functions, as [`MAPS`].
pub const FUNCTIONS: u64 = 2 << 40;

/// Most bytes of a connection's variables and maps.
const LARGEST_MEMORY: usize = 1 << 22;

/// Arguments of an operation at most.
const MOST_ARGUMENTS: usize = 5;

/// The environment for which a program is linked.
pub struct Options<'a> {
    /// Values of constants of the kernel's configuration, such as `CONFIG_HZ`.
    pub configuration: &'a [(&'a str, u64)],
    /// Whether a field of a structure, by its path, has a meaning. A field that is in the layout but has no meaning is missing.
    pub provides_field: &'a dyn Fn(&str, &str) -> bool,
    /// Whether the caller's [`Kernel`] has a function.
    pub provides_function: &'a dyn Fn(&str) -> bool,
}

/// A field that a program uses.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct Used {
    /// The structure's name.
    pub structure: String,
    /// The field's path.
    pub path: String,
}

/// The programs of one instance, ready to run.
#[derive(Debug, Clone)]
pub struct Program {
    pub(crate) code: Vec<Instruction>,
    pub(crate) faults: Vec<String>,
    pub(crate) maps: Vec<Map>,
    pub(crate) functions: Vec<String>,
    /// Places where functions begin.
    pub(crate) entries: Vec<usize>,
    /// Address of the lowest frame.
    pub(crate) stack: u64,
    /// First instruction of every section, in ascending order, and its name.
    sections: Vec<(usize, String)>,
    operations: Vec<(String, usize)>,
    arguments: u64,
    memory: Memory,
    missing: Vec<String>,
    fields: Vec<Used>,
    /// Names of variables that are not constant.
    variables: Vec<String>,
}

impl Program {
    /// Links the instance of this index.
    ///
    /// # Errors
    /// Names a malformed part of the object. Features that only this crate lacks are [missing](Self::missing) instead.
    pub fn link(object: &Object, instance: usize, layout: &Layout, options: &Options<'_>) -> Result<Program, Error> {
        let instance = object.instances().get(instance).ok_or_else(|| Error::new("defines no such operations"))?;
        let mut linker = Linker::new(object, layout, options)?;
        let operations: Vec<(String, usize)> = instance
            .members
            .iter()
            .filter_map(|member| match member.value {
                Value::Program { section, offset, .. } => Some((member.name.clone(), linker.place(section, offset)?)),
                _ => None,
            })
            .collect();
        linker.relocate_fields()?;
        linker.relocate_symbols()?;
        linker.finish(operations)
    }

    /// The operations that the instance defines.
    pub fn operations(&self) -> impl Iterator<Item = &str> {
        self.operations.iter().map(|(name, _)| name.as_str())
    }

    /// The handle of an operation for [`Self::call`].
    pub fn operation(&self, name: &str) -> Option<usize> {
        self.operations.iter().position(|(one, _)| one == name)
    }

    /// Features that its operations need and that are not provided: fields, functions, maps.
    pub fn missing(&self) -> &[String] {
        &self.missing
    }

    /// The fields that its operations use.
    pub fn fields(&self) -> &[Used] {
        &self.fields
    }

    /// The functions that it calls by name; [`Kernel::call`] has their indexes.
    pub fn functions(&self) -> &[String] {
        &self.functions
    }

    /// The maps and variables that all connections share in Linux, but each has for itself here.
    pub fn shared(&self) -> impl Iterator<Item = &str> {
        let maps = self.maps.iter().filter(|map| map.kind != MapKind::SocketStorage);
        maps.map(|map| &map.name).chain(&self.variables).map(String::as_str)
    }

    /// The memory of a new connection: the program's variables, maps and frames.
    pub fn memory(&self) -> &Memory {
        &self.memory
    }

    /// Calls an operation.
    ///
    /// # Errors
    /// Names the missing feature or the forbidden action of the program.
    pub fn call(
        &self,
        operation: usize,
        arguments: &[u64],
        memory: &mut Memory,
        kernel: &mut dyn Kernel,
    ) -> Result<u64, Fault> {
        for (index, argument) in arguments.iter().take(MOST_ARGUMENTS).enumerate() {
            memory.write(self.arguments + 8 * index as u64, 8, *argument);
        }
        let frame = self.stack + FRAME;
        let (name, entry) = &self.operations[operation];
        let mut machine = Machine::new(self, memory, kernel);
        machine
            .run(*entry, [self.arguments, 0, 0, 0, 0], frame)
            .map_err(|Fault(problem)| Fault(format!("{name}: {problem}")))
    }

    /// The section of an instruction, and its number there.
    pub(crate) fn place(&self, at: usize) -> String {
        let section = self.sections.iter().rev().find(|(start, _)| *start <= at);
        section.map_or(String::new(), |(start, name)| format!("instruction {} of {name}", at - start))
    }
}

struct Linker<'a> {
    object: &'a Object,
    layout: &'a Layout,
    options: &'a Options<'a>,
    raw: Vec<Raw>,
    /// Decoded instructions that replace raw ones.
    patched: BTreeMap<usize, Instruction>,
    /// For each instruction, its missing feature, or the field that it uses.
    lacks: BTreeMap<usize, String>,
    uses: BTreeMap<usize, Used>,
    /// First instruction of each code section.
    starts: Vec<Option<usize>>,
    /// Address of each data section.
    addresses: Vec<Option<u64>>,
    maps: Vec<Map>,
    /// Problems of maps by offset in their section, and the indexes of good ones.
    map_places: Vec<(u64, Result<usize, String>)>,
    configuration: BTreeMap<String, u64>,
    /// The address of a constant of the configuration that is not set.
    zero: u64,
    functions: Vec<String>,
    memory: Memory,
}

impl<'a> Linker<'a> {
    fn new(object: &'a Object, layout: &'a Layout, options: &'a Options<'a>) -> Result<Linker<'a>, Error> {
        let mut linker = Linker {
            object,
            layout,
            options,
            raw: Vec::new(),
            patched: BTreeMap::new(),
            lacks: BTreeMap::new(),
            uses: BTreeMap::new(),
            starts: vec![None; object.sections.len()],
            addresses: vec![None; object.sections.len()],
            maps: Vec::new(),
            map_places: Vec::new(),
            configuration: BTreeMap::new(),
            zero: 0,
            functions: Vec::new(),
            memory: Memory::default(),
        };
        for (index, section) in object.sections.iter().enumerate().filter(|(_, section)| section.is_loaded) {
            if section.is_code {
                linker.starts[index] = Some(linker.raw.len());
                let (instructions, rest) = section.data.as_chunks::<8>();
                if !rest.is_empty() {
                    return Err(Error::new(format!("has half an instruction in section {}", section.name)));
                }
                linker.raw.extend(instructions.iter().map(|bytes| Raw::read(*bytes)));
            } else if section.name == ".maps" {
                linker.declare_maps(index)?;
            } else if !section.is_struct_ops() {
                let writable = section.is_writable.then_some(0..section.data.len());
                linker.addresses[index] = Some(linker.memory.add(&section.data, writable));
            }
        }
        for (name, value) in options.configuration {
            let address = linker.memory.add(&value.to_le_bytes(), None);
            linker.configuration.insert((*name).to_string(), address);
        }
        linker.zero = linker.memory.add(&[0; 8], None);
        Ok(linker)
    }

    fn declare_maps(&mut self, section: usize) -> Result<(), Error> {
        let btf = &self.object.btf;
        let symbols = self.object.symbols.iter().filter(|symbol| symbol.section == Some(section));
        for symbol in symbols.filter(|symbol| !symbol.name.is_empty()) {
            let variable = btf.iter().find_map(|(_, one)| match one.kind {
                Kind::Variable(of) if one.name == symbol.name => Some(of),
                _ => None,
            });
            let Some(of) = variable else { continue };
            let declared = declared(btf, &symbol.name, of).map_err(|problem| problem.0).and_then(|mut map| {
                let size = map.size().unwrap_or(0);
                if self.memory.len() + size > LARGEST_MEMORY {
                    return Err(format!("map {}, with which the maps take more than {LARGEST_MEMORY} bytes", map.name));
                }
                map.address = 0;
                map.address = self.memory.add(&vec![0; size], map.writable());
                self.maps.push(map);
                Ok(self.maps.len() - 1)
            });
            self.map_places.push((symbol.value, declared));
        }
        Ok(())
    }

    /// The place of an instruction of a code section.
    fn place(&self, section: usize, offset: u64) -> Option<usize> {
        let start = (*self.starts.get(section)?)?;
        let place = start.checked_add(usize::try_from(offset / 8).ok()?)?;
        (place < self.raw.len()).then_some(place)
    }

    fn relocate_fields(&mut self) -> Result<(), Error> {
        for relocation in &self.object.core {
            let section = self.object.sections.iter().position(|section| section.name == relocation.section);
            let at = section.and_then(|section| self.place(section, relocation.offset.into()));
            let at = at.ok_or_else(|| Error::new("has a CO-RE relocation of no instruction"))?;
            let value = match resolve(&self.object.btf, relocation, &self.object.core, self.layout)? {
                Relocated::Value(value) => value,
                Relocated::Exists { structure, path } => (self.options.provides_field)(&structure, &path).into(),
                Relocated::Missing(lacks) => {
                    self.lacks.insert(at, lacks);
                    continue;
                }
                Relocated::Field { structure, path, field, local_size, is_resizable } => {
                    if !(self.options.provides_field)(&structure, &path) {
                        self.lacks.insert(at, format!("{structure}.{path}"));
                        continue;
                    }
                    self.resize(at, field, local_size, is_resizable, || {
                        format!("{structure}.{path} of {local_size} bytes")
                    });
                    self.uses.insert(at, Used { structure, path });
                    field.offset.into()
                }
            };
            self.set(at, value)?;
        }
        Ok(())
    }

    /// Resizes an access to a field whose size differs, as libbpf does. This is possible only for a pointer or an unsigned number, and
    /// only if it is accessed as a whole.
    fn resize(&mut self, at: usize, field: Field, local_size: u32, is_resizable: bool, name: impl Fn() -> String) {
        let raw = self.raw[at];
        if raw.is_access() && field.size != local_size {
            let resized = raw.with_access_size(field.size);
            match resized.filter(|_| is_resizable && raw.access_size() == Some(local_size)) {
                Some(resized) => self.raw[at] = resized,
                None => {
                    self.lacks.insert(at, name());
                }
            }
        }
    }

    /// Puts a number where the instruction has one.
    fn set(&mut self, at: usize, value: u64) -> Result<(), Error> {
        let raw = &mut self.raw[at];
        let out_of_range = || Error::new(format!("has no room for {value} in an instruction"));
        if raw.is_wide() {
            self.set_wide(at, value);
        } else if raw.is_access() {
            raw.offset = i32::try_from(value).map_err(|_| out_of_range())?;
        } else {
            raw.immediate = i32::try_from(value as i64).map_err(|_| out_of_range())?;
        }
        Ok(())
    }

    /// Puts a number into a wide instruction. Others are missing, also one that sets the frame pointer: it could loop without end.
    fn set_wide(&mut self, at: usize, value: u64) {
        match self.raw[at].decode(at) {
            Some(wide) if wide.code == Code::LoadWide => {
                self.patched.insert(at, Instruction { immediate: value, ..wide });
            }
            _ => {
                self.lacks.insert(at, "a register for the address that it loads".into());
            }
        }
    }

    fn relocate_symbols(&mut self) -> Result<(), Error> {
        for (index, section) in self.object.sections.iter().enumerate().filter(|(_, section)| section.is_code) {
            for relocation in &section.relocations {
                let at = self.place(index, relocation.offset);
                let at = at.ok_or_else(|| Error::new("has a relocation of no instruction"))?;
                self.relocate(at, relocation)?;
            }
        }
        Ok(())
    }

    fn relocate(&mut self, at: usize, relocation: &Relocation) -> Result<(), Error> {
        let symbol = self.object.symbols.get(relocation.symbol);
        let symbol = symbol.ok_or_else(|| Error::new("has a relocation to no symbol"))?;
        let raw = self.raw[at];
        let addend = i64::from(raw.immediate);
        let Some(section) = symbol.section else {
            let is_provided = (self.options.provides_function)(&symbol.name);
            if raw.is_call() {
                let index = self.function(&symbol.name) as u64;
                self.patched.insert(at, calls_kernel(index));
                // Programs test for a weak function before they call it.
                if !is_provided && !symbol.is_weak {
                    self.lacks.insert(at, symbol.name.clone());
                }
            } else if let Some(address) = self.configuration.get(&symbol.name) {
                self.set_wide(at, *address);
            } else if is_provided {
                self.set_wide(at, FUNCTIONS);
            } else if symbol.is_weak {
                let zero = self.zero;
                // Programs test the address of a function, and read a constant.
                let is_constant = self.object.is_constant(&symbol.name);
                self.set_wide(at, if is_constant { zero } else { 0 });
            } else {
                self.lacks.insert(at, symbol.name.clone());
            }
            return Ok(());
        };
        let target = symbol.value.wrapping_add(addend as u64);
        if self.starts[section].is_some() {
            let no_function =
                || Error::new(format!("refers to no instruction of section {}", self.object.sections[section].name));
            if raw.is_call() {
                let place =
                    self.place(section, symbol.value.wrapping_add((addend.wrapping_add(1).wrapping_mul(8)) as u64));
                let place = place.ok_or_else(no_function)?;
                self.raw[at] = Raw { source: 1, immediate: (place as i64 - at as i64 - 1) as i32, ..raw };
            } else {
                let place = self.place(section, target).ok_or_else(no_function)?;
                self.set_wide(at, FUNCTIONS + place as u64);
            }
        } else if self.object.sections[section].name == ".maps" {
            match self.map_places.iter().find(|(offset, _)| *offset == target) {
                Some((_, Ok(index))) => self.set_wide(at, MAPS + *index as u64),
                Some((_, Err(problem))) => {
                    self.lacks.insert(at, problem.clone());
                }
                None => return Err(Error::new("refers to no map of its section .maps")),
            }
        } else if let Some(address) = self.addresses[section] {
            self.set_wide(at, address.wrapping_add(target));
        } else {
            self.lacks.insert(at, format!("section {}", self.object.sections[section].name));
        }
        Ok(())
    }

    fn function(&mut self, name: &str) -> usize {
        self.functions.iter().position(|one| one == name).unwrap_or_else(|| {
            self.functions.push(name.to_string());
            self.functions.len() - 1
        })
    }

    fn finish(mut self, operations: Vec<(String, usize)>) -> Result<Program, Error> {
        let mut code = Vec::with_capacity(self.raw.len());
        let mut faults = Vec::new();
        let mut missing_at = BTreeMap::new();
        for at in 0..self.raw.len() {
            let mut decoded = self.patched.get(&at).copied().or_else(|| self.raw[at].decode(at));
            let follows_wide = at > 0 && self.raw[at - 1].is_wide();
            if let Some(wide) =
                decoded.as_mut().filter(|one| one.code == Code::LoadWide && !self.patched.contains_key(&at))
            {
                let high = self.raw.get(at + 1).ok_or_else(|| Error::new("ends within an instruction"))?;
                wide.immediate |= u64::from(high.immediate as u32) << 32;
            }
            if decoded.is_some_and(|one| one.code == Code::Helper) {
                let number = decoded.map_or(0, |one| one.immediate);
                if helper(number).is_none() {
                    let name = name(number);
                    decoded = Some(calls_kernel(self.function(&name) as u64));
                    if !(self.options.provides_function)(&name) {
                        self.lacks.insert(at, name);
                    }
                }
            }
            let fault = match (self.lacks.get(&at), decoded) {
                (Some(lacks), _) => {
                    missing_at.insert(at, lacks.clone());
                    Some(format!("needs {lacks}"))
                }
                (None, None) if !follows_wide => Some(format!("has no instruction of RFC 9669 at place {at}")),
                _ => None,
            };
            code.push(match (fault, decoded) {
                (None, Some(decoded)) => decoded,
                (fault, _) => {
                    faults.push(fault.unwrap_or_else(|| "jumps into an instruction".into()));
                    let immediate = faults.len() as u64 - 1;
                    Instruction { code: Code::Fault, destination: 0, source: ZERO, offset: 0, immediate }
                }
            });
        }
        let entries = self.entries(&code, &operations);
        let reached = reached(&code, &entries);
        let mut missing: Vec<String> =
            missing_at.into_iter().filter(|(at, _)| reached[*at]).map(|(_, lacks)| lacks).collect();
        missing.sort_unstable();
        missing.dedup();
        let mut fields: Vec<Used> =
            self.uses.into_iter().filter(|(at, _)| reached[*at]).map(|(_, used)| used).collect();
        fields.sort_unstable();
        fields.dedup();
        let frames = (FRAME * MOST_FRAMES) as usize;
        let stack = self.memory.add(&vec![0; frames], Some(0..frames));
        let arguments = self.memory.add(&[0; 8 * MOST_ARGUMENTS], None);
        let mut sections: Vec<(usize, String)> = self
            .starts
            .iter()
            .zip(&self.object.sections)
            .filter_map(|(start, section)| Some(((*start)?, section.name.clone())))
            .collect();
        sections.sort_unstable();
        let variables = self.object.symbols.iter().filter(|symbol| {
            let section = symbol.section.map(|section| &self.object.sections[section]);
            let is_data = |name: &str| {
                [".data", ".bss"].contains(&name) || name.starts_with(".data.") || name.starts_with(".bss.")
            };
            section.is_some_and(|one| one.is_writable && is_data(&one.name)) && !symbol.name.is_empty()
        });
        let variables = variables.map(|symbol| symbol.name.clone()).collect();
        Ok(Program {
            variables,
            code,
            faults,
            maps: self.maps,
            functions: self.functions,
            entries,
            stack,
            sections,
            operations,
            arguments,
            memory: self.memory,
            missing,
            fields,
        })
    }

    /// First instructions of functions: the operations, and the targets of calls and of pointers to functions.
    fn entries(&self, code: &[Instruction], operations: &[(String, usize)]) -> Vec<usize> {
        let mut entries: Vec<usize> = operations.iter().map(|(_, at)| *at).collect();
        let pointed = code.iter().filter(|one| one.code == Code::LoadWide && one.immediate & FUNCTIONS != 0);
        entries.extend(pointed.map(|one| one.immediate.wrapping_sub(FUNCTIONS) as usize).filter(|at| *at < code.len()));
        entries.sort_unstable();
        entries.dedup();
        entries
    }
}

/// Calls a function of the kernel by its index.
fn calls_kernel(immediate: u64) -> Instruction {
    Instruction { code: Code::Kernel, destination: 0, source: ZERO, offset: 0, immediate }
}

/// The instructions that the functions may reach.
fn reached(code: &[Instruction], entries: &[usize]) -> Vec<bool> {
    let mut reached = vec![false; code.len()];
    let mut open = entries.to_vec();
    while let Some(at) = open.pop() {
        let Some(one) = code.get(at).filter(|_| !reached[at]) else { continue };
        reached[at] = true;
        match one.code {
            Code::Exit => {}
            Code::Jump => open.push(one.offset as usize),
            Code::LoadWide => open.push(at + 2),
            Code::Local => open.extend([at + 1, one.offset as usize]),
            code if (code as u8) > Code::Jump as u8 && (code as u8) < Code::Helper as u8 => {
                open.extend([at + 1, one.offset as usize]);
            }
            _ => open.push(at + 1),
        }
    }
    reached
}

#[cfg(test)]
impl Program {
    /// A program of these instructions, whose only operation begins at the first, with a region of memory that it may write. Returns the
    /// region's address too.
    pub(crate) fn assembled(raw: &[Raw], size: usize) -> (Program, Memory, u64) {
        let mut memory = Memory::default();
        let frames = (FRAME * MOST_FRAMES) as usize;
        let stack = memory.add(&vec![0; frames], Some(0..frames));
        let arguments = memory.add(&[0; 8 * MOST_ARGUMENTS], None);
        let region = memory.add(&vec![0; size], Some(0..size));
        let mut faults = Vec::new();
        let mut code = Vec::new();
        for (at, one) in raw.iter().enumerate() {
            code.push(one.decode(at).unwrap_or_else(|| {
                faults.push(format!("has no instruction of RFC 9669 at place {at}"));
                let immediate = faults.len() as u64 - 1;
                Instruction { code: Code::Fault, destination: 0, source: ZERO, offset: 0, immediate }
            }));
        }
        let program = Program {
            code,
            faults,
            maps: Vec::new(),
            functions: Vec::new(),
            entries: vec![0],
            stack,
            sections: vec![(0, "test".into())],
            operations: vec![("test".into(), 0)],
            arguments,
            memory: memory.clone(),
            missing: Vec::new(),
            fields: Vec::new(),
            variables: Vec::new(),
        };
        (program, memory, region)
    }
}
