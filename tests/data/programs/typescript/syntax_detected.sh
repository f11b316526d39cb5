cat > a.ts <<'EOT'
import { join } from 'path';
export const where = (name: string): string => join('/tmp', name);
console.log(where('x'));
EOT
cat > b.ts <<'EOT'
const path = require('path') as typeof import('path');
console.log(path.basename('/a/b' as string));
EOT
node a.ts; node b.ts; node --experimental-strip-types --no-warnings a.ts
