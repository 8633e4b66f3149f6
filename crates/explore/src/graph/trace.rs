//! Graphs as traces, and as steps to replay.
