//! System calls, made directly: they touch neither `errno` nor anything else of the program's.

use libc::c_long;
use std::arch::asm;

/// A system call; a negative answer is an error number.
///
/// # Safety
/// What the call does to memory must be right: pointers must be good for what it reads and writes.
#[inline(always)]
pub unsafe fn call(number: c_long, args: [usize; 6]) -> isize {
    let result: isize;
    // SAFETY: the kernel's calling convention; rcx and r11 are overwritten by the instruction. The caller answers for
    // the rest.
    unsafe {
        asm!(
            "syscall",
            inlateout("rax") number as isize => result,
            in("rdi") args[0],
            in("rsi") args[1],
            in("rdx") args[2],
            in("r10") args[3],
            in("r8") args[4],
            in("r9") args[5],
            lateout("rcx") _,
            lateout("r11") _,
            options(nostack)
        );
    }
    result
}

/// A call whose arguments are numbers only, or null.
fn plain(number: c_long, args: [usize; 6]) -> isize {
    // SAFETY: no pointers among the arguments of the calls below.
    unsafe { call(number, args) }
}

/// Reserves memory that takes no room until it is touched; at `address` if that is not 0.
pub fn reserve(address: usize, length: usize) -> Option<usize> {
    let mut flags = libc::MAP_PRIVATE | libc::MAP_ANONYMOUS | libc::MAP_NORESERVE;
    if address != 0 {
        flags |= libc::MAP_FIXED_NOREPLACE;
    }
    let protection = libc::PROT_READ | libc::PROT_WRITE;
    let at = plain(libc::SYS_mmap, [address, length, protection as usize, flags as usize, usize::MAX, 0]);
    (at > 0 && (address == 0 || at as usize == address)).then_some(at as usize)
}

/// Maps a file of which this process may write, shared with others.
pub fn map_shared(file: i32, length: usize) -> Option<usize> {
    let protection = libc::PROT_READ | libc::PROT_WRITE;
    let at = plain(libc::SYS_mmap, [0, length, protection as usize, libc::MAP_SHARED as usize, file as usize, 0]);
    (at > 0).then_some(at as usize)
}

/// Maps memory that children share with this process.
pub fn map_common(length: usize) -> Option<usize> {
    let (protection, flags) = (libc::PROT_READ | libc::PROT_WRITE, libc::MAP_SHARED | libc::MAP_ANONYMOUS);
    let at = plain(libc::SYS_mmap, [0, length, protection as usize, flags as usize, usize::MAX, 0]);
    (at > 0).then_some(at as usize)
}

/// The same at this address, without room until it is touched. False if that cannot be had.
pub fn map_common_at(address: usize, length: usize) -> bool {
    let protection = libc::PROT_READ | libc::PROT_WRITE;
    let flags = libc::MAP_SHARED | libc::MAP_ANONYMOUS | libc::MAP_NORESERVE | libc::MAP_FIXED_NOREPLACE;
    let arguments = [address, length, protection as usize, flags as usize, usize::MAX, 0];
    plain(libc::SYS_mmap, arguments) == address as isize
}

/// Gives the pages of such memory back, for all; they read as zero afterwards.
pub fn forget_common(address: usize, length: usize) {
    plain(libc::SYS_madvise, [address, length, libc::MADV_REMOVE as usize, 0, 0, 0]);
}

/// Maps a whole file for reading.
pub fn map_file(path: &[u8]) -> Option<&'static [u8]> {
    let file = open(path, libc::O_RDONLY | libc::O_CLOEXEC).ok()?;
    let length = plain(libc::SYS_lseek, [file as usize, 0, libc::SEEK_END as usize, 0, 0, 0]);
    let (protection, flags) = (libc::PROT_READ as usize, libc::MAP_PRIVATE as usize);
    let at = plain(libc::SYS_mmap, [0, length.max(0) as usize, protection, flags, file as usize, 0]);
    close(file);
    // SAFETY: just mapped, for reading, with this length.
    (at > 0).then(|| unsafe { std::slice::from_raw_parts(at as *const u8, length as usize) })
}

