//! A live exec as server-sent events.
//!
//! The exec's future lives in the reply's body: a client that leaves makes hyper drop
//! the body, that drops the exec, and that ends the script.

use std::collections::VecDeque;
use std::future::Future;
use std::pin::Pin;
use std::time::Duration;

use axum::http::{HeaderName, HeaderValue};
use axum::response::sse::{Event, KeepAlive, Sse};
use axum::response::{IntoResponse, Response};
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD as BASE64;
use futures_util::stream;
use serde_json::{Value, json};
use tokio::sync::mpsc;

use super::error::{ApiError, ApiResult, millis};
use super::extract::Target;
use super::text::{Encoding, LiveText, replaced_warning};
use super::wire::exec::{ErrorEvent, ExitEvent, FailedExitEvent, OutputEvent};
use crate::clock::{self, Instant};
use crate::session::{ExecReply, ExecRequest, LiveEvent, OutputChunk, Service, SessionError, Stream};

/// Pieces of output between the script and a slow reader; then the script waits.
const PIECES: usize = 64;
const KEEP_ALIVE: Duration = Duration::from_secs(15);

type Ended = Result<ExecReply, SessionError>;
type Running = Pin<Box<dyn Future<Output = Ended> + Send>>;

/// Starts the exec; what fails before the script starts is a plain error.
pub async fn run(
    service: Service,
    target: Target,
    request: ExecRequest,
    encoding: Encoding,
) -> ApiResult<Response> {
    let (to, events) = mpsc::channel(PIECES);
    let running = Box::pin(async move {
        let Target { caller, request_id, sandbox } = target;
        service.exec(&caller, &request_id, sandbox, request, Some(to)).await
    });
    let live = Live::begin(running, events, encoding).await?;
    let events = stream::unfold(live, async |mut live| {
        let event = live.next().await?;
        Some((Ok::<_, std::convert::Infallible>(event.into_sse()), live))
    });
    let mut response =
        Sse::new(events).keep_alive(KeepAlive::new().interval(KEEP_ALIVE).text("keep-alive")).into_response();
    let unbuffered = (HeaderName::from_static("x-accel-buffering"), HeaderValue::from_static("no"));
    response.headers_mut().insert(unbuffered.0, unbuffered.1);
    Ok(response)
}

/// One event.
#[derive(Debug, PartialEq)]
struct Line {
    id: u64,
    name: &'static str,
    data: Value,
}

impl Line {
    fn into_sse(self) -> Event {
        Event::default().id(self.id.to_string()).event(self.name).data(one_line(&self.data))
    }
}

/// JSON without any character that some client takes for the end of a line: the
/// published one splits at U+0085, U+2028 and U+2029 too.
fn one_line(data: &Value) -> String {
    let text = data.to_string();
    if !text.contains(['\u{85}', '\u{2028}', '\u{2029}']) {
        return text;
    }
    text.replace('\u{85}', "\\u0085").replace('\u{2028}', "\\u2028").replace('\u{2029}', "\\u2029")
}

struct Live {
    running: Running,
    ended: Option<Ended>,
    events: mpsc::Receiver<LiveEvent>,
    ready: VecDeque<Line>,
    over: bool,
    encoding: Encoding,
    texts: [LiveText; 2],
    started: Instant,
    last_id: u64,
}

impl Live {
    /// Drives the exec until its script starts.
    async fn begin(
        mut running: Running,
        mut events: mpsc::Receiver<LiveEvent>,
        encoding: Encoding,
    ) -> ApiResult<Self> {
        let mut ended = None;
        let first = tokio::select! {
            biased;
            Some(first) = events.recv() => Some(first),
            end = &mut running => {
                ended = Some(end);
                events.try_recv().ok()
            }
        };
        if let (None, Some(Err(error))) = (&first, &mut ended) {
            return Err(std::mem::replace(error, SessionError::ClientGone).into());
        }
        let mut live = Self {
            running,
            ended,
            events,
            ready: VecDeque::new(),
            over: false,
            encoding,
            texts: <[LiveText; 2]>::default(),
            started: clock::now(),
            last_id: 0,
        };
        if let Some(first) = first {
            live.take(first);
        }
        Ok(live)
    }

    /// The next event; `None` after the last one.
    async fn next(&mut self) -> Option<Line> {
        loop {
            if let Some(line) = self.ready.pop_front() {
                return Some(line);
            }
            if self.over {
                return None;
            }
            if let Some(end) = self.ended.take() {
                // All that the script printed was sent before its end came.
                while let Ok(event) = self.events.try_recv() {
                    self.take(event);
                }
                self.finish(end);
                self.over = true;
                continue;
            }
            tokio::select! {
                biased;
                Some(event) = self.events.recv() => self.take(event),
                end = &mut self.running => self.ended = Some(end),
            }
        }
    }

    fn take(&mut self, event: LiveEvent) {
        match event {
            LiveEvent::Started => {}
            LiveEvent::Output(OutputChunk { stream, t_ms, data }) => {
                let text = match self.encoding {
                    Encoding::Utf8 => self.texts[stream as usize].push(&data),
                    Encoding::Base64 => BASE64.encode(&data),
                };
                self.output(stream, t_ms, &text);
            }
        }
    }

