//! Goes through the lines of one file and prints the selected ones with what stands around
//! them. A file is searched in one piece, standard input in the pieces that it comes in.

use super::engine::{Engine, line_at};
use super::options::{Binary, Options};
use super::print;

/// GNU grep reads so many bytes at a time; a zero byte makes what comes from there on binary.
const PIECE: usize = 96 << 10;

/// One file on its way.
pub(super) struct Search {
    /// As it is printed.
    pub(super) name: String,
    /// Lines selected so far.
    pub(super) count: u64,
    /// A selected line was not printed, for it is not text.
    pub(super) binary_matches: bool,
    left: u64,
    /// Lines of context that are still to follow.
    pending: u64,
    /// Behind the last line that was printed.
    last_out: Option<usize>,
    /// Lines before `counted`.
    lines: u64,
    counted: usize,
    /// Bytes before the buffer.
    pub(super) base: u64,
    quiet: bool,
    pub(super) over: bool,
    binary: bool,
    /// Of numbers, with `-T`.
    width: usize,
}

/// Where lines go, and what is known across files.
pub(super) struct Sink<'s> {
    pub(super) options: &'s Options<'s>,
    pub(super) out: &'s mut Vec<u8>,
    /// Something was printed with context before.
    pub(super) used: &'s mut bool,
}

impl Search {
    pub(super) fn new(name: String, size: u64, options: &Options<'_>) -> Self {
        let quiet = options.count || options.one_is_enough();
        Self {
            name,
            count: 0,
            binary_matches: false,
            left: options.most,
            pending: 0,
            last_out: None,
            lines: 0,
            counted: 0,
            base: 0,
            quiet,
            over: options.most == 0,
            binary: false,
            width: if options.tab { size.to_string().len() } else { 0 },
        }
    }

    /// Searches all of a file.
    pub(super) fn whole(
        &mut self,
        data: &[u8],
        engine: &mut Engine,
        sink: &mut Sink<'_>,
    ) -> Result<(), String> {
        let looks = sink.options.end != 0 && sink.options.binary != Binary::Text;
        let zero = if looks { memchr::memchr(0, data) } else { None };
        let Some(zero) = zero else { return self.lines_of(data, 0, data.len(), engine, sink) };
        let piece = zero / PIECE * PIECE;
        let text = if piece == 0 { 0 } else { line_at(data, piece, 0, sink.options.end).start };
        self.lines_of(data, 0, text, engine, sink)?;
        if self.over {
            return Ok(());
        }
        let mut rest = data.to_vec();
        self.turn_binary(&mut rest[text..], sink.options);
        if self.over { Ok(()) } else { self.lines_of(&rest, text, rest.len(), engine, sink) }
    }

    /// From here on it is no text: zero bytes end lines, and nothing is printed.
    pub(super) fn turn_binary(&mut self, rest: &mut [u8], options: &Options<'_>) {
        if !self.binary {
            if options.binary == Binary::WithoutMatch {
                (self.over, self.count) = (true, 0);
                return;
            }
            self.binary = true;
            if !options.count {
                self.quiet = true;
            }
        }
        for byte in rest {
            if *byte == 0 {
                *byte = options.end;
            }
        }
    }

    /// Whether what comes must be told to [`Search::turn_binary`].
    pub(super) fn is_binary(&self, fresh: &[u8], options: &Options<'_>) -> bool {
        options.end != 0
            && options.binary != Binary::Text
            && (self.binary || memchr::memchr(0, fresh).is_some())
    }

    /// Searches the lines from `from` to `to`.
    pub(super) fn lines_of(
        &mut self,
        data: &[u8],
        from: usize,
        to: usize,
        engine: &mut Engine,
        sink: &mut Sink<'_>,
    ) -> Result<(), String> {
        let data = &data[..to];
        let mut at = from;
        while at < to && !self.over && self.left > 0 {
            let found = engine.find(data, at)?;
            let (start, next) = found.map_or((to, to), |line| (line.start, line.next));
            if sink.options.invert {
                if at < start {
                    self.selected(data, at, start, engine, sink)?;
                }
            } else if found.is_some() {
                self.selected(data, start, next, engine, sink)?;
            }
            at = next;
        }
        self.follow(data, to, engine, sink)?;
        self.over |= self.left == 0 && self.pending == 0;
        Ok(())
    }