/// Says what may be done with whole pages of memory.
pub fn protect(address: usize, length: usize, protection: i32) -> bool {
    plain(libc::SYS_mprotect, [address, length, protection as usize, 0, 0, 0]) == 0
}

/// Gives the pages back; they read as zero afterwards.
pub fn discard(address: usize, length: usize) {
    plain(libc::SYS_madvise, [address, length, libc::MADV_DONTNEED as usize, 0, 0, 0]);
}

/// Asks for large pages where this memory is touched: one fault then does the work of 512. Only where large means
/// 2 MiB, and not half a gigabyte as with the largest pages of other processors.
pub fn prefer_large_pages(address: usize, length: usize) {
    if cfg!(target_arch = "x86_64") {
        plain(libc::SYS_madvise, [address, length, libc::MADV_HUGEPAGE as usize, 0, 0, 0]);
    }
}

pub fn unmap(address: usize, length: usize) {
    plain(libc::SYS_munmap, [address, length, 0, 0, 0, 0]);
}

/// Opens a file by its path, which ends with a 0.
pub fn open(path: &[u8], flags: i32) -> Result<i32, i32> {
    assert_eq!(path.last(), Some(&0), "a path for the kernel ends with 0");
    // SAFETY: the path is a string that ends.
    let result = unsafe {
        call(libc::SYS_openat, [libc::AT_FDCWD as usize, path.as_ptr() as usize, flags as usize, 0o600, 0, 0])
    };
    if result < 0 { Err(-result as i32) } else { Ok(result as i32) }
}

pub fn close(file: i32) {
    plain(libc::SYS_close, [file as usize, 0, 0, 0, 0, 0]);
}

/// How many of these files are ready now.
pub fn poll(files: &mut [libc::pollfd]) -> isize {
    // SAFETY: the list is as long as is said.
    unsafe { call(libc::SYS_poll, [files.as_mut_ptr() as usize, files.len(), 0, 0, 0, 0]) }
}

/// Is this a pipe without a name?
pub fn is_anonymous_pipe(file: i32) -> bool {
    /// What the kernel calls the file system that such pipes are in.
    const PIPEFS_MAGIC: libc::__fsword_t = 0x5049_5045;
    // SAFETY: any bits are a statfs; the kernel fills it in.
    let mut about: libc::statfs = unsafe { std::mem::zeroed() };
    // SAFETY: the structure is as large as the kernel takes it to be.
    let error = unsafe { call(libc::SYS_fstatfs, [file as usize, &raw mut about as usize, 0, 0, 0, 0]) };
    error == 0 && about.f_type == PIPEFS_MAGIC
}

/// Is there a file of this number?
pub fn is_open(file: i32) -> bool {
    plain(libc::SYS_fcntl, [file as usize, libc::F_GETFD as usize, 0, 0, 0, 0]) >= 0
}

/// The numbers below this one that have a file, and perhaps others.
pub fn open_below(end: i32) -> Vec<i32> {
    let mut files: Vec<libc::pollfd> = (0..end).map(|fd| libc::pollfd { fd, events: 0, revents: 0 }).collect();
    // Where fewer files are allowed the kernel says nothing, and all of them may be open.
    poll(&mut files);
    files.iter().filter(|file| file.revents & libc::POLLNVAL == 0).map(|file| file.fd).collect()
}

/// Is any of the `count` files from this number on open?
pub fn any_open(first: i32, count: usize) -> bool {
    const MOST: usize = 16;
    let mut files: [libc::pollfd; MOST] =
        std::array::from_fn(|i| libc::pollfd { fd: first + i as i32, events: 0, revents: 0 });
    let files = &mut files[..count.min(MOST)];
    poll(files);
    files.iter().any(|file| file.revents & libc::POLLNVAL == 0)
}

