node -e 'process.exit(3)'; echo $?
node -e 'process.exitCode = 4'; echo $?
node -e 'throw new Error("x")' 2>/dev/null; echo $?
node -e 'Promise.reject(new Error("x"))' 2>/dev/null; echo $?
node -e 'process.on("exit", (c) => { console.log("bye", c); process.exitCode = 9 })'; echo $?
node -e 'process.on("uncaughtException", (e) => console.log("caught", e.message)); setTimeout(() => console.log("later"), 5); throw new Error("y")'; echo $?
node -e 'process.on("unhandledRejection", (e) => console.log("rejected", e.message)); Promise.reject(new Error("z"))'; echo $?
node -e 'console.log(1); process.exit(); console.log(2)'; echo $?
node -e 'try { process.exit(5) } finally { console.log("finally") }'; echo $?
node -e 'setTimeout(() => { throw "str" }, 1)' 2>/dev/null; echo $?
node nope.js 2>/dev/null; echo $?
node -e 'syntax error here' 2>/dev/null; echo $?
node -e '(async () => { await null; process.exit(6) })()'; echo $?
node -e 'setInterval(() => {}, 1000).unref()'; echo $?
node --nope 2>/dev/null; echo $?
node -e 'process.on("beforeExit", () => { if (!globalThis.x) { globalThis.x = 1; setTimeout(() => console.log("more"), 1) } })'; echo $?
node --input-type=module -e 'await new Promise(() => {})' 2>/dev/null; echo $?
