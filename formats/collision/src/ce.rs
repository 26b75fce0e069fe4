//! Collision of Halo CE: the eight tables of 32-bit records, as staged or as they lie in a tag.
//!
//! Node planes may be negated there, and cannot be here: the children change places instead. Breakable
//! surfaces lose their bit, since their sets are not authored. What is read is checked for indices and
//! finite numbers, and for nothing else: shipped data is not always as tidy as what is built here.
#![deny(
    clippy::indexing_slicing,
    clippy::arithmetic_side_effects,
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic
)]

use wire::{ReadError, Reader};

use crate::check::CheckError;
use crate::model::{
    Child, Child2d, Collision, Edge, Leaf, Node, Node2d, Plane, Reference, Supernode, Surface, Vertex,
    surface_flags,
};

/// The tables, in the order in which they are staged when nothing else is said.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CeTable {
    /// `bsp3d_nodes`
    Nodes,
    /// `planes`
    Planes,
    /// `leaves`
    Leaves,
    /// `bsp2d_references`
    References,
    /// `bsp2d_nodes`
    Nodes2d,
    /// `surfaces`
    Surfaces,
    /// `edges`
    Edges,
    /// `vertices`
    Vertices,
}

impl CeTable {
    /// The usual order.
    pub const ORDER: [Self; 8] = [
        Self::Nodes,
        Self::Planes,
        Self::Leaves,
        Self::References,
        Self::Nodes2d,
        Self::Surfaces,
        Self::Edges,
        Self::Vertices,
    ];

    /// The name of the table in staged descriptions.
    pub fn name(self) -> &'static str {
        match self {
            Self::Nodes => "bsp3d_nodes",
            Self::Planes => "planes",
            Self::Leaves => "leaves",
            Self::References => "bsp2d_references",
            Self::Nodes2d => "bsp2d_nodes",
            Self::Surfaces => "surfaces",
            Self::Edges => "edges",
            Self::Vertices => "vertices",
        }
    }

    /// Bytes of a record.
    pub fn record(self) -> u64 {
        match self {
            Self::Nodes | Self::Surfaces => 12,
            Self::Planes | Self::Vertices => 16,
            Self::Leaves | Self::References => 8,
            Self::Nodes2d => 20,
            Self::Edges => 24,
        }
    }
}

