//! TypeScript as Node takes it: what is a type alone becomes blanks, so that lines and
//! columns stay. Syntax that makes code (`enum`, …) is refused, as by Node's own default.

use rquickjs::{Array, Ctx, Function, IntoJs, Object, Result, String as JsString, Value};
use tsv_ts::{Goal, StripError, UnsupportedConstruct};

use super::bytes;
use super::state::State;

/// Of the memory that a program may hold, one byte of source for each so many: what reading
/// takes was 142 bytes for each at most.
const MEMORY_PART: u64 = 256;

/// Why a source cannot run.
struct Refused {
    /// Node's code for it.
    code: &'static str,
    message: String,
    /// Line and column, from 1.
    at: Option<(usize, usize)>,
}

/// The source without its types. `es`: whether it is an ES module; `None` if that is not known.
fn strip(source: &str, es: Option<bool>, memory: u64) -> std::result::Result<String, Refused> {
    let most = memory / MEMORY_PART;
    if source.len() as u64 > most {
        let message = format!("a file of TypeScript may have {most} bytes (EXEC_MEMORY_BYTES)");
        return Err(Refused { code: "ERR_INVALID_TYPESCRIPT_SYNTAX", message, at: None });
    }
    let stripped = match es {
        // CommonJS has `return` and `await` where a module has not, and a script neither.
        None | Some(false) => tsv_ts::strip(source),
        Some(true) => tsv_ts::strip_with_goal(source, Goal::Module),
    };
    stripped.map(|stripped| stripped.code).map_err(|error| {
        let at = error.span().map(|span| position(source, span.start));
        match error {
            StripError::Unsupported { construct, .. } => {
                let message = format!("{} is not supported in strip-only mode", words(construct));
                Refused { code: "ERR_UNSUPPORTED_TYPESCRIPT_SYNTAX", message, at }
            }
            error => Refused { code: "ERR_INVALID_TYPESCRIPT_SYNTAX", message: error.message(), at },
        }
    })
}

/// What cannot become blanks, in Node's words where it has any.
fn words(construct: UnsupportedConstruct) -> &'static str {
    match construct {
        UnsupportedConstruct::Enum => "TypeScript enum",
        UnsupportedConstruct::ValueNamespace => "TypeScript namespace declaration",
        UnsupportedConstruct::ParameterProperty => "TypeScript parameter property",
        UnsupportedConstruct::ImportEquals => "TypeScript import equals declaration",
        UnsupportedConstruct::ExportEquals => "TypeScript export assignment",
        UnsupportedConstruct::TypeAssertion => "The angle-bracket syntax for type assertions",
        UnsupportedConstruct::AssertionGrouping => {
            "A type assertion without which the expression reads otherwise (put it in parentheses)"
        }
        _ => "This TypeScript syntax",
    }
}

/// Line and column of a byte, from 1; columns count UTF-16 units, as everywhere in JavaScript.
fn position(source: &str, at: usize) -> (usize, usize) {
    let before = source.get(..at).unwrap_or(source);
    let line = before.matches('\n').count() + 1;
    let start = before.rfind('\n').map_or(0, |newline| newline + 1);
    (line, before[start..].encode_utf16().count() + 1)
}

/// Gives `sys` the call: a text, or a list of code, message, line and column.
pub(super) fn register<'js>(ctx: &Ctx<'js>, sys: &Object<'js>, state: &State) -> Result<()> {
    let memory = state.files.quota().memory;
    let function = move |ctx: Ctx<'js>, source: JsString<'js>, es: Option<bool>| -> Result<Value<'js>> {
        match strip(&bytes::text(&source)?, es, memory) {
            Ok(code) => bytes::string(&ctx, &code),
            Err(refused) => {
                let list = Array::new(ctx.clone())?;
                list.set(0, refused.code)?;
                list.set(1, bytes::string(&ctx, &refused.message)?)?;
                if let Some((line, column)) = refused.at {
                    list.set(2, line)?;
                    list.set(3, column)?;
                }
                list.into_js(&ctx)
            }
        }
    };
    sys.set("stripTypes", Function::new(ctx.clone(), function)?)
}

#[cfg(test)]
mod tests {
    use super::*;

    const MEMORY: u64 = 256 << 20;

    #[test]
    fn what_is_left_stands_where_it_stood() {
        let source = "interface A<T> {\n  x: T;\n}\nconst é: A<'😀'> = { x: '😀' as const }; throw é!;\n";
        let code = strip(source, None, MEMORY).ok().unwrap();
        let columns = |text: &str| {
            let line = text.lines().nth(3).unwrap();
            line[..line.find("throw").unwrap()].encode_utf16().count()
        };
        assert_eq!(columns(&code), columns(source));
        assert_eq!(code.lines().count(), source.lines().count());
        assert!(!code.contains("interface") && !code.contains("as const"), "{code}");
        assert_eq!(strip("const a = 1;\n", Some(true), MEMORY).ok().unwrap(), "const a = 1;\n");
    }

    #[test]
    fn refusals_say_where() {
        for (source, code, message, at) in [
            ("\nenum A { B }", "ERR_UNSUPPORTED_TYPESCRIPT_SYNTAX", "TypeScript enum is not", (2, 1)),
            ("/*😀*/ let a: = 1", "ERR_INVALID_TYPESCRIPT_SYNTAX", "", (1, 15)),
        ] {
            let refused = strip(source, None, MEMORY).err().unwrap();
            assert_eq!((refused.code, refused.at), (code, Some(at)), "{source}: {}", refused.message);
            assert!(refused.message.starts_with(message), "{}", refused.message);
        }
        let deep = "(".repeat(1 << 20);
        assert!(strip(&deep, None, MEMORY).err().unwrap().message.contains("limit"));
        assert!(strip(&";".repeat(1 << 21), None, MEMORY).err().unwrap().at.is_none());
    }
}
