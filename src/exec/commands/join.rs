//! `join`, as of GNU coreutils 9.1, in the order of bytes. Left out: `-j1 FIELD` and
//! `-j2 FIELD`.

use std::cmp::Ordering;

use self::fields::{Line, Shape};
use self::order::Order;
use super::comm::Check;
use super::input::{input, records};
use super::refusal::Refusal;
use super::{Answer, Call, quote};
use crate::fs::Errno;

mod fields;
mod order;

/// Runs it.
pub(super) fn run(call: &Call<'_>) -> Answer {
    begin(call).unwrap_or_else(|refusal| refusal.answer("join", 1))
}

fn begin(call: &Call<'_>) -> Result<Answer, Refusal> {
    let order = Order::of(call)?;
    let read = |name: &str| {
        input(call, name).map_err(|errno| match errno {
            Errno::EISDIR => Refusal::Wrong(format!("read error: {errno}")),
            errno => Refusal::Wrong(format!("{}: {errno}", quote::when_needed(name))),
        })
    };
    let (left, right) = (read(order.names[0])?, read(order.names[1])?);
    let mut work = Work { order: &order, unpaired: false, answer: Answer::default() };
    let left = File::new(0, records(&left, order.end).collect());
    let right = File::new(1, records(&right, order.end).collect());
    // What ends it early has been told.
    let _ = work.run([left, right]);
    Ok(work.answer)
}

/// An input that lies out of order ends it.
struct Disorder;

struct Work<'o> {
    order: &'o Order<'o>,
    /// Whether a line had no partner.
    unpaired: bool,
    answer: Answer,
}

/// A file that is gone through.
struct File<'a> {
    number: usize,
    lines: Vec<&'a [u8]>,
    /// The line that comes next.
    at: usize,
    /// Whether it was told that the lines are out of order.
    told: bool,
}

impl<'a> File<'a> {
    fn new(number: usize, lines: Vec<&'a [u8]>) -> Self {
        Self { number, lines, at: 0, told: false }
    }

    fn next(&self) -> Option<&'a [u8]> {
        self.lines.get(self.at).copied()
    }
}

impl Work<'_> {
    fn run(&mut self, mut files: [File<'_>; 2]) -> Result<(), Disorder> {
        let order = self.order;
        let mut counts = None;
        if order.automatic {
            let count = |file: &File<'_>| file.next().map_or(0, |line| order.split(line).len());
            counts = Some([count(&files[0]), count(&files[1])]);
        }
        let shape = Shape { order, counts };
        if order.header && files.iter().any(|file| file.next().is_some()) {
            shape.print(files[0].next(), files[1].next(), &mut self.answer.stdout);
            for file in &mut files {
                file.at = file.lines.len().min(1);
            }
        }
        while let (Some(a), Some(b)) = (files[0].next(), files[1].next()) {
            match order.key(0, a).cmp(&order.key(1, b)) {
                Ordering::Less => self.alone(&shape, &mut files[0])?,
                Ordering::Greater => self.alone(&shape, &mut files[1])?,
                Ordering::Equal => self.together(&shape, &mut files, a, b)?,
            }
        }
        // The rest is gone through for its order too.
        for at in [0, 1] {
            while files[at].next().is_some() {
                let alone = order.alone[at];
                if !alone && (order.check == Check::Never || files[at].told) {
                    break;
                }
                if alone {
                    self.print_alone(&shape, &files[at]);
                }
                self.step(&mut files[at])?;
            }
        }
        if files.iter().any(|file| file.told) {
            self.answer.complain(1, "join: input is not in sorted order");
        }
        Ok(())
    }

    /// The next line of a file has no partner.
    fn alone(&mut self, shape: &Shape<'_>, file: &mut File<'_>) -> Result<(), Disorder> {
        if self.order.alone[file.number] {
            self.print_alone(shape, file);
        }
        let stepped = self.step(file);
        self.unpaired = true;
        stepped
    }

    fn print_alone(&mut self, shape: &Shape<'_>, file: &File<'_>) {
        let line = file.next();
        let (left, right) = if file.number == 0 { (line, None) } else { (None, line) };
        shape.print(left, right, &mut self.answer.stdout);
    }

    /// All lines of both files with the key of these two, each with each.
    fn together(
        &mut self,
        shape: &Shape<'_>,
        files: &mut [File<'_>; 2],
        left: Line<'_>,
        right: Line<'_>,
    ) -> Result<(), Disorder> {
        let order = self.order;
        let starts = [files[0].at, files[1].at];
        let keys = [order.key(0, left), order.key(1, right)];
        for (file, other) in files.iter_mut().zip([1, 0]) {
            loop {
                self.step(file)?;
                let same = |line| order.key(file.number, line).cmp(&keys[other]);
                if file.next().is_none_or(|line| same(line) != Ordering::Equal) {
                    break;
                }
            }
        }
        if order.pairs {
            for &a in &files[0].lines[starts[0]..files[0].at] {
                for &b in &files[1].lines[starts[1]..files[1].at] {
                    shape.print(Some(a), Some(b), &mut self.answer.stdout);
                }
            }
        }
        Ok(())
    }

    /// Goes on by a line, and looks whether the next one may follow.
    fn step(&mut self, file: &mut File<'_>) -> Result<(), Disorder> {
        let order = self.order;
        let last = file.next();
        file.at += 1;
        let looks = order.check == Check::Always || (order.check == Check::Default && self.unpaired);
        let (Some(last), Some(next)) = (last, file.next()) else { return Ok(()) };
        if !looks || file.told {
            return Ok(());
        }
        let number = file.number;
        if order.key(number, last).cmp(&order.key(number, next)) == Ordering::Greater {
            file.told = true;
            let name = order.names[number];
            let start = format!("join: {name}:{}: is not sorted: ", file.at + 1);
            self.answer.stderr.extend_from_slice(start.as_bytes());
            self.answer.stderr.extend_from_slice(next);
            self.answer.stderr.push(b'\n');
            self.answer.exit = 1;
            if order.check == Check::Always {
                return Err(Disorder);
            }
        }
        Ok(())
    }
}
