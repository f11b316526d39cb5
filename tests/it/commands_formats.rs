//! Commands that pack, convert, cut and lay out text, beside the machine's own.

use sqlfs::exec::End;

use crate::commands::compare;
use crate::support::scripts::Sandbox;

#[tokio::test]
async fn xz_is_xz_utils() {
    let setup = "seq 10 >f; cp f g; ln g h; mkdir d; ln -s f l; printf 'a\\0\\377' >bin; printf %s /Td6WFoAAATm1rRGAgAhARYAAAB0L+WjAQAUMQoyCjMKNAo1CjYKNwo4CjkKMTAKAAAAADjyNRO7KOniAAEtFS8LcW0ftvN9AQAAAAAEWVo= | base64 -d >z.xz; head -c 20 z.xz >cut.xz";
    let scripts = [
        "xz -d f; xz d; xz l; xz h; xz nope; echo $?; xz -d <f; xz -Z",
        "xz z.xz; echo $?; xz -d <cut.xz; echo $?; xz -t z.xz; xz -t cut.xz; cat z.xz z.xz | xz -dc; xz -dfc f; xzcat z.xz nope",
        "unxz z.xz; cat z; ls; unxz nope; xz -k bin; xz -k bin; xz -dc bin.xz | cmp - bin; rm bin.xz; xz -9 -c bin | xz -d | cmp - bin",
        "xz -q -d f; xz -d -k z.xz; ls; xz -dk z.xz; xz -dkf z.xz; xz -S .y f; ls; rm f.y; xz -S .y -d z.xz",
    ];
    compare(setup, &scripts).await;
}

#[tokio::test]
async fn iconv_is_glibcs() {
    let setup = "printf '\\303\\251t\\303\\251 na\\303\\257ve\\n\\346\\227\\245\\346\\234\\254\\n' >u; seq 5 >n; printf 'ab\\377cd' >bad; mkdir d";
    let scripts = [
        "iconv -f utf-8 -t utf-16le u | od -An -tx1; iconv -t utf-16 n | od -An -tx1; iconv -t utf-32 n | od -An -tx1",
        "iconv -f utf8 -t latin1 u | od -c; iconv -f latin1 -t utf8 bad | od -c; iconv -f utf8 -t utf16le bad | od -c",
        "iconv -c -f utf8 -t utf8 bad; printf 'ab\\303' | iconv -f utf8 -t utf8; iconv nope; iconv d; iconv -z; echo $?",
        "iconv -o out -t utf16be n; iconv -f utf-16be out | cmp - n; printf '\\377\\376h\\0i\\0' | iconv -f utf-16 -t utf8",
        "printf 'h\\0\\0' | iconv -f utf-16le; iconv -f utf8 -t koi8-r <<<'привет' | od -c; iconv -f utf8 -t euc-jp <<<'日本' | od -c",
        "iconv -f utf8 -t shift_jis <<<'日本' | iconv -f shift_jis; iconv -t ascii n; iconv -f utf8 -t cp1252 <<<'€' | od -c",
    ];
    compare(setup, &scripts).await;
}

#[tokio::test]
async fn csplit_is_coreutils() {
    let setup = "seq 10 >s; printf '# a\\n\\n## b\\nx\\n## c\\n' >m; printf 'no newline' >n";
    let scripts = [
        "csplit s 3; csplit s 3 7; csplit s /4/; csplit s /x/; csplit -k s /x/; ls; rm xx*; csplit s '/3/+1' '%6%'; cat xx01",
        "csplit -z s /1/ '{*}'; csplit -s -f p -b '%03d.txt' s 5; ls; csplit -n 3 s 5; csplit s 20; csplit s 3 '{2}'",
        "csplit s; csplit; csplit s '/['; csplit s 5 3; csplit nope 1; csplit - 5 <s; csplit s '/3/-1'; csplit s 0; csplit s foo",
        "csplit s '{3}'; csplit s /3/ '{3}'; csplit s 5 /2/; csplit -ks s /3/ '{3}'; ls; csplit s 11; csplit s 5 '{*}'",
        "csplit --suppress-matched s 5; cat xx01; csplit m '/^##* /' '{*}'; csplit n 1; csplit m '/^# \\(a\\|b\\)$/'; ls",
    ];
    compare(setup, &scripts).await;
}

