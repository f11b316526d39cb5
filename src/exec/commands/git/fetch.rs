//! `git fetch`.

use std::collections::BTreeSet;

use super::failed::{Done, Failed, fatal};
use super::given;
use super::http::{AGENT, Offer, Place, place, shown, unable};
use super::oid::Oid;
use super::packet::{Bands, FLUSH, Packet, Packets, put};
use super::refs::{Head, is_valid, short_name};
use super::repo::Repo;
use super::walk::is_behind;
use super::{Git, connected, local};
use crate::exec::commands::options::Spec;
use crate::exec::commands::options::Takes::{Argument, Nothing};

const FETCH: &[Spec] = &[
    ('q', "quiet", Nothing),
    ('p', "prune", Nothing),
    ('t', "tags", Nothing),
    ('n', "no-tags", Nothing),
    ('f', "force", Nothing),
    ('v', "verbose", Nothing),
    ('\u{3}', "depth", Argument),
    ('\u{4}', "all", Nothing),
    ('\u{5}', "unshallow", Nothing),
];

/// Commits that are named as known, at most.
const MOST_HAVES: usize = 256;
/// More than any history has: the whole of it.
const WHOLE: usize = 0x7fff_ffff;

/// Which tags come along.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) enum Tags {
    /// Those of what is there.
    #[default]
    Fitting,
    All,
    None,
}

/// What is fetched.
#[derive(Default)]
pub(super) struct Wish {
    /// `+refs/heads/*:refs/remotes/origin/*`, `main`, …
    pub(super) specs: Vec<String>,
    pub(super) tags: Tags,
    pub(super) prune: bool,
    pub(super) force: bool,
    pub(super) quiet: bool,
    /// Commits from each tip.
    pub(super) depth: Option<usize>,
    /// For a new repository, which is not made if this fails.
    pub(super) cloning: bool,
}

/// One ref of theirs, and ours.
struct Pair {
    theirs: String,
    ours: Option<String>,
    oid: Oid,
    force: bool,
}

/// A ref under a pattern: what stands for the star.
fn star<'n>(pattern: &str, name: &'n str) -> Option<&'n str> {
    let (before, behind) = pattern.split_once('*')?;
    name.strip_prefix(before)?.strip_suffix(behind)
}

/// The pairs that a refspec means.
fn pairs(offer: &Offer, spec: &str) -> Done<Vec<Pair>> {
    let (text, force) = spec.strip_prefix('+').map_or((spec, false), |text| (text, true));
    let (theirs, ours) = text.split_once(':').map_or((text, None), |(theirs, ours)| (theirs, Some(ours)));
    if theirs.contains('*') {
        let found = offer.refs.iter().filter_map(|(name, oid)| {
            let part = star(theirs, name)?;
            let ours = ours.map(|ours| ours.replacen('*', part, 1)).filter(|ours| is_valid(ours));
            Some(Pair { theirs: name.clone(), ours, oid: *oid, force })
        });
        return Ok(found.collect());
    }
    let theirs = if theirs.is_empty() { "HEAD" } else { theirs };
    let names = [
        theirs.to_owned(),
        format!("refs/{theirs}"),
        format!("refs/tags/{theirs}"),
        format!("refs/heads/{theirs}"),
    ];
    if let Some((name, oid)) = names.iter().find_map(|name| offer.refs.get_key_value(name)) {
        let ours = ours.filter(|ours| !ours.is_empty()).map(|ours| {
            if ours.starts_with("refs/") { ours.to_owned() } else { format!("refs/heads/{ours}") }
        });
        return Ok(vec![Pair { theirs: name.clone(), ours, oid: *oid, force }]);
    }
    match Oid::parse(theirs) {
        Some(oid) => Ok(vec![Pair { theirs: theirs.to_owned(), ours: ours.map(str::to_owned), oid, force }]),
        None => Err(fatal(format!("couldn't find remote ref {theirs}"))),
    }
}

