//! Credentials by rule: headers that go with requests below a prefix. Scripts never see them.

use std::collections::BTreeMap;
use std::fmt;

use reqwest::header::{HeaderMap, HeaderName, HeaderValue};
use url::Url;

use super::Prefix;

/// All rules. Its `Debug` shows no header.
#[derive(Default)]
pub struct Rules(Vec<Rule>);

struct Rule {
    prefix: Prefix,
    headers: HeaderMap,
}

impl fmt::Debug for Rules {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_list().entries(self.0.iter().map(|rule| &rule.prefix)).finish()
    }
}

/// A rule as it is written.
#[derive(serde::Deserialize)]
#[serde(deny_unknown_fields)]
struct Written {
    prefix: String,
    headers: BTreeMap<String, String>,
    /// Whether the prefix may be http, where anybody on the way can read the headers.
    #[serde(default)]
    plain: bool,
}

impl Rules {
    /// Reads `[{"prefix": "https://…", "headers": {"Authorization": "…"}}]`, or the file that
    /// `text` names. `Err` repeats no value.
    pub(super) fn read(text: &str) -> Result<Self, String> {
        let text = text.trim();
        if text.is_empty() {
            return Ok(Self::default());
        }
        let read;
        let text = if text.starts_with('[') {
            text
        } else {
            read = std::fs::read_to_string(text).map_err(|error| {
                format!("must be a JSON list, or a file that can be read: {}", error.kind())
            })?;
            &read
        };
        let shape = "must be a JSON list of {\"prefix\": URL, \"headers\": {name: value}}";
        let written: Vec<Written> = serde_json::from_str(text)
            .map_err(|error| format!("{shape}; line {}, column {}", error.line(), error.column()))?;
        written.into_iter().map(Rule::new).collect::<Result<_, _>>().map(Self)
    }

    /// What goes with a request for `url`, instead of the script's headers of the same names.
    pub(super) fn headers(&self, url: &Url) -> HeaderMap {
        let mut headers = HeaderMap::new();
        for rule in self.0.iter().filter(|rule| rule.prefix.covers(url)) {
            headers.extend(rule.headers.clone());
        }
        headers
    }
}

impl Rule {
    fn new(written: Written) -> Result<Self, String> {
        let prefix = Prefix::parse(&written.prefix).map_err(|why| format!("a prefix: {why}"))?;
        if !prefix.is_https() && !written.plain {
            return Err("a prefix must be https://, or its rule must say \"plain\": true".into());
        }
        let mut headers = HeaderMap::new();
        for (name, value) in written.headers {
            let bad = || format!("header {name:?}: not a header that can be sent");
            let parsed = HeaderName::try_from(&name).map_err(|_| bad())?;
            let mut value = HeaderValue::try_from(value).map_err(|_| bad())?;
            value.set_sensitive(true);
            if super::client::is_ours(&parsed) {
                return Err(format!("header {name:?} is set by the server"));
            }
            headers.insert(parsed, value);
        }
        Ok(Self { prefix, headers })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rules_add_headers_below_their_prefix_and_show_none() {
        let rules = r#"[{"prefix": "https://a.example/v1/", "headers": {"Authorization": "canary"}},
            {"prefix": "http://b.example", "plain": true, "headers": {"x-key": "canary"}}]"#;
        let rules = Rules::read(rules).unwrap();
        assert!(!format!("{rules:?}").contains("canary"));
        for (url, name) in [
            ("https://a.example/v1/x", Some("authorization")),
            ("https://a.example/v2", None),
            ("http://a.example/v1/x", None),
            ("http://b.example/", Some("x-key")),
        ] {
            let headers = rules.headers(&Url::parse(url).unwrap());
            assert_eq!(headers.keys().next().map(HeaderName::as_str), name, "{url}");
        }
    }

    #[test]
    fn bad_rules_are_refused_without_their_values() {
        for bad in [
            r#"[{"prefix": "http://a", "headers": {"a": "canary"}}]"#,
            r#"[{"prefix": "https://a", "headers": {"a b": "canary"}}]"#,
            r#"[{"prefix": "https://a", "headers": {"a": "canary\n"}}]"#,
            r#"[{"prefix": "https://a", "headers": {"Host": "canary"}}]"#,
            r#"[{"prefix": "https://a", "headers": "canary"}]"#,
            r#"[{"prefix": "https://u:canary@a", "headers": {}}]"#,
            r#"[{"prefix": "https://a", "header": "canary"}]"#,
            "[canary",
            "/no/such/canary",
        ] {
            let error = Rules::read(bad).unwrap_err();
            assert!(!error.contains("canary"), "{bad}: {error}");
        }
    }
}
