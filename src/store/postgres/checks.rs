//! Start-up checks: what would break a promise is refused before the first request.

use sqlx::postgres::PgRow;
use sqlx::{Row, query};

use super::error::Failure;
use super::migrate;
use super::pool::Conn;
use super::rows::decoding;
use super::{PostgresStore, SHORT};
use crate::store::open::SCHEMA_VERSION;
use crate::store::{Check, StoreResult, Verdict};

/// Tables that hold what users wrote.
const TENANT_TABLES: [&str; 7] =
    ["sandboxes", "inodes", "dirents", "exec_log", "blobs", "revocations", "kept_replies"];
/// Oldest server that is tested.
const OLDEST_SERVER: i32 = 150_000;

pub(super) async fn ping(store: &PostgresStore) -> StoreResult<()> {
    store.repeatable(SHORT, || query("SELECT 1")).await.map(drop)
}

pub(super) async fn checks(store: &PostgresStore) -> StoreResult<Vec<Check>> {
    let mut conn = store.pool.take().await.map_err(Failure::of_repeatable)?;
    let checks = all(&mut conn).await.map_err(Failure::of_repeatable)?;
    conn.release();
    Ok(checks)
}

async fn all(conn: &mut Conn) -> Result<Vec<Check>, Failure> {
    let mut checks = server(conn).await?;
    if checks.iter().any(|check| check.name == "server" && check.verdict == Verdict::Refuse) {
        // What follows needs a server that it can write to.
        return Ok(checks);
    }
    let schema = migrate::look(conn).await?;
    checks.push(match schema {
        None => warn("schema", "there is none yet: `sqlfs migrate`, or `sqlfs serve`, makes it".into()),
        Some(it) => match it.too_new() {
            Some(reason) => refuse("schema", reason),
            None if it.version < SCHEMA_VERSION => {
                let text =
                    "the schema is older than this binary: `sqlfs migrate`, or `sqlfs serve`, brings it up";
                warn("schema", text.into())
            }
            None => ok("schema", format!("version {}", it.version)),
        },
    });
    if schema.is_some_and(|it| it.version >= 1) {
        checks.extend(row_security(conn).await?);
        checks.push(self_test(conn).await?);
    }
    Ok(checks)
}

async fn server(conn: &mut Conn) -> Result<Vec<Check>, Failure> {
    let sql = "SELECT current_setting('server_version_num')::int AS version, \
               current_setting('fsync') AS fsync, current_setting('full_page_writes') AS full_page_writes, \
               current_setting('synchronous_commit') AS synchronous_commit, \
               pg_is_in_recovery() OR current_setting('default_transaction_read_only') = 'on' AS read_only, \
               current_setting('server_encoding') AS encoding, \
               r.rolname::text AS role, r.rolsuper OR r.rolbypassrls AS bypasses \
               FROM pg_roles r WHERE r.rolname = current_user";
    let row = conn.row(SHORT, query(sql)).await?;
    let setting = |name: &'static str| -> Result<Check, Failure> {
        let value: String = row.try_get(name).map_err(decoding)?;
        Ok(if value == "off" {
            refuse(
                name,
                format!("{name} is off: a crash of the database would lose acknowledged commits; turn it on"),
            )
        } else {
            ok(name, value)
        })
    };
    let version: i32 = row.try_get("version").map_err(decoding)?;
    let role: String = row.try_get("role").map_err(decoding)?;
    let flag = |name: &str| row.try_get::<bool, _>(name).map_err(decoding);
    let encoding: String = row.try_get("encoding").map_err(decoding)?;
    Ok(vec![
        if version < OLDEST_SERVER {
            refuse("server", format!("Postgres {} is too old: 15 or newer is needed", version / 10_000))
        } else if flag("read_only")? {
            refuse("server", "the server only takes reads (a standby?): connect to the primary".into())
        } else if encoding != "UTF8" {
            refuse("server", format!("the database's encoding is {encoding}: it must be UTF8"))
        } else {
            ok("server", format!("Postgres {}, writable", version / 10_000))
        },
        if flag("bypasses")? {
            let text = format!(
                "the role {role:?} is a superuser or has BYPASSRLS, so row-level security would not hold: use an \
                 ordinary role (`sqlfs migrate --grant-to ROLE` gives it what it needs)"
            );
            refuse("role", text)
        } else {
            ok("role", format!("{role:?} is subject to row-level security"))
        },
        setting("fsync")?,
        setting("full_page_writes")?,
        setting("synchronous_commit")?,
    ])
}

