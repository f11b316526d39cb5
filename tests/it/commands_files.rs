//! Commands that list, copy, move, remove and change files, beside the machine's own.

use crate::commands::compare;

const SETUP: &str = "mkdir -p d/sub e 'q d' src/util; echo a >a; echo bb >b; echo x >d/x; echo y >d/sub/y; \
     ln -s a link; ln -s nowhere dangling; ln -s d dirlink; ln a hard; echo m >src/main.rs; echo u >src/util/u; \
     echo '#!/bin/bash' >run.sh; chmod 755 run.sh; : >empty; head -c 5000 /dev/zero >big.bin; echo h >.hid; \
     echo 1 >f1.txt; echo 10 >f10.txt; echo 2 >f2.txt; touch 'sp ace'";

#[tokio::test]
async fn ls_is_coreutils() {
    let scripts = [
        "ls; ls -a; ls -A d; ls -1 d; ls -r; ls d a; ls a d e; ls d e nope",
        "ls -R; ls -R d e; ls -aR d",
        "ls -F; ls -p; ls --file-type; ls -F dirlink; ls -l dangling | cut -c1; ls dirlink; ls dirlink/",
        "ls -go; ls -go d; ls -goh; ls -goa d; ls -god d e; ls -go a b; ls -gon --full-time d",
        "ls -go --time-style=long-iso d; ls -go --time-style=+%Y d; ls -go --time-style=iso d",
        "ls -S; ls -Sr; ls -X; ls -v; ls -t; ls -U d/sub; ls --sort=size",
        "ls -s; ls -sh; ls -1s d; ls -gos d; ls -s big.bin empty",
        "ls -C; ls -x; ls -m; ls -C -w 40; ls -w 20 -x; ls -m -w 30; ls -C d; ls -m d",
        "ls -Q; ls -d */; ls -d .*; ls -I '*.txt'; ls --hide='f*'; ls -B; ls --group-directories-first",
        "ls -L dangling; ls -L link; ls -H link; ls -d dirlink; ls -d d e; ls -dF d; ls -Fd dirlink",
        "ls nope; ls nope nope2; ls a/; ls a/x; ls ''",
        "ls --nope; ls -e; ls --color=never d; ls --color=auto d; ls --zero d | tr '\\0' '|'",
        "ls -i a hard | awk '{print $1}' | uniq | wc -l; ls -li d | wc -l; cd d && ls .. | head -3",
        "ls -l /dev/null | cut -c1-10; ls -lk d | head -1; ls -- -x; ls *.txt; ls f?.txt",
    ];
    compare(SETUP, &scripts).await;
}

#[tokio::test]
async fn cp_is_coreutils() {
    let scripts = [
        "cp; cp a; cp --nope; cp -T a b c; cp a b nope; cp a b a; cp -t nope a; cp -t a b; cp -t d -T a",
        "cp a new; cp a d; cp a b d; cp a d/; cp a nope/; cp a nope/x; cp nope x; cp a b nope/",
        "cp d new; cp -r d new; cp -r d new; cp -r d e/; cp -r d/. new2; cp -r d/ e; cp -rT d new3",
        "cp a a; cp a hard; cp link a; cp a link; cp -l a hard; cp a ./a; cp -f a a",
        "cp link new; cp -P link new2; cp -d dangling new3; cp dangling new4; cp -r link new5; cp -rL d new6",
        "cp a dangling; cp -r dirlink new; cp -rH dirlink new2; cp -rL dirlink new3; cp dirlink new4",
        "cp -v a new; cp -v a b d; cp -rv d/sub new2; cp -v link new3",
        "cp -n a b; cat b; cp -u a b; cat b; cp -i a b </dev/null; cat b; echo y | cp -i a b; cat b",
        "cp -b a b; cat b~; cp -S .old a b; cat b.old; cp --backup=none a b; cp --backup a d/x; ls d",
        "cp -a d new; cp -p run.sh new2; cp run.sh new3; cp run.sh b; stat -c '%n %a' new2 new3 b",
        "cp -s a new; cp -s a d/new; cp -s /abs new2; cp -l a new3; cp -l d new4; cp -rl d new5; cp -l a b",
        "cp --parents d/sub/y e; cp --parents d/sub/y new; cp -v --parents d/x e",
        "cp a d/sub; cp d/sub b; cp -r d a; mkdir -p e/d; echo f >e/sub; cp -r d/sub e; cp -T a d; cp a 'q d'",
        "cp --remove-destination a link; cp -P link b; mkdir t; touch t/a; cp -r a t; cp -a a hard e; stat -c %h e/a",
        "cp a a d; cp a e/../d/x; cp d/x e; cp -r d src e; cp empty a; cat a",
        "mkdir n1 n2; echo 1 >n1/s; echo 2 >n2/s; cp n1/s n2/s e; cat e/s; cp -- -x y; cp -R d e; cp -av link e/",
    ];
    compare(SETUP, &scripts).await;
}

