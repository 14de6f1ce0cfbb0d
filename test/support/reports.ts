import type { JobSizes } from '../../src/files/job';
import { download } from './exports';
import type { Json, TestAccount } from './world';

export const REPORTS = '/v1/audit/reports/compliance';

/** The days around the one on which worlds begin. */
export const PERIOD = { start: '2026-01-01', end: '2026-01-31' };

/** Asks for a report in JSON; it is not made yet. */
export async function startReport(account: TestAccount, fields: Json = {}): Promise<string> {
  const body = { report_type: 'soc2_type2', period: PERIOD, format: 'json', ...fields };
  return (await account.must(202, 'POST', REPORTS, body)).body.report_id;
}

export async function readReport(account: TestAccount, id: string): Promise<Json> {
  return (await account.must(200, 'GET', `${REPORTS}/${id}`)).body;
}

/** The content of a finished report. */
export async function openReport(account: TestAccount, id: string): Promise<Json> {
  const { download_url } = await readReport(account, id);
  return JSON.parse((await download(account.world, download_url)).text);
}

/** Has a report made, and reads it. */
export async function makeReport(account: TestAccount, fields: Json = {}, sizes?: JobSizes): Promise<Json> {
  const id = await startReport(account, fields);
  await account.world.work(sizes);
  return openReport(account, id);
}
