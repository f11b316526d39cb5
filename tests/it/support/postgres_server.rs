//! A Postgres of a test's own that takes encrypted connections alone. Made with the programs
//! in the folder that SQLFS_TEST_POSTGRES_BIN names, as `tests/run` sets it.

use std::os::unix::fs::{PermissionsExt, chown};
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::Duration;

use sqlx::ConnectOptions;
use sqlx::postgres::{PgConnectOptions, PgSslMode};

use super::certificates::Certificate;
use super::postgres::run;
use super::server::{die_with_us, send_signal};
use super::{eventually, free_port};

const PASSWORD: &str = "password-of-the-test";

/// Ends with its value.
pub struct TlsPostgres {
    _folder: tempfile::TempDir,
    port: u16,
    child: Child,
}

impl TlsPostgres {
    /// Starts one that shows `certificate`; the role `app` owns the database `app`.
    pub async fn start(certificate: &Certificate) -> Self {
        let folder = tempfile::tempdir().expect("a folder");
        let cluster = folder.path().join("cluster");
        let user = ServerUser::find();
        user.owns(folder.path());
        let password = folder.path().join("password");
        std::fs::write(&password, PASSWORD).expect("written");
        user.owns(&password);
        let mut init = user.command("initdb");
        init.arg("-D").arg(&cluster).args(["-U", "postgres", "-A", "scram-sha-256", "-E", "UTF8"]);
        init.args(["--no-locale", "--no-sync", "--pwfile"]).arg(&password);
        let made = init.output().expect("initdb");
        assert!(made.status.success(), "{}", String::from_utf8_lossy(&made.stderr));
        for (from, name) in [(&certificate.certificate, "server.crt"), (&certificate.key, "server.key")] {
            let to = cluster.join(name);
            std::fs::copy(from, &to).expect("copied");
            std::fs::set_permissions(&to, PermissionsExt::from_mode(0o600)).expect("private");
            user.owns(&to);
        }
        std::fs::write(cluster.join("pg_hba.conf"), "hostssl all all all scram-sha-256\n").expect("written");
        let port = free_port();
        let mut command = user.command("postgres");
        command.arg("-D").arg(&cluster).args(["-p", &port.to_string(), "-c", "listen_addresses=127.0.0.1"]);
        command.args(["-c", "unix_socket_directories=", "-c", "ssl=on", "-c", "log_min_messages=fatal"]);
        die_with_us(&mut command);
        let child = command.spawn().expect("postgres starts");
        let server = Self { _folder: folder, port, child };
        let admin = PgConnectOptions::new_without_pgpass()
            .host("127.0.0.1")
            .port(port)
            .username("postgres")
            .password(PASSWORD)
            .database("postgres")
            .ssl_mode(PgSslMode::Require);
        eventually("Postgres answers", Duration::from_secs(30), || async { admin.connect().await.ok() })
            .await;
        let admin = server.url("postgres", "127.0.0.1", "sslmode=require");
        run(&admin, &format!("CREATE ROLE app LOGIN PASSWORD '{PASSWORD}'")).await;
        run(&admin, "CREATE DATABASE app OWNER app").await;
        server
    }

    /// URL of the role `app`, by the name `host`, with `options` behind the question mark.
    pub fn app_url(&self, host: &str, options: &str) -> String {
        self.url("app", host, options)
    }

    fn url(&self, role: &str, host: &str, options: &str) -> String {
        format!("postgres://{role}:{PASSWORD}@{host}:{}/{role}?{options}", self.port)
    }

    /// What no message may show.
    pub fn password() -> &'static str {
        PASSWORD
    }
}

impl Drop for TlsPostgres {
    fn drop(&mut self) {
        // The fast shutdown.
        send_signal(self.child.id(), libc::SIGINT);
        let _ = self.child.wait();
    }
}

/// Who runs the server: Postgres refuses to run as root.
struct ServerUser(Option<(u32, u32)>);

impl ServerUser {
    fn find() -> Self {
        let id = |args: &[&str]| -> u32 {
            let said = Command::new("id").args(args).output().expect("id");
            let text = String::from_utf8_lossy(&said.stdout).trim().to_owned();
            text.parse().unwrap_or_else(|_| panic!("id {args:?}: is there a user named postgres? {text}"))
        };
        Self((id(&["-u"]) == 0).then(|| (id(&["-u", "postgres"]), id(&["-g", "postgres"]))))
    }

    fn owns(&self, path: &Path) {
        if let Some((user, group)) = self.0 {
            chown(path, Some(user), Some(group)).expect("given away");
        }
    }

    fn command(&self, program: &str) -> Command {
        #[expect(clippy::disallowed_methods, reason = "tests take their servers from the environment")]
        let folder = std::env::var("SQLFS_TEST_POSTGRES_BIN").map(PathBuf::from).expect(
            "no Postgres to start: run tests/run, or set SQLFS_TEST_POSTGRES_BIN to the folder of initdb",
        );
        let mut command = Command::new(folder.join(program));
        command.current_dir("/").stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::piped());
        if let Some((user, group)) = self.0 {
            command.uid(user).gid(group);
        }
        command
    }
}
