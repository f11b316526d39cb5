//! `sed` beside the machine's own: output, messages, exit status and files.

use crate::commands::compare;
use crate::support::beside_gnu::Beside;

const SETUP: &str = r#"printf 'a+b^c$d*e\nfoo\n' >f; seq 6 >n; seq 9 | tr '\n' ' ' >w; printf 'x\ny' >cut; : >e; mkdir d; printf 'one\ntwo\nthree\n\nfour five\n' >t; \
    printf 'a\377b\n\303\244\303\266 x\nz\0y\n\200\n' >bin; printf 'a\0b\nc\0' >nul; printf 'p\n' >p.sed; printf '#n\np' >q.sed; printf 'p\nk\n' >bad.sed; printf '{\np\n' >open.sed; printf 'a\\\nfoo' >a.sed; printf 's/a/b/\n# c\ns/b/\\\nq/\n' >s.sed; \
    printf 'key = 1\n[sec]\nname="v"\n  port : 80\n' >conf; printf 'a/b\\c]d[n\n' >br; ln -s t lt; cp t h1; ln h1 h2; printf 's/\377/X/g;a\\\n\376' >bytes.sed"#;

/// Compares many command lines at a time, and shows those that differ.
async fn each(lines: &[&str]) {
    let beside = Beside::new(SETUP).await;
    let mut wrong = Vec::new();
    for group in lines.chunks(8) {
        let script = group.join("\necho \"[$?]\"\n");
        if beside.ours(&script).await == beside.real(&script) {
            continue;
        }
        for line in group {
            if beside.ours(line).await != beside.real(line) {
                wrong.push(*line);
            }
        }
        // What they leave to each other counts too.
        if wrong.is_empty() {
            compare(SETUP, &[&script]).await;
        }
    }
    compare(SETUP, &wrong).await;
}

