//! The server put together: store, interpreter, sessions, HTTP; and its orderly end.

use std::collections::HashMap;
use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use tokio::net::TcpListener;

use crate::broker::{self, Broker};
pub use crate::config::DEFAULT_TENANT;
use crate::config::{self, Config, ConfigError, LeaseMode, RedisDown, Secret};
use crate::exec::{BashInterpreter, Interpreter};
use crate::fs::Quota;
use crate::fs::content_cache::ContentCache;
use crate::http::auth::{Keys, Lifetime};
use crate::http::{self, HttpState};
use crate::ids::{Caller, Owner, TenantId};
use crate::lease::InProcess;
use crate::lease::driver::Leases;
use crate::lease::protocol;
use crate::lease::redis::{RedisLeases, health};
use crate::lease::verbs::{Mode, Ms, Terms};
use crate::remote::RedisServer;
use crate::session::{
    Coordination, Create, RuntimeLimits, Service, SessionError, Settings, TenantQuota, Tenants, VersionCheck,
    WhenDown,
};
use crate::store::{self, StoreError};

mod caches;

/// The runtime of the server. Its workers do short work only, for scripts have threads
/// of their own: with half the cores, a request wakes fewer of them. (On 2 cores a warm
/// exec answers in 3/4 of the time that it takes with two workers.)
pub fn runtime() -> std::io::Result<tokio::runtime::Runtime> {
    let cores = std::thread::available_parallelism().map_or(1, std::num::NonZero::get);
    tokio::runtime::Builder::new_multi_thread().worker_threads((cores / 2).max(1)).enable_all().build()
}

/// The owner that the first-run curl line and the command line act as.
pub const LOCAL_OWNER: &str = "local";
/// File in the data folder that names the running server's URL.
pub const ADDRESS_FILE: &str = "address";
/// File in the data folder that holds the generated secret.
pub const SECRET_FILE: &str = "auth-secret";

/// Why the program does not start. One line.
#[derive(Debug, thiserror::Error)]
pub enum StartError {
    /// The configuration or the installation is refused: exit code 78 (EX_CONFIG).
    #[error("{0}")]
    Refused(String),
    /// Something that may pass: a busy port, a database that is away. Exit code 1.
    #[error("{0}")]
    Failed(String),
}

impl From<ConfigError> for StartError {
    fn from(error: ConfigError) -> Self {
        Self::Refused(error.to_string())
    }
}

impl From<StoreError> for StartError {
    fn from(error: StoreError) -> Self {
        match error {
            StoreError::Refused(text) => Self::Refused(text),
            StoreError::Unavailable(_) | StoreError::OutcomeUnknown(_) | StoreError::Inconsistent(_) => {
                Self::Failed(error.to_string())
            }
        }
    }
}

/// The service over the configured store, without HTTP: what the command line uses
/// when no server runs.
pub struct App {
    /// All sandboxes.
    pub service: Service,
}

impl App {
    /// Ends running scripts in order and closes the store.
    pub async fn shutdown(self) {
        self.service.shutdown().await;
    }
}

/// Opens the store and builds the service. Needs a tokio runtime.
pub async fn open(config: Arc<Config>) -> Result<App, StartError> {
    let coordination = coordination(&config)?;
    let options = store::Options { pool_size: config.db_pool_size, auto_migrate: config.auto_migrate };
    let mut tenants = Tenants::from(HashMap::new());
    if let Some(url) = default_url(&config)? {
        let store = store::open(&url, &options).await?;
        tenants = HashMap::from([(TenantId(DEFAULT_TENANT.into()), store)]).into();
    }
    for (tenant, url) in &config.tenant_databases {
        let (url, options) = (url.clone(), options.clone());
        let opener = move || {
            let (url, options) = (url.clone(), options.clone());
            let opening = async move { store::open(&url.0, &options).await };
            Box::pin(opening) as std::pin::Pin<Box<dyn Future<Output = _> + Send>>
        };
        tenants.add(TenantId(tenant.as_str().into()), Box::new(opener));
    }
    let settings = settings(&config);
    let broker = broker(&config, settings.quota.file_bytes)?;
    let interpreter = interpreter(&config, settings.quota);
    let cache = Arc::new(ContentCache::new(config.content_cache_max_bytes));
    let service = Service::coordinated(settings, tenants, interpreter, cache, coordination);
    let service = caches::add(service.with_network(Arc::new(broker)), &config)?;
    Ok(App { service })
}

