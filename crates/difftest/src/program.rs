//! Small concurrent programs, in no language in particular.
//!
//! A program is a list of threads. The first is the main thread: it creates the others, does what its body says, waits
//! for those that are not detached, and prints the outcome: every register of every thread that it has waited for, and
//! the final values of all variables. Registers are local variables, of five bits each, and come to the main thread as
//! the value that a thread returns, so that to keep them takes no access to shared memory.

use std::fmt;

/// The languages that programs are written in.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
#[allow(missing_docs)]
pub enum Language {
    C,
    Cxx,
    Rust,
}

impl Language {
    /// All of them.
    pub const ALL: [Language; 3] = [Language::C, Language::Cxx, Language::Rust];

    /// What its files end in.
    pub fn ending(self) -> &'static str {
        match self {
            Language::C => "c",
            Language::Cxx => "cpp",
            Language::Rust => "rs",
        }
    }
}

macro_rules! features {
    ($($(#[$doc:meta])* $variant:ident $name:literal,)*) => {
        /// Parts of the surface that programs use, each of which can be left out.
        #[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
        pub enum Feature { $($(#[$doc])* $variant,)* }

        impl Feature {
            /// All of them.
            pub const ALL: &'static [Feature] = &[$(Feature::$variant),*];

            /// Its name on the command line.
            pub fn name(self) -> &'static str {
                match self { $(Feature::$variant => $name,)* }
            }
        }
    };
}

features! {
    /// Atomic loads, stores and read-modify-writes.
    Atomics "atomics",
    /// Strong compare-exchange.
    Cas "cas",
    /// Weak compare-exchange, which may fail for no reason.
    WeakCas "weak-cas",
    /// Compare-exchange whose expected value lies in memory that others can see.
    CasMemory "cas-memory",
    /// Fences.
    Fences "fences",
    /// Plain accesses that race.
    Races "races",
    /// Volatile accesses.
    Volatile "volatile",
    /// Accesses of several sizes to parts of one word, atomic and plain.
    Parts "parts",
    /// `memset` and `memcpy` of that word.
    Bulk "bulk",
    /// A flag that is tested and set, and cleared.
    Flags "flags",
    /// Blocks of the heap.
    Heap "heap",
    /// Blocks that one thread allocates and another frees.
    Handover "handover",
    /// Mutexes.
    Locks "locks",
    /// Mutexes that are tried.
    TryLocks "try-locks",
    /// Waits with a timeout, of every kind.
    Timed "timed",
    /// Reader-writer locks.
    RwLocks "rwlocks",
    /// Spin locks.
    SpinLocks "spin-locks",
    /// Condition variables.
    Condvars "condvars",
    /// Semaphores.
    Semaphores "semaphores",
    /// Barriers.
    Barriers "barriers",
    /// Initialisation that happens once.
    Once "once",
    /// Futexes; in C++ `atomic::wait`, in Rust `park`.
    Futex "futex",
    /// Keys with destructors.
    Keys "keys",
    /// Thread-local variables.
    Tls "tls",
    /// Threads that are not waited for.
    Detach "detach",
    /// The end of the process while threads run.
    Exit "exit",
    /// Threads that end in the middle.
    ThreadExit "thread-exit",
    /// Threads that are created by others than the main thread.
    Nested "nested",
    /// Threads that are cancelled.
    Cancel "cancel",
    /// Sleeping.
    Sleep "sleep",
    /// Yields outside of loops.
    Yield "yield",
    /// Pipes.
    Pipes "pipes",
    /// Branches on what was read.
    Branches "branches",
    /// Loops that wait and give way.
    Waiting "waiting",
    /// Loops that wait without giving way.
    Spinning "spinning",
    /// Loops that look a few times.
    Polling "polling",
    /// Assertions about what was read.
    Asserts "asserts",
    /// Two mutexes at once, of which one is given back if the other is taken; in C++ `scoped_lock`.
    LockBoth "lock-both",
    /// C++ and Rust: objects of the standard library that hand a value over (`future`, `latch`, channels).
    Channels "channels",
}

impl fmt::Display for Feature {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

impl std::str::FromStr for Feature {
    type Err = String;
    fn from_str(text: &str) -> Result<Feature, String> {
        let found = Feature::ALL.iter().find(|feature| feature.name() == text);
        found.copied().ok_or_else(|| {
            let names: Vec<&str> = Feature::ALL.iter().map(|feature| feature.name()).collect();
            format!("no feature of that name; there are {}", names.join(", "))
        })
    }
}

/// A memory order.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
#[allow(missing_docs)]
pub enum Order {
    Relaxed,
    Acquire,
    Release,
    AcqRel,
    SeqCst,
}

impl Order {
    /// Those of loads.
    pub const LOAD: [Order; 3] = [Order::Relaxed, Order::Acquire, Order::SeqCst];
    /// Those of stores.
    pub const STORE: [Order; 3] = [Order::Relaxed, Order::Release, Order::SeqCst];
    /// Those of read-modify-writes.
    pub const RMW: [Order; 5] = [Order::Relaxed, Order::Acquire, Order::Release, Order::AcqRel, Order::SeqCst];
    /// Those of fences.
    pub const FENCE: [Order; 4] = [Order::Acquire, Order::Release, Order::AcqRel, Order::SeqCst];
}

/// Where a variable lies.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[allow(missing_docs)]
pub enum Storage {
    Global,
    /// The main thread's stack.
    Stack,
    /// A block that the main thread allocates before it creates others.
    Heap,
}

/// A variable for atomic accesses.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Variable {
    /// In bytes: 1, 2, 4 or 8.
    pub size: u8,
    /// Where it lies.
    pub place: Storage,
}

/// What is written.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Operand {
    /// A number from 0 to 31.
    Const(u8),
    /// What a register holds.
    Reg(u8),
}

/// How an RMW makes the new value.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[allow(missing_docs)]
pub enum Arithmetic {
    Exchange,
    Add,
    Sub,
    And,
    Or,
    Xor,
}

/// Where a compare-exchange finds what it expects.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Expected {
    /// A variable of the function.
    Local,
    /// A global variable of this thread, which the main thread reads in the end.
    Shared,
    /// A block of the heap, likewise.
    Heap,
}

/// A kind of plain variable.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Plain {
    /// One that anybody accesses at any time.
    Racing(u8),
    /// One that is accessed under a lock: the mutex, the reader-writer lock or the spin lock of that number.
    Guarded(Lock),
    /// A volatile one.
    Volatile(u8),
}

/// A part of the word that is accessed in several sizes.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Part {
    /// How many bytes: 1, 2, 4 or 8.
    pub bytes: u8,
    /// Which of them is the first: a multiple of their number.
    pub offset: u8,
    /// The order of an atomic access; none if it is plain.
    pub order: Option<Order>,
}

