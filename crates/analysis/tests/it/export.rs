//! The whole text of small graphs.

use crate::structures;

use expect_test::{Expect, expect};
use heaphound_analysis::export::Picture;
use heaphound_analysis::shape::{Backbones, degrees};
use heaphound_analysis::slot::SlotIds;
use heaphound_analysis::summary::summarize;
use heaphound_heap::snapshot::{ObjectId, SnapshotBuilder};
use heaphound_heap::view::{HeapView, Place};
use heaphound_heap::{Root, RootKind};
use structures::Structure;

enum Graph {
    PointsFrom,
    FieldWise,
}

fn check(graph: Graph, export: impl Fn(&Picture<'_>) -> String, expect: Expect) {
    let heap = Structure::doubly_linked(5).build(false);
    let ids = SlotIds::new(heap.classes());
    let summary = summarize(&heap);
    let picture = match graph {
        Graph::PointsFrom => Picture::points_from(&summary, heap.classes(), &ids),
        Graph::FieldWise => {
            let backbones = Backbones::find(&summary, heap.classes(), &ids);
            let degrees = degrees(&heap, &backbones);
            let picture = Picture::field_wise(&summary, heap.classes(), &ids);
            picture.with_degrees(&backbones, &degrees)
        }
    };
    expect.assert_eq(&export(&picture));
}

#[test]
fn as_dot() {
    check(
        Graph::PointsFrom,
        |it| it.dot(),
        expect![[r#"
        digraph "points-from" {
          node [shape=box];
          n1 [label="Structure\n1 objects, 32 bytes"];
          n2 [label="Structure$Node\n5 objects, 160 bytes"];
          n3 [label="Data\n1 objects, 16 bytes"];
          n2 -> n1 [label="2 references, 64 bytes"];
          n2 -> n2 [label="8 references, 256 bytes"];
          n3 -> n2 [label="5 references, 80 bytes"];
        }
    "#]],
    );
    check(
        Graph::FieldWise,
        |it| it.dot(),
        expect![[r#"
        digraph "field-wise" {
          node [shape=box];
          n1 [label="Structure\n1 objects, 32 bytes"];
          n2 [label="Structure$Node\n5 objects, 160 bytes\nin 0: 0, 1: 2, 2: 3, more: 0\nout 0: 0, 1: 2, 2: 3, more: 0"];
          n3 [label="Data\n1 objects, 16 bytes"];
          n1 -> n2 [label="head\n1 references, 32 bytes"];
          n1 -> n2 [label="tail\n1 references, 32 bytes"];
          n2 -> n2 [label="next\n4 references, 128 bytes"];
          n2 -> n2 [label="prev\n4 references, 128 bytes"];
          n2 -> n3 [label="data\n5 references, 80 bytes"];
        }
    "#]],
    );
}

#[test]
fn as_graphml() {
    check(
        Graph::FieldWise,
        |it| it.graphml(),
        expect![[r#"
        <?xml version="1.0" encoding="UTF-8"?>
        <graphml xmlns="http://graphml.graphdrawing.org/xmlns">
          <key id="class" for="node" attr.name="class" attr.type="string"/>
          <key id="objects" for="node" attr.name="objects" attr.type="long"/>
          <key id="roots" for="node" attr.name="roots" attr.type="long"/>
          <key id="volume_bytes" for="all" attr.name="volume_bytes" attr.type="long"/>
          <key id="in_0" for="node" attr.name="in_0" attr.type="long"/>
          <key id="in_1" for="node" attr.name="in_1" attr.type="long"/>
          <key id="in_2" for="node" attr.name="in_2" attr.type="long"/>
          <key id="in_more" for="node" attr.name="in_more" attr.type="long"/>
          <key id="out_0" for="node" attr.name="out_0" attr.type="long"/>
          <key id="out_1" for="node" attr.name="out_1" attr.type="long"/>
          <key id="out_2" for="node" attr.name="out_2" attr.type="long"/>
          <key id="out_more" for="node" attr.name="out_more" attr.type="long"/>
          <key id="slot" for="edge" attr.name="slot" attr.type="string"/>
          <key id="references" for="edge" attr.name="references" attr.type="long"/>
          <graph id="field-wise" edgedefault="directed">
            <node id="n1"><data key="class">Structure</data><data key="objects">1</data><data key="roots">1</data><data key="volume_bytes">32</data></node>
            <node id="n2"><data key="class">Structure$Node</data><data key="objects">5</data><data key="roots">0</data><data key="volume_bytes">160</data><data key="in_0">0</data><data key="in_1">2</data><data key="in_2">3</data><data key="in_more">0</data><data key="out_0">0</data><data key="out_1">2</data><data key="out_2">3</data><data key="out_more">0</data></node>
            <node id="n3"><data key="class">Data</data><data key="objects">1</data><data key="roots">0</data><data key="volume_bytes">16</data></node>
            <edge source="n1" target="n2"><data key="slot">head</data><data key="references">1</data><data key="volume_bytes">32</data></edge>
            <edge source="n1" target="n2"><data key="slot">tail</data><data key="references">1</data><data key="volume_bytes">32</data></edge>
            <edge source="n2" target="n2"><data key="slot">next</data><data key="references">4</data><data key="volume_bytes">128</data></edge>
            <edge source="n2" target="n2"><data key="slot">prev</data><data key="references">4</data><data key="volume_bytes">128</data></edge>
            <edge source="n2" target="n3"><data key="slot">data</data><data key="references">5</data><data key="volume_bytes">80</data></edge>
          </graph>
        </graphml>
    "#]],
    );
}

#[test]
fn as_json() {
    check(
        Graph::PointsFrom,
        |it| it.json(),
        expect![[r#"
        {
          "schema_version": 1,
          "graph": "points-from",
          "classes": [
            {
              "id": 1,
              "class": "Structure",
              "objects": 1,
              "volume_bytes": 32,
              "roots": 1
            },
            {
              "id": 2,
              "class": "Structure$Node",
              "objects": 5,
              "volume_bytes": 160,
              "roots": 0
            },
            {
              "id": 3,
              "class": "Data",
              "objects": 1,
              "volume_bytes": 16,
              "roots": 0
            }
          ],
          "edges": [
            {
              "source": 2,
              "target": 1,
              "references": 2,
              "volume_bytes": 64
            },
            {
              "source": 2,
              "target": 2,
              "references": 8,
              "volume_bytes": 256
            },
            {
              "source": 3,
              "target": 2,
              "references": 5,
              "volume_bytes": 80
            }
          ]
        }
    "#]],
    );
}

#[test]
fn names_of_any_kind_are_escaped() {
    let mut builder = SnapshotBuilder::default();
    let odd = builder.add_class("Map<\"a\\b\" & 'c'>\u{1}", None, &["<x>\n\""]);
    let object = builder.add_object(odd, 16);
    builder.add_edge(Place::Field(0), ObjectId(0));
    builder.add_root(Root::new(RootKind::Static, "r"), object);
    let heap = builder.finish().unwrap();
    let ids = SlotIds::new(heap.classes());
    let summary = summarize(&heap);
    let picture = Picture::field_wise(&summary, heap.classes(), &ids);
    let dot = picture.dot();
    assert!(dot.contains("label=\"Map<\\\"a\\\\b\\\" &amp; 'c'>\u{fffd}\\n1 objects"));
    assert!(dot.contains("label=\"<x>\\n\\\"\\n1 references"));
    let text = picture.graphml();
    assert!(text.contains("Map&lt;&quot;a\\b&quot; &amp; 'c'&gt;\u{fffd}<"));
    assert!(text.contains("&lt;x&gt;&#10;&quot;<"));
    let value: serde_json::Value = serde_json::from_str(&picture.json()).unwrap();
    assert_eq!(value["edges"][0]["slot"], "<x>\n\"");
}
