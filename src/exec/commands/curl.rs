//! `curl`, in the words of curl 8. What it cannot do here is in README.md; there is no
//! progress meter.

use std::fmt::Write as _;

use super::fetch::{self, Net, Plan, Transfer, cookies::Jar};
use super::{Answer, Call};
use crate::clock;
use crate::exec::host::NotFetched;

mod body;
mod given;
mod write_out;

use given::Wanted;

/// What it calls itself.
const AGENT: &str = "curl/8.0 (sqlfs)";

/// Longest pause between two tries, milliseconds.
const LONGEST_PAUSE_MS: u64 = 30_000;

/// `curl`.
pub(crate) async fn run(call: &Call<'_>, net: &Net<'_>) -> Answer {
    let mut answer = Answer::default();
    let wanted = match given::wanted(call) {
        Ok(wanted) => wanted,
        Err(said) => return said,
    };
    let mut jar = wanted.jar();
    if let Some(jar) = &mut jar {
        for file in &wanted.cookie_files {
            let read = fetch::input(call, file).unwrap_or_default();
            jar.read(&String::from_utf8_lossy(&read));
        }
    }
    for (number, url) in wanted.urls.iter().enumerate() {
        let (done, spent_ms, plan) = transfer(call, net, &wanted, url, jar.as_mut()).await;
        answer.exit = 0;
        let file = wanted.file(number, url);
        let mut outcome = done.failed.clone().map_or(Ok(0), Err);
        if outcome.is_ok() || !done.hops.is_empty() {
            let kept = write(call, &wanted, &done, file.as_ref(), &mut answer);
            outcome = outcome.and(kept);
        }
        if let Err(failed) = &outcome {
            answer.exit = failed.exit;
            if !wanted.silent || wanted.show_error {
                complain(&mut answer, failed);
            }
        }
        if let Some(format) = &wanted.write_out {
            let figures = write_out::Figures {
                done: &done,
                plan: &plan,
                url,
                spent_ms,
                body_bytes: outcome.as_ref().copied().unwrap_or(0),
                file: file.as_ref().and_then(|file| file.as_ref().ok()).map_or("", String::as_str),
                failed: outcome.as_ref().err(),
                number,
            };
            write_out::write(format, &figures, &mut answer);
        }
    }
    if let (Some(jar), Some(file)) = (&jar, &wanted.cookie_jar) {
        let text = jar.write(call.now_ns);
        if put(call, file, text.as_bytes(), &mut answer).is_err() {
            answer.complain(0, format!("curl: warning: failed to save cookies in {file}"));
        }
    }
    answer
}

fn complain(answer: &mut Answer, failed: &NotFetched) {
    let exit = answer.exit;
    answer.complain(exit, format!("curl: ({}) {}", failed.exit, failed.message));
}

/// One URL, with further tries where they are wanted.
async fn transfer(
    call: &Call<'_>,
    net: &Net<'_>,
    wanted: &Wanted,
    url: &str,
    mut jar: Option<&mut Jar>,
) -> (Transfer, u64, Plan) {
    let plan = plan(wanted, url);
    let (begun, mut tries, mut pause) = (clock::now(), 0, 1000);
    loop {
        let done = fetch::transfer(net, call, &plan, jar.as_deref_mut()).await;
        let again = net.allowed && tries < wanted.retries && wanted.again(&done);
        if !again || call.is_over() {
            return (done, begun.elapsed().as_millis() as u64, plan);
        }
        let this = wanted.retry_delay_ms.unwrap_or(pause).min(LONGEST_PAUSE_MS);
        tokio::time::sleep(std::time::Duration::from_millis(this)).await;
        (tries, pause) = (tries + 1, pause * 2);
    }
}

fn plan(wanted: &Wanted, url: &str) -> Plan {
    let (mut url, user) = fetch::split_user(url);
    if let Some(query) = &wanted.query {
        let (before, fragment) = url.split_once('#').map_or((url.as_str(), None), |(a, b)| (a, Some(b)));
        let sign = if before.contains('?') { '&' } else { '?' };
        let path =
            if before.split("://").nth(1).is_some_and(|rest| !rest.contains(['/', '?'])) { "/" } else { "" };
        let fragment = fragment.map(|text| format!("#{text}")).unwrap_or_default();
        url = format!("{before}{path}{sign}{query}{fragment}");
    }
    if let (Some(name), true) = (&wanted.upload_name, url.ends_with('/')) {
        url.push_str(name);
    }
    let mut headers = wanted.headers.clone();
    let has = |headers: &[(String, String)], name| headers.iter().any(|(own, _)| fetch::is(own, name));
    if let Some(user) = wanted.user.as_ref().or(user.as_ref())
        && !has(&headers, "authorization")
    {
        headers.insert(0, ("Authorization".into(), fetch::basic(user)));
    }
    Plan {
        method: wanted.method.clone(),
        fixed: wanted.method_given,
        url,
        headers,
        body: wanted.body.clone(),
        timeout_ms: wanted.timeout_ms,
        connect_timeout_ms: wanted.connect_timeout_ms,
        longest: wanted.longest,
        redirects: wanted.follow.then_some(wanted.redirects),
        https_only: wanted.https_only,
    }
}

