//! The facts of one ELF file that decide whether and how it can be run: read once, no verdict.

use crate::mapped::Mapped;
use object::elf;
use object::read::elf::{ElfFile64, FileHeader as _, ProgramHeader as _};
use object::{Endianness, Object, ObjectSection, ObjectSymbol, ReadRef};
use std::ffi::OsStr;
use std::io;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

/// What an ELF file is, by its header alone.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Kind {
    /// Linked: an executable or a shared library.
    Linked,
    /// A `.o` file.
    Relocatable,
    /// What a crash left behind.
    Core,
}

/// The first bytes of an ELF file: enough to know whether the rest can be understood here.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Header {
    pub(crate) kind: Kind,
    pub(crate) architecture: Architecture,
}

/// The machine an ELF file is for: `e_machine`, the word size and the byte order.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Architecture {
    machine: u16,
    sixty_four: bool,
    little_endian: bool,
}

impl Architecture {
    /// What Fencepost runs: x86-64 with 64-bit pointers.
    pub const SUPPORTED: Architecture =
        Architecture { machine: elf::EM_X86_64.0, sixty_four: true, little_endian: true };
}

impl std::fmt::Display for Architecture {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let name = match (elf::Machine(self.machine), self.sixty_four) {
            (elf::EM_X86_64, true) => "x86-64",
            (elf::EM_X86_64, false) => "x32",
            (elf::EM_386, _) => "32-bit x86",
            (elf::EM_AARCH64, _) => "ARM64",
            (elf::EM_ARM, _) => "32-bit ARM",
            (elf::EM_RISCV, true) => "64-bit RISC-V",
            (elf::EM_RISCV, false) => "32-bit RISC-V",
            (elf::EM_PPC64, _) => "64-bit POWER",
            (elf::EM_S390, _) => "s390",
            (elf::EM_MIPS, _) => "MIPS",
            (elf::EM_LOONGARCH, _) => "LoongArch",
            _ => return write!(f, "another architecture (ELF machine {})", self.machine),
        };
        f.write_str(name)
    }
}

impl Header {
    /// Reads the header; `None` if the bytes are not the beginning of an ELF file.
    pub(crate) fn parse(start: &[u8]) -> Option<Header> {
        let rest = start.strip_prefix(b"\x7fELF")?;
        let (class, order) = (*rest.first()?, *rest.get(1)?);
        let half = |at: usize| -> Option<u16> {
            let bytes = [*start.get(at)?, *start.get(at + 1)?];
            Some(if order == elf::ELFDATA2MSB.0 { u16::from_be_bytes(bytes) } else { u16::from_le_bytes(bytes) })
        };
        let kind = match elf::FileType(half(16)?) {
            elf::ET_REL => Kind::Relocatable,
            elf::ET_CORE => Kind::Core,
            _ => Kind::Linked,
        };
        let architecture = Architecture {
            machine: half(18)?,
            sixty_four: class == elf::ELFCLASS64.0,
            little_endian: order != elf::ELFDATA2MSB.0,
        };
        Some(Header { kind, architecture })
    }
}

/// A linked ELF file for this machine: an executable or a shared library.
#[derive(Clone, Default, Debug)]
pub(crate) struct Image {
    /// The dynamic loader it asks for; none for shared libraries and static programs.
    pub(crate) interpreter: Option<PathBuf>,
    /// Marked as a position-independent executable.
    pub(crate) pie: bool,
    /// Runs at any address (executables of this kind and shared libraries).
    pub(crate) position_independent: bool,
    /// The libraries it names, in the order in which the loader searches them.
    pub(crate) needed: Vec<String>,
    /// `DT_RPATH`, as written.
    pub(crate) rpath: Vec<String>,
    /// `DT_RUNPATH`, as written.
    pub(crate) runpath: Vec<String>,
    /// Calls `__tsan_*` functions that somebody else must define.
    pub(crate) calls_runtime: bool,
    /// Carries a ThreadSanitizer runtime of its own.
    pub(crate) bundles_runtime: bool,
    /// Built for another sanitizer, by the name that `-fsanitize=` has for it.
    pub(crate) other_sanitizer: Option<&'static str>,
    /// The linker's build id, in hexadecimal.
    pub(crate) build_id: Option<String>,
}

