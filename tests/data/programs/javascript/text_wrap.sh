printf 'The quick brown fox jumps over the lazy dog and runs away into the dark forest\n' > in.txt
node -e '
const text = require("fs").readFileSync("in.txt", "utf8").trim();
const wrap = (t, n) => t.split(" ").reduce((lines, word) => {
  const last = lines[lines.length - 1];
  if (last && (last + " " + word).length <= n) lines[lines.length - 1] = last + " " + word; else lines.push(word);
  return lines;
}, []);
console.log(wrap(text, 20).map((l, i) => `${String(i + 1).padStart(2, "0")} ${l}`).join("\n"));
console.log(text.replace(/\b(\w)(\w*)/g, (_, a, b) => a.toUpperCase() + b), text.match(/o\w/g), text.split(/\s+/).length);
console.log([..."mississippi"].reduce((m, c) => ({ ...m, [c]: (m[c] || 0) + 1 }), {}));
console.log("%s is %d years and %i, %j", "Bo", 4.5, 4.5, { a: [1] });
'
