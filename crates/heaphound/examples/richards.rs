//! Richards: the kernel of an operating system, simulated. Six tasks send each other packets until a count has run down.
//!
//! After Martin Richards' benchmark. Tasks are subclasses, told apart by `match_class!`; once they are made nothing
//! is allocated any more, so that all of the simulation works on references borrowed from the mutator.
//!
//! Checks: the numbers of packets queued and tasks held are known, and a rule says that no packets are left over.

use heaphound::{Heap, Local, Mutator, OutOfMemory, Ref, Rules, Slot, Var, managed, match_class};

const IDLE: usize = 0;
const WORKER: usize = 1;
const HANDLER_A: usize = 2;
const HANDLER_B: usize = 3;
const DEVICE_A: usize = 4;
const DEVICE_B: usize = 5;

const TO_DEVICE: u8 = 0;
const TO_WORK: u8 = 1;

/// Not held and not suspended: it can run.
const RUNNING: u8 = 0;
/// A packet waits for it.
const RUNNABLE: u8 = 1;
const SUSPENDED: u8 = 2;
const HELD: u8 = 4;

#[managed]
struct Packet {
    link: Slot<Packet>,
    to: Var<usize>,
    kind: u8,
    at: Var<usize>,
    data: [Var<u8>; 4],
}

/// What a task does; each kind is a subclass.
#[managed]
struct Task {}

#[managed]
struct Idle {
    #[managed(superclass)]
    task: Task,
    seed: Var<u32>,
    count: Var<u32>,
}

#[managed]
struct Worker {
    #[managed(superclass)]
    task: Task,
    to: Var<usize>,
    letter: Var<u8>,
}

#[managed]
struct Handler {
    #[managed(superclass)]
    task: Task,
    work: Slot<Packet>,
    device: Slot<Packet>,
}

#[managed]
struct Device {
    #[managed(superclass)]
    task: Task,
    waiting: Slot<Packet>,
}

/// A task as the scheduler sees it.
#[managed]
struct Control {
    next: Slot<Control>,
    number: usize,
    priority: u32,
    queue: Slot<Packet>,
    state: Var<u8>,
    task: Ref<Task>,
}

#[managed]
struct Scheduler {
    queued: Var<u32>,
    held: Var<u32>,
    current: Slot<Control>,
    current_number: Var<usize>,
    tasks: Slot<Control>,
    by_number: [Slot<Control>; 6],
}

impl Packet {
    /// Adds the packet at the end of a queue, and returns the queue.
    fn append<'m>(&'m self, queue: Option<&'m Packet>) -> &'m Packet {
        self.link.clear();
        let Some(queue) = queue else {
            return self;
        };
        let mut last = queue;
        while let Some(next) = last.link.get() {
            last = next;
        }
        last.link.set(self);
        queue
    }
}

impl Control {
    fn set(&self, bits: u8) {
        self.state.set(self.state.get() | bits);
    }

    /// Gives the task a packet. Returns who runs next: this task, if it is more important than the one that does.
    fn receive<'m>(&'m self, packet: &'m Packet, running: &'m Control) -> &'m Control {
        match self.queue.get() {
            None => {
                self.queue.set(packet);
                self.set(RUNNABLE);
                if self.priority > running.priority {
                    return self;
                }
            }
            Some(queue) => {
                packet.append(Some(queue));
            }
        }
        running
    }

    /// Runs the task with its next packet, if one waits. Returns who runs next.
    fn run<'m>(&'m self, scheduler: &'m Scheduler) -> Option<&'m Control> {
        let mut packet = None;
        if self.state.get() == SUSPENDED | RUNNABLE {
            packet = self.queue.get();
            let rest = packet.and_then(|it| it.link.get());
            self.queue.set(rest);
            self.state
                .set(if rest.is_some() { RUNNABLE } else { RUNNING });
        }
        match_class!(self.task.get(), {
            Idle => |it| it.run(scheduler),
            Worker => |it| it.run(scheduler, packet),
            Handler => |it| it.run(scheduler, packet),
            Device => |it| it.run(scheduler, packet),
            _ => None,
        })
    }
}

