//! Packages, mappings, properties and script objects as fuzz targets.
//!
//! Each target comes with inputs to start from, made here, and holds its reader to a bound of memory for every
//! byte that it is given.

use std::sync::{Arc, LazyLock};

use unreal::package::{BulkEntry, Dependency, Export, Form, Limits, Name, NameRef, ObjectIndex, Package};
use unreal::property::{self, Block, Context, Object, Str, Text, Value, view_object};
use unreal::usmap::{self, Enum, Mappings, Property, PropertyType, Struct};
use unreal::{PackagePath, ScriptObjects};

use crate::memory::within;
use crate::target::Target;

/// All targets.
pub const TARGETS: [Target; 4] = [
    Target { name: "zen_package", run: zen_package, seeds: zen_package_seeds },
    Target { name: "usmap", run: usmap, seeds: usmap_seeds },
    Target { name: "properties", run: properties, seeds: properties_seeds },
    Target { name: "script_objects", run: script_objects, seeds: script_objects_seeds },
];

const KIB: usize = 1 << 10;

/// Any bytes as a package: what is accepted is sound, and is written back.
pub fn zen_package(data: &[u8]) {
    let read = || Package::read(data, &Limits::default());
    let Ok(package) = within(data, 64 * KIB, 40, read) else { return };
    assert_eq!(package.check(), Ok(()));
    assert!(package.write() == data);
    for (index, export) in package.exports.iter().enumerate().take(64) {
        assert_eq!(package.export_data(index).map(|bytes| bytes.len() as u64), Some(export.size));
        assert!(package.export_path(index).is_some());
        let mut longer = package.clone();
        if longer.splice_export(index, 0..0, &[0; 3]).is_ok() {
            assert_eq!(longer.check(), Ok(()));
            assert!(longer.splice_export(index, 0..3, &[]).is_err() || longer.data == package.data);
        }
    }
}

/// What mappings begin with. Inputs leave it out: a fuzzer need not find it, and no file looks like a game's.
const USMAP_MAGIC: [u8; 2] = [0xc4, 0x30];

/// Any bytes as mappings, after the magic: what is accepted is the same once written and read again.
pub fn usmap(data: &[u8]) {
    let data = &[&USMAP_MAGIC, data].concat()[..];
    // Packed files may unpack 64-fold, into names of one byte; the decoders have windows and tables.
    let packed = data.get(7).is_some_and(|method| *method != 0);
    let (base, each) = if packed { (12 * KIB * KIB, 64 * 40) } else { (64 * KIB, 48) };
    let read = || usmap::File::read(data, &usmap::Limits::default());
    let Ok(file) = within(data, base, each, read) else { return };
    let written = usmap::write(&file.mappings);
    let again = usmap::File::read(&written, &usmap::Limits::default()).expect("it was written");
    assert!(again.mappings == file.mappings && usmap::write(&again.mappings) == written);
    for item in file.mappings.structs().iter().take(64) {
        let Ok(class) = file.mappings.class(&item.name) else { continue };
        for (at, slot) in class.all().take(64) {
            assert!(at < class.slots() && !slot.name().is_empty() || slot.property.name.is_empty());
            let nearest = class.find(&slot.name());
            assert!(slot.property.name.contains(['[', ']']) || nearest.is_some_and(|nearest| nearest <= at));
        }
    }
}

/// Any bytes as an object of a class that has a property of every type: what is accepted is written back.
pub fn properties(data: &[u8]) {
    let context = Context { limits: property::Limits { values: 4 << 10 }, ..context() };
    let class = context.mappings.class("Sink").expect("it is in the mappings");
    let read = || Object::read(data, class, 0, &context);
    let Ok(object) = within(data, 1024 * KIB, 80, read) else { return };
    assert!(object.write() == data);
    assert!(object.properties_end + object.tail.len() == data.len());
    assert!(serde_json::to_string(&view_object(&object, &context)).is_ok());
}

/// Any bytes as script objects: paths end.
pub fn script_objects(data: &[u8]) {
    let Ok(objects) = within(data, 64 * KIB, 40, || ScriptObjects::read(data)) else { return };
    assert!(objects.iter().count() == objects.len());
    for object in objects.iter().take(64) {
        if let Some(path) = objects.path(object) {
            assert!(objects.name(object).is_some_and(|name| path.ends_with(&name)));
        }
    }
}

fn path(text: &str) -> PackagePath {
    PackagePath::parse(text).expect("it is a path")
}

