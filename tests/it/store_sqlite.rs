//! What is SQLite's own: the settings, and the exclusive hold on the folder.
