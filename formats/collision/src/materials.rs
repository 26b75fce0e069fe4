//! Names of the game's surface materials for those of Halo CE.

/// The material of a Halo CE material type. Types that are not listed get the default.
pub fn of_type(material_type: Option<u16>) -> &'static str {
    match material_type {
        Some(0) => "tough_terrain_dirt",
        Some(1) => "tough_terrain_sand",
        Some(2) => "hard_terrain_stone",
        Some(3) => "soft_terrain_snow",
        Some(4) => "tough_organic_wood",
        Some(5 | 6) => "hard_metal_thin",
        Some(7) => "hard_metal_thick",
        Some(8) => "tough_inorganic_rubber",
        Some(9) => "brittle_glass",
        Some(10) => "energy_hologram",
        Some(28) => "liquid_thin_water",
        Some(29) => "soft_organic_plant",
        Some(31) => "hard_terrain_ice",
        _ => "default_material",
    }
}

/// The material of a piece of scenery, by words in its name; stone where none is known.
pub fn of_scenery(name: &str) -> &'static str {
    const WORDS: [(&[&str], &str); 4] = [
        (&["field_generator"], "energy_shield_thick_cov_jackal"),
        (&["rock", "boulder", "stone", "cliff"], "hard_terrain_stone"),
        (&["tree", "log", "stump", "wood", "branch"], "tough_organic_wood"),
        (&["plant", "bush", "shrub", "grass", "fern", "leaf"], "soft_organic_plant"),
    ];
    let name = name.to_ascii_lowercase();
    let found = WORDS.iter().find(|(words, _)| words.iter().any(|word| name.contains(word)));
    found.map_or("hard_terrain_stone", |(_, material)| material)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn scenery_is_named_by_its_words() {
        for (name, material) in [
            (r"scenery\rocks\Boulder_Granite_Large", "hard_terrain_stone"),
            (r"scenery\trees\tree_pine", "tough_organic_wood"),
            (r"scenery\shrubs\shrub_large", "soft_organic_plant"),
            (r"scenery\c_field_generator\c_field_generator", "energy_shield_thick_cov_jackal"),
            (r"scenery\teleporter_base\x", "hard_terrain_stone"),
        ] {
            assert_eq!(of_scenery(name), material, "{name}");
        }
        assert_eq!([of_type(Some(6)), of_type(Some(11)), of_type(None)].map(str::len), [15, 16, 16]);
    }
}
