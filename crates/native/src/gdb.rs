//! One execution under gdb, which stops where its finding shows.
//!
//! gdb starts the program as the host does: the same environment, arguments and addresses, standard input empty. The
//! runtime calls `fencepost_found` when the finding is there; from that breakpoint gdb goes up to the first frame
//! that is the program's. The threads of the program are fibers, which gdb does not see: `fencepost-threads`, a
//! command of gdb's own language, shows where each of them stands.

use crate::host::{Campaign, Library, Mailbox};
use crate::worker::environment;
use fencepost_mailbox::{Request, Restart};
use fencepost_trace::{CampaignSpec, StrategySpec};
use std::ffi::{OsStr, OsString};
use std::io::{self, Write};
use std::os::unix::ffi::OsStrExt;
use std::os::unix::process::CommandExt;
use std::process::{Command, ExitStatus};

/// Names another gdb.
pub const VARIABLE: &str = "FENCEPOST_GDB";

/// Where gdb stops.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Stop {
    /// Where the finding of this fingerprint shows.
    Finding(u64),
    /// At these lines of source files, each time.
    Lines(Vec<(String, u32)>),
}

/// Runs the execution that `strategy` describes under gdb up to where it is to stop, and gives gdb to the user.
/// `options` are more arguments of gdb's; `headline` is printed where it stops.
///
/// # Errors
/// gdb cannot be started; [`io::ErrorKind::NotFound`] if there is none.
pub fn debug(
    campaign: &Campaign,
    strategy: StrategySpec,
    stop: &Stop,
    headline: &str,
    options: &[OsString],
) -> io::Result<ExitStatus> {
    let library = Library::new(&campaign.runtime)?;
    let request = Request {
        campaign: CampaignSpec::Repeat(strategy),
        first: 0,
        count: 1,
        // gdb follows one process, and one execution is the same in both.
        restart: Restart::InPlace,
        debug: if let Stop::Finding(fingerprint) = stop { Some(*fingerprint) } else { None },
        ..campaign.request.clone()
    };
    let mailbox = Mailbox::new(&request)?;
    let mut script = tempfile::NamedTempFile::new()?;
    script.write_all(&commands(campaign, &environment(&library, mailbox.path().into()), stop, headline))?;
    script.flush()?;
    let gdb = std::env::var_os(VARIABLE).filter(|name| !name.is_empty()).unwrap_or_else(|| "gdb".into());
    let mut command = Command::new(gdb);
    command.arg("-q").arg("-x").arg(script.path()).args(options).arg(&campaign.program);
    // SAFETY: an interrupt from the keyboard is for gdb, which sets a handler of its own. Between fork and exec one
    // call that is safe there.
    unsafe {
        let before = libc::signal(libc::SIGINT, libc::SIG_IGN);
        command.pre_exec(move || {
            libc::signal(libc::SIGINT, before);
            Ok(())
        });
        let status = command.status();
        libc::signal(libc::SIGINT, before);
        status
    }
}

/// What gdb is to do.
fn commands(campaign: &Campaign, environment: &[(&str, OsString)], stop: &Stop, headline: &str) -> Vec<u8> {
    let mut text = BEGINNING.as_bytes().to_vec();
    match stop {
        Stop::Finding(_) => text.extend(b"tbreak fencepost_found\n"),
        Stop::Lines(lines) => {
            for (file, line) in lines {
                let file = file.replace('\\', "\\\\").replace('"', "\\\"");
                text.extend(format!("break -source \"{file}\" -line {line}\n").bytes());
            }
        }
    }
    // Not `set environment`: the shell that starts the program would get the runtime, too. And what gdb adds is not
    // the program's.
    text.extend(b"set exec-wrapper env");
    for name in ["LINES", "COLUMNS"] {
        match std::env::var_os(name) {
            Some(value) => assign(&mut text, name, &value),
            None => text.extend(format!(" -u {name}").bytes()),
        }
    }
    environment.iter().for_each(|(name, value)| assign(&mut text, name, value));
    text.extend(b"\nset args");
    for argument in &campaign.arguments {
        text.push(b' ');
        text.extend(quoted(argument.as_ref()));
    }
    text.extend(b" </dev/null\nrun\n");
    let headline: String =
        headline.chars().map(|c| if c.is_control() { ' ' } else { c }).collect::<String>().replace('\\', "\\\\");
    let stopped = if let Stop::Finding(_) = stop { STOPPED } else { STOPPED_AT_A_LINE };
    text.extend(stopped.replace("HEADLINE", &headline).bytes());
    text
}

