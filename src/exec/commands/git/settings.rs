//! `git config`.

use super::config::{self, Config};
use super::failed::{Done, Failed, at, error, fatal};
use super::given::{self, misused};
use super::setup::global_path;
use super::{Git, absolute};
use crate::exec::commands::options::Spec;
use crate::exec::commands::options::Takes::{Argument, Nothing};

const SPECS: &[Spec] = &[
    ('l', "list", Nothing),
    ('f', "file", Argument),
    ('z', "null", Nothing),
    ('\u{3}', "global", Nothing),
    ('\u{4}', "local", Nothing),
    ('\u{5}', "get", Nothing),
    ('\u{6}', "get-all", Nothing),
    ('\u{7}', "get-regexp", Nothing),
    ('\u{8}', "add", Nothing),
    ('\u{e}', "unset", Nothing),
    ('\u{e}', "unset-all", Nothing),
    ('\u{f}', "replace-all", Nothing),
    ('\u{10}', "name-only", Nothing),
    ('\u{11}', "bool", Nothing),
    ('\u{12}', "int", Nothing),
    ('\u{13}', "type", Argument),
    ('\u{14}', "default", Argument),
    ('\u{15}', "remove-section", Nothing),
    ('\u{16}', "show-origin", Nothing),
    ('\u{17}', "all", Nothing),
];

impl Git<'_> {
    /// `git config`.
    pub(super) fn config(&mut self, args: &[String]) -> Done<u8> {
        let (given, behind) = given::read("config", args, SPECS)?;
        let mut words = [given.operands.clone(), behind.unwrap_or_default()].concat();
        // Newer words for the same.
        let verb = match words.first().copied() {
            Some(word @ ("get" | "set" | "list" | "unset")) if !word.contains('.') => {
                words.remove(0);
                word
            }
            _ if given.has('l') => "list",
            _ if given.has('\u{e}') => "unset",
            _ if given.has('\u{5}') || given.has('\u{6}') || given.has('\u{7}') => "get",
            _ if given.has('\u{15}') => "remove-section",
            _ if given.has('\u{8}') || words.len() > 1 => "set",
            _ if words.len() == 1 => "get",
            _ => return Err(misused("config", "no action specified", SPECS)),
        };
        let end = if given.has('z') { '\0' } else { '\n' };
        let file = match given.value('f') {
            Some(path) => Some(absolute(&self.cwd, path)),
            None if given.has('\u{3}') => Some(global_path(self.home())),
            None if given.has('\u{4}') => Some(self.repo()?.path("config")),
            None => None,
        };
        if matches!(verb, "list" | "get") {
            let config = match &file {
                Some(path) => {
                    let mut config = Config::default();
                    match self.call.files.read(path) {
                        Ok(data) => config.add(&String::from_utf8_lossy(&data), path)?,
                        Err(errno) if verb == "list" => {
                            return Err(fatal(format!("unable to read config file '{path}': {errno}")));
                        }
                        Err(_) => {}
                    }
                    config
                }
                None => match self.repo() {
                    Ok(repo) => repo.config,
                    Err(_) => self.config_of(None)?,
                },
            };
            if verb == "list" {
                let lines = config.pairs().iter().map(|(key, value)| {
                    if given.has('\u{10}') {
                        format!("{key}{end}")
                    } else if given.has('z') {
                        format!("{key}\n{value}\0")
                    } else {
                        format!("{key}={value}\n")
                    }
                });
                let text: String = lines.collect();
                self.answer.stdout.extend_from_slice(text.as_bytes());
                return Ok(0);
            }
            let Some(key) = words.first() else { return Err(misused("config", "a name is needed", SPECS)) };
            let kind = given.value('\u{13}').or_else(|| given.has('\u{11}').then_some("bool"));
            let shown = |value: &str| typed(kind, key, value);
            if given.has('\u{7}') {
                let pattern =
                    regex::Regex::new(key).map_err(|_| error(format!("invalid key pattern: {key}")))?;
                let mut text = String::new();
                for (key, value) in config.pairs().iter().filter(|(key, _)| pattern.is_match(key)) {
                    text += &if given.has('\u{10}') {
                        format!("{key}{end}")
                    } else {
                        format!("{key} {value}{end}")
                    };
                }
                self.answer.stdout.extend_from_slice(text.as_bytes());
                return Ok(u8::from(text.is_empty()));
            }
            let all = config.all(key);
            if all.is_empty() && given.value('\u{14}').is_none() {
                // A name that is none is an error that is told.
                Config::default().push(key, "")?;
                return Ok(1);
            }
            let default = [given.value('\u{14}').unwrap_or_default()];
            let wanted = if given.has('\u{6}') || given.has('\u{17}') {
                &all[..]
            } else {
                &all[all.len().saturating_sub(1)..]
            };
            let mut text = String::new();
            for value in if all.is_empty() { &default[..] } else { wanted } {
                text += &format!("{}{end}", shown(value)?);
            }
            self.answer.stdout.extend_from_slice(text.as_bytes());
            return Ok(0);
        }
        let path = match file {
            Some(path) => path,
            None => match self.repo() {
                Ok(repo) => repo.path("config"),
                Err(_) => return Err(fatal("not in a git directory")),
            },
        };
        let text = String::from_utf8_lossy(&self.call.files.read(&path).unwrap_or_default()).into_owned();
        let made = match (verb, &words[..]) {
            ("set", [key, value]) => {
                let value = typed(value_kind(&given.options), key, value)?;
                let before = if given.has('\u{f}') || given.has('\u{17}') {
                    config::unset(&text, key)?.unwrap_or(text)
                } else {
                    text
                };
                config::set(&before, key, &value, given.has('\u{8}'))?
            }
            ("unset", [key]) => match config::unset(&text, key)? {
                Some(text) => text,
                None => return Ok(5),
            },
            ("remove-section", [name]) => config::remove_section(&text, name)?
                .ok_or_else(|| fatal(format!("no such section: {name}")))?,
            _ => return Err(misused("config", "wrong number of arguments", SPECS)),
        };
        if let Some((dir, _)) = path.rsplit_once('/').filter(|(dir, _)| !dir.is_empty()) {
            self.call.files.make_dirs(dir).map_err(at(dir))?;
        }
        self.call.files.write(&path, made.as_bytes()).map_err(at(&path))?;
        Ok(0)
    }
}

fn value_kind<'a>(options: &[(char, Option<&'a str>)]) -> Option<&'a str> {
    options.iter().rev().find_map(|(letter, value)| match letter {
        '\u{13}' => *value,
        '\u{11}' => Some("bool"),
        _ => None,
    })
}

/// A value in the form that `--type` asks for.
fn typed(kind: Option<&str>, key: &str, value: &str) -> Done<String> {
    match kind {
        Some("bool") => match &*value.to_lowercase() {
            "true" | "yes" | "on" | "1" => Ok("true".to_owned()),
            "false" | "no" | "off" | "0" | "" => Ok("false".to_owned()),
            _ => Err(Failed {
                exit: 128,
                message: format!("fatal: bad boolean config value '{value}' for '{key}'"),
            }),
        },
        _ => Ok(value.to_owned()),
    }
}
