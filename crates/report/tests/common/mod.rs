//! What tests of the formats share.

pub mod schema;
