//! Answers drawn at random, in one of several ways.
//!
//! Two things are drawn: who goes next ([`Scheduler`]), and what a load reads. A strategy is a seed and a
//! [`Sampling`], and nothing else: what earlier executions have shown may decide the sampling of the next, never a
//! choice inside it, so that the two give the same execution whenever they are given again.
//!
//! *Loads.* A load that may read several stores takes any of them with the same probability, or, with the probability
//! of the execution's mood, an old one, or the newest. Moods differ between executions because bugs often need
//! several loads to read old values, or none.
//!
//! *Stretches.* A long execution should not be all of one kind, nor a thread stay behind for good: after a stretch of
//! steps the mood and the priorities of pct are drawn anew. How long a stretch is differs between executions too,
//! because other bugs need that somebody is kept back for long.
//!
//! *Beginnings.* Threads that are created one after the other start together in every third execution: otherwise the
//! first would be ahead more often than not. (Not with the `random` scheduler, which is to be C11Tester's.)
//!
//! *Time.* A timeout may fire and a sleep may end before others have done anything, since a machine may stop them for
//! as long as it likes. In every fourth execution that happens, a few times at most ([`Haste`]): a program whose
//! timeouts are there for the worst case should mostly be seen without it.
//!
//! *Waiting.* A thread that goes around a loop until another has done something must not keep that other from doing
//! it. One that comes back to where it was without having written anything new is taken to wait ([`Round`]): it goes
//! behind all others, and soon reads what is newest. So priorities starve nobody.

use super::{Actor, Pending, Random, Strategy, What};
use fencepost_memory::Source;
use fencepost_trace::{
    Access, Coverage, EventId, Hidden, Model, Pair, Sampling, Scheduler, StoreOrder, ThreadId, execution_seed, scramble,
};

/// A thread that has come back so often waits, to the schedulers with priorities.
const ROUNDS: u32 = 3;
/// Of four executions under pct one has stubborn threads: they go on until they have come back so often, and give way
/// as rarely. That is how a thread which looks a few times and then sleeps gets to sleep before another wakes it.
const STUBBORN: u64 = 4;
const STUBBORN_ROUNDS: u32 = 64;
/// And so often, to its loads.
const PATIENCE: u32 = 8;
/// After so many loads with a choice a thread reads what is newest every other time: the longer an execution is, the
/// more old stores there are, and somebody has to get on.
const LONG: u32 = 64;
/// The shortest stretch, in steps; there are seven others, each twice as long as the one before.
const STRETCH: u64 = 64;
/// A thread that is preferred for so many steps in a row goes behind the others, whatever it does.
const MOST_IN_A_ROW: u32 = 1_000;

// Priorities, from the lowest: threads that wait, from `WAITING` down; threads that pct has moved back; buffers that
// keep their stores; everybody else.
const WAITING: u64 = 1 << 40;
const MOVED_BACK: u64 = 1 << 41;
const KEPT: u64 = 1 << 42;
const USUAL: u64 = 1 << 43;
/// Within a band, a random number of so many bits decides.
const BAND: u64 = (1 << 40) - 1;

/// Of so many executions one is in haste.
const HASTY: u64 = 4;

/// How time passes while somebody could go on.
#[derive(Clone, Copy, Debug, Default)]
struct Haste {
    /// So often at most.
    left: u32,
    /// At one of two to this power occasions.
    shift: u32,
}

impl Haste {
    /// It follows from bits that decide nothing else, so that an execution in which nobody waits for a time is the
    /// same with it as without.
    fn of(bits: u64) -> Haste {
        if !bits.is_multiple_of(HASTY) {
            return Haste::default();
        }
        // How many occasions there are nobody knows: any order of magnitude is as likely as any other.
        Haste { left: 1 + (bits >> 8 & 3) as u32, shift: 1 + 2 * (bits >> 16 & 3) as u32 }
    }
}

