//! Where a server is, and whose certificates it may show.

use std::error::Error;
use std::path::Path;
use std::sync::Arc;

use redis::{Client, ConnectionInfo, RedisError, TlsCertificates};
use rustls::CertificateError;

/// How a certificate begins in a PEM file.
const BEGIN: &[u8] = b"-----BEGIN CERTIFICATE-----";

/// A server: its URL, and the authority that its certificate must come from.
#[derive(Clone)]
pub struct RedisServer {
    client: Client,
    own_authority: bool,
}

impl RedisServer {
    /// `url` is `redis://` or `rediss://`, the value of `setting`. `ca_file` (PEM) holds the only authorities that are
    /// trusted then; without it those of the system are. Nothing is connected to. An error
    /// names the setting and says what is wrong with it.
    pub fn new(setting: &str, url: &str, ca_file: Option<&Path>) -> Result<Self, String> {
        let client = Client::open(url).map_err(|error| format!("{setting}: {error}"))?;
        let Some(file) = ca_file else { return Ok(Self { client, own_authority: false }) };
        let wrong = |why: &dyn std::fmt::Display| format!("REDIS_CA_FILE: {}: {why}", file.display());
        let pem = std::fs::read(file).map_err(|error| wrong(&error))?;
        // The client takes a file without any for one that trusts nobody.
        if !pem.windows(BEGIN.len()).any(|piece| piece == BEGIN) {
            return Err(wrong(&"holds no certificate; it must hold those of the authority, as PEM"));
        }
        let certificates = TlsCertificates { client_tls: None, root_cert: Some(pem) };
        let client = Client::build_with_tls(url, certificates).map_err(|error| wrong(&error))?;
        Ok(Self { client, own_authority: true })
    }

    pub(crate) fn client(&self) -> &Client {
        &self.client
    }

    pub(crate) fn info(&self) -> ConnectionInfo {
        self.client.get_connection_info().clone()
    }

    /// Whether REDIS_CA_FILE says whom to trust.
    pub(crate) fn has_own_authority(&self) -> bool {
        self.own_authority
    }
}

/// The error of a connection that was not made; if a certificate was refused, with what to do.
pub(crate) fn explain(error: &RedisError) -> String {
    let Some(refused) = certificate_error(error) else { return error.to_string() };
    let advice = match refused {
        CertificateError::UnknownIssuer | CertificateError::BadSignature => {
            "its certificate comes from no authority that is trusted: set REDIS_CA_FILE to the file of its \
             authority"
        }
        CertificateError::NotValidForName | CertificateError::NotValidForNameContext { .. } => {
            "its certificate is for another host name: use one of the certificate's names in its URL"
        }
        CertificateError::Expired | CertificateError::ExpiredContext { .. } => {
            "its certificate has expired: give the server a new one"
        }
        _ => "its certificate is refused",
    };
    format!("{advice} ({refused})")
}

fn certificate_error<'a>(error: &'a (dyn Error + 'static)) -> Option<&'a CertificateError> {
    // The client shares its causes; an error of input and output hides its own from `source`.
    let cause = error.source()?;
    let shared = cause.downcast_ref::<Arc<dyn Error + Send + Sync>>();
    let io = shared.map_or(cause, |shared| &**shared as &'a (dyn Error + 'static));
    let inner = io.downcast_ref::<std::io::Error>()?.get_ref()?;
    match inner.downcast_ref::<rustls::Error>()? {
        rustls::Error::InvalidCertificate(refused) => Some(refused),
        _ => None,
    }
}