/// A package with two exports, of which one has a payload, and imports from two others.
pub fn sample(form: Form) -> Package {
    let mut package = Package { form, ..Package::new(&path("/Game/Box/SM_Box")).expect("it is a name") };
    let class = package.import_script("/Script/Engine.StaticMesh");
    let (body, mesh) = (package.intern("Body_0"), package.intern("SM_Box"));
    let export = |name, outer, flags, public_hash| Export {
        offset: 0,
        size: 0,
        name,
        outer,
        class: ObjectIndex::script("/Script/Engine.StaticMesh"),
        super_object: ObjectIndex::Null,
        template: ObjectIndex::script("/Script/Engine.Default__StaticMesh"),
        public_hash,
        flags,
        filter: 0,
    };
    let material = |package: &mut Package, name: &str| {
        package.import_object(&path(&format!("/Game/Box/{name}")), name).expect("it is a name")
    };
    let materials = [material(&mut package, "M_A"), material(&mut package, "M_B")];
    let hash = iostore::hash_utf16_lower("SM_Box");
    let mesh = package.add_export(
        export(mesh.expect("it is a name"), ObjectIndex::Null, 0xb, hash),
        &[9, 9, 9, 9, 0, 0, 0, 0, 7, 7, 7],
    );
    let outer = ObjectIndex::Export(mesh as u64);
    let body = package.add_export(export(body.expect("it is a name"), outer, 8, 0), &[1, 2, 3, 4, 5]);
    package.bulk.push(BulkEntry { offset: 8, duplicate_offset: -1, size: 3, flags: 0x48, cooked_index: 0 });
    for object in materials.into_iter().chain([body as i32 + 1, class]) {
        // Script objects are there from the start.
        if object != class {
            package.depend(mesh, Dependency::CreateBeforeSerialize, object);
        }
    }
    package
}

fn zen_package_seeds() -> Vec<(&'static str, Vec<u8>)> {
    let empty = Package::new(&path("/Game/A/B")).expect("it is a name");
    vec![
        ("empty", empty.write()),
        ("mesh", sample(Form::Ue55).write()),
        ("mesh-of-later-engine", sample(Form::Ue56).write()),
    ]
}

/// Every type of property, natively written structs among them.
pub fn types() -> Vec<(&'static str, PropertyType)> {
    use PropertyType as T;
    let boxed = |kind: &T| Box::new(kind.clone());
    let native = |name: &str| T::Struct(Arc::from(name));
    let item = native("Item");
    vec![
        ("Bool", T::Bool),
        ("Byte", T::Byte),
        ("Int8", T::Int8),
        ("Int16", T::Int16),
        ("Int", T::Int),
        ("Int64", T::Int64),
        ("UInt16", T::UInt16),
        ("UInt32", T::UInt32),
        ("UInt64", T::UInt64),
        ("Float", T::Float),
        ("Double", T::Double),
        ("Name", T::Name),
        ("Object", T::Object),
        ("Weak", T::WeakObject),
        ("Interface", T::Interface),
        ("Lazy", T::LazyObject),
        ("Soft", T::SoftObject),
        ("Str", T::Str),
        ("Ansi", T::AnsiStr),
        ("Utf8", T::Utf8Str),
        ("Text", T::Text),
        ("Colour", T::Enum(boxed(&T::Byte), Arc::from("EColour"))),
        ("Delegate", T::Delegate),
        ("Multicast", T::MulticastDelegate),
        ("Field", T::FieldPath),
        ("Optional", T::Optional(boxed(&T::Int))),
        ("List", T::Array(boxed(&T::Str))),
        ("Items", T::Array(boxed(&item))),
        ("Names", T::Set(boxed(&T::Name))),
        ("Map", T::Map(boxed(&T::Name), boxed(&item))),
        ("Nested", item),
        ("Vector", native("Vector")),
        ("Guid", native("Guid")),
        ("Box", native("Box")),
        ("Tags", native("GameplayTagContainer")),
        ("Quality", native("PerQualityLevelInt")),
        ("Instanced", native("InstancedStruct")),
    ]
}

