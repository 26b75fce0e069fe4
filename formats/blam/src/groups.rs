//! The groups of tags: name, four-character code and version, as the game has them.
//!
//! Names and codes alone; which fields a group has is for each tag to say.

use crate::model::FourCc;

/// A group of tags.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Group {
    /// Its name, which ends the names of packages: `collision_model`.
    pub name: &'static str,
    /// Its code, which begins references: `coll`.
    pub code: FourCc,
    /// The version that its tags state.
    pub version: u32,
}

impl Group {
    /// All groups, by name.
    pub const ALL: [Self; 101] = [
        group("achievements", b"achi", 1),
        group("ai_dialogue_globals", b"adlg", 1),
        group("ai_globals", b"aigl", 1),
        group("ai_mission_dialogue", b"mdlg", 1),
        group("biped", b"bipd", 3),
        group("breakable_surface", b"bsdt", 0),
        group("camera_fx_settings", b"cfxs", 1),
        group("camera_shake", b"csdt", 1),
        group("camera_track", b"trak", 2),
        group("camo", b"cmoe", 1),
        group("character", b"char", 1),
        group("chud_animation_definition", b"chad", 1),
        group("chud_definition", b"chdt", 1),
        group("chud_globals_definition", b"chgd", 1),
        group("chud_widget_animation_data_template", b"wadt", 1),
        group("chud_widget_placement_data_template", b"wpdt", 1),
        group("chud_widget_render_data_template", b"wrdt", 1),
        group("chud_widget_state_data_template", b"wsdt", 1),
        group("cinematic", b"cine", 1),
        group("cinematic_transition", b"citr", 1),
        group("collision_damage", b"cddf", 1),
        group("collision_model", b"coll", 10),
        group("color_table", b"colo", 1),
        group("coop_spawning_globals_definition", b"coop", 1),
        group("crate", b"bloc", 1),
        group("creature", b"crea", 1),
        group("damage_effect", b"jpt!", 6),
        group("damage_response_definition", b"drdf", 1),
        group("death_program_selector", b"bdpd", 0),
        group("device_control", b"ctrl", 1),
        group("device_machine", b"mach", 1),
        group("device_terminal", b"term", 1),
        group("dialogue", b"udlg", 1),
        group("effect", b"effe", 4),
        group("effect_globals", b"effg", 1),
        group("effect_scenery", b"efsc", 1),
        group("encounter_remix", b"remx", 1),
        group("equipment", b"eqip", 2),
        group("formation", b"form", 1),
        group("frame_event_list", b"frms", 0),
        group("game_engine_globals", b"gegl", 1),
        group("game_engine_settings_definition", b"wezr", 1),
        group("game_medal_globals", b"gmeg", 1),
        group("game_performance_throttle", b"gptd", 1),
        group("giant", b"gint", 1),
        group("globals", b"matg", 3),
        group("grounded_friction", b"grfr", 0),
        group("havok_collision_filter", b"hcfd", 1),
        group("incident_global_properties_definition", b"igpd", 1),
        group("incident_globals_definition", b"ingd", 1),
        group("material_effects", b"foot", 1),
        group("megalo_string_id_table", b"msit", 1),
        group("megalogamengine_sounds", b"mgls", 1),
        group("model", b"hlmt", 1),
        group("model_animation_graph", b"jmad", 1),
        group("multilingual_unicode_string_list", b"unic", 2),
        group("multiplayer_globals", b"mulg", 1),
        group("multiplayer_object_type_list", b"motl", 1),
        group("multiplayer_variant_settings_interface_definition", b"goof", 1),
        group("performance_template", b"pfmc", 1),
        group("physics_model", b"phmo", 2),
        group("player_model_customization_globals", b"pmcg", 1),
        group("projectile", b"proj", 5),
        group("rain_definition", b"rain", 1),
        group("rumble", b"rmbl", 1),
        group("scenario", b"scnr", 2),
        group("scenario_required_resource", b"sdzg", 1),
        group("scenario_structure_bsp", b"sbsp", 5),
        group("scenario_structure_lighting_info", b"stli", 1),
        group("scenery", b"scen", 1),
        group("shader", b"rmsh", 1),
        group("shield_impact", b"shit", 1),
        group("simulated_input", b"sidt", 1),
        group("simulation_globals", b"simg", 0),
        group("simulation_interpolation", b"siin", 0),
        group("skeleton_model", b"skel", 1),
        group("skull_globals", b"skug", 0),
        group("sound", b"snd!", 4),
        group("sound_classes", b"sncl", 1),
        group("sound_combiner", b"scmb", 0),
        group("sound_dialogue_constants", b"spk!", 1),
        group("sound_effect_collection", b"sfx+", 1),
        group("sound_global_propagation", b"sgp!", 1),
        group("sound_looping", b"lsnd", 3),
        group("sound_mix", b"snmx", 1),
        group("sound_radio_settings", b"srad", 1),
        group("sound_scenery", b"ssce", 1),
        group("spring_acceleration", b"sadt", 1),
        group("squad_template", b"sqtm", 1),
        group("structure_design", b"sddt", 1),
        group("structure_seams", b"stse", 1),
        group("style", b"styl", 1),
        group("survival_mode_globals", b"smdt", 1),
        group("text_value_pair_definition", b"sily", 1),
        group("user_interface_globals_definition", b"wgtz", 3),
        group("user_interface_shared_globals_definition", b"wigl", 1),
        group("vehicle", b"vehi", 1),
        group("water_physics_drag_properties", b"wpdp", 1),
        group("wave_template", b"wave", 1),
        group("weapon", b"weap", 2),
        group("weather_globals", b"wxcg", 1),
    ];

