//! `s`: how it is read.

use super::parse::Parser;
use super::reader::Reader;
use super::script::{Action, Case, Piece, Substitution};
use super::{escapes, text};

pub(super) fn parse(parser: &mut Parser, reader: &mut Reader<'_>) -> Result<Action, String> {
    let sides = reader.next().and_then(|delimiter| {
        Some((text::delimited(reader, delimiter, true)?, text::delimited(reader, delimiter, false)?))
    });
    let (pattern, replacement) = sides.ok_or_else(|| reader.wrong("unterminated `s' command"))?;
    let replacement = pieces(&replacement).map_err(|message| reader.wrong(message))?;
    let highest = replacement.iter().map(|piece| if let Piece::Group(group) = piece { *group } else { 0 });
    let mut made = Substitution {
        pattern: None,
        highest: highest.max().unwrap_or(0),
        replacement,
        from: 0,
        global: false,
        print: false,
        output: None,
    };
    let (mut ignore_case, mut lines) = (false, false);
    loop {
        let Some(flag) = reader.next() else { break };
        match flag {
            b'i' | b'I' => ignore_case = true,
            b'm' | b'M' => lines = true,
            b'g' | b'p' => {
                let set = if flag == b'g' { &mut made.global } else { &mut made.print };
                if std::mem::replace(set, true) {
                    let flag = char::from(flag);
                    return Err(reader.wrong(format_args!("multiple `{flag}' options to `s' command")));
                }
            }
            b'0'..=b'9' => {
                if made.from > 0 {
                    return Err(reader.wrong("multiple number options to `s' command"));
                }
                reader.at -= 1;
                made.from = reader.number().unwrap_or(0);
                if made.from == 0 {
                    return Err(reader.wrong("number option to `s' command may not be zero"));
                }
            }
            b'e' | b'w' if parser.dialect.sandbox => {
                return Err(reader.wrong("e/r/w commands disabled in sandbox mode"));
            }
            b'e' => {
                return Err(reader.wrong("option `e' to `s' is not supported: it would run a program"));
            }
            b'w' => {
                made.output = Some(parser.output(reader)?);
                break;
            }
            b'}' | b'#' => {
                reader.at -= 1;
                break;
            }
            b'\n' | b';' => break,
            b'\r' if reader.peek() == Some(b'\n') => break,
            b' ' | b'\t' => {}
            _ => return Err(reader.wrong("unknown option to `s'")),
        }
    }
    made.from = made.from.max(1);
    made.pattern = parser.pattern(reader, &pattern, ignore_case, lines)?;
    if let Some(groups) = made.pattern.as_ref().map(|pattern| pattern.groups())
        && made.highest > groups
    {
        return Err(reader.wrong(format_args!("invalid reference \\{} on `s' command's RHS", made.highest)));
    }
    Ok(Action::Substitute(Box::new(made)))
}

fn pieces(text: &[u8]) -> Result<Vec<Piece>, &'static str> {
    let (mut pieces, mut plain, mut at) = (Vec::new(), Vec::new(), 0);
    while at < text.len() {
        let special = match (text[at], text.get(at + 1)) {
            (b'&', _) => {
                at += 1;
                Piece::Group(0)
            }
            (b'\\', Some(sign)) => {
                if let Some((byte, taken)) = escapes::byte(&text[at + 1..])? {
                    plain.push(byte);
                    at += 1 + taken;
                    continue;
                }
                at += 2;
                match sign {
                    b'0'..=b'9' => Piece::Group(usize::from(sign - b'0')),
                    b'U' => Piece::Case(Case::Upper),
                    b'L' => Piece::Case(Case::Lower),
                    b'u' => Piece::Case(Case::NextUpper),
                    b'l' => Piece::Case(Case::NextLower),
                    b'E' => Piece::Case(Case::Same),
                    b'n' => {
                        plain.push(b'\n');
                        continue;
                    }
                    other => {
                        plain.push(*other);
                        continue;
                    }
                }
            }
            (byte, _) => {
                plain.push(byte);
                at += 1;
                continue;
            }
        };
        if !plain.is_empty() {
            pieces.push(Piece::Text(std::mem::take(&mut plain)));
        }
        pieces.push(special);
    }
    if !plain.is_empty() {
        pieces.push(Piece::Text(plain));
    }
    Ok(pieces)
}
