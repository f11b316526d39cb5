//! The real binary as a child process, on data that outlives it.

use std::io::BufRead;
use std::net::SocketAddr;
use std::os::unix::process::{CommandExt, ExitStatusExt};
use std::path::PathBuf;
use std::process::{Child, Command, ExitStatus, Stdio};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use sqlfs::store::{Options, Store};

use super::http::Api;
use super::postgres::Database;

/// Secret of every server under test.
pub const AUTH_SECRET: &str = "secret-of-the-integration-tests-0123456789";

/// How long a start, or an exit that was asked for, may take on a busy machine.
const PATIENCE: Duration = Duration::from_mins(1);

/// Where a server under test keeps its sandboxes. Dropped with everything in it.
pub struct TestStore {
    folder: tempfile::TempDir,
    postgres: Option<Database>,
}

impl TestStore {
    /// SQLite in a folder of its own.
    pub fn sqlite() -> Self {
        Self { folder: tempfile::tempdir().expect("a temporary folder"), postgres: None }
    }

    /// A new database on the Postgres of `SQLFS_TEST_POSTGRES`.
    pub async fn postgres() -> Self {
        let postgres = Some(Database::new().await);
        Self { folder: tempfile::tempdir().expect("a temporary folder"), postgres }
    }

    /// The store itself, opened in this process.
    pub async fn open(&self) -> Arc<dyn Store> {
        let url = self.postgres_url().unwrap_or_else(|| {
            std::fs::create_dir_all(self.data_dir()).expect("the data folder");
            format!("sqlite:{}", self.data_dir().join("sqlfs.db").display())
        });
        sqlfs::store::open(&url, &Options::default()).await.expect("the store opens")
    }

    /// `sqlite` or `postgres`, for messages.
    pub fn name(&self) -> &'static str {
        if self.postgres.is_some() { "postgres" } else { "sqlite" }
    }

    /// URL of the database for the app role, when the store is Postgres.
    pub fn postgres_url(&self) -> Option<String> {
        self.postgres.as_ref().map(Database::app_url)
    }

    /// The database, when the store is Postgres.
    pub fn database(&self) -> Option<&Database> {
        self.postgres.as_ref()
    }

    /// The data folder (`SQLFS_DATA_DIR`); on Postgres it holds no sandboxes.
    pub fn data_dir(&self) -> PathBuf {
        self.folder.path().join("data")
    }
}

/// A server under test: at most one process at a time over one [`TestStore`].
pub struct Server {
    store: TestStore,
    env: Vec<(String, String)>,
    /// The program that becomes the server, with its arguments; none: the server itself.
    by: Vec<String>,
    running: Option<Running>,
    logs: Arc<Mutex<String>>,
}

struct Running {
    child: Child,
    addr: SocketAddr,
}

impl Server {
    /// Starts a server with default settings.
    pub async fn start(store: TestStore) -> Self {
        Self::start_with(store, &[]).await
    }

    /// Starts a server with more environment variables.
    pub async fn start_with(store: TestStore, env: &[(&str, &str)]) -> Self {
        let env = env.iter().map(|(k, v)| ((*k).to_owned(), (*v).to_owned())).collect();
        let mut server = Self { store, env, by: Vec::new(), running: None, logs: Arc::default() };
        server.start_again().await;
        server
    }

    /// Starts a server with default settings, by a program that becomes it.
    pub async fn start_under(store: TestStore, by: &[&str]) -> Self {
        let by = by.iter().map(|&word| word.to_owned()).collect();
        let mut server = Self { store, env: Vec::new(), by, running: None, logs: Arc::default() };
        server.start_again().await;
        server
    }

    /// Starts a process on the same data; the one before must have ended.
    pub async fn start_again(&mut self) {
        assert!(self.running.is_none(), "the process before is still there");
        let mut command = command_by(&self.store, &self.by);
        command.envs(self.env.iter().cloned());
        let mut child = command.spawn().expect("the binary starts");
        let address = capture(&mut child, &self.logs);
        match tokio::time::timeout(PATIENCE, address).await {
            Ok(Ok(addr)) => self.running = Some(Running { child, addr }),
            not_there => {
                let _ = child.kill();
                let status = child.wait();
                panic!("the server did not start: {not_there:?}, {status:?}\n{}", self.logs());
            }
        }
    }

