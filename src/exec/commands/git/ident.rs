//! Who did something and when, and how times are read and written.

use std::fmt;
use std::fmt::Write as _;

use chrono::{DateTime, FixedOffset, NaiveDateTime, NaiveTime};

use super::failed::{Done, fatal};

/// A moment, and the zone that it was told in.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct When {
    /// Since the epoch.
    pub(super) seconds: i64,
    /// Minutes east of Greenwich.
    pub(super) east: i32,
}

/// A person and a moment.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Ident {
    pub(super) name: String,
    pub(super) mail: String,
    pub(super) when: When,
}

impl Ident {
    /// From a header. What cannot be understood is left empty, as it is by git.
    pub(super) fn parse(text: &str) -> Self {
        let Some((name, rest)) = text.split_once('<') else {
            return Self { name: text.trim().to_owned(), ..Self::default() };
        };
        let (mail, when) = rest.split_once('>').unwrap_or((rest, ""));
        Self {
            name: name.trim().to_owned(),
            mail: mail.to_owned(),
            when: When::raw(when.trim()).unwrap_or_default(),
        }
    }
}

impl fmt::Display for Ident {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} <{}> {}", self.name, self.mail, self.when.show("raw", 0))
    }
}

/// `+0130` as minutes.
fn zone(text: &str) -> Option<i32> {
    let digits = text.strip_prefix(['+', '-'])?;
    if digits.len() != 4 || !digits.bytes().all(|byte| byte.is_ascii_digit()) {
        return None;
    }
    let minutes = digits[..2].parse::<i32>().ok()? * 60 + digits[2..].parse::<i32>().ok()?;
    (minutes < 24 * 60).then_some(if text.starts_with('-') { -minutes } else { minutes })
}

impl When {
    /// `1700000000 +0100`.
    fn raw(text: &str) -> Option<Self> {
        let (seconds, east) = text.split_once(' ')?;
        let seconds = seconds.parse::<i64>().ok().filter(|&seconds| in_range(seconds))?;
        Some(Self { seconds, east: zone(east.trim())? })
    }

    /// The forms that `GIT_AUTHOR_DATE` and `--date` take. Without a zone it is UTC.
    pub(super) fn read(text: &str, now: i64) -> Done<Self> {
        let bad = || fatal(format!("invalid date format: {text}"));
        let plain = text.trim();
        let stamp = plain.strip_prefix('@').unwrap_or(plain);
        if let Some(when) = Self::raw(stamp) {
            return Ok(when);
        }
        if let Ok(seconds) = stamp.parse::<i64>()
            && (plain.starts_with('@') || seconds >= 100_000_000)
        {
            return if in_range(seconds) { Ok(Self { seconds, east: 0 }) } else { Err(bad()) };
        }
        if plain.eq_ignore_ascii_case("now") {
            return Ok(Self { seconds: now, east: 0 });
        }
        let of = |date: DateTime<FixedOffset>| Self {
            seconds: date.timestamp(),
            east: date.offset().local_minus_utc() / 60,
        };
        if let Ok(date) = DateTime::parse_from_rfc2822(plain).or_else(|_| DateTime::parse_from_rfc3339(plain))
        {
            return Ok(of(date));
        }
        for format in ["%Y-%m-%d %H:%M:%S %z", "%Y-%m-%dT%H:%M:%S%z", "%a %b %d %H:%M:%S %Y %z"] {
            if let Ok(date) = DateTime::parse_from_str(plain, format) {
                return Ok(of(date));
            }
        }
        for format in [
            "%Y-%m-%d %H:%M:%S",
            "%Y-%m-%dT%H:%M:%S",
            "%Y-%m-%d %H:%M",
            "%Y-%m-%dT%H:%M",
            "%a %b %d %H:%M:%S %Y",
        ] {
            if let Ok(date) = NaiveDateTime::parse_from_str(plain, format) {
                return Ok(Self { seconds: date.and_utc().timestamp(), east: 0 });
            }
        }
        if let Ok(day) = chrono::NaiveDate::parse_from_str(plain, "%Y-%m-%d") {
            // git takes the time of the day from now.
            let time = DateTime::from_timestamp(now, 0).map_or(NaiveTime::MIN, |now| now.time());
            return Ok(Self { seconds: day.and_time(time).and_utc().timestamp(), east: 0 });
        }
        ago(plain, now).map(|seconds| Self { seconds, east: 0 }).ok_or_else(bad)
    }

