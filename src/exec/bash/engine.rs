//! An engine, fresh for each script, and built ahead of it: making one costs more than
//! most scripts, so a thread makes the next while nobody waits for it.

use std::path::PathBuf;
use std::sync::{Arc, OnceLock};
use std::time::Duration;

use bashkit::{Bash, Builtin, CommandResolver, SessionLimits};

use super::file_system::SandboxFs;
use super::hooks::{self, Seen};
use super::{commands, limits, tee, umask};
use crate::exec::host::{Host, Permissions};
use crate::exec::stop::Stop;
use crate::fs::{Quota, WorkingCopy};

/// Home directory of every script.
pub(super) const HOME: &str = "/home/user";

/// Where the engine's own commands seem to lie.
const PATH: &str = "/usr/local/bin:/usr/bin:/bin";

/// The time limit that the engine itself keeps: above every script's. The real one is
/// kept outside, where a busy engine cannot miss it.
const LONGEST: Duration = Duration::from_hours(1);

/// Characters of a command's name that a warning quotes.
const LONGEST_NAME: usize = 100;

/// What an engine works for: set once, when its script arrives.
pub(super) struct Scene {
    pub(super) files: Arc<WorkingCopy>,
    pub(super) seen: Arc<Seen>,
    pub(super) stop: Arc<Stop>,
    pub(super) script: Arc<str>,
    pub(super) permissions: Permissions,
    pub(super) host: Arc<dyn Host>,
}

/// The scene, as the parts of an engine hold it.
#[derive(Clone, Default)]
pub(super) struct Stage(Arc<OnceLock<Scene>>);

impl Stage {
    /// The scene of the running script. Parts of an engine act for a script only.
    pub(super) fn scene(&self) -> &Scene {
        self.0.get().expect("an engine acts for a script")
    }

    /// The scene, if the script has arrived.
    pub(super) fn opened(&self) -> Option<&Scene> {
        self.0.get()
    }
}

/// Is asked for the commands that nobody knows; knows none, and tells the agent.
struct Unknown(Stage);

impl CommandResolver for Unknown {
    fn resolve(&self, name: &str) -> Option<Arc<dyn Builtin>> {
        let name: String = name.chars().take(LONGEST_NAME).collect();
        self.0.scene().seen.warn(format!("{name}: command not found"));
        None
    }
}

/// An engine that no script has used.
pub(super) struct Engine {
    pub(super) bash: Bash,
    stage: Stage,
    cwd: String,
    quota: Quota,
}

impl Engine {
    /// Makes an engine for a script that starts in `cwd`.
    pub(super) fn new(cwd: &str, quota: Quota) -> Self {
        let stage = Stage::default();
        let bash = Bash::builder()
            .fs(Arc::new(SandboxFs::new(stage.clone(), quota)))
            .username("user")
            .hostname("sandbox")
            .limits(limits::execution(&quota, LONGEST))
            .memory_limits(limits::memory(&quota))
            .session_limits(SessionLimits::unlimited())
            .before_tool(hooks::before_tool(stage.clone()))
            .env("HOME", HOME)
            .env("PATH", PATH)
            .cwd(PathBuf::from(cwd));
        let bash = commands::register(bash, &stage, &quota);
        let bash = tee::register(umask::register(bash, &stage), &stage);
        let bash = bash.command_resolver(Arc::new(Unknown(stage.clone()))).build();
        Self { bash, stage, cwd: cwd.to_owned(), quota }
    }

    /// Whether it can take a script that starts in `cwd`.
    pub(super) fn fits(&self, cwd: &str, quota: &Quota) -> bool {
        self.cwd == cwd && self.quota == *quota
    }

    /// Gives it its one script.
    pub(super) fn open(&self, scene: Scene) {
        assert!(self.stage.0.set(scene).is_ok(), "an engine serves one script");
    }
}
