//! One request over one connection, to an address that was checked. No proxy, no redirect,
//! no second try, no kept connection, nothing unpacked.

use std::error::Error;
use std::net::SocketAddr;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use reqwest::dns::{Addrs, Name, Resolve, Resolving};
use reqwest::header::{HeaderMap, HeaderName, HeaderValue};
use reqwest::{Method, Request, Response, Version, redirect, retry};
use rustls::client::Resumption;
use rustls::pki_types::CertificateDer;
use rustls::pki_types::pem::PemObject;
use rustls::{ClientConfig, RootCertStore};
use url::Url;

use super::budget::Budget;
use super::{Answer, Ask, Failure, measure};

/// Headers of one message.
const MOST_HEADERS: usize = 256;

/// Makes connections.
pub(super) struct Client {
    tls: ClientConfig,
}

/// Answers every question with what was checked.
struct Pinned(Vec<SocketAddr>);

impl Resolve for Pinned {
    fn resolve(&self, _: Name) -> Resolving {
        let addresses: Addrs = Box::new(self.0.clone().into_iter());
        Box::pin(std::future::ready(Ok(addresses)))
    }
}

/// Headers that belong to the connection or to the URL: a script that set them could speak
/// to another host behind the same address, or end a message where we see no end.
pub(super) fn is_ours(name: &HeaderName) -> bool {
    const OURS: &[&str] = &[
        "connection",
        "content-length",
        "expect",
        "host",
        "keep-alive",
        "te",
        "trailer",
        "transfer-encoding",
        "upgrade",
    ];
    OURS.contains(&name.as_str()) || name.as_str().starts_with("proxy-")
}

/// The request, checked, still without credentials and body.
pub(super) fn request(url: &Url, ask: &Ask) -> Result<Request, Failure> {
    let bad_header = |name: &str| Failure::new(43, format!("invalid header: {}", name.escape_debug()));
    let size: usize = ask.headers.iter().map(|(name, value)| name.len() + value.len()).sum();
    if size + ask.url.len() + ask.method.len() > super::LONGEST_HEAD || ask.headers.len() > MOST_HEADERS {
        return Err(Failure::new(43, "invalid header: URL and headers are too long, or too many"));
    }
    let method = Method::try_from(ask.method.as_str()).ok().filter(|method| *method != Method::CONNECT);
    let method = method.ok_or_else(|| Failure::new(43, "this method is not allowed"))?;
    let mut request = Request::new(method, url.clone());
    for (name, value) in &ask.headers {
        let parsed = HeaderName::try_from(name).map_err(|_| bad_header(name))?;
        if is_ours(&parsed) {
            return Err(Failure::new(43, format!("invalid header: {parsed} is set by the server")));
        }
        let value = HeaderValue::try_from(value).map_err(|_| bad_header(name))?;
        request.headers_mut().try_append(parsed, value).map_err(|_| bad_header(name))?;
    }
    Ok(request)
}

/// Puts the body in.
pub(super) fn give_body(request: &mut Request, ask: Ask) {
    if !ask.body.is_empty() || matches!(ask.method.as_str(), "POST" | "PUT" | "PATCH") {
        *request.body_mut() = Some(ask.body.into());
    }
}

impl Client {
    pub(super) fn new(ca_file: Option<&Path>) -> Result<Self, String> {
        let mut roots = RootCertStore { roots: webpki_roots::TLS_SERVER_ROOTS.to_vec() };
        if let Some(file) = ca_file {
            let unreadable = |why| format!("must be a file with certificates in PEM: {why}");
            let text = std::fs::read(file).map_err(|error| unreadable(error.kind().to_string()))?;
            let mut found = 0;
            for certificate in CertificateDer::pem_slice_iter(&text) {
                let certificate = certificate.map_err(|_| unreadable("it is broken".into()))?;
                roots.add(certificate).map_err(|_| unreadable("a certificate is broken".into()))?;
                found += 1;
            }
            if found == 0 {
                return Err(unreadable("there is none in it".into()));
            }
        }
        let provider = Arc::new(rustls::crypto::ring::default_provider());
        let versions = ClientConfig::builder_with_provider(provider).with_safe_default_protocol_versions();
        let mut tls =
            versions.map_err(|error| error.to_string())?.with_root_certificates(roots).with_no_client_auth();
        // Tickets of one sandbox's connections must not go out with another's.
        tls.resumption = Resumption::disabled();
        tls.alpn_protocols = vec![b"http/1.1".to_vec()];
        Ok(Self { tls })
    }

