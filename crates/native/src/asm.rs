//! Atomics that the compiler's instrumentation cannot see.
//!
//! Under `-fsanitize=thread` gcc, clang and rustc turn every atomic operation and fence of the language into a call
//! (`__tsan_atomic32_fetch_add`, `__tsan_atomic_thread_fence`), so that the code of an instrumented function has no
//! locked instruction and no fence instruction of its own: the tests of this crate check that from `-O0` to `-O3`.
//! One that is there comes from inline assembly, from an intrinsic such as `_mm_mfence`, or from code that was not
//! instrumented. What the processor does there the runtime can perform in its place, where the code around it is
//! instrumented (locked instructions, `xchg`, `mfence`); Fencepost neither controls nor records the others, and must
//! say so.
//!
//! What is scanned is the machine code of the program's own modules, function by function:
//!
//! - functions that call the ThreadSanitizer interface, and all others of the same compilation unit: a function that
//!   consists of nothing but a fence gets no call;
//! - compilation units written in assembler;
//! - compilation units that were not instrumented at all, which are told apart ([`Origin`]). Rust's standard library,
//!   which comes precompiled, is left out: a Rust program cannot do without it.
//!
//! Code of which nothing is known (no debug information, no call of the interface) is left out too: the compiler's own
//! start-up code looks like that.
//!
//! A plain `mov` is what every access is made of, so that no instruction tells that it came from assembly. It is
//! reported where the statement of its source line has a `mov` in a string, as libraries of atomics in assembly write
//! it.
//!
//! Functions that access memory other than their own and announce nothing are found here too (`unannounced.rs`): an
//! exploration says that it is not complete if one of them runs beside other threads.
//!
//! Not reported, because it is not synchronisation: `lfence` in a retpoline (after `pause`) and beside `rdtsc`.

use crate::mapped::Mapped;
use crate::symbols::{Frame, Module, Symbols};
use crate::unannounced::{self, Constants};
use addr2line::gimli::{self, UnwindSection as _};
use fencepost_mailbox::{Action, HiddenFunction, HiddenInstruction, MemoryOperand, Source};
use iced_x86::{Code, Decoder, DecoderOptions, FlowControl, Instruction, Mnemonic, OpKind, Register};
use object::read::elf::ElfFile64;
use object::{Endianness, Object, ObjectSection, ObjectSymbol, RelocationTarget, SectionKind, SymbolKind};
use std::collections::{BTreeMap, BTreeSet, HashMap, HashSet};
use std::fmt;
use std::io;
use std::path::{Path, PathBuf};

/// What an instruction does to memory that other threads can see.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub enum Effect {
    /// It reads and writes in one step (`lock xadd`, `xchg`).
    ReadModifyWrite,
    /// It orders memory accesses (`mfence`, `lfence`, `sfence`).
    Fence,
    /// It reads or writes (`mov`).
    Access,
}

/// How the instruction came to be there.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub enum Origin {
    /// Inline assembly or an intrinsic in instrumented code, or an assembler file.
    Assembly,
    /// Code that was compiled without instrumentation into an instrumented module.
    Uninstrumented,
}

/// An atomic operation or fence that the instrumentation cannot see.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct HiddenAtomic {
    /// The instruction, without operands: `lock cmpxchg`.
    pub instruction: String,
    /// What it does.
    pub effect: Effect,
    /// How it came to be there.
    pub origin: Origin,
    /// Where it is: an offset in the module, as in [`crate::symbols`]. The first one if it was inlined into several
    /// places.
    pub offset: u64,
    /// Does the runtime perform it in the instruction's place? Otherwise nobody controls it.
    pub is_performed: bool,
    /// How many copies of it the module has.
    pub copies: usize,
    /// Its function, file, line and column, inlined functions first.
    pub frames: Vec<Frame>,
}

