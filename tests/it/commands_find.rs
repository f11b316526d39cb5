//! `find` and `du`, beside the machine's own.

use sqlfs::exec::End;
use sqlfs::fs::{Fatal, Mode};

use crate::commands::compare;
use crate::support::scripts::Sandbox;

const TREE: &str = r#"mkdir -p d/sub/deep e src/util 'q d'; echo a >a.txt; echo bb >b.txt; echo x >d/x; echo yyyy >d/sub/y.rs; : >empty; ln a.txt hard; ln -s d dl; ln -s nowhere dang; ln -s self self; ln -s ../a.txt d/up; head -c 5000 /dev/zero >big.bin; echo m >src/main.rs; echo u >src/util/u.RS; echo h >.hid; printf '#!/bin/sh\necho run $1\n' >run.sh; chmod 755 run.sh; chmod 600 b.txt; chmod 4711 d/x; chmod 1777 e; touch 'sp ace' "it's" 'b\s' 'q"q' é '*'; cp empty $'n\nl'; mkdir -p c1/c2/c3; echo z >c1/c2/c3/z"#;

#[tokio::test]
async fn find_tests_are_findutils() {
    let scripts = [
        r"find | sort; find . | sort; find . d | sort; find ./ | sort; find d/ e | sort; find d// | sort",
        r"find c1; find c1 -depth; find c1 -d; find c1/c2 c1 -maxdepth 1",
        r"find . -maxdepth 0; find . -maxdepth 1 | sort; find . -mindepth 2 -maxdepth 2 | sort; find c1 -mindepth 1 -depth; find -mindepth 1 -maxdepth 0",
        r"find . -name '*.txt' | sort; find . -name 'a*' -o -name 'b*' | sort; find . -name '*.[rR][sS]' | sort",
        r"find . -iname '*.RS' | sort; find . -iname 'É'; find . -name '?' | sort; find . -name '\*'; find . -name 'b\\s'; find . -name 'b\s'",
        r"find . -name '[[:digit:]]*'; find . -name '[!a-z]*' | sort; find . -name '[^.]*.txt' | sort; find . -name '[]x]'; find . -name '[a'; find . -name 'a\'",
        r"find . -name '.*' | sort; find . -name .; find ./ -name .; find d/ -name d; find / -maxdepth 0 -name /; find . -name ''",
        r"find . -name 'd/x'; find . -path './d/*' | sort; find . -wholename '*sub*' | sort; find . -ipath '*SUB*' | sort; find . -path './d'; find . -path 'd*'",
        r"find . -path ./d -prune -o -type f -print | sort; find . -name src -prune -o -name '*.rs' -print; find d -prune; find . -prune -print",
        r"find . -not -path './.hid' -type f | sort | head -3; find . ! -name '*' ; find . \( -name d -o -name e \) -type d | sort",
        r"find . -type f | sort; find . -type d | sort; find . -type l | sort; find . -type f,l -name 'd*' | sort; find . -type b,c,p,s,D",
        r"find . -xtype l 2>/dev/null; find d dl dang -xtype f | sort; find . -xtype d | sort",
        r"find . -xtype l; echo $?",
        r"find . -size 0 | sort | head -3; find . -size -1 -type f | sort; find . -size +1 -type f; find . -size 10 ; find . -size 5000c; find . -size -6c -type f -size +3c; find . -size +4k; find . -size 5k; find . -size 2500w; find . -size +0M -type f -name big.bin; find . -size 1G -name a.txt; find big.bin -size -1M; find empty -size -1M",
        r"find . -empty | sort; find . -type d -empty | sort; find . -empty -type f | sort | head -2",
        r"find . -newer a.txt; touch new; find . -newer a.txt | sort; find . -newermt '2023-11-14'|wc -l; find . -newermt '2030-01-01'; find . -newermt @1700000000 -name a.txt; find . -anewer a.txt -name new; find . -cnewer a.txt -name new",
        r"touch new; find . -mtime 0 | sort; find . -mtime -1 -mmin -5 -type f; find . -mtime +5 -name a.txt; find . -mmin +5 -name a.txt; find new -mmin 1; find new -mmin 0; find new -amin -5 -cmin -5 -atime 0 -ctime 0; find new -mtime 0.5; find new -mtime -0.5; find new -mtime 1; find new -daystart -mtime 0",
        r"touch -d '3 days ago' old; touch -d '23 hours ago' yes; touch -d '25 hours ago' no; touch -d '90 seconds ago' min; find old yes no min -mtime 0; find old yes no min -mtime 1; find old yes no min -mtime -1; find old yes no min -mtime +0; find old yes no min -mtime +1; find old yes no min -mtime 3; find old yes no min -mtime +2; find old yes no min -mtime +3; find old yes no min -mmin 2; find min -mmin -2; find min -mmin +1",
        r"find . -perm 644 -type f | sort; find . -perm 600; find . -perm -600 -type f | sort | head -3; find . -perm /111 -type f | sort; find . -perm -u+x -type f | sort; find . -perm u=rw,go= ; find . -perm -4000; find . -perm /6000; find . -perm -1000; find . -perm /o+w -type d; find . -perm 1777; find . -perm a=r; find b.txt -perm 0; find b.txt -perm /0; find b.txt -perm -0; find . -type d -perm u=rwX,go=rX | sort",
        r"find . -links 2 -type f | sort; find . -links +1 -type f | sort; find . -links -2 -type f -name a.txt; find . -samefile a.txt | sort; find . -samefile hard | sort; find . -samefile d; find -L . -samefile d -maxdepth 1 2>/dev/null | sort; find . -inum $(stat -c %i b.txt); find . -inum +0 -name a.txt; find . -inum -1",
        r"find . -lname 'd'; find . -lname '*no*'; find . -ilname 'NO*'; find . -lname '../*'; find . -lname '*' | sort",
        r"find . -true -name a.txt; find . -false; find . -name a.txt -a -true; find a.txt -not -false; find a.txt ! ! -true; find a.txt \( -false , -true \); find a.txt -false , -print",
        r"find . -regex '.*\.txt' | sort; find . -regex './d.*' | sort; find . -regex '\./\(a\|b\)\.txt' | sort; find . -iregex '.*\.RS' | sort; find . -regex 'a.txt'; find . -regex '.*/[a-b]+\.txt' | sort; find . -regex '.*n.l' -print0",
        r"find . -regextype posix-extended -regex '.*/(a|b)\.txt' | sort; find . -regextype egrep -regex '.*[[:upper:]]{2}'; find . -regextype sed -regex '.*/a\{1\}\.txt'; find . -regextype posix-basic -regex '.*a+.*'; find . -regextype awk -regex '.*/x?y\.rs'; find . -regex '.*a{1}.*'",
        r"find -L d dl | sort; find -H dl d/up | sort; find -P dl; find -H -L -P dl; find -L dang; find dl/ | sort; find -L . -name y.rs 2>/dev/null | sort; find -L d -type l; find -L dl -type d | sort; find dl -follow | sort; find dl -type l; find -H dl -type d | sort; find -L . -lname '*' 2>/dev/null | sort",
        r"find -L self; echo $?; find self; find -H self; echo $?",
        r"ln -s .. d/sub/loop; find -L d | sort; find -L d >/dev/null; echo $?; find d | sort",
        r"find . -maxdepth 1 -name a.txt -print0; find . -name a.txt -print -print; find c1 -print0 | tr '\0' '|'; find a.txt -print , -print",
    ];
    compare(TREE, &scripts).await;
}

