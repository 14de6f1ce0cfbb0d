import type { Actor } from './actor.ts';

const DAY = 24 * 60 * 60 * 1_000;
const FRAMEWORKS = ['soc2_type1', 'soc2_type2', 'iso27001', 'hipaa', 'gdpr', 'eu_ai_act'];
const EVENTS = ['request', 'approve', 'deny', 'use', 'expire', 'revoke'];

/** Requests an export or a compliance report. */
export async function orderFile(actor: Actor): Promise<void> {
  await (actor.random.chance(0.75) ? orderExport(actor) : orderReport(actor));
}

async function orderExport({ memory, random }: Actor): Promise<void> {
  const sentAt = Date.now();
  const format = random.pick(['csv', 'json', 'parquet']);
  const withDetails = random.chance(0.6);
  const agent =
    random.chance(0.2) && memory.agents.length > 0 ? random.pick(memory.agents).id : null;
  const events = random.chance(0.2) ? [random.pick(EVENTS), 'use'] : null;
  const outcome = await memory.user.insist<{ export_id: string }>('POST', '/v1/audit/export', {
    format,
    start_date: day(sentAt - 400 * DAY),
    end_date: day(sentAt + DAY),
    include_details: withDetails,
    ...(agent && { agent_id: agent }),
    ...(events && { event_types: events }),
  });
  if (outcome?.status !== 202) return;
  memory.files.push({
    id: outcome.body.export_id,
    kind: 'export',
    format,
    withDetails,
    agent,
    events,
    sentAt,
  });
}

/** Requests a compliance report, in a random format or the given one. */
export async function orderReport({ memory, random }: Actor, wanted?: 'pdf'): Promise<void> {
  const sentAt = Date.now();
  const format = wanted ?? random.pick(['pdf', 'json']);
  const outcome = await memory.user.insist<{ report_id: string }>(
    'POST',
    '/v1/audit/reports/compliance',
    {
      report_type: random.pick(FRAMEWORKS),
      period: { start: day(sentAt - random.below(60) * DAY), end: day(sentAt) },
      format,
    },
  );
  if (outcome?.status !== 202) return;
  const { report_id: id } = outcome.body;
  memory.files.push({
    id,
    kind: 'report',
    format,
    withDetails: false,
    agent: null,
    events: null,
    sentAt,
  });
}

function day(time: number): string {
  return new Date(time).toISOString().slice(0, 10);
}