/// Makes the requests of scripts that have network permission.
fn broker(config: &Config, largest_body: u64) -> Result<Broker, StartError> {
    let settings = broker::Settings {
        enabled: config.network_enabled,
        allowed_hosts: &config.network_allowed_hosts,
        allow_private: &config.network_allow_private,
        rules: config.network_rules.as_ref().map_or("", |rules| &rules.0),
        ca_file: config.network_ca_file.as_deref(),
        largest_body,
    };
    Broker::new(&settings, Arc::new(broker::System::default())).map_err(StartError::Refused)
}

/// Runs scripts as the configuration says.
fn interpreter(config: &Config, quota: Quota) -> Arc<dyn Interpreter> {
    match config.interpreter {
        config::Interpreter::Thread => Arc::new(BashInterpreter::new(config.max_concurrent_execs)),
        #[cfg(target_os = "linux")]
        config::Interpreter::Process => {
            Arc::new(crate::exec::ProcessInterpreter::new(crate::exec::Workers {
                program: crate::exec::Workers::THIS_PROGRAM.into(),
                running: config.max_concurrent_execs,
                waiting: config.max_idle_workers,
                waiting_python: config.max_concurrent_python.min(config.max_idle_workers),
                quota,
                memory: config.worker_memory_bytes,
            }))
        }
    }
}

#[cfg(target_os = "linux")]
pub use crate::exec::process::worker::main as worker;

pub use crate::lease::redis::health::{Finding, Verdict as Found};

/// The times that all replicas agree on, and the longest wait for an answer of Redis.
fn lease_terms(config: &Config) -> (Terms, Duration) {
    let lease = config.lease.as_millis() as Ms;
    // Three lost replies in a row still leave time for an answer before the kill-switch.
    let timeout = (config.lease.saturating_sub(config.lease_margin) / 4).min(LONGEST_LEASE_CALL);
    (Terms { lease, mark: 4 * poll(lease) }, timeout)
}

/// Times that are nobody's choice follow from the lease, so that a fleet agrees on them. A
/// waiting replica finds a dead one at most 5/4 of this after its liveness ended.
fn poll(lease: Ms) -> Ms {
    (lease / 20).clamp(20, 300)
}

/// The lease server as it is configured; `None` if there is none.
fn redis_server(config: &Config) -> Option<Result<RedisServer, String>> {
    let url = config.redis_url.as_ref()?;
    Some(RedisServer::new("REDIS_URL", &url.0, config.redis_ca_file.as_deref()))
}

/// What `doctor` says of Redis; nothing if there is none.
pub async fn redis_checks(config: &Config) -> Vec<Finding> {
    let (terms, timeout) = lease_terms(config);
    let mut found = match redis_server(config) {
        None => Vec::new(),
        Some(Ok(server)) => health::checks(&server, terms, timeout).await,
        Some(Err(why)) => vec![Finding { name: "redis", verdict: Found::Fail, detail: why }],
    };
    found.extend(caches::check(config).await);
    found
}

/// Warns in one line if Redis may throw leases away. Redis need not be there yet.
fn warn_of_eviction(config: &Config) {
    let Some(Ok(server)) = redis_server(config) else { return };
    let (_, timeout) = lease_terms(config);
    tokio::spawn(async move {
        match health::eviction(&server, timeout).await {
            Ok(Some(found)) => tracing::warn!(found, "the lease server may lose leases"),
            Ok(None) => tracing::debug!("the lease server loses no leases to make room"),
            Err(error) => tracing::debug!(error, "whether the lease server evicts is not known"),
        }
    });
}

