//! One program in one engine, from its first line to its exit code.

use std::cell::Cell;
use std::collections::BTreeMap;
use std::rc::Rc;
use std::time::Duration;

use rquickjs::{CatchResultExt, CaughtError, Context, Ctx, Error, Function, Object, Result, Runtime, Value};

use super::live::Running;
use super::state::State;
use super::{Program, bytes, files, modules, sys, types};
use crate::exec::commands::{Answer, Call};

/// Stack of the engine. A function of JavaScript takes about 400 bytes of it, so that some
/// ten thousand calls deep is where "Maximum call stack size exceeded" comes, as in Node.
const STACK_BYTES: usize = 8 << 20;

/// How long a program sleeps before it looks whether it is to end.
const NAP: Duration = Duration::from_millis(10);

/// Garbage is looked for when the heap has grown by so much.
const GC_BYTES: usize = 16 << 20;

/// Exit code after an abort, as of a real Node that ran out of memory.
const ABORTED: i32 = 134;

/// Makes it ready.
pub(super) fn start(
    call: &Call<'_>,
    env: &BTreeMap<String, String>,
    program: Program,
) -> std::result::Result<Running, Answer> {
    let stdin = if program.kind == super::Kind::Stdin { Vec::new() } else { call.stdin.to_vec() };
    let (files, env, cwd) = (call.files.clone(), env.clone(), call.cwd.to_owned());
    let over = Rc::new(Cell::new(false));
    let told = over.clone();
    let running = Running::new(over, move |way| {
        let memory = usize::try_from(files.quota().memory).unwrap_or(usize::MAX);
        let state = Rc::new(State::new(files, env, stdin, &cwd, told));
        state.on(way, || {
            if let Err(error) = in_engine(&state, memory, &program) {
                // Not the program's own error: there was not even room for an engine.
                state.print(true, format!("node: {error}\n").as_bytes());
                state.exit.set(Some(ABORTED));
            }
        });
        state.exit.get().unwrap_or(0) as u8
    });
    running.map_err(|error| {
        let stderr = format!("node: no stack for the program: {error}\n").into_bytes();
        Answer { stderr, exit: ABORTED as u8, ..Answer::default() }
    })
}

