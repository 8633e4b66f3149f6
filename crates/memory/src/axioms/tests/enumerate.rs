//! All candidate executions of a litmus program, by brute force.
//!
//! First every choice of rf: a read may read any instruction that can write its location, and the candidate is
//! dropped if the threads cannot run to their ends with it (the source does not run, or
//! only after the read: no model here has cycles of po ∪ rf). Then every choice of mo: all orders of all
//! stores. What is left over is for the axioms to judge.

use super::program::{Instr, Name, Program};
use crate::axioms::{self, Execution};
use fencepost_trace::{
    Coherence, Event, EventId, EventKind, Location, Model, Outcome, Size, ThreadId, Trace, Update, Value,
};
use std::collections::{BTreeMap, BTreeSet};

/// An instruction: its thread, and its place there.
type Site = (usize, usize);

/// From which instruction a read reads; `None` for the initial value.
type ReadsFrom = BTreeMap<Site, Option<Site>>;

/// What the axioms of one model leave.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Outcomes {
    /// The values of the asked variables, in order.
    pub states: BTreeSet<Vec<u64>>,
    /// How many executions, up to (rf, mo).
    pub graphs: u64,
    /// Does any of them race?
    pub race: bool,
}

/// What each model allows. `variables` are registers `0:r0` and locations `x`, as in the corpus.
pub fn outcomes(program: &Program, variables: &[Name], models: &[Model]) -> BTreeMap<Model, Outcomes> {
    let mut result: BTreeMap<Model, Outcomes> = models.iter().map(|m| (*m, Outcomes::default())).collect();
    for_each_candidate(program, |run, trace| {
        let execution = Execution::from_trace(trace).unwrap_or_else(|v| panic!("{v} in {trace:#?}"));
        for (model, outcomes) in &mut result {
            if axioms::consistent(&execution, *model).is_ok() {
                outcomes.graphs += 1;
                outcomes.states.insert(variables.iter().map(|v| run.value(program, trace, v)).collect());
                outcomes.race |= *model == Model::C11 && !axioms::c11::races(&execution).is_empty();
            }
        }
    });
    result
}

/// The threads, run to their ends.
pub struct Run {
    events: Vec<Event>,
    registers: Vec<BTreeMap<Name, u64>>,
    /// The stores that ran, by location.
    stores: BTreeMap<Name, Vec<EventId>>,
}

impl Run {
    fn value(&self, program: &Program, trace: &Trace, variable: &str) -> u64 {
        let initially = program.initial.get(variable).copied().unwrap_or(0);
        match variable.split_once(':') {
            Some((thread, register)) => {
                self.registers[thread.parse::<usize>().unwrap()].get(register).copied().unwrap_or(0)
            }
            // Private locations are registers here, of whichever thread has them.
            None if variable.starts_with('e') => {
                self.registers.iter().find_map(|r| r.get(variable)).copied().unwrap_or(initially)
            }
            None => trace.final_value(location(variable), Value::from(initially)).0 as u64,
        }
    }
}

fn location(name: &str) -> Location {
    Location::new(0x1000 + 16 * u64::from(name.as_bytes()[0]), Size::B4)
}

/// Calls `visit` with every candidate.
pub fn for_each_candidate(program: &Program, mut visit: impl FnMut(&Run, &Trace)) {
    choose_rf(program, &mut ReadsFrom::new(), &mut |run| for_each_mo(program, run, &mut visit));
}

fn choose_rf(program: &Program, rf: &mut ReadsFrom, visit: &mut impl FnMut(&Run)) {
    match Runner::new(program, rf).run() {
        Progress::Done(run) => visit(&run),
        Progress::Stuck => {}
        Progress::Undecided(site, at) => {
            let writers = program.threads.iter().enumerate().flat_map(|(t, thread)| {
                let writes = thread.iter().enumerate().filter(|(_, i)| i.writes() == Some(&at));
                writes.map(move |(pc, _)| Some((t, pc)))
            });
            for source in std::iter::once(None).chain(writers).filter(|s| *s != Some(site)) {
                rf.insert(site, source);
                choose_rf(program, rf, visit);
            }
            rf.remove(&site);
        }
    }
}

enum Progress {
    Done(Run),
    /// Some read waits forever.
    Stuck,
    /// This read of this location could go on if its source were chosen.
    Undecided(Site, Name),
}

/// Runs the threads in turns, each until a read whose source has not run yet.
struct Runner<'a> {
    program: &'a Program,
    rf: &'a ReadsFrom,
    run: Run,
    next: Vec<usize>,
    written: BTreeMap<Site, (EventId, u64)>,
}

