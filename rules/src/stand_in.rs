//! `stand-in-game`: what takes the game's place where it is not installed.

use engine::{Cx, Inputs, Interface, Kind, Outputs, Pure, RuleError};
use schemars::JsonSchema;
use serde::Deserialize;

/// `stand-in-game` has no parameters.
#[derive(Clone, Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Params {}

/// The rule.
pub(crate) struct StandInGame;

impl Pure for StandInGame {
    type Params = Params;
    const NAME: &'static str = "stand-in-game";
    const VERSION: u32 = 1;
    const DOC: &'static str = "Makes a folder of containers in the game's formats with content of our own, so that \
        everything builds where the game is not installed. What is built from it cannot be played.";

    fn interface() -> Interface {
        Interface::new().output("root", Kind::Tree, "The files of a Paks folder.")
    }

    fn run(_: Params, _: &Inputs<'_>, outputs: &Outputs<'_>, _: &Cx<'_>) -> Result<(), RuleError> {
        let files = crate::stand_in_game::generate();
        let files =
            files.map_err(|error| RuleError::new(format!("the stand-in cannot be written: {error}")))?;
        files.iter().try_for_each(|(name, bytes)| outputs.put_in("root", name, bytes))
    }
}
