//! The options of `curl`: what is known, what is refused, and what they come to.

use super::{AGENT, body};
use crate::exec::commands::fetch::{
    LONGEST_MS, Transfer, cookies::Jar, input, is, remote_name, seconds, split_user,
};
use crate::exec::commands::options::{self, HELP, Spec, Takes, VERSION};
use crate::exec::commands::{Answer, Call, join};
use crate::exec::host::NotFetched;

use Takes::{Argument as A, Nothing as N};

// Options without a letter of their own.
const JSON: char = '\u{10}';
const RAW: char = '\u{11}';
const BINARY: char = '\u{12}';
const URLENCODE: char = '\u{13}';
const MAX_REDIRS: char = '\u{14}';
const FAIL_WITH_BODY: char = '\u{15}';
const COMPRESSED: char = '\u{16}';
const CONNECT_TIMEOUT: char = '\u{17}';
const RETRY: char = '\u{18}';
const RETRY_DELAY: char = '\u{19}';
const RETRY_ALL: char = '\u{1a}';
const RETRY_CONNREFUSED: char = '\u{1b}';
const URL: char = '\u{1c}';
const CREATE_DIRS: char = '\u{1d}';
const OUTPUT_DIR: char = '\u{1e}';
const MAX_FILESIZE: char = '\u{1f}';
const BEARER: char = '\u{80}';
const PROTO: char = '\u{81}';
/// Accepted and without effect, since it is so in any case.
const SO_ANYWAY: char = '\u{82}';
const FORM_STRING: char = '\u{83}';

const SPECS: &[Spec] = &[
    ('X', "request", A),
    ('H', "header", A),
    ('d', "data", A),
    ('d', "data-ascii", A),
    (RAW, "data-raw", A),
    (BINARY, "data-binary", A),
    (URLENCODE, "data-urlencode", A),
    (JSON, "json", A),
    ('F', "form", A),
    (FORM_STRING, "form-string", A),
    ('G', "get", N),
    ('o', "output", A),
    ('O', "remote-name", N),
    ('L', "location", N),
    (MAX_REDIRS, "max-redirs", A),
    ('s', "silent", N),
    ('S', "show-error", N),
    ('f', "fail", N),
    (FAIL_WITH_BODY, "fail-with-body", N),
    ('i', "include", N),
    ('i', "show-headers", N),
    ('I', "head", N),
    ('v', "verbose", N),
    ('w', "write-out", A),
    ('u', "user", A),
    ('A', "user-agent", A),
    ('e', "referer", A),
    ('b', "cookie", A),
    ('c', "cookie-jar", A),
    (COMPRESSED, "compressed", N),
    ('k', "insecure", N),
    ('m', "max-time", A),
    (CONNECT_TIMEOUT, "connect-timeout", A),
    (RETRY, "retry", A),
    (RETRY_DELAY, "retry-delay", A),
    (RETRY_ALL, "retry-all-errors", N),
    (RETRY_CONNREFUSED, "retry-connrefused", N),
    ('T', "upload-file", A),
    ('r', "range", A),
    ('D', "dump-header", A),
    (URL, "url", A),
    (CREATE_DIRS, "create-dirs", N),
    (OUTPUT_DIR, "output-dir", A),
    (MAX_FILESIZE, "max-filesize", A),
    (BEARER, "oauth2-bearer", A),
    (PROTO, "proto", A),
    (PROTO, "proto-redir", A),
    (SO_ANYWAY, "tlsv1.2", N),
    (SO_ANYWAY, "http1.1", N),
    (SO_ANYWAY, "no-progress-meter", N),
    (SO_ANYWAY, "progress-bar", N),
    ('#', "", N),
    ('N', "no-buffer", N),
    ('g', "globoff", N),
    ('q', "disable", N),
    (SO_ANYWAY, "basic", N),
    (SO_ANYWAY, "no-keepalive", N),
    ('h', "help", N),
    (HELP, "", N),
    ('V', "version", N),
    (VERSION, "", N),
];

