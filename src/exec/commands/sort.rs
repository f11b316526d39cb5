//! `sort`, as of GNU coreutils 9.1, in the order of bytes. All lines are held; what is kept
//! beside them is eight bytes a line and the output. Left out: `--files0-from`, `--debug`,
//! `+POS`; `-R` draws its order anew each time, whatever `--random-source` says.

use std::cmp::Ordering;

use self::order::{Order, Work};
use super::input::{Input, input, is_stdin, output, records};
use super::{Answer, Call, quote};
use crate::fs::Errno;

mod keys;
mod numbers;
mod order;

/// Exit when something went wrong; 1 tells that a file is not sorted.
const FAILED: u8 = 2;

/// Runs it.
pub(super) fn run(call: &Call<'_>) -> Answer {
    let order = match Order::of(call) {
        Ok(order) => order,
        Err(refusal) => return refusal.answer("sort", FAILED),
    };
    let mut answer = Answer::default();
    if let Err(message) = work(call, &order, &mut answer) {
        answer.complain(FAILED, format!("sort: {message}"));
    }
    answer
}

fn work(call: &Call<'_>, order: &Order<'_>, answer: &mut Answer) -> Result<(), String> {
    if let Work::Check(letter) = order.work {
        let name = order.names[0];
        let data = input(call, name).map_err(|errno| unread("open failed", name, errno))?;
        check(order, letter, name, &data, answer);
        return Ok(());
    }
    let inputs = read(call, order)?;
    if let Some(name) = order.output.filter(|name| is_directory(call, name)) {
        return Err(failed("open failed", name, Errno::EISDIR));
    }
    let mut out = Vec::new();
    match order.work {
        Work::Merge => merge(order, &inputs, &mut out),
        _ => sort(order, inputs, &mut out)?,
    }
    match order.output {
        Some(name) => output(call, name, out, answer).map_err(|errno| failed("open failed", name, errno)),
        None => {
            answer.stdout = out;
            Ok(())
        }
    }
}

fn is_directory(call: &Call<'_>, name: &str) -> bool {
    call.files.stat(&call.path(name), true).is_ok_and(|stat| stat.kind == crate::fs::Kind::Dir)
}

fn failed(what: &str, name: &str, errno: Errno) -> String {
    format!("{what}: {}: {errno}", quote::when_needed(name))
}

/// As [`failed`]: a directory can be opened, and not read.
fn unread(what: &str, name: &str, errno: Errno) -> String {
    failed(if errno == Errno::EISDIR { "read failed" } else { what }, name, errno)
}

/// All inputs. One that cannot be opened is told before one that cannot be read.
fn read<'a>(call: &Call<'a>, order: &Order<'_>) -> Result<Vec<Input<'a>>, String> {
    let mut stdin_read = false;
    let read = order.names.iter().map(|name| {
        // Read once, it is at its end.
        if is_stdin(call, name) && std::mem::replace(&mut stdin_read, true) {
            return (name, Ok(Input::Borrowed(&[])));
        }
        (name, input(call, name))
    });
    let (mut inputs, mut directory) = (Vec::new(), None);
    for (name, data) in read {
        match data {
            Ok(data) => inputs.push(data),
            Err(errno) => {
                let message = unread("cannot read", name, errno);
                if errno != Errno::EISDIR {
                    return Err(message);
                }
                directory.get_or_insert(message);
            }
        }
    }
    directory.map_or(Ok(inputs), Err)
}

/// Where a line lies among all.
type Place = (u32, u32);

fn sort(order: &Order<'_>, inputs: Vec<Input<'_>>, out: &mut Vec<u8>) -> Result<(), String> {
    let data = joined(inputs, order.end);
    if u32::try_from(data.len()).is_err() {
        return Err(Errno::ENOMEM.to_string());
    }
    let mut places: Vec<Place> = Vec::with_capacity(records(&data, order.end).count());
    let mut at = 0;
    for line in records(&data, order.end) {
        places.push((at, at + line.len() as u32));
        at += line.len() as u32 + 1;
    }
    let line = |&(start, end): &Place| &data[start as usize..end as usize];
    // Lines that are equal stay in their order.
    places.sort_unstable_by(|a, b| order.compare(line(a), line(b)).then_with(|| a.0.cmp(&b.0)));
    out.reserve_exact(data.len() + 1);
    let mut last: Option<&[u8]> = None;
    for line in places.iter().map(line) {
        put(order, line, &mut last, out);
    }
    Ok(())
}

/// Appends a line, unless only one of equal ones is wanted and it was there.
fn put<'a>(order: &Order<'_>, line: &'a [u8], last: &mut Option<&'a [u8]>, out: &mut Vec<u8>) {
    if order.unique {
        if last.is_some_and(|last| order.compare(last, line) == Ordering::Equal) {
            return;
        }
        *last = Some(line);
    }
    out.extend_from_slice(line);
    out.push(order.end);
}

/// One input as it is; several as one, each with an end of its last line.
fn joined(mut inputs: Vec<Input<'_>>, end: u8) -> Input<'_> {
    if inputs.len() == 1 {
        return inputs.remove(0);
    }
    let mut all = Vec::with_capacity(inputs.iter().map(|input| input.len() + 1).sum());
    for input in inputs {
        all.extend_from_slice(&input);
        if input.last().is_some_and(|&last| last != end) {
            all.push(end);
        }
    }
    Input::Owned(all.into())
}

/// The least of the first lines, again and again: inputs that are not sorted are mixed as
/// they are.
fn merge(order: &Order<'_>, inputs: &[Input<'_>], out: &mut Vec<u8>) {
    let mut rests: Vec<_> = inputs.iter().map(|input| records(input, order.end).peekable()).collect();
    let mut last = None;
    loop {
        let mut least: Option<(usize, &[u8])> = None;
        for (at, rest) in rests.iter_mut().enumerate() {
            let Some(&line) = rest.peek() else { continue };
            if least.is_none_or(|(_, other)| order.compare(line, other) == Ordering::Less) {
                least = Some((at, line));
            }
        }
        let Some((at, line)) = least else { return };
        rests[at].next();
        put(order, line, &mut last, out);
    }
}

/// Tells the first line that is out of order; exits 1 then.
fn check(order: &Order<'_>, letter: char, name: &str, data: &[u8], answer: &mut Answer) {
    let lines = || records(data, order.end);
    let worst = if order.unique { Ordering::Equal } else { Ordering::Greater };
    let wrong = lines().zip(lines().skip(1)).position(|(a, b)| order.compare(a, b) >= worst);
    let Some(at) = wrong else { return };
    answer.exit = 1;
    if letter == 'c' {
        let line = lines().nth(at + 1).unwrap_or_default();
        let start = format!("sort: {}:{}: disorder: ", quote::when_needed(name), at + 2);
        answer.stderr.extend_from_slice(start.as_bytes());
        answer.stderr.extend_from_slice(line);
        answer.stderr.push(order.end);
    }
}
