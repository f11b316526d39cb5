//! `split`, as of GNU coreutils 9.1, byte for byte. Left out: `--filter`.

use self::names::Names;
use self::order::{Order, Part, Way};
use super::input::{input, is_stdin};
use super::{Answer, Call, new_name, quote};

mod names;
mod order;

/// Runs it.
pub(super) fn run(call: &Call<'_>) -> Answer {
    let order = match Order::of(call.args) {
        Ok(order) => order,
        Err(refusal) => return refusal.answer("split", 1),
    };
    let mut answer = Answer::default();
    if let Err(message) = work(call, &order, &mut answer) {
        answer.complain(1, format!("split: {message}"));
    }
    answer
}

fn work(call: &Call<'_>, order: &Order<'_>, answer: &mut Answer) -> Result<(), String> {
    let data = input(call, order.input).map_err(|errno| match errno {
        crate::fs::Errno::EISDIR => format!("{}: {errno}", quote::when_needed(order.input)),
        errno => format!("cannot open {} for reading: {errno}", quote::always(order.input)),
    })?;
    let input = (!is_stdin(call, order.input)).then(|| call.path(order.input));
    let mut pieces = Pieces { call, order, input, names: order.names.clone(), answer };
    match order.way {
        Way::Lines(count) => pieces.by_lines(&data, count),
        Way::Bytes(size) => data.chunks(size).try_for_each(|piece| pieces.make(piece)),
        Way::LineBytes(size) => pieces.by_line_bytes(&data, size),
        Way::Chunks { part, number, only } => {
            let chunks = match part {
                Part::Bytes => byte_chunks(&data, number),
                Part::Lines => line_chunks(&data, number, order.end),
                Part::Round => return pieces.round(&data, number, only),
            };
            match only {
                Some(only) => pieces.answer.stdout.extend_from_slice(chunks(only)),
                None => (0..number).try_for_each(|at| pieces.make(chunks(at)))?,
            }
            Ok(())
        }
    }
}

/// The beginning of each chunk: all are equally long, but for the last one, which has the rest.
/// There is a byte for each as long as there are bytes.
fn chunk_start(data: &[u8], number: usize, at: usize) -> usize {
    let size = (data.len() / number).max(1);
    if at >= number { data.len() } else { size.saturating_mul(at).min(data.len()) }
}

fn byte_chunks<'a>(data: &'a [u8], number: usize) -> Box<dyn Fn(usize) -> &'a [u8] + 'a> {
    Box::new(move |at| &data[chunk_start(data, number, at)..chunk_start(data, number, at + 1)])
}

/// A line belongs to the chunk that it begins in.
fn line_chunks<'a>(data: &'a [u8], number: usize, end: u8) -> Box<dyn Fn(usize) -> &'a [u8] + 'a> {
    let start = move |at: usize| {
        let start = chunk_start(data, number, at);
        let Some(before) = start.checked_sub(1) else { return 0 };
        let rest = data[before..].iter().position(|&byte| byte == end);
        rest.map_or(data.len(), |rest| before + rest + 1)
    };
    Box::new(move |at| &data[start(at)..start(at + 1)])
}

struct Pieces<'a> {
    call: &'a Call<'a>,
    order: &'a Order<'a>,
    /// The path of the input, which no piece may replace.
    input: Option<String>,
    names: Names<'a>,
    answer: &'a mut Answer,
}

impl Pieces<'_> {
    /// Makes the next piece.
    fn make(&mut self, data: &[u8]) -> Result<(), String> {
        if self.call.is_over() {
            return Err(String::new());
        }
        if data.is_empty() && self.order.elide {
            return Ok(());
        }
        let name = self.names.next().ok_or("output file suffixes exhausted")?;
        let path = self.call.path(&name);
        if self.is_input(&path) {
            return Err(format!("{} would overwrite input; aborting", quote::always(&name)));
        }
        if self.order.verbose {
            let line = format!("creating file {}\n", quote::always(&name));
            self.answer.stdout.extend_from_slice(line.as_bytes());
        }
        new_name(&path)
            .and_then(|path| self.call.files.write(path, data))
            .map_err(|errno| format!("{}: {errno}", quote::when_needed(&name)))
    }

    fn is_input(&self, path: &str) -> bool {
        let ino = |path: &str| self.call.files.stat(path, true).ok().map(|stat| stat.ino);
        self.input.as_deref().is_some_and(|input| ino(path).is_some_and(|found| ino(input) == Some(found)))
    }

    fn lines<'d>(&self, data: &'d [u8]) -> impl Iterator<Item = &'d [u8]> + use<'d> {
        let end = self.order.end;
        data.split_inclusive(move |&byte| byte == end)
    }

    fn by_lines(&mut self, data: &[u8], count: usize) -> Result<(), String> {
        let (mut start, mut end, mut held) = (0, 0, 0);
        for line in self.lines(data) {
            end += line.len();
            held += 1;
            if held == count {
                self.make(&data[start..end])?;
                (start, held) = (end, 0);
            }
        }
        if start < end { self.make(&data[start..end]) } else { Ok(()) }
    }

    /// As many lines as fit; a line that is too long for a piece of its own is cut.
    fn by_line_bytes(&mut self, data: &[u8], size: usize) -> Result<(), String> {
        let (mut start, mut end) = (0, 0);
        for line in self.lines(data) {
            // A last line without an end does not fill a piece that it has not begun.
            let room = if line.ends_with(&[self.order.end]) { size } else { size - 1 };
            if end > start && end - start + line.len() > room {
                self.make(&data[start..end])?;
                start = end;
            }
            end += line.len();
            while end - start > size {
                self.make(&data[start..start + size])?;
                start += size;
            }
        }
        if start < end { self.make(&data[start..end]) } else { Ok(()) }
    }

    /// A line to each piece in turn.
    fn round(&mut self, data: &[u8], number: usize, only: Option<usize>) -> Result<(), String> {
        let lines: Vec<&[u8]> = self.lines(data).collect();
        let piece = |at| lines.iter().skip(at).step_by(number).copied().collect::<Vec<_>>().concat();
        if let Some(only) = only {
            self.answer.stdout = piece(only);
            return Ok(());
        }
        (0..number).try_for_each(|at| self.make(&piece(at)))
    }
}
