//! `grep`, `cat`, `head` and `tail` beside the machine's own.

use std::time::{Duration, Instant};

use sqlfs::exec::End;

use crate::commands::compare;
use crate::support::scripts::Sandbox;

/// Text, code, a tree with links, binary files, other bytes.
const SETUP: &str = "printf 'apple\\nbanana\\ncherry\\napple pie\\n\\nAPPLE tart\\nend' >f; printf 'foo bar\\nfoobar\\nbar_foo\\nfoo-bar\\n' >w; \
    seq 30 >n; printf 'a\\0b\\nfoo\\n' >z; printf 'foo\\na\\377b\\nfoo \\377\\nbar foo\\n' >l; printf 'a\\0b\\nc\\0a\\0' >nul; \
    mkdir -p d/e/.h 'd/x y'; echo 'fn main() { foo(); }' >d/a.rs; echo '# foo' >d/b.md; printf 'bar\\nfoo\\n' >d/e/c.rs; echo foo >d/e/.h/i; echo 'foo \"q\"' >'d/x y/q.txt'; \
    ln -s ../f d/link; ln -s e d/dirlink; ln -s nowhere d/gone; ln -s d dl; : >empty; printf 'é\\nÉ\\nstraße\\nСлово\\nслово дня\\n日本語\\n' >u; \
    printf 'foo\\nban\\n' >pats; printf 'x\\r\\ny\\r\\n' >crlf; printf 'a.b\\naxb\\na*b\\na+b\\n[x]\\n(y)\\n{z}\\n$m\\n^c\\n\\\\w\\n' >s";