#[tokio::test]
async fn fmt_and_column_are_gnus_and_util_linuxs() {
    let setup = "printf 'The quick brown fox jumps over the lazy dog. It was (as ever) a dull day, and nobody came.  Then the rain began to \
                 fall on the roof of the old house, where \"everything\" was quiet; too quiet?  Yes.\\nAnd more text follows here.\\n\\n  \
                 Indented text that is long enough to be broken over several lines, I should think.\\n' >p; \
                 printf '# a comment that is rather long and should be broken\\n# in two\\ncode();\\n' >q; \
                 printf 'a\\tb\\tc\\n1\\t2\\t3\\nx\\t\\tz\\n\\nlonger\\n' >t; printf 'a,b,,d\\n,x\\n\\nlast,1,2,3,4\\n' >k";
    let scripts = [
        "fmt p; fmt -w 40 p; fmt -40 -u p; fmt -g 30 p; fmt -w 25 -s p; fmt -w 12 p; fmt -c -w 40 p; fmt -t -w 40 p",
        "export LC_ALL=C; fmt -w 30 -p '#' q; fmt nope; fmt -z; fmt -w x q; seq 200 | fmt; seq 300 | fmt -w 50; fmt </dev/null",
        "column -t t; column -t -s, k; column -ts, -o ' | ' k; column -t -s, -N A,B,C -R 2 k; column -t -R 1,2 t; column -t -H 2 t",
        "seq 30 | column; seq 30 | column -c 40; seq 30 | column -x -c 40; column k; column --nope; column nope; column -t <(echo a b)",
        "column -t -l 2 p; column -t -L t; column -t /dev/null; echo | column -t; printf '日本 b\\né ccc\\n' | column -t",
    ];
    compare(setup, &scripts).await;
}

#[tokio::test]
async fn umask_is_bashs() {
    let setup = "echo x >f; printf '#!/bin/sh\\n' >r; chmod 755 r";
    let scripts = [
        "umask; umask 077; touch a; echo b >b; mkdir d; cp r r2; stat -c '%a %n' a b d r2 f; umask -S; umask -p; umask",
        "umask u=rwx,go=; umask; umask 0; umask; echo x | tee t; stat -c %a t; { umask 999; umask -q; umask xyz; } 2>/dev/null; echo $?",
        "umask 027; f() { umask 002; }; f; umask; touch z; chmod +w z; stat -c %a z; gzip -n f; stat -c %a f.gz; rm f.gz",
        "(umask 077; umask); umask; touch q; stat -c %a q; bash -c 'umask 077; umask'; umask; x=$(umask 0; umask); echo $x; umask | cat",
    ];
    compare(setup, &scripts).await;
}

#[tokio::test]
async fn formats_of_date_may_hold_what_it_does_not_know() {
    compare("", &["date -u -d @0 '+%Q %Y %% %-d %:z %J'; date -u -d @0 +%i%%d%; date -u -d @0 +%"]).await;
}

#[tokio::test]
async fn tac_and_tee_are_coreutils_and_let_bytes_pass() {
    let setup = "printf 'a\\377\\nb\\376\\nlast' >b; seq 5 >s; mkdir d; echo old >o";
    let scripts = [
        "tac s; tac b | od -An -tx1; tac s b | od -c; tac <s; tac nope; tac d; tac -s , <<<'a,b,c'; tac -b s; tac -z; echo $?",
        "printf 'x\\n\\n' | tac; tac -s '' <(printf 'a\\0b\\0'); tac -bs , <<<'a,b,c'; tac </dev/null; tac - <s",
        "tee x y <b | od -An -tx1; cmp x b; cmp y b; echo more | tee -a o s; cat o; tee d </dev/null; tee no/x <s; echo $?; tee -Z; echo $?",
        "tee >(wc -c >n) <b >/dev/null; echo x | tee /dev/null; echo y | tee /dev/stderr; tee --nope; echo z | tee -- -f; cat ./-f",
    ];
    compare(setup, &scripts).await;
}

