//! The variables of a module, by the debug information: where they are, and what they are made of.

use crate::dwarf::{Die, Entry, Offset, Reader, Sections, Slice};
use crate::frames::Frames;
use crate::layout::{self, Part};
use addr2line::gimli;
use std::collections::HashMap;
use std::path::Path;

/// Where an entry is: its unit's header, and its place in the unit.
type EntryOffset = (usize, Offset);

/// The variables of one module. Nothing is read before the first question.
#[derive(Default)]
pub(crate) struct Variables {
    sections: Option<Sections>,
    /// Variables with static storage, by address.
    fixed: HashMap<u64, EntryOffset>,
    /// Functions: from, to, where.
    functions: Vec<(u64, u64, EntryOffset)>,
    frames: Frames,
}

/// A variable of a function.
pub(crate) struct Local {
    pub(crate) name: String,
    /// How far into it the place is, and its size.
    pub(crate) offset: u64,
    pub(crate) size: u64,
    pub(crate) part: Part,
}

/// A function that has not returned: a program point in it, and the registers there.
#[derive(Clone, Copy, Debug)]
pub struct Active {
    /// Where in the module.
    pub pc: u64,
    /// Where it is now, if the registers have not changed since and this is in the same function.
    pub call: Option<u64>,
    /// The stack pointer.
    pub sp: u64,
    /// The register rbp.
    pub bp: u64,
}

impl Variables {
    /// Reads the file with the debug information. What cannot be read counts as empty.
    pub(crate) fn read(module: &Path, debug_file: &Path) -> Variables {
        let Some(sections) = Sections::read(debug_file) else { return Variables::default() };
        let mut variables = Variables { frames: Frames::read(module), ..Variables::default() };
        variables.index(&sections.reader());
        variables.sections = Some(sections);
        variables
    }

    /// Looks at all entries once.
    fn index(&mut self, reader: &Reader<'_>) {
        let mut headers = reader.dwarf.units();
        while let Ok(Some(header)) = headers.next() {
            let Some(place) = header.debug_info_offset() else { continue };
            let Ok(unit) = reader.dwarf.unit(header) else { continue };
            let mut entries = unit.entries();
            while let Ok(Some(entry)) = entries.next_dfs() {
                let here = (place.0, entry.offset());
                match entry.tag() {
                    gimli::DW_TAG_variable => {
                        if let Some(address) = address(reader, &unit, entry) {
                            self.fixed.entry(address).or_insert(here);
                        }
                    }
                    gimli::DW_TAG_subprogram => {
                        let ranges = ranges(reader, &unit, entry);
                        self.functions.extend(ranges.into_iter().map(|(start, end)| (start, end, here)));
                    }
                    _ => {}
                }
            }
        }
    }

    /// The variable of an active function that is at an address of the stack: one that is in scope, and alone there.
    pub(crate) fn local(&self, function: Active, address: u64) -> Option<Local> {
        let reader = self.sections.as_ref()?.reader();
        let (start, end, (unit, at)) =
            self.functions.iter().find(|(start, end, _)| (*start..*end).contains(&function.pc))?;
        let now = function.call.filter(|call| (*start..*end).contains(call)).unwrap_or(function.pc);
        let unit = reader.unit(*unit)?;
        let die = reader.die(&unit, *at)?;
        let base = match only_operation(&die.entry, gimli::DW_AT_frame_base, &unit.unit)? {
            gimli::Operation::CallFrameCFA => self.frames.beginning(function.pc, function.sp, function.bp)?,
            gimli::Operation::Register { register: gimli::X86_64::RSP } => function.sp,
            gimli::Operation::Register { register: gimli::X86_64::RBP } => function.bp,
            _ => return None,
        };
        let mut found = Vec::new();
        in_scope(&reader, &die, now, &mut |variable| {
            let Some(gimli::Operation::FrameOffset { offset }) =
                only_operation(&variable.entry, gimli::DW_AT_location, &variable.unit.unit)
            else {
                return;
            };
            let (start, size) = (base.wrapping_add_signed(offset), layout::size_of(&reader, variable).unwrap_or(0));
            if start <= address && address - start < size {
                found.push((variable.clone(), address - start, size));
            }
        });
        let [(variable, offset, size)] = &found[..] else { return None };
        let part = layout::part(&reader, variable, *offset);
        Some(Local { name: reader.name(variable)?, offset: *offset, size: *size, part })
    }

    /// The part of the variable at `address` that is `offset` bytes into it.
    pub(crate) fn part(&self, address: u64, offset: u64) -> Option<Part> {
        let (unit, at) = self.fixed.get(&address)?;
        let reader = self.sections.as_ref()?.reader();
        let variable = reader.die(&reader.unit(*unit)?, *at)?;
        Some(layout::part(&reader, &variable, offset))
    }
}

/// The addresses of a function's code, or of a block's.
fn ranges<'a>(reader: &Reader<'a>, unit: &gimli::Unit<Slice<'a>>, entry: &Entry<'a>) -> Vec<(u64, u64)> {
    let mut list = Vec::new();
    let Ok(mut ranges) = reader.dwarf.die_ranges(unit, entry) else { return list };
    while let Ok(Some(range)) = ranges.next() {
        // What the linker has removed is at zero.
        if range.begin != 0 && range.begin < range.end {
            list.push((range.begin, range.end));
        }
    }
    list
}

/// The variables of a function, of the blocks around a program point and of what was inlined there.
fn in_scope<'a>(reader: &Reader<'a>, of: &Die<'a>, pc: u64, see: &mut dyn FnMut(&Die<'a>)) {
    for child in reader.children(of) {
        match child.entry.tag() {
            gimli::DW_TAG_variable | gimli::DW_TAG_formal_parameter => see(&child),
            gimli::DW_TAG_lexical_block | gimli::DW_TAG_inlined_subroutine => {
                let ranges = ranges(reader, &child.unit.unit, &child.entry);
                if ranges.iter().any(|(start, end)| (*start..*end).contains(&pc)) {
                    in_scope(reader, &child, pc, see);
                }
            }
            _ => {}
        }
    }
}

/// What an attribute says, if it is a single operation.
fn only_operation<'a>(
    entry: &Entry<'a>,
    attribute: gimli::DwAt,
    unit: &gimli::Unit<Slice<'a>>,
) -> Option<gimli::Operation<Slice<'a>>> {
    let mut operations = entry.attr_value(attribute)?.exprloc_value()?.operations(unit.encoding());
    let operation = operations.next().ok()??;
    operations.next().ok()?.is_none().then_some(operation)
}

/// The address of a variable, if it always has the same.
fn address<'a>(reader: &Reader<'a>, unit: &gimli::Unit<Slice<'a>>, entry: &Entry<'a>) -> Option<u64> {
    let address = match only_operation(entry, gimli::DW_AT_location, unit)? {
        gimli::Operation::Address { address } => address,
        gimli::Operation::AddressIndex { index } => reader.dwarf.address(unit, index).ok()?,
        _ => return None,
    };
    // What the linker has removed leaves a variable at zero behind.
    (address != 0).then_some(address)
}
