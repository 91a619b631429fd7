//! Who waits for whom, over all heaps: waiting in circles is seen before it begins.
//!
//! A thread may use several heaps, and collects one of them while it runs in the others. Two kinds of
//! waiting come of it. Whoever stops a world waits **to stop** it: for every thread that runs in it. Whoever is
//! at a safepoint of a world that is stopped waits **to run**: for the thread that stopped it. A thread that
//! waits in one heap passes no safepoint of another, so these waits can close a circle: one thread stops
//! heap A, another stops heap B, and each runs in the heap that the other wants to stop.
//!
//! # Why a waiting thread is not simply taken to be at a safepoint in all its heaps
//!
//! It would be wrong. The thread that allocates in A has borrowed its mutator of A mutably, and no other: it may
//! hold a `&T` into B all the while, and a collection of B would move or free what that refers to (heap
//! invariant H2). Nothing at run time tells whether it does. With both threads holding such references
//! there is no order in which both collections can happen: one of them has to be given up.
//!
//! # What is done
//!
//! Before a thread waits, the circles that its wait would close are looked for. One wait of each circle is
//! *called off*, the one whose loss costs least ([`Loss`]):
//!
//! 1. A collection that an allocation wants because its budget or the nursery is used up: the heap grows instead,
//!    within its limit, and the next allocation that needs room tries again. So a program whose threads only
//!    allocate goes on, and each heap is collected once its threads have come to its safepoints.
//! 2. Attaching: an error.
//! 3. A collection without which there is no memory: the allocation's error says why there was none.
//! 4. A stop that the program asked for (`collect`, `inspect`, …) and that cannot be left out: a panic, that says
//!    what to do. A thread that *is* at a safepoint in another heap can say so: `blocked` borrows that heap's
//!    mutator mutably, so that the borrow checker has seen that no reference is held, and the thread
//!    does not run there meanwhile.
//!
//! # Why that is enough
//!
//! *A circle is closed by a thread that begins to wait, and by nothing else.* A wait to stop looks at those who
//! run in a stopped world, and nobody begins to run in one; a wait to run looks at whoever has stopped the world,
//! and whoever stops one looks for circles after it has done so. So it suffices to look for circles through the thread that
//! begins to wait, under the one lock that all changes are made under.
//!
//! *Every circle has a wait that can be called off.* If all its threads wait to run, each has stopped the world
//! that the one before it waits for, completely: no code of the program, which could wait elsewhere, runs on a
//! thread that is still about to stop one. Of those that wait at a safepoint or at the end of `blocked`, each
//! ceased to run in its world after it had itself stopped one, since these calls nest, and before the next thread
//! had stopped that world. All around the circle each stop would come before the next, so at least
//! one thread is not of this kind: it attaches.
//!
//! Waits for anything else, such as locks and channels, are not seen: there, too, `blocked` is the answer, for
//! every heap in which the thread runs.

use std::collections::HashMap;
use std::fmt;
use std::hash::Hash;

/// The number of a heap's world.
pub(crate) type WorldId = u64;

/// What a thread waits for.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Need {
    /// That the world runs again.
    ToRun,
    /// That nobody runs in the world, which this thread is stopping.
    ToStop,
}

/// What happens if a wait is called off; the least loss first.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub(crate) enum Loss {
    /// A collection is put off, and the heap grows instead.
    Delay,
    /// The thread cannot attach.
    Attachment,
    /// An allocation fails, or a file is not written: an error.
    Error,
    /// The program gets a panic.
    Panic,
    /// It cannot be.
    Never,
}

/// A wait in a world.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Wait {
    pub(crate) world: WorldId,
    pub(crate) need: Need,
    pub(crate) loss: Loss,
}

/// The wait was called off: it would never have ended.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct CalledOff;

impl fmt::Display for CalledOff {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(
            "threads that use several heaps would wait for each other for ever: each may hold references into a \
             heap that another one wants to stop; call this inside `Mutator::blocked` of the other heaps that \
             this thread is attached to",
        )
    }
}

