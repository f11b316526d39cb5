//! Commands over lines, beside the machine's own: order, parts and pairs of them.

use crate::commands::compare;

#[tokio::test]
async fn sort_is_gnu() {
    let setup = "printf 'b\\nA\\nc\\na\\nB\\n\\n_x\\n-y\\nab\\na b\\n' >w; printf '10\\n9\\n-1\\n1.5\\n\\n+3\\n 7\\n007\\nabc\\n1e3\\n-0\\n0\\n.5\\n-.25\\n' >n; \
                 printf '1K\\n2M\\n3\\n1G\\n900\\n1.5K\\n-1K\\n-2M\\nx\\n0G\\n1k\\n5T\\n' >h; printf 'mar\\nJAN\\nfoo\\n dec\\nFebruary\\nnov 2\\nma\\n' >m; \
                 printf '1e3\\n0x10\\ninf\\n-inf\\nnan\\nabc\\n1.5e-3\\n+2\\n 4\\n1e\\n.\\n-.5e1\\nInfinity\\n-0\\n0\\n' >g; printf 'v1.10\\nv1.9\\nv1.2.3\\nfile-1.0.tar.gz\\nfile-1.0.1.tar.gz\\n.hid\\n~x\\n1~rc\\n1\\n01\\na10b\\na9b\\n' >v; \
                 printf 'bob 3 x\\nalice 10 y\\n carol  2 z\\nbob 1 x\\ndave 3 a\\n\\ttab 3 q\\n' >f; printf 'k:3:c\\nj:10:b\\nk:1:a\\n:2:\\nz\\nj:10:a\\n' >c; \
                 printf 'z\\377\\n\\303\\251\\na\\0b\\na\\n\\200\\na\\0a\\n\\377\\376' >bin; printf 'c\\nb\\0a\\0\\nd\\0b' >nul; printf 'last' >cut; : >e; mkdir d; \
                 seq 1 3 10 >s1; seq 2 3 10 >s2; printf '3\\n1\\n2\\n' >u1";
    let scripts = [
        "sort w; sort -r w; sort -f w; sort -fr w; sort -fs w; sort -fu w; sort -d w; sort -df w; sort -i w; sort -u w w; sort -b f; sort -b w",
        "sort -n n; sort -nr n; sort -ns n; sort -nu n; sort -nru n; sort -g n; sort -h n; sort -V n; sort -M n",
        "sort -h h; sort -hr h; sort -hs h; sort -hu h; sort -M m; sort -Mr m; sort -Mu m; sort -g g; sort -gr g; sort -gs g; sort -gu g; sort -gf g; sort -V v; sort -Vr v; sort -Vf v",
        "sort bin; sort -r bin; sort -f bin; sort -d bin; sort -i bin; sort -u bin bin; sort -n bin; sort -V bin; sort -k1.2 bin; sort -t a -k2 bin; sort -z nul; sort -zr nul; sort -zu nul nul; sort -z bin; sort -zk2 nul; sort bin | od -c",
        "sort e; sort </dev/null; sort cut; sort cut cut e; sort w cut n; cat w | sort; cat w | sort - n; cat w | sort - -; sort - </dev/null; cat w | sort /dev/stdin; sort <(cat w) <(cat n); sort <<<'b'",
        "sort -k2 f; sort -k2n f; sort -k 2,2 f; sort -k2,2n -k1,1 f; sort -k2nr -k1,1r f; sort -k2b f; sort -bk2 f; sort -k2b,2b f; sort -k2,2b f; sort -k3 -k2n f; sort -k1.2,1.3 f; sort -k1.2b,1.3b f; sort -sk2,2 f; sort -uk2,2n f; sort -rk2,2n f",
        "sort -k2.2 f; sort -k2.1,2.1 f; sort -k9 f; sort -k9r f; sort -k1,9 f; sort -k2,1 f; sort -k2.3,2.1 f; sort -k1.100 f; sort -k1.1b f; sort -k 1.3,1 f; sort -k1,1.0 f; sort -k2n,2 -r f; sort -n -k2 -k1r f; sort -n -k2r f",
        "sort -t: -k2 c; sort -t : -k2n c; sort -t: -k2,2 -k3r c; sort -t: -k2,2n -s c; sort -t: -k3,3 -k1 c; sort -t: -k1,1 -u c; sort -t: -k2.1,2.1 c; sort -t: -k4 c; sort -t: -k1.2 c; sort -t: -k2,2.1 c; sort -t: -rk2,2n c; sort -t '\\0' -k1 nul; sort -t: -k2b,3b c",
        "sort -m s1 s2; sort -m u1 s1; sort -m s1 u1 w; sort -mu s1 s1 s2; sort -mr u1 u1; sort -mn s1 s2; sort -m cut s1; sort -m e s1; sort -m nope s1; sort -mo s1 s1 s2; cat s1; cat u1 | sort -m - s1",
        "sort -c w; echo $?; sort -c s2; echo $?; sort -C w; echo $?; sort -c u1; sort -cn s1; sort -cr s1; sort -cu s1; printf 'a\\na\\n' | sort -cu; printf 'a\\na\\n' | sort -c; sort -c e; sort -cz nul; sort -c bin; sort --check=quiet w; echo $?; sort --check w; sort --check=diag w; sort --check=silent s2",
        "sort -o w w; cat w; sort -o out n; cat out; sort n -o out2; cat out2; sort -o d w; sort -o no/x w; sort -uo n n n; cat n; sort -o out -o out w; sort -o out -o w w; sort --output=w2 w; cat w2; sort -o /dev/null w; sort -ro /dev/stdout w; sort -c -o x w",
        "sort nope; echo $?; sort w nope; sort d; sort w d; sort d nope; sort -c nope; sort -c d; sort -c w w; sort -cC w; sort --nope; sort -Q; sort -k; sort -t",
        "sort -k 0 w; sort -k x w; sort -k1.0 w; sort -k1x w; sort -k1,x w; sort -k1,0 w; sort -k '' w; sort -k1.x w; sort -k1,1.x w; sort -k1,1q w; sort -k-1 w; sort -k99999999999999999999 w",
        "sort -nM w; sort -k1nd w; sort -k1nf,2g w; sort -nR w; sort -hgd w; sort -id w; sort -di w; sort -t ab w; sort -t '' w; sort -t a -t b w; sort --sort=x w; sort --sort=n n; sort --sort=human-numeric h; sort --sort=m m; sort --sort=version v",
        "sort -S 5x w; sort -S x w; sort -S 10M w; sort --buffer-size=50% w; sort -T /tmp w; sort --parallel=2 w; sort --parallel=0 w; sort --parallel=x w; sort --compress-program=gzip w; sort --batch-size=4 w; sort --reverse --numeric-sort n; sort --key=2 --field-separator=: c; sort --zero-terminated nul; sort -nrk2 f; sort -- -x",
        "sort -R w | sort; sort -Ru w w | wc -l; sort -R w w | uniq | wc -l; sort --random-sort e; sort -rn -t: -k2 c | head -2; sort w | uniq -c | sort -rn; LC_ALL=C sort w; sort -t $'\\t' -k2 f",
    ];
    compare(setup, &scripts).await;
}

