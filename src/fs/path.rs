//! Paths: what is a legal one, and its parts.
