//! Functions of libc that read and write strings and other memory of the program's: races on what they are given are
//! the program's own.
//!
//! Those that the runtime itself needs before anything is prepared are in [`strings`](super::strings). What a
//! function will access is said before it runs. It then runs in the program's name, so that none of its arguments
//! must be understood. The runtime and the libraries it is made of call some of these functions, too: such a call
//! goes straight on.

use super::files::opens as files_opened;
use super::{access, at_work, stdio};
use crate::detect::shadow::{READ, WRITE};
use crate::platform::global::{self, active};
use crate::platform::real::{Entry, real};
use fencepost_runtime_core::format::{self, Argument};
use libc::{c_char, c_int};

/// Pointers below this are errors, of which the function itself will tell.
const LOWEST: usize = 1 << 16;

/// The program lets libc read here.
pub fn read(address: usize, length: usize) {
    if active() && address >= LOWEST {
        access::by_library(address, length, READ, global::caller());
    }
}

/// The program lets libc write here.
pub fn write(address: usize, length: usize) {
    if active() && address >= LOWEST {
        crate::drive::explored::unseen::announced(address, length);
        access::by_library(address, length, WRITE, global::caller());
    }
}

/// The length of a string, at most `most`.
fn length(text: usize, most: usize) -> usize {
    if text < LOWEST { 0 } else { real!(strnlen(text, most): fn(usize, usize) -> usize) }
}

/// How many bytes a function reads that looks for the end of a string, or for `most` bytes.
fn span(text: usize, most: usize) -> usize {
    length(text, most).saturating_add(1).min(most)
}

/// libc has written a string here, into a buffer of this size.
pub fn wrote_text(to: usize, room: usize) {
    if active() {
        write(to, span(to, room));
    }
}

/// Reads a whole string, with its end.
fn read_text(text: usize) {
    read(text, span(text, usize::MAX));
}

/// Reads two strings up to where they differ, ignoring case or not.
fn read_both(one: usize, two: usize, most: usize, same: impl Fn(u8, u8) -> bool) {
    if one < LOWEST || two < LOWEST {
        return;
    }
    // SAFETY: strings of the program's: bytes up to the end of the shorter one are there.
    let byte = |text: usize, i: usize| unsafe { *((text + i) as *const u8) };
    let end = (0..most).find(|i| byte(one, *i) == 0 || !same(byte(one, *i), byte(two, *i)));
    let length = end.map_or(most, |i| i + 1);
    read(one, length);
    read(two, length);
}

/// Reads a string up to the place that a search in it gave, or all of it.
fn read_until(text: usize, found: usize) {
    match found {
        0 => read_text(text),
        _ => read(text, found - text + 1),
    }
}

/// Defines functions that say what they access, and then do it.
macro_rules! announces {
    ($(fn $name:ident($($arg:ident: $ty:ty),* $(,)?) $body:block)*) => { $(
        #[allow(non_snake_case)]
        mod $name {
            use super::*;
            #[unsafe(link_section = "fencepost_real")]
            pub static ENTRY: Entry = Entry::new(concat!(stringify!($name), "\0"));
            pub extern "C-unwind" fn before($($arg: $ty),*) -> usize {
                if active() $body
                ENTRY.get()
            }
        }
        thunk!($name, "");
    )* };
}

/// The same for functions that take arguments of any number and kind: they are handed over as a [`List`].
macro_rules! announces_any {
    ($(fn $name:ident($fixed:literal, $list:ident) $body:block)*) => { $(
        #[allow(non_snake_case)]
        mod $name {
            use super::*;
            #[unsafe(link_section = "fencepost_real")]
            pub static ENTRY: Entry = Entry::new(concat!(stringify!($name), "\0"));
            pub extern "C-unwind" fn before(saved: &Saved) -> usize {
                if active() {
                    let registers = saved.registers();
                    let $list = (saved, List::new(&registers, saved, $fixed));
                    $body
                }
                ENTRY.get()
            }
        }
        thunk!($name, "mov rdi, rsp");
    )* };
}

