//! Writing `mjolnir.json`: two-space JSON, fields in the order of the format, nothing optional left empty.

use serde::ser::{Serialize, SerializeMap, Serializer};

use super::{Block, Fault, ForgePack, Manifest, MapInfo, Payload};

impl Manifest {
    /// The text of the manifest: the bytes that are archived, hashed and signed. A manifest that breaks a
    /// bound gives its faults instead.
    pub fn write(&self) -> Result<String, Vec<Fault>> {
        let text = pretty(&self.to_json());
        Self::read(text.as_bytes()).map(|_| text)
    }

    fn to_json(&self) -> Node {
        let mut fields = Fields::default();
        fields.put("schema_version", 1);
        fields.put("name", &self.name);
        fields.put("version", self.version.to_string());
        fields.put("type", self.type_word());
        fields.maybe("summary", self.summary.as_ref());
        if let Some(compat) = &self.compat {
            let mut builds = Fields::default();
            builds.maybe("min_build", compat.min_build.as_ref());
            builds.maybe("max_build", compat.max_build.as_ref());
            fields.put("compat", Node::Object(builds.0));
        }
        if !self.deps.is_empty() {
            let deps = self.deps.iter();
            let deps: Vec<Node> = deps
                .map(|dep| {
                    Node::Object(vec![("slug", (&dep.slug).into()), ("range", dep.range.to_string().into())])
                })
                .collect();
            fields.put("deps", Node::Array(deps));
        }
        match &self.payload {
            Payload::Content => {}
            Payload::Map(map) => fields.put("map", map_json(map)),
            Payload::ForgePack(pack) => fields.put("forge_pack", pack_json(pack)),
        }
        if !self.marks.is_empty() {
            let mut marks = Fields::default();
            if !self.marks.stand_ins.is_empty() {
                let mut names = self.marks.stand_ins.clone();
                names.sort();
                names.dedup();
                marks.put("stand_ins", texts(&names));
            }
            if self.marks.reduced {
                marks.put("reduced", true);
            }
            fields.put("x_bake", Node::Object(marks.0));
        }
        Node::Object(fields.0)
    }
}

fn map_json(map: &MapInfo) -> Node {
    let mut fields = Fields::default();
    fields.put("code", map.code.to_string());
    fields.put("title", &map.title);
    fields.put("modes", texts(&map.modes));
    fields.maybe("size", map.size.map(|size| size.word()));
    if let Some(players) = map.players {
        fields.put("players", Node::Object(vec![("min", players.min.into()), ("max", players.max.into())]));
    }
    fields.maybe("vehicles", map.vehicles);
    fields.maybe("origin", map.origin.map(|origin| origin.word()));
    Node::Object(fields.0)
}

fn pack_json(pack: &ForgePack) -> Node {
    let blocks: Vec<Node> = pack.blocks.iter().map(|block| block_json(pack, block)).collect();
    let mut fields = Fields::default();
    fields.put("schema_version", 1);
    fields.put("id", &pack.id);
    fields.put("blocks", Node::Array(blocks));
    Node::Object(fields.0)
}

fn block_json(pack: &ForgePack, block: &Block) -> Node {
    let mut fields = Fields::default();
    fields.put("id", &block.id);
    fields.put("name", &block.name);
    fields.put("tag", pack.tag(&block.id));
    fields.put("category", &block.category);
    fields.put("dimensions_m", vector(block.dimensions_m));
    fields.maybe("snap_m", block.snap_m.map(number));
    if let Some(light) = &block.light {
        let mut inner = Fields::default();
        inner.put("offset_m", vector(light.offset_m));
        inner.put("color_rgb", vector(light.color_rgb));
        inner.put("intensity_cd", number(light.intensity_cd));
        inner.put("radius_m", number(light.radius_m));
        fields.put("light", Node::Object(inner.0));
    }
    if let Some(lift) = &block.lift {
        let mut inner = Fields::default();
        inner.put("offset_m", vector(lift.offset_m));
        inner.put("size_m", vector(lift.size_m));
        inner.put("direction", vector(lift.direction));
        inner.put("acceleration_m_s2", number(lift.acceleration_m_s2));
        inner.put("max_speed_m_s", number(lift.max_speed_m_s));
        inner.put("negates_gravity", lift.negates_gravity);
        fields.put("lift", Node::Object(inner.0));
    }
    if let Some(door) = &block.door {
        let mut inner = Fields::default();
        inner.put("travel_m", number(door.travel_m));
        inner.put("speed_m_s", number(door.speed_m_s));
        inner.put("trigger_size_m", vector(door.trigger_size_m));
        inner.put("hold_open_s", number(door.hold_open_s));
        fields.put("door", Node::Object(inner.0));
    }
    if !block.surfaces.is_empty() {
        let surfaces = block.surfaces.iter();
        let surfaces: Vec<Node> = surfaces
            .map(|surface| {
                Node::Object(vec![("slot", surface.slot.into()), ("profile", surface.profile.word().into())])
            })
            .collect();
        fields.put("surfaces", Node::Array(surfaces));
    }
    Node::Object(fields.0)
}

