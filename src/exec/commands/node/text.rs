//! Encodings of `Buffer`.

use base64::Engine as _;
use base64::alphabet;
use base64::engine::{DecodePaddingMode, GeneralPurpose, GeneralPurposeConfig};

/// As Node reads it: with or without padding, whatever stands in the last bits.
const LENIENT: GeneralPurpose = GeneralPurpose::new(
    &alphabet::STANDARD,
    GeneralPurposeConfig::new()
        .with_decode_padding_mode(DecodePaddingMode::Indifferent)
        .with_decode_allow_trailing_bits(true),
);

/// Bytes as text.
pub(super) fn decode(bytes: &[u8], encoding: &str) -> String {
    match encoding {
        "hex" => bytes.iter().fold(String::with_capacity(bytes.len() * 2), |mut text, byte| {
            for digit in [byte >> 4, byte & 15] {
                text.push(char::from_digit(digit.into(), 16).unwrap_or('0'));
            }
            text
        }),
        "base64" => base64::engine::general_purpose::STANDARD.encode(bytes),
        "base64url" => base64::engine::general_purpose::URL_SAFE_NO_PAD.encode(bytes),
        "latin1" => bytes.iter().map(|&byte| char::from(byte)).collect(),
        "ascii" => bytes.iter().map(|&byte| char::from(byte & 127)).collect(),
        "utf16le" => {
            let units: Vec<u16> =
                bytes.chunks_exact(2).map(|pair| u16::from_le_bytes([pair[0], pair[1]])).collect();
            String::from_utf16_lossy(&units)
        }
        _ => String::from_utf8_lossy(bytes).into_owned(),
    }
}

/// Text as bytes.
pub(super) fn encode(text: String, encoding: &str) -> Vec<u8> {
    match encoding {
        "hex" => {
            let digits: Vec<_> = text.chars().map_while(|digit| digit.to_digit(16)).collect();
            digits.chunks_exact(2).map(|pair| (pair[0] * 16 + pair[1]) as u8).collect()
        }
        "base64" | "base64url" => {
            let mut kept: Vec<u8> = text
                .bytes()
                .take_while(|&byte| byte != b'=')
                .filter_map(|byte| match byte {
                    b'-' => Some(b'+'),
                    b'_' => Some(b'/'),
                    b'+' | b'/' => Some(byte),
                    _ => byte.is_ascii_alphanumeric().then_some(byte),
                })
                .collect();
            // A single digit at the end is no byte.
            if kept.len() % 4 == 1 {
                kept.pop();
            }
            LENIENT.decode(kept).unwrap_or_default()
        }
        "latin1" | "ascii" => text.encode_utf16().map(|unit| unit as u8).collect(),
        "utf16le" => text.encode_utf16().flat_map(u16::to_le_bytes).collect(),
        _ => text.into_bytes(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn encodings_are_those_of_node() {
        assert_eq!(decode(&[0, 171, 255], "hex"), "00abff");
        assert_eq!(encode("00abFFz1".into(), "hex"), [0, 171, 255]);
        assert_eq!(encode("aGk".into(), "base64"), b"hi");
        assert_eq!(encode("aG k=\n".into(), "base64"), b"hi");
        assert_eq!(encode("_-8".into(), "base64url"), [255, 239]);
        assert_eq!(encode("é€".into(), "latin1"), [0xe9, 0xac]);
        assert_eq!(decode(&encode("aé😀".into(), "utf16le"), "utf16le"), "aé😀");
    }
}
