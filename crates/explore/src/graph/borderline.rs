//! Borderline executions: does an SC graph have a successor that a weaker model permits and SC does not?
//!
//! The graph is walked in an SC order, and [`Clocks`] keep for each thread what comes before its next event. So each
//! event of the graph, and each access that a thread still waits for at its end, is asked about once: see the
//! documentation of `fencepost_safety`. Asking about the complete graphs of an SC exploration is enough, since every
//! event of every SC execution is in one of them with the same past.
//!
//! Under the hardware models the clocks decide. Under c11 they decide but for the order of seq_cst events: where there
//! are any, the successor is built and asked about as exploration asks about new events.

use super::cells::extract;
use super::event::{ReadEffect, is_forced, is_weaving, read_effect, set_source, store_flags};
use fencepost_engine::{WaitSets, variants};
use fencepost_memory::Checker;
use fencepost_memory::graph::{Flags, Graph, NewNode, Node, NodeData, Place};
use fencepost_safety::{Clocks, Kind};
use fencepost_trace::{Access, Guard, LoadOrder, Model, RmwOrder, StoreOrder, ThreadId, Update, Value};
use rustc_hash::FxHashSet;
use serde::{Deserialize, Serialize};

/// A way out of sequential consistency.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Borderline {
    /// The successor, under the weaker model. Without `event` it is the borderline execution.
    pub successor: Graph,
    /// Its last event; of an RMW, the reading half.
    pub event: Node,
    /// The store that it comes before although SC has it after it.
    pub overtaken: Node,
    /// The event before it in its thread.
    pub after: Node,
}

impl Borderline {
    /// Where it is, by program points: the event's and the overtaken store's.
    pub fn points(&self) -> (u32, u32) {
        (self.successor.node(self.event).label, self.successor.node(self.overtaken).label)
    }
}

/// Looks for borderline executions under one model.
#[derive(Debug)]
pub struct Judge {
    model: Model,
    checker: Checker,
    /// Pairs of program points that have been told.
    known: FxHashSet<(u32, u32)>,
    sets: WaitSets,
    walk: Vec<Node>,
    /// Was there something that cannot be answered?
    unanswered: bool,
    small: Clocks<1>,
    medium: Clocks<4>,
    large: Clocks<32>,
    huge: Clocks<256>,
}

/// Why a graph cannot be judged.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Unjudged {
    /// It is not SC.
    NotSc,
    /// It has more stores than there is room for.
    TooLong,
    /// A store may come before one that others overlap in part: what that would make of theirs is not known.
    Overlapping,
}

impl Judge {
    /// A judge for one model.
    pub fn new(model: Model) -> Judge {
        let models = [model];
        Judge {
            model,
            checker: Checker::new(model),
            known: FxHashSet::default(),
            sets: WaitSets::default(),
            walk: Vec::new(),
            unanswered: false,
            small: Clocks::new(&models, false),
            medium: Clocks::new(&models, false),
            large: Clocks::new(&models, false),
            huge: Clocks::new(&models, false),
        }
    }

    /// The model.
    pub fn model(&self) -> Model {
        self.model
    }

    /// The pairs of program points that have been told, in order.
    pub fn told(&self) -> Vec<(u32, u32)> {
        let mut told: Vec<_> = self.known.iter().copied().collect();
        told.sort_unstable();
        told
    }

    /// These have been told already.
    pub fn knowing(mut self, told: impl IntoIterator<Item = (u32, u32)>) -> Judge {
        self.known.extend(told);
        self
    }

    /// The borderline executions in this graph of an SC exploration, in an SC order of its events. Each pair of program
    /// points, the event's and the overtaken store's, is told once by one judge.
    pub fn judge(&mut self, graph: &Graph) -> Result<Vec<Borderline>, Unjudged> {
        let mut walk = std::mem::take(&mut self.walk);
        let ordered = sc_order(graph, &mut walk);
        let stores = (0..graph.places() as u32).map(|p| graph.writes(Place(p)).len() - 1).sum::<usize>();
        let found = match (ordered, stores) {
            (false, _) => Err(Unjudged::NotSc),
            (_, 0..=64) => self.ride(graph, &walk, |judge| &mut judge.small),
            (_, ..=256) => self.ride(graph, &walk, |judge| &mut judge.medium),
            (_, ..=2048) => self.ride(graph, &walk, |judge| &mut judge.large),
            (_, ..=16384) => self.ride(graph, &walk, |judge| &mut judge.huge),
            _ => Err(Unjudged::TooLong),
        };
        self.walk = walk;
        found
    }

