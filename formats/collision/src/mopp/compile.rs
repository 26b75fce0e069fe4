//! The compiler: halves of the boxes along the axis on which they spread most, and short terminals.

use crate::mopp::element::Mopp;
use crate::mopp::frame::{Frame, KeyBox};

/// Fixed-point units around every box: what the engine's single precision may be off.
const SLACK: f64 = 4.0;

struct Item {
    key: u32,
    low: [i64; 3],
    high: [i64; 3],
}

impl Mopp {
    /// Compiles a tree over boxes; keys should differ.
    pub fn compile(boxes: &[KeyBox]) -> Self {
        let frame = Frame::fit(boxes);
        let mut items: Vec<Item> = boxes
            .iter()
            .map(|it| {
                let (low, high) = frame.bytes(it, SLACK);
                Item { key: it.key, low, high }
            })
            .collect();
        let code = if items.is_empty() { vec![0x00] } else { tree(&mut items) };
        Self { frame, code }
    }
}

fn tree(items: &mut [Item]) -> Vec<u8> {
    if let [item] = items {
        return terminal(item.key);
    }
    let spread = |axis: usize| {
        let high = items.iter().map(|i| i.high[axis]).max().unwrap_or(0);
        let low = items.iter().map(|i| i.low[axis]).min().unwrap_or(0);
        high - low
    };
    let axis = (1..3).fold(0, |best, axis| if spread(axis) > spread(best) { axis } else { best });
    items.sort_unstable_by_key(|item| (item.low[axis] + item.high[axis], item.key));
    let (left, right) = items.split_at_mut(items.len() / 2);
    let most = left.iter().map(|item| item.high[axis]).max().unwrap_or(0);
    let least = right.iter().map(|item| item.low[axis]).min().unwrap_or(0);
    // Both are bytes: boxes were clamped to 0..=255.
    let (most, least) = ((most + 1).min(255) as u8, least as u8);
    let (left, right) = (tree(left), tree(right));
    let axis = axis as u8;
    let mut code;
    if let Ok(length) = u8::try_from(left.len()) {
        code = vec![0x10 + axis, most, least, length];
        code.extend(left);
        code.extend(right);
    } else if let (Ok(length), true) = (u16::try_from(left.len()), left.len() <= right.len()) {
        code = vec![0x23 + axis, most, least, 0, 0];
        code.extend(length.to_be_bytes());
        code.extend(left);
        code.extend(right);
    } else if let Ok(length) = u16::try_from(right.len()) {
        code = vec![0x23 + axis, most, least];
        code.extend(length.to_be_bytes());
        code.extend([0, 0]);
        code.extend(right);
        code.extend(left);
    } else {
        // The left child is a jump over the right one.
        code = vec![0x23 + axis, most, least, 0, 0, 0, 4, 0x07];
        code.extend(&(right.len() as u32).to_be_bytes()[1..]);
        code.extend(right);
        code.extend(left);
    }
    code
}

fn terminal(key: u32) -> Vec<u8> {
    let bytes = key.to_be_bytes();
    match key {
        0..0x20 => vec![0x30 + key as u8],
        0x20..0x100 => [&[0x50], &bytes[3..]].concat(),
        0x100..0x1_0000 => [&[0x51], &bytes[2..]].concat(),
        0x1_0000..0x100_0000 => [&[0x52], &bytes[1..]].concat(),
        _ => [&[0x53], &bytes[..]].concat(),
    }
}
