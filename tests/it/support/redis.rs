//! A Redis of a test's own, for tests that end it or empty it; the others share the one of
//! `SQLFS_TEST_REDIS`, where each has sandboxes of its own.

use std::process::{Child, Command, Stdio};
use std::time::Duration;

use super::server::die_with_us;
use super::{eventually, free_port};

/// Address of the Redis that `tests/run` started.
pub fn shared_url() -> String {
    #[expect(clippy::disallowed_methods, reason = "tests take their servers from the environment")]
    std::env::var("SQLFS_TEST_REDIS")
        .expect("no Redis to test on: run tests/run, which starts a throw-away one, or set SQLFS_TEST_REDIS")
}

/// A connection to the server of `url`.
pub async fn connect(url: &str) -> redis::aio::MultiplexedConnection {
    let client = redis::Client::open(url).expect("a Redis URL");
    client.get_multiplexed_async_connection().await.expect("Redis answers")
}

/// A server on a port of its own that keeps nothing on disk. Ends with its value.
pub struct Redis {
    port: u16,
    folder: tempfile::TempDir,
    options: Vec<String>,
    child: Option<Child>,
}

impl Redis {
    /// Starts `redis-server` as found in PATH.
    pub async fn start() -> Self {
        Self::start_with(&[]).await
    }

    /// With more options of its command line.
    pub async fn start_with(options: &[&str]) -> Self {
        let port = free_port();
        let folder = tempfile::tempdir().expect("a folder");
        let options = options.iter().map(|option| (*option).to_owned()).collect();
        let mut redis = Self { port, folder, options, child: None };
        redis.start_again().await;
        redis
    }

    /// Starts it on the same port, empty; the process before must have ended.
    pub async fn start_again(&mut self) {
        assert!(self.child.is_none(), "the process before is still there");
        let mut command = Command::new("redis-server");
        command
            .args(["--bind", "127.0.0.1", "--port", &self.port.to_string()])
            .args(["--save", "", "--appendonly", "no", "--loglevel", "warning"])
            .args(&self.options)
            .current_dir(self.folder.path())
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(Stdio::null());
        die_with_us(&mut command);
        self.child = Some(command.spawn().expect("redis-server is in PATH"));
        let client = redis::Client::open(self.url()).expect("a URL");
        eventually("Redis answers", Duration::from_secs(20), || async {
            let mut connection = client.get_multiplexed_async_connection().await.ok()?;
            redis::cmd("PING").query_async::<String>(&mut connection).await.ok()
        })
        .await;
    }

    /// `redis://127.0.0.1:PORT`.
    pub fn url(&self) -> String {
        format!("redis://127.0.0.1:{}", self.port)
    }

    /// `kill -9`, and waits for its end.
    pub fn kill(&mut self) {
        let mut child = self.child.take().expect("it runs");
        child.kill().expect("kill");
        child.wait().expect("wait");
    }

    /// Forgets everything.
    pub async fn flush(&self) {
        let mut connection = connect(&self.url()).await;
        redis::cmd("FLUSHALL").exec_async(&mut connection).await.expect("flushed");
    }
}

impl Drop for Redis {
    fn drop(&mut self) {
        if let Some(child) = &mut self.child {
            let _ = child.kill();
            let _ = child.wait();
        }
    }
}
