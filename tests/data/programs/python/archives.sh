mkdir d; echo alpha > d/a.txt; echo beta > d/b.txt
python3 - <<'PY'
import zipfile, tarfile, gzip, io
with zipfile.ZipFile("d.zip", "w", zipfile.ZIP_DEFLATED) as z:
    z.write("d/a.txt"); z.writestr("gen.txt", "generated")
with zipfile.ZipFile("d.zip") as z:
    print(z.namelist(), z.read("gen.txt"), z.testzip())
with tarfile.open("d.tar.gz", "w:gz") as t:
    t.add("d")
with tarfile.open("d.tar.gz") as t:
    print(sorted(t.getnames()), t.extractfile("d/b.txt").read())
with gzip.open("x.gz", "wt") as f:
    f.write("zipped\n" * 3)
print(gzip.open("x.gz", "rt").read().count("zipped"))
PY
unzip -p d.zip d/a.txt; tar tzf d.tar.gz | sort; zcat x.gz | head -1