/// Leases in Redis, or none. Redis need not be there yet: REDIS_DOWN says what happens.
fn coordination(config: &Config) -> Result<Coordination, StartError> {
    let Some(server) = redis_server(config) else { return Ok(Coordination::Alone(InProcess::default())) };
    let ms = |time: Duration| time.as_millis() as Ms;
    let (terms, timeout) = lease_terms(config);
    let lease = terms.lease;
    let protocol = protocol::Config {
        mode: match config.lease_mode {
            LeaseMode::Lease => Mode::Lease,
            LeaseMode::Preemptible => Mode::Preemptible,
        },
        lease,
        renew: ms(config.lease_renew),
        margin: ms(config.lease_margin),
        poll: poll(lease),
        retry: (lease / 100).clamp(10, 100),
    };
    let server = server.map_err(StartError::Refused)?;
    let store = Arc::new(RedisLeases::new(&server, terms, timeout).map_err(StartError::Refused)?);
    let when_down = match config.redis_down {
        RedisDown::Degrade => WhenDown::Degrade,
        RedisDown::Refuse => WhenDown::Refuse,
    };
    #[cfg(debug_assertions)]
    let leases = match &config.lease_trace {
        Some(folder) => Leases::start_traced(store, protocol, folder),
        None => Leases::start(store, protocol),
    };
    #[cfg(not(debug_assertions))]
    let leases = Leases::start(store, protocol);
    let version_check = match config.version_check {
        config::VersionCheck::Postgres => VersionCheck::Store,
        config::VersionCheck::Redis => VersionCheck::Hint,
    };
    let leases = leases.map_err(StartError::Failed)?;
    Ok(Coordination::Fleet { leases, when_down, version_check })
}

/// After this a call to Redis counts as not answered.
const LONGEST_LEASE_CALL: Duration = Duration::from_secs(1);

/// Serves until SIGTERM or SIGINT, then drains and returns.
pub async fn serve(config: Arc<Config>) -> Result<(), StartError> {
    let (secret, generated) = secret(&config)?;
    let keys = Keys::new(&secret, config.auth_secret_previous.as_ref(), config.admin_secret.as_ref())?;
    let mut signals = Signals::listen()?;
    for found in config.warnings() {
        tracing::warn!(found, "the configuration works, but look at it");
    }
    let app = open(config.clone()).await?;
    let address = SocketAddr::new(config.bind_address, config.port);
    let listener = TcpListener::bind(address)
        .await
        .map_err(|error| StartError::Failed(format!("cannot listen on {address}: {error}")))?;
    let address = listener
        .local_addr()
        .map_err(|error| StartError::Failed(format!("cannot read the own address: {error}")))?;
    let url = format!("http://{address}");
    let operators = operators_listener(&config).await?;
    app.service.start_housekeeping();
    warn_of_eviction(&config);
    let keys = Arc::new(keys);
    let _address_file = AddressFile::write(&config, &url)?;
    println!("listening on {url}");
    if generated && app.service.knows_tenant(DEFAULT_TENANT) {
        match first_exec_line(&app.service, &keys, &url).await {
            Ok(line) => println!("\nTry it:\n\n{line}\n"),
            Err(error) => tracing::warn!(error = %error, "the first-run example could not be made"),
        }
    }
    let router = http::router(HttpState::new(app.service.clone(), config, keys));
    // Until the very end: the last figures are those of the drain.
    let _operators = operators.map(|listener| {
        let serving =
            http::serve(listener, http::operators_router(app.service.clone()), std::future::pending());
        tokio_util::task::AbortOnDropHandle::new(tokio::spawn(serving))
    });
    let service = app.service.clone();
    let serving = http::serve(listener, router, async move {
        signals.wait().await;
        tracing::info!("shutting down: new requests are refused, running scripts get some time");
        // Readiness fails and waiting requests are answered before connections close.
        service.begin_shutdown();
    });
    // Requests in flight end with the service's drain; a client that still reads its
    // reply, or never finishes sending a body, gets a little longer and no more.
    let drained = async {
        app.service.draining().await;
        app.service.shutdown().await;
        tokio::time::sleep(CLOSE_GRACE).await;
    };
    let served = tokio::select! {
        served = serving => served,
        () = drained => Ok(()),
    };
    app.service.shutdown().await;
    served.map_err(|error| StartError::Failed(format!("serving ended: {error}")))
}

