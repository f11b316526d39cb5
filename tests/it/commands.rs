//! `ln`, `diff` and `stat` beside the machine's own: the same calls on the same files
//! print the same, exit the same and leave the same files behind.

use std::process::Command;
use std::time::Duration;

use sqlfs::exec::End;
use sqlfs::fs::{Fatal, Mode};

use crate::support::beside_gnu::Beside;
use crate::support::scripts::Sandbox;

pub async fn compare(setup: &str, scripts: &[&str]) {
    let mut wrong = Vec::new();
    let beside = Beside::new(setup).await;
    for script in scripts {
        let (ours, real) = (beside.ours(script).await.unwrap(), beside.real(script).unwrap());
        if ours != real {
            // What is equal is not shown.
            let mut shown = [ours, real];
            if shown[0].files == shown[1].files {
                shown[0].files.clear();
                shown[1].files.clear();
            }
            wrong.push(format!("{script}\n  ours {:?}\n  real {:?}", shown[0], shown[1]));
        }
    }
    assert!(wrong.is_empty(), "{} of {} differ:\n{}", wrong.len(), scripts.len(), wrong.join("\n"));
}

#[tokio::test]
async fn ln_is_coreutils() {
    let setup = "echo a >a; echo b >b; mkdir d e 'q d'; echo x >e/a; ln -s d ld; ln -s nowhere dangling; \
                 ln -s a la; ln a hard; mkdir -p deep/er; echo z >deep/er/z";
    let scripts = [
        "ln",
        "ln -T a",
        "ln -T a b c",
        "ln a new && stat -c %h a new",
        "ln a b",
        "ln -f a b",
        "ln a b d2",
        "ln a b a",
        "ln a b d",
        "ln a d/",
        "ln a b ld",
        "ln -v a b d",
        "ln -fv a e/a d",
        "ln -f a a",
        "ln -sf a a",
        "ln -f a hard",
        "ln -f d x",
        "ln d x",
        "ln d 'q d'",
        "ln nope y; ln -f nope a",
        "ln nope d",
        "ln nope a d",
        "ln -s '' y; ln -sf '' a",
        "ln a nodir/x; ln -s a nodir/x",
        "ln -sf a d -T",
        "ln -s a d -T",
        "ln -sfT b ld",
        "ln -sfn b ld",
        "ln -sf b ld",
        "ln -sn b ld",
        "ln -sfv target la",
        "ln -v a \"it's\"",
        "ln -v a 'sp ace'",
        "ln -v a $'n\\nl'",
        "ln -v a 'it'\\''s \"q\"'",
        "ln -z; ln --foo; ln --no a b; ln -t; ln --target-directory; ln --force=1 a b",
        "ln -t nodir a; ln -t a b; ln -T -t d a; ln -t d -t e a",
        "ln -t d a b; ln --target-directory=e b",
        "ln -sv a b d; ln -sfv a b d",
        "ln -s a b",
        "ln --symbolic --verbose --force a b",
        "ln -r a b",
        "ln -srv a d/rel",
        "ln -srv deep/er/z d/rel; ln -srv d/missing e/m; ln -srv . e/dot; ln -sr nodir/x nodir/y",
        "cd deep/er && ln -sr ../../a up && ln -s ../../b && ln ../../b b2",
        "ln la hl; ln -L la hl2; ln -P la hl3",
        "ln dangling hd; ln -L dangling hd2",
        "ln a/ zz; ln a zz/; ln -s a zz/",
        "ln -s x a/y; ln -sf x a/y; ln a b a/x",
        "ln a dangling; ln -f a dangling",
        "ln -s a c d",
        "ln -- a -x; ln -s -- -x y",
        "ln deep/er/z; ln deep/er/z",
        "ln -s /abs/path; ln -s d/ slash; ln -s d/ e",
        "ln a hard; rm a; cat hard; ln hard again; echo more >>again; cat hard",
    ];
    compare(setup, &scripts).await;
}

