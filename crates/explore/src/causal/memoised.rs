//! A program whose threads run only where they have not been before.
//!
//! A thread is a function of the replies that it gets, of what its creator did before it, and of what threads did
//! whose end it has waited for. So what it asks for next is remembered in a tree, by replies. An execution is a walk
//! through these trees as long as all that it comes to is known, and no thread of the program runs. The first reply
//! that nobody has given before makes the program run: it is put back to its beginning, gets all replies of this
//! execution again, and goes on. So does whoever needs the program itself ([`Threads::run_for_real`]).
//!
//! *Local states* are compared within one run of the program: what is left in registers and on the stack by functions
//! that have returned may differ from run to run. So not the digests are remembered, but which of the places on the
//! way to a place have the same one. Where threads share what lies on their stacks, states depend on how far others
//! have come in the run at hand: such a program runs as if there was nothing here.

use fencepost_engine::{Given, Position, Threads};
use fencepost_trace::{Access, Label, Location, Op, Reply, ThreadId, Value};
use rustc_hash::FxHashMap;
use std::cell::RefCell;

/// No place of a tree.
const NONE: u32 = u32::MAX;
/// So many executions in a row may come without a run of the program: who looks at it from outside sees that it goes
/// on.
const MOST_WALKS: u32 = 1 << 10;
/// Spreads numbers over all bits.
const FACTOR: u64 = 0xd6e8_feb8_6659_fd93;

/// Where a thread asks for something.
struct Asked {
    op: Op,
    label: u32,
    digest: Option<u64>,
}

/// What a thread was told, and where.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
struct Way {
    from: u32,
    value: Value,
    success: bool,
    /// The thread begins here, which is this one: the place before it is its creator's.
    begins: Option<ThreadId>,
    /// It has waited for the end of another thread, which came at this place.
    joined: u32,
}

#[derive(Clone, Default)]
struct Thread {
    /// Where it is; if it has not begun, where its creator created it.
    at: u32,
    has_begun: bool,
    /// Digests of this run of the program on the way here, and what stands for them.
    digests: Vec<(u64, u64)>,
}

struct Inner<T> {
    program: T,
    places: Vec<Asked>,
    /// To which place a way leads. There may be as many from one place as another thread has histories, where it is
    /// joined.
    ways: FxHashMap<Way, u32>,
    threads: Vec<Thread>,
    initial_threads: u32,
    /// What memory holds initially; where threads set that, by the place of the one who asks.
    initial: FxHashMap<(Location, u32), Value>,
    /// The replies of this execution.
    given: Vec<Given>,
    clocks: Vec<u32>,
    /// Does the program run?
    is_live: bool,
    /// Executions since it did.
    walks: u32,
    diverged: Option<ThreadId>,
    /// Nothing is remembered: see above.
    is_off: bool,
}

/// A program and what its threads have been seen to do.
pub struct Memoised<T> {
    inner: RefCell<Inner<T>>,
    observed: Vec<Location>,
}

impl<T: Threads> Memoised<T> {
    /// Nothing has been seen of the program.
    pub fn new(program: T) -> Memoised<T> {
        let observed = program.observed().to_vec();
        let inner = Inner {
            program,
            places: Vec::new(),
            ways: FxHashMap::default(),
            threads: Vec::new(),
            initial_threads: 0,
            initial: FxHashMap::default(),
            given: Vec::new(),
            clocks: Vec::new(),
            is_live: false,
            // Nothing is known, not even how many threads there are.
            walks: MOST_WALKS,
            diverged: None,
            is_off: false,
        };
        Memoised { inner: RefCell::new(inner), observed }
    }
}

impl<T: Threads> Inner<T> {
    fn start(&mut self) -> u32 {
        self.given.clear();
        self.clocks.clear();
        self.is_off = self.program.has_shared_stacks();
        self.is_live = self.is_time_to_run() || self.is_off;
        if self.is_live {
            self.initial_threads = self.program.start();
        }
        self.reset();
        self.initial_threads
    }

    /// An execution begins: has the program not run for long?
    fn is_time_to_run(&mut self) -> bool {
        self.walks += 1;
        let is_time = self.walks > MOST_WALKS;
        if is_time {
            self.walks = 0;
        }
        is_time
    }

