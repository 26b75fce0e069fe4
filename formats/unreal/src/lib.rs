//! unreal
