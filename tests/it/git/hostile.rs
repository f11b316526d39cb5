//! Repositories that mean harm: each is an error in words, nothing leaves its folder, and
//! the server goes on.

use std::io::Write as _;

use sha1::{Digest as _, Sha1};

use crate::network::{sandbox, server};
use crate::support::web::Web;
use crate::support::{Api, Server, TestStore};

const REPO: &str = "/home/user/r";

/// What the interpreter says of a command that panicked.
pub const PANICKED: &str = "failed unexpectedly";

fn zlib(data: &[u8]) -> Vec<u8> {
    let mut packed = flate2::write::ZlibEncoder::new(Vec::new(), flate2::Compression::best());
    packed.write_all(data).expect("in memory");
    packed.finish().expect("in memory")
}

fn sha1(data: &[u8]) -> [u8; 20] {
    Sha1::digest(data).into()
}

fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

/// A loose object: its name, and its file.
fn object(kind: &str, data: &[u8]) -> ([u8; 20], Vec<u8>) {
    let mut whole = format!("{kind} {}\0", data.len()).into_bytes();
    whole.extend_from_slice(data);
    (sha1(&whole), zlib(&whole))
}

/// The head of an object in a pack.
fn head(code: u8, mut size: u64) -> Vec<u8> {
    let mut out = vec![code << 4 | (size & 15) as u8];
    size >>= 4;
    while size > 0 {
        let last = out.len() - 1;
        out[last] |= 0x80;
        out.push((size & 0x7f) as u8);
        size >>= 7;
    }
    out
}

fn number(mut value: u64) -> Vec<u8> {
    let mut out = Vec::new();
    while value >= 0x80 {
        out.push((value & 0x7f) as u8 | 0x80);
        value >>= 7;
    }
    out.push(value as u8);
    out
}

fn pack(count: u32, objects: &[Vec<u8>]) -> Vec<u8> {
    let mut out = b"PACK\0\0\0\x02".to_vec();
    out.extend(count.to_be_bytes());
    objects.iter().for_each(|object| out.extend(object));
    let sum = sha1(&out);
    out.extend(sum);
    out
}

/// An object that is a change of a named one.
fn change_of(base: [u8; 20], delta: &[u8], size: u64) -> Vec<u8> {
    [head(7, size), base.to_vec(), zlib(delta)].concat()
}

/// A chain in which each object is many times the one before.
fn bomb() -> Vec<u8> {
    let first = vec![b'x'; 60_000];
    let mut objects = vec![[head(3, 60_000), zlib(&first)].concat()];
    let mut size = 60_000_u64;
    for _ in 0..8 {
        let mut delta = [number(size), number(size * 30)].concat();
        // Copies all of the base thirty times, at most 64 KiB at once.
        for _ in 0..30 {
            let (mut at, mut left) = (0_u64, size);
            while left > 0 {
                let piece = left.min(0xffff);
                let (place, count) = (at.to_le_bytes(), piece.to_le_bytes());
                delta.extend([0xbf, place[0], place[1], place[2], place[3], count[0], count[1]]);
                (at, left) = (at + piece, left - piece);
            }
        }
        let last = objects.last().map_or(0, Vec::len);
        // The base is the object before.
        let mut back = vec![(last & 0x7f) as u8];
        let mut rest = last >> 7;
        while rest > 0 {
            rest -= 1;
            back.insert(0, (rest & 0x7f) as u8 | 0x80);
            rest >>= 7;
        }
        objects.push([head(6, delta.len() as u64), back, zlib(&delta)].concat());
        size *= 30;
        if size > 100_000_000 {
            break;
        }
    }
    pack(objects.len() as u32, &objects)
}

/// An index of version 2 that names objects of a pack at places.
fn index(objects: &mut [([u8; 20], u32)], sum: &[u8]) -> Vec<u8> {
    objects.sort_unstable();
    let mut out = b"\xfftOc\0\0\0\x02".to_vec();
    for byte in 0..=255_u8 {
        let below = objects.iter().filter(|(name, _)| name[0] <= byte).count() as u32;
        out.extend(below.to_be_bytes());
    }
    objects.iter().for_each(|(name, _)| out.extend(name));
    objects.iter().for_each(|_| out.extend([0; 4]));
    objects.iter().for_each(|(_, place)| out.extend(place.to_be_bytes()));
    out.extend(sum);
    let own = sha1(&out);
    out.extend(own);
    out
}