    fn ride<const W: usize>(
        &mut self,
        graph: &Graph,
        walk: &[Node],
        clocks: impl Fn(&mut Judge) -> &mut Clocks<W>,
    ) -> Result<Vec<Borderline>, Unjudged> {
        let mut found = Vec::new();
        self.unanswered = false;
        clocks(self).clear();
        clocks(self).make_room(graph.threads(), graph.places());
        let mut bit = 0;
        for node in walk.iter().copied() {
            let data = graph.node(node);
            let thread = data.thread.index();
            if graph.is_wait(node) {
                // Its thread comes back to the access, or waits forever; in both cases it stands here.
                let place = Place(data.variant);
                if graph.next(node).is_none() {
                    self.ask(graph, node, place, &clocks, &mut found);
                }
                continue;
            }
            if let Access::Fence { order } = data.access {
                clocks(self).fence(thread, order);
                continue;
            }
            let place = data.place;
            if !is_forced(graph.location(place)) {
                self.ask(graph, node, place, &clocks, &mut found);
            }
            let clocks = clocks(self);
            let mut store = |clocks: &mut Clocks<W>, write: Node, kind: Kind| {
                let before = graph.writes(place)[graph.position_of(write) as usize - 1];
                clocks.access(thread, place.index(), kind, Some((bit, write.0, graph.written(place, before))));
                bit += 1;
                bit - 1
            };
            match kind_of(graph, node) {
                Kind::Load { .. } if is_weaving(data.flags) => {
                    // It reads nothing that its thread could see.
                    let write = graph.next(node).expect("what is woven is written next");
                    let bit = store(clocks, write, kind_of(graph, write));
                    clocks.bind_last(place.index(), bit);
                }
                kind @ Kind::Rmw { .. } => {
                    store(clocks, graph.next(node).expect("an RMW writes"), kind);
                }
                kind @ Kind::Store { .. } => {
                    store(clocks, node, kind);
                }
                kind @ Kind::Load { .. } => clocks.access(thread, place.index(), kind, None),
            }
        }
        if self.unanswered && found.is_empty() { Err(Unjudged::Overlapping) } else { Ok(found) }
    }

    /// Can the access of `node` be performed too early?
    fn ask<const W: usize>(
        &mut self,
        graph: &Graph,
        node: Node,
        place: Place,
        clocks: &impl Fn(&mut Judge) -> &mut Clocks<W>,
        found: &mut Vec<Borderline>,
    ) {
        let data = graph.node(node);
        let (thread, access) = (data.thread.index(), data.access);
        let overtaken: Vec<usize> = clocks(self).overtaken(thread, place.index()).collect();
        for bit in overtaken.into_iter().rev() {
            let slot = *clocks(self).slot(bit);
            let passed = graph.node(Node(slot.name));
            let pair = (data.label, passed.label);
            // In one cell, but with no byte in common, they come in no order.
            let apart = passed.access.location().zip(access.location()).is_some_and(|(a, b)| !a.overlaps(b));
            if apart || self.known.contains(&pair) {
                continue;
            }
            let whole = slot.overwritten;
            let part = extract(graph.location(place), &access, whole);
            for variant in 0..ways(&access, part, &self.sets) {
                let Some(kind) = effect_of(graph, place, &access, whole, variant, &mut self.sets) else { continue };
                // A store to part of a cell is bound to the store before it as an RMW is.
                let weaves = matches!(access, Access::Store { at, .. } if at != graph.location(place));
                let mut passes = |kind| clocks(self).can_pass(0, thread, place.index(), kind, bit);
                let bound = weaves.then_some(Kind::Rmw { order: RmwOrder::Relaxed });
                if !passes(kind) || bound.is_some_and(|kind| !passes(kind)) {
                    let part_of_cell = kind.writes() && is_weaving(passed.flags);
                    self.unanswered |= part_of_cell && !clocks(self).keeps_behind(0, thread, kind, bit);
                    continue;
                }
                let borderline = self.successor(graph, node, place, Node(slot.name), kind, variant);
                if self.is_certain(&borderline) {
                    self.known.insert(pair);
                    found.push(borderline);
                    break;
                }
            }
        }
    }