impl fmt::Display for HiddenAtomic {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let frame = &self.frames[0];
        match (frame.file.as_str(), frame.line, frame.column) {
            ("", _, _) | (_, 0, _) => {}
            (file, line, 0) => write!(f, "{file}:{line}: ")?,
            (file, line, column) => write!(f, "{file}:{line}:{column}: ")?,
        }
        write!(f, "`{}` in {} ", self.instruction, frame.function)?;
        match self.origin {
            Origin::Assembly => f.write_str(
                "is hidden from the instrumentation, and Fencepost does not control it: use the language's atomics \
                 instead of assembly or intrinsics",
            ),
            Origin::Uninstrumented => f.write_str(
                "is in code that is not instrumented, and Fencepost does not control it: build that file with \
                 -fsanitize=thread too",
            ),
        }
    }
}

/// Finds the hidden atomics of one module, in the order of their addresses, each source position once.
///
/// # Errors
/// The module cannot be read, or is not an ELF file.
pub fn scan(path: &Path, symbols: &mut Symbols) -> io::Result<Vec<HiddenAtomic>> {
    examine(path, symbols).map(|examined| examined.hidden)
}

/// What the machine code of a module tells.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Examined {
    /// Its hidden atomics.
    pub hidden: Vec<HiddenAtomic>,
    /// Whether Rust's standard library in it is instrumented; `None` if it is not there.
    pub rust_std: Option<bool>,
    /// The instructions that the runtime performs in their place, in the order of their addresses.
    pub performed: Vec<HiddenInstruction>,
    /// The functions that access shared memory and announce nothing, in the order of their addresses. Those of Rust's
    /// standard library are not among them.
    pub unannounced: Vec<HiddenFunction>,
}

/// Looks for hidden atomics, and at Rust's standard library.
///
/// # Errors
/// As [`scan`].
pub fn examine(path: &Path, symbols: &mut Symbols) -> io::Result<Examined> {
    let bytes = Mapped::open(path)?;
    let file = parse(&bytes)?;
    let module = symbols.module(path);

    let runtime = Runtime::of(&file);
    let functions = functions(&file, module, &runtime);
    let instrumented_units: HashSet<usize> =
        functions.iter().filter(|function| function.calls_runtime).filter_map(|f| f.unit(module)).collect();

    // However it was built, its sources lie there.
    let in_std = |function: &&Function<'_>| {
        let unit = module.units.at(function.start).map(|(_, unit)| unit);
        unit.is_some_and(|unit| unit.name.contains("library/std/src/lib.rs"))
    };
    let rust_std = functions
        .iter()
        .filter(in_std)
        .map(|function| function.calls_runtime)
        .fold(None, |any, calls| Some(calls || any.unwrap_or(false)));

    let mut found: Vec<HiddenAtomic> = Vec::new();
    let mut performed: Vec<HiddenInstruction> = Vec::new();
    for function in functions.iter().filter(|function| !function.hits.is_empty()) {
        match function.origin(module, &instrumented_units) {
            Some(origin) => {
                for hit in &function.hits {
                    add(&mut found, hit, origin, module);
                }
                if origin == Origin::Assembly {
                    performed.extend(function.hits.iter().filter_map(|hit| hit.decoded));
                }
            }
            None if function.is_of_rust(module) => {
                let counts = function.hits.iter().filter_map(|hit| hit.decoded).filter(is_counter);
                performed.extend(counts.map(|counter| HiddenInstruction { barrier: false, ..counter }));
            }
            None => {}
        }
    }
    performed.sort_unstable_by_key(|instruction| instruction.offset);
    let mut sources = Sources::default();
    let instrumented =
        |function: &&Function<'_>| function.origin(module, &instrumented_units) == Some(Origin::Assembly);
    let moves = functions.iter().filter(instrumented).flat_map(|function| &function.moves).take(MOST_MOVES);
    for &offset in moves {
        let frames = module.frames(offset);
        if sources.has_assembly(&frames[0]) {
            let hit = Hit { offset, instruction: "mov".to_owned(), effect: Effect::Access, decoded: None };
            add(&mut found, &hit, Origin::Assembly, module);
        }
    }
    let constants = constants(&file);
    let performs = |at: u64| performed.binary_search_by_key(&at, |instruction| instruction.offset).is_ok();
    let start_up = start_up(&file, module);
    // Of what comes compiled with Rust nothing is known if there is no debug information.
    let units_only = rust_std.is_some() || has_rust(module);
    let unannounced = functions
        .iter()
        .filter(|function| {
            !function.calls_runtime && !function.is_of_rust(module) && !start_up.contains(&function.start)
        })
        .filter(|function| {
            let unit = module.units.at(function.start);
            let instrumented = unit.is_some_and(|(i, unit)| instrumented_units.contains(&i) || unit.instrumented);
            (unit.is_some() || !units_only)
                && unannounced::touches_shared_memory(function.start, function.code, &constants, performs, instrumented)
        })
        .filter_map(Function::hidden)
        .collect();
    Ok(Examined { hidden: found, rust_std, performed, unannounced })
}

