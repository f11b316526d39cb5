//! Reading of what the shell is given: where statements end, words of its commands, CSV.

/// Whether `sql` ends with a whole statement: its last `;` is in no string, no comment and
/// no body of a trigger.
pub(super) fn is_complete(sql: &str) -> bool {
    let (mut words, mut word) = (Vec::<String>::new(), String::new());
    let (mut ended, mut chars) = (false, sql.chars().peekable());
    let mut trigger_end = false;
    let finish = |word: &mut String, words: &mut Vec<String>, trigger_end: &mut bool| {
        if !word.is_empty() {
            *trigger_end = word.eq_ignore_ascii_case("end");
            if words.len() < 4 {
                words.push(word.to_ascii_lowercase());
            }
            word.clear();
        }
    };
    while let Some(char) = chars.next() {
        if char.is_alphanumeric() || char == '_' {
            word.push(char);
            ended = false;
            continue;
        }
        finish(&mut word, &mut words, &mut trigger_end);
        match char {
            ';' => {
                let body = is_trigger(&words) && !trigger_end;
                ended = !body;
                if ended {
                    words.clear();
                }
                trigger_end = false;
            }
            '-' if chars.peek() == Some(&'-') => {
                for skipped in chars.by_ref() {
                    if skipped == '\n' {
                        break;
                    }
                }
            }
            '/' if chars.peek() == Some(&'*') => {
                chars.next();
                let mut star = false;
                let mut closed = false;
                for skipped in chars.by_ref() {
                    if star && skipped == '/' {
                        closed = true;
                        break;
                    }
                    star = skipped == '*';
                }
                if !closed {
                    return false;
                }
            }
            '\'' | '"' | '`' | '[' => {
                let close = if char == '[' { ']' } else { char };
                if !chars.by_ref().any(|inner| inner == close) {
                    return false;
                }
                (ended, trigger_end) = (false, false);
            }
            _ if char.is_whitespace() => {}
            _ => (ended, trigger_end) = (false, false),
        }
    }
    ended && word.is_empty()
}

fn is_trigger(words: &[String]) -> bool {
    let words: Vec<&str> = words.iter().map(String::as_str).skip_while(|word| *word == "explain").collect();
    matches!(words[..], ["create", "trigger", ..] | ["create", "temp" | "temporary", "trigger", ..])
}

/// The words of a command of the shell, quotes taken off.
pub(super) fn words(line: &str) -> Vec<String> {
    let (mut words, mut chars) = (Vec::new(), line.chars().peekable());
    while let Some(&first) = chars.peek() {
        if first.is_whitespace() {
            chars.next();
            continue;
        }
        let mut word = String::new();
        if first == '\'' || first == '"' {
            chars.next();
            while let Some(char) = chars.next() {
                match char {
                    _ if char == first => break,
                    '\\' if first == '"' => {
                        word.push('\\');
                        word.extend(chars.next());
                    }
                    _ => word.push(char),
                }
            }
            if first == '"' {
                word = unescape(&word);
            }
        } else {
            while let Some(char) = chars.next_if(|char| !char.is_whitespace()) {
                word.push(char);
            }
            word = unescape(&word);
        }
        words.push(word);
    }
    words
}

/// `\t`, `\n`, `\r`, `\\`, `\"` and octal numbers.
pub(super) fn unescape(text: &str) -> String {
    let (mut out, mut chars) = (String::new(), text.chars());
    while let Some(char) = chars.next() {
        if char != '\\' {
            out.push(char);
            continue;
        }
        match chars.next() {
            Some('t') => out.push('\t'),
            Some('n') => out.push('\n'),
            Some('r') => out.push('\r'),
            Some(other) => out.push(other),
            None => out.push('\\'),
        }
    }
    out
}

/// Rows of text that is separated; quotes count if `quotes`.
pub(super) fn separated(text: &str, column: char, quotes: bool) -> Vec<Vec<String>> {
    let (mut rows, mut row, mut cell) = (Vec::new(), Vec::new(), String::new());
    let (mut quoted, mut fresh, mut chars) = (false, true, text.chars().peekable());
    while let Some(char) = chars.next() {
        match char {
            '"' if quoted && chars.peek() == Some(&'"') => {
                chars.next();
                cell.push('"');
            }
            '"' if quoted => quoted = false,
            _ if quoted => cell.push(char),
            '"' if quotes && fresh => quoted = true,
            '\r' if chars.peek() == Some(&'\n') => continue,
            '\n' => {
                row.push(std::mem::take(&mut cell));
                rows.push(std::mem::take(&mut row));
            }
            _ if char == column => row.push(std::mem::take(&mut cell)),
            _ => cell.push(char),
        }
        fresh = !quoted && (char == column || char == '\n');
    }
    if !cell.is_empty() || !row.is_empty() {
        row.push(cell);
        rows.push(row);
    }
    rows
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn statements_end_where_they_end() {
        for whole in [
            "select 1;",
            "select 1; -- x",
            "select ';';",
            "select 1 /* ; */ ;\n",
            "create trigger t after insert on a begin select 1; end;",
            "select \"a;\";",
        ] {
            assert!(is_complete(whole), "{whole}");
        }
        for part in [
            "select 1",
            "select ';",
            "-- ;",
            "select 1; select",
            "/* ;",
            "create trigger t begin select 1;",
            "create temp trigger t begin select 'end';",
        ] {
            assert!(!is_complete(part), "{part}");
        }
    }

    #[test]
    fn csv_has_quotes_and_lines_in_them() {
        let rows = separated("a,\"b \"\"x\"\"\ny\",\r\n1,,3", ',', true);
        assert_eq!(rows, [vec!["a", "b \"x\"\ny", ""], vec!["1", "", "3"]]);
        assert_eq!(words(".separator \"\\t\" 'a b' c"), [".separator", "\t", "a b", "c"]);
    }
}
