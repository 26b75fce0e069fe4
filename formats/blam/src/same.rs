//! Whether two structs, of one tag or of two, are laid out alike: what one holds may then stand in the other.

use std::collections::BTreeSet;

use crate::layout::Kind;
use crate::model::Layout;

/// Whether struct `a` of `left` and struct `b` of `right` have the same guid, size and fields, and so have
/// all that they hold.
pub(crate) fn structs(left: &Layout<'_>, a: u32, right: &Layout<'_>, b: u32) -> bool {
    let mut seen = BTreeSet::new();
    let mut pending = vec![(a, b)];
    while let Some((a, b)) = pending.pop() {
        if !seen.insert((a, b)) {
            continue;
        }
        let (Some(one), Some(other)) = (left.struct_def(a), right.struct_def(b)) else {
            return false;
        };
        if (one.guid, one.size, one.fields.len()) != (other.guid, other.size, other.fields.len()) {
            return false;
        }
        for (x, y) in one.fields.iter().zip(&other.fields) {
            if (x.name, x.type_name, x.size, x.sections) != (y.name, y.type_name, y.size, y.sections) {
                return false;
            }
            match x.kind {
                Kind::Struct => pending.push((x.aux, y.aux)),
                Kind::Array => match (left.array_def(x.aux, 0, ""), right.array_def(y.aux, 0, "")) {
                    (Ok((n, x)), Ok((m, y))) if n == m => pending.push((x, y)),
                    _ => return false,
                },
                Kind::Block => match (left.block_def(x.aux, 0, ""), right.block_def(y.aux, 0, "")) {
                    (Ok(x), Ok(y)) => pending.push((x.element, y.element)),
                    _ => return false,
                },
                _ => {}
            }
        }
    }
    true
}