#[tokio::test]
async fn diff_is_diffutils() {
    let setup = "printf '%s\\n' one two three four five six seven eight nine ten eleven twelve >a; \
         sed 's/two/TWO/; /seven/d; s/twelve/twelve\\nlast/' a >b; cp a same; printf 'x\\0y\\n' >bin; \
         printf 'x\\0z\\n' >bin2; printf 'a\\nb' >cut; printf 'a\\nb\\n' >whole; printf 'a\\nc' >cut2; : >empty; \
         printf 'A  b\\n c\\n\\nd \\n' >sp1; printf 'a b\\n\\tc\\nd\\n\\n\\n' >sp2; printf 'a\\r\\nb\\r\\n' >crlf; \
         mkdir -p l/sub l/only r/sub r/more; echo 1 >l/x; echo 2 >r/x; echo s >l/sub/f; echo s >r/sub/f; \
         echo g >l/sub/g; echo h >r/sub/g; echo l >l/left; echo r >r/right; mkdir l/kind; echo k >r/kind; \
         : >l/em; mkdir r/em; echo 1 >'l/a b'; echo 2 >'r/a b'; echo o >l/only/o; echo m >r/more/m; \
         echo 1 >l/t.log; echo 2 >r/t.log; ln -s x l/link; ln -s right r/link; mkdir -p lp; ln -s . lp/loop; cp -r lp lq; \
         { yes t | head -3000; printf '\\0\\n'; } >late; yes t | head -3000 >late2; printf 'a\\n\\nb\\nc\\n' >bl1; \
         printf 'a\\nb\\n\\n\\nC\\n' >bl2; \
         printf '%s\\n' 1 2 '' 3 4 5 6 7 8 9 10 11 12 13 14 >bl3; printf '%s\\n' 1 2 3 4 5 X 7 8 9 '' 10 11 12 '' 13 Y 14 '' >bl4; printf '%s\\n' 1 2 X 4 5 6 7 '' 8 Z 10 11 12 13 14 15 16 17 18 >bl5; seq 18 >bl6";
    let scripts = [
        "diff",
        "diff a",
        "diff a b same",
        "diff -Q; diff --nope; diff -U",
        "diff a b",
        "diff -u a b",
        "diff -c a b",
        "diff -U0 a b; diff -U 1 a b; diff -C1 a b; diff --unified=2 a b; diff --context a b; diff -u1 a b; diff -C0 a b",
        "diff -U x a b; diff -C -1 a b; diff -u -c a b",
        "diff a same; diff -s a same; diff -q a b; diff -qs a same; diff -u a same",
        "diff a nope; diff nope a; diff nope nope2; diff -N nope a; diff -uN a nope; diff -N nope nope2",
        "diff empty a; diff -u empty a; diff -c a empty; diff empty empty",
        "diff cut whole; diff -u cut whole; diff -c cut whole; diff cut cut2; diff -u cut2 cut; diff -u cut2 whole; diff -b cut whole",
        "diff bin bin2; diff -q bin bin2; diff -s bin bin; diff bin a; diff -a bin bin2; diff late late2 | head -c 300; diff late late2 >out; cat out",
        "diff sp1 sp2; diff -i sp1 sp2; diff -w sp1 sp2; diff -b sp1 sp2; diff -B sp1 sp2; diff -iwB sp1 sp2; diff -Z sp1 sp2; diff -E sp1 sp2",
        "diff -u -w sp1 sp2; diff -c -ib sp1 sp2; diff -u -iB sp1 sp2; diff -q -iwB sp1 sp2",
        "diff -B bl1 bl2; diff -uB bl1 bl2; diff -cB bl1 bl2; diff -U0 -B bl1 bl2; diff -U1 -B bl1 bl2; diff -qB bl1 bl2",
        "diff -U2 -B bl3 bl4; diff -U3 -B bl3 bl4; diff -C2 -B bl3 bl4; diff -U1 -B bl4 bl3; diff -B -U4 bl3 bl4; diff -B -U3 bl6 bl5; diff -B -C3 bl5 bl6; diff -uBw bl3 bl5",
        "diff crlf whole; diff --strip-trailing-cr crlf whole; diff -w crlf whole",
        "diff --label x a b; diff -u --label x a b; diff -u --label=x --label 'y z' a b; diff -u -L p -L q a b; diff --label 1 --label 2 --label 3 a b",
        "cat a | diff - b; cat a | diff b -; cat a | diff - -; diff - a </dev/null; cat a | diff -s - same",
        "diff a <(sed 's/one/ONE/' a); diff <(cat a) <(cat b); diff -q <(cat a) <(cat a)",
        "diff l r",
        "diff -r l r",
        "diff -ru l r",
        "diff -r -q l r; diff -rq l r >out; cat out",
        "diff -rs l r",
        "diff -rN l r",
        "diff -urN l r",
        "diff -N l r",
        "diff -r -x '*.log' -x sub l r; diff -r --exclude=a* l r",
        "diff -r --no-dereference l r; diff --no-dereference l/link r/link; diff l/link r/link",
        "diff -r lp lq; diff -r lp l",
        "diff l/x r; diff l r/x; diff l a; diff l nope; diff - l </dev/null; diff l/ r/x",
        "diff -r l/ r/ | head -5; diff -r ./l r/. | head -5",
        "diff 'l/a b' 'r/a b'; diff -u 'l/a b' 'r/a b'; cd l && diff x ../r/x && echo no",
        "diff -rc --label 'x y' l r",
        "diff -d a b; diff --normal a b; diff --speed-large-files a b; diff --color=never a b; diff --color=x a b",
        "diff -- a b; diff a -u b; diff a b -q",
    ];
    compare(setup, &scripts).await;
}

