import { env } from 'cloudflare:test';
import { beforeEach } from 'vitest';
import { renewTables } from './renew-tables';
import { DATABASES } from './shards';

// Test files run in the same runtime, one after the other. Each starts with migrated, empty shards
// and an empty bucket.
await Promise.all([...Object.values(DATABASES).map(renewTables), emptyBucket(env.FILES)]);

/**
 * The log of the current test. It is printed only if the test fails: sending each line to the
 * reporter is slow.
 */
let lines: { write: (...line: unknown[]) => void; line: unknown[] }[] = [];
for (const level of ['log', 'error'] as const) {
  const write = console[level];
  console[level] = (...line: unknown[]) => {
    lines.push({ write, line });
  };
}
beforeEach(({ onTestFailed }) => {
  lines = [];
  onTestFailed(() => {
    for (const { write, line } of lines) write(...line);
  });
});

async function emptyBucket(bucket: R2Bucket): Promise<void> {
  for (;;) {
    const { objects } = await bucket.list();
    if (objects.length === 0) return;
    await bucket.delete(objects.map(({ key }) => key));
  }
}