    pub(super) async fn send(
        &self,
        mut request: Request,
        credentials: HeaderMap,
        addresses: Vec<SocketAddr>,
        connect_timeout: Duration,
        longest: u64,
        budget: &Budget,
    ) -> Result<Answer, Failure> {
        for (name, value) in &credentials {
            request.headers_mut().insert(name, value.clone());
        }
        let client = reqwest::Client::builder()
            .tls_backend_preconfigured(self.tls.clone())
            .dns_resolver(Pinned(addresses))
            .no_proxy()
            .redirect(redirect::Policy::none())
            .retry(retry::never())
            .referer(false)
            .connect_timeout(connect_timeout)
            .pool_max_idle_per_host(0)
            .http1_only()
            .http1_max_headers(MOST_HEADERS)
            .build()
            .map_err(|_| Failure::new(2, "the request could not be prepared"))?;
        let (url, head) = (request.url().clone(), *request.method() == Method::HEAD);
        let length = request.body().and_then(|body| body.as_bytes()).map_or(0, <[u8]>::len);
        let response = client.execute(request).await.map_err(|error| failed(&error, &url))?;
        measure::sent(length as u64);
        if response.status().as_u16() < 200 {
            return Err(Failure::new(8, "the server changed the protocol, which nobody asked for"));
        }
        let mut answer = Answer {
            status: response.status().as_u16(),
            version: if response.version() == Version::HTTP_10 { "HTTP/1.0" } else { "HTTP/1.1" },
            reason: reason(&response),
            url: url.into(),
            headers: headers(response.headers()),
            body: Vec::new(),
        };
        if !head {
            answer.body = body(response, longest, budget).await?;
        }
        Ok(answer)
    }
}

fn reason(response: &Response) -> String {
    match response.extensions().get::<hyper::ext::ReasonPhrase>() {
        Some(own) => String::from_utf8_lossy(own.as_bytes()).into_owned(),
        None => response.status().canonical_reason().unwrap_or_default().to_owned(),
    }
}

fn headers(map: &HeaderMap) -> Vec<(String, String)> {
    map.iter()
        .map(|(name, value)| (name.to_string(), String::from_utf8_lossy(value.as_bytes()).into_owned()))
        .collect()
}

async fn body(mut response: Response, longest: u64, budget: &Budget) -> Result<Vec<u8>, Failure> {
    let too_long = || Failure::new(63, format!("Exceeded the maximum allowed file size ({longest} bytes)"));
    if response.content_length().is_some_and(|length| length > longest) {
        return Err(too_long());
    }
    let (mut body, mut share) = (Vec::new(), budget.begin());
    loop {
        match response.chunk().await {
            Ok(None) => return Ok(body),
            Ok(Some(piece)) => {
                measure::received(piece.len() as u64);
                if (body.len() + piece.len()) as u64 > longest {
                    return Err(too_long());
                }
                share.take(piece.len() as u64)?;
                body.extend_from_slice(&piece);
            }
            Err(_) => {
                let got = body.len();
                return Err(Failure::new(18, format!("transfer closed before its end, after {got} bytes")));
            }
        }
    }
}

/// An error of TLS, which may be packed into several of I/O, each hiding it from `source`.
fn tls_error<'a>(error: &'a (dyn Error + 'static)) -> Option<&'a rustls::Error> {
    error
        .downcast_ref::<rustls::Error>()
        .or_else(|| tls_error(error.downcast_ref::<std::io::Error>()?.get_ref()?))
}

/// What went wrong, in curl's terms; without addresses, which are nobody's business.
fn failed(error: &reqwest::Error, url: &Url) -> Failure {
    let host = url.host_str().unwrap_or_default();
    let port = url.port_or_known_default().unwrap_or_default();
    let mut cause: Option<&(dyn Error + 'static)> = Some(error);
    while let Some(this) = cause {
        if let Some(hyper) = this.downcast_ref::<hyper::Error>() {
            if hyper.is_parse_too_large() {
                return Failure::new(63, "the header of the reply is too large");
            }
            if hyper.is_incomplete_message() {
                return Failure::new(52, "Empty reply from server");
            }
            if hyper.is_parse() {
                return Failure::new(1, "Received HTTP/0.9 when not allowed, or no HTTP at all");
            }
        }
        match tls_error(this) {
            Some(rustls::Error::InvalidCertificate(_)) => {
                return Failure::new(60, format!("SSL certificate problem: that of {host} is not trusted"));
            }
            Some(_) => return Failure::new(35, format!("TLS connect error with {host}")),
            None => {}
        }
        cause = this.source();
    }
    if error.is_timeout() {
        return Failure::new(28, "Connection timed out");
    }
    if error.is_connect() {
        return Failure::new(
            7,
            format!("Failed to connect to {host} port {port}: Couldn't connect to server"),
        );
    }
    Failure::new(56, format!("Recv failure from {host} port {port}"))
}