#[tokio::test]
async fn what_grep_selects_is_gnus() {
    let scripts = [
        "grep apple f; grep -i apple f; grep -y APPLE f; grep -v apple f; grep -c apple f; grep -vc apple f; grep -n apple f; grep -vn '' f; grep '' f; grep -c '' f empty",
        "grep nothing f; echo $?; grep apple nope; echo $?; grep apple f nope; echo $?; grep -s apple nope f; echo $?; grep -q apple nope f; echo $?; grep -q apple f nope; echo $?",
        "grep -w foo w; grep -w foobar w; grep -w 'foo\\|foobar' w; grep -x foobar w; grep -x foo w; grep -xv foobar w; grep -wn bar w; grep -wE 'fo+|b' w; grep -w '' f; grep -x '' f",
        "grep -e apple -e cherry f; grep -E 'apple|cherry' f; grep 'apple\\|cherry' f; grep 'apple\ncherry' f; grep -f pats w f; grep -f empty f; echo $?; grep -f pats -e end f; grep -F -f pats -c f w; grep -f nope f",
        "grep -f - f <pats; cat pats | grep -f - f; grep -f <(echo che) f; grep -e '' -f empty f; grep -vf empty f; grep -f /dev/null f; printf 'foo\\n\\n' | grep -cf - f",
        "grep -F a.b s; grep a.b s; grep 'a*b' s; grep -F 'a*b' s; grep 'a\\*b' s; grep -E 'a\\+b' s; grep 'a+b' s; grep -E 'a+b' s; grep 'a\\+b' s; grep -F '[x]' s; grep '\\[x\\]' s; grep '[[]x[]]' s; grep '$m' s; grep '^^c' s; grep '\\\\w' s",
        "grep '^a' f; grep 'e$' f; grep '^$' f; grep -n '^$' f; grep '^apple$' f; grep 'a^b' s; grep -E 'a^b' s; grep '\\(^a\\)' f; grep 'x\\|^a' f; grep 'e$\\|zz' f; grep '\\(e$\\)' f; grep -E '(^| )pie($| )' f",
        "grep 'p\\{2\\}' f; grep -E 'p{2}' f; grep -E 'p{1,}l' f; grep -E 'ap{,3}l' f; grep -E '(an){2}' f; grep '\\(an\\)\\{2\\}' f; grep -E 'p{0}' f; grep -E 'p{3}' f; grep -E 'a{1' f; grep -E 'a{x}' f; grep '{z}' s; grep -E '\\{z}' s",
        "grep '\\bfoo\\b' w; grep '\\<foo' w; grep 'foo\\>' w; grep '\\Bfoo' w; grep '\\w\\+-' w; grep '\\W' w; grep -E '\\s' w; grep -E '^\\S+$' w; grep '\\`foo' w; grep \"foo\\\\'\" w; grep 'a\\d' f; grep '\\n' f",
        "grep '[abc]p' f; grep '[^a-z]' f; grep '[[:upper:]]' f; grep '[[:space:]]' f; grep -E '[[:alpha:]]+[[:blank:]][[:alpha:]]+' f; grep -c '[[:digit:]]' n; grep '[]x]' s; grep '[^]x]' s; grep '[a-]' w; grep '[\\w]' s; grep '[[.a.]]' s; grep '[[=a=]]' s; grep -i '[[:lower:]]' f; grep '[0-9]\\{2\\}' n | tail -1",
        "grep '\\(a\\)\\(n\\)\\1\\2' f; grep -E '(.)\\1' f; grep -E '(a)(n)\\1' f; grep -n '\\(.\\)\\1$' n; grep -E '^(.)(.).*\\2\\1' f; grep -w '\\(o\\)\\1' w; grep -x '\\(f\\)o*bar' w; grep -iE '(a).*\\1' f; grep -vE '(.)\\1' f; grep -cE '(.)\\1' f n",
        "grep -E '()a' f; grep -E 'a|' f | wc -l; grep -E '|a' f | wc -l; grep -E '(|a)p' f; grep -E 'a**' f | wc -l; grep -E 'p+?l' f; grep -E 'p??l' f; grep 'p**l' f; grep '*a' s; grep '\\(*b\\)' s; grep '^*b' s; grep -E 'a)' f; grep -E 'y)' s; grep '\\+b' s",
        "grep -E '*a' f; grep -E '+a' f; grep -E '?a' f; grep -E '{1}a' f; grep -E 'x|*a' f; grep -E '(*a)' f",
        "grep '[' f; grep '[a' f; grep '[[:foo:]]' f; grep '[:space:]' f; grep '[b-a]' f; grep '[[.space.]]' f; grep '[[:alpha:' f; grep '\\(a' f; grep 'a\\)' f; grep -E '(a' f; grep 'a\\' f; grep -E 'a\\' f",
        "grep 'a\\{1' f; grep 'a\\{x\\}' f; grep 'a\\{2,1\\}' f; grep -E 'a{2,1}' f; grep -E 'a{99999}' f; grep '\\1' f; grep '\\(a\\)\\2' f; grep -E '(a)\\2' f; grep -E '(\\1)' f",
    ];
    compare(SETUP, &scripts).await;
}

