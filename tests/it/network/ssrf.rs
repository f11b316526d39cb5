//! Ways to write a private place, from `tests/data/network/ssrf.txt`: none is connected to,
//! and each would be if the guard were off.

use std::fmt::Write as _;
use std::net::IpAddr;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use serde_json::json;
use sqlfs::broker::{Allow, Ask, Broker, Exceptions, Failure, Prefix, Resolver, Settings, is_public};
use sqlfs::ids::SandboxId;

use super::{INTERPRETERS, sandbox, server};
use crate::support::web::Web;

/// Names that lead where a test wants, each question written down.
#[derive(Default)]
pub struct Names {
    pub asked: Mutex<Vec<String>>,
}

#[async_trait::async_trait]
impl Resolver for Names {
    async fn resolve(&self, name: &str) -> std::io::Result<Vec<IpAddr>> {
        self.asked.lock().expect("names").push(name.to_owned());
        let addresses: &[&str] = match name.trim_end_matches('.') {
            "localhost" | "private.test" => &["127.0.0.1"],
            "mapped.test" => &["::ffff:127.0.0.1"],
            "six.test" => &["::1"],
            "unspecified.test" => &["0.0.0.0"],
            "many.test" => &["127.0.0.3", "::1", "127.0.0.1"],
            _ => return Err(std::io::ErrorKind::NotFound.into()),
        };
        Ok(addresses.iter().map(|text| text.parse().expect("an address")).collect())
    }
}

/// A broker with a list of private places.
pub fn broker(private: &str, names: &Arc<Names>) -> Broker {
    let settings = Settings { allow_private: private, largest_body: 1 << 20, ..Settings::default() };
    Broker::new(&settings, names.clone()).expect("a broker")
}

/// A plain request.
pub fn get(url: &str) -> Ask {
    Ask {
        method: "GET".into(),
        url: url.into(),
        timeout: Duration::from_secs(20),
        connect_timeout: Duration::from_secs(20),
        longest: u64::MAX,
        ..Ask::default()
    }
}

/// Asks for `url`; a new sandbox each time, so that refusals are not counted together.
pub async fn fetch(broker: &Broker, url: &str) -> Result<u16, Failure> {
    broker.fetch(SandboxId::random(), &Allow::All, get(url)).await.map(|answer| answer.status)
}

const FORMS: &str = include_str!("../../data/network/ssrf.txt");

/// All forms with the listener's port in them: URL, kind.
fn forms(port: u16) -> Vec<(String, &'static str)> {
    let lines = FORMS.lines().filter(|line| !line.starts_with('#'));
    let form = |line: &'static str| {
        let [form, kind, _] = line.split('\t').collect::<Vec<_>>()[..] else { panic!("{line:?}") };
        let start = form.find("://").map_or(0, |at| at + 3);
        let end = form[start..].find(['/', '?', '#', '\\']).map_or(form.len(), |at| start + at);
        (format!("{}:{port}{}", &form[..end], &form[end..]), kind)
    };
    lines.map(form).collect()
}

#[tokio::test]
async fn no_form_of_a_private_place_is_connected_to() {
    let (web, names) = (Web::at("[::]:0").await, Arc::<Names>::default());
    let forms = forms(web.addr.port());
    assert!(forms.len() >= 160, "{}", forms.len());
    let guarded = broker("", &names);
    for (url, kind) in &forms {
        let failure = fetch(&guarded, url).await.expect_err(url);
        match *kind {
            "reach" | "away" => {
                assert_eq!(failure.exit, 7, "{url}: {failure:?}");
                assert!(failure.message.starts_with("destination not allowed"), "{url}: {failure:?}");
            }
            _ => assert!([1, 3].contains(&failure.exit), "{url}: {failure:?}"),
        }
    }
    assert_eq!(web.connections(), 0, "the guard let something through");

    let (open, everything) = ("0.0.0.0/0,::/0", Exceptions::parse("0.0.0.0/0,::/0").expect("networks"));
    let open = broker(open, &names);
    for (url, kind) in &forms {
        let before = web.connections();
        match *kind {
            "reach" => {
                assert_eq!(fetch(&open, url).await, Ok(200), "{url}");
                assert_eq!(web.connections(), before + 1, "{url}");
            }
            "away" => {
                let ip: IpAddr = match url::Url::parse(url).expect(url).host() {
                    Some(url::Host::Ipv4(ip)) => ip.into(),
                    Some(url::Host::Ipv6(ip)) => ip.into(),
                    other => panic!("{url}: {other:?}"),
                };
                assert!(!is_public(ip) && everything.cover(None, ip, 1), "{url}");
            }
            _ => {
                fetch(&open, url).await.expect_err(url);
                assert_eq!(web.connections(), before, "{url}");
            }
        }
    }
}

/// Set in the process that has a network of its own, where every address is this machine's.
#[cfg(target_os = "linux")]
const OWN_NETWORK: &str = "SQLFS_TEST_OWN_NETWORK";

