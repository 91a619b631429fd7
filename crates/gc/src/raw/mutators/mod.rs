//! A thread's access to the heap: attaching, scopes and locals, allocation.

pub(crate) mod alloc;
pub(crate) mod attach;
pub(crate) mod kept;
pub(crate) mod mutator;
pub(crate) mod region_log;
pub(crate) mod sampler;
