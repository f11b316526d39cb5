//! Strict JSON input: what is not understood is refused, with the field, what was
//! expected and what came.

use std::collections::BTreeMap;
use std::fmt;
use std::ops::RangeInclusive;

use serde::de::{DeserializeSeed, Error as _, MapAccess, SeqAccess, Visitor};
use serde_json::{Map, Number, Value};

use super::error::{ApiError, ApiResult};

/// Parses JSON text. Refused, with line and column: bad syntax, a key that occurs
/// twice in one object, lone surrogates, more than 127 levels, text behind the value.
pub fn parse(bytes: &[u8]) -> ApiResult<Value> {
    let text = std::str::from_utf8(bytes)
        .map_err(|e| ApiError::invalid(format!("the body is not UTF-8 text at byte {}", e.valid_up_to())))?;
    let mut input = serde_json::Deserializer::from_str(text);
    Strict
        .deserialize(&mut input)
        .and_then(|value| input.end().map(|()| value))
        .map_err(|e| ApiError::invalid(format!("the body is not valid JSON: {e}")))
}

/// Builds a [`Value`], refusing duplicate keys.
struct Strict;

impl<'de> DeserializeSeed<'de> for Strict {
    type Value = Value;
    fn deserialize<D: serde::Deserializer<'de>>(self, input: D) -> Result<Value, D::Error> {
        input.deserialize_any(self)
    }
}

impl<'de> Visitor<'de> for Strict {
    type Value = Value;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a JSON value")
    }
    fn visit_unit<E>(self) -> Result<Value, E> {
        Ok(Value::Null)
    }
    fn visit_bool<E>(self, value: bool) -> Result<Value, E> {
        Ok(Value::Bool(value))
    }
    fn visit_i64<E>(self, value: i64) -> Result<Value, E> {
        Ok(Value::Number(value.into()))
    }
    fn visit_u64<E>(self, value: u64) -> Result<Value, E> {
        Ok(Value::Number(value.into()))
    }
    fn visit_f64<E: serde::de::Error>(self, value: f64) -> Result<Value, E> {
        Number::from_f64(value).map(Value::Number).ok_or_else(|| E::custom("number out of range"))
    }
    fn visit_str<E>(self, value: &str) -> Result<Value, E> {
        Ok(Value::String(value.to_owned()))
    }
    fn visit_string<E>(self, value: String) -> Result<Value, E> {
        Ok(Value::String(value))
    }
    fn visit_seq<A: SeqAccess<'de>>(self, mut items: A) -> Result<Value, A::Error> {
        let mut list = Vec::new();
        while let Some(item) = items.next_element_seed(Strict)? {
            list.push(item);
        }
        Ok(Value::Array(list))
    }
    fn visit_map<A: MapAccess<'de>>(self, mut entries: A) -> Result<Value, A::Error> {
        let mut map = Map::new();
        while let Some(key) = entries.next_key::<String>()? {
            if map.contains_key(&key) {
                return Err(A::Error::custom(format!("the key {} occurs twice", shorten(&key))));
            }
            let value = entries.next_value_seed(Strict)?;
            map.insert(key, value);
        }
        Ok(Value::Object(map))
    }
}

/// The fields of one object, or of a query, taken out one by one with their types.
#[derive(Debug)]
pub struct Fields {
    map: Map<String, Value>,
    /// Query values: what is not text is JSON within text.
    from_text: bool,
    /// Stands before field names in messages, such as `scripts[3].`.
    place: String,
}

impl Fields {
    /// The members of a JSON object; refuses others than `known`.
    pub fn of(value: Value, known: &[&str]) -> ApiResult<Self> {
        Self::at(value, known, "")
    }

    /// As [`Fields::of`] for an object inside another one, at `place`.
    pub fn at(value: Value, known: &[&str], place: &str) -> ApiResult<Self> {
        let Value::Object(map) = value else {
            let what = if place.is_empty() { "the body" } else { place.trim_end_matches('.') };
            return Err(ApiError::invalid(format!("{what}: expected object, got {}", kind(&value))));
        };
        Self { map, from_text: false, place: place.to_owned() }.only(known)
    }

