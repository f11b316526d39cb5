//! Commands that scripts ask with: `ls-files`, `ls-tree`, `cat-file`,
//! `hash-object`, `show-ref`, `symbolic-ref`, `write-tree`, `check-ignore`.

use super::failed::{Done, error, fatal};
use super::given::{self, misused};
use super::index::Index;
use super::object::{DIR, Kind};
use super::oid::Oid;
use super::pathspec::Pathspec;
use super::refs::short_name;
use super::repo::Repo;
use super::shown::{quoted, relative};
use super::{Git, absolute, revision};
use crate::exec::commands::options::Takes::{Argument, Nothing};
use crate::exec::commands::options::{Given, Spec};

const LS_FILES: &[Spec] = &[
    ('c', "cached", Nothing),
    ('d', "deleted", Nothing),
    ('m', "modified", Nothing),
    ('o', "others", Nothing),
    ('i', "ignored", Nothing),
    ('s', "stage", Nothing),
    ('u', "unmerged", Nothing),
    ('z', "", Nothing),
    ('\u{3}', "exclude-standard", Nothing),
    ('\u{4}', "error-unmatch", Nothing),
    ('\u{5}', "full-name", Nothing),
];

const LS_TREE: &[Spec] = &[
    ('r', "", Nothing),
    ('t', "", Nothing),
    ('d', "", Nothing),
    ('l', "long", Nothing),
    ('z', "", Nothing),
    ('\u{3}', "name-only", Nothing),
    ('\u{3}', "name-status", Nothing),
    ('\u{4}', "full-tree", Nothing),
];

