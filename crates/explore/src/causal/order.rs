//! Which of several ways to one state is taken.
//!
//! Where several threads are asked, their reads mostly do not depend on each other after all: each of them may write
//! where the other reads, in some execution, but not in this one. Then every order of their reads leads to the same
//! states. These are met once, but runs of the program are needed to see that nothing is left.
//!
//! Take a state, and the state after it in which thread `t` has read one thing more. Let it be known what `t` does after
//! that read. Let there be threads that were asked, all of them before `t` in the order of their numbers, such that
//! nobody else, and `t` not after that read, may write where these read next, and one of them cannot stay where it is
//! forever. Then whatever goes on from the second state goes on from the first state and a read of one of these threads:
//! take an execution that goes on from the second state, and the first event of these threads in it. It reads what was
//! there in the first state, so that the first state and this event are a state of the execution, too; and it was met,
//! since its thread was asked. So the second state need not be gone on from.
//!
//! The state that stands for it may itself be put off, in favour of another, and so on. That comes to an end: each has
//! as many reads as the one before, one of which belongs to an earlier thread instead of a later one.
//!
//! All this holds as far as is known. If it becomes known that somebody writes where these threads read, the state is
//! taken up again.

use super::knowledge::{History, Knowledge};
use super::task::{Last, Standing};
use fencepost_trace::Location;

/// What the argument rests on: none of these histories is followed by a write to one of these cells.
pub(super) struct Instead {
    pub cells: Vec<Location>,
    pub others: Vec<History>,
}

/// The threads that can be asked instead of going on from the state that `last` has led to.
pub(super) fn instead(knowledge: &Knowledge, last: &Last) -> Option<Instead> {
    let own = last.threads.iter().find(|standing| standing.thread == last.thread)?;
    let after = knowledge.known_after(own.history, last.label)?;
    let earlier = last.threads.iter().filter(|standing| standing.thread < last.thread);
    earlier.filter(|standing| standing.asked.is_some_and(|(_, stays)| !stays)).find_map(|standing| {
        let group = group(knowledge, last, standing)?;
        let cells: Vec<Location> = group.iter().filter_map(|one| Some(one.asked?.0)).collect();
        if cells.iter().any(|cell| knowledge.may_write_since(after, *cell)) {
            return None;
        }
        let is_in = |one: &Standing| group.iter().any(|other| other.thread == one.thread);
        let others = last.threads.iter().filter(|one| !is_in(one) && one.thread != last.thread);
        let others = others.map(|one| one.history).chain([after]).collect();
        Some(Instead { cells, others })
    })
}

/// The smallest group with this thread such that nobody else but the last may write where they read next, if all of
/// them were asked and come before the last.
fn group<'a>(knowledge: &Knowledge, last: &'a Last, first: &'a Standing) -> Option<Vec<&'a Standing>> {
    let mut group = vec![first];
    let mut next = 0;
    while let Some(one) = group.get(next) {
        let (cell, _) = one.asked?;
        next += 1;
        for other in last.threads.iter().filter(|other| other.thread != last.thread) {
            let is_in = group.iter().any(|one| one.thread == other.thread);
            if !is_in && knowledge.may_write(other.history, cell) {
                if other.thread > last.thread {
                    return None;
                }
                group.push(other);
            }
        }
    }
    Some(group)
}
