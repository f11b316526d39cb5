//! Dates in the many forms that GNU date reads (`2024-01-31 +1 day`, `1 Jan 2025 10am`,
//! `last friday`), made into the two that every command reads: `@seconds`, or date and
//! time in the zone that the command works in. Today is the day in UTC.

use chrono::{DateTime, Datelike as _, Days, Months, NaiveDate, NaiveDateTime, NaiveTime, TimeDelta};

/// Replaces the value of `-d` and `--date`; what is no date stays for the command to
/// refuse.
pub(crate) fn plain_args(args: &mut [String], now_ns: i64) {
    for at in 0..args.len() {
        let arg = args[at].as_str();
        if let Some(format) = arg.strip_prefix('+') {
            args[at] = format!("+{}", known_conversions(format));
            return;
        }
        if arg == "--" {
            return;
        }
        if let Some(date) = arg.strip_prefix("--date=") {
            if let Some(plain) = plain(date, now_ns) {
                args[at] = format!("--date={plain}");
            }
            continue;
        }
        let cluster = arg.starts_with('-') && !arg.starts_with("--") && arg.ends_with('d') && arg.len() <= 3;
        if (arg == "--date" || cluster)
            && let Some(plain) = args.get(at + 1).and_then(|date| plain(date, now_ns))
        {
            args[at + 1] = plain;
        }
    }
}

/// A conversion that date(1) does not know stands for itself, as a `%` at the end does.
fn known_conversions(format: &str) -> String {
    const FLAGS: &str = "-_0^#+:EO123456789";
    const KNOWN: &str = "%aAbBcCdDeFgGhHIjklmMnNpPqrRsStTuUVwWxXyYzZ";
    let mut known = String::new();
    let mut rest = format;
    while let Some(at) = rest.find('%') {
        known.push_str(&rest[..at]);
        let conversion = &rest[at + 1..];
        let flags = conversion.find(|char| !FLAGS.contains(char)).unwrap_or(conversion.len());
        let letter = conversion[flags..].chars().next();
        known.push_str(if letter.is_some_and(|letter| KNOWN.contains(letter)) { "%" } else { "%%" });
        let end = flags + letter.map_or(0, char::len_utf8);
        known.push_str(&conversion[..end]);
        rest = &conversion[end..];
    }
    known + rest
}

#[derive(Default)]
struct Parsed {
    date: Option<NaiveDate>,
    time: Option<NaiveTime>,
    /// Seconds east of Greenwich.
    zone: Option<i64>,
    /// Which one, and the day of the week from Sunday.
    weekday: Option<(i64, i64)>,
    months: i64,
    days: i64,
    seconds: i64,
}

/// The moment that a date in UTC names, in nanoseconds since the epoch.
pub(super) fn instant(text: &str, now_ns: i64) -> Option<i64> {
    let text = text.trim();
    if text.eq_ignore_ascii_case("now") {
        return Some(now_ns);
    }
    if text.is_empty() {
        let today = DateTime::from_timestamp_nanos(now_ns).date_naive();
        return today.and_time(NaiveTime::MIN).and_utc().timestamp_nanos_opt();
    }
    let whole = plain(text, now_ns);
    let whole = whole.as_deref().unwrap_or(text);
    if let Some(seconds) = whole.strip_prefix('@') {
        let (seconds, fraction) = seconds.split_once('.').unwrap_or((seconds, ""));
        let digits = fraction.bytes().all(|byte| byte.is_ascii_digit());
        let nanos = format!("{:0<9}", fraction.chars().take(9).collect::<String>());
        let nanos: i64 = nanos.parse().ok().filter(|_| digits)?;
        let sign = if seconds.starts_with('-') { -1 } else { 1 };
        return seconds.parse::<i64>().ok()?.checked_mul(1_000_000_000)?.checked_add(sign * nanos);
    }
    let form = if whole.ends_with('Z') { "%Y-%m-%dT%H:%M:%S%.fZ" } else { "%Y-%m-%d %H:%M:%S%.f" };
    NaiveDateTime::parse_from_str(whole, form).ok()?.and_utc().timestamp_nanos_opt()
}

