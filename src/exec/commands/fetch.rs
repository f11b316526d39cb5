//! HTTP for `curl` and `wget`: asks the server for each request, and follows redirects by
//! asking again, so that each is checked as the first one was.

use url::Url;

use super::Call;
use crate::clock;
use crate::exec::host::{Bin, Fetch, Fetched, Host, NotFetched, Question, Reply};

pub(super) mod cookies;

use cookies::Jar;

/// How commands reach the network.
pub(crate) struct Net<'a> {
    /// Answers.
    pub(crate) host: &'a dyn Host,
    /// Whether the sandbox has network permission.
    pub(crate) allowed: bool,
}

/// What is said without permission.
pub(super) const OFF: &str = "network access is off for this sandbox; create it with \"network\": true or \
                              {\"allow\": [URL prefixes]}";

/// Milliseconds of one command, unless it says less.
pub(super) const LONGEST_MS: u64 = 300_000;

/// What a command wants, redirects included.
#[derive(Clone, Debug, Default)]
pub(super) struct Plan {
    pub(super) method: String,
    /// Whether redirects keep the method, as it was given by name.
    pub(super) fixed: bool,
    pub(super) url: String,
    pub(super) headers: Vec<(String, String)>,
    pub(super) body: Vec<u8>,
    pub(super) timeout_ms: u64,
    pub(super) connect_timeout_ms: u64,
    pub(super) longest: u64,
    /// How many redirects are followed; `None`: they are answers.
    pub(super) redirects: Option<u32>,
    pub(super) https_only: bool,
}

/// One request and its answer.
pub(super) struct Hop {
    pub(super) method: String,
    pub(super) sent: Vec<(String, String)>,
    pub(super) got: Fetched,
}

/// All requests of one transfer, and why it ended early.
#[derive(Default)]
pub(super) struct Transfer {
    pub(super) hops: Vec<Hop>,
    pub(super) failed: Option<NotFetched>,
}

impl Transfer {
    pub(super) fn last(&self) -> Option<&Fetched> {
        self.hops.last().map(|hop| &hop.got)
    }
}

/// Headers that are for one origin.
const FOR_ONE_ORIGIN: [&str; 2] = ["authorization", "cookie"];

pub(super) fn is(name: &str, other: &str) -> bool {
    name.eq_ignore_ascii_case(other)
}

/// The first header of this name (in lower case).
pub(super) fn header<'a>(got: &'a Fetched, name: &str) -> Option<&'a str> {
    got.headers.iter().find(|(own, _)| own == name).map(|(_, value)| value.as_str())
}

/// Carries a plan out. Cookies go into `jar` and come from it.
pub(super) async fn transfer(
    net: &Net<'_>,
    call: &Call<'_>,
    plan: &Plan,
    mut jar: Option<&mut Jar>,
) -> Transfer {
    let (mut plan, mut done, begun) = (plan.clone(), Transfer::default(), clock::now());
    let most = plan.redirects.unwrap_or(0);
    loop {
        let left = plan.timeout_ms.saturating_sub(begun.elapsed().as_millis() as u64);
        let mut headers = plan.headers.clone();
        if let (Some(jar), Ok(url)) = (&jar, Url::parse(&plan.url)) {
            headers.extend(jar.header(&url, call.now_ns).map(|cookies| ("Cookie".to_owned(), cookies)));
        }
        match one(net, &plan, &headers, left).await {
            Ok(got) => {
                if let (Some(jar), Ok(url)) = (jar.as_deref_mut(), Url::parse(&got.url)) {
                    let set = got.headers.iter().filter(|(name, _)| name == "set-cookie");
                    set.for_each(|(_, value)| jar.set(&url, value, call.now_ns));
                }
                done.hops.push(Hop { method: plan.method.clone(), sent: headers, got });
            }
            Err(mut failed) => {
                if !done.hops.is_empty() && failed.exit == 7 {
                    failed.message = format!("redirect not allowed: {}", failed.message);
                }
                done.failed = Some(failed);
                return done;
            }
        }
        let next = plan.redirects.is_some().then(|| done.last().and_then(target)).flatten();
        let Some(next) = next else { return done };
        let fail = |exit, message: String| Some(NotFetched { exit, message });
        let next = match next {
            Ok(next) => next,
            Err(message) => {
                done.failed = fail(47, message);
                return done;
            }
        };
        if done.hops.len() as u32 > most {
            done.failed = fail(47, format!("Maximum ({most}) redirects followed"));
            return done;
        }
        redirect(&mut plan, next, done.last().map_or(0, |got| got.status));
    }
}

