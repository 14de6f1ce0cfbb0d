import { expect } from 'vitest';
import { readExport, startExport } from '../support/exports';
import { readReport, startReport } from '../support/reports';
import { makeWebhook } from '../support/webhooks';
import type { Json, TestAccount } from '../support/world';
import { DAY, type Life, MINUTE, SMALL, testJob } from './jobs';

interface RequestedFile {
  id: string;
  /** The host of a webhook. */
  host: string;
}

/** Adds a webhook to the account and requests a file. */
function requestFile(start: (account: TestAccount) => Promise<string>) {
  return async ({ account }: Life): Promise<RequestedFile> => {
    const { host } = await makeWebhook(account);
    return { id: await start(account), host };
  };
}

/**
 * Checks that the file is complete and the webhook got one event. Returns what must not depend on
 * failures.
 */
function expectFile(event: string, read: (account: TestAccount, id: string) => Promise<Json>) {
  return async (
    { world, account, bucket }: Life,
    { id, host }: RequestedFile,
  ): Promise<unknown> => {
    // The download URL depends on the time of completion, so only its presence is compared.
    const { status, sha256, proof_url } = await read(account, id);
    expect([status, bucket.openUploads]).toEqual(['completed', []]);
    const events = world.internet
      .sentTo(host)
      .filter(({ body }) => JSON.parse(body).event === event);
    expect(new Set(events.map(({ headers }) => headers.get('webhook-id'))).size).toBe(1);
    return [sha256, proof_url === null, bucket.fileKeys];
  };
}

const expectExport = expectFile('audit.export.completed', readExport);
const expectReport = expectFile('report.completed', readReport);

for (const format of ['csv', 'json', 'parquet']) {
  testJob({
    name: `an export as ${format}`,
    prepare: requestFile((account) => startExport(account, { format, include_details: true })),
    work: async (world) => {
      await world.work(SMALL);
      await world.deliver();
    },
    expectEnd: expectExport,
  });
}

testJob({
  name: 'an export whose queue message was lost',
  prepare: async (life) => {
    const requested = await requestFile((account) => startExport(account, { format: 'csv' }))(life);
    life.world.queue.take();
    life.world.advance(MINUTE);
    return requested;
  },
  work: async (world) => {
    await world.sweep();
    await world.work(SMALL);
    await world.deliver();
  },
  expectEnd: expectExport,
});

for (const format of ['json', 'pdf']) {
  testJob({
    name: `a report as ${format}`,
    prepare: requestFile((account) => startReport(account, { format })),
    work: async (world) => {
      await world.work(SMALL);
      await world.deliver();
    },
    expectEnd: expectReport,
  });
}

testJob({
  name: 'the removal of a file',
  prepare: async ({ world, account }) => {
    await startExport(account, { format: 'json', include_details: true });
    await world.work(SMALL);
    world.advance(DAY);
  },
  work: (world) => world.sweep(),
  expectEnd: async ({ bucket }) => {
    expect(bucket.fileKeys).toEqual([]);
  },
});
