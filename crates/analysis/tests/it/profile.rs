//! Profiles: as JSON, merged, and edited by a person.

use crate::structures;

use expect_test::expect;
use heaphound_analysis::shape::{Profile, measure_view};
use structures::{Dice, NEXT, NODE, Structure, learn, learn_structure, size};

#[test]
fn a_profile_survives_json_and_merging_is_learning() {
    let make = |dice: &mut Dice| Structure::random_tree(size(dice), true, dice).build(false);
    let all = learn(20, make);
    assert_eq!(Profile::from_json(&all.to_json()), Ok(all.clone()));
    let mut merged = learn(10, make);
    let mut rest = Profile::default();
    for trial in 10..20 {
        rest.learn(&measure_view(&make(&mut Dice(trial))));
    }
    merged.merge(rest);
    let (merged, all) = (&merged.backbones[NODE], &all.backbones[NODE]);
    assert_eq!(merged.degrees, all.degrees);
    assert_eq!(merged.instances, all.instances);
    assert_eq!(merged.relations.hold, all.relations.hold);
    assert!(Profile::from_json("{\"schema_version\": 99, \"backbones\": {}}").is_err());
    assert!(Profile::from_json("{").is_err());
}

#[test]
fn a_profile_can_be_read_by_a_person() {
    let sizes = [120, 340, 900, 77];
    let mut profile = Profile::default();
    for n in sizes {
        profile.learn(&measure_view(&Structure::doubly_linked(n).build(false)));
    }
    expect![[r#"
        {
          "schema_version": 2,
          "backbones": {
            "Structure$Node": {
              "looks_like": "doubly linked list",
              "measures": 4,
              "instances": [
                77,
                900
              ],
              "degrees": {
                "in=0": {
                  "quirk": 0
                },
                "in=1": {
                  "quirk": 2
                },
                "in=2": {
                  "range": [
                    97.4025,
                    99.7778
                  ]
                },
                "in>2": {
                  "quirk": 0
                },
                "out=0": {
                  "quirk": 0
                },
                "out=1": {
                  "quirk": 2
                },
                "out=2": {
                  "range": [
                    97.4025,
                    99.7778
                  ]
                },
                "out>2": {
                  "quirk": 0
                }
              },
              "relations": {
                "hold": [
                  {
                    "terms": {
                      ".data": 1,
                      "instances": -1
                    }
                  },
                  {
                    "terms": {
                      ".next": 1,
                      "Structure.head": 1,
                      "instances": -1
                    }
                  },
                  {
                    "terms": {
                      ".prev": 1,
                      "Structure.head": 1,
                      "instances": -1
                    }
                  }
                ],
                "basis": [
                  {
                    ".data": 120,
                    ".next": 119,
                    ".prev": 119,
                    "Structure.head": 1,
                    "Structure.tail": 1,
                    "in=0": 0,
                    "instances": 120
                  },
                  {
                    ".data": 340,
                    ".next": 339,
                    ".prev": 339,
                    "Structure.head": 1,
                    "Structure.tail": 1,
                    "in=0": 0,
                    "instances": 340
                  }
                ],
                "confirming": [
                  {
                    ".data": 900,
                    ".next": 899,
                    ".prev": 899,
                    "Structure.head": 1,
                    "Structure.tail": 1,
                    "in=0": 0,
                    "instances": 900
                  },
                  {
                    ".data": 77,
                    ".next": 76,
                    ".prev": 76,
                    "Structure.head": 1,
                    "Structure.tail": 1,
                    "in=0": 0,
                    "instances": 77
                  }
                ]
              },
              "matches": {
                "hold": [
                  {
                    "terms": {
                      "all": -1,
                      "from .data": 1
                    }
                  },
                  {
                    "terms": {
                      "to .next": 1,
                      "from .prev": -1
                    }
                  },
                  {
                    "terms": {
                      "to .prev": 1,
                      "from .next": -1
                    }
                  },
                  {
                    "terms": {
                      "all": -1,
                      "to .next": 1,
                      "to Structure.head": 1
                    }
                  },
                  {
                    "terms": {
                      "all": -1,
                      "to .prev": 1,
                      "to Structure.tail": 1
                    }
                  },
                  {
                    "terms": {
                      "back by .next": -1,
                      "by .prev": 1
                    }
                  }
                ],
                "basis": [
                  {
                    "all": 120164896894,
                    "to .next": 119135479518,
                    "to .prev": 119308533490,
                    "to Structure.head": 1029417376,
                    "to Structure.tail": 856363404,
                    "from .data": 120164896894,
                    "from .next": 119308533490,
                    "from .prev": 119135479518,
                    "heads": 0,
                    "back by .next": 129192526073,
                    "back by .prev": 129353579851,
                    "by .next": 129353579851,
                    "by .prev": 129192526073
                  },
                  {
                    "all": 362763836918,
                    "to .next": 361734419542,
                    "to .prev": 360933867581,
                    "to Structure.head": 1029417376,
                    "to Structure.tail": 1829969337,
                    "from .data": 362763836918,
                    "from .next": 360933867581,
                    "from .prev": 361734419542,
                    "heads": 0,
                    "back by .next": 368157272267,
                    "back by .prev": 387624848408,
                    "by .next": 387624848408,
                    "by .prev": 368157272267
                  },
                  {
                    "all": 952144738266,
                    "to .next": 951115320890,
                    "to .prev": 952001025969,
                    "to Structure.head": 1029417376,
                    "to Structure.tail": 143712297,
                    "from .data": 952144738266,
                    "from .next": 952001025969,
                    "from .prev": 951115320890,
                    "heads": 0,
                    "back by .next": 961421063086,
                    "back by .prev": 1010662019348,
                    "by .next": 1010662019348,
                    "by .prev": 961421063086
                  },
                  {
                    "all": 69082057157,
                    "to .next": 68052639781,
                    "to .prev": 66945070056,
                    "to Structure.head": 1029417376,
                    "to Structure.tail": 2136987101,
                    "from .data": 69082057157,
                    "from .next": 66945070056,
                    "from .prev": 68052639781,
                    "heads": 0,
                    "back by .next": 81018071639,
                    "back by .prev": 82381357877,
                    "by .next": 82381357877,
                    "by .prev": 81018071639
                  }
                ],
                "confirming": []
              }
            }
          }
        }
    "#]]
    .assert_eq(&profile.to_json());
}

#[test]
fn what_a_person_takes_out_is_not_tested() {
    let mut profile = learn_structure(|n, _| Structure::singly_linked(n), false);
    let known = profile.backbones.get_mut(NODE).unwrap();
    known.degrees.clear();
    for relation in &mut known.relations.hold {
        relation.ignored = true;
    }
    for relation in &mut known.matches.hold {
        relation.ignored = true;
    }
    let mut list = Structure::singly_linked(1_000);
    list.nodes[999][NEXT] = Some(499);
    let measures = measure_view(&list.build(false));
    assert!(profile.test(&measures).is_empty());
    profile.learn(&measure_view(&Structure::singly_linked(50).build(false)));
    assert!(profile.test(&measures).is_empty());
}
