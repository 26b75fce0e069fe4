//! CityHash64 and the two forms of text that Unreal hashes with it.
//!
//! It knows bytes and text alone; what a hash identifies is the affair of [`crate::PackageId`] and of
//! the readers of packages. Lower-casing touches ASCII letters only: the engine's rule for others is
//! not known, and no name that we make has any.

/// CityHash 1.1, 64 bits, without a seed.
pub fn city_hash64(bytes: &[u8]) -> u64 {
    cityhasher::hash(bytes)
}

/// The hash of `text`, lower-cased, as UTF-16LE: package ids, container ids, export and import hashes.
pub fn hash_utf16_lower(text: &str) -> u64 {
    let units: Vec<u8> = text
        .encode_utf16()
        .map(|unit| match u8::try_from(unit) {
            Ok(byte) => u16::from(byte.to_ascii_lowercase()),
            Err(_) => unit,
        })
        .flat_map(u16::to_le_bytes)
        .collect();
    city_hash64(&units)
}

/// The hash of one name of a name batch: over single bytes when the name is ASCII, else over UTF-16LE.
pub fn name_hash(name: &str) -> u64 {
    if name.is_ascii() { city_hash64(name.to_ascii_lowercase().as_bytes()) } else { hash_utf16_lower(name) }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Every branch of the function, by the length of what is hashed.
    #[test]
    fn hashes_of_utf16_text() {
        let pack = "0123456789abcdefghijklmnopqrstuvwxyz-0123456789abcdefghijklmnopq";
        let glass = format!("/Game/MJOLNIR/Forge/{pack}/M_Glass");
        let long = format!("/Game/MJOLNIR/Forge/{pack}/{}", "p".repeat(64));
        for (bytes, text, hash) in [
            (0, "", 0x9ae1_6a3b_2f90_404f),
            (2, "/", 0xcec7_1e5a_ff71_b473),
            (4, "/A", 0xe8a5_55de_b9e6_123c),
            (6, "/Ga", 0xaa71_1c01_3cd8_ba2c),
            (10, "/Game", 0x960e_fb83_43f9_df70),
            (14, "/Game/A", 0x4553_6791_432b_d5d0),
            (16, "/Game/AB", 0x4234_743e_94a4_ddf6),
            (18, "/Game/ABC", 0xd218_c2c2_3634_7e4c),
            (26, "/Game/MJOLNIR", 0x6b22_444e_6813_ab69),
            (40, "/Game/Meshes/SM_Cube", 0x516e_7b38_42b8_8189),
            (42, "/Game/Meshes/M_Cube_1", 0x5d18_eeff_b7ae_a530),
            (42, "/Game/Meshes/M_Cube_2", 0x114d_3ee1_220a_aa5c),
            (42, "/Game/Textures/T_Test", 0x4844_2a7e_83a0_bb03),
            (48, "/Engine/BasicShapes/Cube", 0x24de_e4ab_3204_fe71),
            (48, "/Game/MJOLNIR/Forge/ab/m", 0x6b39_b8fb_fb57_de3d),
            (52, "/Game/MJOLNIR/Maps/BGL/BGL", 0x1860_9fe4_3bf6_591b),
            (62, "/Game/Levels/Halo1/Solo/B40/B40", 0x0367_5979_7281_9631),
            (74, "/Game/MJOLNIR/Forge/foundry/floor_2x2", 0x1a11_2f8b_a782_5b69),
            (74, "/Game/MJOLNIR/Forge/FOUNDRY/Floor_2x2", 0x1a11_2f8b_a782_5b69),
            (76, "/Game/Blueprints/Campaign/DT_Scenarios", 0x7510_9756_4dcc_659f),
            (88, "/Game/MJOLNIR/Forge/foundry-wide/SM_deck_4x4", 0x20e3_7e4a_241f_002a),
            (104, "/Game/ThirdPerson/Blueprints/BP_ThirdPersonCharacter", 0x5108_cd81_d5e1_6ed4),
            (118, "/Game/Tags/objects/characters/marine/marine-collision_model", 0x2e02_d9af_e5df_4846),
            (184, &glass, 0xf11f_bda0_8959_6288),
            (298, &long, 0x9bba_c0b2_573b_27d8),
            (60, "pakchunk988-MJOLNIRMAT-Windows", 0x20c7_141a_ae76_ab93),
            (42, "pakchunk990-FOUNDRY_P", 0x5edc_d59c_e4b2_191a),
            (12, "global", 0x5f46_79d1_622c_63a2),
            (76, "Meteorite_Chunk988-PCD3D_SM6-PCD3D_SM6", 0xb35e_db58_9db8_e99c),
            (14, "SM_Cube", 0xf4cc_3f86_cf16_5e55),
        ] {
            assert_eq!(text.len() * 2, bytes, "{text}");
            assert_eq!(hash_utf16_lower(text), hash, "{text}");
        }
    }

    #[test]
    fn hashes_of_names() {
        for (name, hash) in [
            ("a", 0xb345_4265_b6df_75e3),
            ("A", 0xb345_4265_b6df_75e3),
            ("None", 0x7537_0f5b_a635_2dc2),
            ("SM_Cube", 0x6abe_8f56_b1e9_284a),
            ("/Game/Meshes/SM_Cube", 0x909c_07cf_23a8_c2e9),
            ("marine-collision_model", 0x9709_af12_dc2f_abd8),
        ] {
            assert_eq!(name_hash(name), hash, "{name}");
        }
        assert_eq!(name_hash("Set_漢字"), hash_utf16_lower("set_漢字"));
        assert_ne!(name_hash("Ä"), name_hash("ä"));
    }
}
