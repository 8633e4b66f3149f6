//! Which cycles are in executions, and which of them do harm: every execution of small tests, looked at.

use fencepost_explore::graph::{Explorer, Flow, Options, Stuck, Visitor, trace_of};
use fencepost_explore::violations::Violations;
use fencepost_litmus::{LitmusProgram, LitmusTest};
use fencepost_memory::axioms::{Execution, consistent};
use fencepost_memory::graph::{Graph, Node};
use fencepost_predict::confirm::Accesses;
use fencepost_predict::private::without_private;
use fencepost_trace::{Cycle, Event, Failure, Label, Model, Outcome, Segment, ThreadId, Trace};

/// Two store-bufferings one after the other, in the same threads.
const TWICE: &str = "C twice
{ [x]=0; [y]=0; [v]=0; [w]=0; }

P0 (atomic_int* x, atomic_int* y, atomic_int* v, atomic_int* w) {
  atomic_store_explicit(x, 1, memory_order_relaxed);
  int r0 = atomic_load_explicit(y, memory_order_relaxed);
  atomic_thread_fence(memory_order_seq_cst);
  atomic_store_explicit(v, 1, memory_order_relaxed);
  int r1 = atomic_load_explicit(w, memory_order_relaxed);
}

P1 (atomic_int* x, atomic_int* y, atomic_int* v, atomic_int* w) {
  atomic_store_explicit(y, 1, memory_order_relaxed);
  int r0 = atomic_load_explicit(x, memory_order_relaxed);
  atomic_thread_fence(memory_order_seq_cst);
  atomic_store_explicit(w, 1, memory_order_relaxed);
  int r1 = atomic_load_explicit(v, memory_order_relaxed);
}

exists (0:r0=0 /\\ 1:r0=0 /\\ 0:r1=0 /\\ 1:r1=0)
";

/// Looks at every execution; it fails if this says so of its final state.
struct Search<F> {
    violations: Violations,
    together: Vec<Vec<usize>>,
    fails: F,
}

impl<F: Fn(&[i64]) -> bool> Search<F> {
    fn look(&mut self, program: &LitmusProgram, graph: &Graph, outcome: Outcome) -> Flow {
        let fails = outcome == Outcome::Finished && (self.fails)(&program.state(|_| fencepost_trace::Value(0)));
        let trace = trace_of(program, graph, Model::Tso, outcome);
        let shown = self.violations.look(&trace, |event: &Event| line(&trace, event), fails);
        self.together.extend(Some(shown.together).filter(|set| !set.is_empty()));
        Flow::Continue(())
    }
}

/// A program point is a line.
fn line(trace: &Trace, event: &Event) -> u32 {
    let Label { line, .. } = trace.labels[event.label as usize];
    line
}

impl<F: Fn(&[i64]) -> bool> Visitor<LitmusProgram> for Search<F> {
    fn execution(&mut self, program: &LitmusProgram, graph: &Graph) -> Flow {
        self.look(program, graph, Outcome::Finished)
    }
    fn stuck(&mut self, program: &LitmusProgram, graph: &Graph, stuck: Stuck) -> Flow {
        self.look(program, graph, stuck.outcome())
    }
    fn failed(&mut self, _: &LitmusProgram, _: &Graph, thread: ThreadId, failure: Failure) -> Flow {
        panic!("{thread} {failure:?}");
    }
    fn race(&mut self, _: &LitmusProgram, _: &Graph, _: Node, _: Node) -> Flow {
        panic!("a race");
    }
}

fn explore<F: Fn(&[i64]) -> bool + Copy>(source: &str, cycles: &[Cycle], rounds: u32, fails: F) -> Search<F> {
    let test = LitmusTest::parse("test", source.as_bytes()).unwrap_or_else(|e| panic!("{e}\n{source}"));
    let options = Options { rounds, ..Options::new(Model::Tso) };
    let begin = || Search { violations: Violations::new(Model::Tso, cycles.to_vec()), together: Vec::new(), fails };
    Explorer::new(test.program(), options).expect("it has axioms").explore(begin).expect("it is deterministic")
}

fn cycle(lines: [u32; 4]) -> Cycle {
    let [a, b, c, d] = lines;
    Cycle { segments: vec![Segment { first: a, second: Some(b) }, Segment { first: c, second: Some(d) }] }
}

/// The two store-bufferings, and one that the fences between them forbid.
fn cycles() -> [Cycle; 3] {
    [cycle([5, 6, 13, 14]), cycle([8, 9, 16, 17]), cycle([5, 9, 16, 14])]
}

/// Both are real; that across the fences is in no execution. If the program fails where the first happens, the first
/// does harm, and the second, which is in half of these executions, too, is a bystander.
#[test]
fn a_bystander_is_not_blamed() {
    let found = explore(TWICE, &cycles(), 0, |state| state[0] == 0 && state[2] == 0);
    assert_eq!(found.violations.exposed(), [true, true, false]);
    assert_eq!(found.violations.harmful(), [true, false, false]);
}