/// `None`: it is no date, or one that needs no change.
fn plain(text: &str, now_ns: i64) -> Option<String> {
    let text = text.trim().to_lowercase();
    if let Some(rest) = text.strip_prefix('@') {
        let (seconds, offset) = rest.split_once(' ')?;
        let mut parsed = Parsed::default();
        let words = words(offset);
        read(&words, &mut parsed, DateTime::from_timestamp_nanos(now_ns).naive_utc())?;
        let start = DateTime::from_timestamp(seconds.parse().ok()?, 0)?.naive_utc();
        return Some(format!("@{}", offset_by(start, &parsed)?.and_utc().timestamp()));
    }
    let now = DateTime::from_timestamp_nanos(now_ns).naive_utc();
    let mut parsed = Parsed::default();
    let words = words(&text);
    if words.is_empty() || words == ["now"] {
        return None;
    }
    read(&words, &mut parsed, now)?;
    let stands = parsed.date.is_some() || parsed.time.is_some() || parsed.weekday.is_some();
    let time = if stands { parsed.time.unwrap_or(NaiveTime::MIN) } else { now.time() };
    let mut day = parsed.date.unwrap_or(now.date());
    if let Some((which, wanted)) = parsed.weekday.filter(|_| parsed.date.is_none()) {
        let today = i64::from(day.weekday().num_days_from_sunday());
        let weeks = which - i64::from(which > 0 && today != wanted);
        day = day.checked_add_signed(TimeDelta::try_days((wanted - today + 7) % 7 + 7 * weeks)?)?;
    }
    let result = offset_by(day.and_time(time), &parsed)?;
    match parsed.zone {
        Some(east) => {
            let utc = result.checked_sub_signed(TimeDelta::try_seconds(east)?)?;
            Some(match utc.and_utc().timestamp_subsec_nanos() {
                0 => format!("@{}", utc.and_utc().timestamp()),
                _ => utc.format("%Y-%m-%dT%H:%M:%S%.fZ").to_string(),
            })
        }
        None if !stands => Some(format!("@{}", result.and_utc().timestamp())),
        None => Some(result.format("%Y-%m-%d %H:%M:%S%.f").to_string()),
    }
}

/// Months first, and days that the month does not have go on into the next.
fn offset_by(start: NaiveDateTime, parsed: &Parsed) -> Option<NaiveDateTime> {
    let day = start.date();
    let first = day.with_day(1)?;
    let months = Months::new(u32::try_from(parsed.months.unsigned_abs()).ok()?);
    let first = if parsed.months < 0 {
        first.checked_sub_months(months)?
    } else {
        first.checked_add_months(months)?
    };
    let day = first.checked_add_days(Days::new(u64::from(day.day0())))?;
    let day = day.checked_add_signed(TimeDelta::try_days(parsed.days)?)?;
    day.and_time(start.time()).checked_add_signed(TimeDelta::try_seconds(parsed.seconds)?)
}

/// Words, signs standing before their number.
fn words(text: &str) -> Vec<&str> {
    text.split(|c: char| c.is_whitespace() || c == ',').filter(|word| !word.is_empty()).collect()
}

fn month(word: &str) -> Option<u32> {
    const NAMES: [&str; 12] = [
        "january",
        "february",
        "march",
        "april",
        "may",
        "june",
        "july",
        "august",
        "september",
        "october",
        "november",
        "december",
    ];
    let word = if word == "sept" { "sep" } else { word.trim_end_matches('.') };
    let is = |name: &&str| *name == word || (word.len() == 3 && name.starts_with(word));
    NAMES.iter().position(|name| is(&name)).map(|at| at as u32 + 1)
}

fn weekday(word: &str) -> Option<i64> {
    const NAMES: [&str; 7] = ["sunday", "monday", "tuesday", "wednesday", "thursday", "friday", "saturday"];
    let word = match word.trim_end_matches('.') {
        "tues" => "tue",
        "wednes" => "wed",
        "thur" | "thurs" => "thu",
        word => word,
    };
    NAMES
        .iter()
        .position(|name| *name == word || (word.len() == 3 && name.starts_with(word)))
        .map(|at| at as i64)
}

fn zone(word: &str) -> Option<i64> {
    let hours = match word {
        "utc" | "gmt" | "z" | "ut" | "wet" => 0,
        "est" | "cdt" => -5,
        "edt" => -4,
        "cst" | "mdt" => -6,
        "mst" | "pdt" => -7,
        "pst" => -8,
        "cet" | "bst" => 1,
        "cest" | "eet" => 2,
        _ => {
            let (sign, digits) = match word.strip_prefix('-') {
                Some(digits) => (-1, digits),
                None => (1, word.strip_prefix('+')?),
            };
            let digits = digits.replace(':', "");
            let number: i64 = if digits.bytes().all(|byte| byte.is_ascii_digit()) {
                digits.parse().ok()?
            } else {
                return None;
            };
            return match digits.len() {
                1 | 2 if number <= 24 => Some(sign * number * 3600),
                3 | 4 if number % 100 < 60 && number <= 2400 => {
                    Some(sign * (number / 100 * 3600 + number % 100 * 60))
                }
                _ => None,
            };
        }
    };
    Some(hours * 3600)
}

