//! The numbers that the service runs by. Set from the configuration, smaller in tests.

use std::time::Duration;

use crate::fs::Quota;

/// What one tenant may hold; `None`: no limit.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct TenantQuota {
    /// Live sandboxes.
    pub sandboxes: Option<u64>,
    /// Inodes of all of them.
    pub entries: Option<u64>,
    /// Sum of their file sizes.
    pub bytes: Option<u64>,
}

/// Programs of one language.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RuntimeLimits {
    /// That run at once.
    pub running: usize,
    /// That may wait.
    pub waiting: usize,
    /// How long one waits.
    pub timeout: Duration,
}

impl Default for RuntimeLimits {
    fn default() -> Self {
        Self { running: 5, waiting: 100, timeout: Duration::from_mins(1) }
    }
}

/// Limits and times of the service.
#[derive(Clone, Debug)]
pub struct Settings {
    /// Whole wait of a request for its turn, up to the start of its script.
    pub acquire_timeout: Duration,
    /// Requests that may wait for one sandbox.
    pub queue_per_sandbox: usize,
    /// Requests that may wait for all sandboxes of one owner.
    pub queue_per_owner: usize,
    /// Scripts that run at once.
    pub max_execs: usize,
    /// Scripts of one tenant that run at once.
    pub max_execs_per_tenant: usize,
    /// Scripts of one owner that run at once.
    pub max_execs_per_owner: usize,
    /// Programs of `python3`.
    pub python: RuntimeLimits,
    /// Programs of `node`.
    pub javascript: RuntimeLimits,
    /// Limits of each sandbox and exec.
    pub quota: Quota,
    /// Limits of each tenant.
    pub tenant_quota: TenantQuota,
    /// Bytes kept of stdout and of stderr.
    pub output_limit: usize,
    /// A session idle for longer is evicted.
    pub session_idle: Duration,
    /// A session whose tree weighs more goes first when the memory budget is exceeded.
    pub path_cache_bytes: u64,
    /// Trees and contents together.
    pub memory_budget: u64,
    /// Contents larger than this are read in pieces and not cached.
    pub whole_content_bytes: u64,
    /// After a cold load, contents of up to this many bytes together are fetched ahead.
    pub prewarm_bytes: u64,
    /// How long a lost COMMIT reply is asked about before the answer is "unknown".
    pub resolve_timeout: Duration,
    /// How long running scripts may go on after a shutdown began.
    pub drain: Duration,
    /// Versions of history kept.
    pub history_versions: u64,
    /// Age of history kept.
    pub history_age: Duration,
    /// Bytes held by history alone.
    pub history_bytes: u64,
    /// Time between two rounds of the reaper.
    pub reap_every: Duration,
    /// Time between two rounds of retention and purge.
    pub maintain_every: Duration,
    /// Time between two rounds of garbage collection.
    pub collect_every: Duration,
    /// Age at which a content that nothing names is deleted.
    pub collect_grace: Duration,
}

impl Default for Settings {
    fn default() -> Self {
        const MIB: u64 = 1 << 20;
        Self {
            acquire_timeout: Duration::from_secs(75),
            queue_per_sandbox: 1024,
            queue_per_owner: 4096,
            max_execs: 64,
            max_execs_per_tenant: 64,
            max_execs_per_owner: 32,
            python: RuntimeLimits::default(),
            javascript: RuntimeLimits::default(),
            quota: Quota { entries: 200_000, bytes: 1024 * MIB, file_bytes: 256 * MIB, memory: 256 * MIB },
            tenant_quota: TenantQuota::default(),
            output_limit: 16 << 20,
            session_idle: Duration::from_mins(10),
            path_cache_bytes: 50 * MIB,
            memory_budget: 1024 * MIB,
            whole_content_bytes: 8 * MIB,
            prewarm_bytes: 8 * MIB,
            resolve_timeout: Duration::from_secs(10),
            drain: Duration::from_secs(10),
            history_versions: 100,
            history_age: Duration::from_hours(7 * 24),
            history_bytes: 1024 * MIB,
            reap_every: Duration::from_mins(1),
            maintain_every: Duration::from_mins(10),
            collect_every: Duration::from_hours(1),
            collect_grace: Duration::from_hours(24),
        }
    }
}
