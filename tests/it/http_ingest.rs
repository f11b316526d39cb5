//! Trees in and out as tar archives, and as base64 in JSON.

use std::collections::BTreeMap;
use std::io::{Read, Write};

use base64::Engine;
use flate2::Compression;
use flate2::read::GzDecoder;
use flate2::write::GzEncoder;
use serde_json::json;
use tar::{Builder, EntryType, Header};

use crate::support::{Server, TestStore, on_each_store};

on_each_store![
    what_went_in_comes_out,
    escapes_are_refused_and_leave_nothing,
    a_broken_archive_leaves_nothing,
    an_upload_replaces_files_and_keeps_the_rest,
    ingest_files_is_atomic,
];

const TAR: &str = "application/x-tar";

/// Path → (type, mode, mtime, link target, content).
type Listing = BTreeMap<String, (EntryType, u32, u64, String, Vec<u8>)>;

fn entry(
    tar: &mut Builder<Vec<u8>>,
    kind: EntryType,
    path: &str,
    mode: u32,
    mtime: u64,
    link: &str,
    data: &[u8],
) {
    let mut header = Header::new_gnu();
    header.set_entry_type(kind);
    header.set_mode(mode);
    header.set_mtime(mtime);
    header.set_size(data.len() as u64);
    // Written by hand where the library would refuse what the test is about.
    let name = &mut header.as_gnu_mut().expect("gnu").name;
    name[..path.len()].copy_from_slice(path.as_bytes());
    let target = &mut header.as_gnu_mut().expect("gnu").linkname;
    target[..link.len()].copy_from_slice(link.as_bytes());
    header.set_cksum();
    tar.append(&header, data).expect("an entry");
}

fn archive(fill: impl FnOnce(&mut Builder<Vec<u8>>)) -> Vec<u8> {
    let mut tar = Builder::new(Vec::new());
    fill(&mut tar);
    tar.into_inner().expect("an archive")
}

fn gzip(data: &[u8]) -> Vec<u8> {
    let mut gzip = GzEncoder::new(Vec::new(), Compression::fast());
    gzip.write_all(data).expect("gzip");
    gzip.finish().expect("gzip")
}

fn listing(tar: impl Read) -> Listing {
    let mut listing = Listing::new();
    for entry in tar::Archive::new(tar).entries().expect("an archive") {
        let mut entry = entry.expect("an entry");
        let path = entry.path().expect("a path").to_str().expect("UTF-8").to_owned();
        let path = path.trim_start_matches("./").trim_end_matches('/').to_owned();
        let link = entry.link_name().expect("a link").map(|l| l.to_str().expect("UTF-8").to_owned());
        let (kind, mode) = (entry.header().entry_type(), entry.header().mode().expect("mode") & 0o7777);
        let mtime = entry.header().mtime().expect("mtime");
        let mut data = Vec::new();
        entry.read_to_end(&mut data).expect("content");
        listing.insert(path, (kind, mode, mtime, link.unwrap_or_default(), data));
    }
    listing
}

