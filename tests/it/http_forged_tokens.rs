//! Forged tokens. Each is a good token with one thing changed, and each has its control:
//! made in the same way, without what is forged, it is accepted. So what is refused is
//! refused for what was forged, not for how it was made.

use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use jsonwebtoken::{Algorithm, EncodingKey};
use reqwest::Method;
use reqwest::header::{HeaderMap, HeaderValue};
use serde_json::{Value, json};

use crate::support::http::send;
use crate::support::server::AUTH_SECRET;
use crate::support::{Api, Server, TestStore};

/// Seconds since the epoch, far in the future.
const FUTURE: i64 = 4_000_000_000;

/// A token as it is put together.
struct Made {
    header: String,
    claims: String,
    secret: &'static str,
    algorithm: Algorithm,
    /// Done to the whole token.
    finish: fn(String) -> String,
    /// Done to the `Authorization` header.
    send: fn(&str) -> Vec<String>,
}

fn good() -> Made {
    Made {
        header: r#"{"alg":"HS256","typ":"JWT"}"#.into(),
        claims: json!({"sub": "tester", "tenant": "default", "iat": 1, "exp": FUTURE, "jti": "1"})
            .to_string(),
        secret: AUTH_SECRET,
        algorithm: Algorithm::HS256,
        finish: |token| token,
        send: |token| vec![format!("Bearer {token}")],
    }
}

fn token(made: &Made) -> String {
    let message =
        format!("{}.{}", URL_SAFE_NO_PAD.encode(&made.header), URL_SAFE_NO_PAD.encode(&made.claims));
    let key = EncodingKey::from_secret(made.secret.as_bytes()).expect("a key");
    let signature =
        jsonwebtoken::crypto::sign(message.as_bytes(), &key, made.algorithm).expect("a signature");
    (made.finish)(format!("{message}.{signature}"))
}

/// A token with these claims.
pub fn sign(secret: &'static str, claims: &Value) -> String {
    token(&Made { claims: claims.to_string(), secret, ..good() })
}

fn header(header: &str) -> Made {
    Made { header: header.into(), ..good() }
}

fn claims(claims: &str) -> Made {
    Made { claims: claims.into(), ..good() }
}

fn claim(name: &str, value: Value) -> Made {
    let mut all: Value = serde_json::from_str(&good().claims).expect("claims");
    all[name] = value;
    claims(&all.to_string())
}

fn finished(finish: fn(String) -> String) -> Made {
    Made { finish, ..good() }
}

fn sent(send: fn(&str) -> Vec<String>) -> Made {
    Made { send, ..good() }
}

fn parts(token: &str) -> [String; 3] {
    let parts: Vec<_> = token.split('.').map(ToOwned::to_owned).collect();
    parts.try_into().expect("three parts")
}

fn replaced(token: &str, part: usize, change: fn(&str) -> String) -> String {
    let mut parts = parts(token);
    parts[part] = change(&parts[part]);
    parts.join(".")
}