#[tokio::test]
async fn find_actions_are_findutils() {
    let scripts = [
        r"find /dev/null -type c; find /dev/null -type f; find /dev -maxdepth 1 -name null -printf '%y\n'; find /dev/null -empty",
        r"find c1 -printf '%p|%f|%h|%P|%H|%d\n'; find c1/ -printf '%p|%f|%h|%P|%H|%d\n'; find ./c1 -maxdepth 0 -printf '%h %f\n'; find / -maxdepth 0 -printf '%h|%f|%p|%P|%H\n'; find c1// -maxdepth 1 -printf '%h|%f|%P|%H\n'; find . -maxdepth 0 -printf '%h|%f|%P\n'",
        r"find a.txt b.txt d e dl run.sh d/x empty -maxdepth 0 -printf '%m %M %n %s %y %Y %l %p\n'; find dang self -printf '%y %Y %l\n'; find -L dl dang -maxdepth 0 -printf '%y %Y [%l]\n'; find a.txt -printf '%#m|%i\n' | cut -d'|' -f1; find big.bin a.txt empty -printf '%b %k %S\n'",
        r"find a.txt -printf '%t|%T@|%T+|%TY-%Tm-%Td %TH:%TM:%TS|%Tc|%Tx|%TX|%Ta|%TA|%Tb|%TB|%Th|%Tj|%Tk|%Tl|%Tp|%Tr|%TR|%TT|%Tz|%TZ|%TI|%Td|%TD|%Tw|%TW|%TU|%TF|%Te|%TG|%Tg|%Ts|%Tu|%TV|%TC|%Tn|%Tt|%Ty\n'; find a.txt -printf '%a|%A@|%AY\n' | wc -l; find a.txt -printf '%Tq|%TE|%TN|%Tv\n'",
        r"find a.txt -printf '%-10f|%10f|%5d|%-5d|%05d|%.2f|%#m|%05s|%+5d|% d|%3.1p|%08m|%-8y|%8y|%10TY|%.3d|%-6m|\n'; find é -printf '%5p|%-5p|\n'",
        r"find a.txt -printf '\a\b\f\n\r\t\v\\\101\0\1012|'; find a.txt -printf 'x\c y' -print; find a.txt -printf '%%|%f%%'; find a.txt -printf ''",
        r"find a.txt -printf '%z\n' ; find a.txt -printf '\q\n'; find a.txt -printf 'a\'; find a.txt -printf '%5z|%T|\n'; find a.txt -printf '%T'; find a.txt -printf '%w%Q\n'",
        r"find a.txt -printf '%'; echo $?; find a.txt -printf '%{x'; find a.txt -printf '%[x'; find a.txt -printf '%(x'",
        r"find a.txt d/x dl -ls | awk '{print $2,$3,$4,$7,$8,$9,$10,$11,$12,$13}'; find . -maxdepth 1 -type f -ls | cut -c63- | sort; find a.txt -ls | cut -c1-30 | cut -c10-",
        r"find . -name '*.txt' -fprint o; sort o; find c1 -fprint0 o2; tr '\0' '|' <o2; find c1 -fprintf o3 '%f\n' -fprint o3; cat o3; find a.txt -fls o4; wc -l <o4; rm o4; find a.txt -fprint /dev/stdout -fprint /dev/stderr; find c1 -fprint /dev/null; find . -newer a.txt -name o -fprint o; cat o",
        r"find . -name '*.txt' -delete; ls; find d -delete; ls; find c1 -name c2 -delete; echo $?; find c1 -type d -empty -delete; find . -type d -empty -delete; ls",
        r"find e -delete -print; find nope -delete; echo $?; find . -maxdepth 0 -delete; mkdir -p t/u/v; find t -depth -type d -empty -delete; ls; find dl -delete; ls -d d dl",
        r"find d/ -name x -delete; find -L dl -name y.rs -delete; find d | sort; find . -delete -prune; find . -depth -prune -name a.txt; find . -prune -delete",
        r"find . -type f -printf '%s %f\n' | sort -n | tail -1; find . -type f -printf '%TY\n' | sort -u; find . -name '*.txt' -printf '%f\0' | sort -z | tr '\0' ','; find . -printf '%y' | fold -w1 | sort | uniq -c | awk '{print $1,$2}'; find . -type f | wc -l; find . -type f -name '*.txt' -print0 | sort -z | xargs -0 cat",
    ];
    compare(TREE, &scripts).await;
}

