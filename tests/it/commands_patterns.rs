//! Patterns of POSIX beside those of the machine's own tools, in each command that reads them.

use crate::commands::compare;
use crate::support::scripts::Sandbox;

/// Lines and names to find, and patterns one to a line: those of the second file are errors in one
/// dialect or another.
const SETUP: &str = r#"
cat >f <<'END'
a
b
ab
aab
abab
abc abcd
a+b
(a)
a{2}
{1}
*a
^a
a$
a|b
x-y
[a]
a]b
:]
\d1
a_1
ä
éb Ä
aa bb

END
cat >plain <<'END'
a*b
.*
a\+b
a\?b
a+b
a?b
a\|b
a|b
(a)
\(a\)
a{2}
a\{2\}
a\{,1\}b
a{,1}b
a{1,}
{1}
*a
\(*a\)
^*a
^^a
a^b
a$b
\(^a\)
\(a$\)
$a
\(a\|ab\)\(c\|bcd\)
(a|ab)(c|bcd)
\(.\)\1
(.)\1
\(a*\)b\1
\(a\)\(b\)\1\2
((a)|b)\2
\(ab\)*
a|
()
\(\)
[[:alpha:]]_
[^[:space:]]\{2\}
[]a]
[^]a]
[a\]]
[a-]
[--a]
[+--]
[---]
[[.-.]]
[[=a=]b]
[[.a.]-b]
\<a\>
\bab\b
a\B
\w\W
\S\s\S
\`a
b\'
\d
\*a
a\.
ä
\ä
[ä]
[^a]b
END
cat >wrong <<'END'
a\
[
[^
[a
[[:alpha
[[:alpha]
[[:word:]]
[[.hyphen.]]
[z-a]
[a-z-9]
[[:alpha:]-z]
[[=a=]-z]
[a-[=b=]]
\(a
(a
a)
a\)
a\{1
a\{1,2
a\{x\}
a{x}
a{2,1}
a{}
a\{2,1\}
a\{99999\}
a{99999}
a{1,2,3}
a**
a\{1\}*
a{1}{2}
\{1\}
{2}a
\+a
+a
(+a)
a|*b
\(a\)\|\1
(a)|\1
\(a\1\)
\2
END
mkdir d; while IFS= read -r n; do case $n in ''|*[\\]*) ;; *) : >"d/$n";; esac; done <f
printf 'x\nab\nb\n' >cs
"#;

#[tokio::test]
async fn patterns_of_grep_are_gnus() {
    let scripts = [
        r#"while IFS= read -r p; do echo "= $p"; grep -n -e "$p" f; grep -no -e "$p" f; done <plain"#,
        r#"while IFS= read -r p; do echo "= $p"; grep -nE -e "$p" f; done <plain"#,
        r#"grep -v '^.--a' plain >p; while IFS= read -r p; do echo "= $p"; grep -nx -e "$p" f; grep -niE -e "$p" f; done <p"#,
        r#"while IFS= read -r p; do echo "= $p"; grep -n -e "$p" f; echo $?; grep -nE -e "$p" f; echo $?; done <wrong"#,
        // Back-references beside patterns without, and in lines that end in a zero byte.
        r"grep -n -e '\(.\)\1' -e '^x' f; grep -v '\(a\).*\1' f; grep -c '\(.\)\1' f; grep -wn '\(.\)\1' f; grep -xn '\(..\)\1' f; grep -io '\(a\)b\1' <<<xABAx; printf 'a\na\0ab\n\0' | grep -z '^\(a\).\1' | od -c",
        "grep '[:space:]' f; grep '[:a' f; grep '[a:]' f; grep '[[:space:]' f",
    ];
    compare(SETUP, &scripts).await;
}

#[tokio::test]
async fn patterns_of_sed_csplit_and_tar_are_gnus() {
    let scripts = [
        r#"while IFS= read -r p; do echo "= $p"; sed -n "s/$p/<&>/p" f; done <plain 2>&1"#,
        r#"while IFS= read -r p; do echo "= $p"; sed -nE "s/$p/<&>/p" f; done <plain 2>&1"#,
        r#"grep -v '^\[\[:\|\\$' wrong >w; while IFS= read -r p; do echo "= $p"; sed -n "s/$p/<&>/p" f; sed -nE "s/$p/<&>/p" f; done <w 2>&1"#,
        r#"cat plain wrong | while IFS= read -r p; do echo "= $p"; csplit -sz cs "/$p/" 2>&1; cat xx* 2>/dev/null; rm -f xx*; done"#,
        r#"while IFS= read -r p; do echo "= $p"; tar cf o.tar --transform "s/$p/<&>/" cs f; tar tf o.tar; done <plain; rm o.tar"#,
        r#"while IFS= read -r p; do echo "= $p"; tar cf o.tar --transform "s/$p/<&>/x" cs f; tar tf o.tar; done <plain; rm o.tar"#,
    ];
    compare(SETUP, &scripts).await;
}

#[tokio::test]
async fn patterns_of_find_are_gnus() {
    let names = "findutils-default ed emacs gnu-awk grep posix-awk awk posix-basic posix-egrep egrep posix-extended \
                 posix-minimal-basic sed";
    let each = |name| {
        format!(
            r#"cd d; cat ../plain ../wrong | while IFS= read -r p; do echo "= $p"; find . -regextype {name} -regex "./$p" 2>&1 | sort; done"#
        )
    };
    let scripts: Vec<String> = names.split_whitespace().map(each).collect();
    compare(SETUP, &scripts.iter().map(String::as_str).collect::<Vec<_>>()).await;
    let scripts = [
        r"cd d; find . -regex '.*/[[:alpha:]]*' | sort; find . -iregex './A\(B\)\1?' | sort; cp a $'n\nl'; for t in emacs findutils-default sed; do find . -regextype $t -regex './n.l'; find . -regextype $t -regex './n[^x]l'; find . -regextype $t -regex $'./n$\n^l'; done",
    ];
    compare(SETUP, &scripts).await;
}

/// Letters that are no others' letters, numbers, marks, spaces of all kinds, what nobody sees.
const CHARS: &str = "a B 5 _ - ä Ä ß \u{1c5} \u{1c4} \u{2160} \u{24d0} \u{663} \u{e51} \u{301} \u{a0} \u{2003} \u{2007} \u{2028} \u{3000} \u{ad} \u{85} \
                     \u{200b} \u{e000} \u{378} ² ½ € « ‿ 日 ア 가 א \u{1f600} \u{1d400} \u{feff} ª \u{2fe}";

#[tokio::test]
async fn classes_are_glibcs() {
    let setup = format!("printf '%s\\n' {CHARS} $'\\t' $'\\v' ' ' $'\\001' >c");
    let classes = "alpha digit alnum upper lower space blank punct print graph cntrl xdigit";
    let scripts = [
        format!(r#"for c in {classes}; do grep -n "[[:$c:]]" c; sed -n "/[^[:$c:]]/=" c; done"#),
        r"grep -n '\w' c; grep -n '\S' c; sed -n '/\s/=' c; sed -n '/\W/=' c".to_owned(),
    ];
    compare(&setup, &scripts.iter().map(String::as_str).collect::<Vec<_>>()).await;
}

#[tokio::test]
async fn a_search_that_takes_too_long_is_given_up_in_words() {
    let pattern = r"\(a*\)*\(a*\)*\(a*\)*\1\2\3d";
    let name = "a".repeat(200) + "bd";
    let mut sandbox = Sandbox::new();
    for (script, message) in [
        (format!("echo {name} | sed -n '/^{pattern}/p'"), "too many steps"),
        (
            format!("echo {name} | grep '^{pattern}'"),
            "grep: (standard input): exceeded the limit on backtracking",
        ),
        (format!("echo {name} | csplit - '/^{pattern}/'"), "csplit: error in regular expression search"),
        (format!(": >{name}; find . -regex '.*/{pattern}'"), "Cannot allocate memory"),
        (
            format!(": >{name}; tar cf /tmp/o --transform 's/^{pattern}/x/' {name}"),
            "too many steps on this name",
        ),
        (
            format!(
                "git init -q r; cd r; git config user.name A; git config user.email a@b; git commit -q --allow-empty -m {name}; git log --grep '^{pattern}'"
            ),
            "fatal: a pattern takes too many steps on a line",
        ),
    ] {
        let ran = sandbox.run(&script).await;
        assert!(ran.stderr().contains(message), "{script}: {}", ran.stderr());
    }
}