/// Who runs in a world, and who has stopped it or is stopping it.
struct World<T> {
    running: Vec<T>,
    stopper: Option<T>,
}

/// All worlds, and the threads that wait in them.
pub(crate) struct Worlds<T> {
    worlds: HashMap<WorldId, World<T>>,
    waits: HashMap<T, (Wait, Option<CalledOff>)>,
    last: WorldId,
}

impl<T> Default for Worlds<T> {
    fn default() -> Self {
        Self {
            worlds: HashMap::new(),
            waits: HashMap::new(),
            last: 0,
        }
    }
}

impl<T: Copy + Eq + Hash> Worlds<T> {
    /// A new world, in which nobody runs.
    pub(crate) fn add(&mut self) -> WorldId {
        self.last += 1;
        let world = World {
            running: Vec::new(),
            stopper: None,
        };
        self.worlds.insert(self.last, world);
        self.last
    }

    pub(crate) fn remove(&mut self, world: WorldId) {
        self.worlds.remove(&world);
    }

    fn world(&mut self, world: WorldId) -> &mut World<T> {
        self.worlds
            .get_mut(&world)
            .expect("a world lasts as long as its heap")
    }

    /// The thread that has stopped a world or is stopping it.
    pub(crate) fn stopper(&self, world: WorldId) -> Option<T> {
        self.worlds[&world].stopper
    }

    /// A thread begins to run.
    pub(crate) fn run(&mut self, world: WorldId, thread: T) {
        self.world(world).running.push(thread);
    }

    /// A thread ceases to run.
    pub(crate) fn rest(&mut self, world: WorldId, thread: T) {
        let running = &mut self.world(world).running;
        let place = running.iter().position(|&it| it == thread);
        running.swap_remove(place.expect("only who runs can cease to"));
    }

    /// A thread that runs begins to stop the world.
    pub(crate) fn begin_stop(&mut self, world: WorldId, thread: T) {
        self.rest(world, thread);
        self.world(world).stopper = Some(thread);
    }

    /// The world runs again, and so does the thread that has stopped it.
    pub(crate) fn end_stop(&mut self, world: WorldId, thread: T) {
        self.world(world).stopper = None;
        self.run(world, thread);
    }

    /// Whether the wait has not come to its end.
    pub(crate) fn goes_on(&self, wait: Wait) -> bool {
        let world = &self.worlds[&wait.world];
        match wait.need {
            Need::ToRun => world.stopper.is_some(),
            Need::ToStop => !world.running.is_empty(),
        }
    }

    /// A thread begins to wait, unless that would be for ever. Adds the worlds in which waits were called off, be
    /// it so or not: who waits there is to be woken.
    pub(crate) fn begin_wait(
        &mut self,
        thread: T,
        wait: Wait,
        woken: &mut Vec<WorldId>,
    ) -> Result<(), CalledOff> {
        self.waits.insert(thread, (wait, None));
        while let Some(circle) = self.circle(thread) {
            let loss = |it: &T| self.waits[it].0.loss;
            // Of equals this thread, which comes first: the others have waited longer.
            let least = circle.iter().copied().min_by_key(loss);
            let least = least.filter(|it| loss(it) < Loss::Never);
            let Some(least) = least.filter(|&it| it != thread) else {
                debug_assert!(least.is_some(), "every circle has a wait to call off");
                self.waits.remove(&thread);
                return Err(CalledOff);
            };
            let (wait, called_off) = self.waits.get_mut(&least).expect("it waits");
            *called_off = Some(CalledOff);
            woken.push(wait.world);
        }
        Ok(())
    }

    /// Whether somebody has called the wait of a thread off.
    pub(crate) fn is_called_off(&self, thread: T) -> bool {
        self.waits.get(&thread).is_some_and(|it| it.1.is_some())
    }

    /// A thread waits no more.
    pub(crate) fn end_wait(&mut self, thread: T) {
        self.waits.remove(&thread);
    }

