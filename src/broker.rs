//! The network of scripts. Workers have no sockets: they ask, the server makes the request
//! here, and it alone knows what is allowed and which credentials go with it.
//!
//! One request, step by step:
//! 1. `place`: the URL, read as browsers read it; only http and https.
//! 2. `place`, `bound`: is it below a prefix of the sandbox's list, and within what the
//!    operator allows at all? DNS is not asked before.
//! 3. `addresses`: the name becomes addresses; private ones are dropped.
//! 4. `rules`: credentials that the operator set for this prefix.
//! 5. `client`: one connection, to one of these addresses and nowhere else.
//!
//! A redirect is not followed here. Whoever follows it asks again, and all steps are taken
//! again.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use url::{Host, Url};

use crate::ids::SandboxId;

mod addresses;
mod bound;
mod budget;
mod client;
mod measure;
mod place;
mod refusals;
mod resolver;
mod rules;

pub use addresses::{Exceptions, is_public};
pub use bound::Bound;
pub use place::{Allow, Prefix};
pub use resolver::{Resolver, System};
pub use rules::Rules;

use budget::Budget;
use client::Client;
use measure::Measure;
use refusals::Refusals;

/// Longest time of one request.
pub const LONGEST: Duration = Duration::from_mins(5);

/// Longest time until a connection stands.
const LONGEST_CONNECT: Duration = Duration::from_secs(30);

/// Bytes of the URL and of all headers of a request.
pub const LONGEST_HEAD: usize = 64 << 10;

/// A request as a script asks for it.
#[derive(Clone, Debug, Default)]
pub struct Ask {
    /// `GET`, …
    pub method: String,
    /// As the script wrote it.
    pub url: String,
    /// In order.
    pub headers: Vec<(String, String)>,
    /// Body.
    pub body: Vec<u8>,
    /// For all of it; at most [`LONGEST`].
    pub timeout: Duration,
    /// Until a connection stands.
    pub connect_timeout: Duration,
    /// Bytes of a body that is taken.
    pub longest: u64,
}

/// What came back.
#[derive(Clone, Debug, Default)]
pub struct Answer {
    /// Status code.
    pub status: u16,
    /// `HTTP/1.1` or `HTTP/1.0`.
    pub version: &'static str,
    /// What the server calls the status.
    pub reason: String,
    /// The URL as it was read: the normal form of what was asked for.
    pub url: String,
    /// In order, names in lower case.
    pub headers: Vec<(String, String)>,
    /// Body as it came over the line: nothing is unpacked here.
    pub body: Vec<u8>,
}

/// Why there is no answer.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Failure {
    /// curl's exit code for it.
    pub exit: u8,
    /// One sentence for people; it names no address.
    pub message: String,
    /// That it may not be made, and which rule says so.
    pub refusal: Option<Refusal>,
}

/// The rule that refused a request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Refusal {
    /// The sandbox's list.
    List,
    /// What the operator allows at all.
    Operator,
    /// The address is private.
    Address,
    /// Too many were refused before.
    TooMany,
}

impl Refusal {
    /// As a label of metrics.
    fn name(self) -> &'static str {
        match self {
            Self::List => "list",
            Self::Operator => "operator",
            Self::Address => "address",
            Self::TooMany => "too_many",
        }
    }
}

impl Failure {
    fn new(exit: u8, message: impl Into<String>) -> Self {
        Self { exit, message: message.into(), refusal: None }
    }

    fn refused(refusal: Refusal, why: &str) -> Self {
        let refusal = Some(refusal);
        Self { refusal, ..Self::new(7, format!("destination not allowed: {why}")) }
    }
}

/// What an operator sets.
#[derive(Debug)]
pub struct Settings<'a> {
    /// `NETWORK_ENABLED`.
    pub enabled: bool,
    /// `NETWORK_ALLOWED_HOSTS`; empty: no bound.
    pub allowed_hosts: &'a str,
    /// `NETWORK_ALLOW_PRIVATE`.
    pub allow_private: &'a str,
    /// `NETWORK_RULES`: JSON, or the path of a file with it.
    pub rules: &'a str,
    /// `NETWORK_CA_FILE`: further authorities, PEM.
    pub ca_file: Option<&'a Path>,
    /// Largest body that is taken.
    pub largest_body: u64,
}

impl Default for Settings<'_> {
    fn default() -> Self {
        Self {
            enabled: true,
            allowed_hosts: "",
            allow_private: "",
            rules: "",
            ca_file: None,
            largest_body: 0,
        }
    }
}

/// Makes the requests of all scripts of this process.
pub struct Broker {
    bound: Bound,
    exceptions: Exceptions,
    rules: Rules,
    resolver: Arc<dyn Resolver>,
    client: Client,
    budget: Budget,
    refusals: Refusals,
    largest_body: u64,
}

