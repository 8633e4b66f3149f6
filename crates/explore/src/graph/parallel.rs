//! Exploration on several workers.
