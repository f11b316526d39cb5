//! Zip archives as bytes (APPNOTE 6.3, without Zip64).

use chrono::{DateTime, Datelike as _, Timelike as _};

/// One file of an archive.
pub(in crate::exec::commands) struct Entry {
    pub(in crate::exec::commands) name: String,
    pub(in crate::exec::commands) deflated: bool,
    /// Date and time as DOS has them.
    pub(in crate::exec::commands) time: u32,
    pub(in crate::exec::commands) crc: u32,
    /// Unpacked.
    pub(in crate::exec::commands) size: u32,
    /// Type and permission bits.
    pub(in crate::exec::commands) mode: u32,
    pub(in crate::exec::commands) packed: Vec<u8>,
}

const LOCAL: u32 = 0x0403_4b50;
const CENTRAL: u32 = 0x0201_4b50;
const END: u32 = 0x0605_4b50;
/// Names are UTF-8.
const UTF8: u16 = 1 << 11;
/// Unix, version 3.0.
const MADE_BY: u16 = 3 << 8 | 30;

/// Two seconds exact, from 1980 on.
pub(in crate::exec::commands) fn dos_time(ns: i64) -> u32 {
    let time = DateTime::from_timestamp_nanos(ns);
    let year = time.year().clamp(1980, 2107) as u32 - 1980;
    let date = year << 9 | time.month() << 5 | time.day();
    date << 16 | time.hour() << 11 | time.minute() << 5 | time.second() / 2
}

fn u16_at(data: &[u8], at: usize) -> Option<u16> {
    Some(u16::from_le_bytes(data.get(at..at + 2)?.try_into().ok()?))
}

fn u32_at(data: &[u8], at: usize) -> Option<u32> {
    Some(u32::from_le_bytes(data.get(at..at + 4)?.try_into().ok()?))
}

/// The entries of an archive; `None` when it is none.
pub(in crate::exec::commands) fn read(data: &[u8]) -> Option<Vec<Entry>> {
    let first = data.len().checked_sub(22)?;
    let end = (first.saturating_sub(0xffff)..=first).rev().find(|at| u32_at(data, *at) == Some(END))?;
    let count = u16_at(data, end + 10)?;
    let mut at = u32_at(data, end + 16)? as usize;
    let mut entries = Vec::new();
    for _ in 0..count {
        if u32_at(data, at)? != CENTRAL {
            return None;
        }
        let (name_len, extra, comment) =
            (u16_at(data, at + 28)?, u16_at(data, at + 30)?, u16_at(data, at + 32)?);
        let method = u16_at(data, at + 10)?;
        let packed = u32_at(data, at + 20)? as usize;
        let local = u32_at(data, at + 42)? as usize;
        let start =
            local + 30 + usize::from(u16_at(data, local + 26)?) + usize::from(u16_at(data, local + 28)?);
        let name_end = at + 46 + usize::from(name_len);
        if !matches!(method, 0 | 8) {
            return None;
        }
        entries.push(Entry {
            name: String::from_utf8(data.get(at + 46..name_end)?.to_vec()).ok()?,
            deflated: method == 8,
            time: u32_at(data, at + 12)?,
            crc: u32_at(data, at + 16)?,
            size: u32_at(data, at + 24)?,
            mode: u32_at(data, at + 38)? >> 16,
            packed: data.get(start..start.checked_add(packed)?)?.to_vec(),
        });
        at = name_end + usize::from(extra) + usize::from(comment);
    }
    Some(entries)
}

/// The archive.
pub(in crate::exec::commands) fn write(entries: &[Entry]) -> Vec<u8> {
    let (mut out, mut central) = (Vec::new(), Vec::new());
    for entry in entries {
        let offset = out.len() as u32;
        let mut common = Vec::new();
        let (needs, method): (u16, u16) = if entry.deflated { (20, 8) } else { (10, 0) };
        let flags = if entry.name.is_ascii() { 0 } else { UTF8 };
        for word in [needs, flags, method] {
            common.extend_from_slice(&word.to_le_bytes());
        }
        for word in [entry.time, entry.crc, entry.packed.len() as u32, entry.size] {
            common.extend_from_slice(&word.to_le_bytes());
        }
        common.extend_from_slice(&(entry.name.len() as u16).to_le_bytes());
        common.extend_from_slice(&0_u16.to_le_bytes());
        out.extend_from_slice(&LOCAL.to_le_bytes());
        out.extend_from_slice(&common);
        out.extend_from_slice(entry.name.as_bytes());
        out.extend_from_slice(&entry.packed);
        central.extend_from_slice(&CENTRAL.to_le_bytes());
        central.extend_from_slice(&MADE_BY.to_le_bytes());
        central.extend_from_slice(&common);
        // No comment, first disk, no internal attributes.
        central.extend_from_slice(&[0; 6]);
        let dos = if entry.name.ends_with('/') { 0x10 } else { 0 };
        central.extend_from_slice(&(entry.mode << 16 | dos).to_le_bytes());
        central.extend_from_slice(&offset.to_le_bytes());
        central.extend_from_slice(entry.name.as_bytes());
    }
    let (start, size, count) = (out.len() as u32, central.len() as u32, entries.len() as u16);
    out.extend_from_slice(&central);
    out.extend_from_slice(&END.to_le_bytes());
    out.extend_from_slice(&[0; 4]);
    out.extend_from_slice(&count.to_le_bytes());
    out.extend_from_slice(&count.to_le_bytes());
    out.extend_from_slice(&size.to_le_bytes());
    out.extend_from_slice(&start.to_le_bytes());
    out.extend_from_slice(&[0; 2]);
    out
}
