//! Settings: the text of a config file, read and edited.

use super::failed::{Done, Failed, error, fatal};

/// One variable of a file, and the bytes of its lines there.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Variable {
    /// `section.name` or `section.Sub.name`; section and name in lower case.
    key: String,
    value: String,
    at: std::ops::Range<usize>,
}

/// The head of a section.
#[derive(Clone, Debug)]
struct Section {
    /// `section` or `section.Sub`.
    name: String,
    at: std::ops::Range<usize>,
    /// Where its last line ends.
    end: usize,
}

/// All settings that hold.
#[derive(Clone, Debug, Default)]
pub(super) struct Config {
    pairs: Vec<(String, String)>,
}

impl Config {
    /// Adds those of a file; later ones win.
    pub(super) fn add(&mut self, text: &str, path: &str) -> Done {
        let (_, variables) = parse(text, path)?;
        self.pairs.extend(variables.into_iter().map(|variable| (variable.key, variable.value)));
        Ok(())
    }

    /// Adds one.
    pub(super) fn push(&mut self, key: &str, value: &str) -> Done {
        self.pairs.push((normal(key)?, value.to_owned()));
        Ok(())
    }

    /// The value that holds.
    pub(super) fn get(&self, key: &str) -> Option<&str> {
        let key = normal(key).ok()?;
        self.pairs.iter().rev().find(|(own, _)| *own == key).map(|(_, value)| value.as_str())
    }

    /// All values, in order.
    pub(super) fn all(&self, key: &str) -> Vec<&str> {
        let key = normal(key).unwrap_or_default();
        self.pairs.iter().filter(|(own, _)| *own == key).map(|(_, value)| value.as_str()).collect()
    }

    /// A switch.
    pub(super) fn is(&self, key: &str) -> Option<bool> {
        self.get(key).map(|value| matches!(&*value.to_lowercase(), "true" | "yes" | "on" | "1"))
    }

    /// All of them.
    pub(super) fn pairs(&self) -> &[(String, String)] {
        &self.pairs
    }

    /// What stands between `section.` and `.name`, each once, in order.
    pub(super) fn subsections(&self, section: &str) -> Vec<&str> {
        let mut found: Vec<&str> = Vec::new();
        for (key, _) in &self.pairs {
            let sub = key
                .strip_prefix(section)
                .and_then(|rest| rest.strip_prefix('.'))
                .and_then(|rest| rest.rsplit_once('.'));
            if let Some((sub, _)) = sub
                && !found.contains(&sub)
            {
                found.push(sub);
            }
        }
        found
    }
}

/// A key as it is compared.
fn normal(key: &str) -> Done<String> {
    let bad = |why: &str| error(format!("{why}: {key}"));
    let (section, rest) = key.split_once('.').ok_or_else(|| bad("key does not contain a section"))?;
    let (sub, name) = match rest.rsplit_once('.') {
        Some((sub, name)) => (Some(sub), name),
        None => (None, rest),
    };
    if name.is_empty() {
        return Err(bad("key does not contain variable name"));
    }
    let plain = |text: &str| text.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'-');
    if section.is_empty()
        || !plain(section)
        || !plain(name)
        || !name.starts_with(|c: char| c.is_ascii_alphabetic())
    {
        return Err(bad("invalid key"));
    }
    let (section, name) = (section.to_ascii_lowercase(), name.to_ascii_lowercase());
    Ok(match sub {
        Some(sub) => format!("{section}.{sub}.{name}"),
        None => format!("{section}.{name}"),
    })
}

/// `[section "Sub"]`.
fn section_name(head: &str) -> Option<String> {
    let inner = head.strip_prefix('[')?;
    match inner.split_once('"') {
        None => Some(inner.trim().to_ascii_lowercase()),
        Some((section, sub)) => {
            let sub = sub.strip_suffix('"')?;
            let mut plain = String::new();
            let mut chars = sub.chars();
            while let Some(c) = chars.next() {
                plain.push(if c == '\\' { chars.next()? } else { c });
            }
            Some(format!("{}.{plain}", section.trim().to_ascii_lowercase()))
        }
    }
}