#[tokio::test]
async fn find_runs_commands_as_findutils() {
    let scripts = [
        r"find . -readable -name a.txt; find . -writable -name b.txt; find . -executable -type f | sort; find dang dl -readable; find dang dl -executable; find self -writable",
        r"find c1 -quit; find a.txt -print -quit; find c1 -name c2 -quit -o -print; find c1 -print -name c2 -quit; find c1 -exec echo {} + -quit; find a.txt -quit -print",
        r"find a.txt -exec cat {} \;; find a.txt b.txt -exec echo {} \; -print; find . -name '*.txt' -exec basename {} \; | sort; find . -name '*.txt' -exec wc -c {} + | sort",
        r#"find . -name '*.rs' -exec grep -l m {} \;; find . -name '*.rs' -exec grep -l m {} +; find . -name '*.rs' -exec grep -q m {} \; -print; find . -type f -name '*.txt' -exec sh -c 'echo "$1" | tr a-z A-Z' _ {} \; | sort"#,
        r#"find a.txt -exec echo {}{} 'x {} y' \;; find a.txt -exec echo '$HOME' '`x`' '"' "'" {} \;; find "it's" 'sp ace' 'q"q' 'b\s' $'n\nl' '*' é -exec echo {} \;; find "it's" 'sp ace' 'q"q' 'b\s' $'n\nl' '*' é -exec printf '[%s]' {} +; find "it's" -exec sh -c 'echo "$0"' {} \;"#,
        r"find d -exec false \; -o -name sub -print | sort; find c1 -exec test -d {} \; -print; find c1 ! -exec test -f {} \; -print; find c1 \( -exec test -f {} \; -o -name c2 \) -print; find c1 -exec true \; -exec echo {} \; -name c3 -exec echo found {} \;",
        r"find a.txt -exec sh -c 'exit 3' \;; echo $?; find a.txt -exec sh -c 'exit 3' {} +; echo $?; find a.txt -exec false {} + -print; echo $?",
        r"find a.txt -exec nosuch {} \; -print; echo $?; find a.txt -exec nosuch {} +; echo $?; find a.txt -exec ./nosuch {} \;; find a.txt b.txt -exec nosuch {} \; -o -print",
        r"find . -name '*.txt' -exec rm {} \;; ls; find . -name '*.rs' -exec rm {} +; find . -name '*.rs'; find . -type d -name sub -exec rm -rf {} \;; echo $?; find . -type d -name src -exec rm -rf {} +; echo $?; find d -exec rm -rf d \;; echo $?",
        r#"find . -name '*.txt' -exec mv {} {}.bak \;; ls; find . -name '*.bak' -exec sh -c 'mv "$1" "${1%.bak}"' _ {} \;; ls; find . -name a.txt -exec cp {} d/ \;; ls d; find . -name '*.txt' -exec sed -i 's/a/Q/' {} +; cat a.txt; find . -type f -name run.sh -exec chmod -x {} \;; stat -c %a run.sh"#,
        r"find c1 -execdir echo {} \;; find c1/c2 -execdir pwd \; | sed 's|.*/||'; find ./a.txt -execdir echo {} +; find c1/c2 c1 -execdir echo {} +; find d/ -maxdepth 0 -execdir echo {} \;; find . -maxdepth 0 -execdir echo {} \;; find / -maxdepth 0 -execdir echo {} \;; find c1/c2/ -maxdepth 0 -execdir echo {} \;; find src -name main.rs -execdir cat {} \;; find src -name main.rs -execdir ls {} +",
        r"find c1 -ok echo {} \; </dev/null; printf 'y\nn\nYes\n' | find c1 -ok echo {} \;; printf 'y\n' | find c1/c2/c3 -okdir echo {} \;; echo y | find a.txt -ok false {} \; -o -print",
        r"echo in | find a.txt -exec cat {} - \;; printf '1\n2\n' | find a.txt -exec cat \;; find run.sh -exec ./{} arg \;; find . -name run.sh -exec {} arg \;; find . -name run.sh -execdir ./run.sh two \;; find a.txt -exec env X=1 sh -c 'echo $X' \;",
        r"find c1 -exec echo {} \; -exec echo again {} +; find a.txt b.txt -exec echo one {} + -exec echo two {} +; find c1 -name c3 -exec echo {} + -o -exec echo not {} +; find c1 -printf '%f ' -exec echo {} \;; find c1 -fprint o -exec cat {} \; 2>/dev/null; cat o",
        r#"find c1 -type d -exec touch {}/new \;; find c1 | sort; find c1 -type d -exec sh -c 'echo "$#"' _ {} +; find c1 -name new -exec sh -c 'for f; do echo "<$f>"; done' _ {} + | sort; find c1 -type f -exec sh -c 'cat < "$1"' _ {} \;"#,
        r#"x=$(find c1 -exec echo {} \;); echo "$x"; find c1 -exec echo {} \; >o; cat o; find c1 -exec echo {} \; | tail -1; if find c1 -name c3 -exec false {} +; then echo yes; else echo no; fi; cd c1; find . -exec echo {} \;; f() { echo fn; }; find . -maxdepth 0 -exec f \;"#,
        r"find a.txt -exec find {} -exec echo nested {} \; \;; find c1 -maxdepth 1 -exec find {} -maxdepth 0 -exec echo in {} \; \; -exec echo out {} \;; find a.txt -exec xargs -a {} echo x \;; find c1 -print0 | xargs -0 -n1 echo",
    ];
    compare(TREE, &scripts).await;
}

