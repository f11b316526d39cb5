//! `wget`, in the words of GNU Wget 1.21, for single files. Left out: `-r`, `-c`, `-N`, `-i`.

use std::fmt::Write as _;

use super::fetch::{self, LONGEST_MS, Net, Plan, Transfer};
use super::options::{self, HELP, Spec, Takes, VERSION};
use super::{Answer, Call};
use crate::exec::host::NotFetched;

use Takes::{Argument as A, Nothing as N};

const HEADER: char = '\u{10}';
const POST_DATA: char = '\u{11}';
const POST_FILE: char = '\u{12}';
const SPIDER: char = '\u{13}';
const METHOD: char = '\u{14}';
const BODY_DATA: char = '\u{15}';
const BODY_FILE: char = '\u{16}';
const USER: char = '\u{17}';
const PASSWORD: char = '\u{18}';
const NO_CLOBBER: char = '\u{19}';
const NO_VERBOSE: char = '\u{1a}';
const MAX_REDIRECT: char = '\u{1b}';
const ON_ERROR: char = '\u{1c}';
/// Accepted and without effect, since it is so in any case.
const SO_ANYWAY: char = '\u{1d}';
const REFERER: char = '\u{1e}';

const SPECS: &[Spec] = &[
    ('O', "output-document", A),
    ('q', "quiet", N),
    (NO_VERBOSE, "no-verbose", N),
    ('v', "verbose", N),
    ('P', "directory-prefix", A),
    (HEADER, "header", A),
    (POST_DATA, "post-data", A),
    (POST_FILE, "post-file", A),
    (METHOD, "method", A),
    (BODY_DATA, "body-data", A),
    (BODY_FILE, "body-file", A),
    ('S', "server-response", N),
    (SPIDER, "spider", N),
    ('U', "user-agent", A),
    ('T', "timeout", A),
    ('t', "tries", A),
    (USER, "user", A),
    (PASSWORD, "password", A),
    (NO_CLOBBER, "no-clobber", N),
    (MAX_REDIRECT, "max-redirect", A),
    (ON_ERROR, "content-on-error", N),
    (REFERER, "referer", A),
    (SO_ANYWAY, "show-progress", N),
    (SO_ANYWAY, "no-cache", N),
    (SO_ANYWAY, "no-proxy", N),
    ('h', "help", N),
    (HELP, "", N),
    ('V', "version", N),
    (VERSION, "", N),
];

const USAGE: &str = "\
Usage: wget [OPTION]... [URL]...
 -O, -P, -nc, -q, -nv, -S, --spider, --content-on-error           what is kept and shown
 --header, -U, --referer, --user, --password                      what goes with it
 --post-data, --post-file, --method, --body-data, --body-file     what is sent
 -T, -t, --max-redirect                                           how it goes on
";

#[derive(Default)]
struct Wanted {
    plan: Plan,
    urls: Vec<String>,
    output: Option<String>,
    dir: Option<String>,
    user: Option<String>,
    password: Option<String>,
    quiet: bool,
    brief: bool,
    show_head: bool,
    spider: bool,
    no_clobber: bool,
    on_error: bool,
    tries: u32,
}

/// `wget`.
pub(crate) async fn run(call: &Call<'_>, net: &Net<'_>) -> Answer {
    let wanted = match wanted(call) {
        Ok(wanted) => wanted,
        Err(said) => return said,
    };
    let mut answer = Answer::default();
    let mut document = Vec::new();
    for url in &wanted.urls {
        let (plain, user) = fetch::split_user(url);
        let mut plan = Plan { url: plain.clone(), ..wanted.plan.clone() };
        let own =
            wanted.user.as_ref().map(|user| format!("{user}:{}", wanted.password.as_deref().unwrap_or("")));
        if let Some(user) = own.or(user) {
            plan.headers.push(("Authorization".into(), fetch::basic(&user)));
        }
        let name = file_name(call, &wanted, &plain);
        if wanted.no_clobber && wanted.output.is_none() && exists(call, &name) {
            wanted.say(&mut answer, &format!("File ‘{name}’ already there; not retrieving.\n"));
            continue;
        }
        let mut done = fetch::transfer(net, call, &plan, None).await;
        let mut tries = 1;
        while tries < wanted.tries && done.failed.as_ref().is_some_and(|failed| failed.exit == 28) {
            done = fetch::transfer(net, call, &plan, None).await;
            tries += 1;
        }
        one(call, &wanted, url, &name, &done, &mut document, &mut answer);
    }
    if let Some(output) = wanted.output.as_deref().filter(|_| !wanted.spider) {
        match output {
            "-" | "/dev/stdout" => answer.stdout.append(&mut document),
            "/dev/null" => {}
            output => {
                if let Err(errno) = call.files.write(&call.path(output), &document) {
                    answer.complain(3, format!("{output}: {errno}"));
                }
            }
        }
    }
    answer
}