const USAGE: &str = "\
Usage: curl [options...] <url>
 -X, -H, -d, --data-raw, --data-binary, --data-urlencode, --json, -F, -G, -T   what is sent
 -o, -O, --output-dir, --create-dirs, -i, -I, -D, -w, -v, -s, -S               what is shown
 -L, --max-redirs, -f, --fail-with-body, --retry, -m, --connect-timeout        how it goes on
 -u, --oauth2-bearer, -A, -e, -b, -c, -r, --compressed, --max-filesize         what goes with it
";

/// What a call of `curl` is to do.
#[derive(Default)]
pub(super) struct Wanted {
    pub(super) urls: Vec<String>,
    pub(super) method: String,
    pub(super) method_given: bool,
    pub(super) headers: Vec<(String, String)>,
    pub(super) body: Vec<u8>,
    pub(super) query: Option<String>,
    pub(super) upload_name: Option<String>,
    pub(super) user: Option<String>,
    pub(super) cookie_files: Vec<String>,
    cookies: bool,
    pub(super) cookie_jar: Option<String>,
    outputs: Vec<Output>,
    output_dir: Option<String>,
    pub(super) create_dirs: bool,
    pub(super) follow: bool,
    pub(super) redirects: u32,
    pub(super) silent: bool,
    pub(super) show_error: bool,
    pub(super) fail: bool,
    pub(super) fail_with_body: bool,
    pub(super) include: bool,
    pub(super) verbose: bool,
    pub(super) compressed: bool,
    pub(super) dump_header: Option<String>,
    pub(super) write_out: Option<String>,
    pub(super) timeout_ms: u64,
    pub(super) connect_timeout_ms: u64,
    pub(super) longest: u64,
    pub(super) retries: u32,
    pub(super) retry_delay_ms: Option<u64>,
    retry_all: bool,
    retry_connrefused: bool,
    pub(super) https_only: bool,
}

enum Output {
    File(String),
    RemoteName,
}

/// `-w` and `--retry` have no use above these.
const MOST_RETRIES: u32 = 10;

impl Wanted {
    /// A jar, if cookies are kept at all.
    pub(super) fn jar(&self) -> Option<Jar> {
        self.cookies.then(Jar::default)
    }

    /// Where the body of the `number`th URL goes; `None`: standard output.
    pub(super) fn file(&self, number: usize, url: &str) -> Option<Result<String, NotFetched>> {
        let name = match self.outputs.get(number)? {
            Output::File(name) if name == "-" => return None,
            Output::File(name) => name.clone(),
            Output::RemoteName => match remote_name(&split_user(url).0) {
                Some(name) => name,
                None => {
                    let message = "Remote file name has no length".to_owned();
                    return Some(Err(NotFetched { exit: 23, message }));
                }
            },
        };
        Some(Ok(match &self.output_dir {
            Some(dir) if !name.starts_with("/dev/") => join(dir, &name),
            _ => name,
        }))
    }

    /// Whether a failure may pass by itself.
    pub(super) fn again(&self, done: &Transfer) -> bool {
        match &done.failed {
            Some(failed) if failed.message.contains("not allowed") => false,
            Some(failed) => self.retry_all || failed.exit == 28 || failed.exit == 7 && self.retry_connrefused,
            None => {
                let status = done.last().map_or(0, |got| got.status);
                matches!(status, 408 | 429 | 500 | 502 | 503 | 504)
                    || self.retry_all && self.fail && status >= 400
            }
        }
    }
}

fn refuse(exit: u8, message: &str) -> Answer {
    let mut answer = Answer::default();
    answer.complain(exit, format!("curl: {message}"));
    answer
}

