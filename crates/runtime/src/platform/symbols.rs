//! The table of symbols of the program's own file.

use crate::platform::{modules, sys};

/// A symbol that names something in memory.
pub struct Symbol<'a> {
    pub name: &'a [u8],
    pub start: usize,
    pub size: usize,
    pub kind: Kind,
}

#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    Object,
    Function,
}

/// Hands over every function and object that the file names. Says whether it has a table of them at all.
pub fn each(mut see: impl FnMut(Symbol<'_>)) -> bool {
    let Some((start, _)) = modules::executable() else { return false };
    in_file(|file| {
        let base = if number::<2>(file, 16)? == POSITION_INDEPENDENT { start } else { 0 };
        each_entry(file, SYMBOLS, |name, entry| {
            let kind = match number::<1>(file, entry + 4)? & 15 {
                1 => Kind::Object,
                2 => Kind::Function,
                _ => return Some(()),
            };
            let (value, size) = (number::<8>(file, entry + 8)?, number::<8>(file, entry + 16)?);
            if value != 0 && size != 0 {
                see(Symbol { name, start: base + value, size, kind });
            }
            Some(())
        })
    })
}

/// Hands over the name of everything that the file takes from elsewhere. Says whether all of them are known.
pub fn each_import(mut see: impl FnMut(&[u8])) -> bool {
    in_file(|file| {
        each_entry(file, DYNAMIC_SYMBOLS, |name, entry| {
            // It has no section, for it is in another file.
            if number::<2>(file, entry + 6)? == 0 && !name.is_empty() {
                see(name);
            }
            Some(())
        })
    })
}

const POSITION_INDEPENDENT: usize = 3;
const SYMBOLS: usize = 2;
const DYNAMIC_SYMBOLS: usize = 11;

fn in_file(read: impl FnOnce(&[u8]) -> Option<bool>) -> bool {
    let Some(file) = sys::map_file(b"/proc/self/exe\0") else { return false };
    let found = read(file).unwrap_or(false);
    sys::unmap(file.as_ptr() as usize, file.len());
    found
}

fn number<const BYTES: usize>(file: &[u8], at: usize) -> Option<usize> {
    let mut bytes = [0; 8];
    bytes[..BYTES].copy_from_slice(file.get(at..at.checked_add(BYTES)?)?);
    Some(u64::from_le_bytes(bytes) as usize)
}

/// The entries of all tables of this kind in an ELF file: their names, and where they lie. Is there such a table?
fn each_entry<'a>(file: &'a [u8], wanted: usize, mut see: impl FnMut(&'a [u8], usize) -> Option<()>) -> Option<bool> {
    const SYMBOL_SIZE: usize = 24;
    let (table, size, count) = (number::<8>(file, 40)?, number::<2>(file, 58)?, number::<2>(file, 60)?);
    let mut found = false;
    for section in (0..count).map(|i| table + i * size) {
        if number::<4>(file, section + 4)? != wanted {
            continue;
        }
        found = true;
        let (at, length) = (number::<8>(file, section + 24)?, number::<8>(file, section + 32)?);
        let names = number::<8>(file, table + number::<4>(file, section + 40)? * size + 24)?;
        for entry in (at..at + length).step_by(SYMBOL_SIZE) {
            let name = file.get(names + number::<4>(file, entry)?..)?;
            see(&name[..name.iter().position(|b| *b == 0)?], entry)?;
        }
    }
    Some(found)
}
