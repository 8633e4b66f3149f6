//! Time that passes although somebody could go on.
//!
//! A timeout may fire and a sleep may end before others have done anything, since a machine may stop them for as long
//! as it likes. In every fourth execution that happens, a few times at most: a program whose timeouts are there for
//! the worst case should mostly be seen without it.

use crate::strategy::Random;

/// Of so many executions one is in haste.
const HASTY: u64 = 4;

/// How often, and how soon.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Haste {
    /// So often at most.
    left: u32,
    /// At one of two to this power occasions.
    shift: u32,
}

impl Haste {
    /// It follows from bits that decide nothing else, so that an execution in which nobody waits for a time is the
    /// same with it as without.
    pub fn of(bits: u64) -> Haste {
        if !bits.is_multiple_of(HASTY) {
            return Haste::default();
        }
        // How many occasions there are nobody knows: any order of magnitude is as likely as any other.
        Haste { left: 1 + (bits >> 8 & 3) as u32, shift: 1 + 2 * (bits >> 16 & 3) as u32 }
    }

    /// Does time pass at this occasion?
    pub fn passes(&mut self, random: &mut Random) -> bool {
        let passes = self.left > 0 && random.bits() >> (64 - self.shift) == 0;
        self.left -= u32::from(passes);
        passes
    }
}