/// Why tables of Halo CE are not read.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum CeError {
    /// The bytes are not such tables.
    #[error(transparent)]
    Read(#[from] ReadError),
    /// The tables contradict themselves.
    #[error(transparent)]
    Check(#[from] CheckError),
}

/// Reads staged tables: for each a count and its records, in `order`, and nothing after them.
pub fn read_staged(bytes: &[u8], order: &[CeTable; 8]) -> Result<Collision, CeError> {
    let mut r = Reader::new(bytes, "collision");
    let mut tables: [&[u8]; 8] = [&[]; 8];
    for table in order {
        let count = u64::from(r.u32(table.name())?);
        let count = r.count(count, table.record(), table.name())? as u64;
        let records = r.bytes(count.saturating_mul(table.record()), table.name())?;
        if let Some((_, slot)) = CeTable::ORDER.iter().zip(&mut tables).find(|(known, _)| *known == table) {
            *slot = records;
        }
    }
    r.finish()?;
    read_tables(&tables, false)
}

/// Reads tables in the usual order as they lie in a tag; in loose tags they are big-endian.
pub fn read_tables(tables: &[&[u8]; 8], big_endian: bool) -> Result<Collision, CeError> {
    let [nodes, planes, leaves, references, nodes2d, surfaces, edges, vertices] = tables;
    let bsp = Collision {
        nodes: table(nodes, CeTable::Nodes, big_endian, node)?,
        supernodes: vec![Supernode::pass_through()],
        planes: table(planes, CeTable::Planes, big_endian, |r| {
            Ok(Plane { normal: [r.f32("i")?, r.f32("j")?, r.f32("k")?], d: r.f32("d")? })
        })?,
        leaves: table(leaves, CeTable::Leaves, big_endian, leaf)?,
        references: table(references, CeTable::References, big_endian, |r| {
            let (plane, negated) = flagged(r.i32("plane")?);
            Ok(Reference { plane, negated, node: child2d(r.i32("node")?) })
        })?,
        nodes2d: table(nodes2d, CeTable::Nodes2d, big_endian, |r| {
            let line = [r.f32("i")?, r.f32("j")?, r.f32("d")?];
            Ok(Node2d { line, left: child2d(r.i32("left child")?), right: child2d(r.i32("right child")?) })
        })?,
        surfaces: table(surfaces, CeTable::Surfaces, big_endian, surface)?,
        edges: table(edges, CeTable::Edges, big_endian, |r| {
            let (start, end) = (r.i32("start")?.cast_unsigned(), r.i32("end")?.cast_unsigned());
            let mut next = |field| r.i32(field).map(|v| u32::try_from(v).ok());
            let (forward, reverse) = (next("forward")?, next("reverse")?);
            Ok(Edge {
                start,
                end,
                forward,
                reverse,
                left: next("left surface")?,
                right: next("right surface")?,
            })
        })?,
        vertices: table(vertices, CeTable::Vertices, big_endian, |r| {
            let point = [r.f32("x")?, r.f32("y")?, r.f32("z")?];
            Ok(Vertex { point, first_edge: u32::try_from(r.i32("first edge")?).ok(), sink: 0 })
        })?,
    };
    bsp.check_references()?;
    Ok(bsp)
}

/// A record in either byte order.
struct Record<'a, 'b> {
    reader: &'a mut Reader<'b>,
    big_endian: bool,
}

impl Record<'_, '_> {
    fn i32(&mut self, field: &str) -> Result<i32, ReadError> {
        let bits = if self.big_endian { self.reader.u32_be(field)? } else { self.reader.u32(field)? };
        Ok(bits.cast_signed())
    }

    fn f32(&mut self, field: &str) -> Result<f32, ReadError> {
        self.i32(field).map(|bits| f32::from_bits(bits.cast_unsigned()))
    }

    fn u16(&mut self, field: &str) -> Result<u16, ReadError> {
        if self.big_endian { self.reader.u16_be(field) } else { self.reader.u16(field) }
    }
}

fn table<T>(
    bytes: &[u8],
    kind: CeTable,
    big_endian: bool,
    record: fn(&mut Record<'_, '_>) -> Result<T, ReadError>,
) -> Result<Vec<T>, ReadError> {
    let mut reader = Reader::new(bytes, kind.name());
    let count = reader.remaining().checked_div(kind.record()).unwrap_or(0);
    let mut items = Vec::with_capacity(reader.count(count, kind.record(), "records")?);
    for _ in 0..count {
        items.push(record(&mut Record { reader: &mut reader, big_endian })?);
    }
    reader.finish()?;
    Ok(items)
}

/// An index whose highest bit says that what it names is used negated.
fn flagged(index: i32) -> (u32, bool) {
    (index.cast_unsigned() & 0x7FFF_FFFF, index < 0)
}

fn child(index: i32) -> Child {
    match flagged(index) {
        _ if index == -1 => Child::Solid,
        (index, true) => Child::Leaf(index),
        (index, false) => Child::Node(index),
    }
}

fn child2d(index: i32) -> Child2d {
    match flagged(index) {
        _ if index == -1 => Child2d::None,
        (index, true) => Child2d::Surface(index),
        (index, false) => Child2d::Node(index),
    }
}

fn node(r: &mut Record<'_, '_>) -> Result<Node, ReadError> {
    let (plane, negated) = flagged(r.i32("plane")?);
    let (back, front) = (child(r.i32("back child")?), child(r.i32("front child")?));
    let (back, front) = if negated { (front, back) } else { (back, front) };
    Ok(Node { plane, back, front })
}

fn leaf(r: &mut Record<'_, '_>) -> Result<Leaf, ReadError> {
    let flags = r.u16("flags")? as u8;
    let count = r.u16("reference count")?;
    if count.cast_signed() < 0 {
        return Err(r.reader.malformed("reference count", format!("{}, below 0", count.cast_signed())));
    }
    Ok(Leaf { flags, count, first: r.i32("first reference")?.cast_unsigned() })
}

fn surface(r: &mut Record<'_, '_>) -> Result<Surface, ReadError> {
    let (plane, negated) = flagged(r.i32("plane")?);
    let first_edge = r.i32("first edge")?.cast_unsigned();
    let flags = r.reader.u8("flags")?;
    r.reader.u8("breakable surface")?;
    let material = r.u16("material")?.cast_signed();
    let kept = surface_flags::TWO_SIDED | surface_flags::INVISIBLE | surface_flags::CLIMBABLE;
    Ok(Surface {
        plane,
        negated,
        first_edge,
        material,
        breakable_set: -1,
        breakable: -1,
        flags: u16::from(flags) & kept,
        best_plane_vertex: 0,
    })
}