#[tokio::test]
async fn find_refuses_as_findutils() {
    let scripts = [
        r"find . -fprint nodir/x; echo $?; find . -fls d; find a.txt -fprint a.txt; cat a.txt; find . -fprintf; find . -fprintf x; find . -fprint",
        r"find . -name; find . -foo; find . -name a.txt b.txt; find . -name a.txt zzz; find zzz -name a.txt zzz; find -Q .; find --foo; find -LH dl; find . --; find -- c1; find -- -x; find -",
        r#"find nope; echo $?; find nope a.txt; find ''; find . '' >/dev/null; find a.txt/; find a.txt/x; find $'no\npe' "it’s" 'a\b' 'no"pe'; find d/x/y"#,
        r"find . -type x; find . -type ''; find . -type f,; find . -type ff; find . -type fd; find . -xtype f,x; find . -type f,f; find . -type ,f; find . -type",
        r"find . -o -name x; find . -name x -o; find . -name x -a; find . !; find . '('; find . '(' ')'; find . '(' -name x; find . -name x ')'; find . -not; find . -name x ,; find . -name x -o -o -name y; find . -a -name x; find . ! -a -name x",
        r"find . -name x -o ')'; find . '(' -name x -o ')'; find . '(' '(' -name x ')'; find . ! ')'; find . '(' ! ')'; find . -name x , ')'; find . -name x ! -o -name y; find . '(' , ')'; find . -true ')' -true; find . -true '('; find . '(' -o -name x ')'",
        r"find . -size; find . -size x; find . -size 5x; find . -size 1kk; find . -size +; find . -size ''; find . -mtime x; find . -mtime 1d; find . -mmin x; find . -mtime +; find . -links x; find . -inum x; find . -uid x; find . -size 1.5k",
        r"find . -newer nope; find . -newerxy a.txt; find . -newermt garbage; find . -newermB a.txt; find . -newerBm a.txt; find . -newerm a.txt; find . -samefile nope; find . -newer",
        r"find . -perm xyz; find . -perm 999; find . -perm /u+z; find . -perm +111; find . -perm -; find . -perm ''; find . -user nobodyx; find . -group nope; find . -user ''; find . -group ''",
        r"find . -maxdepth x; find . -maxdepth -1; find . -maxdepth; find . -mindepth 1x; find . -regextype foo; find . -regex '\(a'; find . -regextype posix-extended -regex '(a'; find . -regextype posix-extended -regex '*a'",
        r"find . -exec; find . -exec echo; find . -exec echo {}; find . -exec \;; find . -exec echo {} {} +; find . -exec echo x{} +; find . -ok echo {} +; find . -exec + ; find . -execdir echo {} {} +; find a.txt -exec echo {} x + \;; find a.txt -exec echo + \; ; find a.txt -execdir echo x{} +",
        r"find -O3 a.txt; find -O a.txt; find -Ox a.txt; find -O1 -O2 a.txt; find . -context x; find a.txt -noleaf -ignore_readdir_race -noignore_readdir_race -nowarn -mount -xdev -daystart -follow",
        r"find d -warn -name a/b; find . -warn -name a.txt -maxdepth 1; find . -warn -iname A/b -mindepth 9; find a.txt -maxdepth 1 -name a.txt -maxdepth 0; find . -name a.txt -maxdepth 1 -depth",
        r"printf 'c1\0nope\0a.txt' | find -files0-from -; printf 'c1\0\0e\0' | find -files0-from - -maxdepth 0; find -files0-from nope; find . -files0-from -; printf 'b.txt' >l; find -files0-from l -printf '%f %H\n'; find -files0-from empty",
        r"find . -nouser; find . -nogroup -o -name a.txt; find . -uid +0 -uid -0; find a.txt -uid +99999; find , ; find '!x'; find '(x'; find a.txt , ; find a.txt -name 'a.txt' -name 'b*'; find a.txt -name a.txt -or -name b.txt -and -name c",
    ];
    compare(TREE, &scripts).await;
}

