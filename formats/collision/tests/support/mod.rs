//! Reading of conformance files.

use collision::{Geometry, Hull, Meaning, Open, Triangle, surface_flags};
use serde_json::Value;

/// All cases of the topic: file name and content, sorted by name.
pub fn cases() -> Vec<(String, Value)> {
    let Some(folder) = test_support::conformance("collision") else { return Vec::new() };
    let mut files: Vec<_> = std::fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path()).collect();
    files.retain(|file| file.extension().is_some_and(|extension| extension == "json"));
    files.sort();
    files
        .iter()
        .map(|file| {
            let value = serde_json::from_slice(&std::fs::read(file).unwrap()).unwrap();
            (file.file_name().unwrap().to_string_lossy().into_owned(), value)
        })
        .collect()
}

/// Bytes from hexadecimal digits.
pub fn unhex(text: &str) -> Vec<u8> {
    let digits: Vec<u8> = text.bytes().filter(u8::is_ascii_hexdigit).collect();
    digits.chunks(2).map(|pair| u8::from_str_radix(std::str::from_utf8(pair).unwrap(), 16).unwrap()).collect()
}

/// A number, or one of the words that stand for those that JSON has not.
pub fn number(value: &Value) -> f32 {
    match value.as_str() {
        Some("NaN") => f32::NAN,
        Some("Infinity") => f32::INFINITY,
        Some("-Infinity") => f32::NEG_INFINITY,
        Some(other) => panic!("not a number: {other}"),
        None => value.as_f64().unwrap() as f32,
    }
}

/// Three numbers.
pub fn point(value: &Value) -> [f32; 3] {
    let v = value.as_array().unwrap();
    [number(&v[0]), number(&v[1]), number(&v[2])]
}

fn indices(value: &Value) -> Vec<u32> {
    value.as_array().unwrap().iter().map(|v| u32::try_from(v.as_u64().unwrap()).unwrap()).collect()
}

fn points(value: &Value) -> Vec<[f32; 3]> {
    value.as_array().map(Vec::as_slice).unwrap_or_default().iter().map(point).collect()
}

/// The input of a case.
pub fn geometry(case: &Value) -> (Geometry, Meaning) {
    let input = &case["input"];
    let mut geometry = Geometry { vertices: points(&input["vertices"]), ..Geometry::default() };
    let two_sided = |t: usize| input["two_sided"][t] == true;
    let triangle = |vertices: [u32; 3], flags| Triangle { vertices, material: 0, flags };
    for (t, corners) in input["triangles"].as_array().into_iter().flatten().enumerate() {
        let corners = indices(corners);
        let flags = if two_sided(t) { surface_flags::TWO_SIDED } else { 0 };
        geometry.triangles.push(triangle([corners[0], corners[1], corners[2]], flags));
    }
    for hull in input["hulls"].as_array().into_iter().flatten() {
        geometry.hulls.push(Hull {
            vertices: points(&hull["vertices"]),
            faces: hull["faces"].as_array().unwrap().iter().map(indices).collect(),
            material: 0,
            flags: 0,
        });
    }
    if input["kind"] == "patch" {
        geometry.vertices = points(&input["points"]);
        let [nu, nv] = ["nu", "nv"].map(|n| u32::try_from(input[n].as_u64().unwrap()).unwrap());
        for j in 0..nv - 1 {
            for i in 0..nu - 1 {
                let a = j * nu + i;
                let (b, c, d) = (a + 1, a + 1 + nu, a + nu);
                geometry.triangles.push(triangle([a, b, c], 0));
                geometry.triangles.push(triangle([a, c, d], 0));
            }
        }
    }
    let open = match input["open"]["policy"].as_str() {
        Some("two_sided") => Open::TwoSided,
        Some("skirt") => Open::Skirt { depth: number(&input["open"]["depth"]) },
        _ => Open::Refuse,
    };
    (geometry, Meaning { open, shell: case["solid_outside"] == true })
}
