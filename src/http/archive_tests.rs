//! Tests of `archive.rs`: archives that work, and every kind that must not.

use std::io::Write;

use super::*;

const LIMITS: Limits = Limits { bytes: 1 << 20, files: 5, file_bytes: 1 << 16 };

struct Made(tar::Builder<Vec<u8>>);

impl Made {
    fn new() -> Self {
        Self(tar::Builder::new(Vec::new()))
    }

    /// Written into the header as it is: the crate's setters refuse hostile names.
    fn entry(mut self, kind: EntryType, path: &str, link: &str, data: &[u8]) -> Self {
        let mut header = tar::Header::new_gnu();
        header.as_old_mut().name[..path.len()].copy_from_slice(path.as_bytes());
        header.as_old_mut().linkname[..link.len()].copy_from_slice(link.as_bytes());
        header.set_entry_type(kind);
        header.set_size(data.len() as u64);
        header.set_mode(0o100_755);
        header.set_mtime(7);
        header.set_cksum();
        self.0.append(&header, data).unwrap();
        self
    }

    fn file(self, path: &str, data: &[u8]) -> Self {
        self.entry(EntryType::Regular, path, "", data)
    }

    fn bytes(self) -> Vec<u8> {
        self.0.into_inner().unwrap()
    }

    fn refusal(self) -> ApiError {
        parse(&self.bytes()).unwrap_err()
    }
}

fn parse(archive: &[u8]) -> ApiResult<Vec<Entry>> {
    read(archive, LIMITS, |data| Ok(Content::Inline(data)))
}

fn shown(entry: &Entry) -> String {
    match &entry.what {
        What::File(Content::Inline(data)) => format!("{} {:?}", entry.path, String::from_utf8_lossy(data)),
        What::File(Content::Stored { .. }) => unreachable!(),
        What::Dir => format!("{}/", entry.path),
        What::Symlink(to) => format!("{} -> {to}", entry.path),
        What::HardLink(to) => format!("{} = {to}", entry.path),
    }
}

#[test]
fn entries_come_out_as_they_went_in() {
    let archive = Made::new()
        .entry(EntryType::Directory, "./", "", b"")
        .entry(EntryType::Directory, "./d/", "", b"")
        .file("./d/a", b"hello")
        .entry(EntryType::Symlink, "l", "/anywhere/../at all", b"")
        .entry(EntryType::Link, "h", "./d/a", b"")
        .entry(EntryType::Regular, "old/", "", b"");
    let entries = parse(&archive.bytes()).unwrap();
    let all: Vec<_> = entries.iter().map(shown).collect();
    assert_eq!(all, ["d/", "d/a \"hello\"", "l -> /anywhere/../at all", "h = d/a", "old/"]);
    assert_eq!((entries[1].mode, entries[1].mtime_ns), (Some(0o755), Some(7_000_000_000)));
}

#[test]
fn long_names_and_exact_times() {
    let mut builder = tar::Builder::new(Vec::new());
    let path = "x/".repeat(150) + "end";
    let mut header = tar::Header::new_gnu();
    header.set_size(1);
    header.set_mode(0o600);
    builder.append_pax_extensions([("mtime", "12.5".as_bytes())]).unwrap();
    builder.append_data(&mut header, &path, &b"1"[..]).unwrap();
    let entries = parse(&builder.into_inner().unwrap()).unwrap();
    assert_eq!((entries[0].path.as_str(), entries[0].mtime_ns), (path.as_str(), Some(12_500_000_000)));
    assert_eq!(nanoseconds("1.000000001"), Some(1_000_000_001));
    assert_eq!(nanoseconds("-1.5"), Some(-1_500_000_000));
    assert_eq!(nanoseconds("x"), None);
    assert_eq!(nanoseconds("99999999999999999999"), None);
}