#[tokio::test]
async fn substitutions_are_gnus() {
    each(&[
        r#"sed 's+a\+b+X+' f"#,
        r#"sed 's/a\x5eb/X/;s/b\x5ec/Y/' f"#,
        r#"sed 's^b\^c^X^' f; sed 's|a\|b|X|g' f; sed -E 's|a\|b|X|g' f; sed 's*d\*e*X*' f"#,
        r#"sed -E 's+a\++X+' f; sed 's.a\.b.X.' f; sed 's,a,\,,' f; sed 's&a&[\&]&' f; sed 's1\(a\)1[\1]1' f"#,
        r#"sed 's/a/\
/' f"#,
        r#"sed 's/\(a\)/[\1\2]/' f"#,
        r#"sed 's/a/x' f; sed 's/a' f; sed s f; sed 's/a/b/gg' f; sed 's/a/b/pp' f; sed 's/a/b/0' f; sed 's/a/b/1 2' f; sed 's/a/b/1g2' f"#,
        r#"sed 's/a/b/x' f; sed 's/a/b/w' f; sed 's/a/x
y/' f; sed 's/a
b/y/' f"#,
        r#"sed 's/o/0/2' f; sed 's/o/0/2g' f; sed 's/o/0/12' f; sed 's/o/0/gp' f; sed -n 's/o/0/p2' f; sed 's/O/0/I' f; sed 's/O/0/ig' f; sed 's/o/0/ p' f; sed 's/o/0/ ; p' f; sed 's/o/0/ #c' f"#,
        r#"sed 's\a\b\' f; sed 'sxaxbx' f; sed 's/a/b/;p' f; sed 's/a/b/}' f; sed '{s/a/b/}' f; sed 's/a/b/g  }' f; sed 's/a/b/m1g;s/a/b/ii;s/a/b/mM' f"#,
        r#"sed 's/a/\n/;s/b/\t|\d065\o101\x41/' f; sed 's/a\d043b/X/' f; sed 's/a/\x26/;s/b/[\x26]/;s/c/\cA/' f | od -c; sed 's/a/\d999/' f | od -c; sed 's/a/\x4g/' f | od -c"#,
        r#"sed 's/a/\c\d/' f; sed 's/\cz//' f; sed 's/\x61/y/;s/f.\x6f/z/' f; sed 's/a/\x5cn/' f; sed 's/a/\x5c/' f; sed 's/a/\x/;s/f/\o/' f; sed 's/\xg/y/;s/\d/y/' f"#,
        r#"sed 's/f\(o\)\1/\U&\l\1\E\u\1x/' f; sed 's/.*/\L\u&/' f; sed 's/\w\+/\u&/g' f; sed 's/f/\ux\Uyz/' f; sed 's/o/\l/' f; sed 's/.*/\u\L&/' f; sed 's/.*/\U\l&/' f; sed -E 's/(f)(o)/\u\E\1\L\2/' f; sed -E 's/()(f)/\u\1\2/' f; sed -E 's/(a)|(f)/\u\1\2\U\1\2/' f"#,
        r#"sed 's/x*/-/g' f; sed 's/o*/-/g' f; sed 's/o*/-/2g' f; sed 's/b*/x/2' f; echo baaac | sed 's/a*/x/g'; echo abc | sed 's/b*/x/2'; echo abc | sed 's/x*$/!/g'; sed 's/$/x/g' f; sed 's/^/x/g' f; sed 's/\b/-/g' f; sed 's/\B/-/g' f; sed 's/\</-/g;s/\>/+/g' f"#,
        r#"sed 's/a/\0\0/' f; sed 's/a/\9/' f; sed -E 's/(a)/\1\2/' f; sed 's/a/[&&]/;s/f/\&/' f; sed 's/a/\q/;s/f/\\1/' f; sed 's,a+b,\,x,' f"#,
        r#"sed '/a/s//[&]/' f; sed '/a/!s//[&]/;s//x/' f; sed 's/\(a\)/x/;s//\1/' f; sed 's/a/x/;s//\1/' f; sed 's//\1/' f; sed 's/foo/x/;//d' f; sed '//p' f; sed 's//x/' f; sed '//Ip' f; sed '/foo/s//x/I' f; sed '//p' e"#,
        r#"sed 's/[/]/X/g' br; sed 's/[\/]/X/g' br; sed 's/[\n]/X/g' br; sed 's/[\]/X/g' br; sed 's/[]/]/X/g' br; sed 's/[^]/]/X/g' br; sed 's/[[:alpha:]/]/X/g' br; sed 's/[a/]/]/X/' br; sed 's/[/X/' br; sed 's/\[/X/' br"#,
        r#"sed 's/a[/]b/X/' br; sed 's,[,],X,' br; sed 's/[\t/]/X/g' br; sed 's/[[.].]/]/X/g' br; sed 's/[\]]/X/g' br; sed 's/[x\]/]/X/g' br; sed '/[/]/p' br; sed '\,[,],p' br; sed 's/a/[/;s/]/X/' br; sed 's/[[]/X/' br; sed 's/[a-z/]*/X/' br; sed 's/[\x5d]/X/g' br; sed 's/[\x5e/]/X/g' br; sed 's/[\w]/X/g' br; sed 's/[\.]/X/g' br"#,
        r#"sed 's/[^\n]*/X/' br; sed 's/[^/]*$/X/' br; sed 's/\]/X/;s/]/Y/' br; sed 's/\//X/' br; sed 's/\\/X/' br; sed 's/[\\]/X/' br; sed 's/\x2fb/y/' br"#,
        r#"sed 's/ */ /;s/[[:space:]]*=[[:space:]]*/=/' conf; sed -n 's/^name=.\(.*\).$/\1/p' conf; sed '/^\[sec\]/,/^\[/s/port : .*/port : 81/' conf; sed -E 's/^([a-z]+) *= *(.*)$/\2=\1/' conf; sed 's/\(k\)\(e\)\(y\)/\3\2\1/' conf; sed -E 's/^(\s*)(\w+) : ([0-9]+)/\1\2: \3/' conf"#,
        r#"sed 'N;s/\n/,/' n; sed ':a;N;$!ba;s/\n/,/g' n; sed 'N;N;s/^/>/Mg' n; sed 'N;N;s/$/</Mg' n; sed 'N;N;s/^./>/M2' n; sed -e 'N;s/1$/X/M' -e 's/\`X/Y/M' n; sed "N;s/.\\'/Z/M" n; sed 'N;s/1.2/X/' n; sed 'N;s/1.2/X/M' n; sed 'N;s/1[^x]2/X/M' n; sed 'N;s/1\W2/X/M' n; sed 'N;N;s/^2$/X/' n; sed 'N;N;s/^2$/X/M' n"#,
        r#"sed 's/o/0/w out' f; cat out; sed -n 's/o/0/gpw /dev/stdout' f; sed 's/foo/x/w /dev/stderr' f; sed -n -e 's/a/b/w x y' -e 's/f/g/w x y' f; cat 'x y'"#,
        r#"sed -f s.sed f; sed 's/a/b/;;;s/b/c/' f; sed 's/a/b/ ; s/f/g/ ;' f; sed -e 's/a/b/' -e 's/b/c/g' f; sed --expression='s/a/b/' --expression 's/b/c/' f"#,
    ])
    .await;
}

