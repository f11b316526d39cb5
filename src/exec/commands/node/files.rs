//! The calls behind `fs`. Each gives its result, or the name of its error as a text: no
//! result of one that can fail is a text.

use std::rc::Rc;

use rquickjs::{Array, Ctx, Function, IntoJs, Object, Result, String as JsString, Value};

use super::bytes;
use super::state::State;
use crate::fs::{Errno, Kind, Stat};

/// A result for JavaScript.
fn answer<'js, T: IntoJs<'js>>(ctx: &Ctx<'js>, result: std::result::Result<T, Errno>) -> Result<Value<'js>> {
    match result {
        Ok(value) => value.into_js(ctx),
        Err(errno) => bytes::string(ctx, errno.name()),
    }
}

fn kind(kind: Kind) -> &'static str {
    match kind {
        Kind::File => "file",
        Kind::Dir => "dir",
        Kind::Symlink => "link",
    }
}

fn stat<'js>(ctx: &Ctx<'js>, stat: &Stat) -> Result<Array<'js>> {
    let list = Array::new(ctx.clone())?;
    list.set(0, kind(stat.kind))?;
    list.set(1, stat.mode)?;
    list.set(2, stat.size as f64)?;
    list.set(3, stat.mtime_ns as f64 / 1e6)?;
    list.set(4, stat.ino as f64)?;
    list.set(5, stat.nlink)?;
    Ok(list)
}

/// One path in, nothing out.
fn simple<'js>(
    ctx: &Ctx<'js>,
    sys: &Object<'js>,
    state: &Rc<State>,
    name: &str,
    call: fn(&State, &str) -> std::result::Result<(), Errno>,
) -> Result<()> {
    let state = state.clone();
    let function = move |ctx: Ctx<'js>, path: JsString<'js>| {
        answer(&ctx, call(&state, &state.path(&bytes::text(&path)?)))
    };
    sys.set(name, Function::new(ctx.clone(), function)?)
}

/// Two paths in, nothing out.
fn double<'js>(
    ctx: &Ctx<'js>,
    sys: &Object<'js>,
    state: &Rc<State>,
    name: &str,
    call: fn(&State, &str, &str) -> std::result::Result<(), Errno>,
) -> Result<()> {
    let state = state.clone();
    let function = move |ctx: Ctx<'js>, from: JsString<'js>, to: JsString<'js>| {
        let (from, to) = (bytes::text(&from)?, state.path(&bytes::text(&to)?));
        answer(&ctx, call(&state, &from, &to))
    };
    sys.set(name, Function::new(ctx.clone(), function)?)
}

/// A path and a number in, nothing out.
fn numbered<'js>(
    ctx: &Ctx<'js>,
    sys: &Object<'js>,
    state: &Rc<State>,
    name: &str,
    call: fn(&State, &str, f64) -> std::result::Result<(), Errno>,
) -> Result<()> {
    let state = state.clone();
    let function = move |ctx: Ctx<'js>, path: JsString<'js>, number: f64| {
        answer(&ctx, call(&state, &state.path(&bytes::text(&path)?), number))
    };
    sys.set(name, Function::new(ctx.clone(), function)?)
}

/// Gives `sys` its calls to files.
pub(super) fn register<'js>(ctx: &Ctx<'js>, sys: &Object<'js>, state: &Rc<State>) -> Result<()> {
    simple(ctx, sys, state, "mkdir", |state, path| state.files.mkdir(path))?;
    simple(ctx, sys, state, "rmdir", |state, path| state.files.rmdir(path))?;
    simple(ctx, sys, state, "unlink", |state, path| state.files.unlink(path))?;
    simple(ctx, sys, state, "removeAll", |state, path| state.files.remove_all(path))?;
    double(ctx, sys, state, "rename", |state, from, to| state.files.rename(&state.path(from), to))?;
    double(ctx, sys, state, "link", |state, from, to| state.files.link(&state.path(from), to))?;
    // The target of a link stays as it is written.
    double(ctx, sys, state, "symlink", |state, target, link| state.files.symlink(target, link))?;
    double(ctx, sys, state, "copy", |state, from, to| {
        let from = state.path(from);
        let (data, stat) = (state.files.read(&from)?, state.files.stat(&from, true)?);
        state.files.write(to, &data)?;
        state.files.chmod(to, stat.mode)
    })?;
    numbered(ctx, sys, state, "chmod", |state, path, mode| state.files.chmod(path, mode as u32 & 0o7777))?;
    numbered(ctx, sys, state, "truncate", |state, path, len| state.files.truncate(path, len as u64))?;
    numbered(ctx, sys, state, "utimes", |state, path, ms| {
        state.files.set_mtime(path, (ms * 1e6) as i64, true)
    })?;
    reads(ctx, sys, state)?;
    writes(ctx, sys, state)
}

