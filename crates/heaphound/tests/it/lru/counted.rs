//! The cache of `examples/lru.rs` as it is written with `Rc<RefCell>`.

use std::cell::RefCell;
use std::collections::HashMap;
use std::rc::{Rc, Weak};

pub struct Entry {
    key: u64,
    value: u64,
    older: Weak<RefCell<Entry>>,
    newer: Option<Rc<RefCell<Entry>>>,
}

pub struct Cache {
    capacity: usize,
    oldest: Option<Rc<RefCell<Entry>>>,
    newest: Weak<RefCell<Entry>>,
    by_key: HashMap<u64, Rc<RefCell<Entry>>>,
}

impl Cache {
    pub fn new(capacity: usize) -> Self {
        Self {
            capacity,
            oldest: None,
            newest: Weak::new(),
            by_key: HashMap::new(),
        }
    }

    pub fn keys(&self) -> Vec<u64> {
        let mut keys = Vec::new();
        let mut at = self.oldest.clone();
        while let Some(entry) = at {
            keys.push(entry.borrow().key);
            at = entry.borrow().newer.clone();
        }
        keys
    }

    pub fn get(&mut self, key: u64) -> Option<u64> {
        let entry = self.by_key.get(&key)?.clone();
        self.unlink(&entry);
        let value = entry.borrow().value;
        self.link(entry);
        Some(value)
    }

    pub fn remove(&mut self, key: u64) -> Option<u64> {
        let entry = self.by_key.remove(&key)?;
        self.unlink(&entry);
        let value = entry.borrow().value;
        Some(value)
    }

    pub fn put(&mut self, key: u64, value: u64) {
        self.remove(key);
        if self.by_key.len() == self.capacity {
            let oldest = self.oldest.as_ref().map(|it| it.borrow().key);
            if let Some(oldest) = oldest {
                self.remove(oldest);
            }
        }
        let entry = Rc::new(RefCell::new(Entry {
            key,
            value,
            older: Weak::new(),
            newer: None,
        }));
        self.by_key.insert(key, entry.clone());
        self.link(entry);
    }

    fn link(&mut self, entry: Rc<RefCell<Entry>>) {
        let newest = self.newest.upgrade();
        self.newest = Rc::downgrade(&entry);
        match newest {
            Some(newest) => {
                entry.borrow_mut().older = Rc::downgrade(&newest);
                newest.borrow_mut().newer = Some(entry);
            }
            None => self.oldest = Some(entry),
        }
    }

    fn unlink(&mut self, entry: &Rc<RefCell<Entry>>) {
        let older = std::mem::take(&mut entry.borrow_mut().older);
        let newer = entry.borrow_mut().newer.take();
        match &newer {
            Some(newer) => newer.borrow_mut().older = older.clone(),
            None => self.newest = older.clone(),
        }
        match older.upgrade() {
            Some(older) => older.borrow_mut().newer = newer,
            None => self.oldest = newer,
        }
    }
}

/// A list that is dropped from its front drops itself link by link, each inside the one before: a long one runs out of stack.
impl Drop for Cache {
    fn drop(&mut self) {
        self.by_key.clear();
        let mut at = self.oldest.take();
        while let Some(entry) = at {
            at = entry.borrow_mut().newer.take();
        }
    }
}