impl Git<'_> {
    /// `git ls-files`.
    pub(super) fn ls_files(&mut self, args: &[String]) -> Done<u8> {
        let (given, behind) = given::read("ls-files", args, LS_FILES)?;
        let paths = [given.operands.clone(), behind.unwrap_or_default()].concat();
        let repo = self.repo()?;
        let dir = self.dir_in(&repo);
        let here = ["."];
        let wanted = if paths.is_empty() && !dir.is_empty() { &here[..] } else { &paths[..] };
        let spec = Pathspec::new(&repo, &self.cwd, wanted)?;
        let mut index = Index::read(&repo)?;
        if given.has('\u{4}')
            && let Some(missing) = spec.unmatched(index.paths().iter().map(String::as_str))
        {
            return Err(error(format!(
                "pathspec '{missing}' did not match any file(s) known to git\nDid you forget to 'git add'?"
            )));
        }
        let end = if given.has('z') { '\0' } else { '\n' };
        let name = |path: &str| {
            let shown = if given.has('\u{5}') { path.to_owned() } else { relative(path, &dir) };
            if given.has('z') { shown } else { quoted(&repo, &shown) }
        };
        let mut lines: Vec<String> = Vec::new();
        if given.has('o') {
            let mut found = repo.untracked(&index, &spec, self.home(), true, given.has('i'))?;
            if !given.has('\u{3}') && !given.has('i') {
                found.extend(repo.untracked(&index, &spec, self.home(), true, true)?);
                found.sort();
            }
            lines.extend(found.iter().map(|path| name(path)));
        }
        if given.has('s') || given.has('u') {
            for ((path, stage), entry) in index.entries.iter().filter(|((path, _), _)| spec.matches(path)) {
                if !given.has('u') || *stage > 0 {
                    lines.push(format!("{:06o} {} {stage}\t{}", entry.mode, entry.oid, name(path)));
                }
            }
        } else if given.has('c') || !(given.has('o') || given.has('d') || given.has('m')) {
            lines.extend(Repo::meant(&index, &spec).iter().map(|path| name(path)));
        }
        if given.has('d') || given.has('m') {
            for change in repo.unstaged(&mut index, &spec)?.0 {
                if given.has('m') || change.new.is_none() {
                    lines.push(name(&change.path));
                }
            }
        }
        let text: String = lines.iter().map(|line| format!("{line}{end}")).collect();
        self.answer.stdout.extend_from_slice(text.as_bytes());
        Ok(0)
    }

    /// `git ls-tree`.
    pub(super) fn ls_tree(&mut self, args: &[String]) -> Done<u8> {
        let (given, behind) = given::read("ls-tree", args, LS_TREE)?;
        let words = [given.operands.clone(), behind.unwrap_or_default()].concat();
        let repo = self.repo()?;
        let Some((name, paths)) = words.split_first() else {
            return Err(misused("ls-tree", "a tree is needed", LS_TREE));
        };
        let oid =
            revision::find(&repo, name)?.ok_or_else(|| fatal(format!("Not a valid object name {name}")))?;
        let tree = repo.peel(&oid, Some(Kind::Tree))?;
        let mut out = String::new();
        let wanted: Vec<&str> = paths.iter().map(|path| path.trim_start_matches("./")).collect();
        self.tree_lines(&repo, &tree, "", &wanted, &given, &mut out)?;
        self.answer.stdout.extend_from_slice(out.as_bytes());
        Ok(0)
    }

    fn tree_lines(
        &self,
        repo: &Repo<'_>,
        tree: &Oid,
        prefix: &str,
        wanted: &[&str],
        given: &Given<'_>,
        out: &mut String,
    ) -> Done {
        repo.go_on()?;
        if prefix.len() > crate::fs::path::PATH_MAX || out.len() as u64 > repo.longest() {
            return Err(fatal("a tree that is too large to be listed"));
        }
        for entry in repo.tree(tree)? {
            let path = format!("{prefix}{}", entry.name);
            let is_dir = entry.mode == DIR;
            // A path with a slash at its end asks for what is below it.
            let inside = wanted.iter().any(|want| {
                let dir = want.trim_end_matches('/');
                path.strip_prefix(dir).is_some_and(|rest| rest.starts_with('/'))
            });
            let meant = wanted.is_empty() || inside || wanted.contains(&path.as_str());
            let above =
                wanted.iter().any(|want| want.strip_prefix(&path).is_some_and(|rest| rest.starts_with('/')));
            let deeper = is_dir && (above || given.has('r') && meant);
            if meant && (!deeper || given.has('t')) && (!given.has('d') || is_dir) {
                let shown = if given.has('z') { path.clone() } else { quoted(repo, &path) };
                let end = if given.has('z') { '\0' } else { '\n' };
                let kind = match entry.mode {
                    DIR => "tree",
                    super::object::MODULE => "commit",
                    _ => "blob",
                };
                *out += &if given.has('\u{3}') {
                    format!("{shown}{end}")
                } else if given.has('l') {
                    let size =
                        if kind == "blob" { repo.blob(&entry.oid)?.len().to_string() } else { "-".into() };
                    format!("{:06o} {kind} {} {size:>7}\t{shown}{end}", entry.mode, entry.oid)
                } else {
                    format!("{:06o} {kind} {}\t{shown}{end}", entry.mode, entry.oid)
                };
            }
            if deeper {
                self.tree_lines(repo, &entry.oid, &format!("{path}/"), wanted, given, out)?;
            }
        }
        Ok(())
    }

    /// `git cat-file`.
    pub(super) fn cat_file(&mut self, args: &[String]) -> Done<u8> {
        let specs = [
            ('t', "", Nothing),
            ('s', "", Nothing),
            ('p', "", Nothing),
            ('e', "", Nothing),
            ('\u{3}', "batch", Nothing),
            ('\u{4}', "batch-check", Nothing),
        ];
        let (given, _) = given::read("cat-file", args, &specs)?;
        let repo = self.repo()?;
        if given.has('\u{3}') || given.has('\u{4}') {
            let text = String::from_utf8_lossy(self.call.stdin).into_owned();
            for line in text.lines() {
                let found =
                    revision::find(&repo, line)?.map(|oid| Ok((oid, repo.find(&oid)?))).transpose()?;
                let Some((oid, Some(object))) = found else {
                    self.say(&format!("{line} missing"));
                    continue;
                };
                self.say(&format!("{oid} {} {}", object.kind.name(), object.data.len()));
                if given.has('\u{3}') {
                    self.answer.stdout.extend_from_slice(&object.data);
                    self.answer.stdout.push(b'\n');
                }
            }
            return Ok(0);
        }
        let (kind, name) = match given.operands[..] {
            [name] if !given.options.is_empty() => (None, name),
            [kind, name] if given.options.is_empty() => (
                Some(Kind::parse(kind).ok_or_else(|| fatal(format!("invalid object type \"{kind}\"")))?),
                name,
            ),
            _ => return Err(misused("cat-file", "an object is needed", &specs)),
        };
        let found = revision::find(&repo, name)?;
        if given.has('e') {
            return Ok(u8::from(!found.map_or(Ok(false), |oid| repo.has(&oid))?));
        }
        let oid = found.ok_or_else(|| fatal(format!("Not a valid object name {name}")))?;
        let oid = kind.map_or(Ok(oid), |kind| repo.peel(&oid, Some(kind)))?;
        let object = repo.read(&oid)?;
        if given.has('t') {
            self.say(object.kind.name());
        } else if given.has('s') {
            self.say(&object.data.len().to_string());
        } else if given.has('p') && object.kind == Kind::Tree {
            let mut out = String::new();
            self.tree_lines(&repo, &oid, "", &[], &Given::default(), &mut out)?;
            self.answer.stdout.extend_from_slice(out.as_bytes());
        } else {
            self.answer.stdout.extend_from_slice(&object.data);
        }
        Ok(0)
    }

    /// `git hash-object`.
    pub(super) fn hash_object(&mut self, args: &[String]) -> Done<u8> {
        let specs = [('w', "", Nothing), ('t', "", Argument), ('\u{3}', "stdin", Nothing)];
        let (given, behind) = given::read("hash-object", args, &specs)?;
        let name = given.value('t').unwrap_or("blob");
        let kind = Kind::parse(name).ok_or_else(|| fatal(format!("invalid object type \"{name}\"")))?;
        let mut contents = Vec::new();
        if given.has('\u{3}') {
            contents.push(bytes::Bytes::copy_from_slice(self.call.stdin));
        }
        for path in [given.operands.clone(), behind.unwrap_or_default()].concat() {
            let read = self.call.files.read(&absolute(&self.cwd, path));
            contents
                .push(read.map_err(|errno| fatal(format!("could not open '{path}' for reading: {errno}")))?);
        }
        for data in contents {
            // What is no such object is refused.
            match kind {
                Kind::Tree => super::object::parse_tree(&data).map(drop)?,
                Kind::Commit => super::object::Commit::parse(&data).map(drop)?,
                Kind::Tag => super::object::Tag::parse(&data).map(drop)?,
                Kind::Blob => {}
            }
            let oid = if given.has('w') { self.repo()?.write(kind, &data)? } else { Oid::of(kind, &data) };
            self.say(&oid.to_string());
        }
        Ok(0)
    }

    /// `git write-tree`.
    pub(super) fn write_tree(&mut self, args: &[String]) -> Done<u8> {
        given::read("write-tree", args, &[])?;
        let repo = self.repo()?;
        let oid = Index::read(&repo)?.write_tree(&repo)?;
        self.say(&oid.to_string());
        Ok(0)
    }

    /// `git symbolic-ref`.
    pub(super) fn symbolic_ref(&mut self, args: &[String]) -> Done<u8> {
        let specs = [('q', "quiet", Nothing), ('\u{3}', "short", Nothing)];
        let (given, _) = given::read("symbolic-ref", args, &specs)?;
        let repo = self.repo()?;
        match given.operands[..] {
            [name] => match repo.symbolic(name)? {
                Some(full) => self.say(if given.has('\u{3}') { short_name(&full) } else { &full }),
                None if given.has('q') => return Ok(1),
                None => return Err(fatal(format!("ref {name} is not a symbolic ref"))),
            },
            [name, full]
                if super::refs::is_valid(full)
                    && full.starts_with("refs/")
                    && super::refs::is_valid(name) =>
            {
                repo.point(name, full)?;
            }
            _ => return Err(misused("symbolic-ref", "a name, and a ref below refs/", &specs)),
        }
        Ok(0)
    }

    /// `git show-ref`.
    pub(super) fn show_ref(&mut self, args: &[String]) -> Done<u8> {
        let specs = [
            ('q', "quiet", Nothing),
            ('s', "hash", Nothing),
            ('d', "dereference", Nothing),
            ('\u{3}', "heads", Nothing),
            ('\u{3}', "branches", Nothing),
            ('\u{4}', "tags", Nothing),
            ('\u{5}', "verify", Nothing),
            ('\u{6}', "head", Nothing),
        ];
        let (given, behind) = given::read("show-ref", args, &specs)?;
        let names = [given.operands.clone(), behind.unwrap_or_default()].concat();
        let repo = self.repo()?;
        let mut found: Vec<(String, Oid)> = Vec::new();
        if given.has('\u{5}') {
            for name in &names {
                match repo.resolve(name)? {
                    Some(oid) => found.push(((*name).to_owned(), oid)),
                    None if given.has('q') => return Ok(1),
                    None => return Err(fatal(format!("'{name}' - not a valid ref"))),
                }
            }
        } else {
            if given.has('\u{6}') {
                found.extend(repo.head_commit()?.map(|oid| ("HEAD".to_owned(), oid)));
            }
            let kinds = |name: &str| {
                !(given.has('\u{3}') || given.has('\u{4}'))
                    || given.has('\u{3}') && name.starts_with("refs/heads/")
                    || given.has('\u{4}') && name.starts_with("refs/tags/")
            };
            let ends = |name: &str| {
                names.is_empty() || names.iter().any(|end| name == *end || name.ends_with(&format!("/{end}")))
            };
            found.extend(repo.refs("refs/")?.into_iter().filter(|(name, _)| kinds(name) && ends(name)));
        }
        for (name, oid) in &found {
            if !given.has('q') {
                self.say(&if given.has('s') { oid.to_string() } else { format!("{oid} {name}") });
                let peeled = repo.peel(oid, None)?;
                if given.has('d') && peeled != *oid {
                    self.say(&format!("{peeled} {name}^{{}}"));
                }
            }
        }
        Ok(u8::from(found.is_empty()))
    }

    /// `git check-ignore`.
    pub(super) fn check_ignore(&mut self, args: &[String]) -> Done<u8> {
        let (given, behind) = given::read("check-ignore", args, &[('q', "quiet", Nothing)])?;
        let repo = self.work_repo()?;
        let index = Index::read(&repo)?;
        let mut any = false;
        for path in [given.operands.clone(), behind.unwrap_or_default()].concat() {
            let own = super::stage::plain_in(&repo, &self.cwd, path);
            if !index.has(&own) && super::stage::is_ignored(&repo, &self.cwd, self.home(), path) {
                any = true;
                if given.options.is_empty() {
                    self.say(path);
                }
            }
        }
        Ok(u8::from(!any))
    }

    /// `git update-ref`.
    pub(super) fn update_ref(&mut self, args: &[String]) -> Done<u8> {
        let specs = [('d', "", Nothing), ('m', "", Argument)];
        let (given, _) = given::read("update-ref", args, &specs)?;
        let repo = self.repo()?;
        let delete = given.has('d');
        match given.operands[..] {
            [name] if delete => repo.delete(name)?,
            [name, new] if !delete => {
                let oid = revision::resolve(&repo, new)?;
                repo.read(&oid)?;
                repo.update(name, &oid)?;
            }
            _ => return Err(misused("update-ref", "a ref and a new value", &specs)),
        }
        Ok(0)
    }
}