fn reads<'js>(ctx: &Ctx<'js>, sys: &Object<'js>, state: &Rc<State>) -> Result<()> {
    let it = state.clone();
    let function =
        move |ctx: Ctx<'js>, path: JsString<'js>| match it.files.read(&it.path(&bytes::text(&path)?)) {
            Ok(data) => bytes::buffer(&ctx, &data),
            Err(errno) => answer::<()>(&ctx, Err(errno)),
        };
    sys.set("read", Function::new(ctx.clone(), function)?)?;

    // In a list, so that it differs from an error.
    let it = state.clone();
    let function =
        move |ctx: Ctx<'js>, path: JsString<'js>| match it.files.read(&it.path(&bytes::text(&path)?)) {
            Ok(data) => vec![String::from_utf8_lossy(&data).as_ref()].into_js(&ctx),
            Err(errno) => answer::<()>(&ctx, Err(errno)),
        };
    sys.set("readText", Function::new(ctx.clone(), function)?)?;

    let it = state.clone();
    let function = move |ctx: Ctx<'js>, path: JsString<'js>, at: f64, len: f64| match it.files.read_at(
        &it.path(&bytes::text(&path)?),
        at as u64,
        len as u64,
    ) {
        Ok(data) => bytes::buffer(&ctx, &data),
        Err(errno) => answer::<()>(&ctx, Err(errno)),
    };
    sys.set("readAt", Function::new(ctx.clone(), function)?)?;

    let it = state.clone();
    let function = move |ctx: Ctx<'js>, path: JsString<'js>, follow: bool| match it
        .files
        .stat(&it.path(&bytes::text(&path)?), follow)
    {
        Ok(found) => stat(&ctx, &found)?.into_js(&ctx),
        Err(errno) => answer::<()>(&ctx, Err(errno)),
    };
    sys.set("stat", Function::new(ctx.clone(), function)?)?;

    let it = state.clone();
    let function = move |ctx: Ctx<'js>, path: JsString<'js>| {
        let listed = it.files.read_dir(&it.path(&bytes::text(&path)?)).map(|entries| {
            entries
                .iter()
                .map(|(name, stat)| vec![name.to_string(), kind(stat.kind).to_owned()])
                .collect::<Vec<_>>()
        });
        answer(&ctx, listed)
    };
    sys.set("readdir", Function::new(ctx.clone(), function)?)?;

    let it = state.clone();
    let function = move |ctx: Ctx<'js>, path: JsString<'js>| {
        let target = it.files.read_link(&it.path(&bytes::text(&path)?));
        answer(&ctx, target.map(|target| vec![target.to_string()]))
    };
    sys.set("readlink", Function::new(ctx.clone(), function)?)?;

    let it = state.clone();
    let function = move |ctx: Ctx<'js>, path: JsString<'js>| {
        answer(&ctx, it.files.canonical(&it.path(&bytes::text(&path)?)).map(|path| vec![path]))
    };
    sys.set("realpath", Function::new(ctx.clone(), function)?)
}

fn writes<'js>(ctx: &Ctx<'js>, sys: &Object<'js>, state: &Rc<State>) -> Result<()> {
    let it = state.clone();
    let function = move |ctx: Ctx<'js>, path: JsString<'js>, data: Value<'js>, mode: Value<'js>| {
        let (path, data) = (it.path(&bytes::text(&path)?), bytes::of(&data)?);
        let fresh = mode.as_number().filter(|_| !it.files.exists(&path).unwrap_or(false));
        let mut written = it.files.write(&path, &data);
        if let (Ok(()), Some(mode)) = (&written, fresh) {
            written = it.files.chmod(&path, mode as u32 & 0o777 & !0o022);
        }
        answer(&ctx, written)
    };
    sys.set("write", Function::new(ctx.clone(), function)?)?;

    let it = state.clone();
    let function = move |ctx: Ctx<'js>, path: JsString<'js>, data: Value<'js>| {
        answer(&ctx, it.files.append(&it.path(&bytes::text(&path)?), &bytes::of(&data)?))
    };
    sys.set("append", Function::new(ctx.clone(), function)?)?;

    let it = state.clone();
    let function = move |ctx: Ctx<'js>, path: JsString<'js>, at: f64, data: Value<'js>| {
        answer(&ctx, it.files.write_at(&it.path(&bytes::text(&path)?), at as u64, &bytes::of(&data)?))
    };
    sys.set("writeAt", Function::new(ctx.clone(), function)?)?;

    // The first directory that was made, as `mkdirSync` tells it.
    let it = state.clone();
    let function = move |ctx: Ctx<'js>, path: JsString<'js>| {
        let path = bytes::text(&path)?;
        let first = path
            .match_indices('/')
            .map(|(at, _)| &path[..at])
            .chain([path.as_str()])
            .find(|dir| !dir.is_empty() && !it.files.exists(&it.path(dir)).unwrap_or(true))
            .map(str::to_owned);
        answer(&ctx, it.files.mkdir_all(&it.path(&path)).map(|()| vec![first]))
    };
    sys.set("mkdirAll", Function::new(ctx.clone(), function)?)
}
