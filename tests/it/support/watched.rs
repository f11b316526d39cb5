//! A server whose metrics are read.

use std::collections::BTreeMap;

use super::http::{Reply, client, send};
use super::{Server, TestStore, free_port};

/// A server and the way to its operators' listener.
pub struct Watched {
    /// The server.
    pub server: Server,
    port: u16,
}

impl Watched {
    /// With more environment variables.
    pub async fn start(store: TestStore, env: &[(&str, &str)]) -> Self {
        let port = free_port();
        let text = port.to_string();
        let env: Vec<_> = [("ADMIN_PORT", text.as_str())].into_iter().chain(env.iter().copied()).collect();
        Self { server: Server::start_with(store, &env).await, port }
    }

    /// GET on that listener.
    pub async fn get(&self, path: &str) -> Reply {
        send(client().get(format!("http://127.0.0.1:{}{path}", self.port))).await
    }

    /// Name with labels → value.
    pub async fn metrics(&self) -> BTreeMap<String, f64> {
        let text = self.get("/metrics").await.expect(200).text().to_owned();
        assert!(text.ends_with("# EOF\n"), "cut off: {text}");
        let lines = text.lines().filter(|line| !line.starts_with('#'));
        lines
            .map(|line| {
                let (name, value) = line.rsplit_once(' ').expect("name and value");
                (name.to_owned(), value.parse().expect("a number"))
            })
            .collect()
    }
}