/// Those functions of a library without instrumentation that somebody else calls by these names, unless they touch
/// nothing and call nothing.
///
/// # Errors
/// As [`scan`].
pub fn called_without_instrumentation(library: &Path, names: &HashSet<String>) -> io::Result<Vec<HiddenFunction>> {
    let bytes = Mapped::open(library)?;
    let file = parse(&bytes)?;
    let constants = constants(&file);
    let mut functions = BTreeMap::new();
    for symbol in file.dynamic_symbols().filter(|symbol| symbol.kind() == SymbolKind::Text && symbol.is_definition()) {
        let section = symbol.section_index().and_then(|index| file.section_by_index(index).ok());
        let code = section.and_then(|section| section.data_range(symbol.address(), symbol.size()).ok().flatten());
        if let (Ok(name), Some(code)) = (symbol.name(), code)
            && names.contains(name)
        {
            let decoder = Decoder::with_ip(64, code, symbol.address(), DecoderOptions::NONE);
            let calls = decoder
                .into_iter()
                .any(|it| matches!(it.flow_control(), FlowControl::Call | FlowControl::IndirectCall));
            if calls || unannounced::touches_shared_memory(symbol.address(), code, &constants, |_| false, false) {
                functions.extend(hidden_function(symbol.address(), code).map(|function| (function.offset, function)));
            }
        }
    }
    Ok(functions.into_values().collect())
}

/// The names that a module wants from others.
///
/// # Errors
/// As [`scan`].
pub fn wanted(path: &Path) -> io::Result<HashSet<String>> {
    let bytes = Mapped::open(path)?;
    let file = parse(&bytes)?;
    let names = file.dynamic_symbols().filter(|symbol| symbol.is_undefined());
    Ok(names.filter_map(|symbol| symbol.name().ok().map(str::to_owned)).collect())
}

fn parse(bytes: &[u8]) -> io::Result<ElfFile64<'_, Endianness>> {
    ElfFile64::parse(bytes).map_err(|error| io::Error::new(io::ErrorKind::InvalidData, error.to_string()))
}

fn hidden_function(start: u64, code: &[u8]) -> Option<HiddenFunction> {
    let code = [*code.first()?, *code.get(1)?];
    Some(HiddenFunction { offset: start, code })
}

/// What nobody writes once the program runs.
fn constants(file: &ElfFile64<'_, Endianness>) -> Constants {
    let constant = |section: &object::read::elf::ElfSection64<'_, '_, Endianness>| {
        let name = section.name().unwrap_or_default();
        let relocated = name.starts_with(".got") || name.starts_with(".data.rel.ro");
        relocated
            || matches!(section.kind(), SectionKind::ReadOnlyData | SectionKind::ReadOnlyString | SectionKind::Text)
    };
    let ranges =
        file.sections().filter(constant).map(|section| (section.address(), section.address() + section.size()));
    let fixed = file.kind() == object::ObjectKind::Executable;
    Constants { ranges: ranges.filter(|(start, end)| start < end).collect(), fixed }
}

