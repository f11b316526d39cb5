//! What one line of a script must not do to the process.