    /// The group called `name`.
    pub fn named(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|group| group.name.eq_ignore_ascii_case(name))
    }

    /// The group with this code.
    pub fn of(code: FourCc) -> Option<Self> {
        Self::ALL.into_iter().find(|group| group.code == code)
    }

    /// Whether the packages of the group lie in a folder of generated ones, and can be cloned alone: one that
    /// is built anew is found, but the map does not start.
    pub fn is_generated(self) -> bool {
        let generated = [
            "scenario",
            "scenario_structure_bsp",
            "scenario_structure_lighting_info",
            "structure_design",
            "structure_seams",
        ];
        generated.contains(&self.name)
    }

    /// The class of the packages of the group: `BlamCollisionModelTagDataAsset`.
    pub fn class(self) -> String {
        let pascal: String = self
            .name
            .split('_')
            .map(|part| {
                let (first, rest) = part.split_at(part.len().min(1));
                format!("{}{rest}", first.to_ascii_uppercase())
            })
            .collect();
        format!("Blam{pascal}TagDataAsset")
    }
}

const fn group(name: &'static str, code: &[u8; 4], version: u32) -> Group {
    Group { name, code: FourCc(u32::from_be_bytes(*code)), version }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn groups_are_found_by_name_and_code() {
        for (index, group) in Group::ALL.into_iter().enumerate() {
            assert_eq!(Group::named(group.name), Some(group));
            assert_eq!(Group::of(group.code), Some(group));
            assert!(Group::ALL[..index].iter().all(|other| other.name < group.name));
        }
        let groups = [
            ("model_animation_graph", "jmad", "BlamModelAnimationGraphTagDataAsset"),
            ("crate", "bloc", "BlamCrateTagDataAsset"),
        ];
        for (name, code, class) in groups {
            let group = Group::named(name).unwrap();
            assert_eq!((group.code.to_string().as_str(), group.class().as_str()), (code, class));
        }
        assert_eq!(Group::ALL.into_iter().filter(|group| group.is_generated()).count(), 5);
        assert_eq!(Group::named("boulder"), None);
    }
}
