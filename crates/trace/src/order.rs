//! Memory orders, one type for each kind of operation, so that illegal combinations cannot be written.
//!
//! `Plain` is an ordinary, non-atomic access: a data race on it is undefined behaviour under C/C++20, and
//! an ordinary hardware access under the other models. `consume` is `Acquire`, as every compiler has it.

use serde::{Deserialize, Serialize};

/// The order of a load.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[allow(missing_docs)]
pub enum LoadOrder {
    Plain,
    Relaxed,
    Acquire,
    SeqCst,
}

/// The order of a store.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[allow(missing_docs)]
pub enum StoreOrder {
    Plain,
    Relaxed,
    Release,
    SeqCst,
}

/// The order of an atomic read-modify-write.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[allow(missing_docs)]
pub enum RmwOrder {
    Relaxed,
    Acquire,
    Release,
    AcqRel,
    SeqCst,
}

/// The order of a fence.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[allow(missing_docs)]
pub enum FenceOrder {
    Acquire,
    Release,
    AcqRel,
    SeqCst,
}

impl LoadOrder {
    /// Acquire or stronger.
    #[inline]
    pub fn acquires(self) -> bool {
        matches!(self, LoadOrder::Acquire | LoadOrder::SeqCst)
    }
}

impl StoreOrder {
    /// Release or stronger.
    #[inline]
    pub fn releases(self) -> bool {
        matches!(self, StoreOrder::Release | StoreOrder::SeqCst)
    }
}

impl RmwOrder {
    /// The order of the reading half.
    #[inline]
    pub fn load(self) -> LoadOrder {
        match self {
            RmwOrder::Relaxed | RmwOrder::Release => LoadOrder::Relaxed,
            RmwOrder::Acquire | RmwOrder::AcqRel => LoadOrder::Acquire,
            RmwOrder::SeqCst => LoadOrder::SeqCst,
        }
    }

    /// The order of the writing half.
    #[inline]
    pub fn store(self) -> StoreOrder {
        match self {
            RmwOrder::Relaxed | RmwOrder::Acquire => StoreOrder::Relaxed,
            RmwOrder::Release | RmwOrder::AcqRel => StoreOrder::Release,
            RmwOrder::SeqCst => StoreOrder::SeqCst,
        }
    }
}

impl FenceOrder {
    /// Acquire or stronger.
    #[inline]
    pub fn acquires(self) -> bool {
        self != FenceOrder::Release
    }

    /// Release or stronger.
    #[inline]
    pub fn releases(self) -> bool {
        self != FenceOrder::Acquire
    }
}