#[tokio::test]
async fn what_grep_prints_is_gnus() {
    let scripts = [
        "grep -H apple f; grep -h apple f w; grep apple f w; grep -n apple f w; grep -nb apple f w; grep -b . w; grep -c foo f w z; grep -l foo f w z nope; grep -L foo f w z; echo $?; grep -lc foo w; grep -Lv foo w",
        "grep -o 'a[a-z]*' f; grep -on p f; grep -ob 'pp*' f; grep -oi apple f w; grep -o '' f; grep -ov a f; grep -oh foo w f; grep -oE 'foo|foobar|foo-bar' w; grep -oE 'foob?|foobar' w; grep -oE '(fo|foob)(ar|o)?' w; grep -ow 'foo\\|foo-bar' w; grep -oF 'foo\nfoobar' w; grep -ox foobar w; grep -oc a f",
        "grep -A1 banana f; grep -B1 banana f; grep -C1 cherry f; grep -1 cherry f; grep -nA1 apple f; grep -A0 apple f; grep -n -B1 -A1 '^[25]$' n; grep -C2 -n '^1[05]$' n; grep -12 '^15$' n | wc -l; grep -A1 foo f w d/e/c.rs; grep -cA1 a f",
        "grep -A1 --group-separator=== apple f; grep -A1 --no-group-separator apple f; grep -o -A1 apple f; grep -vA1 apple f; grep -vB1 -n apple f; grep -A2 -m1 apple f; grep -m1 -A3 a f; grep -B9 end f; grep -C99 cherry f; grep -A1 -B2 -C3 e f",
        "grep -m1 apple f w; grep -m2 -n a f; grep -m0 a f; echo $?; grep -m-1 -c a f; grep -m1 -c a f w; grep -m1 -v a f; grep -m2 -o a f; grep -vm2 apple f n",
        "grep -Z -H apple f; grep -lZ foo w d/a.rs; grep -LZ foo f w; grep -cZ a f w; grep -nZ a f w; grep -T apple f; grep -nT apple f; grep -HnbT apple f; grep -T -A1 apple f w; grep --null -l apple f",
        "echo foo | grep -H foo; echo foo | grep --label=x -c foo - w; echo foo | grep foo - w; echo foo | grep -n foo /dev/stdin; echo foo | grep -l foo; echo foo | grep -L foo; echo foo | grep foo - -; grep foo <w; grep -c foo - <w; grep foo </dev/null",
        "grep --color=always apple f; grep --color=always -n a f w; grep --color=always -nb -A1 apple f; grep --color=always -c a f w; grep --color=always -l a f w; grep --colour=always -o a w; grep --color=always -v apple f; grep --color=always -vA1 apple f; grep --color=always -i 'apple\\|e$' f; grep --color=always -Z a w; grep --color=auto apple f; grep --color apple f; grep --color=never apple f",
        "grep -z c nul | od -c; grep -z '^b' nul; grep -z 'b.c' nul | od -c; grep -zc . nul; grep -zo 'a' nul | od -c; grep -zv a nul; grep -z apple f | wc -l; grep -zx 'b\nc' nul; grep -zl a nul f; printf 'x\\0y\\0' | grep -zn y | od -c",
        "grep foo z; grep -a foo z; grep -c foo z; grep -n foo z; grep -o foo z; grep a z; grep -v foo z; grep -vc foo z; grep -I foo z; echo $?; grep -l foo z; grep -q foo z; echo $?; grep --text foo z; grep -U foo z; grep --binary-files=text foo z; grep --binary-files=without-match -c foo z; grep --binary-files=binary foo z; grep '^b' z",
        "grep foo l; grep -a foo l; grep -n foo l; grep -c foo l; grep -o foo l; grep -o 'foo.*' l; grep a l; grep -A1 foo l; grep -v bar l; grep 'a.b' l; grep -a 'a.b' l; grep -a 'a[^x]*' l; grep -ao 'a[^x]*' l; grep -l b l; cat l | grep foo; grep -av foo l",
        "{ seq 20000; printf 'x\\0\\n'; seq 5; } >big; grep 99 big | wc -l; grep -c 99 big; grep -a x big | od -c; grep -n x big; grep 19999 big; rm big",
        "grep -i É u; grep -io é u; grep слово u; grep -i слово u; grep -w слово u; grep -c '^.$' u; grep '^...$' u; grep '[[:alpha:]]ß' u; grep -i STRASSE u; grep -E '\\w{6}' u; grep -ob 本 u; grep -v '[[:ascii:]]' u; grep -c '[^[:alpha:]]' u; grep 'é\\|日' u",
        "grep x crlf | od -c; grep 'x$' crlf; grep -c 'x.$' crlf; grep -E 'x\\s$' crlf | od -c; grep -o . crlf | od -c",
    ];
    compare(SETUP, &scripts).await;
}

