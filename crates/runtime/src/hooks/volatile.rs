//! Volatile accesses, as the instrumentation announces them: see [`volatile`](crate::drive::volatile).

use super::{access, hook};
use crate::detect::shadow::{Kind, READ, WRITE};
use crate::drive::{explored, volatile};
use crate::platform::global::{self, mode};
use fencepost_trace::{Location, Size};

/// Finishes what the running thread has begun where no hook has been entered: in an exploration, in which nobody is
/// suspicious, and where a thread or the program ends without one.
pub fn finish_first() {
    if volatile::is_unfinished() {
        super::at_work(volatile::settle);
    }
}

fn begin(address: usize, size: usize, kind: Kind, pc: usize) {
    let size = Size::try_from(size as u8).unwrap_or(Size::B1);
    super::at_work(|| volatile::begin(Location::new(address as u64, size), kind, pc));
    if volatile::is_unfinished() {
        global::suspect();
    }
}

fn announced<const SIZE: usize>(address: usize, kind: Kind) {
    let pc = global::caller();
    let atomic = global::active()
        && (global::kind() == mode::LANGUAGE || explored::is_language())
        && !volatile::are_plain()
        && address.is_multiple_of(SIZE);
    if atomic { begin(address, SIZE, kind, pc) } else { access::announced::<SIZE>(address, kind, pc) }
}

macro_rules! volatiles {
    ($($name:ident: $size:literal $kind:ident;)*) => { $(
        hook! { fn $name(address: usize) {
            announced::<$size>(address, $kind)
        } }
    )* };
}

volatiles! {
    __tsan_volatile_read1: 1 READ;
    __tsan_volatile_read2: 2 READ;
    __tsan_volatile_read4: 4 READ;
    __tsan_volatile_read8: 8 READ;
    __tsan_volatile_read16: 16 READ;
    __tsan_volatile_write1: 1 WRITE;
    __tsan_volatile_write2: 2 WRITE;
    __tsan_volatile_write4: 4 WRITE;
    __tsan_volatile_write8: 8 WRITE;
    __tsan_volatile_write16: 16 WRITE;
    __tsan_unaligned_volatile_read2: 2 READ;
    __tsan_unaligned_volatile_read4: 4 READ;
    __tsan_unaligned_volatile_read8: 8 READ;
    __tsan_unaligned_volatile_read16: 16 READ;
    __tsan_unaligned_volatile_write2: 2 WRITE;
    __tsan_unaligned_volatile_write4: 4 WRITE;
    __tsan_unaligned_volatile_write8: 8 WRITE;
    __tsan_unaligned_volatile_write16: 16 WRITE;
}
