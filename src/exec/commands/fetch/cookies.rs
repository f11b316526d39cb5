//! Cookies, as RFC 6265 has them, in Netscape's file format. There is no list of public
//! suffixes: a cookie for `co.uk` is kept if a host below it sets it. One for a single
//! label (`com`) is not.

use std::fmt::Write as _;

use url::Url;

/// Cookies that are kept; more are dropped.
const MOST: usize = 3000;

#[derive(Clone, Debug, PartialEq, Eq)]
struct Cookie {
    domain: String,
    /// Whether hosts below the domain get it too.
    below: bool,
    path: String,
    secure: bool,
    http_only: bool,
    /// Seconds since the epoch; 0: with the session.
    expires: i64,
    name: String,
    value: String,
}

/// All cookies of a command.
#[derive(Debug, Default)]
pub(in crate::exec::commands) struct Jar(Vec<Cookie>);

impl Jar {
    /// Reads a file; lines that are none are left out.
    pub(in crate::exec::commands) fn read(&mut self, text: &str) {
        for line in text.lines() {
            let (line, http_only) = match line.strip_prefix("#HttpOnly_") {
                Some(rest) => (rest, true),
                None => (line, false),
            };
            let fields: Vec<&str> = line.split('\t').collect();
            if line.starts_with('#') || fields.len() != 7 {
                continue;
            }
            self.put(Cookie {
                domain: fields[0].trim_start_matches('.').to_ascii_lowercase(),
                below: fields[1] == "TRUE",
                path: fields[2].to_owned(),
                secure: fields[3] == "TRUE",
                http_only,
                expires: fields[4].parse().unwrap_or(0),
                name: fields[5].to_owned(),
                value: fields[6].to_owned(),
            });
        }
    }

    /// As a file.
    pub(in crate::exec::commands) fn write(&self, now_ns: i64) -> String {
        let mut text = "# Netscape HTTP Cookie File\n# https://curl.se/docs/http-cookies.html\n\n".to_owned();
        let flag = |set| if set { "TRUE" } else { "FALSE" };
        for it in self.0.iter().filter(|cookie| cookie.lives(now_ns)) {
            let (mark, dot) = (if it.http_only { "#HttpOnly_" } else { "" }, if it.below { "." } else { "" });
            let (below, secure) = (flag(it.below), flag(it.secure));
            let Cookie { domain, path, expires, name, value, .. } = it;
            let _ =
                writeln!(text, "{mark}{dot}{domain}\t{below}\t{path}\t{secure}\t{expires}\t{name}\t{value}");
        }
        text
    }

    /// Takes what a `Set-Cookie` of `url` says.
    pub(in crate::exec::commands) fn set(&mut self, url: &Url, text: &str, now_ns: i64) {
        let mut parts = text.split(';').map(str::trim);
        let Some((name, value)) = parts.next().and_then(|first| first.split_once('=')) else { return };
        let host = url.host_str().unwrap_or_default();
        let default_path =
            url.path().rsplit_once('/').map_or("/", |(dir, _)| if dir.is_empty() { "/" } else { dir });
        let mut cookie = Cookie {
            domain: host.to_owned(),
            below: false,
            path: default_path.to_owned(),
            secure: false,
            http_only: false,
            expires: 0,
            name: name.trim().to_owned(),
            value: value.trim().to_owned(),
        };
        let mut max_age = None;
        for part in parts {
            let (key, value) = part.split_once('=').unwrap_or((part, ""));
            match key.trim().to_ascii_lowercase().as_str() {
                "domain" => {
                    let domain = value.trim().trim_start_matches('.').to_ascii_lowercase();
                    if domain != host && (!is_below(host, &domain) || !domain.contains('.')) {
                        return;
                    }
                    (cookie.domain, cookie.below) = (domain, !is_address(url));
                }
                "path" if value.trim().starts_with('/') => value.trim().clone_into(&mut cookie.path),
                "secure" => cookie.secure = true,
                "httponly" => cookie.http_only = true,
                "max-age" => max_age = value.trim().parse::<i64>().ok(),
                "expires" => {
                    let date = chrono::DateTime::parse_from_rfc2822(&value.trim().replace('-', " "));
                    cookie.expires = date.map_or(0, |date| date.timestamp().max(1));
                }
                _ => {}
            }
        }
        if let Some(age) = max_age {
            cookie.expires = (now_ns / 1_000_000_000).saturating_add(age).max(1);
        }
        let plain = |text: &str| text.bytes().all(|b| b >= b' ' && b != 0x7f);
        if !cookie.name.is_empty() && plain(&cookie.name) && plain(&cookie.value) && plain(&cookie.path) {
            self.put(cookie);
        }
    }