    /// The parameters of a query; refuses others than `known` and repeated ones.
    pub fn of_query(query: Option<&str>, known: &[&str]) -> ApiResult<Self> {
        let mut map = Map::new();
        for pair in query.unwrap_or_default().split('&').filter(|pair| !pair.is_empty()) {
            let (name, value) = pair.split_once('=').unwrap_or((pair, ""));
            let name = decode(name)?;
            if map.contains_key(&name) {
                return Err(ApiError::invalid(format!("query parameter {} occurs twice", shorten(&name))));
            }
            let value = Value::String(decode(value)?);
            map.insert(name, value);
        }
        Self { map, from_text: true, place: String::new() }.only(known)
    }

    fn only(self, known: &[&str]) -> ApiResult<Self> {
        match self.map.keys().find(|name| !known.contains(&name.as_str())) {
            None => Ok(self),
            Some(name) => {
                let place = &self.place;
                let nearest = nearest(name, known).map(|near| format!("{place}{near}"));
                Err(ApiError::unknown_field(&format!("{place}{}", shorten(name)), nearest.as_deref(), known))
            }
        }
    }

    /// Adds fields from elsewhere (a raw body's query); a name in both is refused.
    pub fn set(&mut self, name: &str, value: Value) {
        self.map.insert(name.to_owned(), value);
    }

    /// Whether a field is there.
    #[must_use]
    pub fn has(&self, name: &str) -> bool {
        self.map.contains_key(name)
    }

    /// The raw value.
    pub fn take(&mut self, name: &str) -> Option<Value> {
        self.map.remove(name)
    }

    /// Text.
    pub fn text(&mut self, name: &str) -> ApiResult<Option<String>> {
        match self.map.remove(name) {
            None => Ok(None),
            Some(Value::String(text)) => Ok(Some(text)),
            Some(other) => Err(self.wrong(name, "string", &other)),
        }
    }

    /// Text that must be there.
    pub fn required_text(&mut self, name: &str) -> ApiResult<String> {
        self.text(name)?.ok_or_else(|| self.missing(name))
    }

    /// Text without NUL.
    pub fn clean_text(&mut self, name: &str) -> ApiResult<Option<String>> {
        let text = self.text(name)?;
        if let Some(at) = text.as_ref().and_then(|t| t.find('\0')) {
            return Err(ApiError::invalid(format!("{}{name}: holds a NUL at byte {at}", self.place)));
        }
        Ok(text)
    }

    /// true or false.
    pub fn flag(&mut self, name: &str) -> ApiResult<Option<bool>> {
        match self.typed(name)? {
            None => Ok(None),
            Some(Value::Bool(flag)) => Ok(Some(flag)),
            Some(other) => Err(self.wrong(name, "boolean", &other)),
        }
    }

    /// A whole number within `range`.
    pub fn integer(&mut self, name: &str, range: RangeInclusive<i64>) -> ApiResult<Option<i64>> {
        let Some(value) = self.typed(name)? else { return Ok(None) };
        if !value.is_number() {
            return Err(self.wrong(name, "number", &value));
        }
        // JSON has one kind of number: 5.0 is the whole number 5.
        let whole = value.as_i64().or_else(|| value.as_f64().and_then(whole));
        match whole.filter(|n| range.contains(n)) {
            Some(n) => Ok(Some(n)),
            None => Err(ApiError::invalid(format!(
                "{}{name}: expected a whole number from {} to {}, got {value}",
                self.place,
                range.start(),
                range.end()
            ))),
        }
    }

    /// A list of texts without NUL.
    pub fn texts(&mut self, name: &str) -> ApiResult<Option<Vec<String>>> {
        let list = match self.typed(name)? {
            None => return Ok(None),
            Some(Value::Array(list)) => list,
            Some(other) => return Err(self.wrong(name, "array", &other)),
        };
        let text = |(i, item)| match item {
            Value::String(text) if text.contains('\0') => {
                Err(ApiError::invalid(format!("{}{name}[{i}]: holds a NUL", self.place)))
            }
            Value::String(text) => Ok(text),
            other => Err(self.wrong(&format!("{name}[{i}]"), "string", &other)),
        };
        list.into_iter().enumerate().map(text).collect::<ApiResult<_>>().map(Some)
    }