pub fn enter_directory(directory: i32) {
    plain(libc::SYS_fchdir, [directory as usize, 0, 0, 0, 0, 0]);
}

pub fn set_file_mask(mask: u32) {
    plain(libc::SYS_umask, [mask as usize, 0, 0, 0, 0, 0]);
}

/// No timer of the process runs any more.
pub fn stop_timers() {
    let off = [0usize; 4];
    for timer in [libc::ITIMER_REAL, libc::ITIMER_VIRTUAL, libc::ITIMER_PROF] {
        // SAFETY: the value is read from a variable of the right size; the old one is not asked for.
        unsafe { call(libc::SYS_setitimer, [timer as usize, off.as_ptr() as usize, 0, 0, 0, 0]) };
    }
}

/// Takes signals that are pending, whatever they are, and forgets them.
pub fn forget_signals() {
    while take_signal(u64::MAX).is_some() {}
}

/// Takes one of these signals, if it is pending; a mask as the kernel has it.
pub fn take_signal(mask: u64) -> Option<i32> {
    let now = [0usize; 2];
    // SAFETY: a mask of the size that is said, and a time.
    let taken =
        unsafe { call(libc::SYS_rt_sigtimedwait, [&raw const mask as usize, 0, now.as_ptr() as usize, 8, 0, 0]) };
    (taken > 0).then_some(taken as i32)
}

/// The signals that are pending, as a mask.
pub fn pending_signals() -> u64 {
    let mut pending = 0u64;
    // SAFETY: a mask of the size that is said.
    unsafe { call(libc::SYS_rt_sigpending, [&raw mut pending as usize, 8, 0, 0, 0, 0]) };
    pending
}

/// The signals that are blocked, as a mask.
pub fn blocked_signals() -> u64 {
    let mut blocked = 0u64;
    // SAFETY: no new mask, and one of the size that is said for the old one.
    unsafe { call(libc::SYS_rt_sigprocmask, [0, 0, &raw mut blocked as usize, 8, 0, 0]) };
    blocked
}

/// How a file is read and written.
pub fn file_flags(file: i32) -> i32 {
    plain(libc::SYS_fcntl, [file as usize, libc::F_GETFL as usize, 0, 0, 0, 0]) as i32
}

pub fn set_file_flags(file: i32, flags: i32) {
    plain(libc::SYS_fcntl, [file as usize, libc::F_SETFL as usize, flags as usize, 0, 0, 0]);
}

/// The name of the kernel thread, as a string that ends with 0.
pub fn thread_name() -> [u8; 16] {
    let mut name = [0; 16];
    // SAFETY: the kernel writes at most 16 bytes.
    unsafe { call(libc::SYS_prctl, [libc::PR_GET_NAME as usize, name.as_mut_ptr() as usize, 0, 0, 0, 0]) };
    name
}

pub fn set_thread_name(name: &[u8; 16]) {
    // SAFETY: the kernel reads at most 16 bytes.
    unsafe { call(libc::SYS_prctl, [libc::PR_SET_NAME as usize, name.as_ptr() as usize, 0, 0, 0, 0]) };
}

/// Closes every file in this range of numbers.
pub fn close_range(first: i32, last: i32) {
    plain(libc::SYS_close_range, [first as usize, last as usize, 0, 0, 0, 0]);
}

pub fn read(file: i32, buffer: &mut [u8]) -> isize {
    // SAFETY: the buffer is as long as is said.
    unsafe { call(libc::SYS_read, [file as usize, buffer.as_mut_ptr() as usize, buffer.len(), 0, 0, 0]) }
}

pub fn read_at(file: i32, buffer: &mut [u8], offset: usize) -> isize {
    // SAFETY: the buffer is as long as is said.
    unsafe { call(libc::SYS_pread64, [file as usize, buffer.as_mut_ptr() as usize, buffer.len(), offset, 0, 0]) }
}

