//! How much is left of an exploration, as far as anybody can tell before.

/// An estimate of what is left. Exploration is depth first: what is open lies in a stack, and the work since something
/// was put there went into what lay beside it. So everything open is taken to be as large as that was so far.
/// That is rather too little: of what has just begun nothing is known yet.
#[derive(Clone, Debug, Default)]
pub struct Outlook {
    /// By place in the stack: how many executions there were when it was taken.
    since: Vec<u64>,
    /// All of them together.
    sum: u64,
    done: u64,
}

impl Outlook {
    /// So many tasks are open after so many executions. Best called after each run.
    pub fn note(&mut self, open: usize, done: u64) {
        if done < self.done {
            // It has begun anew.
            *self = Outlook::default();
        }
        self.done = done;
        // Whatever was done began with the last of them.
        let kept = open.min(self.since.len().saturating_sub(1));
        while self.since.len() > kept {
            self.sum -= self.since.pop().unwrap_or(0);
        }
        while self.since.len() < open {
            self.since.push(done);
            self.sum += done;
        }
    }

    /// How many tasks are open.
    pub fn open(&self) -> u64 {
        self.since.len() as u64
    }

    /// About how many executions are left: one for each open task at least.
    pub fn left(&self) -> u64 {
        (self.open() * self.done - self.sum).max(self.open())
    }
}

#[cfg(test)]
mod tests {
    use super::Outlook;

    /// A tree in which every node has two children: what is left at the root is known when the first half is done, and
    /// so on down.
    #[test]
    fn of_a_full_tree_the_rest_is_known() {
        let mut outlook = Outlook::default();
        // Depth first, ten levels: after each leaf, as many tasks are open as there are ones still to come.
        for leaf in 1..=1024_u32 {
            let open = (leaf - 1).count_zeros() - 22;
            outlook.note(open as usize, u64::from(leaf));
            let left = u64::from(1024 - leaf);
            // Never more than there is, and at least a third of it when a half, a quarter or an eighth is done.
            assert!(outlook.left() <= left, "{leaf}: {}", outlook.left());
            if [128, 256, 512].contains(&leaf) {
                assert!(outlook.left() * 3 >= left, "{leaf}: {}", outlook.left());
            }
        }
        assert_eq!((outlook.open(), outlook.left()), (0, 0));
    }
}
