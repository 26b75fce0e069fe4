//! `bake inspect`: what is in a file, level by level: archives have members, containers have chunks, chunks
//! are packages. With `--json` the key names are those of the conformance expectations.

mod describe;
mod mappings;
mod tag;

use std::path::Path;

use engine::Action;
use iostore::{ChunkId, ChunkReader, Limits, MountOrder, Oodle, ReadAt, Toc};
use serde_json::{Value, json};
use unreal::package::Package;
use unreal::usmap::{self, Mappings};

use crate::bytes::hex;
use crate::cli::Inspect;
use crate::count::{count, size};
use crate::fail::Fail;
use crate::shell::Shell;

/// What was found, for both kinds of readers.
struct Shown {
    text: String,
    json: Value,
}

pub(crate) fn run(args: &Inspect, shell: &Shell) -> Result<(), Fail> {
    let bytes = std::fs::read(&args.file).map_err(|error| Fail::io("read", &args.file, &error))?;
    let path: Vec<&str> = args.path.as_deref().map(|path| path.split('!').collect()).unwrap_or_default();
    let beside = |extension: &str| std::fs::read(args.file.with_extension(extension)).ok();
    let mappings = mappings::set()?;
    let shown = show(&args.file.to_string_lossy(), &bytes, &beside, &path, mappings.as_ref())?;
    if args.json {
        shell.json(&shown.json)
    } else {
        shell.data(&shown.text)
    }
    Ok(())
}

/// Shows the file `name`; `beside` reads the file of another extension that belongs to it, `path` leads on,
/// and `mappings` name the properties of packages.
fn show(
    name: &str,
    bytes: &[u8],
    beside: &dyn Fn(&str) -> Option<Vec<u8>>,
    path: &[&str],
    mappings: Option<&Mappings>,
) -> Result<Shown, Fail> {
    let extension = Path::new(name).extension().and_then(|text| text.to_str()).unwrap_or_default();
    if bytes.starts_with(b"PK\x03\x04") || extension == "mjolnir" {
        return archive(name, bytes, path, mappings);
    }
    if extension == "utoc" {
        return container(name, bytes, beside, path, mappings);
    }
    if usmap::File::is_one(bytes) {
        return mappings::file(name, bytes, path);
    }
    if blam::Tag::is_one(bytes) {
        return tag::file(name, bytes, path);
    }
    if let [first, ..] = path {
        return Err(Fail::usage(format!("`{name}` is a single thing: there is no `{first}` in it")));
    }
    if let Some(result) = cache::ActionResult::decode(bytes) {
        return result_file(&result);
    }
    if let Ok(value) = serde_json::from_slice::<Value>(bytes) {
        return Ok(Shown { text: format!("{value:#}"), json: value });
    }
    if let Ok(package) = Package::read(bytes, &unreal::package::Limits::default()) {
        return Ok(package_file(&package, bytes, mappings));
    }
    let json = json!({"size": bytes.len(), "blake3": blake3::hash(bytes).to_hex().to_string()});
    let start = hex(bytes.get(..bytes.len().min(16)).unwrap_or_default());
    Ok(Shown {
        text: format!("{}, of no form that is known here: {start}…", size(bytes.len() as u64)), json
    })
}

fn archive(name: &str, bytes: &[u8], path: &[&str], mappings: Option<&Mappings>) -> Result<Shown, Fail> {
    let archive = mjolnir::zip::Archive::read(bytes)
        .map_err(|error| Fail::usage(format!("`{name}` is no archive: {error}")))?;
    if let [member, rest @ ..] = path {
        let found = archive.member(member).ok_or_else(|| no_member(name, member, &archive))?;
        let beside = |extension: &str| {
            let other = Path::new(member).with_extension(extension);
            archive.member(&other.to_string_lossy()).map(|member| member.read().into_owned())
        };
        return show(member, &found.read(), &beside, rest, mappings);
    }
    let mut text =
        format!("{name}: {}, {}\n", count(archive.members().count(), "member"), size(bytes.len() as u64));
    let mut members = Vec::new();
    for member in archive.members() {
        text += &format!("  {:>10}  {}\n", size(member.size()), member.name());
        members
            .push(json!({"name": member.name(), "size": member.size(), "packed_size": member.packed_size()}));
    }
    Ok(Shown { text, json: json!({"schema": 1, "canonical": archive.canonical(), "members": members}) })
}

fn no_member(name: &str, member: &str, archive: &mjolnir::zip::Archive<'_>) -> Fail {
    let names: Vec<String> = archive.members().map(|member| member.name().into_owned()).collect();
    let fail = Fail::usage(format!("`{name}` has no member `{member}`"));
    match engine::schema::did_you_mean(member, names.iter().map(String::as_str)) {
        Some(near) => fail.help(format!("did you mean `{near}`?")),
        None => fail,
    }
}

