//! What is Postgres' own: row-level security, round trips, plans, lost connections.