#[tokio::test]
async fn patterns_are_glibcs() {
    each(&[
        r#"echo abcd | sed -E 's/(a|ab)(c|bcd)(d*)/[\1][\2][\3]/'; echo foobarrest | sed -E 's/(foo|foobar)(.*)/[\1][\2]/'; echo aab | sed -E 's/a*(ab)?/[&]/'"#,
        r#"echo xyz | sed -E 's/(a*)*/[\1]/'; echo aaab | sed -E 's/(a*)+b/[\1]/'; echo ab | sed -E 's/(a|ab)(b?)/[\1][\2]/'; echo abab | sed -E 's/((a)|(b))*/[\1][\2][\3]/'; echo aabb | sed -E 's/(a*)(ab)*(b*)/[\1][\2][\3]/'; echo abcabc | sed -E 's/(a|ab)(bc|c)?(abc)?/[\1][\2][\3]/'"#,
        r#"echo 'see https://x.y/z http://q' | sed -E 's#(http|https)://([^/ ]+)#<\1|\2>#g'; echo foofoobar | sed 's/\(foo\|foofoo\)bar/X/'; echo 'a.tar.gz' | sed -E 's/\.(tar|tar\.gz)$//'; echo abcdef | sed -E 's/abc|abcde|ab/X/'; echo '1.5e10' | sed -E 's/[0-9]+(\.[0-9]+)?(e[0-9]+)?/N/'"#,
        r#"echo abcabc | sed 's/\(abc\)\1/X/'; echo 'the the cat' | sed -E 's/\b(\w+) \1\b/\1/'; echo aabb | sed -E 's/(.)\1/<\1>/g'; echo abba | sed -E 's/^(.)(.).*\2\1$/ok/'; echo aXa | sed -E 's/(a)x\1/y/I'; echo 'aAb' | sed -E 's/(a)\1b/y/I'; echo aaaa | sed -E 's/(a*)\1/[\1]/'; echo abab | sed -E 's/(ab|a)*\1/[&]/'; echo aab | sed -E 's/(a)(b)?\2/x/'; echo aab | sed -E 's/(a)|\1/x/'; echo aab | sed -E 's/((a)|b)\2/x/'; echo aab | sed -E 's/(a)(b|\1)/x/'; echo aab | sed -E 's/(a)((b)|\3)/x/'"#,
        r#"sed '$!N;/^\(.*\)\n\1$/!P;D' t t; printf 'a\na\nb\nb\nc\n' | sed '$!N;/^\(.*\)\n\1$/!P;D'; printf 'a\na\nb\n' | sed -n '$!N;s/^\(.*\)\n\1$/\1/;t;D'"#,
        r#"sed '/\(/p' f; sed '/a\{1/p' f; sed '/a\{2,1\}/p' f; sed '/[a/p' f; sed '/[[:foo:]]/p' f; sed '/\)/p' f; sed -E '/(/p' f; sed -E '/)/p' f; sed -E '/a{1/p' f; sed -E '/a{,2}/p' f; sed -E '/a{x}/p' f; sed -E '/{/p' f"#,
        r#"sed -E '/*a/p' f; sed -E '/a|*b/p' f; sed -E '/(*b)/p' f; sed -E '/^*/p' f; sed -E '/a**/p' f; sed -E '/()/p' f; sed -E '/a||b/p' f; sed '/*a/p' f; sed '/\(*a\)/p' f; sed '/^*a/p' f; sed '/\(^a\)/p' f; sed '/a\|^b/p' f; sed '/\2/p' f; sed '/[z-a]/p' f; sed '/[[.a.]]/p' f; sed '/[[=a=]]/p' f; sed '/[[.foo.]]/p' f"#,
        r#"sed 's/a\|/X/' f; sed 's/o\{1,2\}\?/X/' f; sed 's/\+/X/' f; sed 's/\?/X/' f; sed 's/\{1\}/X/' f; sed 's/a\(\+\)/X/' f; sed 's/[[:upper:]]/X/Ig' f; sed 's/o\{65536\}/X/' f; sed 's/o\{32768\}/X/' f; sed -E 's/o{1,2}{2}/X/' f; sed -E 's/(o)\1/X/' f; sed -E 's/(o\1)/X/' f; sed -E 's/$*/X/' f; sed -E 's/a$b/X/' f; sed -E 's/\<*/X/' f; sed 's/\<*/X/' f"#,
        r#"sed 's/\(^\|o\)a/X/' f; sed 's/x^a/X/' f; sed 's/a$b/X/' f; sed 's/o\(o$\)/X/' f; sed 's/\(\)/X/' f; sed -E 's/o{1}{2}/X/' f; sed -E 's/o{,}/X/' f; sed -E 's/o{0}/X/' f; sed 's/\(/X/g' f; sed 's/[b-a]/X/' f; sed 's/\(a/X/gp' f; sed 's/a\)/X/' f; sed 's/o\{2\}/X/' f; sed 's/o\{1,\}/X/' f; sed 's/fo\+/X/;s/b\?^/Y/' f"#,
        r#"sed 's/c$d/X/' f; sed 's/c\$d/X/' f; sed 's/b^c/X/' f; sed -E 's/b\^c/X/' f; sed 's/d*e/X/' f; sed 's/d\*e/X/' f; sed -E 's/d\*e/X/;s/a\+b/Y/' f; sed 's/a.b/X/;s/f.*o/Y/' f; sed 's/fo*/X/' f; sed -E 's/fo*?/X/' f; sed -E 's/(fo|f)(o|oo)/[\1|\2]/' f; sed -E 's/(f)(o)(o)|a/\3\2\1/' f"#,
        r#"printf 'a1_ b-2\n' | sed 's/\w/W/g'; printf 'a1_ b-2\n' | sed 's/\W/W/g'; printf 'a\tb c\n' | sed 's/\s/S/g'; printf 'a\tb c\n' | sed 's/\S/S/g'; printf 'ab cd\n' | sed 's/\bc/X/;s/b\b/Y/'; printf 'ab cd\n' | sed 's/\Bb/X/;s/\<c/Y/;s/d\>/Z/'; printf 'A1!b ~\n' | sed 's/[[:punct:]]/P/g;s/[[:digit:]]/D/g;s/[[:lower:]]/L/g;s/[[:blank:]]/B/g'; echo 'xABz' | sed 's/[[:alpha:]]\{2\}/-/;s/[[:xdigit:]]/h/;s/[[:alnum:]]$/e/'"#,
        r#"echo 'aab' | sed -E 's/a{2}b|a+/X/'; echo 'a{2}' | sed 's/a{2}/X/'; echo 'a|b' | sed 's/a|b/X/'; echo 'a+b' | sed 's/a+b/X/'; echo '(a)' | sed 's/(a)/X/'; echo 'a?' | sed 's/a?/X/'; echo '(a)' | sed -E 's/\(a\)/X/'; echo 'ab' | sed -E 's/(a)(b)/\2\1/'; echo 'a-z]' | sed 's/[]-]/X/g'; echo 'a-z' | sed 's/[a\-z]/X/g'; echo 'a^b' | sed 's/[\^a]/X/g'; echo 'a^b' | sed 's/[b^]/X/g'"#,
        r#"echo hello | sed 's/l*/X/'; echo hello | sed 's/l*/X/g'; echo hello | sed 's/l\?/X/g'; echo hello | sed -E 's/(l|lo)+/X/'; echo hello | sed -E 's/(h|he|hel)(l|lo|o)?/[\1\2]/'; echo 2024-01-31 | sed -E 's/([0-9]{4})-([0-9]{2})-([0-9]{2})/\3.\2.\1/'; echo 'a,b,c' | sed 's/,/\n/g'; echo 'a,,b' | sed 's/,,*/;/g'; echo '/usr/bin/x' | sed 's|.*/||;s|^|/opt/|'"#,
        r#"seq 20 | sed -E '/^(1|2)$|^1[^0-4]/!d'; seq 20 | sed -nE '/^1?5$/p'; printf 'a\nA\nb\n' | sed -n '/A/Ip'; printf 'a\nA\nb\n' | sed '/a/Id'; printf 'Foo bar\n' | sed 's/foo/X/I;s/BAR/y/i'; printf 'straße\n' | sed 's/ß/ss/'; printf 'ÄÖ\n' | sed 's/ä/x/I'"#,
    ])
    .await;
}