fn container(
    name: &str,
    utoc: &[u8],
    beside: &dyn Fn(&str) -> Option<Vec<u8>>,
    path: &[&str],
    mappings: Option<&Mappings>,
) -> Result<Shown, Fail> {
    let toc = Toc::read(utoc, &Limits::default())
        .map_err(|error| Fail::usage(format!("`{name}` is no table of contents: {error}")))?;
    let ucas = beside("ucas");
    let partitions: Vec<&dyn ReadAt> = ucas.iter().map(|ucas| ucas as &dyn ReadAt).collect();
    let reader = ChunkReader::new(&toc, &partitions).with_decompressor(&Oodle);
    if let [chunk, rest @ ..] = path {
        let index = find_chunk(&toc, chunk).ok_or_else(|| {
            Fail::usage(format!("`{name}` has no chunk `{chunk}`: expected a path or an id that it lists"))
        })?;
        let bytes = reader.read(index, Limits::default().chunk_bytes);
        let bytes = bytes.map_err(|error| Fail::usage(format!("`{name}`: {error}")))?;
        return show(chunk, &bytes, &|_| None, rest, mappings);
    }
    let json = describe::container(&toc, utoc, ucas.as_ref().map(Vec::len), &reader);
    let stem = Path::new(name).file_stem().and_then(|stem| stem.to_str()).unwrap_or_default();
    let mut text = format!(
        "{name}: container {}, {}, {}, mount order {}\n",
        toc.container(),
        count(toc.chunks().len(), "chunk"),
        count(toc.blocks().len(), "block"),
        MountOrder::of(stem),
    );
    for (index, chunk) in toc.chunks().iter().enumerate() {
        let path = toc.path_below_mount(index).unwrap_or_default();
        text += &format!(
            "  {}  {:>10}  {:20} {path}\n",
            chunk.id,
            size(chunk.length),
            chunk.id.kind().to_string()
        );
    }
    Ok(Shown { text, json })
}

fn find_chunk(toc: &Toc, name: &str) -> Option<usize> {
    if let Some(index) = ChunkId::parse(name).and_then(|id| toc.find(id)) {
        return Some(index);
    }
    let named = |index: &usize| {
        let paths = [toc.path(*index), toc.path_below_mount(*index)];
        paths.iter().flatten().any(|path| path.eq_ignore_ascii_case(name))
    };
    (0..toc.chunks().len()).find(named)
}

fn package_file(package: &Package, bytes: &[u8], mappings: Option<&Mappings>) -> Shown {
    let mut text = format!(
        "{}: package {}, {}, {}, {}\n",
        package.name_text(package.name),
        package.id(),
        count(package.exports.len(), "export"),
        count(package.imports.len(), "import"),
        size(bytes.len() as u64),
    );
    let objects = mappings.map(|mappings| mappings::objects(package, mappings)).unwrap_or_default();
    for (index, export) in package.exports.iter().enumerate() {
        let path = package.export_path(index).unwrap_or_default();
        text += &format!("  export {index}  {:>10}  {path}\n", size(export.size));
        if let Some(object) = objects.get(index) {
            text += &mappings::lines(object);
        }
    }
    for imported in &package.imported {
        text += &format!("  from      {}\n", imported.text());
    }
    let mut json = describe::package(package, bytes);
    mappings::extend(&mut json, objects);
    Shown { text, json }
}

