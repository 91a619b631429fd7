//! What was pruned, and yet is met again: a finalizer of something else leads to it.

use std::sync::{Arc, Mutex};

use heaphound::{Header, Managed, Slot, Weak};

use super::cut::{check_pruned, eager, for_each_heap};

/// Holds what nobody reads.
#[derive(Managed)]
#[repr(C)]
struct Shelf {
    header: Header,
    diary: Slot<Diary>,
}

/// Has memory of its own, which can be exchanged.
#[derive(Managed)]
#[repr(C)]
struct Diary {
    header: Header,
    page: Slot<Page>,
    #[managed(owned)]
    text: Mutex<Arc<()>>,
}

#[derive(Managed)]
#[repr(C)]
struct Page {
    header: Header,
    #[managed(owned)]
    text: Arc<()>,
}

/// Has a finalizer, which reads a diary.
#[derive(Managed)]
#[repr(C)]
struct Friend {
    header: Header,
    diary: Slot<Diary>,
}

/// A friend dies in the very collection that prunes the diary.
#[test]
fn a_finalizer_that_reads_what_was_pruned_shares_it_with_nobody() {
    let met = Mutex::new(0);
    for strict in [false, true] {
        for after in 1..8 {
            for_each_heap(eager().strict(strict), |builder| {
                let heap = builder.build().unwrap();
                let mut m = heap.attach("main").unwrap();
                let shelf_root = m.static_root::<Shelf>("shelf");
                let friend_root = m.static_root::<Friend>("friend");
                let texts = [(); 3].map(|()| Arc::new(()));
                let seen: Arc<Mutex<Option<Weak<Diary>>>> = Arc::default();
                {
                    let mut m = m.scope();
                    let text = texts[2].clone();
                    let page = m.alloc(PageInit { text }).unwrap();
                    let text = Mutex::new(texts[0].clone());
                    let page = Some(page);
                    let diary = m.alloc(DiaryInit { page, text }).unwrap();
                    let diary = Some(diary);
                    let shelf = m.alloc(ShelfInit { diary }).unwrap();
                    let friend = m.alloc(FriendInit { diary }).unwrap();
                    shelf_root.set(&m, Some(&m[shelf]));
                    friend_root.set(&m, Some(&m[friend]));
                    let (new, seen) = (texts[1].clone(), seen.clone());
                    m.on_death(&m[friend], move |m, friend| {
                        let diary = m[friend].diary.get().unwrap();
                        *diary.text.lock().unwrap() = new;
                        *seen.lock().unwrap() = Some(m.weak(diary));
                    });
                }
                for _ in 0..after {
                    m.collect();
                }
                // Nobody has read it.
                let was_whole = heap.pruned().is_empty();
                friend_root.clear(&m);
                m.collect();
                let was_met = seen.lock().unwrap().is_some();
                let is_cut = shelf_root.get(&m).unwrap().diary.try_get().is_err();
                let is_the_case = was_whole && was_met && is_cut;
                let counts = || texts.each_ref().map(Arc::strong_count);
                if is_the_case {
                    *met.lock().unwrap() += 1;
                    assert_eq!(counts(), [1, 2, 2], "the old text is gone, once");
                    for _ in 0..2 {
                        m.collect();
                    }
                    let weak = seen.lock().unwrap().take().unwrap();
                    match strict {
                        // Without pruning the shelf has it.
                        true => drop(check_pruned(weak.try_get(&m))),
                        false => assert!(weak.get(&m).is_none()),
                    }
                    let left = [1, 1 + strict as usize, 1 + strict as usize];
                    assert_eq!(counts(), left, "strict {strict}");
                }
                seen.lock().unwrap().take();
                drop(m);
                drop(heap);
                assert_eq!(counts(), [1, 1, 1]);
            });
        }
    }
    assert!(*met.lock().unwrap() > 8, "{met:?}");
}