#[tokio::test]
async fn seq_is_coreutils_without_an_end() {
    let scripts = [
        "seq 5; seq 2 5; seq 5 -2 1; seq 0 .1 .5; seq 1 .25 2; seq 3 1; seq -5 -3; seq -.5 .5; seq 1e1 12; seq 0 0.000001 0.000003",
        "seq -w 8 11; seq -w -1 2; seq -w 0.5 10; seq -w 1 .5 10; seq -w 9.50 10; seq -w -5 5 5; seq --equal-width 99 100",
        "seq -s, 3; seq -s ', ' 3; seq --separator=- 1 4; seq -s '' 3; seq -ws: 8 11",
        "seq -f %03g 3; seq -f 'a%.2fb' 2; seq -f %e 1 2; seq -f %g 1 .5 2; seq -f '%5.1f|' 3; seq -f '%-6g|' 2; seq -f %+g -1 1; seq -f '%%%g' 2; seq -f %G 100000 900000 1000000",
        "export LC_ALL=C; seq 1 0 3; echo $?; seq x; seq; seq 1 2 3 4; seq -f %d 3; seq -f x 3; seq -f %g%g 3; seq -wf %g 3; seq -z 3; seq --nope 3; seq -s; echo $?",
        "seq 1234567 | tail -1; seq 300000 | wc -l; seq 100000 -1 1 | md5sum; seq 0 .001 99 | md5sum; seq 9007199254740993 9007199254740995",
        "seq 10 | head -2; for i in $(seq 3); do echo $i; done; seq 2 | sed s/^/x/; seq +1 +2; seq ' 1' 2",
    ];
    compare("", &scripts).await;
}

/// What an agent should know although the script hid it.
#[tokio::test]
async fn unknown_commands_and_options_are_warned_of() {
    let warned = |script: &'static str| async move {
        let ran = Sandbox::new().run(script).await;
        assert_eq!(ran.ended.end, End::Exited(0), "{script}");
        ran.ended.warnings
    };
    assert_eq!(
        warned("nonesuch 2>/dev/null; nonesuch -x 2>/dev/null; true").await,
        ["nonesuch: command not found"]
    );
    assert_eq!(warned("ls --nope 2>/dev/null; true").await, ["ls: unrecognized option '--nope'"]);
    assert_eq!(
        warned("cp -Q a b >/dev/null 2>&1; ls nope 2>/dev/null; true").await,
        ["cp: invalid option -- 'Q'"]
    );
    assert_eq!(
        warned("f() { :; }; f; ls; type nonesuch; command -v nonesuch; umask 077; true").await,
        [""; 0]
    );
    let subshell = warned("(umask 077; touch f)").await;
    assert!(subshell.len() == 1 && subshell[0].contains("umask in a subshell"), "{subshell:?}");
    let many = warned("for i in {1..50}; do no$i 2>/dev/null; done; true").await;
    assert_eq!(many.len(), 20, "warnings have a limit: {many:?}");
}