/// What loads like to read in this execution.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Mood {
    /// An old store in so many of 100 reads, otherwise any.
    Old(u32),
    /// The newest store in so many of 100 reads, otherwise any.
    New(u32),
}

/// Where a thread has been since it last did something new: program points with locations.
#[derive(Clone, Copy, Debug, Default)]
struct Round {
    places: [u64; 16],
    /// Where the next one goes.
    next: u8,
    /// How often in a row it has come back to one of them.
    returns: u32,
}

impl Round {
    /// The thread is about to take a step here.
    #[inline]
    fn visit(&mut self, place: u64, writes: bool) {
        if self.places.contains(&place) {
            self.returns += 1;
            return;
        }
        if writes {
            *self = Round::default();
        }
        self.returns = 0;
        self.places[usize::from(self.next)] = place;
        self.next = (self.next + 1) % 16;
    }
}

/// What is known of a thread.
#[derive(Clone, Copy, Debug, Default)]
struct Slot {
    /// Of the thread (pct) or of its next operation (pos); 0 if it has none yet.
    priority: u64,
    /// pos and meet: where its next operation is, and whether it writes.
    at: u64,
    writes: bool,
    /// meet: is that known?
    asked: bool,
    round: Round,
    /// How many of its loads had a choice.
    loads: u32,
}

/// Answers from a seed, as a [`Sampling`] says.
#[derive(Clone, Debug)]
pub struct Sampler<'a> {
    random: Random,
    seed: u64,
    scheduler: Scheduler,
    mood: Mood,
    /// Do threads that are created one after the other start together?
    together: bool,
    /// In how many of 100 choices something old is preferred, if that was said.
    stale: Option<u32>,
    /// How long a stretch is, in steps, and the step that begins the next one.
    stretch: u64,
    next_stretch: u64,
    goal: Option<Pair>,
    coverage: Option<&'a Coverage>,
    model: Model,
    slots: Vec<Slot>,
    /// pct: the steps at which priorities change, in falling order.
    changes: Vec<u64>,
    step: u64,
    /// The priority of the thread that was last found waiting.
    lowest: u64,
    /// Who went last, and how often in a row.
    last: ThreadId,
    in_a_row: u32,
    /// Was the last step a store that others need not be asked after?
    storing: bool,
    /// Do threads that seem to wait go on for long?
    stubborn: bool,
    haste: Haste,
    /// pos: how often a location was written, folded: commits there draw again.
    salts: [u32; 16],
}

impl<'a> Sampler<'a> {
    /// For an execution under `model`. Pairs of stores and loads are noted in `coverage`.
    pub fn new(model: Model, seed: u64, sampling: &Sampling, coverage: Option<&'a Coverage>) -> Self {
        let mut sampler = Sampler {
            random: Random::new(seed),
            seed: 0,
            scheduler: Scheduler::Random,
            mood: Mood::Old(0),
            together: false,
            stale: None,
            stretch: 0,
            next_stretch: 0,
            goal: None,
            coverage,
            model,
            slots: Vec::new(),
            changes: Vec::new(),
            step: 0,
            lowest: WAITING,
            last: ThreadId(u32::MAX),
            in_a_row: 0,
            storing: false,
            stubborn: false,
            haste: Haste::default(),
            salts: [0; 16],
        };
        sampler.begin(seed, sampling);
        sampler
    }

    /// The `execution`-th execution of a campaign: what it shall be like follows from its number and from what
    /// `coverage` has seen in its block.
    pub fn plan(campaign: u64, sampling: &Sampling, execution: u64, coverage: &Coverage) -> (u64, Sampling) {
        coverage.begin(execution);
        let mut sampling = sampling.of_execution(execution);
        sampling.length = coverage.length();
        // The others are left to chance alone, so that a goal that cannot be reached costs little.
        if execution % 3 == 2 {
            sampling.goal = coverage.wanted();
        }
        (execution_seed(campaign, execution), sampling)
    }

