//! Huge pages: everybody has them, or nobody.
//!
//! Our heap asks for them, always. So MMTk does by its option, and glibc's malloc by its tunable. Boehm's
//! collector cannot ask, so it is done for it. Without huge pages, the kernel gives a child none whatever it
//! asks for.

use std::process::Command;

use serde::{Deserialize, Serialize};

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, clap::ValueEnum)]
#[serde(rename_all = "kebab-case")]
pub enum Pages {
    /// All competitors ask for transparent huge pages.
    Huge,
    /// No competitor gets any.
    Small,
}

impl Pages {
    /// Says it in a table's heading.
    pub fn describe(self) -> &'static str {
        match self {
            Self::Huge => "huge pages are asked for by all",
            Self::Small => "huge pages are given to none",
        }
    }

    /// Prepares the process of a competitor from outside.
    pub fn prepare(self, child: &mut Command) {
        if self == Self::Huge {
            child.env("GLIBC_TUNABLES", "glibc.malloc.hugetlb=1");
        }
    }

    /// Prepares this process, before there is a heap.
    pub fn settle(self) {
        if self == Self::Small {
            // SAFETY: it changes no memory, only which pages the kernel chooses from now on.
            let done = unsafe { libc::prctl(libc::PR_SET_THP_DISABLE, 1, 0, 0, 0) };
            assert_eq!(done, 0, "huge pages can be switched off");
        }
    }

    /// Asks for huge pages in place of a competitor that cannot, when it has its memory.
    #[cfg_attr(not(boehm), allow(dead_code))]
    pub fn ask_for_all_memory(self) {
        if self == Self::Small {
            return;
        }
        let maps = std::fs::read_to_string("/proc/self/maps").expect("Linux");
        for (from, bytes) in maps.lines().filter_map(anonymous) {
            // SAFETY: it changes no content. What cannot have huge pages is refused, which is no harm.
            let _ = unsafe { libc::madvise(from as *mut _, bytes, libc::MADV_HUGEPAGE) };
        }
    }
}

/// Returns where memory lies that is written and belongs to no file, from a line of `/proc/self/maps`.
#[cfg_attr(not(boehm), allow(dead_code))]
fn anonymous(line: &str) -> Option<(usize, usize)> {
    let mut words = line.split_whitespace();
    let (from, to) = words.next()?.split_once('-')?;
    let mode = words.next()?;
    let name = words.nth(3);
    let is_plain = mode == "rw-p" && matches!(name, None | Some("[heap]"));
    let number = |text| usize::from_str_radix(text, 16).ok();
    let (from, to) = (number(from)?, number(to)?);
    is_plain.then_some((from, to - from))
}