impl Wanted {
    fn say(&self, answer: &mut Answer, text: &str) {
        if !self.quiet {
            answer.stderr.extend_from_slice(text.as_bytes());
        }
    }
}

/// Tells of one URL and keeps its body.
fn one(
    call: &Call<'_>,
    wanted: &Wanted,
    url: &str,
    name: &str,
    done: &Transfer,
    document: &mut Vec<u8>,
    answer: &mut Answer,
) {
    for hop in &done.hops {
        let status = format!("{} {}", hop.got.status, hop.got.reason);
        if !wanted.brief {
            let text = format!("--  {}\nHTTP request sent, awaiting response... {status}\n", hop.got.url);
            wanted.say(answer, &text);
        }
        if wanted.show_head {
            let mut head = format!("  {} {status}\n", hop.got.version);
            for (name, value) in &hop.got.headers {
                let _ = writeln!(head, "  {name}: {value}");
            }
            answer.stderr.extend_from_slice(head.as_bytes());
        }
    }
    if let Some(failed) = &done.failed {
        if !wanted.quiet {
            answer.complain(0, format!("wget: {}", failed.message));
        }
        answer.exit = exit_of(failed);
        return;
    }
    let Some(last) = done.last() else { return };
    if last.status >= 400 {
        answer.exit = 8;
        if !wanted.quiet {
            answer.complain(8, format!("ERROR {}: {}.", last.status, last.reason));
        }
        if !wanted.on_error {
            return;
        }
    }
    if wanted.spider {
        wanted.say(answer, "Remote file exists.\n");
        return;
    }
    let body = &last.body.0;
    if let Some(output) = &wanted.output {
        document.extend_from_slice(body);
        wanted.say(answer, &format!("{url} -> \"{output}\" [{}]\n", body.len()));
        return;
    }
    if let Some(dir) = &wanted.dir {
        let _ = call.files.mkdir_all(&call.path(dir));
    }
    match super::new_name(name).and_then(|name| call.files.write(&call.path(name), body)) {
        Ok(()) => wanted.say(answer, &format!("‘{name}’ saved [{}]\n", body.len())),
        Err(errno) => answer.complain(3, format!("{name}: {errno}")),
    }
}

fn exit_of(failed: &NotFetched) -> u8 {
    match failed.exit {
        60 | 35 => 5,
        1 | 3 | 43 => 1,
        47 => 8,
        _ => 4,
    }
}

fn exists(call: &Call<'_>, name: &str) -> bool {
    call.files.stat(&call.path(name), true).is_ok()
}

/// A file that is not there yet: `name`, `name.1`, …
fn file_name(call: &Call<'_>, wanted: &Wanted, url: &str) -> String {
    let name = fetch::remote_name(url).unwrap_or_else(|| "index.html".to_owned());
    let query =
        url.split_once('?').map(|(_, query)| query.split('#').next().unwrap_or(query).replace('/', "%2F"));
    let name = query.map_or_else(|| name.clone(), |query| format!("{name}?{query}"));
    let name = wanted.dir.as_ref().map_or_else(|| name.clone(), |dir| super::join(dir, &name));
    if wanted.no_clobber || wanted.output.is_some() || !exists(call, &name) {
        return name;
    }
    (1..100_000).map(|n| format!("{name}.{n}")).find(|name| !exists(call, name)).unwrap_or(name)
}

fn refuse(message: &str) -> Answer {
    let mut answer = Answer::default();
    answer.complain(2, format!("wget: {message}"));
    answer
}

