//! Whether stdout was closed when the command was started.
//!
//! Rust's runtime opens a standard stream that is closed as `/dev/null` before `main`, so that no other file gets its number. What is printed
//! then is lost, and afterwards nothing tells it from a `/dev/null` that somebody gave the command because they do not want its
//! output. So this looks before the runtime does: in a function that the C library calls with the constructors of C++.
//!
//! All unsafe code of the command is here.
#![allow(unsafe_code)]

use std::io;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};

static WAS_CLOSED: AtomicBool = AtomicBool::new(false);

/// Returns the error of whoever writes to a stdout that was closed.
pub fn check_stdout() -> io::Result<()> {
    match WAS_CLOSED.load(Relaxed) {
        true => Err(io::Error::from_raw_os_error(libc::EBADF)),
        false => Ok(()),
    }
}

// SAFETY: the section is a list of functions, each of which the C library calls once before `main`. This is one: its arguments, where
// it gets some, are passed as C passes them, so that it may ignore them; and it needs nothing that the runtime prepares.
#[used]
#[cfg_attr(
    target_vendor = "apple",
    unsafe(link_section = "__DATA,__mod_init_func")
)]
#[cfg_attr(not(target_vendor = "apple"), unsafe(link_section = ".init_array"))]
static LOOK: extern "C" fn() = look;

extern "C" fn look() {
    // SAFETY: this takes no pointer and changes nothing; any number may be asked for.
    let flags = unsafe { libc::fcntl(libc::STDOUT_FILENO, libc::F_GETFD) };
    WAS_CLOSED.store(flags == -1, Relaxed);
}