#[tokio::test]
async fn how_grep_is_called_is_gnus() {
    let scripts = [
        "grep; grep -E; grep -e; grep -f; grep -A; grep -m; grep -5; grep -h; grep --nope x; grep -X; grep -j x f",
        "grep -A x y f; grep -A -1 y f; grep -m x y f; grep -C '' y f; grep --binary-files=x y f; grep -d x y f; grep -D x y f; grep --color=x y f >/dev/null; grep -d '' y f",
        "grep -P -E x f; grep -E -P x f; grep -F -P x f; grep -E -F 'a|b' f; grep -F -E 'apple|x' f; grep -G -E 'apple|x' f; egrep 'apple|end' f; fgrep a.b s; egrep -c a f; fgrep -x foobar w; egrep -v 'a|e' f; grep -PP x f",
        "grep apple f -n; grep -- -bar w; grep -e -bar w; grep -n -- foo w; grep -ne foo w; grep -nefoo w; grep --regexp=foo --count w; grep --regexp foo -c w; grep --max-count=1 --line-number foo w; grep --inv foo w; grep --file=pats w; grep -A 1 -e ban f; grep --context=1 cherry f; grep --context cherry f; grep --no-ignore-case -i APPLE f; grep -i --no-ignore-case APPLE f",
        "grep --ignore apple f; grep --n f; grep --line-buffered apple f; grep --only foo w; grep --with-filename foo w; grep --no-filename foo w f; grep --files-with-matches foo w f; grep --files-without-match foo w f; grep --word-regexp foo w; grep --line-regexp foobar w; grep --quiet foo w; echo $?; grep --silent foo w; grep --no-messages foo nope; grep -u foo w",
        "grep -r foo d | sort; grep -rn foo d | sort; grep -rl foo d | sort; grep -rc foo d | sort; grep -rh foo d | sort; grep -rL foo d | sort; grep -r foo d/ | sort; grep -R foo d | sort; grep -rHno fo d | sort; grep -rq foo d; echo $?; grep -r nothing d; echo $?; grep -ri MAIN d; grep -rw foo d | sort; grep -rA1 bar d",
        "cd d; grep -r foo | sort; grep -r foo . | sort; grep -rn foo * | sort; grep -rl foo -- * | sort; grep -r foo a.rs e | sort; grep -r foo ../dl | sort; grep -r foo link ../f; grep -rs foo gone; grep foo gone; grep -rc foo ./e | sort; grep -rn foo .. | sort; cd e; grep -r foo .. | sort",
        "grep -r --include='*.rs' foo d | sort; grep -r --include=*.{rs,md} foo d | sort; grep -r --exclude='*.rs' foo d | sort; grep -r --exclude-dir=e foo d | sort; grep -r --exclude-dir=.h foo d | sort; grep -r --exclude-dir=d/e foo d | sort; grep -r --exclude-dir=d foo d; grep -r --exclude-dir=e/ foo d | sort; grep -r --exclude=d/a.rs foo d | sort; grep -r --exclude='?.rs' foo d | sort",
        "grep -r --include='*.rs' --exclude='c*' foo d | sort; grep -r --exclude='c*' --include='*.rs' foo d | sort; grep --exclude=f apple f w; grep --include='*.c' apple f; grep --exclude='*/a.rs' foo d/a.rs; grep --exclude=a.rs foo d/a.rs d/b.md; echo '*.md' >x; grep -r --exclude-from=x foo d | sort; grep --exclude-from=nope foo f; grep -r --include='[ab]*' foo d | sort; grep --exclude='-' foo - <w; grep -r --exclude-dir='*' foo d; grep -r --exclude-dir=. foo . | sort",
        "grep foo d; grep foo d f w; grep -d skip foo d w; grep -s foo d; grep -d recurse foo d | sort; grep -d read foo d; grep --directories=skip foo d; echo $?; grep -D skip foo w; grep foo dl; grep -c foo empty; grep -l '' empty; grep -L '' empty; grep -h foo w d 2>&1",
        "grep x /dev/null; echo $?; grep -c x /dev/null f; grep foo \"$PWD/w\" | sed \"s|$PWD||\"; grep -l foo ./w ../*/w 2>/dev/null | wc -l; grep foo ''; grep 'q\"' 'd/x y/q.txt' -H; grep -rl '\"' d; grep foo w/; grep foo nodir/x",
    ];
    compare(SETUP, &scripts).await;
}

