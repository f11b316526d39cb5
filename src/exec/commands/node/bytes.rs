//! Bytes and text, in and out of JavaScript.

use rquickjs::{ArrayBuffer, Ctx, Error, Function, Result, String as JsString, TypedArray, Value};

/// A copy of the bytes of a `Uint8Array`.
pub(super) fn of_array(value: &Value<'_>) -> Result<Vec<u8>> {
    let array = TypedArray::<u8>::from_value(value.clone())?;
    // SAFETY: the bytes are copied before anything of JavaScript runs again, which alone
    // could change, move or free them; a detached array gives none.
    #[expect(unsafe_code, reason = "the crate has no copying access to a whole array")]
    let bytes = unsafe { array.as_bytes() }.map(<[u8]>::to_vec);
    Ok(bytes.unwrap_or_default())
}

/// A text; halves of surrogate pairs become replacement characters.
pub(super) fn text(string: &JsString<'_>) -> Result<String> {
    match string.to_string() {
        Err(Error::Utf8(_)) => {
            let whole: Function<'_> = string.ctx().eval("(text) => text.toWellFormed()")?;
            whole.call::<_, JsString<'_>>((string.clone(),))?.to_string()
        }
        other => other,
    }
}

/// The bytes of a text, as UTF-8, or of a `Uint8Array`.
pub(super) fn of(value: &Value<'_>) -> Result<Vec<u8>> {
    match value.as_string() {
        Some(string) => Ok(text(string)?.into_bytes()),
        None => of_array(value),
    }
}

/// An `ArrayBuffer` of these bytes.
pub(super) fn buffer<'js>(ctx: &Ctx<'js>, bytes: &[u8]) -> Result<Value<'js>> {
    Ok(ArrayBuffer::new_copy(ctx.clone(), bytes)?.into_value())
}

/// A string.
pub(super) fn string<'js>(ctx: &Ctx<'js>, text: &str) -> Result<Value<'js>> {
    Ok(JsString::from_str(ctx.clone(), text)?.into_value())
}