/// The functions that compilers and the C library put into every program.
fn start_up(file: &ElfFile64<'_, Endianness>, module: &Module) -> HashSet<u64> {
    const NAMES: [&str; 12] = [
        "_start",
        "_init",
        "_fini",
        "deregister_tm_clones",
        "register_tm_clones",
        "__do_global_dtors_aux",
        "frame_dummy",
        "__libc_csu_init",
        "__libc_csu_fini",
        "_dl_relocate_static_pie",
        "__cpu_indicator_init",
        "__do_global_ctors_aux",
    ];
    // The parts of a function that stand apart are entered by jumps, from a function that is looked at itself.
    let is_one = |name: &str| NAMES.contains(&name) || name.ends_with(".cold") || name.contains(".cold.");
    let named = module.table.functions.iter().filter(|symbol| is_one(&symbol.name)).map(|symbol| symbol.address);
    let special = file.sections().filter(|section| section.name().is_ok_and(|name| name == ".init" || name == ".fini"));
    named.chain(special.map(|section| section.address())).chain([file.entry()]).collect()
}

/// Are there functions that were compiled from Rust?
fn has_rust(module: &Module) -> bool {
    module
        .table
        .functions
        .iter()
        .any(|symbol| symbol.name == "rust_eh_personality" || symbol.name == "rust_begin_unwind")
}

/// Adds a hit, or counts it where an earlier one has the same source position.
fn add(found: &mut Vec<HiddenAtomic>, hit: &Hit, origin: Origin, module: &Module) {
    let frames = module.frames(hit.offset);
    let same = |known: &&mut HiddenAtomic| {
        let (a, b) = (&known.frames[0], &frames[0]);
        b.line != 0
            && known.instruction == hit.instruction
            && (&a.function, &a.file, a.line, a.column) == (&b.function, &b.file, b.line, b.column)
    };
    match found.iter_mut().find(same) {
        Some(known) => known.copies += 1,
        None => found.push(HiddenAtomic {
            instruction: hit.instruction.clone(),
            effect: hit.effect,
            origin,
            offset: hit.offset,
            is_performed: origin == Origin::Assembly && hit.decoded.is_some(),
            copies: 1,
            frames,
        }),
    }
}

/// An instruction that the instrumentation cannot see, before anything is known of its source.
struct Hit {
    offset: u64,
    instruction: String,
    effect: Effect,
    decoded: Option<HiddenInstruction>,
}

/// In a large program looking up where each `mov` comes from would take too long.
const MOST_MOVES: usize = 100_000;

/// The lines of source files in which assembly moves something.
#[derive(Default)]
struct Sources(HashMap<PathBuf, HashSet<u32>>);

impl Sources {
    fn has_assembly(&mut self, frame: &Frame) -> bool {
        let Some(path) = frame.path() else { return false };
        if !self.0.contains_key(&path) {
            let text = std::fs::read_to_string(&path).unwrap_or_default();
            self.0.insert(path.clone(), assembly_lines(&text));
        }
        self.0[&path].contains(&frame.line)
    }
}

/// The lines on which a statement begins that has a `mov` in a string.
fn assembly_lines(text: &str) -> HashSet<u32> {
    /// A statement of more lines than this is not looked at to its end.
    const LINES: usize = 8;
    let lines: Vec<&str> = text.lines().collect();
    let moves = |line: &str| line.split_once('"').is_some_and(|(_, rest)| rest.contains("mov"));
    let mut found = HashSet::new();
    for (i, line) in lines.iter().enumerate().filter(|(_, line)| moves(line)) {
        found.insert(i as u32 + 1);
        // Compilers name the line on which the statement begins.
        for back in (i.saturating_sub(LINES)..i).rev() {
            if lines[back].trim_end().ends_with([';', '{', '}']) {
                break;
            }
            if line.contains("asm") || lines[back].contains("asm") {
                found.insert(back as u32 + 1);
            }
        }
    }
    found
}

