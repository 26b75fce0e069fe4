//! Collision as fuzz targets: any bytes as tables, as a MOPP, and as hulls.
//!
//! What is read is also followed, moved, split and checked: nothing may panic, loop or read outside. The
//! first byte of an input chooses what is done with the rest.

use collision::ce::{CeTable, read_staged};
use collision::mopp::{QueryBox, run};
use collision::{Collision, Geometry, Hull, Meaning, Packed, Placement, Query, cook, intake};
use glam::{DVec3, Vec3};

use crate::target::Target;

/// All targets.
pub const TARGETS: [Target; 3] = [
    Target { name: "collision_tables", run: tables, seeds: tables_seeds },
    Target { name: "mopp", run: mopp, seeds: mopp_seeds },
    Target { name: "hulls", run: hulls, seeds: hulls_seeds },
];

/// Any bytes as staged tables of Halo CE, or as the nine packed tables with their lengths before them.
pub fn tables(data: &[u8]) {
    let Some((choice, bytes)) = data.split_first() else { return };
    let bsp = if choice % 2 == 0 {
        read_staged(bytes, &CeTable::ORDER).ok()
    } else {
        let (mut packed, mut rest) = (Packed::default(), bytes);
        for (_, table) in packed.tables_mut() {
            let Some((length, after)) = rest.split_first() else { break };
            let length = (usize::from(*length) * 4).min(after.len());
            *table = after[..length].to_vec();
            rest = &after[length..];
        }
        Collision::unpack(&packed).ok()
    };
    let Some(mut bsp) = bsp else { return };
    let sound = bsp.check(8).is_ok();
    for to in [Vec3::new(9.0, 0.5, 0.25), Vec3::new(-0.5, 3.0, -7.0)] {
        let answer = bsp.line(Vec3::splat(0.1), to, Query::ANY);
        assert!(!sound || answer.is_ok(), "a walk leaves tables that were found sound");
        let _ = bsp.is_solid(to);
    }
    if let Ok(packed) = bsp.pack() {
        let again = Collision::unpack(&packed).expect("what was written is read");
        assert_eq!(again.pack().expect("what was read is written"), packed);
    }
    let _ = bsp.split_polygons();
    let _ = bsp.place(&Placement::at(DVec3::ONE));
}

/// Any bytes as the code of a MOPP: it ends, within its budget.
pub fn mopp(data: &[u8]) {
    let whole = run(data, None);
    let part = run(data, Some(&QueryBox { low: [0x20_0000; 3], high: [0x7F_FFFF; 3] }));
    if let (Ok(whole), Ok(part)) = (whole, part) {
        assert!(part.iter().all(|key| whole.contains(key)), "a query finds what a whole walk does not");
        assert!(whole.len() <= 8 * data.len() + 1024);
    }
}

/// Any bytes as hulls: corners in sixteenths, faces as rings of indices. What is accepted is built, and
/// either proven or refused.
pub fn hulls(data: &[u8]) {
    let mut bytes = data.iter().copied();
    let mut geometry = Geometry::default();
    while let (Some(corners), true) = (bytes.next(), geometry.hulls.len() < 4) {
        let mut hull = Hull::default();
        for _ in 0..corners % 13 {
            let mut coordinate = || f32::from(bytes.next().unwrap_or(0).cast_signed()) / 16.0;
            hull.vertices.push([coordinate(), coordinate(), coordinate()]);
        }
        let Some(faces) = bytes.next() else { break };
        for _ in 0..faces % 13 {
            let Some(length) = bytes.next() else { break };
            hull.faces.push((0..length % 7).map(|_| u32::from(bytes.next().unwrap_or(0))).collect());
        }
        geometry.hulls.push(hull);
    }
    if let Ok(intake) = intake(&geometry, &Meaning::default()) {
        let _ = cook(&intake.polygons);
    }
}

/// A block between two corners, in the form of the target.
fn block(low: i8, high: i8) -> Vec<u8> {
    let mut bytes = vec![8];
    for corner in 0..8 {
        bytes.extend((0..3).map(|axis| (if corner >> axis & 1 == 1 { high } else { low }).cast_unsigned()));
    }
    bytes.push(6);
    for face in [[0, 4, 6, 2], [1, 3, 7, 5], [0, 1, 5, 4], [2, 6, 7, 3], [0, 2, 3, 1], [4, 5, 7, 6]] {
        bytes.push(4);
        bytes.extend(face);
    }
    bytes
}

fn hulls_seeds() -> Vec<(&'static str, Vec<u8>)> {
    let crossing = [block(-16, 16), block(0, 40)].concat();
    vec![("one block", block(0, 16)), ("two blocks that cross", crossing)]
}

fn mopp_seeds() -> Vec<(&'static str, Vec<u8>)> {
    vec![
        ("splits", vec![0x10, 0x80, 0x40, 1, 0x31, 0x32]),
        ("far jumps", vec![0x23, 0x41, 0x01, 0, 0, 0, 4, 0x07, 0, 0, 1, 0x31, 0x32]),
        ("rescale and clip", vec![0x02, 1, 2, 3, 0x26, 0, 0xFF, 0x09, 100, 0x30]),
        ("shared subtrees", [0x20, 0x80, 0].repeat(48).into_iter().chain([0x30]).collect()),
    ]
}

fn tables_seeds() -> Vec<(&'static str, Vec<u8>)> {
    let mut geometry = Geometry::default();
    let corner = |i: u32| [0, 1, 2].map(|axis| if i >> axis & 1 == 1 { 1.0 } else { 0.0 });
    let faces = [[0, 4, 6, 2], [1, 3, 7, 5], [0, 1, 5, 4], [2, 6, 7, 3], [0, 2, 3, 1], [4, 5, 7, 6]];
    geometry.hulls.push(Hull {
        vertices: (0..8).map(corner).collect(),
        faces: faces.iter().map(|face| face.to_vec()).collect(),
        ..Hull::default()
    });
    let polygons = intake(&geometry, &Meaning::default()).expect("a block is sound").polygons;
    let world = cook(&polygons).expect("a block is built");
    let mut packed = vec![1];
    for (_, table) in world.packed[0].tables() {
        packed.push((table.len() / 4) as u8);
        packed.extend(table);
    }
    let mut staged = vec![0];
    let large = world.definitions[0].bsp.pack_large();
    let table = |name: &str| {
        large.iter().find(|(known, _)| *known == name).map(|(_, t)| t.clone()).unwrap_or_default()
    };
    // The large form has Halo CE's records, save that surfaces and vertices are longer.
    for (name, size, kept) in [
        ("bsp3d nodes", 12, 12),
        ("planes", 16, 16),
        ("leaves", 8, 8),
        ("bsp2d references", 8, 8),
        ("bsp2d nodes", 20, 20),
        ("surfaces", 20, 12),
        ("edges", 24, 24),
        ("vertices", 20, 16),
    ] {
        let table = table(name);
        staged.extend(((table.len() / size) as u32).to_le_bytes());
        staged.extend(table.chunks(size).flat_map(|record| record[..kept].to_vec()));
    }
    vec![("packed block", packed), ("staged block", staged)]
}
