//! Two rules of everyday programming that no type checker checks, as questions to the heap.
//!
//! - *Wrappers*: where two systems are connected, one should use the objects of the other only
//!   through wrappers. `reach_through(a, {w}, w.b)` says whether it does.
//! - *Disposal*: an object that is disposed of by hand must not be in use elsewhere. `is_shared`
//!   says whether it is, before the object is disposed of.

use std::error::Error;

use heaphound::finding::Finding;
use heaphound::path::{Origin, Search, named};
use heaphound::root::RootSet;
use heaphound::{
    Collector, Header, Heap, Local, Managed, Mutator, ProbeError, Slot, Str, Var, root::Part,
};

mod report;

/// An object of the new system.
#[derive(Managed)]
#[repr(C)]
struct Invoice {
    header: Header,
    account: Slot<AccountWrapper>,
    /// A reference that goes around the wrapper: the mistake.
    fast_account: Slot<LegacyAccount>,
}

#[derive(Managed)]
#[repr(C)]
struct AccountWrapper {
    header: Header,
    wrapped: Slot<LegacyAccount>,
}

/// An object of the old system, which reaches it in its own ways.
#[derive(Managed)]
#[repr(C)]
struct LegacyAccount {
    header: Header,
    cents: Var<i64>,
}

#[derive(Managed)]
#[repr(C)]
struct Sprite {
    header: Header,
    name: Slot<Str>,
    texture: Slot<Texture>,
}

/// Memory that is given back by hand, for example that of a graphics card.
#[derive(Managed)]
#[repr(C)]
struct Texture {
    header: Header,
    disposed: Var<bool>,
}

/// The findings, or another error.
pub(crate) type Findings = Result<Vec<Finding>, Box<dyn Error>>;

fn main() -> Result<(), Box<dyn Error>> {
    let collector = Collector::default();
    println!("An invoice that goes through the wrapper:");
    let clean = wrappers(collector, false)?;
    report::print(&clean);
    println!("\nOne that knows a shorter way:");
    let bypassed = wrappers(collector, true)?;
    report::print(&bypassed);
    println!("\nA texture that only its sprite uses is disposed of:");
    let (unshared, disposed) = disposal(collector, false)?;
    report::print(&unshared);
    println!("\nOne that two sprites use is not:");
    let (shared, kept) = disposal(collector, true)?;
    report::print(&shared);
    let found = [&clean, &bypassed, &unshared, &shared].map(Vec::len);
    match found == [0, 1, 0, 1] && disposed && !kept {
        true => Ok(()),
        false => Err("that is not what was expected".into()),
    }
}

fn new_heap(collector: Collector) -> Result<Heap, Box<dyn Error>> {
    let builder = Heap::builder().max_bytes(16 << 20).collector(collector);
    Ok(builder.build()?)
}

/// Checks that an invoice reaches the old system's account through the wrapper only.
pub(crate) fn wrappers(collector: Collector, in_a_hurry: bool) -> Findings {
    let heap = new_heap(collector)?;
    let mut m = heap.attach("main")?;
    let account = m.alloc(LegacyAccountInit { cents: 4_200 })?;
    m.static_root("ledger").set(&m, Some(&m[account])); // The old system's own way.
    let wrapper = m.alloc(AccountWrapperInit {
        wrapped: Some(account),
    })?;
    let invoice = m.alloc(InvoiceInit {
        account: Some(wrapper),
        fast_account: in_a_hurry.then_some(account),
    })?;
    if m.reach_through(invoice, &[wrapper], account)? {
        return Ok(Vec::new());
    }
    m.ask(|heap| {
        let view = heap.view();
        let [invoice, account] = [heap.id(invoice)?, heap.id(account)?];
        let search = Search {
            from: Origin::Objects(&[invoice]),
            avoid: &[heap.id(wrapper)?],
        };
        let about = named(view, account);
        let message = format!("{} can be reached without its wrapper", about.name);
        let path = heap.path(&search, account).map(|it| it.describe(view));
        let label = |path| ("around the wrapper".to_string(), path);
        let paths = path.into_iter().map(label).collect();
        Ok(vec![report::violation(
            "wrapper-bypassed",
            message,
            about,
            paths,
        )])
    })
}

/// Disposes of a sprite's texture unless another sprite uses it. Returns whether it did.
pub(crate) fn disposal(
    collector: Collector,
    twins: bool,
) -> Result<(Vec<Finding>, bool), Box<dyn Error>> {
    let heap = new_heap(collector)?;
    let mut m = heap.attach("main")?;
    let texture = m.alloc(TextureInit { disposed: false })?;
    let stage = m.alloc_refs::<Sprite>(2)?;
    m.static_root("stage").set(&m, Some(&m[stage]));
    for i in 0..1 + twins as usize {
        let mut m = m.scope();
        let name = Some(m.alloc_str(&format!("sprite {i}"))?);
        let texture = Some(texture);
        let sprite = m.alloc(SpriteInit { name, texture })?;
        m[stage][i].set(Some(&m[sprite]));
    }
    let found = dispose(&mut m, texture)?;
    Ok((found, m[texture].disposed.get()))
}

fn dispose(
    m: &mut Mutator<'_>,
    texture: Local<'_, Texture>,
) -> Result<Vec<Finding>, Box<dyn Error>> {
    if !m.is_shared(texture)? {
        m[texture].disposed.set(true);
        return Ok(Vec::new());
    }
    let finding = m.ask(|heap| {
        let (view, texture) = (heap.view(), heap.id(texture)?);
        let about = named(view, texture);
        // All paths that do not start on the stack of this thread.
        let asker = heap.asker().ok_or(ProbeError::NobodyAsks)?;
        let search = Search {
            from: Origin::Roots(RootSet::AllBut(asker, Part::Stack)),
            avoid: &[],
        };
        let paths = heap.all_paths(&search, texture, 5).trails;
        let paths = paths.iter().enumerate().map(|(i, path)| {
            let label = format!("use {}", i + 1);
            (label, path.describe(view))
        });
        let message = format!("{} is still in use and was not disposed of", about.name);
        let paths = paths.collect();
        Ok::<_, ProbeError>(report::violation("disposed-shared", message, about, paths))
    })?;
    Ok(vec![finding])
}
