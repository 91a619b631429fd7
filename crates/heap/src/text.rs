//! A heap written as text that a person can read.
//!
//! One line a class, a root, an edge or a value, each object named by its class and
//! a number in breadth-first order from the roots:
//!
//! ```text
//! class List { head -> , len: u32 }
//! root static:orders -> List#1
//! List#1.head -> Node#2
//! List#1.len = 1
//! ```

use std::collections::HashMap;
use std::fmt::{self, Write};

use crate::class::{Elements, FieldKind};
use crate::view::{HeapView, Place, Strength, live_objects};

/// Writes the live part of a heap.
pub fn write_heap<V: HeapView>(view: &V, out: &mut impl Write) -> fmt::Result {
    let order = live_objects(view);
    let number: HashMap<V::Object, usize> =
        order.iter().enumerate().map(|(i, &o)| (o, i + 1)).collect();
    let name = |object: V::Object| {
        let class = &view.class(view.class_of(object)).name;
        format!("{class}#{}", number[&object])
    };
    write_classes(view, out)?;
    let mut lines = String::new();
    view.for_each_root(|root, object| {
        let _ = writeln!(lines, "root {root} -> {}", name(object));
    });
    out.write_str(&lines)?;
    for &object in &order {
        let class = view.class(view.class_of(object));
        let from = name(object);
        lines.clear();
        view.for_each_edge(object, |place, strength, to| {
            if !number.contains_key(&to) {
                return; // A weak edge to what nothing retains.
            }
            let arrow = match strength {
                Strength::Strong => "->",
                Strength::Weak => "-weak->",
                Strength::Dependent => "-dependent->",
            };
            let _ = match place {
                Place::Field(i) => {
                    let slot = &class.fields[i as usize].name;
                    writeln!(lines, "{from}.{slot} {arrow} {}", name(to))
                }
                Place::Element(i) => writeln!(lines, "{from}[{i}] {arrow} {}", name(to)),
            };
        });
        for (i, field) in class.fields.iter().enumerate() {
            if let Some(value) = view.plain_value(object, i) {
                let _ = writeln!(lines, "{from}.{} = {value}", field.name);
            }
        }
        out.write_str(&lines)?;
    }
    Ok(())
}

fn write_classes<V: HeapView>(view: &V, out: &mut impl Write) -> fmt::Result {
    for class in view.classes() {
        write!(out, "class {}", class.name)?;
        if let Some(superclass) = class.superclass {
            write!(out, " : {}", view.class(superclass).name)?;
        }
        let mut parts: Vec<String> = class
            .fields
            .iter()
            .map(|field| match field.kind {
                FieldKind::Ref | FieldKind::Opt => format!("{} ->", field.name),
                FieldKind::Weak => format!("{} -weak->", field.name),
                FieldKind::Dependent => format!("{} -dependent->", field.name),
                FieldKind::Plain(kind) => format!("{}: {kind:?}", field.name),
                FieldKind::Owned => format!("{}: owned", field.name),
            })
            .collect();
        match class.elements {
            Some(Elements::Refs) => parts.push("[] ->".into()),
            Some(Elements::Plain(kind)) => parts.push(format!("[]: {kind:?}")),
            Some(Elements::Text) => parts.push("text".into()),
            None => {}
        }
        writeln!(out, " {{ {} }}", parts.join(", "))?;
    }
    Ok(())
}
