//! A database over the bytes of a file, closed in on all sides.

use std::io::Cursor;
use std::sync::Arc;

use bytes::Bytes;
use rusqlite::hooks::{AuthAction, AuthContext, Authorization};
use rusqlite::limits::Limit;
use rusqlite::{Batch, Connection, ErrorCode, MAIN_DB, Rows, fallible_iterator::FallibleIterator};

use crate::exec::commands::Call;
use crate::fs::Errno;

/// Steps of the engine between two looks at whether the exec is over: well below 1 ms.
const STEPS: i32 = 1000;

/// Bytes of a page, of databases that are made here.
const PAGE: u64 = 4096;

/// Pragmas that reach for files, or for limits that hold for the whole process.
const REFUSED: &[&str] = &[
    "data_store_directory",
    "hard_heap_limit",
    "max_page_count",
    "soft_heap_limit",
    "temp_store",
    "temp_store_directory",
];

/// The database and where it came from.
pub(super) struct Database {
    pub(super) connection: Connection,
    /// Absolute; `None`: it is in memory.
    path: Option<String>,
    before: Bytes,
    read_only: bool,
}

/// Why a statement failed.
pub(super) struct Failure {
    /// Whether it could not even be read.
    pub(super) preparing: bool,
    pub(super) message: String,
    pub(super) code: i32,
}

impl Failure {
    fn of(error: &rusqlite::Error, preparing: bool) -> Self {
        match error {
            rusqlite::Error::SqliteFailure(failure, message) => {
                let message = match (failure.code, message) {
                    (ErrorCode::OperationInterrupted, _) => "interrupted".to_owned(),
                    (_, Some(message)) => message.clone(),
                    (_, None) => failure.to_string(),
                };
                Self { preparing, message, code: failure.extended_code & 0xff }
            }
            other => Self { preparing, message: other.to_string(), code: 1 },
        }
    }
}

impl Database {
    /// The error is one line for people.
    pub(super) fn open(call: &Call<'_>, file: Option<&str>, read_only: bool) -> Result<Self, String> {
        let file = file.filter(|file| !file.is_empty() && *file != ":memory:");
        let path = file.map(|file| call.path(file));
        let mut before = Bytes::new();
        if let Some(path) = &path {
            let unable =
                |errno: Errno| format!("unable to open database \"{}\": {errno}", file.unwrap_or_default());
            match call.files.read(path) {
                Ok(data) => before = data,
                Err(Errno::ENOENT) if !read_only => {}
                Err(errno) => return Err(unable(errno)),
            }
            if call.files.stat(&format!("{path}-wal"), true).is_ok_and(|stat| stat.size > 0) {
                return Err(format!(
                    "{path}-wal holds changes that are not in the database yet, and this shell does not read it"
                ));
            }
        }
        let text = |error: rusqlite::Error| Failure::of(&error, false).message;
        let mut connection = Connection::open_in_memory().map_err(text)?;
        if !before.is_empty() {
            let mut data = before.to_vec();
            // The marks of a write-ahead log, which bytes in memory cannot have.
            if data.len() > 19 && data.starts_with(b"SQLite format 3\0") {
                data[18] = data[18].min(1);
                data[19] = data[19].min(1);
            }
            before = data.into();
            connection
                .deserialize_read_exact(MAIN_DB, Cursor::new(&before), before.len(), read_only)
                .map_err(text)?;
        }
        close_in(&connection, call).map_err(text)?;
        Ok(Self { connection, path, before, read_only })
    }

    /// Runs statements; `shown` takes the rows of each that has columns.
    pub(super) fn run(
        &self,
        sql: &str,
        mut shown: impl FnMut(&mut Shown<'_, '_>) -> rusqlite::Result<()>,
    ) -> Result<(), Failure> {
        let mut batch = Batch::new(&self.connection, sql);
        while let Some(mut statement) = batch.next().map_err(|error| Failure::of(&error, true))? {
            let columns: Vec<String> = statement.column_names().into_iter().map(str::to_owned).collect();
            let plan = statement.is_explain() == 2;
            let mut rows = statement.raw_query();
            let result = if columns.is_empty() {
                rows.next().map(|_| ())
            } else {
                shown(&mut Shown { columns, plan, rows: &mut rows })
            };
            result.map_err(|error| Failure::of(&error, false))?;
        }
        Ok(())
    }