pub fn write(file: i32, text: &[u8]) {
    // SAFETY: the text is as long as is said.
    unsafe { call(libc::SYS_write, [file as usize, text.as_ptr() as usize, text.len(), 0, 0, 0]) };
}

/// Puts a file with these bytes in the place of the one of this name: whoever looks finds the one or the other, whole.
pub fn replace_file(path: &[u8], bytes: &[u8]) -> Result<(), i32> {
    let (path, other) = ([path, &[0]].concat(), [path, b".new\0"].concat());
    let file = create(&other)?;
    let written = write_all(file, bytes);
    close(file);
    if let Err(error) = written {
        // SAFETY: the path is a string that ends.
        unsafe { call(libc::SYS_unlink, [other.as_ptr() as usize, 0, 0, 0, 0, 0]) };
        return Err(error);
    }
    // SAFETY: both paths are strings that end.
    let renamed = unsafe { call(libc::SYS_rename, [other.as_ptr() as usize, path.as_ptr() as usize, 0, 0, 0, 0]) };
    if renamed < 0 { Err(-renamed as i32) } else { Ok(()) }
}

fn write_all(file: i32, mut bytes: &[u8]) -> Result<(), i32> {
    while !bytes.is_empty() {
        // SAFETY: the text is as long as is said.
        let written = unsafe { call(libc::SYS_write, [file as usize, bytes.as_ptr() as usize, bytes.len(), 0, 0, 0]) };
        match written {
            n if n > 0 => bytes = &bytes[n as usize..],
            n if n == -(libc::EINTR as isize) => {}
            n => return Err(-n as i32),
        }
    }
    Ok(())
}

/// Creates a file by its path, which ends with a 0, or empties it.
fn create(path: &[u8]) -> Result<i32, i32> {
    let flags = libc::O_WRONLY | libc::O_CREAT | libc::O_TRUNC | libc::O_CLOEXEC;
    let arguments = [libc::AT_FDCWD as usize, path.as_ptr() as usize, flags as usize, 0o666, 0, 0];
    // SAFETY: the path is a string that ends.
    let file = unsafe { call(libc::SYS_openat, arguments) };
    if file < 0 { Err(-file as i32) } else { Ok(file as i32) }
}

/// Where the file stands: for one that only grows, its length.
pub fn position(file: i32) -> usize {
    plain(libc::SYS_lseek, [file as usize, 0, libc::SEEK_CUR as usize, 0, 0, 0]).max(0) as usize
}

/// Goes to the beginning of a file.
pub fn rewind(file: i32) {
    plain(libc::SYS_lseek, [file as usize, 0, libc::SEEK_SET as usize, 0, 0, 0]);
}

/// Empties a file.
pub fn truncate(file: i32) {
    plain(libc::SYS_ftruncate, [file as usize, 0, 0, 0, 0, 0]);
    rewind(file);
}

/// A file in memory that no path names.
pub fn memory_file(name: &[u8]) -> Option<i32> {
    assert_eq!(name.last(), Some(&0), "a name for the kernel ends with 0");
    // SAFETY: the name is a string that ends.
    let file =
        unsafe { call(libc::SYS_memfd_create, [name.as_ptr() as usize, libc::MFD_CLOEXEC as usize, 0, 0, 0, 0]) };
    (file >= 0).then_some(file as i32)
}

/// The number of the device that this file is, if it is one.
pub fn device(file: i32) -> Option<u64> {
    // SAFETY: any bits are such a structure; the kernel fills it in.
    let (error, about) = unsafe {
        let mut about: libc::stat = std::mem::zeroed();
        (call(libc::SYS_fstat, [file as usize, &raw mut about as usize, 0, 0, 0, 0]), about)
    };
    (error == 0 && about.st_mode & libc::S_IFMT == libc::S_IFCHR).then_some(about.st_rdev)
}

