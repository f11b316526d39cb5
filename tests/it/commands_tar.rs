//! Options of `tar`, beside the machine's own; and archives of each read by the other.

use std::process::Command;

use crate::commands::compare;
use crate::support::beside_gnu::{Beside, DIR};
use crate::support::scripts::Sandbox;

const SETUP: &str = r"mkdir -p p/.git p/CVS p/src p/deep/er; echo x >p/.git/config; echo i >p/.gitignore; echo a >p/src/a; echo b>p/b; echo cv >p/CVS/x; touch p/.gitattributes p/.gitmodules p/.hgignore p/RCS; ln -s ../b p/src/l; ln p/b p/hard; echo d >p/deep/er/f; chmod 750 p/deep; chmod 4755 p/src/a; mkdir -p n; echo long >n/$(printf 'x%.0s' {1..120}); mkdir -p n/$(printf 'd%.0s' {1..90}); echo s >n/$(printf 'd%.0s' {1..90})/$(printf 'f%.0s' {1..60}); echo u >n/ünï";

#[tokio::test]
async fn tar_options_are_gnus() {
    let scripts = [
        r"tar cf o.tar --exclude-vcs p; tar tf o.tar | sort; tar cf o.tar --exclude-vcs --exclude=src p; tar tf o.tar | sort; tar xf o.tar -C n; find n/p | sort; rm -f *.tar *.tgz",
        r"tar cf o.tar --sort=name p; tar tf o.tar; tar cf o.tar --sort=none p; tar tf o.tar | sort; tar cf o.tar --sort=x p; echo $?; rm -f *.tar *.tgz",
        r"tar cf o.tar --owner=root --group=wheel p/b; tar tvf o.tar; tar cf o.tar --owner=bob:77 --group=:5 p/b; tar tvf o.tar --numeric-owner; tar cf o.tar --owner=0 --group=0 --numeric-owner p/b; tar tvf o.tar; tar cf o.tar --owner=bob:x p/b; echo $?; tar cf o.tar --owner=verylongusername:1 --group=verylonggroup:2 p/b p/src/a; tar tvf o.tar; tar cf o.tar --owner=a:1234567 --group=b:1 p/b; tar tvf o.tar --numeric-owner; rm -f *.tar *.tgz",
        r"tar cf o.tar --mode=600 --owner=u:1 --group=g:2 --sort=name p; tar tvf o.tar; tar cf o.tar --mode=a-r,u+x --owner=u:1 --group=g:2 p/b; tar tvf o.tar; tar cf o.tar --mode=zz p/b; echo $?; tar cf o.tar --mode=go= p/b; mkdir x; tar xf o.tar -C x; stat -c %a x/p/b; tar cf o.tar --mode=u=rwX,go=rX -C p deep; tar tvf o.tar | cut -c1-10; rm -f *.tar *.tgz",
        r"tar cf o.tar --owner=u:1 --group=g:2 --mtime='2020-01-02 03:04' p/b; tar tvf o.tar; tar cf o.tar --owner=u:1 --group=g:2 --mtime=./p/src p/b; tar tvf o.tar; tar cf o.tar --owner=u:1 --group=g:2 --mtime=2020-01-02 --clamp-mtime p/b; tar tvf o.tar; tar cf o.tar --owner=u:1 --group=g:2 --mtime=2030-01-02 --clamp-mtime p/b; tar tvf o.tar; tar cf o.tar --owner=u:1 --group=g:2 --mtime=@86400 p/b; tar tvf o.tar; tar cf o.tar --mtime=./nope p/b; echo $?; tar cf o.tar --owner=u:1 --group=g:2 --mtime='1 Jan 2021' p/b; tar tvf o.tar; rm o.tar; rm -f *.tar *.tgz",
        r"for f in gnu oldgnu pax posix ustar; do tar cf o.tar --format=$f --sort=name p; tar tf o.tar | wc -l; mkdir x; tar xf o.tar -C x; find x | sort | cksum; rm -r x; done; tar cf o.tar --format=x p/b; echo $?; tar cf o.tar -H ustar p/b; tar tf o.tar; tar cf o.tar --posix p/b; tar tf o.tar; rm o.tar; rm -f *.tar *.tgz",
        r"for f in gnu pax; do tar cf o.tar --format=$f --sort=name n; tar tf o.tar | cksum; mkdir x; tar xf o.tar -C x; find x | sort | cksum; rm -r x o.tar; done; cd n; tar cf o.tar --format=ustar x*; echo $?; rm o.tar; cd ..; tar cf o.tar --format=ustar n/d*; tar tf o.tar; rm o.tar; rm -f *.tar *.tgz",
        r"tar cf o.tar p/b; touch -d '2030-01-01' p/b; echo new >p/new; tar uvf o.tar p/b p/new p/src | sort; tar tf o.tar | sort; tar uvf o.tar p/b; tar tf o.tar | wc -l; rm -r p; tar xf o.tar 2>/dev/null; cat p/b p/new; rm -f *.tar *.tgz",
        r"tar uf nope.tar p/b; tar tf nope.tar; tar uzf o.tgz p/b; echo $?; tar rzf o.tgz p/b; echo $?; tar cf a.tar --sort=name p/src; tar uf a.tar p/src; tar tf a.tar; tar --update -f a.tar p/b; tar tf a.tar; rm -f *.tar *.tgz",
        r"tar cf o.tar --sort=name --transform 's,^p,q,' p; tar tf o.tar; tar xf o.tar; readlink q/src/l; cmp q/b p/b; ls -i q/b q/hard | cut -d' ' -f1 | uniq | wc -l; tar cvf o.tar --transform 's/b/B/' p/b; tar tf o.tar; tar cvf o.tar --show-transformed-names --transform 's/b/B/' p/b; tar xvf o.tar --xform 's/p/z/;s/B/c/'; ls z; tar tf o.tar --transform 's/p/z/'; tar tf o.tar --show-transformed --transform 's/p/z/'; rm -f *.tar *.tgz",
        r"tar cf o.tar --transform s p/b; echo $?; tar cf o.tar --transform 's/p/&&\U\0x/gi' p/b; tar tf o.tar; tar cf o.tar --transform 's/p/q/k' p/b; tar cf o.tar --transform 's/./&-/2' p/b; tar tf o.tar; tar cf o.tar --transform 's/(p)/\1\1/x' p/b; tar tf o.tar; tar cf o.tar --transform 's|.*/||' p/src/a p/b; tar tf o.tar; tar cf o.tar --xform='s,p/,pkg-1.0/,' p/b p/src/a; tar tf o.tar; tar cf o.tar --transform='s,^,pre/,' p/src; tar tf o.tar | sort; rm -f *.tar *.tgz",
        r#"ln -s p/b lnk; for t in 's/p/q/' 's/p/q/S' 'flags=r;s/p/q/' 's/p/q/Rs'; do tar cf o.tar --owner=u:1 --group=g:2 --transform "$t" lnk p/b; tar tf o.tar; mkdir x; tar xf o.tar -C x; readlink x/lnk; rm -r x; done; tar cf o.tar --transform 's/hard/H/h' p/b p/hard; tar tf o.tar; rm -f *.tar *.tgz"#,
        r"printf 'y\nn\n' | tar cvwf o.tar p/b p/src/a; tar tf o.tar; echo y | tar xvwf o.tar; printf 'n\n' | tar xwf o.tar; printf 'y\nn\ny\n' | tar cwf o.tar --sort=name p/deep; tar tf o.tar; tar c -w p/b </dev/null | wc -c; rm -f *.tar *.tgz",
        r"tar cf o.tar p/src/a p/deep; mkdir x; cd x; umask 077; tar xf ../o.tar --no-same-permissions; stat -c '%a' p/src/a p/deep; rm -r p; tar xpf ../o.tar; stat -c '%a' p/src/a p/deep; rm -r p; tar xf ../o.tar --preserve-permissions; stat -c %a p/src/a; rm ../o.tar",
    ];
    compare(SETUP, &scripts).await;
}

