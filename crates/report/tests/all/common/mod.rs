//! What tests of the formats share.

#![allow(dead_code)]

pub mod junit;
pub mod published;
pub mod schema;
