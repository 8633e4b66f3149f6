//! From a model's name to its machine.

/// What a machine may be told before it runs. Each takes what concerns it.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct MachineOptions {
    /// tso, pso: the greatest number of stores in a thread's buffer; no bound if absent.
    pub buffer: Option<u32>,
    /// c11: are stores given back that no thread can read any more ([`C11::pruned`](crate::C11::pruned))?
    pub prune: bool,
    /// c11: after so many events a store is known to everybody ([`C11::with_window`](crate::C11::with_window)).
    pub window: Option<u32>,
}

impl MachineOptions {
    /// With this bound for store buffers, and all else as usual.
    pub fn with_buffer(buffer: Option<u32>) -> MachineOptions {
        MachineOptions { buffer, ..MachineOptions::default() }
    }
}

/// Builds the machine of a model, as [`MachineOptions`] say, and goes on with it: `$machine` has another type for each
/// model, so that what follows is compiled for each of them. There is no other way from a model to its machine.
///
/// ```
/// use fencepost_memory::{Machine, MachineOptions, with_machine};
/// use fencepost_trace::Model;
///
/// fn model_of<M: Machine>(_: &M) -> Model {
///     M::MODEL
/// }
/// for model in Model::ALL {
///     assert_eq!(with_machine!(model, &MachineOptions::default(), machine => model_of(&machine)), model);
/// }
/// ```
#[macro_export]
macro_rules! with_machine {
    ($model:expr, $options:expr, $machine:ident => $act:expr) => {{
        let options: &$crate::MachineOptions = $options;
        match $model {
            $crate::Model::Sc => $crate::with_machine!(@ $crate::Sc, options, $machine => $act),
            $crate::Model::Tso => $crate::with_machine!(@ $crate::Tso, options, $machine => $act),
            $crate::Model::Pso => $crate::with_machine!(@ $crate::Pso, options, $machine => $act),
            $crate::Model::Pslo => $crate::with_machine!(@ $crate::Pslo, options, $machine => $act),
            $crate::Model::C11 => $crate::with_machine!(@ $crate::C11, options, $machine => $act),
        }
    }};
    (@ $type:ty, $options:ident, $machine:ident => $act:expr) => {{
        let $machine = <$type as $crate::Machine>::with_options($options);
        $act
    }};
}