#[tokio::test]
async fn patterns_of_perl_are_pcres() {
    let scripts = [
        "grep -P 'ap+le' f; grep -oP '\\w+' w; grep -oP 'foo(?=bar)' w; grep -P '^(?!foo)' w; grep -oP '(?<=foo)\\W?bar' w; grep -P '(?<!_)foo' w; grep -P '(?i)apple' f; grep -iP apple f; grep -P 'a.{3}e$' f; grep -P '\\d{2}' n | tail -1; grep -oP '\\d+(?=0)' n",
        "grep -P '(.)\\1' f; grep -oP '(?<x>.)\\k<x>' f; grep -oP 'foo\\K.*' w; grep -oP 'a\\K(?=p)' f; grep -oP '(?>a|ap)p' f; grep -oP 'p++l' f; grep -oP 'p+?' f; grep -P '\\bfoo\\b' w; grep -P '\\Bfoo' w; grep -wP foo w; grep -xP 'foo.?bar' w; grep -P '^$' f -c; grep -vP 'a|e' f; grep -cP . f w",
        "grep -oP 'foo|foobar' w; grep -oP '[[:alpha:]]+$' w; grep -P '[\\w-]+-' w; grep -P '\\Qa.b\\E' s; grep -P '\\Q[x]' s; grep -P '[[]x' s; grep -P '[]x]' s; grep -P '[^\\W_]+' w -o; grep -P '\\x61\\x{70}p' f; grep -P '\\h' f; grep -P 'a{,2}' s; grep -P '\\$m' s; grep -P '\\<foo' w; grep -P '(?x) a p  p' f; grep -P '(?:an){2}' f; grep -oP '(?#note)an' f",
        "grep -P é u; grep -iP É u; grep -oP '^.' u; grep -P '\\w{3}' u; grep -P '\\d' u; grep -P '^\\p{Cyrillic}+$' u; grep -P '\\p{Lu}' u; grep -oP '[а-я]+' u; grep -cP '^...$' u; grep -P '[^\\x00-\\x7F]' u; grep -zoP 'a\\0?' nul | od -c; grep -zP '^b' nul; grep -zP 'b\\nc' nul | od -c",
        "grep -P '(a' f; grep -P 'a)' f; grep -P '[a' f; grep -P '*a' f; grep -P 'a{2,1}' f; grep -P 'a\\' f; grep -P '[[:foo:]]' f; grep -P 'a\nb' f; grep -P -e a -e b f; echo $?; grep -P '' f",
        "grep -P '\\.rs$' nope; ls d | grep -P '^[ab]'; grep -rnP 'fn\\s+\\w+\\(' d; grep -rhoP '(?<=\")[^\"]+' d; grep -P '^\\s*#' d/b.md; grep -oP '\"\\K[^\"]+(?=\")' 'd/x y/q.txt'; echo 'version = \"1.2.3\"' | grep -oP '\\d+\\.\\d+\\.\\d+'; echo 'k=v;x=y' | grep -oP '(?<=x=)[^;]+'; echo '<a>1</a><a>2</a>' | grep -oP '<a>.*?</a>'",
    ];
    compare(SETUP, &scripts).await;
}

