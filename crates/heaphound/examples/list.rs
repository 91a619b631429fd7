//! Typed structs in a managed heap: a list that is built, shared and shortened.

use heaphound::{Header, Heap, Local, Managed, Mutator, OutOfMemory, Slot, Str, Var};

#[derive(Managed)]
#[repr(C)]
struct Task {
    header: Header,
    title: Slot<Str>,
    minutes: Var<u32>,
    next: Slot<Task>,
}

/// Puts a task in front of a list.
fn push<'a>(
    m: &mut Mutator<'a>,
    title: &str,
    minutes: u32,
    next: Option<Local<'_, Task>>,
) -> Result<Local<'a, Task>, OutOfMemory> {
    let title = Some(m.alloc_str(title)?);
    m.alloc(TaskInit {
        title,
        minutes,
        next,
    })
}

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let heap = Heap::builder().max_bytes(16 << 20).log(true).build()?;
    let mut m = heap.attach("main")?;

    let mut list = push(&mut m, "close the issue", 5, None)?;
    list = push(&mut m, "measure it", 30, Some(list))?;
    list = push(&mut m, "write a garbage collector", 170, Some(list))?;

    m[list].next.clear(); // Two tasks are garbage now…
    let rest = push(&mut m, "sleep", 480, None)?;
    m[list].next.set(Some(&m[rest])); // …and another follows the first.
    m.collect();

    let mut task = Some(&m[list]);
    while let Some(it) = task {
        let title = it.title.get().map_or("?", |title| title);
        println!("{:4} min  {title}", it.minutes.get());
        task = it.next.get();
    }
    Ok(())
}