impl Runner<'_> {
    fn new<'a>(program: &'a Program, rf: &'a ReadsFrom) -> Runner<'a> {
        let threads = program.threads.len();
        let run = Run { events: Vec::new(), registers: vec![BTreeMap::new(); threads], stores: BTreeMap::new() };
        Runner { program, rf, run, next: vec![0; threads], written: BTreeMap::new() }
    }

    fn run(mut self) -> Progress {
        let mut undecided = None;
        loop {
            let mut moved = false;
            for thread in 0..self.next.len() {
                while let Some(instr) = self.program.threads[thread].get(self.next[thread]) {
                    match self.step(thread, instr) {
                        Ok(()) => moved = true,
                        Err(reads) => {
                            let site = (thread, self.next[thread]);
                            if !self.rf.contains_key(&site) {
                                undecided.get_or_insert((site, reads.clone()));
                            }
                            break;
                        }
                    }
                }
            }
            if !moved {
                break;
            }
        }
        match undecided {
            Some((site, at)) => Progress::Undecided(site, at),
            None if (0..self.next.len()).all(|t| self.next[t] == self.program.threads[t].len()) => {
                Progress::Done(self.run)
            }
            None => Progress::Stuck,
        }
    }

    /// One instruction, or the location that it waits to read.
    fn step<'p>(&mut self, thread: usize, instr: &'p Instr) -> Result<(), &'p Name> {
        let pc = self.next[thread];
        let mut next = pc + 1;
        match instr {
            Instr::Set { register, value } => self.set(thread, register, *value),
            Instr::SkipUnless { register, equals, to } => {
                if self.run.registers[thread].get(register).copied().unwrap_or(0) != *equals {
                    next = *to;
                }
            }
            Instr::Fence { order } => {
                self.event(thread, EventKind::Fence { order: *order });
            }
            Instr::Store { at, order, value } => {
                let kind = EventKind::Store { at: location(at), order: *order, value: Value::from(*value) };
                self.store(thread, at, kind, *value);
            }
            Instr::Load { register, at, order } => {
                let (from, value) = self.source(thread, at).ok_or(at)?;
                self.event(
                    thread,
                    EventKind::Load {
                        at: location(at),
                        order: *order,
                        value: Value::from(value),
                        from,
                        parts: Vec::new(),
                        failed_rmw: false,
                    },
                );
                self.set(thread, register, value);
            }
            Instr::Rmw { register, at, order, update } => {
                let (from, value) = self.source(thread, at).ok_or(at)?;
                self.rmw(thread, at, *order, from, value, *update);
                self.set(thread, register, value);
            }
            Instr::CompareExchange { register, at, expected, desired, success, failure } => {
                let (from, value) = self.source(thread, at).ok_or(at)?;
                let initially = self.program.initial.get(expected).copied().unwrap_or(0);
                let wanted = self.run.registers[thread].get(expected).copied().unwrap_or(initially);
                self.set(thread, register, u64::from(value == wanted));
                if value == wanted {
                    self.rmw(thread, at, *success, from, value, Update::Exchange(Value::from(*desired)));
                } else {
                    let value_read = Value::from(value);
                    let (at, order) = (location(at), *failure);
                    let kind =
                        EventKind::Load { at, order, value: value_read, from, parts: Vec::new(), failed_rmw: true };
                    self.event(thread, kind);
                    self.set(thread, expected, value);
                }
            }
        }
        self.next[thread] = next;
        Ok(())
    }

    /// The store that the thread's next instruction reads, and its value, once there.
    fn source(&self, thread: usize, at: &Name) -> Option<(EventId, u64)> {
        match self.rf.get(&(thread, self.next[thread]))? {
            None => Some((EventId::INIT, self.program.initial.get(at).copied().unwrap_or(0))),
            Some(site) => self.written.get(site).copied(),
        }
    }

    fn rmw(
        &mut self,
        thread: usize,
        at: &Name,
        order: fencepost_trace::RmwOrder,
        from: EventId,
        read: u64,
        update: Update,
    ) {
        let read = Value::from(read);
        let written = update.apply(read, Size::B4).expect("plain arithmetic");
        let kind = EventKind::Rmw { at: location(at), order, read, written, from, parts: Vec::new() };
        self.store(thread, at, kind, written.0 as u64);
    }

    fn store(&mut self, thread: usize, at: &Name, kind: EventKind, value: u64) {
        let event = self.event(thread, kind);
        self.written.insert((thread, self.next[thread]), (event, value));
        self.run.stores.entry(at.clone()).or_default().push(event);
    }

    fn event(&mut self, thread: usize, kind: EventKind) -> EventId {
        let id = EventId(self.run.events.len() as u32 + 1);
        let thread = ThreadId(thread as u32);
        self.run.events.push(Event { id, thread, label: 0, kind, clock: Vec::new() });
        id
    }

    fn set(&mut self, thread: usize, register: &Name, value: u64) {
        self.run.registers[thread].insert(register.clone(), value);
    }
}

/// Every order of the stores to every location.
fn for_each_mo(program: &Program, run: &Run, visit: &mut impl FnMut(&Run, &Trace)) {
    let orders: Vec<_> = run.stores.iter().map(|(name, stores)| (location(name), permutations(stores))).collect();
    let mut trace = Trace {
        // Every model is asked about the same trace.
        model: Model::Sc,
        outcome: Outcome::Finished,
        threads: program.threads.len() as u32,
        events: run.events.clone(),
        coherence: Vec::new(),
        labels: Vec::new(),
        choices: Vec::new(),
    };
    choose_mo(&orders, &mut trace, &mut |trace| visit(run, trace));
}

fn choose_mo(orders: &[(Location, Vec<Vec<EventId>>)], trace: &mut Trace, visit: &mut impl FnMut(&Trace)) {
    let Some(((at, permutations), rest)) = orders.split_first() else { return visit(trace) };
    for stores in permutations {
        trace.coherence.push(Coherence { address: at.address, bytes: at.size.bytes(), stores: stores.clone() });
        choose_mo(rest, trace, visit);
        trace.coherence.pop();
    }
}

fn permutations(stores: &[EventId]) -> Vec<Vec<EventId>> {
    if stores.is_empty() {
        return vec![Vec::new()];
    }
    let mut found = Vec::new();
    for (i, first) in stores.iter().enumerate() {
        let mut rest = stores.to_vec();
        rest.remove(i);
        found.extend(permutations(&rest).into_iter().map(|tail| [&[*first][..], &tail].concat()));
    }
    found
}
