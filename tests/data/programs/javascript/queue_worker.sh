mkdir -p jobs done
for i in 1 2 3; do echo "{\"id\": $i, \"n\": $((i * 10))}" > "jobs/$i.json"; done; echo 'not json' > jobs/4.json
cat > worker.js <<'JS'
const fs = require('fs/promises'), path = require('path');
async function run(file) {
  const job = JSON.parse(await fs.readFile(path.join('jobs', file), 'utf8'));
  await fs.writeFile(path.join('done', file), JSON.stringify({ ...job, sum: job.n * (job.n + 1) / 2 }));
  await fs.unlink(path.join('jobs', file));
  return job.id;
}
(async () => {
  const files = (await fs.readdir('jobs')).sort();
  const results = await Promise.allSettled(files.map(run));
  results.forEach((r, i) => console.log(files[i], r.status, r.status === 'fulfilled' ? r.value : r.reason.name));
  const sums = await Promise.all((await fs.readdir('done')).sort().map(async (f) => JSON.parse(await fs.readFile(`done/${f}`)).sum));
  console.log(sums, await fs.readdir('jobs'));
  process.exitCode = results.some((r) => r.status === 'rejected') ? 3 : 0;
})();
JS
node worker.js; echo "exit $?"; cat done/2.json