static MAPPINGS: LazyLock<Mappings> = LazyLock::new(|| {
    let property =
        |slot, dimension, name: &str, kind| Property { slot, dimension, name: Arc::from(name), kind };
    let own = types();
    let own = own.into_iter().enumerate().map(|(slot, (name, kind))| property(slot as u16, 1, name, kind));
    let own: Vec<Property> = own.collect();
    let structs = vec![
        Struct {
            name: Arc::from("Sink"),
            parent: Some(Arc::from("Base")),
            slots: own.len() as u16,
            properties: own,
        },
        Struct {
            name: Arc::from("Base"),
            parent: None,
            slots: 202,
            properties: vec![property(1, 200, "Fixed", PropertyType::Int)],
        },
        Struct {
            name: Arc::from("Item"),
            parent: None,
            slots: 4,
            properties: vec![
                property(0, 1, "Number", PropertyType::Float),
                property(1, 1, "Title", PropertyType::Text),
                property(2, 1, "Inner", PropertyType::Array(Box::new(PropertyType::Struct("Item".into())))),
                property(3, 1, "bOn", PropertyType::Bool),
            ],
        },
    ];
    let entries = vec![(Arc::from("EColour::Red"), 0), (Arc::from("EColour::Green"), 3)];
    let enums = vec![Enum { name: Arc::from("EColour"), entries }];
    Mappings::new(enums, structs).expect("they are sound")
});

static NAMES: LazyLock<Vec<Name>> = LazyLock::new(|| {
    let texts = ["None", "Key", "/Game/Box/SM_Box", "SM_Box", "Red"];
    texts.iter().map(|text| Name::new(text).expect("it is a name")).collect()
});

/// Mappings with a class `Sink` of every type, and names.
pub fn context() -> Context<'static> {
    Context {
        mappings: &MAPPINGS,
        form: Form::Ue55,
        names: &NAMES,
        objects: Some((3, 3)),
        limits: property::Limits::default(),
    }
}

/// An object of the class `Sink` in which every property is there.
pub fn sink() -> Object {
    let mappings = context().mappings;
    let class = mappings.class("Sink").expect("it is there");
    let name = |index, number| Value::Name(NameRef { index, number });
    let item = |entries: Vec<(u32, Value)>| {
        let mut block = Block::new(mappings.class("Item").expect("it is there"));
        entries.into_iter().for_each(|(slot, value)| block.put(slot, value));
        Value::Block(block)
    };
    let text = |history, parts| Value::Text(Box::new(Text { flags: 8, history, parts }));
    let str = |text: &str| Value::Str(Str::new(text));
    let none = Value::Bool32(false);
    let argument = |kind, value| Value::Group(vec![Value::U8(kind), value]);
    let source = || text(0, vec![str(""), str("KEY"), str("{0} of {n}")]);
    let titles = [
        Value::Text(Box::new(Text::invariant("Größe"))),
        text(-1, vec![Value::Optional(None)]),
        text(1, vec![source(), Value::List(vec![Value::Group(vec![str("n"), argument(0, Value::I64(-2))])])]),
        text(2, vec![source(), Value::List(vec![argument(4, source()), argument(3, Value::F64(0.5))])]),
        text(6, vec![str("EUR"), argument(2, Value::F32(1.5)), none, str("")]),
        text(9, vec![Value::I64(1), Value::I8(4), Value::I8(3), str("UTC"), str("")]),
        text(10, vec![source(), Value::U8(1)]),
        text(11, vec![name(2, 0), str("Greeting")]),
    ];
    let mut items: Vec<Value> = titles.into_iter().map(|title| item(vec![(1, title)])).collect();
    let nested = item(vec![(3, Value::Bool(false))]);
    items.push(item(vec![(0, Value::Zero), (2, Value::List(vec![nested])), (3, Value::Bool(true))]));
    let delegate = Value::Group(vec![Value::Object(1), name(1, 0)]);
    let one = Value::F64(1.0);
    let values = vec![
        Value::Bool(true),
        Value::U8(200),
        Value::I8(-2),
        Value::I16(-300),
        Value::I32(-70_000),
        Value::I64(-5_000_000_000),
        Value::U16(40_000),
        Value::U32(3_000_000_000),
        Value::U64(u64::MAX),
        Value::F32(0.1),
        Value::F64(-0.0),
        name(1, 3),
        Value::Object(-3),
        Value::Object(3),
        Value::Zero,
        Value::Guid([7; 16]),
        Value::Soft(Box::new((
            NameRef { index: 2, number: 0 },
            NameRef { index: 3, number: 0 },
            Str::new("x"),
        ))),
        str("ü"),
        Value::Bytes(b"ansi".to_vec()),
        Value::Bytes("ü".as_bytes().to_vec()),
        Value::Text(Box::new(Text::invariant("plain"))),
        Value::U8(3),
        delegate.clone(),
        Value::List(vec![delegate.clone(), delegate]),
        Value::Group(vec![Value::List(vec![name(1, 0)]), Value::Object(-1)]),
        Value::Optional(Some(Box::new(Value::I32(0)))),
        Value::List(vec![str(""), str("a")]),
        Value::List(items.clone()),
        Value::Set(vec![name(4, 0)]),
        Value::Map(vec![(name(4, 1), items[8].clone())]),
        items[0].clone(),
        Value::Group(vec![one.clone(), Value::F64(0.0), one.clone()]),
        Value::Guid([1; 16]),
        Value::Group([vec![one; 6], vec![Value::U8(1)]].concat()),
        Value::List(vec![name(1, 0), name(3, 0)]),
        Value::Group(vec![
            Value::Bool32(true),
            Value::I32(2),
            Value::List(vec![Value::Group(vec![Value::I32(0), Value::I32(9)])]),
        ]),
        Value::Instanced(-2, vec![1, 2, 3]),
    ];
    let mut block = Block::new(class);
    for (slot, value) in values.into_iter().enumerate() {
        block.put(slot as u32, value);
    }
    // Over the seam of two fragments, with a mask and without.
    for element in 0..140 {
        let value = if element % 3 == 0 { Value::Zero } else { Value::I32(element) };
        block.put(class.find("Fixed").expect("it is there") + element as u32, value);
    }
    let properties_end = {
        let bare = Object { lead: Vec::new(), block: block.clone(), properties_end: 0, tail: Vec::new() };
        bare.write().len()
    };
    Object { lead: Vec::new(), block, properties_end, tail: vec![0, 0, 0, 0, 5] }
}