/// Reads the arguments. `Err` is what is said instead of doing anything.
pub(super) fn wanted(call: &Call<'_>) -> Result<Wanted, Answer> {
    let given = options::parse(call.args, SPECS)
        .map_err(|error| refuse(2, &format!("{error}: option not supported here")))?;
    let mut it = Wanted {
        timeout_ms: LONGEST_MS,
        connect_timeout_ms: LONGEST_MS,
        longest: call.files.quota().file_bytes,
        redirects: 50,
        urls: given.operands.iter().map(|&url| url.to_owned()).collect(),
        ..Wanted::default()
    };
    let (mut data, mut get, mut head, mut agent) = (body::Data::default(), false, false, AGENT.to_owned());
    let (mut cookies, mut own) = (Vec::new(), Vec::<(String, String)>::new());
    let mut headers: Vec<String> = Vec::new();
    for &(letter, value) in &given.options {
        let text = value.unwrap_or_default();
        match letter {
            'X' => (it.method, it.method_given) = (text.to_owned(), true),
            'H' => match text.strip_prefix('@') {
                Some(file) => {
                    let read =
                        input(call, file).map_err(|_| refuse(26, &format!("(26) Failed to open {file}")))?;
                    headers.extend(String::from_utf8_lossy(&read).lines().map(str::to_owned));
                }
                None => headers.push(text.to_owned()),
            },
            'd' => data.add(call, text, body::Kind::Text)?,
            BINARY => data.add(call, text, body::Kind::Binary)?,
            RAW => data.add(call, text, body::Kind::Raw)?,
            JSON => data.add(call, text, body::Kind::Json)?,
            URLENCODE => data.add_encoded(call, text)?,
            'F' => data.add_part(call, text, false)?,
            FORM_STRING => data.add_part(call, text, true)?,
            'T' => {
                let name = text.rsplit('/').next().unwrap_or(text).to_owned();
                it.upload_name = (text != "-").then_some(name);
                data.upload(call, text)?;
            }
            'G' => get = true,
            'I' => (head, it.include) = (true, true),
            'o' => it.outputs.push(Output::File(text.to_owned())),
            'O' => it.outputs.push(Output::RemoteName),
            OUTPUT_DIR => it.output_dir = Some(text.to_owned()),
            CREATE_DIRS => it.create_dirs = true,
            'L' => it.follow = true,
            MAX_REDIRS => it.redirects = number(text, "--max-redirs")?.min(50),
            's' => it.silent = true,
            'S' => it.show_error = true,
            'f' => it.fail = true,
            FAIL_WITH_BODY => (it.fail, it.fail_with_body) = (true, true),
            'i' => it.include = true,
            'v' => it.verbose = true,
            'D' => it.dump_header = Some(text.to_owned()),
            'w' => it.write_out = Some(format(call, text)?),
            'u' => it.user = Some(text.to_owned()),
            BEARER => own.push(("Authorization".into(), format!("Bearer {text}"))),
            'A' => text.clone_into(&mut agent),
            'e' => own.push(("Referer".into(), text.trim_end_matches(";auto").to_owned())),
            'r' => own.push(("Range".into(), format!("bytes={text}"))),
            'b' => {
                it.cookies = true;
                if text.contains('=') {
                    cookies.push(text.to_owned());
                } else if !text.is_empty() {
                    it.cookie_files.push(text.to_owned());
                }
            }
            'c' => (it.cookies, it.cookie_jar) = (true, Some(text.to_owned())),
            COMPRESSED => it.compressed = true,
            'm' => it.timeout_ms = time(text, "-m")?.min(LONGEST_MS),
            CONNECT_TIMEOUT => it.connect_timeout_ms = time(text, "--connect-timeout")?,
            MAX_FILESIZE => it.longest = it.longest.min(number(text, "--max-filesize")?.into()),
            RETRY => it.retries = number(text, "--retry")?.min(MOST_RETRIES),
            RETRY_DELAY => it.retry_delay_ms = Some(time(text, "--retry-delay")?),
            RETRY_ALL => it.retry_all = true,
            RETRY_CONNREFUSED => it.retry_connrefused = true,
            URL => it.urls.push(text.to_owned()),
            PROTO => match text {
                "=https" | "https" => it.https_only = true,
                "=http,https" | "=https,http" => {}
                _ => {
                    return Err(refuse(
                        2,
                        "option --proto: only =https and =http,https here: option not supported here",
                    ));
                }
            },
            'k' => {
                let why = "option -k, --insecure: certificates are always checked: option not supported here";
                return Err(refuse(2, why));
            }
            'h' | HELP => return Err(Answer { stdout: USAGE.into(), ..Answer::default() }),
            'V' | VERSION => {
                let text = format!("curl 8.0 ({AGENT})\nProtocols: http https\n");
                return Err(Answer { stdout: text.into(), ..Answer::default() });
            }
            _ => {}
        }
    }
    if it.urls.is_empty() {
        return Err(refuse(2, "(2) no URL specified"));
    }
    let sends = data.is_some();
    if get {
        it.query = data.query();
    } else if let Some((kind, bytes)) = data.body(call.files.quota().file_bytes)? {
        it.body = bytes;
        own.extend(kind.map(|kind| ("Content-Type".to_owned(), kind)));
    }
    if data.json {
        own.push(("Accept".into(), "application/json".into()));
    }
    if !it.method_given {
        let method = match () {
            () if head => "HEAD",
            () if data.uploads => "PUT",
            () if sends && !get => "POST",
            () => "GET",
        };
        method.clone_into(&mut it.method);
    }
    if !cookies.is_empty() {
        own.push(("Cookie".into(), cookies.join("; ")));
    }
    if it.compressed {
        own.push(("Accept-Encoding".into(), "deflate, gzip".into()));
    }
    let mut defaults = vec![("User-Agent".to_owned(), agent), ("Accept".to_owned(), "*/*".to_owned())];
    defaults.retain(|(name, value)| !value.is_empty() && !own.iter().any(|(other, _)| is(name, other)));
    defaults.extend(own);
    it.headers = with_own(defaults, &headers).map_err(|bad| refuse(43, &bad))?;
    Ok(it)
}

