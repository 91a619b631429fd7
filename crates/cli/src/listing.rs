//! How many members of a set are listed, and how reports count objects.

use heaphound_report::Members;

/// `--limit` and `--all`.
#[derive(clap::Args)]
pub struct Listing {
    /// How many members of a set to list.
    #[arg(long, value_name = "N", default_value_t = 20, global = true)]
    limit: usize,

    /// List all members of a set.
    #[arg(long, conflicts_with = "limit", global = true)]
    all: bool,
}

impl Listing {
    /// Returns how many members are listed at most.
    pub fn limit(&self) -> usize {
        match self.all {
            true => usize::MAX,
            false => self.limit,
        }
    }
}

/// Returns a note about the members that are not listed, if there are any.
pub fn left_out_note(members: &Members) -> Option<String> {
    let (listed, count) = (members.listed.len(), members.count);
    (members.left_out() > 0)
        .then(|| format!("{listed} of {count} are listed; --all lists them all"))
}

/// Returns `no objects`, `1 object` or `2 objects`.
pub fn count_of(objects: usize) -> String {
    match objects {
        0 => "no objects".into(),
        1 => "1 object".into(),
        n => format!("{n} objects"),
    }
}
