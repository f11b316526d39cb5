//! `sqlfs ingest` and `export`: many files at once, streamed both ways, with progress on a
//! terminal.

use std::io::IsTerminal;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::Ordering;

use clap::Args;
use futures_util::StreamExt;
use reqwest::{Body, Method, Response};
use tokio::io::{AsyncRead, AsyncWrite, AsyncWriteExt};
use tokio_util::io::ReaderStream;

use super::files::{absolute, into_file};
use super::pack::pack;
use super::progress::{Counts, Progress};
use super::target::{accept, send};
use super::{CliError, SandboxArgs, Target};
use crate::config::Config;

/// Where an archive comes from.
enum Archive {
    Stdin,
    File(tokio::fs::File, u64),
    Dir,
}

/// Options of `ingest`.
#[derive(Debug, Args)]
pub struct IngestArgs {
    #[command(flatten)]
    sandbox: SandboxArgs,
    /// Local directory, .tar or .tar.gz, or `-` for an archive on standard input
    from: PathBuf,
    /// Directory in the sandbox; relative to /home/user; made if it is not there
    #[arg(default_value = ".")]
    to: String,
}

/// Options of `export`.
#[derive(Debug, Args)]
pub struct ExportArgs {
    #[command(flatten)]
    sandbox: SandboxArgs,
    /// Directory in the sandbox; relative to /home/user
    #[arg(default_value = ".")]
    from: String,
    /// Local file for the .tar.gz; without it, standard output
    #[arg(long, short)]
    output: Option<PathBuf>,
}

/// Writes a directory or an archive into the sandbox: all of it, or nothing.
pub async fn ingest(config: &Arc<Config>, args: IngestArgs) -> Result<(), CliError> {
    let local = |e: std::io::Error| CliError::new(format!("{}: {e}", args.from.display()));
    let archive = if args.from == Path::new("-") {
        Archive::Stdin
    } else {
        let meta = tokio::fs::metadata(&args.from).await.map_err(local)?;
        if meta.is_dir() {
            Archive::Dir
        } else {
            Archive::File(tokio::fs::File::open(&args.from).await.map_err(local)?, meta.len())
        }
    };
    let target = Target::open(config, &args.sandbox).await?;
    let sent = async {
        let id = target.sandbox_or_new().await?;
        let progress = Progress::start();
        let counts = progress.counts();
        let (body, packing) = match archive {
            Archive::Stdin => (counted(tokio::io::stdin(), counts), None),
            Archive::File(file, size) => {
                counts.total.store(size, Ordering::Relaxed);
                (counted(file, counts), None)
            }
            Archive::Dir => {
                let (stream, packing) = pack(args.from.clone(), counts);
                (Body::wrap_stream(stream), Some(packing))
            }
        };
        let request = target.request(Method::POST, &format!("/v1/sandboxes/{id}/ingest"));
        let request = request.query(&[("basePath", absolute(&args.to))]).body(body);
        let sent = request.send().await;
        progress.end().await;
        match (sent, packing) {
            (Ok(reply), _) => accept(reply).await.map(drop),
            (Err(error), None) => Err(error.into()),
            // The connection broke off: because of this end, if it failed.
            (Err(error), Some(packing)) => match packing.await {
                Ok(Err(why)) => Err(CliError::new(why)),
                _ => Err(error.into()),
            },
        }
    }
    .await;
    target.close().await;
    sent
}

/// Writes a directory of the sandbox as a .tar.gz.
pub async fn export(config: &Arc<Config>, args: ExportArgs) -> Result<(), CliError> {
    if args.output.is_none() && std::io::stdout().is_terminal() {
        return Err(CliError::Failed(
            "an archive is nothing for a terminal: use -o FILE or redirect".into(),
            2,
        ));
    }
    let target = Target::open(config, &args.sandbox).await?;
    let copied = async {
        let id = target.sandbox().await?;
        let request = target.request(Method::GET, &format!("/v1/sandboxes/{id}/export"));
        let reply = send(request.query(&[("basePath", absolute(&args.from))])).await?;
        let progress = Progress::start();
        let counts = progress.counts();
        let copied = match &args.output {
            Some(to) => into_file(to, async |file| copy(reply, file, &counts).await).await,
            None => copy(reply, &mut tokio::io::stdout(), &counts).await,
        };
        progress.end().await;
        copied
    }
    .await;
    target.close().await;
    copied
}

/// A body that counts what is taken of it.
fn counted(from: impl AsyncRead + Send + 'static, counts: Arc<Counts>) -> Body {
    Body::wrap_stream(ReaderStream::new(from).inspect(move |piece| {
        let bytes = piece.as_ref().map_or(0, |piece| piece.len() as u64);
        counts.bytes.fetch_add(bytes, Ordering::Relaxed);
    }))
}

async fn copy(reply: Response, to: &mut (impl AsyncWrite + Unpin), counts: &Counts) -> Result<(), CliError> {
    let mut body = reply.bytes_stream();
    while let Some(piece) = body.next().await {
        let piece = piece?;
        to.write_all(&piece).await?;
        counts.bytes.fetch_add(piece.len() as u64, Ordering::Relaxed);
    }
    Ok(to.flush().await?)
}