#[tokio::test]
async fn long_inputs_are_sorted_as_gnu_does() {
    let setup = "seq 200000 | awk '{ print ($1 * 7919) % 200003, $1 % 97, \"x\" $1 % 13 }' >f";
    let scripts = [
        "sort f | md5sum; sort -k2,2n -k1,1nr f | md5sum; sort -s -k3,3 f | md5sum; sort -o f f; md5sum f; sort -c f",
        "sort f >s; uniq -w 3 -c s | md5sum; head -1000 s | comm -3 - s | md5sum; head -500 s | join -a2 - s | md5sum; split -n l/7 f p; md5sum p*; split -b 100K f q; cat q* | cmp - f",
    ];
    compare(setup, &scripts).await;
}

#[tokio::test]
async fn uniq_is_gnu() {
    let setup = "printf 'a\\na\\nb\\nc\\nc\\nc\\nA\\na\\n' >f; printf '1 x y\\n2 x y\\n3 x z\\n\\tq x z\\n' >k; printf 'a\\377\\na\\377\\na\\0b\\na\\0c\\n\\303\\251\\n\\303\\211\\nz' >bin; \
                 printf 'a\\0a\\0b\\nc\\0b\\nc\\0d' >nul; : >e; mkdir d; printf 'x\\nx' >cut; printf '\\n\\na\\n\\n' >blank; printf 'a  1\\nb\\t1\\nc\\n' >w";
    let scripts = [
        "uniq f; uniq -c f; uniq -d f; uniq -D f; uniq -u f; uniq -i f; uniq -ci f; uniq -cd f; uniq -cu f; uniq -du f; uniq -Du f; uniq -du --all-repeated=prepend f; uniq --all-repeated=prepend -D f; uniq -di f; uniq -Di f",
        "uniq bin; uniq -c bin; uniq -i bin; uniq -d bin; uniq -w1 bin; uniq -z nul; uniq -zc nul; uniq -zd nul; uniq -z -f1 nul; uniq bin | od -c; cat bin | uniq -u",
        "uniq -f1 k; uniq -f 2 k; uniq -f1 -c k; uniq -s1 k; uniq -s 2 -w 1 k; uniq -w0 k; uniq -f9 k; uniq -s99 k; uniq -f1 w; uniq -f1 -s2 w; uniq -1 k; uniq -12 k; uniq -f1 -w2 k",
        "uniq --group f; uniq --group=prepend f; uniq --group=append f; uniq --group=both f; uniq --group=sep f; uniq -D f; uniq --all-repeated=prepend f; uniq --all-repeated=separate f; uniq --all-repeated=none f; uniq --group e; uniq --group=both e; uniq --group=both blank; uniq --group=append cut",
        "uniq e; uniq cut; uniq -c cut; uniq blank; uniq -c blank; uniq </dev/null; cat f | uniq -c; cat f | uniq - out; cat out; uniq f out2; cat out2; uniq f -; uniq <(cat f)",
        "uniq nope; uniq d; uniq f d; uniq f no/x; uniq -f x f; uniq -s x f; uniq -w x f; uniq -cD f; uniq --group -c f; uniq -D --group f; uniq --all-repeated=x f; uniq --group=x f; uniq a b c; uniq -Q; uniq -f -1 f; uniq --nope",
        "sort f | uniq -c | sort -rn; uniq --count --ignore-case f; uniq --skip-fields=1 k; uniq --repeated f; uniq --unique f; uniq --check-chars=1 k; uniq --skip-chars=2 k; uniq --zero-terminated nul; cat f | uniq /dev/stdin",
    ];
    compare(setup, &scripts).await;
}

