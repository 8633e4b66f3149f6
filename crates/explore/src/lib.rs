//! Campaigns over executions: random, exhaustive, enumerated.