/// What the main thread does to that word before there are other threads.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum WordBegins {
    /// Nothing.
    Untouched,
    /// It stores the whole.
    Whole,
    /// It calls `memset`.
    Filled,
}

/// A lock.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
#[allow(missing_docs)]
pub enum Lock {
    Mutex(u8),
    Read(u8),
    Write(u8),
    Spin(u8),
}

impl Lock {
    /// The name of the object in programs.
    pub fn object(self) -> String {
        match self {
            Lock::Mutex(i) => format!("m{i}"),
            Lock::Read(i) | Lock::Write(i) => format!("w{i}"),
            Lock::Spin(i) => format!("s{i}"),
        }
    }
}

/// How something is waited for.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum How {
    /// For as long as it takes.
    Wait,
    /// Not at all.
    Try,
    /// Up to a time.
    Timed,
}

/// What ends.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Ending {
    /// The process, with its handlers.
    Exit,
    /// The process, at once.
    QuickExit,
    /// The thread.
    Thread,
}

/// A statement. Whoever reads writes what it read to a register of its own.
#[derive(Clone, PartialEq, Eq, Debug)]
#[allow(missing_docs)]
pub enum Stmt {
    Load {
        var: u8,
        order: Order,
        reg: u8,
    },
    Store {
        var: u8,
        order: Order,
        value: Operand,
    },
    Rmw {
        var: u8,
        order: Order,
        how: Arithmetic,
        value: u8,
        reg: u8,
    },
    Cas {
        var: u8,
        place: Expected,
        expected: u8,
        desired: u8,
        success: Order,
        failure: Order,
        weak: bool,
        reg: u8,
    },
    Fence {
        order: Order,
    },
    PlainLoad {
        at: Plain,
        reg: u8,
    },
    PlainStore {
        at: Plain,
        value: Operand,
    },
    PartLoad {
        part: Part,
        reg: u8,
    },
    PartStore {
        part: Part,
        value: u8,
    },
    /// Adds to a part, which is atomic.
    PartAdd {
        part: Part,
        value: u8,
        reg: u8,
    },
    TestAndSet {
        order: Order,
        reg: u8,
    },
    Clear {
        order: Order,
    },
    /// Allocates a block, writes it, and puts its address where others find it; frees the block whose address was
    /// there.
    Publish {
        order: Order,
        value: u8,
    },
    /// Takes the address away, reads the block if there is one, and frees it.
    Consume {
        order: Order,
        reg: u8,
    },
    /// Reads the block, if there is one, and leaves it.
    Peek {
        order: Order,
        reg: u8,
    },
    /// `memset` of a part, as a call.
    Fill {
        part: Part,
        value: u8,
    },
    /// `memcpy` of the word, as a call.
    Copy {
        reg: u8,
    },
    Acquire {
        lock: Lock,
    },
    Release {
        lock: Lock,
    },
    /// Takes the lock if that is possible, does something, and gives it back.
    Attempt {
        lock: Lock,
        how: How,
        reg: u8,
        body: Vec<Stmt>,
    },
    /// Takes mutex 0 and waits on the condition variable until the variable that it guards is not 0.
    CondWait {
        timed: bool,
        reg: u8,
    },
    /// Takes mutex 0, writes the variable that it guards, and signals, under the lock or after it.
    CondSignal {
        value: u8,
        all: bool,
        inside: bool,
    },
    SemWait {
        how: How,
        reg: u8,
    },
    SemPost,
    Barrier {
        reg: u8,
    },
    /// Adds to atomic variable 0, once in the program.
    Once,
    /// Waits, asleep, while the variable (of four bytes) holds 0.
    FutexWait {
        var: u8,
        reg: u8,
    },
    /// Writes to the variable and wakes.
    /// Stores, and wakes so many at most.
    FutexWake {
        var: u8,
        value: u8,
        most: u8,
        reg: u8,
    },
    /// Waits in a loop while the variable holds 0.
    Await {
        var: u8,
        order: Order,
        yields: bool,
        reg: u8,
    },
    /// The same under mutex 0, for the variable that it guards, giving way in between.
    AwaitLocked {
        reg: u8,
    },
    /// Takes both mutexes: this one by waiting, the other by trying; if that fails, gives this one back and begins
    /// again. Reads what this one guards and writes what the other does.
    LockBoth {
        first: u8,
        value: u8,
        reg: u8,
    },
    /// Looks at most so many times.
    Poll {
        var: u8,
        order: Order,
        times: u8,
        reg: u8,
    },
    If {
        reg: u8,
        equals: u8,
        body: Vec<Stmt>,
    },
    /// Allocates a block, perhaps with zeroes, reads it if so, writes it, reads it again, frees it.
    Block {
        zeroed: bool,
        value: u8,
        reg: u8,
    },
    /// Reads a thread-local variable and writes it.
    Tls {
        value: u8,
        reg: u8,
    },
    /// Sets a value of the thread that its destructor adds to atomic variable 0.
    Key {
        value: u8,
    },
    End {
        how: Ending,
    },
    /// The main thread cancels another.
    Cancel {
        thread: u8,
    },
    Sleep,
    Yield,
    PipeWrite {
        value: u8,
    },
    PipeRead {
        reg: u8,
    },
    /// Not both registers hold these.
    Assert {
        one: (u8, u8),
        other: (u8, u8),
    },
    /// C++: `promise`; Rust: a message into the channel.
    Send {
        value: u8,
    },
    /// C++: `future`; Rust: a message out of the channel.
    Receive {
        reg: u8,
    },
}

