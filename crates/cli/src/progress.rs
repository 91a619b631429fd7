//! Shows progress on stderr. A bar appears on a terminal when work takes longer than a second.

use std::sync::mpsc;
use std::thread;
use std::time::Duration;

use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};

const PATIENCE: Duration = Duration::from_secs(1);
const TICK: Duration = Duration::from_millis(100);

/// Shows progress, unless `--quiet` is given.
pub struct Progress {
    quiet: bool,
}

impl Progress {
    pub fn new(quiet: bool) -> Self {
        Self { quiet }
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
