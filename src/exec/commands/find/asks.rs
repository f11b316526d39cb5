//! The tests of an expression, read.

use std::cmp::Ordering;

use super::amounts::{age, amount, perm, size, types};
use super::read::{Reader, wrong};
use super::regular;
use super::tests::{Amount, Bits, Moment, Test, USER};
use crate::exec::commands::refusal::Refusal;
use crate::exec::commands::walk::Follow;
use crate::exec::commands::{date, quote};
use crate::fs::Stat;
use crate::ids::Ino;

impl<'a> Reader<'a> {
    /// A test; `None`: the word is none.
    pub(super) fn test(&mut self, word: &'a str) -> Result<Option<Test>, Refusal> {
        Ok(Some(match word {
            "-true" => Test::Fixed(true),
            "-false" | "-nouser" | "-nogroup" => Test::Fixed(false),
            "-name" => Test::Name(self.pattern(word, false)?),
            "-iname" => Test::Name(self.pattern(word, true)?),
            "-path" | "-wholename" => Test::Path(self.pattern(word, false)?),
            "-ipath" | "-iwholename" => Test::Path(self.pattern(word, true)?),
            "-lname" => Test::Target(self.pattern(word, false)?),
            "-ilname" => Test::Target(self.pattern(word, true)?),
            "-regex" | "-iregex" => {
                let text = self.argument(word)?;
                let regex = regular::compile(text, self.patterns, word == "-iregex");
                Test::Regex(regex.map_err(|what| {
                    Refusal::Wrong(format!("failed to compile regular expression '{text}': {what}"))
                })?)
            }
            "-type" => Test::Type(types(word, self.argument(word)?).map_err(Refusal::Wrong)?),
            "-xtype" => Test::TypeBehind(types(word, self.argument(word)?).map_err(Refusal::Wrong)?),
            "-size" => size(self.argument(word)?).map_err(Refusal::Wrong)?,
            "-perm" => {
                let text = self.argument(word)?;
                let test = perm(text).map_err(Refusal::Wrong)?;
                if matches!(test, Test::Perm(Bits::Any, 0, 0)) {
                    self.warnings.push(format!(
                        "you have specified a mode pattern {text} (which is equivalent to /000). The meaning of \
                         -perm /000 has now been changed to be consistent with -perm -000; that is, while it \
                         used to match no files, it now matches all files."
                    ));
                }
                test
            }
            "-empty" => Test::Empty,
            "-mtime" | "-atime" | "-ctime" | "-mmin" | "-amin" | "-cmin" => {
                let text = self.argument(word)?;
                let Some((order, count)) = age(text) else {
                    return wrong(format!("invalid argument `{text}' to `{word}'"));
                };
                Test::Time(Moment::ago(order, count, word.ends_with("min"), self.day))
            }
            "-newer" | "-anewer" | "-cnewer" => {
                let file = self.argument(word)?;
                Test::Newer(self.file(file)?.1.mtime_ns)
            }
            "-samefile" => {
                let file = self.argument(word)?;
                Test::Same(self.file(file)?.0)
            }
            "-links" => Test::Links(self.number(word)?),
            "-inum" => Test::Inode(self.number(word)?),
            "-uid" | "-gid" => Test::User(self.number(word)?),
            "-user" | "-group" => {
                let name = self.argument(word)?;
                let number = match name {
                    "user" => USER,
                    "root" => 0,
                    "" if word == "-user" => return wrong("The argument to -user should not be empty"),
                    "" => return wrong("argument to -group is empty, but should be a group name"),
                    name => match name.parse() {
                        Ok(number) => number,
                        Err(_) => {
                            let what = if word == "-user" { "a known user" } else { "an existing group" };
                            return wrong(format!("{} is not the name of {what}", quote::locale(name)));
                        }
                    },
                };
                Test::User(Amount { order: Ordering::Equal, number })
            }
            "-readable" | "-writable" => Test::Exists,
            "-executable" => Test::Executable,
            _ => match word.strip_prefix("-newer").map(str::as_bytes) {
                Some(&[own, other]) => self.newer(word, own, other)?,
                _ => return Ok(None),
            },
        }))
    }

    /// `-newerXY`: one time of each file is as good as another.
    fn newer(&mut self, word: &'a str, own: u8, other: u8) -> Result<Test, Refusal> {
        if !b"aBcm".contains(&own) || !b"aBcmt".contains(&other) {
            return wrong(format!("invalid predicate `{word}'"));
        }
        let text = self.argument(word)?;
        if own == b'B' || other == b'B' {
            return wrong(format!(
                "This system does not provide a way to find the birth time of a file.\n\
                 find: invalid predicate `{word}'"
            ));
        }
        if other != b't' {
            return Ok(Test::Newer(self.file(text)?.1.mtime_ns));
        }
        match date::instant(text, self.call.now_ns) {
            Some(ns) => Ok(Test::Newer(ns)),
            None => wrong(format!(
                "I cannot figure out how to interpret {} as a date or time",
                quote::locale(text)
            )),
        }
    }

    fn number(&mut self, word: &str) -> Result<Amount, Refusal> {
        let text = self.argument(word)?;
        match amount(text) {
            Some(amount) => Ok(amount),
            None => wrong(format!("invalid argument `{text}' to `{word}'")),
        }
    }

    /// A file to compare with.
    fn file(&self, name: &str) -> Result<(Ino, Stat), Refusal> {
        let look = || {
            let mut sight = self.call.files.sight()?;
            sight.lay_over(&self.plan.over);
            let ino = sight.find(&self.call.path(name), self.plan.follow != Follow::Never)?;
            Ok((ino, sight.stat(ino).ok_or(crate::fs::Errno::ENOENT)?))
        };
        look().map_err(|errno: crate::fs::Errno| Refusal::Wrong(format!("{}: {errno}", quote::locale(name))))
    }
}