    /// What the clocks leave open under c11: the order of seq_cst events.
    fn is_certain(&mut self, found: &Borderline) -> bool {
        let graph = &found.successor;
        let admitted = self.checker.admits(graph, found.event)
            && graph.next(found.event).is_none_or(|write| self.checker.admits(graph, write));
        debug_assert!(self.model == Model::C11 || admitted, "the clocks of {} and its axioms differ", self.model);
        admitted
    }

    /// What happens before the event under SC, and the event, before `overtaken`.
    fn successor(
        &mut self,
        graph: &Graph,
        node: Node,
        place: Place,
        overtaken: Node,
        kind: Kind,
        variant: u32,
    ) -> Borderline {
        let data = graph.node(node);
        let past = past(graph, graph.previous(node));
        let mut successor = Graph::new();
        let mut names = Vec::new();
        successor.assign_part(graph, |n| past[n.index()], Node::INIT, &mut names);
        let position = graph.node(overtaken).position;
        let source = names[graph.writes(place)[position as usize - 1].index()];
        let NodeData { thread, label, digest, ref access, .. } = *data;
        let weaves = matches!(*access, Access::Store { at, .. } if at != graph.location(place));
        let flags = match kind {
            Kind::Store { order } if !weaves => store_flags(order),
            _ => Flags::READ,
        };
        let event = successor.add(NewNode { thread, flags, place, label, digest, access });
        if let (Kind::Store { .. }, false) = (kind, weaves) {
            let Access::Store { value, .. } = *access else { unreachable!("a store stores") };
            successor.set_value(event, value);
            successor.place_write(event, position);
        } else {
            set_source(&mut successor, event, source, variant, &self.sets);
            let whole = successor.node(event).value;
            let effect = read_effect(graph.location(place), access, whole, variant, &mut self.sets);
            if let ReadEffect::Rmw { order, written, weaves, .. } = effect {
                let flags = store_flags(order).with(Flags::EXCLUSIVE).with(Flags::when(weaves, Flags::WEAVES));
                let write = successor.add(NewNode { thread, flags, place, label, digest: 0, access });
                successor.set_value(write, written);
                successor.place_write(write, position);
            }
        }
        let after = graph.previous(node).map_or(Node::INIT, |p| names[p.index()]);
        Borderline { successor, event, overtaken: names[overtaken.index()], after }
    }
}

/// In how many ways can the access go on? Sets of waiting threads are changed by RMWs alone, which nothing can come
/// between, so that they are not asked about.
fn ways(access: &Access, value: Value, sets: &WaitSets) -> u32 {
    match access {
        Access::Rmw { update: Update::Enqueue(_) | Update::Wake(_) | Update::Dequeue(_), .. } => 0,
        _ if matches!(access.guard(), Guard::Woken(_)) => 0,
        Access::Store { .. } => 1,
        _ => variants(access, value, sets),
    }
}

/// What the access would be if it read `whole`; `None` if it would wait.
fn effect_of(
    graph: &Graph,
    place: Place,
    access: &Access,
    whole: Value,
    variant: u32,
    sets: &mut WaitSets,
) -> Option<Kind> {
    if let Access::Store { order, .. } = *access {
        return Some(Kind::Store { order });
    }
    match read_effect(graph.location(place), access, whole, variant, sets) {
        ReadEffect::Load { order, failed_rmw, .. } => Some(Kind::Load { order, failed_rmw }),
        ReadEffect::Rmw { .. } => Some(Kind::Rmw { order: rmw_order(access) }),
        ReadEffect::Blocked => None,
    }
}

