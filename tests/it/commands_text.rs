//! Commands that read and write text, beside the machine's own.

use crate::commands::compare;

#[tokio::test]
async fn xargs_is_findutils() {
    let setup = "printf 'a b\\nc \"d e\"\\n' >in; printf 'x\\0y z\\0' >nul; echo 'exit 255' >x255; printf '1\\n2 \\n3\\n\\n4\\n' >lines";
    let scripts = [
        "xargs <in; xargs -n1 <in; xargs -n2 echo p <in; xargs -I{} echo '[{}]' <in; xargs -L1 <in; xargs -L1 <lines",
        "xargs -0 -n1 echo <nul; xargs -0 -I% echo '<%>' <nul; xargs -d '\\n' -n1 echo <in; printf 'a,b,c' | xargs -d, echo",
        "xargs -a in echo; xargs -a nope echo; echo \"it's\" | xargs; echo 'a\\ b' | xargs -n1; echo '\"a' | xargs echo",
        "xargs </dev/null; xargs -r echo no </dev/null; xargs -I{} echo no </dev/null; xargs -n1 echo </dev/null",
        "echo x | xargs false; echo $?; echo x | xargs nonesuch; echo $?; echo x255 | xargs bash; echo $?; echo x | xargs ./nope; echo $?",
        "seq 5 | xargs -t -n2; echo 'a b' | xargs -t -I{} echo x{}y; seq 3 | xargs -n1 -P2 echo | sort; echo a | xargs -t printf '%s\\n' 'q r'",
        "seq 10 | xargs -s 20 echo; echo abcdefghijklmnop | xargs -s 10 echo; echo $?; xargs -n0 </dev/null; xargs -nx </dev/null",
        "xargs --nope </dev/null; echo a b EOF c | xargs -E EOF; seq 3 | xargs bash -c 'echo $# $0 $*' _; seq 3 | xargs -i echo {}-{}",
        "printf 'f1\\nf2\\n' | xargs touch; ls; printf '%s\\n' f1 f2 | xargs -I{} cp {} {}.bak; ls; find . -name '*.bak' -print0 | xargs -0 rm -v | sort",
        "echo a | xargs cat; echo in | xargs cat; seq 3 | xargs -n1 sh -c 'exit $0'; echo $?; echo x | xargs cd; echo $?; f() { echo f; }; echo x | xargs f; echo $?",
    ];
    compare(setup, &scripts).await;
}

#[tokio::test]
async fn wc_and_cmp_are_gnu() {
    let setup = "printf 'one two\\nthree\\n' >a; : >e; printf 'no newline' >n; seq 1000 >s; mkdir d; printf 'h\\303\\251\\t\\346\\227\\245 x\\n' >u; \
                 printf 'a\\0b\\377\\n' >bin; printf 'one twO\\nthree\\nmore\\n' >b";
    let scripts = [
        "wc a; wc a s e; wc -l a; wc -l a s; wc -w n; wc -c s u; wc -m u; wc -L a u s; wc -lw a; wc -cl a n; wc u bin",
        "wc nope; wc nope a; wc d; wc d a; cat a | wc; cat a | wc -l; cat a | wc - s; wc - </dev/null; cat a | wc -lc",
        "wc --nope; wc -z; wc --lines --words a; printf 'a\\0s\\0' | wc -l --files0-from=-; wc -l <a; wc -L n; wc -lwmcL a",
        "cmp a a; cmp a b; cmp -s a b; cmp -l a b; cmp -b a b; cmp a n; cmp a e; cmp e a; cmp a nope; cmp; cmp a; cmp -n 3 a b; cmp -i 7 a b",
        "cat a | cmp - b; cat a | cmp a; cmp -l a b -n 8; cmp -bl bin a; cmp s a; head -c 10 a | cmp - a; head -c 8 a | cmp a -; cmp <(echo a) <(echo a); cmp -s nope a",
    ];
    compare(setup, &scripts).await;
}

