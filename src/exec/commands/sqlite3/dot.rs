//! The shell's own commands, those that begin with a point.

use rusqlite::params_from_iter;

use super::output::Mode;
use super::{Shell, dump, input};

/// Files that read one another may do so this deep.
const DEPTH: usize = 16;

const HELP: &str = "\
.bail on|off             Stop after hitting an error
.changes on|off          Accepted, without effect
.dump ?TABLE?            Render database content as SQL
.exit ?CODE?             Exit this program
.headers on|off          Turn display of headers on or off
.help                    Show this text
.import FILE TABLE       Import data; --csv, --skip N
.indexes ?TABLE?         Show names of indexes
.mode MODE               box column csv insert json line list markdown quote table tabs
.nullvalue STRING        Use STRING in place of NULL values
.once FILE               Output of the next command goes to FILE
.output ?FILE?           Output goes to FILE, or to standard output again
.print STRING...         Print literal STRING
.quit                    Exit this program
.read FILE               Read input from FILE
.save FILE               Write the database to FILE (.backup too)
.schema ?TABLE?          Show the CREATE statements
.separator COL ?ROW?     Change the column and row separators
.tables ?PATTERN?        List names of tables
";

impl Shell<'_> {
    /// Runs one; the error is what stands behind `Error: `.
    pub(super) fn dot(&mut self, line: &str) -> Result<(), String> {
        let words = input::words(line);
        let args: Vec<&str> = words.iter().map(String::as_str).collect();
        let name = args[0].trim_start_matches('.');
        let text = |error: rusqlite::Error| error.to_string();
        match (name, &args[1..]) {
            ("bail", [on]) => self.bail = is_on(on),
            ("changes" | "echo" | "timer" | "stats" | "eqp" | "width" | "timeout", _) => {}
            ("dump", rest) => {
                let only = rest.first().unwrap_or(&"%");
                let dumped = dump::dump(&self.database.connection, only).map_err(text)?;
                self.print(&dumped);
            }
            ("exit", rest) => {
                self.over = true;
                let code = rest.first().and_then(|code| code.parse::<i32>().ok()).unwrap_or(0);
                self.answer.exit = self.answer.exit.max(code as u8);
            }
            ("quit", _) => self.over = true,
            ("headers" | "header", [on]) => self.style.headers = Some(is_on(on)),
            ("help", _) => self.print(HELP),
            ("import", rest) => self.import(rest)?,
            ("indexes" | "indices", rest) => {
                self.names("SELECT name FROM sqlite_schema WHERE type = 'index' AND tbl_name LIKE ?1 ORDER BY 1", rest)?;
            }
            ("mode", [mode, rest @ ..]) => self.mode(mode, rest)?,
            ("nullvalue", [text]) => (*text).clone_into(&mut self.style.null),
            ("once" | "output", []) | ("output", ["stdout"]) => self.end_redirect(),
            ("once" | "output", [file]) => {
                if file.starts_with('|') {
                    return Err("pipes are not available in a sandbox".to_owned());
                }
                self.end_redirect();
                self.redirect = Some(((*file).to_owned(), name == "once"));
            }
            ("print", rest) => self.print(&(rest.join(" ") + "\n")),
            ("read", [file]) => self.read(file)?,
            ("save" | "backup", [file]) => {
                let data = self.database.bytes()?;
                let path = self.call.path(file);
                let written = self.call.files.write(&path, &data);
                written.map_err(|errno| format!("cannot open \"{file}\": {errno}"))?;
            }
            ("schema", rest) => {
                let only = rest.first().unwrap_or(&"%");
                let found = dump::schema(&self.database.connection, only).map_err(text)?;
                self.print(&found);
            }
            ("separator", [column, rest @ ..]) => {
                self.style.column = Some((*column).to_owned());
                self.style.row = rest.first().map(|row| (*row).to_owned());
            }
            ("tables", rest) => self.names(
                "SELECT name FROM sqlite_schema WHERE type IN ('table', 'view') AND name NOT LIKE 'sqlite\\_%' \
                 ESCAPE '\\' AND name LIKE ?1 ORDER BY 1",
                rest,
            )?,
            ("shell" | "system" | "load" | "open" | "excel" | "cd", _) => {
                return Err(format!("\".{name}\" is not available in a sandbox"));
            }
            _ => return Err(format!("unknown command or invalid arguments:  \"{name}\". Enter \".help\" for help")),
        }
        Ok(())
    }

    fn mode(&mut self, mode: &str, rest: &[&str]) -> Result<(), String> {
        self.style.mode = match (mode, Mode::of(mode)) {
            ("insert", _) => Mode::Insert((*rest.first().unwrap_or(&"table")).to_owned()),
            (_, Some(mode)) => mode,
            _ => {
                return Err(
                    "mode should be one of: box column csv insert json line list markdown quote table tabs"
                        .into(),
                );
            }
        };
        if matches!(self.style.mode, Mode::Column) && self.style.headers.is_none() {
            self.style.headers = Some(true);
        }
        self.style.column = None;
        // Set so, CSV has the line ends of its standard; by the option, those of the machine.
        self.style.row = (self.style.mode == Mode::Csv).then(|| "\r\n".to_owned());
        Ok(())
    }

    /// Names in columns.
    fn names(&mut self, sql: &str, rest: &[&str]) -> Result<(), String> {
        let found = (|| -> rusqlite::Result<Vec<String>> {
            let mut statement = self.database.connection.prepare(sql)?;
            statement.query_map([rest.first().unwrap_or(&"%")], |row| row.get(0))?.collect()
        })();
        let names = found.map_err(|error| error.to_string())?;
        let widest = names.iter().map(|name| name.chars().count()).max().unwrap_or(0);
        let columns = (80 / (widest + 2)).max(1);
        let rows = names.len().div_ceil(columns).max(1);
        for first in 0..rows.min(names.len()) {
            let cells = names.iter().skip(first).step_by(rows);
            let line: Vec<String> = cells.map(|name| format!("{name:widest$}")).collect();
            self.print(&(line.join("  ") + "\n"));
        }
        Ok(())
    }

    fn read(&mut self, file: &str) -> Result<(), String> {
        if self.depth >= DEPTH {
            return Err(format!("Input nesting limit ({DEPTH}) reached"));
        }
        let data = self.call.files.read(&self.call.path(file));
        let data = data.map_err(|_| format!("cannot open \"{file}\""))?;
        self.depth += 1;
        self.script(&String::from_utf8_lossy(&data));
        self.depth -= 1;
        Ok(())
    }

    fn import(&mut self, args: &[&str]) -> Result<(), String> {
        let (mut names, mut skip, mut csv) = (Vec::new(), 0, self.style.mode == Mode::Csv);
        let mut rest = args.iter();
        while let Some(arg) = rest.next() {
            match *arg {
                "--csv" | "-csv" => csv = true,
                "--skip" | "-skip" => {
                    skip = rest.next().and_then(|n| n.parse().ok()).ok_or("missing argument to --skip")?;
                }
                "-v" | "--ascii" | "-ascii" | "-schema" | "--schema" => {
                    return Err(format!("ERROR: unknown option: \"{arg}\""));
                }
                name => names.push(name),
            }
        }
        let [file, table] = names[..] else {
            return Err("ERROR: missing FILE or TABLE argument. Usage: .import FILE TABLE".to_owned());
        };
        let data = self.call.files.read(&self.call.path(file));
        let data = data.map_err(|_| format!("cannot open \"{file}\""))?;
        let separator = if csv && self.style.column.is_none() { "," } else { self.style.separator() };
        let mut letters = separator.chars();
        let (Some(separator), None) = (letters.next(), letters.next()) else {
            return Err("multi-character column separators not allowed for import".to_owned());
        };
        let mut rows =
            input::separated(&String::from_utf8_lossy(&data), separator, true).into_iter().skip(skip);
        // As the shell does: rows that end in \r\n were meant for reading.
        if self.style.row.as_deref() == Some("\r\n") {
            self.style.row = Some("\n".to_owned());
        }
        let quoted = format!("\"{}\"", table.replace('"', "\"\""));
        let connection = &self.database.connection;
        let text = |error: rusqlite::Error| error.to_string();
        let count: u32 = connection
            .query_row("SELECT count(*) FROM pragma_table_xinfo(?1)", [table], |row| row.get(0))
            .map_err(text)?;
        let count = count as usize;
        let count = if count == 0 {
            let Some(heads) = rows.next() else { return Ok(()) };
            let columns: Vec<String> =
                heads.iter().map(|name| format!("\"{}\" TEXT", name.replace('"', "\"\""))).collect();
            connection
                .execute_batch(&format!("CREATE TABLE {quoted}(\n{})", columns.join(", ")))
                .map_err(text)?;
            heads.len()
        } else {
            count
        };
        let marks = vec!["?"; count].join(",");
        let (mut complaints, over) = (Vec::new(), || self.call.is_over());
        connection.execute_batch("SAVEPOINT import").map_err(text)?;
        {
            let mut insert =
                connection.prepare(&format!("INSERT INTO {quoted} VALUES({marks})")).map_err(text)?;
            for (number, mut row) in rows.enumerate() {
                if over() {
                    break;
                }
                let line = number + 1 + skip;
                if row.len() != count {
                    let (had, what) = (
                        row.len(),
                        if row.len() < count { "filling the rest with NULL" } else { "extras ignored" },
                    );
                    complaints
                        .push(format!("{file}:{line}: expected {count} columns but found {had} - {what}"));
                }
                row.truncate(count);
                let cells = row.into_iter().map(Some).chain(std::iter::repeat(None)).take(count);
                if let Err(error) = insert.execute(params_from_iter(cells)) {
                    complaints.push(format!("{file}:{line}: INSERT failed: {error}"));
                }
            }
        }
        connection.execute_batch("RELEASE import").map_err(text)?;
        for complaint in complaints {
            self.answer.stderr.extend_from_slice(format!("{complaint}\n").as_bytes());
        }
        Ok(())
    }
}

fn is_on(word: &str) -> bool {
    matches!(word.to_ascii_lowercase().as_str(), "on" | "yes" | "true" | "1")
}
