//! Where a function's frame begins on the stack: the rules by which exceptions are thrown and stacks unwound.

use addr2line::gimli::{self, UnwindSection as _};
use object::read::elf::ElfFile64;
use object::{Endianness, Object, ObjectSection};
use std::path::Path;

/// The section with the rules, and where it is mapped.
#[derive(Default)]
pub(crate) struct Frames {
    rules: Vec<u8>,
    address: u64,
}

impl Frames {
    /// Reads a module. (A separate file with debug information does not have them.)
    pub(crate) fn read(module: &Path) -> Frames {
        let read = || {
            let bytes = std::fs::read(module).ok()?;
            let file = ElfFile64::<Endianness>::parse(&*bytes).ok()?;
            let section = file.section_by_name(".eh_frame")?;
            Some(Frames { rules: section.uncompressed_data().ok()?.into_owned(), address: section.address() })
        };
        read().unwrap_or_default()
    }

    /// What the stack pointer was before the function at `pc` was called, given registers there.
    pub(crate) fn beginning(&self, pc: u64, sp: u64, bp: u64) -> Option<u64> {
        let section = gimli::EhFrame::new(&self.rules, gimli::LittleEndian);
        let bases = gimli::BaseAddresses::default().set_eh_frame(self.address);
        let entry = section.fde_for_address(&bases, pc, gimli::EhFrame::cie_from_offset).ok()?;
        let mut context = gimli::UnwindContext::new();
        let row = entry.unwind_info_for_address(&section, &bases, &mut context, pc).ok()?;
        match *row.cfa() {
            gimli::CfaRule::RegisterAndOffset { register: gimli::X86_64::RSP, offset } => sp.checked_add_signed(offset),
            gimli::CfaRule::RegisterAndOffset { register: gimli::X86_64::RBP, offset } => bp.checked_add_signed(offset),
            _ => None,
        }
    }
}