    /// All threads are at their beginnings.
    fn reset(&mut self) {
        self.threads.truncate(self.initial_threads as usize);
        self.threads.resize_with(self.initial_threads as usize, Thread::default);
        for thread in &mut self.threads {
            thread.at = NONE;
            thread.has_begun = false;
            thread.digests.clear();
        }
    }

    fn position(&self, position: &mut Position) -> bool {
        if self.program.has_shared_stacks() {
            return false;
        }
        let Position { given, clocks, places } = position;
        given.clone_from(&self.given);
        clocks.clone_from(&self.clocks);
        places.clear();
        places.extend(self.threads.iter().map(|thread| (thread.at, thread.has_begun)));
        true
    }

    fn return_to(&mut self, position: &Position) -> bool {
        if self.program.has_shared_stacks() {
            return false;
        }
        let Position { given, clocks, places } = position;
        self.given.clone_from(given);
        self.clocks.clone_from(clocks);
        self.threads.resize_with(places.len(), Thread::default);
        for (thread, (at, has_begun)) in self.threads.iter_mut().zip(places) {
            (thread.at, thread.has_begun) = (*at, *has_begun);
        }
        self.is_live = false;
        if self.is_time_to_run() {
            self.run_for_real();
        }
        true
    }

    /// Where a thread is.
    fn place(&self, thread: ThreadId) -> Option<&Asked> {
        self.places.get(self.threads[thread.index()].at as usize)
    }

    /// What memory holds there initially; `asked_at` tells apart what may be set up differently.
    fn initial(&mut self, asked_at: u32, at: Location) -> Value {
        if self.is_off {
            return self.program.initial(at);
        }
        if let Some(value) = self.initial.get(&(at, asked_at)) {
            return *value;
        }
        self.run_for_real();
        let value = self.program.initial(at);
        self.initial.insert((at, asked_at), value);
        value
    }

    /// Runs the program to where this execution is.
    fn run_for_real(&mut self) {
        if std::mem::replace(&mut self.is_live, true) {
            return;
        }
        self.walks = 0;
        self.program.start();
        self.reset();
        let given = std::mem::take(&mut self.given);
        let mut begin = 0;
        for Given { thread, reply, clock } in &given {
            if self.program.wants_clocks() {
                self.program.set_clock(*thread, &self.clocks[begin..*clock as usize]);
            }
            begin = *clock as usize;
            self.resume_live(*thread, *reply);
            if self.program.is_abandoned() || self.diverged.is_some() {
                break;
            }
        }
        self.given = given;
    }

    /// The way that a thread takes with this reply.
    fn way(&self, thread: ThreadId, reply: Reply) -> Way {
        let Thread { at, has_begun, .. } = self.threads[thread.index()];
        let Reply { value, success } = reply;
        let begins = (!has_begun).then_some(thread);
        let joined = match self.places.get(at as usize).filter(|_| has_begun) {
            Some(Asked { op: Op::Join(other), .. }) => self.threads[other.index()].at,
            _ => NONE,
        };
        Way { from: at, value, success, begins, joined }
    }

    /// A thread that exists from now on is created here.
    fn note_creation(&mut self, thread: ThreadId, reply: Reply) {
        let Thread { at, has_begun, .. } = self.threads[thread.index()];
        if has_begun && self.places.get(at as usize).is_some_and(|place| place.op == Op::Spawn) {
            let child = reply.value.0 as usize;
            if self.threads.len() <= child {
                self.threads.resize_with(child + 1, Thread::default);
            }
            self.threads[child].at = at;
        }
    }

    fn resume(&mut self, thread: ThreadId, reply: Reply) -> Op {
        if self.is_off {
            return self.program.resume(thread, reply);
        }
        if !self.is_live {
            let known = self.ways.get(&self.way(thread, reply)).copied();
            if let Some(at) = known {
                self.note_creation(thread, reply);
                let run = &mut self.threads[thread.index()];
                (run.at, run.has_begun) = (at, true);
                self.given.push(Given { thread, reply, clock: self.clocks.len() as u32 });
                return self.places[at as usize].op;
            }
            self.run_for_real();
            if self.program.is_abandoned() || self.diverged.is_some() {
                return Op::Quit;
            }
            if self.program.wants_clocks() {
                let begin = self.given.last().map_or(0, |given| given.clock as usize);
                self.program.set_clock(thread, &self.clocks[begin..]);
            }
        }
        self.given.push(Given { thread, reply, clock: self.clocks.len() as u32 });
        self.resume_live(thread, reply)
    }

