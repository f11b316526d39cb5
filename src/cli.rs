//! The command line.
//!
//! Every command that touches a sandbox is a client of the HTTP interface: of the server
//! that `--server` names, of the one that holds the data folder, or, when there is none,
//! of one that this process runs for itself while the command lasts. So a command means
//! the same wherever it runs. `migrate`, `doctor` and `gc` work on the store itself.
//!
//! Exit codes: those of the script for `exec`; 0; 1 for a failed command; 2 for wrong
//! usage; 78 for a refused configuration; and 124, 125 as [`exec`] says.

use std::process::ExitCode;
use std::sync::Arc;

use clap::{Args, Parser, Subcommand};

use crate::app;
use crate::config::{Config, ConfigError};
use crate::telemetry;

pub mod archive;
pub mod events;
pub mod exec;
pub mod files;
pub mod operate;
pub mod pack;
pub mod progress;
pub mod ready;
pub mod target;
#[cfg(all(target_os = "linux", debug_assertions))]
pub mod worker_probe;

pub use target::Target;

/// Exit code of a refused configuration: `EX_CONFIG` of sysexits.h.
const REFUSED: u8 = 78;

/// Bash over HTTP on a durable file system kept in SQL.
#[derive(Debug, Parser)]
#[command(name = "sqlfs", version, after_help = "Settings come from the environment: see README.md.")]
pub struct Cli {
    #[command(subcommand)]
    command: Option<Command>,
}

#[derive(Debug, Subcommand)]
enum Command {
    /// Run the server (the default)
    Serve,
    /// Run a bash script in a sandbox
    Exec(exec::ExecArgs),
    /// List a directory of a sandbox
    Ls(files::LsArgs),
    /// Write a file of a sandbox to standard output
    Cat(files::CatArgs),
    /// Copy a local file into a sandbox
    Put(files::PutArgs),
    /// Copy a file of a sandbox to a local file
    Get(files::GetArgs),
    /// Copy a local directory or tar archive into a sandbox
    Ingest(archive::IngestArgs),
    /// Write a directory of a sandbox as a .tar.gz
    Export(archive::ExportArgs),
    /// Make a token for the HTTP interface
    Token(operate::TokenArgs),
    /// Bring the database's schema up to this version
    Migrate(operate::MigrateArgs),
    /// Check the installation
    Doctor,
    /// Ask a server whether it can serve; exit code 0 if it can
    Ready(ready::ReadyArgs),
    /// Run scripts for a server that started this process
    #[cfg(target_os = "linux")]
    #[command(hide = true)]
    Worker(WorkerArgs),
    /// Delete old versions, deleted sandboxes and contents that nothing names
    Gc,
    /// Try to get out of a worker's guards
    #[cfg(all(target_os = "linux", debug_assertions))]
    #[command(hide = true)]
    WorkerProbe(worker_probe::WorkerProbeArgs),
}

/// How a worker process is started.
#[cfg(target_os = "linux")]
#[derive(Clone, Copy, Debug, Args)]
pub struct WorkerArgs {
    /// Its scripts may run Python
    #[arg(long)]
    python: bool,
}

/// Which server, and as whom.
#[derive(Clone, Debug, Args)]
pub struct ServerArgs {
    /// URL of a server; without it, the server or store of the data folder
    #[arg(long, env = "SQLFS_SERVER", value_name = "URL")]
    server: Option<String>,
    /// Token for that server
    #[arg(long, env = "SQLFS_TOKEN", hide_env_values = true, requires = "server")]
    token: Option<String>,
    /// Owner of the sandboxes, when there is no --token
    #[arg(long, env = "SQLFS_OWNER", default_value = app::LOCAL_OWNER)]
    owner: String,
}

/// Which sandbox.
#[derive(Clone, Debug, Args)]
pub struct SandboxArgs {
    /// Name or id; `exec`, `put` and `ingest` make a sandbox of this name if there is none
    #[arg(long, short, env = "SQLFS_SANDBOX", value_name = "NAME|ID", default_value = "default")]
    sandbox: String,
    #[command(flatten)]
    server: ServerArgs,
}

