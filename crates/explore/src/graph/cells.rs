//! Accesses of different sizes to the same bytes.
//!
//! The axioms speak of locations, each read and written as a whole. Programs that access the same bytes with different
//! extents are explored by the following rule, for all models alike:
//!
//! - All bytes that overlapping accesses tie together are one *cell*, up to 16 bytes.
//! - A load of part of a cell reads the whole cell and takes its part. So it never sees bytes of two stores that were
//!   not there together.
//! - A store to part of a cell replaces its part and keeps the rest, in one step. It is tied to the write before it in
//!   coherence order as an RMW is, but it is no barrier.
//!
//! This forbids outcomes that hardware can show, and permits none that is impossible. A thread that stores to one part
//! and then accesses another has both in coherence order, where hardware would let the second pass the first: who
//! explores native programs looks for that, and proves nothing then. That accesses overlap is only known when the
//! second one comes: the exploration then starts over with the wider cell.

use super::error::ExploreError;
use fencepost_memory::graph::{Graph, Node, Place};
use fencepost_trace::{Access, Location, Size, Value};
use rustc_hash::FxHashMap;
use serde::{Deserialize, Serialize};

/// Which bytes belong together, and their places in the graphs of one exploration.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
#[serde(into = "Written", from = "Written")]
pub struct Cells {
    /// Cells wider than a single access's extent.
    merged: Vec<Location>,
    places: FxHashMap<Location, Place>,
    /// By place; graphs know a prefix of these.
    known: Vec<(Location, Value)>,
    /// Set when the cells have to be made wider.
    wider: Option<Vec<Location>>,
}

/// What of them is written down: the rest follows.
#[derive(Serialize, Deserialize)]
struct Written {
    merged: Vec<Location>,
    known: Vec<(Location, Value)>,
}

impl From<Cells> for Written {
    fn from(cells: Cells) -> Written {
        Written { merged: cells.merged, known: cells.known }
    }
}

impl From<Written> for Cells {
    fn from(Written { merged, known }: Written) -> Cells {
        let places = known.iter().enumerate().map(|(i, (cell, _))| (*cell, Place(i as u32))).collect();
        Cells { merged, places, known, wider: None }
    }
}

impl Cells {
    /// Those of one graph: what it has places for belongs together, and what is known to.
    pub fn of(graph: &Graph, known_to_belong: &Cells) -> Cells {
        let places = (0..graph.places() as u32).map(Place);
        let known: Vec<_> = places.map(|p| (graph.location(p), graph.written(p, Node::INIT))).collect();
        let mut merged = known_to_belong.merged.clone();
        merged.extend(known.iter().map(|(cell, _)| *cell));
        Cells::from(Written { merged, known })
    }

    /// Is nothing known yet?
    pub fn is_fresh(&self) -> bool {
        self.merged.is_empty() && self.known.is_empty()
    }

    /// The place of `at`, added to the graph if it is new there. An error if the cells must be wider first: see
    /// [`take_merged`](Self::take_merged).
    #[inline]
    pub fn place(
        &mut self,
        at: Location,
        graph: &mut Graph,
        initial: impl Fn(Location) -> Value,
    ) -> Result<Place, ExploreError> {
        let place = match self.places.get(&at) {
            Some(place) => *place,
            None => self.introduce(at, &initial)?,
        };
        while graph.places() < self.known.len() {
            let (location, value) = self.known[graph.places()];
            graph.add_place(location, value);
        }
        Ok(place)
    }

    fn introduce(&mut self, at: Location, initial: &impl Fn(Location) -> Value) -> Result<Place, ExploreError> {
        let cell = self.merged.iter().copied().find(|cell| cell.covers(at)).unwrap_or(at);
        if let Some(place) = self.places.get(&cell).copied() {
            self.places.insert(at, place);
            return Ok(place);
        }
        if let Some((other, _)) = self.known.iter().find(|(known, _)| known.overlaps(cell)) {
            let wide = hull(*other, cell).ok_or(ExploreError::WideOverlap(at))?;
            let mut merged = self.merged.clone();
            merged.retain(|m| !m.overlaps(wide));
            // The new cell may reach into others that are known.
            let mut cell = wide;
            for (known, _) in &self.known {
                if known.overlaps(cell) {
                    cell = hull(*known, cell).ok_or(ExploreError::WideOverlap(at))?;
                }
            }
            merged.push(cell);
            self.wider = Some(merged);
            return Err(ExploreError::WideOverlap(at));
        }
        let place = Place(self.known.len() as u32);
        self.known.push((cell, initial(cell)));
        self.places.insert(cell, place);
        self.places.insert(at, place);
        Ok(place)
    }

    /// The same, with nothing met yet.
    pub fn unmet(&self) -> Cells {
        Cells { merged: self.merged.clone(), ..Cells::default() }
    }

    /// Forgets everything, keeping allocations.
    pub(super) fn clear(&mut self) {
        self.merged.clear();
        self.places.clear();
        self.known.clear();
        self.wider = None;
    }

    /// The cells to start over with, if that is what has to be done.
    pub fn take_merged(&mut self) -> Option<Cells> {
        self.wider.take().map(|merged| Cells { merged, ..Cells::default() })
    }
}

/// What `access` sees of its cell's value.
#[inline]
pub fn extract(cell: Location, access: &Access, whole: Value) -> Value {
    match access.location() {
        Some(at) if at != cell => at.size.truncate(whole.0 >> (8 * (at.address - cell.address))),
        _ => whole,
    }
}

/// The cell's value after `access` has written `part`.
#[inline]
pub fn weave(cell: Location, access: &Access, whole: Value, part: Value) -> Value {
    match access.location() {
        Some(at) if at != cell => {
            let shift = 8 * (at.address - cell.address);
            let mask = at.size.truncate(u128::MAX).0 << shift;
            Value(whole.0 & !mask | (part.0 << shift) & mask)
        }
        _ => part,
    }
}

/// The smallest extent that holds both: a power of two in size, and aligned to it where that fits.
fn hull(a: Location, b: Location) -> Option<Location> {
    let (start, end) = (a.address.min(b.address), a.end().max(b.end()));
    [Size::B1, Size::B2, Size::B4, Size::B8, Size::B16].into_iter().find_map(|size| {
        let aligned = start & !(size.bytes() - 1);
        let from = if aligned + size.bytes() >= end { aligned } else { start };
        (from + size.bytes() >= end).then(|| Location::new(from, size))
    })
}