/// The second listener, unless it is turned off.
async fn operators_listener(config: &Config) -> Result<Option<TcpListener>, StartError> {
    if config.admin_port == 0 {
        return Ok(None);
    }
    let address = SocketAddr::new(config.admin_bind_address, config.admin_port);
    let listener = TcpListener::bind(address).await.map_err(|error| {
        StartError::Failed(format!(
            "cannot listen on {address} for /metrics: {error}; set ADMIN_PORT to another port, or to 0 to do without"
        ))
    })?;
    tracing::info!(address = %address, "metrics are served");
    Ok(Some(listener))
}

/// From the end of the last script to the end of its connection.
const CLOSE_GRACE: Duration = Duration::from_secs(5);

/// The numbers that the service runs by.
fn settings(config: &Config) -> Settings {
    Settings {
        acquire_timeout: config.acquire_timeout,
        queue_per_sandbox: config.max_queue_per_sandbox,
        max_execs: config.max_concurrent_execs,
        max_execs_per_tenant: if config.tenant_databases.is_empty() {
            config.max_concurrent_execs
        } else {
            config.max_execs_per_tenant
        },
        max_execs_per_owner: config.max_execs_per_owner,
        python: RuntimeLimits {
            running: config.max_concurrent_python,
            waiting: config.max_python_queue,
            timeout: config.python_queue_timeout,
        },
        javascript: RuntimeLimits {
            running: config.max_concurrent_js,
            waiting: config.max_js_queue,
            timeout: config.js_queue_timeout,
        },
        quota: Quota {
            entries: config.max_sandbox_entries,
            bytes: config.max_sandbox_bytes,
            file_bytes: config.max_file_write_bytes.min(LARGEST_FILE),
            memory: config.exec_memory_bytes,
        },
        tenant_quota: TenantQuota {
            sandboxes: config.max_tenant_sandboxes,
            entries: config.max_tenant_entries,
            bytes: config.max_tenant_bytes,
        },
        session_idle: config.session_idle,
        path_cache_bytes: config.path_cache_max_bytes,
        memory_budget: config.memory_budget_bytes,
        history_versions: config.history_versions,
        history_age: Duration::from_hours(24).saturating_mul(config.history_days.min(36_500) as u32),
        collect_every: config.blob_gc_every,
        collect_grace: config.blob_gc_grace,
        history_bytes: config.history_bytes.unwrap_or(config.max_sandbox_bytes),
        ..Settings::default()
    }
}

/// A whole-file blob is one value of the database: Postgres ends at 1 GiB, with its
/// protocol around it earlier.
const LARGEST_FILE: u64 = 512 << 20;

/// Where the default tenant is: `DATABASE_URL`, or the SQLite file in the data folder,
/// which is made. `None` if all tenants are in `TENANT_DATABASES`.
fn default_url(config: &Config) -> Result<Option<String>, StartError> {
    if let Some(url) = &config.database_url {
        return Ok(Some(url.0.clone()));
    }
    if !config.tenant_databases.is_empty() {
        return Ok(None);
    }
    make_data_dir(&config.data_dir)?;
    Ok(Some(format!("sqlite:{}", config.data_dir.join("sqlfs.db").display())))
}

/// Every tenant with the URL of its store.
pub fn store_urls(config: &Config) -> Result<Vec<(String, String)>, StartError> {
    let default = default_url(config)?.map(|url| (DEFAULT_TENANT.to_owned(), url));
    let others = config.tenant_databases.iter().map(|(tenant, url)| (tenant.clone(), url.0.clone()));
    Ok(default.into_iter().chain(others).collect())
}

fn make_data_dir(path: &Path) -> Result<(), StartError> {
    use std::os::unix::fs::DirBuilderExt;
    let made = std::fs::DirBuilder::new().recursive(true).mode(0o700).create(path);
    made.map_err(|error| {
        StartError::Failed(format!("cannot make SQLFS_DATA_DIR {}: {error}", path.display()))
    })
}

