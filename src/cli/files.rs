//! `sqlfs ls`, `cat`, `put` and `get`.

use std::fmt::Write as _;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use clap::Args;
use futures_util::StreamExt;
use reqwest::{Body, Method, Response};
use serde_json::Value;
use tokio::fs::File;
use tokio::io::{AsyncWrite, AsyncWriteExt};
use tokio_util::io::ReaderStream;

use super::target::send;
use super::{CliError, SandboxArgs, Target};
use crate::config::Config;

/// Where paths that are not absolute begin.
const HOME: &str = "/home/user";

/// Options of `ls`.
#[derive(Debug, Args)]
pub struct LsArgs {
    #[command(flatten)]
    sandbox: SandboxArgs,
    /// Mode, size and time too
    #[arg(short)]
    long: bool,
    /// Everything below, not only the directory
    #[arg(short = 'R')]
    recursive: bool,
    /// In the sandbox; relative to /home/user
    #[arg(default_value = ".")]
    path: String,
}

/// Options of `cat`.
#[derive(Debug, Args)]
pub struct CatArgs {
    #[command(flatten)]
    sandbox: SandboxArgs,
    /// In the sandbox; relative to /home/user
    #[arg(required = true)]
    paths: Vec<String>,
}

/// Options of `put`.
#[derive(Debug, Args)]
pub struct PutArgs {
    #[command(flatten)]
    sandbox: SandboxArgs,
    /// Local file, or `-` for standard input
    from: PathBuf,
    /// In the sandbox; relative to /home/user; directories on the way are made
    to: String,
}

/// Options of `get`.
#[derive(Debug, Args)]
pub struct GetArgs {
    #[command(flatten)]
    sandbox: SandboxArgs,
    /// In the sandbox; relative to /home/user
    from: String,
    /// Local file; without it, the same name in the current directory
    to: Option<PathBuf>,
}

/// Lists a directory, one entry a line.
pub async fn ls(config: &Arc<Config>, args: LsArgs) -> Result<(), CliError> {
    let target = Target::open(config, &args.sandbox).await?;
    let listed = list(&target, &args).await;
    target.close().await;
    tokio::io::stdout().write_all(listed?.as_bytes()).await?;
    Ok(tokio::io::stdout().flush().await?)
}

async fn list(target: &Target, args: &LsArgs) -> Result<String, CliError> {
    let id = target.sandbox().await?;
    let prefix = absolute(&args.path);
    let request = target.request(Method::GET, &format!("/v1/sandboxes/{id}/tree"));
    let request = request.query(&[("prefix", &prefix)]);
    let request = if args.recursive { request } else { request.query(&[("depth", "1")]) };
    let reply = send(request).await?;
    let truncated = reply.headers().contains_key("x-truncated");
    let entries: Vec<Value> = reply.json().await?;
    let alone = entries.len() == 1 && entries[0]["kind"] != "dir";
    let mut lines = String::new();
    for entry in &entries {
        let path = entry["path"].as_str().unwrap_or_default();
        // The directory itself is not among its entries; a file is its own entry.
        let name = match path.strip_prefix(prefix.as_str()) {
            Some("") if alone => path,
            Some(rest) => rest.trim_start_matches('/'),
            None => path,
        };
        if !name.is_empty() {
            line(&mut lines, entry, name, args.long);
        }
    }
    if truncated {
        return Err(CliError::new(format!("{lines}the listing is cut off: name a directory further down")));
    }
    Ok(lines)
}

fn line(lines: &mut String, entry: &Value, name: &str, long: bool) {
    if long {
        let kind = match entry["kind"].as_str() {
            Some("dir") => 'd',
            Some("symlink") => 'l',
            _ => '-',
        };
        let (mode, size) = (entry["mode"].as_u64().unwrap_or(0), entry["size"].as_u64().unwrap_or(0));
        let _ = write!(lines, "{kind} {mode:04o} {size:>10} {} ", entry["mtime"].as_str().unwrap_or("-"));
    }
    lines.push_str(name);
    if let (true, Some(to)) = (long, entry["target"].as_str()) {
        let _ = write!(lines, " -> {to}");
    }
    lines.push('\n');
}

/// Writes files to standard output, one after another.
pub async fn cat(config: &Arc<Config>, args: CatArgs) -> Result<(), CliError> {
    let target = Target::open(config, &args.sandbox).await?;
    let copied = async {
        let id = target.sandbox().await?;
        for path in &args.paths {
            let reply = send(target.request(Method::GET, &route(&id, path))).await?;
            copy(reply, &mut tokio::io::stdout()).await?;
        }
        Ok(())
    }
    .await;
    target.close().await;
    copied
}