/// A piece of code between two starts of functions.
struct Function<'a> {
    start: u64,
    code: &'a [u8],
    calls_runtime: bool,
    hits: Vec<Hit>,
    /// Where it moves something from or to memory other than its stack.
    moves: Vec<u64>,
}

impl Function<'_> {
    fn hidden(&self) -> Option<HiddenFunction> {
        hidden_function(self.start, self.code)
    }

    fn unit(&self, module: &Module) -> Option<usize> {
        module.units.at(self.start).map(|(index, _)| index)
    }

    /// Where its hidden atomics come from; `None` if that is not known or of no interest.
    fn origin(&self, module: &Module, instrumented: &HashSet<usize>) -> Option<Origin> {
        if self.calls_runtime {
            return Some(Origin::Assembly);
        }
        let (index, unit) = module.units.at(self.start)?;
        if instrumented.contains(&index) || unit.assembler {
            Some(Origin::Assembly)
        } else if self.is_of_rust(module) {
            None
        } else {
            Some(Origin::Uninstrumented)
        }
    }

    /// Is it a part of Rust's standard library, as the Rust project ships it?
    fn is_of_rust(&self, module: &Module) -> bool {
        // How the Rust project names the sources of what it ships precompiled.
        let of_rust = |path: &str| path.starts_with("/rustc/") || path.starts_with("/rust/deps/");
        module.units.at(self.start).is_some_and(|(_, unit)| of_rust(&unit.name) || of_rust(&unit.directory))
    }
}

/// Decodes all code of the module, function by function.
fn functions<'a>(file: &ElfFile64<'a, Endianness>, module: &Module, runtime: &Runtime) -> Vec<Function<'a>> {
    let mut starts: BTreeSet<u64> = module.table.functions.iter().map(|symbol| symbol.address).collect();
    // A stripped module still has the functions that unwinding needs: all of them, on x86-64.
    starts.extend(unwind_starts(file).unwrap_or_default());

    let mut functions = Vec::new();
    for section in file.sections().filter(|section| section.kind() == SectionKind::Text) {
        let is_stub = section.name().is_ok_and(|name| name.starts_with(".plt"));
        let Ok(code) = section.data() else { continue };
        let (begin, end) = (section.address(), section.address() + code.len() as u64);
        if is_stub {
            continue;
        }
        let mut start = begin;
        for &next in starts.range((std::ops::Bound::Excluded(begin), std::ops::Bound::Excluded(end))).chain([&end]) {
            functions.push(decode(start, &code[(start - begin) as usize..(next - begin) as usize], runtime));
            start = next;
        }
    }
    functions
}

fn decode<'a>(start: u64, code: &'a [u8], runtime: &Runtime) -> Function<'a> {
    let mut function = Function { start, code, calls_runtime: false, hits: Vec::new(), moves: Vec::new() };
    let mut decoder = Decoder::with_ip(64, code, start, DecoderOptions::NONE);
    let mut instruction = Instruction::default();
    let mut previous = Mnemonic::INVALID;
    while decoder.can_decode() {
        decoder.decode_out(&mut instruction);
        function.calls_runtime |= runtime.is_called_by(&instruction);
        let not_a_fence = matches!(previous, Mnemonic::Pause | Mnemonic::Rdtsc | Mnemonic::Rdtscp);
        match effect(&instruction) {
            Some(_) if instruction.mnemonic() == Mnemonic::Lfence && not_a_fence => {}
            Some(effect) => {
                let first = (instruction.ip() - start) as usize;
                let decoded = operation(&instruction, [code[first], code[first + 1]]);
                let offset = instruction.ip();
                function.hits.push(Hit { offset, instruction: describe(&instruction), effect, decoded });
            }
            None if moves_shared_memory(&instruction) => function.moves.push(instruction.ip()),
            None => {}
        }
        if matches!(instruction.mnemonic(), Mnemonic::Rdtsc | Mnemonic::Rdtscp) && previous == Mnemonic::Lfence {
            let just_before = |hit: &mut Hit| hit.instruction == "lfence" && hit.offset + 3 == instruction.ip();
            function.hits.pop_if(just_before);
        }
        previous = instruction.mnemonic();
    }
    function
}