/// Makes `to` another name of `from`.
pub fn duplicate(from: i32, to: i32) {
    plain(libc::SYS_dup2, [from as usize, to as usize, 0, 0, 0, 0]);
}

/// Another name of `from`, numbered `least` or higher.
pub fn duplicate_above(from: i32, least: i32) -> i32 {
    plain(libc::SYS_fcntl, [from as usize, libc::F_DUPFD_CLOEXEC as usize, least as usize, 0, 0, 0]) as i32
}

/// Ends the process, now.
pub fn exit(status: i32) -> ! {
    plain(libc::SYS_exit_group, [status as usize, 0, 0, 0, 0, 0]);
    unreachable!("the kernel has ended the process")
}

/// A child process that is a copy of this one; 0 in the child.
pub fn fork() -> isize {
    plain(libc::SYS_fork, [0; 6])
}

/// The directory that the process is in.
pub fn directory() -> Vec<u8> {
    let mut path = vec![0; 4096];
    // SAFETY: the buffer is as long as is said.
    let length = unsafe { call(libc::SYS_getcwd, [path.as_mut_ptr() as usize, path.len(), 0, 0, 0, 0]) };
    path.truncate(length.max(0) as usize);
    path
}

/// Are there child processes, ended or not?
pub fn has_children() -> bool {
    let options = libc::WEXITED | libc::WNOHANG | libc::WNOWAIT;
    plain(libc::SYS_waitid, [libc::P_ALL as usize, 0, 0, options as usize, 0, 0]) != -(libc::ECHILD as isize)
}

/// When the process that made this one dies, this one does.
pub fn die_with_parent() {
    plain(libc::SYS_prctl, [libc::PR_SET_PDEATHSIG as usize, libc::SIGKILL as usize, 0, 0, 0, 0]);
}

/// Sends a signal to the running kernel thread.
pub fn raise(signal: i32) {
    let thread = plain(libc::SYS_gettid, [0; 6]);
    plain(libc::SYS_tgkill, [process() as usize, thread as usize, signal as usize, 0, 0, 0]);
}

/// Lets a millisecond of real time pass.
pub fn sleep_a_little() {
    let time = [0usize, 1_000_000];
    // SAFETY: a time; what is left of it is not asked for.
    unsafe { call(libc::SYS_nanosleep, [time.as_ptr() as usize, 0, 0, 0, 0, 0]) };
}

/// The number of this process.
pub fn process() -> i32 {
    plain(libc::SYS_getpid, [0; 6]) as i32
}

/// Sends a signal.
pub fn kill(process: i32, signal: i32) {
    plain(libc::SYS_kill, [process as usize, signal as usize, 0, 0, 0, 0]);
}

/// Waits for a child; its status as `wait` gives it.
pub fn wait_for(child: i32) -> i32 {
    let mut status = 0i32;
    loop {
        // SAFETY: the status is written to a variable that lives long enough.
        let result = unsafe { call(libc::SYS_wait4, [child as usize, &raw mut status as usize, 0, 0, 0, 0]) };
        if result != -(libc::EINTR as isize) {
            return status;
        }
    }
}

/// The status of a child that has ended; `None` if it has not.
pub fn has_ended(child: i32) -> Option<i32> {
    let mut status = 0i32;
    let options = libc::WNOHANG as usize;
    // SAFETY: the status is written to a variable that lives long enough.
    let result = unsafe { call(libc::SYS_wait4, [child as usize, &raw mut status as usize, options, 0, 0, 0]) };
    (result != 0 && result != -(libc::EINTR as isize)).then_some(status)
}

/// Waits so many nanoseconds, less than a second, or until a signal comes.
pub fn pause(nanoseconds: u32) {
    let time = libc::timespec { tv_sec: 0, tv_nsec: nanoseconds.into() };
    // SAFETY: the time lives long enough.
    unsafe { call(libc::SYS_nanosleep, [&raw const time as usize, 0, 0, 0, 0, 0]) };
}

