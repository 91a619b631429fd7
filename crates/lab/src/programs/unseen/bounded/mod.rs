//! Ten programs that do not leak.

mod atlas;
mod automaton;
mod batches;
mod buffers;
mod clock;
mod memo;
mod module;
mod phases;
mod rides;
mod tombstones;

use super::*;

/// The programs.
pub const BOUNDED: &[Steady] = &[
    Steady {
        name: "atlas",
        about: "a cache that fills evenly for a third of the run, and then replaces its oldest",
        rounds: 450,
        run: atlas::run,
    },
    Steady {
        name: "clock",
        about: "a cache of a fixed number of values, which are larger in some seasons than in others",
        rounds: 450,
        run: clock::run,
    },
    Steady {
        name: "phases",
        about: "three phases, each with a structure that grows to a limit, is used and dropped",
        rounds: 480,
        run: phases::run,
    },
    Steady {
        name: "batches",
        about: "batches that become larger and larger, and then smaller and smaller",
        rounds: 600,
        run: batches::run,
    },
    Steady {
        name: "rides",
        about: "a load with a daily and a weekly cycle",
        rounds: 500,
        run: rides::run,
    },
    Steady {
        name: "memo",
        about: "a table of results that is cleared when it is full",
        rounds: 600,
        run: memo::run,
    },
    Steady {
        name: "automaton",
        about: "a population in two states, one made of the other, which grows until it is crowded",
        rounds: 350,
        run: automaton::run,
    },
    Steady {
        name: "module",
        about: "a compiler whose passes each add to a module, which is then dropped",
        rounds: 500,
        run: module::run,
    },
    Steady {
        name: "buffers",
        about: "a pool of buffers that grows to the highest demand and never shrinks",
        rounds: 500,
        run: buffers::run,
    },
    Steady {
        name: "tombstones",
        about: "a search tree whose deleted nodes stay until it is rebuilt",
        rounds: 500,
        run: tombstones::run,
    },
];
