//! The model that random programs are held against, where that is easy to get wrong.

use std::collections::BTreeSet;

use heaphound_testkit::model::{Entry, Finalizer, Id, Model, ModelObject};
use heaphound_testkit::program::New;

fn pair(model: &mut Model, left: Option<Id>) -> Id {
    let slots = vec![left, None];
    model
        .objects
        .push(ModelObject::new(New::Pair, slots, vec![]));
    model.objects.len() - 1
}

#[test]
fn a_map_keeps_a_value_while_it_and_the_key_live() {
    let mut model = Model::default();
    let (key, value) = (pair(&mut model, None), pair(&mut model, None));
    let map = pair(&mut model, None);
    model.objects[map].entries.push(Entry {
        key,
        value,
        doubt: false,
    });
    model.locals = vec![map, key];
    assert!(model.reach().contains(value));
    model.locals = vec![map];
    assert!(!model.reach().contains(value));
    let forecast = model.forecast();
    model.settle(&forecast);
    assert!(model.objects[map].entries.is_empty());
}

#[test]
fn a_weak_edge_to_what_only_a_finalizer_sees_is_cleared() {
    let mut model = Model {
        exact_finalization: true,
        ..Model::default()
    };
    let inner = pair(&mut model, None);
    let outer = pair(&mut model, Some(inner));
    model.objects[outer].finalizers.push(Finalizer {
        number: 7,
        saves_to: None,
    });
    model.weak_handles.push(inner.into());
    let forecast = model.forecast();
    assert!(forecast.retained.contains(inner));
    assert_eq!(forecast.must_finalize, BTreeSet::from([7]));
    model.settle(&forecast);
    assert!(model.weak_handles[0].target.is_none());
}