/// The same bytes, so that an archive made here has the same hash as one made there.
#[tokio::test]
async fn archives_are_gnus_to_the_byte() {
    let scripts = [
        "tar cf a.tar --sort=name --owner=user:1000 --group=user:1000 --exclude=.git p",
        "tar cf a.tar --sort=name --owner=user:1000 --group=user:1000 n",
        "tar cf a.tar --sort=name --owner=0 --group=0 --numeric-owner --mtime=@0 --mode=go= p/src",
    ];
    compare(SETUP, &scripts).await;
}

const OWNER: &str = "--owner=user:1000 --group=user:1000 --sort=name";

const OPTIONS: &[&str] = &[
    "",
    "--format=gnu",
    "--format=pax",
    "--format=ustar --exclude=x*",
    "--owner=bob:77 --group=staff:50",
    "--numeric-owner",
    "--mode=a=rX",
    "--mtime=2020-01-02",
    "--exclude-vcs",
    "--transform=s,^p,q,",
    "-z --format=pax",
    "-J",
    "-h",
    "--transform=s,.*/,, --no-recursion p/b",
];

/// Lines of `tar tv`, sorted.
fn sorted(listed: &str) -> Vec<String> {
    let mut lines: Vec<String> = listed.lines().map(str::to_owned).collect();
    lines.sort();
    assert!(!lines.is_empty());
    lines
}

#[tokio::test]
async fn archives_go_to_gnus_tar_and_back() {
    let beside = Beside::new(SETUP).await;
    for options in OPTIONS {
        let make = format!("tar cf o.tar {OWNER} {options} p n");
        let (ours, real) = (beside.ours(&make).await.unwrap(), beside.real(&make).unwrap());
        assert_eq!((ours.exit, &ours.stderr), (real.exit, &real.stderr), "{options}");
        let (ours, real) = (&ours.files["o.tar"].1, &real.files["o.tar"].1);
        let folder = tempfile::tempdir().unwrap();
        let list = |archive: &[u8]| {
            let file = folder.path().join("o.tar");
            std::fs::write(&file, archive).unwrap();
            let listed =
                Command::new("tar").arg("tvf").arg(&file).env("TZ", "UTC").env("LC_ALL", "C.UTF-8").output();
            let listed = listed.unwrap();
            assert!(listed.status.success(), "{options}: {listed:?}");
            sorted(std::str::from_utf8(&listed.stdout).unwrap())
        };
        let expected = list(real);
        assert_eq!(list(ours), expected, "{options}: ours, read by GNU's");
        let mut sandbox = Sandbox::new();
        sandbox.edit(|files| {
            files.mkdir_all(DIR).unwrap();
            files.write(&format!("{DIR}/o.tar"), real).unwrap();
        });
        let ran = sandbox.run(&format!("cd {DIR}; tar tvf o.tar")).await;
        assert_eq!(sorted(&ran.stdout()), expected, "{options}: GNU's, read by ours");
    }
}