#[tokio::test]
async fn cat_head_and_tail_are_coreutils() {
    let scripts = [
        "cat f; cat f w; cat -n f; cat -b f; cat -s f; cat -E f; cat -A f; cat -nb f w; cat -ns f; cat -ne f; cat -t crlf; cat -v z l | od -c; cat -A l u; cat -E crlf; cat -vE crlf; cat -T z | od -c; cat -u f",
        "cat nope; cat nope f; cat d; cat d f; cat -x; cat --nope; cat ''; cat dl; cat d/gone; cat 'no pe'; cat f/; cat - <f; cat f - w <n; cat - - <w; cat <f; cat /dev/stdin <w; cat </dev/null; cat /dev/null; cat empty; cat -n empty",
        "printf 'a\\r' >r; cat -E r; cat -E r w; cat -E r r; printf '\\n\\n\\na\\n\\n\\n' | cat -s; printf '\\n\\n\\na\\n\\n\\n' | cat -sn; printf '\\n\\na' | cat -bE; printf 'a' | cat -n - - f; cat -n n f | tail -3; cat --number --squeeze-blank f; cat --show-all crlf; cat --show-nonprinting l | od -c; rm r",
        "head n; head -n3 n; head -3 n; head -n 3 n; head -n -27 n; head -n-27 n; head -c 5 n; head -c -70 n; head -n0 n; head -c0 n; head -n +2 n; head -n ' 2' n; head --lines=2 n; head --bytes 3 n; head -n99 f; head -c 99 w; head -n 1 -n 2 n; head -n1 -c3 n; head -z -n1 nul | od -c; head -zc3 nul | od -c",
        "head f n; head -n1 f n nope w; head -q -n1 f n; head -v -n1 f; head -n2 - <n; head -n1 - f <n; head -n1 f - w <n; head d; head -n1 d f; head nope d f; head -vn1 empty f; head -n -1 empty f; head -c 2 l | od -c; head -c 5 l | od -c; cat l | head -n2 | od -c; head -n1 - - <n",
        "head -n x n; head -c x n; head -n 1x n; head -n '' n; head -n- n; head -n -x n; head -n 99999999999999999999 n; head -c 1Z n; head -n; head -Z n; head --nope; head -2x n; head -q -2 n; head -n 1KiB n | wc -l; head -n -1kB n; head -c2k n | wc -c; head -c 1b n | wc -c; head -nb n | wc -l; head -n 1KB n | wc -l; head -c 1M n | wc -c; head -2c n; head -1qv n n; head -1k n | wc -c; head -12 n | wc -l",
        "tail n; tail -n3 n; tail -3 n; tail -n 3 n; tail -n +29 n; tail -n+29 n; tail +29 n; tail -c 5 n; tail -c +70 n; tail -n0 n; tail -n +0 w; tail -n +1 w; tail -n +99 w; tail -n -2 n; tail -2c n; tail +70c n; tail --lines=+30 n; tail --bytes 3 n; tail -n99 f; tail -c99 w; tail -z -n1 nul | od -c; tail -zn+2 nul | od -c; tail -n1 f; tail -n2 f | od -c",
        "tail f n; tail -n1 f n nope w; tail -q -n1 f n; tail -v -n1 f; tail -n2 - <n; tail -n1 - f <n; tail -n1 f - w <n; tail d; tail -n1 d f; tail nope d f; tail -vn1 empty f; tail -c 3 l | od -c; cat l | tail -n2 | od -c; tail -n1 - - <n; tail -n 1 /dev/null n; cat n | tail -n +29; cat n | tail -2; cat n | tail -c 3",
        "tail -n x n; tail -c x n; tail -n 1x n; tail -n '' n; tail -n; tail -r n; tail --nope; tail -5x n; tail -2 -q n; tail -2 n f; tail -n1 -s x n; tail --pid=x n; tail -n 1k n | wc -l; tail -2b n | wc -c; tail -b n | wc -c; tail -l n | wc -l; tail -n+29 -c2 n; tail -n 99999999999999999999 n; tail -fn1 nope; tail -n1 --retry n 2>/dev/null",
        "yes | head -3; yes | head -c 5; seq 100000 | head -2; seq 100000 | tail -2; cat n | head -2 | tail -1; seq 300000 | head -250000 | tail -1; head -c 5 /dev/zero | od -c; head -c 10 /dev/urandom | wc -c; cat /dev/zero | head -c 70000 | wc -c; cat /dev/urandom | tr -dc a-z | head -c 20 | wc -c; head -c 3000000 /dev/zero | wc -c; yes | cat | head -2; yes | grep y | head -2; yes | cat -n | head -2",
    ];
    compare(SETUP, &scripts).await;
}