/// A repository with one commit, and the file that the commit has.
async fn fresh(api: &Api) -> String {
    let id = api.create().await;
    let script = format!(
        "git init -q {REPO}; cd {REPO}; git config user.name A; git config user.email a@x; echo 1 > f; git add f; git commit -qm one"
    );
    assert_eq!(api.exec(&id, &script).await["exitCode"], 0);
    id
}

async fn put_object(api: &Api, id: &str, kind: &str, data: &[u8]) -> String {
    let (name, file) = object(kind, data);
    let name = hex(&name);
    api.put(id, &format!("{REPO}/.git/objects/{}/{}", &name[..2], &name[2..]), file).await;
    name
}

/// Runs a line that must fail with one of git's errors.
async fn refused(api: &Api, id: &str, line: &str, part: &str) {
    let reply = api.exec(id, &format!("cd {REPO}; {line}")).await;
    let stderr = reply["stderr"].as_str().expect("stderr");
    assert!(reply["exitCode"].as_i64().is_some_and(|exit| matches!(exit, 1 | 128)), "{line}: {reply}");
    assert!(stderr.contains(part) && !stderr.contains(PANICKED), "{line}: {part:?} in {reply}");
}

#[tokio::test]
async fn objects_and_packs_that_lie_are_errors() {
    for interpreter in ["process", "thread"] {
        let server = Server::start_with(TestStore::sqlite(), &[("INTERPRETER", interpreter)]).await;
        let api = server.api().await;
        let id = fresh(&api).await;
        let name = "ce013625030ba8dba906f756967f9e9ca394464a";
        let path = format!("{REPO}/.git/objects/{}/{}", &name[..2], &name[2..]);
        for (what, file) in [
            ("less than there is", zlib(&[b"blob 3\0".to_vec(), vec![b'x'; 1 << 20]].concat())),
            ("more than there is", zlib(b"blob 400\0hello\n")),
            ("more than there can be", zlib(b"blob 1099511627776\0hello\n")),
            ("more than numbers have", zlib(b"blob 18446744073709551615\0hello\n")),
            ("no size", zlib(b"blob \0hello\n")),
            ("no kind", zlib(b"bulb 6\0hello\n")),
            ("no head", zlib(&vec![b'x'; 1 << 20])),
            ("another content", zlib(b"blob 6\0hallo\n")),
            ("no zlib", b"hello".to_vec()),
            ("nothing", Vec::new()),
            ("a bomb", zlib(&[b"blob 6\0".to_vec(), vec![0; 80 << 20]].concat())),
        ] {
            api.put(&id, &path, file).await;
            refused(&api, &id, &format!("git cat-file -p {name} # {what}"), "fatal: ").await;
        }
        // Packs, each with an index that is right but for what it points to.
        let ring = [[1_u8; 20], [2; 20]];
        let turn = [change_of(ring[1], &[1, 1, 1, b'x'], 4), change_of(ring[0], &[1, 1, 1, b'x'], 4)];
        let second = 12 + turn[0].len() as u32;
        let self_made = change_of([3; 20], &[1, 1, 1, b'x'], 4);
        let huge = [head(3, 1 << 40), zlib(b"x")].concat();
        let cases: Vec<(Vec<u8>, Vec<([u8; 20], u32)>, &str)> = vec![
            (pack(2, &turn), vec![(ring[0], 12), (ring[1], second)], "ring"),
            (pack(1, &[self_made]), vec![([3; 20], 12)], "ring"),
            (pack(1, &[huge]), vec![([4; 20], 12)], "larger than a file may be"),
            (pack(1, &[[head(3, 5), zlib(b"longer than said")].concat()]), vec![([5; 20], 12)], "corrupt"),
            (
                pack(1, &[[head(6, 5), vec![0x7f], zlib(b"12345")].concat()]),
                vec![([6; 20], 12)],
                "corrupt pack",
            ),
            (pack(1, &[vec![0xff; 30]]), vec![([7; 20], 12)], "corrupt pack"),
            (pack(1, &[]), vec![([8; 20], 0x7fff_ffff)], "corrupt pack"),
            (pack(1, &[]), vec![([9; 20], 0xffff_ffff)], ""),
        ];
        for (number, (data, mut names, part)) in cases.into_iter().enumerate() {
            let stem = format!("{REPO}/.git/objects/pack/pack-{number}");
            let idx = index(&mut names, &data[data.len() - 20..]);
            api.put(&id, &format!("{stem}.pack"), data).await;
            api.put(&id, &format!("{stem}.idx"), idx).await;
            refused(&api, &id, &format!("git cat-file -p {}", hex(&names[0].0)), part).await;
        }
        // Files that end early, or count what is not there.
        for (number, (idx, data)) in [
            (b"\xfftOc\0\0\0\x02".to_vec(), pack(0, &[])),
            ([b"\xfftOc\0\0\0\x02".to_vec(), vec![0xff; 1024 + 40]].concat(), pack(0, &[])),
            (index(&mut [([1; 20], 12)], &[0; 20]), b"PACK".to_vec()),
            (vec![0; 2000], pack(0, &[])),
        ]
        .into_iter()
        .enumerate()
        {
            let stem = format!("{REPO}/.git/objects/pack/pack-x{number}");
            api.put(&id, &format!("{stem}.pack"), data).await;
            api.put(&id, &format!("{stem}.idx"), idx).await;
            refused(&api, &id, "git log", "corrupt").await;
            api.exec(&id, &format!("rm {stem}.*")).await;
        }
        let neighbour = fresh(&api).await;
        assert_eq!(api.stdout(&neighbour, "git log --format=%s").await, "one\n");
    }
}

