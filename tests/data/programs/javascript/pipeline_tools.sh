printf '%s\n' '{"id":3,"n":"c"}' '{"id":1,"n":"a"}' '{"id":2,"n":"b"}' > in.jsonl
node -e 'require("fs").readFileSync(0,"utf8").trim().split("\n").map(JSON.parse).sort((a,b)=>a.id-b.id).forEach(o=>console.log(o.n))' < in.jsonl | tr a-z A-Z | node -e 'console.log(require("fs").readFileSync(0,"utf8").split("\n").filter(Boolean).join("+"))'
X=$(node -p '6*7'); echo "got $X"; if node -e 'process.exit(1)'; then echo yes; else echo no; fi; node -e 'process.exit(0)' && echo fine
node -e 'console.log("a"); console.error("b")' > out.txt 2> err.txt; cat out.txt err.txt; for i in 1 2 3; do node -e "console.log($i * 2)"; done | paste -sd,
echo 'module.exports = (n) => n * 3' > m.js; node -p 'require("./m")(5)'; find . -name '*.js' | xargs -n1 node -c && echo checked; seq 3 | xargs -I{} node -p '{} + 1'
node <<'JS'
const lines = ['heredoc', 'works'];
console.log(lines.join(' '));
JS