    /// The whole database as bytes of a file.
    pub(super) fn bytes(&self) -> Result<Vec<u8>, String> {
        // An open transaction is rolled back, as by a shell that ends.
        if !self.connection.is_autocommit() {
            self.connection.execute_batch("ROLLBACK").map_err(|error| error.to_string())?;
        }
        let data = self.connection.serialize(MAIN_DB).map_err(|error| error.to_string())?;
        Ok(data.to_vec())
    }

    /// Writes the file, if anything changed.
    pub(super) fn save(&self, call: &Call<'_>) -> Result<(), String> {
        let Some(path) = self.path.as_ref().filter(|_| !self.read_only && !call.is_over()) else {
            return Ok(());
        };
        if self.connection.total_changes() == 0 && !self.before.is_empty() && !self.schema_changed()? {
            return Ok(());
        }
        if self.before.is_empty() && self.is_bare() {
            return Ok(());
        }
        let data = self.bytes()?;
        if data == self.before || data.is_empty() {
            return Ok(());
        }
        call.files.write(path, &data).map_err(|errno| format!("cannot write \"{path}\": {errno}"))
    }

    /// Whether a new database has nothing in it yet: no file is made for it.
    fn is_bare(&self) -> bool {
        let made = "SELECT (SELECT count(*) FROM sqlite_schema) + (SELECT user_version FROM pragma_user_version) \
                    + (SELECT application_id FROM pragma_application_id)";
        self.connection.query_row(made, [], |row| row.get::<_, i64>(0)).is_ok_and(|made| made == 0)
    }

    /// Whether the file's change counter or its schema's number is another. (Rows alone are
    /// counted; definitions and pragmas that are kept in the file are not.)
    fn schema_changed(&self) -> Result<bool, String> {
        let data = self.bytes()?;
        Ok(data.get(..100) != self.before.get(..100) || data.len() != self.before.len())
    }
}

/// The rows of one statement.
pub(super) struct Shown<'rows, 'statement> {
    pub(super) columns: Vec<String>,
    /// They are a query's plan.
    pub(super) plan: bool,
    pub(super) rows: &'rows mut Rows<'statement>,
}

/// No files, no memory without end, and an end when the exec ends.
fn close_in(connection: &Connection, call: &Call<'_>) -> rusqlite::Result<()> {
    let memory = call.files.quota().memory;
    let page = connection.query_row("PRAGMA page_size", [], |row| row.get::<_, i64>(0));
    let page = page.ok().and_then(|page| u64::try_from(page).ok()).unwrap_or(PAGE);
    connection.execute_batch("PRAGMA temp_store = MEMORY")?;
    let pages = (memory / page.max(512)).max(1);
    for database in ["main", "temp"] {
        // Bytes that are no database fail here, and again at the first statement, which says so.
        let _ = connection.execute_batch(&format!("PRAGMA {database}.max_page_count = {pages}"));
    }
    connection.set_limit(Limit::SQLITE_LIMIT_LENGTH, i32::try_from(memory / 4).unwrap_or(i32::MAX))?;
    connection.set_limit(Limit::SQLITE_LIMIT_ATTACHED, 2)?;
    let files = Arc::clone(call.files);
    connection.progress_handler(STEPS, Some(move || files.fatal().is_some()))?;
    connection.authorizer(Some(|context: AuthContext<'_>| match context.action {
        // VACUUM makes itself a database without a name.
        AuthAction::Attach { filename } if filename.is_empty() || filename == ":memory:" => {
            Authorization::Allow
        }
        AuthAction::Attach { .. } => Authorization::Deny,
        AuthAction::Pragma { pragma_name, pragma_value: Some(_) }
            if REFUSED.iter().any(|name| name.eq_ignore_ascii_case(pragma_name)) =>
        {
            Authorization::Deny
        }
        AuthAction::Function { function_name } if function_name.eq_ignore_ascii_case("load_extension") => {
            Authorization::Deny
        }
        AuthAction::Unknown { code: rusqlite::ffi::SQLITE_ATTACH, .. } => Authorization::Deny,
        _ => Authorization::Allow,
    }))
}
