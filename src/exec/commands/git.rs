//! `git`, as of version 2.47, on files of the sandbox: real repositories, of its own
//! making. No file of the machine is opened and no program is run; what is reached over
//! the network is asked of the server (`git/http.rs`). README.md says what differs.

use std::collections::BTreeMap;

use super::fetch::Net;
use super::{Answer, Call, absolute, join};

mod apply;
mod blobs;
mod branch;
mod checkout;
mod clean;
mod clone;
mod commit;
mod config;
mod connected;
mod delta;
mod describe;
mod difference;
mod diffstat;
mod failed;
mod fetch;
mod given;
mod history;
mod http;
mod ident;
mod ignore;
mod index;
mod index_pack;
mod inflate;
mod local;
mod look;
mod merge;
mod merge_files;
mod object;
mod oid;
mod pack;
mod packet;
mod patch;
mod pathspec;
mod pick;
mod plumbing;
mod pretty;
mod pull;
mod push;
mod refs;
mod remote;
mod repo;
mod reset;
mod rev_parse;
mod revision;
mod settings;
mod setup;
mod shown;
mod stage;
mod stash;
mod status;
mod tag;
mod trees;
mod walk;
mod worktree;

use failed::{Done, Failed, error};

/// What `git --version` says.
const VERSION: &str = "git version 2.47.3 (sqlfs)";

/// All commands, for messages.
const COMMANDS: &str = "add, branch, cat-file, check-ignore, checkout, cherry-pick, clean, \
                        clone, commit, config, describe, diff, fetch, for-each-ref, hash-object, \
                        init, log, ls-files, ls-remote, ls-tree, merge, merge-base, mv, pull, \
                        push, remote, reset, restore, rev-list, rev-parse, revert, rm, show, \
                        show-ref, stash, status, switch, symbolic-ref, tag, update-ref, \
                        write-tree";

/// A run.
struct Git<'a> {
    call: &'a Call<'a>,
    env: &'a BTreeMap<String, String>,
    net: &'a Net<'a>,
    /// Absolute, without links.
    cwd: String,
    /// Settings of the command line.
    settings: Vec<(String, String)>,
    /// `--git-dir` and `--work-tree`.
    places: [Option<String>; 2],
    answer: Answer,
}

/// `git`, with the script's exported variables.
pub(crate) async fn run(call: &Call<'_>, env: &BTreeMap<String, String>, net: &Net<'_>) -> Answer {
    let mut git = Git {
        call,
        env,
        net,
        cwd: call.files.canonical(call.cwd).unwrap_or_else(|_| call.cwd.to_owned()),
        settings: Vec::new(),
        places: [env.get("GIT_DIR").cloned(), env.get("GIT_WORK_TREE").cloned()],
        answer: Answer::default(),
    };
    match git.start().await {
        Ok(exit) => git.answer.exit = exit,
        Err(failed) => {
            git.say_error(&failed.message);
            git.answer.exit = failed.exit;
        }
    }
    git.answer
}

