//! A random program from a seed.
//!
//! Each program uses a few parts of the surface only, so that these meet often. What it does with locks is well formed
//! (who unlocks has locked), what it does with everything else need not be: it may wait for what never comes.

use crate::program::{
    Arithmetic, Ending, Expected, Feature, How, Language, Lock, MutexType, Operand, Order, Part, Plain, Program, Stmt,
    Storage, Thread, Variable, WordBegins,
};
use fencepost_engine::Random;
use fencepost_trace::execution_seed;

/// The greatest number of registers in a thread.
const REGISTERS: u8 = 12;

/// What programs are made of.
#[derive(Clone, Debug)]
pub struct Recipe {
    /// The language: not every one has everything.
    pub language: Language,
    /// What may be used.
    pub features: Vec<Feature>,
    /// The greatest number of threads, the main thread included.
    pub threads: usize,
    /// The greatest number of statements.
    pub statements: usize,
}

impl Recipe {
    /// Everything that the language has.
    pub fn new(language: Language) -> Recipe {
        Recipe { language, features: Feature::ALL.to_vec(), threads: 4, statements: 7 }
    }
}

/// Does the language have it, as far as it is written here?
pub fn supports(language: Language, feature: Feature) -> bool {
    use Feature::*;
    let only_in_c = matches!(
        feature,
        CasMemory
            | Volatile
            | Parts
            | Bulk
            | Flags
            | Handover
            | SpinLocks
            | Keys
            | Cancel
            | Pipes
            | ThreadExit
            | Nested
            | Heap
            | Exit
            | Detach
    );
    match language {
        Language::C => feature != Channels,
        Language::Cxx => !only_in_c,
        Language::Rust => !only_in_c && !matches!(feature, Races | Semaphores | LockBoth),
    }
}

/// The program of this seed.
pub fn generate(recipe: &Recipe, seed: u64) -> Program {
    let mut generator = Generator {
        random: Random::new(execution_seed(seed, recipe.language as u64)),
        chosen: Vec::new(),
        fresh: 0,
        variables: 0,
        threads: 0,
        waits_locked: false,
    };
    generator.program(recipe)
}

struct Generator {
    random: Random,
    /// The features that this program uses.
    chosen: Vec<Feature>,
    fresh: u8,
    variables: usize,
    threads: usize,
    waits_locked: bool,
}

/// What a thread has on its way.
#[derive(Default)]
struct Writer {
    thread: usize,
    registers: u8,
    held: Vec<Lock>,
    depth: usize,
}

impl Writer {
    /// A register for what a statement reads; the last one may be used again.
    fn register(&mut self) -> u8 {
        let reg = self.registers;
        self.registers = (reg + 1).min(REGISTERS - 1);
        reg
    }
}

impl Generator {
    fn below(&mut self, bound: usize) -> usize {
        self.random.below(bound)
    }

    fn one_in(&mut self, bound: usize) -> bool {
        self.below(bound) == 0
    }

    fn pick<T: Copy>(&mut self, from: &[T]) -> T {
        from[self.below(from.len())]
    }

    fn has(&self, feature: Feature) -> bool {
        self.chosen.contains(&feature)
    }

    fn program(&mut self, recipe: &Recipe) -> Program {
        let available: Vec<Feature> =
            recipe.features.iter().copied().filter(|feature| supports(recipe.language, *feature)).collect();
        let mut left = available.clone();
        let themes = 2 + self.below(4);
        for _ in 0..themes.min(left.len()) {
            let index = self.below(left.len());
            let theme = left.swap_remove(index);
            // Threads that give way to each other have more executions than anybody tries: seldom.
            if theme != Feature::LockBoth || self.one_in(4) {
                self.chosen.push(theme);
            }
        }
        // Without something to observe with, order does not show.
        for usual in [Feature::Atomics, Feature::Branches] {
            if available.contains(&usual) && !self.has(usual) && !self.one_in(3) {
                self.chosen.push(usual);
            }
        }
        self.threads = self.pick(&[2, 2, 2, 3, 3, 3, 4]).min(recipe.threads);
        self.variables = 1 + self.below(3);
        let sizes = [4, 4, 4, 1, 2, 8];
        let variables = (0..self.variables)
            .map(|_| {
                let place = match self.below(6) {
                    0 if recipe.language == Language::C => Storage::Stack,
                    1 if recipe.language == Language::C && self.has(Feature::Heap) => Storage::Heap,
                    _ => Storage::Global,
                };
                Variable { size: self.pick(&sizes), place }
            })
            .collect();
        let types = [MutexType::Normal, MutexType::Normal, MutexType::Recursive, MutexType::ErrorCheck];
        // Most programs are small: they have most of the mistakes, and take a fraction of the time.
        let more = recipe.statements.saturating_sub(self.threads).max(1);
        let statements = self.threads + self.below(more).min(self.below(more)) + 1;
        // The main thread often does nothing but wait.
        let idle = self.one_in(3);
        let mut shares = vec![0; self.threads];
        for _ in 0..statements {
            let thread = if idle { 1 + self.below(self.threads - 1) } else { self.below(self.threads) };
            shares[thread] += 1;
        }
        let threads = shares.iter().enumerate().map(|(t, share)| self.thread(t, *share)).collect();
        let mut program = Program {
            threads,
            variables,
            mutexes: [self.pick(&types), self.pick(&types)],
            semaphore: self.below(2) as u8,
            parties: 2,
            word: self.pick(&[WordBegins::Untouched, WordBegins::Whole, WordBegins::Filled]),
        };
        let at_barrier = |thread: &Thread| thread.body.iter().any(|stmt| matches!(stmt, Stmt::Barrier { .. }));
        let parties = program.threads.iter().filter(|thread| at_barrier(thread)).count() as u8;
        program.parties = if self.one_in(8) { 2 } else { parties.max(1) };
        // In Rust each thread has its own end of the channel. Where nobody waits for a thread, it may outlive main's
        // variables.
        let waits = program.joins_all();
        let is_fine = |place: Storage| place != Storage::Stack || waits;
        for variable in &mut program.variables {
            if recipe.language == Language::Rust || !is_fine(variable.place) {
                variable.place = Storage::Global;
            }
        }
        program
    }

