//! The interpreter: an explicit stack and a budget, so that no code can make it loop or read outside.
//!
//! Where the meaning of an operation is not known it is refused, or, where both branches are safe to
//! visit, both are visited.
#![deny(
    clippy::indexing_slicing,
    clippy::arithmetic_side_effects,
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic
)]

use crate::mopp::frame::QueryBox;

/// Why a code was not run to its end.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum MoppError {
    /// An operation or its operands lie outside the code.
    #[error("the code ends before the operation at {0} does")]
    Truncated(usize),
    /// An operation that does not exist, or whose meaning is not known.
    #[error("there is no operation {1:#04x}, at {0}")]
    UnknownOpcode(usize, u8),
    /// Rescaled beyond the 16 bits that there are.
    #[error("the code rescales beyond 16 bits at {0}")]
    ShiftOverflow(usize),
    /// More was visited than a tree of this length can have.
    #[error("the code visits more than its length allows")]
    BudgetExceeded,
}

impl MoppError {
    /// A stable word for it.
    pub fn code(&self) -> &'static str {
        match self {
            Self::Truncated(_) => "truncated",
            Self::UnknownOpcode(..) => "unknown_opcode",
            Self::ShiftOverflow(_) => "shift_overflow",
            Self::BudgetExceeded => "budget_exceeded",
        }
    }
}

/// What is inherited down a branch.
#[derive(Clone, Copy)]
pub(crate) struct Branch {
    at: usize,
    low: [i64; 3],
    high: [i64; 3],
    offset: [i64; 3],
    shift: u32,
    base: u32,
    /// Bytes below which, in the unscaled frame, a box must begin to come here; and at which it must end.
    pub(crate) below: [i64; 3],
    pub(crate) above: [i64; 3],
    /// Whether `below` and `above` say all about the way here.
    pub(crate) exact: bool,
}

/// Runs a code and gives the keys that a box may touch; without a box all of them.
pub fn run(code: &[u8], query: Option<&QueryBox>) -> Result<Vec<u32>, MoppError> {
    let mut keys = Vec::new();
    walk(code, query, &mut |key, _| keys.push(key))?;
    Ok(keys)
}

/// Runs a code with `found` called on every terminal, with the way to it.
pub(crate) fn walk(
    code: &[u8],
    query: Option<&QueryBox>,
    found: &mut dyn FnMut(u32, &Branch),
) -> Result<(), MoppError> {
    let asked = query.copied().unwrap_or(QueryBox::EVERYTHING);
    let (low, high) = scaled(&asked, 0, [0; 3]);
    let start = Branch {
        at: 0,
        low,
        high,
        offset: [0; 3],
        shift: 0,
        base: 0,
        below: [i64::MAX; 3],
        above: [i64::MIN; 3],
        exact: true,
    };
    let mut budget = code.len().saturating_mul(8).saturating_add(1024);
    let mut stack = vec![start];
    while let Some(branch) = stack.pop() {
        follow(code, &asked, query.is_none(), branch, &mut budget, &mut stack, found)?;
    }
    Ok(())
}

/// The working box of a query; its high end is exclusive.
fn scaled(query: &QueryBox, shift: u32, offset: [i64; 3]) -> ([i64; 3], [i64; 3]) {
    let bits = 16_u32.saturating_sub(shift);
    let scale = |fixed: [i64; 3], more: i64| {
        let [x, y, z] = fixed.map(|c| c >> bits);
        let [a, b, c] = offset;
        [x.saturating_sub(a), y.saturating_sub(b), z.saturating_sub(c)].map(|c| c.saturating_add(more))
    };
    (scale(query.low, 0), scale(query.high, 1))
}

/// Reads big-endian operands of one operation.
struct Operands<'a> {
    code: &'a [u8],
    operation: usize,
    next: usize,
}

impl Operands<'_> {
    fn byte(&mut self) -> Result<i64, MoppError> {
        let byte = self.code.get(self.next).ok_or(MoppError::Truncated(self.operation))?;
        self.next = self.next.saturating_add(1);
        Ok(i64::from(*byte))
    }

    fn number(&mut self, bytes: u32) -> Result<u32, MoppError> {
        let mut number = 0_u32;
        for _ in 0..bytes {
            number = (number << 8) | (self.byte()? as u32 & 0xFF);
        }
        Ok(number)
    }

    fn jump(&self, far: u32) -> usize {
        self.next.saturating_add(far as usize)
    }
}

fn axis_of<T: Copy>(values: &[T; 3], axis: u8) -> T {
    let [x, y, z] = *values;
    match axis {
        0 => x,
        1 => y,
        _ => z,
    }
}

fn set(values: &mut [i64; 3], axis: u8, value: i64, pick: fn(i64, i64) -> i64) {
    if let Some(slot) = values.get_mut(usize::from(axis)) {
        *slot = pick(*slot, value);
    }
}