    /// The value of `Cookie` for a request.
    pub(in crate::exec::commands) fn header(&self, url: &Url, now_ns: i64) -> Option<String> {
        let mut fit: Vec<&Cookie> = self.0.iter().filter(|it| it.lives(now_ns) && it.fits(url)).collect();
        fit.sort_by_key(|cookie| std::cmp::Reverse(cookie.path.len()));
        let pairs: Vec<String> = fit.iter().map(|it| format!("{}={}", it.name, it.value)).collect();
        (!pairs.is_empty()).then(|| pairs.join("; "))
    }

    fn put(&mut self, cookie: Cookie) {
        let same =
            |it: &Cookie| (&it.domain, &it.path, &it.name) == (&cookie.domain, &cookie.path, &cookie.name);
        let room = self.0.len() < MOST;
        match self.0.iter_mut().find(|it| same(it)) {
            Some(old) => *old = cookie,
            None if room => self.0.push(cookie),
            None => {}
        }
    }
}

impl Cookie {
    fn lives(&self, now_ns: i64) -> bool {
        self.expires == 0 || self.expires > now_ns / 1_000_000_000
    }

    fn fits(&self, url: &Url) -> bool {
        let host = url.host_str().unwrap_or_default();
        let path = url.path();
        let below = path
            .strip_prefix(self.path.as_str())
            .is_some_and(|rest| self.path.ends_with('/') || rest.is_empty() || rest.starts_with('/'));
        let domain = host == self.domain || self.below && is_below(host, &self.domain);
        domain && below && (!self.secure || url.scheme() == "https")
    }
}

fn is_below(host: &str, domain: &str) -> bool {
    host.strip_suffix(domain).is_some_and(|rest| rest.ends_with('.'))
}

fn is_address(url: &Url) -> bool {
    !matches!(url.host(), Some(url::Host::Domain(_)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn cookies_go_back_where_they_came_from() {
        let url = |text: &str| Url::parse(text).unwrap();
        let mut jar = Jar::default();
        let now = 1_000_000_000_000_000_000;
        let from = url("https://www.a.example/x/y");
        for set in [
            "host=1",
            "all=2; Domain=a.example; Path=/",
            "safe=3; Secure; Path=/; HttpOnly",
            "old=4; Max-Age=0",
            "past=5; Expires=Wed, 21 Oct 1998 07:28:00 GMT",
            "foreign=6; Domain=b.example",
            "wide=7; Domain=example",
            "later=8; Path=/z; Max-Age=10",
            "b\nd=9",
        ] {
            jar.set(&from, set, now);
        }
        let mut again = Jar::default();
        again.read(&jar.write(now));
        for (to, cookies) in [
            ("https://www.a.example/x/z", Some("host=1; all=2; safe=3")),
            ("http://www.a.example/x", Some("host=1; all=2")),
            ("http://www.a.example/xx", Some("all=2")),
            ("https://b.a.example/", Some("all=2")),
            ("https://www.a.example/z", Some("later=8; all=2; safe=3")),
            ("https://b.example/", None),
            ("https://xa.example/", None),
        ] {
            assert_eq!(jar.header(&url(to), now).as_deref(), cookies, "{to}");
            assert_eq!(again.header(&url(to), now).as_deref(), cookies, "{to}, from a file");
        }
        let late = now + 11_000_000_000;
        assert_eq!(jar.header(&url("https://www.a.example/z"), late).as_deref(), Some("all=2; safe=3"));
    }
}
