//! Shape keys: how a MOPP's terminals name surfaces and instances.

/// What a key of a static body names.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum ShapeKey {
    /// A surface of the shell, sunk by an entry of the engine's table.
    Shell {
        /// Which entry; shipped bodies have 5.
        sink: u8,
        /// The surface.
        surface: u32,
    },
    /// All of an instance. Contacts may all report one material: for what has too many surfaces.
    Instance(u32),
    /// One surface of an instance's definition.
    Surface {
        /// The instance.
        instance: u16,
        /// The surface, below 8,192.
        surface: u16,
    },
}

/// The sink of shipped shell keys.
pub const SHELL_SINK: u8 = 5;

impl ShapeKey {
    /// The key as a MOPP holds it; `None` where it does not fit.
    pub fn bits(self) -> Option<u32> {
        match self {
            Self::Shell { sink, surface } => {
                (sink < 8 && surface < 1 << 26).then(|| 0x2000_0000 + (u32::from(sink) << 26) + surface)
            }
            Self::Instance(instance) => (instance < 1 << 29).then_some(0x4000_0000 + instance),
            Self::Surface { instance, surface } => {
                (surface < 0x2000).then(|| 0x6000_0000 + (u32::from(surface) << 16) + u32::from(instance))
            }
        }
    }

    /// From the key of a MOPP; `None` for kinds that are not known.
    pub fn from_bits(bits: u32) -> Option<Self> {
        match bits >> 29 {
            1 => Some(Self::Shell { sink: (bits >> 26 & 7) as u8, surface: bits & 0x03FF_FFFF }),
            2 => Some(Self::Instance(bits & 0x1FFF_FFFF)),
            3 => Some(Self::Surface { instance: bits as u16, surface: (bits >> 16 & 0x1FFF) as u16 }),
            _ => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keys_are_those_of_shipped_bodies() {
        for (key, bits) in [
            (ShapeKey::Surface { instance: 833, surface: 3204 }, 0x6C84_0341),
            (ShapeKey::Instance(763), 0x4000_02FB),
            (ShapeKey::Shell { sink: SHELL_SINK, surface: 18 }, 0x3400_0012),
        ] {
            assert_eq!(key.bits(), Some(bits));
            assert_eq!(ShapeKey::from_bits(bits), Some(key));
        }
    }

    #[test]
    fn what_does_not_fit_has_no_key() {
        assert_eq!(ShapeKey::Surface { instance: 0, surface: 0x2000 }.bits(), None);
        assert_eq!(ShapeKey::Shell { sink: 8, surface: 0 }.bits(), None);
        assert_eq!(ShapeKey::Shell { sink: 0, surface: 1 << 26 }.bits(), None);
        assert_eq!(ShapeKey::from_bits(0x8000_0000), None);
    }
}
