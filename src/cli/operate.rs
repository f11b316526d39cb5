//! `sqlfs token`, `migrate`, `doctor` and `gc`: the operator's commands. The last three
//! work on the store itself; SQLite's only while no server holds the data folder.

use clap::Args;

use super::CliError;
use super::target::keys;
use crate::app;
use crate::clock;
use crate::config::{Config, check_tenant};
use crate::http;
use crate::http::auth::Lifetime;
use crate::store::{self, Options, Retention, Store, StoreError, Verdict};

/// Rows or sandboxes of one step of `gc`: each step is a transaction of its own.
const STEP: u32 = 500;
const NS: i64 = 1_000_000_000;
const HOUR_NS: i64 = 3600 * NS;
const DAY_NS: i64 = 24 * HOUR_NS;
/// How long exec log rows are kept.
const LOG_DAYS: i64 = 30;

/// Options of `token`.
#[derive(Debug, Args)]
pub struct TokenArgs {
    /// Owner that the token stands for
    #[arg(default_value = app::LOCAL_OWNER)]
    sub: String,
    /// Its tenant
    #[arg(long, default_value = app::DEFAULT_TENANT)]
    tenant: String,
    /// 24h, 30d, 1y or never
    #[arg(long, default_value = "30d")]
    expires_in: Lifetime,
}

/// Options of `migrate`.
#[derive(Debug, Args)]
pub struct MigrateArgs {
    /// Postgres role that `serve` runs as: gets what it needs and no more
    #[arg(long, value_name = "ROLE")]
    grant_to: Option<String>,
}

impl From<StoreError> for CliError {
    fn from(error: StoreError) -> Self {
        match error {
            StoreError::Refused(text) => Self::Failed(text, super::REFUSED),
            StoreError::Unavailable(_) | StoreError::OutcomeUnknown(_) | StoreError::Inconsistent(_) => {
                Self::new(error.to_string())
            }
        }
    }
}

/// Prints a token, signed with the secret that `serve` uses with the same settings.
pub fn token(config: &Config, args: &TokenArgs) -> Result<u8, CliError> {
    http::auth::check_sub(&args.sub).map_err(|why| CliError::Failed(why, 2))?;
    check_tenant(&args.tenant).map_err(|why| CliError::Failed(why, 2))?;
    println!("{}", keys(config)?.issue(&args.sub, &args.tenant, args.expires_in).token);
    Ok(0)
}

/// Brings the schema up, as the role of `MIGRATE_DATABASE_URL` if it is set; then those of
/// `TENANT_DATABASES`.
pub async fn migrate(config: &Config, args: MigrateArgs) -> Result<u8, CliError> {
    let mut config = config.clone();
    if let Some(owner) = config.migrate_database_url.take() {
        config.database_url = Some(owner);
    }
    for (tenant, url) in app::store_urls(&config)? {
        let version = store::migrate(&url, args.grant_to.as_deref()).await?;
        println!("{}the schema is at version {version}", of_tenant(&config, &tenant));
    }
    Ok(0)
}

/// Names the tenant at the beginning of a line, where there are several.
fn of_tenant(config: &Config, tenant: &str) -> String {
    if config.tenant_databases.is_empty() { String::new() } else { format!("tenant {tenant}: ") }
}

/// Prints one line for each check; exit code 78 if `serve` would refuse to start, 1 if it
/// would start and Redis is of no use.
pub async fn doctor(config: &Config) -> Result<u8, CliError> {
    let mut refused = false;
    for warning in config.warnings() {
        println!("warn    configuration: {warning}");
    }
    for (tenant, url) in app::store_urls(config)? {
        for check in store::checks(&url).await? {
            let word = match check.verdict {
                Verdict::Ok => "ok",
                Verdict::Warn => "warn",
                Verdict::Refuse => "refuse",
            };
            refused |= check.verdict == Verdict::Refuse;
            println!("{word:<7} {}{}: {}", of_tenant(config, &tenant), check.name, check.detail);
        }
    }
    let mut failed = false;
    for found in app::redis_checks(config).await {
        let word = match found.verdict {
            app::Found::Ok => "ok",
            app::Found::Warn => "warn",
            app::Found::Fail => "fail",
        };
        failed |= found.verdict == app::Found::Fail;
        println!("{word:<7} {}: {}", found.name, found.detail);
    }
    Ok(if refused { super::REFUSED } else { u8::from(failed) })
}

/// Does at once what a running server does bit by bit, and prints what went.
pub async fn gc(config: &Config) -> Result<u8, CliError> {
    for (tenant, url) in app::store_urls(config)? {
        let of = of_tenant(config, &tenant);
        let options = Options { pool_size: 1, auto_migrate: false };
        let store = store::open(&url, &options).await?;
        clean(config, store.as_ref(), &of).await?;
        store.close().await;
    }
    Ok(0)
}

async fn clean(config: &Config, store: &dyn Store, of: &str) -> Result<(), CliError> {
    let now = clock::wall_ns();
    let retention = Retention {
        versions: config.history_versions,
        older_than_ns: now - i64::try_from(config.history_days).unwrap_or(i64::MAX / DAY_NS) * DAY_NS,
        younger_than_ns: now - HOUR_NS,
        bytes: config.history_bytes.unwrap_or(config.max_sandbox_bytes),
        log_older_than_ns: now - LOG_DAYS * DAY_NS,
    };
    let mut history = 0;
    while let rows @ 1.. = store.prune_history(&retention, STEP).await? {
        history += rows;
    }
    println!("{of}{history} rows of old versions");
    let mut deleted = 0;
    while let rows @ 1.. = store.purge_deleted(now - HOUR_NS, STEP).await? {
        deleted += rows;
    }
    println!("{of}{deleted} rows of deleted sandboxes");
    let mut forgotten = 0;
    while let rows @ 1.. = store.forget_replies(now - DAY_NS, STEP).await? {
        forgotten += rows;
    }
    println!("{of}{forgotten} kept replies");
    let grace = i64::try_from(config.blob_gc_grace.as_nanos()).unwrap_or(i64::MAX);
    let (mut contents, mut bytes) = (0, 0);
    loop {
        let report = store.gc_blobs(now.saturating_sub(grace), STEP).await?;
        contents += report.deleted;
        bytes += report.bytes;
        // What a writer took up again is no candidate of the next step, or is one for
        // the next call of this command.
        if report.deleted == 0 {
            break;
        }
    }
    println!("{of}{contents} contents, {bytes} bytes");
    Ok(())
}
