//! `git push`.

use super::failed::{Done, Failed, fatal};
use super::fetch::default_remote;
use super::given;
use super::http::{AGENT, Offer, Place, place, shown, unable};
use super::object::Kind;
use super::oid::Oid;
use super::packet::{Bands, FLUSH, Packet, Packets, put};
use super::refs::{Head, short_name};
use super::repo::Repo;
use super::walk::is_behind;
use super::{Git, local, revision};
use crate::exec::commands::options::Spec;
use crate::exec::commands::options::Takes::{Nothing, Optional};

const SPECS: &[Spec] = &[
    ('u', "set-upstream", Nothing),
    ('f', "force", Nothing),
    ('d', "delete", Nothing),
    ('n', "dry-run", Nothing),
    ('q', "quiet", Nothing),
    ('v', "verbose", Nothing),
    ('\u{3}', "all", Nothing),
    ('\u{3}', "branches", Nothing),
    ('\u{4}', "tags", Nothing),
    ('\u{5}', "force-with-lease", Optional),
    ('\u{6}', "no-verify", Nothing),
];

/// A ref of theirs that is to change.
struct Update {
    /// Our ref, if it is one; as it is shown.
    from: String,
    theirs: String,
    old: Oid,
    new: Oid,
    force: bool,
    refused: Option<String>,
}

