//! One trace file.

use std::path::Path;

use sqlfs::lease::trace::{Header, Step};

/// A file as read.
#[derive(Debug)]
pub struct File {
    name: String,
    pub header: Header,
    /// Step number n stands in line n + 2.
    pub steps: Vec<Step>,
}

impl File {
    /// `None` if the process died before its first line was whole. A last line without its
    /// end is what a killed process leaves; it is left out.
    pub fn read(path: &Path) -> Result<Option<Self>, String> {
        let name = path.file_name().expect("a file").to_string_lossy().into_owned();
        let text = std::fs::read(path).map_err(|error| format!("{name}: {error}"))?;
        let whole = text.iter().rposition(|byte| *byte == b'\n').map_or(0, |at| at + 1);
        let lines = text[..whole].split_inclusive(|byte| *byte == b'\n');
        let mut lines = lines.map(<[u8]>::trim_ascii_end).zip(1..);
        let Some((first, _)) = lines.next() else { return Ok(None) };
        let header = serde_json::from_slice(first).map_err(|error| format!("{name}:1: {error}"))?;
        let step = |(line, number): (&[u8], usize)| {
            serde_json::from_slice(line).map_err(|error| format!("{name}:{number}: {error}"))
        };
        let steps = lines.map(step).collect::<Result<_, _>>()?;
        Ok(Some(Self { name, header, steps }))
    }

    /// `FILE:LINE` of a step.
    pub fn place(&self, step: usize) -> String {
        format!("{}:{}", self.name, step + 2)
    }
}