macro_rules! thunk {
    ($name:ident, $argument:literal) => {
        #[doc(hidden)]
        #[unsafe(no_mangle)]
        #[unsafe(naked)]
        pub unsafe extern "C-unwind" fn $name() {
            std::arch::naked_asm!(
                "cmp byte ptr [rip + {mode}], 0",
                "jne 2f",
                "mov r11, [rip + {real} + 8]",
                "test r11, r11",
                "je 2f",
                "jmp r11",
                "2:",
                "mov r11, [rsp]",
                "mov [rip + {pc}], r11",
                "mov [rip + {sp}], rsp",
                "mov dword ptr [rip + {asks}], 0",
                "push rdi",
                "push rsi",
                "push rdx",
                "push rcx",
                "push r8",
                "push r9",
                "push rax",
                "sub rsp, 128",
                "movups [rsp], xmm0",
                "movups [rsp + 16], xmm1",
                "movups [rsp + 32], xmm2",
                "movups [rsp + 48], xmm3",
                "movups [rsp + 64], xmm4",
                "movups [rsp + 80], xmm5",
                "movups [rsp + 96], xmm6",
                "movups [rsp + 112], xmm7",
                $argument,
                "call {before}",
                "mov r11, rax",
                "movups xmm0, [rsp]",
                "movups xmm1, [rsp + 16]",
                "movups xmm2, [rsp + 32]",
                "movups xmm3, [rsp + 48]",
                "movups xmm4, [rsp + 64]",
                "movups xmm5, [rsp + 80]",
                "movups xmm6, [rsp + 96]",
                "movups xmm7, [rsp + 112]",
                "add rsp, 128",
                "pop rax",
                "pop r9",
                "pop r8",
                "pop rcx",
                "pop rdx",
                "pop rsi",
                "pop rdi",
                "jmp r11",
                mode = sym global::MODE,
                real = sym $name::ENTRY,
                pc = sym global::CALLER_PC,
                sp = sym global::CALLER_SP,
                asks = sym global::CALLER_ASKS,
                before = sym $name::before,
            )
        }
    };
}