    fn thread(&mut self, t: usize, statements: usize) -> Thread {
        let mut writer = Writer { thread: t, ..Writer::default() };
        let mut body = Vec::new();
        for _ in 0..statements {
            let stmt = self.statement(&mut writer);
            body.extend(stmt);
        }
        while let Some(lock) = writer.held.pop() {
            body.push(Stmt::Release { lock });
        }
        // A thread that has created others waits for them, so that it must come to its end.
        if t > 0 && self.has(Feature::ThreadExit) && !self.has(Feature::Nested) && self.one_in(3) {
            let at = self.below(body.len() + 1);
            // Not with a lock in hand: that is another class of mistake.
            if !holds(&body[..at]) {
                body.insert(at, Stmt::End { how: Ending::Thread });
            }
        }
        if self.has(Feature::Exit) && self.one_in(3) {
            let at = self.below(body.len() + 1);
            let how = if self.one_in(2) { Ending::Exit } else { Ending::QuickExit };
            body.insert(at, Stmt::End { how });
        }
        if self.has(Feature::Asserts) && writer.registers > 0 && self.one_in(2) {
            let mut claim = || (self.random.below(writer.registers.into()) as u8, self.random.below(5) as u8);
            body.push(Stmt::Assert { one: claim(), other: claim() });
        }
        let detached = t > 0 && self.has(Feature::Detach) && self.one_in(3);
        let nested = t > 1 && self.has(Feature::Nested) && self.one_in(2);
        Thread { body, detached, creator: if nested { t as u8 - 1 } else { 0 } }
    }

    fn value(&mut self) -> u8 {
        self.fresh = self.fresh % 15 + 1;
        if self.one_in(4) { self.below(2) as u8 } else { self.fresh }
    }

    /// Some part of the word, accessed plainly.
    fn part(&mut self) -> Part {
        let bytes = self.pick(&[1u8, 2, 4, 4, 8, 8]);
        Part { bytes, offset: bytes * self.below(8 / usize::from(bytes)) as u8, order: None }
    }

    fn operand(&mut self, writer: &Writer) -> Operand {
        if writer.registers > 0 && self.one_in(4) {
            Operand::Reg(self.below(writer.registers.into()) as u8)
        } else {
            Operand::Const(self.value())
        }
    }