#[tokio::test]
async fn nothing_is_written_outside_of_the_work_tree() {
    let server = Server::start(TestStore::sqlite()).await;
    let api = server.api().await;
    let id = fresh(&api).await;
    let (blob, _) = object("blob", b"evil\n");
    put_object(&api, &id, "blob", b"evil\n").await;
    let commit =
        |tree: &str| format!("tree {tree}\nauthor A <a@x> 1 +0000\ncommitter A <a@x> 1 +0000\n\nm\n");
    for name in ["..", ".", ".git", ".GIT", "a/b", "../x", "", "git~1"] {
        let tree = [format!("100644 {name}\0").as_bytes(), &blob].concat();
        let tree = put_object(&api, &id, "tree", &tree).await;
        let commit = put_object(&api, &id, "commit", commit(&tree).as_bytes()).await;
        for line in [
            "git checkout",
            "git reset --hard",
            "git merge --allow 2>/dev/null; git show",
            "git restore --source",
            "git ls-tree -r",
        ] {
            let tail = if line.contains("restore") { " ." } else { "" };
            refused(&api, &id, &format!("{line} {commit}{tail}"), "").await;
        }
    }
    // A link in one commit, a folder in the next.
    let target = object("blob", b"/home/user/outside").0;
    put_object(&api, &id, "blob", b"/home/user/outside").await;
    let linked = put_object(&api, &id, "tree", &[&b"120000 d\0"[..], &target].concat()).await;
    let inner = [&b"100644 x\0"[..], &blob].concat();
    put_object(&api, &id, "tree", &inner).await;
    let inner = object("tree", &inner).0;
    let folder = put_object(&api, &id, "tree", &[&b"40000 d\0"[..], &inner].concat()).await;
    let (a, b) = (commit(&linked), commit(&folder));
    let (a, b) = (
        put_object(&api, &id, "commit", a.as_bytes()).await,
        put_object(&api, &id, "commit", b.as_bytes()).await,
    );
    let script = format!(
        "mkdir -p /home/user/outside; cd {REPO}; git checkout -q {a}; readlink d; git checkout -q {b}; cat d/x; ls /home/user/outside; \
         git checkout -q {a}; rm d; ln -s /home/user/outside d; git reset -q --hard {b}; ls /home/user/outside; ls d; \
         rm -r d; ln -s /home/user/outside d; git checkout d/x 2>/dev/null; git checkout -q . ; ls /home/user/outside; touch /home/user/outside/x; git rm -q -f d/x; ls /home/user/outside"
    );
    assert_eq!(api.stdout(&id, &script).await, "/home/user/outside\nevil\nx\nx\n");
    // Trees that unfold without an end.
    let mut tree = object("blob", b"evil\n").0;
    let mut mode = "100644";
    for _ in 0..12 {
        let entries: Vec<u8> = (0..30_u8)
            .flat_map(|n| [format!("{mode} {:02}\0", n).into_bytes(), tree.to_vec()].concat())
            .collect();
        put_object(&api, &id, "tree", &entries).await;
        (tree, mode) = (object("tree", &entries).0, "40000");
    }
    let commit = put_object(&api, &id, "commit", commit(&hex(&tree)).as_bytes()).await;
    for line in ["git checkout", "git diff HEAD", "git log --stat", "git ls-tree -r", "git reset"] {
        let line = format!("{line} {commit}");
        let began = std::time::Instant::now();
        let reply = api
            .try_exec(&id, &serde_json::json!({"script": format!("cd {REPO}; {line}"), "timeoutMs": 20_000}))
            .await;
        assert!(reply.status == 200 && reply.json()["exitCode"] != 0, "{line}: {}", reply.text());
        assert!(began.elapsed().as_secs() < 20, "{line}");
    }
}

