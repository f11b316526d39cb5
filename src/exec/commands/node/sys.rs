//! What the modules need from outside of the language, beside files.

use std::io::{Read, Write};
use std::rc::Rc;

use flate2::Compression;
use flate2::read::{DeflateDecoder, MultiGzDecoder, ZlibDecoder};
use flate2::write::{DeflateEncoder, GzEncoder, ZlibEncoder};
use rquickjs::promise::PromiseState;
use rquickjs::{
    Array, Ctx, Exception, FromJs, Function, IntoJs, Object, Promise, Result, String as JsString, Value,
};
use url::Url;

use super::state::State;
use super::{VERSION, bytes, modules, text};
use crate::fs::Kind;

macro_rules! sources {
    ($($name:literal),* $(,)?) => {
        &[$(($name, include_str!(concat!($name, ".js")))),*]
    };
}

/// The modules, by name.
const SOURCES: &[(&str, &str)] = sources![
    "assert",
    "boot",
    "buffer",
    "crypto",
    "errors",
    "events",
    "fs",
    "inspect",
    "locale",
    "loop",
    "modules",
    "os",
    "path",
    "querystring",
    "readline",
    "stream",
    "string_decoder",
    "url",
    "util",
    "web",
    "zlib",
];

/// A module of ours as a function.
pub(super) fn builtin<'js, T: FromJs<'js>>(ctx: &Ctx<'js>, name: &str) -> Result<T> {
    let Some((name, source)) = SOURCES.iter().find(|(known, _)| *known == name) else {
        return Err(Exception::throw_message(ctx, &format!("no built-in module {name}")));
    };
    T::from_js(ctx, modules::builtin(ctx, name, source)?)
}

/// Gives `sys` its calls.
pub(super) fn register<'js>(ctx: &Ctx<'js>, sys: &Object<'js>, state: &Rc<State>) -> Result<()> {
    sys.set("version", VERSION)?;
    sys.set("engine", "ng")?;
    let env = Object::new(ctx.clone())?;
    for (name, value) in &state.env {
        env.set(name.as_str(), value.as_str())?;
    }
    sys.set("env", env)?;
    let make = |ctx: Ctx<'js>, name: String| builtin::<Value<'js>>(&ctx, &name);
    sys.set("builtin", Function::new(ctx.clone(), make)?)?;
    process(ctx, sys, state)?;
    data(ctx, sys)?;
    addresses(ctx, sys)
}

fn process<'js>(ctx: &Ctx<'js>, sys: &Object<'js>, state: &Rc<State>) -> Result<()> {
    let it = state.clone();
    let print = move |fd: i32, data: Value<'js>| -> Result<()> {
        it.print(fd == 2, &bytes::of(&data)?);
        Ok(())
    };
    sys.set("print", Function::new(ctx.clone(), print)?)?;
    let it = state.clone();
    sys.set("exit", Function::new(ctx.clone(), move |code: i32| it.exit.set(Some(code & 0xff)))?)?;
    let it = state.clone();
    sys.set("now", Function::new(ctx.clone(), move || it.now())?)?;
    let it = state.clone();
    sys.set("cwd", Function::new(ctx.clone(), move || it.cwd.borrow().clone())?)?;
    let it = state.clone();
    let chdir = move |path: JsString<'js>| -> Result<Option<&'static str>> {
        let path = it.path(&bytes::text(&path)?);
        Ok(match it.files.stat(&path, true).and_then(|stat| Ok((stat.kind, it.files.canonical(&path)?))) {
            Ok((Kind::Dir, path)) => {
                *it.cwd.borrow_mut() = path;
                None
            }
            Ok(_) => Some("ENOTDIR"),
            Err(errno) => Some(errno.name()),
        })
    };
    sys.set("chdir", Function::new(ctx.clone(), chdir)?)?;
    let it = state.clone();
    sys.set("stdin", Function::new(ctx.clone(), move |ctx: Ctx<'js>| bytes::buffer(&ctx, &it.stdin))?)?;
    let it = state.clone();
    let memory = move |ctx: Ctx<'js>| {
        // What the engine holds is asked of the operating system by nobody: the limit is.
        let _ = &ctx;
        vec![0.0, it.files.quota().memory as f64]
    };
    sys.set("memory", Function::new(ctx.clone(), memory)?)?;
    // Whether a promise was kept, and what came of it; null while it is open.
    let promise = |ctx: Ctx<'js>, value: Value<'js>| -> Result<Value<'js>> {
        let promise = Promise::from_value(value)?;
        let kept = match promise.state() {
            PromiseState::Pending => return Ok(Value::new_null(ctx)),
            PromiseState::Resolved => true,
            PromiseState::Rejected => false,
        };
        let came = match promise.result::<Value<'js>>() {
            Some(Ok(value)) => value,
            _ => ctx.catch(),
        };
        let pair = Array::new(ctx.clone())?;
        pair.set(0, kept)?;
        pair.set(1, came)?;
        pair.into_js(&ctx)
    };
    sys.set("promise", Function::new(ctx.clone(), promise)?)
}

