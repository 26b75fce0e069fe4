//! Rays and points: what is built from every accepted case answers as the case says.

use collision::{Collision, Query, World, cook, intake};
use glam::Vec3;
use serde_json::Value;

use crate::support::{cases, geometry, point};

/// A hit as a case states it: distance and normal.
fn expected(value: &Value) -> Option<(f64, Vec3)> {
    let values: Vec<f64> = value.as_array()?.iter().filter_map(Value::as_f64).collect();
    Some((values[1], Vec3::new(values[2] as f32, values[3] as f32, values[4] as f32)))
}

fn found(world: &World, from: Vec3, to: Vec3, query: Query) -> Option<(f64, Vec3)> {
    let (index, hit) = world.line(from, to, query).unwrap()?;
    let normal = Vec3::from(world.definitions[index].bsp.planes[hit.plane as usize].normal);
    let normal = if normal.dot(to - from) > 0.0 { -normal } else { normal };
    Some((f64::from(hit.fraction) * f64::from((to - from).length()), normal))
}

fn agrees(found: Option<(f64, Vec3)>, expected: Option<(f64, Vec3)>) -> bool {
    match (found, expected) {
        (None, None) => true,
        (Some((d, n)), Some((e, m))) => (d - e).abs() <= 1e-3 && n.dot(m) >= 0.9999,
        _ => false,
    }
}

/// Asks a world every ray and point of a case; the faults.
pub fn faults(case: &Value, world: &World) -> Vec<String> {
    let mut faults = Vec::new();
    for ray in case["rays"].as_array().unwrap() {
        let (from, to) = (Vec3::from(point(&ray["from"])), Vec3::from(point(&ray["to"])));
        for (kind, query) in [("front", Query::FRONT), ("any", Query::ANY)] {
            let (found, expected) = (found(world, from, to, query), expected(&ray[kind]));
            if !agrees(found, expected) {
                faults.push(format!("{ray}: {kind}: found {found:?}"));
            }
        }
    }
    for place in case["points"].as_array().into_iter().flatten() {
        let at = Vec3::from(point(&place["at"]));
        let solid = world.is_solid(at).unwrap();
        if Some(solid) != place["inside"].as_bool() {
            faults.push(format!("{place}: found {solid}"));
        }
    }
    faults
}

#[test]
fn every_ray_and_point_is_answered_rightly() {
    for (name, case) in cases().iter().filter(|(_, case)| case["rays"].is_array()) {
        let (geometry, meaning) = geometry(case);
        let polygons = intake(&geometry, &meaning).unwrap().polygons;
        let world = cook(&polygons).unwrap_or_else(|error| panic!("{name}: {error}"));
        let decoded: Vec<Collision> =
            world.packed.iter().map(|packed| Collision::unpack(packed).unwrap()).collect();
        for (decoded, definition) in decoded.iter().zip(&world.definitions) {
            assert_eq!(decoded, &definition.bsp, "{name}: unpack(pack(x)) = x");
        }
        let faults = faults(case, &world);
        assert!(faults.is_empty(), "{name}: {} faults, such as {}", faults.len(), faults[0]);
    }
}