#[tokio::test]
async fn process_substitutions_are_read() {
    let setup = "printf 'b\\na\\n' >x; gzip -k x; echo c >y; ln -s x l";
    let scripts = [
        "zcat <(gzip -c x); gzip -dc <(gzip -c x) <(gzip -c y); gunzip -c <(cat x.gz); gzip -c <(cat x) | zcat; gzip -t <(gzip -c x); gzip -l <(gzip -c <x); zcat <(echo abc); zcat -f <(echo abc); gzip -t <(:)",
        "gzip <(cat x); gzip -d <(gzip -c x); gunzip <(gzip -c x); echo $?; zcat /dev/stdin <x.gz; gzip -c /dev/stdin <x | zcat; gzip /dev/stdin <x",
        "xzcat <(xz -c x); xz -dc <(xz -c x); xz -t <(xz -c x); xz -dc <(echo abc); xz <(cat x); xz -d <(xz -c x); xz -kf <(cat x); echo $?; cat x | xz -c /dev/stdin | xzcat",
        "xargs -a <(echo 1 2) echo; xargs -0 --arg-file=<(printf '1\\0') echo; wc -l --files0-from=<(printf 'x\\0y'); du --files0-from=<(printf 'x\\0y'); grep --file=<(echo b) x",
        "patch x <(diff -u x y); cat x; diff -u y <(echo d) >p; patch y -i <(cat p); cat y; more <(cat x) | grep -v /dev; rm p",
        "diff <(echo 1) <(echo 2); comm <(echo 1) <(echo 2); paste <(echo 1) <(echo 2); wc -c <(echo 1) | cut -d' ' -f1; sort <(cat x) <(cat y); cat <(echo 1) <(echo 2); join <(echo a 1) <(echo a 2); cmp <(echo 1) <(echo 1)",
    ];
    compare(setup, &scripts).await;
}

#[tokio::test]
async fn patch_is_gnu() {
    let setup = "seq 20 >f; sed '5s/5/five/; 15d' f >g; diff -u --label a/f --label b/f f g >p; sed 's/^10$/ten/; 1i top' f >h; \
                 sed '12,$d' p >p1; printf -- '--- /dev/null\\n+++ b/n/new\\n@@ -0,0 +1,2 @@\\n+x\\n+y\\n' >pn; \
                 printf -- '--- a/gone\\n+++ /dev/null\\n@@ -1 +0,0 @@\\n-only\\n' >pd; echo only >gone; \
                 printf -- '--- a/f\\n+++ b/f\\n@@ -1,3 +1,3 @@\\n 1\\n-zwei\\n+two\\n 3\\n' >bad; \
                 printf 'a\\nb' >nn; printf -- '--- nn\\n+++ nn\\n@@ -1,2 +1,2 @@\\n a\\n-b\\n\\\\ No newline at end of file\\n+c\\n' >pnn; cp f x; cat bad pn >two";
    let scripts = [
        "patch -p1 <p; cat f; patch -p1 <p; ls",
        "patch f <p; patch -R f <p; patch f p; patch -N f p; patch -R f p; cmp f x",
        "patch -p1 --dry-run <p; patch -p1 -i p -o out; cmp f x; patch -p1 -b <p; ls; cmp f.orig x",
        "cp h f; patch -p1 <p; cat f; ls",
        "patch -p1 <pn; cat n/new; patch -p1 <pn; patch -p1 -R <pn; ls",
        "patch -p1 <pd; ls; patch -p1 <bad; cat f.rej; ls; patch -p1 -s <bad; patch -p1 --dry-run <bad",
        "patch <p; patch -p0 <p; patch -p5 <p; patch -p1 <nope; patch -i nope; patch </dev/null; echo junk | patch; patch -px <p",
        "patch <pnn; cat nn; patch -R <pnn; od -c nn; patch -p1 <two; ls; patch -p1 -d n <pn; patch -f -p1 <p; patch -f -p1 <p; patch -t -p1 <p",
        "sed -i 's/^4$/four/' f; patch -p1 <p; sed -i 's/^3$/three/; s/^7$/seven/' f; patch -p1 <p; cat f.rej",
    ];
    compare(setup, &scripts).await;
}

