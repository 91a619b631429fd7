//! The figures that are quoted: ours beside the best peer, a row each.
//!
//! A ratio above one is in our favour. Where it does not say which collector of ours it is about, it is
//! the better one.

use serde::Serialize;

use crate::report::Row;
use crate::workload::{Figure, Workload};
use crate::{ARMED, OURS};

/// A row of the headline.
#[derive(Serialize)]
pub struct Quoted {
    pub id: &'static str,
    pub measured: f64,
    /// What was compared.
    pub what: String,
}

/// Returns what can be quoted from the tables of all workloads.
pub fn quote(tables: &[(Workload, &[Row])]) -> Vec<Quoted> {
    let [marksweep, generational] = OURS;
    let full = [Figure::FullMs, Figure::QuarterGarbageMs];
    let total = [Figure::TotalMs];
    let tables = Tables(tables);
    let rows = [
        tables.vs_best("peers.full_1.vs_best", Workload::Mark, &full, 1, &OURS),
        tables.vs_best("peers.full_2.vs_best", Workload::Mark, &full, 2, &OURS),
        tables.vs_best(
            "peers.trees.vs_best",
            Workload::BinaryTrees,
            &total,
            1,
            &OURS,
        ),
        tables.vs_best(
            "peers.garbage.vs_best",
            Workload::GarbageOnly,
            &total,
            1,
            &OURS,
        ),
        tables.vs_best(
            "peers.mutation.gen.vs_best",
            Workload::Mutation,
            &total,
            1,
            &[generational],
        ),
        tables.vs_best(
            "peers.mutation.ms.vs_best",
            Workload::Mutation,
            &total,
            1,
            &[marksweep],
        ),
        tables.vs_best(
            "peers.armed.vs_best",
            Workload::Mark,
            &[Figure::FullMs],
            1,
            &[ARMED],
        ),
        tables.nursery_pause(),
        tables.scaling(
            "peers.scaling_2.mark",
            Workload::Mark,
            Figure::FullMs,
            marksweep,
        ),
        tables.scaling(
            "peers.scaling_2.nursery",
            Workload::BinaryTrees,
            Figure::NurseryPauseMs,
            generational,
        ),
    ];
    rows.into_iter().flatten().collect()
}

struct Tables<'a>(&'a [(Workload, &'a [Row])]);

impl Tables<'_> {
    fn rows(&self, workload: Workload, figure: Figure, threads: usize) -> Vec<&Row> {
        let tables = self.0.iter().filter(|it| it.0 == workload);
        let rows = tables.flat_map(|it| it.1);
        rows.filter(|it| it.figure == figure && it.collector_threads == threads)
            .collect()
    }

    /// Compares the quickest peer with the quickest of some of ours; of several figures, the one
    /// where we do worst.
    fn vs_best(
        &self,
        id: &'static str,
        workload: Workload,
        figures: &[Figure],
        threads: usize,
        ours: &[&str],
    ) -> Option<Quoted> {
        let compare = |figure: &Figure| {
            let rows = self.rows(workload, *figure, threads);
            let quickest = |is_wanted: &dyn Fn(&Row) -> bool| {
                let wanted = rows.iter().copied().filter(|it| is_wanted(it));
                wanted.min_by(|a, b| a.spread.median.total_cmp(&b.spread.median))
            };
            let is_peer = |it: &Row| it.competitor != ARMED && !OURS.contains(&it.competitor);
            let peer = quickest(&is_peer)?;
            let mine = quickest(&|it| ours.contains(&it.competitor))?;
            Some(Quoted {
                id,
                measured: peer.spread.median / mine.spread.median,
                what: format!(
                    "{}, {}: {} to {}",
                    workload.name(),
                    figure.title(),
                    mine.competitor,
                    peer.competitor
                ),
            })
        };
        let all: Option<Vec<Quoted>> = figures.iter().map(compare).collect();
        all?.into_iter()
            .min_by(|a, b| a.measured.total_cmp(&b.measured))
    }

    fn nursery_pause(&self) -> Option<Quoted> {
        let rows = self.rows(Workload::BinaryTrees, Figure::NurseryPauseMs, 1);
        Some(Quoted {
            id: "peers.nursery_pause_ms",
            measured: rows.first()?.spread.max,
            what: "binary-trees, longest nursery pause of all runs, ms".into(),
        })
    }

    /// Compares one collector thread with two.
    fn scaling(
        &self,
        id: &'static str,
        workload: Workload,
        figure: Figure,
        ours: &str,
    ) -> Option<Quoted> {
        let median = |threads| {
            let rows = self.rows(workload, figure, threads);
            let mine = rows.iter().find(|it| it.competitor == ours);
            mine.map(|it| it.spread.median)
        };
        Some(Quoted {
            id,
            measured: median(1)? / median(2)?,
            what: format!(
                "{}, {}, one collector thread to two: {ours}",
                workload.name(),
                figure.title()
            ),
        })
    }
}