    /// As one of git's date formats shows it.
    pub(super) fn show(&self, format: &str, now: i64) -> String {
        let sign = if self.east < 0 { '-' } else { '+' };
        let (hours, minutes) = (self.east.abs() / 60, self.east.abs() % 60);
        let plain = format!("{sign}{hours:02}{minutes:02}");
        let colon = if self.east == 0 { "Z".to_owned() } else { format!("{sign}{hours:02}:{minutes:02}") };
        let local = DateTime::from_timestamp(self.seconds + i64::from(self.east) * 60, 0).unwrap_or_default();
        let written = |format: &str| local.format(format).to_string();
        match format {
            "raw" => format!("{} {plain}", self.seconds),
            "unix" => self.seconds.to_string(),
            "short" => written("%Y-%m-%d"),
            "iso" | "iso8601" => written("%Y-%m-%d %H:%M:%S ") + &plain,
            "iso-strict" | "iso8601-strict" => written("%Y-%m-%dT%H:%M:%S") + &colon,
            "rfc" | "rfc2822" => written("%a, %-d %b %Y %H:%M:%S ") + &plain,
            "relative" => relative(now - self.seconds),
            format if format.starts_with("format:") => {
                let format =
                    format["format:".len()..].replace("%z", &plain).replace("%s", &self.seconds.to_string());
                let mut text = String::new();
                // A conversion that is none is an error, and stays as it stands.
                match write!(text, "{}", local.format(&format)) {
                    Ok(()) => text,
                    Err(_) => format,
                }
            }
            _ => written("%a %b %-d %H:%M:%S %Y ") + &plain,
        }
    }
}

/// Years that chrono shows in any zone.
fn in_range(seconds: i64) -> bool {
    (0..=253_402_214_400).contains(&seconds)
}

/// `2 days ago`, `yesterday`.
fn ago(text: &str, now: i64) -> Option<i64> {
    let words: Vec<&str> = text.split([' ', '.']).filter(|word| !word.is_empty()).collect();
    let (count, unit) = match words[..] {
        ["yesterday"] => (1, "day"),
        [count, unit, "ago"] => (count.parse::<i64>().ok()?, unit.trim_end_matches('s')),
        _ => return None,
    };
    let length = match unit {
        "second" => 1,
        "minute" => 60,
        "hour" => 3600,
        "day" => 86_400,
        "week" => 7 * 86_400,
        "month" => 30 * 86_400,
        "year" => 365 * 86_400,
        _ => return None,
    };
    now.checked_sub(count.checked_mul(length)?).filter(|&seconds| in_range(seconds))
}

/// In git's steps.
fn relative(seconds: i64) -> String {
    if seconds < 0 {
        return "in the future".into();
    }
    let some = |count: i64, unit: &str| format!("{count} {unit}{} ago", if count == 1 { "" } else { "s" });
    let mut count = seconds;
    if count < 90 {
        return some(count, "second");
    }
    count = (count + 30) / 60;
    if count < 90 {
        return some(count, "minute");
    }
    count = (count + 30) / 60;
    if count < 36 {
        return some(count, "hour");
    }
    count = (count + 12) / 24;
    if count < 14 {
        return some(count, "day");
    }
    if count < 70 {
        return some((count + 3) / 7, "week");
    }
    if count < 365 {
        return some((count + 15) / 30, "month");
    }
    if count < 1825 {
        let months = (count * 12 * 2 + 365) / (365 * 2);
        let (years, months) = (months / 12, months % 12);
        if months > 0 {
            let years = format!("{years} year{}", if years == 1 { "" } else { "s" });
            return format!("{years}, {}", some(months, "month"));
        }
        return some(years, "year");
    }
    some((count + 183) / 365, "year")
}
