//! `<MAP>.mvar.packs`: which packs a saved layout used, beside the layout that the game wrote.
#![deny(
    clippy::indexing_slicing,
    clippy::arithmetic_side_effects,
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic
)]

use crate::manifest::{block_tag, is_block_id, is_slug};
use crate::version::Version;

const HEADER: &str = "forge-packs 1";
const ROWS: usize = 200;
/// The longest that is read: 200 rows of tags, slugs, versions and digests fit several times.
pub const LONGEST: usize = 256 << 10;
const LAST_INDEX: u8 = 254;

/// A piece of a pack that a layout uses.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Row {
    /// Its index in the flat palette.
    pub index: u8,
    /// Its block's id.
    pub block: String,
    /// The pack's slug.
    pub slug: String,
    /// The pack's version when the layout was saved.
    pub version: Version,
    /// The SHA-256 of the pack's archive, lower-case hexadecimal.
    pub sha256: String,
}

/// Why a list is not read.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("line {line}: {message}")]
pub struct SidecarError {
    /// The line, from 1.
    pub line: usize,
    /// What was found and what is allowed.
    pub message: String,
}

/// Reads a list strictly.
pub fn read(bytes: &[u8]) -> Result<Vec<Row>, SidecarError> {
    let fail = |line, message: &str| SidecarError { line, message: message.to_owned() };
    if bytes.len() > LONGEST {
        return Err(fail(1, "the file is longer than 200 rows can be"));
    }
    let text = str::from_utf8(bytes)
        .ok()
        .filter(|text| text.is_ascii() && !text.contains('\r'))
        .ok_or_else(|| fail(1, "only ASCII and LF are allowed"))?;
    let text = text.strip_suffix('\n').ok_or_else(|| fail(1, "the last line has no LF"))?;
    let mut lines = text.split('\n');
    if lines.next() != Some(HEADER) {
        return Err(fail(1, "the first line must be `forge-packs 1`"));
    }
    let mut rows: Vec<Row> = Vec::new();
    for (text, line) in lines.zip(2..) {
        let row = read_row(text).map_err(|message| fail(line, message))?;
        if rows.iter().any(|other| other.index == row.index) {
            return Err(fail(line, "the palette index is used twice"));
        }
        if rows.len() >= ROWS {
            return Err(fail(line, "there are more than 200 rows"));
        }
        rows.push(row);
    }
    Ok(rows)
}

fn read_row(text: &str) -> Result<Row, &'static str> {
    let fields: Vec<&str> = text.split('\t').collect();
    let [index, tag, slug, version, sha256] = *fields.as_slice() else {
        return Err("a row has five fields with tabs between");
    };
    let plain = index == "0" || !index.starts_with('0');
    let index = Some(index)
        .filter(|index| plain && index.bytes().all(|byte| byte.is_ascii_digit()))
        .and_then(|index| index.parse::<u8>().ok())
        .filter(|index| *index <= LAST_INDEX)
        .ok_or("the palette index must be 0 to 254 without leading zeros")?;
    let block = tag.rsplit('\\').next().unwrap_or_default();
    if !is_slug(slug) || !is_block_id(block) || tag != block_tag(slug, block) {
        return Err("the tag must be `objects\\mjolnir\\forge\\<slug>\\<block>` of the row's slug");
    }
    let version = Version::parse(version).map_err(|_| "the version must be exact")?;
    let hex = |byte: u8| byte.is_ascii_digit() || matches!(byte, b'a'..=b'f');
    if sha256.len() != 64 || !sha256.bytes().all(hex) {
        return Err("the digest must be 64 lower-case hexadecimal digits");
    }
    Ok(Row { index, block: block.to_owned(), slug: slug.to_owned(), version, sha256: sha256.to_owned() })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rows_are_strict() {
        let sha = "0".repeat(64);
        let row = |index: &str, version: &str| {
            format!("{index}\tobjects\\mjolnir\\forge\\foundry\\a\tfoundry\t{version}\t{sha}\n")
        };
        let list = |rows: &str| read(format!("forge-packs 1\n{rows}").as_bytes());
        assert_eq!(list("").unwrap(), []);
        assert_eq!(list(&row("254", "0.2.0")).unwrap()[0].index, 254);
        for wrong in
            [row("255", "0.2.0"), row("01", "0.2.0"), row("+1", "0.2.0"), row("1", "^0.2.0"), "\n".to_owned()]
        {
            assert_eq!(list(&wrong).unwrap_err().line, 2, "{wrong:?}");
        }
        let many: String = (0..201).map(|index| row(&index.to_string(), "1.0.0")).collect();
        assert_eq!(list(&many).unwrap_err().line, 202);
    }
}
