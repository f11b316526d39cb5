node -e '
const text = "2024-01-15 ERROR db: timeout after 30s\n2024-01-16 INFO ok\n2024-02-01 WARN disk 91%";
for (const m of text.matchAll(/^(?<date>\d{4}-\d\d-\d\d) (?<level>\w+) (.*)$/gm)) console.log(m.groups.date, m.groups["level"], m[3], m.index);
console.log(text.replace(/(\d+)(s|%)/g, (all, n, u) => `<${n * 2}${u}>`), "aBc".replace(/b/i, "[$&]"));
console.log("a1b22".match(/\d+/g), "x".match(/y/), /(?<=\$)\d+/.exec("cost $42"), "a,b;c".split(/[,;]/), /\p{L}+/u.exec("é!")[0], "abc".search(/c/));
console.log(/(a)(b)?/.exec("ac"), "aaa".lastIndexOf("a"), "x-y".replaceAll("-", "+"), /a.c/s.test("a\nc"), new RegExp("[.*]", "g"));
console.log([..."👍é"].length, "ab".padEnd(4, "-") + "|", "Ab".localeCompare("ab"), ["b","a","C"].sort((a,b)=>a.localeCompare(b)));'
