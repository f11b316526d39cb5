//! Repositories of the network, over git's smart protocol (version 0). Every request is
//! asked of the server, which knows what the sandbox may reach.

use std::collections::BTreeMap;

use super::Git;
use super::failed::{Done, Failed, fatal};
use super::oid::Oid;
use super::packet::{Packet, Packets};
use super::repo::Repo;
use crate::exec::commands::fetch::{self, Plan, header};
use crate::exec::host::Fetched;

/// What we call ourselves.
pub(super) const AGENT: &str = "git/2.47.3-sqlfs";

/// How often the first request of a conversation may be sent elsewhere.
const REDIRECTS: u32 = 20;

/// Where a repository is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Place {
    /// As given, without the user.
    Http(String),
    /// Absolute, in the sandbox.
    Path(String),
}

/// What a repository has.
#[derive(Clone, Debug, Default)]
pub(super) struct Offer {
    pub(super) refs: BTreeMap<String, Oid>,
    /// What annotated tags are of.
    pub(super) peeled: BTreeMap<String, Oid>,
    /// The branch of its HEAD.
    pub(super) head: Option<String>,
    pub(super) abilities: Vec<String>,
    /// Where it was found: requests go on there.
    pub(super) base: String,
}

impl Offer {
    /// Whether the other side can do something.
    pub(super) fn can(&self, ability: &str) -> bool {
        self.abilities.iter().any(|own| own == ability)
    }
}

/// Reads where a repository is. `Err`: by a way that there is none of here.
pub(super) fn place(git: &Git<'_>, url: &str) -> Done<Place> {
    let refused = |scheme: &str| {
        fatal(format!(
            "transport '{scheme}' is not supported here; http:// and https:// are, and paths of the sandbox"
        ))
    };
    match url.split_once("://") {
        Some(("http" | "https", _)) => Ok(Place::Http(url.trim_end_matches('/').to_owned())),
        Some((scheme, _)) => Err(refused(scheme)),
        None => {
            let host = url.split('/').next().unwrap_or_default();
            if let Some((scheme, _)) = url.split_once("::") {
                return Err(refused(scheme));
            }
            if host.contains(':') {
                return Err(refused("ssh"));
            }
            Ok(Place::Path(super::pathspec::plain(&super::absolute(&git.cwd, url))))
        }
    }
}