    /// Starts over for another execution, keeping allocations.
    pub fn begin(&mut self, seed: u64, sampling: &Sampling) {
        self.random = Random::new(seed);
        self.seed = self.random.bits();
        // A mix that nobody has decided is decided here.
        self.scheduler = sampling.of_execution(seed).scheduler;
        self.goal = sampling.goal;
        self.together = self.scheduler != Scheduler::Random && self.random.below(3) == 0;
        self.stale = sampling.stale;
        self.draw_mood();
        self.stretch = STRETCH << self.random.below(8);
        self.next_stretch = self.stretch;
        self.slots.clear();
        self.changes.clear();
        self.step = 0;
        self.lowest = WAITING;
        self.last = ThreadId(u32::MAX);
        self.in_a_row = 0;
        self.storing = false;
        self.stubborn = self.scheduler == Scheduler::Pct && self.seed.is_multiple_of(STUBBORN);
        self.haste = Haste::of(scramble(self.seed ^ seed.rotate_left(32)));
        self.salts = [0; 16];
        if self.scheduler == Scheduler::Pct {
            let length = match sampling.length {
                // Any order of magnitude is as likely as any other.
                0 => 8 << self.random.below(8),
                known => known,
            };
            let points = sampling.depth.clamp(1, Sampling::MOST_DEPTH) - 1;
            self.changes.extend((0..points).map(|_| 1 + self.random.below(length as usize) as u64));
            self.changes.sort_unstable_by(|a, b| b.cmp(a));
        }
    }

    fn draw_mood(&mut self) {
        self.mood = match self.stale {
            Some(percent) => Mood::Old(percent),
            // Which moods, and how often, was decided by measurement: see docs/strategies.md.
            None => match self.random.below(16) {
                0..9 => Mood::Old(0),
                9..15 => Mood::Old(90),
                _ => Mood::New(90),
            },
        };
    }

    #[cold]
    fn begin_stretch(&mut self) {
        self.next_stretch += self.stretch;
        self.draw_mood();
        if self.scheduler == Scheduler::Pct {
            // Who waits goes on waiting.
            for slot in self.slots.iter_mut().filter(|slot| slot.priority >= MOVED_BACK) {
                slot.priority = 0;
            }
        }
    }

    #[inline]
    fn chance(&mut self, percent: u32) -> bool {
        percent > 0 && self.random.below(100) < percent as usize
    }

    #[inline]
    fn slot(&mut self, thread: ThreadId) -> &mut Slot {
        if thread.index() >= self.slots.len() {
            self.slots.resize(thread.index() + 1, Slot::default());
        }
        &mut self.slots[thread.index()]
    }

    /// A thread that is about to create another one, or to start.
    fn start_in(actors: &[Actor], pending: &dyn Fn(&Actor) -> Pending) -> Option<usize> {
        actors.iter().position(|actor| match pending(actor).what {
            What::Access(access) => {
                access.location().and_then(|at| at.as_hidden()).is_some_and(|(kind, _)| kind == Hidden::ThreadStart)
            }
            What::Yield | What::Quit | What::Commit(_) => false,
        })
    }

    fn waits(&mut self, thread: ThreadId) -> bool {
        self.slot(thread).round.returns >= ROUNDS
    }

    /// c11: a thread that has made a relaxed or release store goes on as long as more of them follow. Nobody can tell
    /// the difference, and loads have more to choose from.
    fn next_store(&mut self, actors: &[Actor], pending: &dyn Fn(&Actor) -> Pending) -> Option<usize> {
        if !self.storing {
            return None;
        }
        let same = actors.iter().position(|actor| *actor == Actor::Thread(self.last))?;
        is_quiet_store(&pending(&actors[same]).what).then_some(same)
    }