impl Scheduler {
    fn schedule(&self) {
        self.current.set(self.tasks.get());
        while let Some(task) = self.current.get() {
            let state = task.state.get();
            self.current
                .set(if state & HELD != 0 || state == SUSPENDED {
                    task.next.get()
                } else {
                    self.current_number.set(task.number);
                    task.run(self)
                });
        }
    }

    fn running(&self) -> &Control {
        self.current.get().expect("a task runs")
    }

    fn release(&self, number: usize) -> Option<&Control> {
        let task = self.by_number[number].get()?;
        task.state.set(task.state.get() & !HELD);
        let running = self.running();
        Some(match task.priority > running.priority {
            true => task,
            false => running,
        })
    }

    fn hold(&self) -> Option<&Control> {
        self.held.set(self.held.get() + 1);
        self.running().set(HELD);
        self.running().next.get()
    }

    fn suspend(&self) -> Option<&Control> {
        self.running().set(SUSPENDED);
        Some(self.running())
    }

    fn send<'m>(&'m self, packet: &'m Packet) -> Option<&'m Control> {
        let task = self.by_number[packet.to.get()].get()?;
        self.queued.set(self.queued.get() + 1);
        packet.link.clear();
        packet.to.set(self.current_number.get());
        Some(task.receive(packet, self.running()))
    }
}

impl Idle {
    fn run<'m>(&self, scheduler: &'m Scheduler) -> Option<&'m Control> {
        self.count.set(self.count.get() - 1);
        if self.count.get() == 0 {
            return scheduler.hold();
        }
        let seed = self.seed.get();
        if seed & 1 == 0 {
            self.seed.set(seed >> 1);
            scheduler.release(DEVICE_A)
        } else {
            self.seed.set(seed >> 1 ^ 0xd008);
            scheduler.release(DEVICE_B)
        }
    }
}

impl Worker {
    fn run<'m>(&self, scheduler: &'m Scheduler, packet: Option<&'m Packet>) -> Option<&'m Control> {
        let Some(packet) = packet else {
            return scheduler.suspend();
        };
        let to = match self.to.get() {
            HANDLER_A => HANDLER_B,
            _ => HANDLER_A,
        };
        self.to.set(to);
        packet.to.set(to);
        packet.at.set(0);
        for place in &packet.data {
            let letter = self.letter.get() % 26 + 1;
            self.letter.set(letter);
            place.set(letter);
        }
        scheduler.send(packet)
    }
}

impl Handler {
    fn run<'m>(
        &'m self,
        scheduler: &'m Scheduler,
        packet: Option<&'m Packet>,
    ) -> Option<&'m Control> {
        if let Some(packet) = packet {
            let queue = match packet.kind {
                TO_WORK => &self.work,
                _ => &self.device,
            };
            queue.set(packet.append(queue.get()));
        }
        if let Some(work) = self.work.get() {
            let at = work.at.get();
            if at == work.data.len() {
                self.work.set(work.link.get());
                return scheduler.send(work);
            }
            if let Some(device) = self.device.get() {
                self.device.set(device.link.get());
                device.at.set(work.data[at].get() as usize);
                work.at.set(at + 1);
                return scheduler.send(device);
            }
        }
        scheduler.suspend()
    }
}

impl Device {
    fn run<'m>(
        &'m self,
        scheduler: &'m Scheduler,
        packet: Option<&'m Packet>,
    ) -> Option<&'m Control> {
        if let Some(packet) = packet {
            self.waiting.set(packet);
            return scheduler.hold();
        }
        let Some(packet) = self.waiting.get() else {
            return scheduler.suspend();
        };
        self.waiting.clear();
        scheduler.send(packet)
    }
}

