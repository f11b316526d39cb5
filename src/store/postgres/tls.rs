//! What a connection that failed for its encryption means, and what to do.

use rustls::CertificateError;

/// One line if the way to the server is not encrypted as the URL asks; `None` for other errors.
pub(super) fn refusal(error: &sqlx::Error) -> Option<String> {
    match error {
        sqlx::Error::Tls(why) => {
            Some(format!("TLS to Postgres: {why}: see sslmode and sslrootcert in the URL"))
        }
        sqlx::Error::Io(error) if error.kind() == std::io::ErrorKind::NotFound => {
            Some("a file that the Postgres URL names (sslrootcert, sslcert, sslkey) is not there".into())
        }
        sqlx::Error::Io(error) => match error.get_ref()?.downcast_ref::<rustls::Error>()? {
            rustls::Error::InvalidCertificate(refused) => Some(certificate(refused)),
            _ => None,
        },
        sqlx::Error::Database(error)
            if error.code().as_deref() == Some("28000") && error.message().ends_with("no encryption") =>
        {
            Some(format!(
                "{}: if the server takes encrypted connections alone, add sslmode=verify-full to the Postgres URL",
                error.message()
            ))
        }
        _ => None,
    }
}

fn certificate(refused: &CertificateError) -> String {
    let advice = match refused {
        CertificateError::UnknownIssuer | CertificateError::BadSignature => {
            "comes from no authority that is trusted: name the file of its authority with sslrootcert in the URL"
        }
        CertificateError::NotValidForName | CertificateError::NotValidForNameContext { .. } => {
            "is for another host name: use one of the certificate's names in the URL"
        }
        CertificateError::Expired | CertificateError::ExpiredContext { .. } => {
            "has expired: give the server a new one"
        }
        _ => "is refused",
    };
    format!("the certificate of Postgres {advice} ({refused})")
}
