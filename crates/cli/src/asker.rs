//! Who asks a heap: `--as`.

use heaphound_heap::probe::Probes;
use heaphound_heap::snapshot::Snapshot;

use crate::names::Names;
use crate::problem::Problem;
use crate::threads::threads;

#[derive(clap::Args)]
pub struct Asker {
    /// The thread that asks: `thread:main` or `main`.
    #[arg(long = "as", value_name = "THREAD", global = true)]
    asker: Option<String>,
}

impl Asker {
    /// Returns the name of the thread that asks, if one was given.
    pub fn thread<'h>(&self, names: &Names<'h>) -> Result<Option<&'h str>, Problem> {
        self.asker.as_ref().map(|it| names.thread(it)).transpose()
    }

    /// Returns the probes of a heap, as this thread asks them.
    pub fn probes<'h>(
        &self,
        heap: &'h Snapshot,
        names: &Names<'h>,
    ) -> Result<Probes<'h, Snapshot>, Problem> {
        let probes = Probes::of(heap).threads(threads());
        match self.thread(names)? {
            Some(thread) => Ok(probes.ask_as(thread)?),
            None => Ok(probes),
        }
    }
}