/// Headers as `-H` changes them: `Name: value` sets, `Name:` takes away, `Name;` is empty.
fn with_own(mut headers: Vec<(String, String)>, own: &[String]) -> Result<Vec<(String, String)>, String> {
    for line in own {
        if line.contains(['\r', '\n', '\0']) {
            return Err(format!("(43) invalid header: {}", line.escape_debug()));
        }
        let Some((name, value)) = line.split_once(':').or_else(|| Some((line.strip_suffix(';')?, ";")))
        else {
            continue;
        };
        let (name, value) = (name.trim(), value.trim());
        headers.retain(|(other, _)| !is(name, other) || own.iter().any(|line| line == other));
        // What the connection needs is set by the server.
        if ["content-length", "connection", "expect"].iter().any(|ours| is(name, ours)) || value.is_empty() {
            continue;
        }
        headers.push((name.to_owned(), if value == ";" { String::new() } else { value.to_owned() }));
    }
    Ok(headers)
}

fn number(text: &str, name: &str) -> Result<u32, Answer> {
    let what = || refuse(2, &format!("option {name}: expected a proper numerical parameter"));
    if text == "-1" { Ok(u32::MAX) } else { text.parse().map_err(|_| what()) }
}

fn time(text: &str, name: &str) -> Result<u64, Answer> {
    let what = || refuse(2, &format!("option {name}: expected a proper numerical parameter"));
    // As in curl, none is no limit.
    seconds(text).map(|ms| if ms == 0 { LONGEST_MS } else { ms }).ok_or_else(what)
}

fn format(call: &Call<'_>, text: &str) -> Result<String, Answer> {
    let Some(file) = text.strip_prefix('@') else { return Ok(text.to_owned()) };
    let read = input(call, file).map_err(|_| refuse(26, &format!("(26) Failed to open {file}")))?;
    Ok(String::from_utf8_lossy(&read).into_owned())
}
