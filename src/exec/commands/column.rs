//! `column`, as of util-linux 2.38: tables, and lists in columns. Left out: `-J`, trees,
//! `-O`, `-W`, `-T`, `-E`.

use unicode_width::UnicodeWidthStr as _;

use super::options::{self, Given, HELP, Spec, Takes};
use super::{Answer, Call};

const HEADER_OFF: char = 'd';

const SPECS: &[Spec] = &[
    ('t', "table", Takes::Nothing),
    ('s', "separator", Takes::Argument),
    ('o', "output-separator", Takes::Argument),
    ('N', "table-columns", Takes::Argument),
    ('R', "table-right", Takes::Argument),
    ('H', "table-hide", Takes::Argument),
    ('l', "table-columns-limit", Takes::Argument),
    (HEADER_OFF, "table-noheadings", Takes::Nothing),
    ('e', "table-header-repeat", Takes::Nothing),
    ('L', "keep-empty-lines", Takes::Nothing),
    ('n', "table-name", Takes::Argument),
    ('c', "output-width", Takes::Argument),
    ('x', "fillrows", Takes::Nothing),
    ('h', "", Takes::Nothing),
    (HELP, "help", Takes::Nothing),
    ('V', "version", Takes::Nothing),
];

const USAGE: &str = "\
Usage: column [options] [<file>...]
Columnate lists.

 -t, --table                      create a table
 -n, --table-name <name>          taken, and of no effect
 -N, --table-columns <names>      comma separated columns names
 -l, --table-columns-limit <num>  maximal number of input columns
 -d, --table-noheadings           don't print header
 -H, --table-hide <columns>       don't print the columns
 -R, --table-right <columns>      right align text in these columns
 -L, --keep-empty-lines           don't ignore empty lines
 -s, --separator <string>         possible table delimiters
 -o, --output-separator <string>  columns separator for table output (default is two spaces)
 -c, --output-width <width>       width of output in number of characters
 -x, --fillrows                   fill rows before columns
";

/// Columns of a terminal that is none.
const WIDTH: usize = 80;
const TAB: usize = 8;

#[derive(Default)]
struct Table<'a> {
    /// Characters that part cells; blanks in rows count as one where none are given.
    separators: Option<&'a str>,
    between: &'a str,
    names: Vec<&'a str>,
    right: &'a str,
    hidden: &'a str,
    limit: Option<usize>,
    header: bool,
}

/// Runs it.
pub(super) fn run(call: &Call<'_>) -> Answer {
    let mut answer = Answer::default();
    let Given { options: given, operands, .. } = match options::parse(call.args, SPECS) {
        Ok(given) => given,
        Err(message) => {
            answer.misused(1, "column", &message);
            return answer;
        }
    };
    let mut table = Table { between: "  ", header: true, ..Table::default() };
    let (mut is_table, mut keep_empty, mut width, mut rows_first) = (false, false, WIDTH, false);
    for (letter, value) in given {
        let value = value.unwrap_or_default();
        match letter {
            't' => is_table = true,
            's' => table.separators = Some(value),
            'o' => table.between = value,
            'N' => table.names = value.split(',').collect(),
            'R' => table.right = value,
            'H' => table.hidden = value,
            'L' => keep_empty = true,
            'x' => rows_first = true,
            HEADER_OFF => table.header = false,
            'l' | 'c' => match value.parse::<usize>() {
                Ok(number) if letter == 'c' => width = number,
                Ok(number) if number > 0 => table.limit = Some(number),
                _ => {
                    let what = if letter == 'c' { "columns" } else { "columns limit" };
                    answer.complain(1, format!("column: invalid {what} argument: '{value}'"));
                    return answer;
                }
            },
            'h' | HELP | 'V' => {
                let text = if letter == 'V' { "column (sqlfs), after util-linux 2.38.1\n" } else { USAGE };
                answer.stdout.extend_from_slice(text.as_bytes());
                return answer;
            }
            _ => {}
        }
    }
    let mut text = String::new();
    let names = if operands.is_empty() { vec!["-"] } else { operands };
    for name in names {
        match call.read(name) {
            Ok(data) => {
                text.push_str(&String::from_utf8_lossy(&data));
                if !text.is_empty() && !text.ends_with('\n') {
                    text.push('\n');
                }
            }
            Err(errno) => answer.complain(1, format!("column: {name}: {errno}")),
        }
    }
    let lines = text.lines().filter(|line| keep_empty || !line.trim().is_empty());
    let out = if is_table { table.print(lines) } else { fill(&lines.collect::<Vec<_>>(), width, rows_first) };
    answer.stdout = out.into_bytes();
    answer
}