    /// Sets an environment variable for the next [`Server::start_again`].
    pub fn set_env(&mut self, name: &str, value: &str) {
        self.env.retain(|(k, _)| k != name);
        self.env.push((name.to_owned(), value.to_owned()));
    }

    /// The store below.
    pub fn store(&self) -> &TestStore {
        &self.store
    }

    /// The address it listens on; a new one after each start.
    pub fn addr(&self) -> SocketAddr {
        self.running.as_ref().expect("the server runs").addr
    }

    /// `http://127.0.0.1:PORT`.
    pub fn url(&self) -> String {
        format!("http://{}", self.addr())
    }

    /// A client with a token for `owner`.
    pub async fn api_as(&self, owner: &str) -> Api {
        Api::bootstrap(&self.url(), AUTH_SECRET, owner).await
    }

    /// A client with a token for the owner `tester`.
    pub async fn api(&self) -> Api {
        self.api_as("tester").await
    }

    /// The process.
    pub fn pid(&self) -> u32 {
        self.running.as_ref().expect("the server runs").child.id()
    }

    /// Sends a signal to the process.
    pub fn signal(&self, signal: i32) {
        send_signal(self.pid(), signal);
    }

    /// `kill -9`, and waits for its end.
    pub fn kill(&mut self) {
        let mut running = self.running.take().expect("the server runs");
        running.child.kill().expect("kill");
        let status = running.child.wait().expect("wait");
        assert_eq!(status.signal(), Some(libc::SIGKILL), "it ended before it was killed: {status:?}");
    }

    /// SIGTERM; [`Server::exited`] waits for the end.
    pub fn terminate(&self) {
        self.signal(libc::SIGTERM);
    }

    /// Waits until the process has ended by itself.
    pub async fn exited(&mut self) -> ExitStatus {
        let mut running = self.running.take().expect("the server runs");
        wait_for(&mut running.child).await
    }

    /// All that the processes over this store wrote to stdout and stderr so far.
    pub fn logs(&self) -> String {
        self.logs.lock().expect("logs").clone()
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        if let Some(running) = &mut self.running {
            let _ = running.child.kill();
            let _ = running.child.wait();
        }
        if std::thread::panicking() {
            eprintln!("--- logs of the server ({}) ---\n{}", self.store.name(), self.logs());
        }
    }
}

/// Runs the binary to its end with `args` beside the environment of a server over
/// `store`, and gives its status, stdout and stderr.
pub async fn run(
    store: &TestStore,
    args: &[&str],
    env: &[(&str, &str)],
    stdin: &[u8],
) -> (ExitStatus, String, String) {
    use std::io::{Read, Write};
    let mut command = command(store);
    command.args(args).envs(env.iter().copied()).stdin(Stdio::piped());
    let mut child = command.spawn().expect("the binary starts");
    let mut to = child.stdin.take().expect("stdin");
    let stdin = stdin.to_vec();
    // A child that does not read its input closes the pipe: no error of ours.
    let writer = std::thread::spawn(move || drop(to.write_all(&stdin)));
    let readers = [
        Box::new(child.stdout.take().expect("stdout")) as Box<dyn Read + Send>,
        Box::new(child.stderr.take().expect("stderr")),
    ]
    .map(|mut from| {
        std::thread::spawn(move || {
            let mut bytes = Vec::new();
            let _ = from.read_to_end(&mut bytes);
            String::from_utf8_lossy(&bytes).into_owned()
        })
    });
    let status = wait_for(&mut child).await;
    writer.join().expect("writer");
    let [stdout, stderr] = readers.map(|reader| reader.join().expect("reader"));
    (status, stdout, stderr)
}

/// The binary with a clean environment over `store`; dies with this test process.
fn command(store: &TestStore) -> Command {
    command_by(store, &[])
}