#[tokio::test]
async fn addresses_and_commands_are_gnus() {
    each(&[
        r#"sed -n 2p n; sed -n '$p' n; sed -n '2,4p' n; sed -n '2,4!p' n; sed -n '/3/,/5/p' n; sed -n '/3/,+1p' n; sed -n '2,~3p' n; sed -n '1~2p' n; sed -n '0~3p' n; sed -n '2~0p' n; sed -n '5,2p' n; sed -n '/2/,1p' n; sed -n '$,1p' n; sed -n '2,/2/p' n; sed -n '0,/1/p' n; sed -n '1,/1/p' n"#,
        r#"sed -n '/2/,/2/p' n; sed -n '2{N;N};2,3p' n; sed -n '/1/,2{N;N;p}' n; sed -n '1,~0p' n; sed -n '1,~1p' n; sed -n '0~4,/x/p' n; sed -n '1~2,2p' n; sed -n '2,1!p' n; sed -n '/2/,/x/p' n; sed -n '/[25]/,/[36]/p' n; sed -n '2,3{3!p}' n; sed -n '\x3xp' n; sed -n '\,3,,\,5,p' n; sed -n '/3/I,/4/Mp' n; sed -n '4,+0p' n; sed -n '4,+9p' n"#,
        r#"seq 10 | sed -n '1{n;n};2,5p'; seq 10 | sed -n '2{n;n;n};2,5p'; seq 10 | sed -n '3{n;n;n};2,5p'; seq 5 | sed -n '$!N;2,5p;D'; seq 10 | sed -n '1{n;n};2,/6/p'; seq 10 | sed -n '2{n;n;n};2,/6/p'; seq 10 | sed -n '3{n;n;n};2,/6/p'; seq 5 | sed -n '$!N;2,/6/p;D'; seq 10 | sed -n '1{n;n};2,+1p'; seq 10 | sed -n '2{n;n;n};2,+1p'; seq 10 | sed -n '3{n;n;n};2,+1p'; seq 5 | sed -n '$!N;2,+1p;D'; seq 10 | sed -n '1{n;n};2,$p'; seq 10 | sed -n '2{n;n;n};2,$p'; seq 10 | sed -n '3{n;n;n};2,$p'; seq 5 | sed -n '$!N;2,$p;D'; seq 10 | sed -n '1{n;n};2,~4p'; seq 10 | sed -n '2{n;n;n};2,~4p'; seq 10 | sed -n '3{n;n;n};2,~4p'; seq 5 | sed -n '$!N;2,~4p;D'; seq 10 | sed -n '1{n;n};2,2p'; seq 10 | sed -n '2{n;n;n};2,2p'; seq 10 | sed -n '3{n;n;n};2,2p'; seq 5 | sed -n '$!N;2,2p;D'; seq 10 | sed -n '1{n;n};2,1p'; seq 10 | sed -n '2{n;n;n};2,1p'; seq 10 | sed -n '3{n;n;n};2,1p'; seq 5 | sed -n '$!N;2,1p;D'; seq 10 | sed -n '1{n;n};2,3p'; seq 10 | sed -n '2{n;n;n};2,3p'; seq 10 | sed -n '3{n;n;n};2,3p'; seq 5 | sed -n '$!N;2,3p;D'; seq 10 | sed -n '1{n;n};2,4!p'; seq 10 | sed -n '2{n;n;n};2,4!p'; seq 10 | sed -n '3{n;n;n};2,4!p'; seq 5 | sed -n '$!N;2,4!p;D'"#,
        r#"sed 0p n; sed 0,2p n; sed '0!p' n; sed 0~0p n; sed 0,~2p n; sed 0,+2p n; sed '0,$p' n; sed 1,p n; sed 1, n; sed 1 n; sed '1!' n; sed '1!!p' n; sed -n '1! p' n; sed '!p' n; sed ,2p n; sed +1p n; sed '~2p' n; sed 1,2,3p n; sed '1;2p' n; sed '\' n; sed /a n"#,
        r#"sed -n '1 p' n; sed -n '1 , 2 p' n; sed -n '1,2 !p' n; sed -n '/1/ , /2/ p' n; sed -n '$ p' n; sed -n '/1/ I p' n; sed -n '1,$ {p}' n; sed -n '1~ 2p' n; sed -n 99999999999999999999p n; sed 1,99999999999999999999d n"#,
        r#"sed k n; sed pp n; sed 'p p' n; sed 'p}' n; sed '}' n; sed '{p' n; sed '{p}p' n; sed '{;p;}' n; sed '{1}' n; sed '1}' n; sed ';;;p;;' e; sed '' n; sed ' ' n; sed '# c' n; sed '#n' n; sed '#n
p' n; sed '#np' n; sed 'p # c' e; sed -e '#n' -e p n; sed u n"#,
        r#"sed 'b x' n; sed 't x' n; sed : n; sed ': ' n; sed 1:x n; sed 'b;p' n; sed 'b a;p;:a' n; sed ':a;s/^/x/;/xxx/!ba' n; sed '{:a;s/^/x/;/xxx/!ba}' n; sed 'ba}' n; sed 'b}' n; sed '{b}' n; sed '{b;p}' n; sed '{s/1/b/;b end;p};:end' n; sed ':a p' n; sed -n ':a
p' n; sed ':a}' n; sed '{:a}' n; sed 'b a ;p;: a ' n; sed -n ':a;:a;p' n"#,
        r#"sed -n 's/1/x/;ta;p;b;:a;s/^/T/p' n; sed -n 's/1/x/;T;p' n; sed -n 's/1/x/;N;tq;p;d;:q;s/^/T/p' n; sed 's/1/x/;s/2/y/;t;s/^/-/' n; sed -n 's/x/y/;t;p' n; sed 's/1/x/;ta;:a;tb;s/^/no/;:b' n"#,
        r#"sed 'a foo' n; sed 'i foo' n; sed 'c foo' n; sed '2a\
foo' n; sed 'a\
  foo\
bar' n; sed '2i\  foo' n; sed '2a  \  foo' n; sed '2atext' n; sed '2a\text' n; sed 'a x\ty\\z\q' e; sed '2a\ttext' n; sed '2a\\tfoo' n; sed a n; sed 'a\' n; sed '2a \' n; sed '2a foo\' n; sed -e '2a\' -e '  bar\' -e baz n; sed -e '2a foo' -e p n; sed -e '2i\' n"#,
        r#"sed '2,3c\
X' n; sed '2!c\
X' n; sed '$!N;2c\
X' n; sed '2,3!c\
X' n; sed '2{c\
X
}' n; sed '2,4{c\
X
}' n; sed '/2/,/4/c X' n; sed '2c\' n; sed '$c end' n; sed '2,9c X' n; sed '$!{$!c\
X
}' n"#,
        r#"sed '$!{a foo
}' n; sed '1i\
a\
b' n; sed '/3/{i before
a after
}' n; sed '2{a x
d}' n; sed '2{a x
n;p}' n; sed '2{a x
N;p}' n; sed '2{i x
q}' n; sed '2{a x
q}' n; sed '2{a x
Q}' n; sed -n '2{a x
p}' n; sed '2{r t
a z
}' n; sed 'a\
' e"#,
        r#"sed = n; sed -n '$=' n; sed '=p' n; sed '= ;p' n; sed -n '2,3=' n; sed l f; sed -n 'l 1' f; sed -n 'l 5' f; sed -n l0 f; sed 'l x' f; sed -n -l 4 l f; sed -n -l 1 l f; sed -n -l 0 l f; sed -n --line-length=5 l f; sed -n l bin; sed -n 'l 3' bin; sed '{l5}' f; sed 'l5;p' f; printf 'a\tb\r\v\f\a\b\e\\\n' | sed -n l; printf '%090d\n' 1 | sed -n l"#,
        r#"sed q n; sed q5 n; sed '2q 5' n; sed Q7 n; sed 2Q n; sed 1,2q n; sed 'q x' n; sed q-1 n; sed q300 n; sed q5x n; sed '{q5}' n; sed '$!d;q3' n; sed -n '3{p;q}' n; sed '2q;d' n; sed 'q;p' n; sed '1!{q4}' n"#,
        r#"sed n n; sed -n 'n;p' n; sed '$!n;s/^/>/' n; sed '1d;n;d' n; sed N n; sed '$!N;P;D' n; sed 'N;N;N;N;p' n; sed 'N;D' n; sed 'P;D' n; sed D n; sed '$!{N;N};p' n; sed -n '$!N;l' n; sed 's/2/\n/;P;D' n; sed 'N;P;D' n n; sed --posix N cut; sed --posix 'n;d' cut; sed -n '2{N;N;N;N;N;N;p}' n; sed '$!N;s/\n/ /;P;D' n; sed 's/1/a\nb\nc/;P;D' n"#,
        r#"sed G n; sed -n '1!G;h;$p' n; sed '1!G;h;$!d' n; sed 'x;p;x' n; sed 'G;h;x;H;g' n; sed x n; sed -n 'H;${x;s/\n/,/g;p}' n; sed '2h;4G' n; sed '2h;4g' n; sed -n '2{h;d};4{x;p}' n; sed 'H;x' n; sed '$!{h;d};G' n; sed z n; sed '2z' n; sed -n 'F;p' n; sed F <n; sed -s -n '$F' n f"#,
        r#"sed 'y/abc/xyz/' f; sed 'y/abc/xy/' f; sed y/a/ f; sed 'y/a\/b/xyz/' br; sed 'y/\n\\/ab/' br; sed 'y/a\bc/wxyz/' f; sed 'y/\b/x/' f; sed 'y/a\t/xy/' f; sed 'y/o\q/xyz/' f; sed 'y/o/\q/' f; sed 'N;y/\n/,/' n; sed 'y/a/\n/' f; sed 'y/ab/xy/g' f; sed '{y/a/b/}' f; sed 'y/a/b/}' f; sed 'y/a/b/;y/b/c/' f; sed 'y,a\,b,xyz,' f; sed yaaba f; sed 'y/aa/bc/' f; sed 'y/[/]/X/' br; sed 'y/a
b/cde/' f; sed 'y/\x61/z/' f"#,
        r#"sed 'r cut' n; sed '2r nope' n; sed '$r t' n; sed '2r cut
p' n; sed '{r t}' n; sed '2{r t
}' n; sed 'R cut' n; sed 'R t' n; sed 'R nope' n; sed 'R e' n; sed r n; sed 'r ' n; sed R n; sed 'r d' n; sed 'R d' n; sed 'r e' cut; sed 'r nope' cut; sed '0r t' n; cat t | sed '2r /dev/stdin' n; cat t | sed 'R /dev/stdin' n; sed '2r /dev/null' n; sed '1r t' cut; sed '$!d;R n
p' cut; sed 'R t
R t' n"#,
        r#"sed 'w out' cut; od -c out; sed 'W out' cut; cat out; sed -n '/3/w a
/4/w b' n; cat a b; sed -n 'N;W out' n; cat out; sed w n; sed W n; sed 'w no/x/y' n; sed 'w d' n; sed 'w /dev/stdout' cut; sed w/dev/stderr cut; sed -n 'w /dev/null' n; sed 'w f3
s/2/x/w f3' n; cat f3; sed 'w f4
r f4' n; sed 'w f3' f3; cat f3; sed -n '$!w o1
$w o2' n; cat o1 o2; sed 'w bad' -n -e 'k' n; ls bad; sed '/x/w empty' n >/dev/null; ls -l empty | wc -l"#,
        r#"sed v n; sed 'v 4.2' n; sed 'v 9.0' n; sed 'v x' n; sed v4.9.0 n; sed 'v 4.9' n; sed 'v 4.10' n; sed L n 2>&1 | wc -l"#,
        r#"sed '$!d' n; sed '$d' n; sed '1d' n; sed '/^$/d' t; sed '/two/,/four/d' t; sed '/three/q' t; sed -n '/o/p' t; sed '/o/!d' t; sed '1~3d' n; sed 'n;d' n; sed '$!N;$!D' n; sed -e :a -e '$q;N;4,$D;ba' n; sed '1~2{N;s/\n/ /}' n; sed -n '$!{h;d};H;x;p' n; sed 's/^[ \t]*//;s/[ \t]*$//' conf; sed = t | sed 'N;s/\n/\t/'; sed '/\n/!G;s/\(.\)\(.*\n\)/&\2\1/;//D;s/.//' t; sed -e :a -e 's/^.\{1,10\}$/ &/;ta' t; sed -n '/one/{n;p}' t; sed -n '/three/{g;1!p};h' t"#,
    ])
    .await;
}