    /// An object whose members are all text.
    pub fn text_map(&mut self, name: &str) -> ApiResult<Option<BTreeMap<String, String>>> {
        let map = match self.typed(name)? {
            None => return Ok(None),
            Some(Value::Object(map)) => map,
            Some(other) => return Err(self.wrong(name, "object", &other)),
        };
        let text = |(key, value): (String, Value)| match value {
            Value::String(text) => Ok((key, text)),
            other => Err(self.wrong(&format!("{name}[{:?}]", shorten(&key)), "string", &other)),
        };
        map.into_iter().map(text).collect::<ApiResult<_>>().map(Some)
    }

    /// The value of a field that is not text: in a query it is JSON within text.
    fn typed(&mut self, name: &str) -> ApiResult<Option<Value>> {
        let Some(value) = self.map.remove(name) else { return Ok(None) };
        match value {
            Value::String(text) if self.from_text => parse(text.as_bytes())
                .map(Some)
                .map_err(|e| ApiError::invalid(format!("query parameter {name}: {}", e.message()))),
            other => Ok(Some(other)),
        }
    }

    /// The refusal of a field that has to be there.
    pub fn missing(&self, name: &str) -> ApiError {
        ApiError::invalid(format!("{}{name} is required", self.place))
    }

    fn wrong(&self, name: &str, expected: &str, got: &Value) -> ApiError {
        ApiError::invalid(format!("{}{name}: expected {expected}, got {}", self.place, kind(got)))
    }
}

/// A float without a fraction, as far as floats count exactly.
fn whole(number: f64) -> Option<i64> {
    const EXACT: f64 = 9_007_199_254_740_992.0;
    (number.fract() == 0.0 && number.abs() <= EXACT).then_some(number as i64)
}

fn kind(value: &Value) -> &'static str {
    match value {
        Value::Null => "null",
        Value::Bool(_) => "boolean",
        Value::Number(_) => "number",
        Value::String(_) => "string",
        Value::Array(_) => "array",
        Value::Object(_) => "object",
    }
}

/// The known name that a wrong one was probably meant to be.
#[must_use]
pub fn nearest<'a>(name: &str, known: &[&'a str]) -> Option<&'a str> {
    // Long junk is no typing mistake, and comparing it costs its length.
    if name.len() > 64 {
        return None;
    }
    let distance = |k: &str| strsim::osa_distance(&name.to_lowercase(), &k.to_lowercase());
    let near = known.iter().map(|k| (distance(k), *k)).min()?;
    (near.0 <= 1 + name.len() / 4).then_some(near.1)
}

/// Names that come back in messages are cut, so that a message stays one.
fn shorten(name: &str) -> String {
    if name.chars().count() <= 64 {
        name.to_owned()
    } else {
        format!("{}…", name.chars().take(64).collect::<String>())
    }
}