/// What an instruction does that the instrumentation should have seen.
fn effect(instruction: &Instruction) -> Option<Effect> {
    let in_memory = (0..instruction.op_count()).any(|operand| instruction.op_kind(operand) == OpKind::Memory);
    match instruction.mnemonic() {
        Mnemonic::Mfence | Mnemonic::Lfence | Mnemonic::Sfence => Some(Effect::Fence),
        _ if instruction.has_lock_prefix() => Some(Effect::ReadModifyWrite),
        // xchg locks by itself; the others are one instruction, which is atomic on one processor and meant to be.
        Mnemonic::Xchg | Mnemonic::Cmpxchg | Mnemonic::Cmpxchg8b | Mnemonic::Cmpxchg16b | Mnemonic::Xadd
            if in_memory =>
        {
            Some(Effect::ReadModifyWrite)
        }
        _ => None,
    }
}

/// Does it move something from or to memory that is neither its stack nor thread-local?
fn moves_shared_memory(instruction: &Instruction) -> bool {
    let own = [Register::RSP, Register::RBP].contains(&instruction.memory_base())
        || [Register::FS, Register::GS].contains(&instruction.segment_prefix());
    let in_memory = (0..instruction.op_count()).any(|operand| instruction.op_kind(operand) == OpKind::Memory);
    instruction.mnemonic() == Mnemonic::Mov && in_memory && !own
}

/// Does it count, as the standard library counts references?
fn is_counter(instruction: &HiddenInstruction) -> bool {
    use Action::{Add, Decrement, ExchangeAdd, Increment, Sub};
    matches!(instruction.action, Add | Sub | Increment | Decrement | ExchangeAdd)
}

/// What an instruction does, for the runtime to perform it. `None` for what it cannot.
fn operation(instruction: &Instruction, code: [u8; 2]) -> Option<HiddenInstruction> {
    let (offset, length) = (instruction.ip(), instruction.len() as u8);
    if instruction.mnemonic() == Mnemonic::Mfence {
        let (memory, source) = (MemoryOperand::default(), Source::None);
        return Some(HiddenInstruction {
            offset,
            code,
            length,
            action: Action::Fence,
            size: 0,
            memory,
            source,
            barrier: true,
        });
    }
    let action = match instruction.mnemonic() {
        Mnemonic::Add => Action::Add,
        Mnemonic::Sub => Action::Sub,
        Mnemonic::And => Action::And,
        Mnemonic::Or => Action::Or,
        Mnemonic::Xor => Action::Xor,
        Mnemonic::Not => Action::Not,
        Mnemonic::Inc => Action::Increment,
        Mnemonic::Dec => Action::Decrement,
        Mnemonic::Xadd => Action::ExchangeAdd,
        Mnemonic::Xchg => Action::Exchange,
        Mnemonic::Cmpxchg => Action::CompareExchange,
        Mnemonic::Cmpxchg16b => Action::CompareExchangePair,
        Mnemonic::Bts => Action::SetBit,
        Mnemonic::Btr => Action::ClearBit,
        Mnemonic::Btc => Action::FlipBit,
        _ => return None,
    };
    // A locked instruction has at least one operand in memory, and it is the first or (xchg) either.
    let place = (0..instruction.op_count()).find(|operand| instruction.op_kind(*operand) == OpKind::Memory)?;
    let mut source = Source::None;
    for operand in (0..instruction.op_count()).filter(|operand| *operand != place) {
        source = match instruction.op_kind(operand) {
            OpKind::Register => Source::Register(number(instruction.op_register(operand))?),
            _ => Source::Immediate(instruction.try_immediate(operand).ok()? as i64),
        };
    }
    let memory = memory(instruction)?;
    let size = u8::try_from(instruction.memory_size().size()).ok()?;
    let on_stack = memory.base == Some(4) && memory.index.is_none();
    let nothing = match (action, source) {
        (Action::Add | Action::Sub | Action::Or | Action::Xor, Source::Immediate(value)) => value == 0,
        (Action::And, Source::Immediate(value)) => value == -1,
        _ => false,
    };
    // The flags that it leaves are not looked at: it stands there to be a fence.
    let action = if on_stack && nothing { Action::Fence } else { action };
    Some(HiddenInstruction { offset, code, length, action, size, memory, source, barrier: true })
}