/// A thread.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Thread {
    /// What it does.
    pub body: Vec<Stmt>,
    /// Does nobody wait for it?
    pub detached: bool,
    /// Who creates it, and waits for it at the end of its own body.
    pub creator: u8,
}

/// The type of a mutex.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[allow(missing_docs)]
pub enum MutexType {
    Normal,
    Recursive,
    ErrorCheck,
}

/// A program.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Program {
    /// Its threads; the first is the main thread.
    pub threads: Vec<Thread>,
    /// The variables for atomic accesses.
    pub variables: Vec<Variable>,
    /// The types of its mutexes.
    pub mutexes: [MutexType; 2],
    /// What the semaphore starts with.
    pub semaphore: u8,
    /// How many threads the barrier waits for.
    pub parties: u8,
    /// How the word begins that is accessed in parts.
    pub word: WordBegins,
}

impl Program {
    /// Every statement, those inside of others included.
    pub fn each<'a>(&'a self, see: &mut dyn FnMut(usize, &'a Stmt)) {
        fn walk<'a>(thread: usize, body: &'a [Stmt], see: &mut dyn FnMut(usize, &'a Stmt)) {
            for stmt in body {
                see(thread, stmt);
                if let Stmt::If { body, .. } | Stmt::Attempt { body, .. } = stmt {
                    walk(thread, body, see);
                }
            }
        }
        self.threads.iter().enumerate().for_each(|(t, thread)| walk(t, &thread.body, see));
    }