    fn resume_live(&mut self, thread: ThreadId, reply: Reply) -> Op {
        let way = self.way(thread, reply);
        let known = self.ways.get(&way).copied();
        self.note_creation(thread, reply);
        let op = self.program.resume(thread, reply);
        if self.program.is_abandoned() {
            return op;
        }
        let may_read = !matches!(op, Op::Access(Access::Store { .. } | Access::Fence { .. }));
        let raw = if may_read { self.program.digest(thread) } else { None };
        if let Some(at) = known {
            let Asked { op: before, digest, .. } = &self.places[at as usize];
            if *before != op {
                self.diverged = Some(thread);
            }
            let run = &mut self.threads[thread.index()];
            (run.at, run.has_begun) = (at, true);
            run.digests.extend(raw.zip(*digest));
            return op;
        }
        let label = self.program.label(thread);
        let at = self.places.len() as u32;
        let run = &mut self.threads[thread.index()];
        let digest = raw.map(|raw| {
            let same = run.digests.iter().find(|(other, _)| *other == raw).map(|(_, stands)| *stands);
            let stands = same.unwrap_or_else(|| (u64::from(at) + 1).wrapping_mul(FACTOR));
            run.digests.push((raw, stands));
            stands
        });
        (run.at, run.has_begun) = (at, true);
        self.places.push(Asked { op, label, digest });
        self.ways.insert(way, at);
        op
    }
}

impl<T: Threads> Threads for Memoised<T> {
    fn start(&mut self) -> u32 {
        self.inner.get_mut().start()
    }

    fn resume(&mut self, thread: ThreadId, reply: Reply) -> Op {
        self.inner.get_mut().resume(thread, reply)
    }

    fn initial(&self, at: Location) -> Value {
        self.inner.borrow_mut().initial(NONE, at)
    }

    fn initial_for(&self, thread: ThreadId, at: Location) -> Value {
        let mut inner = self.inner.borrow_mut();
        // What locks and the like begin with is what threads have set them up with.
        let asked_at = match at.as_hidden() {
            Some(_) if !inner.is_off => inner.threads[thread.index()].at,
            _ => NONE,
        };
        inner.initial(asked_at, at)
    }

    fn observed(&self) -> &[Location] {
        &self.observed
    }

    fn label(&self, thread: ThreadId) -> u32 {
        let inner = self.inner.borrow();
        if inner.is_off { inner.program.label(thread) } else { inner.place(thread).map_or(0, |place| place.label) }
    }

    fn describe(&self, label: u32) -> Label {
        self.inner.borrow().program.describe(label)
    }

    fn wants_clocks(&self) -> bool {
        self.inner.borrow().program.wants_clocks()
    }

    fn set_clock(&mut self, thread: ThreadId, clock: &[u32]) {
        let inner = self.inner.get_mut();
        if inner.is_live {
            inner.program.set_clock(thread, clock);
        }
        inner.clocks.extend_from_slice(clock);
    }

    fn is_abandoned(&self) -> bool {
        let inner = self.inner.borrow();
        inner.is_live && inner.program.is_abandoned()
    }

    fn diverged(&self) -> Option<ThreadId> {
        self.inner.borrow().diverged
    }

    fn run_for_real(&mut self) {
        self.inner.get_mut().run_for_real();
    }

    fn position(&self, position: &mut Position) -> bool {
        self.inner.borrow().position(position)
    }

    fn return_to(&mut self, position: &Position) -> bool {
        self.inner.get_mut().return_to(position)
    }

    fn digest(&self, thread: ThreadId) -> Option<u64> {
        let inner = self.inner.borrow();
        if inner.is_off { inner.program.digest(thread) } else { inner.place(thread)?.digest }
    }
}
