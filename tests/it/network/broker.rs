//! The broker by itself: names that change, encrypted connections, credentials, limits.

use std::net::IpAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use sqlfs::broker::{Allow, Broker, Resolver, Settings};
use sqlfs::ids::SandboxId;

use super::ssrf::{Names, broker, fetch, get};
use crate::support::certificates::{Authority, Certificate};
use crate::support::web::Web;

/// The first answer is one address, every later one another.
struct Rebinds {
    answers: [IpAddr; 2],
    asked: AtomicUsize,
}

#[async_trait::async_trait]
impl Resolver for Rebinds {
    async fn resolve(&self, _name: &str) -> std::io::Result<Vec<IpAddr>> {
        Ok(vec![self.answers[self.asked.fetch_add(1, Ordering::SeqCst).min(1)]])
    }
}

/// Two listeners on one port: the first is on the operator's list, the second is not.
async fn two() -> (Web, Web) {
    loop {
        let first = Web::at("127.0.0.2:0").await;
        let port = first.addr.port();
        // Somebody else may have the port on the other address.
        if let Ok(second) = tokio::net::TcpListener::bind(("127.0.0.1", port)).await {
            return (first, Web::on(second));
        }
    }
}

#[tokio::test]
async fn a_name_that_changes_leads_to_the_address_that_was_checked() {
    let (checked, private) = two().await;
    let port = checked.addr.port();
    let answers = ["127.0.0.2", "127.0.0.1"].map(|text| text.parse().expect("an address"));
    let names = Arc::new(Rebinds { answers, asked: AtomicUsize::new(0) });
    let allow_private = checked.addr.to_string();
    let settings = Settings { allow_private: &allow_private, largest_body: 1000, ..Settings::default() };
    let broker = Broker::new(&settings, names.clone()).expect("a broker");
    let url = format!("http://rebinds.test:{port}/");
    assert_eq!(fetch(&broker, &url).await, Ok(200));
    assert_eq!(names.asked.load(Ordering::SeqCst), 1, "one question, one answer, one connection");
    assert_eq!((checked.connections(), private.connections()), (1, 0));
    assert_eq!(fetch(&broker, &url).await.expect_err("the second answer").exit, 7);
    assert_eq!((checked.connections(), private.connections()), (1, 0));
}

#[tokio::test]
async fn of_several_addresses_only_those_that_may_be_are_tried() {
    struct Both;
    #[async_trait::async_trait]
    impl Resolver for Both {
        async fn resolve(&self, _name: &str) -> std::io::Result<Vec<IpAddr>> {
            Ok(["127.0.0.1", "127.0.0.2"].map(|text| text.parse().expect("an address")).to_vec())
        }
    }
    let (checked, private) = two().await;
    let allow_private = checked.addr.to_string();
    let settings = Settings { allow_private: &allow_private, largest_body: 1000, ..Settings::default() };
    let broker = Broker::new(&settings, Arc::new(Both)).expect("a broker");
    let url = format!("http://both.test:{}/", checked.addr.port());
    assert_eq!(fetch(&broker, &url).await, Ok(200));
    assert_eq!((checked.connections(), private.connections()), (1, 0));
}

#[tokio::test]
async fn certificates_are_checked_against_the_lists() {
    let authority = Authority::new();
    let right = authority.server("right", "DNS:private.test,IP:127.0.0.1");
    let wrong = authority.server("wrong", "DNS:elsewhere.test");
    let mut servers = Vec::new();
    for certificate in [&right, &wrong] {
        servers.push(Encrypted::start(certificate));
    }
    let ca = authority.file();
    let with = |ca_file| {
        let settings =
            Settings { allow_private: "127.0.0.0/8", ca_file, largest_body: 1 << 20, ..Settings::default() };
        Broker::new(&settings, Arc::<Names>::default()).expect("a broker")
    };
    let (trusting, strict) = (with(Some(ca.as_path())), with(None));
    let url = |server: &Encrypted, host: &str| format!("https://{host}:{}/", server.port);
    assert_eq!(fetch(&trusting, &url(&servers[0], "private.test")).await, Ok(200));
    assert_eq!(fetch(&trusting, &url(&servers[0], "127.0.0.1")).await, Ok(200));
    for (broker, server, host) in [
        (&trusting, &servers[1], "private.test"),
        (&trusting, &servers[0], "localhost"),
        (&strict, &servers[0], "private.test"),
    ] {
        let failure = fetch(broker, &url(server, host)).await.expect_err(host);
        assert_eq!(failure.exit, 60, "{failure:?}");
    }
    let none = tempfile::NamedTempFile::new().expect("a file");
    let settings = Settings { ca_file: Some(none.path()), ..Settings::default() };
    let refused = Broker::new(&settings, Arc::<Names>::default()).err().expect("no certificate");
    assert!(refused.starts_with("NETWORK_CA_FILE: must be a file with certificates"), "{refused}");
}

/// An `openssl s_server`.
struct Encrypted {
    child: std::process::Child,
    port: u16,
}

impl Drop for Encrypted {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

impl Encrypted {
    fn start(certificate: &Certificate) -> Self {
        use std::io::BufRead;
        let mut command = std::process::Command::new("openssl");
        command.args(["s_server", "-www", "-accept", "127.0.0.1:0", "-cert"]).arg(&certificate.certificate);
        command.arg("-key").arg(&certificate.key);
        command.stdin(std::process::Stdio::piped()).stdout(std::process::Stdio::piped());
        command.stderr(std::process::Stdio::null());
        crate::support::server::die_with_us(&mut command);
        let mut child = command.spawn().expect("openssl is in PATH");
        let mut lines = std::io::BufReader::new(child.stdout.take().expect("stdout")).lines();
        let accept = lines.find_map(|line| {
            line.expect("a line").strip_prefix("ACCEPT ").and_then(|at| at.rsplit(':').next()?.parse().ok())
        });
        let port = accept.expect("a port");
        std::thread::spawn(move || lines.for_each(drop));
        Self { child, port }
    }
}

#[tokio::test]
async fn a_scan_is_cut_short() {
    let (web, names) = (Web::start().await, Arc::<Names>::default());
    let broker = broker(&web.addr.to_string(), &names);
    let (scanner, neighbour) = (SandboxId::random(), SandboxId::random());
    let mut messages = std::collections::BTreeMap::<String, usize>::new();
    for port in (1..=u16::MAX).filter(|port| *port != web.addr.port()) {
        let failure = broker.fetch(scanner, &Allow::All, get(&format!("http://127.0.0.1:{port}/"))).await;
        let failure = failure.expect_err("a private place");
        assert_eq!(failure.exit, 7);
        *messages.entry(failure.message).or_default() += 1;
    }
    let counts: Vec<usize> = messages.values().copied().collect();
    assert_eq!(counts.len(), 2, "{messages:?}");
    assert!(counts.contains(&100), "{messages:?}");
    // What it may reach is shut as well, for others it is not.
    broker.fetch(scanner, &Allow::All, get(&web.url())).await.expect_err("it is shut");
    assert_eq!(broker.fetch(neighbour, &Allow::All, get(&web.url())).await.expect("an answer").status, 200);
}