impl Broker {
    /// A broker. `Err` is one line that names the setting that is wrong.
    pub fn new(settings: &Settings<'_>, resolver: Arc<dyn Resolver>) -> Result<Self, String> {
        Ok(Self {
            bound: Bound::parse(settings.enabled, settings.allowed_hosts)
                .map_err(|why| format!("NETWORK_ALLOWED_HOSTS: {why}"))?,
            exceptions: Exceptions::parse(settings.allow_private)
                .map_err(|why| format!("NETWORK_ALLOW_PRIVATE: {why}"))?,
            rules: Rules::read(settings.rules).map_err(|why| format!("NETWORK_RULES: {why}"))?,
            resolver,
            client: Client::new(settings.ca_file).map_err(|why| format!("NETWORK_CA_FILE: {why}"))?,
            budget: Budget::default(),
            refusals: Refusals::default(),
            largest_body: settings.largest_body,
        })
    }

    /// What the operator lets sandboxes reach.
    #[must_use]
    pub fn bound(&self) -> &Bound {
        &self.bound
    }

    /// Makes one request for a script of `sandbox`, which may reach what `allow` says.
    /// Dropping the future ends the connection.
    pub async fn fetch(&self, sandbox: SandboxId, allow: &Allow, ask: Ask) -> Result<Answer, Failure> {
        let mut measure = Measure::request();
        let read = place::read(&ask.url).and_then(|url| Ok((client::request(&url, &ask)?, url)));
        let (request, url) = read.inspect_err(|_| measure.ended("malformed"))?;
        let result = self.checked(sandbox, allow, ask, request, url).await;
        measure.ended(measure::outcome(&result));
        result
    }

    /// A request that could be read.
    async fn checked(
        &self,
        sandbox: SandboxId,
        allow: &Allow,
        ask: Ask,
        mut request: reqwest::Request,
        url: Url,
    ) -> Result<Answer, Failure> {
        self.refusals.check(sandbox)?;
        if !allow.covers(&url) {
            self.refusals.note(sandbox);
            return Err(Failure::refused(Refusal::List, "it is not on the list of this sandbox"));
        }
        if let Err(why) = self.bound.check(&url) {
            self.refusals.note(sandbox);
            return Err(Failure::refused(Refusal::Operator, &why));
        }
        let limit = ask.timeout.min(LONGEST);
        let longest = ask.longest.min(self.largest_body);
        let connect = ask.connect_timeout.min(LONGEST_CONNECT).min(limit);
        client::give_body(&mut request, ask);
        let work = async {
            let addresses = self.addresses(sandbox, &url).await?;
            let headers = self.rules.headers(&url);
            self.client.send(request, headers, addresses, connect, longest, &self.budget).await
        };
        let late =
            || Failure::new(28, format!("Operation timed out after {} milliseconds", limit.as_millis()));
        tokio::time::timeout(limit, work).await.unwrap_or_else(|_| Err(late()))
    }

    /// The addresses behind a URL that may be connected to; at least one.
    async fn addresses(&self, sandbox: SandboxId, url: &Url) -> Result<Vec<SocketAddr>, Failure> {
        let port = url.port_or_known_default().unwrap_or(80);
        let (name, found): (Option<&str>, Vec<IpAddr>) = match url.host() {
            Some(Host::Ipv4(ip)) => (None, vec![ip.into()]),
            Some(Host::Ipv6(ip)) => (None, vec![ip.into()]),
            // RFC 6761: such a name means this machine, whatever a resolver says of it.
            Some(Host::Domain(name)) if is_local(name) => {
                (Some(name), vec![Ipv4Addr::LOCALHOST.into(), Ipv6Addr::LOCALHOST.into()])
            }
            Some(Host::Domain(name)) => {
                let unknown = || Failure::new(6, format!("Could not resolve host: {name}"));
                let mut measure = Measure::dns();
                let found = self.resolver.resolve(name).await.unwrap_or_default();
                measure.ended(if found.is_empty() { "unknown" } else { "found" });
                (Some(name), if found.is_empty() { return Err(unknown()) } else { found })
            }
            None => return Err(Failure::new(3, "URL using bad/illegal format or missing URL")),
        };
        let may = |ip: &IpAddr| is_public(*ip) || self.exceptions.cover(name, *ip, port);
        let fine: Vec<SocketAddr> =
            found.into_iter().filter(may).map(|ip| SocketAddr::new(ip, port)).collect();
        if fine.is_empty() {
            self.refusals.note(sandbox);
            return Err(Failure::refused(Refusal::Address, "its address is not a public one"));
        }
        Ok(fine)
    }
}

/// `localhost`, and names below it.
fn is_local(name: &str) -> bool {
    let name = name.trim_end_matches('.');
    name == "localhost" || name.ends_with(".localhost")
}