fn properties_seeds() -> Vec<(&'static str, Vec<u8>)> {
    let class = context().mappings.class("Sink").expect("it is there");
    let empty = Object { lead: vec![], block: Block::new(class), properties_end: 0, tail: vec![0; 4] };
    vec![("every-type", sink().write()), ("nothing", empty.write())]
}

/// The mappings of the sample, small, in all the ways in which they may be packed without an encoder.
fn usmap_seeds() -> Vec<(&'static str, Vec<u8>)> {
    let mappings = context().mappings;
    let item = mappings.structs().iter().filter(|item| &*item.name != "Base").cloned().collect();
    let plain = usmap::write(&Mappings::new(mappings.enums().to_vec(), item).expect("they are sound"));
    let body = &plain[16..];
    let length = body.len() as u32;
    let pack = |method: u8, packed: Vec<u8>| {
        let sizes = [(packed.len() as u32).to_le_bytes(), length.to_le_bytes()].concat();
        [&plain[..7], &[method], &sizes, &packed].concat()
    };
    // Streams of bytes as they are: an Oodle block, a brotli block and a zstd block of the raw kind.
    let oodle = [&[0xcc, 0x06], body].concat();
    let brotli = [&((length - 1) << 4 | 1 << 20).to_le_bytes()[..3], body, &[3]].concat();
    let size = (length as u16 - 256).to_le_bytes();
    let block = (length << 3 | 1).to_le_bytes();
    let zstd = [&[0x28, 0xb5, 0x2f, 0xfd, 0x60][..], &size, &block[..3], body].concat();
    let files = [
        ("oodle", pack(1, oodle)),
        ("brotli", pack(2, brotli)),
        ("zstd", pack(3, zstd)),
        ("plain", plain.clone()),
    ];
    files.map(|(name, file)| (name, file[USMAP_MAGIC.len()..].to_vec())).to_vec()
}

fn script_objects_seeds() -> Vec<(&'static str, Vec<u8>)> {
    // The batch of names is that of a package, whose summary is cut off.
    let mut package = Package::new(&path("/Script/Engine")).expect("it is a name");
    let names = ["StaticMesh", "Default__StaticMesh"];
    names.iter().for_each(|name| drop(package.intern(name)));
    let bytes = package.write();
    let texts: usize = package.names.iter().map(|name| name.text().len()).sum();
    let mut seed = bytes[52..52 + 16 + 10 * package.names.len() + texts].to_vec();
    let objects = [
        (0u32, "/Script/Engine", ObjectIndex::Null),
        (1, "/Script/Engine.StaticMesh", ObjectIndex::script("/Script/Engine")),
        (2, "/Script/Engine.Default__StaticMesh", ObjectIndex::script("/Script/Engine")),
    ];
    seed.extend((objects.len() as u32).to_le_bytes());
    for (name, path, outer) in objects {
        seed.extend((name | 2 << 30).to_le_bytes());
        seed.extend([0; 4]);
        for object in [ObjectIndex::script(path), outer, ObjectIndex::Null] {
            seed.extend(object.raw().to_le_bytes());
        }
    }
    vec![("engine", seed)]
}
