import { Hono } from 'hono';
import { getFile } from '../files/get';
import { userAccess } from '../http/access';
import { noQuery } from '../http/input';
import { answer, ok, operation } from '../http/operation';
import { pathId } from '../http/path-id';
import { ComplianceReport, presentReport } from './report';

export const getReportRoute = new Hono().get(
  '/v1/audit/reports/compliance/:id',
  operation({
    id: 'getComplianceReport',
    tag: 'Audit',
    summary: 'Get a compliance report',
    success: ok(ComplianceReport),
    pathId: 'report',
  }),
  userAccess('audit:export'),
  noQuery(),
  async (c) =>
    answer(
      c,
      await getFile(c.var.context, {
        kind: 'report',
        id: pathId(c, 'report'),
        present: presentReport,
      }),
    ),
);