fn command_by(store: &TestStore, by: &[String]) -> Command {
    let sqlfs = env!("CARGO_BIN_EXE_sqlfs");
    let mut command = Command::new(by.first().map_or(sqlfs, String::as_str));
    command.args(by.iter().skip(1)).args((!by.is_empty()).then_some(sqlfs));
    command
        .env_clear()
        .env("PATH", "/usr/bin:/bin")
        .env("SQLFS_DATA_DIR", store.data_dir())
        .env("PORT", "0")
        .env("ADMIN_PORT", "0")
        // Each client of a test gets a token of its own.
        .env("BOOTSTRAP_RATE_LIMIT_MAX", "1000000")
        .env("ADMIN_RATE_LIMIT_MAX", "1000000")
        .env("AUTH_SECRET", AUTH_SECRET)
        .current_dir(store.folder.path())
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped());
    if let Some(url) = store.postgres_url() {
        command.env("DATABASE_URL", url);
    }
    if let Ok(interpreter) = std::env::var("SQLFS_TEST_INTERPRETER") {
        command.env("INTERPRETER", interpreter);
    }
    die_with_us(&mut command);
    command
}

/// Lets the kernel kill the child when the thread that started it ends. A test thread
/// outlives the servers that it starts; start none from a task of another runtime.
pub fn die_with_us(command: &mut Command) {
    let parent = std::process::id();
    let set = move || {
        #[expect(unsafe_code, reason = "prctl and getppid are async-signal-safe, no memory is touched")]
        let (set, parent_now) =
            unsafe { (libc::prctl(libc::PR_SET_PDEATHSIG, libc::SIGKILL), libc::getppid()) };
        // The test process may have died between fork and prctl.
        if set != 0 || u32::try_from(parent_now) != Ok(parent) {
            return Err(std::io::Error::other("the test process is gone"));
        }
        Ok(())
    };
    #[expect(
        unsafe_code,
        reason = "the closure makes two async-signal-safe calls and allocates only to fail"
    )]
    unsafe {
        command.pre_exec(set);
    }
}

/// Sends a signal to a child that was not waited for yet.
pub fn send_signal(pid: u32, signal: i32) {
    let pid = i32::try_from(pid).expect("a pid");
    #[expect(unsafe_code, reason = "kill(2) of a child that was not waited for yet: the pid is its own")]
    let sent = unsafe { libc::kill(pid, signal) };
    assert_eq!(sent, 0, "kill: {}", std::io::Error::last_os_error());
}

/// Collects the child's output, line by line; resolves to the address it prints.
fn capture(child: &mut Child, logs: &Arc<Mutex<String>>) -> tokio::sync::oneshot::Receiver<SocketAddr> {
    let (tell, address) = tokio::sync::oneshot::channel();
    let mut tell = Some(tell);
    let stdout = child.stdout.take().expect("stdout");
    let keep = logs.clone();
    std::thread::spawn(move || {
        for line in std::io::BufReader::new(stdout).lines().map_while(Result::ok) {
            if let Some(addr) = line.strip_prefix("listening on http://").and_then(|a| a.trim().parse().ok())
                && let Some(tell) = tell.take()
            {
                let _ = tell.send(addr);
            }
            push_line(&keep, &line);
        }
    });
    let stderr = child.stderr.take().expect("stderr");
    let keep = logs.clone();
    std::thread::spawn(move || {
        for line in std::io::BufReader::new(stderr).lines().map_while(Result::ok) {
            push_line(&keep, &line);
        }
    });
    address
}

fn push_line(logs: &Mutex<String>, line: &str) {
    let mut logs = logs.lock().expect("logs");
    logs.push_str(line);
    logs.push('\n');
}

async fn wait_for(child: &mut Child) -> ExitStatus {
    let deadline = tokio::time::Instant::now() + PATIENCE;
    loop {
        if let Some(status) = child.try_wait().expect("wait") {
            return status;
        }
        if tokio::time::Instant::now() > deadline {
            let _ = child.kill();
            let _ = child.wait();
            panic!("the process did not end within {PATIENCE:?}");
        }
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
}
