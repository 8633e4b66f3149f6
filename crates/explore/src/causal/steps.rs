//! The events of an execution, as plain values.
//!
//! Nearly every state that was met keeps the execution it was met in, for the case that it is taken up again, which is
//! rare. So they are kept in few bytes, and unpacked when they are needed.

use fencepost_memory::graph::{Flags, Graph, Node};
use fencepost_trace::Value;
use serde::{Deserialize, Deserializer, Serialize, Serializer};
use std::sync::Arc;

/// One event of an execution: whose, and for a read what it got.
#[derive(Clone, Copy, PartialEq, Debug, Serialize, Deserialize)]
#[serde(from = "Words", into = "Words")]
pub(super) struct Step {
    pub thread: u32,
    /// The event that a read reads, by number.
    pub source: u32,
    /// Which of several results a read has.
    pub variant: u32,
    /// Where a write stands in coherence order.
    pub position: u32,
    /// What a read got.
    pub value: Value,
}

/// A step as it is written: there are many of them.
type Words = (u32, u32, u32, u32, Value);

impl From<Words> for Step {
    fn from((thread, source, variant, position, value): Words) -> Step {
        Step { thread, source, variant, position, value }
    }
}

impl From<Step> for Words {
    fn from(Step { thread, source, variant, position, value }: Step) -> Words {
        (thread, source, variant, position, value)
    }
}

/// Steps in the order in which they were added. Each number takes a byte for every seven of its bits.
#[derive(Clone, PartialEq, Debug)]
pub(super) struct Steps(Arc<[u8]>);

/// Most events take fewer bytes.
const BYTES_OF_A_STEP: usize = 12;

impl Steps {
    /// None.
    pub fn none() -> Steps {
        Steps(Arc::new([]))
    }

    /// The events of a graph.
    pub fn of(graph: &Graph) -> Steps {
        let steps = graph.nodes().map(|(_, data)| Step {
            thread: data.thread.0,
            source: data.source.0,
            variant: data.variant,
            position: data.position,
            value: if data.flags.has(Flags::READ) { data.value } else { Value::ZERO },
        });
        steps.collect()
    }

    /// All of them, one after the other.
    pub fn iter(&self) -> impl Iterator<Item = Step> {
        let mut bytes = self.0.iter();
        std::iter::from_fn(move || {
            let thread = unpack(&mut bytes)? as u32;
            let mut next = || unpack(&mut bytes).expect("a step has five numbers");
            let [source, variant, position] = [next() as u32, next() as u32, next() as u32];
            Some(Step { thread, source, variant, position, value: Value(next()) })
        })
    }

    /// Where they are in memory, which tells executions apart.
    pub fn address(&self) -> *const u8 {
        self.0.as_ptr()
    }

    /// Are there none?
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }
}

impl FromIterator<Step> for Steps {
    fn from_iter<I: IntoIterator<Item = Step>>(steps: I) -> Steps {
        let steps = steps.into_iter();
        let mut bytes = Vec::with_capacity(steps.size_hint().0 * BYTES_OF_A_STEP);
        for Step { thread, source, variant, position, value } in steps {
            for number in [thread, source, variant, position] {
                pack(number.into(), &mut bytes);
            }
            pack(value.0, &mut bytes);
        }
        Steps(bytes.into())
    }
}

fn pack(mut number: u128, bytes: &mut Vec<u8>) {
    while number >= 0x80 {
        bytes.push(number as u8 | 0x80);
        number >>= 7;
    }
    bytes.push(number as u8);
}

fn unpack<'a>(bytes: &mut impl Iterator<Item = &'a u8>) -> Option<u128> {
    let mut number = 0;
    for shift in (0..).step_by(7) {
        let byte = *bytes.next()?;
        number |= u128::from(byte & 0x7f) << shift;
        if byte & 0x80 == 0 {
            break;
        }
    }
    Some(number)
}

impl Serialize for Steps {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_seq(self.iter())
    }
}

impl<'de> Deserialize<'de> for Steps {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Steps, D::Error> {
        Ok(Vec::<Step>::deserialize(deserializer)?.into_iter().collect())
    }
}

/// The node of a step.
pub(super) fn node_of(step: usize) -> Node {
    Node(step as u32 + 1)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Whatever the numbers are, what is unpacked is what was packed: around each number of bytes, and at the ends.
    #[test]
    fn what_is_packed_can_be_unpacked() {
        let bits = [0, 1, 6, 7, 8, 13, 14, 31, 32, 63, 64, 126, 127];
        let values = bits.iter().flat_map(|bit| [(1u128 << bit) - 1, 1 << bit]).chain([u128::MAX]);
        let steps: Vec<Step> = values
            .enumerate()
            .map(|(i, value)| {
                let number = value.min(u32::MAX.into()) as u32;
                let [thread, source] = [i as u32, number];
                Step { thread, source, variant: i as u32 % 3, position: u32::MAX - number, value: Value(value) }
            })
            .collect();
        let packed: Steps = steps.iter().copied().collect();
        assert_eq!(packed.iter().collect::<Vec<_>>(), steps);
        let text = serde_json::to_string(&packed).expect("plain values");
        assert_eq!(text, serde_json::to_string(&steps).expect("plain values"));
        assert_eq!(serde_json::from_str::<Steps>(&text).expect("it was just written"), packed);
        assert!(Steps::none().iter().next().is_none() && Steps::none().is_empty());
    }
}
