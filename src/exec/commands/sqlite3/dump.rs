//! `.dump` and `.schema`.

use rusqlite::{Connection, Result};

use super::output;

/// SQL that makes the database anew. `only`: a pattern of LIKE that tables must match.
pub(super) fn dump(connection: &Connection, only: &str) -> Result<String> {
    let mut out = "PRAGMA foreign_keys=OFF;\nBEGIN TRANSACTION;\n".to_owned();
    let mut tables = connection.prepare(
        "SELECT name, sql FROM sqlite_schema WHERE type = 'table' AND sql NOT NULL AND name LIKE ?1 \
         ORDER BY name = 'sqlite_sequence', rowid",
    )?;
    let tables = tables
        .query_map([only], |row| Ok((row.get::<_, String>(0)?, row.get::<_, String>(1)?)))?
        .collect::<Result<Vec<_>>>()?;
    for (name, sql) in tables {
        if name == "sqlite_sequence" {
            out.push_str("DELETE FROM sqlite_sequence;\n");
        } else if name.starts_with("sqlite_") {
            continue;
        } else {
            out.push_str(&table_sql(&sql));
            out.push_str(";\n");
        }
        let quoted = format!("\"{}\"", name.replace('"', "\"\""));
        let mut rows = connection.prepare(&format!("SELECT * FROM {quoted}"))?;
        let count = rows.column_count();
        let mut rows = rows.query([])?;
        while let Some(row) = rows.next()? {
            let cells =
                (0..count).map(|i| Ok(output::sql_line(row.get_ref(i)?))).collect::<Result<Vec<_>>>()?;
            out.push_str(&format!(
                "INSERT INTO {} VALUES({});\n",
                output::identifier(&name),
                cells.join(",")
            ));
        }
    }
    let mut others = connection.prepare(
        "SELECT sql FROM sqlite_schema WHERE sql NOT NULL AND type IN ('index', 'trigger', 'view') \
         AND name LIKE ?1 ORDER BY type COLLATE NOCASE, rowid",
    )?;
    let mut others = others.query([only])?;
    while let Some(row) = others.next()? {
        out.push_str(&row.get::<_, String>(0)?);
        out.push_str(";\n");
    }
    Ok(out + "COMMIT;\n")
}

/// Names that need quotes got them when the table was made; then it may be there already.
fn table_sql(sql: &str) -> String {
    match sql.strip_prefix("CREATE TABLE ") {
        Some(rest) if rest.starts_with(['"', '\'']) => format!("CREATE TABLE IF NOT EXISTS {rest}"),
        _ => sql.to_owned(),
    }
}

/// The definitions, of one table if `only` is not `%`.
pub(super) fn schema(connection: &Connection, only: &str) -> Result<String> {
    let mut out = String::new();
    let mut found = connection.prepare(
        "SELECT type, name, sql FROM sqlite_schema WHERE sql NOT NULL AND (tbl_name LIKE ?1 OR name LIKE ?1) \
         ORDER BY rowid",
    )?;
    let mut found = found.query([only])?;
    while let Some(row) = found.next()? {
        let (kind, name, sql) =
            (row.get::<_, String>(0)?, row.get::<_, String>(1)?, row.get::<_, String>(2)?);
        out.push_str(&table_sql(&sql));
        if kind == "view" {
            let mut columns = connection.prepare("SELECT name FROM pragma_table_info(?1)")?;
            let columns = columns
                .query_map([&name], |row| row.get::<_, String>(0))?
                .map(|column| column.map(|column| output::identifier(&column)))
                .collect::<Result<Vec<_>>>()?;
            out.push_str(&format!("\n/* {}({}) */", output::identifier(&name), columns.join(",")));
        }
        out.push_str(";\n");
    }
    Ok(out)
}
