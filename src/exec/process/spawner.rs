//! The thread that starts all workers. The kernel kills them when it is gone (see `guards`), so it
//! must not be one that comes and goes.

use std::io;
use std::process::{Child, Command};
use std::sync::{LazyLock, mpsc};

use tokio::sync::oneshot;

struct Wanted {
    command: Command,
    reply: oneshot::Sender<io::Result<Child>>,
}

/// Starts a process. That may take milliseconds.
pub(super) async fn spawn(command: Command) -> io::Result<Child> {
    static SPAWNER: LazyLock<io::Result<mpsc::Sender<Wanted>>> = LazyLock::new(|| {
        let (send, receive) = mpsc::channel::<Wanted>();
        std::thread::Builder::new().name("spawner".into()).spawn(move || {
            for Wanted { mut command, reply } in receive {
                // Whoever went away meanwhile has no use for it, and it has nobody.
                if let Err(Ok(mut child)) = reply.send(command.spawn()) {
                    let _ = child.kill();
                    let _ = child.wait();
                }
            }
        })?;
        Ok(send)
    });
    let (reply, child) = oneshot::channel();
    let spawner = SPAWNER.as_ref().map_err(|error| io::Error::new(error.kind(), error.to_string()))?;
    spawner.send(Wanted { command, reply }).map_err(io::Error::other)?;
    child.await.map_err(io::Error::other)?
}