fn swapped_claims(_: &str) -> String {
    URL_SAFE_NO_PAD.encode(r#"{"sub":"mallory","tenant":"default"}"#)
}

fn none_header(_: &str) -> String {
    URL_SAFE_NO_PAD.encode(r#"{"alg":"none","typ":"JWT"}"#)
}

/// What is forged; the forged token; its control.
fn forgeries() -> Vec<(&'static str, Made, Made)> {
    let mut all = vec![
        ("another secret", Made { secret: "guess", ..good() }, good()),
        ("an empty-looking secret", Made { secret: "\0", ..good() }, good()),
        (
            "the secret in capitals",
            Made { secret: "SECRET-OF-THE-INTEGRATION-TESTS-0123456789", ..good() },
            good(),
        ),
        (
            "HS384, signed so",
            Made { algorithm: Algorithm::HS384, ..header(r#"{"alg":"HS384","typ":"JWT"}"#) },
            Made { algorithm: Algorithm::HS256, ..header(r#"{"alg":"HS256","typ":"JWT"}"#) },
        ),
        (
            "HS512, signed so",
            Made { algorithm: Algorithm::HS512, ..header(r#"{"alg":"HS512","typ":"JWT"}"#) },
            Made { algorithm: Algorithm::HS256, ..header(r#"{"alg":"HS256","typ":"JWT"}"#) },
        ),
        ("HS384 under the name HS256", Made { algorithm: Algorithm::HS384, ..good() }, good()),
        (
            "alg none, no signature",
            finished(|t| replaced(&replaced(&t, 0, none_header), 2, |_| String::new())),
            finished(|t| replaced(&replaced(&t, 0, ToOwned::to_owned), 2, ToOwned::to_owned)),
        ),
        (
            "alg none, the good signature",
            finished(|t| replaced(&t, 0, none_header)),
            finished(|t| replaced(&t, 0, ToOwned::to_owned)),
        ),
        ("alg missing", header(r#"{"typ":"JWT"}"#), header(r#"{"alg":"HS256"}"#)),
        (
            "alg twice, last none",
            header(r#"{"alg":"HS256","alg":"none"}"#),
            header(r#"{"alg":"HS256","typ":"JWT"}"#),
        ),
        ("alg a list", header(r#"{"alg":["HS256"]}"#), header(r#"{"alg":"HS256"}"#)),
        ("header no JSON", header("HS256"), header(r#"{"alg":"HS256"}"#)),
        (
            "no signature",
            finished(|t| replaced(&t, 2, |_| String::new())),
            finished(|t| replaced(&t, 2, ToOwned::to_owned)),
        ),
        ("two parts", finished(|t| parts(&t)[..2].join(".")), finished(|t| parts(&t).join("."))),
        ("four parts", finished(|t| format!("{t}.{}", parts(&t)[2])), finished(|t| t)),
        (
            "claims of another",
            finished(|t| replaced(&t, 1, swapped_claims)),
            finished(|t| replaced(&t, 1, ToOwned::to_owned)),
        ),
        ("signature cut", finished(|t| t[..t.len() - 2].to_owned()), finished(|t| t[..t.len()].to_owned())),
        ("padded base64", finished(|t| format!("{t}=")), finished(|t| format!("{t}{}", ""))),
        (
            "standard base64",
            finished(|t| replaced(&t, 2, |s| format!("{}+/", &s[..s.len() - 2]))),
            finished(|t| replaced(&t, 2, |s| s[..].to_owned())),
        ),
        ("expired", claim("exp", json!(1_000_000_000)), claim("exp", json!(FUTURE))),
        ("exp negative", claim("exp", json!(-1)), claim("exp", json!(FUTURE))),
        ("exp as text", claim("exp", json!("4000000000")), claim("exp", json!(4_000_000_000_i64))),
        ("exp null", claim("exp", Value::Null), claim("exp", json!(FUTURE))),
        ("exp a list", claim("exp", json!([FUTURE])), claim("exp", json!(FUTURE))),
        ("not valid yet", claim("nbf", json!(FUTURE)), claim("nbf", json!(1))),
        ("nbf as text", claim("nbf", json!("1")), claim("nbf", json!(1))),
        ("sub missing", claims(r#"{"tenant":"default"}"#), claims(r#"{"tenant":"default","sub":"tester"}"#)),
        ("sub empty", claim("sub", json!("")), claim("sub", json!("tester"))),
        ("sub a number", claim("sub", json!(7)), claim("sub", json!("7"))),
        ("sub a list", claim("sub", json!(["tester"])), claim("sub", json!("tester"))),
        ("sub with NUL", claim("sub", json!("tester\0")), claim("sub", json!("tester0"))),
        ("sub with a line break", claim("sub", json!("tester\nroot")), claim("sub", json!("tester root"))),
        ("sub of 257 bytes", claim("sub", json!("x".repeat(257))), claim("sub", json!("x".repeat(256)))),
        ("tenant a number", claim("tenant", json!(1)), claim("tenant", json!("default"))),
        ("claims no object", claims(r#"["tester"]"#), claims(r#"{"sub":"tester"}"#)),
        ("claims no JSON", claims("sub=tester"), claims(r#"{"sub":"tester"}"#)),
        ("another scheme", sent(|t| vec![format!("Basic {t}")]), sent(|t| vec![format!("Bearer {t}")])),
        ("no scheme", sent(|t| vec![t.to_owned()]), sent(|t| vec![format!("bearer {t}")])),
        (
            "two headers, both good",
            sent(|t| vec![format!("Bearer {t}"), format!("Bearer {t}")]),
            sent(|t| vec![format!("Bearer {t}")]),
        ),
        (
            "two tokens in one header",
            sent(|t| vec![format!("Bearer {t}, Bearer {t}")]),
            sent(|t| vec![format!("Bearer {t}")]),
        ),
        (
            "a space within",
            sent(|t| vec![format!("Bearer {} {}", &t[..9], &t[9..])]),
            sent(|t| vec![format!("Bearer  {t}")]),
        ),
        // The long s and the Kelvin sign become s and k in some comparisons.
        (
            "a look-alike scheme",
            sent(|t| vec![format!("Be\u{e0}rer {t}")]),
            sent(|t| vec![format!("BEARER {t}")]),
        ),
        (
            "full-width digits",
            sent(|t| vec![format!("Bearer \u{ff10}{t}")]),
            sent(|t| vec![format!("Bearer {t}")]),
        ),
        (
            "a zero-width space",
            sent(|t| vec![format!("Bearer \u{200b}{t}")]),
            sent(|t| vec![format!("Bearer {t}")]),
        ),
    ];
    for alg in ["nOnE", "hs256", "RS256", "ES256", "EdDSA", "HS256 ", "\\u0048S512"] {
        let forged = header(&format!(r#"{{"alg":"{alg}","typ":"JWT"}}"#));
        all.push(("another alg", forged, header(r#"{"alg":"HS256","typ":"JWT"}"#)));
    }
    let jwk = json!({"kty": "oct", "k": URL_SAFE_NO_PAD.encode(AUTH_SECRET)}).to_string();
    for (name, value) in [
        ("kid", r#""../../../../dev/null""#),
        ("kid", r#""' OR 1=1 --""#),
        ("jku", r#""http://127.0.0.1:9/keys""#),
        ("x5u", r#""http://127.0.0.1:9/cert""#),
        ("x5c", r#"["MIIB"]"#),
        ("x5t", r#""AAAA""#),
        ("crit", r#"["exp"]"#),
        ("crit", r#"["x"]"#),
        ("jwk", jwk.as_str()),
    ] {
        let forged = header(&format!(r#"{{"alg":"HS256","{name}":{value}}}"#));
        // A member without meaning is no forgery.
        all.push((name, forged, header(&format!(r#"{{"alg":"HS256","x-{name}":{value}}}"#))));
    }
    all
}

async fn ask(api: &Api, made: &Made) -> crate::support::Reply {
    let mut headers = HeaderMap::new();
    for value in (made.send)(&token(made)) {
        headers.append("authorization", HeaderValue::from_bytes(value.as_bytes()).expect("a header"));
    }
    send(api.bare(Method::GET, "/v1/sandboxes").headers(headers)).await
}

#[tokio::test]
async fn each_is_refused_and_its_control_accepted() {
    let server = Server::start(TestStore::sqlite()).await;
    let api = server.api().await;
    let forgeries = forgeries();
    assert!(forgeries.len() >= 50, "{}", forgeries.len());
    for (what, forged, control) in &forgeries {
        let reply = ask(&api, control).await;
        assert_eq!(reply.status, 200, "{what}, the control: {reply:?}");
        let reply = ask(&api, forged).await;
        assert_eq!(reply.status, 401, "{what}: {reply:?}");
        reply.refused(401, "AUTH_INVALID");
        assert!(!reply.text().contains(&token(forged)), "{what}: the token comes back");
    }
}