#[tokio::test]
async fn tar_is_gnus() {
    let long = "d/".to_owned() + &"n".repeat(120);
    let setup = format!(
        "mkdir -p d/e x; seq 100 >d/f; printf 'a\\0\\377' >d/e/bin; echo '#!' >d/run; chmod 755 d/run; ln -s f d/l; ln d/f d/h; \
         echo long >{long}; echo k >x/keep; printf '*.o\\nskip\\n' >pats; printf 'd/f\\nx\\n' >names"
    );
    let sorted = |list: &str| format!("{list} | sort");
    let scripts = [
        sorted("tar czf a.tgz d; tar tzf a.tgz") + "; rm -r d; tar xzf a.tgz; find d | sort; stat -c '%a %Y' d/run d/f; ls -i d/f d/h | cut -d' ' -f1 | uniq | wc -l; readlink d/l; rm a.tgz",
        "for z in '' -z -J -j; do tar $z -cf a d; file=$(head -c 2 a | od -An -tx1); echo $z $file; tar -xOf a d/run; tar -tf a | wc -l; rm a; done".to_owned(),
        "for n in a.tar a.tar.gz a.tgz a.tar.xz a.tbz2; do tar caf $n d/f; tar xf $n -O | cksum; rm $n; done; tar -cf - d/f | tar -tf -; tar c d/f | tar tv | cut -c1-10".to_owned(),
        sorted("tar cf a.tar -C d f e -C ../x keep; tar tf a.tar") + "; mkdir o; tar xf a.tar -C o e/bin keep; find o | sort; tar xf a.tar nope; echo $?; rm a.tar",
        "tar cf a.tar --exclude=e --exclude '*n' d x; tar tf a.tar | sort; tar cf a.tar -X pats -T names; tar tf a.tar | sort; tar cf a.tar --no-recursion d; tar tf a.tar; rm a.tar".to_owned(),
        "tar cf a.tar d/f; tar rf a.tar x/keep; tar tf a.tar; tar tvf a.tar | sed 's/^\\(.\\{10\\}\\) [^ ]*/\\1/'; tar cvf a.tar d/f x; tar xvf a.tar; tar tf a.tar d/f; rm a.tar".to_owned(),
        "tar cf a.tar d/e/bin; mkdir o; cd o; tar xf ../a.tar --strip-components=2; ls; cat bin | od -c; tar xf ../a.tar --strip 1; ls e; cd ..; rm a.tar".to_owned(),
        "tar xf nope.tar; echo $?; echo text >t.tar; tar xf t.tar; echo $?; tar cf a.tar nope; echo $?; tar; echo $?; tar cf a.tar; echo $?; tar czf a.tgz d; head -c 100 a.tgz >b.tgz; tar xzf b.tgz >/dev/null; echo $?; rm -f a.tar *.tgz".to_owned(),
        "tar cf a.tar d/f; echo changed >d/f; tar xkf a.tar; echo $?; cat d/f; tar xf a.tar; tail -1 d/f; tar xmf a.tar; tar cf b.tar -h d/l; tar tvf b.tar | cut -c1; rm *.tar".to_owned(),
        "tar cf a.tar $PWD/d/run 2>e.txt; cat e.txt; tar tf a.tar | sed 's/.*d.run/ok/'; tar cPf a.tar $PWD/d/run; tar tPf a.tar | cut -c1; tar cf a.tar --remove-files x; ls -d x; rm a.tar e.txt".to_owned(),
        "tar cf a.tar --mtime=@86400 d/f; tar tvf a.tar | grep -c 1970-01-02; tar -c -f a.tar d/f a.tar; tar tf a.tar; tar -tf a.tar --wildcards 'd/*'; rm a.tar; touch e; tar cf z.tar e; wc -c <z.tar; rm z.tar".to_owned(),
    ];
    let scripts: Vec<&str> = scripts.iter().map(String::as_str).collect();
    compare(&setup, &scripts).await;
}

/// Headers of the kind that Python, npm and others write before a member.
#[tokio::test]
async fn tar_reads_extended_headers() {
    let setup = "mkdir d; echo x >d/ünïcode; echo y >d/g";
    let scripts = [
        "tar --format=pax -cf a.tar d; tar tf a.tar | sort; tar xf a.tar -O | sort; rm a.tar",
        "tar --format=ustar -cf a.tar d/g; tar tf a.tar; tar --format=gnu -cf a.tar d; tar tf a.tar | sort; rm a.tar",
    ];
    compare(setup, &scripts).await;
}
