//! Where each location lives.
//!
//! A plain location that at most one thread accesses, and never by an atomic function, is *private*: nobody can
//! tell it from a register, so it is one. The expected values of compare-exchange tests are free that way.
//! (An atomic access is an event to the hardware models even if nobody else looks: it may be a full barrier.)

use crate::ast::{Symbol, Test, Type};
use crate::code::Cell;
use crate::error::{Pos, Result};
use crate::int::Int;
use fencepost_trace::Location;
use rustc_hash::{FxHashMap, FxHashSet};

/// The address of the first location.
pub(crate) const FIRST_ADDRESS: u64 = 0x1000;
/// The distance between two: more than any type's size, so that no two share a byte or a 16-byte access.
pub(crate) const SPACING: u64 = 16;

/// Who can see a location.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Sharing {
    /// Nobody accesses it.
    Unused,
    /// One thread does, plainly.
    Private(usize),
    Shared,
}

#[derive(Clone, Debug)]
pub(super) struct LocationLayout {
    pub ty: Type,
    pub initial: i64,
    pub sharing: Sharing,
}

/// All locations, in the order in which the file mentions them first.
pub(super) struct Layout {
    pub places: Vec<LocationLayout>,
    index: FxHashMap<Symbol, usize>,
}

impl Layout {
    pub fn new(test: &Test) -> Result<Layout> {
        let mut layout = Layout { places: Vec::new(), index: FxHashMap::default() };
        // A type in the initial state says only how wide a location is: `int x = 0` with `atomic_int* x` is usual.
        let mut declared = FxHashMap::default();
        for init in &test.init {
            if layout.find(init.name).is_some() {
                return Err(init.pos.error(format!("`{}` is initialised twice", test.names.text(init.name))));
            }
            let ty = init.ty.unwrap_or(Type { int: Int::I32, atomic: false });
            layout.add(init.name, ty);
            layout.places.last_mut().expect("just added").initial = init.value;
            if init.ty.is_some() {
                declared.insert(init.name, init.pos);
            }
        }
        layout.add_params(test, &declared)?;
        for place in &mut layout.places {
            place.initial = place.ty.int.wrap(place.initial);
        }
        layout.find_sharing(test);
        Ok(layout)
    }

    fn add_params(&mut self, test: &Test, declared: &FxHashMap<Symbol, Pos>) -> Result<()> {
        let mut typed_by_thread = FxHashSet::default();
        for thread in &test.threads {
            for param in &thread.params {
                let index = self.find(param.name).unwrap_or_else(|| self.add(param.name, param.ty));
                let place = &mut self.places[index];
                let first = typed_by_thread.insert(param.name);
                let agrees = match first {
                    true => !declared.contains_key(&param.name) || place.ty.int == param.ty.int,
                    false => place.ty == param.ty,
                };
                if !agrees {
                    let name = test.names.text(param.name);
                    return Err(param.pos.error(format!(
                        "the type of `{name}` is `{}` here and `{}` before: all must agree",
                        param.ty, place.ty
                    )));
                }
                place.ty = param.ty;
            }
        }
        Ok(())
    }

    fn find_sharing(&mut self, test: &Test) {
        for (number, thread) in test.threads.iter().enumerate() {
            for param in &thread.params {
                let Some(&atomically) = thread.uses.get(&param.name) else { continue };
                let Some(index) = self.find(param.name) else { continue };
                let place = &mut self.places[index];
                place.sharing = match place.sharing {
                    _ if place.ty.atomic || atomically => Sharing::Shared,
                    Sharing::Unused => Sharing::Private(number),
                    Sharing::Private(owner) if owner == number => Sharing::Private(number),
                    _ => Sharing::Shared,
                };
            }
        }
    }

    fn add(&mut self, name: Symbol, ty: Type) -> usize {
        let index = self.places.len();
        self.places.push(LocationLayout { ty, initial: 0, sharing: Sharing::Unused });
        self.index.insert(name, index);
        index
    }

    pub fn find(&self, name: Symbol) -> Option<usize> {
        self.index.get(&name).copied()
    }

    pub fn cells(&self) -> Vec<Cell> {
        let cell = |(i, place): (usize, &LocationLayout)| Cell {
            at: Location::new(FIRST_ADDRESS + SPACING * i as u64, place.ty.int.size()),
            int: place.ty.int,
            initial: place.initial,
        };
        self.places.iter().enumerate().map(cell).collect()
    }
}