#[test]
fn escapes_are_refused() {
    for path in ["../x", "a/../../x", "/abs", "a/.."] {
        let error = Made::new().file(path, b"").refusal();
        assert_eq!((error.status().as_u16(), error.code()), (400, "INVALID_INPUT"), "{path}");
    }
    let link = || Made::new().entry(EntryType::Symlink, "l", "/", b"");
    assert!(link().file("l/x", b"").refusal().message().contains("own link \"l\""));
    assert!(link().file("./l//d/x", b"").refusal().message().contains("own link"));
    assert!(link().entry(EntryType::Directory, "l/d", "", b"").refusal().message().contains("own link"));
    assert!(
        parse(&link().file("l", b"now a file").file("lx/y", b"").bytes()).is_ok(),
        "a replaced link is no link"
    );
    for target in ["/etc/passwd", "../x", "missing", "l"] {
        let error = link().entry(EntryType::Link, "h", target, b"").refusal();
        assert_eq!(error.code(), "INVALID_INPUT", "{target}");
    }
}

#[test]
fn what_a_sandbox_cannot_hold_is_refused() {
    for kind in
        [EntryType::Char, EntryType::Block, EntryType::Fifo, EntryType::GNUSparse, EntryType::new(b'V')]
    {
        let error = Made::new().entry(kind, "x", "", b"").refusal();
        assert_eq!(error.code(), "INVALID_INPUT");
    }
    assert!(
        Made::new().entry(EntryType::Symlink, "x", "", b"").refusal().message().contains("without a target")
    );
}

#[test]
fn limits_hold() {
    let two = |size: usize| Made::new().file("a", &vec![b'x'; size]).file("b", b"");
    assert!(parse(&two(1 << 16).bytes()).is_ok());
    assert_eq!(two((1 << 16) + 1).refusal().code(), "EFBIG");
    let many = (0..6).fold(Made::new(), |made, i| made.file(&format!("f{i}"), b""));
    let error = many.refusal();
    assert_eq!((error.status().as_u16(), &error.body("")["limit"]), (413, &"MAX_INGEST_FILES".into()));
    let small = Limits { bytes: 10, ..LIMITS };
    let error = read(&Made::new().file("a", b"123456").file("b", b"123456").bytes()[..], small, |data| {
        Ok(Content::Inline(data))
    });
    assert_eq!(error.unwrap_err().body("")["limit"], "MAX_INGEST_BYTES");
}

#[test]
fn lying_headers_make_nothing_large() {
    let mut header = tar::Header::new_gnu();
    header.set_path("a").unwrap();
    header.set_mode(0o644);
    for size in [8 << 60, 1 << 50] {
        header.set_size(size);
        header.set_cksum();
        assert_eq!(parse(header.as_bytes()).unwrap_err().code(), "EFBIG");
    }
    header.set_entry_type(EntryType::GNULongName);
    header.set_cksum();
    let endless = header.as_bytes().chain(io::repeat(b'a'));
    let error = read(endless, LIMITS, |data| Ok(Content::Inline(data))).unwrap_err();
    assert!(error.message().contains("headers of one entry are too large"), "{}", error.message());
}

#[test]
fn every_truncation_is_noticed() {
    let whole = Made::new().file("a", &[b'x'; 700]).file("b", b"y").bytes();
    assert!(parse(&whole).is_ok());
    // The end mark is two blocks; the first of them suffices.
    for cut in 0..whole.len() - 1024 {
        let error = parse(&whole[..cut]).unwrap_err();
        assert_eq!(error.status(), 400, "cut at {cut}");
    }
}

#[test]
fn corruption_is_noticed() {
    let mut bad = Made::new().file("a", b"x").bytes();
    bad[0] ^= 1;
    assert!(parse(&bad).unwrap_err().message().contains("checksum"));
    let mut gz = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
    gz.write_all(&Made::new().file("a", b"x").bytes()).unwrap();
    let mut gz = gz.finish().unwrap();
    let unzip =
        |bytes: &[u8]| read(flate2::read::MultiGzDecoder::new(bytes), LIMITS, |d| Ok(Content::Inline(d)));
    assert!(unzip(&gz).is_ok());
    assert!(unzip(&gz[..gz.len() - 4]).is_err(), "cut within the sum");
    let at = gz.len() - 8;
    gz[at] ^= 1;
    assert!(unzip(&gz).is_err(), "a wrong sum");
}
