//! Slots of the race detector: an access in 64 bits.

/// How an access is made.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Kind {
    /// Does it write?
    pub write: bool,
    /// Is it atomic?
    pub atomic: bool,
    /// What it is.
    pub what: What,
}

/// What is done to memory. To the detector all but the first are plain reads or writes of it.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum What {
    /// The program reads or writes.
    Access,
    /// A block is freed.
    Free,
    /// A block is allocated.
    Allocation,
    /// A lock or the like is used.
    Use(Object),
    /// It is initialised.
    Initialisation(Object),
    /// It is destroyed.
    Destruction(Object),
}

/// Objects through which threads synchronise.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Object {
    /// `pthread_mutex_t`
    Mutex,
    /// `pthread_rwlock_t`
    ReaderWriterLock,
    /// `pthread_spinlock_t`
    SpinLock,
    /// `pthread_cond_t`
    ConditionVariable,
    /// `sem_t`
    Semaphore,
    /// `pthread_barrier_t`
    Barrier,
}

impl Object {
    /// All of them, by number.
    pub const ALL: [Object; 6] = [
        Object::Mutex,
        Object::ReaderWriterLock,
        Object::SpinLock,
        Object::ConditionVariable,
        Object::Semaphore,
        Object::Barrier,
    ];

    /// In words.
    pub fn name(self) -> &'static str {
        match self {
            Object::Mutex => "mutex",
            Object::ReaderWriterLock => "reader-writer lock",
            Object::SpinLock => "spin lock",
            Object::ConditionVariable => "condition variable",
            Object::Semaphore => "semaphore",
            Object::Barrier => "barrier",
        }
    }
}

impl What {
    /// The lock or the like whose life begins or ends.
    pub fn begins_or_ends(self) -> Option<Object> {
        match self {
            What::Initialisation(object) | What::Destruction(object) => Some(object),
            _ => None,
        }
    }

    /// As it stands above a program point.
    pub fn number(self) -> usize {
        match self {
            What::Access => 0,
            What::Free => 1,
            What::Allocation => 2,
            What::Use(object) => 8 + object as usize,
            What::Initialisation(object) => 16 + object as usize,
            What::Destruction(object) => 24 + object as usize,
        }
    }

    /// The other way.
    pub fn of(number: usize) -> What {
        let object = Object::ALL[(number & 7).min(Object::ALL.len() - 1)];
        match number {
            0 => What::Access,
            1 => What::Free,
            2 => What::Allocation,
            8..16 => What::Use(object),
            16..24 => What::Initialisation(object),
            _ => What::Destruction(object),
        }
    }
}

/// A read.
pub const READ: Kind = Kind { write: false, atomic: false, what: What::Access };
/// A write.
pub const WRITE: Kind = Kind { write: true, atomic: false, what: What::Access };
/// A block is freed.
pub const FREE: Kind = Kind { write: true, atomic: false, what: What::Free };
/// A block is allocated.
pub const ALLOCATION: Kind = Kind { write: true, atomic: false, what: What::Allocation };

/// An access: from the lowest bit, the thread's time (30 bits), the bytes (8), how (4), the thread's seat (12), the
/// execution (10).
pub type Slot = u64;

/// The time.
pub const TIME: u64 = (1 << 30) - 1;
/// Where the bytes begin.
pub const BYTES_SHIFT: u32 = 30;
/// The bytes.
pub const BYTES: u64 = 0xff << BYTES_SHIFT;
/// It wrote.
pub const WROTE: u64 = 1 << 38;
/// It was atomic.
pub const ATOMIC: u64 = 1 << 39;
/// Some of the eight bytes were accessed atomically in this execution. Handed on from slot to slot.
pub const TOUCHED: u64 = 1 << 40;
/// Not memory of the program's: a block that was freed, or what lies around a block. Whoever comes here is wrong,
/// ordered or not.
pub const FREED: u64 = 1 << 41;
/// Where the seat begins.
pub const SEAT_SHIFT: u32 = 42;
/// So many seats there are.
pub const SEATS: u32 = 1 << 12;
/// Where the execution begins.
pub const EXECUTION_SHIFT: u32 = 54;
/// So many executions are told apart.
pub const EXECUTIONS: u64 = 0x3ff;

