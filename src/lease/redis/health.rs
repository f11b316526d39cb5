//! Whether a Redis does for leases: what `sqlfs doctor` says of it, and the one thing that
//! `serve` warns of at its start.

use std::time::Duration;

use redis::aio::MultiplexedConnection;
use redis::{AsyncConnectionConfig, ConnectionAddr};

use super::RedisLeases;
use crate::clock;
use crate::ids::{SandboxId, TenantId};
use crate::lease::keys::{LeaseKey, WAKE_CHANNEL, alive};
use crate::lease::store::LeaseStore;
use crate::lease::verbs::{Answer, Claim, Hint, Holding, Incarnation, Parting, Terms, Verb};
use crate::remote::{RedisServer, explain};

/// One thing that was looked at.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Finding {
    /// What.
    pub name: &'static str,
    /// How it stands.
    pub verdict: Verdict,
    /// One line: what was found and, if bad, what to do.
    pub detail: String,
}

/// How it stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Verdict {
    /// As it should be.
    Ok,
    /// Works, but see the detail.
    Warn,
    /// No lease can be taken.
    Fail,
}

/// The oldest Redis whose commands the scripts use (`SET … KEEPTTL`).
const OLDEST: (u32, u32) = (6, 0);
/// Each write exec waits for one call; above this it is felt.
const SLOW: Duration = Duration::from_millis(20);
/// Calls whose median counts.
const CALLS: usize = 11;

/// All checks of `server`; each step takes at most `timeout`.
pub async fn checks(server: &RedisServer, terms: Terms, timeout: Duration) -> Vec<Finding> {
    let mut found = vec![encryption(server)];
    let mut connection = match connect(server, timeout).await {
        Ok(connection) => connection,
        Err(why) => {
            found.push(fail("redis", format!("does not answer: {why}")));
            return found;
        }
    };
    found.push(version(&mut connection).await);
    found.push(eviction_finding(&mut connection).await);
    match RedisLeases::new(server, terms, timeout) {
        Ok(leases) => found.push(scripts(&leases, &mut connection).await),
        Err(why) => found.push(fail("redis scripts", why)),
    }
    found.push(wake_ups(server, timeout).await);
    found
}

/// The line to warn with if `server` may throw leases away; `None`: it may not.
/// An error says why it is not known.
pub async fn eviction(server: &RedisServer, timeout: Duration) -> Result<Option<String>, String> {
    eviction_of(&mut connect(server, timeout).await?).await
}

async fn eviction_of(connection: &mut MultiplexedConnection) -> Result<Option<String>, String> {
    let limit = setting(connection, "maxmemory").await?;
    let policy = setting(connection, "maxmemory-policy").await?;
    Ok((limit != "0" && policy != "noeviction").then(|| {
        format!(
            "it may evict leases that are held (maxmemory {limit}, maxmemory-policy {policy}): set \
             maxmemory-policy to noeviction, or give leases a server of their own"
        )
    }))
}

async fn setting(connection: &mut MultiplexedConnection, name: &str) -> Result<String, String> {
    let mut get = redis::cmd("CONFIG");
    let pair: Vec<String> =
        get.arg("GET").arg(name).query_async(connection).await.map_err(|error| error.to_string())?;
    pair.into_iter().nth(1).ok_or_else(|| format!("it has no setting {name}"))
}

async fn connect(server: &RedisServer, timeout: Duration) -> Result<MultiplexedConnection, String> {
    let config = AsyncConnectionConfig::new()
        .set_connection_timeout(Some(timeout))
        .set_response_timeout(Some(timeout));
    let connecting = server.client().get_multiplexed_async_connection_with_config(&config);
    match tokio::time::timeout(timeout, connecting).await {
        Ok(connection) => connection.map_err(|error| explain(&error)),
        Err(_) => Err(format!("no answer within {} ms", timeout.as_millis())),
    }
}

fn encryption(server: &RedisServer) -> Finding {
    const NAME: &str = "redis encryption";
    match server.client().get_connection_info().addr() {
        ConnectionAddr::TcpTls { insecure: false, .. } if server.has_own_authority() => {
            ok(NAME, "TLS, by the authority of REDIS_CA_FILE".into())
        }
        ConnectionAddr::TcpTls { insecure: false, .. } => ok(NAME, "TLS".into()),
        ConnectionAddr::TcpTls { .. } => warn(
            NAME,
            "TLS without a check of the server's certificate: drop #insecure from REDIS_URL".into(),
        ),
        ConnectionAddr::Tcp(host, _) if is_local(host) => ok(NAME, "none, on this machine".into()),
        ConnectionAddr::Tcp(..) => warn(
            NAME,
            "none: whoever can listen can take leases; use rediss:// outside a trusted network".into(),
        ),
        _ => ok(NAME, "none, a socket of this machine".into()),
    }
}

fn is_local(host: &str) -> bool {
    let address = host.trim_start_matches('[').trim_end_matches(']');
    host == "localhost" || address.parse::<std::net::IpAddr>().is_ok_and(|address| address.is_loopback())
}

async fn version(connection: &mut MultiplexedConnection) -> Finding {
    const NAME: &str = "redis";
    let mut info = redis::cmd("INFO");
    let text: Result<String, _> = info.arg("server").query_async(connection).await;
    let text = match text {
        Ok(text) => text,
        Err(error) => {
            return warn(NAME, format!("answers, but not to INFO, so that there are no hints: {error}"));
        }
    };
    let field = |name: &str| text.lines().find_map(|line| line.strip_prefix(name)).unwrap_or("?").trim();
    let version = field("redis_version:");
    let mut parts = version.split('.').map(|part| part.parse::<u32>().unwrap_or(0));
    let number = (parts.next().unwrap_or(0), parts.next().unwrap_or(0));
    if number < OLDEST {
        return fail(NAME, format!("is version {version}; leases need {}.{} or later", OLDEST.0, OLDEST.1));
    }
    ok(NAME, format!("version {version}"))
}

