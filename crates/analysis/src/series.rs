//! A series of snapshots of one program. Classes have different numbers in each.
//!
//! A class is identified by its name. If several have the same name, their order counts as well.
//! The series numbers classes and slots as they appear, and gives every summary those numbers.

use std::collections::HashMap;

use heaphound_heap::{ClassId, ClassInfo};

use crate::slot::{SlotId, SlotIds};
use crate::summary::{ClassTotal, SlotEdge, Summary};

/// The classes of a series of heaps.
#[derive(Clone, Debug, Default)]
pub struct Series {
    classes: Vec<ClassInfo>,
    /// By name, and how many of that name there were before it.
    known: HashMap<(String, usize), ClassId>,
}

impl Series {
    /// Returns the summary of the next heap, whose classes are given, by the numbers of the
    /// series.
    pub fn add(&mut self, summary: &Summary, classes: &[ClassInfo]) -> Summary {
        let ids = SlotIds::new(classes);
        let map = self.align(classes);
        let common = SlotIds::new(&self.classes);
        let class = |id: ClassId| map[id.0 as usize - 1];
        let mut totals = vec![ClassTotal::default(); self.classes.len() + 1];
        for info in classes {
            totals[class(info.id).0 as usize] = summary.class(info.id);
        }
        let edge = |edge: &SlotEdge| {
            let from = ids.class_of(edge.slot)?;
            Some(SlotEdge {
                slot: self.slot(&common, class(from), ids.name(classes, edge.slot))?,
                to: class(edge.to),
                ..*edge
            })
        };
        let edges = summary.edges().iter().filter_map(edge).collect();
        Summary::new(totals, edges)
    }

    /// Returns all classes so far, by the numbers of the series.
    pub fn classes(&self) -> &[ClassInfo] {
        &self.classes
    }

    /// Returns the numbers of all slots so far. They change when a class has more slots than
    /// before. Summaries that are compared by class are not affected.
    pub fn slots(&self) -> SlotIds {
        SlotIds::new(&self.classes)
    }

    /// Returns the number that each class has in the series.
    fn align(&mut self, classes: &[ClassInfo]) -> Vec<ClassId> {
        let mut met: HashMap<&str, usize> = HashMap::new();
        let mut map = Vec::new();
        for class in classes {
            let before = met.entry(&class.name).or_default();
            let key = (class.name.clone(), *before);
            *before += 1;
            let next = ClassId(self.classes.len() as u32 + 1);
            let id = *self.known.entry(key).or_insert(next);
            if id == next {
                self.classes.push(ClassInfo {
                    id,
                    // Its number differs here, and is not used.
                    superclass: None,
                    interfaces: Vec::new(),
                    is_interface: false,
                    ..class.clone()
                });
            } else {
                // What a reader of files knows of a class may differ from file to file.
                let known = &mut self.classes[id.0 as usize - 1];
                for field in &class.fields {
                    if known.field(&field.name).is_none() {
                        known.fields.push(field.clone());
                    }
                }
                known.elements = known.elements.or(class.elements);
            }
            map.push(id);
        }
        map
    }

    fn slot(&self, ids: &SlotIds, class: ClassId, name: &str) -> Option<SlotId> {
        let mut slots = ids.of(class);
        slots.find(|&slot| ids.name(&self.classes, slot) == name)
    }
}

#[cfg(test)]
mod tests {
    use heaphound_heap::snapshot::{ObjectId, Snapshot, SnapshotBuilder};
    use heaphound_heap::view::{HeapView, Place};
    use heaphound_heap::{Root, RootKind};

    use super::*;
    use crate::summary::summarize;

    /// Returns a list of that many nodes, whose classes come in that order.
    fn list(names: [&str; 3], nodes: u32) -> Snapshot {
        let mut builder = SnapshotBuilder::default();
        let slots = |name: &str| match name {
            "List" => vec!["head"],
            "Node" => vec!["next"],
            _ => vec![],
        };
        for name in names {
            builder.add_class(name, None, &slots(name));
        }
        let id = |name| ClassId(names.iter().position(|it| *it == name).unwrap() as u32 + 1);
        let list = builder.add_object(id("List"), 16);
        builder.add_edge(Place::Field(0), ObjectId(1));
        for i in 1..=nodes {
            builder.add_object(id("Node"), 24);
            if i < nodes {
                builder.add_edge(Place::Field(0), ObjectId(i + 1));
            }
        }
        builder.add_root(Root::new(RootKind::Static, "list"), list);
        builder.finish().unwrap()
    }

    #[test]
    fn classes_are_matched_by_name() {
        let mut series = Series::default();
        let first = list(["List", "Node", "Gone"], 5);
        let second = list(["New", "Node", "List"], 5);
        let a = series.add(&summarize(&first), first.classes());
        let b = series.add(&summarize(&second), second.classes());
        assert_eq!(a, b);
        assert_eq!(series.classes().len(), 4);
        let names: Vec<String> = a
            .edges()
            .iter()
            .map(|edge| series.slots().full_name(series.classes(), edge.slot))
            .collect();
        assert_eq!(names, ["List.head", "Node.next"]);
    }
}
