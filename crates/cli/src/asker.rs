//! Who asks a heap, and how many threads trace it: `--as` and `--threads`.

use heaphound_heap::probe::Probes;
use heaphound_heap::snapshot::Snapshot;

use crate::names::Names;
use crate::problem::Problem;

#[derive(clap::Args)]
pub struct Asker {
    /// The thread that asks: `thread:main` or `main`.
    #[arg(long = "as", value_name = "THREAD", global = true)]
    asker: Option<String>,

    /// How many threads trace the heap; by default, one for each core.
    #[arg(long, value_name = "N", global = true,
          value_parser = clap::value_parser!(u16).range(1..=256))]
    threads: Option<u16>,
}

impl Asker {
    /// Returns the name of the thread that asks, if one was given.
    pub fn thread<'h>(&self, names: &Names<'h>) -> Result<Option<&'h str>, Problem> {
        self.asker.as_ref().map(|it| names.thread(it)).transpose()
    }

    /// Returns how many threads trace the heap, if that was given.
    pub fn threads(&self) -> Option<usize> {
        self.threads.map(usize::from)
    }

    /// Returns the probes of a heap, as this thread asks them.
    pub fn probes<'h>(
        &self,
        heap: &'h Snapshot,
        names: &Names<'h>,
    ) -> Result<Probes<'h, Snapshot>, Problem> {
        let mut probes = Probes::of(heap);
        if let Some(threads) = self.threads() {
            probes = probes.threads(threads);
        }
        match self.thread(names)? {
            Some(thread) => Ok(probes.ask_as(thread)?),
            None => Ok(probes),
        }
    }
}
