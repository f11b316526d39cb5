//! Rows as text, in the modes of the shell.

use std::fmt::Write;

use rusqlite::types::ValueRef;

use super::database::Shown;

/// Columns of a text, as the shell counts them: characters.
fn width(text: &str) -> usize {
    text.chars().count()
}

/// A form of output.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) enum Mode {
    #[default]
    List,
    Csv,
    Column,
    Json,
    Line,
    Tabs,
    Markdown,
    Table,
    Box,
    Quote,
    Insert(String),
}

impl Mode {
    pub(super) fn of(name: &str) -> Option<Self> {
        Some(match name {
            "list" => Self::List,
            "csv" => Self::Csv,
            "column" | "columns" => Self::Column,
            "json" => Self::Json,
            "line" | "lines" => Self::Line,
            "tabs" => Self::Tabs,
            "markdown" => Self::Markdown,
            "table" => Self::Table,
            "box" => Self::Box,
            "quote" => Self::Quote,
            _ => return None,
        })
    }
}

/// How rows are written.
#[derive(Clone, Debug, Default)]
pub(super) struct Style {
    pub(super) mode: Mode,
    pub(super) headers: Option<bool>,
    /// What stands for NULL.
    pub(super) null: String,
    pub(super) column: Option<String>,
    pub(super) row: Option<String>,
}

impl Style {
    pub(super) fn separator(&self) -> &str {
        self.column.as_deref().unwrap_or(match self.mode {
            Mode::Csv | Mode::Quote => ",",
            Mode::Tabs => "\t",
            _ => "|",
        })
    }

    fn line_end(&self) -> &str {
        self.row.as_deref().unwrap_or("\n")
    }
}

/// A number as SQLite writes it: 15 digits, and always a point.
pub(super) fn real(value: f64) -> String {
    if value.is_infinite() {
        return if value > 0.0 { "Inf" } else { "-Inf" }.to_owned();
    }
    let text = format!("{value:.14e}");
    let (digits, exponent) = text.split_once('e').unwrap_or((&text, "0"));
    let exponent: i32 = exponent.parse().unwrap_or(0);
    if !(-4..15).contains(&exponent) {
        let mut short = digits.trim_end_matches('0').to_owned();
        if short.ends_with('.') {
            short.push('0');
        }
        let sign = if exponent < 0 { '-' } else { '+' };
        return format!("{short}e{sign}{:02}", exponent.abs());
    }
    let places = usize::try_from(14 - exponent).unwrap_or(0);
    let mut fixed = format!("{value:.places$}");
    if fixed.contains('.') {
        fixed.truncate(fixed.trim_end_matches('0').len());
    } else {
        fixed.push('.');
    }
    if fixed.ends_with('.') {
        fixed.push('0');
    }
    fixed
}

/// A value as plain text.
pub(super) fn text(value: ValueRef<'_>, null: &str) -> String {
    match value {
        ValueRef::Null => null.to_owned(),
        ValueRef::Integer(number) => number.to_string(),
        ValueRef::Real(number) => real(number),
        ValueRef::Text(bytes) | ValueRef::Blob(bytes) => {
            // The shell stops at the first NUL.
            let end = bytes.iter().position(|&byte| byte == 0).unwrap_or(bytes.len());
            String::from_utf8_lossy(&bytes[..end]).into_owned()
        }
    }
}

/// A value as SQL.
pub(super) fn sql(value: ValueRef<'_>) -> String {
    match value {
        ValueRef::Null => "NULL".to_owned(),
        ValueRef::Real(number) if number.is_infinite() => {
            if number > 0.0 { "1e999" } else { "-1e999" }.to_owned()
        }
        ValueRef::Text(bytes) => format!("'{}'", String::from_utf8_lossy(bytes).replace('\'', "''")),
        ValueRef::Blob(bytes) => {
            bytes.iter().fold("X'".to_owned(), |mut out, byte| {
                let _ = write!(out, "{byte:02x}");
                out
            }) + "'"
        }
        other => text(other, ""),
    }
}

/// As SQL that is one line.
pub(super) fn sql_line(value: ValueRef<'_>) -> String {
    let mut line = sql(value);
    if matches!(value, ValueRef::Text(_)) {
        for (char, escape, code) in [('\n', "\\n", 10), ('\r', "\\r", 13)] {
            if line.contains(char) {
                line = format!("replace({},'{escape}',char({code}))", line.replace(char, escape));
            }
        }
    }
    line
}

fn csv(text: &str, separator: &str) -> String {
    let odd = |char: char| char <= ' ' || char == '"' || char == '\'' || char >= '\u{7f}';
    if text.contains(odd) || (!separator.is_empty() && text.contains(separator)) {
        format!("\"{}\"", text.replace('"', "\"\""))
    } else {
        text.to_owned()
    }
}

