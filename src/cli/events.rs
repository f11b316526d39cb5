//! Server-sent events of a live exec, taken from the bytes of a reply.

use serde_json::Value;

use super::CliError;

/// One event: its name and its data.
pub type Event = (String, Value);

/// Cuts a byte stream into events.
#[derive(Debug, Default)]
pub struct Decoder {
    pending: Vec<u8>,
}

impl Decoder {
    /// Takes a piece of the stream and gives the events that it completes.
    pub fn push(&mut self, piece: &[u8]) -> Result<Vec<Event>, CliError> {
        let mut from = self.pending.len().saturating_sub(1);
        self.pending.extend_from_slice(piece);
        let (mut events, mut start) = (Vec::new(), 0);
        while let Some(at) = self.pending[from..].windows(2).position(|pair| pair == b"\n\n") {
            let end = from + at + 2;
            events.extend(event(&self.pending[start..end])?);
            (start, from) = (end, end);
        }
        self.pending.drain(..start);
        Ok(events)
    }
}

/// The event of one block; `None` for comments.
fn event(block: &[u8]) -> Result<Option<Event>, CliError> {
    let garbled = || CliError::new("the server sent an event that cannot be read");
    let block = std::str::from_utf8(block).map_err(|_| garbled())?;
    let (mut name, mut data) = ("", String::new());
    for line in block.lines() {
        let (field, value) = line.split_once(':').unwrap_or((line, ""));
        let value = value.strip_prefix(' ').unwrap_or(value);
        match field {
            "event" => name = value,
            "data" => data.push_str(value),
            // Ids, comments and fields of later versions.
            _ => {}
        }
    }
    if name.is_empty() && data.is_empty() {
        return Ok(None);
    }
    let data = serde_json::from_str(&data).map_err(|_| garbled())?;
    Ok(Some((name.to_owned(), data)))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn events_are_the_same_however_the_stream_is_cut() {
        let stream = b": hello\n\nid: 1\nevent: stdout\ndata: {\"data\":\"a\"}\n\nevent: exit\ndata:{\"exitCode\":0}\n\n";
        let expected =
            [("stdout".to_owned(), json!({"data": "a"})), ("exit".to_owned(), json!({"exitCode": 0}))];
        for cut in 1..stream.len() {
            let mut decoder = Decoder::default();
            let events: Vec<Event> =
                stream.chunks(cut).flat_map(|piece| decoder.push(piece).expect("reads")).collect();
            assert_eq!(events, expected, "pieces of {cut}");
        }
    }

    #[test]
    fn garbage_is_an_error() {
        assert!(Decoder::default().push(b"event: exit\ndata: {\n\n").is_err());
        assert!(Decoder::default().push(b"data: \xff\n\n").is_err());
    }
}
