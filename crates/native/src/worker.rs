//! Processes of the program: each carries out one request.
//!
//! A worker is a process of its own, or the child of a [`Server`]: a process of the program that has come as far as
//! `main` and makes a copy of itself for each request. To start a program takes longer than to explore a small one, so
//! that whoever asks many small questions about one program asks a server.

use crate::host::{Campaign, Library, Mailbox};
use fencepost_mailbox::{SERVE, VARIABLE};
use rustix::event::{PollFd, PollFlags};
use std::ffi::{OsStr, OsString};
use std::io::{self, Read, Write};
use std::os::fd::{AsFd, AsRawFd, OwnedFd};
use std::os::unix::ffi::OsStrExt;
use std::os::unix::net::UnixStream;
use std::os::unix::process::{CommandExt, ExitStatusExt};
use std::path::Path;
use std::process::{Child, Command, ExitStatus, Stdio};
use std::sync::{Mutex, MutexGuard};
use std::time::Duration;

/// The name under which programs look for the runtime.
pub(crate) const LIBRARY: &str = "libtsan.so.2";

/// The number of the server's end of the connection: out of the way of the numbers that the program gets.
const CONNECTION: i32 = 220;

/// The longest argument that a request to a server can have.
const LONGEST: usize = 16;

/// What the program finds in its environment beside what is there already; `mailbox` is where its request is.
pub(crate) fn environment(library: &Library, mailbox: OsString) -> [(&'static str, OsString); 5] {
    let mut path = library.directory().as_os_str().to_owned();
    if let Some(old) = std::env::var_os("LD_LIBRARY_PATH").filter(|p| !p.is_empty()) {
        path.push(":");
        path.push(old);
    }
    // First of all libraries, whatever the order in which the program was linked: what is looked up must be found
    // here before libc.
    let mut preload = library.directory().join(LIBRARY).into_os_string();
    if let Some(old) = std::env::var_os("LD_PRELOAD").filter(|p| !p.is_empty()) {
        preload.push(":");
        preload.push(old);
    }
    [
        ("LD_LIBRARY_PATH", path),
        ("LD_PRELOAD", preload),
        // What the dynamic linker looks up late, it would have to look up again in every execution.
        ("LD_BIND_NOW", "1".into()),
        // A panic's backtrace takes longer than a thousand executions, and the report has stacks of its own.
        ("RUST_BACKTRACE", "0".into()),
        (VARIABLE, mailbox),
    ]
}

/// The command that starts the program under control.
fn command(program: &Path, library: &Library, mailbox: OsString) -> Command {
    let mut command = Command::new(program);
    command.envs(environment(library, mailbox)).stdin(Stdio::null());
    // Ctrl-C is for the host, which says when a worker ends.
    command.process_group(0);
    let host = std::process::id();
    // SAFETY: between fork and exec, system calls that change this process's own flags: the same addresses every time,
    // and no life after the host's, even if that has ended by now.
    unsafe {
        command.pre_exec(move || {
            libc::prctl(libc::PR_SET_PDEATHSIG, libc::SIGKILL);
            if libc::getppid() as u32 != host {
                libc::_exit(1);
            }
            match libc::personality(libc::ADDR_NO_RANDOMIZE as libc::c_ulong) {
                -1 => Err(io::Error::last_os_error()),
                _ => Ok(()),
            }
        });
    }
    command
}

/// A process of the program that carries out requests one by one, each in a copy of itself.
#[derive(Debug)]
pub struct Server {
    process: Child,
    connection: Mutex<UnixStream>,
}

impl Server {
    /// Starts the program, with one argument, which each request replaces.
    pub fn start(program: &Path, runtime: &Path) -> io::Result<Server> {
        let library = Library::new(runtime)?;
        let (here, there) = UnixStream::pair()?;
        let mut command = command(program, &library, format!("{SERVE}{CONNECTION}").into());
        command.arg("0".repeat(LONGEST));
        let connection = there.as_raw_fd();
        // SAFETY: between fork and exec, a system call that gives the connection its number.
        unsafe {
            command.pre_exec(move || match libc::dup2(connection, CONNECTION) {
                -1 => Err(io::Error::last_os_error()),
                _ => Ok(()),
            });
        }
        Ok(Server { process: command.spawn()?, connection: Mutex::new(here) })
    }

    /// Has a copy begin with this request.
    fn ask(&self, mailbox: &Path, argument: &str) -> io::Result<Worker<'_>> {
        if argument.len() > LONGEST {
            return Err(io::Error::other("an argument is too long for a server"));
        }
        let mut connection = self.connection.lock().expect("nobody panics while a server works");
        let path = mailbox.as_os_str().as_bytes();
        let mut message = Vec::from((path.len() as u32).to_ne_bytes());
        message.extend((argument.len() as u32).to_ne_bytes());
        message.extend(path);
        message.extend(argument.as_bytes());
        connection.write_all(&message)?;
        let id = i32::from_ne_bytes(receive(&mut connection)?);
        if id <= 0 {
            return Err(io::Error::other("a server cannot make a copy of itself"));
        }
        Ok(Worker::Served { id, connection, status: None })
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        // It has nothing to lose, and its copies die with it.
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}

fn receive(connection: &mut UnixStream) -> io::Result<[u8; 4]> {
    let mut word = [0; 4];
    connection.read_exact(&mut word)?;
    Ok(word)
}

/// A process that carries out one request.
pub(crate) enum Worker<'a> {
    /// A child of this process.
    Own { process: Child, end: Option<OwnedFd> },
    /// A child of a server, which sends its status when it has ended.
    Served { id: i32, connection: MutexGuard<'a, UnixStream>, status: Option<ExitStatus> },
}

impl<'a> Worker<'a> {
    /// Starts the campaign's program, or asks its server for a copy.
    pub(crate) fn start(campaign: &'a Campaign, library: &Library, mailbox: &Mailbox) -> io::Result<Worker<'a>> {
        if let Some(server) = &campaign.server {
            let argument = campaign.arguments.first().map_or("", String::as_str);
            return server.ask(&mailbox.path(), argument);
        }
        let mut command = command(&campaign.program, library, mailbox.path().into());
        command.args(campaign.arguments.iter().map(OsStr::new));
        if let Some(directory) = &campaign.directory {
            command.current_dir(directory);
        }
        let process = command.spawn()?;
        let id = rustix::process::Pid::from_raw(process.id() as i32);
        let end = id.and_then(|id| rustix::process::pidfd_open(id, rustix::process::PidfdFlags::empty()).ok());
        Ok(Worker::Own { process, end })
    }

    /// Its status, if it has ended.
    pub(crate) fn try_wait(&mut self) -> io::Result<Option<ExitStatus>> {
        match self {
            Worker::Own { process, .. } => process.try_wait(),
            Worker::Served { status: Some(status), .. } => Ok(Some(*status)),
            Worker::Served { .. } if !self.poll(Duration::ZERO) => Ok(None),
            Worker::Served { connection, status, .. } => {
                *status = Some(ExitStatus::from_raw(i32::from_ne_bytes(receive(connection)?)));
                Ok(*status)
            }
        }
    }

    /// Ends it, now.
    pub(crate) fn kill(&mut self) -> io::Result<()> {
        match self {
            Worker::Own { process, .. } => process.kill(),
            Worker::Served { .. } => {
                self.signal(libc::SIGKILL);
                Ok(())
            }
        }
    }

    /// Waits until it has ended.
    pub(crate) fn wait(&mut self) -> io::Result<ExitStatus> {
        if let Worker::Own { process, .. } = self {
            return process.wait();
        }
        loop {
            if let Some(status) = self.try_wait()? {
                return Ok(status);
            }
            self.pause(Duration::from_secs(1));
        }
    }

    /// Sends a signal. It has not been waited for yet.
    pub(crate) fn signal(&self, signal: i32) {
        let id = match self {
            Worker::Own { process, .. } => process.id() as libc::pid_t,
            Worker::Served { id, .. } => *id,
        };
        // SAFETY: sends a signal to a process that nobody has waited for.
        unsafe { libc::kill(id, signal) };
    }

    /// Sleeps until it has ended, at most so long, without asking for it again and again: many workers live for a few
    /// milliseconds.
    pub(crate) fn pause(&self, limit: Duration) {
        self.poll(limit);
    }

    /// Has it ended, or does it within this time?
    fn poll(&self, limit: Duration) -> bool {
        let watched = match self {
            Worker::Own { end: Some(process), .. } => process.as_fd(),
            // Kernels before 5.3 do not have this.
            Worker::Own { end: None, .. } => {
                std::thread::sleep(limit.min(Duration::from_millis(1)));
                return false;
            }
            Worker::Served { connection, .. } => connection.as_fd(),
        };
        let limit = rustix::event::Timespec { tv_sec: limit.as_secs() as i64, tv_nsec: limit.subsec_nanos().into() };
        // A signal that comes in between only ends the wait earlier.
        let mut watched = [PollFd::from_borrowed_fd(watched, PollFlags::IN)];
        rustix::event::poll(&mut watched, Some(&limit)).is_ok_and(|ready| ready > 0)
    }
}
