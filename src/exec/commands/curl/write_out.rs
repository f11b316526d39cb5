//! `-w`: what is printed after a transfer.

use std::fmt::Write as _;

use crate::exec::commands::Answer;
use crate::exec::commands::fetch::{Plan, Transfer, header};
use crate::exec::host::NotFetched;

/// All that can be told of a transfer.
pub(super) struct Figures<'a> {
    pub(super) done: &'a Transfer,
    pub(super) plan: &'a Plan,
    pub(super) url: &'a str,
    pub(super) spent_ms: u64,
    pub(super) body_bytes: u64,
    pub(super) file: &'a str,
    pub(super) failed: Option<&'a NotFetched>,
    pub(super) number: usize,
}

/// Prints `format`: `%{name}`, `%header{name}`, `\n`, `%{stderr}`.
pub(super) fn write(format: &str, figures: &Figures<'_>, answer: &mut Answer) {
    let (mut rest, mut to_stderr) = (format, false);
    while !rest.is_empty() {
        let mut out = String::new();
        if let Some((name, after)) = braced(rest, "%header{") {
            out.push_str(
                figures.done.last().and_then(|got| header(got, &name.to_ascii_lowercase())).unwrap_or(""),
            );
            rest = after;
        } else if let Some((name, after)) = braced(rest, "%{") {
            rest = after;
            match name {
                "stderr" => to_stderr = true,
                "stdout" => to_stderr = false,
                "onerror" if figures.failed.is_none() => return,
                "onerror" => {}
                name => match figures.value(name) {
                    Some(value) => out = value,
                    None => {
                        let line = format!("curl: unknown --write-out variable: '{name}'");
                        answer.complain(answer.exit, line);
                    }
                },
            }
        } else {
            let (text, after) = plain(rest);
            out.push_str(text);
            rest = after;
        }
        let to = if to_stderr { &mut answer.stderr } else { &mut answer.stdout };
        to.extend_from_slice(out.as_bytes());
    }
}

fn braced<'a>(text: &'a str, begin: &str) -> Option<(&'a str, &'a str)> {
    text.strip_prefix(begin)?.split_once('}')
}

/// The next piece of text, with what its sign means.
fn plain(text: &str) -> (&str, &str) {
    for (sign, means) in [("%%", "%"), ("\\n", "\n"), ("\\t", "\t"), ("\\r", "\r"), ("\\\\", "\\")] {
        if let Some(rest) = text.strip_prefix(sign) {
            return (means, rest);
        }
    }
    let first = text.chars().next().map_or(0, char::len_utf8);
    let end = text[first..].find(['%', '\\']).map_or(text.len(), |at| first + at);
    text.split_at(end)
}

impl Figures<'_> {
    fn value(&self, name: &str) -> Option<String> {
        let last = self.done.last();
        let of = |name: &str| last.and_then(|got| header(got, name)).unwrap_or_default().to_owned();
        let heads = || {
            let size = |got: &crate::exec::host::Fetched| {
                let lines: usize = got.headers.iter().map(|(name, value)| name.len() + value.len() + 4).sum();
                got.version.len() + got.reason.len() + 8 + lines
            };
            self.done.hops.iter().map(|hop| size(&hop.got)).sum::<usize>()
        };
        Some(match name {
            "http_code" | "response_code" => format!("{:03}", last.map_or(0, |got| got.status)),
            "size_download" => self.body_bytes.to_string(),
            "size_upload" => self.plan.body.len().to_string(),
            "size_header" => heads().to_string(),
            "url" => self.url.to_owned(),
            "url_effective" => last.map_or_else(|| self.plan.url.clone(), |got| got.url.clone()),
            "urlnum" => self.number.to_string(),
            "content_type" => of("content-type"),
            "time_total" => format!("{}.{:06}", self.spent_ms / 1000, self.spent_ms % 1000 * 1000),
            "num_redirects" => self.done.hops.len().saturating_sub(1).to_string(),
            "redirect_url" => redirect_url(last),
            "method" => {
                self.done.hops.last().map_or_else(|| self.plan.method.clone(), |hop| hop.method.clone())
            }
            "scheme" => last.map_or(self.plan.url.as_str(), |got| &got.url).split(':').next()?.to_owned(),
            "exitcode" => self.failed.map_or(0, |failed| failed.exit).to_string(),
            "errormsg" => self.failed.map_or_else(String::new, |failed| failed.message.clone()),
            "http_version" => {
                last.map_or("0", |got| got.version.rsplit('/').next().unwrap_or_default()).to_owned()
            }
            "filename_effective" => self.file.to_owned(),
            "num_headers" => last.map_or(0, |got| got.headers.len()).to_string(),
            "speed_download" => (self.body_bytes * 1000 / self.spent_ms.max(1)).to_string(),
            "header_json" => {
                let mut text = "{".to_owned();
                for (number, (name, value)) in last.map_or(&[][..], |got| &got.headers).iter().enumerate() {
                    let comma = if number > 0 { ",\n" } else { "" };
                    let _ = write!(text, "{comma}{}:[{}]", quoted(name), quoted(value));
                }
                text + "\n}"
            }
            _ => return None,
        })
    }
}

fn quoted(text: &str) -> String {
    serde_json::Value::from(text).to_string()
}

/// Where a redirect that was not followed leads.
fn redirect_url(last: Option<&crate::exec::host::Fetched>) -> String {
    let next = last.filter(|got| (300..400).contains(&got.status)).and_then(|got| {
        let location = header(got, "location")?;
        url::Url::parse(&got.url).ok()?.join(location).ok()
    });
    next.map_or_else(String::new, Into::into)
}
