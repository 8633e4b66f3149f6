//! Partial orders that grow and shrink while an answer is looked for.

/// A partial order of steps, with its transitive closure, that can be taken back.
#[derive(Clone)]
pub struct Order {
    words: usize,
    /// Row by row, what comes behind each step.
    behind: Vec<u64>,
    /// What was overwritten.
    pub trail: Vec<(u32, u64)>,
    /// How many rows were changed.
    pub work: u64,
    /// A row under way.
    row: Vec<u64>,
}

impl Order {
    pub fn new(n: usize) -> Order {
        let words = n.div_ceil(64);
        Order { words, behind: vec![0; words * n], trail: Vec::new(), work: 0, row: Vec::new() }
    }

    /// Does `b` come behind `a`?
    pub fn has(&self, a: usize, b: usize) -> bool {
        self.behind[a * self.words + b / 64] >> (b % 64) & 1 == 1
    }

    /// Puts `b` behind `a`; false if that makes a cycle.
    pub fn add(&mut self, a: usize, b: usize) -> bool {
        if a == b || self.has(b, a) {
            return false;
        }
        if self.has(a, b) {
            return true;
        }
        let words = self.words;
        let mut row = std::mem::take(&mut self.row);
        row.clear();
        row.extend_from_slice(&self.behind[b * words..(b + 1) * words]);
        row[b / 64] |= 1 << (b % 64);
        for x in 0..self.behind.len() / words {
            if x == a || self.has(x, a) {
                for (i, more) in row.iter().enumerate() {
                    let word = &mut self.behind[x * words + i];
                    if *word | more != *word {
                        self.trail.push(((x * words + i) as u32, *word));
                        *word |= more;
                    }
                }
                self.work += 1;
            }
        }
        self.row = row;
        true
    }

    /// Puts `b` behind `a` in an order that is empty but for what is put in like this: the caller sees to it that it
    /// is closed.
    pub fn set(&mut self, a: usize, b: usize) {
        self.behind[a * self.words + b / 64] |= 1 << (b % 64);
    }

    /// Takes back everything since the trail had this length.
    pub fn undo(&mut self, to: usize) {
        while self.trail.len() > to {
            if let Some((at, word)) = self.trail.pop() {
                self.behind[at as usize] = word;
            }
        }
    }
}