fn json_text(text: &str) -> String {
    let mut out = "\"".to_owned();
    for char in text.chars() {
        match char {
            '"' => out.push_str("\\\""),
            '\\' => out.push_str("\\\\"),
            '\u{8}' => out.push_str("\\b"),
            '\u{c}' => out.push_str("\\f"),
            '\n' => out.push_str("\\n"),
            '\r' => out.push_str("\\r"),
            '\t' => out.push_str("\\t"),
            _ if char < ' ' => {
                let _ = write!(out, "\\u{:04x}", u32::from(char));
            }
            _ => out.push(char),
        }
    }
    out.push('"');
    out
}

fn json(value: ValueRef<'_>) -> String {
    match value {
        ValueRef::Null => "null".to_owned(),
        ValueRef::Text(bytes) | ValueRef::Blob(bytes) => json_text(&String::from_utf8_lossy(bytes)),
        ValueRef::Real(number) if number.is_infinite() => {
            if number > 0.0 { "1e999" } else { "-1e999" }.to_owned()
        }
        other => text(other, ""),
    }
}

/// All rows of a statement.
pub(super) fn rows(style: &Style, shown: &mut Shown<'_, '_>) -> rusqlite::Result<Vec<u8>> {
    let mut out = String::new();
    if shown.plan {
        plan(shown, &mut out)?;
        return Ok(out.into_bytes());
    }
    match &style.mode {
        Mode::Column | Mode::Markdown | Mode::Table | Mode::Box => in_columns(style, shown, &mut out)?,
        Mode::Json => in_json(shown, &mut out)?,
        Mode::Line => in_lines(style, shown, &mut out)?,
        mode => one_by_one(mode, style, shown, &mut out)?,
    }
    Ok(out.into_bytes())
}

/// A query's plan as a tree.
fn plan(shown: &mut Shown<'_, '_>, out: &mut String) -> rusqlite::Result<()> {
    let mut steps = Vec::new();
    while let Some(row) = shown.rows.next()? {
        steps.push((row.get::<_, i64>(0)?, row.get::<_, i64>(1)?, row.get::<_, String>(3)?));
    }
    fn below(steps: &[(i64, i64, String)], parent: i64, before: &str, out: &mut String) {
        // A step stands before those that are below it.
        let children: Vec<_> = steps.iter().filter(|(id, of, _)| *of == parent && *id > parent).collect();
        for (i, (id, _, text)) in children.iter().enumerate() {
            let last = i + 1 == children.len();
            let _ = writeln!(out, "{before}{}{text}", if last { "`--" } else { "|--" });
            below(steps, *id, &format!("{before}{}", if last { "   " } else { "|  " }), out);
        }
    }
    out.push_str("QUERY PLAN\n");
    below(&steps, 0, "", out);
    Ok(())
}

fn one_by_one(
    mode: &Mode,
    style: &Style,
    shown: &mut Shown<'_, '_>,
    out: &mut String,
) -> rusqlite::Result<()> {
    let (separator, end) = (style.separator(), style.line_end());
    let count = shown.columns.len();
    let heads: Vec<String> = shown
        .columns
        .iter()
        .map(|name| match mode {
            Mode::Csv => csv(name, separator),
            Mode::Quote => format!("'{}'", name.replace('\'', "''")),
            _ => name.clone(),
        })
        .collect();
    let mut first = style.headers == Some(true) && !matches!(mode, Mode::Insert(_));
    while let Some(row) = shown.rows.next()? {
        if std::mem::take(&mut first) {
            out.push_str(&heads.join(separator));
            out.push_str(end);
        }
        let mut cells = Vec::with_capacity(count);
        for i in 0..count {
            let value = row.get_ref(i)?;
            cells.push(match mode {
                Mode::Csv => match value {
                    ValueRef::Null => style.null.clone(),
                    value => csv(&text(value, ""), separator),
                },
                Mode::Quote => sql(value),
                Mode::Insert(_) => sql_line(value),
                _ => text(value, &style.null),
            });
        }
        if let Mode::Insert(table) = mode {
            let names = heads.iter().map(|name| identifier(name)).collect::<Vec<_>>().join(",");
            let names = if style.headers == Some(true) { format!("({names})") } else { String::new() };
            let _ = writeln!(out, "INSERT INTO {}{names} VALUES({});", identifier(table), cells.join(","));
        } else {
            out.push_str(&cells.join(separator));
            out.push_str(end);
        }
    }
    Ok(())
}

/// A name as SQL, in quotes if it needs them.
pub(super) fn identifier(name: &str) -> String {
    let plain = name.chars().all(|char| char.is_ascii_alphanumeric() || char == '_')
        && name.starts_with(|char: char| char.is_ascii_alphabetic() || char == '_');
    if plain { name.to_owned() } else { format!("\"{}\"", name.replace('"', "\"\"")) }
}

