//! Instructions that the compiler's instrumentation does not see, as the host has decoded them.

use serde::{Deserialize, Serialize};

/// What the instrumentation does not see of one file.
#[derive(Clone, PartialEq, Eq, Debug, Default, Serialize, Deserialize)]
pub struct HiddenCode {
    /// The file.
    pub module: String,
    /// Its atomic instructions, in the order of their addresses.
    pub instructions: Vec<HiddenInstruction>,
    /// Its functions that access memory and announce nothing.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub functions: Vec<HiddenFunction>,
}

/// A function that accesses memory without a word.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct HiddenFunction {
    /// Its address, as the file has it.
    pub offset: u64,
    /// The first two of its bytes.
    pub code: [u8; 2],
}

/// An instruction that accesses memory atomically, or orders accesses.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct HiddenInstruction {
    /// Its address, as the file has it.
    pub offset: u64,
    /// The first two of its bytes.
    pub code: [u8; 2],
    /// How many bytes it has.
    pub length: u8,
    /// What it does.
    pub action: Action,
    /// How many bytes of memory it accesses.
    pub size: u8,
    /// Where they are.
    pub memory: MemoryOperand,
    /// What is added, stored and so on.
    pub source: Source,
    /// Is it a full barrier, too? A processor makes one of every such instruction; in a library that comes compiled
    /// from Rust it stands for a counter, and no program may rely on more.
    pub barrier: bool,
}

/// What an instruction does to memory.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub enum Action {
    /// `lock add`
    Add,
    /// `lock sub`
    Sub,
    /// `lock and`
    And,
    /// `lock or`
    Or,
    /// `lock xor`
    Xor,
    /// `lock not`
    Not,
    /// `lock inc`
    Increment,
    /// `lock dec`
    Decrement,
    /// `lock xadd`: the register gets what was there.
    ExchangeAdd,
    /// `xchg`: the register gets what was there.
    Exchange,
    /// `lock cmpxchg`: compares with rax.
    CompareExchange,
    /// `lock cmpxchg16b`: compares with rdx:rax, stores rcx:rbx.
    CompareExchangePair,
    /// `lock bts`
    SetBit,
    /// `lock btr`
    ClearBit,
    /// `lock btc`
    FlipBit,
    /// `mfence`, and a locked instruction on the stack that changes nothing.
    Fence,
}

/// An operand in memory: base + index × scale + displacement. Registers are numbered as the processor does.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, Serialize, Deserialize)]
pub struct MemoryOperand {
    /// The register that is its base.
    pub base: Option<u8>,
    /// The register that counts.
    pub index: Option<u8>,
    /// By how many bytes.
    pub scale: u8,
    /// What is added.
    pub displacement: i64,
    /// Is the displacement an address, as the file has it?
    pub in_file: bool,
}

/// The other operand.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub enum Source {
    /// There is none.
    None,
    /// A register.
    Register(u8),
    /// A number.
    Immediate(i64),
}
