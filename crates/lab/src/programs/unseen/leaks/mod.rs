//! Six programs that leak.

mod dialogs;
mod mail;
mod parser;
mod registry;
mod revisions;
mod spooler;

use super::*;

/// The programs.
pub const LEAKS: &[Growing] = &[
    Growing {
        name: "dialogs",
        about: "some dialogs are closed without unsubscribing their listeners",
        class: "Dialog",
        holder: ("Topic", "first", "Listener"),
        rounds: 450,
        run: dialogs::run,
    },
    Growing {
        name: "registry",
        about: "sessions never expire from a map that is made anew every ten rounds",
        class: "Session",
        holder: ("SessionRegistry", "map", "SessionMap"),
        rounds: 400,
        run: registry::run,
    },
    Growing {
        name: "revisions",
        about: "a slow leak of audit records beside documents that are always rewritten",
        class: "AuditRecord",
        holder: ("Auditor", "trail", "AuditRecord"),
        rounds: 600,
        run: revisions::run,
    },
    Growing {
        name: "parser",
        about: "numbers that never come back are interned like words",
        class: "Symbol",
        holder: ("Interner", "buckets", "Symbol[]"),
        rounds: 500,
        run: parser::run,
    },
    Growing {
        name: "spooler",
        about: "from the middle of the run on, print jobs fail and are never tried again",
        class: "PrintJob",
        holder: ("Spooler", "failed", "Queue"),
        rounds: 500,
        run: spooler::run,
    },
    Growing {
        name: "mail",
        about: "a log in chunks is never cut, and holds messages like those that come and go",
        class: "Message",
        holder: ("MessageLog", "newest", "LogChunk"),
        rounds: 500,
        run: mail::run,
    },
];
