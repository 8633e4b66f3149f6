//! The variables of a module, by the debug information: where they are, and what they are made of.

use crate::dwarf::{Offset, Reader, Sections};
use crate::layout::{self, Part};
use addr2line::gimli;
use std::collections::HashMap;
use std::path::Path;

/// Where an entry is: its unit's header, and its place in the unit.
type Place = (usize, Offset);

/// The variables of one module. Nothing is read before the first question.
#[derive(Default)]
pub(crate) struct Variables {
    sections: Option<Sections>,
    /// Variables with static storage, by address.
    fixed: HashMap<u64, Place>,
}

impl Variables {
    /// Reads the file with the debug information. What cannot be read counts as empty.
    pub(crate) fn read(debug_file: &Path) -> Variables {
        let Some(sections) = Sections::read(debug_file) else { return Variables::default() };
        let fixed = fixed(&sections.reader());
        Variables { sections: Some(sections), fixed }
    }

    /// The part of the variable at `address` that is `offset` bytes into it.
    pub(crate) fn part(&self, address: u64, offset: u64) -> Option<Part> {
        let (unit, at) = self.fixed.get(&address)?;
        let reader = self.sections.as_ref()?.reader();
        let variable = reader.die(&reader.unit(*unit)?, *at)?;
        Some(layout::part(&reader, &variable, offset))
    }
}

/// All variables that are at a fixed address.
fn fixed(reader: &Reader<'_>) -> HashMap<u64, Place> {
    let mut found = HashMap::new();
    let mut headers = reader.dwarf.units();
    while let Ok(Some(header)) = headers.next() {
        let Some(place) = header.debug_info_offset() else { continue };
        let Ok(unit) = reader.dwarf.unit(header) else { continue };
        let mut entries = unit.entries();
        while let Ok(Some(entry)) = entries.next_dfs() {
            if entry.tag() == gimli::DW_TAG_variable
                && let Some(address) = address(reader, &unit, entry)
            {
                found.entry(address).or_insert((place.0, entry.offset()));
            }
        }
    }
    found
}

/// The address of a variable, if it always has the same.
fn address<'a>(
    reader: &Reader<'a>,
    unit: &gimli::Unit<crate::dwarf::Slice<'a>>,
    entry: &crate::dwarf::Entry<'a>,
) -> Option<u64> {
    let mut operations = entry.attr_value(gimli::DW_AT_location)?.exprloc_value()?.operations(unit.encoding());
    let address = match operations.next().ok()?? {
        gimli::Operation::Address { address } => address,
        gimli::Operation::AddressIndex { index } => reader.dwarf.address(unit, index).ok()?,
        _ => return None,
    };
    // What the linker has removed leaves a variable at zero behind.
    (address != 0 && operations.next().ok()?.is_none()).then_some(address)
}
