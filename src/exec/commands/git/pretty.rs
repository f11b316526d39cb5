//! Commits as text: the named forms of `--format`, and placeholders.

use std::collections::BTreeMap;
use std::fmt::Write as _;

use super::failed::{Done, fatal};
use super::ident::Ident;
use super::object::Commit;
use super::oid::Oid;
use super::refs::{Head, short_name};
use super::repo::Repo;

/// A form of `--format`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Form {
    Oneline,
    Short,
    Medium,
    Full,
    Fuller,
    Raw,
    /// Placeholders; whether a newline follows each, or stands between two.
    Own(String, bool),
}

impl Form {
    /// Reads the value of `--format` or `--pretty`.
    pub(super) fn parse(text: &str) -> Done<Self> {
        Ok(match text {
            "oneline" => Self::Oneline,
            "short" => Self::Short,
            "medium" => Self::Medium,
            "" => Self::Own(String::new(), true),
            "full" => Self::Full,
            "fuller" => Self::Fuller,
            "raw" => Self::Raw,
            text => match text.split_once(':') {
                Some(("format", own)) => Self::Own(own.to_owned(), false),
                Some(("tformat", own)) => Self::Own(own.to_owned(), true),
                _ if text.contains('%') => Self::Own(text.to_owned(), true),
                _ => return Err(fatal(format!("invalid --pretty format: {text}"))),
            },
        })
    }
}

/// How commits are shown.
#[derive(Clone, Debug)]
pub(super) struct Look {
    pub(super) form: Form,
    /// Short names of commits.
    pub(super) short: bool,
    /// The form of dates.
    pub(super) date: String,
    /// Names of refs beside their commits: none, short, or full.
    pub(super) decorate: Option<bool>,
    pub(super) now: i64,
}

/// Commit → the names that stand there, with what is before them.
pub(super) type Names = BTreeMap<Oid, Vec<String>>;

/// All refs by their commits, as decorations show them.
pub(super) fn names(repo: &Repo<'_>, full: bool) -> Done<Names> {
    let mut found = Names::new();
    let head = repo.head()?;
    let shown = |name: &str| if full { name.to_owned() } else { short_name(name).to_owned() };
    if let Some(oid) = repo.head_commit()? {
        let text = match &head {
            Head::Branch(name) => format!("HEAD -> {}", shown(name)),
            Head::Detached(_) => "HEAD".to_owned(),
        };
        found.entry(oid).or_default().push(text);
    }
    for (name, oid) in repo.refs("refs/")?.into_iter().rev() {
        if head == Head::Branch(name.clone()) {
            continue;
        }
        let tag = name.starts_with("refs/tags/");
        let Ok(oid) = repo.peel(&oid, None) else { continue };
        let text = if tag { format!("tag: {}", shown(&name)) } else { shown(&name) };
        found.entry(oid).or_default().push(text);
    }
    Ok(found)
}