#[tokio::test]
async fn stat_is_coreutils() {
    let setup = "echo hello >f; : >empty; mkdir d d/s; ln -s f l; ln -s nowhere dangling; ln f g; chmod 4755 f; \
                 chmod 1777 d; echo x >\"it's\"; chmod 6640 empty";
    let scripts = [
        "stat",
        "stat -z; stat -c; stat --nope",
        "stat -c %h f g empty d d/s l",
        "stat -c '%a %A %F %s %n' f empty d l; stat -c '%f' f d l",
        "stat -L -c '%F %s' l; stat -L -c %F dangling; stat nope; stat -c %n nope f",
        "stat -c '%y|%Y|%.3Y|%.Y' f d",
        "stat -c '%N' f l dangling \"it's\"",
        "stat --printf '%n\\t%s\\n' f empty; stat --printf='\\x41\\101\\\\' f; stat -c '\\n%%%' f",
        "stat -c '[%10s] [%-10s] [%010s] [%8n] [%.1n] [%#a] [%04a] [%.4s]' f empty",
        "stat -c %Y d nope/f f/x",
        "[ $(stat -c %i f) = $(stat -c %i g) ] && [ $(stat -c %i f) != $(stat -c %i d) ] && echo links",
        "stat -c %a /tmp; stat -c %F /dev/null; stat -c '%F' /",
        "stat f | grep -v -e Device -e Uid -e Size -e Access -e Change -e Birth",
    ];
    compare(setup, &scripts).await;
}

#[tokio::test]
async fn ln_in_a_read_only_exec_ends_it() {
    let mut sandbox = Sandbox::new();
    sandbox.run("echo a >a").await;
    let mut job = sandbox.job("ln a b; echo on");
    job.mode = Mode::ReadOnly;
    let ran = sandbox.run_job(job).await;
    assert!(matches!(ran.ended.end, End::Fs(Fatal::ReadOnly { .. })), "{:?}", ran.ended.end);
    assert!(
        ran.stderr().starts_with("ln: failed to create hard link 'b': Read-only file system\n"),
        "{}",
        ran.stderr()
    );
}

/// Deterministic numbers below a bound.
struct Numbers(u64);

impl Numbers {
    fn below(&mut self, bound: usize) -> usize {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 33) as usize % bound
    }
}