#[tokio::test]
async fn broken_indexes_refs_and_settings_are_errors() {
    let server = Server::start(TestStore::sqlite()).await;
    let api = server.api().await;
    let id = fresh(&api).await;
    let whole = api.file(&id, &format!("{REPO}/.git/index")).await.body.to_vec();
    let signed = |data: &[u8]| [data, &sha1(data)].concat();
    let named = |name: &str| {
        let mut entry = vec![0; 40];
        entry[24..28].copy_from_slice(&0o100_644_u32.to_be_bytes());
        entry.extend([0; 20]);
        entry.extend((name.len() as u16).to_be_bytes());
        entry.extend(name.as_bytes());
        entry.resize(entry.len() + 8 - entry.len() % 8, 0);
        signed(&[&b"DIRC\0\0\0\x02\0\0\0\x01"[..], &entry].concat())
    };
    let mut indexes: Vec<Vec<u8>> = (0..whole.len()).step_by(7).map(|end| whole[..end].to_vec()).collect();
    indexes.extend((12..whole.len() - 20).step_by(9).map(|end| signed(&whole[..end])));
    for path in ["../x", ".git/config", "/etc/passwd", "a//b", "a/../b", "", "a/.GIT/x"] {
        api.put(&id, &format!("{REPO}/.git/index"), named(path)).await;
        for line in ["git status", "git add f", "git reset --hard", "git checkout ."] {
            refused(&api, &id, line, "invalid path").await;
        }
    }
    indexes.push(signed(b"DIRC\0\0\0\x02\xff\xff\xff\xff"));
    indexes.push(signed(b"DIRC\0\0\0\x09\0\0\0\0"));
    indexes.push(signed(b"DIRC\0\0\0\x02\0\0\0\0link\0\0\0\0"));
    for data in indexes.into_iter().filter(|data| !data.is_empty()) {
        let length = data.len();
        api.put(&id, &format!("{REPO}/.git/index"), data).await;
        // What is cut behind its last entry may be whole.
        if length < 32 || length != 12 + 72 + 20 {
            refused(&api, &id, &format!("git status # {length}"), "fatal: ").await;
        }
    }
    api.put(&id, &format!("{REPO}/.git/index"), whole).await;
    for (name, text, line) in [
        ("refs/heads/loop", "ref: refs/heads/loop\n", "git rev-parse --verify loop"),
        ("refs/heads/bad", "nothing\n", "git rev-parse bad"),
        ("packed-refs", "no refs\n", "git branch"),
        ("HEAD", "", "git status"),
        ("HEAD", "ref: ../../outside\n", "git commit --allow-empty -m x"),
        ("HEAD", "ref: refs/heads/../../../outside\n", "git commit --allow-empty -m x"),
        ("config", "[core\n", "git status"),
        ("config", "[core]\nrepositoryformatversion = 7\n", "git status"),
        (
            "config",
            "[core]\nrepositoryformatversion = 1\n[extensions]\nobjectformat = sha256\n",
            "git status",
        ),
        ("objects/info/alternates", "/etc\n", "git log"),
    ] {
        let path = format!("{REPO}/.git/{name}");
        let before = api.file(&id, &path).await;
        api.put(&id, &path, text).await;
        refused(&api, &id, line, "").await;
        match before.status {
            200 => drop(api.put(&id, &path, before.body).await),
            _ => drop(api.exec(&id, &format!("rm {path}")).await),
        }
    }
    assert_eq!(
        api.stdout(&id, &format!("cd {REPO}; git log --format=%s; git status -s; ls /home/user")).await,
        "one\nr\n"
    );
}

