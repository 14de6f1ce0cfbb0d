import { Hono } from 'hono';
import * as z from 'zod';
import { oldestKept } from '../audit/entry';
import { invalidRequest, Problem } from '../errors';
import { newFileColumns } from '../files/presentation';
import { requestFile } from '../files/request';
import { userAccess } from '../http/access';
import { newId, type UserContext } from '../http/context';
import { choice, day } from '../http/fields';
import { body, noQuery } from '../http/input';
import { accepted, answer, operation } from '../http/operation';
import { type LazyOutput, lazy } from '../lib/lazy';
import { DAY, dayText } from '../lib/time';
import {
  ComplianceReport,
  presentReport,
  REPORT_FORMATS,
  REPORT_TYPES,
  type ReportRequest,
} from './report';

/** The longest period of a report. */
export const MAX_PERIOD_DAYS = 366;

export const ReportCreation = lazy(() =>
  z
    .strictObject({
      report_type: choice(REPORT_TYPES).meta({
        description: 'The framework that the report is about.',
      }),
      period: z
        .strictObject({
          start: day.meta({ description: 'The first day, in UTC.' }),
          end: day.meta({
            description: `The last day; today if it is later. At most ${MAX_PERIOD_DAYS} days in all.`,
          }),
        })
        .meta({ examples: [{ start: '2026-01-01', end: '2026-01-31' }] }),
      format: choice(REPORT_FORMATS).default('pdf'),
    })
    .meta({
      examples: [{ report_type: 'soc2_type2', period: { start: '2026-01-01', end: '2026-01-31' } }],
    }),
);

/**
 * Requests a compliance report, which a background job makes. It covers the entries of the period
 * that are in the log now and that the account's plan keeps. A period that ends later than today is
 * one that ends today.
 * @throws Problem `plan_required`, `invalid_request` for a refused period, `too_many_exports`
 */
export async function createReport(
  context: UserContext,
  { report_type, period: { start, end }, format }: LazyOutput<typeof ReportCreation>,
): Promise<ComplianceReport> {
  const { principal, runtime, config } = context;
  if (principal.account.plan !== 'enterprise') {
    throw new Problem('plan_required', 'Compliance reports come with the plan enterprise.');
  }
  const now = runtime.now();
  const today = Math.floor(now / DAY) * DAY;
  const last = Math.min(end.time, today);
  const to = last + DAY;
  if (start.time > end.time) refusePeriod('start', 'must not be after the end');
  if (start.time > today) refusePeriod('start', 'must not be after today, in UTC');
  if (to - start.time > MAX_PERIOD_DAYS * DAY)
    refusePeriod('end', `must be within ${MAX_PERIOD_DAYS} days, start included`);
  const request: ReportRequest = {
    report_type,
    period: { start: start.text, end: dayText(last) },
    from: start.time,
    to,
  };
  const file = {
    kind: 'report' as const,
    id: newId(runtime, 'export'),
    format,
    request,
    agent: null,
    keptFrom: oldestKept(principal.account, now),
    createdAt: now,
  };
  const shown = await presentReport(config, principal, newFileColumns(file), now);
  await requestFile(context, file, shown);
  return shown;
}

function refusePeriod(field: 'start' | 'end', message: string): never {
  throw invalidRequest([{ path: `body.period.${field}`, message }]);
}

export const createReportRoute = new Hono().post(
  '/v1/audit/reports/compliance',
  operation({
    id: 'createComplianceReport',
    tag: 'Audit',
    summary: 'Start a compliance report',
    description:
      'Evidence for an auditor, from the audit log and the account activity: figures, findings for the controls of a ' +
      'framework with the entries behind them, exceptions and a sample. Evidence, not attestation.',
    success: accepted(ComplianceReport),
    problems: ['plan_required', 'too_many_exports'],
  }),
  userAccess('audit:export'),
  noQuery(),
  body(ReportCreation),
  async (c) => answer(c, await createReport(c.var.context, c.req.valid('json'))),
);
