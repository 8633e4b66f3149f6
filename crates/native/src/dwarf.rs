//! The debug information of a file, as entries that can be followed.
//!
//! What is owned is the bytes; a reader borrows them for one question. Entries of other units are found by their
//! place in the section.

use addr2line::gimli;
use object::read::elf::ElfFile64;
use object::{Endianness, Object, ObjectSection};
use std::path::Path;
use std::rc::Rc;

/// Bytes of a section.
pub(crate) type Slice<'a> = gimli::EndianSlice<'a, gimli::LittleEndian>;
/// An entry: what a variable, a type or a function is described by.
pub(crate) type Entry<'a> = gimli::DebuggingInformationEntry<Slice<'a>>;
/// Where in its unit an entry is.
pub(crate) type Offset = gimli::UnitOffset<usize>;

/// The sections of a file.
pub(crate) struct Sections {
    dwarf: gimli::DwarfSections<Vec<u8>>,
}

impl Sections {
    /// Reads a file with debug information. `None` if there is none.
    pub(crate) fn read(debug_file: &Path) -> Option<Sections> {
        let bytes = std::fs::read(debug_file).ok()?;
        let file = ElfFile64::<Endianness>::parse(&*bytes).ok()?;
        let contents = |name: &str| -> Result<Vec<u8>, object::Error> {
            let section = file.section_by_name(name);
            section.map_or(Ok(Vec::new()), |section| Ok(section.uncompressed_data()?.into_owned()))
        };
        Some(Sections { dwarf: gimli::DwarfSections::load(|id| contents(id.name())).ok()? })
    }

    /// For questions.
    pub(crate) fn reader(&self) -> Reader<'_> {
        Reader { dwarf: self.dwarf.borrow(|section| gimli::EndianSlice::new(section, gimli::LittleEndian)) }
    }
}

/// Follows entries.
pub(crate) struct Reader<'a> {
    pub(crate) dwarf: gimli::Dwarf<Slice<'a>>,
}

/// A unit, and which of its entries are declared by the languages' own libraries.
pub(crate) struct Unit<'a> {
    pub(crate) unit: gimli::Unit<Slice<'a>>,
    library: Vec<(usize, usize)>,
}

impl Unit<'_> {
    /// Is this entry one of the languages' own libraries?
    pub(crate) fn is_library(&self, at: Offset) -> bool {
        self.library.iter().any(|(start, end)| (*start..*end).contains(&at.0))
    }
}

/// An entry, with the unit that it is in.
#[derive(Clone)]
pub(crate) struct Die<'a> {
    pub(crate) unit: Rc<Unit<'a>>,
    pub(crate) entry: Entry<'a>,
}

impl<'a> Reader<'a> {
    /// The unit whose header is at this place of the section.
    pub(crate) fn unit(&self, header: usize) -> Option<Rc<Unit<'a>>> {
        let header = self.dwarf.unit_header(gimli::DebugInfoOffset(header)).ok()?;
        let unit = self.dwarf.unit(header).ok()?;
        let library = self.library(&unit).unwrap_or_default();
        Some(Rc::new(Unit { unit, library }))
    }

    /// The namespaces of the languages' own libraries.
    fn library(&self, unit: &gimli::Unit<Slice<'a>>) -> Option<Vec<(usize, usize)>> {
        const NAMES: [&[u8]; 4] = [b"std", b"core", b"alloc", b"__gnu_cxx"];
        let mut ranges: Vec<(usize, usize)> = Vec::new();
        let mut open = None;
        let mut entries = unit.entries();
        entries.next_dfs().ok()?;
        entries.next_dfs().ok()?;
        while let Some(entry) = entries.current() {
            let at = entry.offset().0;
            if let Some(start) = open.take() {
                ranges.push((start, at));
            }
            let name = entry.attr_value(gimli::DW_AT_name).and_then(|name| self.dwarf.attr_string(unit, name).ok());
            if entry.tag() == gimli::DW_TAG_namespace && name.is_some_and(|name| NAMES.contains(&name.slice())) {
                open = Some(at);
            }
            if entries.next_sibling().ok()?.is_none() {
                break;
            }
        }
        ranges.extend(open.map(|start| (start, usize::MAX)));
        Some(ranges)
    }

    /// The entry at a place of a unit.
    pub(crate) fn die(&self, unit: &Rc<Unit<'a>>, at: Offset) -> Option<Die<'a>> {
        Some(Die { unit: unit.clone(), entry: unit.unit.entry(at).ok()? })
    }

    /// The entry that an attribute refers to.
    pub(crate) fn follow(&self, from: &Die<'a>, attribute: gimli::DwAt) -> Option<Die<'a>> {
        match from.entry.attr_value(attribute)? {
            gimli::AttributeValue::UnitRef(at) => self.die(&from.unit, at),
            gimli::AttributeValue::DebugInfoRef(at) => {
                let mut headers = self.dwarf.units();
                while let Ok(Some(header)) = headers.next() {
                    if let Some(inside) = at.to_unit_offset(&header) {
                        return self.die(&self.unit(header.debug_info_offset()?.0)?, inside);
                    }
                }
                None
            }
            _ => None,
        }
    }

    /// An attribute of an entry, or of the declaration that it completes, or of what it is a copy of.
    pub(crate) fn attribute<T>(&self, die: &Die<'a>, read: &dyn Fn(&Die<'a>) -> Option<T>) -> Option<T> {
        let mut die = die.clone();
        // A variable is at most a copy of a definition of a declaration.
        for _ in 0..4 {
            if let Some(found) = read(&die) {
                return Some(found);
            }
            die = self
                .follow(&die, gimli::DW_AT_specification)
                .or_else(|| self.follow(&die, gimli::DW_AT_abstract_origin))?;
        }
        None
    }

    /// The name of an entry.
    pub(crate) fn name(&self, die: &Die<'a>) -> Option<String> {
        self.attribute(die, &|die| {
            let name = self.dwarf.attr_string(&die.unit.unit, die.entry.attr_value(gimli::DW_AT_name)?).ok()?;
            Some(name.to_string_lossy().into_owned())
        })
    }

    /// The type of an entry.
    pub(crate) fn type_of(&self, die: &Die<'a>) -> Option<Die<'a>> {
        self.attribute(die, &|die| self.follow(die, gimli::DW_AT_type))
    }

    /// The entries directly inside another.
    pub(crate) fn children(&self, die: &Die<'a>) -> Vec<Die<'a>> {
        let read = || {
            let mut tree = die.unit.unit.entries_tree(Some(die.entry.offset())).ok()?;
            let mut children = tree.root().ok()?.children();
            let mut list = Vec::new();
            while let Ok(Some(child)) = children.next() {
                list.push(Die { unit: die.unit.clone(), entry: child.entry().clone() });
            }
            Some(list)
        };
        read().unwrap_or_default()
    }
}