/// Writes the head of a commit. It ends with a newline, but for a form whose newlines stand
/// between two.
pub(super) fn commit(
    repo: &Repo<'_>,
    look: &Look,
    names: &Names,
    oid: &Oid,
    commit: &Commit,
    out: &mut String,
) -> Done {
    let named = |oid: &Oid| if look.short { repo.short(oid) } else { Ok(oid.to_string()) };
    let beside = match (look.decorate, names.get(oid)) {
        (Some(_), Some(all)) => format!(" ({})", all.join(", ")),
        _ => String::new(),
    };
    if let Form::Own(format, ends) = &look.form {
        *out += &expanded(repo, look, names, oid, commit, format)?;
        // A form of nothing prints nothing, not even its newline.
        if *ends && !format.is_empty() {
            out.push('\n');
        }
        return Ok(());
    }
    if look.form == Form::Oneline {
        let _ = writeln!(out, "{}{beside} {}", named(oid)?, commit.subject());
        return Ok(());
    }
    let _ = writeln!(out, "commit {}{beside}", named(oid)?);
    if look.form == Form::Raw {
        let _ = writeln!(out, "tree {}", commit.tree);
        commit.parents.iter().for_each(|parent| *out += &format!("parent {parent}\n"));
        let _ = writeln!(out, "author {}\ncommitter {}", commit.author, commit.committer);
    } else {
        if commit.parents.len() > 1 {
            let parents: Done<Vec<String>> = commit.parents.iter().map(|oid| repo.short(oid)).collect();
            let _ = writeln!(out, "Merge: {}", parents?.join(" "));
        }
        let who = |ident: &Ident| format!("{} <{}>", ident.name, ident.mail);
        let date = |ident: &Ident| ident.when.show(&look.date, look.now);
        let (author, committer) = (&commit.author, &commit.committer);
        let _ = match look.form {
            Form::Full => writeln!(out, "Author: {}\nCommit: {}", who(author), who(committer)),
            Form::Fuller => writeln!(
                out,
                "Author:     {}\nAuthorDate: {}\nCommit:     {}\nCommitDate: {}",
                who(author),
                date(author),
                who(committer),
                date(committer)
            ),
            Form::Short => writeln!(out, "Author: {}", who(author)),
            _ => writeln!(out, "Author: {}\nDate:   {}", who(author), date(author)),
        };
    }
    let text = if look.form == Form::Short {
        commit.subject()
    } else {
        commit.message.trim_matches('\n').to_owned()
    };
    out.push('\n');
    text.lines().for_each(|line| *out += &format!("    {}\n", line.trim_end()));
    Ok(())
}

/// Placeholders replaced.
pub(super) fn expanded(
    repo: &Repo<'_>,
    look: &Look,
    names: &Names,
    oid: &Oid,
    commit: &Commit,
    format: &str,
) -> Done<String> {
    let mut out = String::new();
    let mut rest = format;
    // `%<(10)`: the next placeholder fills so many columns; to the right with `>`.
    let mut pad: Option<(usize, bool, bool)> = None;
    while let Some(at) = rest.find('%') {
        out += &rest[..at];
        rest = &rest[at + 1..];
        let mode = rest.chars().next().filter(|c| "+- ".contains(*c));
        let inner = if mode.is_some() { &rest[1..] } else { rest };
        if let Some((width, left, cut, used)) = padding(inner) {
            pad = Some((width, left, cut));
            rest = &inner[used..];
            continue;
        }
        let Some((text, used)) = placeholder(repo, look, names, oid, commit, inner)? else {
            out.push('%');
            continue;
        };
        rest = &inner[used..];
        let text = match pad.take() {
            Some((width, left, cut)) => padded(text, width, left, cut),
            None => text,
        };
        match mode {
            Some('+') if !text.is_empty() => out.push('\n'),
            Some(' ') if !text.is_empty() => out.push(' '),
            Some('-') if text.is_empty() => out.truncate(out.trim_end_matches('\n').len()),
            _ => {}
        }
        out += &text;
    }
    Ok(out + rest)
}

/// `<(N)`, `>(N)`, `<(N,trunc)`: width, whether the text stands left, whether it is cut, and
/// the length of it.
fn padding(text: &str) -> Option<(usize, bool, bool, usize)> {
    let left = text.starts_with("<(");
    if !left && !text.starts_with(">(") {
        return None;
    }
    let end = text.find(')')?;
    let (width, cut) = match text[2..end].split_once(',') {
        Some((width, how)) => (width, how.trim() == "trunc"),
        None => (&text[2..end], false),
    };
    Some((width.trim().parse().ok().filter(|&width: &usize| width <= 10_000)?, left, cut, end + 1))
}

fn padded(text: String, width: usize, left: bool, cut: bool) -> String {
    let columns = unicode_width::UnicodeWidthStr::width(text.as_str());
    if columns > width {
        if !cut || width < 2 {
            return text;
        }
        return text.chars().take(width - 2).collect::<String>() + "..";
    }
    let blanks = " ".repeat(width - columns);
    if left { text + &blanks } else { blanks + &text }
}