/// Where an answer sends to. `Err`: not to a place of HTTP.
fn target(got: &Fetched) -> Option<Result<Url, String>> {
    let location = header(got, "location").filter(|_| matches!(got.status, 301 | 302 | 303 | 307 | 308))?;
    let next = Url::parse(&got.url).ok()?.join(location);
    Some(match next {
        Ok(next) if matches!(next.scheme(), "http" | "https") => Ok(next),
        Ok(_) => Err("redirect not allowed: only to http and https".into()),
        Err(_) => Err("redirect not allowed: its place is no URL".into()),
    })
}

fn redirect(plan: &mut Plan, next: Url, status: u16) {
    let to_get = match status {
        303 => plan.method != "HEAD",
        301 | 302 => plan.method == "POST",
        _ => false,
    };
    if to_get {
        plan.body = Vec::new();
        plan.headers.retain(|(name, _)| !is(name, "content-type"));
        if !plan.fixed {
            plan.method = "GET".into();
        }
    }
    if Url::parse(&plan.url).map(|url| url.origin()) != Ok(next.origin()) {
        plan.headers.retain(|(name, _)| !FOR_ONE_ORIGIN.iter().any(|own| is(name, own)));
    }
    plan.url = next.into();
}

async fn one(
    net: &Net<'_>,
    plan: &Plan,
    headers: &[(String, String)],
    left: u64,
) -> Result<Fetched, NotFetched> {
    let no = |exit, message: &str| NotFetched { exit, message: message.to_owned() };
    if !net.allowed {
        return Err(no(7, OFF));
    }
    if plan.https_only && !plan.url.starts_with("https://") {
        return Err(no(1, "Protocol \"http\" disabled"));
    }
    // More would not fit into a question; the server allows less.
    let head: usize = headers.iter().map(|(name, value)| name.len() + value.len()).sum();
    if head + plan.url.len() > LONGEST_HEAD {
        return Err(no(43, "invalid header: URL and headers are too long"));
    }
    let fetch = Fetch {
        method: plan.method.clone(),
        url: plan.url.clone(),
        headers: headers.to_vec(),
        body: Bin(plan.body.clone()),
        timeout_ms: left,
        connect_timeout_ms: plan.connect_timeout_ms.min(left),
        longest: plan.longest,
    };
    match net.host.ask(Question::Fetch(Box::new(fetch))).await {
        Reply::Fetched(got) => Ok(*got),
        Reply::NotFetched(failed) => Err(failed),
        Reply::Refused(why) | Reply::Busy(why) => Err(NotFetched { exit: 7, message: why }),
        Reply::Done => Err(no(2, "the server gave no answer")),
    }
}

/// Bytes of URL and headers of one question.
const LONGEST_HEAD: usize = 256 << 10;

/// A URL as people write it: without a scheme it is http, and a user may stand in it.
/// Gives the URL without the user, and `user:password`.
pub(super) fn split_user(text: &str) -> (String, Option<String>) {
    let text = if text.contains("://") { text.to_owned() } else { format!("http://{text}") };
    let start = text.find("://").map_or(0, |at| at + 3);
    let end = text[start..].find(['/', '?', '#', '\\']).map_or(text.len(), |at| start + at);
    let Some(at) = text[start..end].rfind('@') else { return (text, None) };
    let user =
        percent_encoding::percent_decode_str(&text[start..start + at]).decode_utf8_lossy().into_owned();
    (format!("{}{}", &text[..start], &text[start + at + 1..]), Some(user))
}

/// `Basic …`.
pub(super) fn basic(user: &str) -> String {
    use base64::Engine as _;
    let user = if user.contains(':') { user.to_owned() } else { format!("{user}:") };
    format!("Basic {}", base64::engine::general_purpose::STANDARD.encode(user))
}

/// A number of seconds with a fraction, in milliseconds.
pub(super) fn seconds(text: &str) -> Option<u64> {
    let seconds = text.parse::<f64>().ok().filter(|seconds| seconds.is_finite() && *seconds >= 0.0)?;
    Some((seconds * 1000.0) as u64)
}

/// The last segment of a URL's path, as a name for a file.
pub(super) fn remote_name(url: &str) -> Option<String> {
    let path = url.split("://").nth(1)?.split(['?', '#']).next()?;
    let name = path.split_once('/')?.1.rsplit('/').next()?;
    (!name.is_empty() && name != "." && name != "..").then(|| name.to_owned())
}

/// Bytes of a file, of standard input (`-`), of what the interpreter invents, or of nothing.
pub(super) fn input(call: &Call<'_>, name: &str) -> Result<Vec<u8>, crate::fs::Errno> {
    match name {
        "-" | "/dev/stdin" => Ok(call.stdin.to_vec()),
        "/dev/null" => Ok(Vec::new()),
        name if call.lent.contains_key(name) => Ok(call.lent[name].data.to_vec()),
        name => call.files.read(&call.path(name)).map(|data| data.to_vec()),
    }
}
