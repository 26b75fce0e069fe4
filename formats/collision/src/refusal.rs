//! Why geometry is refused: a code of a closed list, the elements that are at fault, and a sentence.

use std::fmt;

macro_rules! codes {
    ($($(#[$doc:meta])* $name:ident = $text:literal,)*) => {
        /// What is wrong with geometry. Codes are stable; the order is that in which they are looked for.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
        pub enum Code {
            $($(#[$doc])* $name,)*
        }

        impl Code {
            /// The code as it is written.
            pub fn as_str(self) -> &'static str {
                match self {
                    $(Self::$name => $text,)*
                }
            }
        }
    };
}

codes! {
    /// A coordinate is not a number, or infinite.
    NonFinite = "non_finite",
    /// A coordinate lies outside the world.
    OutOfRange = "out_of_range",
    /// A triangle or face names a vertex that does not exist.
    IndexOutOfRange = "index_out_of_range",
    /// Nothing is there, or nothing is left.
    Empty = "empty",
    /// Three or more one-sided triangles share an edge.
    NonManifoldEdge = "non_manifold_edge",
    /// Two triangles go along an edge in the same direction.
    InconsistentWinding = "inconsistent_winding",
    /// One triangle alone has an edge, and no policy says what that means.
    OpenEdge = "open_edge",
    /// A hull has no volume.
    HullFlat = "hull_flat",
    /// A vertex of a hull lies in front of one of its faces.
    HullNotConvex = "hull_not_convex",
    /// The inside is outside.
    InsideOut = "inside_out",
    /// More surfaces than the tables hold.
    TooManySurfaces = "too_many_surfaces",
    /// More planes than the tables hold, or than surfaces can name.
    TooManyPlanes = "too_many_planes",
    /// More edges than the tables hold.
    TooManyEdges = "too_many_edges",
    /// More vertices than edges can name.
    TooManyVertices = "too_many_vertices",
    /// More 2D nodes than the tables hold.
    TooManyNodes2d = "too_many_nodes2d",
    /// More references than the tables or a leaf hold.
    TooManyReferences = "too_many_references",
    /// More 3D nodes or leaves than the tables hold.
    TooManyNodes = "too_many_nodes",
    /// More supernodes than the tables hold.
    TooManySupernodes = "too_many_supernodes",
    /// The tree is deeper than the engine's stack.
    TooDeep = "too_deep",
}

impl fmt::Display for Code {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

/// A part of the input, by its index there.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Element {
    /// A loose vertex.
    Vertex(u32),
    /// A loose triangle.
    Triangle(u32),
    /// An edge between two loose vertices, the lower first.
    Edge([u32; 2]),
    /// A hull.
    Hull(u32),
    /// A vertex of a hull.
    HullVertex(u32, u32),
    /// A face of a hull.
    HullFace(u32, u32),
}

impl fmt::Display for Element {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Vertex(v) => write!(f, "vertex {v}"),
            Self::Triangle(t) => write!(f, "triangle {t}"),
            Self::Edge([a, b]) => write!(f, "edge {a}-{b}"),
            Self::Hull(h) => write!(f, "hull {h}"),
            Self::HullVertex(h, v) => write!(f, "vertex {v} of hull {h}"),
            Self::HullFace(h, face) => write!(f, "face {face} of hull {h}"),
        }
    }
}

/// Geometry that is not built, and why.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{code}: {message}{}", Self::listed(.elements))]
pub struct Refusal {
    /// What is wrong.
    pub code: Code,
    /// Where; the first is the one to look at.
    pub elements: Vec<Element>,
    /// What was found and what is allowed.
    pub message: String,
}

impl Refusal {
    /// A refusal.
    pub fn new(code: Code, elements: Vec<Element>, message: impl Into<String>) -> Self {
        Self { code, elements, message: message.into() }
    }

    /// `found` of something where at most `limit` fit.
    pub(crate) fn over(code: Code, what: &str, found: usize, limit: usize) -> Self {
        Self::new(code, Vec::new(), format!("{found} {what}, at most {limit} are possible"))
    }

    fn listed(elements: &[Element]) -> String {
        const SHOWN: usize = 4;
        let mut text = String::new();
        for (i, element) in elements.iter().take(SHOWN).enumerate() {
            text += if i == 0 { " (" } else { ", " };
            text += &element.to_string();
        }
        match elements.len() {
            0 => text,
            n if n > SHOWN => text + &format!(" and {} more)", n - SHOWN),
            _ => text + ")",
        }
    }
}
