//! Default elements: what a new element of a block holds, in place and in its wrapper.

use wire::Writer;

use crate::layout::*;
use crate::model::*;

/// The largest default element; the game's are below 10 KiB.
const MAX_ELEMENT: u64 = 1 << 24;

/// The bytes of a reference to nothing, in place.
pub(crate) const NO_REFERENCE: [u8; 16] = {
    let mut bytes = [0xff; 16];
    let mut at = 4;
    while at < 12 {
        bytes[at] = 0;
        at += 1;
    }
    bytes
};

/// A default element.
pub(crate) struct Default {
    /// Its bytes in place.
    pub packed: Vec<u8>,
    /// The content of its wrapper.
    pub children: Vec<u8>,
}

/// The default element of the struct `index`, or why there is none.
pub(crate) fn element(layout: &Layout<'_>, index: u32) -> Result<Default, String> {
    let def = layout.struct_def(index).ok_or_else(|| format!("struct {index} is not part of the layout"))?;
    if let Some(name) = def.unknown {
        return Err(format!("`{}` has a field of the unknown type `{name}`", def.name));
    }
    if u64::from(def.size) + u64::from(def.sections) * (SECTION_BYTES + BLOCK_BYTES) > MAX_ELEMENT {
        return Err(format!("a `{}` is larger than {MAX_ELEMENT} bytes", def.name));
    }
    let mut packed = vec![0; def.size as usize];
    let mut children = Writer::new();
    fill(layout, def, &mut packed, &mut children)?;
    Ok(Default { packed, children: children.into_bytes() })
}

/// A section without content.
fn empty(w: &mut Writer, magic: u32) {
    w.u32(magic).u32(0).u32(0);
}

/// A wrapper around `content`.
pub(crate) fn wrapper(w: &mut Writer, content: &[u8]) {
    // Content is that of an element, which is below `MAX_ELEMENT`.
    let size = content.len() as u32;
    w.u32(STRUCT).u32(size).u32(size).bytes(content);
}

fn fill(
    layout: &Layout<'_>,
    def: &StructDef<'_>,
    packed: &mut [u8],
    children: &mut Writer,
) -> Result<(), String> {
    let gone = || format!("the layout of `{}` does not hold together", def.name);
    for field in &def.fields {
        let at = field.offset as usize;
        let place = packed.get_mut(at..at + field.size as usize).ok_or_else(gone)?;
        match field.kind {
            Kind::BlockIndex(_) | Kind::CustomBlockIndex(_) => place.fill(0xff),
            Kind::StringId => empty(children, STRING_ID),
            Kind::Data => empty(children, DATA),
            Kind::Reference => {
                place.copy_from_slice(&NO_REFERENCE);
                empty(children, REFERENCE);
            }
            Kind::Block => {
                children.u32(BLOCK).u32(0).u32(BLOCK_BYTES as u32).u32(0).u32(0);
            }
            Kind::Struct => {
                let inner = layout.struct_def(field.aux).ok_or_else(gone)?;
                let mut content = Writer::new();
                fill(layout, inner, place, &mut content)?;
                wrapper(children, content.as_bytes());
            }
            Kind::Array => {
                let (count, element) =
                    layout.array_def(field.aux, 0, field.name).map_err(|e| e.to_string())?;
                let inner = layout.struct_def(element).ok_or_else(gone)?;
                for element in place.chunks_exact_mut((inner.size as usize).max(1)).take(count as usize) {
                    fill(layout, inner, element, children)?;
                }
            }
            Kind::Resource => {
                return Err(format!(
                    "`{}` holds the resource `{}`, which has no default",
                    def.name, field.name
                ));
            }
            Kind::Interop if field.sections > 0 => {
                return Err(format!("`{}` holds `{}`, which has no default", def.name, field.name));
            }
            _ => {}
        }
    }
    Ok(())
}