async fn eviction_finding(connection: &mut MultiplexedConnection) -> Finding {
    const NAME: &str = "redis eviction";
    match eviction_of(connection).await {
        Ok(None) => ok(NAME, "none".into()),
        Ok(Some(line)) => warn(NAME, line),
        Err(why) => warn(NAME, format!("not known, as CONFIG GET is not allowed; it must be none ({why})")),
    }
}

/// Takes, renews and gives back a lease that nobody else asks for, by every script.
async fn scripts(leases: &RedisLeases, connection: &mut MultiplexedConnection) -> Finding {
    const NAME: &str = "redis scripts";
    let key = LeaseKey { tenant: TenantId("sqlfs-doctor".into()), sandbox: SandboxId::random() };
    let owner = Incarnation(crate::random::uuid().as_u128());
    let claim = Claim { owner, number: 1 };
    let holding = || vec![Holding { key: key.clone(), claim, fence: 9 }];
    let parting = Parting { hint: Some(Hint(1)), wrote: true };
    let (acquired, kept) = (Answer::Acquired { fence: 8, hint: None }, Answer::Kept(vec![true]));
    let steps = [
        ("acquire", Verb::Acquire { key: key.clone(), claim, floor: 7, evict: None }, acquired),
        ("raise", Verb::Raise { key: key.clone(), claim, floor: 8 }, Answer::Raised(Some(9))),
        ("renew", Verb::Renew(holding()), kept.clone()),
        ("heartbeat", Verb::Heartbeat { owner, leases: holding() }, kept),
        ("alive", Verb::Alive(owner), Answer::Alive(true)),
        ("release", Verb::Release { key: key.clone(), claim, parting }, Answer::Released),
        ("hint", Verb::Hint(key.clone()), Answer::Hint(Some(Hint(1)))),
        ("void", Verb::Void { key: key.clone(), block: 0 }, Answer::Voided),
        ("end", Verb::End(key.clone()), Answer::Ended),
    ];
    let mut finding = None;
    for (name, verb, expected) in steps {
        match leases.call(&verb).await {
            Ok(answer) if answer == expected => {}
            Ok(Answer::Hint(None)) => {
                finding = Some(warn(NAME, "work, but INFO is not allowed in them: no hints".into()));
            }
            Ok(answer) => finding = Some(fail(NAME, format!("{name} answered {answer:?}"))),
            Err(error) => {
                let allowed = "are EVALSHA, SCRIPT and the commands in them allowed on vfs:*?";
                finding = Some(fail(NAME, format!("{name} did not work ({error}): {allowed}")));
            }
        }
        if finding.as_ref().is_some_and(|finding| finding.verdict == Verdict::Fail) {
            break;
        }
    }
    let mut forget = redis::cmd("DEL");
    let names = [key.lock(), key.fence(), key.wait(), key.ver(), alive(owner)];
    // What stays otherwise ends by itself within a day.
    let _ = forget.arg(&names[..]).exec_async(connection).await;
    match finding {
        Some(finding) => finding,
        None => timing(leases, owner, connection).await,
    }
}

/// How long a call takes, and how far the clocks are apart, which nothing hangs on.
async fn timing(leases: &RedisLeases, owner: Incarnation, connection: &mut MultiplexedConnection) -> Finding {
    const NAME: &str = "redis scripts";
    let mut times = Vec::with_capacity(CALLS);
    for _ in 0..CALLS {
        let began = clock::now();
        if let Err(error) = leases.call(&Verb::Alive(owner)).await {
            return fail(NAME, error.to_string());
        }
        times.push(began.elapsed());
    }
    times.sort_unstable();
    let median = times[CALLS / 2];
    let apart = match redis::cmd("TIME").query_async::<(i64, i64)>(connection).await {
        Ok((s, us)) => {
            let ns = s.saturating_mul(1_000_000_000).saturating_add(us.saturating_mul(1000));
            format!("{} ms", (ns - clock::wall_ns()).abs() / 1_000_000)
        }
        Err(_) => "an unknown time".into(),
    };
    let detail = format!("a call takes {:.1} ms; its clock is {apart} off", median.as_secs_f64() * 1e3);
    if median > SLOW {
        return warn(NAME, format!("{detail}: each write exec waits for one call"));
    }
    ok(NAME, detail)
}

async fn wake_ups(server: &RedisServer, timeout: Duration) -> Finding {
    const NAME: &str = "redis wake-ups";
    let subscribed = async {
        let mut listener = server.client().get_async_pubsub().await?;
        listener.subscribe(format!("{WAKE_CHANNEL}sqlfs-doctor")).await
    };
    match tokio::time::timeout(timeout, subscribed).await {
        Ok(Ok(())) => ok(NAME, "can be listened for".into()),
        Ok(Err(error)) => {
            warn(NAME, format!("cannot be listened for, so that who waits asks again and again: {error}"))
        }
        Err(_) => warn(NAME, format!("no answer within {} ms", timeout.as_millis())),
    }
}

fn ok(name: &'static str, detail: String) -> Finding {
    Finding { name, verdict: Verdict::Ok, detail }
}

fn warn(name: &'static str, detail: String) -> Finding {
    Finding { name, verdict: Verdict::Warn, detail }
}

fn fail(name: &'static str, detail: String) -> Finding {
    Finding { name, verdict: Verdict::Fail, detail }
}