/// What the shell does with them.
#[tokio::test]
async fn the_shell_reaches_them_in_all_its_ways() {
    let scripts = [
        "cat <<EOF\na $((1+1))\nEOF\ncat <<'EOF' >o\nx $y\nEOF\ncat o; cat <<<word; cat <<EOF | grep b\na\nb\nEOF\ncat >>o <<EOF\nmore\nEOF\ncat o; cat > o2 < w; cmp o2 w; cat f > o3 2>&1; cat nope > o4 2>&1; cat o4; cat f w >| o; wc -l o; rm o*",
        "cat < <(echo a; echo b); grep -c . < <(seq 5); cat <(echo 1) <(echo 2); grep b <(echo ab) <(echo b) | sed 's|/dev/fd/[0-9]*|X|'; head -1 <(seq 3) | cat; tail -n1 <(seq 3); diff <(grep foo w) <(cat w | grep foo); grep -f <(echo foo) w",
        "if seq 9 | grep -q 5; then echo yes; fi; seq 9 | grep -q 55 || echo no; grep foo w && echo and; ! grep -q zzz f && echo not; grep zzz f || echo or; x=$(grep -c foo w); echo $x; y=$(cat f | head -1); echo \"$y\"; echo `head -n1 n`; [[ $(cat n | wc -l) == 30 ]] && echo 30; set -o pipefail; cat nope 2>/dev/null | wc -l; echo $?; grep zzz f | cat; echo $? ${PIPESTATUS[@]}",
        "while read -r line; do echo \"$line\" | grep -o a | wc -l; done < f; cat f | while read -r a b; do echo \"[$a]\"; done; for x in $(cat pats); do grep -c $x f; done; find d -name '*.rs' | sort | xargs grep -n foo; printf '%s\\0' f w | xargs -0 grep -c o; find d -type f -name '*.rs' -exec grep -l foo {} + | sort; find d -name '*.rs' -exec grep -H foo {} \\; | sort; ls | xargs -n1 head -q -n1 2>/dev/null | head -3",
        "seq 5 | { read a; echo $a; cat; }; seq 5 | (head -n1 >/dev/null; echo done); seq 3 | { cat; cat; echo end; }; f() { grep \"$1\"; }; seq 20 | f 1; g() { cat; }; echo x | g | g; seq 3 | command cat; seq 3 | env cat; command grep -c . n; \\grep -c . n; timeout 5 cat w; bash -c 'cat w | head -1'; sh -c 'grep foo' < w; eval 'head -1 n'; alias g2=grep; type cat >/dev/null && echo ok",
        "grep foo w > out; cat out; grep foo w nope > out 2> err; cat out err; grep foo nope 2>&1 | cat; grep foo w nope &> both; cat both; grep foo w >/dev/null; echo $?; grep -n foo w | tee t | wc -l; cat t; { cat f; grep foo w; head -1 n; } > all; wc -l all; cat f >&2; exec 3>fd3; cat w >&3; exec 3>&-; cat fd3; (cat w; tail -1 f) | grep -c .; rm out err both t all fd3",
        "for i in 1 2 3; do echo line $i; done | grep 2; for i in 1 2 3; do echo line $i; done | cat -n; i=0; while [ $i -lt 5 ]; do echo $i; i=$((i+1)); done | head -2; seq 1000 | grep 9 | grep -v 8 | head -5 | tail -1; cat f | grep apple | cat | grep pie; { echo a; echo b; } | grep -A1 a; seq 100 | grep -m2 5; seq 100 | grep -n -B1 -A1 '^50$'; seq 3 | cat - f | tail -3; echo x | cat - <(echo y) -; (echo a; echo b >&2) 2>&1 | grep -c .",
        "p() { for x in 'app' 'le\\nba' 'nana\\n' '\\nend' '\\n' 'apple\\nx' 'y\\napp'; do printf \"$x\"; done; }; p | grep -n a; p | grep -nb -A1 nd; p | grep -n -B1 x; p | grep -c ''; p | grep -vn a; p | grep -n -C1 '^$'; p | grep -m2 -nA1 a; p | grep -ob pp; p | grep -xn apple; p | cat -n; p | head -n2; p | head -c 9; p | head -n -2; p | head -c -5; p | grep -B2 -A1 -n '^[xe]'; p | grep -q y && echo y; p | grep -E '(.)\\1' -n; { p; printf 'z\\0apple\\n'; } | grep -c apple; { echo apple; p; } | grep -nB3 -vm3 x",
        "mapfile -t a < <(grep -o 'a[pn]' f); echo ${#a[@]}; read -r x < <(head -1 n); echo $x; cat /etc/hostname >/dev/null; grep -c : /etc/passwd >/dev/null && echo pw; head -1 /etc/passwd | cut -d: -f1 | wc -l; cat f | tac | head -1; sort -rn n | head -2; cut -c1 f | grep -v '^$' | sort -u | tail -2; awk '{print $1}' f | grep -i app; cat f 2>/dev/null | tail -n +2 | head -n 1",
    ];
    compare(SETUP, &scripts).await;
}

