//! What this program was built from.

/// The version, and the commit where that is known: `0.1.0 (0123456789ab)`. The build script finds it.
pub const VERSION: &str = env!("HEAPHOUND_VERSION");