#[tokio::test]
async fn comm_is_gnu() {
    let setup = "printf 'a\\nb\\nd\\n' >1; printf 'b\\nc\\nd\\ne\\n' >2; printf 'b\\na\\nz\\n' >u; printf 'a\\377\\nb\\0\\n\\303\\251\\n\\377' >b1; printf 'b\\0\\n\\303\\250\\n\\377\\n' >b2; \
                 printf 'a\\0b\\0' >z1; printf 'b\\0c\\n' >z2; : >e; mkdir d; printf 'a\\na\\nb\\n' >dup; seq 9 | sort >s";
    let scripts = [
        "comm 1 2; comm -1 1 2; comm -2 1 2; comm -3 1 2; comm -12 1 2; comm -13 1 2; comm -23 1 2; comm -123 1 2; comm -12 1 1; comm dup 1; comm 1 dup; comm e 1; comm 1 e; comm e e",
        "comm --total 1 2; comm --total -123 1 2; comm --total -3 1 2; comm --output-delimiter=, 1 2; comm --output-delimiter=:: --total 1 2; comm --output-delimiter= 1 2; comm -1 --output-delimiter=, 1 2; comm -2 --output-delimiter=, 1 2; comm --output-delimiter=a --output-delimiter=b 1 2; comm --output-delimiter=a --output-delimiter=a 1 2",
        "comm b1 b2; comm b2 b1 | od -c; comm -z z1 z2; comm -z --total z1 z2; comm -12 b1 b2",
        "comm u 1; echo $?; comm 1 u; echo $?; comm u u; echo $?; comm --check-order u u; echo $?; comm --check-order 1 u; comm --nocheck-order u 1; echo $?; comm --check-order 1 2; comm u e; comm e u; comm -12 u 2; comm --total u 2; comm u b2",
        "comm; comm 1; comm 1 2 u; comm 1 nope; comm nope 1; comm 1 d; comm d 1; comm -4 1 2; comm --nope; cat 1 | comm - 2; cat 2 | comm 1 -; comm <(cat 1) <(cat 2); cat 1 | comm /dev/stdin 2; comm -23 <(seq 12 | sort) s",
    ];
    compare(setup, &scripts).await;
}