/// JSON with its fields in the order in which they were put.
enum Node {
    Bool(bool),
    Integer(i64),
    Real(f64),
    Text(String),
    Array(Vec<Node>),
    Object(Vec<(&'static str, Node)>),
}

#[derive(Default)]
struct Fields(Vec<(&'static str, Node)>);

impl Fields {
    fn put(&mut self, name: &'static str, value: impl Into<Node>) {
        self.0.push((name, value.into()));
    }

    fn maybe(&mut self, name: &'static str, value: Option<impl Into<Node>>) {
        if let Some(value) = value {
            self.put(name, value);
        }
    }
}

impl Serialize for Node {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self {
            Self::Bool(value) => serializer.serialize_bool(*value),
            Self::Integer(value) => serializer.serialize_i64(*value),
            Self::Real(value) => serializer.serialize_f64(*value),
            Self::Text(text) => serializer.serialize_str(text),
            Self::Array(items) => serializer.collect_seq(items),
            Self::Object(fields) => {
                let mut map = serializer.serialize_map(Some(fields.len()))?;
                for (name, value) in fields {
                    map.serialize_entry(name, value)?;
                }
                map.end()
            }
        }
    }
}

macro_rules! node_from {
    ($($type:ty: $value:ident => $node:expr;)*) => {$(
        impl From<$type> for Node {
            fn from($value: $type) -> Self {
                $node
            }
        }
    )*};
}
node_from! {
    bool: value => Self::Bool(value);
    u8: value => Self::Integer(value.into());
    i32: value => Self::Integer(value.into());
    String: value => Self::Text(value);
    &String: value => Self::Text(value.clone());
    &str: value => Self::Text(value.to_owned());
}

fn texts(texts: &[String]) -> Node {
    Node::Array(texts.iter().map(Node::from).collect())
}

fn vector(vector: [f64; 3]) -> Node {
    Node::Array(vector.map(number).into())
}

/// A whole number is written without a fraction, any other in its shortest form.
fn number(value: f64) -> Node {
    /// Beyond this not every whole number has an f64.
    const EXACT: f64 = (1u64 << 53) as f64;
    if value.fract() == 0.0 && value.abs() <= EXACT { Node::Integer(value as i64) } else { Node::Real(value) }
}

fn pretty(node: &Node) -> String {
    serde_json::to_string_pretty(node).expect("because a tree of texts and numbers has a JSON form")
}

#[cfg(test)]
mod tests {
    use super::super::{Compat, Dep, Door, Light, Marks, Surface, SurfaceProfile};
    use super::*;
    use crate::version::{Range, Version};

    fn content() -> Manifest {
        Manifest {
            name: "Höhle \"1\"".to_owned(),
            version: Version::parse("0.2.0").unwrap(),
            summary: None,
            compat: None,
            deps: Vec::new(),
            payload: Payload::Content,
            marks: Marks::default(),
        }
    }

    #[test]
    fn the_smallest_manifest() {
        let text = "{\n  \"schema_version\": 1,\n  \"name\": \"Höhle \\\"1\\\"\",\n  \
                    \"version\": \"0.2.0\",\n  \"type\": \"content\"\n}";
        assert_eq!(content().write().unwrap(), text);
    }

    /// A pack with a bit of everything.
    fn pack() -> Manifest {
        let block = Block {
            id: "door".to_owned(),
            name: "Door".to_owned(),
            category: "doors".to_owned(),
            dimensions_m: [4.0, 0.5, 1e-9],
            snap_m: Some(0.1),
            light: Some(Light {
                offset_m: [0.0, -1.5, 3.0],
                color_rgb: [1.0, 0.05, 0.0],
                intensity_cd: 70.0,
                radius_m: 8.0,
            }),
            lift: None,
            door: Some(Door {
                travel_m: 4.0,
                speed_m_s: 4.5,
                trigger_size_m: [8.0, 16.0, 6.0],
                hold_open_s: 0.0,
            }),
            surfaces: vec![Surface { slot: 15, profile: SurfaceProfile::GlassCyan }],
        };
        Manifest {
            summary: Some("Pieces".to_owned()),
            compat: Some(Compat { min_build: Some("2026.06.26.1097863.1".to_owned()), max_build: None }),
            deps: vec![Dep { slug: "foundry".to_owned(), range: Range::parse(">=1.2.3, <2.0.0").unwrap() }],
            payload: Payload::ForgePack(ForgePack { id: "foundry-wide".to_owned(), blocks: vec![block] }),
            marks: Marks { stand_ins: vec!["game".to_owned()], reduced: true },
            ..content()
        }
    }

    #[test]
    fn what_is_written_reads_back() {
        let manifest = pack();
        let text = manifest.write().unwrap();
        assert_eq!(Manifest::read(text.as_bytes()).unwrap(), manifest);
        assert!(text.contains("\"intensity_cd\": 70,\n"), "{text}");
    }

    #[test]
    fn what_breaks_a_bound_is_not_written() {
        let manifest = Manifest { name: String::new(), ..content() };
        let faults = manifest.write().unwrap_err();
        assert_eq!(faults[0].at, "/name");
    }

    /// Whatever is read of damaged text is a manifest: it can be written and reads back as itself.
    #[test]
    fn damage_is_refused_or_another_manifest() {
        let text = pack().write().unwrap().into_bytes();
        let mut accepted = 0;
        for at in 0..text.len() {
            assert!(Manifest::read(&text[..at]).is_err(), "cut at {at}");
            for byte in [0x00, b' ', b'"', b'0', b'9', b'a', b'-', b'}', 0xFF] {
                let mut damaged = text.clone();
                damaged[at] = byte;
                if let Ok(manifest) = Manifest::read(&damaged) {
                    let written = manifest.write().unwrap();
                    assert_eq!(Manifest::read(written.as_bytes()), Ok(manifest));
                    accepted += 1;
                }
            }
        }
        assert!(accepted > text.len(), "{accepted} of {} accepted", text.len() * 9);
    }
}