    /// Makes ready for a buffer that lost its first `cut` bytes.
    pub(super) fn cut(&mut self, data: &[u8], cut: usize, options: &Options<'_>) {
        if options.numbers {
            self.count_lines(data, cut, options.end);
            self.counted -= cut;
        }
        self.last_out = self.last_out.and_then(|at| at.checked_sub(cut));
        self.base += cut as u64;
    }

    /// Where the lines begin that may still be printed as context, up to `to`.
    pub(super) fn kept_from(&self, data: &[u8], to: usize, options: &Options<'_>) -> usize {
        let from = if self.quiet { to } else { self.last_out.unwrap_or(0).min(to) };
        back(data, to, from, options.before.unwrap_or(0), options.end)
    }

    fn count_lines(&mut self, data: &[u8], to: usize, end: u8) {
        if self.counted < to {
            self.lines += memchr::memchr_iter(end, &data[self.counted..to]).count() as u64;
            self.counted = to;
        }
    }

    /// Lines of trailing context, up to `to`.
    fn follow(
        &mut self,
        data: &[u8],
        to: usize,
        engine: &mut Engine,
        sink: &mut Sink<'_>,
    ) -> Result<(), String> {
        let mut at = self.last_out.unwrap_or(0);
        while self.pending > 0 && at < to {
            self.pending -= 1;
            at = self.line(data, at, false, engine, sink)?;
        }
        Ok(())
    }

    /// One selected line, or with `-v` some.
    fn selected(
        &mut self,
        data: &[u8],
        from: usize,
        to: usize,
        engine: &mut Engine,
        sink: &mut Sink<'_>,
    ) -> Result<(), String> {
        let options = sink.options;
        let end = options.end;
        let lines = if options.invert {
            let ends = memchr::memchr_iter(end, &data[from..to]).count() as u64;
            ends + u64::from(data[to - 1] != end)
        } else {
            1
        };
        let lines = lines.min(self.left);
        (self.count, self.left) = (self.count + lines, self.left - lines);
        if options.one_is_enough() || (self.binary && !options.count) {
            self.over = true;
        }
        if self.quiet {
            self.binary_matches |= self.binary && !options.count && !options.one_is_enough();
            return Ok(());
        }
        self.follow(data, from, engine, sink)?;
        let context = options.before.is_some() || options.after.is_some();
        let mut at = back(data, from, self.last_out.unwrap_or(0), options.before.unwrap_or(0), end);
        if context && *sink.used && self.last_out != Some(at) {
            print::separator(options, sink.out);
        }
        *sink.used = true;
        while at < from {
            at = self.line(data, at, false, engine, sink)?;
        }
        for _ in 0..lines {
            at = self.line(data, at, true, engine, sink)?;
        }
        self.pending = options.after.unwrap_or(0);
        Ok(())
    }

    /// Prints the line that begins at `at`; returns where the next one does.
    fn line(
        &mut self,
        data: &[u8],
        at: usize,
        selected: bool,
        engine: &mut Engine,
        sink: &mut Sink<'_>,
    ) -> Result<usize, String> {
        let options = sink.options;
        let line = line_at(data, at, at, options.end);
        let text = &data[at..line.end];
        let number = if options.numbers {
            self.count_lines(data, at, options.end);
            self.lines + 1
        } else {
            0
        };
        let (offset, width) = (self.base + at as u64, self.width);
        let place = print::Place { name: &self.name, number, offset, width, selected };
        if print::line(options, &place, text, engine, sink.out)? {
            self.last_out = Some(line.next);
        } else {
            self.binary_matches = true;
        }
        Ok(line.next)
    }
}

/// Where the `lines` lines before `at` begin, not before `from`.
fn back(data: &[u8], at: usize, from: usize, lines: u64, end: u8) -> usize {
    let mut start = at;
    for _ in 0..lines {
        if start <= from {
            break;
        }
        start = memchr::memrchr(end, &data[from..start - 1]).map_or(from, |before| from + before + 1);
    }
    start
}
