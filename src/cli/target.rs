//! The server that a command talks to, and the sandbox on it.

use std::net::{IpAddr, Ipv4Addr, SocketAddr};
use std::sync::Arc;
use std::time::Duration;

use reqwest::{Method, RequestBuilder, Response};
use serde_json::{Value, json};
use tokio::net::TcpListener;
use tokio_util::sync::CancellationToken;

use super::{CliError, SandboxArgs, ServerArgs};
use crate::app::{self, App};
use crate::config::Config;
use crate::http;
use crate::http::auth::Lifetime;
use crate::ids::SandboxId;

/// How long a server that left its address may take to say that it lives.
const LIVENESS: Duration = Duration::from_secs(2);

/// A server and one sandbox of it.
pub struct Target {
    base: String,
    token: String,
    client: reqwest::Client,
    sandbox: String,
    private: Option<Private>,
}

/// A server inside this process, on a loopback port of its own.
struct Private {
    app: App,
    stop: CancellationToken,
    serving: tokio::task::JoinHandle<std::io::Result<()>>,
}

impl Target {
    /// Finds or starts the server. Call [`Target::close`] at the end.
    pub async fn open(config: &Arc<Config>, args: &SandboxArgs) -> Result<Self, CliError> {
        let mut target = Self::server(config, &args.server).await?;
        args.sandbox.clone_into(&mut target.sandbox);
        Ok(target)
    }

    async fn server(config: &Arc<Config>, args: &ServerArgs) -> Result<Self, CliError> {
        if let Some(server) = &args.server {
            let token = args.token.clone();
            let token = token.ok_or_else(|| CliError::new("--server needs --token (or SQLFS_TOKEN)"))?;
            return Self::at(server.trim_end_matches('/').to_owned(), token, None);
        }
        if let Some(address) = running(config).await {
            let token = keys(config)?.issue(&args.owner, app::DEFAULT_TENANT, Lifetime::For(ONE_DAY)).token;
            return Self::at(address, token, None);
        }
        let keys = Arc::new(keys(config)?);
        let app = app::open(config.clone()).await?;
        let listener = TcpListener::bind(SocketAddr::new(IpAddr::V4(Ipv4Addr::LOCALHOST), 0)).await?;
        let base = format!("http://{}", listener.local_addr()?);
        let token = keys.issue(&args.owner, app::DEFAULT_TENANT, Lifetime::For(ONE_DAY)).token;
        let state = http::HttpState::new(app.service.clone(), config.clone(), keys);
        let stop = CancellationToken::new();
        let stopped = stop.clone().cancelled_owned();
        let serving = tokio::spawn(http::serve(listener, http::router(state), stopped));
        Self::at(base, token, Some(Private { app, stop, serving }))
    }

    fn at(base: String, token: String, private: Option<Private>) -> Result<Self, CliError> {
        let url = reqwest::Url::parse(&base).map_err(|e| CliError::new(format!("{base}: {e}")))?;
        let local = url.host_str().is_some_and(|host| {
            let ip = host.trim_matches(['[', ']']).parse::<IpAddr>();
            host == "localhost" || ip.is_ok_and(|ip| ip.is_loopback())
        });
        // The server closes an idle connection after 10 s.
        let client = reqwest::Client::builder().pool_idle_timeout(Duration::from_secs(5));
        // A proxy that is meant for the network does not reach this machine's loopback.
        let client = if local { client.no_proxy() } else { client };
        Ok(Self { base, token, client: client.build()?, sandbox: String::new(), private })
    }

    /// Ends the server of this process, if there is one, in order.
    pub async fn close(self) {
        if let Some(private) = self.private {
            // Idle connections first, so that nothing is waited for.
            drop(self.client);
            private.stop.cancel();
            // The server's end says nothing that the command did not say already.
            let _ = private.serving.await;
            private.app.shutdown().await;
        }
    }

    /// A request with the token. `path` begins with `/v1/`.
    pub fn request(&self, method: Method, path: &str) -> RequestBuilder {
        self.client.request(method, format!("{}{path}", self.base)).bearer_auth(&self.token)
    }

    /// The id of the sandbox, which must exist.
    pub async fn sandbox(&self) -> Result<String, CliError> {
        let found = self.find().await?;
        found.ok_or_else(|| CliError::new(format!("no sandbox is named {:?}", self.sandbox)))
    }

    /// The id of the sandbox, which is made if its name is not there.
    pub async fn sandbox_or_new(&self) -> Result<String, CliError> {
        if let Some(id) = self.find().await? {
            return Ok(id);
        }
        // Two commands at once get the same one.
        let request = self.request(Method::POST, "/v1/sandboxes?ifExists=return");
        let reply = send(request.json(&json!({"name": self.sandbox, "unique": true}))).await?;
        id_of(&reply.json::<Value>().await?)
    }

    async fn find(&self) -> Result<Option<String>, CliError> {
        if self.sandbox.parse::<SandboxId>().is_ok() {
            return Ok(Some(self.sandbox.clone()));
        }
        let request = self.request(Method::GET, "/v1/sandboxes").query(&[("name", &self.sandbox)]);
        let page: Value = send(request).await?.json().await?;
        let found: Vec<String> =
            page["sandboxes"].as_array().into_iter().flatten().map(id_of).collect::<Result<_, _>>()?;
        match found.as_slice() {
            [] => Ok(None),
            [id] => Ok(Some(id.clone())),
            several => Err(CliError::new(format!(
                "{} sandboxes are named {:?}; name one by its id: {}",
                several.len(),
                self.sandbox,
                several.join(", ")
            ))),
        }
    }
}

const ONE_DAY: Duration = Duration::from_hours(24);

/// Keys of the secret that `serve` uses with the same settings.
pub fn keys(config: &Config) -> Result<http::Keys, CliError> {
    let (secret, _) = app::secret(config)?;
    Ok(http::Keys::new(&secret, None, None)?)
}

/// The URL of the server that holds the data folder, if it lives.
async fn running(config: &Config) -> Option<String> {
    let text = tokio::fs::read_to_string(config.data_dir.join(app::ADDRESS_FILE)).await.ok()?;
    let url = text.trim().to_owned();
    let client = reqwest::Client::builder().no_proxy().timeout(LIVENESS).build().ok()?;
    let reply = client.get(format!("{url}/livez")).send().await.ok()?;
    reply.status().is_success().then_some(url)
}

fn id_of(record: &Value) -> Result<String, CliError> {
    let id = record["id"].as_str().map(str::to_owned);
    id.ok_or_else(|| CliError::new("the reply holds no sandbox id: is this an sqlfs server?"))
}

/// Sends a request; a reply that is no success becomes the error it carries.
pub async fn send(request: RequestBuilder) -> Result<Response, CliError> {
    accept(request.send().await?).await
}

/// The reply, or the error that it carries.
pub async fn accept(reply: Response) -> Result<Response, CliError> {
    if reply.status().is_success() {
        return Ok(reply);
    }
    let status = reply.status();
    let body = reply.bytes().await?;
    let body: Value = serde_json::from_slice(&body).unwrap_or(Value::Null);
    Err(CliError::new(match (body["error"].as_str(), body["code"].as_str()) {
        (Some(text), Some(code)) => format!("{text} ({code})"),
        _ => format!("the server answered {status}"),
    }))
}
