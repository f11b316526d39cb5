node -e 'function f() { throw new RangeError("deep trouble") } f()' 2>&1 | grep -c 'RangeError: deep trouble'
node -e 'Promise.reject(new Error("lost promise"))' 2>&1 | grep -c 'Error: lost promise'
printf 'const a = 1;\nthrow new Error("line two");\n' > t.js; node t.js 2>&1 | grep -c 't.js:2'; node t.js 2>&1 | grep -c 'throw new Error("line two")'
printf 'const x = ;\n' > s.js; node s.js 2>&1 | grep -c 'SyntaxError'; node -e 'null.x' 2>&1 | grep -o "TypeError: Cannot read properties of null (reading 'x')"
node -e 'require("./missing")' 2>&1 | grep -o "Error: Cannot find module './missing'"; node -e 'console.error("warn"); console.log("out")' 2>/dev/null; node -e 'console.error("%d items", 3)' 2>&1 >/dev/null
node -e 'setTimeout(() => { undefinedFn() }, 1)' 2>&1 | grep -o 'ReferenceError: undefinedFn is not defined'