#[tokio::test]
async fn a_remote_that_lies_leaves_nothing_behind() {
    let tip = "1111111111111111111111111111111111111111";
    let line = |text: &[u8]| [format!("{:04x}", text.len() + 4).as_bytes(), text].concat();
    let offer = [
        line(b"# service=git-upload-pack\n"),
        b"0000".to_vec(),
        line(format!("{tip} HEAD\0side-band-64k symref=HEAD:refs/heads/main\n").as_bytes()),
        line(format!("{tip} refs/heads/main\n").as_bytes()),
        line(format!("{tip} refs/heads/../../../evil\n").as_bytes()),
        b"0000".to_vec(),
    ]
    .concat();
    let banded = |data: &[u8]| -> Vec<u8> {
        let lines = data.chunks(60_000).flat_map(|part| line(&[&[1], part].concat()));
        line(b"NAK\n").into_iter().chain(lines).chain(*b"0000").collect()
    };
    let blob = [head(3, 1), zlib(b"x")].concat();
    let mut cut = pack(1, std::slice::from_ref(&blob));
    cut.truncate(cut.len() - 5);
    let zeros = [head(3, 40 << 20), zlib(&vec![0; 40 << 20])].concat();
    for (what, answer, part) in [
        ("an empty one", banded(&[]), "no pack came"),
        ("not a pack", banded(&[7; 100]), "corrupt pack"),
        ("one that ends early", banded(&cut), "corrupt pack"),
        ("one that counts wrong", banded(&pack(u32::MAX, std::slice::from_ref(&blob))), "corrupt"),
        ("one with more than it counts", banded(&pack(0, &[blob.clone()])), "corrupt pack"),
        ("not what was asked for", banded(&pack(1, std::slice::from_ref(&blob))), "did not send"),
        (
            "a ring",
            banded(&pack(1, &[change_of([1; 20], &[1, 1, 1, b'x'], 4)])),
            "bases of deltas are not there",
        ),
        ("a bomb of deltas", banded(&bomb()), "larger than a file may be"),
        ("zeros", banded(&pack(3, &[zeros.clone(), zeros.clone(), zeros])), "did not send"),
        ("no lines", b"zzzz".to_vec(), "bad line length"),
        ("an error", line(b"ERR go away\n"), "remote error: go away"),
        ("an error of a band", [line(b"NAK\n"), line(b"\x03no")].concat(), "remote error: no"),
    ] {
        let (offer, answer) = (offer.clone(), answer);
        let text = move |body: &[u8], kind: &str| {
            let head = format!(
                "HTTP/1.1 200 OK\r\ncontent-type: application/x-git-upload-pack-{kind}\r\ncontent-length: {}\r\nconnection: close\r\n\r\n",
                body.len()
            );
            [head.as_bytes(), body].concat()
        };
        let replies = std::sync::Arc::new([text(&offer, "advertisement"), text(&answer, "result")]);
        let count = std::sync::Arc::new(std::sync::atomic::AtomicUsize::new(0));
        let web = Web::raw(move |mut stream| {
            let (replies, number) =
                (replies.clone(), count.fetch_add(1, std::sync::atomic::Ordering::SeqCst));
            async move {
                use tokio::io::AsyncWriteExt as _;
                stream.write_all(&replies[number.min(1)]).await?;
                stream.shutdown().await
            }
        })
        .await;
        let (_server, api) = server("process", &web.addr.to_string(), &[]).await;
        let id = sandbox(&api, serde_json::json!(true)).await;
        let reply = api.exec(&id, &format!("git clone {}/r x; echo $?; ls -A", web.url())).await;
        let stderr = reply["stderr"].as_str().expect("stderr");
        assert_eq!(reply["stdout"], "128\n", "{what}: {reply}");
        assert!(stderr.contains(part) && !stderr.contains(PANICKED), "{what}: {part:?} in {stderr}");
    }
}
