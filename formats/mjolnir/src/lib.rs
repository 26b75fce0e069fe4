//! mjolnir