#[tokio::test]
async fn du_is_coreutils() {
    let setup = r"mkdir -p d/sub e; echo a>a; echo bb>d/b; head -c 5000 /dev/zero > d/sub/big; ln -s d dl; ln a hard; ln -s nope dang; touch 'd/x.o'; mkdir -p one/two/three; head -c 10000 /dev/zero >one/two/three/f";
    let scripts = [
        r"du one; du -a one; du -h one; du -ah one; du -s one d e a; du -sh one; du -d1 one; du -d2 -a one; du -c one a; du -S one; du -Sh one; du -S -a one",
        r"du -b one; du -ab one; du -sb one a hard; du -lb a hard; du --apparent-size -k one; du -b a dang dl",
        r"du -B 1 one; du -BK one; du -B1K one; du --block-size=M one; du -BMB one; du -BKB one; du -BkB one; du -BKiB one; du -B1KiB one; du -BG one; du -B 2K one; du -Bk one; du -Bm one; du -B 4096 one; du -k one; du -m one; du --si one; du --block-size=human-readable one",
        r"du -B x d; du -Bkb d; du -BKi d; du -B 10b d; du -B '' d; du -B 0 d; du --block-size=x d; du --block-size=1x d; du -t x d; du -t 1x d; du --threshold=x d; du -t -0 d; du -d x d; du -d -1 d; du --max-depth= d",
        r"for u in 1e 1p 1g g t T e p Z 1Z 1Y Y 1b b 1R 1kib 1K1 1w 0K 1c 99999999999999999999 18446744073709551615K Kx 1Kx x; do du -B $u d; du -t $u d; done",
        r"du -t 10K one; du -t -9000 -ab one; du -t 1 -b one; du --threshold=12K one; du --inodes one; du --inodes -a one; du --inodes -s .; du --inodes -c one e; du --inodes -h one; du --inodes -b one; du --inodes -t 3 one",
        r"du --time one; du --time -a one; du --time=x one; du --time --time-style=full-iso one; du --time --time-style=iso one; du --time --time-style=+%Y one; du --time-style=x --time one; du -c --time one; du --time -sh one",
        r"du --exclude='*.o' -ab d | sort; du --exclude=sub -b d; du --exclude=d/sub -b d; du --exclude='th*' one; printf 'three\nsub\n' >pat; du -X pat one d; du -X nope d; du --exclude=one one; du -a --exclude='*' one",
        r"du dl; du -D dl | sort; du -H dl | sort; du -L dl | sort; du -P dl; du dang; du -L dang; echo $?; du -D dang; echo $?; du -a dl",
        r"du nope; echo $?; du nope a; du ''; du '' a; du a/x; du a/; du -z; du --nope; du -s -a; du -s -d1; du -s -d0 one; du --ti d",
        r"du one one/two; du one/two one; du a a; du a hard; du hard a; du -l a hard; du -l a a; du -c one one/two; du one/ one; du ./one/; du -sc one/two one; du -sh a hard",
        r"du --files0-from=nope; printf 'a\0one' | du --files0-from=-; printf 'a\0\0one\0' | du --files0-from=-; du --files0-from=- a </dev/null; printf 'one' >l; du --files0-from=l -s",
        r"du -0 one | tr '\0' '|'; cd one; du; du -s .; du -sh *; du -ah | sort; du .. -s; du -d 1 | tail -1; du two/three/f; du ./two",
        r"du -x one; du -skL one; du -hc one | tail -1; du -sk *; du -sb * | sort -n; du -ch one a e | tail -1; du -d1 -h . | sort -h | tail -1; du -sh one | cut -f1; du -hs one | awk '{print $1}'",
        r"ln -s .. one/up; du -L one >/dev/null; echo $?; du -sL one/two; du one",
        r"rm -r one/two; du one; du -sh one; : >z; du z; du -h z; du -b z; head -c 4096 /dev/zero >z; du z; head -c 4097 /dev/zero >z; du z; head -c 1500000 /dev/zero >z; du -h z; du -m z; du -BM z; du --si z; du -hb z",
    ];
    compare(setup, &scripts).await;
}