    fn statement(&mut self, writer: &mut Writer) -> Vec<Stmt> {
        use Feature as F;
        let feature = {
            let chosen = self.chosen.clone();
            self.pick(&chosen)
        };
        let var = self.below(self.variables) as u8;
        let stmt = match feature {
            F::Atomics => return vec![self.access(writer, var)],
            F::Cas | F::WeakCas | F::CasMemory => {
                let place = match feature {
                    F::CasMemory if self.one_in(2) => Expected::Heap,
                    F::CasMemory => Expected::Shared,
                    _ => Expected::Local,
                };
                Stmt::Cas {
                    var,
                    place,
                    expected: self.below(3) as u8,
                    desired: self.value(),
                    success: self.pick(&Order::RMW),
                    failure: self.pick(&Order::LOAD),
                    weak: feature == F::WeakCas,
                    reg: writer.register(),
                }
            }
            F::Fences => Stmt::Fence { order: self.pick(&Order::FENCE) },
            F::Races | F::Volatile => {
                let number = self.below(2) as u8;
                let at = if feature == F::Races { Plain::Racing(number) } else { Plain::Volatile(number) };
                match self.one_in(2) {
                    true => Stmt::PlainLoad { at, reg: writer.register() },
                    false => Stmt::PlainStore { at, value: Operand::Const(self.value()) },
                }
            }
            F::Parts => {
                let orders = if self.one_in(3) { None } else { Some(()) };
                let mut part = self.part();
                match self.below(6) {
                    0 | 1 => {
                        part.order = orders.map(|()| self.pick(&Order::LOAD));
                        Stmt::PartLoad { part, reg: writer.register() }
                    }
                    2..=4 => {
                        part.order = orders.map(|()| self.pick(&Order::STORE));
                        Stmt::PartStore { part, value: self.value() }
                    }
                    _ => {
                        part.order = Some(self.pick(&Order::RMW));
                        Stmt::PartAdd { part, value: self.value(), reg: writer.register() }
                    }
                }
            }
            F::Flags => match self.one_in(2) {
                true => Stmt::TestAndSet { order: self.pick(&Order::RMW), reg: writer.register() },
                false => Stmt::Clear { order: self.pick(&Order::STORE) },
            },
            F::Handover => match self.below(5) {
                0 | 1 => Stmt::Publish { order: self.pick(&Order::RMW), value: self.value() },
                2 | 3 => Stmt::Consume { order: self.pick(&Order::RMW), reg: writer.register() },
                _ => Stmt::Peek { order: self.pick(&Order::LOAD), reg: writer.register() },
            },
            F::Bulk if self.one_in(2) => Stmt::Copy { reg: writer.register() },
            F::Bulk => Stmt::Fill { part: self.part(), value: self.value() },
            F::Locks | F::RwLocks | F::SpinLocks => return self.locking(writer, feature),
            F::TryLocks | F::Timed => {
                let how = if feature == F::Timed { How::Timed } else { How::Try };
                match self.below(4) {
                    0 if feature == F::Timed && self.has(F::Semaphores) => {
                        Stmt::SemWait { how, reg: writer.register() }
                    }
                    1 if feature == F::Timed && self.has(F::Condvars) && writer.held.is_empty() => {
                        Stmt::CondWait { timed: true, reg: writer.register() }
                    }
                    _ => {
                        let lock = self.lock();
                        let reg = writer.register();
                        if writer.held.iter().any(|held| held.object() == lock.object()) || writer.depth > 0 {
                            return Vec::new();
                        }
                        writer.held.push(lock);
                        writer.depth += 1;
                        let body = vec![self.guarded(writer, lock)];
                        writer.depth -= 1;
                        writer.held.retain(|held| *held != lock);
                        Stmt::Attempt { lock, how, reg, body }
                    }
                }
            }
            F::Condvars if writer.held.is_empty() => match self.one_in(2) {
                true => Stmt::CondWait { timed: false, reg: writer.register() },
                false => Stmt::CondSignal { value: self.value(), all: self.one_in(2), inside: self.one_in(2) },
            },
            F::Condvars => return Vec::new(),
            F::Semaphores => match self.below(4) {
                0 => Stmt::SemWait { how: How::Try, reg: writer.register() },
                1 => Stmt::SemWait { how: How::Wait, reg: writer.register() },
                _ => Stmt::SemPost,
            },
            F::Barriers => Stmt::Barrier { reg: writer.register() },
            F::Once => Stmt::Once,
            F::Futex => match self.one_in(2) {
                true => Stmt::FutexWait { var, reg: writer.register() },
                false => {
                    let most = [1, 1, 2, 100][self.below(4)];
                    Stmt::FutexWake { var, value: self.value(), most, reg: writer.register() }
                }
            },
            F::Heap => Stmt::Block { zeroed: self.one_in(2), value: self.value(), reg: writer.register() },
            F::Tls => Stmt::Tls { value: self.value(), reg: writer.register() },
            F::Keys => Stmt::Key { value: self.value() },
            F::Cancel if writer.thread == 0 => Stmt::Cancel { thread: 1 + self.below(self.threads - 1) as u8 },
            F::Sleep => Stmt::Sleep,
            F::Yield => Stmt::Yield,
            F::Pipes => match self.one_in(2) {
                true => Stmt::PipeWrite { value: self.value() },
                false => Stmt::PipeRead { reg: writer.register() },
            },
            F::Branches if writer.registers > 0 && writer.depth == 0 => {
                let reg = self.below(writer.registers.into()) as u8;
                let equals = self.below(4) as u8;
                writer.depth += 1;
                let body = vec![self.access(writer, var)];
                writer.depth -= 1;
                Stmt::If { reg, equals, body }
            }
            F::Waiting if self.has(F::Locks) && writer.held.is_empty() && self.one_in(2) && !self.waits_locked => {
                // Two such loops keep each other going forever, and the machine's tree has no end.
                self.waits_locked = true;
                Stmt::AwaitLocked { reg: writer.register() }
            }
            F::LockBoth if writer.held.is_empty() => {
                Stmt::LockBoth { first: self.below(2) as u8, value: self.value(), reg: writer.register() }
            }
            F::LockBoth => return Vec::new(),
            F::Waiting => Stmt::Await { var, order: self.pick(&Order::LOAD), yields: true, reg: writer.register() },
            F::Spinning => Stmt::Await { var, order: self.pick(&Order::LOAD), yields: false, reg: writer.register() },
            F::Polling => Stmt::Poll { var, order: self.pick(&Order::LOAD), times: 2, reg: writer.register() },
            F::Channels if writer.thread == 0 => Stmt::Receive { reg: writer.register() },
            F::Channels => Stmt::Send { value: self.value() },
            F::Cancel | F::Branches | F::Asserts | F::Detach | F::Exit | F::ThreadExit | F::Nested => {
                return vec![self.access(writer, var)];
            }
        };
        vec![stmt]
    }

