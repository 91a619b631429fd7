//! A cheap hash for names and numbers, with a seed that no file can know.

use std::collections::HashMap;

/// A map with that hash.
pub type Map<K, V> = HashMap<K, V, foldhash::fast::RandomState>;
