//! Threads for scripts: large stacks, bounded number, replaced when stuck.