    /// An access of an atomic variable; or of a plain one, if a lock is held that guards it.
    fn access(&mut self, writer: &mut Writer, var: u8) -> Stmt {
        if let Some(lock) = writer.held.last().copied()
            && self.one_in(2)
        {
            return self.guarded(writer, lock);
        }
        if writer.registers + 1 >= REGISTERS {
            return Stmt::Store { var, order: self.pick(&Order::STORE), value: Operand::Const(self.value()) };
        }
        match self.below(6) {
            0 | 1 => {
                let reg = writer.registers;
                let stmt = Stmt::Load { var, order: self.pick(&Order::LOAD), reg };
                writer.registers += 1;
                stmt
            }
            2..=4 => Stmt::Store { var, order: self.pick(&Order::STORE), value: self.operand(writer) },
            _ => {
                use Arithmetic::{Add, And, Exchange, Or, Sub, Xor};
                let how = self.pick(&[Exchange, Add, Add, Sub, And, Or, Xor]);
                let reg = writer.registers;
                writer.registers += 1;
                Stmt::Rmw { var, order: self.pick(&Order::RMW), how, value: self.value(), reg }
            }
        }
    }

    fn guarded(&mut self, writer: &mut Writer, lock: Lock) -> Stmt {
        let at = Plain::Guarded(lock);
        if (self.one_in(2) || matches!(lock, Lock::Read(_))) && writer.registers + 1 < REGISTERS {
            let reg = writer.registers;
            writer.registers += 1;
            Stmt::PlainLoad { at, reg }
        } else if matches!(lock, Lock::Read(_)) {
            Stmt::Yield
        } else {
            Stmt::PlainStore { at, value: self.operand(writer) }
        }
    }

    fn lock(&mut self) -> Lock {
        let number = self.below(2) as u8;
        let mut kinds = Vec::new();
        if self.has(Feature::RwLocks) {
            kinds.extend([Lock::Read(number), Lock::Write(number)]);
        }
        if self.has(Feature::SpinLocks) {
            kinds.push(Lock::Spin(number));
        }
        if self.has(Feature::Locks) || kinds.is_empty() {
            kinds.push(Lock::Mutex(number));
        }
        self.pick(&kinds)
    }

    fn locking(&mut self, writer: &mut Writer, feature: Feature) -> Vec<Stmt> {
        if !writer.held.is_empty() && self.one_in(2) {
            let index = self.below(writer.held.len());
            return vec![Stmt::Release { lock: writer.held.remove(index) }];
        }
        let number = self.below(2) as u8;
        let lock = match feature {
            Feature::RwLocks if self.one_in(2) => Lock::Read(number),
            Feature::RwLocks => Lock::Write(number),
            Feature::SpinLocks => Lock::Spin(number),
            _ => Lock::Mutex(number),
        };
        if writer.held.iter().any(|held| held.object() == lock.object()) {
            return vec![self.guarded(writer, lock_of(&writer.held, lock))];
        }
        writer.held.push(lock);
        let mut stmts = vec![Stmt::Acquire { lock }];
        if self.one_in(2) {
            stmts.push(self.guarded(writer, lock));
        }
        stmts
    }
}

/// The lock as it is held.
fn lock_of(held: &[Lock], lock: Lock) -> Lock {
    held.iter().copied().find(|one| one.object() == lock.object()).unwrap_or(lock)
}

/// Is a lock held after these statements?
fn holds(body: &[Stmt]) -> bool {
    let count = |is: fn(&Stmt) -> bool| body.iter().filter(|stmt| is(stmt)).count();
    count(|stmt| matches!(stmt, Stmt::Acquire { .. })) != count(|stmt| matches!(stmt, Stmt::Release { .. }))
}