/// Two texts of lines; the second is the first with some edits.
fn pair(numbers: &mut Numbers, round: usize) -> [String; 2] {
    let source: Vec<String> = include_str!("commands.rs").lines().map(str::to_owned).collect();
    let mut random = |kinds, count| (0..count).map(|_| format!("line {}", numbers.below(kinds))).collect();
    let old: Vec<String> = match round % 4 {
        0 => random(4, 8),
        1 => random(8, 40),
        2 => random(60, 80),
        _ => source,
    };
    let mut new = old.clone();
    for _ in 0..=numbers.below(12) {
        let at = numbers.below(new.len() + 1);
        let other = old[numbers.below(old.len())].clone();
        match numbers.below(4) {
            0 => new.insert(at, other),
            1 => new.insert(at, format!("new {}", numbers.below(5))),
            2 if at < new.len() => drop(new.remove(at)),
            _ if at < new.len() => new[at] = other,
            _ => {}
        }
    }
    [old, new].map(|lines| {
        let mut text = lines.join("\n");
        if !text.is_empty() && numbers.below(8) > 0 {
            text.push('\n');
        }
        text
    })
}

/// Where several sets of changes are equally good, ours may be another than GNU's: it
/// must be right, and mostly it is the same.
#[tokio::test]
async fn hunks_are_mostly_gnus_and_always_right() {
    let (mut numbers, rounds, mut equal) = (Numbers(42), 200, 0);
    let folder = tempfile::tempdir().unwrap();
    let on_disk = |name: &str| folder.path().join(name);
    for round in 0..rounds {
        let [old, new] = pair(&mut numbers, round);
        std::fs::write(on_disk("a"), &old).unwrap();
        std::fs::write(on_disk("b"), &new).unwrap();
        let mut sandbox = Sandbox::new();
        sandbox.edit(|files| {
            files.write("/home/user/a", old.as_bytes()).unwrap();
            files.write("/home/user/b", new.as_bytes()).unwrap();
        });
        let style = ["-U3", "-U0", "-C2", "--normal"][round / 4 % 4];
        let args = [style, "--label", "a", "--label", "a", "a", "b"];
        let theirs = Command::new("diff").args(args).current_dir(folder.path()).output().unwrap();
        let ours = sandbox.run(&format!("diff {}", args.join(" "))).await;
        assert_eq!(ours.ended.end, End::Exited(theirs.status.code().unwrap()));
        equal += usize::from(ours.output.stdout == theirs.stdout);
        std::fs::write(on_disk("patch"), &ours.output.stdout).unwrap();
        let patch = ["--quiet", "--force", "-i", "patch", "a"];
        let patched = Command::new("patch").args(patch).current_dir(folder.path()).output().unwrap();
        assert!(patched.status.success(), "{style} {old:?} {new:?}: {patched:?}\n{}", ours.stdout());
        assert_eq!(
            std::fs::read_to_string(on_disk("a")).unwrap_or_default(),
            new,
            "{style} of {old:?}\n{}",
            ours.stdout()
        );
    }
    println!("{equal} of {rounds} equal");
    assert!(equal * 100 >= rounds * 85, "only {equal} of {rounds} are equal to GNU's");
}

/// Worst cases of line matching come to an end.
#[tokio::test]
async fn large_and_different_files_are_compared_in_bounded_time() {
    let mut numbers = Numbers(7);
    let mut text = |kinds: usize| -> String {
        let lines: Vec<String> = (0..50_000).map(|_| format!("{}\n", numbers.below(kinds))).collect();
        lines.concat()
    };
    for kinds in [2, 75_000] {
        let (old, new) = (text(kinds), text(kinds));
        let mut sandbox = Sandbox::new();
        sandbox.edit(|files| {
            files.write("/home/user/a", old.as_bytes()).unwrap();
            files.write("/home/user/b", new.as_bytes()).unwrap();
        });
        let ran = sandbox.run("diff a b >out; echo $?").await;
        assert_eq!(ran.stdout(), "1\n", "{}", ran.stderr());
        println!("{kinds} kinds of lines: {:?}", ran.ended.duration);
        assert!(ran.ended.duration < Duration::from_secs(45), "{kinds}: {:?}", ran.ended.duration);
    }
}