#[tokio::test]
async fn files_and_options_are_gnus() {
    each(&[
        r#"sed p nope n; sed p d; sed -n p d n; sed p n d n; sed -n '$p' n e; sed -n '$p' n nope; sed -n '$p' n d; sed -s -n '$p' n f; sed -n '$=' n n; sed -n '$=' n nope t; sed p -; sed p - </dev/null; cat t | sed -n '$p' - n; sed F t -; sed -s F cut t; sed -s x n f; sed -s 'H;x' cut f; sed -s N cut f n; sed -s 'N;P;D' n cut; sed -s 'n;s/^/X/' cut f n; sed -s '$!n;s/^/X/' cut f n; sed -s '1F;$=' n cut; sed -n '1!G;h;$p' n cut"#,
        r#"sed -i 1q n; cat n; sed -i 1Q t; od -c t; sed -i s/x/y/ cut; od -c cut; sed -i '$d' f; cat f; sed -i p nope; sed -i p d; sed -i p; sed -ni p; sed -i p -; sed -i k br; cat br"#,
        r#"sed -i.bak 's/o/0/' f; cat f f.bak; sed -i'old_*' 1d n; ls; sed --in-place=.orig 2d t; ls; cat t.orig; sed --in-place s/e/E/ conf; cat conf; sed -i'd/*.x' p br; ls d; sed -i.b p e; ls"#,
        r#"sed -i 's/one/1/' lt; ls -l lt | cut -c1; cat lt t; sed -i --follow-symlinks 's/two/2/' lt; cat lt"#,
        r#"sed --follow-symlinks -i 's/two/2/' lt; ls -l lt | cut -c1; cat t; sed -i 's/one/1/' h1; cat h2; sed -i 's/a/b/w log' f n; cat log; sed -i '$r t' n; cat n; sed -i '1i head' n f; cat n f; sed -i '$a tail' n cut; cat n cut; sed -n -i p n; cat n; sed -i '/x/d' cut n"#,
        r#"sed -i 's/x/y/w /dev/stdout' cut; sed -i p n d f; cat n f; sed -n -i '$=' f n; cat f n; sed -i 'F;R t' n f; cat n f; sed -i N cut; od -c cut; sed -i -e '1d' -e '$d' t; cat t; sed -i -n '2{p;q}' n; cat n; sed -i -s 1d f br; cat f br; chmod 640 conf; sed -i s/a/b/ conf; stat -c %a conf; chmod 4755 w; sed -i s/1/2/ w; stat -c %a w"#,
        r#"sed -i '' n; sed -i -E 's/([0-9])/<\1>/' n; cat n; sed -Ei 's/1/2/' n; ls; sed -iE 's/1/2/' n; ls; sed -i.b -e 1d n f; ls; cat n.b; sed -i 2,3{d} t; cat t; sed -zi 's/\n/,/g' n; cat n"#,
        r#"sed -n -f p.sed n; sed -f q.sed n; sed -f bad.sed n; sed -f open.sed n; sed -f a.sed n; sed -f s.sed n; sed -f nope n; sed -e 1d -f p.sed n; sed -f p.sed -e 1d n; sed -e k n; sed -e p -e k n; sed -e p -f bad.sed n; sed -e '{' -e p n; sed -e '{p' -e '}' n; sed -f d n; sed -f e n; echo 2d | sed -f - n; echo 2d | sed -f /dev/stdin n; sed -f <(echo 2d) n; sed p <(echo x); cat n | sed 2d /dev/stdin; sed -n '$=' <n; sed 1d <<<'a'"#,
        r#"sed --expression=p -n n; sed -n --expression p --quiet n; sed --silent p n; sed -n -- p n; sed -- -p n; sed -E -n -r 's/(1)+/<\1>/p' n; sed --regexp-extended -n '/1+/p' n; sed --separate -n '$p' n f; sed -u 2q n; sed --unbuffered p cut; sed --posix -n p n; sed -sn '$p' n f; sed -nE '/1|2/p' n; sed -ne 1p -e 2p n; sed -n '1p' -- n; sed --follow-symlinks -n 1p n; sed n -e p; sed -nl5 l f; sed -n --lin=3 l f"#,
        r#"(sed; sed -n; sed -k p; sed --nope p; sed --s p; sed -nf; sed -l; sed -e; sed --expression; sed -1p; sed --in-place) 2>&1 | grep -v '^ ' | grep '^sed:\|^Usage:'; sed 2>/dev/null; echo $?"#,
        r#"sed --sandbox 'w x' n; sed --sandbox 'r x' n; sed --sandbox e n; sed --sandbox 's/a/b/w x' n; sed --sandbox 's/a/b/e' n; sed --sandbox 'W x' n; sed --sandbox 'R x' n; sed --sandbox 2d n"#,
        r#"sed -z 's/\n/,/g' n; sed -z N nul | od -c; sed -z = nul | od -c; sed -z F nul | od -c; sed -z 'l;a foo
i bar' nul | od -c; sed -z 'P;D' nul | od -c; sed -z 'N;P;D' nul | od -c; sed -z 'G;H;x' nul | od -c; sed -z 's/^/>/mg;s/$/</mg' nul | od -c; sed -z 's/^./>/mg' n; sed -z 'c foo' nul | od -c; sed -zn '$p' nul | od -c; sed -z 'N;N;s/^/>/Mg' nul | od -c; sed --null-data 'y/\n/,/' n; sed --zero-terminated 1d nul | od -c; sed -z 'R n' nul | od -c; sed -z 'l 4' n | od -c; sed -z 'w o' nul >/dev/null; od -c o; sed -z 's/a.b/X/' nul | od -c; sed -z '$!d' nul | od -c; printf 'x\0y' | sed -z 's/$/!/' | od -c"#,
        r#"sed p cut; sed p cut cut; sed -n 'p;p' cut; sed = cut; sed 'a foo' cut; sed 'i foo' cut cut; sed G cut; sed -n '$p' cut e; sed 'R cut' n cut; sed N cut; sed '$!N;P;D' cut; sed -s p cut cut; sed '$d' cut; sed l cut; sed -n l cut; sed q cut; sed 2q cut; sed 's/y/z\n/' cut; sed x cut; sed 'x;G' cut; sed 'N;P' cut; sed c\\X cut | od -c; sed '$a\' cut; printf '' | sed p; printf '\n' | sed p; printf '\n\n' | sed -n '$='; printf a | sed 's/a//' | od -c"#,
    ])
    .await;
}