impl Git<'_> {
    fn headers(&self, repo: Option<&Repo<'_>>, user: Option<&String>) -> Vec<(String, String)> {
        let mut headers = vec![("User-Agent".to_owned(), AGENT.to_owned())];
        if let Some(user) = user {
            headers.push(("Authorization".into(), fetch::basic(user)));
        }
        let global = self.config_of(None).unwrap_or_default();
        let config = repo.map_or(&global, |repo| &repo.config);
        for line in config.all("http.extraheader") {
            if let Some((name, value)) = line.split_once(':') {
                headers.push((name.trim().to_owned(), value.trim().to_owned()));
            }
        }
        headers
    }

    async fn ask(&self, plan: &Plan, url: &str) -> Done<Fetched> {
        let done = fetch::transfer(self.net, self.call, plan, None).await;
        let shown = shown(url);
        if let Some(failed) = done.failed {
            return Err(fatal(format!("unable to access '{shown}/': {}", failed.message)));
        }
        let Some(got) = done.hops.into_iter().last().map(|hop| hop.got) else {
            return Err(fatal(format!("unable to access '{shown}/': no answer")));
        };
        match got.status {
            200 => Ok(got),
            401 | 407 => Err(fatal(format!("Authentication failed for '{shown}/'"))),
            404 => Err(fatal(format!("repository '{shown}/' not found"))),
            status => {
                Err(fatal(format!("unable to access '{shown}/': The requested URL returned error: {status}")))
            }
        }
    }

    /// What a repository offers to `git-upload-pack` or `git-receive-pack`.
    pub(super) async fn discover(&self, repo: Option<&Repo<'_>>, url: &str, service: &str) -> Done<Offer> {
        let (plain, user) = fetch::split_user(url);
        let tail = format!("/info/refs?service={service}");
        let plan = Plan {
            method: "GET".into(),
            url: format!("{plain}{tail}"),
            headers: self.headers(repo, user.as_ref()),
            timeout_ms: fetch::LONGEST_MS,
            connect_timeout_ms: fetch::LONGEST_MS,
            longest: self.call.files.quota().file_bytes,
            redirects: Some(REDIRECTS),
            ..Plan::default()
        };
        let got = self.ask(&plan, url).await?;
        let wanted = format!("application/x-{service}-advertisement");
        if header(&got, "content-type").is_none_or(|kind| kind.split(';').next() != Some(&wanted)) {
            return Err(fatal(format!("{}{tail} not valid: is this a git repository?", shown(url))));
        }
        let mut offer = offer(&got.body.0, service)?;
        offer.base = got.url.strip_suffix(&tail).map_or(plain, str::to_owned);
        Ok(offer)
    }

    /// Sends a request of a service to where it was found. No further redirects.
    pub(super) async fn post(
        &self,
        repo: &Repo<'_>,
        url: &str,
        offer: &Offer,
        service: &str,
        body: Vec<u8>,
    ) -> Done<Vec<u8>> {
        let (plain, user) = fetch::split_user(url);
        // Credentials are for the place that they were given for.
        let same = url::Url::parse(&plain).ok().map(|url| url.origin())
            == url::Url::parse(&offer.base).ok().map(|url| url.origin());
        let mut headers =
            if same { self.headers(Some(repo), user.as_ref()) } else { self.headers(None, None) };
        if !same {
            headers.truncate(1);
        }
        headers.push(("Content-Type".into(), format!("application/x-{service}-request")));
        headers.push(("Accept".into(), format!("application/x-{service}-result")));
        let plan = Plan {
            method: "POST".into(),
            url: format!("{}/{service}", offer.base),
            headers,
            body,
            timeout_ms: fetch::LONGEST_MS,
            connect_timeout_ms: fetch::LONGEST_MS,
            longest: self.call.files.quota().file_bytes,
            ..Plan::default()
        };
        let got = self.ask(&plan, url).await?;
        let wanted = format!("application/x-{service}-result");
        if header(&got, "content-type") != Some(&*wanted) {
            return Err(fatal(format!("unable to access '{}/': the answer is not git's", shown(url))));
        }
        Ok(got.body.0)
    }
}

/// A URL without the user's password.
pub(super) fn shown(url: &str) -> String {
    match (url.split_once("://"), fetch::split_user(url)) {
        (Some(_), (plain, Some(_))) => plain,
        _ => url.to_owned(),
    }
}

fn offer(data: &[u8], service: &str) -> Done<Offer> {
    let mut packets = Packets::new(data);
    let (mut offer, mut first) = (Offer::default(), true);
    let bad = || fatal("protocol error: bad list of refs");
    let mut begun = false;
    while let Some(packet) = packets.next()? {
        let line = match packet {
            Packet::Flush if !begun => continue,
            Packet::Flush => break,
            Packet::Line(line) => line,
        };
        if line.starts_with(format!("# service={service}").as_bytes()) {
            continue;
        }
        begun = true;
        let text = String::from_utf8_lossy(line);
        let mut text = text.trim_end_matches('\n');
        if first {
            first = false;
            if let Some((before, abilities)) = text.split_once('\0') {
                offer.abilities = abilities.split(' ').map(str::to_owned).collect();
                text = before;
            }
        }
        if text.starts_with("version ") || text.starts_with("shallow ") {
            continue;
        }
        let (oid, name) = text.split_once(' ').ok_or_else(bad)?;
        let oid = Oid::parse(oid).ok_or_else(bad)?;
        if let Some(tag) = name.strip_suffix("^{}") {
            if tag != "capabilities" {
                offer.peeled.insert(tag.to_owned(), oid);
            }
        } else if name == "HEAD" || super::refs::is_valid(name) && name.starts_with("refs/") {
            offer.refs.insert(name.to_owned(), oid);
        }
    }
    if offer
        .abilities
        .iter()
        .any(|ability| ability.starts_with("object-format=") && ability != "object-format=sha1")
    {
        return Err(fatal("repositories with SHA-256 are not supported here"));
    }
    let named = offer.abilities.iter().find_map(|ability| ability.strip_prefix("symref=HEAD:"));
    offer.head = named.map(str::to_owned);
    Ok(offer)
}

/// Why a conversation cannot go on.
pub(super) fn unable(what: &str) -> Failed {
    fatal(format!("the other side does not support {what}"))
}