    /// Whom a thread waits for. Nobody, if its wait was called off: it is about to go on.
    fn awaited(&self, thread: T) -> &[T] {
        let Some((wait, None)) = self.waits.get(&thread) else {
            return &[];
        };
        let world = &self.worlds[&wait.world];
        match wait.need {
            Need::ToRun => world.stopper.as_slice(),
            Need::ToStop => &world.running,
        }
    }

    /// Threads that wait for each other in a circle, from this one on.
    fn circle(&self, thread: T) -> Option<Vec<T>> {
        let mut circle = vec![thread];
        // How far each thread of the circle has been followed.
        let mut followed = vec![0];
        let mut seen = std::collections::HashSet::new();
        while let (Some(&last), Some(next)) = (circle.last(), followed.last_mut()) {
            match self.awaited(last).get(*next) {
                Some(&it) if it == thread => return Some(circle),
                Some(&it) => {
                    *next += 1;
                    if seen.insert(it) {
                        circle.push(it);
                        followed.push(0);
                    }
                }
                None => {
                    circle.pop();
                    followed.pop();
                }
            }
        }
        None
    }
}

#[cfg(test)]
mod tests {
    //! Threads that do anything to their heaps, in any order of their steps: nobody waits for ever, and
    //! waits are called off only where somebody would.

    use super::*;

    /// What a thread does next. Where a wait is called off, it goes on at another place.
    #[derive(Clone, Copy, Debug)]
    enum Step {
        Safepoint(WorldId),
        Stop(WorldId, Loss, usize),
        Resume(WorldId),
        Leave(WorldId),
        Enter(WorldId),
        Attach(WorldId, usize),
    }

    struct Dice(u64);

    impl Dice {
        fn below(&mut self, end: usize) -> usize {
            self.0 ^= self.0 << 13;
            self.0 ^= self.0 >> 7;
            self.0 ^= self.0 << 17;
            (self.0 % end as u64) as usize
        }
    }

    /// Writes a program of a thread that runs in some worlds.
    fn write(dice: &mut Dice, runs: &mut Vec<bool>, depth: usize, program: &mut Vec<Step>) {
        for _ in 0..1 + dice.below(3) {
            let place = dice.below(runs.len());
            let world = place as WorldId + 1;
            let nested = |dice: &mut Dice, runs: &mut Vec<bool>, program: &mut Vec<Step>| {
                if depth > 0 {
                    write(dice, runs, depth - 1, program);
                }
            };
            if !runs[place] {
                // Not in a world that this thread has stopped itself; `Heap::attach` refuses that.
                let own = program.iter().filter(
                    |it| matches!(it, Step::Stop(of, ..) | Step::Resume(of) if *of == world),
                );
                if own.count() % 2 == 1 {
                    continue;
                }
                let attach = program.len();
                program.push(Step::Attach(world, 0));
                runs[place] = true;
                nested(dice, runs, program);
                runs[place] = false;
                program.push(Step::Leave(world));
                program[attach] = Step::Attach(world, program.len());
                continue;
            }
            match dice.below(4) {
                0 => program.push(Step::Safepoint(world)),
                1 => {
                    program.push(Step::Leave(world));
                    runs[place] = false;
                    nested(dice, runs, program);
                    runs[place] = true;
                    program.push(Step::Enter(world));
                }
                _ => {
                    let losses = [Loss::Delay, Loss::Delay, Loss::Error, Loss::Panic];
                    let loss = losses[dice.below(4)];
                    let stop = program.len();
                    program.push(Step::Stop(world, loss, 0));
                    runs[place] = false;
                    // Only what the program asks for runs its code meanwhile.
                    if loss == Loss::Panic {
                        nested(dice, runs, program);
                    }
                    runs[place] = true;
                    program.push(Step::Resume(world));
                    program[stop] = Step::Stop(world, loss, program.len());
                }
            }
        }
    }

    /// A thread of a simulation.
    struct Thread {
        program: Vec<Step>,
        place: usize,
        waits: Option<Wait>,
        /// Whether it looks again only when its world wakes it.
        sleeps: bool,
    }

