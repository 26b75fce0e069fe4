//! Welding: points that are nearly one become one, in an order that is always the same.

use std::collections::BTreeMap;

use glam::DVec3;

/// How near two vertices of an input are one: 1/2048 world unit, about 1.5 mm.
pub const WELD: f64 = 1.0 / 2048.0;

/// Cells of a grid that `x` with its tolerance touches: one, or two near a border.
fn cells(x: f64, tolerance: f64, size: f64) -> (i64, i64) {
    (((x - tolerance) / size).floor() as i64, ((x + tolerance) / size).floor() as i64)
}

/// Something kept at places of a grid in 3 or more dimensions, found again by its neighbourhood.
pub(crate) struct Grid<const N: usize> {
    size: [f64; N],
    tolerance: [f64; N],
    kept: BTreeMap<[i64; N], Vec<u32>>,
}

impl<const N: usize> Grid<N> {
    /// Cells of `size`, searched as far as `tolerance` (which must not be larger).
    pub(crate) fn new(size: [f64; N], tolerance: [f64; N]) -> Self {
        Self { size, tolerance, kept: BTreeMap::new() }
    }

    /// Keeps `index` at `place`.
    pub(crate) fn keep(&mut self, place: [f64; N], index: u32) {
        let cell = std::array::from_fn(|i| (place[i] / self.size[i]).floor() as i64);
        self.kept.entry(cell).or_default().push(index);
    }

    /// The lowest index near `place` that `accept` agrees with.
    pub(crate) fn lowest(&self, place: [f64; N], mut accept: impl FnMut(u32) -> bool) -> Option<u32> {
        let ranges: [(i64, i64); N] =
            std::array::from_fn(|i| cells(place[i], self.tolerance[i], self.size[i]));
        let mut best: Option<u32> = None;
        for corner in 0..1_u32 << N {
            if (0..N).any(|i| corner >> i & 1 == 1 && ranges[i].0 == ranges[i].1) {
                continue;
            }
            let cell = std::array::from_fn(|i| if corner >> i & 1 == 1 { ranges[i].1 } else { ranges[i].0 });
            for &index in self.kept.get(&cell).into_iter().flatten() {
                if best.is_none_or(|best| index < best) && accept(index) {
                    best = Some(index);
                }
            }
        }
        best
    }
}

/// For every point the first earlier point that was kept and lies within `tolerance` in every axis, or
/// itself. Kept points never move, so chains of near points cannot drift.
pub(crate) fn weld(points: &[[f32; 3]], tolerance: f64) -> Vec<u32> {
    let mut grid = Grid::new([tolerance * 8.0; 3], [tolerance; 3]);
    let at = |i: u32| DVec3::from(points[i as usize].map(f64::from));
    (0..points.len() as u32)
        .map(|index| {
            let point = at(index);
            let near = |kept: u32| (at(kept) - point).abs().max_element() <= tolerance;
            grid.lowest(point.to_array(), near).unwrap_or_else(|| {
                grid.keep(point.to_array(), index);
                index
            })
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_chain_does_not_drift() {
        let step = 1.0 / 4096.0;
        let points: Vec<[f32; 3]> = (0..8).map(|i| [i as f32 * step, 0.0, 0.0]).collect();
        assert_eq!(weld(&points, WELD), [0, 0, 0, 3, 3, 3, 6, 6]);
    }

    #[test]
    fn cells_and_signs_do_not_matter() {
        for start in [-5000.0_f32, -0.5, -0.0001, 0.0, 0.00390625, 4999.5] {
            let points = [[start, 0.0, 0.0], [start + 0.0004, 0.0, 0.0], [start - 0.001, 0.0, 0.0]];
            let welded = weld(&points, WELD);
            assert_eq!(welded[0], 0, "{start}");
            let apart = |i: usize| (f64::from(points[i][0]) - f64::from(start)).abs() > WELD;
            assert_eq!([welded[1] == 1, welded[2] == 2], [apart(1), apart(2)], "{start}");
        }
    }
}