fn assign(text: &mut Vec<u8>, name: &str, value: &OsStr) {
    text.extend(format!(" {name}=").bytes());
    text.extend(quoted(value));
}

/// A word of the shell.
fn quoted(text: &OsStr) -> Vec<u8> {
    let mut word = vec![b'\''];
    for byte in text.as_bytes() {
        match byte {
            b'\'' => word.extend(b"'\\''"),
            byte => word.push(*byte),
        }
    }
    word.push(b'\'');
    word
}

const BEGINNING: &str = "\
set confirm off
set print thread-events off
set disable-randomization on
set startup-with-shell on
set breakpoint pending on
handle SIGSEGV SIGBUS SIGILL SIGFPE SIGABRT SIGXCPU nostop noprint pass
define fencepost-threads
  dont-repeat
  set language c
  select-frame 0
  set $fencepost_sp = (unsigned long) $rsp
  set $fencepost_pc = (unsigned long) $rip
  set $fencepost_bp = (unsigned long) $rbp
  set $fencepost_bx = (unsigned long) $rbx
  set $fencepost_12 = (unsigned long) $r12
  set $fencepost_13 = (unsigned long) $r13
  set $fencepost_14 = (unsigned long) $r14
  set $fencepost_15 = (unsigned long) $r15
  set $fencepost_n = 0
  while $fencepost_n < *(unsigned long *) &fencepost_threads
    set $fencepost_at = ((unsigned long *) &fencepost_contexts)[$fencepost_n]
    if $fencepost_n == *(unsigned long *) &fencepost_thread
      printf \"thread %d: running\\n\", (int) $fencepost_n
      backtrace
    else
      if $fencepost_at == 0
        printf \"thread %d: ended\\n\", (int) $fencepost_n
      else
        printf \"thread %d: waiting\\n\", (int) $fencepost_n
        set $r15 = ((unsigned long *) $fencepost_at)[1]
        set $r14 = ((unsigned long *) $fencepost_at)[2]
        set $r13 = ((unsigned long *) $fencepost_at)[3]
        set $r12 = ((unsigned long *) $fencepost_at)[4]
        set $rbx = ((unsigned long *) $fencepost_at)[5]
        set $rbp = ((unsigned long *) $fencepost_at)[6]
        set $rsp = $fencepost_at + 64
        set $rip = ((unsigned long *) $fencepost_at)[7]
        backtrace
        select-frame 0
        set $r15 = $fencepost_15
        set $r14 = $fencepost_14
        set $r13 = $fencepost_13
        set $r12 = $fencepost_12
        set $rbx = $fencepost_bx
        set $rbp = $fencepost_bp
        set $rsp = $fencepost_sp
        set $rip = $fencepost_pc
      end
    end
    set $fencepost_n = $fencepost_n + 1
  end
  set language auto
  fencepost-here
end
document fencepost-threads
Where every thread of the program stands. They are fibers of one kernel thread, which gdb does not know of.
end
define fencepost-here
  dont-repeat
  set language c
  select-frame 0
  set $fencepost_i = 0
  while $fencepost_i < 100 && (unsigned long) $sp != *(unsigned long *) &fencepost_user_sp
    up-silently
    set $fencepost_i = $fencepost_i + 1
  end
  set language auto
  frame
end
document fencepost-here
Go to the innermost frame that is the program's.
end
";

const STOPPED: &str = "\
if $_isvoid($_exitcode)
  echo \\n
  echo HEADLINE\\n
  echo fencepost-threads shows where the other threads stand.\\n
  fencepost-here
else
  echo fencepost: the execution ended without its finding\\n
end
";

const STOPPED_AT_A_LINE: &str = "\
if $_isvoid($_exitcode)
  echo \\n
  echo HEADLINE\\n
  echo gdb stops at each of these accesses: continue goes on to the next.\\n
  frame
else
  echo fencepost: the execution ended without its finding\\n
end
";

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_survive_the_shell() {
        for word in ["plain", "two words", "it's", "$HOME `id` \\ \"x\""] {
            let mut script = b"printf %s ".to_vec();
            script.extend(quoted(word.as_ref()));
            let output = Command::new("sh").arg("-c").arg(OsStr::from_bytes(&script)).output().expect("a shell");
            assert_eq!(String::from_utf8_lossy(&output.stdout), word);
        }
    }
}
