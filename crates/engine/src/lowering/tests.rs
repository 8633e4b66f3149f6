//! The table of the module documentation, row by row.

use super::*;

const ME: ThreadId = ThreadId(2);
const NAME: u64 = 0x40;

/// A thread that the program created, at work on `op`.
fn begun(op: Op, hardware: bool) -> Lowering {
    let mut lowering = Lowering::start(ME, true, hardware);
    lowering.begin(op, || ThreadId(7));
    lowering
}

fn value(n: u128) -> Reply {
    Reply { value: Value(n), success: true }
}

/// The accesses of an operation whose accesses have these results, and what it ends with.
fn accesses(mut lowering: Lowering, results: &[Reply]) -> (Vec<Access>, Stage) {
    let mut accesses = Vec::new();
    for result in results {
        let Stage::Access(access) = lowering.stage() else { panic!("no access: {:?}", lowering.stage()) };
        accesses.push(access);
        lowering.performed(*result);
    }
    (accesses, lowering.stage())
}

/// The only access of an operation, and the thread's reply if the access replies with `result`.
fn single(op: Op, result: Reply) -> (Access, Reply) {
    let (accesses, end) = accesses(begun(op, false), &[result]);
    let Stage::Done(reply) = end else { panic!("not done: {end:?}") };
    (accesses[0], reply)
}

fn sync(sync: Sync) -> Op {
    Op::Sync(sync)
}

#[test]
fn a_thread_first_takes_its_creators_go_ahead_unless_it_was_there_from_the_start() {
    let at = Location::hidden(Hidden::ThreadStart, ME.0.into());
    let (go_ahead, end) = accesses(Lowering::start(ME, true, false), &[value(1)]);
    assert_eq!(go_ahead, [await_load(at, Guard::Equals(ONE))]);
    assert_eq!(end, Stage::Done(Reply::NONE));
    assert_eq!(Lowering::start(ME, false, false).stage(), Stage::Done(Reply::NONE));
}

#[test]
fn an_access_is_itself_and_its_result_is_the_reply() {
    let load = Access::Load {
        at: Location::new(0x100, fencepost_trace::Size::B4),
        order: LoadOrder::Relaxed,
        guard: Guard::Any,
    };
    assert_eq!(single(Op::Access(load), value(5)), (load, value(5)));
}

#[test]
fn a_mutex_is_a_location_that_is_0_if_it_is_free() {
    let at = Location::hidden(Hidden::Mutex, NAME);
    let owner = Value(u128::from(ME.0) + 1);
    let (lock, reply) = single(sync(Sync::Lock { mutex: NAME }), value(0));
    assert_eq!(lock, rmw(at, RmwOrder::Acquire, Update::Exchange(owner), Guard::Equals(Value::ZERO)));
    assert_eq!(reply, Reply::NONE, "what the location held is nobody's business");
    assert_eq!(single(sync(Sync::Unlock { mutex: NAME }), Reply::NONE).0, store(at, StoreOrder::Release, Value::ZERO));
    // An attempt does not wait, and says how it went.
    let failed = Reply { value: Value(9), success: false };
    let (attempt, reply) = single(sync(Sync::TryLock { mutex: NAME }), failed);
    assert_eq!((attempt, reply.success), (try_set(at, owner), false));
    assert_eq!(attempt.guard(), Guard::Any);
}

#[test]
fn readers_of_a_lock_are_counted_and_a_writer_is_a_number_that_no_count_reaches() {
    let at = Location::hidden(Hidden::RwLock, NAME);
    let lock = NAME;
    let (read, _) = single(sync(Sync::ReadLock { lock }), value(3));
    assert_eq!(read, rmw(at, RmwOrder::Acquire, Update::Add(ONE), Guard::Differs(WRITER)));
    let (leave, _) = single(sync(Sync::ReadUnlock { lock }), value(3));
    assert_eq!(leave, rmw(at, RmwOrder::Release, Update::Sub(ONE), Guard::Any));
    let (write, _) = single(sync(Sync::WriteLock { lock }), value(0));
    assert_eq!(write, rmw(at, RmwOrder::Acquire, Update::Exchange(WRITER), Guard::Equals(Value::ZERO)));
    assert_eq!(single(sync(Sync::WriteUnlock { lock }), Reply::NONE).0, store(at, StoreOrder::Release, Value::ZERO));
    assert_eq!(single(sync(Sync::TryWriteLock { lock }), value(0)).0, try_set(at, WRITER));
}

