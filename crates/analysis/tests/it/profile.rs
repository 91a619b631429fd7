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
          "schema_version": 3,
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
                "counted": [
                  ".data",
                  ".next",
                  ".prev",
                  "Structure.head",
                  "Structure.tail",
                  "in=0",
                  "instances"
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
                "counted": [
                  "all",
                  "to .next",
                  "to .prev",
                  "to Structure.head",
                  "to Structure.tail",
                  "from .data",
                  "from .next",
                  "from .prev",
                  "heads",
                  "back by .next",
                  "back by .prev",
                  "by .next",
                  "by .prev"
                ],
                "basis": [
                  {
                    "all": 141813886478,
                    "to .next": 140098246847,
                    "to .prev": 140804114506,
                    "to Structure.head": 1715639631,
                    "to Structure.tail": 1009771972,
                    "from .data": 141813886478,
                    "from .next": 140804114506,
                    "from .prev": 140098246847,
                    "heads": 0,
                    "back by .next": 119385600395,
                    "back by .prev": 145142623290,
                    "by .next": 145142623290,
                    "by .prev": 119385600395
                  },
                  {
                    "all": 382553180578,
                    "to .next": 380837540947,
                    "to .prev": 381919856305,
                    "to Structure.head": 1715639631,
                    "to Structure.tail": 633324273,
                    "from .data": 382553180578,
                    "from .next": 381919856305,
                    "from .prev": 380837540947,
                    "heads": 0,
                    "back by .next": 350423518967,
                    "back by .prev": 381238800699,
                    "by .next": 381238800699,
                    "by .prev": 350423518967
                  },
                  {
                    "all": 1003671297772,
                    "to .next": 1001955658141,
                    "to .prev": 1002858353082,
                    "to Structure.head": 1715639631,
                    "to Structure.tail": 812944690,
                    "from .data": 1003671297772,
                    "from .next": 1002858353082,
                    "from .prev": 1001955658141,
                    "heads": 0,
                    "back by .next": 936269431952,
                    "back by .prev": 986077553627,
                    "by .next": 986077553627,
                    "by .prev": 936269431952
                  },
                  {
                    "all": 89343599244,
                    "to .next": 87627959613,
                    "to .prev": 87220806181,
                    "to Structure.head": 1715639631,
                    "to Structure.tail": 2122793063,
                    "from .data": 89343599244,
                    "from .next": 87220806181,
                    "from .prev": 87627959613,
                    "heads": 0,
                    "back by .next": 81512997060,
                    "back by .prev": 94525653512,
                    "by .next": 94525653512,
                    "by .prev": 81512997060
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
