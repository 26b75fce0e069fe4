//! MOPPs: codes, hostile codes, compiled boxes, and a tree that Havok itself made.

use collision::mopp::{Frame, KeyBox, Mopp, QueryBox, run};
use glam::DVec3;
use serde_json::Value;
use test_support::assert_bytes_eq;

use crate::support::{cases, number, point, unhex};

fn place(value: &Value) -> DVec3 {
    let [x, y, z] = [0, 1, 2].map(|i| value[i].as_f64().unwrap());
    DVec3::new(x, y, z)
}

fn keys(value: &Value) -> Vec<u32> {
    value.as_array().unwrap().iter().map(|key| u32::try_from(key.as_u64().unwrap()).unwrap()).collect()
}

fn boxes(value: &Value) -> Vec<KeyBox> {
    let one = |it: &Value| KeyBox {
        key: it["key"].as_u64().unwrap() as u32,
        low: place(&it["lo"]),
        high: place(&it["hi"]),
    };
    value.as_array().unwrap().iter().map(one).collect()
}

fn sorted(mut keys: Vec<u32>) -> Vec<u32> {
    keys.sort_unstable();
    keys
}

#[test]
fn codes_give_their_keys_and_hostile_ones_are_refused() {
    for (name, case) in cases().iter().filter(|(_, case)| case["good"].is_array()) {
        for good in case["good"].as_array().unwrap() {
            let code = unhex(good["code"].as_str().unwrap());
            let found = run(&code, Some(&QueryBox::EVERYTHING)).unwrap();
            assert_eq!(sorted(found), sorted(keys(&good["keys"])), "{name}: {good}");
        }
        for bad in case["bad"].as_array().unwrap() {
            let code = unhex(bad["code"].as_str().unwrap());
            let error = run(&code, Some(&QueryBox::EVERYTHING)).unwrap_err();
            assert_eq!(Some(error.code()), bad["error"].as_str(), "{name}: {bad}");
            assert_eq!(run(&code, None).map_err(|e| e.code()), Err(error.code()), "{name}: {bad}, whole");
        }
        let worked = &case["worked"];
        let mopp = Mopp::compile(&boxes(&worked["boxes"]));
        assert_eq!(mopp.frame.offset, point(&worked["offset"]), "{name}");
        assert_eq!(mopp.frame.scale, number(&worked["scale"]), "{name}");
        assert_bytes_eq(name, &mopp.code, &unhex(worked["code"].as_str().unwrap()));
    }
}

#[test]
fn compiled_boxes_find_what_they_touch() {
    for (name, case) in cases().iter().filter(|(_, case)| case["boxes"].is_array()) {
        let boxes = boxes(&case["boxes"]);
        let mopp = Mopp::compile(&boxes);
        mopp.check(&boxes).unwrap();
        for query in case["queries"].as_array().unwrap() {
            let found = sorted(mopp.query(place(&query["lo"]), place(&query["hi"])).unwrap());
            assert!(found.windows(2).all(|pair| pair[0] != pair[1]), "{name}: a key twice");
            for key in keys(&query["must"]) {
                assert!(found.binary_search(&key).is_ok(), "{name}: {query} misses {key:#x}");
            }
        }
        let far = mopp.query(DVec3::splat(4000.0), DVec3::splat(4001.0)).unwrap();
        assert!(far.len() * 4 <= boxes.len(), "{name}: {} keys found from afar", far.len());
        if let Some(code) = case["reference"]["code"].as_str() {
            let length = unhex(code).len();
            assert!(mopp.code.len() <= length, "{name}: {} bytes, {length} are possible", mopp.code.len());
        }
    }
}

/// Whether a triangle has a point in a box, by cutting it.
fn touches(triangle: &[DVec3], low: DVec3, high: DVec3) -> bool {
    let mut points = triangle.to_vec();
    for axis in 0..3 {
        for (at, sign) in [(low[axis], 1.0), (high[axis], -1.0)] {
            let inside = |p: &DVec3| (p[axis] - at) * sign;
            let mut kept = Vec::new();
            for i in 0..points.len() {
                let (p, q) = (points[i], points[(i + 1) % points.len()]);
                if inside(&p) >= 0.0 {
                    kept.push(p);
                }
                if (inside(&p) > 0.0) != (inside(&q) > 0.0) && inside(&p) != inside(&q) {
                    kept.push(p.lerp(q, inside(&p) / (inside(&p) - inside(&q))));
                }
            }
            points = kept;
        }
    }
    !points.is_empty()
}

#[test]
fn trees_of_others_are_run() {
    for (name, case) in cases().iter().filter(|(_, case)| case["code"].is_string()) {
        let mopp = Mopp {
            frame: Frame { offset: point(&case["offset"]), scale: number(&case["scale"]) },
            code: unhex(case["code"].as_str().unwrap()),
        };
        assert_eq!(sorted(run(&mopp.code, None).unwrap()), sorted(keys(&case["keys"])), "{name}");
        for query in case["queries"].as_array().unwrap() {
            let (low, high) = (place(&query["lo"]), place(&query["hi"]));
            let found = mopp.query(low, high).unwrap();
            for key in keys(&query["must"]) {
                assert!(found.contains(&key), "{name}: {query} misses {key}");
            }
            for (key, corners) in (0_u32..).zip(case["triangles"].as_array().unwrap()) {
                let corners: Vec<DVec3> =
                    keys(corners).iter().map(|&v| place(&case["vertices"][v as usize])).collect();
                assert!(
                    found.contains(&key) || !touches(&corners, low, high),
                    "{name}: {query} misses {key}, which it touches"
                );
            }
        }
    }
}
