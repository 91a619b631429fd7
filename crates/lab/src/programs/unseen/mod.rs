//! Programs that the growth detector was not developed with: six that leak, each with a repaired
//! twin, and ten that do not. They were written from the detector's documentation, without reading
//! its code, and were not changed after it had seen them.
//!
//! Each has constants for a scale of one, where some 200 KB live and some 20 KB are allocated in a
//! round.

/// Declares a class: a managed struct, but for its header.
macro_rules! class {
    ($name:ident { $($slots:tt)* }) => {
        #[derive(heaphound::Managed)]
        #[repr(C)]
        struct $name {
            header: heaphound::Header,
            $($slots)*
        }
    };
}

mod bounded;
mod leaks;

use heaphound::Mutator;

pub use bounded::BOUNDED;
pub use leaks::LEAKS;

use super::growing::{Each, Growing, Work};
use super::steady::Steady;
use super::{Outcome, Random};

/// Writes lines that nothing keeps: pages, messages, traces.
fn write_lines(m: &mut Mutator<'_>, count: usize, outcome: &mut Outcome) {
    for _ in 0..count {
        let mut m = m.scope();
        let line = m.alloc_str(&"-".repeat(80)).expect("room");
        outcome.note(m[line].len() as u64);
    }
}

/// Returns a length, short or long. There are only two, since a small heap does not have a block
/// for every size.
fn length(random: &mut Random) -> usize {
    [40, 110][random.index(2)]
}

#[cfg(test)]
mod tests {
    use heaphound::Collector;

    use super::*;
    use crate::programs::Size;
    use crate::recording::Recording;

    /// Returns what lives at each full collection: of a class, or all.
    fn volumes(class: Option<&str>, run: impl FnOnce(&mut Mutator<'_>)) -> Vec<u64> {
        let recording = Recording::of(Collector::MarkSweep, Size::Small, run);
        let ids = 1..=recording.classes.len() as u32;
        let mut ids = ids.map(heaphound::ClassId);
        let id = class.map(|class| {
            let is_it =
                |id: &heaphound::ClassId| recording.classes[id.0 as usize - 1].name == class;
            ids.find(is_it).expect("the class is known")
        });
        let all = recording.collections.iter().map(|(summary, _)| match id {
            Some(id) => summary.class(id).volume_bytes,
            None => summary.volume_bytes(),
        });
        all.collect()
    }

    /// Returns how many times as much lives at most when a run is three times as long.
    fn stretch(class: Option<&str>, rounds: usize, run: impl Fn(&mut Mutator<'_>, usize)) -> f64 {
        let once = volumes(class, |m| run(m, rounds));
        let longer = volumes(class, |m| run(m, 3 * rounds));
        assert!(once.len() >= 15, "only {} collections", once.len());
        assert!(longer.starts_with(&once), "not the same again");
        let most = |all: &[u64]| *all.iter().max().expect("some") as f64;
        most(&longer) / most(&once)
    }

    #[test]
    fn what_leaks_goes_on_and_its_twin_does_not() {
        for program in LEAKS {
            let stretch = |class, leak| {
                stretch(class, program.rounds, |m, rounds| {
                    let work = Work::new(rounds, Size::Small, leak);
                    (program.run)(m, &work, &mut |_| {});
                })
            };
            let (leaks, repaired) = (stretch(Some(program.class), true), stretch(None, false));
            assert!(leaks > 1.8, "{}: {leaks} times", program.name);
            assert!(
                repaired < 1.2,
                "{}, repaired: {repaired} times",
                program.name
            );
        }
    }

    #[test]
    fn what_is_bounded_does_not_go_on() {
        for program in BOUNDED {
            let stretch = stretch(None, program.rounds, |m, rounds| {
                let work = Work::new(rounds, Size::Small, false);
                (program.run)(m, &work, &mut |_| {});
            });
            assert!(stretch < 1.2, "{}: {stretch} times", program.name);
        }
    }
}