impl Git<'_> {
    /// Reads the options before the command, and runs it.
    async fn start(&mut self) -> Done<u8> {
        let args = self.call.args;
        let mut at = 0;
        while let Some(arg) = args.get(at).filter(|arg| arg.starts_with('-')) {
            at += 1;
            let mut value = || {
                at += 1;
                args.get(at - 1)
                    .cloned()
                    .ok_or_else(|| Failed { exit: 129, message: format!("error: no value given for {arg}") })
            };
            match arg.as_str() {
                "-C" => {
                    let dir = value()?;
                    let path = absolute(&self.cwd, &dir);
                    let found =
                        self.call.files.read_dir(&path).and_then(|_| self.call.files.canonical(&path));
                    self.cwd =
                        found.map_err(|errno| failed::fatal(format!("cannot change to '{dir}': {errno}")))?;
                }
                "-c" => {
                    let pair = value()?;
                    let (key, value) = pair.split_once('=').unwrap_or((&pair, "true"));
                    self.settings.push((key.to_owned(), value.to_owned()));
                }
                "--git-dir" => self.places[0] = Some(value()?),
                "--work-tree" => self.places[1] = Some(value()?),
                "--version" | "-v" => {
                    self.say(VERSION);
                    return Ok(0);
                }
                "--help" | "-h" => {
                    self.say(&help());
                    return Ok(0);
                }
                "--no-pager" | "-P" | "--no-optional-locks" | "--no-replace-objects" => {}
                other => match other.split_once('=') {
                    Some(("--git-dir", dir)) => self.places[0] = Some(dir.to_owned()),
                    Some(("--work-tree", dir)) => self.places[1] = Some(dir.to_owned()),
                    _ => {
                        let message = format!(
                            "unknown option: {other}\nhere are: -C DIR, -c NAME=VALUE, --git-dir=DIR, --work-tree=DIR, --no-pager, --version, --help"
                        );
                        return Err(Failed { exit: 129, message });
                    }
                },
            }
        }
        let Some(name) = args.get(at) else {
            self.say(&help());
            return Ok(1);
        };
        self.command(name, &args[at + 1..]).await
    }

    async fn command(&mut self, name: &str, args: &[String]) -> Done<u8> {
        match name {
            "add" | "stage" => self.add(args),
            "branch" => self.branch(args),
            "cat-file" => self.cat_file(args),
            "checkout" => self.checkout(args),
            "check-ignore" => self.check_ignore(args),
            "cherry-pick" => self.pick(args, false),
            "clean" => self.clean(args),
            "clone" => self.clone_repo(args).await,
            "commit" => self.commit(args),
            "config" => self.config(args),
            "describe" => self.describe(args),
            "diff" => self.diff(args),
            "fetch" => self.fetch(args).await,
            "for-each-ref" => self.for_each_ref(args),
            "hash-object" => self.hash_object(args),
            "help" => {
                self.say(&help());
                Ok(0)
            }
            "init" => self.init(args),
            "log" => self.log(args),
            "ls-files" => self.ls_files(args),
            "ls-remote" => self.ls_remote(args).await,
            "ls-tree" => self.ls_tree(args),
            "merge" => self.merge(args),
            "merge-base" => self.merge_base(args),
            "mv" => self.mv(args),
            "pull" => self.pull(args).await,
            "push" => self.push(args).await,
            "remote" => self.remote(args).await,
            "reset" => self.reset(args),
            "restore" => self.restore(args),
            "rev-list" => self.rev_list(args),
            "rev-parse" => self.rev_parse(args),
            "revert" => self.pick(args, true),
            "rm" => self.rm(args),
            "show" => self.show(args),
            "show-ref" => self.show_ref(args),
            "stash" => self.stash(args),
            "status" => self.status(args),
            "switch" => self.switch(args),
            "symbolic-ref" => self.symbolic_ref(args),
            "tag" => self.tag(args),
            "update-ref" => self.update_ref(args),
            "version" => {
                self.say(VERSION);
                Ok(0)
            }
            "write-tree" => self.write_tree(args),
            _ => {
                let message = format!("git: '{name}' is not a command here; there are: {COMMANDS}");
                Err(Failed { exit: 1, message })
            }
        }
    }

    /// A line on standard output.
    fn say(&mut self, text: &str) {
        self.answer.stdout.extend_from_slice(text.as_bytes());
        self.answer.stdout.push(b'\n');
    }

    /// A line on standard error.
    fn say_error(&mut self, text: &str) {
        if !text.is_empty() {
            self.answer.stderr.extend_from_slice(text.as_bytes());
            self.answer.stderr.push(b'\n');
        }
    }

    /// Seconds since the epoch.
    fn now(&self) -> i64 {
        self.call.now_ns.div_euclid(1_000_000_000)
    }

    /// Where the user's own settings are.
    fn home(&self) -> &str {
        self.env.get("HOME").map_or("/", String::as_str)
    }
}

fn help() -> String {
    format!(
        "usage: git [-C DIR] [-c NAME=VALUE] [--git-dir=DIR] [--work-tree=DIR] [--no-pager] COMMAND [ARGS]\n\nThere are: {COMMANDS}."
    )
}

/// A form of a command that is not there.
fn left_out(what: &str, instead: &str) -> Failed {
    let mut failed = error(format!("{what} is not supported here; {instead}"));
    failed.exit = 129;
    failed
}