#[test]
fn an_attempt_that_depends_on_the_value_is_made_again_with_what_it_saw() {
    let op = sync(Sync::TryReadLock { lock: NAME });
    let lost = Reply { value: Value(2), success: false };
    // It looks, finds one reader, loses against a second, and tries again with that.
    let (tried, end) = accesses(begun(op, false), &[value(1), lost, value(2)]);
    let wanted = |expected: u128| match tried[expected as usize] {
        Access::CompareExchange { expected, desired, .. } => (expected.0, desired.0),
        other => panic!("{other:?}"),
    };
    assert!(matches!(tried[0], Access::Load { order: LoadOrder::Relaxed, guard: Guard::Any, .. }));
    assert_eq!((wanted(1), wanted(2)), ((1, 2), (2, 3)));
    assert_eq!(end, Stage::Done(Reply::NONE));
    // A writer is there: it has failed without an attempt to write.
    let (_, end) = accesses(begun(op, false), &[Reply { value: WRITER, success: true }]);
    assert_eq!(end, Stage::Done(Reply { value: WRITER, success: false }));
    // Nothing is left of a semaphore.
    let (_, end) = accesses(begun(sync(Sync::TryAcquire { semaphore: NAME }), false), &[value(0)]);
    assert_eq!(end, Stage::Done(Reply { value: Value::ZERO, success: false }));
}

#[test]
fn to_wait_is_to_enqueue_unlock_leave_when_woken_and_lock_again() {
    let (condvar, mutex) = (NAME, NAME + 8);
    let (steps, end) = accesses(begun(sync(Sync::Wait { condvar, mutex }), false), &[Reply::NONE; 4]);
    let lock = begun(sync(Sync::Lock { mutex }), false).stage();
    assert_eq!(steps[0], wake(condvar, Update::Enqueue(ME), Guard::Any));
    assert_eq!(steps[1], unlock(Location::hidden(Hidden::Mutex, mutex)));
    assert_eq!(steps[2], wake(condvar, Update::Dequeue(ME), Guard::Woken(ME)));
    assert_eq!(Stage::Access(steps[3]), lock);
    assert_eq!(end, Stage::Done(Reply::NONE));
    assert_eq!(single(sync(Sync::NotifyOne { condvar }), value(1)).0, wake(condvar, Update::Wake(1), Guard::Any));
    assert_eq!(single(sync(Sync::NotifyAll { condvar }), value(1)).0, wake(condvar, Update::WAKE_ALL, Guard::Any));
}

#[test]
fn a_semaphore_is_taken_from_once_it_is_above_0() {
    let at = Location::hidden(Hidden::Semaphore, NAME);
    let (take, _) = single(sync(Sync::Acquire { semaphore: NAME }), value(1));
    assert_eq!(take, rmw(at, RmwOrder::Acquire, Update::Sub(ONE), Guard::AtLeast(ONE)));
    let (give, _) = single(sync(Sync::Release { semaphore: NAME }), value(1));
    assert_eq!(give, rmw(at, RmwOrder::Release, Update::Add(ONE), Guard::Any));
}

#[test]
fn the_last_at_a_barrier_opens_it_and_the_others_wait_for_that() {
    let op = sync(Sync::BarrierWait { barrier: NAME, parties: 3 });
    let second_step = |arrived: u128| {
        let (steps, end) = accesses(begun(op, false), &[value(arrived), Reply::NONE]);
        assert_eq!(
            steps[0],
            rmw(Location::hidden(Hidden::Barrier, NAME), RmwOrder::AcqRel, Update::Add(ONE), Guard::Any)
        );
        let Stage::Done(Reply { success, .. }) = end else { panic!("{end:?}") };
        (steps[1], success)
    };
    for arrived in [0, 1] {
        let (waits, is_last) = second_step(arrived);
        assert!(matches!(waits, Access::Load { guard: Guard::Arrived(Value(3)), .. }) && !is_last, "{waits:?}");
    }
    let (opens, is_last) = second_step(2);
    assert!(matches!(opens, Access::Rmw { update: Update::Exchange(Value(3)), .. }) && is_last, "{opens:?}");
    // The next generation has a location of its own: who waits there does not read what opened the first.
    let (next, _) = second_step(3);
    assert!(matches!(next, Access::Load { guard: Guard::Arrived(Value(6)), .. }));
    assert_ne!(next.location(), opens.location());
    // A new initialisation counts from 0 again, under a number of its own.
    let (renewed, _) = second_step(1 << 32);
    assert!(matches!(renewed, Access::Load { guard: Guard::Arrived(Value(full)), .. } if full == (1 << 32 | 3)));
}

