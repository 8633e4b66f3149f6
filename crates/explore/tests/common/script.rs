//! Straight-line programs as lists of operations, and a generator of random ones.

use fencepost_engine::{Random, Threads};
use fencepost_trace::{
    Access, FenceOrder, Guard, Label, LoadOrder, Location, Op, Reply, RmwOrder, Size, StoreOrder, ThreadId, Update,
    Value,
};

/// A program whose threads all exist from the start and do one operation after the other.
#[derive(Clone, Debug)]
pub struct Script {
    pub threads: Vec<Vec<Op>>,
    next: Vec<usize>,
    /// What each thread has been told, in order.
    pub replies: Vec<Vec<Reply>>,
}

impl Script {
    pub fn new(threads: Vec<Vec<Op>>) -> Script {
        let count = threads.len();
        Script { threads, next: vec![0; count], replies: vec![Vec::new(); count] }
    }

    /// What all threads have read.
    pub fn read(&self) -> Vec<Vec<(u128, bool)>> {
        self.replies.iter().map(|r| r.iter().map(|r| (r.value.0, r.success)).collect()).collect()
    }
}

impl Threads for Script {
    fn start(&mut self) -> u32 {
        self.next.fill(0);
        self.replies.iter_mut().for_each(Vec::clear);
        self.threads.len() as u32
    }

    fn resume(&mut self, thread: ThreadId, reply: Reply) -> Op {
        let t = thread.index();
        if self.next[t] > 0 {
            self.replies[t].push(reply);
        }
        self.next[t] += 1;
        self.threads[t].get(self.next[t] - 1).copied().unwrap_or(Op::Exit)
    }

    fn initial(&self, at: Location) -> Value {
        // Every byte of the program's memory holds the low part of its address.
        if at.as_hidden().is_some() {
            return Value::ZERO;
        }
        let bytes = (0..at.size.bytes()).map(|i| u128::from((at.address + i) as u8) << (8 * i));
        Value(bytes.fold(0, |all, byte| all | byte))
    }

    fn label(&self, thread: ThreadId) -> u32 {
        thread.0 * 1000 + self.next[thread.index()] as u32
    }

    fn describe(&self, label: u32) -> Label {
        Label { function: format!("T{}", label / 1000), line: label % 1000, ..Label::default() }
    }

    fn digest(&self, _: ThreadId) -> Option<u64> {
        None
    }
}

/// What random programs are made of.
#[derive(Clone, Copy)]
pub struct Recipe {
    pub threads: usize,
    pub operations: usize,
    /// Where accesses go: any of these.
    pub locations: &'static [(u64, Size)],
    pub plain: bool,
}

/// Two locations of different size, apart.
pub const APART: &[(u64, Size)] = &[(0x100, Size::B4), (0x200, Size::B16)];

/// A word, its two halves, and a byte across them.
pub const OVERLAPPING: &[(u64, Size)] = &[(0x100, Size::B8), (0x100, Size::B4), (0x104, Size::B4), (0x103, Size::B2)];

fn pick<T: Copy>(random: &mut Random, from: &[T]) -> T {
    from[random.below(from.len())]
}

/// A random program.
pub fn random_script(random: &mut Random, recipe: Recipe) -> Script {
    let mut fresh = 0;
    let mut operation = |random: &mut Random| {
        fresh += 1;
        let (address, size) = pick(random, recipe.locations);
        let at = Location::new(address, size);
        let value = size.truncate(0x0101_0101_0101_0101_0101_0101_0101_0101_u128.wrapping_mul(fresh));
        let loads = [LoadOrder::Relaxed, LoadOrder::Acquire, LoadOrder::SeqCst];
        let stores = [StoreOrder::Relaxed, StoreOrder::Release, StoreOrder::SeqCst];
        let rmws = [RmwOrder::Relaxed, RmwOrder::Acquire, RmwOrder::Release, RmwOrder::AcqRel, RmwOrder::SeqCst];
        let plain = recipe.plain && random.below(4) == 0;
        Op::Access(match random.below(10) {
            0..=3 => {
                let order = if plain { LoadOrder::Plain } else { pick(random, &loads) };
                Access::Load { at, order, guard: Guard::Any }
            }
            4..=6 => {
                let order = if plain { StoreOrder::Plain } else { pick(random, &stores) };
                Access::Store { at, order, value }
            }
            7 => {
                let update = if random.below(2) == 0 { Update::Exchange(value) } else { Update::Add(Value(1)) };
                Access::Rmw { at, order: pick(random, &rmws), update, guard: Guard::Any }
            }
            8 => {
                let orders = [FenceOrder::Acquire, FenceOrder::Release, FenceOrder::AcqRel, FenceOrder::SeqCst];
                Access::Fence { order: pick(random, &orders) }
            }
            _ => Access::CompareExchange {
                at,
                expected: Script::new(Vec::new()).initial(at),
                desired: value,
                success: pick(random, &rmws),
                failure: pick(random, &loads),
                weak: random.below(2) == 0,
                guard: Guard::Any,
            },
        })
    };
    let threads = (0..recipe.threads)
        .map(|_| {
            let length = 1 + random.below(recipe.operations);
            (0..length).map(|_| operation(random)).collect()
        })
        .collect();
    Script::new(threads)
}