#[tokio::test]
async fn bytes_pass_unchanged() {
    each(&[
        r#"sed '' bin | od -c; sed p bin | od -c; sed 's/b/X/' bin | od -c; sed 's/.*/x/' bin | od -c; sed 's/./X/g' bin | od -c; sed 's/[^a]/X/g' bin | od -c; sed 's/\W/X/g' bin | od -c; sed 's/\xff/X/' bin | od -c; sed 's/[\xff]/X/' bin | od -c; sed 's/[\x80-\xff]/X/' bin | od -c; sed 's/a/\xff/' bin | od -c; sed 's/\o200/X/;s/\d255/Y/' bin | od -c"#,
        r#"sed 'y/a/X/' bin | od -c; sed 'y/ä/a/' bin | od -c; sed 'y/äö/ao/' bin | od -c; sed 'y/ax/äö/' bin | od -c; sed 's/ä/[&]/g' bin | od -c; sed '2s/.*/\U&/' bin | od -c; sed 's/ä./x/' bin | od -c; sed -n l bin; sed -n '/\xff/p' bin | od -c; sed '/^.$/d' bin | od -c; sed 's/\x00/N/' bin | od -c; sed 's/z.y/N/' bin | od -c; sed 's/z[^y]y/N/' bin | od -c; sed 's/y/\x00/' bin | od -c; sed 'y/\x00/N/' bin | od -c"#,
        r#"sed -i 's/x/y/' bin; od -c bin; sed -i.b 2d bin; od -c bin.b; sed 'w o' bin >/dev/null; cmp o bin; sed 'r bin' n | od -c; sed 'R bin' n | od -c; sed -n 'H;${x;p}' bin | od -c; sed -f bytes.sed bin | od -c; head -c 3000 /dev/zero | sed 's/\x00/a/g' | wc -c; printf '\377\376\n' | sed 's/\xff\xfe/bom/'; printf '\xef\xbb\xbfx\n' | sed '1s/^\xef\xbb\xbf//'; printf 'a\r\nb\r\n' | sed 's/\r$//'; printf 'a\n' | sed 's/$/\r/' | od -c"#,
        r#"printf 'äöü\n' | sed 's/./&-/g'; printf 'äöü\n' | sed 's/^.//;s/.$//'; printf 'äöü\n' | sed -E 's/(.)(.)/\2\1/'; printf 'äb\n' | sed 's/\b/x/g'; printf 'äb cd\n' | sed 's/\</x/g;s/\>/y/g'; printf 'ÄÖ éß\n' | sed 's/.*/\L&/'; printf 'äö éß\n' | sed 's/\w\+/\u&/g'; printf '日本語\n' | sed 's/本/x/;s/[日語]/y/'; printf 'ä\nb\n' | sed 'N;s/\B/x/g'; printf 'naïve café\n' | sed 's/[[:alpha:]]/x/g'; printf 'a\xc2\xa0b\n' | sed 's/[[:space:]]/S/g' | od -c; printf 'é\n' | sed 'y/é/e/'; printf 'x\n' | sed 's/x/é/' ; printf 'aé\n' | sed -E 's/(b|é)\b/X/'"#,
    ])
    .await;
}