impl Git<'_> {
    /// `git push`.
    pub(super) async fn push(&mut self, args: &[String]) -> Done<u8> {
        let (given, behind) = given::read("push", args, SPECS)?;
        let repo = self.repo()?;
        let operands = [given.operands.clone(), behind.unwrap_or_default()].concat();
        let remote = operands.first().map_or_else(|| default_remote(&repo), |name| (*name).to_owned());
        let url = repo
            .config
            .get(&format!("remote.{remote}.pushurl"))
            .map_or_else(|| Self::url_of(&repo, &remote), str::to_owned);
        if url == "origin" && repo.config.get("remote.origin.url").is_none() {
            return Err(fatal(
                "No configured push destination.\nEither specify the URL from the command-line or configure a remote repository using\n\n    git remote add <name> <url>\n\nand then push using the remote name\n\n    git push <name>\n",
            ));
        }
        let mut specs: Vec<String> = operands.iter().skip(1).map(|spec| (*spec).to_owned()).collect();
        if given.has('d') {
            specs.iter_mut().for_each(|spec| *spec = format!(":{spec}"));
        }
        let prefixes = [('\u{3}', "refs/heads/"), ('\u{4}', "refs/tags/")];
        for (_, prefix) in prefixes.into_iter().filter(|(letter, _)| given.has(*letter)) {
            specs.extend(repo.refs(prefix)?.keys().map(|name| format!("{name}:{name}")));
        }
        if specs.is_empty() && !given.has('\u{4}') && !given.has('\u{3}') {
            specs.push(simple(&repo, &remote, given.has('u'))?);
        }
        let offer = self.offer(Some(&repo), &url, "git-receive-pack").await?;
        let mut updates = Vec::new();
        for spec in &specs {
            updates.push(update(&repo, &offer, spec, given.has('f') || given.has('\u{5}'))?);
        }
        for change in &mut updates {
            change.refused = refusal(&repo, change)?;
            if given.has('\u{5}') && change.refused.is_none() && !given.has('f') {
                // Only if it is still what was seen there last.
                let seen = repo.resolve(&format!("refs/remotes/{remote}/{}", short_name(&change.theirs)))?;
                if change.old != seen.unwrap_or(Oid::NULL) {
                    change.refused = Some("[rejected] (stale info)".into());
                }
            }
        }
        let sent: Vec<(String, Oid, Oid)> = updates
            .iter()
            .filter(|change| change.refused.is_none() && change.old != change.new)
            .map(|change| (change.theirs.clone(), change.old, change.new))
            .collect();
        if !sent.is_empty() && !given.has('n') {
            for (name, why) in self.send(&repo, &url, &offer, &sent).await? {
                if let Some(change) = updates.iter_mut().find(|change| change.theirs == name) {
                    change.refused = Some(format!("[remote rejected] ({why})"));
                }
            }
        }
        let failed = self.tell(&repo, &url, &updates, given.has('q'))?;
        for change in updates.iter().filter(|change| change.refused.is_none() && !given.has('n')) {
            if let Some(branch) = change.theirs.strip_prefix("refs/heads/")
                && !repo.config.all(&format!("remote.{remote}.fetch")).is_empty()
            {
                let ours = format!("refs/remotes/{remote}/{branch}");
                if change.new == Oid::NULL {
                    repo.delete(&ours)?;
                } else {
                    repo.update(&ours, &change.new)?;
                }
                if let (true, Some(local)) = (given.has('u'), change.from.strip_prefix("refs/heads/")) {
                    super::branch::set_config(&repo, &format!("branch.{local}.remote"), &remote)?;
                    super::branch::set_config(&repo, &format!("branch.{local}.merge"), &change.theirs)?;
                    self.say(&format!("branch '{local}' set up to track '{remote}/{branch}'."));
                }
            }
        }
        if failed {
            return Err(Failed {
                exit: 1,
                message: format!("error: failed to push some refs to '{}'", shown(&url)),
            });
        }
        Ok(0)
    }

    /// Sends commands and objects. Gives what the other side refused.
    async fn send(
        &mut self,
        repo: &Repo<'_>,
        url: &str,
        offer: &Offer,
        updates: &[(String, Oid, Oid)],
    ) -> Done<Vec<(String, String)>> {
        let wants: Vec<Oid> =
            updates.iter().map(|(_, _, new)| *new).filter(|oid| *oid != Oid::NULL).collect();
        let haves: Vec<Oid> = offer.refs.values().copied().collect();
        let pack = if wants.is_empty() { Vec::new() } else { local::pack(repo, &wants, &haves)?.0 };
        match place(self, url)? {
            Place::Path(path) => {
                let mut other = self
                    .repo_at(&path)?
                    .ok_or_else(|| fatal(format!("'{url}' does not appear to be a git repository")))?;
                let updates: Vec<(String, Oid)> =
                    updates.iter().map(|(name, _, new)| (name.clone(), *new)).collect();
                local::receive(&mut other, &pack, &updates)
            }
            Place::Http(http) => {
                for ability in ["report-status", "side-band-64k"] {
                    if !offer.can(ability) {
                        return Err(unable(ability));
                    }
                }
                if !offer.can("delete-refs") && updates.iter().any(|(_, _, new)| *new == Oid::NULL) {
                    return Err(unable("deleting refs"));
                }
                let mut body = Vec::new();
                for (number, (name, old, new)) in updates.iter().enumerate() {
                    let tail = if number == 0 {
                        format!("\0 report-status side-band-64k agent={AGENT}")
                    } else {
                        String::new()
                    };
                    put(&mut body, format!("{old} {new} {name}{tail}").as_bytes());
                }
                body.extend_from_slice(FLUSH);
                body.extend(pack);
                let reply = self.post(repo, &http, offer, "git-receive-pack", body).await?;
                self.report(&reply)
            }
        }
    }

    fn report(&mut self, reply: &[u8]) -> Done<Vec<(String, String)>> {
        let (mut packets, mut bands) = (Packets::new(reply), Bands::default());
        while let Some(packet) = packets.next()? {
            match packet {
                Packet::Line(line) => bands.take(line)?,
                Packet::Flush => break,
            }
        }
        for line in bands.words.lines() {
            self.say_error(&format!("remote: {line}"));
        }
        let (mut packets, mut refused, mut unpacked) = (Packets::new(&bands.data), Vec::new(), false);
        while let Some(Packet::Line(line)) = packets.next()? {
            let text = String::from_utf8_lossy(line);
            let text = text.trim_end();
            if let Some(how) = text.strip_prefix("unpack ") {
                if how != "ok" {
                    return Err(fatal(format!("remote unpack failed: {how}")));
                }
                unpacked = true;
            } else if let Some(rest) = text.strip_prefix("ng ") {
                let (name, why) = rest.split_once(' ').unwrap_or((rest, "failed"));
                refused.push((name.to_owned(), why.to_owned()));
            }
        }
        if unpacked { Ok(refused) } else { Err(fatal("the other side did not say whether it took the push")) }
    }

    /// Tells what became of each ref. `true`: something was refused.
    fn tell(&mut self, repo: &Repo<'_>, url: &str, updates: &[Update], quiet: bool) -> Done<bool> {
        let mut lines = Vec::new();
        let mut failed = false;
        for change in updates {
            let (from, to) = (short_name(&change.from), short_name(&change.theirs));
            if let Some(why) = &change.refused {
                failed = true;
                let (what, why) = why.split_once(" (").unwrap_or((why, ""));
                lines.push(format!(" ! {what:<17} {from} -> {to} ({why}"));
                continue;
            }
            if change.old == change.new {
                continue;
            }
            lines.push(if change.new == Oid::NULL {
                format!(" - [deleted]         {to}")
            } else if change.old == Oid::NULL {
                let kind = if change.theirs.starts_with("refs/tags/") { "tag" } else { "branch" };
                format!(" * {:<17} {from} -> {to}", format!("[new {kind}]"))
            } else {
                let (old, new) = (repo.short(&change.old)?, repo.short(&change.new)?);
                if repo.has(&change.old)? && is_behind(repo, &change.old, &change.new)? {
                    format!("   {old}..{new}  {from} -> {to}")
                } else {
                    format!(" + {old}...{new} {from} -> {to} (forced update)")
                }
            });
        }
        if lines.is_empty() {
            if !quiet {
                self.say_error("Everything up-to-date");
            }
        } else if !quiet || failed {
            self.say_error(&format!("To {}", shown(url)));
            lines.iter().for_each(|line| self.say_error(line));
        }
        Ok(failed)
    }
}