    fn uniform(&mut self, actors: &[Actor]) -> usize {
        let Mood::Old(percent) = self.mood else { return self.random.below(actors.len()) };
        // Threads come before buffers.
        if matches!(actors.last(), Some(Actor::Buffer(_))) && self.chance(percent) {
            let threads = actors.iter().take_while(|actor| matches!(actor, Actor::Thread(_))).count();
            if threads > 0 {
                let choice = self.random.below(threads);
                if let Actor::Thread(thread) = actors[choice]
                    && !self.waits(thread)
                {
                    return choice;
                }
            }
        }
        self.random.below(actors.len())
    }

    /// The priority of a buffer, which has no slot: it follows from what is to be committed.
    fn buffer_priority(&self, draw: u64) -> u64 {
        let bits = scramble(self.seed ^ draw);
        match self.mood {
            Mood::Old(percent) if bits >> 40 & 0xffff < u64::from(percent) * 0xffff / 100 => KEPT | bits & BAND,
            _ => USUAL | bits & BAND,
        }
    }

    fn by_thread(&mut self, actors: &[Actor], pending: &dyn Fn(&Actor) -> Pending) -> usize {
        let best = self.highest(actors, pending);
        if self.changes.last().is_none_or(|change| *change > self.step) {
            return best;
        }
        self.changes.pop();
        let Actor::Thread(thread) = actors[best] else { return best };
        let priority = MOVED_BACK | self.random.bits() & BAND;
        self.slot(thread).priority = priority;
        self.highest(actors, pending)
    }

    fn highest(&mut self, actors: &[Actor], pending: &dyn Fn(&Actor) -> Pending) -> usize {
        let (mut best, mut most) = (0, 0);
        for (i, actor) in actors.iter().enumerate() {
            let priority = match actor {
                Actor::Thread(thread) => match self.slot(*thread).priority {
                    0 => {
                        let drawn = USUAL | self.random.bits() & BAND;
                        self.slot(*thread).priority = drawn;
                        drawn
                    }
                    known => known,
                },
                Actor::Buffer(commit) => {
                    let at = place_of(&pending(actor).what);
                    self.buffer_priority(scramble(at) ^ u64::from(commit.thread.0))
                }
            };
            if priority > most {
                (best, most) = (i, priority);
            }
        }
        best
    }

    fn by_operation(&mut self, actors: &[Actor], pending: &dyn Fn(&Actor) -> Pending) -> usize {
        let (mut best, mut most) = (0, 0);
        for (i, actor) in actors.iter().enumerate() {
            let priority = match actor {
                Actor::Thread(thread) => {
                    if self.slot(*thread).priority == 0 {
                        let what = pending(actor).what;
                        let drawn = USUAL | self.random.bits() & BAND;
                        let slot = self.slot(*thread);
                        (slot.priority, slot.at, slot.writes) = (drawn, place_of(&what), writes(&what));
                    }
                    self.slots[thread.index()].priority
                }
                Actor::Buffer(commit) => {
                    let salt = self.salts[fold(place_of(&pending(actor).what))];
                    self.buffer_priority(u64::from(commit.store.0) | u64::from(salt) << 32)
                }
            };
            if priority > most {
                (best, most) = (i, priority);
            }
        }
        best
    }