#[tokio::test]
async fn join_is_gnu() {
    let setup = "printf '1 a x\\n2 b y\\n3 c\\n5 e\\n' >1; printf '1 A\\n1 B\\n3 C D\\n4 E\\n' >2; printf 'id,name\\n1,ann\\n2,bob\\n' >c1; printf 'id,age\\n2,30\\n3,40\\n' >c2; printf '2 b\\n1 a\\n3 c\\n' >u; \
                 printf 'a\\377 1\\nb\\0c 2\\n\\303\\251 3\\n' >b1; printf 'a\\377 x\\nb\\0c y\\n\\303\\251 \\377' >b2; printf 'a 1\\0b 2\\0' >z1; printf 'a\\nx\\0b\\ny' >z2; : >e; mkdir d; printf 'A 1\\nb 2\\n' >i1; printf 'a x\\nB y\\n' >i2; \
                 printf ' 1  a\\tb \\n\\n2\\n' >w1; printf '\\n1 q\\n2 \\n' >w2; printf 'x 1\\ny 2\\nz 3\\n' >r; printf '::\\na:b:\\n' >t1; printf ':1\\na:2:3\\n' >t2";
    let scripts = [
        "join 1 2; join -a1 1 2; join -a2 1 2; join -a 1 -a 2 1 2; join -v1 1 2; join -v 2 1 2; join -v1 -v2 1 2; join -a1 -v2 1 2; join -e X -a1 1 2; join 1 1; join e 1; join -a1 1 e; join -a2 e 1; join e e; join 2 2",
        "join -o 0,1.2,2.2 1 2; join -o '0 1.3 2.3' -e - 1 2; join -o auto -e - -a1 -a2 1 2; join -o auto 1 2; join -a1 -a2 -o 0,1.2,2.2 -e NULL 1 2; join -o 2.9 1 2; join -o 1.1,2.1 -a2 1 2; join -a2 -o 0 1 2; join -e '' 1 2; join -o 1.1 -o 2.2 1 2; join -o 1.1 2.2 1 2; join -o 0 1.2,1.3 2.2 -a1 1 2",
        "join -t, c1 c2; join -t, --header c1 c2; join -t , --header -a1 -a2 -e 0 -o 0,1.2,2.2 c1 c2; join --header -t, -o auto -a1 c1 c2; join -t: t1 t2; join -t: -a1 -a2 t1 t2; join -t '' 1 1; join -t '\\0' 1 1; join -t ' ' w1 w2; join --header e 1; join --header 1 e",
        "join -1 2 -2 1 r 1; join -1 2 r 1; join -2 2 1 r; join -j 2 r r; join -j2 1 1; join -1 9 1 2; join -j 9 1 2; join -1 2 -t, c1 c2; join w1 w2; join -a1 -a2 w1 w2; join --nocheck-order -a1 -a2 w1 w2",
        "join b1 b2; join b1 b2 | od -c; join -a1 -a2 b2 b1; join -z z1 z2; join -z -a1 z1 z2; join -i i1 i2; join i1 i2; join -i -a1 -a2 i1 i2",
        "join u 1; echo $?; join 1 u; echo $?; join u u; echo $?; join --check-order u u; echo $?; join --check-order 1 u; echo $?; join --nocheck-order u 1; echo $?; join u e; echo $?; join -a1 u e; join -v1 u 1; join 1 r; join r u; join u r; join --header u 1; join --check-order 1 2",
        "join; join 1; join 1 2 u; join 1 nope; join nope 1; join 1 d; join - -; join -a 3 1 2; join -a x 1 2; join -v 3 1 2; join -j 0 1 2; join -j x 1 2; join -1 0 1 2; join -1 1 -1 2 1 2; join -t ab 1 2; join -t a -t b 1 2; join -e a -e b 1 2",
        "join -o x 1 2; join -o 3.1 1 2; join -o 1.0 1 2; join -o 0.1 1 2; join -o 1 1 2; join -o '' 1 2; join -o 1. 1 2; join -Q; join --nope; join -1 1 -j 2 1 2; cat 1 | join - 2; cat 2 | join 1 -; join <(sort 1) <(sort 2); cat 1 | join /dev/stdin 2",
    ];
    compare(setup, &scripts).await;
}