/// A program point has so many bits; above it stands what was done there, if it was no access.
pub const PLACE_BITS: u32 = 56;

/// How the access was made, of which this is the slot and the program point.
pub fn kind_of(slot: Slot, place: usize) -> Kind {
    Kind { write: slot & WROTE != 0, atomic: slot & ATOMIC != 0, what: What::of(place >> PLACE_BITS) }
}

/// The thread's time.
pub fn time_of(slot: Slot) -> u32 {
    (slot & TIME) as u32
}

/// The thread's seat.
pub fn seat_of(slot: Slot) -> u32 {
    (slot >> SEAT_SHIFT) as u32 & (SEATS - 1)
}

/// The slot of an access by whom `who` names, within eight aligned bytes.
#[inline(always)]
pub fn slot(who: u64, address: usize, size: usize, kind: Kind) -> Slot {
    let bytes = (((1u64 << size) - 1) << (address & 7) & 0xff) << BYTES_SHIFT;
    // An atomic access is the event that was just performed, a plain one comes before the next.
    let who = who - kind.atomic as u64;
    who | bytes | if kind.atomic { ATOMIC } else { 0 } | if kind.write { WROTE } else { 0 }
}

/// Does a slot cover an access that is made now: the same one, or a stronger one by the same thread at the same time?
#[inline(always)]
pub fn covers(old: Slot, new: Slot, kind: Kind) -> bool {
    // A write covers a read: what the read races with, the write does.
    let ignored = TOUCHED | if kind.write { 0 } else { WROTE };
    (old ^ new) & !ignored == 0
}

#[cfg(test)]
mod tests {
    use super::*;

    fn kinds() -> impl Iterator<Item = Kind> {
        let whats = [What::Access, What::Free, What::Allocation]
            .into_iter()
            .chain(Object::ALL.into_iter().flat_map(|o| [What::Use(o), What::Initialisation(o), What::Destruction(o)]));
        whats.flat_map(|what| {
            [(false, false), (true, false), (false, true), (true, true)].map(|(write, atomic)| Kind {
                write,
                atomic,
                what,
            })
        })
    }

    const WHO: u64 = 5 << EXECUTION_SHIFT | 4_095 << SEAT_SHIFT | 77;

    #[test]
    fn what_goes_into_a_slot_comes_out_of_it() {
        for kind in kinds() {
            let one = slot(WHO, 0x1004, 2, kind);
            let place = 0x1234 | kind.what.number() << PLACE_BITS;
            assert_eq!(kind_of(one, place), kind);
            assert_eq!(seat_of(one), 4_095);
            assert_eq!(time_of(one), 77 - u32::from(kind.atomic));
            assert_eq!((one & BYTES) >> BYTES_SHIFT, 0b0011_0000);
        }
    }

    #[test]
    fn fields_do_not_overlap() {
        let seats = u64::from(SEATS - 1) << SEAT_SHIFT;
        let all = [TIME, BYTES, WROTE, ATOMIC, TOUCHED, FREED, seats, EXECUTIONS << EXECUTION_SHIFT];
        // Each bit belongs to one of them.
        assert_eq!(all.iter().map(|field| field.count_ones()).sum::<u32>(), 64);
        assert_eq!(all.iter().fold(0, |sum, field| sum | field), u64::MAX);
    }

    #[test]
    fn a_write_covers_a_read_and_not_the_other_way_round() {
        let (read, write) = (slot(WHO, 0x1000, 8, READ), slot(WHO, 0x1000, 8, WRITE));
        assert!(covers(write, read, READ) && covers(read, read, READ));
        assert!(!covers(read, write, WRITE));
        // Other bytes, another time: another access.
        assert!(!covers(write, slot(WHO, 0x1000, 4, READ), READ));
        assert!(!covers(write, slot(WHO + 1, 0x1000, 8, READ), READ));
        // That some byte was accessed atomically before says nothing about this access.
        assert!(covers(write | TOUCHED, read, READ));
    }
}