/// What the engine invents is no file of the sandbox, and found all the same.
#[tokio::test]
async fn find_sees_what_only_the_engine_has() {
    let mut sandbox = Sandbox::new();
    let script = "find /usr/bin -name sort; find / -maxdepth 1 -name usr; find /etc -name passwd -exec head -c 4 {} +; \
                  find / -name mark; find /usr -newer /etc/passwd -name nope; find /nope; echo $?";
    sandbox.edit(|files| files.write("/home/user/mark", b"x").unwrap());
    let ran = sandbox.run(script).await;
    assert_eq!(ran.stdout(), "/usr/bin/sort\n/usr\nuser/home/user/mark\n1\n", "{}", ran.stderr());
    assert_eq!(ran.stderr(), "find: \u{2018}/nope\u{2019}: No such file or directory\n");
}

#[tokio::test]
async fn find_changes_nothing_in_a_script_that_may_not() {
    let mut sandbox = Sandbox::new();
    sandbox.edit(|files| files.write("/home/user/f", b"x").unwrap());
    for script in ["find . -name f -delete", "find . -fprint o", "find . -name f -exec rm {} \\;"] {
        let mut job = sandbox.job(script);
        job.mode = Mode::ReadOnly;
        let ran = sandbox.run_job(job).await;
        assert!(matches!(ran.ended.end, End::Fs(Fatal::ReadOnly { .. })), "{script}: {:?}", ran.ended.end);
    }
    assert_eq!(sandbox.run("find .").await.stdout(), ".\n./f\n");
}