fn in_json(shown: &mut Shown<'_, '_>, out: &mut String) -> rusqlite::Result<()> {
    let names: Vec<String> = shown.columns.iter().map(|name| json_text(name)).collect();
    let mut any = false;
    while let Some(row) = shown.rows.next()? {
        out.push_str(if any { ",\n{" } else { "[{" });
        any = true;
        for (i, name) in names.iter().enumerate() {
            let comma = if i > 0 { "," } else { "" };
            let _ = write!(out, "{comma}{name}:{}", json(row.get_ref(i)?));
        }
        out.push('}');
    }
    if any {
        out.push_str("]\n");
    }
    Ok(())
}

fn in_lines(style: &Style, shown: &mut Shown<'_, '_>, out: &mut String) -> rusqlite::Result<()> {
    let widest = shown.columns.iter().map(|name| width(name)).max().unwrap_or(0).max(5);
    let mut any = false;
    while let Some(row) = shown.rows.next()? {
        if std::mem::replace(&mut any, true) {
            out.push('\n');
        }
        for (i, name) in shown.columns.iter().enumerate() {
            let pad = " ".repeat(widest - width(name));
            let _ = writeln!(out, "{pad}{name} = {}", text(row.get_ref(i)?, &style.null));
        }
    }
    Ok(())
}

fn in_columns(style: &Style, shown: &mut Shown<'_, '_>, out: &mut String) -> rusqlite::Result<()> {
    let heads = shown.columns.clone();
    let mut lines: Vec<Vec<String>> = Vec::new();
    while let Some(row) = shown.rows.next()? {
        let cells = (0..heads.len()).map(|i| Ok(text(row.get_ref(i)?, &style.null)));
        lines.push(cells.collect::<rusqlite::Result<_>>()?);
    }
    if lines.is_empty() {
        return Ok(());
    }
    let with_heads = style.mode != Mode::Column || style.headers == Some(true);
    let widths: Vec<usize> = (0..heads.len())
        .map(|i| {
            let head = if with_heads || style.mode == Mode::Column { width(&heads[i]) } else { 0 };
            lines.iter().map(|line| width(&line[i])).max().unwrap_or(0).max(head)
        })
        .collect();
    let left = |text: &str, room: usize| format!("{text}{}", " ".repeat(room.saturating_sub(width(text))));
    let middle = |text: &str, room: usize| {
        let spare = room.saturating_sub(width(text));
        format!("{}{text}{}", " ".repeat(spare / 2), " ".repeat(spare - spare / 2))
    };
    let rule = |ends: [&str; 3], dash: &str| {
        let parts: Vec<String> = widths.iter().map(|room| dash.repeat(room + 2)).collect();
        format!("{}{}{}\n", ends[0], parts.join(ends[1]), ends[2])
    };
    if style.mode == Mode::Column {
        let join = |cells: Vec<String>| cells.join("  ") + "\n";
        if with_heads {
            out.push_str(&join(heads.iter().zip(&widths).map(|(head, room)| left(head, *room)).collect()));
            out.push_str(&join(widths.iter().map(|room| "-".repeat(*room)).collect()));
        }
        for line in &lines {
            out.push_str(&join(line.iter().zip(&widths).map(|(cell, room)| left(cell, *room)).collect()));
        }
        return Ok(());
    }
    let bar = if style.mode == Mode::Box { "│" } else { "|" };
    let row = |cells: Vec<String>| format!("{bar} {} {bar}\n", cells.join(&format!(" {bar} ")));
    let head = row(heads.iter().zip(&widths).map(|(head, room)| middle(head, *room)).collect());
    let body: String = lines
        .iter()
        .map(|line| row(line.iter().zip(&widths).map(|(cell, room)| left(cell, *room)).collect()))
        .collect();
    let (top, between, bottom) = match style.mode {
        Mode::Markdown => (String::new(), rule(["|", "|", "|"], "-"), String::new()),
        Mode::Box => (rule(["┌", "┬", "┐"], "─"), rule(["├", "┼", "┤"], "─"), rule(["└", "┴", "┘"], "─")),
        _ => {
            let line = rule(["+", "+", "+"], "-");
            (line.clone(), line.clone(), line)
        }
    };
    out.push_str(&(top + &head + &between + &body + &bottom));
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::real;

    #[test]
    fn numbers_are_written_as_sqlite_does() {
        for (value, text) in [
            (0.1 + 0.2, "0.3"),
            (100.0, "100.0"),
            (1e20, "1.0e+20"),
            (1.5e-7, "1.5e-07"),
            (-2.25, "-2.25"),
            (123_456_789_012_345.0, "123456789012345.0"),
            (1e15, "1.0e+15"),
            (0.0001, "0.0001"),
            (0.0, "0.0"),
        ] {
            assert_eq!(real(value), text);
        }
    }
}