/// One placeholder, and its length; `None` if there is none of this name.
fn placeholder(
    repo: &Repo<'_>,
    look: &Look,
    names: &Names,
    oid: &Oid,
    commit: &Commit,
    text: &str,
) -> Done<Option<(String, usize)>> {
    let mut letters = text.chars();
    let (first, second) = (letters.next(), letters.next());
    let short = |oids: &[Oid]| -> Done<String> {
        Ok(oids.iter().map(|oid| repo.short(oid)).collect::<Done<Vec<_>>>()?.join(" "))
    };
    let long = |oids: &[Oid]| oids.iter().map(Oid::to_string).collect::<Vec<_>>().join(" ");
    let beside = || names.get(oid).map(|all| all.join(", ")).unwrap_or_default();
    let found = match first {
        Some('H') => (oid.to_string(), 1),
        Some('h') => (short(&[*oid])?, 1),
        Some('T') => (commit.tree.to_string(), 1),
        Some('t') => (short(&[commit.tree])?, 1),
        Some('P') => (long(&commit.parents), 1),
        Some('p') => (short(&commit.parents)?, 1),
        Some('s') => (commit.subject(), 1),
        Some('b') => (commit.body().to_owned(), 1),
        Some('B') => (commit.message.trim_start_matches('\n').to_owned(), 1),
        Some('f') => (as_file_name(&commit.subject()), 1),
        Some('D') => (beside(), 1),
        Some('d') => (
            Some(beside()).filter(|all| !all.is_empty()).map(|all| format!(" ({all})")).unwrap_or_default(),
            1,
        ),
        Some('e' | 'N') => (String::new(), 1),
        Some('m') => (">".to_owned(), 1),
        Some('n') => ("\n".to_owned(), 1),
        Some('%') => ("%".to_owned(), 1),
        Some('x') => match text.get(1..3).and_then(|digits| u8::from_str_radix(digits, 16).ok()) {
            Some(byte) => (char::from(byte).to_string(), 3),
            None => return Ok(None),
        },
        Some('C') => {
            // There is no terminal: colours are nothing.
            let named = ["reset", "red", "green", "blue"].iter().find(|name| text[1..].starts_with(**name));
            match (named, text[1..].starts_with('('), text.find(')')) {
                (Some(name), ..) => (String::new(), 1 + name.len()),
                (None, true, Some(end)) => (String::new(), end + 1),
                _ => return Ok(None),
            }
        }
        Some(role @ ('a' | 'c')) => {
            let ident = if role == 'a' { &commit.author } else { &commit.committer };
            let date = |format: &str| ident.when.show(format, look.now);
            let text = match second {
                Some('n' | 'N') => ident.name.clone(),
                Some('e' | 'E') => ident.mail.clone(),
                Some('l' | 'L') => ident.mail.split('@').next().unwrap_or_default().to_owned(),
                Some('d') => date(&look.date),
                Some('D') => date("rfc"),
                Some('r') => date("relative"),
                Some('t') => date("unix"),
                Some('i') => date("iso"),
                Some('I') => date("iso-strict"),
                Some('s') => date("short"),
                _ => return Ok(None),
            };
            (text, 2)
        }
        _ => return Ok(None),
    };
    Ok(Some(found))
}

/// As names of patches are made.
fn as_file_name(subject: &str) -> String {
    let mut out = String::new();
    let mut gap = false;
    for c in subject.chars() {
        if c.is_ascii_alphanumeric() || c == '_' || c == '.' && !out.ends_with('.') {
            if gap && !out.is_empty() {
                out.push('-');
            }
            gap = false;
            out.push(c);
        } else if c != '.' {
            gap = true;
        }
    }
    out.truncate(out.trim_end_matches('.').len());
    out
}
