//! Shows progress on stderr. A bar appears on a terminal when work takes longer than a second.

use std::cell::RefCell;
use std::sync::mpsc;
use std::thread;
use std::time::Duration;

use heaphound_report::figures::count;
use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};

const PATIENCE: Duration = Duration::from_secs(1);
/// About as many objects as quantifiers look at in two seconds.
const MANY: u64 = 50_000_000;

const TICK: Duration = Duration::from_millis(100);

/// Shows progress, unless `--quiet` is given.
pub struct Progress {
    quiet: bool,
    /// What was remarked, for whoever reads a report and not the terminal.
    remarks: RefCell<Vec<String>>,
}

impl Progress {
    pub fn new(quiet: bool) -> Self {
        Self {
            quiet,
            remarks: RefCell::default(),
        }
    }

    /// Prints a note about what a person may not have meant, unless `--quiet` is given.
    pub fn remark(&self, remark: &str) {
        if !self.quiet {
            eprintln!("note: {remark}");
        }
        self.remarks.borrow_mut().push(remark.into());
    }

    /// What was remarked.
    pub fn remarks(&self) -> Vec<String> {
        self.remarks.borrow().clone()
    }

    /// Does work that reports how many bytes are done, and of how many.
    pub fn of_bytes<R>(&self, what: &str, work: impl FnOnce(&mut dyn FnMut(u64, u64)) -> R) -> R {
        let style = "{msg} {wide_bar} {bytes}/{total_bytes}, {eta} left";
        self.watch(what, style, |bar| {
            work(&mut |done, total| {
                bar.set_length(total);
                bar.set_position(done);
            })
        })
    }

    /// Does work that reports how many steps are done, and of how many.
    pub fn of_steps<R>(&self, what: &str, work: impl FnOnce(&dyn Fn(u64, u64)) -> R) -> R {
        let style = "{msg} {wide_bar} {percent}%, {eta} left";
        self.watch(what, style, |bar| {
            work(&|done, total| {
                bar.set_length(total);
                bar.set_position(done);
            })
        })
    }

    /// Says how much work quantifiers make before it is begun, if it is much.
    pub fn announce(&self, looks: u64) {
        if looks >= MANY && !self.quiet {
            let looks = count(looks);
            eprintln!("note: the quantifiers look at up to {looks} objects (see --explain)");
        }
    }

    /// Does work that reports no progress of its own.
    pub fn of<R>(&self, what: &str, work: impl FnOnce() -> R) -> R {
        self.watch(what, "{spinner} {msg} {elapsed}", |_| work())
    }

    fn watch<R>(&self, what: &str, style: &str, work: impl FnOnce(&ProgressBar) -> R) -> R {
        let bar = ProgressBar::with_draw_target(None, ProgressDrawTarget::hidden());
        bar.set_style(ProgressStyle::with_template(style).expect("a valid template"));
        bar.set_message(what.to_string());
        if self.quiet || !console::Term::stderr().is_term() {
            return work(&bar);
        }
        let result = thread::scope(|scope| {
            let (done, is_done) = mpsc::channel::<()>();
            let bar = &bar;
            scope.spawn(move || {
                if is_done.recv_timeout(PATIENCE) == Err(mpsc::RecvTimeoutError::Timeout) {
                    bar.set_draw_target(ProgressDrawTarget::stderr());
                    bar.enable_steady_tick(TICK);
                }
            });
            let result = work(bar);
            drop(done);
            result
        });
        bar.finish_and_clear();
        result
    }
}
