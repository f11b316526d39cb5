//! Character sets: names, bytes to characters, characters to bytes.

use encoding_rs::{DecoderResult, EncoderResult, Encoding};

/// What `iconv -l` tells, under the names that are used most.
pub(super) const NAMES: &[&str] = &[
    "ASCII",
    "BIG5",
    "CP866",
    "CP874",
    "CP932",
    "CP1250",
    "CP1251",
    "CP1252",
    "CP1253",
    "CP1254",
    "CP1255",
    "CP1256",
    "CP1257",
    "CP1258",
    "EUC-JP",
    "EUC-KR",
    "GB18030",
    "GBK",
    "ISO-2022-JP",
    "ISO-8859-1",
    "ISO-8859-2",
    "ISO-8859-3",
    "ISO-8859-4",
    "ISO-8859-5",
    "ISO-8859-6",
    "ISO-8859-7",
    "ISO-8859-8",
    "ISO-8859-9",
    "ISO-8859-10",
    "ISO-8859-13",
    "ISO-8859-14",
    "ISO-8859-15",
    "ISO-8859-16",
    "KOI8-R",
    "KOI8-U",
    "MACINTOSH",
    "SHIFT_JIS",
    "UTF-8",
    "UTF-16",
    "UTF-16BE",
    "UTF-16LE",
    "UTF-32",
    "UTF-32BE",
    "UTF-32LE",
];

/// A character set.
#[derive(Clone, Copy)]
pub(super) enum Charset {
    Ascii,
    Latin1,
    Utf8,
    /// Bytes of a unit, 2 or 4; whether the high byte comes first; whether a mark tells.
    Wide(usize, bool, bool),
    Other(&'static Encoding),
}

/// Why bytes are no character.
pub(super) enum Bad {
    /// They end too early.
    Cut,
    /// So many of them belong together and mean nothing.
    Illegal(usize),
}

impl Charset {
    /// By name, in any case.
    pub(super) fn find(name: &str) -> Option<Self> {
        let upper = name.trim().to_ascii_uppercase().replace('_', "-");
        Some(match upper.as_str() {
            "ASCII" | "US-ASCII" | "ANSI-X3.4-1968" | "646" | "C" => Self::Ascii,
            "LATIN1" | "LATIN-1" | "L1" | "ISO-8859-1" | "ISO8859-1" | "ISO88591" | "8859-1" => Self::Latin1,
            "UTF8" | "UTF-8" => Self::Utf8,
            "UTF16" | "UTF-16" | "UCS-2" | "UCS2" | "UNICODE" => Self::Wide(2, false, true),
            "UTF16LE" | "UTF-16LE" | "UCS-2LE" => Self::Wide(2, false, false),
            "UTF16BE" | "UTF-16BE" | "UCS-2BE" => Self::Wide(2, true, false),
            "UTF32" | "UTF-32" => Self::Wide(4, false, true),
            "UTF32LE" | "UTF-32LE" | "UCS-4LE" => Self::Wide(4, false, false),
            "UTF32BE" | "UTF-32BE" | "UCS-4BE" | "UCS-4" | "UCS4" => Self::Wide(4, true, false),
            other => Self::Other(labelled(other)?),
        })
    }

    /// What a text begins with.
    pub(super) fn begin(self, out: &mut Vec<u8>) {
        if let Self::Wide(_, _, true) = self {
            self.encode('\u{feff}', out);
        }
    }

    /// Bytes of the mark at the start of a text, which is no part of it.
    pub(super) fn mark(self, data: &[u8]) -> usize {
        match self {
            Self::Wide(2, _, true) if data.starts_with(&[0xff, 0xfe]) || data.starts_with(&[0xfe, 0xff]) => 2,
            Self::Wide(4, _, true)
                if data.starts_with(&[0xff, 0xfe, 0, 0]) || data.starts_with(&[0, 0, 0xfe, 0xff]) =>
            {
                4
            }
            _ => 0,
        }
    }

    /// Appends the characters from `at` on, up to what is none.
    pub(super) fn decode(self, data: &[u8], at: &mut usize, text: &mut String) -> Option<Bad> {
        let rest = &data[*at..];
        match self {
            Self::Latin1 => {
                text.extend(rest.iter().map(|&byte| char::from(byte)));
                *at = data.len();
                None
            }
            Self::Ascii => {
                let good = rest.iter().position(|byte| !byte.is_ascii()).unwrap_or(rest.len());
                text.extend(rest[..good].iter().map(|&byte| char::from(byte)));
                *at += good;
                (good < rest.len()).then_some(Bad::Illegal(1))
            }
            Self::Utf8 => {
                let (good, bad) = match std::str::from_utf8(rest) {
                    Ok(_) => (rest.len(), None),
                    Err(error) => {
                        (error.valid_up_to(), Some(error.error_len().map_or(Bad::Cut, Bad::Illegal)))
                    }
                };
                text.push_str(std::str::from_utf8(&rest[..good]).unwrap_or_default());
                *at += good;
                bad
            }
            Self::Wide(unit, high_first, marked) => {
                let high_first = if marked && self.mark(data) > 0 { data[0] != 0xff } else { high_first };
                wide(unit, high_first, data, at, text)
            }
            Self::Other(encoding) => {
                let mut decoder = encoding.new_decoder_without_bom_handling();
                let most = decoder.max_utf8_buffer_length_without_replacement(rest.len());
                text.reserve(most.unwrap_or(rest.len()));
                let (result, read) = decoder.decode_to_string_without_replacement(rest, text, true);
                *at += read;
                match result {
                    DecoderResult::Malformed(length, extra) => {
                        // The decoder has gone past them already.
                        let (length, extra) = (usize::from(length), usize::from(extra));
                        *at -= length + extra;
                        Some(Bad::Illegal(length))
                    }
                    DecoderResult::InputEmpty | DecoderResult::OutputFull => None,
                }
            }
        }
    }

