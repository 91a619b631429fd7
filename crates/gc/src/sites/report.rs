//! Allocation sites as a table for people.

use std::fmt::Write;

use crate::heap::Heap;
use crate::sites::AllocationSite;

impl Heap {
    /// Returns a table of the sites whose objects take most memory, `most` at most: what lives, what was allocated, which
    /// part survives its first collection, and how many collections those that died had survived, by bytes.
    ///
    /// ```
    /// # use heaphound_gc::{Heap, Sampling};
    /// let heap = Heap::builder().sampling(Sampling::every(64)).build()?;
    /// let mut m = heap.attach("main")?;
    /// for _ in 0..1000 {
    ///     m.scope().alloc_bytes(b"read and forgotten")?;
    /// }
    /// m.collect();
    /// println!("{}", heap.site_report(10));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn site_report(&self, most: usize) -> String {
        let sites = self.sites();
        let mut text = String::from(
            "      live  allocated  survives  lived on for collections      site\n\
             \x20                                   none     1  2-3   4+\n",
        );
        for site in sites.iter().take(most) {
            row(&mut text, site);
        }
        if let Some(more) = sites.len().checked_sub(most + 1) {
            let _ = writeln!(text, "… and {} more", more + 1);
        }
        text
    }
}

fn row(text: &mut String, site: &AllocationSite) {
    let survival = match site.survival() {
        Some(part) => format!("{:.0} %", part * 100.0),
        None => "?".into(),
    };
    let died: u64 = site.lifetimes.iter().sum();
    let part = |bytes: u64| match died {
        0 => "-".to_string(),
        died => format!("{:.0}", bytes as f64 * 100.0 / died as f64),
    };
    let [none, one, two] = [0, 1, 2].map(|place| part(site.lifetimes[place]));
    let more = part(site.lifetimes[3..].iter().sum());
    let route = if site.is_pretenured {
        ", pretenured"
    } else {
        ""
    };
    let _ = writeln!(
        text,
        "{:>10} {:>10} {survival:>9}   {none:>5} {one:>5} {two:>4} {more:>4} %    {} at {site}{route}",
        size(site.live_bytes),
        size(site.allocated_bytes),
        site.class,
    );
    for caller in &site.context {
        let _ = writeln!(text, "{:>62}{caller}", "called by ");
    }
}

/// `12 B`, `3.4 KiB`, `56.7 MiB`
fn size(bytes: u64) -> String {
    const KIB: f64 = 1024.0;
    let bytes = bytes as f64;
    match bytes {
        few if few < KIB => format!("{few:.0} B"),
        some if some < KIB * KIB => format!("{:.1} KiB", some / KIB),
        many if many < KIB * KIB * KIB => format!("{:.1} MiB", many / KIB / KIB),
        most => format!("{:.1} GiB", most / KIB / KIB / KIB),
    }
}
