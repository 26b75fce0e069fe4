//! Reading of conformance files.

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