fn result_file(result: &cache::ActionResult) -> Result<Shown, Fail> {
    let action = Action::decode(&result.manifest).map_err(|error| Fail::usage(error.to_string()))?;
    let mut text =
        format!("result of {}: rule {}, {} ms\n", result.action(), action.rule, result.duration_ms);
    text += &format!("  params {}\n", action.params.canonical_text());
    for (name, (_, digest)) in &action.inputs {
        text += &format!("  input  {name}  {digest}\n");
    }
    for (name, output) in &result.outputs {
        text += &format!("  output {name}  {}\n", output.digest());
    }
    let inputs = action.inputs.iter().map(|(name, (_, digest))| (name.clone(), digest.to_string().into()));
    let outputs =
        result.outputs.iter().map(|(name, output)| (name.clone(), output.digest().to_string().into()));
    let json = json!({
        "schema": 1,
        "action": result.action().to_string(),
        "rule": action.rule.to_string(),
        "params": action.params.to_value(),
        "inputs": Value::Object(inputs.collect()),
        "facts": action.facts,
        "outputs": Value::Object(outputs.collect()),
        "notes": result.notes.iter().map(|note| note.message.clone()).collect::<Vec<_>>(),
        "duration_ms": result.duration_ms,
        "private": result.private,
    });
    Ok(Shown { text, json })
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Whatever is expected of containers and packages is shown under the same names.
    #[test]
    fn expectations_are_shown_under_their_names() {
        for folder in ["ue55", "ue58"].into_iter().filter_map(test_support::conformance) {
            for entry in std::fs::read_dir(folder).unwrap() {
                let path = entry.unwrap().path();
                let name = path.file_name().unwrap().to_string_lossy().into_owned();
                let Some(stem) = name.strip_suffix(".expected.json") else { continue };
                let expected: Value = serde_json::from_slice(&std::fs::read(&path).unwrap()).unwrap();
                let (expected, file) = match expected.get("zen") {
                    Some(zen) => (zen.clone(), path.with_file_name(format!("{stem}.uzenasset"))),
                    None => (expected, path.with_file_name(format!("{stem}.utoc"))),
                };
                let Ok(bytes) = std::fs::read(&file) else { continue };
                let beside = |extension: &str| std::fs::read(file.with_extension(extension)).ok();
                let found = show(&file.to_string_lossy(), &bytes, &beside, &[], None).unwrap().json;
                compare(&found, &expected, stem);
            }
        }
    }

    /// Mappings are shown under the names of their expectations, as are the properties that they name.
    #[test]
    fn mappings_and_properties_are_shown_under_their_names() {
        let Some(folder) = test_support::conformance("ue58") else { return };
        let read = |name: &str| std::fs::read(folder.join(name)).unwrap();
        let json = |name: &str| serde_json::from_slice::<Value>(&read(name)).unwrap();
        let expected = json("usmap.json");
        let name = expected["file"].as_str().unwrap();
        let bytes = read(name);
        let found = show(name, &bytes, &|_| None, &[], None).unwrap().json;
        for (key, value) in expected.as_object().unwrap() {
            if let Some(found) = found.get(key) {
                assert_eq!(found, value, "{key}");
            }
        }
        for class in expected["classes"].as_array().unwrap() {
            let found = show(name, &bytes, &|_| None, &[class["name"].as_str().unwrap()], None).unwrap();
            compare(&found.json, class, name);
        }
        assert!(show(name, &bytes, &|_| None, &["Nothing"], None).is_err());

        let mappings = usmap::File::read(&bytes, &usmap::Limits::default()).unwrap().mappings;
        for entry in std::fs::read_dir(&folder).unwrap() {
            let utoc = entry.unwrap().path();
            let name = utoc.to_string_lossy().into_owned();
            if !name.ends_with("-Uncompressed-Windows.utoc") {
                continue;
            }
            let toc = std::fs::read(&utoc).unwrap();
            let beside = |extension: &str| std::fs::read(utoc.with_extension(extension)).ok();
            for texture in json("textures.json").as_array().unwrap() {
                let chunk = texture["chunk_id"].as_str().unwrap();
                let found = show(&name, &toc, &beside, &[chunk], Some(&mappings)).unwrap();
                let header = found.json["header_size"].as_u64().unwrap();
                let start = texture["export_offset"].as_u64().unwrap() - header;
                let exports = found.json["export_map"].as_array().unwrap();
                let export = exports.iter().find(|export| export["serial_offset"] == start).unwrap();
                assert_eq!(export["property_header"], texture["property_header"]);
                assert_eq!(export["slots"], texture["slots"]);
                assert!(found.text.contains("    LightingGuid = "), "{}", found.text);
            }
        }
    }

    /// What an expectation says of the file beside the container's own tables.
    const ASIDE: [&str; 5] =
        ["files", "note", "header_bytes_used", "trailing_zero_bytes", "soft_serial_info"];

    fn compare(found: &Value, expected: &Value, at: &str) {
        match expected {
            Value::Object(fields) => {
                for (key, value) in fields.iter().filter(|(key, _)| !ASIDE.contains(&key.as_str())) {
                    let found = found.get(key).unwrap_or_else(|| panic!("{at}: `{key}` is not shown"));
                    compare(found, value, &format!("{at}.{key}"));
                }
            }
            Value::Array(items) if items.iter().any(Value::is_object) => {
                assert_eq!(found.as_array().map(Vec::len), Some(items.len()), "{at}");
                for (index, item) in items.iter().enumerate() {
                    compare(&found[index], item, &format!("{at}[{index}]"));
                }
            }
            // Long lists are left out of expectations.
            Value::String(text) if text == "omitted" => assert!(found.is_array(), "{at}"),
            other => assert_eq!(found, other, "{at}"),
        }
    }
}