async fn row_security(conn: &mut Conn) -> Result<Vec<Check>, Failure> {
    let sql = "SELECT t.name, coalesce(c.relrowsecurity AND c.relforcerowsecurity, false) AS forced, \
               EXISTS (SELECT 1 FROM pg_policy p WHERE p.polrelid = c.oid) AS has_policy, \
               coalesce(pg_has_role(c.relowner, 'USAGE'), false) AS owned \
               FROM unnest($1::text[]) t (name) LEFT JOIN pg_class c ON c.oid = to_regclass(t.name)";
    let rows = conn.rows(SHORT, query(sql).bind(TENANT_TABLES.to_vec())).await?;
    let column = |row: &PgRow, name: &str| row.try_get::<bool, _>(name).map_err(decoding);
    let mut open = Vec::new();
    let mut owned = false;
    for row in &rows {
        if !(column(row, "forced")? && column(row, "has_policy")?) {
            open.push(row.try_get::<String, _>("name").map_err(decoding)?);
        }
        owned |= column(row, "owned")?;
    }
    let definers = "SELECT coalesce(string_agg(p.proname::text, ', '), '') FROM pg_proc p \
                    WHERE p.prosecdef AND p.proname LIKE 'sqlfs\\_%' AND p.pronamespace = current_schema()::regnamespace";
    let definers: String = conn.row(SHORT, query(definers)).await?.try_get(0).map_err(decoding)?;
    Ok(vec![
        if open.is_empty() {
            ok("row-level security", "forced, with a policy, on every table of users' data".into())
        } else {
            let text = format!(
                "not enabled, not forced or without a policy on {}: ALTER TABLE .. ENABLE and FORCE ROW LEVEL SECURITY",
                open.join(", ")
            );
            refuse("row-level security", text)
        },
        if definers.is_empty() {
            ok("functions", "all run with the rights of the caller".into())
        } else {
            refuse("functions", format!("SECURITY DEFINER must not be set on {definers}"))
        },
        if owned {
            let text = "the role owns the tables, so it could turn row-level security off: better one role that owns \
                        (`sqlfs migrate --grant-to ROLE`) and another that serves";
            warn("owner", text.into())
        } else {
            ok("owner", "the tables belong to another role".into())
        },
    ])
}

/// A row is planted in a transaction that is rolled back: it must be seen with its
/// context, and not without one, with an empty one, or with another one.
async fn self_test(conn: &mut Conn) -> Result<Check, Failure> {
    conn.run(SHORT, "BEGIN").await?;
    let id = crate::random::uuid();
    let seen = async |conn: &mut Conn, context: String| -> Result<i64, Failure> {
        let set = "SELECT set_config('app.sandbox_id', $1, true)";
        conn.row(SHORT, query(set).bind(context)).await?;
        conn.row(SHORT, query("SELECT count(*) FROM sandboxes")).await?.try_get(0).map_err(decoding)
    };
    let unset: i64 =
        conn.row(SHORT, query("SELECT count(*) FROM sandboxes")).await?.try_get(0).map_err(decoding)?;
    seen(conn, id.to_string()).await?;
    let plant = "INSERT INTO sandboxes (id, owner, head, next_ino, file_count, total_bytes, cwd, created_at, \
                 last_used_at) VALUES ($1, 'self-test', $1, 2, 0, 0, '/', 0, 0)";
    conn.rows(SHORT, query(plant).bind(id)).await?;
    let own = seen(conn, id.to_string()).await?;
    let foreign = seen(conn, crate::random::uuid().to_string()).await?;
    let empty = seen(conn, String::new()).await?;
    conn.run(SHORT, "ROLLBACK").await?;
    Ok(if (unset, own, foreign, empty) == (0, 1, 0, 0) {
        ok("self-test", "a row is seen in its own context and in no other".into())
    } else {
        let text = format!(
            "row-level security does not hold: rows seen without context {unset}, in its own {own} (1 is right), in \
             another {foreign}, in an empty one {empty}"
        );
        refuse("self-test", text)
    })
}

fn ok(name: &'static str, detail: String) -> Check {
    Check { name, verdict: Verdict::Ok, detail }
}

fn warn(name: &'static str, detail: String) -> Check {
    Check { name, verdict: Verdict::Warn, detail }
}

fn refuse(name: &'static str, detail: String) -> Check {
    Check { name, verdict: Verdict::Refuse, detail }
}