#[tokio::test]
async fn what_takes_too_long_or_too_much_is_told() {
    let mut sandbox = crate::support::scripts::Sandbox::new();
    let ran = sandbox.run("printf 'x\\n' | sed -n ':a;H;G;ba'; echo $?").await;
    assert_eq!((ran.stdout().as_str(), ran.stderr().as_str()), ("4\n", "sed: memory exhausted\n"), "{ran:?}");
    let many = "head -c 300 /dev/zero | tr '\\0' a | sed -E 's/(a*)*(a*)*(a*)*\\1\\2\\3b/x/'; echo $?";
    let ran = sandbox.run(many).await;
    assert_eq!(ran.stdout().lines().last(), Some("4"), "{ran:?}");
    assert!(ran.stderr().contains("takes too many steps"), "{}", ran.stderr());
    for (script, message) in [
        ("sed e f", "sed: -e expression #1, char 1: command `e' is not supported: it would run a program\n"),
        (
            "sed s/a/b/e f",
            "sed: -e expression #1, char 7: option `e' to `s' is not supported: it would run a program\n",
        ),
        ("sed --debug p", "sed: option '--debug' is not supported\n"),
    ] {
        let ran = sandbox.run(&format!("{script}; echo $?")).await;
        assert_eq!((ran.stdout().as_str(), ran.stderr().as_str()), ("1\n", message), "{script}");
    }
}