#[tokio::test]
async fn gzip_and_look_are_gnu() {
    let setup = "seq 100 >f; cp f g; mkdir d; gzip -nc f >z.gz; printf 'apple\\napply\\nbanana\\n' >w; echo plain >p; head -c 20 z.gz >cut.gz; cat z.gz z.gz >zz.gz";
    let scripts = [
        "zcat z.gz | tail -1; zcat z; gunzip -c zz.gz | wc -l; cat z.gz | zcat | wc -l; gzip -dc z.gz | head -1; gzip -t z.gz; echo $?",
        "zcat p; zcat nope; zcat cut.gz | wc -l; gunzip nope.gz; gzip d; gzip nope; gunzip p; gzip -t p; gzip --nope",
        "gzip -k f; ls; gunzip -f f.gz; cmp f g; gzip f && ls && gunzip f && cmp f g; gzip z.gz; gunzip z.gz; ls; gzip -k f; gunzip f.gz; rm -f *.gz",
        "gzip -c f | gunzip | cmp - g; gzip <f | gzip -d | cmp - g; gzip -9 -n -c f | zcat | cmp - g; gzip -S .x f; ls; gunzip -S .x f.x; ls; rm -f *.gz",
        "head -c 3000000 /dev/zero | gzip | zcat | wc -c; look app w; look b w; look z w; echo $?; look -f APPL w; look",
    ];
    compare(setup, &scripts).await;
}

#[tokio::test]
async fn dates_are_gnus() {
    let dates = [
        "2024-01-31 +1 day",
        "2024-01-31 1 month ago",
        "2024-01-31 + 1 month",
        "1 Jan 2025 10am",
        "Jan 5, 2025 3:04 pm",
        "2024-12-25T08:00:00Z",
        "2024-12-25 08:00 +0200",
        "12/25/2024",
        "20240229",
        "2024-03-10 12:34:56 UTC",
        "@86400",
        "2024-02-29 1 year",
        "2024-02-29 -1 year",
        "2024-01-01 2 hours 30 minutes ago",
        "2024-05-06 next day",
        "2024-05-06 last week",
        "2024-02-30",
        "nonsense",
        "25 Dec 2024 23:59:59",
        "December 25 2024",
        "2024-05-06 1 fortnight ago",
        "Mon, 06 May 2024 10:00:00 +0000",
        "2024-05-06T10:00:00.5+02:00",
        "2024/05/06",
        "6 May 2024",
        "2024-05-06 tomorrow",
        "2024-01-31 10:00 EST",
        "1970-01-01",
        "2024-01-01 -3 days",
        "2024-01-01 10:30 3 weeks ago",
    ];
    let scripts: Vec<String> =
        dates.iter().map(|date| format!("date -u -d '{date}' '+%F %T' 2>/dev/null; echo $?")).collect();
    let scripts: Vec<&str> = scripts.iter().map(String::as_str).collect();
    compare("true", &scripts).await;
    let now = [
        "date -u -d yesterday +%F",
        "date -u -d '2 days ago' +%F",
        "date -u -d 'next month' +%Y-%m",
        "date -u -d 'last year' +%Y",
        "date -u -d 'next friday' +%F",
        "date -u --date='1 week ago' +%F",
    ];
    compare("true", &now).await;
}

#[tokio::test]
async fn zip_and_unzip_are_info_zips() {
    let setup = "mkdir -p s/t; seq 200 >s/f; echo b >s/t/g; echo '#!' >s/x; chmod 755 s/x; echo a >a.txt";
    let scripts = [
        "zip -q z a.txt; unzip -l z | grep -v :; zip -qr z.zip s; unzip -qql z.zip | awk '{print $4}' | sort; mkdir o; unzip -q z -d o; find o | sort; stat -c %a o/s/x; cmp s/f o/s/f; rm z.zip",
        "zip z a.txt; zip z a.txt; zip z s/f; zip z nope; echo $?; zip -qj y s/f; unzip -p y f | tail -1; unzip y; echo $?; unzip -o y; unzip nope; echo $?; rm -f *.zip",
        "zip -qr z s -x 's/t/*' -x '*.g'; unzip -qql z | awk '{print $4}' | sort; rm -r s; unzip -q z 's/f'; ls s; unzip -tq z; rm z.zip; ls",
    ];
    compare(setup, &scripts).await;
}

