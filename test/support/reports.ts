import type { JobSizes } from '../../src/files/job-context';
import { download } from './exports';
import type { Json, TestAccount } from './world';

export const REPORTS = '/v1/audit/reports/compliance';

/** The month in which the clock of a test world starts. */
export const PERIOD = { start: '2026-01-01', end: '2026-01-31' };

/** Requests a report in JSON without running the background job. Returns its id. */
export async function startReport(account: TestAccount, fields: Json = {}): Promise<string> {
  const body = { report_type: 'soc2_type2', period: PERIOD, format: 'json', ...fields };
  return (await account.must(202, 'POST', REPORTS, body)).body.report_id;
}

export async function readReport(account: TestAccount, id: string): Promise<Json> {
  return (await account.must(200, 'GET', `${REPORTS}/${id}`)).body;
}

/** Downloads the content of a finished report. */
export async function openReport(account: TestAccount, id: string): Promise<Json> {
  const { download_url } = await readReport(account, id);
  return JSON.parse((await download(account.world, download_url)).text);
}

/** Requests a report, runs the background job, and downloads the content. */
export async function makeReport(
  account: TestAccount,
  fields: Json = {},
  sizes?: JobSizes,
): Promise<Json> {
  const id = await startReport(account, fields);
  await account.world.work(sizes);
  return openReport(account, id);
}
