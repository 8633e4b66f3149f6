//! An operation, as far as schedulers compare it with others.

use crate::strategy::What;
use fencepost_trace::Access;

/// Where an operation is, and whether it writes there.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub(super) struct Operation {
    /// 0 if it is about no memory. Neighbours in a word count as the same place.
    pub place: u64,
    pub writes: bool,
}

impl Operation {
    #[inline]
    pub fn of(what: &What) -> Operation {
        match what {
            What::Access(access) => Operation {
                place: access.location().map_or(0, |at| at.address | 7),
                writes: matches!(access, Access::Store { .. } | Access::Rmw { .. } | Access::CompareExchange { .. }),
            },
            What::Commit(at) => Operation { place: at.address | 7, writes: true },
            What::Yield | What::Quit => Operation::default(),
        }
    }

    /// Would it make a difference which of the two comes first?
    #[inline]
    pub fn conflicts_with(&self, other: &Operation) -> bool {
        self.place != 0 && self.place == other.place && (self.writes || other.writes)
    }
}