fn data<'js>(ctx: &Ctx<'js>, sys: &Object<'js>) -> Result<()> {
    let decode = |ctx: Ctx<'js>, data: Value<'js>, encoding: String| {
        bytes::string(&ctx, &text::decode(&bytes::of_array(&data)?, &encoding))
    };
    sys.set("decode", Function::new(ctx.clone(), decode)?)?;
    let encode = |ctx: Ctx<'js>, data: JsString<'js>, encoding: String| {
        bytes::buffer(&ctx, &text::encode(bytes::text(&data)?, &encoding))
    };
    sys.set("encode", Function::new(ctx.clone(), encode)?)?;
    let utf8 =
        |data: Value<'js>| Ok::<_, rquickjs::Error>(std::str::from_utf8(&bytes::of_array(&data)?).is_ok());
    sys.set("isUtf8", Function::new(ctx.clone(), utf8)?)?;
    let random = |ctx: Ctx<'js>, size: f64| {
        let size = size.clamp(0.0, f64::from(1 << 24)) as usize;
        let mut random = vec![0; size];
        if let Err(error) = getrandom::fill(&mut random) {
            return Err(Exception::throw_message(&ctx, &error.to_string()));
        }
        bytes::buffer(&ctx, &random)
    };
    sys.set("randomBytes", Function::new(ctx.clone(), random)?)?;
    let hash = |ctx: Ctx<'js>, name: String, data: Value<'js>| {
        use sha2::Digest;
        let data = bytes::of_array(&data)?;
        let hash = match name.as_str() {
            "md5" => md5::Md5::digest(&data).to_vec(),
            "sha1" => sha1::Sha1::digest(&data).to_vec(),
            "sha224" => sha2::Sha224::digest(&data).to_vec(),
            "sha384" => sha2::Sha384::digest(&data).to_vec(),
            "sha512" => sha2::Sha512::digest(&data).to_vec(),
            _ => sha2::Sha256::digest(&data).to_vec(),
        };
        bytes::buffer(&ctx, &hash)
    };
    sys.set("hash", Function::new(ctx.clone(), hash)?)?;
    let compress = |ctx: Ctx<'js>, kind: String, data: Value<'js>, level: i32| {
        let level = Compression::new(u32::try_from(level).unwrap_or(6).min(9));
        match squeeze(&kind, &bytes::of_array(&data)?, level) {
            Ok(out) => bytes::buffer(&ctx, &out),
            Err(error) => bytes::string(&ctx, &error.to_string()),
        }
    };
    sys.set("compress", Function::new(ctx.clone(), compress)?)
}

/// Most bytes that compressed data may grow to.
const UNPACKED: u64 = 128 << 20;

fn squeeze(kind: &str, data: &[u8], level: Compression) -> std::io::Result<Vec<u8>> {
    let unpacked = |from: &mut dyn Read| {
        let mut out = Vec::new();
        from.take(UNPACKED + 1).read_to_end(&mut out)?;
        if out.len() as u64 > UNPACKED {
            return Err(std::io::Error::other(format!("it unpacks to more than {UNPACKED} bytes")));
        }
        Ok(out)
    };
    match kind {
        "gzip" => {
            let mut out = GzEncoder::new(Vec::new(), level);
            out.write_all(data)?;
            out.finish()
        }
        "zlib" => {
            let mut out = ZlibEncoder::new(Vec::new(), level);
            out.write_all(data)?;
            out.finish()
        }
        "deflate" => {
            let mut out = DeflateEncoder::new(Vec::new(), level);
            out.write_all(data)?;
            out.finish()
        }
        "gunzip" => unpacked(&mut MultiGzDecoder::new(data)),
        "unzlib" => unpacked(&mut ZlibDecoder::new(data)),
        _ => unpacked(&mut DeflateDecoder::new(data)),
    }
}

fn addresses<'js>(ctx: &Ctx<'js>, sys: &Object<'js>) -> Result<()> {
    let parse = |input: String, base: Option<String>| {
        let base = match base.as_deref().map(Url::parse) {
            Some(Err(_)) => return None,
            Some(Ok(base)) => Some(base),
            None => None,
        };
        Url::options().base_url(base.as_ref()).parse(&input).ok().map(|url| parts(&url))
    };
    sys.set("url", Function::new(ctx.clone(), parse)?)?;
    let set = |href: String, name: String, value: String| {
        let mut url = Url::parse(&href).ok()?;
        // A value that is refused changes nothing, as the standard has it.
        let _ = match name.as_str() {
            "protocol" => url::quirks::set_protocol(&mut url, &value),
            "username" => url::quirks::set_username(&mut url, &value),
            "password" => url::quirks::set_password(&mut url, &value),
            "host" => url::quirks::set_host(&mut url, &value),
            "hostname" => url::quirks::set_hostname(&mut url, &value),
            "port" => url::quirks::set_port(&mut url, &value),
            other => {
                match other {
                    "pathname" => url::quirks::set_pathname(&mut url, &value),
                    "search" => url::quirks::set_search(&mut url, &value),
                    _ => url::quirks::set_hash(&mut url, &value),
                }
                Ok(())
            }
        };
        Some(parts(&url))
    };
    sys.set("urlSet", Function::new(ctx.clone(), set)?)
}

/// In the order of `url.js`.
fn parts(url: &Url) -> Vec<String> {
    use url::quirks;
    vec![
        quirks::href(url).to_owned(),
        quirks::origin(url),
        quirks::protocol(url).to_owned(),
        quirks::username(url).to_owned(),
        quirks::password(url).to_owned(),
        quirks::host(url).to_owned(),
        quirks::hostname(url).to_owned(),
        quirks::port(url).to_owned(),
        quirks::pathname(url).to_owned(),
        quirks::search(url).to_owned(),
        quirks::hash(url).to_owned(),
    ]
}
