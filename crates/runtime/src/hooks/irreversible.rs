//! Calls whose effect a restart in place cannot undo: each is announced before it is made.

use super::{kernel, watch};
use crate::drive::restart::irreversible;
use crate::platform::modules;
use crate::results;

macro_rules! irreversible_calls {
    ($($name:ident)*) => { $(watch! { fn $name() { irreversible(concat!(stringify!($name), "()")) } })* };
}

// Other processes.
irreversible_calls! { clone posix_spawn posix_spawnp system popen daemon forkpty }

// Who the process is, and what it may do.
irreversible_calls! {
    setuid seteuid setreuid setresuid setgid setegid setregid setresgid setgroups initgroups setpgid setpgrp setsid
    chroot unshare setns ptrace nice setpriority
    setrlimit setrlimit64
}

// Code and memory that others may hold on to.
irreversible_calls! { shmat sem_open mq_open brk mlockall }

macro_rules! opens_library {
    ($($name:ident)*) => { $(watch! { fn $name() {
        irreversible(concat!(stringify!($name), "()"));
        modules::will_grow();
    } })* };
}

opens_library! { dlopen dlmopen }

watch! { fn sbrk(more: isize) {
    if more != 0 {
        irreversible("sbrk()");
    }
} }

watch! { fn prlimit(_process: i32, _which: i32, new: usize) {
    if new != 0 {
        irreversible("prlimit()");
    }
} }

watch! { fn prlimit64(_process: i32, _which: i32, new: usize) {
    if new != 0 {
        irreversible("prlimit64()");
    }
} }

watch! { fn prctl(option: i32) {
    // Questions leave nothing behind, and a name is put back.
    const HARMLESS: [i32; 6] = [
        libc::PR_SET_NAME, libc::PR_GET_NAME, libc::PR_GET_DUMPABLE, libc::PR_GET_PDEATHSIG, libc::PR_GET_SECCOMP,
        libc::PR_GET_NO_NEW_PRIVS,
    ];
    if option == libc::PR_SET_NAME {
        kernel::named();
    }
    if !HARMLESS.contains(&option) {
        irreversible("prctl()");
    }
} }

watch! { fn personality(persona: u64) {
    if persona != 0xffff_ffff {
        irreversible("personality()");
    }
} }

macro_rules! another_program {
    ($($name:ident)*) => { $(watch! { fn $name() {
        irreversible(concat!(stringify!($name), "()"));
        results::becomes_another();
    } })* };
}

another_program! { execve execv execvp execvpe execl execlp execle fexecve execveat }

/// Does this system call leave something behind that cannot be undone? Those that a hook would see under their own
/// name, and others of which nobody knows.
pub fn leaves_something(number: i64) -> bool {
    // What asks, waits, or works on files that are closed afterwards.
    const HARMLESS: &[i64] = &[
        libc::SYS_access,
        libc::SYS_faccessat,
        libc::SYS_faccessat2,
        libc::SYS_stat,
        libc::SYS_fstat,
        libc::SYS_lstat,
        libc::SYS_newfstatat,
        libc::SYS_statfs,
        libc::SYS_fstatfs,
        libc::SYS_readlink,
        libc::SYS_readlinkat,
        libc::SYS_getcwd,
        libc::SYS_uname,
        libc::SYS_getrusage,
        libc::SYS_times,
        libc::SYS_sysinfo,
        libc::SYS_getrlimit,
        libc::SYS_getpriority,
        libc::SYS_getpgid,
        libc::SYS_getsid,
        libc::SYS_getpgrp,
        libc::SYS_getresuid,
        libc::SYS_getresgid,
        libc::SYS_getgroups,
        libc::SYS_getdents64,
        libc::SYS_poll,
        libc::SYS_ppoll,
        libc::SYS_select,
        libc::SYS_pselect6,
        libc::SYS_mincore,
        libc::SYS_fsync,
        libc::SYS_fdatasync,
        libc::SYS_clock_getres,
        libc::SYS_getitimer,
        libc::SYS_capget,
        libc::SYS_get_mempolicy,
        libc::SYS_sched_getparam,
        libc::SYS_sched_getscheduler,
        libc::SYS_getrandom,
        libc::SYS_gettid,
        libc::SYS_getpid,
        libc::SYS_getppid,
        libc::SYS_getuid,
        libc::SYS_geteuid,
        libc::SYS_getgid,
        libc::SYS_getegid,
        libc::SYS_getcpu,
        libc::SYS_membarrier,
        libc::SYS_sched_yield,
        libc::SYS_gettimeofday,
        libc::SYS_clock_gettime,
        libc::SYS_time,
        libc::SYS_read,
        libc::SYS_write,
        libc::SYS_pread64,
        libc::SYS_pwrite64,
        libc::SYS_open,
        libc::SYS_openat,
        libc::SYS_close,
        libc::SYS_memfd_create,
        libc::SYS_eventfd2,
        libc::SYS_epoll_create1,
        libc::SYS_epoll_ctl,
        libc::SYS_epoll_wait,
        libc::SYS_pidfd_open,
        libc::SYS_statx,
        libc::SYS_nanosleep,
        libc::SYS_clock_nanosleep,
        libc::SYS_tgkill,
        libc::SYS_sched_getaffinity,
        libc::SYS_rt_sigpending,
    ];
    !HARMLESS.contains(&number)
}
