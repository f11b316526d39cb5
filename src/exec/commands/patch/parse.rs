//! Unified diffs as data.

/// What a line of a hunk is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Sign {
    Same,
    Old,
    New,
}

/// A hunk. Its lines have their newline, unless the file ends without one.
#[derive(Clone, Debug)]
pub(super) struct Hunk {
    pub(super) old_start: usize,
    pub(super) new_start: usize,
    old_count: usize,
    new_count: usize,
    pub(super) lines: Vec<(Sign, Vec<u8>)>,
}

/// Changes of one file.
#[derive(Clone, Debug)]
pub(super) struct Patch {
    /// Names in the header; `None` stands for `/dev/null`.
    pub(super) old: Option<String>,
    pub(super) new: Option<String>,
    /// What follows the names, from the tab on.
    times: [String; 2],
    /// Of a new file, as git tells it.
    pub(super) mode: Option<u32>,
    pub(super) hunks: Vec<Hunk>,
    /// Text before the hunks.
    pub(super) leading: Vec<String>,
    /// Line of the first hunk.
    pub(super) input_line: usize,
}

impl Patch {
    /// Whether there is no file before it.
    pub(super) fn makes_file(&self) -> bool {
        self.old.is_none()
            || self.hunks.first().is_some_and(|hunk| hunk.old_start == 0 && hunk.old_count == 0)
    }

    /// Whether there is no file after it.
    pub(super) fn removes_file(&self) -> bool {
        self.new.is_none()
    }

    /// The patch that takes it back.
    pub(super) fn reversed(mut self) -> Self {
        std::mem::swap(&mut self.old, &mut self.new);
        self.times.swap(0, 1);
        for hunk in &mut self.hunks {
            std::mem::swap(&mut hunk.old_start, &mut hunk.new_start);
            std::mem::swap(&mut hunk.old_count, &mut hunk.new_count);
            for (sign, _) in &mut hunk.lines {
                *sign = match sign {
                    Sign::Same => Sign::Same,
                    Sign::Old => Sign::New,
                    Sign::New => Sign::Old,
                };
            }
        }
        self
    }

    /// A diff of the hunks that `is_rejected`.
    pub(super) fn rejected(&self, name: &str, is_rejected: impl Fn(usize) -> bool) -> Vec<u8> {
        let mut text = format!("--- {name}{}\n+++ {name}{}\n", self.times[0], self.times[1]).into_bytes();
        for (_, hunk) in self.hunks.iter().enumerate().filter(|(at, _)| is_rejected(*at)) {
            let range = |start: usize, count: usize| {
                if count == 1 { start.to_string() } else { format!("{start},{count}") }
            };
            let (old, new) = (range(hunk.old_start, hunk.old_count), range(hunk.new_start, hunk.new_count));
            text.extend_from_slice(format!("@@ -{old} +{new} @@\n").as_bytes());
            for (sign, line) in &hunk.lines {
                text.push(match sign {
                    Sign::Same => b' ',
                    Sign::Old => b'-',
                    Sign::New => b'+',
                });
                text.extend_from_slice(line);
                if line.last() != Some(&b'\n') {
                    text.extend_from_slice(b"\n\\ No newline at end of file\n");
                }
            }
        }
        text
    }
}

/// `name<TAB>time` of a header line: the name, if it is one, and the rest.
fn name_of(line: &str) -> (Option<String>, String) {
    let end = line.find('\t').unwrap_or(line.len());
    let (name, time) = line.split_at(end);
    let name = name.trim_end_matches('\r');
    let name = name.strip_prefix('"').and_then(|name| name.strip_suffix('"')).unwrap_or(name);
    let epoch = time.contains("1970-01-01 00:00:00");
    ((name != "/dev/null" && !(epoch && name.is_empty())).then(|| name.to_owned()), time.to_owned())
}

fn range(text: &str) -> Option<(usize, usize)> {
    match text.split_once(',') {
        Some((start, count)) => Some((start.parse().ok()?, count.parse().ok()?)),
        None => Some((text.parse().ok()?, 1)),
    }
}

fn hunk_head(line: &str) -> Option<Hunk> {
    let (old, rest) = line.strip_prefix("@@ -")?.split_once(" +")?;
    let (old_start, old_count) = range(old)?;
    let (new_start, new_count) = range(rest.split_once(" @@")?.0)?;
    Some(Hunk { old_start, new_start, old_count, new_count, lines: Vec::new() })
}

/// All patches in a text; what is none is passed over. `Err` is patch's message.
pub(super) fn parse(text: &[u8]) -> Result<Vec<Patch>, String> {
    let lines: Vec<&[u8]> = text.split_inclusive(|&byte| byte == b'\n').collect();
    let word =
        |at: usize| lines.get(at).map(|line| String::from_utf8_lossy(line).trim_end_matches('\n').to_owned());
    let (mut patches, mut leading, mut mode, mut at) = (Vec::new(), Vec::new(), None, 0);
    while let Some(line) = word(at) {
        if line.starts_with("diff --git ") {
            mode = None;
        }
        if let Some(octal) = line.strip_prefix("new file mode ").or_else(|| line.strip_prefix("new mode ")) {
            mode = u32::from_str_radix(octal.trim(), 8).ok().map(|mode| mode & 0o777);
        }
        let next = word(at + 1).unwrap_or_default();
        let head = word(at + 2).and_then(|line| hunk_head(&line));
        let (Some(old), Some(new), Some(_)) = (line.strip_prefix("--- "), next.strip_prefix("+++ "), head)
        else {
            leading.push(line);
            at += 1;
            continue;
        };
        let ((old, old_time), (new, new_time)) = (name_of(old), name_of(new));
        leading.extend([line.clone(), next.clone()]);
        at += 2;
        let mut patch = Patch {
            old,
            new,
            times: [old_time, new_time],
            mode: mode.take(),
            hunks: Vec::new(),
            leading: std::mem::take(&mut leading),
            input_line: at + 1,
        };
        while let Some(mut hunk) = word(at).and_then(|line| hunk_head(&line)) {
            at += 1;
            at = read_hunk(&lines, at, &mut hunk)?;
            patch.hunks.push(hunk);
        }
        patches.push(patch);
    }
    Ok(patches)
}

/// The lines of a hunk; the number of the line behind it.
fn read_hunk(lines: &[&[u8]], mut at: usize, hunk: &mut Hunk) -> Result<usize, String> {
    let (mut old, mut new) = (0, 0);
    while old < hunk.old_count || new < hunk.new_count {
        let Some(line) = lines.get(at) else { return Err("unexpected end of file in patch".to_owned()) };
        let (sign, rest) = match line.first() {
            Some(b' ') => (Sign::Same, &line[1..]),
            Some(b'-') => (Sign::Old, &line[1..]),
            Some(b'+') => (Sign::New, &line[1..]),
            // Mail programs take the space of an empty line away.
            Some(b'\n' | b'\t') => (Sign::Same, *line),
            _ => {
                let text = String::from_utf8_lossy(line);
                return Err(format!("malformed patch at line {}: {text}", at + 1));
            }
        };
        old += usize::from(sign != Sign::New);
        new += usize::from(sign != Sign::Old);
        let mut rest = rest.to_vec();
        at += 1;
        if lines.get(at).is_some_and(|next| next.starts_with(b"\\ ")) {
            rest.pop();
            at += 1;
        } else if rest.last() != Some(&b'\n') {
            rest.push(b'\n');
        }
        hunk.lines.push((sign, rest));
    }
    Ok(at)
}
