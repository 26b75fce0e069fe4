//! What geometry comes in as: loose triangles, convex hulls, and what to do with open meshes.

/// A triangle, counter-clockwise seen from its front.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Triangle {
    /// Indices into [`Geometry::vertices`].
    pub vertices: [u32; 3],
    /// Material, or -1.
    pub material: i16,
    /// [`crate::surface_flags`]; two-sided triangles take no part in the checks of closed surfaces.
    pub flags: u16,
}

/// A convex body.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Hull {
    /// Its corners.
    pub vertices: Vec<[f32; 3]>,
    /// Its faces, counter-clockwise seen from outside.
    pub faces: Vec<Vec<u32>>,
    /// Material of all faces, or -1.
    pub material: i16,
    /// [`crate::surface_flags`] of all faces.
    pub flags: u16,
}

/// Geometry to build collision from, in world units.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Geometry {
    /// Corners of the loose triangles.
    pub vertices: Vec<[f32; 3]>,
    /// Loose triangles.
    pub triangles: Vec<Triangle>,
    /// Convex bodies; where they overlap they are one.
    pub hulls: Vec<Hull>,
}

/// What an open mesh means.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub enum Open {
    /// A mistake.
    #[default]
    Refuse,
    /// Every surface blocks from both sides, and nothing is solid.
    TwoSided,
    /// A height field: walls go down from its border to this far below its lowest point, and a floor
    /// closes it.
    Skirt {
        /// How far below the lowest point, in world units.
        depth: f32,
    },
}

/// How geometry is meant.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Meaning {
    /// What an open mesh means.
    pub open: Open,
    /// Whether it is a world shell: its faces point inwards, and everything outside is solid.
    pub shell: bool,
}