/// The current branch, to the one that it follows.
fn simple(repo: &Repo<'_>, remote: &str, sets: bool) -> Done<String> {
    let Head::Branch(full) = repo.head()? else {
        return Err(fatal(
            "You are not currently on a branch.\nTo push the history leading to the current (detached HEAD)\nstate now, use\n\n    git push origin HEAD:<name-of-remote-branch>\n",
        ));
    };
    let name = short_name(&full);
    let followed = repo.config.get(&format!("branch.{name}.merge"));
    let own = repo.config.get(&format!("branch.{name}.remote")).is_none_or(|own| own == remote);
    let current = repo.config.get("push.default") == Some("current")
        || repo.config.is("push.autosetupremote") == Some(true);
    match followed.filter(|_| own) {
        Some(theirs) if theirs != full && repo.config.get("push.default") != Some("upstream") => {
            Err(fatal(format!(
                "The upstream branch of your current branch does not match\nthe name of your current branch.  To push to the branch of the same name\non the remote, use\n\n    git push {remote} HEAD\n"
            )))
        }
        Some(theirs) => Ok(format!("{full}:{theirs}")),
        None if sets || current || !own => Ok(format!("{full}:{full}")),
        None => Err(fatal(format!(
            "The current branch {name} has no upstream branch.\nTo push the current branch and set the remote as upstream, use\n\n    git push --set-upstream {remote} {name}\n"
        ))),
    }
}

/// What a refspec means.
fn update(repo: &Repo<'_>, offer: &Offer, spec: &str, force: bool) -> Done<Update> {
    let (text, force) = spec.strip_prefix('+').map_or((spec, force), |text| (text, true));
    let (ours, theirs) = text.split_once(':').map_or((text, None), |(ours, theirs)| (ours, Some(theirs)));
    let missing = || Failed { exit: 1, message: format!("error: src refspec {ours} does not match any") };
    let (from, new) = if ours.is_empty() {
        (String::new(), Oid::NULL)
    } else {
        let oid = revision::find(repo, ours)?.ok_or_else(missing)?;
        let full = match (ours, repo.head()?) {
            ("HEAD" | "@", Head::Branch(full)) => full,
            _ => revision::full_name(repo, ours)?.unwrap_or_else(|| ours.to_owned()),
        };
        (full, oid)
    };
    let theirs = match theirs {
        Some(name) if name.starts_with("refs/") => name.to_owned(),
        Some(name) => {
            let known = ["refs/heads/", "refs/tags/"].map(|prefix| format!("{prefix}{name}"));
            match known.iter().find(|full| offer.refs.contains_key(*full)) {
                Some(full) => full.clone(),
                None if from.starts_with("refs/tags/") => format!("refs/tags/{name}"),
                None => format!("refs/heads/{name}"),
            }
        }
        None if from.starts_with("refs/") => from.clone(),
        None => return Err(missing()),
    };
    if !super::refs::is_valid(&theirs) {
        return Err(fatal(format!("invalid refspec '{spec}'")));
    }
    let old = offer.refs.get(&theirs).copied().unwrap_or(Oid::NULL);
    Ok(Update { from, theirs, old, new, force, refused: None })
}

/// Why an update is not sent.
fn refusal(repo: &Repo<'_>, change: &Update) -> Done<Option<String>> {
    if change.new == Oid::NULL {
        return Ok((change.old == Oid::NULL).then(|| "[rejected] (remote ref does not exist)".to_owned()));
    }
    if change.force || change.old == Oid::NULL || change.old == change.new {
        return Ok(None);
    }
    if change.theirs.starts_with("refs/tags/") {
        return Ok(Some("[rejected] (already exists)".to_owned()));
    }
    if !repo.has(&change.old)? {
        return Ok(Some("[rejected] (fetch first)".to_owned()));
    }
    let new = repo.peel(&change.new, Some(Kind::Commit))?;
    Ok((!is_behind(repo, &change.old, &new)?).then(|| "[rejected] (non-fast-forward)".to_owned()))
}
