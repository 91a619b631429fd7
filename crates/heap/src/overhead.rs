//! The overhead manager: probing within a budget.
//!
//! A program states what share of its run time probes may take. Each place in the program
//! that asks is a *site*. A site is answered or skipped so that all of them together stay
//! in the budget, and so that none starves another: the budget is shared out like
//! water among vessels – a site that needs little gets what it needs, and those that
//! need more get equal shares of the rest. What was checked and what was skipped is told
//! by [`Overhead::coverage`].
//!
//! The share is one of the whole run: what quiet times leave over, busy ones may use.
//!
//! After QVM's overhead manager, which PHALANX uses.

use std::panic::Location;
use std::time::{Duration, Instant};

use crate::sync::Mutex;

/// Decides which probes are asked and which are skipped.
///
/// ```
/// use heaphound_heap::overhead::Overhead;
///
/// let overhead = Overhead::new(0.05); // a twentieth of the run time
/// for request in 0..1000 {
///     overhead.sample(|| { /* ask the heap */ });
/// }
/// println!("{}", overhead.coverage());
/// ```
pub struct Overhead {
    begin: Instant,
    policy: Mutex<Policy>,
}

/// What was checked within the budget, and what was not.
#[derive(Clone, PartialEq, Debug)]
pub struct Coverage {
    /// How often something was to be asked.
    pub asked: u64,
    /// How often it was.
    pub answered: u64,
    /// The share of the run time that it took.
    pub spent: f64,
    /// The share that it may take.
    pub budget: f64,
    /// Each site, in the order in which they first asked.
    pub sites: Vec<SiteCoverage>,
}

/// What was checked at one place of the program.
#[derive(Clone, PartialEq, Debug)]
pub struct SiteCoverage {
    /// Where it is.
    pub place: String,
    /// How often something was to be asked there.
    pub asked: u64,
    /// How often it was.
    pub answered: u64,
    /// How long that took.
    pub spent: Duration,
}

impl Overhead {
    /// At most this share of the run time so far, from 0 (nothing is ever asked) to 1 (everything
    /// is).
    ///
    /// # Panics
    /// If it is not from 0 to 1.
    #[track_caller]
    pub fn new(budget: f64) -> Self {
        assert!(
            (0.0..=1.0).contains(&budget),
            "a share of run time is from 0 to 1, not {budget}"
        );
        Self {
            begin: Instant::now(),
            policy: Mutex::new(Policy::new(budget)),
        }
    }

    /// Asks, if that is within the budget.
    #[track_caller]
    pub fn sample<R>(&self, ask: impl FnOnce() -> R) -> Option<R> {
        let place = Location::caller();
        let site = {
            let mut policy = self.policy.lock().unwrap();
            let site = policy.site(place);
            if !policy.admit(site, self.begin.elapsed().as_secs_f64()) {
                return None;
            }
            site
        };
        // Recorded also if it panics.
        struct Record<'o>(&'o Overhead, usize, Instant);
        impl Drop for Record<'_> {
            fn drop(&mut self) {
                let cost = self.2.elapsed().as_secs_f64();
                if let Ok(mut policy) = self.0.policy.lock() {
                    policy.record(self.1, cost);
                }
            }
        }
        let _record = Record(self, site, Instant::now());
        Some(ask())
    }

    /// What has been checked so far.
    pub fn coverage(&self) -> Coverage {
        let now = self.begin.elapsed().as_secs_f64();
        let policy = self.policy.lock().unwrap();
        let site = |(place, site): (&&Location<'_>, &Site)| SiteCoverage {
            place: place.to_string(),
            asked: site.asked,
            answered: site.answered,
            spent: Duration::from_secs_f64(site.spent),
        };
        Coverage {
            asked: policy.sites.iter().map(|site| site.asked).sum(),
            answered: policy.sites.iter().map(|site| site.answered).sum(),
            spent: policy.sites.iter().map(|site| site.spent).sum::<f64>() / now.max(1e-9),
            budget: policy.budget,
            sites: policy.places.iter().zip(&policy.sites).map(site).collect(),
        }
    }
}

impl std::fmt::Display for Coverage {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let percent = |part: u64, whole: u64| 100.0 * part as f64 / whole.max(1) as f64;
        writeln!(
            f,
            "{} of {} probes asked ({:.1}%), in {:.2}% of the run time; {:.2}% allowed",
            self.answered,
            self.asked,
            percent(self.answered, self.asked),
            100.0 * self.spent,
            100.0 * self.budget
        )?;
        for site in &self.sites {
            let SiteCoverage {
                place,
                asked,
                answered,
                spent,
            } = site;
            writeln!(
                f,
                "  {place}: {answered} of {asked} ({:.1}%), {spent:.1?}",
                percent(*answered, *asked)
            )?;
        }
        Ok(())
    }
}

/// The decisions, without a clock, so that they can be simulated.
struct Policy {
    budget: f64,
    places: Vec<&'static Location<'static>>,
    sites: Vec<Site>,
}

#[derive(Clone, Default)]
struct Site {
    asked: u64,
    answered: u64,
    /// Seconds spent on answers.
    spent: f64,
    /// What the last answers cost, in seconds: a moving average.
    cost: f64,
    /// Probes that other threads are running now.
    under_way: u64,
}

