//! The interpreter behind [`super::Interpreter`]: the only file that names bashkit.