fn in_engine(state: &Rc<State>, memory: usize, program: &Program) -> Result<()> {
    let runtime = Runtime::new()?;
    runtime.set_memory_limit(memory);
    runtime.set_max_stack_size(STACK_BYTES);
    runtime.set_gc_threshold(GC_BYTES);
    runtime.set_loader(modules::Modules, modules::Modules);
    let watched = state.clone();
    runtime.set_interrupt_handler(Some(Box::new(move || watched.looked_after())));
    runtime.set_host_promise_rejection_tracker(Some(Box::new(|ctx, promise, reason, handled| {
        let told = modules::sys(&ctx).and_then(|sys| sys.get::<_, Function<'_>>("rejected"));
        // Without memory for it nobody can be told; the program meets that itself.
        let _ = told.and_then(|told| told.call::<_, ()>((promise, reason, handled)));
    })));
    let context = Context::full(&runtime)?;
    context.with(|ctx| {
        let shared = Object::new(ctx.clone())?;
        sys::register(&ctx, &shared, state)?;
        files::register(&ctx, &shared, state)?;
        types::register(&ctx, &shared, state)?;
        modules::register(&ctx, &shared)?;
        let turn = Turn { ctx: ctx.clone(), sys: shared, state };
        turn.program(program);
        Ok(())
    })
}

/// The loop of events.
struct Turn<'js, 'a> {
    ctx: Ctx<'js>,
    sys: Object<'js>,
    state: &'a Rc<State>,
}

impl<'js> Turn<'js, '_> {
    fn program(&self, program: &Program) {
        if !self.is_fine(self.boot(program)) && self.state.is_over() {
            return;
        }
        loop {
            self.settle();
            if self.state.is_over() {
                return;
            }
            let wait = self.call::<f64>("advance");
            let wait = match wait {
                Ok(wait) => wait,
                Err(error) => {
                    self.is_fine(Err(error));
                    continue;
                }
            };
            if self.state.is_over() || wait < 0.0 {
                return;
            }
            self.sleep(wait);
        }
    }

    fn boot(&self, program: &Program) -> Result<()> {
        let boot: Function<'js> = sys::builtin(&self.ctx, "boot")?;
        let module = Object::new(self.ctx.clone())?;
        boot.call::<_, ()>((
            Value::new_undefined(self.ctx.clone()),
            Value::new_undefined(self.ctx.clone()),
            module,
            self.sys.clone(),
        ))?;
        let options = Object::new(self.ctx.clone())?;
        options.set("print", program.print)?;
        options.set("es", program.module)?;
        options.set("types", program.types)?;
        options.set("dash", program.dash)?;
        options.set("check", program.check)?;
        let main: Function<'js> = self.sys.get("main")?;
        main.call((
            program.kind.name(),
            bytes::string(&self.ctx, &program.text)?,
            program.args.clone(),
            options,
        ))
    }

    fn call<T: rquickjs::FromJs<'js>>(&self, name: &str) -> Result<T> {
        self.sys.get::<_, Function<'js>>(name)?.call(())
    }

    /// Ticks and microtasks, until there are none.
    fn settle(&self) {
        while !self.state.is_over() {
            let ticks = match self.call::<bool>("ticks") {
                Ok(any) => any,
                Err(error) => {
                    self.is_fine(Err(error));
                    true
                }
            };
            let mut jobs = false;
            while !self.state.is_over() && self.ctx.execute_pending_job() {
                jobs = true;
            }
            if !ticks && !jobs {
                return;
            }
        }
    }

    /// What nobody caught is told to the program, which mostly ends of it.
    fn is_fine(&self, result: Result<()>) -> bool {
        let Err(error) = result.catch(&self.ctx) else { return true };
        if self.state.is_over() {
            return false;
        }
        let (memory, value) = match error {
            CaughtError::Exception(exception) => {
                // There may have been no room for the text, either.
                let message = exception.message().unwrap_or_default();
                let name: String = exception.as_object().get("name").unwrap_or_default();
                let memory = name == "InternalError" && matches!(&*message, "" | "out of memory");
                (memory, exception.into_value())
            }
            // The engine throws null when there is no room for an error; a program may, too.
            CaughtError::Value(value) if value.is_null() => return self.nothing_thrown(),
            CaughtError::Value(value) => (false, value),
            CaughtError::Error(error) => {
                // An error of ours that is none of JavaScript.
                let text = error.to_string();
                let Ok(value) = bytes::string(&self.ctx, &text) else { return self.out_of_memory() };
                (matches!(error, Error::Allocation), value)
            }
        };
        if memory {
            return self.out_of_memory();
        }
        let told = self.sys.get::<_, Function<'js>>("uncaught").and_then(|told| told.call::<_, ()>((value,)));
        if told.catch(&self.ctx).is_err() && !self.state.is_over() {
            // Its own handler failed.
            self.state.print(true, b"node: an uncaught error, and another while it was told\n");
            self.state.exit.set(Some(7));
        }
        false
    }

    fn nothing_thrown(&self) -> bool {
        let limit = self.state.files.quota().memory;
        let text = format!(
            "Uncaught null: the program threw it, or it holds all {limit} bytes that it may (EXEC_MEMORY_BYTES)\n"
        );
        self.state.print(true, text.as_bytes());
        self.state.exit.set(Some(1));
        false
    }

    fn out_of_memory(&self) -> bool {
        let limit = self.state.files.quota().memory;
        let text = format!(
            "FATAL ERROR: JavaScript heap out of memory: a program may hold {limit} bytes (EXEC_MEMORY_BYTES)\n"
        );
        self.state.print(true, text.as_bytes());
        self.state.exit.set(Some(ABORTED));
        false
    }

    /// Waits for the next timer, ready to end.
    fn sleep(&self, milliseconds: f64) {
        self.state.leave();
        let until = self.state.now() + milliseconds;
        while !self.state.is_over() {
            let left = until - self.state.now();
            if left <= 0.0 {
                return;
            }
            self.state.wait(NAP.min(Duration::from_secs_f64(left / 1000.0)));
        }
    }
}