    /// meet: whoever is about to do what conflicts with nothing that others are about to do goes on. Where that is
    /// nobody, chance decides.
    fn by_meeting(&mut self, actors: &[Actor], pending: &dyn Fn(&Actor) -> Pending) -> usize {
        // Threads come before buffers.
        let threads = actors.iter().take_while(|actor| matches!(actor, Actor::Thread(_))).count();
        let mut ready = 0;
        for actor in &actors[..threads] {
            let Actor::Thread(thread) = actor else { break };
            let slot = self.slot(*thread);
            if !slot.asked {
                let what = pending(actor).what;
                (slot.at, slot.writes, slot.asked) = (place_of(&what), writes(&what), true);
            }
            ready += usize::from(slot.priority == 0);
        }
        let first = if ready > 0 { self.random.below(threads) } else { 0 };
        let keeps = match self.mood {
            Mood::Old(percent) => ready > 0 && self.chance(percent),
            Mood::New(_) => false,
        };
        let buffers = if keeps { 0 } else { actors.len() - threads };
        let nth = self.random.below((ready + buffers).max(1));
        let slot = |i: usize| match actors[i] {
            Actor::Thread(thread) => &self.slots[thread.index()],
            Actor::Buffer(_) => unreachable!("internal error: threads come before buffers"),
        };
        let is_ready = |i: &usize| slot(*i).priority == 0;
        let meets = |i: usize| {
            let a = slot(i);
            let mut others = (0..threads).filter(|j| *j != i).filter(is_ready).map(slot);
            // What others have stored and nobody has seen yet is still to happen.
            let mut commits = actors[threads..].iter().filter(|actor| match actor {
                Actor::Buffer(commit) => Actor::Thread(commit.thread) != actors[i],
                Actor::Thread(_) => false,
            });
            a.at != 0
                && (others.any(|b| a.at == b.at && (a.writes || b.writes))
                    || commits.any(|commit| a.at == place_of(&pending(commit).what)))
        };
        if let Some(free) = (0..threads).map(|i| (first + i) % threads).filter(is_ready).find(|i| !meets(*i)) {
            return free;
        }
        let chosen = (0..threads).filter(is_ready).chain(threads..threads + buffers).nth(nth);
        // All wait: the one that was last put behind the others comes last.
        chosen.unwrap_or_else(|| (0..threads).max_by_key(|i| slot(*i).priority).unwrap_or(0))
    }

    /// pos: whoever is about to do something that conflicts with what is done now draws again.
    fn conflict(&mut self, at: u64, write: bool) {
        if at == 0 {
            return;
        }
        if write {
            self.salts[fold(at)] += 1;
        }
        for slot in &mut self.slots {
            if slot.priority >= USUAL && slot.at == at && (write || slot.writes) {
                slot.priority = USUAL | self.random.bits() & BAND;
            }
        }
    }

    /// The thread goes: keeps track of it.
    fn goes(&mut self, thread: ThreadId, next: &Pending) {
        let at = place_of(&next.what);
        let write = writes(&next.what);
        self.in_a_row = if thread == self.last { self.in_a_row + 1 } else { 0 };
        self.last = thread;
        self.storing = self.model == Model::C11 && is_quiet_store(&next.what);
        let tired = self.in_a_row >= MOST_IN_A_ROW;
        let gives_way = matches!(next.what, What::Yield);
        let slot = self.slot(thread);
        if at != 0 {
            slot.round.visit(scramble(at) ^ u64::from(next.label), write);
        }
        slot.asked = false;
        let returns = slot.round.returns;
        let behind = tired || if self.stubborn { returns >= STUBBORN_ROUNDS } else { gives_way || returns >= ROUNDS };
        match self.scheduler {
            Scheduler::Pos => {
                // Its next operation draws anew.
                self.slots[thread.index()].priority = 0;
                self.conflict(at, write);
            }
            Scheduler::Meet => self.slots[thread.index()].priority = 0,
            Scheduler::Mix | Scheduler::Random | Scheduler::Pct => {}
        }
        if behind {
            self.lowest -= 1;
            self.in_a_row = 0;
            let lowest = self.lowest;
            let slot = self.slot(thread);
            (slot.priority, slot.at) = (lowest, 0);
        }
    }
}

