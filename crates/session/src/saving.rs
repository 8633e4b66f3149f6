//! Explorations that are saved while they go on, and taken up again: `--resume`.
//!
//! The file beside the report says what it is an exploration of: the program's digest and every option that decides
//! which executions there are and what counts as a finding. An exploration of anything else is refused. Limits and the
//! number of workers may be others.

use crate::error::Error;
use crate::recording::{clear, try_out};
use crate::request::CampaignRequest;
use fencepost_mailbox::{Rhythm, SAVED, Save, Status, seal, unseal};
use fencepost_report::Command;
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use std::path::{Path, PathBuf};
use std::sync::Mutex;
use std::time::Instant;
use std::{fs, io};

/// The version of the format.
const FORMAT: u32 = 1;

/// What an exploration is of.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct Subject {
    /// The version of Fencepost that wrote it. First, so that the file is known by its beginning.
    fencepost: String,
    format: u32,
    /// What must be the same, each by the name of its option.
    options: Vec<(String, String)>,
}

impl Subject {
    /// What a command does with a program of that digest.
    pub fn new(command: Command, digest: &str, request: &CampaignRequest) -> Subject {
        let options = vec![
            ("the command".to_owned(), format!("{command:?}").to_lowercase()),
            ("the program".to_owned(), digest.to_owned()),
            ("its arguments".to_owned(), format!("{:?}", request.arguments)),
            ("--model".to_owned(), request.model.to_string()),
            ("--max-steps".to_owned(), format!("{:?}", request.work.max_steps)),
            ("--keep-going".to_owned(), request.keep_going.to_string()),
            ("--spec".to_owned(), format!("{:?}", request.spec)),
            ("--volatile".to_owned(), format!("{:?}", request.volatile)),
        ];
        Subject { fencepost: env!("CARGO_PKG_VERSION").to_owned(), format: FORMAT, options }
    }

    /// One more thing that must be the same.
    pub fn with(mut self, name: &str, value: impl ToString) -> Subject {
        self.options.push((name.to_owned(), value.to_string()));
        self
    }

    /// What is not the same in a saved exploration.
    fn difference(&self, saved: &Subject) -> Option<String> {
        if (&saved.fencepost, saved.format) != (&self.fencepost, self.format) {
            return Some(format!("was written by another version ({})", saved.fencepost));
        }
        let (name, _) = self.options.iter().zip(&saved.options).find(|(ours, saved)| ours != saved)?.0;
        Some(match &name[..] {
            "the program" => "is of another program, or of another version of it".to_owned(),
            name => format!("was started with {name} different"),
        })
    }
}

/// What was read back.
pub struct Loaded {
    pub status: Status,
    body: Vec<u8>,
}

impl Loaded {
    /// What it takes to go on; `None` if nothing had been done.
    pub fn state<T: DeserializeOwned>(&self, out: &Path) -> Result<Option<T>, Error> {
        serde_json::from_slice(&self.body).map_err(|_| damaged(&out.join(SAVED)))
    }
}

/// Where an exploration is saved.
pub struct Saving {
    /// The directory.
    pub out: PathBuf,
    head: String,
    begun: Instant,
    rhythm: Mutex<Rhythm>,
    problem: Mutex<Option<Error>>,
}

impl Saving {
    /// Before the work: the directory is made ready. To go on, what is there is read; otherwise what an earlier run
    /// left is removed, and an exploration of which nothing has been done takes the place of the saved one. Nothing is
    /// saved without a directory.
    pub fn begin(
        out: Option<&Path>,
        resume: bool,
        subject: &Subject,
    ) -> Result<(Option<Saving>, Option<Loaded>), Error> {
        let Some(out) = out else { return Ok((None, None)) };
        let head = serde_json::to_string(subject).expect("a subject is always JSON");
        let (rhythm, problem) = (Mutex::new(Rhythm::new(0)), Mutex::default());
        let saving = Saving { out: out.to_owned(), head, begun: Instant::now(), rhythm, problem };
        if resume {
            let loaded = load(&out.join(SAVED), subject)?;
            try_out(out)?;
            return Ok((Some(saving), Some(loaded)));
        }
        try_out(out)?;
        clear(out, 0);
        saving.write(Status::default(), &())?;
        Ok((Some(saving), None))
    }

    /// The file.
    pub fn path(&self) -> PathBuf {
        self.out.join(SAVED)
    }

    /// For the runtime, which saves what it explores itself.
    pub fn for_runtime(&self, resume: bool) -> Option<Save> {
        let path = std::path::absolute(self.path()).ok()?.into_os_string().into_encoded_bytes();
        Some(Save { path, head: self.head.clone(), resume })
    }

    /// Is it time to save?
    pub fn is_due(&self) -> bool {
        self.rhythm.lock().is_ok_and(|rhythm| rhythm.is_due(self.now(), false))
    }

    fn now(&self) -> u64 {
        self.begun.elapsed().as_nanos() as u64
    }

    /// Saves. What cannot be written is a problem, but no reason to stop.
    pub fn save(&self, status: Status, state: &impl Serialize) {
        let start = self.now();
        let saved = self.write(status, state);
        if let Ok(mut rhythm) = self.rhythm.lock() {
            rhythm.saved(start, self.now());
        }
        if let Ok(mut problem) = self.problem.lock() {
            *problem = saved.err();
        }
    }

    fn write(&self, status: Status, state: &impl Serialize) -> Result<(), Error> {
        let bytes = seal(&self.head, status, state).expect("what is saved is always JSON");
        // Always the same other name: runs that are killed as they write leave no more than that behind.
        let (path, new) = (self.path(), self.path().with_extension("json.new"));
        fs::write(&new, bytes).and_then(|()| fs::rename(&new, &path)).map_err(|cause| {
            let _ = fs::remove_file(new);
            Error::Write { path, cause }
        })
    }

    /// Why it could not be saved in the end, if it could not.
    pub fn problem(&self) -> Option<String> {
        let problem = self.problem.lock().ok()?.take()?;
        Some(format!("this run cannot be resumed from here: {problem}"))
    }
}

fn load(path: &Path, subject: &Subject) -> Result<Loaded, Error> {
    let bytes = fs::read(path).map_err(|cause| match cause.kind() {
        io::ErrorKind::NotFound => {
            let out = path.parent().unwrap_or(path).display();
            Error::Usage(format!("--resume: there is no saved run in {out}"))
        }
        _ => Error::Read { path: path.to_owned(), cause },
    })?;
    let (head, status, body) = unseal(&bytes).ok_or_else(|| damaged(path))?;
    let saved: Subject = serde_json::from_str(head).map_err(|_| damaged(path))?;
    match subject.difference(&saved) {
        None => Ok(Loaded { status, body: body.to_vec() }),
        Some(what) => Err(Error::Usage(format!("--resume: the run saved in {} {what}", path.display()))),
    }
}

fn damaged(path: &Path) -> Error {
    Error::Usage(format!("--resume: {} is damaged: start without --resume", path.display()))
}

/// What is said of a run that had come to its end before.
pub const OVER: &str = "the saved run had come to its end: this is its result again";
