//! The symbol table of a module: functions and variables by address.

use object::read::elf::ElfFile64;
use object::{Endianness, Object, ObjectSymbol, SymbolKind};
use std::collections::HashSet;
use std::path::Path;

/// A function or a variable.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub(crate) struct Symbol {
    pub(crate) address: u64,
    pub(crate) size: u64,
    /// As the linker knows it.
    pub(crate) name: String,
}

/// The symbols of a module, sorted by address, one for each address.
#[derive(Default, Debug)]
pub(crate) struct Table {
    /// Functions; hand-written assembly often gives no size, which is 0 here.
    pub(crate) functions: Vec<Symbol>,
    objects: Vec<Symbol>,
}

impl Table {
    /// Reads the symbols of a module from all files that have some. What cannot be read counts as empty.
    pub(crate) fn read(files: &[&Path]) -> Table {
        let mut table = Table::default();
        for file in files {
            if let Ok(bytes) = std::fs::read(file) {
                table.add(&bytes);
            }
        }
        for symbols in [&mut table.functions, &mut table.objects] {
            // Of several names for one address the one with the largest extent, then the first by name.
            symbols.sort_by(|a, b| (a.address, b.size, &a.name).cmp(&(b.address, a.size, &b.name)));
            symbols.dedup_by_key(|symbol| symbol.address);
        }
        table.drop_labels();
        table
    }

    fn add(&mut self, bytes: &[u8]) {
        let Ok(file) = ElfFile64::<Endianness>::parse(bytes) else { return };
        for symbol in file.symbols().chain(file.dynamic_symbols()) {
            let Ok(name) = symbol.name() else { continue };
            if symbol.section_index().is_none() {
                continue;
            }
            let entry = Symbol { address: symbol.address(), size: symbol.size(), name: name.to_owned() };
            match symbol.kind() {
                SymbolKind::Text => self.functions.push(entry),
                SymbolKind::Data if entry.size > 0 => self.objects.push(entry),
                SymbolKind::Unknown if is_code(&file, &symbol) && !name.is_empty() => self.functions.push(entry),
                _ => {}
            }
        }
    }

    /// Labels inside a function that has a size are not functions.
    fn drop_labels(&mut self) {
        let mut end = 0;
        let mut labels = HashSet::new();
        for symbol in &self.functions {
            if symbol.size == 0 && symbol.address < end {
                labels.insert(symbol.address);
            }
            end = end.max(symbol.address.saturating_add(symbol.size));
        }
        self.functions.retain(|symbol| !labels.contains(&symbol.address));
    }

    /// The function whose code is at an address. A function without a size extends to the next one.
    pub(crate) fn function_at(&self, address: u64) -> Option<&Symbol> {
        let symbol = before(&self.functions, address)?;
        (symbol.size == 0 || address - symbol.address < symbol.size).then_some(symbol)
    }

    /// The variable at an address.
    pub(crate) fn object_at(&self, address: u64) -> Option<&Symbol> {
        before(&self.objects, address).filter(|symbol| address - symbol.address < symbol.size)
    }
}

fn before(symbols: &[Symbol], address: u64) -> Option<&Symbol> {
    symbols.get(symbols.partition_point(|symbol| symbol.address <= address).checked_sub(1)?)
}

fn is_code<'data>(file: &ElfFile64<'data, Endianness>, symbol: &impl ObjectSymbol<'data>) -> bool {
    use object::ObjectSection as _;
    symbol
        .section_index()
        .and_then(|index| file.section_by_index(index).ok())
        .is_some_and(|section| section.kind() == object::SectionKind::Text)
}
