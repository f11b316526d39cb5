mkdir -p src/util docs data/raw empty 'a dir'
cat >src/main.rs <<'X'
use std::fs;

mod util;

fn main() {
    // TODO: read the arguments
    let text = fs::read_to_string("in.txt").unwrap();
    println!("{}", util::count(&text));
}
X
cat >src/util/mod.rs <<'X'
pub fn count(text: &str) -> usize {
    text.lines().count()
}

// TODO: words
pub fn words(text: &str) -> usize {
    text.split_whitespace().count()
}
X
printf '# Title\n\nSome *text* here.\n\n## Part one\n\n- alpha\n- beta\n\n## Part two\n\nThe end.\n' >docs/guide.md
printf 'Notes\n=====\nerror: none\nWarning: two\nERROR: three\n' >docs/notes.txt
printf 'name,age,city\nalice,30,Paris\nbob,25,Berlin\ncarol,35,Paris\ndave,25,\n' >data/people.csv
printf '{"name":"x","list":[1,2,3],"nested":{"b":true,"a":null}}\n' >data/a.json
printf '2024-01-02 10:00:01 INFO start id=7\n2024-01-02 10:00:05 ERROR failed id=9 code=500\n2024-01-02 10:01:00 WARN slow id=7 ms=1200\n2024-01-03 00:00:00 ERROR failed id=11 code=404\n2024-01-03 08:30:10 INFO end id=7\n' >data/raw/app.log
printf '10\n9\n2\n33\n-4\n2\n1.5\n' >nums.txt
printf 'apple\nbanana\ncherry\napple pie\nBanana\ndate\n\nelderberry\n' >fruit.txt
printf 'a\tb\tc\n1\t2\t3\nx\t\tz\n' >tabs.tsv
printf 'no newline at end' >cut.txt
: >empty.txt
printf 'KEY=value\nOTHER="two words"\n# comment\nexport LAST=3\n' >conf.env
printf '#!/bin/bash\necho "run: $# $*"\nexit 3\n' >run.sh
chmod 755 run.sh
printf 'spaced\n' >'a dir/a file.txt'
printf 'hidden\n' >.hidden
printf '\303\251t\303\251 na\303\257ve\n\346\227\245\346\234\254\n' >utf8.txt
printf 'bin\000ary\001\377end\n' >bin.dat
ln -s fruit.txt link
ln -s nowhere dangling
ln -s src dirlink
ln nums.txt hard.txt