    fn output(&mut self, stream: Stream, t_ms: u64, text: &str) {
        let name = match stream {
            Stream::Stdout => "stdout",
            Stream::Stderr => "stderr",
        };
        if !text.is_empty() {
            self.push(name, json!(OutputEvent { t: t_ms, data: text }));
        }
    }

    fn finish(&mut self, end: Ended) {
        let t = millis(self.started.elapsed());
        for stream in [Stream::Stdout, Stream::Stderr] {
            let text = self.texts[stream as usize].finish();
            self.output(stream, t, &text);
        }
        let reply = match end {
            Ok(reply) => reply,
            Err(error) => {
                let error = ApiError::from(error);
                self.push("error", json!(ErrorEvent::of(t, &error)));
                self.push("exit", json!(FailedExitEvent::of(t, &error)));
                return;
            }
        };
        let mut warnings = reply.warnings.clone();
        for (stream, text) in ["stdout", "stderr"].iter().zip(&self.texts) {
            if text.replaced() {
                warnings.push(replaced_warning(stream));
            }
        }
        self.push("exit", json!(ExitEvent::of(t, &reply, warnings)));
    }

    fn push(&mut self, name: &'static str, data: Value) {
        self.last_id += 1;
        self.ready.push_back(Line { id: self.last_id, name, data });
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ids::Head;
    use crate::session::Captured;

    fn reply() -> ExecReply {
        ExecReply {
            output: Captured::default(),
            exit_code: 3,
            duration: Duration::from_millis(5),
            version: 9,
            head: Head::random(),
            committed: true,
            changed: 1,
            changes: None,
            warnings: Vec::new(),
            replayed: false,
        }
    }

    fn chunk(stream: Stream, data: &'static [u8]) -> LiveEvent {
        LiveEvent::Output(OutputChunk { stream, t_ms: 1, data: data.into() })
    }

    async fn all(mut live: Live) -> Vec<Line> {
        let mut lines = Vec::new();
        while let Some(line) = live.next().await {
            lines.push(line);
        }
        lines
    }

    #[tokio::test]
    async fn a_failure_before_the_start_is_a_plain_error() {
        let (_to, events) = mpsc::channel(1);
        let running = Box::pin(async { Err(SessionError::NotFound) });
        let error = Live::begin(running, events, Encoding::Utf8).await.err().unwrap();
        assert_eq!(error.status(), 404);
    }

    #[tokio::test]
    async fn output_comes_before_the_end_and_whole() {
        let (to, events) = mpsc::channel(8);
        let (go, gate) = tokio::sync::oneshot::channel::<()>();
        let running = Box::pin(async move {
            to.send(LiveEvent::Started).await.unwrap();
            to.send(chunk(Stream::Stdout, b"a\xe2\x82")).await.unwrap();
            gate.await.unwrap();
            to.send(chunk(Stream::Stderr, b"e")).await.unwrap();
            to.send(chunk(Stream::Stdout, b"\xac")).await.unwrap();
            Ok(reply())
        });
        let mut live = Live::begin(running, events, Encoding::Utf8).await.unwrap();
        assert_eq!(live.next().await.unwrap().data["data"], "a", "while the script still runs");
        go.send(()).unwrap();
        let rest = all(live).await;
        let shown: Vec<_> = rest.iter().map(|l| (l.id, l.name, l.data["data"].as_str())).collect();
        assert_eq!(shown, [(2, "stderr", Some("e")), (3, "stdout", Some("€")), (4, "exit", None)]);
        assert_eq!((&rest[2].data["exitCode"], &rest[2].data["version"]), (&json!(3), &json!(9)));
    }

    #[tokio::test]
    async fn a_failure_after_the_start_is_an_error_event_and_then_exit() {
        let (to, events) = mpsc::channel(8);
        let running = Box::pin(async move {
            to.send(LiveEvent::Started).await.unwrap();
            to.send(chunk(Stream::Stdout, b"\xff")).await.unwrap();
            Err(SessionError::LeaseLost)
        });
        let lines = all(Live::begin(running, events, Encoding::Base64).await.unwrap()).await;
        assert_eq!(lines.iter().map(|l| l.name).collect::<Vec<_>>(), ["stdout", "error", "exit"]);
        assert_eq!(lines[0].data["data"], "/w==");
        assert_eq!(
            (&lines[1].data["code"], &lines[1].data["retryable"]),
            (&json!("LEASE_LOST"), &json!(true))
        );
        assert_eq!(lines[2].data["exitCode"], -1);
    }

    #[tokio::test]
    async fn dropping_the_events_drops_the_exec() {
        let (to, events) = mpsc::channel(8);
        let (alive, dropped) = tokio::sync::oneshot::channel::<()>();
        let running = Box::pin(async move {
            let _alive = alive;
            to.send(LiveEvent::Started).await.unwrap();
            std::future::pending().await
        });
        let live = Live::begin(running, events, Encoding::Utf8).await.unwrap();
        drop(live);
        assert!(dropped.await.is_err());
    }

    #[test]
    fn output_cannot_leave_its_event() {
        let data = json!({"data": "x\n\nevent: done\r\u{85}\u{2028}\u{2029}"});
        let text = one_line(&data);
        assert!(!text.contains(['\n', '\r', '\u{85}', '\u{2028}', '\u{2029}']));
        assert_eq!(serde_json::from_str::<Value>(&text).unwrap(), data);
    }
}
