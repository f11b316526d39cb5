//! Configuration: the only place where the environment is read.
//!
//! One table gives every name with its default, unit and meaning; the struct, the
//! parser and the table in README.md come from it. A value that cannot be understood
//! stops the start with one line that names it. A variable that is set to the empty text
//! counts as unset.

use std::collections::BTreeMap;
use std::fmt;
use std::net::IpAddr;
use std::path::PathBuf;
use std::time::Duration;

mod caches;
mod mcp;
mod values;

pub use values::check_tenant;
use values::{
    address, database, flag, header_name, http_url, interpreter, key, lease_mode, log_format, millis, number,
    optional_flag, optional_number, optional_path, owner, path, postgres, redis, redis_down, seconds, secret,
    tenant, tenants, text, version_check,
};

/// Text that must not appear in logs: `Debug` hides it.
#[derive(Clone, PartialEq, Eq)]
pub struct Secret(pub String);

impl fmt::Debug for Secret {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("<hidden>")
    }
}

/// Shape of log lines.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LogFormat {
    /// For people.
    Text,
    /// One JSON object a line.
    Json,
}

/// What write execs do while Redis is away.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RedisDown {
    /// Go on with the compare-and-set alone, where no network permission is at stake.
    Degrade,
    /// Are refused.
    Refuse,
}

/// Whose death frees the lease of a replica that is gone.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LeaseMode {
    /// Each lease expires by itself.
    Lease,
    /// A lease stands as long as its replica's heartbeat.
    Preemptible,
}

/// Where scripts run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Interpreter {
    /// In the server's process.
    Thread,
    /// In processes of their own.
    #[cfg(target_os = "linux")]
    Process,
}

/// Who says which state of a sandbox is the newest.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum VersionCheck {
    /// Postgres, each time.
    Postgres,
    /// A hint in Redis; Postgres where there is none.
    Redis,
}

/// One row of the table in README.md.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Setting {
    /// Environment variable.
    pub name: &'static str,
    /// Default as it would be written; empty when there is none.
    pub default: &'static str,
    /// Unit of the number; empty for other values.
    pub unit: &'static str,
    /// What it does.
    pub about: &'static str,
}

/// Why the start is refused: one line.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct ConfigError(pub String);