/// The number that the processor has for a register. `None` for the upper bytes of two (`ah`), and for others than the
/// general ones.
fn number(register: Register) -> Option<u8> {
    let upper = [Register::AH, Register::CH, Register::DH, Register::BH];
    (register.is_gpr() && !upper.contains(&register)).then(|| register.full_register().number() as u8)
}

fn memory(instruction: &Instruction) -> Option<MemoryOperand> {
    if [Register::FS, Register::GS].contains(&instruction.segment_prefix()) {
        return None;
    }
    let in_file = instruction.is_ip_rel_memory_operand();
    let register = |register: Register| match register {
        Register::None => Some(None),
        _ if in_file => Some(None),
        register => (register.size() == 8).then(|| number(register)).flatten().map(Some),
    };
    Some(MemoryOperand {
        base: register(instruction.memory_base())?,
        index: register(instruction.memory_index())?,
        scale: instruction.memory_index_scale() as u8,
        // Of an operand relative to the instruction this is the address already.
        displacement: instruction.memory_displacement64() as i64,
        in_file,
    })
}

fn describe(instruction: &Instruction) -> String {
    let name = format!("{:?}", instruction.mnemonic()).to_lowercase();
    if instruction.has_lock_prefix() { format!("lock {name}") } else { name }
}

/// Where the ThreadSanitizer interface is called through.
struct Runtime {
    /// Slots that the loader fills with the address of a `__tsan_*` function.
    slots: HashSet<u64>,
    /// Stubs that jump through such a slot, and the functions themselves where they are inside the module.
    entries: HashSet<u64>,
}

impl Runtime {
    fn of(file: &ElfFile64<'_, Endianness>) -> Runtime {
        let is_interface = |name: object::Result<&str>| name.is_ok_and(|name| name.starts_with("__tsan_"));
        let mut slots = HashSet::new();
        for (address, relocation) in file.dynamic_relocations().into_iter().flatten() {
            if let (RelocationTarget::Symbol(index), Some(table)) = (relocation.target(), file.dynamic_symbol_table())
                && object::ObjectSymbolTable::symbol_by_index(&table, index).is_ok_and(|s| is_interface(s.name()))
            {
                slots.insert(address);
            }
        }
        let mut entries: HashSet<u64> = file
            .symbols()
            .chain(file.dynamic_symbols())
            .filter(|symbol| symbol.address() != 0 && symbol.section_index().is_some() && is_interface(symbol.name()))
            .map(|symbol| symbol.address())
            .collect();
        for section in file.sections().filter(|section| section.name().is_ok_and(|name| name.starts_with(".plt"))) {
            let Ok(code) = section.data() else { continue };
            entries.extend(stubs(section.address(), code, &slots));
        }
        Runtime { slots, entries }
    }

    fn is_called_by(&self, instruction: &Instruction) -> bool {
        let direct = instruction.op0_kind() == OpKind::NearBranch64;
        (direct && self.entries.contains(&instruction.near_branch_target()))
            || (instruction.is_ip_rel_memory_operand() && self.slots.contains(&instruction.ip_rel_memory_address()))
    }
}

