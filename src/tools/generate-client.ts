import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { generateClient } from './client/generate.ts';
import { readDocument } from './openapi/read-document.ts';
import { ROOT } from './project.ts';

// Writes the client's types and methods from the OpenAPI document. Run it after the API has
// changed.
for (const [path, text] of Object.entries(generateClient(await readDocument()))) {
  writeFileSync(join(ROOT, path), text);
  console.log(`Wrote ${path}`);
}