impl Git<'_> {
    /// What a remote offers, and the repository itself if it is in the sandbox.
    pub(super) async fn offer(&self, repo: Option<&Repo<'_>>, url: &str, service: &str) -> Done<Offer> {
        match place(self, url)? {
            Place::Http(url) => self.discover(repo, &url, service).await,
            Place::Path(path) => local::offer(&self.other(&path, url)?),
        }
    }

    /// A repository of the sandbox.
    pub(super) fn other(&self, path: &str, url: &str) -> Done<Repo<'_>> {
        let found = self.repo_at(path)?;
        found.ok_or_else(|| fatal(format!("'{url}' does not appear to be a git repository\nfatal: Could not read from remote repository.\n\nPlease make sure you have the correct access rights\nand the repository exists.")))
    }

    /// The URL of a remote, or of what is given as one.
    pub(super) fn url_of(repo: &Repo<'_>, remote: &str) -> String {
        repo.config.get(&format!("remote.{remote}.url")).unwrap_or(remote).to_owned()
    }

    /// Fetches. Gives what came, for a merge: refs of theirs and their commits.
    pub(super) async fn fetch_into(
        &mut self,
        repo: &mut Repo<'_>,
        remote: &str,
        wish: &Wish,
    ) -> Done<Vec<(String, Oid)>> {
        let url = Self::url_of(repo, remote);
        let offer = self.offer(Some(repo), &url, "git-upload-pack").await?;
        self.fetch_offered(repo, remote, &offer, wish).await
    }

    /// The same, of what was offered already.
    pub(super) async fn fetch_offered(
        &mut self,
        repo: &mut Repo<'_>,
        remote: &str,
        offer: &Offer,
        wish: &Wish,
    ) -> Done<Vec<(String, Oid)>> {
        let url = Self::url_of(repo, remote);
        let configured: Vec<String> =
            repo.config.all(&format!("remote.{remote}.fetch")).into_iter().map(str::to_owned).collect();
        let mut wanted = Vec::new();
        for spec in if wish.specs.is_empty() { &configured } else { &wish.specs } {
            wanted.extend(pairs(offer, spec)?);
        }
        if wish.specs.is_empty() && configured.is_empty() {
            wanted.extend(pairs(offer, "HEAD")?);
        }
        // A branch that is named is noted where fetches of all of them would note it.
        let mut noted = Vec::new();
        for pair in wanted.iter().filter(|pair| pair.ours.is_none()) {
            for spec in &configured {
                let (theirs, ours) = spec.trim_start_matches('+').split_once(':').unwrap_or_default();
                if let Some(part) = star(theirs, &pair.theirs) {
                    let ours = Some(ours.replacen('*', part, 1)).filter(|ours| is_valid(ours));
                    noted.push(Pair { theirs: pair.theirs.clone(), ours, oid: pair.oid, force: true });
                }
            }
        }
        let main: Vec<(String, Oid)> = wanted.iter().map(|pair| (pair.theirs.clone(), pair.oid)).collect();
        wanted.extend(noted);
        let tags: Vec<(&String, &Oid)> = offer
            .refs
            .iter()
            .filter(|(name, _)| name.starts_with("refs/tags/") && wish.tags != Tags::None)
            .collect();
        for (name, oid) in &tags {
            let of = offer.peeled.get(*name).unwrap_or(oid);
            if wish.tags == Tags::All || repo.has(of)? && wish.depth.is_none() {
                wanted.push(Pair {
                    theirs: (*name).clone(),
                    ours: Some((*name).clone()),
                    oid: **oid,
                    force: false,
                });
            }
        }
        let mut wants = BTreeSet::new();
        for pair in &wanted {
            if wish.depth.is_some() || !repo.has(&pair.oid)? {
                wants.insert(pair.oid);
            }
        }
        let tips: Vec<Oid> = wanted.iter().map(|pair| pair.oid).collect();
        // What an earlier fetch left behind may have holes.
        if wants.is_empty() && connected::check(repo, &tips).is_err() {
            wants.extend(&tips);
        }
        let cut = repo.shallow().clone();
        if !wants.is_empty() {
            let wants: Vec<Oid> = wants.into_iter().collect();
            match place(self, &url)? {
                Place::Http(http) => self.fetch_pack(repo, &http, offer, &wants, wish.depth).await?,
                Place::Path(path) => {
                    let haves: Vec<Oid> = repo.refs("refs/")?.into_values().collect();
                    let (pack, _) = local::pack(&self.other(&path, &url)?, &wants, &haves)?;
                    repo.add_pack(&pack)?;
                }
            }
        }
        let mut fitting: Vec<Pair> = Vec::new();
        for (name, oid) in tags {
            if repo.has(oid)? && !wanted.iter().any(|pair| pair.theirs == *name) {
                fitting.push(Pair {
                    theirs: name.clone(),
                    ours: Some(name.clone()),
                    oid: *oid,
                    force: false,
                });
            }
        }
        let all: Vec<Oid> = tips.iter().copied().chain(fitting.iter().map(|pair| pair.oid)).collect();
        if connected::check(repo, &all).is_ok() {
            wanted.extend(fitting);
        } else if let Err(hole) = connected::check(repo, &tips) {
            repo.go_on()?;
            if cut != *repo.shallow() {
                repo.set_shallow(&cut)?;
            }
            return Err(incomplete(&hole, &url, wish.cloning));
        }
        let failed = self.note(repo, remote, &url, &wanted, offer, wish)?;
        if failed { Err(Failed { exit: 1, message: String::new() }) } else { Ok(main) }
    }

    /// Asks for a pack and takes it in.
    async fn fetch_pack(
        &mut self,
        repo: &mut Repo<'_>,
        url: &str,
        offer: &Offer,
        wants: &[Oid],
        depth: Option<usize>,
    ) -> Done {
        if !offer.can("side-band-64k") {
            return Err(unable("side-band-64k"));
        }
        let mut abilities = format!("side-band-64k agent={AGENT}");
        for ability in ["ofs-delta", "no-progress", "include-tag"] {
            if offer.can(ability) {
                abilities += &format!(" {ability}");
            }
        }
        if depth.is_some() {
            if !offer.can("shallow") {
                return Err(unable("--depth"));
            }
            abilities += " shallow";
        }
        let mut body = Vec::new();
        for (number, want) in wants.iter().enumerate() {
            let tail = if number == 0 { format!(" {abilities}") } else { String::new() };
            put(&mut body, format!("want {want}{tail}\n").as_bytes());
        }
        let mut cut = repo.shallow().clone();
        if depth.is_some() || !cut.is_empty() {
            cut.iter().for_each(|oid| put(&mut body, format!("shallow {oid}\n").as_bytes()));
        }
        if let Some(depth) = depth {
            put(&mut body, format!("deepen {depth}\n").as_bytes());
        }
        body.extend_from_slice(FLUSH);
        for have in haves(repo)? {
            put(&mut body, format!("have {have}\n").as_bytes());
        }
        put(&mut body, b"done\n");
        let reply = self.post(repo, url, offer, "git-upload-pack", body).await?;
        let (mut packets, mut bands) = (Packets::new(&reply), Bands::default());
        let mut begun = false;
        while let Some(packet) = packets.next()? {
            match packet {
                Packet::Flush if begun => break,
                Packet::Flush => {}
                Packet::Line(line) if !begun && (line.starts_with(b"ACK ") || line.starts_with(b"NAK")) => {}
                Packet::Line(line) if !begun && line.len() > 3 && line[0] > 3 => {
                    let text = String::from_utf8_lossy(line);
                    match text.trim_end().split_once(' ').map(|(word, oid)| (word, Oid::parse(oid))) {
                        Some(("shallow", Some(oid))) => _ = cut.insert(oid),
                        Some(("unshallow", Some(oid))) => _ = cut.remove(&oid),
                        _ => return Err(fatal("protocol error: an unexpected line")),
                    }
                }
                Packet::Line(line) => {
                    begun = true;
                    bands.take(line)?;
                }
            }
        }
        if bands.data.is_empty() {
            return Err(fatal("protocol error: no pack came"));
        }
        repo.add_pack(&bands.data)?;
        for want in wants {
            if !repo.has(want)? {
                return Err(fatal(format!("the other side did not send {want}")));
            }
        }
        if cut != *repo.shallow() {
            repo.set_shallow(&cut)?;
        }
        Ok(())
    }

    /// Writes refs and FETCH_HEAD, and tells what changed. `true`: something was refused.
    fn note(
        &mut self,
        repo: &Repo<'_>,
        remote: &str,
        url: &str,
        wanted: &[Pair],
        offer: &Offer,
        wish: &Wish,
    ) -> Done<bool> {
        let mut lines: Vec<String> = Vec::new();
        let mut failed = false;
        let mut heads = String::new();
        let upstream = match repo.head()? {
            Head::Branch(full) => {
                let name = short_name(&full).to_owned();
                let own = repo.config.get(&format!("branch.{name}.remote")) == Some(remote);
                repo.config.get(&format!("branch.{name}.merge")).filter(|_| own).map(str::to_owned)
            }
            Head::Detached(_) => None,
        };
        for pair in wanted {
            let label = short_name(&pair.theirs);
            let kind = if pair.theirs.starts_with("refs/tags/") { "tag" } else { "branch" };
            let merges = if wish.specs.is_empty() {
                upstream.as_ref() == Some(&pair.theirs)
            } else {
                pair.ours.is_none()
            };
            let mark = if merges { "" } else { "not-for-merge" };
            let what = if pair.theirs == "HEAD" { String::new() } else { format!("{kind} '{label}' of ") };
            heads += &format!("{}\t{mark}\t{what}{}\n", pair.oid, shown(url));
            let Some(ours) = &pair.ours else {
                lines.push(format!(" * {kind:<17} {label:<10} -> FETCH_HEAD"));
                continue;
            };
            let old = repo.resolve(ours)?;
            if old == Some(pair.oid) {
                continue;
            }
            let target = short_name(ours);
            let line = |what: &str, tail: &str| format!(" {what:<19} {label:<10} -> {target}{tail}");
            if repo.head()? == Head::Branch(ours.clone()) && repo.work.is_some() {
                return Err(fatal(format!(
                    "refusing to fetch into branch '{ours}' checked out at '{}'",
                    repo.root()
                )));
            }
            let Some(old) = old else {
                lines.push(line(&format!("* [new {kind}]"), ""));
                repo.update(ours, &pair.oid)?;
                continue;
            };
            if kind == "tag" && ours.starts_with("refs/tags/") && !(pair.force || wish.force) {
                // Tags stay what they are; only a fetch of all tags tells it.
                if wish.tags == Tags::All {
                    lines.push(line("! [rejected]", "  (would clobber existing tag)"));
                    failed = true;
                }
                continue;
            }
            let forward = repo.has(&old)? && is_behind(repo, &old, &pair.oid).unwrap_or(false);
            let (a, b) = (repo.short(&old)?, repo.short(&pair.oid)?);
            if forward {
                lines.push(line(&format!("  {a}..{b}"), ""));
            } else if pair.force || wish.force {
                lines.push(line(&format!("+ {a}...{b}"), "  (forced update)"));
            } else {
                lines.push(line("! [rejected]", "  (non-fast-forward)"));
                failed = true;
                continue;
            }
            repo.update(ours, &pair.oid)?;
        }
        if wish.prune {
            let prefix = format!("refs/remotes/{remote}/");
            for (name, _) in repo.refs(&prefix)? {
                let theirs = format!("refs/heads/{}", &name[prefix.len()..]);
                if !offer.refs.contains_key(&theirs) && repo.symbolic(&name)?.is_none() {
                    lines.push(format!(" - [deleted]         (none)     -> {}", short_name(&name)));
                    repo.delete(&name)?;
                }
            }
        }
        // What is for a merge stands first.
        let (first, rest): (Vec<&str>, Vec<&str>) =
            heads.lines().partition(|line| !line.contains("\tnot-for-merge\t"));
        let text: String = first.into_iter().chain(rest).map(|line| format!("{line}\n")).collect();
        repo.put(&repo.path("FETCH_HEAD"), text.as_bytes())?;
        if !wish.quiet && !lines.is_empty() {
            self.say_error(&format!("From {}", shown(url)));
            lines.iter().for_each(|line| self.say_error(line));
        }
        Ok(failed)
    }

    /// `git fetch`.
    pub(super) async fn fetch(&mut self, args: &[String]) -> Done<u8> {
        let (given, behind) = given::read("fetch", args, FETCH)?;
        let mut wish = Wish::default();
        let mut all = false;
        for &(letter, value) in &given.options {
            match letter {
                'q' => wish.quiet = true,
                'p' => wish.prune = true,
                't' => wish.tags = Tags::All,
                'n' => wish.tags = Tags::None,
                'f' => wish.force = true,
                '\u{3}' => wish.depth = Some(depth(value.unwrap_or_default())?),
                '\u{4}' => all = true,
                '\u{5}' => wish.depth = Some(WHOLE),
                _ => {}
            }
        }
        let mut repo = self.repo()?;
        wish.prune |= repo.config.is("fetch.prune") == Some(true);
        let mut operands =
            [given.operands, behind.unwrap_or_default()].concat().into_iter().map(str::to_owned);
        let remotes: Vec<String> = if all {
            repo.config.subsections("remote").into_iter().map(str::to_owned).collect()
        } else {
            vec![operands.next().unwrap_or_else(|| default_remote(&repo))]
        };
        wish.specs = operands.collect();
        for remote in remotes {
            self.fetch_into(&mut repo, &remote, &wish).await?;
        }
        Ok(0)
    }
}