/// Where a section's head ends, quotes being respected.
fn head_end(line: &str) -> Option<usize> {
    let (mut quoted, mut escaped) = (false, false);
    for (at, c) in line.char_indices() {
        match c {
            _ if escaped => escaped = false,
            '\\' if quoted => escaped = true,
            '"' => quoted = !quoted,
            ']' if !quoted => return Some(at),
            _ => {}
        }
    }
    None
}

fn parse(text: &str, path: &str) -> Done<(Vec<Section>, Vec<Variable>)> {
    let (mut sections, mut variables): (Vec<Section>, Vec<Variable>) = (Vec::new(), Vec::new());
    let (mut at, mut number) = (0, 0);
    while at < text.len() {
        let begun = at;
        number += 1;
        let this = number;
        let bad = || fatal(format!("bad config line {this} in file {path}"));
        let line = text[at..].split_inclusive('\n').next().unwrap_or_default();
        at += line.len();
        let mut rest = line.trim();
        if rest.starts_with('[') {
            let end = head_end(rest).ok_or_else(bad)?;
            let name = section_name(&rest[..end]).ok_or_else(bad)?;
            let head = begun + line.len() - line.trim_start().len() + end + 1;
            sections.push(Section { name, at: begun..head, end: at });
            rest = rest[end + 1..].trim();
        }
        if rest.is_empty() || rest.starts_with(['#', ';']) {
            continue;
        }
        let section = sections.last_mut().ok_or_else(bad)?;
        let (name, value) = match rest.split_once('=') {
            Some((name, value)) => (name.trim(), Some(value)),
            None => (rest, None),
        };
        let mut value = value.map(str::to_owned);
        // A line that ends in a lone backslash goes on.
        while let Some(text_so_far) = &mut value
            && text_so_far.chars().rev().take_while(|&c| c == '\\').count() % 2 == 1
        {
            let Some(next) = text[at..].split_inclusive('\n').next() else { break };
            text_so_far.pop();
            text_so_far.push_str(next.trim_end_matches(['\n', '\r']));
            at += next.len();
            number += 1;
        }
        let key = normal(&format!("{}.{name}", section.name)).map_err(|_| bad())?;
        let value = match value {
            Some(value) => unquoted(&value).ok_or_else(bad)?,
            None => "true".to_owned(),
        };
        section.end = at;
        variables.push(Variable { key, value, at: begun..at });
    }
    Ok((sections, variables))
}

fn unquoted(text: &str) -> Option<String> {
    let (mut out, mut quoted, mut kept) = (String::new(), false, 0);
    let mut chars = text.trim_start().chars();
    while let Some(c) = chars.next() {
        match c {
            '"' => quoted = !quoted,
            '#' | ';' if !quoted => break,
            '\\' => out.push(match chars.next()? {
                'n' => '\n',
                't' => '\t',
                'b' => '\u{8}',
                c @ ('\\' | '"') => c,
                _ => return None,
            }),
            c => out.push(c),
        }
        if quoted || !c.is_whitespace() {
            kept = out.len();
        }
    }
    out.truncate(kept);
    (!quoted).then_some(out)
}

fn quoted(value: &str) -> String {
    let inner = value.replace('\\', "\\\\").replace('"', "\\\"").replace('\n', "\\n").replace('\t', "\\t");
    let needs = value.starts_with(' ') || value.ends_with(' ') || value.contains(['#', ';']);
    if needs { format!("\"{inner}\"") } else { inner }
}

/// The text with a variable set: the last one of this name is replaced, or one is added.
pub(super) fn set(text: &str, key: &str, value: &str, add: bool) -> Done<String> {
    let wanted = normal(key)?;
    let (section, name) = wanted.rsplit_once('.').unwrap_or_default();
    let written_name = key.rsplit('.').next().unwrap_or(name);
    let line = format!("\t{written_name} = {}\n", quoted(value));
    let (sections, variables) = parse(text, "config")?;
    let mut out = text.to_owned();
    let matching: Vec<&Variable> = variables.iter().filter(|variable| variable.key == wanted).collect();
    if !add && matching.len() > 1 {
        return Err(several(key));
    }
    if let (Some(old), false) = (matching.last(), add) {
        out.replace_range(old.at.clone(), &line);
    } else if let Some(section) = sections.iter().rev().find(|own| own.name == section) {
        let end = section.end;
        let newline = if text[..end].ends_with('\n') { "" } else { "\n" };
        out.insert_str(end, &format!("{newline}{line}"));
    } else {
        if !out.is_empty() && !out.ends_with('\n') {
            out.push('\n');
        }
        let head = match section.split_once('.') {
            Some((section, sub)) => {
                format!("[{section} \"{}\"]\n", sub.replace('\\', "\\\\").replace('"', "\\\""))
            }
            None => format!("[{section}]\n"),
        };
        out += &(head + &line);
    }
    Ok(out)
}

