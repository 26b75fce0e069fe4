//! Packed records and tables, byte for byte.

use collision::{
    Child, Child2d, Collision, Edge, Leaf, Node, Node2d, Packed, Plane, Reference, Surface, Vertex,
};
use serde_json::Value;
use test_support::assert_bytes_eq;

use crate::support::{cases, number, point, unhex};

fn index(value: &Value) -> u32 {
    u32::try_from(value.as_u64().unwrap()).unwrap()
}

fn child(value: &Value) -> Child {
    match value[0].as_str() {
        None => Child::Solid,
        Some("node") => Child::Node(index(&value[1])),
        Some(_) => Child::Leaf(index(&value[1])),
    }
}

fn child2d(value: &Value) -> Child2d {
    match value[0].as_str() {
        None => Child2d::None,
        Some("node") => Child2d::Node(index(&value[1])),
        Some(_) => Child2d::Surface(index(&value[1])),
    }
}

fn optional(value: &Value) -> Option<u32> {
    value.as_u64().map(|v| u32::try_from(v).unwrap())
}

fn word(value: &Value) -> i16 {
    i16::try_from(value.as_i64().unwrap()).unwrap()
}

fn byte(value: &Value) -> u8 {
    u8::try_from(value.as_u64().unwrap()).unwrap()
}

fn with_record(table: &str, v: &Value) -> Collision {
    let mut bsp = Collision::default();
    match table {
        "bsp3d_node" => bsp.nodes.push(Node {
            plane: index(&v["plane"]),
            back: child(&v["back"]),
            front: child(&v["front"]),
        }),
        "plane" => bsp.planes.push(Plane { normal: point(&v["normal"]), d: number(&v["d"]) }),
        "leaf" => bsp.leaves.push(Leaf {
            flags: byte(&v["flags"]),
            count: u16::try_from(v["count"].as_u64().unwrap()).unwrap(),
            first: index(&v["first"]),
        }),
        "bsp2d_reference" => bsp.references.push(Reference {
            plane: index(&v["plane"]),
            negated: v["negated"].as_bool().unwrap(),
            node: child2d(&v["node"]),
        }),
        "bsp2d_node" => bsp.nodes2d.push(Node2d {
            line: [number(&v["i"]), number(&v["j"]), number(&v["d"])],
            left: child2d(&v["left"]),
            right: child2d(&v["right"]),
        }),
        "surface" => bsp.surfaces.push(Surface {
            plane: index(&v["plane"]),
            negated: v["negated"].as_bool().unwrap(),
            first_edge: index(&v["first_edge"]),
            material: word(&v["material"]),
            breakable_set: word(&v["breakable_set"]),
            breakable: word(&v["breakable"]),
            flags: u16::try_from(v["flags"].as_u64().unwrap()).unwrap(),
            best_plane_vertex: byte(&v["best_plane_vertex"]),
        }),
        "edge" => bsp.edges.push(Edge {
            start: index(&v["start"]),
            end: index(&v["end"]),
            forward: optional(&v["forward"]),
            reverse: optional(&v["reverse"]),
            left: optional(&v["left"]),
            right: optional(&v["right"]),
        }),
        "vertex" => bsp.vertices.push(Vertex {
            point: point(&v["point"]),
            first_edge: optional(&v["first_edge"]),
            sink: word(&v["sink"]),
        }),
        other => panic!("no table `{other}`"),
    }
    bsp
}

#[test]
fn records_are_as_in_the_vectors() {
    for (name, case) in cases().iter().filter(|(_, case)| case["records"].is_array()) {
        for record in case["records"].as_array().unwrap() {
            let table = record["table"].as_str().unwrap();
            let bsp = with_record(table, &record["value"]);
            let packed = bsp.pack().unwrap();
            let found: Vec<u8> = packed.tables().iter().flat_map(|(_, bytes)| bytes.to_vec()).collect();
            assert_bytes_eq(&format!("{name}: {table}"), &found, &unhex(record["hex"].as_str().unwrap()));
            assert_eq!(Collision::unpack(&packed).unwrap(), bsp, "{name}: {table}");
        }
    }
}

#[test]
fn tables_are_read_and_written_byte_for_byte() {
    for (name, case) in cases().iter().filter(|(_, case)| case["tables"].is_object()) {
        let mut packed = Packed::default();
        for (table, bytes) in packed.tables_mut() {
            *bytes = unhex(case["tables"][table].as_str().unwrap());
        }
        let bsp = Collision::unpack(&packed).unwrap();
        let found = bsp.pack().unwrap();
        for ((table, found), (_, expected)) in found.tables().iter().zip(packed.tables()) {
            assert_bytes_eq(&format!("{name}: {table}"), found, expected);
        }
        for (table, count) in case["counts"].as_object().unwrap() {
            let found = match table.as_str() {
                "bsp3d nodes" => bsp.nodes.len(),
                "bsp3d supernodes" => bsp.supernodes.len(),
                "planes" => bsp.planes.len(),
                "leaves" => bsp.leaves.len(),
                "bsp2d references" => bsp.references.len(),
                "bsp2d nodes" => bsp.nodes2d.len(),
                "surfaces" => bsp.surfaces.len(),
                "edges" => bsp.edges.len(),
                _ => bsp.vertices.len(),
            };
            assert_eq!(count.as_u64(), Some(found as u64), "{name}: {table}");
        }
    }
}
