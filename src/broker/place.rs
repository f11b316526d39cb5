//! URLs, and the lists that they must be on. Both are read by one parser, that of browsers
//! (WHATWG), and the connection goes to what that parser saw: two readings of one text
//! cannot differ.

use url::Url;

use super::Failure;

/// What a sandbox may reach, addresses apart.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Allow {
    /// Every public place.
    All,
    /// What is below one of these.
    Only(Vec<Prefix>),
}

impl Allow {
    /// Whether `url` is on the list.
    #[must_use]
    pub fn covers(&self, url: &Url) -> bool {
        match self {
            Self::All => true,
            Self::Only(prefixes) => prefixes.iter().any(|prefix| prefix.covers(url)),
        }
    }
}

/// Scheme, host, port and the beginning of a path.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Prefix(Url);

impl Prefix {
    /// Reads `https://host[:port][/path]`. `Err` says what is allowed.
    pub fn parse(text: &str) -> Result<Self, String> {
        let url = read(text).map_err(|failure| failure.message)?;
        if text.contains(['?', '#']) {
            return Err("a prefix ends with its path: no ? and no #".into());
        }
        Ok(Self(url))
    }

    /// What it was made of.
    pub(super) fn url(&self) -> &Url {
        &self.0
    }

    /// Whether it stands for an encrypted connection.
    pub(super) fn is_https(&self) -> bool {
        self.0.scheme() == "https"
    }

    /// Whether `url` is at or below it. A path ends at the border of a segment: `/v1` covers
    /// `/v1` and `/v1/x`, not `/v10`.
    #[must_use]
    pub fn covers(&self, url: &Url) -> bool {
        let same = self.0.scheme() == url.scheme()
            && self.0.host() == url.host()
            && self.0.port_or_known_default() == url.port_or_known_default();
        let (below, path) = (self.0.path(), url.path());
        same && (below == "/" || !hides_a_slash(path) && is_below(path, below))
    }
}

fn is_below(path: &str, prefix: &str) -> bool {
    path.strip_prefix(prefix)
        .is_some_and(|rest| prefix.ends_with('/') || rest.is_empty() || rest.starts_with('/'))
}

/// Servers that decode before they split would see other segments than we do.
fn hides_a_slash(path: &str) -> bool {
    let lower = path.to_ascii_lowercase();
    lower.contains("%2f") || lower.contains("%5c")
}

/// Reads a URL that is to be fetched. The parser repairs much; what needs such repair is
/// refused, since other programs read it otherwise.
pub(super) fn read(text: &str) -> Result<Url, Failure> {
    let malformed = || Failure::new(3, "URL using bad/illegal format or missing URL");
    if text.len() > super::LONGEST_HEAD || text.chars().any(|c| c == '\\' || c == ' ' || c.is_control()) {
        return Err(malformed());
    }
    let Some((scheme, rest)) = text.split_once("://") else { return Err(malformed()) };
    if !scheme.eq_ignore_ascii_case("http") && !scheme.eq_ignore_ascii_case("https") {
        return Err(Failure::new(1, "Protocol not supported: only http and https are"));
    }
    if rest.starts_with('/') {
        return Err(malformed());
    }
    let mut url = Url::parse(text).map_err(|_| malformed())?;
    let authority = rest.split(['/', '?', '#']).next().unwrap_or(rest);
    if authority.contains('@') || !url.username().is_empty() || url.password().is_some() {
        return Err(Failure::new(3, "a URL with a user name in it is not allowed"));
    }
    url.set_fragment(None);
    Ok(url)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn prefixes_end_at_segments() {
        for (prefix, url, covered) in [
            ("https://good.com", "https://good.com/", true),
            ("https://good.com", "https://GOOD.com:443/a?b#c", true),
            ("https://good.com", "http://good.com/", false),
            ("https://good.com", "https://good.com:444/", false),
            ("https://good.com", "https://good.com.evil.com/", false),
            ("https://good.com", "https://good.com./", false),
            ("https://good.com", "https://xgood.com/", false),
            ("https://good.com", "https://sub.good.com/", false),
            ("https://good.com", "https://gооd.com/", false),
            ("https://bücher.de", "https://xn--bcher-kva.de/x", true),
            ("https://good.com/v1", "https://good.com/v1", true),
            ("https://good.com/v1", "https://good.com/v1?x", true),
            ("https://good.com/v1", "https://good.com/v1/x", true),
            ("https://good.com/v1", "https://good.com/v10", false),
            ("https://good.com/v1/", "https://good.com/v1", false),
            ("https://good.com/v1/", "https://good.com/v1/../v2", false),
            ("https://good.com/v1/", "https://good.com/v1/%2e%2e/v2", false),
            ("https://good.com/v1/", "https://good.com/v1/..%2fv2", false),
            ("https://good.com/v1/", "https://good.com/v1/..%5Cv2", false),
            ("https://good.com/", "https://good.com/a%2fb", true),
        ] {
            let url = read(url).unwrap();
            assert_eq!(Prefix::parse(prefix).unwrap().covers(&url), covered, "{prefix} {url}");
        }
    }

    #[test]
    fn what_other_programs_read_otherwise_is_refused() {
        for (url, exit) in [
            ("https://good.com@evil.com/", 3),
            ("https://@evil.com/", 3),
            ("https://u:p@evil.com/", 3),
            ("https://good.com\\@evil.com", 3),
            ("https:////good.com", 3),
            ("https:good.com", 3),
            ("//good.com", 3),
            ("https://go od.com", 3),
            ("https://good.com/\r\nx", 3),
            ("https://good.com/\tx", 3),
            ("https://", 3),
            ("https://good.com:99999/", 3),
            ("https://[::1%25eth0]/", 3),
            ("https://1.2.3.4.5/", 3),
            ("file:///etc/passwd", 1),
            ("gopher://x", 1),
            ("javascript://x", 1),
        ] {
            assert_eq!(read(url).unwrap_err().exit, exit, "{url}");
        }
        for bad in ["good.com", "https://good.com/?x", "https://good.com/#x", "https://u@good.com", ""] {
            Prefix::parse(bad).unwrap_err();
        }
    }
}