/// The system's monotonic clock, in nanoseconds.
pub fn monotonic() -> u64 {
    let mut time = libc::timespec { tv_sec: 0, tv_nsec: 0 };
    // SAFETY: the time is written to a variable that lives long enough.
    unsafe { call(libc::SYS_clock_gettime, [libc::CLOCK_MONOTONIC as usize, &raw mut time as usize, 0, 0, 0, 0]) };
    time.tv_sec as u64 * 1_000_000_000 + time.tv_nsec as u64
}

/// Sends this process a signal again and again, at this interval in nanoseconds, with a value by which a handler knows
/// it. Gives the timer, if there is one.
pub fn signal_every(signal: i32, nanoseconds: u64, value: usize) -> Option<i32> {
    let part = libc::timespec {
        tv_sec: (nanoseconds / 1_000_000_000) as libc::time_t,
        tv_nsec: (nanoseconds % 1_000_000_000) as libc::c_long,
    };
    let times = libc::itimerspec { it_interval: part, it_value: part };
    let mut timer = 0i32;
    // SAFETY: plain data for the kernel, which lives long enough; all bits zero are a sigevent.
    unsafe {
        let mut event: libc::sigevent = std::mem::zeroed();
        (event.sigev_notify, event.sigev_signo) = (libc::SIGEV_SIGNAL, signal);
        event.sigev_value.sival_ptr = value as *mut libc::c_void;
        let (event, timer_at) = (&raw const event as usize, &raw mut timer as usize);
        if call(libc::SYS_timer_create, [libc::CLOCK_MONOTONIC as usize, event, timer_at, 0, 0, 0]) != 0 {
            return None;
        }
        call(libc::SYS_timer_settime, [timer as usize, 0, &raw const times as usize, 0, 0, 0]);
    }
    Some(timer)
}

/// There is no such timer any more.
pub fn delete_timer(timer: i32) {
    plain(libc::SYS_timer_delete, [timer as usize, 0, 0, 0, 0, 0]);
}

/// Lets others run.
pub fn give_way() {
    plain(libc::SYS_sched_yield, [0; 6]);
}

/// Waits while the word holds `value`.
pub fn futex_wait(word: &std::sync::atomic::AtomicU32, value: u32) {
    let operation = libc::FUTEX_WAIT | libc::FUTEX_PRIVATE_FLAG;
    // SAFETY: the word lives as long as the reference; there is no timeout.
    unsafe { call(libc::SYS_futex, [word.as_ptr() as usize, operation as usize, value as usize, 0, 0, 0]) };
}

/// Wakes one who waits on the word.
pub fn futex_wake(word: &std::sync::atomic::AtomicU32) {
    let operation = libc::FUTEX_WAKE | libc::FUTEX_PRIVATE_FLAG;
    // SAFETY: the word lives as long as the reference.
    unsafe { call(libc::SYS_futex, [word.as_ptr() as usize, operation as usize, 1, 0, 0, 0]) };
}

/// Replaces the mask of blocked signals; gives the old one.
pub fn signal_mask(mask: u64) -> u64 {
    let mut old = 0u64;
    // SAFETY: both masks are words of the size that is said.
    unsafe {
        call(
            libc::SYS_rt_sigprocmask,
            [libc::SIG_SETMASK as usize, &raw const mask as usize, &raw mut old as usize, 8, 0, 0],
        )
    };
    old
}

/// The whole of a file in `/proc`, whose length cannot be asked for.
pub fn read_whole(path: &[u8]) -> Vec<u8> {
    let mut text = Vec::new();
    let Ok(file) = open(path, libc::O_RDONLY | libc::O_CLOEXEC) else { return text };
    let mut piece = [0; 4096];
    loop {
        match read(file, &mut piece) {
            n if n > 0 => text.extend_from_slice(&piece[..n as usize]),
            _ => break,
        }
    }
    close(file);
    text
}