fn follow(
    code: &[u8],
    query: &QueryBox,
    everything: bool,
    mut branch: Branch,
    budget: &mut usize,
    stack: &mut Vec<Branch>,
    found: &mut dyn FnMut(u32, &Branch),
) -> Result<(), MoppError> {
    loop {
        *budget = budget.checked_sub(1).ok_or(MoppError::BudgetExceeded)?;
        let at = branch.at;
        let mut read = Operands { code, operation: at, next: at };
        let op = read.byte()? as u8;
        match op {
            0x00 => return Ok(()),
            0x01..=0x04 => {
                let shift = branch.shift.saturating_add(u32::from(op));
                if shift > 16 {
                    return Err(MoppError::ShiftOverflow(at));
                }
                for offset in &mut branch.offset {
                    // At most 16 bits of shifts in all: this cannot overflow.
                    *offset = offset.saturating_add(read.byte()?) << op;
                }
                branch.shift = shift;
                (branch.low, branch.high) = scaled(query, shift, branch.offset);
                branch.exact = false;
            }
            0x05..=0x07 => {
                let far = read.number(u32::from(op & 7).saturating_sub(4))?;
                branch.at = read.jump(far);
                continue;
            }
            0x09 | 0x0A => {
                let more = read.number(u32::from(op).saturating_sub(8))?;
                branch.base = branch.base.wrapping_add(more);
            }
            0x0B => branch.base = branch.base.wrapping_add(read.number(4)?),
            0x10..=0x1C | 0x20..=0x25 => {
                let (most, least, left, right);
                if op >= 0x23 {
                    (most, least) = (read.byte()?, read.byte()?);
                    (left, right) = (read.number(2)?, read.number(2)?);
                } else if op >= 0x20 {
                    most = read.byte()?;
                    (least, left, right) = (most, 0, read.number(1)?);
                } else {
                    (most, least) = (read.byte()?, read.byte()?);
                    (left, right) = (0, read.number(1)?);
                }
                let (to_left, to_right) = split(op, &branch, most, least);
                let axial = !(0x13..=0x1C).contains(&op);
                let axis = if op >= 0x23 { op.wrapping_sub(0x23) } else { op & 3 };
                if everything || to_right {
                    let mut other = Branch { at: read.jump(right), ..branch };
                    set(&mut other.above, axis, least, i64::max);
                    other.exact &= axial;
                    stack.push(other);
                }
                if !(everything || to_left) {
                    return Ok(());
                }
                set(&mut branch.below, axis, most, i64::min);
                branch.exact &= axial;
                branch.at = read.jump(left);
                continue;
            }
            0x26..=0x28 => {
                let axis = op.wrapping_sub(0x26);
                let (low, high) = (read.byte()?, read.byte()?);
                let (from, to) = (axis_of(&branch.low, axis), axis_of(&branch.high, axis));
                if !everything && (to < low || high <= from) {
                    return Ok(());
                }
                set(&mut branch.below, axis, high, i64::min);
                set(&mut branch.above, axis, low.saturating_sub(1), i64::max);
            }
            // What these cut away is not known for certain: nothing is.
            0x29..=0x2B => _ = (read.number(3)?, read.number(3)?),
            0x30..=0x4F => {
                found(branch.base.wrapping_add(u32::from(op).wrapping_sub(0x30)), &branch);
                return Ok(());
            }
            0x50..=0x53 => {
                let key = read.number(u32::from(op & 3).saturating_add(1))?;
                found(branch.base.wrapping_add(key), &branch);
                return Ok(());
            }
            0x60..=0x63 => _ = read.number(1)?,
            0x64..=0x67 => _ = read.number(2)?,
            0x68..=0x6B => _ = read.number(4)?,
            _ => return Err(MoppError::UnknownOpcode(at, op)),
        }
        branch.at = read.next;
    }
}

/// Which sides of a split a box reaches. Diagonals are compared at twice their value.
fn split(op: u8, branch: &Branch, most: i64, least: i64) -> (bool, bool) {
    let axis = |axis| (axis_of(&branch.low, axis), axis_of(&branch.high, axis));
    let diagonal = |a: u8, b: u8, sum: bool| {
        let ((a, to_a), (b, to_b)) = (axis(a), axis(b));
        if sum {
            (a.saturating_add(b), to_a.saturating_add(to_b))
        } else {
            (a.saturating_sub(to_b).saturating_add(255), to_a.saturating_sub(b).saturating_add(255))
        }
    };
    let (low, high) = match op {
        0x13 => diagonal(1, 2, true),
        0x14 => diagonal(1, 2, false),
        0x15 => diagonal(0, 2, true),
        0x16 => diagonal(0, 2, false),
        0x17 => diagonal(0, 1, true),
        0x18 => diagonal(0, 1, false),
        0x19..=0x1C => return (true, true),
        _ => {
            let axis = axis(if op >= 0x23 { op.wrapping_sub(0x23) } else { op & 3 });
            return (axis.0 < most, least < axis.1);
        }
    };
    (low < most.saturating_mul(2), least.saturating_mul(2) < high)
}