#[tokio::test]
async fn split_is_gnu() {
    let setup = "seq 25 >f; printf 'aaaaaaaaaaaa\\nb\\ncc\\n\\ndddddddd\\neee' >l; printf 'a\\377b\\0c\\n\\200\\n\\0\\0x' >bin; : >e; mkdir d; printf 'a:b:c:d' >t; seq 700 >m; printf 'a\\0bb\\0c' >z";
    let scripts = [
        "split -l 10 f; ls; cat xac; split -l10 f p; ls; split f q; cmp f qaa; split -5 f r; ls r*; split -12 f s; ls s*; split -l 100 f t.; split --lines=24 f d/; ls d; cat f | split -l 20 - u; cat uab; split -l 13 <f; cat f | split -l 9 -; split -l 25 f w; ls w*; split e; ls",
        "split -b 10 f; cat xaa; ls; split -b 1K m; wc -c x*; split -b 1k -d m n; ls n*; split -b 1KB m o; wc -c o*; split -b 2b m q; wc -c q*; split -b 1KiB m r; wc -c r*; split --bytes=5M f s; split -b K m t; ls t*; split -b 3 bin b; for x in b*; do od -c $x; done",
        "for n in 1 2 3 5 8 9 10 12 13 14 20 100; do split -C $n l p$n.; done; split -C 3 bin b; split -C 7 f q; split --line-bytes=4K m r; split -C 1 e; split -C 3 -t : t t.",
        "for n in 1 2 3 4 7 30 70; do split -n $n f p$n.; split -n l/$n f l$n.; split -n r/$n f r$n.; done; split -n 3 e e3; split -n l/3 e e4; split -n r/2 e e5; ls | wc -l",
        "for n in 1 2 3 5 9 17 40; do split -n l/$n l p$n.; split -n $n l q$n.; split -e -n l/$n l e$n.; split -en $n l f$n.; split -e -n r/$n l g$n.; done; split -n l/3 bin b; split -n 4 bin c; split -n l/2 -t : t t.; split -n r/3 -t '\\0' z z.",
        "split -n 1/2 f; split -n 2/2 f; split -n l/2/3 f; split -n r/2/3 f; split -n 3/3 l; split -n l/1/9 l; split -n l/2/9 l; split -n l/9/9 l; split -n r/3/4 l; split -n 1/3 bin; split -n 2/9 e; ls",
        "split -a 3 -l 10 f; split -a1 -l 1 f o; echo $?; ls o* | tail -1; split -a 1 -l 1 m p; echo $?; ls p*; rm -f p*; split -l 1 m v; ls v* | tail -30; rm v*; split -l 1 -d m v; ls v* | sed -n '85,95p;$p'; rm v*; split -l 1 -x m v; ls v* | sed -n '235,250p;$p'; rm v*; split -a 2 -d -l 1 m v; echo $?; ls v* | tail -1",
        "split --numeric-suffixes=5 -l 10 f; split --numeric-suffixes=98 -l 10 f y; echo $?; split --numeric-suffixes=098 -a 3 -l 10 f w; split --hex-suffixes=5 -l 10 f h; split --numeric-suffixes -l 10 f n; split --numeric-suffixes=8 -n 5 f k; split --numeric-suffixes=99 -n 100 e k3; split --numeric-suffixes=200 -n 5 f k4; echo $?; split -d -n 101 e k5; split --numeric-suffixes=00 -l 20 f zz; ls",
        "split --additional-suffix=.txt -l 10 f; split -d --additional-suffix=.log -a 4 -l 10 f g; ls; split --verbose -l 10 f v; split --verbose -n 2 f v; split --verbose -en 3 e w; split -x -d -l 9 f y; split -d -x -l 9 f y; split -u -l 20 f zz; ls; split -t : -l 2 t t; cat tab; split -t '\\0' -l 1 z z; cat f | split --verbose -b 40 - k",
        "split nope; split d; split -l 0 f; split -l x f; split -l 1k f; split -b 0 f; split -b x f; split -b 1Q f; split -C 0 f; split -C x f; split -n 0 f; split -n x f; split -n l/x f; split -n 3/2 f; split -n 0/2 f; split -n 1/0 f; split -n l/0/2 f; split -n q/2 f; split -n x/2 f; split -n r/ f; split -n '' f; split -n l f; split -b 1K5 f; split -b '1 ' f; split -b -5 f; split -l -1 f",
        "split -l 1 -b 2 f; split -5 -l 2 f; split -l 2 -l 3 f; split a b c; split --additional-suffix=a/b f; split -t ab f; split -t '' f; split -t a -t b f; split -a x f; split -a -1 f; split -a 1 -n 30 f; split -a 1 -l 9 --numeric-suffixes=8 f zz; split --numeric-suffixes=x f; split --hex-suffixes=x f; split --numeric-suffixes=100 f; split f no/y; split -Q; split --nope; split -n",
        "cp f xaa; split -l 1 xaa; ls; split -l 99999999999999999999999 f; split -b 99999999999999999999Y f; split -n 99999999999999999999999 f; split -a 0 -l 10 f ww; ls; mkdir xab; split -l 10 f; echo $?; split -l 10 </dev/stdin <f k; ls; cat f | split -l 10 /dev/stdin j; split -l 20 <(cat f) i; ls; cat ia*",
    ];
    compare(setup, &scripts).await;
}

#[tokio::test]
async fn yes_says_it_as_long_as_somebody_reads() {
    let setup = "echo a >a; echo b >b";
    let scripts = [
        "yes | head -3; yes a 'b c' | head -2; yes | head -30000 | md5sum; yes x | head -c 3000001 | wc -c; yes '' | head -2; yes -- -x | head -1",
        "yes 2>/dev/null | sed 5q | sort | uniq -c; set -o pipefail; yes | head -1; echo $?; x=$(yes q | head -2); echo \"$x\"; for i in 1 2; do yes $i | head -1; done; yes | head -20000 | cat >o; wc o",
        "yes 2>/dev/null | rm -i a 2>/dev/null; ls; yes n 2>/dev/null | rm -i b 2>/dev/null; ls; yes | (read x; echo $x); yes 2>&1 | head -1; yes -x; yes --nope; yes a -x; yes | true; echo ${PIPESTATUS[1]}; yes 2>/dev/null | tee o1 | head -2; rm o1",
    ];
    compare(setup, &scripts).await;
}