/// AUTH_SECRET, or the generated one of the data folder; and whether it is that one.
pub fn secret(config: &Config) -> Result<(Secret, bool), StartError> {
    use std::io::Write;
    use std::os::unix::fs::OpenOptionsExt;
    if let Some(secret) = &config.auth_secret {
        return Ok((secret.clone(), false));
    }
    make_data_dir(&config.data_dir)?;
    let path = config.data_dir.join(SECRET_FILE);
    let fail = |error: std::io::Error| {
        StartError::Failed(format!("cannot use the secret in {}: {error}", path.display()))
    };
    // A finished draft is linked into place, so that a second process never reads half.
    let draft = config.data_dir.join(format!("{SECRET_FILE}.{}", std::process::id()));
    let fresh = format!("{}{}", crate::random::uuid().simple(), crate::random::uuid().simple());
    if !path.exists() {
        let file =
            std::fs::OpenOptions::new().write(true).create(true).truncate(true).mode(0o600).open(&draft);
        file.and_then(|mut file| file.write_all(fresh.as_bytes()).and_then(|()| file.sync_all()))
            .map_err(fail)?;
        match std::fs::hard_link(&draft, &path) {
            // Another process was first: its secret counts.
            Err(error) if error.kind() != std::io::ErrorKind::AlreadyExists => return Err(fail(error)),
            Ok(()) | Err(_) => {}
        }
        std::fs::remove_file(&draft).map_err(fail)?;
    }
    let known = std::fs::read_to_string(&path).map_err(fail)?;
    let known = known.trim();
    if known.len() < 32 {
        return Err(StartError::Refused(format!(
            "{} holds no secret of 32 characters or more; delete it to have a new one made",
            path.display()
        )));
    }
    Ok((Secret(known.to_owned()), true))
}

/// The command that a newcomer can paste: one exec on a sandbox that is there.
async fn first_exec_line(service: &Service, keys: &Keys, url: &str) -> Result<String, SessionError> {
    let owner = Caller { tenant: TenantId(DEFAULT_TENANT.into()), owner: Owner(LOCAL_OWNER.into()) };
    let wanted = Create { name: Some("first".into()), unique: true, ..Create::default() };
    let id = match service.create(&owner, "first-run", wanted).await {
        Ok(row) => row.id,
        Err(SessionError::NameTaken(holder)) => holder.id,
        Err(error) => return Err(error),
    };
    let token = keys.issue(LOCAL_OWNER, DEFAULT_TENANT, Lifetime::default()).token;
    Ok(format!(
        "curl -s {url}/v1/sandboxes/{id}/exec-sync \\\n  -H 'Authorization: Bearer {token}' \\\n  \
         -H 'Content-Type: text/x-shellscript' \\\n  --data-binary 'echo \"hello from $(pwd)\" >> log.txt; cat log.txt'"
    ))
}

/// Names the running server to the command line, as long as it runs.
struct AddressFile(Option<PathBuf>);

impl AddressFile {
    fn write(config: &Config, url: &str) -> Result<Self, StartError> {
        // With a shared database the folder belongs to no single server.
        if config.database_url.is_some() || !config.tenant_databases.is_empty() {
            return Ok(Self(None));
        }
        let path = config.data_dir.join(ADDRESS_FILE);
        std::fs::write(&path, url)
            .map_err(|error| StartError::Failed(format!("cannot write {}: {error}", path.display())))?;
        Ok(Self(Some(path)))
    }
}

impl Drop for AddressFile {
    fn drop(&mut self) {
        if let Some(path) = &self.0 {
            // Left behind, it names a server that does not answer: the reader says so.
            let _ = std::fs::remove_file(path);
        }
    }
}

/// SIGTERM and SIGINT.
struct Signals {
    term: tokio::signal::unix::Signal,
    interrupt: tokio::signal::unix::Signal,
}

impl Signals {
    fn listen() -> Result<Self, StartError> {
        use tokio::signal::unix::{SignalKind, signal};
        let fail = |error| StartError::Failed(format!("cannot listen for signals: {error}"));
        Ok(Self {
            term: signal(SignalKind::terminate()).map_err(fail)?,
            interrupt: signal(SignalKind::interrupt()).map_err(fail)?,
        })
    }

    async fn wait(&mut self) {
        tokio::select! {
            _ = self.term.recv() => {}
            _ = self.interrupt.recv() => {}
        }
    }
}
