//! What the server answers to a running script (`exec/host.rs`). One host serves one run;
//! what it gave away comes back when it is dropped, however the run ended.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use crate::exec::host::{Host, Permissions, Question, Reply, Runtime};
use crate::ids::Caller;
use crate::session::network::NetworkPart;
use crate::session::runtimes::{Place, Runtimes};

/// Answers one run's questions.
pub(crate) struct ScriptHost {
    caller: Caller,
    permissions: Permissions,
    runtimes: Arc<Runtimes>,
    /// `None`: the sandbox has no network permission.
    network: Option<NetworkPart>,
    /// With how many programs share each: those of one script run one after another.
    held: Mutex<Vec<(Runtime, Place, usize)>>,
}

impl ScriptHost {
    pub(crate) fn new(
        caller: Caller,
        permissions: Permissions,
        runtimes: Arc<Runtimes>,
        network: Option<NetworkPart>,
    ) -> Self {
        Self { caller, permissions, runtimes, network, held: Mutex::default() }
    }

    /// A place for a program. A script that has one needs no second, and would wait for itself.
    async fn start(&self, runtime: Runtime) -> Reply {
        // A worker process is not trusted to have looked.
        let allowed = match runtime {
            Runtime::Python => self.permissions.python,
            Runtime::JavaScript => self.permissions.javascript,
        };
        if !allowed {
            return Reply::Refused(format!("the sandbox was created without {}", runtime.name()));
        }
        if let Some((_, _, programs)) = self.held().iter_mut().find(|(held, ..)| *held == runtime) {
            *programs += 1;
            return Reply::Done;
        }
        match self.runtimes.place(runtime, &self.caller).await {
            Ok(place) => {
                self.held().push((runtime, place, 1));
                Reply::Done
            }
            Err(busy) => Reply::Busy(busy.to_string()),
        }
    }

    fn done(&self, runtime: Runtime) {
        let mut held = self.held();
        if let Some((_, _, programs)) = held.iter_mut().find(|(held, ..)| *held == runtime) {
            *programs -= 1;
        }
        held.retain(|(_, _, programs)| *programs > 0);
    }

    fn held(&self) -> MutexGuard<'_, Vec<(Runtime, Place, usize)>> {
        self.held.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[async_trait::async_trait]
impl Host for ScriptHost {
    async fn ask(&self, question: Question) -> Reply {
        match question {
            Question::Start(runtime) => self.start(runtime).await,
            Question::Done(runtime) => {
                self.done(runtime);
                Reply::Done
            }
            Question::Fetch(fetch) => match &self.network {
                Some(network) => network.fetch(*fetch).await,
                None => Reply::Refused("this sandbox has no network permission".to_owned()),
            },
        }
    }
}