    /// Is there such a statement?
    pub fn any(&self, is: impl Fn(&Stmt) -> bool) -> bool {
        let mut found = false;
        self.each(&mut |_, stmt| found |= is(stmt));
        found
    }

    /// How many statements it has.
    pub fn size(&self) -> usize {
        let mut count = 0;
        self.each(&mut |_, _| count += 1);
        count
    }

    /// Does time decide what it does? Exploration takes a timeout or a sleep as a choice, the machine does not.
    pub fn is_timed(&self) -> bool {
        self.any(|stmt| {
            matches!(
                stmt,
                Stmt::Sleep
                    | Stmt::Attempt { how: How::Timed, .. }
                    | Stmt::SemWait { how: How::Timed, .. }
                    | Stmt::CondWait { timed: true, .. }
            )
        })
    }

    /// Does it give a block back that it has just written? The machines of the hardware models let a thread's stores to
    /// such a block leave its buffer first, and with them all that are older; exploration does not.
    pub fn frees(&self) -> bool {
        self.any(|stmt| matches!(stmt, Stmt::Block { .. } | Stmt::Publish { .. } | Stmt::Consume { .. }))
    }

    /// Does it access parts of a word and the whole?
    pub fn overlaps(&self) -> bool {
        use Stmt::{Copy, Fill, PartAdd, PartLoad, PartStore};
        self.any(|stmt| matches!(stmt, PartLoad { .. } | PartStore { .. } | PartAdd { .. } | Fill { .. } | Copy { .. }))
    }

    /// Is every thread waited for, whatever happens?
    pub fn joins_all(&self) -> bool {
        self.threads.iter().all(|thread| !thread.detached)
    }
}