/// If it takes both to make the program fail, neither does harm alone, and both together are told of.
#[test]
fn what_fails_together_is_told_together() {
    let found = explore(TWICE, &cycles(), 0, |state| state.iter().all(|value| *value == 0));
    assert_eq!(found.violations.harmful(), [false, false, false]);
    assert_eq!(found.together, [vec![0, 1]]);
}

/// P0 reads 0 in its loop while P1's store is still to come, and P1 reads the old `x`: store buffering with a loop that
/// waits. With and without a round of the loop it is seen, since executions that are stopped there are looked at.
#[test]
fn loops_that_wait_have_their_cycles() {
    let source = "C round
{ [x]=0; [y]=0; }

P0 (atomic_int* x, atomic_int* y) {
  atomic_store_explicit(x, 1, memory_order_relaxed);
  int r0 = 0;
  while (r0 == 0)
    r0 = atomic_load_explicit(y, memory_order_relaxed);
}

P1 (atomic_int* x, atomic_int* y) {
  atomic_store_explicit(y, 1, memory_order_relaxed);
  int r0 = atomic_load_explicit(x, memory_order_relaxed);
}

exists (1:r0=0)
";
    let sb = [cycle([5, 8, 12, 13])];
    assert_eq!(explore(source, &sb, 0, |_| false).violations.exposed(), [true]);
    assert_eq!(explore(source, &sb, 1, |_| false).violations.exposed(), [true]);
}

/// What is quick to tell is right: in every execution of a program with a location of each thread's own, that there is
/// no cycle is what the axioms of sequential consistency say; and without these locations there are the same cycles, in
/// executions that the same models permit.
#[test]
fn executions_are_told_apart_as_the_axioms_do() {
    let source = TWICE.replace("[w]=0;", "[w]=0; [p]=0; [q]=0;").replace("* w)", "* w, atomic_int* p, atomic_int* q)");
    let (first, second) = source.split_once("P1").expect("two threads");
    let own = |text: &str, place: &str| {
        let store = format!("  atomic_store_explicit({place}, 1, memory_order_relaxed);\n  int r0");
        text.replace("  int r0", &store)
    };
    let source = format!("{}P1{}", own(first, "p"), own(second, "q"));
    let test = LitmusTest::parse("test", source.as_bytes()).unwrap_or_else(|e| panic!("{e}\n{source}"));
    let lines = [cycle([5, 7, 14, 16]), cycle([9, 10, 18, 19]), cycle([5, 10, 18, 16])];
    let mut counts = [0; 2];
    let mut explorer = Explorer::new(test.program(), Options::new(Model::Tso)).expect("it has axioms");
    let traces = explorer.explore(Traces::default).expect("it is deterministic").0;
    for trace in traces {
        let is = |trace: &Trace, model: Model| {
            consistent(&Execution::from_trace(trace).unwrap_or_else(|e| panic!("{e}")), model).is_ok()
        };
        let accesses = Accesses::new(&trace, |event| line(&trace, event));
        assert_eq!(accesses.is_sequential(), is(&trace, Model::Sc), "{trace:?}");
        counts[usize::from(accesses.is_sequential())] += 1;
        let less = without_private(&trace);
        assert_eq!(less.events.len() + 2, trace.events.len(), "the two stores are gone: {less:?}");
        assert!(is(&less, Model::Tso));
        assert_eq!(is(&less, Model::Sc), is(&trace, Model::Sc), "{trace:?}");
        let short = Accesses::new(&less, |event| line(&less, event));
        for cycle in &lines {
            assert_eq!(short.cycle(cycle).is_some(), accesses.cycle(cycle).is_some(), "{cycle:?} in {trace:?}");
        }
    }
    // Each of the two store-bufferings has 3 executions that are sequentially consistent and one that is not.
    assert_eq!(counts, [7, 9]);
}

/// Keeps the trace of every execution.
#[derive(Default)]
struct Traces(Vec<Trace>);

impl Visitor<LitmusProgram> for Traces {
    fn execution(&mut self, program: &LitmusProgram, graph: &Graph) -> Flow {
        self.0.push(trace_of(program, graph, Model::Tso, Outcome::Finished));
        Flow::Continue(())
    }
    fn stuck(&mut self, _: &LitmusProgram, _: &Graph, stuck: Stuck) -> Flow {
        panic!("{stuck:?}");
    }
    fn failed(&mut self, _: &LitmusProgram, _: &Graph, thread: ThreadId, failure: Failure) -> Flow {
        panic!("{thread} {failure:?}");
    }
    fn race(&mut self, _: &LitmusProgram, _: &Graph, _: Node, _: Node) -> Flow {
        panic!("a race");
    }
}