/// Why a command failed.
#[derive(Debug, thiserror::Error)]
pub enum CliError {
    /// The configuration is refused.
    #[error("{0}")]
    Config(#[from] ConfigError),
    /// The server or the store does not start.
    #[error("{0}")]
    Start(#[from] app::StartError),
    /// Anything else, for people; and the exit code.
    #[error("{0}")]
    Failed(String, u8),
}

impl CliError {
    /// A failure with exit code 1.
    pub fn new(text: impl Into<String>) -> Self {
        Self::Failed(text.into(), 1)
    }

    fn code(&self) -> u8 {
        match self {
            Self::Config(_) | Self::Start(app::StartError::Refused(_)) => REFUSED,
            Self::Start(app::StartError::Failed(_)) => 1,
            Self::Failed(_, code) => *code,
        }
    }
}

impl From<reqwest::Error> for CliError {
    fn from(error: reqwest::Error) -> Self {
        use std::error::Error;
        // reqwest's own text names the URL; the cause is in its sources.
        let (mut cause, mut next) = (String::new(), error.source());
        while let Some(source) = next {
            (cause, next) = (format!(": {source}"), source.source());
        }
        Self::new(format!("{error}{cause}"))
    }
}

impl From<std::io::Error> for CliError {
    fn from(error: std::io::Error) -> Self {
        Self::new(error.to_string())
    }
}

/// Parses the command line of the process and runs it.
#[must_use]
pub fn main() -> ExitCode {
    let command = Cli::parse().command.unwrap_or(Command::Serve);
    // Before anything is read or opened: it has no configuration.
    #[cfg(target_os = "linux")]
    if let Command::Worker(args) = command {
        return app::worker(args.python).unwrap_or_else(|why| fail(&CliError::new(why)));
    }
    match start(command) {
        Ok(code) => ExitCode::from(code),
        Err(error) => fail(&error),
    }
}

fn start(command: Command) -> Result<u8, CliError> {
    // Before anything starts a thread.
    #[cfg(all(target_os = "linux", debug_assertions))]
    if let Command::WorkerProbe(args) = command {
        return worker_probe::run(args);
    }
    let config = Arc::new(Config::from_env()?);
    // Commands print results, not what goes on inside; `serve` logs as it is told.
    let serves = matches!(command, Command::Serve);
    let filter = if serves { config.log_filter.as_str() } else { "warn" };
    let traced = serves && config.otlp_endpoint.is_some();
    // Outlives the runtime, so that what ends with it is traced too.
    let _telemetry = telemetry::init(config.log_format, filter, traced)?;
    crate::app::runtime()?.block_on(run(command, config))
}

fn fail(error: &CliError) -> ExitCode {
    eprintln!("sqlfs: {error}");
    ExitCode::from(error.code())
}

async fn run(command: Command, config: Arc<Config>) -> Result<u8, CliError> {
    match command {
        #[cfg(target_os = "linux")]
        Command::Worker(_) => Err(CliError::new("a worker has no configuration")),
        Command::Serve => app::serve(config).await.map(|()| 0).map_err(CliError::from),
        Command::Exec(args) => exec::exec(&config, args).await,
        Command::Ls(args) => files::ls(&config, args).await.map(|()| 0),
        Command::Cat(args) => files::cat(&config, args).await.map(|()| 0),
        Command::Put(args) => files::put(&config, args).await.map(|()| 0),
        Command::Get(args) => files::get(&config, args).await.map(|()| 0),
        Command::Ingest(args) => archive::ingest(&config, args).await.map(|()| 0),
        Command::Export(args) => archive::export(&config, args).await.map(|()| 0),
        Command::Token(args) => operate::token(&config, &args),
        Command::Migrate(args) => operate::migrate(&config, args).await,
        Command::Ready(args) => ready::ready(&config, args).await,
        Command::Doctor => operate::doctor(&config).await,
        Command::Gc => operate::gc(&config).await,
        #[cfg(all(target_os = "linux", debug_assertions))]
        Command::WorkerProbe(_) => unreachable!("it ran before the runtime started"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_command_line_is_consistent() {
        use clap::CommandFactory;
        Cli::command().debug_assert();
    }

    #[test]
    fn no_command_means_serve() {
        assert!(Cli::try_parse_from(["sqlfs"]).expect("parses").command.is_none());
    }

    #[test]
    fn a_token_needs_its_server() {
        assert!(Cli::try_parse_from(["sqlfs", "ls", "--token", "t"]).is_err());
        Cli::try_parse_from(["sqlfs", "ls", "--token", "t", "--server", "http://h"]).expect("parses");
    }
}
