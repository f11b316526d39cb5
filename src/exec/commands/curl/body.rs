//! What `curl` sends: data, forms, files; and how a packed answer is unpacked.

use std::fmt::Write as _;
use std::io::Read;

use percent_encoding::{AsciiSet, NON_ALPHANUMERIC, utf8_percent_encode};

use crate::exec::commands::fetch::{header, input};
use crate::exec::commands::{Answer, Call};
use crate::exec::host::{Fetched, NotFetched};
use crate::ids::Sha256;

/// What stays as it is in form data.
const PLAIN: &AsciiSet = &NON_ALPHANUMERIC.remove(b'-').remove(b'.').remove(b'_').remove(b'~');

/// Its type, if curl names one, and its bytes.
type Body = (Option<String>, Vec<u8>);

/// How one piece of data is read.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Kind {
    Text,
    Binary,
    Raw,
    Json,
}

/// All that is to be sent.
#[derive(Default)]
pub(super) struct Data {
    pieces: Option<Vec<u8>>,
    parts: Vec<Part>,
    pub(super) json: bool,
    pub(super) uploads: bool,
}

struct Part {
    head: String,
    data: Vec<u8>,
}

fn refuse(exit: u8, message: &str) -> Answer {
    let mut answer = Answer::default();
    answer.complain(exit, format!("curl: {message}"));
    answer
}

fn open(call: &Call<'_>, name: &str) -> Result<Vec<u8>, Answer> {
    input(call, name)
        .map_err(|errno| refuse(26, &format!("(26) Failed to open/read local data from {name}: {errno}")))
}

impl Data {
    pub(super) fn is_some(&self) -> bool {
        self.pieces.is_some() || !self.parts.is_empty()
    }

    pub(super) fn add(&mut self, call: &Call<'_>, text: &str, kind: Kind) -> Result<(), Answer> {
        let mut piece = match text.strip_prefix('@').filter(|_| kind != Kind::Raw) {
            Some(file) => open(call, file)?,
            None => text.as_bytes().to_vec(),
        };
        if kind == Kind::Text && text.starts_with('@') {
            piece.retain(|byte| !matches!(byte, b'\r' | b'\n' | 0));
        }
        self.json |= kind == Kind::Json;
        self.append(&piece, kind != Kind::Json);
        Ok(())
    }

    pub(super) fn add_encoded(&mut self, call: &Call<'_>, text: &str) -> Result<(), Answer> {
        let (name, content) = match text.find(['=', '@']) {
            Some(at) if text[at..].starts_with('@') => (&text[..at], open(call, &text[at + 1..])?),
            Some(at) => (&text[..at], text.as_bytes()[at + 1..].to_vec()),
            None => ("", text.as_bytes().to_vec()),
        };
        let encoded = percent_encoding::percent_encode(&content, PLAIN).to_string();
        let piece = if name.is_empty() { encoded } else { format!("{name}={encoded}") };
        self.append(piece.as_bytes(), true);
        Ok(())
    }

    fn append(&mut self, piece: &[u8], with_sign: bool) {
        let pieces = self.pieces.get_or_insert_default();
        if !pieces.is_empty() && with_sign {
            pieces.push(b'&');
        }
        pieces.extend_from_slice(piece);
    }

    /// `name=text`, `name=@file;type=…;filename=…`, `name=<file`.
    pub(super) fn add_part(&mut self, call: &Call<'_>, text: &str, plain: bool) -> Result<(), Answer> {
        let bad = || refuse(2, "option -F: is badly used here: expected name=content");
        let (name, content) = text.split_once('=').ok_or_else(bad)?;
        let mut parameters = content.split(';');
        let (mut content, mut kind, mut filename) = (content, None, None);
        if !plain {
            let first = parameters.next().unwrap_or_default();
            for parameter in parameters {
                match parameter.trim().split_once('=') {
                    Some(("type", value)) => (kind, content) = (Some(value.to_owned()), first),
                    Some(("filename", value)) => {
                        (filename, content) = (Some(value.trim_matches('"').to_owned()), first);
                    }
                    _ => {}
                }
            }
        }
        let data = match content.as_bytes().first() {
            Some(b'@') if !plain => {
                let file = &content[1..];
                let base = file.rsplit('/').next().unwrap_or(file);
                kind = kind.or_else(|| Some(guess(base).to_owned()));
                filename = filename.or_else(|| Some(base.to_owned()));
                open(call, file)?
            }
            Some(b'<') if !plain => open(call, &content[1..])?,
            _ => content.as_bytes().to_vec(),
        };
        let quoted = |text: &str| text.replace('\\', "\\\\").replace('"', "%22").replace(['\r', '\n'], " ");
        let mut head = format!("Content-Disposition: form-data; name=\"{}\"", quoted(name));
        if let Some(filename) = filename {
            let _ = write!(head, "; filename=\"{}\"", quoted(&filename));
        }
        if let Some(kind) = kind {
            let _ = write!(head, "\r\nContent-Type: {}", kind.replace(['\r', '\n'], " "));
        }
        self.parts.push(Part { head, data });
        Ok(())
    }

