//! Part E: archives that lie, made here and put into the sandbox.

use super::Answer::{Ends, Exit, Prints};
use super::{Line, gzip, line};

/// A tar archive of one entry, its header as it stands, with a right checksum.
fn tar(name: &str, kind: u8, link: &str, size: &[u8], data: &[u8]) -> Vec<u8> {
    let mut header = [0_u8; 512];
    let mut put = |at: usize, bytes: &[u8]| header[at..at + bytes.len()].copy_from_slice(bytes);
    put(0, name.as_bytes());
    put(100, b"0000644\0");
    put(124, size);
    put(136, b"00000000000\0");
    put(148, b"        ");
    put(156, &[kind]);
    put(157, link.as_bytes());
    put(257, b"ustar\x0000");
    let sum: u32 = header.iter().map(|&byte| u32::from(byte)).sum();
    header[148..156].copy_from_slice(format!("{sum:06o}\0 ").as_bytes());
    let mut archive = header.to_vec();
    archive.extend_from_slice(data);
    archive.resize(archive.len().next_multiple_of(512), 0);
    archive
}

fn ended(mut archive: Vec<u8>) -> Vec<u8> {
    archive.resize(archive.len() + 1024, 0);
    archive
}

const ONE: &[u8] = b"00000000001\0";
const NONE: &[u8] = b"00000000000\0";

fn crc(data: &[u8]) -> u32 {
    let mut crc = flate2::Crc::new();
    crc.update(data);
    crc.sum()
}

/// An xz stream whose only block asks for a dictionary of 4 GiB.
fn greedy_xz() -> Vec<u8> {
    let mut stream = b"\xfd7zXZ\0\x00\x00".to_vec();
    stream.extend(crc(&stream[6..8]).to_le_bytes());
    // Header size, no flags, LZMA2 with one byte of properties: the largest dictionary.
    let mut block = vec![0x02, 0x00, 0x21, 0x01, 40, 0, 0, 0];
    block.extend(crc(&block).to_le_bytes());
    stream.extend(block);
    stream.extend([0x01, 0x00, 0x00, b'x', 0x00, 0x00, 0x00, 0x00]);
    stream
}

/// A zip archive of one stored entry with a checksum.
fn zip(data: &[u8], crc: u32) -> Vec<u8> {
    let common = |out: &mut Vec<u8>| {
        out.extend([20, 0, 0, 0, 0, 0, 0, 0, 0x21, 0x50]);
        out.extend(crc.to_le_bytes());
        out.extend((data.len() as u32).to_le_bytes());
        out.extend((data.len() as u32).to_le_bytes());
        out.extend([1, 0, 0, 0]);
    };
    let mut out = b"PK\x03\x04".to_vec();
    common(&mut out);
    out.push(b'f');
    out.extend_from_slice(data);
    let start = out.len() as u32;
    out.extend(b"PK\x01\x02\x14\x00");
    common(&mut out);
    out.extend([0; 14]);
    out.push(b'f');
    let size = out.len() as u32 - start;
    out.extend(b"PK\x05\x06\0\0\0\0\x01\0\x01\0");
    out.extend(size.to_le_bytes());
    out.extend(start.to_le_bytes());
    out.extend([0, 0]);
    out
}

pub(super) fn files() -> Vec<(&'static str, Vec<u8>)> {
    let mut through = tar("l", b'2', "/", NONE, b"");
    through.extend(tar("l/x", b'0', "", ONE, b"x"));
    vec![
        ("up.tar", ended(tar("../../x", b'0', "", ONE, b"x"))),
        ("abs.tar", ended(tar("/abs", b'0', "", ONE, b"x"))),
        ("through.tar", ended(through)),
        ("bomb.gz", gzip(&vec![0; 60 << 20])),
        ("greedy.xz", greedy_xz()),
        ("huge.tar", ended(tar("f", b'0', "", b"\x80\0\0\0\x7f\xff\xff\xff\xff\xff\xff\xff", b""))),
        ("negative.tar", ended(tar("f", b'0', "", &[0xff; 12], b""))),
        ("letters.tar", ended(tar("f", b'0', "", b"zzzzzzzzzzz\0", b""))),
        ("sparse.tar", ended(tar("f", b'S', "", b"77777777777\0", b""))),
        ("good.zip", zip(b"text", crc(b"text"))),
        ("wrong.zip", zip(b"text", 1)),
    ]
}

pub(super) fn lines() -> Vec<Line> {
    vec![
        // Nothing is written outside of where the archive is unpacked.
        line(
            73,
            "mkdir -p d/e; cd d/e; tar xf ~/up.tar 2>&1; echo $?; ls -A . ..; ls -A ~ / | grep -c '^x$'",
            Prints(
                "tar: ../../x: Member name contains '..'\n\
                 tar: Exiting with failure status due to previous errors\n2\n.:\n\n..:\ne\n0\n",
            ),
        ),
        // As GNU's: it goes below where it is unpacked.
        line(
            73,
            "mkdir d; cd d; tar xf ~/abs.tar 2>&1; echo $?; ls -A; ls / | grep -c abs",
            Prints("tar: Removing leading `/' from member names\n0\nabs\n0\n"),
        ),
        line(
            73,
            "mkdir d; cd d; tar xf ~/through.tar 2>&1; echo $?; ls -A; ls / | grep -c '^x$'",
            Prints(
                "tar: l/x: Cannot open: Not a directory\n\
                 tar: Exiting with failure status due to previous errors\n2\nl\n0\n",
            ),
        ),
        line(74, "gunzip bomb.gz; ls bomb*", Prints("bomb.gz\n")),
        line(74, "gunzip bomb.gz", Exit(1, "larger than a file may be")),
        line(74, "zcat bomb.gz | wc -c", Prints("62914560\n")),
        line(74, "xz -dc greedy.xz", Exit(1, "Memory usage limit of 66 MiB reached")),
        line(74, "zstd -d x.zst", Exit(127, "command not found")),
        line(75, "tar tf huge.tar; tar xf huge.tar; echo $?; ls f", Ends),
        line(75, "tar xf negative.tar; echo $?; ls f", Ends),
        line(75, "tar xf letters.tar; echo $?; ls f", Ends),
        line(75, "tar xf sparse.tar; echo $?; ls f", Ends),
        // The control: this form of archive is read when it is right.
        line(76, "unzip -p good.zip", Prints("text")),
        line(76, "unzip wrong.zip", Exit(2, "bad CRC")),
        line(76, "for i in {1..2000}; do : > e$i; done; zip -q z.zip e* && unzip -l z.zip | tail -1", Ends),
        line(77, "tar cf t.tar . ; echo $?; tar tf t.tar | grep -c t.tar", Ends),
        line(77, "echo x > f; gzip -c < f > f; zcat f", Ends),
    ]
}