    /// Appends the bytes of a character; `false` if the set lacks it.
    pub(super) fn encode(self, char: char, out: &mut Vec<u8>) -> bool {
        match self {
            Self::Ascii if char.is_ascii() => out.push(char as u8),
            Self::Latin1 if u32::from(char) < 0x100 => out.push(char as u8),
            Self::Utf8 => out.extend_from_slice(char.encode_utf8(&mut [0; 4]).as_bytes()),
            Self::Wide(2, high_first, _) => {
                for &unit in &*char.encode_utf16(&mut [0; 2]) {
                    out.extend(if high_first { unit.to_be_bytes() } else { unit.to_le_bytes() });
                }
            }
            Self::Wide(_, high_first, _) => {
                let unit = u32::from(char);
                out.extend(if high_first { unit.to_be_bytes() } else { unit.to_le_bytes() });
            }
            Self::Other(encoding) => {
                let (mut text, mut bytes) = ([0; 4], [0; 16]);
                let text = char.encode_utf8(&mut text);
                let (result, _, written) =
                    encoding.new_encoder().encode_from_utf8_without_replacement(text, &mut bytes, true);
                if result != EncoderResult::InputEmpty {
                    return false;
                }
                out.extend_from_slice(&bytes[..written]);
            }
            Self::Ascii | Self::Latin1 => return false,
        }
        true
    }

    /// How many bytes a text takes.
    pub(super) fn length(self, text: &str) -> usize {
        let mut bytes = Vec::new();
        for char in text.chars() {
            self.encode(char, &mut bytes);
        }
        bytes.len()
    }
}

/// The set of a label, under its own name: the web's tables read more under some of
/// theirs (ISO-8859-9 as windows-1254), but for control characters the same.
fn labelled(name: &str) -> Option<&'static Encoding> {
    let windows = name.strip_prefix("CP").or_else(|| name.strip_prefix("WINDOWS-"));
    let label = match windows {
        Some("932") => "shift_jis".to_owned(),
        Some("936") => "gbk".to_owned(),
        Some("949") => "euc-kr".to_owned(),
        Some("950") => "big5".to_owned(),
        Some("866") => "ibm866".to_owned(),
        Some("874") => "windows-874".to_owned(),
        Some(number) => format!("windows-{number}"),
        None => match name {
            "SJIS" | "SHIFT-JIS" => "shift_jis".to_owned(),
            "EUCJP" => "euc-jp".to_owned(),
            "EUCKR" => "euc-kr".to_owned(),
            "EUC-CN" | "EUCCN" => "gbk".to_owned(),
            _ => name.replace("ISO8859-", "ISO-8859-").replace("LATIN-", "LATIN"),
        },
    };
    let encoding = Encoding::for_label_no_replacement(label.as_bytes())?;
    // Only marks of web pages stand behind this one.
    (encoding != encoding_rs::X_USER_DEFINED).then_some(encoding)
}

fn wide(unit: usize, high_first: bool, data: &[u8], at: &mut usize, text: &mut String) -> Option<Bad> {
    let number = |bytes: &[u8]| {
        let fold = |sum: u32, byte: &u8| sum << 8 | u32::from(*byte);
        if high_first { bytes.iter().fold(0, fold) } else { bytes.iter().rev().fold(0, fold) }
    };
    while *at < data.len() {
        let Some(first) = data.get(*at..*at + unit) else { return Some(Bad::Cut) };
        let first = number(first);
        let (code, length) = if unit == 2 && (0xd800..0xdc00).contains(&first) {
            let Some(second) = data.get(*at + 2..*at + 4) else { return Some(Bad::Cut) };
            let second = number(second);
            if !(0xdc00..0xe000).contains(&second) {
                return Some(Bad::Illegal(2));
            }
            (0x10000 + ((first - 0xd800) << 10) + (second - 0xdc00), 4)
        } else {
            (first, unit)
        };
        let Some(char) = char::from_u32(code) else { return Some(Bad::Illegal(unit)) };
        text.push(char);
        *at += length;
    }
    None
}
