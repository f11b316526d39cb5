//! `sqlfs ready`: `/readyz` for health checks, where there is no curl.

use std::net::{IpAddr, Ipv4Addr, SocketAddr};
use std::time::Duration;

use clap::Args;
use serde_json::Value;

use super::CliError;
use crate::config::Config;

/// Arguments of `ready`.
#[derive(Debug, Args)]
pub struct ReadyArgs {
    /// URL of the server; without it, the one that BIND_ADDRESS and PORT describe
    #[arg(long, env = "SQLFS_SERVER", value_name = "URL")]
    server: Option<String>,
}

/// Below the usual time limit of a health check.
const PATIENCE: Duration = Duration::from_secs(4);

/// Prints what the server says of itself. 0 if it can serve, else 1.
pub async fn ready(config: &Config, args: ReadyArgs) -> Result<u8, CliError> {
    let local = || {
        let any = config.bind_address.is_unspecified();
        let host = if any { IpAddr::V4(Ipv4Addr::LOCALHOST) } else { config.bind_address };
        format!("http://{}", SocketAddr::new(host, config.port))
    };
    let server = args.server.unwrap_or_else(local);
    let client = reqwest::Client::builder().timeout(PATIENCE).build()?;
    let reply = client.get(format!("{}/readyz", server.trim_end_matches('/'))).send().await?;
    let can = reply.status().is_success();
    let body: Value = reply.json().await?;
    println!("{body}");
    Ok(u8::from(!can))
}