async fn what_went_in_comes_out(store: TestStore) {
    let mut server = Server::start(store).await;
    let api = server.api().await;
    let id = api.create().await;
    let long = format!("{}/{}", "d".repeat(120), "f".repeat(200));
    let big: Vec<u8> = (0..5_000_000u32).map(|n| (n.wrapping_mul(2_654_435_761) >> 24) as u8).collect();
    let tar = archive(|tar| {
        entry(tar, EntryType::Directory, "src/", 0o755, 1_000_000_001, "", b"");
        entry(tar, EntryType::Regular, "src/run.sh", 0o755, 1_000_000_002, "", b"#!/bin/bash\necho hi\n");
        entry(tar, EntryType::Regular, "src/secret", 0o600, 1_000_000_003, "", b"s");
        entry(tar, EntryType::Regular, "src/empty", 0o644, 1_000_000_004, "", b"");
        entry(tar, EntryType::Regular, "src/big", 0o644, 1_000_000_005, "", &big);
        entry(tar, EntryType::Symlink, "src/link", 0o777, 1_000_000_006, "run.sh", b"");
        entry(tar, EntryType::Symlink, "src/dangling", 0o777, 1_000_000_006, "../none", b"");
        entry(tar, EntryType::Link, "src/hard", 0o755, 1_000_000_002, "src/run.sh", b"");
        entry(tar, EntryType::Directory, "empty-dir/", 0o700, 1_000_000_007, "", b"");
        let mut header = Header::new_gnu();
        header.set_mode(0o644);
        header.set_mtime(1_000_000_008);
        header.set_size(4);
        header.set_entry_type(EntryType::Regular);
        tar.append_data(&mut header, &long, &b"long"[..]).expect("a long name");
    });
    for (kind, data) in [(TAR, tar.clone()), ("application/gzip", gzip(&tar)), (TAR, gzip(&tar))] {
        let id = api.create().await;
        let reply = api.ingest(&id, "/home/user", kind, data).await;
        assert!((200..300).contains(&reply.status), "{reply:?}");
        assert_eq!(api.sandbox(&id).await["version"], 1, "one version, {kind}");
    }
    api.ingest(&id, "/home/user/base", TAR, tar.clone()).await;
    let check = "cd base; stat -c '%n %a %h %Y' src src/run.sh src/secret empty-dir; [ $(stat -c %i src/hard) = $(stat -c %i src/run.sh) ] && echo same; readlink src/link src/dangling; src/link";
    assert_eq!(
        api.stdout(&id, check).await,
        "src 755 2 1000000001\nsrc/run.sh 755 2 1000000002\nsrc/secret 600 1 1000000003\n\
         empty-dir 700 2 1000000007\nsame\nrun.sh\n../none\nhi\n"
    );

    let sent = listing(&tar[..]);
    for restarted in [false, true] {
        if restarted {
            server.kill();
            server.start_again().await;
        }
        let api = server.api().await;
        let export = api.export(&id, "/home/user/base").await;
        let got = listing(GzDecoder::new(&export[..]));
        for (path, was) in &sent {
            let is = got.get(path).unwrap_or_else(|| panic!("{path} is missing"));
            // Which of two hard links carries the content is the writer's choice.
            if !["src/hard", "src/run.sh"].contains(&path.as_str()) {
                assert_eq!((&is.0, is.1, is.2, &is.3), (&was.0, was.1, was.2, &was.3), "{path}");
                assert!(is.4 == was.4, "content of {path}");
            }
        }
        let linked = [&got["src/hard"], &got["src/run.sh"]];
        assert_eq!(linked.iter().filter(|e| e.0 == EntryType::Link).count(), 1, "one of them is a link");
        let extra: Vec<&String> = got
            .keys()
            .filter(|p| !sent.contains_key(*p) && !p.is_empty() && **p != "d".repeat(120))
            .collect();
        assert!(extra.is_empty() || extra == ["."], "{extra:?}");

        // And what came out goes in again, the same.
        let copy = api.create().await;
        api.ingest(&copy, "/home/user/base", TAR, export).await;
        let strip = |mut entries: Vec<serde_json::Value>| {
            // The directory that the upload itself makes has the time of the upload.
            entries.retain(|e| e["path"] != "/home/user/base");
            entries
        };
        assert_eq!(
            strip(api.tree(&copy, "/home/user/base").await),
            strip(api.tree(&id, "/home/user/base").await)
        );
    }
}

async fn escapes_are_refused_and_leave_nothing(store: TestStore) {
    type Fill = fn(&mut Builder<Vec<u8>>);
    let server = Server::start(store).await;
    let api = server.api().await;
    let id = api.create().await;
    let bad: [(&str, Fill); 7] = [
        ("up", |tar| entry(tar, EntryType::Regular, "../x", 0o644, 0, "", b"x")),
        ("up in the middle", |tar| entry(tar, EntryType::Regular, "a/../../x", 0o644, 0, "", b"x")),
        ("absolute", |tar| entry(tar, EntryType::Regular, "/tmp/x", 0o644, 0, "", b"x")),
        ("through a link", |tar| {
            entry(tar, EntryType::Symlink, "l", 0o777, 0, "/tmp", b"");
            entry(tar, EntryType::Regular, "l/x", 0o644, 0, "", b"x");
        }),
        ("hard link out", |tar| entry(tar, EntryType::Link, "h", 0o644, 0, "../../../tmp/secret", b"")),
        ("device", |tar| entry(tar, EntryType::Char, "null", 0o666, 0, "", b"")),
        ("no such hard link", |tar| entry(tar, EntryType::Link, "h", 0o644, 0, "none", b"")),
    ];
    api.put(&id, "/tmp/secret", "s").await.expect(204);
    for (what, fill) in bad {
        let tar = archive(|tar| {
            entry(tar, EntryType::Regular, "good", 0o644, 0, "", b"good");
            fill(tar);
        });
        let reply = api.ingest(&id, "/home/user", TAR, tar).await;
        assert_eq!(reply.status, 400, "{what}: {reply:?}");
        assert_eq!(reply.json()["applied"], "no", "{what}");
    }
    assert_eq!(api.sandbox(&id).await["version"], 1);
    assert_eq!(api.stdout(&id, "ls -A /home/user /tmp").await, "/home/user:\n\n/tmp:\nsecret\n");
}

