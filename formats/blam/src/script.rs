//! Replaces the scripts of a scenario by one that runs when the map starts.
//!
//! It knows the names of the fields that scripts lie in and nothing of the language: a script is compiled
//! elsewhere. A map without any script starts black, so there must be one.

use crate::edit::EditError;
use crate::model::Tag;

const STRINGS: &str = "script string data";
const DATUMS: &str = "hs syntax datums";
const SCRIPTS: &str = "scripts";
const GLOBALS: &str = "globals";
const SOURCES: &str = "source files";

/// A compiled script.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Script<'s> {
    /// Its name.
    pub name: &'s str,
    /// When it runs, by the number of the option; 0 is at the start.
    pub kind: u16,
    /// What it returns, by the number of the option; 4 is nothing.
    pub return_type: u16,
    /// The handle of its first expression.
    pub root: u32,
    /// Its expressions, one after the other.
    pub datums: &'s [u8],
    /// The texts that they refer to.
    pub strings: &'s [u8],
}

impl Tag<'_> {
    /// Lets `script` be the scenario's only one. The flags of the blocks stay as they are.
    pub fn replace_scripts(&mut self, script: &Script<'_>) -> Result<(), EditError> {
        let parameters = match self.count(SCRIPTS)? {
            0 => None,
            _ => Some(self.block_flags(&format!("{SCRIPTS}[0].parameters"))?),
        };
        self.set_data(STRINGS, script.strings)?;
        self.put(DATUMS, script.datums)?;
        self.take(SCRIPTS, &[])?;
        self.add_default(SCRIPTS, 1)?;
        let element = |field: &str| format!("{SCRIPTS}[0].{field}");
        self.set(&element("name"), script.name)?;
        self.set(&element("script type"), &script.kind.to_string())?;
        self.set(&element("return type"), &script.return_type.to_string())?;
        self.set(&element("root expression index"), &script.root.cast_signed().to_string())?;
        if let Some(flags) = parameters {
            self.set_block_flags(&element("parameters"), flags)?;
        }
        self.take(GLOBALS, &[])?;
        self.take(SOURCES, &[])?;
        Ok(self.check()?)
    }
}
