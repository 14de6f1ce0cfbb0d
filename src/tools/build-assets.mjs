// Makes dist/assets, the files that the Worker serves or reads (`assets` in wrangler.toml).
// Wrangler runs it on whatever Node comes first in the PATH: plain JavaScript.
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { makeConsole } from './assets/console.mjs';
import { makeDocs } from './assets/docs.mjs';
import { makeFonts } from './assets/fonts.mjs';
import { makeGuides } from './assets/guides.mjs';

const root = fileURLToPath(new URL('../..', import.meta.url));
const assets = join(root, 'dist/assets');

makeGuides(root, assets, makeDocs(root, assets));
makeConsole(root, assets);
await makeFonts(root, assets);
