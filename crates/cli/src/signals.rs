//! What happens when somebody stops the command: half of a file is not left behind.

use std::fs;
use std::sync::Arc;
use std::thread;

use console::Term;
use heaphound_snapshot::abandon_files;
use signal_hook::consts::{SIGHUP, SIGINT, SIGQUIT, SIGTERM, SIGXFSZ};
use signal_hook::flag;
use signal_hook::iterator::Signals;
use signal_hook::low_level::emulate_default_handler;

/// Waits for signals that stop the command, in a thread of its own.
pub fn watch() {
    // What `nohup` or a shell wants to be ignored still is.
    let ignored = ignored();
    let wanted = [SIGHUP, SIGINT, SIGQUIT, SIGTERM];
    let wanted = wanted.iter().filter(|it| ignored >> (**it - 1) & 1 == 0);
    if let Ok(mut signals) = Signals::new(wanted) {
        thread::spawn(move || {
            if let Some(signal) = signals.forever().next() {
                abandon_files();
                // The shell's prompt shall not stand behind half of a bar.
                let terminal = Term::stderr();
                if terminal.is_term() {
                    let _ = terminal.clear_line();
                }
                // Whoever started the command sees that a signal ended it.
                let _ = emulate_default_handler(signal);
            }
        });
    }
    // A file that gets too large (`ulimit -f`) is an error like a full disk.
    let _ = flag::register(SIGXFSZ, Arc::default());
}

/// Returns the signals that are ignored, one bit each.
fn ignored() -> u64 {
    let status = fs::read_to_string("/proc/self/status").unwrap_or_default();
    let mask = status.lines().find_map(|it| it.strip_prefix("SigIgn:"));
    mask.and_then(|it| u64::from_str_radix(it.trim(), 16).ok())
        .unwrap_or(0)
}