impl Image {
    /// Reads the facts. Only what is looked at is read, so that large libraries cost little.
    pub(crate) fn read(path: &Path) -> io::Result<Image> {
        let bytes = Mapped::open(path)?;
        Image::parse(&*bytes).map_err(|error| io::Error::new(io::ErrorKind::InvalidData, error.to_string()))
    }

    fn parse<'data, R: ReadRef<'data>>(data: R) -> object::Result<Image> {
        let file = ElfFile64::<Endianness, R>::parse(data)?;
        let endian = file.endian();
        let mut image = Image {
            position_independent: file.elf_header().e_type(endian) == elf::ET_DYN,
            build_id: file.build_id()?.map(hex),
            ..Image::default()
        };
        for segment in file.elf_program_headers() {
            if let Some(name) = segment.interpreter(endian, data)? {
                image.interpreter = Some(PathBuf::from(OsStr::from_bytes(name)));
            }
        }
        let dynamic = file.elf_dynamic_table()?;
        for entry in &dynamic {
            let string = || dynamic.string(entry).map(|bytes| String::from_utf8_lossy(bytes).into_owned());
            match entry.tag {
                elf::DT_NEEDED => image.needed.push(string()?),
                elf::DT_RPATH => image.rpath.extend(string()?.split(':').map(str::to_owned)),
                elf::DT_RUNPATH => image.runpath.extend(string()?.split(':').map(str::to_owned)),
                elf::DT_FLAGS_1 => image.pie = entry.val & elf::DF_1_PIE.0 != 0,
                _ => {}
            }
        }
        for symbol in file.dynamic_symbols().filter(|symbol| symbol.is_undefined()) {
            let name = symbol.name_bytes()?;
            image.calls_runtime |= name.starts_with(b"__tsan_");
            image.other_sanitizer = image.other_sanitizer.or(sanitizer_of(name));
        }
        image.bundles_runtime = !image.calls_runtime && bundles_runtime(&file);
        Ok(image)
    }
}

/// Is there a ThreadSanitizer runtime inside the file? clang links one into every executable, gcc with
/// `-static-libtsan`. After `strip` only the runtime's messages give it away.
fn bundles_runtime<'data, R: ReadRef<'data>>(file: &ElfFile64<'data, Endianness, R>) -> bool {
    let defines_init =
        |name: object::Result<&[u8]>, defined: bool| defined && name.is_ok_and(|name| name == b"__tsan_init");
    file.dynamic_symbols().chain(file.symbols()).any(|s| defines_init(s.name_bytes(), s.is_definition()))
        || file.section_by_name(".rodata").and_then(|section| section.data().ok()).is_some_and(|data| {
            const MESSAGE: &[u8] = b"WARNING: ThreadSanitizer: ";
            data.windows(MESSAGE.len()).any(|window| window == MESSAGE)
        })
}

fn sanitizer_of(symbol: &[u8]) -> Option<&'static str> {
    const INIT: [(&[u8], &str); 4] = [
        (b"__asan_init", "address"),
        (b"__hwasan_init", "hwaddress"),
        (b"__msan_init", "memory"),
        (b"__lsan_init", "leak"),
    ];
    INIT.iter().find(|(init, _)| symbol == *init).map(|(_, name)| *name)
}

pub(crate) fn hex(bytes: &[u8]) -> String {
    use std::fmt::Write as _;
    bytes.iter().fold(String::with_capacity(2 * bytes.len()), |mut text, byte| {
        let _ = write!(text, "{byte:02x}");
        text
    })
}