/// The control of `away`: with the guard off the listener is reached, at the very address.
#[cfg(target_os = "linux")]
#[tokio::test]
async fn each_form_would_reach_its_place_if_the_guard_were_off() {
    if std::env::var_os(OWN_NETWORK).is_none() {
        let program = std::env::current_exe().expect("this program");
        let ready =
            "ip link set lo up && ip route add local 0.0.0.0/0 dev lo && ip -6 route add local ::/0 dev lo";
        let mut command = std::process::Command::new("unshare");
        command.args(["--map-root-user", "--net", "sh", "-c", &format!("{ready} && exec \"$0\" \"$@\"")]);
        command.arg(program).args([
            "--exact",
            "--nocapture",
            "network::ssrf::each_form_would_reach_its_place_if_the_guard_were_off",
        ]);
        let ran = command.env(OWN_NETWORK, "1").output().expect("this test needs unshare and ip (iproute2)");
        let said = [ran.stdout, ran.stderr].map(|text| String::from_utf8_lossy(&text).into_owned()).concat();
        assert!(ran.status.success() && said.contains("1 passed"), "in a network of its own: {said}");
        return;
    }
    let (web, names) = (Web::at("[::]:0").await, Arc::<Names>::default());
    let (guarded, open) = (broker("", &names), broker("0.0.0.0/0,::/0", &names));
    let forms = forms(web.addr.port());
    let mut reached = 0;
    for (url, _) in forms.iter().filter(|(_, kind)| *kind == "away") {
        assert_eq!(fetch(&guarded, url).await.expect_err(url).exit, 7, "{url}");
        assert_eq!(web.connections(), reached, "{url}: the guard let it through");
        // No connection can be made to many at once, nor to a link that is not named.
        let none = match url::Url::parse(url).expect(url).host().expect(url) {
            url::Host::Ipv4(ip) => ip.is_multicast() || ip.is_broadcast(),
            url::Host::Ipv6(ip) => ip.is_multicast() || ip.is_unicast_link_local(),
            url::Host::Domain(name) => panic!("{name}"),
        };
        let got = fetch(&open, url).await;
        if none {
            let failure = got.expect_err(url);
            assert!(failure.message.starts_with("Failed to connect"), "{url}: {failure:?}");
        } else {
            assert_eq!(got, Ok(200), "{url}");
            reached += 1;
        }
        assert_eq!(web.connections(), reached, "{url}");
    }
    assert!(reached >= 55, "{reached}");
}

#[tokio::test]
async fn nor_is_one_from_a_script_nor_by_a_redirect() {
    let inside = Web::at("[::]:0").await;
    let outside = Web::start().await;
    // The port of the listener is not on the operator's list: only the outside is.
    let private = outside.addr.to_string();
    // The names are those of a resolver that a real server does not have.
    let here = |(url, _): &(String, &str)| url.contains("://") && !url.to_ascii_lowercase().contains(".test");
    let forms: Vec<_> = forms(inside.addr.port()).into_iter().filter(here).collect();
    assert!(forms.len() > 140, "{}", forms.len());
    for interpreter in INTERPRETERS {
        let (_server, api) = server(interpreter, &private, &[]).await;
        // Each sandbox may be refused so often; then it would be for another reason.
        for part in forms.chunks(40) {
            let id = sandbox(&api, json!(true)).await;
            let mut script = String::new();
            for (url, _) in part {
                let url = url.replace('\'', "'\\''");
                let to = url::Url::parse(&url).map_or_else(|_| "file:///x".to_owned(), Into::into);
                writeln!(script, "curl -s '{url}'; echo \"$?\"").expect("in memory");
                writeln!(script, "curl -sL 'http://{private}/redirect/302?{to}'; echo \"$?\"")
                    .expect("in memory");
            }
            let out = api.stdout(&id, &script).await;
            assert_eq!(out.lines().count(), 2 * part.len(), "{script}\n{out}");
            for (code, line) in out.lines().zip(script.lines()) {
                assert!(["1", "3", "7", "47"].contains(&code), "{line}: {code}");
            }
        }
    }
    assert_eq!(inside.connections(), 0, "the guard let something through");
    assert!(outside.connections() >= forms.len(), "the redirects were asked for");
}

#[tokio::test]
async fn dns_is_asked_for_allowed_names_only() {
    let (web, names) = (Web::start().await, Arc::<Names>::default());
    let port = web.addr.port();
    let broker = broker(&format!("127.0.0.1:{port}"), &names);
    let prefix = Prefix::parse(&format!("http://private.test:{port}/a/")).expect("a prefix");
    let allow = Allow::Only(vec![prefix]);
    for (url, fine) in [
        (format!("http://private.test:{port}/a/b"), true),
        (format!("http://private.test:{port}/b"), false),
        (format!("http://private.test:{port}/a/../b"), false),
        (format!("http://private.test.:{port}/a/"), false),
        (format!("http://localhost:{port}/a/"), false),
        (format!("http://six.test:{port}/a/"), false),
        (format!("https://private.test:{port}/a/"), false),
        ("http://private.test/a/".to_owned(), false),
        ("http://secret-in-a-name.exfiltration.test/".to_owned(), false),
    ] {
        let before = names.asked.lock().expect("names").len();
        let answer = broker.fetch(SandboxId::random(), &allow, get(&url)).await;
        assert_eq!(answer.is_ok(), fine, "{url}: {answer:?}");
        let asked = names.asked.lock().expect("names").len() - before;
        assert_eq!(asked, usize::from(fine), "{url}: DNS was asked");
    }
    assert_eq!(web.connections(), 1);
}