/// Copies a local file into the sandbox.
pub async fn put(config: &Arc<Config>, args: PutArgs) -> Result<(), CliError> {
    let local = |e: std::io::Error| CliError::new(format!("{}: {e}", args.from.display()));
    let body = if args.from == Path::new("-") {
        Body::wrap_stream(ReaderStream::new(tokio::io::stdin()))
    } else {
        let file = File::open(&args.from).await.map_err(local)?;
        if file.metadata().await.map_err(local)?.is_dir() {
            return Err(CliError::new(format!("{}: is a directory", args.from.display())));
        }
        Body::wrap_stream(ReaderStream::new(file))
    };
    let target = Target::open(config, &args.sandbox).await?;
    let sent = async {
        let id = target.sandbox_or_new().await?;
        send(target.request(Method::PUT, &route(&id, &args.to)).body(body)).await.map(drop)
    }
    .await;
    target.close().await;
    sent
}

/// Copies a file of the sandbox to a local file: all of it, or the file stays as it was.
pub async fn get(config: &Arc<Config>, args: GetArgs) -> Result<(), CliError> {
    let to = match &args.to {
        Some(to) => to.clone(),
        None => PathBuf::from(args.from.rsplit('/').next().unwrap_or_default()),
    };
    let target = Target::open(config, &args.sandbox).await?;
    let copied = async {
        let id = target.sandbox().await?;
        let reply = send(target.request(Method::GET, &route(&id, &args.from))).await?;
        into_file(&to, async |file| copy(reply, file).await).await
    }
    .await;
    target.close().await;
    copied
}

/// Lets `fill` write a local file: all of it, or the file stays as it was.
pub async fn into_file(
    to: &Path,
    fill: impl AsyncFnOnce(&mut File) -> Result<(), CliError>,
) -> Result<(), CliError> {
    if to.file_name().is_none() {
        return Err(CliError::new(format!("{:?} is no name for a local file", to.display().to_string())));
    }
    let local = |e: std::io::Error| CliError::new(format!("{}: {e}", to.display()));
    let mut part = to.as_os_str().to_owned();
    part.push(".sqlfs-part");
    let mut file = File::create(&part).await.map_err(local)?;
    let filled = match fill(&mut file).await {
        Ok(()) => tokio::fs::rename(&part, to).await.map_err(local),
        failed => failed,
    };
    if filled.is_err() {
        let _ = tokio::fs::remove_file(&part).await;
    }
    filled
}

async fn copy(reply: Response, to: &mut (impl AsyncWrite + Unpin)) -> Result<(), CliError> {
    let mut body = reply.bytes_stream();
    while let Some(piece) = body.next().await {
        to.write_all(&piece?).await?;
    }
    Ok(to.flush().await?)
}

/// The absolute path in the sandbox. `.` and `..` are resolved here, as `cd` does it: a
/// URL parser would take them for steps within the URL.
#[must_use]
pub fn absolute(path: &str) -> String {
    let from_home = if path.starts_with('/') { "" } else { HOME };
    let mut parts: Vec<&str> = Vec::new();
    for part in from_home.split('/').chain(path.split('/')) {
        match part {
            "" | "." => {}
            ".." => drop(parts.pop()),
            part => parts.push(part),
        }
    }
    format!("/{}", parts.join("/"))
}

/// The route of a file: slashes stay, other bytes that a URL cannot hold are encoded.
fn route(id: &str, path: &str) -> String {
    let mut url = format!("/v1/sandboxes/{id}/files");
    for byte in absolute(path).bytes() {
        if byte.is_ascii_alphanumeric() || b"/-._~".contains(&byte) {
            url.push(char::from(byte));
        } else {
            let _ = write!(url, "%{byte:02X}");
        }
    }
    url
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn paths_begin_at_home() {
        for (path, full) in [
            (".", "/home/user"),
            ("a/b", "/home/user/a/b"),
            ("a/", "/home/user/a"),
            ("/etc", "/etc"),
            ("/", "/"),
            ("..", "/home"),
            ("../../../x", "/x"),
            ("/a/./b//../c", "/a/c"),
        ] {
            assert_eq!(absolute(path), full);
        }
    }

    #[test]
    fn routes_are_encoded() {
        assert_eq!(route("ID", "a b?/%2f/é"), "/v1/sandboxes/ID/files/home/user/a%20b%3F/%252f/%C3%A9");
    }
}