async fn a_broken_archive_leaves_nothing(store: TestStore) {
    let server =
        Server::start_with(store, &[("MAX_INGEST_FILES", "10"), ("MAX_INGEST_BYTES", "1000000")]).await;
    let api = server.api().await;
    let id = api.create().await;
    let good = archive(|tar| {
        entry(tar, EntryType::Regular, "a", 0o644, 0, "", &[b'a'; 3000]);
        entry(tar, EntryType::Regular, "b", 0o644, 0, "", &[b'b'; 3000]);
    });
    let zipped = gzip(&good);
    let negative = {
        let mut bytes = good.clone();
        bytes[124..136].copy_from_slice(b"-0000000001\0");
        bytes
    };
    let huge = {
        let mut bytes = good.clone();
        bytes[124..136].copy_from_slice(&[0x80, 0, 0, 0, 0x7f, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff]);
        bytes
    };
    for (what, data) in [
        ("cut in a content", good[..1500].to_vec()),
        ("cut in a header", good[..3700].to_vec()),
        ("cut gzip", zipped[..zipped.len() - 20].to_vec()),
        ("wrong CRC", [&zipped[..zipped.len() - 8], &[0; 8]].concat()),
        ("negative size", negative),
        ("huge size", huge),
        ("no archive", b"this is no archive, but it is longer than one block ".repeat(20)),
    ] {
        let reply = api.ingest(&id, "/home/user", TAR, data).await;
        assert!([400, 413].contains(&reply.status), "{what}: {reply:?}");
        assert_eq!(reply.json()["applied"], "no", "{what}");
    }
    let many = archive(|tar| {
        for n in 0..11 {
            entry(tar, EntryType::Regular, &format!("f{n}"), 0o644, 0, "", b"");
        }
    });
    api.ingest(&id, "/home/user", TAR, many).await.refused(413, "PAYLOAD_TOO_LARGE");
    let bomb = gzip(&archive(|tar| entry(tar, EntryType::Regular, "f", 0o644, 0, "", &vec![0; 50_000_000])));
    assert!(bomb.len() < 1_000_000);
    api.ingest(&id, "/home/user", TAR, bomb).await.refused(413, "PAYLOAD_TOO_LARGE");
    api.ingest(&id, "/home/user", "text/html", good).await.refused(415, "UNSUPPORTED_MEDIA_TYPE");
    assert_eq!(api.sandbox(&id).await["version"], 0);
    assert_eq!(api.stdout(&id, "ls -A").await, "");
}

async fn an_upload_replaces_files_and_keeps_the_rest(store: TestStore) {
    let server = Server::start(store).await;
    let api = server.api().await;
    let id = api.create().await;
    api.exec(&id, "mkdir d; echo old > d/f; echo mine > d/mine").await;
    let tar = archive(|tar| entry(tar, EntryType::Regular, "d/f", 0o600, 5, "", b"new\n"));
    let reply = api.ingest(&id, "/home/user", TAR, tar).await;
    assert!((200..300).contains(&reply.status), "{reply:?}");
    assert_eq!(api.stdout(&id, "cat d/f d/mine; stat -c '%a %Y' d/f").await, "new\nmine\n600 5\n");
}

async fn ingest_files_is_atomic(store: TestStore) {
    let server = Server::start(store).await;
    let api = server.api().await;
    let id = api.create().await;
    let path = format!("/v1/sandboxes/{id}/ingest-files");
    let b64 = |data: &[u8]| base64::engine::general_purpose::STANDARD.encode(data);
    let big = vec![7u8; 8 << 20];
    let body = json!({"basePath": "/home/user/in", "files": {"a/b": b64(b"\xff\x00"), "big": b64(&big), "empty": ""}});
    let reply = api.post(&path, &body).await.expect(200).json();
    assert_eq!(reply, json!({"status": "ok", "fileCount": 3}));
    assert!(api.file(&id, "/home/user/in/big").await.body == big);
    assert_eq!(&api.file(&id, "/home/user/in/a/b").await.body[..], b"\xff\x00");
    for files in
        [json!({"ok": b64(b"x"), "../out": b64(b"x")}), json!({"ok": b64(b"x"), "bad": "no base64!"})]
    {
        let reply = api.post(&path, &json!({"basePath": "/home/user/two", "files": files})).await;
        assert_eq!((reply.status, &reply.json()["applied"]), (400, &json!("no")), "{reply:?}");
    }
    api.file(&id, "/home/user/two/ok").await.error(404, "ENOENT");
    assert_eq!(api.sandbox(&id).await["version"], 1);
}