    struct Simulation {
        worlds: Worlds<usize>,
        threads: Vec<Thread>,
        /// Who has stopped a world completely.
        stopped: HashMap<WorldId, usize>,
        called_off: usize,
    }

    impl Simulation {
        fn new(dice: &mut Dice) -> Self {
            let mut worlds = Worlds::default();
            let count = 1 + dice.below(4);
            let ids: Vec<_> = (0..count).map(|_| worlds.add()).collect();
            let threads = (0..2 + dice.below(4)).map(|thread| {
                let mut runs: Vec<bool> = ids.iter().map(|_| dice.below(4) > 0).collect();
                for (&world, &runs) in ids.iter().zip(&runs) {
                    if runs {
                        worlds.run(world, thread);
                    }
                }
                let mut program = Vec::new();
                write(dice, &mut runs, 3, &mut program);
                for (&world, _) in ids.iter().zip(&runs).filter(|(_, runs)| **runs) {
                    program.push(Step::Leave(world));
                }
                Thread {
                    program,
                    place: 0,
                    waits: None,
                    sleeps: false,
                }
            });
            let threads = threads.collect();
            Self {
                worlds,
                threads,
                stopped: HashMap::new(),
                called_off: 0,
            }
        }

        /// Whether a thread would never go on if it began this wait, found the slow way: everybody goes on
        /// who does not wait, or waits for those only who go on.
        fn is_stuck(&mut self, thread: usize, wait: Wait) -> bool {
            let mut waits: HashMap<usize, Wait> = HashMap::new();
            for (&it, &(wait, called_off)) in &self.worlds.waits {
                if called_off.is_none() {
                    waits.insert(it, wait);
                }
            }
            waits.insert(thread, wait);
            loop {
                let goes_on = |it: &usize| !waits.contains_key(it);
                let free = waits.iter().find(|(_, wait)| {
                    let world = &self.worlds.worlds[&wait.world];
                    match wait.need {
                        Need::ToRun => world.stopper.iter().all(goes_on),
                        Need::ToStop => world.running.iter().all(goes_on),
                    }
                });
                match free.map(|(&it, _)| it) {
                    Some(it) => waits.remove(&it),
                    None => return waits.contains_key(&thread),
                };
            }
        }

        fn can_step(&self, thread: usize) -> bool {
            let it = &self.threads[thread];
            match it.waits {
                Some(wait) => !it.sleeps && self.ends(thread, wait),
                None => it.place < it.program.len(),
            }
        }

        fn ends(&self, thread: usize, wait: Wait) -> bool {
            !self.worlds.goes_on(wait) || self.worlds.is_called_off(thread)
        }

        /// Lets those who wait in a world look. Who must wait on sleeps again.
        fn wake(&mut self, world: WorldId) {
            for thread in 0..self.threads.len() {
                let wait = self.threads[thread].waits;
                let wait = wait.filter(|it| it.world == world);
                if wait.is_some_and(|wait| self.ends(thread, wait)) {
                    self.threads[thread].sleeps = false;
                }
            }
        }

