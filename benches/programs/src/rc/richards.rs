//! Richards with reference counts, as one writes it with `Rc<RefCell>`: tasks are an enum, all else is shared.

use std::cell::{Cell, RefCell};
use std::rc::Rc;

const IDLE: usize = 0;
const WORKER: usize = 1;
const HANDLER_A: usize = 2;
const HANDLER_B: usize = 3;
const DEVICE_A: usize = 4;
const DEVICE_B: usize = 5;

const TO_DEVICE: u8 = 0;
const TO_WORK: u8 = 1;

const RUNNING: u8 = 0;
const RUNNABLE: u8 = 1;
const SUSPENDED: u8 = 2;
const HELD: u8 = 4;

type Link<T> = RefCell<Option<Rc<T>>>;

struct Packet {
    link: Link<Packet>,
    to: Cell<usize>,
    kind: u8,
    at: Cell<usize>,
    data: RefCell<[u8; 4]>,
}

enum Task {
    Idle { seed: Cell<u32>, count: Cell<u32> },
    Worker { to: Cell<usize>, letter: Cell<u8> },
    Handler { work: Link<Packet>, device: Link<Packet> },
    Device { waiting: Link<Packet> },
}

struct Control {
    next: Option<Rc<Control>>,
    number: usize,
    priority: u32,
    queue: Link<Packet>,
    state: Cell<u8>,
    task: Task,
}

#[derive(Default)]
struct Scheduler {
    queued: Cell<u32>,
    held: Cell<u32>,
    current: Link<Control>,
    current_number: Cell<usize>,
    tasks: Option<Rc<Control>>,
    by_number: [Option<Rc<Control>>; 6],
}

fn append(packet: Rc<Packet>, queue: Option<Rc<Packet>>) -> Rc<Packet> {
    packet.link.replace(None);
    let Some(queue) = queue else {
        return packet;
    };
    let mut last = queue.clone();
    loop {
        let next = last.link.borrow().clone();
        match next {
            Some(next) => last = next,
            None => break,
        }
    }
    last.link.replace(Some(packet));
    queue
}

impl Control {
    fn set(&self, bits: u8) {
        self.state.set(self.state.get() | bits);
    }
}

impl Scheduler {
    fn schedule(&self) {
        self.current.replace(self.tasks.clone());
        loop {
            let Some(task) = self.current.borrow().clone() else {
                return;
            };
            let state = task.state.get();
            let next = if state & HELD != 0 || state == SUSPENDED {
                task.next.clone()
            } else {
                self.current_number.set(task.number);
                self.run(&task)
            };
            self.current.replace(next);
        }
    }

    fn run(&self, control: &Control) -> Option<Rc<Control>> {
        let mut packet = None;
        if control.state.get() == SUSPENDED | RUNNABLE {
            packet = control.queue.take();
            let rest = packet.as_ref().and_then(|it| it.link.borrow().clone());
            control.state.set(if rest.is_some() { RUNNABLE } else { RUNNING });
            control.queue.replace(rest);
        }
        match &control.task {
            Task::Idle { seed, count } => {
                count.set(count.get() - 1);
                if count.get() == 0 {
                    return self.hold();
                }
                if seed.get() & 1 == 0 {
                    seed.set(seed.get() >> 1);
                    self.release(DEVICE_A)
                } else {
                    seed.set(seed.get() >> 1 ^ 0xd008);
                    self.release(DEVICE_B)
                }
            }
            Task::Worker { to, letter } => {
                let Some(packet) = packet else {
                    return self.suspend();
                };
                to.set(match to.get() {
                    HANDLER_A => HANDLER_B,
                    _ => HANDLER_A,
                });
                packet.to.set(to.get());
                packet.at.set(0);
                for place in packet.data.borrow_mut().iter_mut() {
                    letter.set(letter.get() % 26 + 1);
                    *place = letter.get();
                }
                self.send(packet)
            }
            Task::Handler { work, device } => {
                if let Some(packet) = packet {
                    let queue = match packet.kind {
                        TO_WORK => work,
                        _ => device,
                    };
                    let old = queue.take();
                    queue.replace(Some(append(packet, old)));
                }
                let first = work.borrow().clone();
                if let Some(first) = first {
                    let at = first.at.get();
                    if at == 4 {
                        work.replace(first.link.take());
                        return self.send(first);
                    }
                    let free = device.take();
                    if let Some(free) = free {
                        device.replace(free.link.take());
                        free.at.set(first.data.borrow()[at] as usize);
                        first.at.set(at + 1);
                        return self.send(free);
                    }
                }
                self.suspend()
            }
            Task::Device { waiting } => {
                if let Some(packet) = packet {
                    waiting.replace(Some(packet));
                    return self.hold();
                }
                match waiting.take() {
                    Some(packet) => self.send(packet),
                    None => self.suspend(),
                }
            }
        }
    }