#[test]
fn an_initialisation_is_run_by_one_and_awaited_by_the_others() {
    let at = Location::hidden(Hidden::Once, NAME);
    let (begin, reply) = single(sync(Sync::OnceBegin { once: NAME }), Reply { value: Value(2), success: false });
    assert_eq!((begin.location(), begin.guard(), reply.success), (Some(at), Guard::Differs(ONE), false));
    assert_eq!(single(sync(Sync::OnceEnd { once: NAME }), Reply::NONE).0, store(at, StoreOrder::Release, Value(2)));
    assert_eq!(single(sync(Sync::OnceAbandon { once: NAME }), Reply::NONE).0, unlock(at));
}

#[test]
fn a_token_is_waited_for_by_its_thread_and_given_by_any() {
    let own = Location::hidden(Hidden::Park, ME.0.into());
    let (park, _) = single(sync(Sync::Park), value(1));
    assert_eq!(park, rmw(own, RmwOrder::Acquire, Update::Exchange(Value::ZERO), Guard::Equals(ONE)));
    let (unpark, _) = single(sync(Sync::Unpark { thread: ME }), value(0));
    assert_eq!(unpark, rmw(own, RmwOrder::Release, Update::Exchange(ONE), Guard::Any));
}

#[test]
fn creating_a_thread_releases_and_drains_hardware_buffers() {
    let child = ThreadId(7);
    for (hardware, order) in [(false, StoreOrder::Release), (true, StoreOrder::SeqCst)] {
        let lowering = begun(Op::Spawn, hardware);
        assert_eq!(lowering.child(), child);
        let (steps, end) = accesses(lowering, &[Reply::NONE]);
        assert_eq!(steps, [store(Location::hidden(Hidden::ThreadStart, 7), order, ONE)]);
        assert_eq!(end, Stage::Done(Reply { value: Value(7), success: true }), "the child's number is the reply");
    }
}

#[test]
fn the_end_of_a_thread_is_an_event_if_somebody_may_join_it() {
    let at = Location::hidden(Hidden::ThreadEnd, ME.0.into());
    let (steps, end) = accesses(begun(Op::Exit, false), &[Reply::NONE]);
    assert_eq!((steps.as_slice(), end), ([store(at, StoreOrder::Release, ONE)].as_slice(), Stage::Exit));
    let mut first = Lowering::start(ThreadId(0), false, false);
    first.begin(Op::Exit, || unreachable!());
    assert_eq!(first.stage(), Stage::Exit);
    assert_eq!(single(Op::Join(ME), value(1)).0, await_load(at, Guard::Equals(ONE)));
}

#[test]
fn what_has_no_access_is_a_step_or_none() {
    for (op, stage) in [(Op::Yield, Stage::Yield), (Op::Quit, Stage::Quit)] {
        let mut lowering = begun(op, false);
        assert_eq!(lowering.stage(), stage);
        lowering.performed(Reply::NONE);
        assert_eq!(lowering.stage(), Stage::Done(Reply::NONE));
    }
    assert_eq!(begun(Op::Fail(Failure::Abort), false).stage(), Stage::Fail(Failure::Abort));
}

#[test]
fn the_next_operation_remembers_nothing_of_the_one_before() {
    let mut lowering = begun(sync(Sync::TryLock { mutex: NAME }), false);
    lowering.performed(Reply { value: Value(3), success: false });
    lowering.begin(Op::Join(ME), || unreachable!());
    assert_eq!(lowering.step(), 0);
    lowering.performed(value(1));
    assert_eq!(lowering.stage(), Stage::Done(Reply::NONE));
}