/// Prints and keeps what came. Gives the size of the body.
fn write(
    call: &Call<'_>,
    wanted: &Wanted,
    done: &Transfer,
    file: Option<&Result<String, NotFetched>>,
    answer: &mut Answer,
) -> Result<u64, NotFetched> {
    let fail = |exit, message: String| Err(NotFetched { exit, message });
    let mut heads = Vec::new();
    for hop in &done.hops {
        let head = head(&hop.got);
        if wanted.verbose {
            trace(hop, &head, answer);
        }
        heads.extend_from_slice(head.as_bytes());
    }
    if let Some(file) = &wanted.dump_header
        && put(call, file, &heads, answer).is_err()
    {
        return fail(23, format!("Failed to open {file}"));
    }
    let Some(last) = done.last() else { return Ok(0) };
    if done.failed.is_some() {
        if wanted.include {
            answer.stdout.extend_from_slice(&heads);
        }
        return Ok(0);
    }
    let bad = wanted.fail && last.status >= 400;
    let refused = || fail(22, format!("The requested URL returned error: {}", last.status));
    if bad && !wanted.fail_with_body {
        return refused();
    }
    let body = body::unpacked(last, wanted.compressed, wanted.longest)?;
    let size = body.len() as u64;
    let mut out = if wanted.include { heads } else { Vec::new() };
    out.extend_from_slice(&body);
    match file {
        None => answer.stdout.extend_from_slice(&out),
        Some(Err(failed)) => return Err(failed.clone()),
        Some(Ok(name)) => {
            if wanted.create_dirs
                && let Some((dir, _)) = call.path(name).rsplit_once('/')
            {
                let _ = call.files.mkdir_all(dir);
            }
            if let Err(errno) = put(call, name, &out, answer) {
                answer.complain(0, format!("Warning: Failed to open the file {name}: {errno}"));
                return fail(23, "Failure writing output to destination".into());
            }
        }
    }
    if bad { refused() } else { Ok(size) }
}

/// Writes to a file, or where the name says.
fn put(call: &Call<'_>, name: &str, data: &[u8], answer: &mut Answer) -> Result<(), crate::fs::Errno> {
    match name {
        "-" | "/dev/stdout" => answer.stdout.extend_from_slice(data),
        "/dev/stderr" => answer.stderr.extend_from_slice(data),
        "/dev/null" => {}
        name => {
            let own = name.rsplit('/').next().unwrap_or(name);
            super::new_name(own)?;
            return call.files.write(&call.path(name), data);
        }
    }
    Ok(())
}

fn head(got: &crate::exec::host::Fetched) -> String {
    let mut text = format!("{} {} {}\r\n", got.version, got.status, got.reason);
    for (name, value) in &got.headers {
        let _ = write!(text, "{name}: {value}\r\n");
    }
    text.push_str("\r\n");
    text
}

/// What `-v` shows: the request as the script made it, the answer as it came.
fn trace(hop: &fetch::Hop, head: &str, answer: &mut Answer) {
    let (host, path) = match url::Url::parse(&hop.got.url) {
        Ok(url) => {
            let port = url.port().map(|port| format!(":{port}")).unwrap_or_default();
            let query = url.query().map(|query| format!("?{query}")).unwrap_or_default();
            (format!("{}{port}", url.host_str().unwrap_or_default()), format!("{}{query}", url.path()))
        }
        Err(_) => (String::new(), hop.got.url.clone()),
    };
    let mut line = |text: String| answer.stderr.extend_from_slice(text.as_bytes());
    line(format!("> {} {path} HTTP/1.1\r\n> Host: {host}\r\n", hop.method));
    for (name, value) in &hop.sent {
        line(format!("> {name}: {value}\r\n"));
    }
    line("> \r\n".into());
    for text in head.split_inclusive('\n') {
        line(format!("< {text}"));
    }
}