impl<'a> Table<'a> {
    fn cells(&self, line: &'a str) -> Vec<&'a str> {
        let limit = self.limit.unwrap_or(usize::MAX);
        let (mut cells, mut rest) = (Vec::new(), line);
        let Some(separators) = self.separators else {
            rest = rest.trim_start();
            while !rest.is_empty() {
                let end = if cells.len() + 1 >= limit { None } else { rest.find([' ', '\t']) };
                cells.push(&rest[..end.unwrap_or(rest.len())]);
                rest = end.map_or("", |end| rest[end..].trim_start());
            }
            return cells;
        };
        loop {
            let end =
                if cells.len() + 1 >= limit { None } else { rest.find(|char| separators.contains(char)) };
            let Some(end) = end else { break };
            cells.push(&rest[..end]);
            let mut after = rest[end..].chars();
            after.next();
            rest = after.as_str();
        }
        cells.push(rest);
        cells
    }

    /// Whether a list of columns has this one, by number from 1, name, or `0` for all.
    fn lists(&self, list: &str, column: usize) -> bool {
        list.split(',').any(|word| match word.parse::<usize>() {
            Ok(number) => number == 0 || number == column + 1,
            Err(_) => !word.is_empty() && self.names.get(column) == Some(&word),
        })
    }

    fn print(&self, lines: impl Iterator<Item = &'a str>) -> String {
        let mut rows: Vec<Vec<&str>> = Vec::new();
        if !self.names.is_empty() && self.header {
            rows.push(self.names.clone());
        }
        rows.extend(lines.map(|line| self.cells(line)));
        let columns = rows.iter().map(Vec::len).max().unwrap_or(0).max(self.names.len());
        let shown: Vec<usize> = (0..columns).filter(|&column| !self.lists(self.hidden, column)).collect();
        let cell = |row: &[&'a str], column: usize| row.get(column).copied().unwrap_or_default();
        let widths: Vec<usize> = shown
            .iter()
            .map(|&column| rows.iter().map(|row| cell(row, column).width()).max().unwrap_or(0))
            .collect();
        let mut out = String::new();
        for row in &rows {
            for (at, (&column, &width)) in shown.iter().zip(&widths).enumerate() {
                let (text, last) = (cell(row, column), at + 1 == shown.len());
                let blanks = " ".repeat(width - text.width());
                if self.lists(self.right, column) {
                    out.push_str(&blanks);
                    out.push_str(text);
                } else {
                    out.push_str(text);
                    if !last {
                        out.push_str(&blanks);
                    }
                }
                if !last {
                    out.push_str(self.between);
                }
            }
            out.push('\n');
        }
        out
    }
}

/// A list in columns that begin at tab stops.
fn fill(lines: &[&str], width: usize, rows_first: bool) -> String {
    let longest = lines.iter().map(|line| line.width()).max().unwrap_or(0);
    let step = (longest / TAB + 1) * TAB;
    let columns = (width / step).max(1);
    let mut out = String::new();
    if longest >= width {
        for line in lines {
            out.extend([*line, "\n"]);
        }
        return out;
    }
    let rows = lines.len().div_ceil(columns);
    for row in 0..rows {
        let cells: Vec<&str> = if rows_first {
            lines[row * columns..].iter().take(columns).copied().collect()
        } else {
            lines.iter().skip(row).step_by(rows).copied().collect()
        };
        for (at, cell) in cells.iter().enumerate() {
            out.push_str(cell);
            if at + 1 < cells.len() {
                let tabs = (step - cell.width()).div_ceil(TAB);
                out.extend(std::iter::repeat_n('\t', tabs));
            }
        }
        out.push('\n');
    }
    out
}