announces! {
    fn strdup(text: usize) { read_text(text) }
    fn strndup(text: usize, most: usize) { read(text, span(text, most)) }
    fn __strcpy_chk(to: usize, from: usize) { copy(to, from) }
    fn __stpcpy_chk(to: usize, from: usize) { copy(to, from) }
    fn __strncpy_chk(to: usize, from: usize, most: usize) { copy_all(to, from, most) }
    fn stpncpy(to: usize, from: usize, most: usize) { copy_all(to, from, most) }
    fn __strcat_chk(to: usize, from: usize) { append(to, from, usize::MAX) }
    fn __strncat_chk(to: usize, from: usize, most: usize) { append(to, from, most) }
    fn strcoll(one: usize, two: usize) { read_both(one, two, usize::MAX, |a, b| a == b) }
    fn strcasecmp(one: usize, two: usize) { read_both(one, two, usize::MAX, |a, b| a.eq_ignore_ascii_case(&b)) }
    fn strncasecmp(one: usize, two: usize, most: usize) { read_both(one, two, most, |a, b| a.eq_ignore_ascii_case(&b)) }
    fn index(text: usize, byte: c_int) { find(text, byte) }
    fn strchrnul(text: usize, byte: c_int) { find(text, byte) }
    fn strrchr(text: usize) { read_text(text) }
    fn rindex(text: usize) { read_text(text) }
    fn strstr(text: usize, part: usize) { read_text(part); read_text(text) }
    fn strcasestr(text: usize, part: usize) { read_text(part); read_text(text) }
    fn strspn(text: usize, set: usize) { read_text(set); read_text(text) }
    fn strcspn(text: usize, set: usize) { read_text(set); read_text(text) }
    fn strpbrk(text: usize, set: usize) { read_text(set); read_text(text) }
    fn strtok(text: usize, set: usize) { read_text(set); cut(text) }
    fn strtok_r(text: usize, set: usize, rest: usize) { read_text(set); write(rest, 8); cut(text) }
    fn strsep(rest: usize, set: usize) { read_text(set); write(rest, 8) }
    fn strtol(text: usize, end: usize) { read_text(text); write(end, 8) }
    fn strtoll(text: usize, end: usize) { read_text(text); write(end, 8) }
    fn strtoul(text: usize, end: usize) { read_text(text); write(end, 8) }
    fn strtoull(text: usize, end: usize) { read_text(text); write(end, 8) }
    fn strtod(text: usize, end: usize) { read_text(text); write(end, 8) }
    fn strtof(text: usize, end: usize) { read_text(text); write(end, 8) }
    fn strtold(text: usize, end: usize) { read_text(text); write(end, 8) }
    fn __isoc23_strtol(text: usize, end: usize) { read_text(text); write(end, 8) }
    fn __isoc23_strtoll(text: usize, end: usize) { read_text(text); write(end, 8) }
    fn __isoc23_strtoul(text: usize, end: usize) { read_text(text); write(end, 8) }
    fn __isoc23_strtoull(text: usize, end: usize) { read_text(text); write(end, 8) }
    fn atoi(text: usize) { read_text(text) }
    fn atol(text: usize) { read_text(text) }
    fn atoll(text: usize) { read_text(text) }
    fn atof(text: usize) { read_text(text) }

    fn memrchr(start: usize, _byte: c_int, length: usize) { read(start, length) }
    fn memmem(start: usize, length: usize, part: usize, size: usize) { read(part, size); read(start, length) }
    fn __mempcpy_chk(to: usize, from: usize, length: usize) { read(from, length); write(to, length) }
    fn memccpy(to: usize, from: usize, byte: c_int, length: usize) {
        let found = real!(memchr(from, byte, length): fn(usize, c_int, usize) -> usize);
        let length = if found == 0 { length } else { found - from + 1 };
        read(from, length);
        write(to, length)
    }
    fn bcopy(from: usize, to: usize, length: usize) { read(from, length); write(to, length) }
    fn explicit_bzero(to: usize, length: usize) { write(to, length) }
    fn wcslen(text: usize) { read(text, wide(text)) }
    fn wcscpy(to: usize, from: usize) { let length = wide(from); read(from, length); write(to, length) }
    fn wmemcpy(to: usize, from: usize, count: usize) { read(from, 4 * count); write(to, 4 * count) }
    fn wmemset(to: usize, _value: c_int, count: usize) { write(to, 4 * count) }
    fn qsort(list: usize, count: usize, size: usize) { write(list, count * size) }
    fn frexp(exponent: usize) { write(exponent, 4) }
    fn modf(whole: usize) { write(whole, 8) }
    fn remquo(quotient: usize) { write(quotient, 4) }
    fn lgamma_r(sign: usize) { write(sign, 4) }
    fn sincos(sine: usize, cosine: usize) { write(sine, 8); write(cosine, 8) }
    fn rand_r(state: usize) { write(state, 4) }

    fn pipe(files: usize) { at_work(files_opened); write(files, 8) }
    fn pipe2(files: usize) { at_work(files_opened); write(files, 8) }
    fn socketpair(_domain: c_int, _type: c_int, _protocol: c_int, files: usize) {
        at_work(files_opened);
        write(files, 8)
    }
    fn getcwd(to: usize) { write(to, 1) }
    fn gethostname(to: usize) { write(to, 1) }
    fn clock_getres(_clock: c_int, result: usize) { write(result, 16) }
    fn getrusage(_who: c_int, result: usize) { write(result, size_of::<libc::rusage>()) }
    fn times(result: usize) { write(result, size_of::<libc::tms>()) }
    fn asctime_r(time: usize, result: usize) { read(time, size_of::<libc::tm>()); write(result, 26) }
    fn ctime_r(time: usize, result: usize) { read(time, 8); write(result, 26) }
    fn strftime(_to: usize, _most: usize, format: usize, time: usize) {
        read_text(format);
        read(time, size_of::<libc::tm>())
    }

    fn gmtime_r(time: usize, result: usize) { read(time, 8); write(result, size_of::<libc::tm>()) }
    fn localtime_r(time: usize, result: usize) { read(time, 8); write(result, size_of::<libc::tm>()) }
    fn mktime(time: usize) { write(time, size_of::<libc::tm>()) }
    fn stat(path: usize, result: usize) { read_text(path); write(result, size_of::<libc::stat>()) }
    fn lstat(path: usize, result: usize) { read_text(path); write(result, size_of::<libc::stat>()) }
    fn fstat(_file: c_int, result: usize) { write(result, size_of::<libc::stat>()) }
    fn unlink(path: usize) { read_text(path) }
    fn getenv(name: usize) { read_text(name) }

    fn puts(text: usize) { stdio::prints(None); read_text(text) }
    fn perror(text: usize) { stdio::prints(None); read_text(text) }
    fn fputs(text: usize, stream: usize) { stdio::prints(Some(stream)); read_text(text) }
    fn fwrite(data: usize, size: usize, count: usize, stream: usize) {
        stdio::prints(Some(stream));
        read(data, size.saturating_mul(count))
    }
    fn vprintf(format: usize, list: &List) { stdio::prints(None); read_format(format, *list) }
    fn __vprintf_chk(_flag: c_int, format: usize, list: &List) { stdio::prints(None); read_format(format, *list) }
    fn vfprintf(stream: usize, format: usize, list: &List) { stdio::prints(Some(stream)); read_format(format, *list) }
    fn vsprintf(to: usize, format: usize, list: &List) { prints_to(to, usize::MAX, format, *list) }
    fn vsnprintf(to: usize, most: usize, format: usize, list: &List) { prints_to(to, most, format, *list) }
    fn __vsnprintf_chk(to: usize, most: usize, _flag: c_int, _size: usize, format: usize, list: &List) {
        prints_to(to, most, format, *list)
    }
}

