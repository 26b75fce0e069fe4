//! Intake: facts of what is accepted, code and element of what is refused.

use collision::{Element, Facts, intake};
use serde_json::Value;

use crate::support::{cases, geometry};

fn near(found: f64, expected: &Value) -> bool {
    let expected = expected.as_f64().unwrap();
    (found - expected).abs() <= 1e-5 * expected.abs().max(1.0)
}

fn check_facts(name: &str, found: &Facts, expected: &Value) {
    for (fact, value) in expected.as_object().unwrap() {
        let agrees = match fact.as_str() {
            "triangles" => value.as_u64() == Some(found.triangles as u64),
            "vertices" => value.as_u64() == Some(found.vertices as u64),
            "open_edges" => value.as_u64() == Some(found.open_edges as u64),
            "repeated_directed_edges" => value.as_u64() == Some(found.repeated_directed_edges as u64),
            "area" => near(found.area, value),
            "volume" => near(found.volume, value),
            _ => true,
        };
        assert!(agrees, "{name}: {fact} is to be {value} in {found:?}");
    }
}

#[test]
fn what_is_good_is_accepted_with_its_facts() {
    for (name, case) in cases().iter().filter(|(_, case)| case["expect"]["accept"] == true) {
        let (geometry, meaning) = geometry(case);
        let found = intake(&geometry, &meaning).unwrap_or_else(|refusal| panic!("{name}: {refusal}"));
        let expect = &case["expect"];
        check_facts(name, &found.facts, &expect["facts"]);
        if let Some(closed) = expect["facts"].get("closed") {
            check_facts(name, found.closed.as_ref().unwrap(), closed);
        }
        if let Some(dropped) = expect["dropped_triangles"].as_array() {
            let dropped: Vec<u32> = dropped.iter().map(|t| t.as_u64().unwrap() as u32).collect();
            assert_eq!(found.facts.dropped, dropped, "{name}");
        }
        if let Some(welded) = expect["welded_vertices"].as_u64() {
            assert_eq!(found.facts.vertices as u64, welded, "{name}");
        }
        if let Some(bounds) = expect["facts"].get("closed").unwrap_or(&expect["facts"]).get("bounds") {
            let (low, high) = found.polygons.bounds();
            for (axis, value) in low.to_array().into_iter().enumerate() {
                assert!(near(value, &bounds[0][axis]), "{name}: low {low}");
            }
            for (axis, value) in high.to_array().into_iter().enumerate() {
                assert!(near(value, &bounds[1][axis]), "{name}: high {high}");
            }
        }
    }
}

#[test]
fn what_is_bad_is_refused_with_code_and_element() {
    let number = |value: &Value| value.as_u64().unwrap() as u32;
    for (name, case) in cases().iter().filter(|(_, case)| case["expect"]["accept"] == false) {
        let (geometry, meaning) = geometry(case);
        let Err(refusal) = intake(&geometry, &meaning) else { panic!("{name} is accepted") };
        let refuse = &case["expect"]["refuse"];
        assert_eq!(refusal.code.as_str(), refuse["code"].as_str().unwrap(), "{name}: {refusal}");
        let edge = |value: &Value| Element::Edge([number(&value[0]), number(&value[1])]);
        for (kind, value) in refuse.as_object().unwrap() {
            let expected = match kind.as_str() {
                "vertex" => Element::Vertex(number(value)),
                "triangle" => Element::Triangle(number(value)),
                "hull" => Element::Hull(number(value)),
                "edge" => edge(value),
                "edges" => {
                    let edges: Vec<Element> = value.as_array().unwrap().iter().map(edge).collect();
                    assert_eq!(refusal.elements, edges, "{name}: {refusal}");
                    continue;
                }
                _ => continue,
            };
            assert_eq!(refusal.elements.first(), Some(&expected), "{name}: {refusal}");
        }
    }
}
