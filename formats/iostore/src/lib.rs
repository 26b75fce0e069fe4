//! iostore