announces_any! {
    fn printf(1, call) { stdio::prints(None); read_format(call.0.rdi, call.1) }
    fn __printf_chk(2, call) { stdio::prints(None); read_format(call.0.rsi, call.1) }
    fn fprintf(2, call) { stdio::prints(Some(call.0.rdi)); read_format(call.0.rsi, call.1) }
    fn __fprintf_chk(3, call) { stdio::prints(Some(call.0.rdi)); read_format(call.0.rdx, call.1) }
    fn dprintf(2, call) { read_format(call.0.rsi, call.1) }
    fn asprintf(2, call) { write(call.0.rdi, 8); read_format(call.0.rsi, call.1) }
    fn __asprintf_chk(3, call) { write(call.0.rdi, 8); read_format(call.0.rdx, call.1) }
    fn sscanf(2, call) { read_text(call.0.rdi); scans(call.0.rsi, call.1) }
    fn __isoc99_sscanf(2, call) { read_text(call.0.rdi); scans(call.0.rsi, call.1) }
    fn __isoc23_sscanf(2, call) { read_text(call.0.rdi); scans(call.0.rsi, call.1) }
    fn fscanf(2, call) { scans(call.0.rsi, call.1) }
    fn __isoc99_fscanf(2, call) { scans(call.0.rsi, call.1) }
    fn __isoc23_fscanf(2, call) { scans(call.0.rsi, call.1) }
    fn scanf(1, call) { scans(call.0.rdi, call.1) }
    fn __isoc99_scanf(1, call) { scans(call.0.rdi, call.1) }
    fn __isoc23_scanf(1, call) { scans(call.0.rdi, call.1) }
    fn sprintf(2, call) { prints_to(call.0.rdi, usize::MAX, call.0.rsi, call.1) }
    fn __sprintf_chk(4, call) { prints_to(call.0.rdi, usize::MAX, call.0.rcx, call.1) }
    fn snprintf(3, call) { prints_to(call.0.rdi, call.0.rsi, call.0.rdx, call.1) }
    fn __snprintf_chk(5, call) { prints_to(call.0.rdi, call.0.rsi, call.0.r8, call.1) }
}

fn copy(to: usize, from: usize) {
    let length = span(from, usize::MAX);
    read(from, length);
    write(to, length);
}

/// What is left of `most` behind the string is filled.
fn copy_all(to: usize, from: usize, most: usize) {
    read(from, span(from, most));
    write(to, most);
}

fn append(to: usize, from: usize, most: usize) {
    let end = length(to, usize::MAX);
    read(to, end + 1);
    read(from, span(from, most));
    write(to + end, length(from, most) + 1);
}

fn find(text: usize, byte: c_int) {
    if text >= LOWEST {
        read_until(text, real!(strchr(text, byte): fn(usize, c_int) -> usize));
    }
}