    pub(super) fn upload(&mut self, call: &Call<'_>, name: &str) -> Result<(), Answer> {
        self.uploads = true;
        self.pieces = Some(open(call, name)?);
        Ok(())
    }

    /// The data as a query (`-G`).
    pub(super) fn query(&self) -> Option<String> {
        self.pieces.as_ref().map(|pieces| {
            let text = String::from_utf8_lossy(pieces);
            // Sent as it is, but for what a URL cannot have.
            text.chars()
                .map(|c| {
                    if c.is_ascii_graphic() && c != '#' {
                        c.to_string()
                    } else {
                        utf8_percent_encode(&c.to_string(), PLAIN).to_string()
                    }
                })
                .collect()
        })
    }

    /// The body and its type.
    pub(super) fn body(&self, longest: u64) -> Result<Option<Body>, Answer> {
        let made = if self.parts.is_empty() {
            let Some(pieces) = &self.pieces else { return Ok(None) };
            let kind = match () {
                () if self.uploads => None,
                () if self.json => Some("application/json".to_owned()),
                () => Some("application/x-www-form-urlencoded".to_owned()),
            };
            (kind, pieces.clone())
        } else {
            if self.pieces.is_some() {
                return Err(refuse(2, "You can only select one HTTP request method: -F or -d"));
            }
            self.form()
        };
        if made.1.len() as u64 > longest {
            return Err(refuse(63, &format!("(63) more than {longest} bytes cannot be sent")));
        }
        Ok(Some(made))
    }

    fn form(&self) -> Body {
        let all: Vec<u8> =
            self.parts.iter().flat_map(|part| part.head.bytes().chain(part.data.iter().copied())).collect();
        // Taken from the content: it cannot stand in it.
        let hash = Sha256::of(&all).to_string();
        let boundary = format!("------------------------{}", &hash[..24]);
        let mut body = Vec::with_capacity(all.len() + 200 * self.parts.len());
        for part in &self.parts {
            body.extend_from_slice(format!("--{boundary}\r\n{}\r\n\r\n", part.head).as_bytes());
            body.extend_from_slice(&part.data);
            body.extend_from_slice(b"\r\n");
        }
        body.extend_from_slice(format!("--{boundary}--\r\n").as_bytes());
        (Some(format!("multipart/form-data; boundary={boundary}")), body)
    }
}

/// Types that curl knows by the ending.
fn guess(name: &str) -> &'static str {
    match name.rsplit('.').next().unwrap_or_default().to_ascii_lowercase().as_str() {
        "gif" => "image/gif",
        "jpg" | "jpeg" => "image/jpeg",
        "png" => "image/png",
        "svg" => "image/svg+xml",
        "txt" => "text/plain",
        "htm" | "html" => "text/html",
        "pdf" => "application/pdf",
        "xml" => "application/xml",
        _ => "application/octet-stream",
    }
}

/// The body, unpacked if that was asked for; never more than `longest` bytes.
pub(super) fn unpacked(got: &Fetched, unpack: bool, longest: u64) -> Result<Vec<u8>, NotFetched> {
    let coding = header(got, "content-encoding").unwrap_or_default().trim().to_ascii_lowercase();
    let mut reader: Box<dyn Read + '_> = match coding.as_str() {
        "gzip" | "x-gzip" if unpack => Box::new(flate2::read::MultiGzDecoder::new(&got.body.0[..])),
        // Servers mean either by this word; zlib's head tells.
        "deflate" if unpack && got.body.0.first().is_some_and(|byte| byte & 0x0f == 8) => {
            Box::new(flate2::read::ZlibDecoder::new(&got.body.0[..]))
        }
        "deflate" if unpack => Box::new(flate2::read::DeflateDecoder::new(&got.body.0[..])),
        "" | "identity" => return Ok(got.body.0.clone()),
        _ if unpack => {
            let message = "Unrecognized or bad HTTP Content or Transfer-Encoding".to_owned();
            return Err(NotFetched { exit: 61, message });
        }
        _ => return Ok(got.body.0.clone()),
    };
    let mut out = Vec::new();
    let read = reader.by_ref().take(longest.saturating_add(1)).read_to_end(&mut out);
    match read {
        Ok(_) if out.len() as u64 > longest => {
            let message = format!("Exceeded the maximum allowed file size ({longest} bytes)");
            Err(NotFetched { exit: 63, message })
        }
        Ok(_) => Ok(out),
        Err(_) => Err(NotFetched { exit: 61, message: "Error while processing content unencoding".into() }),
    }
}
