//! Growth, by simulation of volumes.

mod chosen_by;
mod held_out;
mod work;
