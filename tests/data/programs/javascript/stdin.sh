printf 'b 2\na 1\nc 3' > in
node -e 'const t = require("fs").readFileSync(0, "utf8"); console.log(t.split("\n").sort().join("|"))' < in
cat in | node -e 'let n = 0; process.stdin.on("data", (c) => n += c.length).on("end", () => console.log(n))'
cat in | node -e 'const rl = require("readline").createInterface({ input: process.stdin }); rl.on("line", (l) => console.log("<" + l + ">")); rl.on("close", () => console.log("closed"))'
cat > a.mjs <<'JS'
import readline from 'node:readline';
let sum = 0; for await (const line of readline.createInterface({ input: process.stdin })) sum += +line.split(' ')[1];
console.log('sum', sum);
JS
cat in | node a.mjs
cat in | node -e 'process.stdin.setEncoding("utf8"); (async () => { let s = ""; for await (const c of process.stdin) s += c; console.log(JSON.stringify(s)) })()'
echo 'console.log("from stdin", process.argv.length)' | node
echo 'console.log("dash", process.argv.slice(2))' | node - x y
node -e 'console.log(require("fs").readFileSync("/dev/stdin", "utf8").length)' < in
node -p '[1,2,3].map(x => x * 2)'; node -p 'process.argv.slice(1)' a b; node -pe '"x".toUpperCase()'; node -p '({a: 1})'; node -p 'undefined'
echo '{"k": [1, 2]}' | node -e 'process.stdin.resume(); let d = ""; process.stdin.on("data", (x) => (d += x)); process.stdin.on("end", () => console.log(JSON.parse(d).k))' | node -e 'process.stdin.pipe(process.stdout)'