/// Adds `count` units; `None` when it is no unit.
fn add(parsed: &mut Parsed, count: i64, unit: &str) -> Option<()> {
    let unit = unit.strip_suffix('s').filter(|unit| unit.len() > 1).unwrap_or(unit);
    let (slot, factor) = match unit {
        "year" => (&mut parsed.months, 12),
        "month" => (&mut parsed.months, 1),
        "fortnight" => (&mut parsed.days, 14),
        "week" => (&mut parsed.days, 7),
        "day" => (&mut parsed.days, 1),
        "hour" => (&mut parsed.seconds, 3600),
        "minute" | "min" => (&mut parsed.seconds, 60),
        "second" | "sec" => (&mut parsed.seconds, 1),
        _ => return None,
    };
    *slot = slot.checked_add(count.checked_mul(factor)?)?;
    Some(())
}

fn calendar_date(word: &str, now: NaiveDateTime) -> Option<NaiveDate> {
    let year = |text: &str| -> Option<i32> {
        let year: i32 = text.parse().ok()?;
        Some(if text.len() == 2 { year + if year < 69 { 2000 } else { 1900 } } else { year })
    };
    if let Some((month, rest)) = word.split_once('/') {
        let (day, last) = rest.split_once('/').map_or((rest, None), |(day, last)| (day, Some(last)));
        if month.len() == 4 {
            return NaiveDate::from_ymd_opt(month.parse().ok()?, day.parse().ok()?, last?.parse().ok()?);
        }
        let year = last.map_or(Some(now.year()), year)?;
        return NaiveDate::from_ymd_opt(year, month.parse().ok()?, day.parse().ok()?);
    }
    let mut parts = word.split('-');
    let (first, second, third) = (parts.next()?, parts.next()?, parts.next()?);
    if parts.next().is_some() || first.is_empty() {
        return None;
    }
    match self::month(second) {
        Some(month) => NaiveDate::from_ymd_opt(year(third)?, month, first.parse().ok()?),
        None => NaiveDate::from_ymd_opt(year(first)?, second.parse().ok()?, third.parse().ok()?),
    }
}

/// `10:30`, `10:30:05.5`, `10am`, `10:30pm`, each with a zone attached; `next` is the
/// word behind it. Tells whether that was used.
fn clock(word: &str, next: Option<&str>, parsed: &mut Parsed) -> Option<bool> {
    let end = word.find(|c: char| !c.is_ascii_digit() && c != ':' && c != '.').unwrap_or(word.len());
    let (digits, rest) = word.split_at(end);
    let (half, attached) = match (rest.get(..2), next) {
        (Some(half @ ("am" | "pm")), _) => (Some(half), true),
        (None, Some(half @ ("am" | "pm" | "a.m." | "p.m."))) if rest.is_empty() => (Some(half), false),
        _ => (None, true),
    };
    if half.is_none() && !digits.contains(':') {
        return None;
    }
    let mut parts = digits.split(':');
    let mut hour: u32 = parts.next()?.parse().ok()?;
    let minute: u32 = parts.next().map_or(Some(0), |part| part.parse().ok())?;
    let seconds = parts.next().unwrap_or("0");
    let (second, fraction) = seconds.split_once('.').unwrap_or((seconds, ""));
    let nanos: u32 = format!("{fraction:0<9}").get(..9)?.parse().ok()?;
    if let Some(half) = half {
        if !(1..=12).contains(&hour) {
            return None;
        }
        hour = hour % 12 + if half.starts_with('p') { 12 } else { 0 };
    }
    let second: u32 = second.parse().ok()?;
    parsed.time = Some(NaiveTime::from_hms_nano_opt(hour, minute, second.min(59), nanos)?);
    let rest = if half.is_some() && attached { &rest[2..] } else { rest };
    if !rest.is_empty() {
        parsed.zone = Some(zone(rest)?);
    }
    Some(half.is_some() && !attached)
}