    fn running(&self) -> Rc<Control> {
        self.current.borrow().clone().expect("a task runs")
    }

    fn release(&self, number: usize) -> Option<Rc<Control>> {
        let task = self.by_number[number].clone()?;
        task.state.set(task.state.get() & !HELD);
        let running = self.running();
        Some(match task.priority > running.priority {
            true => task,
            false => running,
        })
    }

    fn hold(&self) -> Option<Rc<Control>> {
        self.held.set(self.held.get() + 1);
        self.running().set(HELD);
        self.running().next.clone()
    }

    fn suspend(&self) -> Option<Rc<Control>> {
        self.running().set(SUSPENDED);
        Some(self.running())
    }

    fn send(&self, packet: Rc<Packet>) -> Option<Rc<Control>> {
        let task = self.by_number[packet.to.get()].clone()?;
        self.queued.set(self.queued.get() + 1);
        packet.link.replace(None);
        packet.to.set(self.current_number.get());
        let running = self.running();
        let queue = task.queue.borrow().clone();
        match queue {
            None => {
                task.queue.replace(Some(packet));
                task.set(RUNNABLE);
                if task.priority > running.priority {
                    return Some(task);
                }
            }
            Some(queue) => {
                append(packet, Some(queue));
            }
        }
        Some(running)
    }

    fn add(&mut self, number: usize, queue: Option<Rc<Packet>>, state: u8, task: Task) {
        let control = Rc::new(Control {
            next: self.tasks.take(),
            number,
            priority: number as u32 * 1000,
            queue: RefCell::new(queue),
            state: Cell::new(state),
            task,
        });
        self.by_number[number] = Some(control.clone());
        self.tasks = Some(control);
    }
}

fn packets(count: usize, to: usize, kind: u8) -> Option<Rc<Packet>> {
    let mut queue = None;
    for _ in 0..count {
        queue = Some(Rc::new(Packet {
            link: RefCell::new(queue),
            to: Cell::new(to),
            kind,
            at: Cell::new(0),
            data: RefCell::default(),
        }));
    }
    queue
}

pub fn run() -> (u32, u32) {
    let mut scheduler = Scheduler::default();
    let idle = Task::Idle { seed: Cell::new(1), count: Cell::new(1000) };
    scheduler.add(IDLE, None, RUNNING, idle);
    let worker = Task::Worker { to: Cell::new(HANDLER_A), letter: Cell::new(0) };
    scheduler.add(WORKER, packets(2, WORKER, TO_WORK), SUSPENDED | RUNNABLE, worker);
    for (number, device) in [(HANDLER_A, DEVICE_A), (HANDLER_B, DEVICE_B)] {
        let handler = Task::Handler { work: RefCell::default(), device: RefCell::default() };
        scheduler.add(number, packets(3, device, TO_DEVICE), SUSPENDED | RUNNABLE, handler);
    }
    for number in [DEVICE_A, DEVICE_B] {
        scheduler.add(number, None, SUSPENDED, Task::Device { waiting: RefCell::default() });
    }
    scheduler.schedule();
    (scheduler.queued.get(), scheduler.held.get())
}
