printf '#!/usr/bin/env node\nconsole.log("shebang", typeof require)\n' > s.js; node s.js
printf 'import fs from "fs"; console.log("esm by syntax", typeof fs.readFileSync, typeof require)\n' > e.js; node e.js 2>/dev/null
node --input-type=module -e 'import os from "os"; console.log(typeof os.EOL, typeof require, import.meta.url.startsWith("file:"))'
node -e 'console.log(typeof require, typeof fs.readFileSync, typeof path.join, this === globalThis, __filename)'
mkdir d; echo 'console.log("index of directory")' > d/index.js; node d; node ./d/index; echo '{"main":"m.js"}' > d/package.json; echo 'console.log("main")' > d/m.js; node d
printf '\xef\xbb\xbfconsole.log("bom")' > b.js; node b.js
node -e '"use strict"; try { undeclared = 1 } catch (e) { console.log(e.name, e.message) }'; node -e 'sloppy = 1; console.log(sloppy, (function () { return this === globalThis })())'
node -c s.js; echo $?; echo 'let let = 1' > bad.js; node -c bad.js 2>/dev/null; echo $?
