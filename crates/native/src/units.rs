//! The compilation units of a module: which source file was compiled to which addresses, where, from which language.

use crate::dwarf::{Sections, Slice};
use addr2line::gimli;
use std::path::Path;

/// One compilation unit.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct Unit {
    /// The source file as given to the compiler.
    pub(crate) name: String,
    /// The directory in which the compiler ran.
    pub(crate) directory: String,
    /// The language; only assembler is told apart.
    pub(crate) assembler: bool,
    /// Does the compiler say that it was asked for instrumentation? gcc does.
    pub(crate) instrumented: bool,
}

/// All compilation units of a module, by address.
#[derive(Default, Debug)]
pub(crate) struct Units {
    units: Vec<Unit>,
    /// Start, end, index into `units`; sorted.
    ranges: Vec<(u64, u64, usize)>,
}

impl Units {
    /// Reads the units from the file with the DWARF sections. Damaged information counts as none.
    pub(crate) fn read(debug_file: &Path) -> Units {
        let mut units = Units::default();
        let Some(sections) = Sections::read(debug_file) else { return units };
        let dwarf = sections.reader().dwarf;
        let mut headers = dwarf.units();
        while let Ok(Some(header)) = headers.next() {
            if let Some((unit, ranges)) = read_unit(&dwarf, header) {
                let index = units.units.len();
                units.units.push(unit);
                units.ranges.extend(ranges.into_iter().map(|(start, end)| (start, end, index)));
            }
        }
        units.ranges.sort_unstable();
        units
    }

    /// The unit whose code is at an address.
    pub(crate) fn at(&self, address: u64) -> Option<(usize, &Unit)> {
        let after = self.ranges.partition_point(|&(start, _, _)| start <= address);
        let &(_, end, index) = self.ranges.get(after.checked_sub(1)?)?;
        (address < end).then(|| (index, &self.units[index]))
    }
}

fn read_unit<'a>(
    dwarf: &gimli::Dwarf<Slice<'a>>,
    header: gimli::UnitHeader<Slice<'a>>,
) -> Option<(Unit, Vec<(u64, u64)>)> {
    let unit = dwarf.unit(header).ok()?;
    let text = |slice: Option<Slice<'_>>| slice.map_or(String::new(), |slice| slice.to_string_lossy().into_owned());
    let mut ranges = Vec::new();
    let mut iterator = dwarf.unit_ranges(&unit).ok()?;
    while let Ok(Some(range)) = iterator.next() {
        // Sections that the linker removed leave ranges at zero behind.
        if range.begin != 0 && range.begin < range.end {
            ranges.push((range.begin, range.end));
        }
    }
    let mut entries = unit.entries();
    let root = entries.next_dfs().ok()??;
    let assembler = root.attr_value(gimli::DW_AT_language) == Some(gimli::AttributeValue::Language(ASSEMBLER));
    let producer = root.attr_value(gimli::DW_AT_producer).and_then(|value| dwarf.attr_string(&unit, value).ok());
    let instrumented = text(producer).contains("-fsanitize=thread");
    Some((Unit { name: text(unit.name), directory: text(unit.comp_dir), assembler, instrumented }, ranges))
}

/// What gas and clang write for assembler, whatever the machine.
const ASSEMBLER: gimli::DwLang = gimli::DW_LANG_Mips_Assembler;