fn wanted(call: &Call<'_>) -> Result<Wanted, Answer> {
    // Wget has options of two letters.
    let long = |arg: &String| match arg.as_str() {
        "-nv" => "--no-verbose".to_owned(),
        "-nc" => "--no-clobber".to_owned(),
        _ => arg.clone(),
    };
    let args: Vec<String> = call.args.iter().map(long).collect();
    let given = options::parse(&args, SPECS)
        .map_err(|error| refuse(&format!("{error}: option not supported here")))?;
    let mut it = Wanted {
        plan: Plan {
            method: "GET".into(),
            timeout_ms: LONGEST_MS,
            connect_timeout_ms: LONGEST_MS,
            longest: call.files.quota().file_bytes,
            redirects: Some(20),
            ..Plan::default()
        },
        urls: given.operands.iter().map(|&url| url.to_owned()).collect(),
        tries: 1,
        ..Wanted::default()
    };
    let (mut agent, mut own, mut form) = ("Wget/1.21 (sqlfs)", Vec::new(), false);
    for &(letter, value) in &given.options {
        let text = value.unwrap_or_default();
        let number = || text.parse::<u32>().map_err(|_| refuse(&format!("invalid number {text:?}")));
        let read = || {
            fetch::input(call, text).map_err(|errno| {
                let mut answer = Answer::default();
                answer.complain(3, format!("wget: BODY data file ‘{text}’ missing: {errno}"));
                answer
            })
        };
        match letter {
            'O' => it.output = Some(text.to_owned()),
            'q' => it.quiet = true,
            NO_VERBOSE => it.brief = true,
            'P' => it.dir = Some(text.to_owned()),
            HEADER => match text.split_once(':') {
                Some((name, value)) if !text.contains(['\r', '\n', '\0']) => {
                    own.push((name.trim().to_owned(), value.trim().to_owned()));
                }
                _ => return Err(refuse(&format!("invalid header: {}", text.escape_debug()))),
            },
            POST_DATA | POST_FILE => {
                it.plan.body = if letter == POST_DATA { text.as_bytes().to_vec() } else { read()? };
                it.plan.method = "POST".into();
                form = true;
            }
            METHOD => (it.plan.method, it.plan.fixed) = (text.to_uppercase(), true),
            BODY_DATA => it.plan.body = text.as_bytes().to_vec(),
            BODY_FILE => it.plan.body = read()?,
            'S' => it.show_head = true,
            SPIDER => it.spider = true,
            'U' => agent = text,
            REFERER => own.push(("Referer".into(), text.to_owned())),
            'T' => {
                let ms = fetch::seconds(text).ok_or_else(|| refuse(&format!("invalid time {text:?}")))?;
                it.plan.timeout_ms = if ms == 0 { LONGEST_MS } else { ms.min(LONGEST_MS) };
            }
            't' => it.tries = number()?.clamp(1, 10),
            USER => it.user = Some(text.to_owned()),
            PASSWORD => it.password = Some(text.to_owned()),
            NO_CLOBBER => it.no_clobber = true,
            MAX_REDIRECT => it.plan.redirects = Some(number()?.min(20)),
            ON_ERROR => it.on_error = true,
            'h' | HELP => return Err(Answer { stdout: USAGE.into(), ..Answer::default() }),
            'V' | VERSION => {
                return Err(Answer { stdout: b"GNU Wget 1.21 (sqlfs)\n".to_vec(), ..Answer::default() });
            }
            _ => {}
        }
    }
    if it.urls.is_empty() {
        return Err(refuse("missing URL"));
    }
    if it.plan.body.len() as u64 > it.plan.longest {
        return Err(refuse(&format!("more than {} bytes cannot be sent", it.plan.longest)));
    }
    if it.spider && it.plan.method == "GET" {
        it.plan.method = "HEAD".into();
    }
    let defaults = [
        ("User-Agent", agent),
        ("Accept", "*/*"),
        ("Content-Type", if form { "application/x-www-form-urlencoded" } else { "" }),
    ];
    for (name, value) in defaults {
        if !value.is_empty() && !own.iter().any(|(other, _): &(String, String)| fetch::is(name, other)) {
            it.plan.headers.push((name.to_owned(), value.to_owned()));
        }
    }
    it.plan.headers.append(&mut own);
    Ok(it)
}