impl Strategy for Sampler<'_> {
    #[inline]
    fn actor(&mut self, actors: &[Actor], pending: &dyn Fn(&Actor) -> Pending) -> Option<usize> {
        self.step += 1;
        if self.step == self.next_stretch {
            self.begin_stretch();
        }
        let start = if self.together && actors.len() > 1 { Self::start_in(actors, pending) } else { None };
        let choice = match self.scheduler {
            _ if actors.len() == 1 => 0,
            _ if start.is_some() => start.unwrap_or(0),
            Scheduler::Meet => self.by_meeting(actors, pending),
            Scheduler::Pct => self.by_thread(actors, pending),
            Scheduler::Pos => self.by_operation(actors, pending),
            Scheduler::Random | Scheduler::Mix => match self.next_store(actors, pending) {
                Some(same) => same,
                None => self.uniform(actors),
            },
        };
        match actors[choice] {
            Actor::Thread(thread) => {
                let next = pending(&actors[choice]);
                self.goes(thread, &next);
            }
            Actor::Buffer(_) => {
                self.storing = false;
                if self.scheduler == Scheduler::Pos {
                    self.conflict(place_of(&pending(&actors[choice]).what), true);
                }
            }
        }
        Some(choice)
    }

    fn actor_or_time(&mut self, actors: &[Actor], pending: &dyn Fn(&Actor) -> Pending) -> Option<usize> {
        if self.haste.left > 0 && self.random.bits() >> (64 - self.haste.shift) == 0 {
            self.haste.left -= 1;
            return Some(actors.len());
        }
        self.actor(actors, pending)
    }

    fn source(&mut self, _: ThreadId, sources: &[Source]) -> usize {
        self.random.below(sources.len())
    }

    fn source_of(
        &mut self,
        thread: ThreadId,
        access: &Access,
        label: u32,
        sources: &[Source],
        origin: &dyn Fn(EventId) -> (ThreadId, u32),
    ) -> usize {
        let pair = |source: &Source| {
            let (writer, store) = origin(source.event);
            Pair { store, load: label, own: writer == thread }
        };
        if let Some(coverage) = self.coverage {
            sources.iter().for_each(|source| coverage.offered(pair(source)));
        }
        if let Some(goal) = self.goal
            && goal.load == label
            && let Some(wished) = sources.iter().position(|source| pair(source) == goal)
        {
            self.goal = None;
            return wished;
        }
        if !matches!(access, Access::Load { .. }) {
            return self.random.below(sources.len());
        }
        let newest = sources.len() - 1;
        let slot = self.slot(thread);
        slot.loads += 1;
        let (waits, long) = (slot.round.returns >= PATIENCE, slot.loads > LONG);
        if waits && self.random.below(8) != 0 || long && self.random.below(2) != 0 {
            return newest;
        }
        let (old, new) = match self.mood {
            Mood::Old(percent) => (percent, 0),
            Mood::New(percent) => (0, percent),
        };
        if self.chance(old) {
            self.random.below(newest)
        } else if self.chance(new) {
            newest
        } else {
            self.random.below(sources.len())
        }
    }

    fn has_read(&mut self, thread: ThreadId, label: u32, origin: impl FnOnce() -> (ThreadId, u32)) {
        if let Some(coverage) = self.coverage {
            let (writer, store) = origin();
            coverage.seen(Pair { store, load: label, own: writer == thread });
        }
    }

    fn variant(&mut self, _: ThreadId, ways: u32) -> u32 {
        self.random.below(ways as usize) as u32
    }
}

/// The memory that an operation is about; 0 if there is none. Neighbours in a word count as the same.
#[inline]
fn place_of(what: &What) -> u64 {
    match what {
        What::Access(access) => access.location().map_or(0, |at| at.address | 7),
        What::Commit(at) => at.address | 7,
        What::Yield | What::Quit => 0,
    }
}

#[inline]
fn fold(at: u64) -> usize {
    (scramble(at) >> 60) as usize
}

#[inline]
fn writes(what: &What) -> bool {
    matches!(what, What::Access(Access::Store { .. } | Access::Rmw { .. } | Access::CompareExchange { .. }))
}

#[inline]
fn is_quiet_store(what: &What) -> bool {
    matches!(what, What::Access(Access::Store { order: StoreOrder::Relaxed | StoreOrder::Release, .. }))
}