/// Something that refs would lead to did not come.
fn incomplete(hole: &Failed, url: &str, cloning: bool) -> Failed {
    let what = "did not send all necessary objects";
    if cloning {
        return Failed { exit: 128, message: format!("{}\nfatal: remote {what}", hole.message) };
    }
    Failed { exit: 1, message: format!("{}\nerror: {} {what}\n", hole.message, shown(url)) }
}

/// The remote of the branch, or `origin`.
pub(super) fn default_remote(repo: &Repo<'_>) -> String {
    let branch = repo.symbolic("HEAD").ok().flatten().unwrap_or_default();
    let set = repo.config.get(&format!("branch.{}.remote", short_name(&branch))).map(str::to_owned);
    set.unwrap_or_else(|| "origin".to_owned())
}

/// The value of `--depth`.
pub(super) fn depth(text: &str) -> Done<usize> {
    let depth = text.parse().ok().filter(|depth| (1..=WHOLE).contains(depth));
    depth.ok_or_else(|| fatal(format!("depth {text} is not a positive number")))
}

/// The newest commits that are here, tips of refs first.
fn haves(repo: &Repo<'_>) -> Done<Vec<Oid>> {
    let mut from = Vec::new();
    for oid in repo.refs("refs/")?.into_values().chain(repo.head_commit()?) {
        from.extend(repo.peel(&oid, Some(super::object::Kind::Commit)).ok());
    }
    let (mut found, way) = (Vec::new(), super::walk::Way { from, ..super::walk::Way::default() });
    super::walk::walk(repo, &way, &super::pathspec::Pathspec::default(), &mut |oid, _| {
        found.push(*oid);
        Ok(found.len() < MOST_HAVES)
    })?;
    Ok(found)
}
