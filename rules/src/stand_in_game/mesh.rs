//! Meshes of the stand-in: boxes and a wedge, each one LOD, one section, one material.
//!
//! A face is a centre, half an edge along U and half an edge along V; all else follows. Numbers are
//! chosen so that every position and normal comes out the same on every machine.

use iostore::hash_utf16_lower;
use wire::Writer;

use super::StandInPackage;
use super::package::{Draft, GUID, NOTHING, Object, SEPARATE, engine, imported};

type Vector = [f64; 3];

/// A flat face. Corners are places along U and V, and each but the first two closes a triangle.
struct Face {
    centre: Vector,
    normal: Vector,
    tangent: Vector,
    half_u: Vector,
    half_v: Vector,
    corners: &'static [(f64, f64)],
}

const QUAD: &[(f64, f64)] = &[(0.0, 0.0), (1.0, 0.0), (1.0, 1.0), (0.0, 1.0)];

/// Normals and tangents of a box, in the order of its faces.
const SIDES: [(Vector, Vector); 6] = [
    ([1.0, 0.0, 0.0], [0.0, 1.0, 0.0]),
    ([-1.0, 0.0, 0.0], [0.0, -1.0, 0.0]),
    ([0.0, 1.0, 0.0], [-1.0, 0.0, 0.0]),
    ([0.0, -1.0, 0.0], [1.0, 0.0, 0.0]),
    ([0.0, 0.0, 1.0], [1.0, 0.0, 0.0]),
    ([0.0, 0.0, -1.0], [-1.0, 0.0, 0.0]),
];

fn cross(a: Vector, b: Vector) -> Vector {
    [a[1] * b[2] - a[2] * b[1], a[2] * b[0] - a[0] * b[2], a[0] * b[1] - a[1] * b[0]]
}

fn times(a: Vector, b: Vector) -> Vector {
    [a[0] * b[0], a[1] * b[1], a[2] * b[2]]
}

fn side(index: usize, half: Vector, corners: &'static [(f64, f64)]) -> Face {
    let (normal, tangent) = SIDES[index];
    Face {
        centre: times(half, normal),
        normal,
        tangent,
        half_u: times(half, tangent),
        half_v: times(half, cross(normal, tangent)),
        corners,
    }
}

/// A box with these half edges, in centimetres.
pub(super) fn cuboid(leaf: &str, material: &str, half: Vector) -> StandInPackage {
    let faces: Vec<Face> = (0..SIDES.len()).map(|i| side(i, half, QUAD)).collect();
    package(leaf, material, half, &faces)
}

/// A wedge that rises from +X to -X: 80 long and 60 high, so that its slope is 3 to 4.
pub(super) fn wedge(leaf: &str, material: &str) -> StandInPackage {
    let half = [40.0, 50.0, 30.0];
    let normal = [0.6, 0.0, 0.8];
    let faces = [
        side(1, half, QUAD),
        side(5, half, QUAD),
        side(2, half, &[(0.0, 0.0), (1.0, 0.0), (1.0, 1.0)]),
        side(3, half, &[(0.0, 0.0), (1.0, 0.0), (0.0, 1.0)]),
        Face {
            centre: [0.0; 3],
            normal,
            tangent: [0.0, 1.0, 0.0],
            half_u: [0.0, 50.0, 0.0],
            half_v: [-40.0, 0.0, 30.0],
            corners: QUAD,
        },
    ];
    package(leaf, material, half, &faces)
}

/// A component of a unit vector in eight bits, rounded half away from zero.
fn packed(value: f64) -> u8 {
    (value * 127.0).round() as i8 as u8
}

fn lod_array(w: &mut Writer, faces: &[Face]) {
    let mut positions = Writer::new();
    let mut tangents = Writer::new();
    let mut uvs = Writer::new();
    let mut indices = Writer::new();
    let mut vertices = 0u16;
    for face in faces {
        let first = vertices;
        for &(u, v) in face.corners {
            for axis in 0..3 {
                let along = (2.0 * u - 1.0) * face.half_u[axis] + (2.0 * v - 1.0) * face.half_v[axis];
                positions.f32((face.centre[axis] + along) as f32);
            }
            tangents.bytes(&face.tangent.map(packed)).u8(127);
            tangents.bytes(&face.normal.map(packed)).u8(127);
            uvs.f32(u as f32).f32(v as f32);
            vertices += 1;
        }
        for last in first + 2..vertices {
            indices.u16(first).u16(last).u16(last - 1);
        }
    }
    let vertices = u32::from(vertices);
    w.u32(1).bytes(&[5, 0]);
    w.u32(1).u32(0).u32(0).u32(indices.len() as u32 / 6);
    w.u32(0).u32(vertices - 1);
    // Collision, shadow, not forced opaque, visible to rays, in distance fields; no deviation, not
    // cooked out, inlined, no ray tracing geometry.
    for word in [1, 1, 0, 1, 1, 0, 0, 1, 0] {
        w.u32(word);
    }
    w.bytes(&[5, 0]).u32(12).u32(vertices);
    w.u32(12).u32(vertices).bytes(positions.as_bytes());
    w.bytes(&[5, 0]).u32(1).u32(vertices).u32(1).u32(0);
    w.u32(8).u32(vertices).bytes(tangents.as_bytes());
    w.u32(8).u32(vertices).bytes(uvs.as_bytes());
    w.bytes(&[5, 0]).u32(0).u32(0);
    index_buffer(w, indices.as_bytes());
    for _ in 0..3 {
        index_buffer(w, &[]);
    }
    // No ray tracing data; a sampler of three empty fields for the section and one for the whole.
    w.u32(1).u32(0).zeros(2 * 12);
    let data = positions.len() + tangents.len() + uvs.len() + indices.len();
    w.u32(data as u32).u32(0).u32(0);
}