fn read(words: &[&str], parsed: &mut Parsed, now: NaiveDateTime) -> Option<()> {
    let mut at = 0;
    while let Some(&word) = words.get(at) {
        let next = words.get(at + 1).copied();
        at += 1;
        // What an `ago` behind it would turn round.
        let before = (parsed.months, parsed.days, parsed.seconds);
        let number = word.trim_start_matches('+').parse::<i64>().ok();
        let signed = word.starts_with(['+', '-']);
        if matches!(word, "now" | "today") {
            // The start, in any case.
        } else if word == "tomorrow" || word == "yesterday" {
            parsed.days += if word == "tomorrow" { 1 } else { -1 };
        } else if let (true, Some(count)) =
            (word == "+" || word == "-", next.and_then(|next| next.parse::<i64>().ok()))
        {
            add(parsed, if word == "-" { -count } else { count }, words.get(at + 1)?)?;
            at += 2;
        } else if matches!(word, "next" | "last" | "this") {
            let which = match word {
                "next" => 1,
                "last" => -1,
                _ => 0,
            };
            match weekday(next?) {
                Some(day) => parsed.weekday = Some((which, day)),
                None => add(parsed, which, next?)?,
            }
            at += 1;
        } else if let Some(month) = month(word) {
            let day: u32 = next?.trim_end_matches(|c: char| c.is_ascii_alphabetic()).parse().ok()?;
            let year = words.get(at + 1).filter(|year| year.len() == 4).and_then(|year| year.parse().ok());
            parsed.date = Some(NaiveDate::from_ymd_opt(year.unwrap_or(now.year()), month, day)?);
            at += 1 + usize::from(year.is_some());
        } else if let (Some(number), Some(month), false) = (number, next.and_then(month), signed) {
            let year = words.get(at + 1).filter(|year| year.len() == 4).and_then(|year| year.parse().ok());
            parsed.date = Some(NaiveDate::from_ymd_opt(
                year.unwrap_or(now.year()),
                month,
                u32::try_from(number).ok()?,
            )?);
            at += 1 + usize::from(year.is_some());
        } else if let Some(day) = weekday(word) {
            parsed.weekday = Some((0, day));
        } else if let Some((date, time)) =
            word.split_once('t').filter(|(date, _)| date.len() >= 8 && date.as_bytes()[0].is_ascii_digit())
        {
            parsed.date = Some(calendar_date(date, now)?);
            at += usize::from(clock(time, next, parsed)?);
        } else if let Some(date) = calendar_date(word, now) {
            parsed.date = Some(date);
        } else if let Some(used) = clock(word, next, parsed) {
            at += usize::from(used);
        } else if number.zip(next).and_then(|(count, unit)| add(parsed, count, unit)).is_some() {
            at += 1;
        } else if let Some(zone) = zone(word).filter(|_| !signed || parsed.time.is_some()) {
            parsed.zone = Some(zone);
        } else if word.len() == 8 && number.is_some() && !signed && parsed.date.is_none() {
            parsed.date = Some(NaiveDate::parse_from_str(word, "%Y%m%d").ok()?);
        } else if let Some(split) = word.find(|c: char| c.is_ascii_alphabetic()).filter(|at| *at > 0) {
            // `2days`
            add(parsed, word[..split].parse().ok()?, &word[split..])?;
        } else {
            add(parsed, 1, word)?;
        }
        if words.get(at) == Some(&"ago") {
            let turned = |now: i64, before: i64| 2 * before - now;
            parsed.months = turned(parsed.months, before.0);
            parsed.days = turned(parsed.days, before.1);
            parsed.seconds = turned(parsed.seconds, before.2);
            at += 1;
        }
    }
    Some(())
}

#[cfg(test)]
mod tests {
    use super::plain;

    /// 2024-03-15 12:00:00 UTC, a Friday.
    const NOW: i64 = 1_710_504_000_000_000_000;

    #[test]
    fn dates_are_what_gnu_date_reads() {
        let table = [
            ("2024-01-31 +1 day", "2024-02-01 00:00:00"),
            ("2024-01-31 1 month ago", "2023-12-31 00:00:00"),
            ("2024-01-31 + 1 month", "2024-03-02 00:00:00"),
            ("1 Jan 2025 10am", "2025-01-01 10:00:00"),
            ("Jan 5, 2025 3:04 pm", "2025-01-05 15:04:00"),
            ("2024-12-25T08:00:00Z", "@1735113600"),
            ("2024-12-25 08:00 +0200", "@1735106400"),
            ("12/25/2024", "2024-12-25 00:00:00"),
            ("20240229", "2024-02-29 00:00:00"),
            ("2 days ago", "@1710331200"),
            ("yesterday", "@1710417600"),
            ("next monday", "2024-03-18 00:00:00"),
            ("last friday", "2024-03-08 00:00:00"),
            ("friday", "2024-03-15 00:00:00"),
            ("tomorrow 09:30", "2024-03-16 09:30:00"),
            ("1 year ago", "@1678881600"),
            ("@86400 +1 day", "@172800"),
            ("2024-01-01 2 hours 30 minutes ago", "2024-01-01 01:30:00"),
        ];
        for (text, expected) in table {
            assert_eq!(plain(text, NOW).as_deref(), Some(expected), "{text}");
        }
        for none in ["nonsense", "2024-02-30", "now", "", "2024-13-01"] {
            assert_eq!(plain(none, NOW), None, "{none}");
        }
    }
}