/// Builds the struct, the table and the parser from one list.
macro_rules! settings {
    ($($field:ident: $ty:ty = $parse:expr, $name:literal, $default:literal, $unit:literal, $about:literal;)*) => {
        /// All settings, checked.
        #[derive(Clone, Debug)]
        pub struct Config {
            $(#[doc = $about] #[doc = ""] #[doc = concat!("`", $name, "` (", $unit, ")")] pub $field: $ty,)*
            /// Folder in which each process writes down the steps of its lease protocol.
            /// Builds for tests alone have it, so it is in no table: `SQLFS_LEASE_TRACE`.
            #[cfg(debug_assertions)]
            pub lease_trace: Option<PathBuf>,
        }

        /// Every name that this version reads, in the order of README.md.
        pub const SETTINGS: &[Setting] = &[
            $(Setting { name: $name, default: $default, unit: $unit, about: $about },)*
        ];

        impl Config {
            /// Parses settings from `lookup` (name → value; empty counts as unset).
            pub fn parse(lookup: impl Fn(&str) -> Option<String>) -> Result<Self, ConfigError> {
                let get = |name: &str| lookup(name).filter(|value| !value.is_empty());
                let config = Self {
                    $($field: {
                        let value = get($name).unwrap_or_else(|| $default.to_owned());
                        let parse: fn(&str) -> Result<$ty, String> = $parse;
                        // The value itself is not repeated: it may be a secret.
                        parse(&value).map_err(|allowed| ConfigError(format!("{}: {allowed}", $name)))?
                    },)*
                    #[cfg(debug_assertions)]
                    lease_trace: get("SQLFS_LEASE_TRACE").map(PathBuf::from),
                };
                config.check()?;
                Ok(config)
            }
        }
    };
}

settings! {
    bind_address: IpAddr = address, "BIND_ADDRESS", "127.0.0.1", "", "Address to listen on. Anything but loopback needs AUTH_SECRET.";
    port: u16 = number::<u16, 0, 65_535>, "PORT", "8080", "", "Port to listen on; 0 takes a free one.";
    database_url: Option<Secret> = database, "DATABASE_URL", "", "", "postgres:// URL of the store. Unset: SQLite in SQLFS_DATA_DIR.";
    tenant_databases: BTreeMap<String, Secret> = tenants, "TENANT_DATABASES", "", "", "JSON object: tenant → postgres:// URL of its own database. Beside DATABASE_URL, whose tenant is `default`; without it there is no such tenant. Each is opened and checked at its first use, with DB_POOL_SIZE connections of its own.";
    migrate_database_url: Option<Secret> = postgres, "MIGRATE_DATABASE_URL", "", "", "postgres:// URL of the schema's owner, for `sqlfs migrate`. Unset: DATABASE_URL.";
    auto_migrate: bool = flag, "SQLFS_AUTO_MIGRATE", "true", "", "Whether `serve` brings the schema up by itself.";
    data_dir: PathBuf = path, "SQLFS_DATA_DIR", "./sqlfs-data", "", "Folder of the SQLite store and of the generated secret.";
    db_pool_size: u32 = number::<u32, 1, 1000>, "DB_POOL_SIZE", "10", "connections", "Connections to Postgres.";
    auth_secret: Option<Secret> = secret, "AUTH_SECRET", "", "", "Secret that signs tokens and opens /v1/auth/bootstrap. Unset: generated once into SQLFS_DATA_DIR.";
    auth_secret_previous: Option<Secret> = secret, "AUTH_SECRET_PREVIOUS", "", "", "Former AUTH_SECRET whose tokens are still accepted.";
    admin_secret: Option<Secret> = secret, "ADMIN_SECRET", "", "", "Secret that opens /v1/auth/admin. Unset: that route refuses everybody.";
    mcp_api_key: Option<Secret> = key, "MCP_API_KEY", "", "", "Key that /mcp accepts beside tokens, for a program that acts for many users. Unset: tokens only.";
    mcp_identity_header: String = header_name, "MCP_IDENTITY_HEADER", "x-librechat-user-id", "", "Header that names the owner of a call to /mcp that comes with MCP_API_KEY.";
    mcp_default_sub: Option<String> = owner, "MCP_DEFAULT_SUB", "", "", "Owner of a call with MCP_API_KEY and without that header. Unset: such calls are refused.";
    mcp_static_tenant: String = tenant, "MCP_STATIC_TENANT", "default", "", "Tenant of all calls with MCP_API_KEY.";
    trust_proxy_headers: bool = flag, "TRUST_PROXY_HEADERS", "false", "", "Whether rate limits go by the last address of X-Forwarded-For, which the proxy before the server must set.";
    bootstrap_rate_window: Duration = millis::<1, 86_400_000>, "BOOTSTRAP_RATE_LIMIT_WINDOW_MS", "60000", "ms", "Window of BOOTSTRAP_RATE_LIMIT_MAX.";
    bootstrap_rate_max: u32 = number::<u32, 1, 1_000_000>, "BOOTSTRAP_RATE_LIMIT_MAX", "5", "requests", "Requests of one address to /v1/auth/bootstrap in a window (429 beyond). Each replica counts for itself.";
    admin_rate_window: Duration = millis::<1, 86_400_000>, "ADMIN_RATE_LIMIT_WINDOW_MS", "60000", "ms", "Window of ADMIN_RATE_LIMIT_MAX.";
    admin_rate_max: u32 = number::<u32, 1, 1_000_000>, "ADMIN_RATE_LIMIT_MAX", "5", "requests", "The same for /v1/auth/admin and the operators' routes below /v1/admin.";
    admin_bind_address: IpAddr = address, "ADMIN_BIND_ADDRESS", "127.0.0.1", "", "Address of the operators' listener (/metrics, /debug/sessions). It asks for no token.";
    admin_port: u16 = number::<u16, 0, 65_535>, "ADMIN_PORT", "9464", "", "Port of the operators' listener; 0 turns it off.";
    otlp_endpoint: Option<String> = http_url, "OTEL_EXPORTER_OTLP_ENDPOINT", "", "", "http:// or https:// URL of a collector of traces (OTLP over HTTP; /v1/traces is appended). Unset: no traces. OTEL_SERVICE_NAME, OTEL_EXPORTER_OTLP_HEADERS, OTEL_TRACES_SAMPLER and other variables of OpenTelemetry count too.";
    log_format: LogFormat = log_format, "LOG_FORMAT", "text", "", "`text` or `json`.";
    log_filter: String = text, "RUST_LOG", "info", "", "What is logged, in the syntax of tracing-subscriber's EnvFilter.";
    max_request_body_bytes: u64 = number::<u64, 1024, MAX_BYTES>, "MAX_REQUEST_BODY_BYTES", "268435456", "bytes", "Largest request body (exec routes: 16 MiB).";
    max_file_write_bytes: u64 = number::<u64, 1, MAX_BYTES>, "MAX_FILE_WRITE_BYTES", "52428800", "bytes", "Largest file, whichever way it is written.";
    max_bulk_write_files: usize = number::<usize, 1, 1_000_000>, "MAX_BULK_WRITE_FILES", "1000", "files", "Files of one writeFiles call, and of a new sandbox.";
    max_ingest_bytes: u64 = number::<u64, 1, MAX_BYTES>, "MAX_INGEST_BYTES", "536870912", "bytes", "Unpacked size of one ingest.";
    max_ingest_files: usize = number::<usize, 1, 10_000_000>, "MAX_INGEST_FILES", "10000", "files", "Files of one ingest.";
    max_tree_entries: usize = number::<usize, 1, 10_000_000>, "MAX_TREE_ENTRIES", "50000", "entries", "Entries of one reply of the tree route; more are cut off and flagged.";
    max_sandbox_entries: u64 = number::<u64, 16, 100_000_000>, "MAX_SANDBOX_ENTRIES", "200000", "entries", "Files, directories and links of one sandbox (ENOSPC).";
    max_sandbox_bytes: u64 = number::<u64, 1024, MAX_BYTES>, "MAX_SANDBOX_BYTES", "1073741824", "bytes", "Sum of the file sizes of one sandbox (ENOSPC).";
    max_concurrent_execs: usize = number::<usize, 1, 10_000>, "MAX_CONCURRENT_EXECS", "64", "scripts", "Scripts that run at the same time in this process.";
    max_execs_per_tenant: usize = number::<usize, 1, 10_000>, "MAX_EXECS_PER_TENANT", "48", "scripts", "Scripts of one tenant that run at the same time, when there are several tenants.";
    max_execs_per_owner: usize = number::<usize, 1, 10_000>, "MAX_EXECS_PER_OWNER", "16", "scripts", "Scripts of one owner that run at the same time.";
    max_queue_per_sandbox: usize = number::<usize, 1, 1_000_000>, "MAX_QUEUE_PER_SANDBOX", "1024", "requests", "Requests that wait for one sandbox (429 beyond).";
    max_concurrent_python: usize = number::<usize, 0, 10_000>, "MAX_CONCURRENT_PYTHON", "5", "programs", "Programs of python3 that run at the same time in this process. 0: none, and no sandbox is made with Python (403 NOT_PERMITTED).";
    max_concurrent_js: usize = number::<usize, 0, 10_000>, "MAX_CONCURRENT_JS", "5", "programs", "Programs of node that run at the same time in this process. 0: none, and no sandbox is made with JavaScript (403 NOT_PERMITTED).";
    max_python_queue: usize = number::<usize, 0, 1_000_000>, "MAX_PYTHON_QUEUE", "100", "programs", "Programs of python3 that wait to run (503 RUNTIME_BUSY beyond).";
    max_js_queue: usize = number::<usize, 0, 1_000_000>, "MAX_JS_QUEUE", "100", "programs", "Programs of node that wait to run (503 RUNTIME_BUSY beyond).";
    python_queue_timeout: Duration = millis::<1, 3_600_000>, "PYTHON_QUEUE_TIMEOUT_MS", "60000", "ms", "Longest wait of a program of python3 (503 RUNTIME_BUSY beyond). It counts in the script's own time.";
    js_queue_timeout: Duration = millis::<1, 3_600_000>, "JS_QUEUE_TIMEOUT_MS", "60000", "ms", "Longest wait of a program of node (503 RUNTIME_BUSY beyond). It counts in the script's own time.";
    redis_url: Option<Secret> = redis, "REDIS_URL", "", "", "redis:// or rediss:// URL of the lease server, the same on all replicas. Unset: this replica is the only one, or compare-and-set alone keeps several apart.";
    redis_ca_file: Option<PathBuf> = optional_path, "REDIS_CA_FILE", "", "", "File with the certificate of the authority (PEM) that the certificate of a rediss:// server must come from. Unset: those that the system trusts.";
    redis_cache_url: Option<Secret> = redis, "REDIS_CACHE_URL", "", "", "redis:// or rediss:// URL of the cache server, the same on all replicas: a Redis that may evict and lose what it holds. Unset: REDIS_URL's, for the caches that are turned on.";
    redis_cache_timeout: Duration = millis::<1, 10_000>, "REDIS_CACHE_TIMEOUT_MS", "50", "ms", "Longest wait for the cache server; then it is done without, and left alone for 1 to 10 s.";
    path_snapshots: Option<bool> = optional_flag, "REDIS_PATH_SNAPSHOT_ENABLED", "", "", "Whether a replica that does not know a sandbox takes its tree from a snapshot in Redis. Unset: if there is REDIS_CACHE_URL. `true` without it puts them on the lease server, which must have the memory.";
    path_snapshot_ttl: Duration = millis::<1000, 604_800_000>, "REDIS_PATH_SNAPSHOT_TTL_MS", "3600000", "ms", "How long a snapshot is kept.";
    blob_cache: bool = flag, "REDIS_BLOB_CACHE_ENABLED", "false", "", "Whether replicas share contents of files in Redis as well. Off by default because Postgres has them about as soon.";
    blob_cache_ttl: Duration = millis::<1000, 604_800_000>, "REDIS_BLOB_CACHE_TTL_MS", "86400000", "ms", "How long a content is kept there.";
    blob_cache_largest: usize = number::<usize, 1, 268_435_456>, "REDIS_BLOB_MAX_BYTES", "8388608", "bytes", "Largest content that is kept there.";
    snapshot_key: Option<Secret> = secret, "SNAPSHOT_KEY", "", "", "Secret that authenticates snapshots, the same on all replicas. Unset: made of AUTH_SECRET.";
    redis_down: RedisDown = redis_down, "REDIS_DOWN", "degrade", "", "While Redis is away: `degrade` (write execs go on with compare-and-set alone; sandboxes with network permission answer 503) or `refuse` (all write execs answer 503).";
    lease_mode: LeaseMode = lease_mode, "LEASE_MODE", "lease", "", "`lease` (each lease is renewed by itself) or `preemptible` (one heartbeat for all of a replica). The same on all replicas.";
    version_check: VersionCheck = version_check, "VERSION_CHECK", "postgres", "", "Who says which state of a sandbox is the newest: `postgres`, or `redis` (a hint that comes with the lease; Postgres where there is none). Off by default because it saves a tenth of a write's time and a sixth of a read's, and costs freshness: an answer may be old after a pause beyond the lease time, or if Redis loses leases that are held. Needs REDIS_DOWN=refuse. The same on all replicas.";
    lease: Duration = millis::<200, 600_000>, "REDIS_EXEC_LOCK_LEASE_MS", "10000", "ms", "Lease time: after a replica died, its sandboxes are free again at the latest after it. The same on all replicas.";
    lease_renew: Duration = millis::<10, 600_000>, "REDIS_EXEC_LOCK_RENEW_MS", "3000", "ms", "Time between two renewals of a lease; at most half of lease - margin.";
    lease_margin: Duration = millis::<10, 600_000>, "REDIS_EXEC_LOCK_MARGIN_MS", "1000", "ms", "How long before its lease expires a script is ended when the lease was not renewed.";
    acquire_timeout: Duration = millis::<100, 3_600_000>, "REDIS_EXEC_LOCK_ACQUIRE_TIMEOUT_MS", "75000", "ms", "Longest wait of an exec for its turn (503 LEASE_TIMEOUT beyond).";
    interpreter: Interpreter = interpreter, "INTERPRETER", "", "", "`process`: scripts run in worker processes, each with one caller's files and no file system, network or memory but its own. `thread`: in the server itself, for scripts that you trust. Unset: `process` on Linux, elsewhere there is `thread` only.";
    network_enabled: bool = flag, "NETWORK_ENABLED", "true", "", "Whether sandboxes may have the network. `false`: none is made with it (403 NOT_PERMITTED), and scripts of those that have it reach nothing.";
    network_allowed_hosts: String = text, "NETWORK_ALLOWED_HOSTS", "", "", "All that scripts with network permission may reach, whatever the lists of their sandboxes say, with commas: `host`, `host:port` or `*.host` for those below it. Unset: every public place.";
    network_allow_private: String = text, "NETWORK_ALLOW_PRIVATE", "", "", "Private places that scripts with network permission may reach, with commas: `ip:port`, `name:port` or a network such as 10.0.0.0/8. Unset: public addresses only.";
    network_rules: Option<Secret> = secret, "NETWORK_RULES", "", "", "Credentials that the server adds to requests of scripts: a JSON list of `{\"prefix\": \"https://…/\", \"headers\": {name: value}}`, or the path of a file with it. Scripts do not see them.";
    network_ca_file: Option<PathBuf> = optional_path, "NETWORK_CA_FILE", "", "", "File with certificates of authorities (PEM) that scripts' requests trust beside those of Mozilla's list.";
    worker_memory_bytes: u64 = number::<u64, 67_108_864, MAX_BYTES>, "WORKER_MEMORY_BYTES", "1073741824", "bytes", "Memory of one worker process; a script that needs more is ended.";
    max_idle_workers: usize = number::<usize, 0, 10_000>, "MAX_IDLE_WORKERS", "32", "processes", "Worker processes kept for the next script of the caller whom they served, at most MAX_CONCURRENT_PYTHON of them for sandboxes with Python. Each holds about 20 MB, those some 70.";
    exec_memory_bytes: u64 = number::<u64, 1_048_576, MAX_BYTES>, "EXEC_MEMORY_BYTES", "268435456", "bytes", "New file content and interpreter memory of one script.";
    memory_budget_bytes: u64 = number::<u64, 1_048_576, MAX_BYTES>, "MEMORY_BUDGET_BYTES", "2147483648", "bytes", "Memory of all caches together; over it idle sessions are evicted.";
    max_tenant_sandboxes: Option<u64> = optional_number, "MAX_TENANT_SANDBOXES", "", "sandboxes", "Live sandboxes of one tenant (507 ENOSPC). This and the next two are looked at every 10 s, so a burst may go over. Unset: no limit.";
    max_tenant_entries: Option<u64> = optional_number, "MAX_TENANT_ENTRIES", "", "entries", "Files, directories and links of all sandboxes of one tenant. Unset: no limit.";
    max_tenant_bytes: Option<u64> = optional_number, "MAX_TENANT_BYTES", "", "bytes", "Sum of the file sizes of all sandboxes of one tenant. Unset: no limit.";
    path_cache_max_bytes: u64 = number::<u64, 0, MAX_BYTES>, "PATH_CACHE_MAX_BYTES", "52428800", "bytes", "Tree of one session that is kept when memory is short.";
    content_cache_max_bytes: u64 = number::<u64, 0, MAX_BYTES>, "CONTENT_CACHE_MAX_BYTES", "268435456", "bytes", "Cache of file contents.";
    session_idle: Duration = millis::<1000, 604_800_000>, "SESSION_IDLE_MS", "600000", "ms", "Idle time after which a session leaves memory.";
    history_versions: u64 = number::<u64, 0, 1_000_000>, "HISTORY_VERSIONS", "100", "versions", "Former versions that are kept.";
    history_days: u64 = number::<u64, 0, 36_500>, "HISTORY_DAYS", "7", "days", "Age up to which former versions are kept.";
    history_bytes: Option<u64> = optional_number, "HISTORY_BYTES", "", "bytes", "Contents that history alone may hold in one sandbox. Unset: MAX_SANDBOX_BYTES.";
    blob_gc_every: Duration = seconds::<1, 31_536_000>, "BLOB_GC_INTERVAL", "3600", "s", "Time between two rounds of garbage collection.";
    blob_gc_grace: Duration = seconds::<60, 31_536_000>, "BLOB_GC_GRACE", "86400", "s", "Age at which a content that nothing names is deleted.";
}

/// The tenant of `DATABASE_URL`, of SQLite, and of a token that names none.
pub const DEFAULT_TENANT: &str = "default";

const MAX_BYTES: u64 = 1 << 50;

impl Config {
    /// Reads the environment of the process.
    pub fn from_env() -> Result<Self, ConfigError> {
        for setting in SETTINGS {
            #[expect(clippy::disallowed_methods, reason = "this is the door")]
            if let Err(std::env::VarError::NotUnicode(_)) = std::env::var(setting.name) {
                return Err(ConfigError(format!("{}: must be UTF-8 text", setting.name)));
            }
        }
        #[expect(clippy::disallowed_methods, reason = "this is the door")]
        Self::parse(|name| std::env::var(name).ok())
    }

    /// Everything at its default.
    #[must_use]
    pub fn defaults() -> Self {
        Self::parse(|_| None).expect("the defaults are valid: a unit test holds this")
    }

    /// Rules that concern more than one setting.
    fn check(&self) -> Result<(), ConfigError> {
        if !self.bind_address.is_loopback() && self.auth_secret.is_none() {
            return Err(ConfigError(format!(
                "BIND_ADDRESS: {} is reachable from outside, so AUTH_SECRET must be set",
                self.bind_address
            )));
        }
        if self.auth_secret_previous.is_some() && self.auth_secret.is_none() {
            return Err(ConfigError("AUTH_SECRET_PREVIOUS: needs AUTH_SECRET beside it".into()));
        }
        if self.admin_secret.is_some() && self.admin_secret == self.auth_secret {
            return Err(ConfigError("ADMIN_SECRET: must differ from AUTH_SECRET".into()));
        }
        self.check_mcp()?;
        self.check_caches()?;
        if self.database_url.is_some() && self.tenant_databases.contains_key(DEFAULT_TENANT) {
            return Err(ConfigError("TENANT_DATABASES: DATABASE_URL is the database of `default`".into()));
        }
        if self.worker_memory_bytes / 2 < self.exec_memory_bytes {
            return Err(ConfigError(
                "WORKER_MEMORY_BYTES: must be at least twice EXEC_MEMORY_BYTES, which a script may fill"
                    .into(),
            ));
        }
        if self.version_check == VersionCheck::Redis {
            if self.redis_url.is_none() {
                return Err(ConfigError("VERSION_CHECK: redis needs REDIS_URL; unset it or set that".into()));
            }
            if self.redis_down == RedisDown::Degrade {
                return Err(ConfigError(
                    "VERSION_CHECK: redis needs REDIS_DOWN=refuse: a write that goes on without Redis cannot \
                     drop the hint that it makes wrong"
                        .into(),
                ));
            }
        }
        let encrypted = self.redis_url.as_ref().is_some_and(|url| url.0.starts_with("rediss://"));
        if self.redis_ca_file.is_some() && !encrypted {
            return Err(ConfigError("REDIS_CA_FILE: needs a REDIS_URL that begins with rediss://".into()));
        }
        if self.redis_url.is_some() { self.check_leases() } else { Ok(()) }
    }

    /// How the times of leases must stand to each other.
    fn check_leases(&self) -> Result<(), ConfigError> {
        let (lease, margin, renew) = (self.lease, self.lease_margin, self.lease_renew);
        if margin >= lease {
            return Err(ConfigError(format!(
                "REDIS_EXEC_LOCK_MARGIN_MS: must be below REDIS_EXEC_LOCK_LEASE_MS ({} ms)",
                lease.as_millis()
            )));
        }
        let half = lease.saturating_sub(margin) / 2;
        if renew > half {
            return Err(ConfigError(format!(
                "REDIS_EXEC_LOCK_RENEW_MS: must be at most half of lease - margin ({} ms), so that one lost \
                 renewal loses no lease",
                half.as_millis()
            )));
        }
        if self.acquire_timeout <= lease {
            return Err(ConfigError(format!(
                "REDIS_EXEC_LOCK_ACQUIRE_TIMEOUT_MS: must be above REDIS_EXEC_LOCK_LEASE_MS ({} ms), so that \
                 whoever waits outlives the lease of a replica that died",
                lease.as_millis()
            )));
        }
        Ok(())
    }

    /// What works but should be looked at; one line each, for the start of `serve`.
    #[must_use]
    pub fn warnings(&self) -> Vec<String> {
        let short = |secret: &Option<Secret>| secret.as_ref().is_some_and(|s| s.0.len() < 32);
        let mut warnings: Vec<String> =
            [("AUTH_SECRET", &self.auth_secret), ("ADMIN_SECRET", &self.admin_secret)]
                .into_iter()
                .filter(|(_, secret)| short(secret))
                .map(|(name, _)| {
                    format!("{name} is shorter than 32 bytes: it can be guessed offline from one token")
                })
                .collect();
        if short(&self.mcp_api_key) {
            warnings.push("MCP_API_KEY is shorter than 32 bytes: it can be guessed".into());
        }
        if short(&self.snapshot_key) {
            warnings
                .push("SNAPSHOT_KEY is shorter than 32 bytes: it can be guessed from one snapshot".into());
        }
        warnings.extend(self.idle_mcp_settings());
        warnings
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parse(pairs: &[(&str, &str)]) -> Result<Config, String> {
        Config::parse(|name| pairs.iter().find(|(n, _)| *n == name).map(|(_, v)| (*v).to_owned()))
            .map_err(|e| e.0)
    }

    #[test]
    fn defaults_are_valid_and_as_documented() {
        let config = Config::defaults();
        assert_eq!((config.port, config.bind_address.to_string().as_str()), (8080, "127.0.0.1"));
        assert_eq!(config.max_file_write_bytes, 50 << 20);
        assert_eq!(config.acquire_timeout, Duration::from_secs(75));
        assert!(config.database_url.is_none() && config.auth_secret.is_none());
    }

    #[test]
    fn bad_values_name_themselves_and_what_is_allowed() {
        for (name, value, says) in [
            ("PORT", "70000", "PORT: must be a whole number from 0 to 65535"),
            ("PORT", "http", "PORT: must be a whole number from 0 to 65535"),
            ("MAX_FILE_WRITE_BYTES", "NaN", "MAX_FILE_WRITE_BYTES: must be a whole number"),
            ("MAX_FILE_WRITE_BYTES", "50MB", "MAX_FILE_WRITE_BYTES: must be a whole number"),
            ("SESSION_IDLE_MS", "-1", "SESSION_IDLE_MS: must be"),
            ("SQLFS_AUTO_MIGRATE", "yes", "SQLFS_AUTO_MIGRATE: must be true or false"),
            ("LOG_FORMAT", "xml", "LOG_FORMAT: must be text or json"),
            ("DATABASE_URL", "mysql://u:hunter2@h/d", "DATABASE_URL: must start with postgres://"),
            ("BIND_ADDRESS", "localhost", "BIND_ADDRESS: must be an IP address"),
            ("REDIS_URL", "http://:hunter2@h", "REDIS_URL: must start with redis://"),
            ("REDIS_DOWN", "ignore", "REDIS_DOWN: must be degrade or refuse"),
            ("VERSION_CHECK", "sqlite", "VERSION_CHECK: must be postgres or redis"),
            ("LEASE_MODE", "forever", "LEASE_MODE: must be lease or preemptible"),
            ("MCP_IDENTITY_HEADER", "x user", "MCP_IDENTITY_HEADER: must be the name of a header"),
            ("MCP_IDENTITY_HEADER", "Authorization", "MCP_IDENTITY_HEADER: must be the name of a header"),
            ("MCP_IDENTITY_HEADER", "X-Request-Id", "MCP_IDENTITY_HEADER: must be the name of a header"),
            ("MCP_DEFAULT_SUB", "a\nb", "MCP_DEFAULT_SUB: must be 1 to 256 bytes"),
            ("MCP_DEFAULT_SUB", "{{USER}}", "MCP_DEFAULT_SUB: must not be a placeholder"),
            ("MCP_API_KEY", "key\n", "MCP_API_KEY: must be visible ASCII without spaces"),
            ("MCP_API_KEY", "schlüssel", "MCP_API_KEY: must be visible ASCII without spaces"),
            ("MCP_STATIC_TENANT", "a/b", "MCP_STATIC_TENANT: must be 1 to 64 letters"),
        ] {
            let error = parse(&[(name, value)]).unwrap_err();
            assert!(error.starts_with(says), "{name}={value}: {error}");
            assert!(!error.contains("hunter2"), "{error}");
        }
        assert_eq!(parse(&[("PORT", "")]).unwrap().port, 8080, "empty counts as unset");
        assert_eq!(parse(&[("PORT", "9")]).unwrap().port, 9);
    }

    #[test]
    fn hints_need_redis_and_no_writes_without_it() {
        let (check, url) = (("VERSION_CHECK", "redis"), ("REDIS_URL", "redis://127.0.0.1"));
        assert!(parse(&[check]).unwrap_err().starts_with("VERSION_CHECK: redis needs REDIS_URL"));
        assert!(
            parse(&[check, url]).unwrap_err().starts_with("VERSION_CHECK: redis needs REDIS_DOWN=refuse")
        );
        parse(&[check, url, ("REDIS_DOWN", "refuse")]).unwrap();
    }

    #[test]
    fn an_open_address_needs_a_secret() {
        assert!(parse(&[("BIND_ADDRESS", "0.0.0.0")]).unwrap_err().contains("AUTH_SECRET must be set"));
        parse(&[("BIND_ADDRESS", "0.0.0.0"), ("AUTH_SECRET", "s")]).unwrap();
        parse(&[("BIND_ADDRESS", "::1")]).unwrap();
    }

    #[test]
    fn times_of_leases_that_do_not_fit_are_refused_when_there_are_leases() {
        let redis = ("REDIS_URL", "redis://127.0.0.1");
        parse(&[redis]).unwrap();
        for (name, value, says) in [
            (
                "REDIS_EXEC_LOCK_ACQUIRE_TIMEOUT_MS",
                "10000",
                "must be above REDIS_EXEC_LOCK_LEASE_MS (10000 ms)",
            ),
            ("REDIS_EXEC_LOCK_MARGIN_MS", "10000", "must be below REDIS_EXEC_LOCK_LEASE_MS (10000 ms)"),
            ("REDIS_EXEC_LOCK_RENEW_MS", "4501", "must be at most half of lease - margin (4500 ms)"),
        ] {
            let error = parse(&[redis, (name, value)]).unwrap_err();
            assert!(error.starts_with(&format!("{name}: {says}")), "{error}");
            parse(&[(name, value)]).unwrap();
        }
    }

    #[test]
    fn tenants_are_names_with_urls() {
        let config =
            parse(&[("TENANT_DATABASES", r#"{"acme": "postgres://u@h/acme", "b-2": "postgresql://h/b"}"#)]);
        assert_eq!(config.unwrap().tenant_databases.keys().collect::<Vec<_>>(), ["acme", "b-2"]);
        for (value, says) in [
            ("acme", "must be a JSON object of texts"),
            (r#"["postgres://canary"]"#, "must be a JSON object of texts"),
            (r#"{"a": {"url": "postgres://canary"}}"#, "must be a JSON object of texts"),
            (r#"{"a b": "postgres://canary"}"#, "tenant: expected 1 to 64 letters"),
            (r#"{"a": "mysql://canary"}"#, "a: must start with postgres://"),
            (r#"{"a": ""}"#, "a: must start with postgres://"),
        ] {
            let error = parse(&[("TENANT_DATABASES", value)]).unwrap_err();
            assert!(error.starts_with(&format!("TENANT_DATABASES: {says}")), "{error}");
            assert!(!error.contains("canary"), "{error}");
        }
        let twice =
            [("DATABASE_URL", "postgres://h/a"), ("TENANT_DATABASES", r#"{"default": "postgres://h/b"}"#)];
        assert!(parse(&twice).unwrap_err().contains("DATABASE_URL is the database of `default`"));
    }

    #[test]
    fn debug_shows_no_secret() {
        let config = parse(&[
            ("AUTH_SECRET", "canary-one"),
            ("DATABASE_URL", "postgres://u:canary-two@h/d"),
            ("ADMIN_SECRET", "canary-three"),
            ("REDIS_URL", "redis://:canary-four@h"),
            ("MCP_API_KEY", "canary-five"),
            ("TENANT_DATABASES", r#"{"a": "postgres://u:canary-six@h/a"}"#),
        ]);
        assert!(!format!("{config:?}").contains("canary"));
    }
}