/// Only one value can be replaced.
fn several(key: &str) -> Failed {
    let message = format!(
        "warning: {key} has multiple values\nerror: cannot overwrite multiple values with a single value\n       Use a regexp, --add or --replace-all to change {key}."
    );
    Failed { exit: 5, message }
}

/// The text without a variable; `None` if there is none of this name.
pub(super) fn unset(text: &str, key: &str) -> Done<Option<String>> {
    let wanted = normal(key)?;
    let (_, variables) = parse(text, "config")?;
    let mut out = text.to_owned();
    let mut any = false;
    for variable in variables.iter().rev().filter(|variable| variable.key == wanted) {
        out.replace_range(variable.at.clone(), "");
        any = true;
    }
    if any {
        Ok(Some(without_empty(&out, wanted.rsplit_once('.').map_or("", |(section, _)| section))?))
    } else {
        Ok(None)
    }
}

/// The text without a section that has nothing in it any more.
fn without_empty(text: &str, name: &str) -> Done<String> {
    let (sections, variables) = parse(text, "config")?;
    let mut out = text.to_owned();
    for (number, section) in sections.iter().enumerate().rev().filter(|(_, section)| section.name == name) {
        let end = sections.get(number + 1).map_or(text.len(), |next| next.at.start);
        let used =
            variables.iter().any(|variable| variable.at.start >= section.at.start && variable.at.start < end);
        if !used && !text[section.at.end..end].contains(['#', ';']) {
            out.replace_range(section.at.start..end, "");
        }
    }
    Ok(out)
}

/// The text without a section; `None` if there is none of this name.
pub(super) fn remove_section(text: &str, name: &str) -> Done<Option<String>> {
    let (sections, _) = parse(text, "config")?;
    let mut out = text.to_owned();
    let mut any = false;
    for (number, section) in sections.iter().enumerate().rev().filter(|(_, section)| section.name == name) {
        let end = sections.get(number + 1).map_or(text.len(), |next| next.at.start);
        out.replace_range(section.at.start..end, "");
        any = true;
    }
    Ok(any.then_some(out))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn files_are_read_and_edited() {
        let text = "# top\n[core]\n\tbare = false ; no\n[remote \"Or\\\"igin\"]\n\turl = \"a b\" \\\n c\n\tFetch=x\n[a]b=1\n[x]\n\tflag\n";
        let mut config = Config::default();
        config.add(text, "f").unwrap();
        assert_eq!(config.get("core.BARE"), Some("false"));
        assert_eq!(config.get("remote.Or\"igin.url"), Some("a b  c"));
        assert_eq!(config.get("remote.Or\"igin.fetch"), Some("x"));
        assert_eq!((config.get("a.b"), config.is("x.flag")), (Some("1"), Some(true)));
        let set_once = set(text, "core.bare", "true", false).unwrap();
        assert!(set_once.contains("[core]\n\tbare = true\n[remote"), "{set_once}");
        let more = set(&set_once, "user.Name", " A;\"", false).unwrap();
        assert!(more.ends_with("[user]\n\tName = \" A;\\\"\"\n"), "{more}");
        let gone = unset(&more, "user.name").unwrap().unwrap();
        assert_eq!(gone, set_once);
        assert!(remove_section(&gone, "core").unwrap().unwrap().starts_with("# top\n[remote"));
        for bad in ["x=1\n", "[a\nb=1\n", "[a]\nb=\"c\n", "[a]\n1b=2\n", "[a \"b]\n"] {
            assert!(Config::default().add(bad, "f").is_err(), "{bad}");
        }
    }
}
