//! The operator's bound: what no sandbox may reach, whatever its own list says. It is looked
//! at when a sandbox is made, so that nobody is promised what will be refused, and at each
//! request, so that it holds for sandboxes that were made before it.

use url::{Host, Url};

use super::Prefix;

/// Hosts that a refusal names; the others are counted.
const MOST_NAMED: usize = 20;

/// What the operator lets sandboxes reach.
#[derive(Debug, Default)]
pub struct Bound {
    off: bool,
    /// Empty: no bound.
    hosts: Vec<Entry>,
}

/// One host, or the hosts below a name.
#[derive(Debug)]
struct Entry {
    /// As the operator wrote it.
    written: String,
    host: Host<String>,
    below: bool,
    /// `None`: every port.
    port: Option<u16>,
}

impl Bound {
    /// Reads a list with commas: `api.example.com`, `example.com:8443`, `*.example.com`.
    pub(super) fn parse(enabled: bool, hosts: &str) -> Result<Self, String> {
        let parts = hosts.split(',').map(str::trim).filter(|part| !part.is_empty());
        Ok(Self { off: !enabled, hosts: parts.map(Entry::parse).collect::<Result<_, _>>()? })
    }

    /// Whether a sandbox may be made with the network, for these prefixes of its list.
    ///
    /// # Errors
    /// What is allowed instead.
    pub fn permits(&self, list: &[Prefix]) -> Result<(), String> {
        if self.off {
            return Err("the network is turned off on this server (NETWORK_ENABLED)".into());
        }
        match list.iter().find(|prefix| !self.allows(prefix.url())) {
            Some(prefix) => Err(format!("{} is not allowed: {}", prefix.url(), self.named())),
            None => Ok(()),
        }
    }

    /// Whether a request may be made.
    pub(super) fn check(&self, url: &Url) -> Result<(), String> {
        if self.off {
            return Err("the network is turned off on this server".into());
        }
        if self.allows(url) { Ok(()) } else { Err(self.named()) }
    }

    fn allows(&self, url: &Url) -> bool {
        self.hosts.is_empty() || self.hosts.iter().any(|entry| entry.covers(url))
    }

    /// What is allowed, for people.
    fn named(&self) -> String {
        let names: Vec<&str> =
            self.hosts.iter().take(MOST_NAMED).map(|entry| entry.written.as_str()).collect();
        let more = match self.hosts.len().saturating_sub(MOST_NAMED) {
            0 => String::new(),
            more => format!(" and {more} more"),
        };
        format!("this server lets sandboxes reach {}{more} (NETWORK_ALLOWED_HOSTS)", names.join(", "))
    }
}

impl Entry {
    fn parse(text: &str) -> Result<Self, String> {
        let refused = || format!("expected host, host:port or *.host, got {text:?}");
        let (below, rest) = match text.strip_prefix("*.") {
            Some(rest) => (true, rest),
            None => (false, text),
        };
        // An address of IPv6 has colons of its own, within brackets.
        let (host, port) = match rest.rsplit_once(':') {
            Some((host, port)) if !port.ends_with(']') => (host, Some(port.parse().map_err(|_| refused())?)),
            _ => (rest, None),
        };
        let host = Host::parse(host).map_err(|_| refused())?;
        if host.to_string().contains('*') {
            return Err(refused());
        }
        if below && !matches!(host, Host::Domain(_)) {
            return Err(refused());
        }
        Ok(Self { written: text.to_owned(), host, below, port })
    }

    fn covers(&self, url: &Url) -> bool {
        let host = match (url.host(), &self.host) {
            (Some(Host::Domain(name)), Host::Domain(of)) if self.below => {
                name.strip_suffix(of.as_str()).is_some_and(|front| front.len() > 1 && front.ends_with('.'))
            }
            (Some(host), of) => host.to_owned() == *of && !self.below,
            (None, _) => false,
        };
        host && (self.port.is_none() || self.port == url.port_or_known_default())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn hosts_are_as_narrow_as_they_are_written() {
        let bound = Bound::parse(
            true,
            "api.example.com, Other.example:8443 ,*.wide.example,[::1]:80,10.0.0.1,bücher.de",
        )
        .unwrap();
        for (url, allowed) in [
            ("https://api.example.com/x", true),
            ("http://api.example.com:81/", true),
            ("https://api.example.com./", false),
            ("https://x.api.example.com/", false),
            ("https://example.com/", false),
            ("https://other.example:8443/", true),
            ("https://other.example/", false),
            ("https://a.wide.example/", true),
            ("https://a.b.wide.example:1/", true),
            ("https://wide.example/", false),
            ("https://xwide.example/", false),
            ("https://.wide.example/", false),
            ("http://[::1]/", true),
            ("https://[::1]/", false),
            ("http://0x0a000001/", true),
            ("http://[::ffff:10.0.0.1]/", false),
            ("http://10.0.0.2/", false),
            ("https://xn--bcher-kva.de/", true),
        ] {
            let url = Url::parse(url).unwrap();
            assert_eq!(bound.check(&url).is_ok(), allowed, "{url}");
        }
        for bad in ["a b", "*", "*.", "*.10.0.0.1", "a:b", "a:70000", "https://a", "a/b", "[::1", "*.[::1]"] {
            Bound::parse(true, bad).unwrap_err();
        }
    }

    #[test]
    fn a_refusal_says_what_is_allowed() {
        let list = [Prefix::parse("https://evil.example/a").unwrap()];
        Bound::default().permits(&list).unwrap();
        let bound = Bound::parse(true, "good.example").unwrap();
        let said = bound.permits(&list).unwrap_err();
        assert!(said.starts_with("https://evil.example/a is not allowed") && said.contains("good.example"));
        bound.permits(&[]).unwrap();
        let many: Vec<String> = (0..25).map(|n| format!("h{n}.example")).collect();
        let said = Bound::parse(true, &many.join(",")).unwrap().permits(&list).unwrap_err();
        assert!(said.contains("h19.example and 5 more"), "{said}");
        assert!(Bound::parse(false, "").unwrap().permits(&[]).unwrap_err().contains("turned off"));
    }
}
