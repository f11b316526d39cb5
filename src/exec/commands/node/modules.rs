//! Code in: functions of CommonJS, scripts, and ES modules by the names and sources that
//! `modules.js` gives.

use rquickjs::context::EvalOptions;
use rquickjs::loader::{ImportAttributes, Loader, Resolver};
use rquickjs::module::Declared;
use rquickjs::{Ctx, Function, IntoJs, Module, Object, Promise, Result, String as JsString, Value};

use super::bytes;

/// The object that JavaScript and we share.
pub(super) fn sys<'js>(ctx: &Ctx<'js>) -> Result<Object<'js>> {
    ctx.globals().get("__sqlfs")
}

/// Resolver and loader in one: both ask JavaScript.
pub(super) struct Modules;

impl Resolver for Modules {
    fn resolve<'js>(
        &mut self,
        ctx: &Ctx<'js>,
        base: &str,
        name: &str,
        _attributes: Option<ImportAttributes<'js>>,
    ) -> Result<String> {
        sys(ctx)?.get::<_, Function<'js>>("resolve")?.call((base, name))
    }
}

impl Loader for Modules {
    fn load<'js>(
        &mut self,
        ctx: &Ctx<'js>,
        name: &str,
        _attributes: Option<ImportAttributes<'js>>,
    ) -> Result<Module<'js, Declared>> {
        let source: JsString<'js> = sys(ctx)?.get::<_, Function<'js>>("load")?.call((name,))?;
        let module = Module::declare(ctx.clone(), name, bytes::text(&source)?)?;
        sys(ctx)?.get::<_, Function<'js>>("meta")?.call::<_, ()>((module.meta()?, name))?;
        Ok(module)
    }
}

fn script<'js>(ctx: &Ctx<'js>, source: String, file: String) -> Result<Value<'js>> {
    let mut options = EvalOptions::default();
    options.strict = false;
    options.filename = Some(file);
    ctx.eval_with_options(source, options)
}

/// A module of ours: a function of exports, require, module and sys.
pub(super) fn builtin<'js>(ctx: &Ctx<'js>, name: &str, source: &str) -> Result<Value<'js>> {
    script(ctx, format!("(function (exports, require, module, sys) {{{source}\n}})"), format!("node:{name}"))
}

/// Gives `sys` its ways to run code.
pub(super) fn register<'js>(ctx: &Ctx<'js>, sys: &Object<'js>) -> Result<()> {
    let compile = |ctx: Ctx<'js>, source: JsString<'js>, file: String| {
        let source = bytes::text(&source)?;
        let body = "(function (exports, require, module, __filename, __dirname) {";
        script(&ctx, format!("{body}{source}\n}})"), file)
    };
    sys.set("compile", Function::new(ctx.clone(), compile)?)?;
    let run = |ctx: Ctx<'js>, source: JsString<'js>, file: String| script(&ctx, bytes::text(&source)?, file);
    sys.set("script", Function::new(ctx.clone(), run)?)?;
    let import = |ctx: Ctx<'js>, name: String| Module::import(&ctx, name);
    sys.set("import", Function::new(ctx.clone(), import)?)?;
    // For `require` of an ES module: null if it waits for something.
    let now = |ctx: Ctx<'js>, name: String| -> Result<Value<'js>> {
        let promise: Promise<'js> = Module::import(&ctx, name)?;
        loop {
            match promise.result::<Value<'js>>() {
                Some(result) => return result,
                None if !ctx.execute_pending_job() => {
                    return ().into_js(&ctx).map(|_| Value::new_null(ctx.clone()));
                }
                None => {}
            }
        }
    };
    sys.set("importNow", Function::new(ctx.clone(), now)?)
}
