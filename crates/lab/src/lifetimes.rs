//! What is known of allocation sites, and how right it is.
//!
//! An object is *long-lived* if it is alive at the first nursery collection after its allocation. A site is classified by
//! a threshold: its objects are long-lived if a larger share of their bytes survives. Sampling is wrong about a
//! site if the share that it estimates is on the other side of the threshold than the true one, and then about all
//! that is allocated there. As the thesis does, thresholds from 5 to 95 % are tried, and the mean counts.
//!
//! Decisions to pretenure are made by site, too, but are judged by objects. Whether one of them would have survived cannot be seen
//! once it is pretenured. So the truth comes from a run of the same program without pretenuring, with all
//! objects tagged: of what was pretenured at a site, the share that survives there is taken to be long-lived.

use std::collections::HashMap;

/// Which site: file, line, column and class.
pub(crate) type Key = (String, u32, u32, String);

/// What a run tells of a site.
#[derive(Clone, PartialEq, Debug)]
pub(crate) struct Site {
    pub(crate) key: Key,
    /// Objects that were allocated there; those that were sampled, if not all are.
    pub(crate) objects: u64,
    /// Their bytes, or an estimate.
    pub(crate) bytes: u64,
    /// The share of bytes that survived their first collection, if any has seen one.
    pub(crate) survival: Option<f64>,
    /// Bytes that were allocated in the mature space by decision.
    pub(crate) pretenured_bytes: u64,
}

impl Site {
    /// A site without samples is one of which nothing is known to survive.
    fn survival(&self) -> f64 {
        self.survival.unwrap_or(0.0)
    }
}

/// How right sampling is, as shares from 0 to 1.
#[derive(Clone, Copy, PartialEq, Debug)]
pub(crate) struct Accuracy {
    /// Of all bytes, those of sites that are classified as they should be.
    pub(crate) bytes: f64,
    /// Of all objects.
    pub(crate) objects: f64,
}

/// Returns how right estimates are, given what is true.
pub(crate) fn accuracy(exact: &[Site], sampled: &[Site]) -> Accuracy {
    let estimates = by_key(sampled);
    let (mut bytes, mut objects, mut all_bytes, mut all_objects) = (0.0, 0.0, 0.0, 0.0);
    for site in exact {
        let estimate = estimates.get(&site.key).map_or(0.0, |it| it.survival());
        let agrees = |threshold: &f64| (site.survival() > *threshold) == (estimate > *threshold);
        let right = thresholds().filter(agrees).count() as f64 / thresholds().count() as f64;
        bytes += right * site.bytes as f64;
        objects += right * site.objects as f64;
        all_bytes += site.bytes as f64;
        all_objects += site.objects as f64;
    }
    Accuracy {
        bytes: bytes / all_bytes,
        objects: objects / all_objects,
    }
}

/// 5 % to 95 %.
fn thresholds() -> impl Iterator<Item = f64> {
    (1..20).map(|step| f64::from(step) * 0.05)
}

/// How right decisions to pretenure are.
#[derive(Clone, Copy, PartialEq, Debug)]
pub(crate) struct Decisions {
    /// Of what was pretenured, what is long-lived. `None` if nothing was.
    pub(crate) accuracy: Option<f64>,
    /// Of what is long-lived, what was pretenured.
    pub(crate) coverage: f64,
    pub(crate) pretenured_bytes: u64,
}

/// Returns how right the decisions of a run are, given what is true.
pub(crate) fn decisions(exact: &[Site], run: &[Site]) -> Decisions {
    let truth = by_key(exact);
    let long_lived: f64 = exact.iter().map(|it| it.survival() * it.bytes as f64).sum();
    let (mut pretenured, mut right) = (0, 0.0);
    for site in run {
        let survival = truth.get(&site.key).map_or(0.0, |it| it.survival());
        pretenured += site.pretenured_bytes;
        right += survival * site.pretenured_bytes as f64;
    }
    Decisions {
        accuracy: (pretenured > 0).then(|| right / pretenured as f64),
        coverage: match long_lived > 0.0 {
            true => right / long_lived,
            false => 0.0,
        },
        pretenured_bytes: pretenured,
    }
}

fn by_key(sites: &[Site]) -> HashMap<&Key, &Site> {
    sites.iter().map(|it| (&it.key, it)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn site(line: u32, objects: u64, bytes: u64, survival: Option<f64>) -> Site {
        Site {
            key: ("a.rs".into(), line, 9, "Node".into()),
            objects,
            bytes,
            survival,
            pretenured_bytes: 0,
        }
    }

    fn check(exact: &[Site], sampled: &[Site], bytes: f64, objects: f64) {
        let found = accuracy(exact, sampled);
        let near = |a: f64, b: f64| (a - b).abs() < 1e-9;
        assert!(
            near(found.bytes, bytes) && near(found.objects, objects),
            "{found:?}"
        );
    }

    #[test]
    fn estimates_that_are_true_are_right() {
        let sites = [
            site(1, 10, 100, Some(0.2)),
            site(2, 10, 900, Some(0.97)),
            site(3, 5, 50, None),
        ];
        check(&sites, &sites, 1.0, 1.0);
    }

    #[test]
    fn a_site_is_wrong_at_thresholds_between_truth_and_estimate() {
        // 25, 30, … 75 %: 11 of 19 thresholds.
        let exact = [site(1, 10, 100, Some(0.21))];
        check(
            &exact,
            &[site(1, 1, 100, Some(0.79))],
            8.0 / 19.0,
            8.0 / 19.0,
        );
        // As the thesis' example: below both and above both it is right.
        check(&exact, &[site(1, 1, 100, Some(0.23))], 1.0, 1.0);
    }

    #[test]
    fn sites_count_by_what_is_truly_allocated_there() {
        let exact = [site(1, 30, 900, Some(1.0)), site(2, 10, 100, Some(0.0))];
        // Always wrong about the second, though it was sampled more.
        let sampled = [site(1, 1, 10, Some(1.0)), site(2, 9, 9_000, Some(1.0))];
        check(&exact, &sampled, 0.9, 0.75);
    }

    #[test]
    fn a_site_without_samples_is_taken_for_short_lived() {
        let exact = [site(1, 10, 100, Some(0.0)), site(2, 10, 100, Some(1.0))];
        check(&exact, &[], 0.5, 0.5);
        check(&exact, &[site(2, 0, 0, None)], 0.5, 0.5);
    }

    #[test]
    fn the_same_line_is_another_site_for_another_class() {
        let mut other = site(1, 10, 100, Some(1.0));
        other.key.3 = "Leaf".into();
        check(&[site(1, 10, 100, Some(1.0))], &[other], 0.0, 0.0);
    }

    #[test]
    fn decisions_are_judged_by_what_survives_at_their_sites() {
        let exact = [
            site(1, 1, 1_000, Some(0.9)),
            site(2, 1, 1_000, Some(0.1)),
            site(3, 1, 500, Some(1.0)),
        ];
        let decided = |line, pretenured_bytes| Site {
            pretenured_bytes,
            ..site(line, 0, 0, None)
        };
        let found = decisions(&exact, &[decided(1, 600), decided(2, 200), decided(3, 0)]);
        assert_eq!(found.pretenured_bytes, 800);
        // 540 of the first and 20 of the second.
        assert!((found.accuracy.unwrap() - 0.7).abs() < 1e-9, "{found:?}");
        assert!((found.coverage - 560.0 / 1_500.0).abs() < 1e-9, "{found:?}");
        let nothing = decisions(&exact, &[decided(1, 0)]);
        assert_eq!((nothing.accuracy, nothing.coverage), (None, 0.0));
    }
}
