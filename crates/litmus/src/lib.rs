//! Litmus tests in the C dialect, as programs for the Fencepost engine.
