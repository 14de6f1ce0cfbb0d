import { join } from 'node:path';
import { buildClient } from './client/build.ts';
import { ROOT } from './project.ts';

await buildClient(join(ROOT, 'dist/client'));
console.log('Built dist/client. To make the package that users install: npm pack ./dist/client');