fn decode(text: &str) -> ApiResult<String> {
    let spaced = text.replace('+', " ");
    percent_encoding::percent_decode_str(&spaced)
        .decode_utf8()
        .map(std::borrow::Cow::into_owned)
        .map_err(|_| ApiError::invalid("the query is not UTF-8 text"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    const KNOWN: &[&str] = &["script", "readOnly", "timeoutMs", "env", "args"];

    fn fields(text: &str) -> ApiResult<Fields> {
        Fields::of(parse(text.as_bytes())?, KNOWN)
    }

    #[test]
    fn syntax_errors_say_where() {
        for (text, says) in [
            ("{\"script\":", "EOF while parsing a value at line 1 column 10"),
            ("{\"a\":1,\n\"a\":2}", "the key a occurs twice at line 2 column"),
            ("{\"script\":\"\\ud800\"}", "at line 1 column"),
            ("{} x", "trailing characters at line 1 column 4"),
            ("1e999", "number out of range"),
        ] {
            let error = parse(text.as_bytes()).unwrap_err();
            assert_eq!(error.code(), "INVALID_INPUT");
            assert!(error.message().contains(says), "{text}: {}", error.message());
        }
        assert!(parse(&[b'"', 0xff, b'"']).unwrap_err().message().contains("not UTF-8 text at byte 1"));
        assert_eq!(parse(b"{\"a\":{\"b\":1},\"b\":[1,{\"b\":2}]}").unwrap()["b"][1]["b"], 2);
    }

    #[test]
    fn deep_nesting_is_refused_not_run_out_of_stack() {
        let deep = format!("{}{}", "[".repeat(100_000), "]".repeat(100_000));
        assert!(parse(deep.as_bytes()).unwrap_err().message().contains("recursion limit"));
        let fine = format!("{}{}", "[".repeat(100), "]".repeat(100));
        parse(fine.as_bytes()).unwrap();
    }

    #[test]
    fn unknown_fields_name_the_nearest() {
        let error = fields(r#"{"script":"ls","redOnly":true}"#).unwrap_err();
        assert_eq!(error.code(), "UNKNOWN_FIELD");
        assert_eq!(error.message(), "unknown field redOnly; did you mean readOnly?");
        let error = fields(r#"{"timeout_ms":5}"#).unwrap_err();
        assert_eq!(error.message(), "unknown field timeout_ms; did you mean timeoutMs?");
        assert_eq!(fields(r#"{"zzz":1}"#).unwrap_err().message(), "unknown field zzz");
    }

    #[test]
    fn wrong_types_say_field_expected_got() {
        assert_eq!(fields("[]").unwrap_err().message(), "the body: expected object, got array");
        assert_eq!(fields("null").unwrap_err().message(), "the body: expected object, got null");
        let mut f =
            fields(r#"{"script":1,"readOnly":"yes","timeoutMs":"NaN","env":{"A":1},"args":["a",null]}"#)
                .unwrap();
        assert_eq!(f.text("script").unwrap_err().message(), "script: expected string, got number");
        assert_eq!(f.flag("readOnly").unwrap_err().message(), "readOnly: expected boolean, got string");
        assert_eq!(
            f.integer("timeoutMs", 1..=9).unwrap_err().message(),
            "timeoutMs: expected number, got string"
        );
        assert_eq!(f.text_map("env").unwrap_err().message(), "env[\"A\"]: expected string, got number");
        assert_eq!(f.texts("args").unwrap_err().message(), "args[1]: expected string, got null");
    }

    #[test]
    fn ranges() {
        for bad in ["-1", "0", "1e308", "1.5", "1000000000000"] {
            let mut f = fields(&format!("{{\"timeoutMs\":{bad}}}")).unwrap();
            let error = f.integer("timeoutMs", 1..=300_000).unwrap_err();
            assert!(error.message().starts_with("timeoutMs: expected a whole number from 1 to 300000, got "));
        }
        let mut f = fields(r#"{"timeoutMs":300000}"#).unwrap();
        assert_eq!(f.integer("timeoutMs", 1..=300_000).unwrap(), Some(300_000));
        let mut f = fields(r#"{"timeoutMs":718.0}"#).unwrap();
        assert_eq!(f.integer("timeoutMs", 1..=300_000).unwrap(), Some(718));
    }

    #[test]
    fn nul_is_refused_with_its_place() {
        let mut f = fields(r#"{"script":"ab\u0000"}"#).unwrap();
        assert_eq!(f.clean_text("script").unwrap_err().message(), "script: holds a NUL at byte 2");
    }

    #[test]
    fn queries_hold_json_for_what_is_not_text() {
        let query = "script=a%20b+c&readOnly=true&timeoutMs=5&env=%7B%22A%22%3A%221%22%7D&args=[%22x%22]";
        let mut f = Fields::of_query(Some(query), KNOWN).unwrap();
        assert_eq!(f.text("script").unwrap().as_deref(), Some("a b c"));
        assert_eq!(f.flag("readOnly").unwrap(), Some(true));
        assert_eq!(f.integer("timeoutMs", 1..=9).unwrap(), Some(5));
        assert_eq!(f.text_map("env").unwrap().unwrap()["A"], "1");
        assert_eq!(f.texts("args").unwrap().unwrap(), ["x"]);
        let refused = |q| Fields::of_query(Some(q), KNOWN).unwrap_err();
        assert_eq!(refused("readonly=true").message(), "unknown field readonly; did you mean readOnly?");
        assert_eq!(refused("args=1&args=2").message(), "query parameter args occurs twice");
        assert_eq!(refused("script=%ff").message(), "the query is not UTF-8 text");
        let mut f = Fields::of_query(Some("readOnly=maybe"), KNOWN).unwrap();
        assert!(f.flag("readOnly").unwrap_err().message().starts_with("query parameter readOnly:"));
        assert_eq!(Fields::of(json!({}), KNOWN).unwrap().flag("readOnly").unwrap(), None);
    }
}