fn index_buffer(w: &mut Writer, bytes: &[u8]) {
    w.u32(0).u32(1).u32(bytes.len() as u32).bytes(bytes).u32(0);
}

fn mesh(half: Vector, faces: &[Face]) -> Vec<u8> {
    const MATERIAL: i32 = -5;
    let double = |w: &mut Writer, value: f64| {
        w.u64(value.to_bits());
    };
    let radius = (half[0] * half[0] + half[1] * half[1] + half[2] * half[2]).sqrt();
    let mut w = Writer::new();
    // Properties: one material with its slot names and density, lightmap density, bounds.
    w.bytes(&[0x03, 0x04, 0x15, 0x03]).u32(1);
    w.bytes(&[0x00, 0x09]).i32(MATERIAL).zeros(2 * 8);
    w.bytes(&[0x80, 0x0d, 0x3a, 1]).f32(100.0);
    w.f32(100.0);
    w.bytes(&[0x01, 0x05]);
    for value in [half[0], half[1], half[2], radius] {
        double(&mut w, value);
    }
    w.u32(0);
    // The body is export 0; there is no navigation collision and no socket.
    w.bytes(&[5, 0]).u32(1).u32(1).u32(0).bytes(&GUID).u32(0);
    lod_array(&mut w, faces);
    w.u8(1);
    // Nanite without pages, no proxy, no cards, no distance field.
    w.bytes(&[5, 0]).zeros(60).u32(0);
    w.bytes(&[5, 0]).u32(0);
    w.bytes(&[5, 0]).u32(0);
    for value in [0.0, 0.0, 0.0, half[0], half[1], half[2], radius] {
        double(&mut w, value);
    }
    w.u32(1);
    for lod in 0..8 {
        w.u32(1).f32(if lod == 0 { 2.0 } else { 0.0 });
    }
    w.bytes(&[5, 0]).u32(0);
    w.u32(1).i32(MATERIAL).zeros(8).u32(1).u32(0).f32(100.0).zeros(12);
    w.into_bytes()
}

fn package(leaf: &str, material: &str, half: Vector, faces: &[Face]) -> StandInPackage {
    let mut body = Writer::new();
    body.bytes(&[0x12, 0x01]).u32(0).bytes(&GUID).u32(1).u32(0);
    let path = super::path(leaf);
    let draft = Draft {
        names: ["Slot0", "BodySetup", leaf, &path].map(str::to_owned).to_vec(),
        bulk: vec![(0, 0, SEPARATE)],
        imported_hashes: vec![hash_utf16_lower(material)],
        imports: vec![
            engine("Default__BodySetup"),
            engine("BodySetup"),
            engine("StaticMesh"),
            engine(""),
            imported(0, 0),
            engine("Default__StaticMesh"),
        ],
        objects: vec![
            Object {
                name: 1,
                number: 1,
                outer: 1,
                class: engine("BodySetup"),
                template: engine("Default__BodySetup"),
                public_hash: 0,
                flags: 8,
                bytes: body.into_bytes(),
                create_before_create: vec![2],
                create_before_serialize: Vec::new(),
            },
            Object {
                name: 2,
                number: 0,
                outer: NOTHING,
                class: engine("StaticMesh"),
                template: engine("Default__StaticMesh"),
                public_hash: hash_utf16_lower(leaf),
                flags: 0xb,
                bytes: mesh(half, faces),
                create_before_create: Vec::new(),
                create_before_serialize: vec![-5, 1],
            },
        ],
        order: vec![1, 0],
        imported: vec![super::path(material)],
    };
    StandInPackage::new(path, &draft, Vec::new())
}
