//! Small executions for tests.

use crate::profile::{Item, Kind, Profile};
use fencepost_trace::{Hidden, Location, Size, Value};

fn item(class: u32, kind: Kind, at: Location) -> Item {
    Item {
        class,
        site: class,
        kind,
        at,
        read: Value::ZERO,
        written: Value(class as u128),
        from: None,
        time: 0,
        visible: 0,
    }
}

fn place(x: u64) -> Location {
    Location::new(0x1000 + 16 * x, Size::B4)
}

pub fn read(class: u32, x: u64) -> Item {
    item(class, Kind { reads: true, ..Kind::default() }, place(x))
}

pub fn write(class: u32, x: u64) -> Item {
    item(class, Kind { writes: true, ..Kind::default() }, place(x))
}

pub fn rmw(class: u32, x: u64) -> Item {
    item(class, Kind { reads: true, writes: true, exclusive: true, ..Kind::default() }, place(x))
}

pub fn fence(class: u32) -> Item {
    item(class, Kind { fence: true, seq_cst: true, acquires: true, releases: true, ..Kind::default() }, place(0))
}

pub fn lock(mutex: u64) -> Item {
    let kind = Kind { reads: true, writes: true, exclusive: true, acquires: true, ..Kind::default() };
    item(0, kind, Location::hidden(Hidden::Mutex, mutex))
}

pub fn unlock(mutex: u64) -> Item {
    item(0, Kind { writes: true, releases: true, ..Kind::default() }, Location::hidden(Hidden::Mutex, mutex))
}

/// An execution in which the threads take turns, one after the other.
pub fn profile(threads: &[&[Item]]) -> Profile {
    let mut threads: Vec<Vec<Item>> = threads.iter().map(|thread| thread.to_vec()).collect();
    let mut time = 0;
    for thread in &mut threads {
        for item in thread {
            time += 1;
            (item.time, item.visible) = (time, time);
        }
    }
    let mut profile = Profile { threads };
    read_newest(&mut profile);
    profile
}

/// Lets every read read the newest store of its location in the order of time.
pub fn read_newest(profile: &mut Profile) {
    let order = profile.in_order();
    for (k, position) in order.iter().enumerate() {
        let item = *profile.item(*position);
        if item.kind.reads {
            let store = order[..k].iter().rev().find(|p| {
                let other = profile.item(**p);
                other.kind.writes && other.at == item.at
            });
            let value = store.map_or(Value::ZERO, |p| profile.item(*p).written);
            let item = &mut profile.threads[position.0 as usize][position.1 as usize];
            (item.from, item.read) = (store.copied(), value);
        }
    }
}