#[tokio::test]
async fn cut_paste_and_rev_are_the_real_ones() {
    let setup = "printf 'a:b:c\\nxyz\\n:::\\n' >c; printf 'a\\tb\\tc\\nq' >t; printf 'a\\377b\\tc:d\\n\\303\\244\\0x:\\200 y\\nlast\\376' >bin; printf 'a:b\\0c:d' >nul; : >e; mkdir d; \
                 printf '1\\n2\\n3' >p1; printf 'a\\nb\\n' >p2; printf 'äöü b\\n\\nx' >u";
    let scripts = [
        "cut -d: -f2 c; cut -d: -sf2 c; cut -d: -f1,3 c; cut -d: -f3,1 c; cut -d: -f2- c; cut -d: -f-2 c; cut -d: -f1-2,2-3 c; cut -d: --complement -f2 c; cut -d: --complement -f1,2- c; cut -d: -f-1,3- c; cut -d: -f4 c; cut -d: -f2,5 c; cut -f2 t; cut -f 1,3 t; cut -sf1 t; cut -d ' ' -f1 u",
        "cut -d: --output-delimiter=, -f1,3 c; cut --output-delimiter=, -b1,3 c; cut --output-delimiter=, -b1-2,3 c; cut --output-delimiter=, -b1-2,4-5 c; cut -b2-3,1 c; cut -c2 c; cut -c2- u | od -c; cut -b-3 u; cut -d '' -f1 c; cut --output-delimiter= -d: -f1,2 c; cut -f 1 -d : -d x c; cut -b 1-2 -n c; cut -f'1 2' -d: c; cut --complement -c1 c; cut --complement -b2-3 c",
        "cut -d $'\\n' -f2 c; cut -d $'\\n' -f1,3 c; cut -d $'\\n' -f9 c; cut -sd $'\\n' -f1 p2; cut -zd: -f2 nul | od -c; cut -zb1 nul | od -c; cut -b1-2 bin | od -c; cut -c1 bin | od -c; cut -d: -f2 bin | od -c; cut -f1 bin | od -c; cut -b3- bin | od -c; cut -b1 e; printf 'a:b' | cut -d: -f2; printf ab | cut -b2; cat c | cut -d: -f1 - p1; cut -f1 <(cat t); cat t | cut -f1 /dev/stdin; cut -d: -f1 - - <c",
        "cut c; cut -f1 -b1 c; cut -f c; cut -d ab -f1 c; cut -d: -b1 c; cut -s -b1 c; cut -f0 c; cut -b0 c; cut -fx c; cut -bx c; cut -f3-1 c; cut -f- c; cut -f1-x c; cut -f99999999999999999999 c; cut -b99999999999999999999 c; cut -f1,,2 c; cut -f '' c; cut -f1 nope c; cut -f1 d; cut -f1 -f2 c; cut -f1:2 c; cut -f 1-2-3 c; cut -b 1-2-3 c; cut -Q c; cut -f; cut --nope; cut -d ä -f1 c",
        "paste p1 p2; paste p2 p1; paste -d, p1 p2; paste -d ',;' p1 p2 p1; paste -s p1 p2; paste -sd, p1; paste -d '' p1 p2; paste -d '\\0' p1 p2; paste -d '\\n' p1 p2; paste -d '\\t,' p1 p2 p1; paste -d '\\\\' p1 p2; paste -d '\\q' p1 p2; paste -d 'x\\' p1 p2; paste -sd ',;' p1; paste -sd '\\n,' p1; paste -d ä p1 p2 p1 | od -c",
        "paste nope p1; paste p1 nope; paste d p1; seq 6 | paste - -; seq 5 | paste -d, - - -; seq 3 | paste -s -; seq 3 | paste - p2; seq 4 | paste -s - -; paste -z p1 p2 | od -c; paste -zs nul p1 | od -c; paste -Q; paste --nope; paste -s p1 nope p2; paste -s d p1; paste </dev/null; paste e; paste -s e; paste e p2; paste -s e p2; paste e e; paste bin bin | od -c; paste -sd, bin | od -c; paste <(seq 2) <(seq 3); seq 3 | paste -sd+; paste p1; cat p2 | paste p1 /dev/stdin",
        "rev c; rev u; rev t c; printf 'ab\\ncd' | rev; rev e; rev nope; rev -Q; rev nope c; echo '日本語 é' | rev; cut -d: -f1 c | rev | paste -sd,; rev <(cat c); echo a.b.c | rev | cut -d. -f1 | rev",
    ];
    compare(setup, &scripts).await;
}

/// The real `rev` stops there.
#[tokio::test]
async fn rev_takes_bytes_that_are_no_characters() {
    let ran = crate::support::scripts::Sandbox::new().run("printf 'a\\377\\303\\244b\\n\\200' | rev").await;
    assert_eq!(ran.output.stdout, b"b\xc3\xa4\xffa\n\x80");
}
