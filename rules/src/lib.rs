//! The rules of the build: one module a rule.

pub mod stand_in_game;
