//! Any text on the command line is a name, a list of names or a binding, or it is said why not; what
//! heap text writes as a name is one on the command line and in DeAL, too.
#![no_main]

// The command is no library: its files are taken as they are.
#[allow(dead_code)]
#[path = "../../crates/cli/src/bindings.rs"]
mod bindings;
#[allow(dead_code)]
#[path = "../../crates/cli/src/names.rs"]
mod names;
#[allow(dead_code)]
#[path = "../../crates/cli/src/problem.rs"]
mod problem;

use bindings::Bindings;
use heaphound_deal::check::compile;
use heaphound_heap::quotes::{quoted, unquote};
use heaphound_heap::snapshot::{Snapshot, SnapshotBuilder};
use heaphound_heap::view::HeapView;
use heaphound_heap::{Root, RootKind};
use heaphound_snapshot::{read_text, write_text};
use libfuzzer_sys::fuzz_target;
use names::Names;

/// A heap in which a class, a field and a root have that name.
fn heap(name: &str) -> Option<Snapshot> {
    let mut builder = SnapshotBuilder::default();
    let class = builder.add_class(name, None, &[name]);
    let object = builder.add_object(class, 16);
    builder.add_root(Root::new(RootKind::Static, name), object);
    builder.finish().ok()
}

fuzz_target!(|text: &str| {
    if let Some((plain, rest)) = unquote(text) {
        assert_eq!(unquote(&format!("{}{rest}", quoted(&plain, '"'))), Some((plain, rest)));
    }
    let Some(heap) = heap(text) else {
        return;
    };
    let names = Names::of(&heap);
    drop(names.object(text).map_err(|it| it.to_string()));
    drop(names.list(&[text.to_string()]).map_err(|it| it.to_string()));
    drop(names.thread(text).map_err(|it| it.to_string()));
    if let Ok(given) = Bindings::read(&[text.to_string()], &names) {
        drop(compile("fuzz", "true", &given.scope(&heap)));
    }
    if text.is_empty() {
        return;
    }
    // In quotes it is a name everywhere.
    let name = quoted(text, '"');
    let object = heap.objects().next();
    let number = heap.number_of(object.expect("there is one"));
    for written in [format!("{name}#{number}"), format!("static:{name}")] {
        assert_eq!(names.object(&written).ok(), object, "{written}");
        let bound = [format!("d={written}")];
        let given = Bindings::read(&bound, &names).unwrap_or_else(|it| panic!("{it}"));
        let asked = format!("d == {written} && d.{name} == null");
        let resolved = compile("fuzz", &asked, &given.scope(&heap));
        let resolved = resolved.unwrap_or_else(|it| panic!("{it}"));
        let binder = given.binder(&heap, None);
        assert!(binder.bind(&resolved).is_ok(), "{asked}");
    }
    let mut bytes = Vec::new();
    write_text(&heap, &mut bytes, &mut |_, _| {}).expect("names are distinct");
    let again = read_text(&bytes, "again", &mut |_, _| {}).expect("it was written so");
    assert_eq!(again.classes()[0].name, text);
    assert_eq!(again.classes()[0].fields[0].name, text);
    assert_eq!(again.roots()[0].0.name, text);
});