/// The entry points of a linkage table that lead to these slots. A stub is `jmp *slot`, with `endbr64` before it where
/// the linker was asked for that; both addresses are entries.
fn stubs(address: u64, code: &[u8], slots: &HashSet<u64>) -> Vec<u64> {
    let mut entries = Vec::new();
    let mut decoder = Decoder::with_ip(64, code, address, DecoderOptions::NONE);
    let mut landing = None;
    for instruction in &mut decoder {
        if instruction.is_ip_rel_memory_operand() && slots.contains(&instruction.ip_rel_memory_address()) {
            entries.push(instruction.ip());
            entries.extend(landing);
        }
        landing = (instruction.code() == Code::Endbr64).then_some(instruction.ip());
    }
    entries
}

/// Where the functions begin for which there is unwind information.
fn unwind_starts(file: &ElfFile64<'_, Endianness>) -> Option<BTreeSet<u64>> {
    let section = file.section_by_name(".eh_frame")?;
    let frames = gimli::EhFrame::new(section.data().ok()?, gimli::LittleEndian);
    let bases = gimli::BaseAddresses::default().set_eh_frame(section.address());
    let mut starts = BTreeSet::new();
    let mut common = BTreeMap::new();
    let mut entries = frames.entries(&bases);
    while let Ok(Some(entry)) = entries.next() {
        if let gimli::CieOrFde::Fde(partial) = entry {
            let parsed = partial.parse(|section, bases, offset| {
                common.entry(offset.0).or_insert_with(|| section.cie_from_offset(bases, offset)).clone()
            });
            starts.extend(parsed.ok().map(|fde| fde.initial_address()));
        }
    }
    Some(starts)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn hits(code: &[u8]) -> Vec<String> {
        let runtime = Runtime { slots: HashSet::new(), entries: HashSet::new() };
        decode(0x1000, code, &runtime).hits.into_iter().map(|hit| hit.instruction).collect()
    }

    #[test]
    fn instructions_are_told_apart() {
        for (code, expected) in [
            (&[0xf0, 0x0f, 0xc1, 0x07][..], Some("lock xadd")), // lock xadd %eax,(%rdi)
            (&[0xf0, 0x0f, 0xb1, 0x0f], Some("lock cmpxchg")),  // lock cmpxchg %ecx,(%rdi)
            (&[0xf0, 0x83, 0x0c, 0x24, 0x00], Some("lock or")), // lock orl $0,(%rsp)
            (&[0x87, 0x07], Some("xchg")),                      // xchg %eax,(%rdi)
            (&[0x0f, 0xae, 0xf0], Some("mfence")),
            (&[0x0f, 0xae, 0xe8], Some("lfence")),
            (&[0x0f, 0xae, 0xf8], Some("sfence")),
            (&[0x87, 0xc8], None),                   // xchg %ecx,%eax
            (&[0x66, 0x90], None),                   // xchg %ax,%ax: a nop
            (&[0x83, 0x0c, 0x24, 0x00], None),       // orl $0,(%rsp): a stack probe
            (&[0xf3, 0x90, 0x0f, 0xae, 0xe8], None), // pause; lfence: a retpoline
            (&[0x0f, 0xae, 0xe8, 0x0f, 0x31], None), // lfence; rdtsc
            (&[0x0f, 0x31, 0x0f, 0xae, 0xe8], None), // rdtsc; lfence
            // mfence; rdtsc; lfence; rdtsc: only the first is one.
            (&[0x0f, 0xae, 0xf0, 0x0f, 0x31, 0x0f, 0xae, 0xe8, 0x0f, 0x31], Some("mfence")),
        ] {
            assert_eq!(hits(code), Vec::from_iter(expected), "{code:02x?}");
        }
    }
}
