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
        "sort -o w w; cat w; sort -o out n; cat out; sort n -o out2; cat out2; sort -o d w; sort -o no/x w; sort -uo n n n; cat n; sort -o out -o out w; sort -o out -o w w; sort --output=w2 w; cat w2; sort -o /dev/null w; sort -c -o x w",
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
        "sort f | md5sum; sort -r f | md5sum; sort -n f | md5sum; sort -k2,2n -k1,1nr f | md5sum",
        "sort -u -k2,2 f | md5sum; sort -s -k3,3 f | md5sum; sort -V f | md5sum; sort -t ' ' -k3 f | md5sum; sort -c f; sort f | sort -c; sort -o f f; md5sum f",
    ];
    compare(setup, &scripts).await;
}