        /// Does what a thread does next, up to its next wait.
        fn step(&mut self, thread: usize) {
            let step = self.threads[thread].program[self.threads[thread].place];
            let waited = self.threads[thread].waits.take();
            let ended = waited.map(|wait| {
                let called_off = self.worlds.goes_on(wait);
                self.worlds.end_wait(thread);
                if called_off { Err(CalledOff) } else { Ok(()) }
            });
            let wait = |world, need, loss| Wait { world, need, loss };
            match (step, ended) {
                (Step::Leave(world), _) => {
                    self.worlds.rest(world, thread);
                    self.wake(world);
                    self.go_on(thread);
                }
                (Step::Resume(world), _) => {
                    self.stopped.remove(&world);
                    self.worlds.end_stop(world, thread);
                    self.wake(world);
                    self.go_on(thread);
                }
                (Step::Safepoint(world), None) => {
                    if self.worlds.stopper(world).is_none() {
                        return self.go_on(thread);
                    }
                    self.worlds.rest(world, thread);
                    self.wake(world);
                    self.wait(thread, wait(world, Need::ToRun, Loss::Never));
                }
                (Step::Enter(world), None) => {
                    self.wait(thread, wait(world, Need::ToRun, Loss::Never));
                }
                (Step::Attach(world, _), None) => {
                    self.wait(thread, wait(world, Need::ToRun, Loss::Attachment));
                }
                (Step::Stop(world, loss, _), None) => {
                    if self.worlds.stopper(world).is_some() {
                        // Waits at the safepoint, and then tries again.
                        self.worlds.rest(world, thread);
                        self.wake(world);
                        return self.wait(thread, wait(world, Need::ToRun, Loss::Never));
                    }
                    self.worlds.begin_stop(world, thread);
                    self.wait(thread, wait(world, Need::ToStop, loss));
                }
                (Step::Stop(world, ..), Some(Ok(()))) if waited.unwrap().need == Need::ToRun => {
                    self.worlds.run(world, thread);
                }
                (Step::Stop(world, ..), Some(Ok(()))) => {
                    self.stopped.insert(world, thread);
                    self.go_on(thread);
                }
                (Step::Stop(world, _, after), Some(Err(CalledOff))) => {
                    self.worlds.end_stop(world, thread);
                    self.wake(world);
                    self.threads[thread].place = after;
                }
                (Step::Attach(_, after), Some(Err(CalledOff))) => {
                    self.threads[thread].place = after;
                }
                (
                    Step::Safepoint(world) | Step::Enter(world) | Step::Attach(world, _),
                    Some(Ok(())),
                ) => {
                    self.worlds.run(world, thread);
                    self.go_on(thread);
                }
                (Step::Safepoint(_) | Step::Enter(_), Some(Err(CalledOff))) => {
                    panic!("a wait to run was called off")
                }
            }
        }

        fn go_on(&mut self, thread: usize) {
            self.threads[thread].place += 1;
        }

        fn wait(&mut self, thread: usize, wait: Wait) {
            self.threads[thread].waits = Some(wait);
            if !self.worlds.goes_on(wait) {
                // Under the same lock.
                return self.step(thread);
            }
            let is_stuck = self.is_stuck(thread, wait);
            let mut woken = Vec::new();
            let begun = self.worlds.begin_wait(thread, wait, &mut woken);
            self.called_off += woken.len();
            woken.iter().for_each(|&it| self.wake(it));
            match begun {
                Ok(()) => {
                    assert_eq!(!woken.is_empty(), is_stuck);
                    self.threads[thread].sleeps = true;
                }
                Err(CalledOff) => {
                    assert!(is_stuck && wait.loss != Loss::Never);
                    self.called_off += 1;
                    self.worlds.waits.insert(thread, (wait, Some(CalledOff)));
                }
            }
        }
    }

    #[test]
    fn nobody_waits_for_ever_and_only_who_would_is_called_off() {
        let mut called_off = 0;
        for seed in 1..=20_000 {
            let dice = &mut Dice(seed * 0x9e37_79b9);
            let mut simulation = Simulation::new(dice);
            loop {
                let threads = 0..simulation.threads.len();
                let able: Vec<_> = threads.filter(|&it| simulation.can_step(it)).collect();
                if able.is_empty() {
                    break;
                }
                simulation.step(able[dice.below(able.len())]);
                for (world, stopper) in &simulation.stopped {
                    let it = &simulation.worlds.worlds[world];
                    assert!(it.running.is_empty() && it.stopper == Some(*stopper));
                }
            }
            for (number, thread) in simulation.threads.iter().enumerate() {
                let Thread { program, place, .. } = thread;
                assert_eq!(*place, program.len(), "seed {seed}: {number} {program:?}");
            }
            called_off += simulation.called_off;
        }
        assert!(called_off > 1000, "{called_off}");
    }
}
