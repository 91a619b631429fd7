//! Why figures are not as good as the papers', as far as that is known.

/// Returns why a figure is not reached, if somebody has found out.
pub fn of(id: &str) -> Option<&'static str> {
    let is_of = |of: &str| match of.split_once('*') {
        Some((start, end)) => id.starts_with(start) && id.ends_with(end),
        None => id == of,
    };
    REASONS.iter().find(|it| is_of(it.0)).map(|it| it.1)
}

/// By figure; `*` stands for anything. What was measured for each is in `docs/measurements`.
const REASONS: &[(&str, &str)] = &[
    (
        "assertions.*.total_pct",
        "Runs of half a second vary by more than the few percent that are to be shown \
         ([measurements](measurements/assertions.md)); in instructions a collection takes 5 to 6 % more.",
    ),
    (
        "assertions.*.gc_pct",
        "Our plain collection is quick, so that the same work is a larger part of it; counting takes +5 to +6 % in instructions \
         ([measurements](measurements/assertions.md)). Short runs vary by as much.",
    ),
    (
        "deal.jbb.total_pct",
        "What the rows of larger programs consist of, beside what holds for all rules, is not known yet \
         ([measurements](measurements/deal.md)).",
    ),
    (
        "deal.*",
        "The plain collection that it is compared with marks an object in 8 to 12 ns, so that 10 % of it are three or four \
         instructions; reading and comparing two slots takes thirty. Relations are traced one behind the other \
         ([measurements](measurements/deal.md)).",
    ),
    (
        "cpfg.total_pct",
        "A quick run cannot tell: runs of half a second vary by ten percent. In instructions it is +1.2 % (jbb) and +2.0 % (db) \
         ([measurements](measurements/summaries.md)).",
    ),
    (
        "cfsg.total_pct",
        "A quick run cannot tell: runs of half a second vary by ten percent. In instructions it is about +3 % \
         ([measurements](measurements/summaries.md)).",
    ),
    (
        "cork.*",
        "A quick run has heaps of 256 KB, in which programs that fill up at the start look like leaks. At full size it finds 5 of 5 \
         and names none wrongly ([measurements](measurements/summaries.md)).",
    ),
    (
        "prune.specjbb2000.factor",
        "Three of four dead bytes can be freed: if all were, at once, the program would live 4.2 times as long. What is between \
         is dead and not yet stale ([measurements](measurements/pruning.md)).",
    ),
    (
        "prune.observe.gc_pct",
        "Staleness is counted by a visitor of the mark loop, which takes 12 % more instructions than the loop without \
         ([measurements](measurements/pruning.md)).",
    ),
    (
        "prune.select.gc_pct",
        "Stale edges are set aside and entered apart, and marking takes about half as many instructions again \
         ([measurements](measurements/pruning.md)).",
    ),
    (
        "prune.barrier_pct",
        "Whatever is read after a counting collection is touched once, with two locked instructions, and these programs collect \
         often: their heaps are twice what lives ([measurements](measurements/pruning.md)).",
    ),
    (
        "prune.*.factor",
        "A quick run has heaps of 4 MiB; at full size the program is in the paper's class \
         ([measurements](measurements/pruning.md)).",
    ),
    (
        "sampling.*.total_pct",
        "A sample takes 170 instructions, and a program does some 3,000 for 256 bytes: in instructions it is +5.1 % at 256 bytes and +2.5 % \
         at 512 ([measurements](measurements/sampling.md)).",
    ),
    (
        "sampling.256.space_pct",
        "The worst program, mtrt, decides. What its samples take was not taken apart ([measurements](measurements/sampling.md)).",
    ),
    (
        "pretenure.javac.gc_factor",
        "A fifth of javac's run is collections, and pretenuring spares it a quarter of the nursery's and none of the full ones \
         ([measurements](measurements/sampling.md)).",
    ),
    (
        "pretenure.*total_pct",
        "It depends on the heap's size: −7 % at 1.5 times what lives, −8 % on average ([measurements](measurements/sampling.md)).",
    ),
];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_reason_that_fits_is_told() {
        assert!(
            of("deal.jbb.total_pct")
                .unwrap()
                .contains("larger programs")
        );
        assert!(of("deal.micro.geomean_pct").unwrap().contains("8 to 12 ns"));
        assert!(of("prune.mckoi.factor").unwrap().contains("4 MiB"));
        assert_eq!(of("nobody.knows"), None);
    }
}