/// A string that is cut into pieces: where, is for the function to see.
fn cut(text: usize) {
    if text != 0 {
        read_text(text);
    }
}

/// How many bytes a string of wide characters has, with its end.
fn wide(text: usize) -> usize {
    if text < LOWEST { 0 } else { 4 * (real!(wcslen(text): fn(usize) -> usize) + 1) }
}

/// The registers of a call, as a thunk saves them; what was on the stack follows.
#[repr(C)]
struct Saved {
    floats: [[u64; 2]; 8],
    rax: usize,
    r9: usize,
    r8: usize,
    rcx: usize,
    rdx: usize,
    rsi: usize,
    rdi: usize,
    from: usize,
}

impl Saved {
    /// In the order in which lists of arguments have them.
    fn registers(&self) -> [u64; 22] {
        let mut all = [0; 22];
        let numbers = [self.rdi, self.rsi, self.rdx, self.rcx, self.r8, self.r9];
        all.iter_mut().zip(numbers).for_each(|(to, from)| *to = from as u64);
        all[6..].iter_mut().zip(self.floats.as_flattened()).for_each(|(to, from)| *to = *from);
        all
    }
}

/// A list of arguments as the calling convention lays it out: C's `va_list`.
#[repr(C)]
#[derive(Clone, Copy)]
struct List {
    /// Where in the saved registers the next number is, and the next one with a point.
    number: u32,
    float: u32,
    stack: usize,
    registers: usize,
}

impl List {
    /// What follows the first arguments of a call.
    fn new(registers: &[u64; 22], saved: &Saved, first: u32) -> List {
        let stack = saved as *const Saved as usize + size_of::<Saved>();
        List { number: 8 * first, float: 48, stack, registers: registers.as_ptr() as usize }
    }

    fn next_on_stack(&mut self) -> usize {
        let at = self.stack;
        self.stack += 8;
        // SAFETY: the format says that there is one more, and the function will read it too.
        unsafe { *(at as *const usize) }
    }

    fn number(&mut self) -> usize {
        if self.number >= 48 {
            return self.next_on_stack();
        }
        let at = self.registers + self.number as usize;
        self.number += 8;
        // SAFETY: within the saved registers.
        unsafe { *(at as *const usize) }
    }

    fn float(&mut self) {
        if self.float >= 176 {
            self.next_on_stack();
        } else {
            self.float += 16;
        }
    }

    fn long_double(&mut self) {
        self.stack = self.stack.next_multiple_of(16) + 16;
    }
}

/// A format, which is read.
fn format_at<'a>(format: usize) -> &'a [u8] {
    if format < LOWEST {
        return &[];
    }
    let length = length(format, usize::MAX);
    read(format, length + 1);
    // SAFETY: a string of the program's, of this length.
    unsafe { std::slice::from_raw_parts(format as *const u8, length) }
}

/// Reads a format, and the strings that it asks for.
fn read_format(format: usize, mut list: List) {
    format::printf(format_at(format), |argument| {
        match argument {
            Argument::Star | Argument::Number | Argument::WideText => return list.number(),
            Argument::Double => list.float(),
            Argument::LongDouble => list.long_double(),
            // How much it writes depends on the length that is asked for; nobody uses it.
            Argument::Count => write(list.number(), 1),
            Argument::Text { most } => {
                let text = list.number();
                if text != 0 {
                    read(text, span(text, most));
                }
            }
        }
        0
    });
}

/// Reads a format of a function that scans a text, and announces that it writes what the format asks for.
fn scans(format: usize, mut list: List) {
    format::scanf(format_at(format)).for_each(|size| write(list.number(), size));
}

/// Prints to memory: at most so many bytes.
fn prints_to(to: usize, most: usize, format: usize, list: List) {
    read_format(format, list);
    if format < LOWEST || most == 0 {
        return;
    }
    let mut list = list;
    let nowhere: *mut c_char = std::ptr::null_mut();
    let length = global::quietly(
        || real!(vsnprintf(nowhere, 0, format, &mut list): fn(*mut c_char, usize, usize, *mut List) -> c_int),
    );
    write(to, (length.max(0) as usize + 1).min(most));
}