/// A queue of packets.
fn packets<'a>(
    m: &mut Mutator<'a>,
    count: usize,
    to: usize,
    kind: u8,
) -> Result<Option<Local<'a, Packet>>, OutOfMemory> {
    let mut queue = None;
    for _ in 0..count {
        queue = Some(m.alloc(PacketInit {
            link: queue,
            to,
            kind,
            at: 0,
            data: [0; 4],
        })?);
    }
    Ok(queue)
}

fn add(
    m: &mut Mutator<'_>,
    scheduler: Local<'_, Scheduler>,
    number: usize,
    queue: Option<Local<'_, Packet>>,
    state: u8,
    task: Local<'_, Task>,
) -> Result<(), OutOfMemory> {
    let mut m = m.scope();
    let (tasks, queue) = (
        m[scheduler].tasks.get().map(|it| m.local(it)),
        queue.map(|it| m.local(it)),
    );
    let task = m.local(task);
    let control = m.alloc(ControlInit {
        next: tasks,
        number,
        priority: number as u32 * 1000,
        queue,
        state,
        task,
    })?;
    m[scheduler].tasks.set(control);
    m[scheduler].by_number[number].set(control);
    Ok(())
}

fn scheduler<'a>(m: &mut Mutator<'a>) -> Result<Local<'a, Scheduler>, OutOfMemory> {
    m.scoped(|m| {
        let scheduler = m.alloc(SchedulerInit {
            queued: 0,
            held: 0,
            current: None,
            current_number: 0,
            tasks: None,
            by_number: [None; 6],
        })?;
        let idle = m.alloc(IdleInit {
            task: TaskInit {},
            seed: 1,
            count: 1000,
        })?;
        let task = m.local(&m[idle].task);
        add(m, scheduler, IDLE, None, RUNNING, task)?;
        let worker = m.alloc(WorkerInit {
            task: TaskInit {},
            to: HANDLER_A,
            letter: 0,
        })?;
        let task = m.local(&m[worker].task);
        let queue = packets(m, 2, WORKER, TO_WORK)?;
        add(m, scheduler, WORKER, queue, SUSPENDED | RUNNABLE, task)?;
        for (number, device) in [(HANDLER_A, DEVICE_A), (HANDLER_B, DEVICE_B)] {
            let handler = m.alloc(HandlerInit {
                task: TaskInit {},
                work: None,
                device: None,
            })?;
            let task = m.local(&m[handler].task);
            let queue = packets(m, 3, device, TO_DEVICE)?;
            add(m, scheduler, number, queue, SUSPENDED | RUNNABLE, task)?;
        }
        for number in [DEVICE_A, DEVICE_B] {
            let device = m.alloc(DeviceInit {
                task: TaskInit {},
                waiting: None,
            })?;
            let task = m.local(&m[device].task);
            add(m, scheduler, number, None, SUSPENDED, task)?;
        }
        Ok(scheduler)
    })
}

/// Runs the simulation once. Returns how many packets were queued and how often a task was held.
pub fn run(m: &mut Mutator<'_>) -> Result<(u32, u32), OutOfMemory> {
    let mut m = m.scope();
    let scheduler = scheduler(&mut m)?;
    m[scheduler].schedule();
    Ok((m[scheduler].queued.get(), m[scheduler].held.get()))
}

#[allow(dead_code)] // Not in the benchmark.
fn main() -> Result<(), Box<dyn std::error::Error>> {
    let heap = Heap::builder().build()?;
    let mut m = heap.attach("main")?;
    for _ in 0..100 {
        assert_eq!(run(&mut m)?, (2322, 928));
    }
    // Packets of earlier runs are gone.
    let scheduler = scheduler(&mut m)?;
    m[scheduler].schedule();
    let rule = "instances(Packet) <= 8;";
    let findings = Rules::new(rule).check(&mut m)?;
    assert!(findings.is_empty(), "{findings:?}");
    println!("2322 packets queued, 928 tasks held, 8 packets");
    Ok(())
}
