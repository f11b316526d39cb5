//! `sqlfs exec`: a script, live.
//!
//! The exit code is the script's. When the script was cut off and left no trace, it is
//! 124 for its timeout and 125 for any other cause, named on standard error.

use std::io::Read;
use std::sync::Arc;

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use clap::Args;
use futures_util::StreamExt;
use reqwest::Method;
use serde_json::{Map, Value, json};
use tokio::io::{AsyncWrite, AsyncWriteExt};

use super::events::Decoder;
use super::target::send;
use super::{CliError, SandboxArgs, Target};
use crate::config::Config;

/// The script was cut off at its timeout, as timeout(1) says it.
const TIMED_OUT: u8 = 124;
/// sqlfs itself failed.
const FAILED: u8 = 125;

/// Options of `exec`.
#[derive(Debug, Args)]
pub struct ExecArgs {
    #[command(flatten)]
    sandbox: SandboxArgs,
    /// Refuse to change files
    #[arg(long)]
    read_only: bool,
    /// Undo all changes if the script exits with an error
    #[arg(long)]
    rollback_on_error: bool,
    /// Directory to start in (absolute)
    #[arg(long, value_name = "DIR")]
    cwd: Option<String>,
    /// Environment variable for the script; may be given again
    #[arg(long, value_name = "NAME=VALUE", value_parser = variable)]
    env: Vec<(String, String)>,
    /// Seconds after which the script is cut off and undone
    #[arg(long, value_name = "SECONDS", value_parser = clap::value_parser!(u64).range(1..=300), default_value = "30")]
    timeout: u64,
    /// Give the script this command's standard input (read to its end first)
    #[arg(long, short = 'i')]
    stdin: bool,
    /// bash source, or `-` for standard input
    script: String,
    /// `$1`, `$2`, ...
    #[arg(trailing_var_arg = true, allow_hyphen_values = true)]
    args: Vec<String>,
}

fn variable(text: &str) -> Result<(String, String), String> {
    let (name, value) = text.split_once('=').ok_or("expected NAME=VALUE")?;
    Ok((name.to_owned(), value.to_owned()))
}

/// Runs the script; gives the exit code.
pub async fn exec(config: &Arc<Config>, mut args: ExecArgs) -> Result<u8, CliError> {
    if args.script == "-" {
        if args.stdin {
            return Err(CliError::Failed("standard input cannot be both the script and its input".into(), 2));
        }
        args.script = read_stdin()?;
    }
    let stdin = args.stdin.then(read_stdin).transpose()?;
    let target = Target::open(config, &args.sandbox).await?;
    let code = on(&target, &args, stdin).await;
    target.close().await;
    code.map_err(|error| match error {
        CliError::Failed(text, 1) => CliError::Failed(text, FAILED),
        other => other,
    })
}

fn read_stdin() -> Result<String, CliError> {
    let mut bytes = Vec::new();
    std::io::stdin().read_to_end(&mut bytes)?;
    String::from_utf8(bytes).map_err(|_| {
        CliError::new("standard input is not UTF-8 text; put bytes into a file with `sqlfs put`")
    })
}

async fn on(target: &Target, args: &ExecArgs, stdin: Option<String>) -> Result<u8, CliError> {
    let id = if args.read_only { target.sandbox().await? } else { target.sandbox_or_new().await? };
    let mut body = json!({
        "script": args.script,
        "timeoutMs": args.timeout * 1000,
        "readOnly": args.read_only,
        "rollbackOnError": args.rollback_on_error,
        "args": args.args,
        "env": args.env.iter().map(|(k, v)| (k.clone(), json!(v))).collect::<Map<_, _>>(),
        // Bytes pass as they are.
        "encoding": "base64",
    });
    if let Some(cwd) = &args.cwd {
        body["cwd"] = json!(cwd);
    }
    if let Some(stdin) = stdin {
        body["stdin"] = json!(stdin);
    }
    let request = target.request(Method::POST, &format!("/v1/sandboxes/{id}/exec"));
    let mut stream = send(request.json(&body)).await?.bytes_stream();
    let (mut stdout, mut stderr) = (tokio::io::stdout(), tokio::io::stderr());
    let (mut decoder, mut failure) = (Decoder::default(), None);
    while let Some(piece) = stream.next().await {
        for (name, data) in decoder.push(&piece?)? {
            match name.as_str() {
                "stdout" => output(&mut stdout, &data).await?,
                "stderr" => output(&mut stderr, &data).await?,
                "error" => failure = Some(cut_off(&data)),
                "exit" => return failure.map_or_else(|| exit_code(&data), Err),
                // Events of later versions.
                _ => {}
            }
        }
    }
    Err(failure.unwrap_or_else(|| CliError::new("the connection ended before the script did")))
}

async fn output(to: &mut (impl AsyncWrite + Unpin), data: &Value) -> Result<(), CliError> {
    let bytes = data["data"].as_str().and_then(|text| STANDARD.decode(text).ok());
    to.write_all(&bytes.ok_or_else(|| CliError::new("the server sent output that is no base64"))?).await?;
    Ok(to.flush().await?)
}

fn cut_off(error: &Value) -> CliError {
    let code = error["code"].as_str().unwrap_or_default();
    let text = error["error"].as_str().unwrap_or("the script failed");
    let exit = if code == "EXEC_TIMEOUT" { TIMED_OUT } else { FAILED };
    CliError::Failed(format!("{text} ({code})"), exit)
}

fn exit_code(exit: &Value) -> Result<u8, CliError> {
    let code = exit["exitCode"].as_i64().and_then(|code| u8::try_from(code).ok());
    code.ok_or_else(|| CliError::new("the server sent no exit code"))
}
