//! The program points of a native program, and the access sites in its code that they stand for.

use super::subject::ProgramPoint;
use crate::native::Symbolizer;
use fencepost_mailbox::{Frame, Point};
use fencepost_trace::{Event, EventKind, Label, Trace};
use rustc_hash::FxHashMap;

/// All that were met, numbered.
#[derive(Default)]
pub struct Points {
    /// Access sites: places in the code.
    pub sites: Vec<Frame>,
    site_numbers: FxHashMap<Frame, u32>,
    /// Program points: sites that are the same to whoever reads the source.
    pub points: Vec<ProgramPoint>,
    /// The sites of each point.
    pub sites_of: Vec<Vec<u32>>,
    point_numbers: FxHashMap<(Label, u64, bool, bool), u32>,
    /// The program point of a site and what is done there.
    at: FxHashMap<(u32, bool, bool), u32>,
}

impl Points {
    /// For each event of a trace its program point and its access site.
    pub fn names(&mut self, trace: &Trace, frames: &[Frame], symbolizer: &Symbolizer) -> Vec<(u32, u32)> {
        let sites: Vec<u32> = frames.iter().map(|frame| self.site(frame)).collect();
        let name = |event: &Event| {
            let site = sites[event.label as usize];
            let point = match kind(event) {
                Some((reads, writes)) => self.point(site, reads, writes, symbolizer),
                None => u32::MAX,
            };
            (point, site)
        };
        trace.events.iter().map(name).collect()
    }

    /// The program points as the runtime knows them: by their sites.
    pub fn for_runtime(&self) -> Vec<Point> {
        let point = |(point, sites): (&ProgramPoint, &Vec<u32>)| Point {
            sites: sites.clone(),
            reads: point.reads,
            writes: point.writes,
        };
        self.points.iter().zip(&self.sites_of).map(point).collect()
    }

    fn site(&mut self, frame: &Frame) -> u32 {
        if let Some(site) = self.site_numbers.get(frame) {
            return *site;
        }
        let site = self.sites.len() as u32;
        self.sites.push(frame.clone());
        self.site_numbers.insert(frame.clone(), site);
        site
    }

    fn point(&mut self, site: u32, reads: bool, writes: bool, symbolizer: &Symbolizer) -> u32 {
        if let Some(point) = self.at.get(&(site, reads, writes)) {
            return *point;
        }
        let frame = &self.sites[site as usize];
        let label = symbolizer.label(frame);
        // Without a line in the source, the place in the code tells points apart.
        let offset = if label.line == 0 { frame.offset } else { 0 };
        let key = (label.clone(), offset, reads, writes);
        let fresh = self.points.len() as u32;
        let point = *self.point_numbers.entry(key).or_insert(fresh);
        if point == fresh {
            self.points.push(ProgramPoint { label, reads, writes });
            self.sites_of.push(Vec::new());
        }
        self.sites_of[point as usize].push(site);
        self.at.insert((site, reads, writes), point);
        point
    }
}

/// Does the event read, does it write? `None` for fences and commits.
fn kind(event: &Event) -> Option<(bool, bool)> {
    match event.kind {
        EventKind::Load { .. } => Some((true, false)),
        EventKind::Store { .. } => Some((false, true)),
        EventKind::Rmw { .. } => Some((true, true)),
        EventKind::Fence { .. } | EventKind::Commit { .. } => None,
    }
}