impl Policy {
    fn new(budget: f64) -> Self {
        Self {
            budget,
            places: Vec::new(),
            sites: Vec::new(),
        }
    }

    fn site(&mut self, place: &'static Location<'static>) -> usize {
        let known = self.places.iter().position(|it| *it == place);
        known.unwrap_or_else(|| {
            self.places.push(place);
            self.sites.push(Site::default());
            self.sites.len() - 1
        })
    }

    /// Whether a site is answered, `now` seconds after the start.
    fn admit(&mut self, site: usize, now: f64) -> bool {
        self.sites[site].asked += 1;
        let allowance = self.budget * now;
        let share = level(self.sites.iter().map(Site::demand), allowance);
        let spent: f64 = self.sites.iter().map(Site::committed).sum();
        let own = self.sites[site].committed();
        let cost = self.sites[site].cost;
        // What is not known to cost little is tried by one at a time.
        let unknown = |site: &Site| site.cost == 0.0 && site.under_way > 0;
        let admitted = self.budget >= 1.0
            || self.budget > 0.0
                && spent + cost <= allowance
                && own + cost <= share.max(cost)
                && !self.sites.iter().any(unknown);
        if admitted {
            self.sites[site].answered += 1;
            self.sites[site].under_way += 1;
        }
        admitted
    }

    fn record(&mut self, site: usize, cost: f64) {
        let site = &mut self.sites[site];
        site.spent += cost;
        site.under_way -= 1;
        site.cost = match site.cost {
            0.0 => cost,
            before => before + (cost - before) / 8.0,
        };
    }
}

impl Site {
    /// Seconds spent, and those that will be by the answers under way.
    fn committed(&self) -> f64 {
        self.spent + self.under_way as f64 * self.cost
    }

    /// Seconds that it would have taken to answer always.
    fn demand(&self) -> f64 {
        self.asked as f64 * self.cost
    }
}

/// How high the water stands: the most that a site may have, so that the smaller of this and
/// its demand, over all sites, make up the allowance.
fn level(demands: impl Iterator<Item = f64>, allowance: f64) -> f64 {
    let mut demands: Vec<f64> = demands.collect();
    demands.sort_by(f64::total_cmp);
    let mut left = allowance;
    for (place, &demand) in demands.iter().enumerate() {
        let share = left / (demands.len() - place) as f64;
        if demand > share {
            return share;
        }
        left -= demand;
    }
    f64::INFINITY
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Simulates sites that each ask every `period` seconds, at `cost` seconds an answer, for
    /// `seconds`. Returns the share of the run time spent and each site's coverage.
    fn simulate(budget: f64, seconds: f64, sites: &[(f64, f64)]) -> (f64, Vec<f64>) {
        let mut policy = Policy::new(budget);
        policy.sites = vec![Site::default(); sites.len()];
        let mut due: Vec<f64> = sites.iter().map(|(period, _)| *period).collect();
        let mut now = 0.0;
        while now < seconds {
            let next = (0..due.len()).min_by(|&a, &b| due[a].total_cmp(&due[b]));
            let site = next.unwrap();
            now = f64::max(now, due[site]);
            if policy.admit(site, now) {
                policy.record(site, sites[site].1);
                now += sites[site].1;
            }
            due[site] = now.max(due[site]) + sites[site].0;
        }
        let spent: f64 = policy.sites.iter().map(|site| site.spent).sum();
        let coverage = |site: &Site| site.answered as f64 / site.asked as f64;
        (spent / now, policy.sites.iter().map(coverage).collect())
    }

    #[test]
    fn the_budget_is_kept_and_used() {
        let (spent, _) = simulate(0.05, 100.0, &[(0.01, 0.1)]);
        assert!((0.045..=0.051).contains(&spent), "{spent}");
    }

    #[test]
    fn what_fits_is_always_asked() {
        let (spent, coverage) = simulate(0.05, 100.0, &[(1.0, 0.01)]);
        assert!(spent <= 0.05 && coverage[0] > 0.97, "{coverage:?}");
    }

    #[test]
    fn a_busy_site_does_not_starve_a_quiet_one() {
        let (spent, coverage) = simulate(0.05, 200.0, &[(0.001, 0.01), (2.0, 0.01)]);
        assert!(spent <= 0.051, "{spent}");
        assert!(coverage[1] > 0.9, "{coverage:?}");
        assert!(coverage[0] < 0.1, "{coverage:?}");
    }

    #[test]
    fn nothing_is_asked_for_nothing_and_all_for_everything() {
        assert_eq!(simulate(0.0, 10.0, &[(0.1, 0.1)]).1, [0.0]);
        assert_eq!(simulate(1.0, 10.0, &[(0.1, 0.5)]).1, [1.0]);
    }

    #[test]
    fn coverage_is_told_by_site() {
        let overhead = Overhead::new(1.0);
        for _ in 0..3 {
            assert_eq!(overhead.sample(|| 7), Some(7));
        }
        let coverage = overhead.coverage();
        assert_eq!((coverage.asked, coverage.answered), (3, 3));
        assert!(coverage.sites[0].place.contains("overhead.rs"));
        assert!(
            coverage
                .to_string()
                .starts_with("3 of 3 probes asked (100.0%)")
        );
    }
}