fn rmw_order(access: &Access) -> RmwOrder {
    match *access {
        Access::Rmw { order, .. } => order,
        Access::CompareExchange { success, .. } => success,
        _ => RmwOrder::Relaxed,
    }
}

/// What an event of the graph is. Of an RMW the reading half is asked about.
fn kind_of(graph: &Graph, node: Node) -> Kind {
    let data = graph.node(node);
    match data.access {
        Access::Store { order, .. } if data.flags.has(Flags::READ) => {
            let plain = order == StoreOrder::Plain;
            Kind::load(if plain { LoadOrder::Plain } else { LoadOrder::Relaxed })
        }
        Access::Store { order, .. } => Kind::Store { order },
        _ if data.flags.has(Flags::EXCLUSIVE) => Kind::Rmw { order: rmw_order(&data.access) },
        Access::Load { order, .. } => Kind::load(order),
        Access::CompareExchange { failure, .. } => Kind::Load { order: failure, failed_rmw: true },
        Access::Rmw { order, .. } => Kind::load(order.load()),
        Access::Fence { .. } => unreachable!("nobody asks about fences"),
    }
}

/// The events of the graph in an order of which it is the SC execution: every read reads the last write. The halves of
/// an RMW come together and are one. False if there is no such order.
fn sc_order(graph: &Graph, order: &mut Vec<Node>) -> bool {
    order.clear();
    // For each place: the position of its last write so far, and who still has to read that.
    let places = graph.places();
    let mut now = vec![0_u32; places];
    let mut first = Vec::with_capacity(places);
    let mut total = 0;
    for p in 0..places as u32 {
        first.push(total);
        total += graph.writes(Place(p)).len();
    }
    let mut readers = vec![0_u32; total];
    for (_, data) in graph.nodes().filter(|(_, data)| data.flags.has(Flags::READ)) {
        readers[first[data.place.index()] + graph.node(data.source).position as usize] += 1;
    }
    let mut next = vec![0_usize; graph.threads()];
    let mut placed = 1;
    loop {
        let before = placed;
        for (t, next) in next.iter_mut().enumerate() {
            let events = graph.thread(ThreadId(t as u32));
            while let Some(node) = events.get(*next).copied() {
                let data = graph.node(node);
                let mut taken = 1;
                if !data.flags.has(Flags::FENCE) {
                    let p = data.place.index();
                    let last = &mut readers[first[p] + now[p] as usize];
                    if data.flags.has(Flags::READ) {
                        if graph.position_of(node) != now[p] {
                            break;
                        }
                        let writes = data.flags.has(Flags::EXCLUSIVE) && *next + 1 < events.len();
                        if writes && *last != 1 {
                            break;
                        }
                        *last -= 1;
                        if writes {
                            now[p] += 1;
                            taken = 2;
                        }
                    } else {
                        if data.position != now[p] + 1 || *last != 0 {
                            break;
                        }
                        now[p] += 1;
                    }
                }
                order.push(node);
                *next += taken;
                placed += taken;
            }
        }
        if placed == graph.len() {
            return true;
        }
        if placed == before {
            return false;
        }
    }
}

/// What happens before an event under SC, itself included: (po ∪ rf ∪ mo ∪ rb)*, by event. An RMW is whole.
fn past(graph: &Graph, from: Option<Node>) -> Vec<bool> {
    let mut past = vec![false; graph.len()];
    past[0] = true;
    let mut stack: Vec<Node> = from.into_iter().collect();
    while let Some(node) = stack.pop() {
        if std::mem::replace(&mut past[node.index()], true) {
            continue;
        }
        stack.extend(graph.previous(node));
        let data = graph.node(node);
        if data.flags.has(Flags::FENCE) {
            continue;
        }
        if data.flags.has(Flags::READ) {
            stack.push(data.source);
            if data.flags.has(Flags::EXCLUSIVE) {
                stack.extend(graph.next(node));
            }
        } else {
            let before = graph.writes(data.place)[data.position as usize - 1];
            stack.push(before);
            let readers = graph.reads(data.place).iter().filter(|read| graph.node(**read).source == before);
            stack.extend(readers);
        }
    }
    past
}
