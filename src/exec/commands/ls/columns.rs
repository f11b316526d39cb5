//! Names in columns and in lines.

/// Where a tab leads.
const TAB: usize = 8;

fn width(name: &str) -> usize {
    name.chars().count()
}

/// In columns, sorted downwards or across, as many as fit into a line.
pub(super) fn columns(names: &[String], line: usize, down: bool, out: &mut String) {
    let widths: Vec<usize> = names.iter().map(|name| width(name)).collect();
    let line = if line == 0 { usize::MAX } else { line };
    let most = names.len().min(line / 3).max(1);
    let place = |at: usize, columns: usize| {
        let rows = names.len().div_ceil(columns);
        if down { (at % rows, at / rows) } else { (at / columns, at % columns) }
    };
    let measure = |columns: usize| {
        let mut wide = vec![3; columns];
        for (at, width) in widths.iter().enumerate() {
            let column = place(at, columns).1;
            wide[column] = wide[column].max(width + if column + 1 == columns { 0 } else { 2 });
        }
        wide
    };
    let (mut columns, mut wide) = (1, measure(1));
    for count in (2..=most).rev() {
        let measured = measure(count);
        if measured.iter().sum::<usize>() < line {
            (columns, wide) = (count, measured);
            break;
        }
    }
    let rows = names.len().div_ceil(columns);
    for row in 0..rows {
        let (mut at, mut start) = (0, 0);
        for column in 0..columns {
            let index = if down { column * rows + row } else { row * columns + column };
            let Some(name) = names.get(index) else { break };
            indent(&mut at, start, out);
            out.push_str(name);
            at += widths[index];
            start += wide[column];
        }
        out.push('\n');
    }
}

fn indent(at: &mut usize, to: usize, out: &mut String) {
    while *at < to {
        if to / TAB > (*at + 1) / TAB {
            out.push('\t');
            *at += TAB - *at % TAB;
        } else {
            out.push(' ');
            *at += 1;
        }
    }
}

/// With commas, wrapped.
pub(super) fn commas(names: &[String], line: usize, out: &mut String) {
    let mut at = 0;
    for (index, name) in names.iter().enumerate() {
        let width = width(name);
        if index > 0 {
            let fits = line == 0 || at + width + 2 < line;
            out.push_str(if fits { ", " } else { ",\n" });
            at = if fits { at + 2 } else { 0 };
        }
        out.push_str(name);
        at += width;
    }
    if !names.is_empty() {
        out.push('\n');
    }
}
