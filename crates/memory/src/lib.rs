//! The memory models of Fencepost: SC, TSO, PSO, PSLO and C/C++20, as machines and as axioms.