/// Patterns and inputs that mean harm end, in bounded time.
#[tokio::test]
async fn what_would_take_for_ever_ends() {
    let scripts = [
        ("printf 'aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaab\\n' | grep -P '^(?:(a)|a\\1?|aa)+$'", 2),
        ("(printf 'a%.0s' {1..200}; echo bd) | grep -E '^(a*)*(a*)*(a*)*\\1\\2\\3d$'", 2),
        ("printf 'aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaab\\n' | grep -E '((a*)*)*\\1c'", 1),
        ("printf 'aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaab\\n' | grep -E '(a*)*c'", 1),
        ("grep -E '((((((((((x{100}){100}){100}){100}){100}){100}){100}){100}){100}){100})' /dev/null", 2),
        ("grep -E \"$(printf '(%.0s' {1..100000})\" /dev/null", 2),
        ("grep \"$(printf '\\\\(%.0s' {1..5000})a$(printf '\\\\)%.0s' {1..5000})\" /dev/null", 2),
        ("grep -P \"$(printf '(?:%.0s' {1..5000})a$(printf ')%.0s' {1..5000})\" /dev/null", 2),
        ("cat /dev/zero | grep -c x", 1),
        ("cat /dev/zero | wc -c >/dev/null", 0),
    ];
    let mut sandbox = Sandbox::new();
    for (script, exit) in scripts {
        let started = Instant::now();
        let ran = sandbox.run(script).await;
        assert_eq!(ran.ended.end, End::Exited(exit), "{script}: {}", ran.stderr());
        assert!(started.elapsed() < Duration::from_secs(60), "{script} takes {:?}", started.elapsed());
    }
    let ran = sandbox
        .run("printf 'aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaab\\n' >f; grep -P '^(?:(a)|a\\1?|aa)+$' f")
        .await;
    assert_eq!(ran.stderr(), "grep: f: exceeded the limit on backtracking\n");
    // The machine's glibc refuses ranges beyond ASCII.
    let ran = sandbox.run("echo Слово | grep -o '[а-я]*'").await;
    assert_eq!(ran.stdout(), "лово\n");
    let ran = sandbox.run("seq 3 >g; tail -f -n1 g").await;
    assert_eq!((ran.ended.end.clone(), ran.stdout()), (End::Exited(0), "3\n".to_owned()));
    assert_eq!(ran.stderr(), "tail: not following: files do not grow while a script runs\n");
    let ran = sandbox.run("head -n2 /dev/zero | wc -c; head -n2 /dev/urandom | wc -l").await;
    assert_eq!(ran.stdout(), "1048576\n2\n");
    assert_eq!(ran.stderr(), "head: '/dev/zero' has no end: only 1048576 bytes of it are looked at\n");
}

/// Files that the interpreter invents, by name, through links and below a directory.
#[tokio::test]
async fn what_the_interpreter_invents_is_read() {
    let mut sandbox = Sandbox::new();
    let script = "ln -s /etc e; head -n1 e/passwd | cut -d: -f1; cd e && grep -c ^user: passwd; cat hostname; cd; \
                  grep -rl ^user: /etc | grep passwd; grep -rh ^user: /etc --include=passwd | cut -d: -f1; cat /etc; head /etc; \
                  grep -r x nope; tail -n1 hostname; grep user";
    let ran = sandbox.run(script).await;
    assert_eq!(ran.stdout(), "user\n1\nsandbox\n/etc/passwd\nuser\n");
    assert_eq!(
        ran.stderr(),
        "cat: /etc: Is a directory\nhead: error reading '/etc': Is a directory\ngrep: nope: No such file or directory\n\
         tail: cannot open 'hostname' for reading: No such file or directory\n"
    );
}
