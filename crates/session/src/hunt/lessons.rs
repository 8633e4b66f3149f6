//! What executions teach about schedules for cycles.

use super::LONGEST;
use super::candidate::Candidate;
use super::options::{Options, is_late};
use fencepost_predict::Profile;
use fencepost_predict::solve::{Places, Solver};
use fencepost_trace::Schedule;
use rustc_hash::{FxHashSet, FxHasher};
use std::hash::{Hash, Hasher};
use std::sync::atomic::{AtomicUsize, Ordering};

/// How many schedules of one cycle are followed.
const SCHEDULES: usize = 5;

/// Executions that schedules are made from.
pub struct Lessons {
    profiles: Vec<Profile>,
    /// How many of them have been solved with.
    known: usize,
    /// What threads did in them.
    met: FxHashSet<u64>,
    /// Were executions too long for some question?
    pub cut: bool,
    /// For each cycle the schedules that have not been followed.
    pub spare: Vec<Vec<Schedule>>,
}

/// Can a schedule be made from it?
fn is_short(profile: &Profile) -> bool {
    profile.threads.iter().map(Vec::len).sum::<usize>() <= LONGEST
}

impl Lessons {
    /// What executions without reordering teach about so many cycles.
    pub fn new(profiles: &[Profile], cycles: usize) -> Lessons {
        Lessons {
            profiles: profiles.to_vec(),
            known: 0,
            cut: false,
            met: profiles.iter().flat_map(Profile::digests).collect(),
            spare: vec![Vec::new(); cycles],
        }
    }

    /// Keeps executions that no other is like.
    pub fn add(&mut self, profiles: impl IntoIterator<Item = Profile>) {
        for profile in profiles.into_iter().filter(is_short) {
            let digests: Vec<u64> = profile.digests().collect();
            let mut hasher = FxHasher::default();
            digests.hash(&mut hasher);
            if self.met.insert(hasher.finish()) {
                self.met.extend(digests);
                self.profiles.push(profile);
            }
        }
    }

    /// Keeps those that show a thread do something new: there may be many.
    pub fn add_new(&mut self, profiles: impl IntoIterator<Item = Profile>) {
        for profile in profiles.into_iter().filter(is_short) {
            if profile.digests().filter(|digest| self.met.insert(*digest)).count() > 0 {
                self.profiles.push(profile);
            }
        }
    }

    /// Schedules for these cycles that what was added since the last time gives.
    pub fn solve(&mut self, cycles: &[&Candidate], mixed: bool, options: &Options) -> Vec<Vec<Schedule>> {
        let known = std::mem::replace(&mut self.known, self.profiles.len());
        if known == self.profiles.len() {
            return vec![Vec::new(); cycles.len()];
        }
        let solver = Solver::new(&self.profiles, known, options.model);
        let next = AtomicUsize::new(0);
        let mut schedules: Vec<(usize, Vec<Schedule>)> = std::thread::scope(|scope| {
            let work = || {
                let (mut done, mut places) = (Vec::new(), Places::default());
                while let Some((i, candidate)) = {
                    let i = next.fetch_add(1, Ordering::Relaxed);
                    cycles.get(i).map(|candidate| (i, candidate))
                } {
                    // Without time there is nobody to follow them.
                    let schedules = match is_late(options.deadline) {
                        true => Vec::new(),
                        false => solver.schedules(&candidate.instances, SCHEDULES, mixed, &mut places),
                    };
                    done.push((i, schedules));
                }
                done
            };
            let workers: Vec<_> = (0..options.jobs.max(1)).map(|_| scope.spawn(work)).collect();
            workers.into_iter().flat_map(|worker| worker.join().expect("the solver does not panic")).collect()
        });
        self.cut |= solver.is_cut();
        schedules.sort_by_key(|(i, _)| *i);
        schedules.into_iter().map(|(_, schedules)| schedules).collect()
    }
}