#[tokio::test]
async fn mv_is_coreutils() {
    let scripts = [
        "mv; mv a; mv --nope; mv -T a b c; mv a b nope; mv a b run.sh; mv -t nope a; mv -t a b",
        "mv a new; mv b d; mv -v new d; mv d/x .; mv nope x; mv run.sh nope/; mv run.sh nope/x",
        "mv d e; ls e; mv src new; mv new e/; mv -T e d2; ls d2",
        "mv -T d e; mv -T src d; mv d d; mv d d/sub; mv d d/sub/z; mv src src/util",
        "mkdir e/d; touch e/d/k; mv d e; mkdir -p t/src; mv src t; ls t/src",
        "mv a a; mv a ./a; mv a hard; ls; mv link a; mv b link; cat link",
        "mv -n a b; cat b; mv -u a b; cat b; mv -i a b </dev/null; cat b; echo y | mv -i a b; cat b",
        "mv -b a b; cat b~; mv -vb f1.txt f2.txt; mv -f f2.txt f10.txt; cat f10.txt",
        "mv a d/sub; mv d/x e/; mv d b; mv b d; mkdir e/b; mv b e 2>&1; mv -t d b f1.txt; mv dirlink new; mv dangling d/",
        "mv d/ new; mv new/ new2; mv dirlink/ z; mv f1.txt f2.txt e; mv -v f10.txt run.sh e; mv -- -x y",
    ];
    compare(SETUP, &scripts).await;
}

#[tokio::test]
async fn rm_and_directories_are_coreutils() {
    let scripts = [
        "rm; rm -f; rm --nope; rm nope; rm -f nope; rm a b; rm d; rm -d d; rm -d e; rm -r d; rm -rf src nope",
        "rm -v a; rm -rv d/sub; rm -dv e; rm -v link dangling dirlink; rm dirlink/; rm a/x; rm a/; rm -f a/x",
        "rm .; rm ..; rm -r .; rm -r ..; rm -rf ./; rm -r d/.; rm -r d/..; ls",
        "rm -i a </dev/null; echo y | rm -i a; printf 'y\\ny\\nn\\n' | rm -ri d/sub; echo n | rm -I a b f1.txt f2.txt",
        "rm -I b; echo y | rm -rI d; rm --interactive=never link; rm -- -x; rm ''; rm 'sp ace' 'q d'; rm *.txt; ls",
        "mkdir; mkdir new; mkdir new; mkdir a; mkdir x/y; mkdir -p x/y x; mkdir -p a/b; mkdir -p a; mkdir ''",
        "mkdir -v n1 n2; mkdir -pv p/q/r; mkdir -pv p/q/s; mkdir -m 700 m1; mkdir -m u=rwx,go= m2; mkdir -m xyz m3; mkdir -pm 711 m4/m5; stat -c %a m1 m2 m4 m4/m5",
        "mkdir -p ./k//l/; mkdir dangling; mkdir -p dirlink/z; mkdir link; mkdir --nope; mkdir -p /tmp",
        "rmdir; rmdir d; rmdir e; rmdir nope a; rmdir --ignore-fail-on-non-empty d; mkdir -p o/p; rmdir -p o/p; mkdir -p o/p; touch o/k; rmdir -p o/p; rmdir -v 'q d'",
        "chmod; chmod 600; chmod xyz a; chmod 600 nope; chmod 600 a; chmod u+x,g=r a; chmod -v 644 a; chmod -c 644 a; chmod -c 600 a",
        "chmod -R 700 d; chmod -R u-w,a+X src; stat -c '%n %a' d d/x d/sub src src/main.rs; chmod -x run.sh; chmod -rwx b; chmod 600 dangling; chmod +s run.sh; chmod a=rx,u+w b; chmod -v +x link",
        "chmod --reference=run.sh a; stat -c %a a; chmod -f 600 nope; chmod 99 a; chmod 0755 e; chmod 1777 e; stat -c %a e; chmod =r b; chmod o=u b; stat -c %a b; chmod -vR 750 d/sub",
    ];
    compare(SETUP, &scripts).await;
}
